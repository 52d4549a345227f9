//! Excessive modules, and bytes that are not modules: an error or a trap, and the store
//! and the process continue.

use crate::common::*;
use ropewalk::*;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

const MIB: usize = 1 << 20;

/// An engine with a small heap.
fn small_heap(bytes: usize) -> Engine {
    Engine::new(Config::new().max_heap(bytes)).unwrap()
}

// ---- allocation without end

const GREEDY: &str = r#"(module
    (type $list (struct (field i64) (field (ref null $list)))) (type $array (array (mut anyref)))
    (type $bytes (array (mut i8))) (tag $e (param i64 exnref))
    (global $list (mut (ref null $list)) (ref.null $list))
    (global $array (mut (ref null $array)) (ref.null $array))
    (global $bytes (mut (ref null $bytes)) (ref.null $bytes))
    (global $exception (mut exnref) (ref.null exn))
    (func (export "kept list")
      (loop $forever
        (global.set $list (struct.new $list (i64.const 1) (global.get $list)))
        (br $forever)))
    (func (export "local list") (local $list (ref null $list))
      (loop $forever
        (local.set $list (struct.new $list (i64.const 1) (local.get $list))) (br $forever)))
    (func (export "arrays")
      (loop $forever
        (global.set $array (array.new $array (global.get $array) (i32.const 1000)))
        (br $forever)))
    (func (export "doubling") (local $size i32)
      (local.set $size (i32.const 1))
      (loop $forever
        (global.set $bytes (array.new $bytes (i32.const 1) (local.get $size)))
        (local.set $size (i32.mul (local.get $size) (i32.const 2))) (br $forever)))
    (func (export "exceptions")
      (loop $forever
        (global.set $exception
          (block $h (result exnref)
            (try_table (catch_all_ref $h) (throw $e (i64.const 1) (global.get $exception)))
            (unreachable)))
        (br $forever)))
    (func $deep (export "recursion") (param (ref null $array))
      (call $deep (array.new $array (local.get 0) (i32.const 500)))
      (call $deep (local.get 0)))
    (func (export "forget")
      (global.set $list (ref.null $list)) (global.set $array (ref.null $array))
      (global.set $bytes (ref.null $bytes))
      (global.set $exception (ref.null exn)))
    (func (export "fine") (result i32)
      (array.len (array.new $bytes (i32.const 1) (i32.const 1_000_000)))))"#;

#[test]
fn a_full_heap_is_a_trap_and_the_store_stays_usable() {
    for (mode, bytes) in [(DEFAULT, 16 * MIB), (MOVE, MIB)] {
        let engine = Engine::new(mode.config().max_heap(bytes)).unwrap();
        let (mut store, instance) = instantiate_in(&engine, GREEDY);
        let greedy = ["kept list", "local list", "arrays", "doubling", "exceptions", "recursion"];
        for name in greedy {
            for _ in 0..2 {
                let arguments = if name == "recursion" { &[Val::AnyRef(None)][..] } else { &[] };
                let result = call(&mut store, instance, name, arguments);
                assert_eq!(code(result), TrapCode::OutOfMemory, "{name}");
                assert!(store.heap_used() <= bytes, "{name}");
            }
            call(&mut store, instance, "forget", &[]).unwrap();
            assert_eq!(call_i32(&mut store, instance, "fine"), 1_000_000, "{name}");
            store.gc();
            assert_eq!(store.heap_used(), 0, "{name}");
        }
    }
}

#[test]
fn a_trap_for_want_of_memory_has_a_backtrace_and_is_not_caught() {
    let text = r#"(module
        (type $bytes (array i8))
        (func $greedy (drop (array.new_default $bytes (i32.const 0x7fff_ffff))))
        (func (export "run") (result i32)
          (block $h (try_table (catch_all $h) (call $greedy)))
          (i32.const 1)))"#;
    let (mut store, instance) = instantiate_in(&small_heap(16 * MIB), text);
    let error = call(&mut store, instance, "run", &[]).unwrap_err();
    assert_eq!(trap(&error).code(), TrapCode::OutOfMemory);
    assert_eq!(trap(&error).backtrace().frames()[0].function_name(), Some("greedy"));
    assert!(error.to_string().starts_with("wasm trap: out of memory"));
}

#[test]
fn a_heap_may_be_as_small_as_nothing() {
    let text = r#"(module
        (type $s (struct (field i64)))
        (global $kept (mut (ref null $s)) (ref.null $s))
        (func (export "new") (global.set $kept (struct.new $s (i64.const 1)))))"#;
    // An object has sixteen bytes. The first is still alive while the second is made.
    for (bytes, fits) in [(0, 0), (1, 0), (15, 0), (16, 1), (31, 1), (32, usize::MAX)] {
        let (mut store, instance) = instantiate_in(&small_heap(bytes), text);
        for round in 0..10 {
            let result = call(&mut store, instance, "new", &[]);
            match round < fits {
                true => assert!(result.is_ok(), "{bytes} bytes, round {round}"),
                false => assert_eq!(code(result), TrapCode::OutOfMemory),
            }
            assert!(store.heap_used() <= bytes);
        }
        // Without objects everything works.
        let result = ExternRef::new(&mut store, 1);
        assert_eq!(result.is_ok(), bytes >= 32, "{bytes} bytes");
        AnyRef::i31(&mut store, 1).as_i31(&store).unwrap();
    }
}

#[test]
fn the_host_is_told_that_the_heap_is_full() {
    let mut store = Store::new(&small_heap(MIB), ());
    let tag = Tag::with_params(&mut store, []).unwrap();
    {
        let mut scope = RootScope::new(&mut store);
        let error = loop {
            match ExternRef::new(&mut scope, [0u8; 100]) {
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!(trap(&error).code(), TrapCode::OutOfMemory);
        traps(ExnRef::new(&mut scope, tag, &[]), TrapCode::OutOfMemory);
        traps(Exception::new(&mut scope, tag, &[]), TrapCode::OutOfMemory);
    }
    assert!(ExternRef::new(&mut store, ()).is_ok());
    assert!(Exception::new(&mut store, tag, &[]).is_ok());
}

#[test]
fn constant_expressions_that_allocate_too_much_fail_the_instantiation() {
    let engine = small_heap(16 * MIB);
    let mut store = Store::new(&engine, ());
    for item in [
        "(global (ref $a) (array.new $a (i64.const 1) (i32.const -1)))",
        "(global (ref $a) (array.new_default $a (i32.const 0x8000_0000)))",
        "(global (ref $a) (array.new_default $a (i32.const 0x20_0000)))",
        "(table 1 (ref $a) (array.new_default $a (i32.const -1)))",
        "(elem (ref $a) (array.new_default $a (i32.const 9)) (array.new_default $a (i32.const -1)))",
    ] {
        let text = format!(
            "(module (type $a (array i64))
               (global (ref $a) (array.new_default $a (i32.const 1000))) {item})"
        );
        let module = Module::new(&engine, text).unwrap();
        for _ in 0..3 {
            let result = Instance::new(&mut store, &module, &[]);
            assert_eq!(code(result), TrapCode::OutOfMemory, "{item}");
        }
        store.gc();
        assert_eq!(store.heap_used(), 0, "nothing of it is left");
    }
    let instance = Instance::new(&mut store, &Module::new(&engine, GREEDY).unwrap(), &[]).unwrap();
    assert_eq!(call_i32(&mut store, instance, "fine"), 1_000_000);
}

// ---- huge arrays

/// The types that elements can have, and their sizes.
const ELEMENTS: [(&str, u64); 9] = [
    ("i8", 1),
    ("i16", 2),
    ("i32", 4),
    ("f32", 4),
    ("i64", 8),
    ("f64", 8),
    ("v128", 16),
    ("anyref", 8),
    ("funcref", 8),
];

#[test]
fn huge_arrays_are_out_of_memory() {
    for (element, size) in ELEMENTS {
        let value = match element {
            "i8" | "i16" => "i32.const 1".to_string(),
            "v128" => "v128.const i64x2 1 1".to_string(),
            "anyref" => "ref.null any".to_string(),
            "funcref" => "ref.null func".to_string(),
            number => format!("{number}.const 1"),
        };
        let text = format!(
            r#"(module (type $a (array (mut {element})))
            (func (export "new") (param i32) (result i32)
              (array.len (array.new $a ({value}) (local.get 0))))
            (func (export "default") (param i32) (result i32)
              (array.len (array.new_default $a (local.get 0))))
            (func (export "constant 2^31") (result i32)
              (array.len (array.new_default $a (i32.const 0x8000_0000))))
            (func (export "constant 2^32-1") (result i32)
              (array.len (array.new $a ({value}) (i32.const -1)))))"#
        );
        let (mut store, instance) = instantiate_in(&small_heap(16 * MIB), &text);
        let largest = (16 * MIB as u64 - 16) / size;
        let too_large = [
            largest + 1,
            1 << 28,
            (1 << 28) + 1,
            1 << 31,
            (1 << 31) + 1,
            (1 << 32) - 2,
            (1 << 32) - 1,
        ];
        for name in ["new", "default"] {
            for len in too_large {
                let result = call(&mut store, instance, name, &[Val::I32(len as u32 as i32)]);
                assert_eq!(code(result), TrapCode::OutOfMemory, "{len} of {element}");
            }
            assert_eq!(
                number(&mut store, instance, name, &[largest as i32]).unwrap(),
                largest as i32,
                "{element}"
            );
        }
        for name in ["constant 2^31", "constant 2^32-1"] {
            traps(call(&mut store, instance, name, &[]), TrapCode::OutOfMemory);
        }
        // The default limit is four gibibytes, so some of these are too large.
        let (mut store, instance) = instantiate(&text);
        for len in [1u64 << 31, (1 << 32) - 1].into_iter().filter(|len| len * size + 16 > 1 << 32) {
            let result = call(&mut store, instance, "new", &[Val::I32(len as u32 as i32)]);
            assert_eq!(code(result), TrapCode::OutOfMemory, "{len} of {element}");
        }
        assert_eq!(store.heap_used(), 0);
    }
}

#[test]
fn sizes_of_segments_do_not_wrap() {
    let wider_than_bytes = |(element, size): &(&str, u64)| !element.ends_with("ref") && *size > 1;
    for (element, size) in ELEMENTS.into_iter().filter(wider_than_bytes) {
        let text = format!(
            r#"(module (type $a (array (mut {element})))
            (data $d "0123456789abcdef0123456789abcdef")
            (func (export "new_data") (param i32 i32)
              (drop (array.new_data $a $d (local.get 0) (local.get 1))))
            (func (export "init_data") (param i32 i32)
              (array.init_data $a $d
                (array.new_default $a (i32.const 100)) (i32.const 0)
                (local.get 0) (local.get 1))))"#
        );
        let (mut store, instance) = instantiate_in(&small_heap(16 * MIB), &text);
        // A number of elements whose size wraps to few bytes in 32 bits.
        let wraps = (1u64 << 32) / size;
        for (from, len) in [(0, wraps), (0, wraps + 1), (16, wraps - 1), (u64::from(u32::MAX), 1)] {
            let arguments = [from, len].map(|value| Val::I32(value as u32 as i32));
            let result = call(&mut store, instance, "new_data", &arguments);
            assert_eq!(code(result), TrapCode::MemoryOutOfBounds, "{len} of {element}");
            let expected = match len {
                1 => TrapCode::MemoryOutOfBounds,
                _ => TrapCode::ArrayOutOfBounds,
            };
            let result = call(&mut store, instance, "init_data", &arguments);
            assert_eq!(code(result), expected, "{len} of {element}");
        }
    }
    let text = r#"(module (type $a (array (mut funcref)))
        (elem $e func $f $f) (func $f)
        (func (export "new_elem") (param i32 i32)
          (drop (array.new_elem $a $e (local.get 0) (local.get 1)))))"#;
    let (mut store, instance) = instantiate(text);
    for (from, len) in [(0, 1 << 29), (1, 1 << 29), (u32::MAX, 1), (1, u32::MAX), (2, u32::MAX)] {
        let arguments = [Val::I32(from as i32), Val::I32(len as i32)];
        traps(call(&mut store, instance, "new_elem", &arguments), TrapCode::TableOutOfBounds);
    }
}

#[test]
fn an_array_may_be_made_of_thousands_of_operands() {
    for (element, size) in ELEMENTS {
        let count = 10_000;
        let mut text =
            format!("(module (type $a (array (mut {element}))) (func $f (export \"f\"))");
        write!(text, "(func (export \"new\") (result (ref $a)) (array.new_fixed $a {count}")
            .unwrap();
        for i in 0..count {
            match element {
                "i8" | "i16" | "i32" => write!(text, "(i32.const {i})"),
                "v128" => write!(text, "(v128.const i64x2 {i} 0)"),
                "anyref" => write!(text, "(ref.i31 (i32.const {i}))"),
                "funcref" => write!(text, "(ref.func $f)"),
                number => write!(text, "({number}.const {i})"),
            }
            .unwrap();
        }
        text += ")))";
        let (mut store, instance) = instantiate_in(&engine(COLLECT), &text);
        let new = instance.get_typed_func::<(), ArrayRef>(&mut store, "new").unwrap();
        let array = new.call(&mut store, ()).unwrap();
        assert_eq!(array.len(&store).unwrap(), count);
        assert!(store.heap_used() as u64 >= size * u64::from(count));
        for i in [0, 1, 255, 1000, count - 1] {
            let mut scope = RootScope::new(&mut store);
            let right = match array.get(&mut scope, i).unwrap() {
                Val::I32(value) if element == "i8" => value == i as i32 & 0xff,
                Val::I32(value) => value == i as i32,
                Val::I64(value) => value == i64::from(i),
                Val::F32(bits) => f32::from_bits(bits) == i as f32,
                Val::F64(bits) => f64::from_bits(bits) == f64::from(i),
                Val::V128(value) => value == u128::from(i),
                Val::AnyRef(value) => value.unwrap().as_i31(&scope).unwrap() == Some(i),
                Val::FuncRef(value) => value.is_some(),
                _ => false,
            };
            assert!(right, "element {i} of {element}");
        }
    }
    // Unreachable code may have any number of them.
    let text = r#"(module (type $a (array i32))
        (func (export "f") (result (ref $a)) unreachable array.new_fixed $a 0xffff_ffff))"#;
    let (mut store, instance) = instantiate(text);
    traps(call(&mut store, instance, "f", &[]), TrapCode::Unreachable);
}

// ---- huge types

fn struct_of(fields: usize, ty: &str) -> String {
    format!("(struct {})", format!("(field (mut {ty}))").repeat(fields))
}

#[test]
fn fields_may_be_far_away_from_their_beginning() {
    for (ty, size, convert) in
        [("i8", 1, "i64.extend_i32_u"), ("i64", 8, ""), ("v128", 16, "i64x2.extract_lane 0")]
    {
        let get = if ty == "i8" { "struct.get_u" } else { "struct.get" };
        let back = match ty {
            "i8" => "i32.wrap_i64",
            "v128" => "i64x2.splat",
            _ => "",
        };
        let wrap = |operator: &str, operand: &str| match operator {
            "" => operand.to_string(),
            operator => format!("({operator} {operand})"),
        };
        // The fields at the limit, and around the end of the first page.
        let edge = 4096 / size - 8 / size;
        let indices = [0, 1, edge - 2, edge - 1, edge, edge + 1, edge + 2, 9_998, 9_999];
        let mut text = format!("(module (type $s {})", struct_of(10_000, ty));
        text += r#"(func (export "new") (result (ref $s)) (struct.new_default $s))"#;
        for i in indices {
            let value = wrap(convert, &format!("({get} $s {i} (local.get 0))"));
            let new = wrap(back, "(local.get 1)");
            write!(
                text,
                r#"(func (export "get {i}") (param (ref null $s)) (result i64) {value})
                   (func (export "set {i}") (param (ref null $s) i64)
                     (struct.set $s {i} (local.get 0) {new}))"#
            )
            .unwrap();
        }
        text += ")";
        for engine in [engine(DEFAULT), engine(COLLECT)] {
            let (mut store, instance) = instantiate_in(&engine, &text);
            let object = call(&mut store, instance, "new", &[]).unwrap()[0];
            for i in indices {
                let (get, set) = (format!("get {i}"), format!("set {i}"));
                let null = Val::AnyRef(None);
                let result = call(&mut store, instance, &get, &[null]);
                assert_eq!(code(result), TrapCode::NullStructReference, "{ty} {i}");
                let result = call(&mut store, instance, &set, &[null, Val::I64(1)]);
                assert_eq!(code(result), TrapCode::NullStructReference, "{ty} {i}");
                let value = (i % 251) as i64;
                call(&mut store, instance, &set, &[object, Val::I64(value)]).unwrap();
                store.gc();
                let found = call(&mut store, instance, &get, &[object]).unwrap();
                assert_eq!(found[0].i64(), Some(value), "{ty} {i}");
            }
        }
    }
}

#[test]
fn a_struct_may_be_made_of_ten_thousand_operands() {
    let mut text = format!("(module (type $s {})", struct_of(10_000, "anyref"));
    text += r#"(func (export "new") (result (ref $s)) (struct.new $s "#;
    for i in 0..10_000 {
        write!(text, "(ref.i31 (i32.const {i}))").unwrap();
    }
    text += ")))";
    let (mut store, instance) = instantiate_in(&engine(COLLECT), &text);
    let new = instance.get_typed_func::<(), StructRef>(&mut store, "new").unwrap();
    let object = new.call(&mut store, ()).unwrap();
    store.gc();
    assert_eq!(object.len(&store).unwrap(), 10_000);
    for i in 0..10_000 {
        let mut scope = RootScope::new(&mut store);
        let Val::AnyRef(Some(value)) = object.field(&mut scope, i).unwrap() else {
            panic!("not null")
        };
        assert_eq!(value.as_i31(&scope).unwrap(), Some(i as u32));
    }
    let text = format!("(module (type $s {}))", struct_of(10_001, "i8"));
    assert!(Module::new(&Engine::default(), text).is_err(), "beyond the limit");
}

/// A module with ten thousand struct types, each with a reference to the next.
fn many_types(one_group: bool) -> String {
    let count = 10_000;
    let mut text = String::from("(module ");
    text += if one_group { "(rec " } else { "" };
    for i in 0..count {
        // In groups of their own, types can only refer to earlier types.
        let other = match one_group {
            true => (i + 1) % count,
            false => i.max(1) - 1,
        };
        let other = if i == 0 && !one_group { "any".to_string() } else { format!("$t{other}") };
        write!(text, "(type $t{i} (struct (field i32) (field (mut (ref null {other})))))").unwrap();
    }
    text += if one_group { ")" } else { "" };
    let last = count - 1;
    let (from, to) = if one_group { (last, 0) } else { (last, last - 1) };
    write!(
        text,
        r#"(func (export "new") (result anyref)
             (struct.new $t{from} (i32.const 1) (struct.new $t{to} (i32.const 2) (ref.null none))))
           (func (export "test") (param anyref) (result i32 i32 i32)
             (ref.test (ref $t{from}) (local.get 0))
             (ref.test (ref $t{to}) (local.get 0))
             (ref.test (ref $t5000) (local.get 0)))
           (func (export "value") (param anyref) (result i32)
             (struct.get $t{to} 0 (struct.get $t{from} 1 (ref.cast (ref $t{from}) (local.get 0))))))"#
    )
    .unwrap();
    text
}

#[test]
fn ten_thousand_types_are_no_trouble() {
    for one_group in [true, false] {
        let text = many_types(one_group);
        let engine = Engine::default();
        let mut store = Store::new(&engine, ());
        // Both modules have the same types.
        let [one, other] = [(); 2].map(|()| {
            let module = Module::new(&engine, &text).unwrap();
            Instance::new(&mut store, &module, &[]).unwrap()
        });
        let object = call(&mut store, one, "new", &[]).unwrap()[0];
        let tests = call(&mut store, other, "test", &[object]).unwrap();
        let tests: Vec<_> = tests.iter().map(|test| test.i32().unwrap()).collect();
        assert_eq!(tests, [1, 0, 0]);
        assert_eq!(call(&mut store, other, "value", &[object]).unwrap()[0].i32(), Some(2));
    }
}

#[test]
fn chains_of_subtypes_are_as_deep_as_63() {
    let chain = |depth: usize, ty: &str| {
        let mut text = format!("(module (type $t0 (sub {ty}))");
        for i in 1..=depth {
            write!(text, "(type $t{i} (sub $t{} {ty}))", i - 1).unwrap();
        }
        text + ")"
    };
    let engine = Engine::default();
    for ty in ["(struct)", "(array i8)", "(func)", "(struct (field (ref null $t0)))"] {
        Module::new(&engine, chain(63, ty)).unwrap();
        let error = Module::new(&engine, chain(64, ty)).unwrap_err();
        let error = error.downcast::<ModuleError>().unwrap();
        assert!(error.message().contains("sub type hierarchy too deep"), "{error}");
    }
}

#[test]
fn exceptions_have_up_to_a_thousand_values() {
    let module = |count: usize| {
        let params = "i64 ".repeat(count);
        let values: String = (0..count).map(|i| format!("(i64.const {i})")).collect();
        format!(
            r#"(module (tag $e (param {params}))
            (func (export "run") (result i64) (local $sum i64)
              (block $h (result {params})
                (try_table (catch $e $h) (throw $e {values})) (unreachable))
              {}
              (local.get $sum)))"#,
            "(local.set $sum (i64.add (local.get $sum)))".repeat(count)
        )
    };
    let (mut store, instance) = instantiate(&module(1000));
    let sum = call(&mut store, instance, "run", &[]).unwrap();
    assert_eq!(sum[0].i64(), Some((0..1000).sum()));
    assert!(Module::new(&Engine::default(), module(1001)).is_err());
}

// ---- deep nesting

#[test]
fn blocks_nest_thousands_deep() {
    let count = 5000;
    for (open, close) in [
        ("block", "end"),
        ("loop", "end"),
        ("i32.const 1 if", "end"),
        ("block try_table (catch_all 0)", "end end"),
    ] {
        let text = format!(
            "(module (func (export \"run\") (result i32) (local i32) {} {} {} local.get 0))",
            format!("{open} ").repeat(count),
            "local.get 0 i32.const 1 i32.add local.set 0",
            format!("{close} ").repeat(count),
        );
        let (mut store, instance) = instantiate(&text);
        assert_eq!(call_i32(&mut store, instance, "run"), 1, "{open}");
    }
}

#[test]
fn calls_in_hundreds_of_try_tables_find_the_right_one() {
    // Handler n is for tag n. Each handler has a call.
    let count = 200;
    let mut text = String::from("(module (type $t (func (param i32)))");
    for i in 0..count {
        write!(text, "(tag $e{i})").unwrap();
    }
    text += "(func $throw (param i32)";
    for i in 0..count {
        write!(text, "(if (i32.eq (local.get 0) (i32.const {i})) (then (throw $e{i})))").unwrap();
    }
    text += r#") (func (export "run") (param $tag i32) (param $depth i32) (result i32)"#;
    for i in 0..count {
        write!(
            text,
            "block $h{i} try_table (catch $e{i} $h{i})
               (if (i32.eq (local.get $depth) (i32.const {i})) (then (call $throw (local.get $tag))))"
        )
        .unwrap();
    }
    for i in (0..count).rev() {
        write!(text, "end (return (i32.const -1)) end (return (i32.const {i}))").unwrap();
    }
    text += "))";
    let (mut store, instance) = instantiate(&text);
    for (tag, depth) in [(0, 0), (0, 199), (100, 199), (199, 199), (7, 8), (150, 150)] {
        assert_eq!(number(&mut store, instance, "run", &[tag, depth]).unwrap(), tag);
    }
    for (tag, depth) in [(199, 0), (100, 99)] {
        let error =
            call(&mut store, instance, "run", &[Val::I32(tag), Val::I32(depth)]).unwrap_err();
        assert!(error.downcast_ref::<Exception>().is_some());
    }
}

// ---- exceptions without end

#[test]
fn throwing_without_end_ends_with_the_stack_or_by_itself() {
    let text = r#"(module
        (tag $e (param i32)) (global $count (mut i32) (i32.const 0))
        (func (export "count") (result i32) (global.get $count))
        (func $count (global.set $count (i32.add (global.get $count) (i32.const 1))))
        ;; Throws and catches at each level of a recursion without end.
        (func $recursion (export "recursion")
          (block $h (result i32)
            (try_table (catch $e $h) (throw $e (i32.const 1))) (unreachable))
          (drop)
          (call $count)
          (call $recursion)
          (call $count))
        ;; Recurs in the handler.
        (func $handler (export "handler")
          (block $h
            (try_table (catch_all $h) (throw $e (i32.const 1))))
          (call $handler)
          (call $count))
        ;; Recurs inside of the `try_table`, and would throw on the way back.
        (func $inside (export "inside")
          (block $h
            (try_table (catch_all $h) (call $inside)) (unreachable))
          (throw $e (i32.const 1)))
        ;; A handler that throws the caught exception again, many times.
        (func (export "rethrow") (param $times i32) (result i32) (local $exception exnref)
          (local.set $exception
            (block $h (result exnref)
              (try_table (catch_all_ref $h) (throw $e (local.get $times))) (unreachable)))
          (loop $again
            (call $count)
            (local.set $exception
              (block $h (result exnref)
                (try_table (catch_all_ref $h) (throw_ref (local.get $exception)))
                (unreachable)))
            (br_if $again (local.tee $times (i32.sub (local.get $times) (i32.const 1)))))
          (block $h (result i32)
            (try_table (catch $e $h) (throw_ref (local.get $exception))) (unreachable))))"#;
    for (engine, times) in engines().iter().zip([200_000, 1000, 1000, 1000]) {
        let (mut store, instance) = instantiate_in(engine, text);
        let names: &[&str] = match times {
            1000 => &["inside"],
            _ => &["recursion", "handler", "inside"],
        };
        for name in names {
            for _ in 0..2 {
                let result = call(&mut store, instance, name, &[]);
                assert_eq!(code(result), TrapCode::CallStackExhausted, "{name}");
            }
        }
        let before = call_i32(&mut store, instance, "count");
        assert_eq!(
            number(&mut store, instance, "rethrow", &[times]).unwrap(),
            times,
            "it is still the same exception"
        );
        assert_eq!(call_i32(&mut store, instance, "count") - before, times);
    }
}

#[test]
fn throwing_through_the_host_without_end_is_exhaustion() {
    let text = r#"(module
        (import "host" "f" (func $f))
        (tag $e)
        (func (export "run")
          (block $h
            (try_table (catch_all $h) (call $f)) (unreachable))
          (throw $e)))"#;
    let mut linker = Linker::new(&Engine::default());
    linker.host("f", |mut caller: Caller<'_, ()>| -> Result<()> {
        call_export::<_, _, ()>(&mut caller, "run", ())
    });
    let (mut store, instance) = link(&linker, (), text);
    for _ in 0..2 {
        traps(call(&mut store, instance, "run", &[]), TrapCode::CallStackExhausted);
    }
}

// ---- binaries that are not modules

/// An unsigned LEB128 number.
fn leb(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = value as u8 & 0x7f;
        value >>= 7;
        if value == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

/// A binary of these sections.
fn binary(sections: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = b"\0asm\x01\0\0\0".to_vec();
    for (id, contents) in sections {
        bytes.push(*id);
        bytes.extend(leb(contents.len() as u64));
        bytes.extend(contents);
    }
    bytes
}

#[test]
fn absurd_counts_are_refused_at_once() {
    let engine = Engine::default();
    let counts = [1 << 10, 1 << 20, 1 << 31, u64::from(u32::MAX), 1 << 35, u64::MAX];
    let function = (1, vec![1, 0x60, 0, 0]);
    let refused = |what: &str, sections: &[(u8, Vec<u8>)]| {
        assert!(Module::new(&engine, binary(sections)).is_err(), "{what}");
    };
    for count in counts {
        let counted = |before: &[u8], after: &[u8]| [before, &leb(count), after].concat();
        // A section that claims this many items, with few bytes or none.
        for id in 1..=13 {
            refused("items", &[(id, counted(&[], &[]))]);
            refused("items", &[function.clone(), (id, counted(&[], &[0x60, 0, 0, 0, 0, 0, 0]))]);
        }
        refused("types in a group", &[(1, counted(&[1, 0x4e], &[0x60, 0, 0]))]);
        refused("supertypes", &[(1, counted(&[1, 0x50], &[0x60, 0, 0]))]);
        refused("a supertype", &[(1, counted(&[1, 0x50, 1], &[0x60, 0, 0]))]);
        refused("parameters", &[(1, counted(&[1, 0x60], &[0x7f, 0]))]);
        refused("results", &[(1, counted(&[1, 0x60, 0], &[0x7f]))]);
        refused("fields", &[(1, counted(&[1, 0x5f], &[0x7f, 0]))]);
        refused("a type", &[(1, counted(&[1, 0x5e, 0x63], &[0]))]);
        refused("the type of a function", &[function.clone(), (3, counted(&[1], &[]))]);
        refused("the type of a tag", &[function.clone(), (13, counted(&[1, 0], &[]))]);
        refused("a start function", &[(8, leb(count))]);
        refused("expressions", &[(9, counted(&[1, 5, 0x6e], &[0xd0, 0x6e, 0x0b]))]);
        refused("data", &[(11, counted(&[1, 1], b"ab"))]);
        refused("a name", &[(2, counted(&[1], b"ab"))]);
        let body = |body: &[u8]| {
            let body = [&[1][..], &leb(body.len() as u64), body].concat();
            [function.clone(), (3, vec![1, 0]), (10, body)]
        };
        refused("groups of locals", &body(&counted(&[], &[1, 0x7f, 0x0b])));
        if count > 50_000 {
            refused("locals", &body(&counted(&[1], &[0x7f, 0x0b])));
        }
        refused("targets", &body(&counted(&[0, 0x41, 0, 0x0e], &[0, 0, 0x0b])));
        refused("clauses", &body(&counted(&[0, 0x1f, 0x40], &[2, 0, 0x0b, 0x0b])));
        refused("a label", &body(&counted(&[0, 0x0c], &[0x0b])));
        refused("a call", &body(&counted(&[0, 0x10], &[0x0b])));
        refused("an object's type", &body(&counted(&[0, 0xfb, 0], &[0x1a, 0x0b])));
        refused("elements", &body(&counted(&[0, 0xfb, 8, 0], &[0x1a, 0x0b])));
    }
}

/// A module with all kinds of items of 3.0. It has no loops, so that its mutations end.
const EVERYTHING: &str = r#"(module
    (rec
      (type $a (sub (struct (field (mut i32)) (field (mut (ref null $b))))))
      (type $b (sub $a (struct (field (mut i32)) (field (mut (ref null $b))) (field i8)))))
    (type $bytes (array (mut i8))) (type $refs (array (mut (ref null $a))))
    (type $f (func (param (ref null $a) i32) (result i32))) (tag $e (param i32 (ref null $a)))
    (global $g (mut (ref null $a)) (struct.new $b (i32.const 1) (ref.null $b) (i32.const 2)))
    (global $c (ref $bytes) (array.new $bytes (i32.const 3) (i32.const 4)))
    (table $t 3 (ref null $f) (ref.func $get))
    (table $u 2 anyref) (elem $elem (ref null $a) (struct.new_default $a) (ref.null $a))
    (data $data "data of a segment")
    (func $get (export "get") (type $f)
      (i32.add
        (struct.get $a 0 (ref.as_non_null (local.get 0)))
        (array.get_u $bytes (global.get $c) (local.get 1))))
    (func (export "make") (param i32) (result anyref) (local $b (ref $b))
      (local.set $b (struct.new $b (local.get 0) (ref.null $b) (i32.const 200)))
      (struct.set $b 1 (local.get $b) (local.get $b))
      (global.set $g (local.get $b))
      (table.set $u (i32.const 1) (ref.i31 (struct.get_s $b 2 (local.get $b))))
      (array.new_fixed $refs 3 (global.get $g) (ref.null $a) (local.get $b)))
    (func (export "casts") (param anyref) (result i32)
      (block $no (result anyref)
        (block $i31 (result (ref i31))
          (br_on_cast $i31 anyref (ref i31) (local.get 0))
          (br_on_cast_fail $no anyref (ref $a))
          (return (ref.test (ref $b))))
        (return (i31.get_s)))
      (return (ref.is_null)))
    (func (export "segments") (param i32 i32) (result i32) (local $x (ref $bytes))
      (local.set $x (array.new_data $bytes $data (local.get 0) (i32.const 5)))
      (array.init_data $bytes $data (local.get $x) (local.get 1) (i32.const 1) (i32.const 2))
      (array.copy $bytes $bytes
        (local.get $x) (i32.const 0) (local.get $x) (i32.const 1) (i32.const 3))
      (array.fill $bytes (local.get $x) (i32.const 4) (i32.const 9) (i32.const 1))
      (drop (array.new_elem $refs $elem (local.get 0) (i32.const 2)))
      (array.len (local.get $x)))
    (func $throw (param i32)
      (if (local.get 0) (then (throw $e (local.get 0) (global.get $g)))))
    (func (export "catch") (param i32) (result i32) (local $x exnref)
      (block $all (result exnref)
        (block $e (result i32 (ref null $a))
          (try_table (catch $e $e) (catch_all_ref $all)
            (call $throw (i32.const 7))
            (call_ref $f (global.get $g) (local.get 0) (table.get $t (i32.const 1)))
            (return))
          (unreachable))
        (drop) (return))
      (throw_ref))
    (func (export "convert") (param externref) (result i32)
      (ref.eq
        (ref.cast eqref (any.convert_extern (extern.convert_any (global.get $g))))
        (global.get $g))
      (select (i32.const 1) (i32.const 2) (ref.is_null (local.get 0)))
      (i32.add)))"#;

/// Compiles bytes. If they are a module, instantiates it and calls its functions. Returns whether
/// they are a module.
fn survives(engine: &Engine, bytes: &[u8]) -> bool {
    let Ok(module) = Module::from_binary(engine, bytes) else { return false };
    if has_loop(bytes) {
        return true;
    }
    let mut store = Store::new(engine, ());
    let Ok(instance) = Instance::new(&mut store, &module, &[]) else { return true };
    for (_, export) in instance.exports(&mut store).unwrap() {
        match export {
            Extern::Func(func) => call_with_defaults(&mut store, func),
            Extern::Global(global) => drop(global.get(&mut store)),
            Extern::Table(table) => drop(table.get(&mut store, 0)),
            _ => {}
        }
    }
    store.gc();
    true
}

fn call_with_defaults(store: &mut Store<()>, func: Func) {
    let ty = func.ty(&*store).unwrap();
    let arguments: Vec<Val> = ty.params().iter().map(|ty| Val::default_for(*ty)).collect();
    let mut results: Vec<Val> = ty.results().iter().map(|ty| Val::default_for(*ty)).collect();
    let _ = func.call(store, &arguments, &mut results);
}

/// Whether a module has a loop, which may be endless.
fn has_loop(bytes: &[u8]) -> bool {
    use wasmparser::{Operator, Parser, Payload};
    let payloads = Parser::new(0).parse_all(bytes).map(|payload| payload.expect("it is valid"));
    payloads.into_iter().any(|payload| match payload {
        Payload::CodeSectionEntry(body) => {
            let operators = body.get_operators_reader().expect("it is valid");
            operators.into_iter().any(|op| matches!(op, Ok(Operator::Loop { .. })))
        }
        _ => false,
    })
}

/// Engines on which all code without loops ends soon: without tail calls, and with little memory.
fn limited(collecting: bool) -> Engine {
    Engine::new(
        Config::new()
            .wasm_features(WasmFeatures::TAIL_CALL, false)
            .opt_level(if collecting { OptLevel::None } else { OptLevel::Speed })
            .max_wasm_stack(64 << 10)
            .max_heap(MIB)
            .stress(|stress| stress.collect_always = collecting),
    )
    .unwrap()
}

fn check_mutant(engine: &Engine, bytes: &[u8], what: impl Fn() -> String) -> bool {
    let result = catch_unwind(AssertUnwindSafe(|| survives(engine, bytes)));
    result.unwrap_or_else(|_| panic!("{}: panics", what()))
}

#[test]
fn a_module_with_any_byte_changed_never_crashes() {
    let original = ropewalk_text::Text::parse(EVERYTHING).unwrap().binary().to_vec();
    let engines = [limited(false), limited(true)];
    assert!(survives(&engines[0], &original) && survives(&engines[1], &original));
    let mut valid = 0;
    for at in 8..original.len() {
        // Each bit once in two bytes, and all bits.
        let bits = if at % 2 == 0 { [1, 4, 16, 64, 0xff] } else { [2, 8, 32, 128, 3] };
        for (i, change) in bits.into_iter().enumerate() {
            let mut bytes = original.clone();
            bytes[at] ^= change;
            let engine = &engines[(at + i) % 2];
            valid += usize::from(check_mutant(engine, &bytes, || {
                format!("byte {at:#x} changed by {change:#x}")
            }));
        }
    }
    assert!(valid > 100, "some are modules: {valid}");
}

#[test]
fn a_module_that_ends_early_is_refused() {
    let original = ropewalk_text::Text::parse(EVERYTHING).unwrap().binary().to_vec();
    let engine = limited(false);
    for len in 0..original.len() {
        check_mutant(&engine, &original[..len], || format!("the first {len} bytes"));
    }
}

#[test]
fn a_module_with_bytes_moved_around_never_crashes() {
    let original = ropewalk_text::Text::parse(EVERYTHING).unwrap().binary().to_vec();
    let engines = [limited(false), limited(true)];
    let mut seed = 1u32;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as usize % below
    };
    for round in 0..2000 {
        let mut bytes = original.clone();
        for _ in 0..1 + random(3) {
            let (from, to) = (8 + random(bytes.len() - 8), 8 + random(bytes.len() - 8));
            match random(4) {
                0 => bytes[to] = bytes[from],
                1 => bytes.swap(from, to),
                2 => bytes[to] = random(256) as u8,
                _ => bytes[to] = bytes[to].wrapping_add(1),
            }
        }
        check_mutant(&engines[round % 2], &bytes, || format!("round {round}"));
    }
}
