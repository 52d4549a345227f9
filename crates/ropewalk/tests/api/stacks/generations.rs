//! Stacks of continuations: generations, statistics, sizes, backtraces.

use crate::common::*;
use ropewalk::*;

/// A generator whose references are all kept in a table, a global, a struct and an array. All but
/// the last are stale.
const KEEPER: &str = r#"(module
    (type $f (func)) (type $c (cont $f)) (type $box (struct (field (mut (ref null $c)))))
    (type $boxes (array (mut (ref null $c)))) (tag $yield) (tag $carry (param (ref null $c)))
    (table $t 64 (ref null $c))
    (global $g (mut (ref null $c)) (ref.null $c))
    (global $b (ref $box) (struct.new $box (ref.null $c)))
    (global $a (ref $boxes) (array.new $boxes (ref.null $c) (i32.const 64)))
    (func $body (loop $l (suspend $yield) (br $l)))
    (elem declare func $body)
    (func (export "start") (param i32) (call $keep (local.get 0) (cont.new $c (ref.func $body))))
    (func $keep (param $i i32) (param $k (ref null $c))
      (table.set $t (local.get $i) (local.get $k))
      (array.set $boxes (global.get $a) (local.get $i) (local.get $k))
      (struct.set $box 0 (global.get $b) (local.get $k))
      (global.set $g (local.get $k)))
    (func $step (param $k (ref null $c)) (result (ref null $c))
      (block $on (result (ref $c)) (resume $c (on $yield $on) (local.get $k)) (unreachable)))
    (func (export "step table") (param $i i32)
      (call $keep (i32.add (local.get $i) (i32.const 1))
        (call $step (table.get $t (local.get $i)))))
    (func (export "stale table") (param $i i32) (drop (call $step (table.get $t (local.get $i)))))
    (func (export "stale array") (param $i i32)
      (drop (call $step (array.get $boxes (global.get $a) (local.get $i)))))
    (func (export "stale struct") (param $i i32) (local $old (ref null $c))
      (local.set $old (struct.get $box 0 (global.get $b)))
      (struct.set $box 0 (global.get $b) (call $step (local.get $old)))
      (drop (call $step (local.get $old))))
    (func (export "stale exception") (param $i i32)
      (drop (call $step (block $h (result (ref null $c))
        (try_table (catch $carry $h) (throw $carry (table.get $t (local.get $i))))
        (unreachable))))))"#;

#[test]
fn a_stack_out_of_generations_continues_and_stale_references_stay_stale() {
    for left in [0, 1, 5, 11] {
        for engine in few_generations(left) {
            let (mut store, instance) = instantiate_in(&engine, KEEPER);
            let mut run = |name: &str, i: i32| call(&mut store, instance, name, &[Val::I32(i)]);
            run("start", 0).unwrap();
            for i in 0..20 {
                run("step table", i).unwrap();
                for stale in 0..=i {
                    for name in ["stale table", "stale array", "stale exception"] {
                        let code = trap(&run(name, stale).unwrap_err()).code();
                        assert_eq!(code, TrapCode::ContinuationConsumed, "{name} {stale} of {i}");
                    }
                }
            }
            traps(run("stale struct", 0), TrapCode::ContinuationConsumed);
        }
    }
}

#[test]
fn retired_numbers_are_used_again_only_when_nothing_names_them() {
    let mut config = Config::new();
    config.stress(|stress| stress.first_generation = LAST_GENERATION - 1).max_stacks(40);
    let (mut store, instance) = instantiate_in(&Engine::new(&config).unwrap(), KEEPER);
    let mut run = |name: &str, i: i32| call(&mut store, instance, name, &[Val::I32(i)]);
    // One or two steps use up a block, and there are far more steps than blocks.
    run("start", 0).unwrap();
    for _ in 0..200 {
        for i in 0..8 {
            run("step table", i).unwrap();
        }
        // Only the newest reference is valid.
        traps(run("stale table", 3), TrapCode::ContinuationConsumed);
        run("start", 0).unwrap();
    }
}

#[test]
fn statistics_count_the_stacks() {
    let (mut store, instance) = instantiate(KEEPER);
    assert_eq!(store.stack_statistics().live, 0);
    call(&mut store, instance, "start", &[Val::I32(0)]).unwrap();
    call(&mut store, instance, "start", &[Val::I32(1)]).unwrap();
    let statistics = store.stack_statistics();
    assert_eq!(statistics.live, 2);
    assert!(statistics.pooled > 0 && statistics.reserved_bytes > 0);
    for i in 0..2 {
        call(&mut store, instance, "start", &[Val::I32(i)]).unwrap();
    }
    store.gc();
    assert!(store.stack_statistics().live <= 3, "{:?}", store.stack_statistics());
}

/// Makes as many continuations, has each suspend, and resumes them all.
const CROWD: &str = r#"(module
    (type $f (func)) (type $c (cont $f)) (tag $yield)
    (table $t 20000 (ref null $c))
    (func $body (suspend $yield))
    (elem declare func $body)
    (func (export "crowd") (param $n i32) (local $i i32)
      (loop $l
        (table.set $t (local.get $i)
          (block $on (result (ref $c))
            (resume $c (on $yield $on) (cont.new $c (ref.func $body))) (unreachable)))
        (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))))
    (func (export "finish") (param $n i32)
      (loop $l
        (local.set $n (i32.sub (local.get $n) (i32.const 1)))
        (resume $c (table.get $t (local.get $n)))
        (br_if $l (local.get $n)))))"#;

#[test]
fn the_peak_is_how_many_were_live_at_the_same_time() {
    let (mut store, instance) = instantiate(CROWD);
    for n in [5, 100, 40] {
        call(&mut store, instance, "crowd", &[Val::I32(n)]).unwrap();
        assert_eq!(store.stack_statistics().live, n as usize);
        call(&mut store, instance, "finish", &[Val::I32(n)]).unwrap();
        assert_eq!(store.stack_statistics().live, 0);
    }
    assert_eq!(store.stack_statistics().peak, 100);
}

#[test]
fn memory_of_many_idle_stacks_goes_back_to_the_kernel() {
    let (mut store, instance) = instantiate(CROWD);
    const MANY: i32 = 20_000;
    for _ in 0..2 {
        call(&mut store, instance, "crowd", &[Val::I32(MANY)]).unwrap();
        let full = store.stack_statistics();
        assert!(full.committed_bytes >= 2200 * 4096, "{full:?}");
        call(&mut store, instance, "finish", &[Val::I32(MANY)]).unwrap();
        store.gc();
        let idle = store.stack_statistics();
        // A thousand free stacks and a thousand slots without a stack keep a page each.
        assert!(idle.committed_bytes < 2200 * 4096, "{idle:?} after {full:?}");
        assert_eq!((idle.live, idle.parked), (0, 0));
        assert!(idle.peak >= MANY as usize && idle.peak <= MANY as usize + 16, "{idle:?}");
    }
}

/// The page faults of this thread.
fn page_faults() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let behind_name = stat.rsplit_once(')').unwrap().1;
    behind_name.split_whitespace().nth(7).unwrap().parse().unwrap()
}

#[test]
fn stacks_that_are_given_up_all_the_time_keep_their_memory() {
    let text = r#"(module
        (type $f (func)) (type $c (cont $f)) (tag $yield)
        (func $body (suspend $yield))
        (elem declare func $body)
        (func (export "abandon") (param $n i32)
          (loop $l
            (block $on (result (ref $c))
              (resume $c (on $yield $on) (cont.new $c (ref.func $body))) (unreachable))
            (drop)
            (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))"#;
    let (mut store, instance) = instantiate(text);
    let before = page_faults();
    call(&mut store, instance, "abandon", &[Val::I32(200_000)]).unwrap();
    let faults = page_faults() - before;
    assert!(faults < 20_000, "{faults}");
}

#[test]
fn a_pool_of_one_makes_one_stack_at_a_time() {
    let (mut store, instance) = instantiate_in(&engine(POOL_OF_ONE), CROWD);
    call(&mut store, instance, "crowd", &[Val::I32(3)]).unwrap();
    let statistics = store.stack_statistics();
    assert_eq!((statistics.live, statistics.pooled), (3, 0));
}

#[test]
fn backtraces_mark_where_one_stack_resumed_another() {
    let text = r#"(module
        (type $f (func)) (type $c (cont $f))
        (func $inner unreachable)
        (tag $yield) (tag $stop)
        (func $middle (resume $c (cont.new $c (ref.func $inner))))
        (func $outer (export "outer")
          (block $on (result (ref $c))
            (resume $c (on $yield $on) (on $stop switch) (cont.new $c (ref.func $middle)))
            (return))
          (drop))
        (elem declare func $inner $middle))"#;
    let (mut store, instance) = instantiate(text);
    let error = call(&mut store, instance, "outer", &[]).unwrap_err();
    let frames = trap(&error).backtrace().frames();
    let names: Vec<_> = frames.iter().map(|f| f.function_name().unwrap()).collect();
    assert_eq!(names, ["inner", "middle", "outer"]);
    let boundaries: Vec<_> = frames.iter().map(Frame::boundary).collect();
    let resume = |tags: &[&str]| Boundary::Resume {
        instruction: "resume",
        tags: tags.iter().map(|tag| tag.to_string()).collect(),
        tags_omitted: 0,
    };
    assert_eq!(boundaries, [None, Some(&resume(&[])), Some(&resume(&["yield", "stop"]))]);
    let text = error.to_string();
    assert!(text.contains("-- resumed by resume\n"), "{text}");
    assert!(text.contains("-- resumed by resume (on $yield) (on $stop)\n"), "{text}");
}

#[test]
fn small_stacks_overflow_early_and_cleanly() {
    let text = r#"(module
        (type $f (func (param i32) (result i32))) (type $c (cont $f))
        (func $down (type $f) (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 0))
          (else (i32.add (i32.const 1) (call $down (i32.sub (local.get 0) (i32.const 1)))))))
        (elem declare func $down)
        (func (export "run") (param i32) (result i32)
          (resume $c (local.get 0) (cont.new $c (ref.func $down)))))"#;
    for (bytes, depth) in [(8 << 10, 100), (60 << 10, 1000), (1 << 20, 16000)] {
        let engine = Engine::new(
            Config::new().stack_size(bytes).stress(|stress| stress.fail_to_grow = true),
        )
        .unwrap();
        let (mut store, instance) = instantiate_in(&engine, text);
        for _ in 0..3 {
            assert_eq!(number(&mut store, instance, "run", &[depth]).unwrap(), depth);
            traps(
                call(&mut store, instance, "run", &[Val::I32(1 << 20)]),
                TrapCode::CallStackExhausted,
            );
        }
    }
}

/// Recurses to every depth near the end of a stack, and there does something that needs a little
/// more.
fn at_every_depth_near_the_end(what: &str, types: &str) -> String {
    format!(
        r#"(module
        (type $f (func (param i32))) (type $c (cont $f)) (type $g (func)) (type $k (cont $g))
        (tag $yield) {types}
        (func $down (param i32)
          (if (i32.eqz (local.get 0)) (then {what})
            (else (call $down (i32.sub (local.get 0) (i32.const 1))))))
        (elem declare func $down)
        (func (export "run") (param i32)
          (block $h (result (ref $k))
            (resume $c (on $yield $h) (local.get 0) (cont.new $c (ref.func $down)))
            (return))
          (drop)))"#
    )
}

#[test]
fn an_overflow_at_any_instruction_is_exhaustion() {
    let many = "i64 ".repeat(64);
    let gets = "(i64.const 1) ".repeat(64);
    let wide = format!("(func $wide (param {many})) (func $tail (return_call $wide {gets}))");
    let programs = [
        at_every_depth_near_the_end("(suspend $yield)", ""),
        at_every_depth_near_the_end("(call $tail)", &wide),
        at_every_depth_near_the_end(
            "(resume $k (cont.new $k (ref.func $nop)))",
            "(func $nop) (elem declare func $nop)",
        ),
    ];
    for text in programs {
        // With different sizes, different instructions are the first without room.
        for size in [8192, 8192 + 4096] {
            let engine = Engine::new(
                Config::new().stack_size(size).stress(|stress| stress.fail_to_grow = true),
            )
            .unwrap();
            let (mut store, instance) = instantiate_in(&engine, &text);
            let mut exhausted = 0;
            for depth in 0..800 {
                if let Err(error) = call(&mut store, instance, "run", &[Val::I32(depth)]) {
                    assert_eq!(trap(&error).code(), TrapCode::CallStackExhausted);
                    exhausted += 1;
                }
            }
            assert!(exhausted > 0 && exhausted < 800, "{exhausted}");
        }
    }
}

#[test]
fn a_stack_holds_a_thousand_frames_of_a_function_that_suspends() {
    let (mut store, instance) = instantiate(&at_every_depth_near_the_end("(suspend $yield)", ""));
    for _ in 0..40 {
        call(&mut store, instance, "run", &[Val::I32(1000)]).unwrap();
    }
}

#[test]
fn a_host_value_that_panics_when_it_is_dropped_leaves_the_heap_whole() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let text = r#"(module (type $s (struct))
        (func (export "churn") (param i32)
          (loop $l (drop (struct.new $s))
            (br_if $l (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))))"#;
    let (mut store, instance) = instantiate(text);
    for by_host in [true, false] {
        ExternRef::new(RootScope::new(&mut store), Bomb).unwrap();
        let kept = ExternRef::new(&mut store, 5i32).unwrap();
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match by_host {
            true => store.gc(),
            false => drop(call(&mut store, instance, "churn", &[Val::I32(1_000_000)])),
        }));
        assert_eq!(panic.unwrap_err().downcast_ref::<&str>(), Some(&"dropped"));
        store.gc();
        assert_eq!(kept.data(&store).unwrap().downcast_ref(), Some(&5i32));
    }
}
