//! Parked stacks: when stacks are parked, what the host sees, how they continue, and how they are
//! freed.

use crate::common::*;
use ropewalk::*;

/// Makes continuations that count up from their numbers. Boxed ones count in an object that nothing
/// else refers to.
const COUNTERS: &str = r#"(module
    (import "host" "f" (func $host (param i32)))
    (type $f (func (param i32))) (type $c (cont $f)) (type $g (func)) (type $d (cont $g))
    (type $box (struct (field (mut i32)))) (tag $yield (param i32))
    (table $t 200000 (ref null $d))
    (func $count (param $i i32)
      (loop $l
        (suspend $yield (local.get $i))
        (local.set $i (i32.add (local.get $i) (i32.const 1))) (br $l)))
    (func $count_in_box (param $i i32) (local $box (ref $box))
      (local.set $box (struct.new $box (local.get $i)))
      (loop $l
        (suspend $yield (struct.get $box 0 (local.get $box)))
        (struct.set $box 0 (local.get $box)
          (i32.add (struct.get $box 0 (local.get $box)) (i32.const 1)))
        (br $l)))
    (func $calls_host (param $i i32)
      (loop $l (call $host (local.get $i)) (suspend $yield (local.get $i)) (br $l)))
    (elem declare func $count $count_in_box $calls_host)
    (func $begin (param $i i32) (param $c (ref $c)) (local $d (ref null $d))
      (block $on (result i32 (ref $d))
        (resume $c (on $yield $on) (local.get $i) (local.get $c)) (unreachable))
      (local.set $d) (drop)
      (table.set $t (local.get $i) (local.get $d)))
    (func (export "make") (param $from i32) (param $to i32)
      (loop $l
        (call $begin (local.get $from) (cont.new $c (ref.func $count)))
        (br_if $l (i32.lt_u
          (local.tee $from (i32.add (local.get $from) (i32.const 1))) (local.get $to)))))
    (func (export "box") (param $from i32) (param $to i32)
      (loop $l
        (call $begin (local.get $from) (cont.new $c (ref.func $count_in_box)))
        (br_if $l (i32.lt_u
          (local.tee $from (i32.add (local.get $from) (i32.const 1))) (local.get $to)))))
    (func (export "call host") (param $i i32)
      (call $begin (local.get $i) (cont.new $c (ref.func $calls_host))))
    (func $next (export "next") (param $i i32) (result i32) (local $n i32) (local $d (ref null $d))
      (block $on (result i32 (ref $d))
        (resume $d (on $yield $on) (table.get $t (local.get $i))) (unreachable))
      (local.set $d) (local.set $n)
      (table.set $t (local.get $i) (local.get $d))
      (local.get $n))
    ;; Continues all of a range; how many said something else than expected.
    (func (export "all") (param $from i32) (param $to i32) (param $turn i32) (result i32)
      (local $wrong i32)
      (loop $l
        (local.set $wrong (i32.add (local.get $wrong) (i32.ne
          (call $next (local.get $from)) (i32.add (local.get $from) (local.get $turn)))))
        (br_if $l (i32.lt_u
          (local.tee $from (i32.add (local.get $from) (i32.const 1))) (local.get $to))))
      (local.get $wrong))
    (func (export "forget") (param $from i32) (param $count i32)
      (table.fill $t (local.get $from) (ref.null $d) (local.get $count))))"#;

fn counters(engine: &Engine) -> (Store<()>, Instance) {
    with_host(engine, COUNTERS, |_: i32| {})
}

/// All modes of moving and collecting, while records of stacks are checked.
fn checked_engines() -> Vec<Engine> {
    let checked = |mode: Mode| Engine::new(CHECK.apply(&mut mode.config())).unwrap();
    let modes = [DEFAULT, MOVE, COLLECT, MINIMAL_STACKS, GENERATIONS_LEFT[0], GENERATIONS_LEFT[1]];
    modes.map(checked).into()
}

#[test]
fn parked_stacks_continue_where_they_were() {
    for (mut store, instance) in checked_engines().iter().map(counters) {
        number(&mut store, instance, "make", &[0, 20]).unwrap();
        number(&mut store, instance, "box", &[20, 40]).unwrap();
        for turn in 1..4 {
            assert_eq!(store.park_idle(), 40);
            let statistics = store.stack_statistics();
            assert_eq!((statistics.live, statistics.parked, statistics.suspended), (40, 40, 0));
            assert_eq!(statistics.parkings, 40 * turn as u64);
            assert_eq!(store.park_idle(), 0);
            store.gc();
            assert_eq!(number(&mut store, instance, "all", &[0, 40, turn]).unwrap(), 0);
            let statistics = store.stack_statistics();
            assert_eq!((statistics.live, statistics.parked, statistics.suspended), (40, 0, 40));
        }
    }
}

#[test]
fn objects_of_parked_stacks_live_and_move() {
    for (mut store, instance) in checked_engines().iter().map(counters) {
        number(&mut store, instance, "box", &[0, 30]).unwrap();
        let used = store.heap_used();
        store.park_idle();
        for _ in 0..3 {
            store.gc();
        }
        assert!(store.heap_used() >= 30 * 16 && store.heap_used() <= used);
        assert_eq!(number(&mut store, instance, "all", &[0, 30, 1]).unwrap(), 0);
    }
}

#[test]
fn parked_stacks_that_nothing_refers_to_are_freed() {
    for (mut store, instance) in checked_engines().iter().map(counters) {
        number(&mut store, instance, "make", &[0, 50]).unwrap();
        store.park_idle();
        number(&mut store, instance, "forget", &[0, 45]).unwrap();
        store.gc();
        let statistics = store.stack_statistics();
        assert_eq!((statistics.live, statistics.parked), (5, 5));
        // Other stacks reuse their blocks.
        number(&mut store, instance, "make", &[0, 45]).unwrap();
        assert_eq!(store.stack_statistics().live, 50);
        assert_eq!(number(&mut store, instance, "all", &[0, 50, 1]).unwrap(), 0);
    }
}

#[test]
fn a_used_reference_to_a_parked_stack_stays_used() {
    for engine in checked_engines() {
        let source = r#"(module
            (type $f (func)) (type $c (cont $f)) (tag $yield)
            (global $old (mut (ref null $c)) (ref.null $c))
            (global $new (mut (ref null $c)) (ref.null $c))
            (func $body (loop $l (suspend $yield) (br $l)))
            (elem declare func $body)
            (func (export "make") (global.set $new (cont.new $c (ref.func $body))))
            (func (export "step") (global.set $old (global.get $new))
              (block $on (result (ref $c))
                (resume $c (on $yield $on) (global.get $new)) (unreachable))
              (global.set $new))
            (func (export "old") (resume $c (global.get $old))))"#;
        let (mut store, instance) = instantiate_in(&engine, source);
        call(&mut store, instance, "make", &[]).unwrap();
        for _ in 0..4 {
            store.park_idle();
            call(&mut store, instance, "step", &[]).unwrap();
            store.park_idle();
            traps(call(&mut store, instance, "old", &[]), TrapCode::ContinuationConsumed);
        }
    }
}

/// A retiring stack of the bag switches to a parked one, whose frames must not be unpacked into the
/// memory of the running stack.
#[test]
fn a_stack_that_retires_continues_a_parked_one() {
    let source = r#"(module
        (type $c (stack (param i32) (ref null $c)))
        (global $first (mut (ref null $c)) (ref.null $c))
        (global $root (mut (ref null $c)) (ref.null $c))
        (func $retires (param $n i32) (param $root (ref null $c))
          (global.set $root (local.get $root))
          (switch_retire $c (local.get $n) (global.get $first)))
        (func $waits (param $n i32) (param $none (ref null $c)) (local $m i32)
          (drop (switch $c (i32.const 0) (local.get $none))) (local.set $m)
          (switch_retire $c (i32.add (local.get $n) (local.get $m)) (global.get $root)))
        (elem declare func $waits $retires)
        (func (export "begin") (param $n i32)
          (switch $c (local.get $n) (stack.new $c $waits))
          (global.set $first) (drop))
        (func (export "retire") (param $n i32) (result i32)
          (switch $c (local.get $n) (stack.new $c $retires)) (drop)))"#;
    for engine in checked_engines() {
        let (mut store, instance) = instantiate_in(&engine, source);
        for n in 1..5 {
            number(&mut store, instance, "begin", &[100 * n]).unwrap();
            assert_eq!(store.park_idle(), 1);
            assert_eq!(number(&mut store, instance, "retire", &[n]).unwrap(), 101 * n);
        }
        assert_eq!(store.stack_statistics().live, 0);
    }
}

// ---- when

#[test]
fn many_idle_stacks_are_parked_without_being_told() {
    let (mut store, instance) = counters(&Engine::default());
    const MANY: i32 = 100_000;
    number(&mut store, instance, "make", &[0, MANY]).unwrap();
    let full = store.stack_statistics();
    assert_eq!((full.live, full.running), (MANY as usize, 0));
    assert!(full.parked > MANY as usize * 9 / 10, "{full:?}");
    assert!(full.committed_bytes < MANY as usize * 600, "{full:?}");
    assert_eq!(number(&mut store, instance, "all", &[0, MANY, 1]).unwrap(), 0);
    assert_eq!(number(&mut store, instance, "all", &[0, MANY, 2]).unwrap(), 0);
    number(&mut store, instance, "forget", &[0, MANY]).unwrap();
    store.gc();
    let empty = store.stack_statistics();
    assert_eq!((empty.live, empty.parked, empty.peak), (0, 0, MANY as usize));
}

#[test]
fn few_stacks_are_not_parked() {
    let (mut store, instance) = counters(&Engine::default());
    number(&mut store, instance, "make", &[0, 900]).unwrap();
    for turn in 1..10 {
        store.gc();
        assert_eq!(number(&mut store, instance, "all", &[0, 900, turn]).unwrap(), 0);
    }
    assert_eq!(store.stack_statistics().parkings, 0);
}

#[test]
fn stacks_that_take_turns_are_not_parked_again_and_again() {
    let (mut store, instance) = counters(&Engine::default());
    const MANY: i32 = 10_000;
    number(&mut store, instance, "make", &[0, MANY]).unwrap();
    for turn in 1..6 {
        assert_eq!(number(&mut store, instance, "all", &[0, MANY, turn]).unwrap(), 0);
    }
    let before = store.stack_statistics();
    assert_eq!(before.parked, 0, "{before:?}");
    for turn in 6..20 {
        assert_eq!(number(&mut store, instance, "all", &[0, MANY, turn]).unwrap(), 0);
    }
    assert_eq!(store.stack_statistics().parkings, before.parkings);
}

#[test]
fn a_collection_parks_stacks_unused_since_the_last_one() {
    let (mut store, instance) = counters(&Engine::default());
    const MANY: i32 = 10_000;
    number(&mut store, instance, "make", &[0, MANY]).unwrap();
    for turn in 1..6 {
        number(&mut store, instance, "all", &[0, MANY, turn]).unwrap();
    }
    assert_eq!(store.stack_statistics().parked, 0);
    store.gc();
    number(&mut store, instance, "all", &[0, 2000, 6]).unwrap();
    store.gc();
    let statistics = store.stack_statistics();
    assert_eq!((statistics.suspended, statistics.parked), (2000, 8000), "{statistics:?}");
}

#[test]
fn a_stack_that_calls_the_host_is_not_parked() {
    for mode in [DEFAULT, CHECK, MOVE, PARK] {
        let engine = engine(mode);
        // The host resumes a parked stack in a new activation, while its caller's stack waits.
        let host = |mut caller: Caller<'_, ()>, i: i32| {
            caller.as_context_mut().park_idle();
            call_back(&mut caller, "next", i - 1).map(drop)
        };
        let (mut store, instance) = with_host(&engine, COUNTERS, host);
        number(&mut store, instance, "make", &[0, 3]).unwrap();
        number(&mut store, instance, "call host", &[3]).unwrap();
        for turn in 0..3 {
            store.park_idle();
            assert_eq!(number(&mut store, instance, "next", &[3]).unwrap(), 3);
            assert_eq!(number(&mut store, instance, "next", &[1]).unwrap(), 2 + turn);
        }
    }
}

// ---- limits

/// Recurses on new stacks that wait for each other. At the end it resumes a stack from before.
const NESTED: &str = r#"(module
    (type $f (func (param i32))) (type $c (cont $f)) (type $g (func)) (type $d (cont $g))
    (tag $yield)
    (table $t 100 (ref null $d))
    (func $idle (suspend $yield))
    (func $nest (param $n i32)
      (if (local.get $n)
        (then (resume $c (i32.sub (local.get $n) (i32.const 1)) (cont.new $c (ref.func $nest))))
        (else (resume $d (table.get $t (i32.const 0))))))
    (elem declare func $nest $idle)
    (func (export "idle") (param $i i32) (local $d (ref null $d))
      (block $on (result (ref $d))
        (resume $d (on $yield $on) (cont.new $d (ref.func $idle))) (unreachable))
      (local.set $d)
      (table.set $t (local.get $i) (local.get $d)))
    (func (export "nest") (param $n i32) (call $nest (local.get $n))))"#;

#[test]
fn parked_stacks_make_room_where_memory_is_limited() {
    let mut config = Config::new();
    config.stack_size(64 << 10).max_stack_memory(10 * (64 << 10) + 4096);
    for mode in [DEFAULT, CHECK] {
        let engine = Engine::new(mode.apply(&mut config.clone())).unwrap();
        let (mut store, instance) = instantiate_in(&engine, NESTED);
        for i in 0..20 {
            number(&mut store, instance, "idle", &[i]).unwrap();
        }
        assert!(store.stack_statistics().parked >= 10);
        // Stacks that wait cannot be parked. Ten of them leave no room, not even to resume a parked
        // one.
        traps(number(&mut store, instance, "nest", &[10]), TrapCode::TooManyStacks);
        traps(number(&mut store, instance, "nest", &[30]), TrapCode::TooManyStacks);
        // The store is still usable.
        number(&mut store, instance, "idle", &[0]).unwrap();
        number(&mut store, instance, "nest", &[8]).unwrap();
    }
}

// ---- stacks that have grown

/// Continuations that recurse, return, wait at some depth, and recurse again.
const DEEP: &str = r#"(module
    (type $f (func (param i32 i32) (result i32))) (type $c (cont $f))
    (type $g (func (result i32))) (type $d (cont $g)) (tag $yield (export "yield"))
    (table $t 100 (ref null $d))
    (func $down (param $n i32) (param $waits i32) (result i32)
      (if (result i32) (local.get $n)
        (then (i32.add (i32.const 1)
          (call $down (i32.sub (local.get $n) (i32.const 1)) (local.get $waits))))
        (else (if (local.get $waits) (then (suspend $yield))) (i32.const 0))))
    (func $body (export "body") (param $deep i32) (param $depth i32) (result i32)
      (i32.add (call $down (local.get $deep) (i32.const 0))
        (i32.add (call $down (local.get $depth) (i32.const 1))
          (call $down (local.get $deep) (i32.const 0)))))
    ;; Two stacks wait together, the outer one at the same depth.
    (func $nested (param $deep i32) (param $depth i32) (result i32)
      (if (result i32) (local.get $depth)
        (then (i32.add (i32.const 1)
          (call $nested (local.get $deep) (i32.sub (local.get $depth) (i32.const 1)))))
        (else (resume $c (local.get $deep) (i32.const 0) (cont.new $c (ref.func $body))))))
    (elem declare func $body $nested)
    (func $keep (param $i i32) (param $deep i32) (param $depth i32) (param $c (ref $c))
      (local $d (ref null $d))
      (block $on (result (ref $d))
        (resume $c (on $yield $on) (local.get $deep) (local.get $depth) (local.get $c))
        (unreachable))
      (local.set $d)
      (table.set $t (local.get $i) (local.get $d)))
    (func (export "begin") (param $i i32) (param $deep i32) (param $depth i32)
      (call $keep (local.get $i) (local.get $deep) (local.get $depth)
        (cont.new $c (ref.func $body))))
    (func (export "nested") (param $i i32) (param $deep i32) (param $depth i32)
      (call $keep (local.get $i) (local.get $deep) (local.get $depth)
        (cont.new $c (ref.func $nested))))
    (func (export "end") (param $i i32) (result i32) (resume $d (table.get $t (local.get $i)))))"#;

#[test]
fn a_grown_stack_gives_its_region_up_when_it_is_parked() {
    for mode in [DEFAULT, CHECK, MOVE, COLLECT, MINIMAL_STACKS] {
        let engine = Engine::new(mode.config().max_wasm_stack(64 << 20)).unwrap();
        let (mut store, instance) = instantiate_in(&engine, DEEP);
        number(&mut store, instance, "begin", &[0, 4000, 10]).unwrap();
        number(&mut store, instance, "nested", &[1, 4000, 10]).unwrap();
        let grown = store.stack_statistics();
        assert!(grown.growths >= 2, "{mode:?}: {grown:?}");
        assert_eq!(store.park_idle(), 3);
        let parked = store.stack_statistics();
        assert_eq!((parked.live, parked.parked), (3, 3));
        assert!(parked.committed_bytes <= 64 << 10, "{mode:?}: {parked:?}");
        assert!(parked.reserved_bytes + (40 << 20) <= grown.reserved_bytes, "{mode:?}: {parked:?}");
        store.gc();
        assert_eq!(number(&mut store, instance, "end", &[0]).unwrap(), 8010);
        assert_eq!(number(&mut store, instance, "end", &[1]).unwrap(), 8010);
        assert!(store.stack_statistics().growths > grown.growths);
    }
}

#[test]
fn a_stack_that_does_not_fit_into_a_slot_keeps_the_pages_of_its_frames() {
    for mode in [DEFAULT, CHECK, MOVE, COLLECT, MINIMAL_STACKS, PARK] {
        let mut config = mode.config();
        config.max_wasm_stack(16 << 20);
        let (mut store, instance) = instantiate_in(&Engine::new(&config).unwrap(), DEEP);
        number(&mut store, instance, "begin", &[0, 100_000, 5000]).unwrap();
        number(&mut store, instance, "nested", &[1, 0, 5000]).unwrap();
        store.park_idle();
        let statistics = store.stack_statistics();
        assert_eq!((statistics.suspended, statistics.parked), (3, 0));
        // Ten thousand frames of more than a hundred thousand are left.
        assert!(statistics.committed_bytes < 10_000 * 120, "{mode:?}: {statistics:?}");
        assert_eq!(number(&mut store, instance, "end", &[0]).unwrap(), 205_000);
        assert_eq!(number(&mut store, instance, "end", &[1]).unwrap(), 5000);
    }
}

#[test]
fn slots_without_a_stack_leave_room_to_grow() {
    const SIZE: usize = 64 << 10;
    let mut config = Config::new();
    config.stack_size(SIZE).max_stack_memory(10 * SIZE).stack_pool(1);
    for mode in [DEFAULT, CHECK] {
        let engine = Engine::new(mode.apply(&mut config.clone())).unwrap();
        let (mut store, instance) = instantiate_in(&engine, DEEP);
        // The last one makes all others leave their slots.
        for i in 0..11 {
            number(&mut store, instance, "begin", &[i, 0, 0]).unwrap();
        }
        assert!(store.stack_statistics().parked >= 9);
        // Half of the limit of all stacks, and more than the slots leave.
        number(&mut store, instance, "begin", &[11, 4000, 0]).unwrap();
        let exhausted = number(&mut store, instance, "begin", &[12, 40_000, 0]);
        traps(exhausted, TrapCode::CallStackExhausted);
        assert_eq!(number(&mut store, instance, "end", &[11]).unwrap(), 8000);
        for i in 0..11 {
            assert_eq!(number(&mut store, instance, "end", &[i]).unwrap(), 0);
        }
    }
}

#[test]
fn a_parked_stack_keeps_its_limit() {
    let (mut store, instance) = instantiate(DEEP);
    let body = instance.get_func(&mut store, "body").unwrap();
    for limit in [None, Some(1 << 20)] {
        let new = Continuation::new(&mut store, body).unwrap();
        let (.., continuation) = suspended(new.resume(&mut store, &[Val::I32(5000), Val::I32(0)]));
        if let Some(limit) = limit {
            continuation.set_max_stack(&mut store, limit).unwrap();
        }
        assert_eq!(store.park_idle(), 1);
        assert!(continuation.resume(&mut store, &[]).is_ok());
        let new = Continuation::new(&mut store, body).unwrap();
        if let Some(limit) = limit {
            new.set_max_stack(&mut store, limit).unwrap();
        }
        assert_eq!(store.park_idle(), 1);
        let deep = new.resume(&mut store, &[Val::I32(100_000), Val::I32(0)]);
        match limit {
            None => assert!(matches!(deep.unwrap(), Resumed::Suspended { .. })),
            Some(_) => assert_eq!(code(deep), TrapCode::CallStackExhausted),
        }
    }
}

// ---- stacks that the host holds

const HELD: &str = r#"(module
    (type $i (func (result i32))) (type $ki (cont $i))
    (tag $ask (export "ask") (param i32) (result i32)) (tag $error (export "error") (param i32))
    (func $inner (param i32) (result i32) (suspend $ask (local.get 0)))
    (func $outer (result i32)
      (i32.add (i32.const 1)
        (block $h (result i32)
          (try_table (result i32) (catch $error $h) (call $inner (i32.const 5))))))
    (elem declare func $outer)
    ;; Two stacks are suspended together.
    (func (export "nested") (result i32)
      (i32.add (i32.const 100) (resume $ki (cont.new $ki (ref.func $outer))))))"#;

#[test]
fn the_host_sees_no_difference_in_parked_stacks() {
    let mut engines = checked_engines();
    engines.push(engine(PARK));
    for engine in engines {
        let (mut store, instance) = instantiate_in(&engine, HELD);
        let nested = instance.get_func(&mut store, "nested").unwrap();
        let begin = |store: &mut Store<()>| {
            let held = Continuation::new(&mut *store, nested).unwrap();
            match held.resume(&mut *store, &[]).unwrap() {
                Resumed::Suspended { continuation, .. } => continuation,
                other => panic!("{other:?}"),
            }
        };
        let error = instance.get_tag(&mut store, "error").unwrap();
        let suspended = begin(&mut store);
        let bytes = suspended.bytes(&store).unwrap();
        let trace = suspended.backtrace(&store).unwrap();
        assert_eq!(frames(&trace), ["inner", "outer", "nested"]);
        store.park_idle();
        assert_eq!(store.stack_statistics().parked, 2);
        assert_eq!(suspended.bytes(&store).unwrap(), bytes);
        let parked = suspended.backtrace(&store).unwrap();
        assert_eq!(parked.to_string(), trace.to_string());
        store.gc();
        match suspended.resume(&mut store, &[Val::I32(7)]).unwrap() {
            Resumed::Returned(values) => assert_eq!(values[0].i32(), Some(108)),
            other => panic!("{other:?}"),
        }
        // An exception is thrown into it.
        let suspended = begin(&mut store);
        store.park_idle();
        let exception = Exception::new(&mut store, error, &[Val::I32(30)]).unwrap();
        match suspended.resume_throw(&mut store, &exception).unwrap() {
            Resumed::Returned(values) => assert_eq!(values[0].i32(), Some(131)),
            other => panic!("{other:?}"),
        }
        // A dropped continuation is freed with both its stacks.
        let suspended = begin(&mut store);
        store.park_idle();
        suspended.free(&mut store).unwrap();
        let statistics = store.stack_statistics();
        assert_eq!((statistics.live, statistics.parked), (0, 0));
        let suspended = begin(&mut store);
        store.park_idle();
        drop(suspended);
        check_live(&mut store, 0);
    }
}
