//! Misuse of the API is an error that states the expectation, never a panic.

use crate::common::*;
use ropewalk::*;

const EVERYTHING: &str = r#"(module
    (func (export "f") (param i32) (result i64) (i64.const 0))
    (memory (export "m") 1 2) (table (export "t") 1 2 funcref)
    (global (export "g") (mut i32) (i32.const 1))
    (global (export "constant") i32 (i32.const 1)))"#;

#[test]
fn values_of_another_store_are_refused() {
    let (mut store, instance) = instantiate(EVERYTHING);
    let mut other = Store::new(store.engine(), ());
    let func = instance.get_func(&mut store, "f").unwrap();
    let memory = instance.get_memory(&mut store, "m").unwrap();
    let table = instance.get_table(&mut store, "t").unwrap();
    let global = instance.get_global(&mut store, "g").unwrap();
    let value = ExternRef::new(&mut store, 1).unwrap();

    let wrong = |kind: &str| format!("a {kind} was used with a store that it does not belong to");
    let mut results = [Val::I64(0)];
    assert_eq!(message(func.call(&mut other, &[Val::I32(0)], &mut results)), wrong("function"));
    assert_eq!(message(func.ty(&other)), wrong("function"));
    assert_eq!(message(func.typed::<i32, i64>(&other)), wrong("function"));
    let typed = func.typed::<i32, i64>(&store).unwrap();
    assert_eq!(message(typed.call(&mut other, 0)), wrong("function"));
    assert_eq!(message(memory.size(&other)), wrong("memory"));
    assert_eq!(message(memory.data(&other)), wrong("memory"));
    assert_eq!(message(memory.data_mut(&mut other)), wrong("memory"));
    assert_eq!(message(memory.grow(&mut other, 1)), wrong("memory"));
    assert_eq!(message(memory.write(&mut other, 0, b"x")), wrong("memory"));
    assert_eq!(message(table.get(&mut other, 0)), wrong("table"));
    assert_eq!(message(table.set(&mut other, 0, Val::FuncRef(None))), wrong("table"));
    assert_eq!(message(table.grow(&mut other, 1, Val::FuncRef(None))), wrong("table"));
    assert_eq!(message(global.get(&mut other)), wrong("global"));
    assert_eq!(message(global.set(&mut other, Val::I32(0))), wrong("global"));
    assert_eq!(message(value.data(&other)), wrong("reference"));
    assert_eq!(message(instance.exports(&mut other)), wrong("instance"));
    assert!(instance.get_export(&mut other, "f").is_none());

    let of_other = Func::wrap(&mut other, || 1i32);
    let set = table.set(&mut store, 0, of_other.into());
    assert_eq!(message(set), wrong("function"));
    let mut linker = Linker::new(store.engine());
    assert_eq!(
        message(linker.define(&mut store, "a", "b", of_other).map(|_| ())),
        wrong("function")
    );
}

#[test]
fn a_value_of_a_dead_store_is_refused() {
    let (mut store, instance) = instantiate(EVERYTHING);
    let func = instance.get_func(&mut store, "f").unwrap();
    let engine = store.engine().clone();
    drop(store);
    let mut other = Store::new(&engine, ());
    assert!(func.call(&mut other, &[Val::I32(0)], &mut [Val::I64(0)]).is_err());
}

#[test]
fn calls_with_wrong_arguments_name_the_expected_ones() {
    let (mut store, instance) = instantiate(EVERYTHING);
    let func = instance.get_func(&mut store, "f").unwrap();
    let mut results = [Val::I64(0)];
    fails_as(func.call(&mut store, &[], &mut results), "expected 1 argument, found 0");
    fails_as(
        func.call(&mut store, &[Val::F32(0)], &mut results),
        "in argument 0: expected a value of type i32, found one of type f32",
    );
    fails_as(
        func.call(&mut store, &[Val::I32(0)], &mut []),
        "expected 1 place for results, found 0",
    );
    fails_as(
        func.typed::<(i32, i32), i64>(&store),
        "expected a function of type [i32 i32] -> [i64], found one of type [i32] -> [i64]",
    );
    assert_eq!(
        message(instance.get_typed_func::<(), ()>(&mut store, "nope")),
        r#"there is no export "nope": there are "f", "m", "t", "g", "constant""#
    );
}

#[test]
fn memories_tables_and_globals_refuse_wrong_values() {
    let (mut store, instance) = instantiate(EVERYTHING);
    let memory = instance.get_memory(&mut store, "m").unwrap();
    let table = instance.get_table(&mut store, "t").unwrap();
    let global = instance.get_global(&mut store, "g").unwrap();
    let constant = instance.get_global(&mut store, "constant").unwrap();

    fails_as(
        memory.write(&mut store, 65535, b"xy"),
        "2 bytes at offset 65535 exceed the memory's 65536 bytes",
    );
    assert!(memory.read(&store, usize::MAX, &mut [0; 2]).is_err());
    fails_as(memory.grow(&mut store, 2), "cannot grow a memory of type memory 1 2 by 2 pages");
    fails_as(table.get(&mut store, 1), "index 1 is beyond the table's 1 elements");
    fails_as(
        table.set(&mut store, 0, Val::ExternRef(None)),
        "expected a value of type funcref, found one of type externref",
    );
    fails_as(
        table.grow(&mut store, 5, Val::FuncRef(None)),
        "cannot grow a table of type table 1 2 funcref by 5 elements",
    );
    fails_as(
        global.set(&mut store, Val::I64(0)),
        "expected a value of type i32, found one of type i64",
    );
    fails_as(constant.set(&mut store, Val::I32(0)), "an immutable global cannot be set");
    let ty = MemoryType { memory64: false, minimum: 3, maximum: Some(2) };
    fails_because(Memory::new(&mut store, ty), "must not be less than its minimum");
    let ty = MemoryType { memory64: false, minimum: 1 << 17, maximum: None };
    fails_because(Memory::new(&mut store, ty), "at most 65536 pages");
}

#[test]
fn imports_that_are_missing_or_do_not_fit_are_named() {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let text = r#"(module (import "env" "log" (func (param i32))))"#;
    let module = Module::new(&engine, text).unwrap();
    let missing = Instance::new(&mut store, &module, &[]);
    fails_as(missing, "unknown import \"env\" \"log\": expected a function [i32] -> []");
    let error = Linker::new(&engine).instantiate(&mut store, &module).unwrap_err();
    assert!(error.downcast_ref::<LinkError>().is_some_and(|e| e.found.is_none()));

    let wrong = Func::wrap(&mut store, |_: i64| ());
    assert_eq!(
        message(Instance::new(&mut store, &module, &[wrong.into()])),
        "incompatible import type for \"env\" \"log\": \
         expected function [i32] -> [], found function [i64] -> []"
    );
    let too_many = [wrong.into(), wrong.into()];
    fails_as(Instance::new(&mut store, &module, &too_many), "expected 1 import, found 2");
}

#[test]
fn engines_do_not_mix() {
    let (one, other) = (Engine::default(), Engine::default());
    let module = Module::new(&one, "(module)").unwrap();
    let mut store = Store::new(&other, ());
    fails_as(
        Instance::new(&mut store, &module, &[]),
        "the module and the store belong to different engines",
    );
    fails_as(
        Linker::new(&one).instantiate(&mut store, &module),
        "the linker and the store belong to different engines",
    );
}

#[test]
fn a_name_is_defined_once_unless_shadowing_is_allowed() {
    let mut linker = Linker::<()>::new(&Engine::default());
    linker.func_wrap("a", "b", || 1i32).unwrap();
    let again = linker.func_wrap("a", "b", || 2i32).map(|_| ());
    fails_as(again, "\"a\" \"b\" is defined twice: allow that with `Linker::allow_shadowing`");
    linker.allow_shadowing(true).func_wrap("a", "b", || 2i32).unwrap();
}

#[test]
fn features_that_are_off_are_refused_and_unknown_ones_fail_the_engine() {
    let engine = Engine::new(
        Config::new()
            .wasm_features(WasmFeatures::SIMD, false)
            .wasm_features(WasmFeatures::RELAXED_SIMD, false),
    )
    .unwrap();
    let error = Module::new(&engine, "(module (func (param v128)))").unwrap_err();
    assert!(error.downcast_ref::<ModuleError>().is_some());
    fails_with(
        Engine::new(Config::new().wasm_features(WasmFeatures::THREADS, true)),
        "not implemented: THREADS",
    );
}

#[test]
fn bad_modules_say_where() {
    let engine = Engine::default();
    let error =
        Module::new(&engine, "(module\n  (func (result i32)\n    f32.const 1))").unwrap_err();
    let error = error.downcast::<ModuleError>().unwrap();
    assert_eq!(error.position().map(|(line, _)| line), Some(3), "{error}");
    assert!(error.message().contains("type mismatch"), "{error}");

    let error = Module::new(&engine, "(module (fun))").unwrap_err();
    assert_eq!(error.downcast::<ModuleError>().unwrap().position(), Some((1, 10)));

    let error = Module::new(&engine, b"\0asm\x01\0\0\0\xff").unwrap_err();
    let error = error.downcast::<ModuleError>().unwrap();
    assert_eq!(error.offset(), Some(8), "{error}");

    for garbage in [&b""[..], b"\0", b"\0asm", b"\xff\xff\xff", b"\0asm\x0d\0\x01\0"] {
        assert!(Module::new(&engine, garbage).is_err(), "{garbage:?}");
    }
}

#[test]
fn types_that_the_engine_does_not_know_are_refused() {
    let mut store = Store::new(&Engine::default(), ());
    for number in [12345, 1 << 31, u32::MAX] {
        let element = RefType { nullable: true, heap: HeapType::Concrete(number) };
        let unknown = ValType::Ref(element);
        let expected = format!(
            "the engine does not know the type (ref null type {number}): it must come from the \
             same engine"
        );
        let func = Func::new(&mut store, FuncType::new([unknown], []), |_, _, _| Ok(()));
        fails_as(func, &expected);
        fails_as(Tag::with_params(&mut store, [unknown]), &expected);
        let ty = GlobalType { content: unknown, mutable: true };
        fails_as(Global::new(&mut store, ty, Val::AnyRef(None)), &expected);
        let ty = TableType { table64: false, element, minimum: 1, maximum: None };
        fails_as(Table::new(&mut store, ty, Val::AnyRef(None)), &expected);
    }
    Func::wrap(&mut store, || 1i32);
}

#[test]
fn functions_have_at_most_a_thousand_parameters_and_results() {
    let mut store = Store::new(&Engine::default(), ());
    let many = |count| FuncType::new(vec![ValType::I64; count], vec![ValType::I64; count]);
    let refused = Func::new(&mut store, many(1001), |_, _, _| Ok(()));
    fails_as(refused, "a function has at most 1000 parameters and results, found 1001");
    let reverse = Func::new(&mut store, many(1000), |_, arguments, results| {
        results.copy_from_slice(arguments);
        results.reverse();
        Ok(())
    })
    .unwrap();
    let arguments: Vec<Val> = (0..1000).map(Val::I64).collect();
    let mut results = arguments.clone();
    reverse.call(&mut store, &arguments, &mut results).unwrap();
    assert_eq!(results[0].i64(), Some(999));
    assert_eq!(results[999].i64(), Some(0));
}
