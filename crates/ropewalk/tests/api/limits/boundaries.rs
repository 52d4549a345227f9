//! Every limit of a running store at its boundary: the limit itself works, one more is an error or
//! a trap.
//!
//! The error names the limit, and the store can be used and dropped afterwards. Where the true
//! limit is too large for a test, the engine has a smaller one, which the same code checks.

use crate::common::*;
use ropewalk::*;

/// `hold` keeps this many more continuations, each with a stack. `forget` drops all.
const KEEPS: &str = r#"(module
    (type $f (func)) (type $c (cont $f))
    (type $node (struct (field (ref null $node)) (field (ref null $c))))
    (import "host" "f" (func $host))
    (global $kept (mut (ref null $node)) (ref.null $node))
    (func $body)
    (elem declare func $body)
    (func (export "hold") (param $n i32)
      (loop $more
        (global.set $kept (struct.new $node (global.get $kept) (cont.new $c (ref.func $body))))
        (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func (export "host") (call $host))
    (func (export "nothing"))
    (func (export "forget") (global.set $kept (ref.null $node))))"#;

/// Fails unless the store works as when it was empty.
fn check_usable(store: &mut Store<()>, instance: Instance) {
    number(store, instance, "forget", &[]).unwrap();
    store.gc();
    number(store, instance, "hold", &[3]).unwrap();
    number(store, instance, "forget", &[]).unwrap();
    store.gc();
}

fn reenters(mut caller: Caller<'_, ()>) -> Result<()> {
    call_export::<_, (), ()>(&mut caller, "nothing", ())
}

#[test]
fn the_last_block_of_the_table_is_used_and_then_no_stack_is_made() {
    // With these sizes a table ends in the middle or at the end of a page.
    for blocks in [2000, 2048, 2049, 4096 - 256] {
        for pool in [1, 16] {
            let config = &mut Config::new();
            let engine =
                Engine::new(config.stress(|stress| stress.max_blocks = blocks).stack_pool(pool))
                    .unwrap();
            // The next store reuses the table.
            for _ in 0..3 {
                let (mut store, instance) = with_host(&engine, KEEPS, reenters);
                // Block 0, and the root.
                let most = blocks as i32 - 2;
                number(&mut store, instance, "hold", &[most - 1]).unwrap();
                number(&mut store, instance, "hold", &[1]).unwrap();
                let error = number(&mut store, instance, "hold", &[1]).unwrap_err();
                assert_eq!(trap(&error).code(), TrapCode::TooManyStacks);
                let detail = format!("a store can have at most {} stacks", blocks - 1);
                assert_eq!(trap(&error).detail(), Some(&*detail));
                // No block is left for another root either.
                traps(number(&mut store, instance, "host", &[]), TrapCode::TooManyStacks);
                check_usable(&mut store, instance);
            }
        }
    }
}

#[test]
fn a_block_that_a_stack_has_left_serves_a_call_within_a_call() {
    let config = &mut Config::new();
    let engine = Engine::new(
        config.stress(|stress| stress.max_blocks = 1000).stress(|stress| stress.park_always = true),
    )
    .unwrap();
    let (mut store, instance) = with_host(&engine, KEEPS, reenters);
    traps(number(&mut store, instance, "hold", &[999]), TrapCode::TooManyStacks);
    traps(number(&mut store, instance, "host", &[]), TrapCode::TooManyStacks);
    // Their blocks then have no memory.
    number(&mut store, instance, "forget", &[]).unwrap();
    store.gc();
    number(&mut store, instance, "host", &[]).unwrap();
    check_usable(&mut store, instance);
}

#[test]
fn as_many_stacks_as_are_allowed_live_at_the_same_time() {
    for most in [1, 2, 15, 16, 17, 1023, 1024, 1025] {
        let engine = Engine::new(Config::new().max_stacks(most)).unwrap();
        let (mut store, instance) = with_host(&engine, KEEPS, reenters);
        if most > 1 {
            number(&mut store, instance, "hold", &[most as i32 - 1]).unwrap();
        }
        number(&mut store, instance, "hold", &[1]).unwrap();
        let error = number(&mut store, instance, "hold", &[1]).unwrap_err();
        assert_eq!(trap(&error).code(), TrapCode::TooManyStacks);
        let detail = format!("a store may have at most {most} stacks (Config::max_stacks)");
        assert_eq!(trap(&error).detail(), Some(&*detail));
        // A root does not count.
        number(&mut store, instance, "host", &[]).unwrap();
        number(&mut store, instance, "forget", &[]).unwrap();
        store.gc();
        number(&mut store, instance, "hold", &[most as i32]).unwrap();
    }
}

// ---- what stacks have together

/// The least limit at which something works. Below it the error `says` which limit it was.
fn least(
    most: usize,
    works: impl Fn(usize) -> Result<()>,
    says: impl Fn(usize) -> String,
) -> usize {
    works(most).unwrap();
    let (mut low, mut high) = (0, most);
    while high - low > 1 {
        let middle = low.midpoint(high);
        match works(middle) {
            Ok(()) => high = middle,
            Err(error) => {
                let says = says(middle);
                assert!(format!("{error:#}").contains(&says), "{says}: {error:#}");
                low = middle;
            }
        }
    }
    high
}

fn least_stack_memory(works: impl Fn(usize) -> Result<()>) -> usize {
    let says = |limit| {
        format!("all stacks together may have at most {limit} bytes (Config::max_stack_memory)")
    };
    least(1 << 30, works, says)
}

/// Functions that recurse, on one stack or on many.
const DEEP: &str = r#"(module
    (type $f (func (param i32) (result i32))) (type $c (cont $f)) (elem declare func $stacks)
    (func $deep (export "deep") (type $f)
      (if (result i32) (local.get 0)
        (then (i32.add (i32.const 1) (call $deep (i32.sub (local.get 0) (i32.const 1)))))
        (else (i32.const 0))))
    (func $stacks (export "stacks") (type $f)
      (if (result i32) (local.get 0)
        (then (i32.add (i32.const 1)
          (resume $c (i32.sub (local.get 0) (i32.const 1)) (cont.new $c (ref.func $stacks)))))
        (else (i32.const 0)))))"#;

#[test]
fn the_growth_of_one_stack_and_the_size_of_many_count_to_the_last_byte() {
    for (name, count) in [("deep", 200_000), ("stacks", 100)] {
        let works = |limit| {
            let engine = Engine::new(Config::new().max_stack_memory(limit).stack_pool(1)).unwrap();
            let (mut store, instance) = instantiate_in(&engine, DEEP);
            let found = number(&mut store, instance, name, &[count]);
            // The store is usable, whether or not it found room.
            assert_eq!(number(&mut store, instance, name, &[0]).unwrap(), 0);
            found.map(|found| assert_eq!(found, count))
        };
        let least = least_stack_memory(works);
        let expected = match name {
            // Frames of at least 16 bytes, with a mebibyte at the beginning.
            "deep" => 200_000 * 16 - (1 << 20)..64 << 20,
            // Slots of 112 KiB with a record each.
            _ => 100 * (112 << 10)..100 * (113 << 10),
        };
        assert!(expected.contains(&least), "{name}: {least}");
    }
}

#[test]
fn parked_stacks_and_their_copies_count_with_their_packed_size() {
    for copies in [false, true] {
        let works = |limit| {
            let config = &mut Config::new();
            config.max_stack_memory(limit).stack_pool(1).stress(|stress| stress.park_always = true);
            let (mut store, instance) = with_host(&Engine::new(config).unwrap(), KEEPS, reenters);
            if !copies {
                number(&mut store, instance, "hold", &[3000])?;
                number(&mut store, instance, "forget", &[]).unwrap();
            } else {
                let body = instance.get_func(&mut store, "nothing").unwrap();
                let first = Continuation::new(&mut store, body)?;
                store.park_idle();
                let mut all = Vec::new();
                for _ in 0..3000 {
                    all.push(first.try_clone(&mut store)?);
                    store.park_idle();
                }
                all.pop().unwrap().resume(&mut store, &[])?;
                drop(all);
            }
            store.gc();
            number(&mut store, instance, "nothing", &[]).unwrap();
            Ok(())
        };
        let least = least_stack_memory(works);
        // A slot, a record each, and small frames with their heads.
        assert!((3000 * 160..3000 * 300 + (256 << 10)).contains(&least), "{copies}: {least}");
    }
}

#[test]
fn stacks_that_are_restored_count() {
    let engine = |limit| {
        Engine::new(Config::new().snapshots(true).max_stack_memory(limit).stack_pool(1)).unwrap()
    };
    let text = KEEPS.replace("(import \"host\" \"f\" (func $host))", "(func $host)");
    let module = |engine: &Engine| Module::new(engine, &text).unwrap();
    let unlimited = engine(usize::MAX);
    let mut store = Store::new(&unlimited, ());
    let instance = Instance::new(&mut store, &module(&unlimited), &[]).unwrap();
    number(&mut store, instance, "hold", &[3000]).unwrap();
    let snapshot = store.snapshot(&SnapshotOptions::new()).unwrap();
    let works = |limit| {
        let engine = engine(limit);
        let linker = Linker::<()>::new(&engine);
        snapshot.restore(&linker, &[module(&engine)], ()).map(drop)
    };
    let least = least_stack_memory(works);
    assert!((3000 * 160..3000 * 300).contains(&least), "{least}");
}

#[test]
fn a_stack_may_have_as_many_answers_as_its_record_counts() {
    let text = r#"
        (import "host" "new_stack" (func $new (result stackref)))
        (call_tag $ask (param i32) (result i32))
        (func $nests (export "nests") (param $n i32) (result i32)
          (answer $ask (result i32) (i32.add (local.get $n)) within
            (if (result i32) (i32.eqz (local.get $n))
              (then (call_stack $ask (i32.const 7)))
              (else (call $nests (i32.sub (local.get $n) (i32.const 1)))))))"#;
    let (mut store, instance) = instantiate(text);
    // The innermost call has one more while it asks.
    const MOST: i32 = 65_535;
    for count in [MOST - 2, MOST - 1] {
        assert_eq!(number(&mut store, instance, "nests", &[count - 1]).unwrap(), 7);
        assert_eq!(number(&mut store, instance, "nests", &[0]).unwrap(), 7);
    }
    let error = number(&mut store, instance, "nests", &[MOST]).unwrap_err();
    assert_eq!(trap(&error).code(), TrapCode::CallStackExhausted);
    let detail = "a stack may have at most 65535 answers, redirections and walks";
    assert_eq!(trap(&error).detail(), Some(detail));
    assert_eq!(number(&mut store, instance, "nests", &[100]).unwrap(), 7);
}

// ---- generations

#[test]
fn at_the_last_generation_a_stack_gets_another_block_while_there_is_one() {
    let text = r#"(module
        (type $f (func)) (type $c (cont $f)) (tag $yield)
        (table $kept 8 (ref null $c))
        (func $body (loop $l (suspend $yield) (br $l)))
        (elem declare func $body)
        (func (export "begin") (param $i i32)
          (table.set $kept (local.get $i) (cont.new $c (ref.func $body))))
        (func (export "step") (param $i i32) (local $rest (ref null $c))
          (block $on (result (ref $c))
            (resume $c (on $yield $on) (table.get $kept (local.get $i))) (return))
          (local.set $rest)
          (table.set $kept (local.get $i) (local.get $rest)))
        (func (export "end") (table.fill $kept (i32.const 0) (ref.null $c) (i32.const 8))))"#;
    for left in 0..4 {
        let config = &mut Config::new();
        config
            .stress(|stress| stress.first_generation = LAST_GENERATION - left)
            .stress(|stress| stress.max_blocks = 8)
            .stack_pool(1);
        let (mut store, instance) = instantiate_in(&Engine::new(config).unwrap(), text);
        // There are six blocks beside block 0 and the root.
        for i in 0..6 {
            number(&mut store, instance, "begin", &[i]).unwrap();
        }
        let mut steps = 0;
        let error = loop {
            match number(&mut store, instance, "step", &[0]) {
                Ok(_) => steps += 1,
                Err(error) => break error,
            }
            assert!(steps < 10, "{left}");
        };
        assert_eq!(trap(&error).code(), TrapCode::TooManyStacks);
        // With fewer stacks, blocks are left for those that need another. The root needs one too.
        store.gc();
        number(&mut store, instance, "end", &[]).unwrap();
        store.gc();
        number(&mut store, instance, "begin", &[7]).unwrap();
        for step in 0..100 {
            let stepped = number(&mut store, instance, "step", &[7]);
            assert!(stepped.is_ok(), "{left} {step} {:?} {stepped:?}", store.stack_statistics());
            store.gc();
        }
    }
}

// ---- calls within calls

#[test]
fn calls_nest_as_deep_as_they_may() {
    let text = r#"(module
        (import "host" "f" (func $host (param i32) (result i32)))
        (func (export "down") (param $n i32) (result i32)
          (if (result i32) (local.get $n)
            (then (call $host (i32.sub (local.get $n) (i32.const 1))))
            (else (i32.const 5)))))"#;
    for most in [1, 2, 10, 200] {
        let engine = Engine::new(Config::new().max_activations(most)).unwrap();
        let down = |mut caller: Caller<'_, ()>, n: i32| call_back(&mut caller, "down", n);
        let (mut store, instance) = with_host(&engine, text, down);
        let most = most as i32;
        for _ in 0..3 {
            for calls in [1, most - 1, most].into_iter().filter(|calls| *calls > 0) {
                assert_eq!(number(&mut store, instance, "down", &[calls - 1]).unwrap(), 5);
            }
            traps(number(&mut store, instance, "down", &[most]), TrapCode::CallStackExhausted);
        }
    }
}

// ---- the heap

/// `list` makes this many objects, `array` one of this many bytes, `elements` one of this many
/// eight-byte elements.
const OBJECTS: &str = r#"(module
    (type $node (struct (field (ref null $node))))
    (type $bytes (array (mut i8))) (type $words (array (mut i64)))
    (func (export "list") (param $n i32) (local $list (ref null $node))
      (loop $more
        (local.set $list (struct.new $node (local.get $list)))
        (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func (export "array") (param i32) (drop (array.new_default $bytes (local.get 0))))
    (func (export "words") (param i32) (drop (array.new_default $words (local.get 0)))))"#;

#[test]
fn objects_have_as_many_bytes_as_they_may() {
    for (name, count) in [("list", 300_000), ("array", 5_000_001), ("words", 600_001)] {
        let works = |limit| {
            let engine = Engine::new(Config::new().max_heap(limit)).unwrap();
            let (mut store, instance) = instantiate_in(&engine, OBJECTS);
            let made = number(&mut store, instance, name, &[count]);
            if limit > 10_000 {
                number(&mut store, instance, "list", &[1]).unwrap();
            }
            made.map(drop)
        };
        let says = |limit| format!("the objects of a store may have at most {limit} bytes");
        let least = least(1 << 28, works, says);
        assert!((4_800_000..5_600_000).contains(&least), "{name}: {least}");
    }
}

#[test]
fn an_array_that_is_longer_than_any_heap_is_a_trap() {
    let engine = Engine::new(Config::new().max_heap(64 << 20)).unwrap();
    let (mut store, instance) = instantiate_in(&engine, OBJECTS);
    for name in ["array", "words"] {
        for length in [i32::MAX, i32::MIN, -1, -2, 1 << 29, 1 << 27] {
            let made = number(&mut store, instance, name, &[length]);
            assert_eq!(code(made), TrapCode::OutOfMemory, "{name} {length}");
        }
        number(&mut store, instance, name, &[1000]).unwrap();
    }
}

// ---- memories and tables

const GROW: &str = r#"(module
    (memory $a 1) (memory $b i64 1) (table $t 2 funcref) (table $u 2 externref)
    (func (export "a") (param i32) (result i32) (memory.grow $a (local.get 0)))
    (func (export "b") (param i32) (result i32)
      (i32.wrap_i64 (memory.grow $b (i64.extend_i32_u (local.get 0)))))
    (func (export "t") (param i32) (result i32) (table.grow $t (ref.null func) (local.get 0)))
    (func (export "u") (param i32) (result i32) (table.grow $u (ref.null extern) (local.get 0))))"#;

const PAGE: u64 = 1 << 16;

#[test]
fn a_memory_has_as_many_pages_as_its_addresses_reach() {
    let engine = Engine::new(Config::new().max_total_memory(u64::MAX)).unwrap();
    let (mut store, instance) = instantiate_in(&engine, GROW);
    let mut grow = |by| number(&mut store, instance, "a", &[by]).unwrap();
    assert_eq!(grow(65_534), 1);
    assert_eq!(grow(2), -1);
    assert_eq!(grow(1), 65_535);
    assert_eq!((grow(1), grow(-1), grow(0)), (-1, -1, 65_536));
}

#[test]
fn one_memory_and_all_memories_have_as_many_bytes_as_they_may() {
    for bytes in [10 * PAGE, 11 * PAGE - 1] {
        let engine = Engine::new(Config::new().max_memory(bytes)).unwrap();
        let (mut store, instance) = instantiate_in(&engine, GROW);
        for name in ["a", "b"] {
            let mut grow = |by| number(&mut store, instance, name, &[by]).unwrap();
            assert_eq!((grow(10), grow(8), grow(2), grow(1)), (-1, 1, -1, 9));
            assert_eq!((grow(1), grow(0)), (-1, 10));
        }
        // The tables begin with four elements.
        let bytes = bytes + 32;
        let engine = Engine::new(Config::new().max_total_memory(bytes)).unwrap();
        let (mut store, instance) = instantiate_in(&engine, GROW);
        let mut grow = |name, by| number(&mut store, instance, name, &[by]).unwrap();
        assert_eq!((grow("a", 9), grow("a", 3), grow("b", 6)), (-1, 1, -1));
        assert_eq!((grow("b", 4), grow("b", 2), grow("a", 0)), (1, -1, 4));
        // One page is left, for the host or another instance.
        let ty = MemoryType { memory64: false, minimum: 1, maximum: None };
        let two = MemoryType { minimum: 2, ..ty };
        let says =
            format!("memories and tables of a store may have at most {bytes} bytes in total");
        fails_because(Memory::new(&mut store, two), &says);
        Memory::new(&mut store, ty).unwrap();
        fails_because(Memory::new(&mut store, ty), &says);
        let module = Module::new(&engine, "(memory 1)").unwrap();
        fails_because(Instance::new(&mut store, &module, &[]), &says);
        assert_eq!(number(&mut store, instance, "a", &[1]).unwrap(), -1);
        assert_eq!(number(&mut store, instance, "a", &[0]).unwrap(), 4);
    }
}

#[test]
fn memories_and_tables_have_a_common_total() {
    let engine = Engine::new(Config::new().max_total_memory(4 * PAGE)).unwrap();
    let (mut store, instance) = instantiate_in(&engine, GROW);
    let mut grow = |name, by| number(&mut store, instance, name, &[by]).unwrap();
    // Two pages of tables remain, less what the tables begin with.
    let left = 2 * PAGE as i32 / 8 - 4;
    assert_eq!((grow("a", 2), grow("t", left + 1), grow("u", left - 1)), (-1, -1, 2));
    assert_eq!((grow("b", 1), grow("t", 2), grow("t", 1)), (-1, -1, 2));
    let says =
        format!("memories and tables of a store may have at most {} bytes in total", 4 * PAGE);
    let ty = TableType { element: RefType::FUNCREF, minimum: 1, maximum: None, table64: false };
    fails_because(Table::new(&mut store, ty, Val::FuncRef(None)), &says);
    let module = Module::new(&engine, "(table 1 funcref)").unwrap();
    fails_because(Instance::new(&mut store, &module, &[]), &says);
    let module = Module::new(&engine, "(memory 4) (table 1 funcref)").unwrap();
    let mut store = Store::new(&engine, ());
    fails_because(Instance::new(&mut store, &module, &[]), &says);
}

#[test]
fn one_table_and_all_tables_have_as_many_elements_as_they_may() {
    for most in [10, 5000] {
        let engine = Engine::new(Config::new().max_table_elements(most as u64)).unwrap();
        let (mut store, instance) = instantiate_in(&engine, GROW);
        for name in ["t", "u"] {
            let mut grow = |by| number(&mut store, instance, name, &[by]).unwrap();
            assert_eq!((grow(most - 1), grow(most - 3), grow(2)), (-1, 2, -1));
            assert_eq!((grow(1), grow(1), grow(0)), (most - 1, -1, most));
        }
        let engine = Engine::new(Config::new().max_total_table_elements(most as u64)).unwrap();
        let (mut store, instance) = instantiate_in(&engine, GROW);
        let mut grow = |name, by| number(&mut store, instance, name, &[by]).unwrap();
        assert_eq!((grow("t", most - 3), grow("t", 2), grow("u", most - 5)), (-1, 2, -1));
        assert_eq!((grow("u", most - 7), grow("t", 2), grow("t", 0)), (2, -1, 4));
        let ty = TableType { element: RefType::FUNCREF, minimum: 1, maximum: None, table64: false };
        let says = format!("all tables of a store may have at most {most}");
        let two = TableType { minimum: 2, ..ty };
        fails_because(Table::new(&mut store, two, Val::FuncRef(None)), &says);
        Table::new(&mut store, ty, Val::FuncRef(None)).unwrap();
        fails_because(Table::new(&mut store, ty, Val::FuncRef(None)), &says);
        assert_eq!(number(&mut store, instance, "u", &[1]).unwrap(), -1);
    }
}

#[test]
fn tables_begin_with_as_many_elements_as_they_may() {
    let engine = Engine::new(Config::new().max_filled_elements(100)).unwrap();
    for (first, second, fits) in [(100, 0, true), (60, 40, true), (60, 41, false), (101, 0, false)]
    {
        let text = format!(
            "(func $f) (table {first} funcref (ref.func $f)) (table {second} funcref (ref.func $f))"
        );
        let mut store = Store::new(&engine, ());
        let made = Instance::new(&mut store, &Module::new(&engine, &text).unwrap(), &[]);
        assert_eq!(made.is_ok(), fits, "{first} {second}");
        if let Err(error) = made {
            assert!(error.to_string().contains("at most 100 are allowed"), "{error}");
        }
    }
}

#[test]
fn a_module_has_as_many_memories_and_tables_as_the_format_allows() {
    for (part, most) in [("(memory 0)", 100), ("(table 0 funcref)", 100_000)] {
        let module = |count| Module::new(&Engine::default(), part.repeat(count));
        let largest = module(most).unwrap();
        let mut store = Store::new(largest.engine(), ());
        for _ in 0..2 {
            Instance::new(&mut store, &largest, &[]).unwrap();
        }
        fails_because(module(most + 1), &format!("{most}"));
    }
}

// ---- what the host has

#[test]
fn a_function_has_as_many_values_as_it_may() {
    let engine = Engine::default();
    for (params, results) in [(1000, 0), (0, 1000), (1000, 1000), (1001, 0), (0, 1001)] {
        let [params_of, results_of] = [params, results].map(|count| vec![ValType::I32; count]);
        let mut store = Store::new(&engine, ());
        let ty = FuncType::new(params_of, results_of);
        let func = Func::new(&mut store, ty, |_, arguments, results| {
            let sum = arguments.iter().map(|value| value.i32().unwrap()).sum();
            results.fill(Val::I32(sum));
            Ok(())
        });
        assert_eq!(func.is_ok(), params <= 1000 && results <= 1000, "{params} {results}");
        let Ok(func) = func else { continue };
        let (arguments, mut found) = (vec![Val::I32(1); params], vec![Val::I32(0); results]);
        func.call(&mut store, &arguments, &mut found).unwrap();
        assert!(found.iter().all(|value| value.i32() == Some(params as i32)));
    }
}

#[test]
fn the_host_owns_as_many_references_and_values_as_it_may() {
    let engine = Engine::default();
    for most in [1, 2, 100] {
        let mut store = Store::new(&engine, ());
        store.limiter(StoreLimitsBuilder::new().handles(most).host_values(most).build());
        let values: Vec<_> = (0..most).map(|i| ExternRef::new(&mut store, i).unwrap()).collect();
        traps(ExternRef::new(&mut store, 0), TrapCode::OutOfMemory);
        let owned = values.iter().map(|value| value.own(&mut store).unwrap());
        let owned: Vec<_> = owned.collect();
        let error = values[0].own(&mut store).unwrap_err();
        let says = format!("refuses {} references that the host owns", most + 1);
        assert!(error.to_string().contains(&says), "{error}");
        drop(owned);
        values[0].own(&mut store).unwrap();
    }
}
