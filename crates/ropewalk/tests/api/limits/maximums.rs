//! Maximums of stacks, memories, tables and modules. Each is an error, and the store stays usable.

use crate::common::*;
use ropewalk::*;

#[test]
fn a_stack_holds_as_much_as_it_was_configured_to() {
    let text = r#"(module
        (func $down (export "down") (param i32) (result i32)
          (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 0))
            (else (i32.add (i32.const 1) (call $down (i32.sub (local.get 0) (i32.const 1))))))))"#;
    let deepest = |bytes: usize| {
        let engine = Engine::new(Config::new().max_wasm_stack(bytes)).unwrap();
        let (mut store, instance) = instantiate_in(&engine, text);
        let (mut low, mut high) = (0, 1 << 24);
        while high - low > 1 {
            let middle = (low + high) / 2;
            match invoke::<i32, i32>(&mut store, instance, "down", middle) {
                Ok(found) => {
                    assert_eq!(found, middle);
                    low = middle;
                }
                Err(error) => {
                    assert_eq!(trap(&error).code(), TrapCode::CallStackExhausted);
                    high = middle;
                }
            }
        }
        low
    };
    let (small, large) = (deepest(64 << 10), deepest(640 << 10));
    assert!(small >= 1000, "{small}");
    assert!((9 * small..11 * small).contains(&large), "{small} {large}");
}

/// A function with many live values, whose frame has many pages.
fn huge_frame(values: usize) -> String {
    let mut text = String::from("(module (memory 1) (func $huge (export \"huge\") (param i32)");
    for i in 0..values {
        text += &format!("(local $v{i} v128)");
    }
    for i in 0..values {
        text += &format!("(local.set $v{i} (v128.load (i32.const {})))", i % 4096);
    }
    text += "(if (local.get 0) (then (call $huge (i32.sub (local.get 0) (i32.const 1)))))";
    for i in 0..values {
        text += &format!("(v128.store (i32.const {}) (local.get $v{i}))", i % 4096);
    }
    text += "))";
    text
}

#[test]
fn a_huge_frame_overflows_cleanly() {
    let text = huge_frame(2000);
    let configs = [
        (Config::new(), true),
        (Config::new().max_wasm_stack(16 << 10).clone(), false),
        (MOVE.config().max_wasm_stack(1 << 20).clone(), true),
    ];
    for (config, has_room_for_ten) in configs {
        let (mut store, instance) = instantiate_in(&Engine::new(&config).unwrap(), &text);
        for _ in 0..3 {
            let error = call(&mut store, instance, "huge", &[Val::I32(10_000)]).unwrap_err();
            assert_eq!(trap(&error).code(), TrapCode::CallStackExhausted);
            assert_eq!(trap(&error).backtrace().frames()[0].function_name(), Some("huge"));
        }
        let ten = call(&mut store, instance, "huge", &[Val::I32(10)]);
        assert_eq!(ten.is_ok(), has_room_for_ten);
    }
}

#[test]
fn memories_that_cannot_be_had_are_an_error() {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let module = Module::new(&engine, "(module (memory i64 0x1_0000_0000_0000))").unwrap();
    let error = Instance::new(&mut store, &module, &[]).unwrap_err();
    assert!(
        error.to_string().contains("cannot allocate a memory of 281474976710656 pages"),
        "{error}"
    );
    let text = "(module (table 4000000000 funcref))";
    let error = match Module::new(&engine, text) {
        Ok(module) => Instance::new(&mut store, &module, &[]).unwrap_err(),
        Err(error) => error,
    };
    assert!(error.to_string().contains("table"), "{error}");
    // The store is still usable.
    let module = Module::new(&engine, "(module (memory 1) (func (export \"f\")))").unwrap();
    let instance = Instance::new(&mut store, &module, &[]).unwrap();
    call(&mut store, instance, "f", &[]).unwrap();
}

#[test]
fn growth_beyond_the_limit_returns_minus_one() {
    let text = r#"(module
        (memory $m 1) (memory $n i64 1) (table $t 1 funcref)
        (func (export "memory") (param i32) (result i32) (memory.grow $m (local.get 0)))
        (func (export "memory64") (param i64) (result i64) (memory.grow $n (local.get 0)))
        (func (export "table") (param i32) (result i32)
          (table.grow $t (ref.null func) (local.get 0))))"#;
    let (mut store, instance) = instantiate(text);
    for (name, argument, expected) in [
        ("memory", Val::I32(65536), Val::I32(-1)),
        ("memory", Val::I32(-1), Val::I32(-1)),
        ("memory", Val::I32(1), Val::I32(1)),
        ("memory64", Val::I64(-1), Val::I64(-1)),
        ("memory64", Val::I64(1 << 40), Val::I64(-1)),
        ("memory64", Val::I64(1), Val::I64(1)),
        ("table", Val::I32(-1), Val::I32(-1)),
        ("table", Val::I32(1), Val::I32(1)),
    ] {
        let found = call(&mut store, instance, name, &[argument]).unwrap();
        assert_eq!(format!("{:?}", found[0]), format!("{expected:?}"), "{name} {argument:?}");
    }
}

#[test]
fn a_64_bit_memory_keeps_its_contents_when_it_moves() {
    let text = r#"(module
        (memory (export "m") i64 1)
        (func (export "grow") (param i64) (result i64) (memory.grow (local.get 0)))
        (func (export "store") (param i64 i64) (i64.store (local.get 0) (local.get 1)))
        (func (export "load") (param i64) (result i64) (i64.load (local.get 0))))"#;
    let engine = Engine::new(Config::new().max_total_memory(4 << 30)).unwrap();
    let (mut store, instance) = instantiate_in(&engine, text);
    call(&mut store, instance, "store", &[Val::I64(8), Val::I64(42)]).unwrap();
    // More than the initial reservation.
    let pages = (3 << 30) / 65536;
    assert_eq!(call(&mut store, instance, "grow", &[Val::I64(pages)]).unwrap()[0].i64(), Some(1));
    let last = (pages + 1) * 65536 - 8;
    call(&mut store, instance, "store", &[Val::I64(last), Val::I64(43)]).unwrap();
    let found = call(&mut store, instance, "load", &[Val::I64(8)]).unwrap();
    assert_eq!(found[0].i64(), Some(42));
    let found = call(&mut store, instance, "load", &[Val::I64(last)]).unwrap();
    assert_eq!(found[0].i64(), Some(43));
    traps(call(&mut store, instance, "load", &[Val::I64(last + 1)]), TrapCode::MemoryOutOfBounds);
}

#[test]
fn many_stores_share_an_engine() {
    let engine = Engine::default();
    for _ in 0..1000 {
        let (mut store, instance) = instantiate_in(
            &engine,
            "(module (memory 1) (func (export \"f\") (result i32) (i32.const 3)))",
        );
        assert_eq!(number(&mut store, instance, "f", &[]).unwrap(), 3);
    }
}

#[test]
fn stores_and_their_values_can_be_sent_between_threads() {
    fn sendable<T: Send>() {}
    fn shareable<T: Send + Sync>() {}
    sendable::<Store<Vec<u8>>>();
    shareable::<Engine>();
    shareable::<Module>();
    shareable::<Linker<()>>();
    shareable::<Func>();
    shareable::<TypedFunc<i32, i32>>();
    shareable::<Memory>();
    shareable::<Instance>();
    shareable::<Error>();
}

#[test]
fn a_new_memory_is_zero_after_any_previous_one() {
    let engine = Engine::default();
    let small = "(module (memory (export \"m\") 1) (data (i32.const 100) \"secret\"))";
    let large = "(module (memory (export \"m\") 2))";
    for text in [small, large, small, large] {
        let (mut store, instance) = instantiate_in(&engine, text);
        let memory = instance.get_memory(&mut store, "m").unwrap();
        let data = memory.data_mut(&mut store).unwrap();
        assert_eq!(&data[100..106], if text == small { b"secret" } else { &[0; 6] });
        assert!(data[200..].iter().all(|byte| *byte == 0));
        data.fill(0xff);
        memory.grow(&mut store, 1).unwrap();
        memory.data_mut(&mut store).unwrap().fill(0xee);
    }
}

#[test]
fn a_smaller_memory_in_the_place_of_a_larger_one_still_traps_at_its_end() {
    let engine = Engine::default();
    let text = |pages: u32| {
        format!(
            "(module (memory {pages})
               (func (export \"load\") (param i32) (result i32) (i32.load (local.get 0))))"
        )
    };
    for pages in [3, 1, 2, 0, 3] {
        let (mut store, instance) = instantiate_in(&engine, text(pages));
        let end = (pages * 65536) as i32;
        if pages > 0 {
            call(&mut store, instance, "load", &[Val::I32(end - 4)]).unwrap();
        }
        traps(
            call(&mut store, instance, "load", &[Val::I32(end - 3)]),
            TrapCode::MemoryOutOfBounds,
        );
    }
}

/// `hold n` suspends a continuation at this depth, which expects numbers. `bind` binds all but the
/// last, `all` resumes with all of them, `last` with the last.
fn binds(count: usize) -> String {
    let params = "i64 ".repeat(count);
    let numbers = |range: std::ops::Range<usize>| -> String {
        range.map(|i| format!("(i64.const {i}) ")).collect()
    };
    let (first, last) = (numbers(0..count - 1), numbers(count - 1..count));
    let sum = "(i64.add) ".repeat(count - 1);
    format!(
        r#"(module
        (type $all (func (param {params}) (result i64))) (type $k (cont $all))
        (type $one (func (param i64) (result i64))) (type $k1 (cont $one))
        (type $depth (func (param i32) (result i64))) (type $kd (cont $depth))
        (tag $ask (result {params})) (global $k (mut (ref null $k)) (ref.null $k))
        (global $k1 (mut (ref null $k1)) (ref.null $k1))
        (elem declare func $down)
        (func $down (param i32) (result i64)
          (if (result i64) (i32.eqz (local.get 0)) (then (suspend $ask) {sum})
            (else (i64.add (i64.const 1) (call $down (i32.sub (local.get 0) (i32.const 1)))))))
        (func (export "hold") (param i32)
          (block $h (result (ref $k))
            (resume $kd (on $ask $h) (local.get 0) (cont.new $kd (ref.func $down)))
            (unreachable))
          (global.set $k))
        (func (export "bind") (global.set $k1 (cont.bind $k $k1 {first} (global.get $k))))
        (func (export "last") (result i64) (resume $k1 {last} (global.get $k1)))
        (func (export "all") (result i64) (resume $k {first} {last} (global.get $k))))"#
    )
}

#[test]
fn where_bound_values_find_no_room_nothing_is_bound() {
    const COUNT: usize = 40;
    let sum = (COUNT * (COUNT - 1) / 2) as i64;
    for checks in [false, true] {
        let mut config = Config::new();
        config
            .stack_size(16 << 10)
            .stress(|stress| stress.fail_to_grow = true)
            .stress(|stress| stress.check_stacks = checks);
        let (mut store, instance) = instantiate_in(&Engine::new(&config).unwrap(), binds(COUNT));
        let [last, all] = ["last", "all"]
            .map(|name| instance.get_typed_func::<(), i64>(&mut store, name).unwrap());
        let (mut found_room, mut was_full) = (0, 0);
        for depth in 0.. {
            if let Err(error) = invoke::<i32, ()>(&mut store, instance, "hold", depth) {
                assert_eq!(trap(&error).code(), TrapCode::CallStackExhausted);
                break;
            }
            match invoke::<(), ()>(&mut store, instance, "bind", ()) {
                Ok(()) => {
                    found_room += 1;
                    assert_eq!(last.call(&mut store, ()).unwrap(), sum + i64::from(depth));
                }
                Err(error) => {
                    was_full += 1;
                    assert_eq!(trap(&error).code(), TrapCode::CallStackExhausted);
                    assert_eq!(all.call(&mut store, ()).unwrap(), sum + i64::from(depth));
                }
            }
        }
        assert!(found_room > 10 && was_full > 1, "{found_room} {was_full}");
    }
}

#[test]
fn a_setting_that_cannot_be_is_an_error_that_says_the_range() {
    const LAST: u64 = stress::LAST_GENERATION;
    let beyond = format!("Stress::first_generation must be 0 to {LAST}, found {}", LAST + 1);
    let largest = "a stack has at most 68719476736 bytes, found 68719476737";
    let blocks = "Stress::max_blocks must be 2 to 16777216, found";
    let [few, many] = [1, 16_777_217].map(|count| format!("{blocks} {count}"));
    for (config, expected) in [
        (Config::new().stress(|stress| stress.max_blocks = 1), &*few),
        (Config::new().stress(|stress| stress.max_blocks = 16_777_217), &*many),
        (Config::new().max_activations(0), "Config::max_activations must be at least 1, found 0"),
        (Config::new().stack_pool(0), "Config::stack_pool must be 1 to 65536, found 0"),
        (Config::new().stack_pool(65537), "Config::stack_pool must be 1 to 65536, found 65537"),
        (Config::new().stress(|stress| stress.first_generation = LAST + 1), &*beyond),
        (Config::new().stack_size((1 << 36) + 1), largest),
        (Config::new().max_wasm_stack((1 << 36) + 1), largest),
        (
            Config::new().wasm_features(WasmFeatures::THREADS, true),
            "these features are not implemented: THREADS",
        ),
    ] {
        assert_eq!(Engine::new(config).unwrap_err().to_string(), expected);
    }
    for config in [
        Config::new().max_activations(1),
        Config::new().stack_pool(65536),
        Config::new().stress(|stress| stress.max_blocks = 16_777_216),
        Config::new().stress(|stress| stress.first_generation = LAST),
        Config::new().max_stacks(usize::MAX),
    ] {
        Engine::new(config).unwrap();
    }
}
