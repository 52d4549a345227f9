//! Linkers, and lookups in modules and instances.

use crate::common::*;
use ropewalk::*;

const PROGRAM: &str = r#"(module
    (import "host" "one" (func $one (result i32)))
    (import "host" "two" (func $two (param i32) (result i32)))
    (memory (export "memory") 1)
    (func (export "run") (param i32) (result i32) (i32.add (call $one) (call $two (local.get 0)))))"#;

fn linker(engine: &Engine) -> Linker<i32> {
    let mut linker = Linker::new(engine);
    linker.host("one", |caller: Caller<'_, i32>| *caller.data());
    linker.host("two", |x: i32| x * 2);
    linker
}

fn run(store: &mut Store<i32>, instance: Instance, argument: i32) -> Result<i32> {
    instance.get_typed_func::<i32, i32>(&mut *store, "run")?.call(store, argument)
}

#[test]
fn names_are_looked_up_once_for_many_instances() {
    for engine in engines() {
        let module = Module::new(&engine, PROGRAM).unwrap();
        let mut linker = linker(&engine);
        let ready = linker.instantiate_pre(&module).unwrap();
        // A later definition does not change it.
        linker.allow_shadowing(true).func_wrap("host", "one", || 1000).unwrap();
        for data in 0..20 {
            let mut store = Store::new(&engine, data);
            let first = ready.instantiate(&mut store).unwrap();
            let second = ready.clone().instantiate(&mut store).unwrap();
            assert_eq!(run(&mut store, first, 5).unwrap(), data + 10);
            assert_eq!(run(&mut store, second, 6).unwrap(), data + 12);
        }
        assert!(Module::same(ready.module(), &module));
        let mut store = Store::new(&engine, 0);
        let later = linker.instantiate(&mut store, &module).unwrap();
        assert_eq!(run(&mut store, later, 0).unwrap(), 1000);
    }
}

#[test]
fn missing_or_wrong_imports_are_found_before_instantiation() {
    let engine = Engine::default();
    let module = Module::new(&engine, PROGRAM).unwrap();
    let mut linker = Linker::<i32>::new(&engine);
    linker.host("one", || 1);
    let error = linker.instantiate_pre(&module).unwrap_err();
    let missing = error.downcast_ref::<LinkError>().unwrap();
    assert_eq!((&missing.name[..], &missing.found), ("two", &None));
    linker.host("two", |x: i64| x);
    assert_eq!(
        message(linker.instantiate_pre(&module)),
        "incompatible import type for \"host\" \"two\": \
         expected function [i32] -> [i32], found function [i64] -> [i64]"
    );
    let stacks = r#"
        (module
          (type $k.f (func (param i32))) (type $k (cont $k.f))
          (import "host" "two" (func (param fiberref (ref null $k) stackref))))"#;
    assert_eq!(
        message(linker.instantiate_pre(&Module::new(&engine, stacks).unwrap())),
        "incompatible import type for \"host\" \"two\": expected function \
         [fiberref (ref null (cont [i32] -> [])) stackref] -> [], found function [i64] -> [i64]"
    );
    let memory = Module::new(&engine, r#"(module (import "host" "one" (memory 1)))"#).unwrap();
    assert_eq!(
        message(linker.instantiate_pre(&memory)),
        "incompatible import type for \"host\" \"one\": \
         expected memory 1, found function [] -> [i32]"
    );
    let other = Module::new(&Engine::default(), PROGRAM).unwrap();
    assert!(linker.instantiate_pre(&other).unwrap_err().is::<WrongEngine>());
}

#[test]
fn things_of_a_store_stay_with_it() {
    let engine = Engine::default();
    let module = Module::new(&engine, r#"(module (import "host" "m" (memory 1)))"#).unwrap();
    let (mut one, mut other) = (Store::new(&engine, ()), Store::new(&engine, ()));
    let memory = Memory::new(&mut one, MemoryType::new(1, None)).unwrap();
    let mut linker = Linker::new(&engine);
    linker.define(&mut one, "host", "m", memory).unwrap();
    let ready = linker.instantiate_pre(&module).unwrap();
    ready.instantiate(&mut one).unwrap();
    assert!(ready.instantiate(&mut other).unwrap_err().is::<WrongStore>());
    let mut foreign = Store::new(&Engine::default(), ());
    assert!(ready.instantiate(&mut foreign).unwrap_err().is::<WrongEngine>());
}

#[test]
fn stacks_of_the_engine_need_no_definition() {
    for engine in engines() {
        let text = r#"(module
            (import "host" "new_stack" (func $new (result stackref)))
            (func (export "run") (drop (call $new))))"#;
        let module = Module::new(&engine, text).unwrap();
        let mut linker = Linker::new(&engine);
        linker.define_unknown_imports_as_traps(&module).unwrap();
        let ready = linker.instantiate_pre(&module).unwrap();
        for _ in 0..3 {
            let mut store = Store::new(&engine, ());
            let instance = ready.instantiate(&mut store).unwrap();
            call(&mut store, instance, "run", &[]).unwrap();
        }
    }
}

#[test]
fn unknown_functions_fail_when_they_are_called() {
    for engine in engines() {
        let module = Module::new(&engine, PROGRAM).unwrap();
        let mut linker = Linker::<i32>::new(&engine);
        linker.host("one", || 1);
        linker.define_unknown_imports_as_traps(&module).unwrap();
        let (mut store, instance) = start_with(&linker, 0, &module);
        let error = run(&mut store, instance, 5).unwrap_err();
        assert_eq!(error.downcast_ref::<LinkError>().unwrap().name, "two");
        let text =
            "unknown import \"host\" \"two\": expected a function [i32] -> [i32]\nwasm backt";
        assert!(error.to_string().starts_with(text), "{error}");
    }
    // Other imports stay unknown, and the same import twice counts once.
    let engine = Engine::default();
    let text = r#"(module
        (import "a" "f" (func)) (import "a" "f" (func)) (import "a" "g" (global i32)))"#;
    let module = Module::new(&engine, text).unwrap();
    let mut linker = Linker::<()>::new(&engine);
    linker.define_unknown_imports_as_traps(&module).unwrap();
    assert!(message(linker.instantiate_pre(&module)).starts_with("unknown import \"a\" \"g\""));
}

#[test]
fn unknown_imports_can_have_default_values() {
    let text = r#"(module
        (import "a" "f" (func $f (param i32) (result i64 f32 externref)))
        (import "a" "g" (global $g (mut i64)))
        (import "a" "m" (memory 2 3))
        (import "a" "t" (table $t 5 funcref))
        (import "a" "e" (tag $e (param i32)))
        (func (export "run") (result i64)
          (drop (drop (call $f (i32.const 1))))
          (i64.add (global.get $g))
          (i64.add (i64.extend_i32_u (i32.add (memory.size) (table.size $t))))))"#;
    for engine in engines() {
        let module = Module::new(&engine, text).unwrap();
        let mut store = Store::new(&engine, ());
        let mut linker = Linker::new(&engine);
        linker.define_unknown_imports_as_default_values(&mut store, &module).unwrap();
        let instance = linker.instantiate(&mut store, &module).unwrap();
        assert_eq!(invoke::<(), i64>(&mut store, instance, "run", ()).unwrap(), 7);
    }
    for text in [
        r#"(module (import "a" "f" (func (result (ref extern)))))"#,
        r#"(module (import "a" "g" (global (ref func))))"#,
    ] {
        let engine = Engine::default();
        let module = Module::new(&engine, text).unwrap();
        let mut store = Store::new(&engine, ());
        let mut linker = Linker::new(&engine);
        let error = linker.define_unknown_imports_as_default_values(&mut store, &module);
        assert!(error.unwrap_err().is::<LinkError>(), "there is no such value");
    }
}

#[test]
fn names_can_have_other_names() {
    let engine = Engine::default();
    let mut linker = linker(&engine);
    linker.alias("host", "one", "env", "uno").unwrap();
    linker.alias_module("host", "copy").unwrap();
    let mut store = Store::new(&engine, 7);
    for (module, name) in [("env", "uno"), ("copy", "one")] {
        let func = linker.get(&mut store, module, name).and_then(Extern::into_func).unwrap();
        assert_eq!(func.typed::<(), i32>(&store).unwrap().call(&mut store, ()).unwrap(), 7);
    }
    fails_as(linker.alias("a", "b", "c", "d"), "\"a\" \"b\" is not defined");
    fails_as(linker.alias_module("a", "c"), "\"a\" is not defined");
    let error = linker.alias_module("host", "copy").unwrap_err();
    assert!(error.is::<DefinedTwice>());

    let mut names: Vec<_> = linker.iter(&mut store).map(|(a, b, _)| format!("{a}.{b}")).collect();
    names.sort();
    assert_eq!(names, ["copy.one", "copy.two", "env.uno", "host.one", "host.two"]);
    let module = Module::new(&engine, PROGRAM).unwrap();
    for import in module.imports() {
        assert!(linker.get_by_import(&mut store, &import).is_some());
    }
    let mut foreign = Store::new(&Engine::default(), 0);
    assert_eq!(linker.iter(&mut foreign).count(), 0);
}

#[test]
fn an_export_is_found_without_its_name() {
    for engine in engines() {
        let module = Module::new(&engine, PROGRAM).unwrap();
        let twin = Module::new(&engine, PROGRAM).unwrap();
        let (mut store, instance) = start_with(&linker(&engine), 7, &module);
        assert!(Module::same(&instance.module(&store).unwrap(), &module));
        assert!(!Module::same(&module, &twin));
        assert!(module.get_export_index("nothing").is_none());
        let export = module.get_export_index("run").unwrap();
        let found = instance.get_module_export(&mut store, &export).unwrap();
        let func = found.into_func().unwrap().typed::<i32, i32>(&store).unwrap();
        assert_eq!(func.call(&mut store, 1).unwrap(), 9);
        // An export of another module does not match, even of an identical one.
        let export = twin.get_export_index("run").unwrap();
        assert!(instance.get_module_export(&mut store, &export).is_none());
        let export = module.get_export_index("run").unwrap();
        let mut other = Store::new(&engine, 7);
        assert!(instance.get_module_export(&mut other, &export).is_none());
    }
}

#[test]
fn misuse_can_be_told_apart() {
    let engine = Engine::default();
    let module = Module::new(&engine, PROGRAM).unwrap();
    let mut store = Store::new(&engine, 0);
    let instance = linker(&engine).instantiate(&mut store, &module).unwrap();
    let error = instance.get_typed_func::<(), ()>(&mut store, "rum").unwrap_err();
    let missing = error.downcast_ref::<NoSuchExport>().unwrap();
    assert_eq!((missing.name(), missing.exports()), ("rum", &["memory".into(), "run".into()][..]));
    let error = instance.get_typed_func::<(), ()>(&mut store, "memory").unwrap_err();
    let wrong = error.downcast_ref::<WrongExport>().unwrap();
    assert_eq!((wrong.name(), wrong.expected(), wrong.found()), ("memory", "function", "memory"));
    let error = instance.get_typed_func::<(), ()>(&mut store, "run").unwrap_err();
    assert_eq!(error.downcast_ref::<WrongType>().unwrap().found(), "[i32] -> [i32]");
    let mut other = Store::new(&engine, 0);
    let error = instance.get_typed_func::<i32, i32>(&mut other, "run").unwrap_err();
    assert_eq!(error.downcast_ref::<WrongStore>().unwrap().what(), "instance");

    let memory = instance.get_memory(&mut store, "memory").unwrap();
    assert_eq!(memory.data_size(&store).unwrap() as u64, memory.page_size());
    let error = memory.read(&store, 65_536, &mut [0]).unwrap_err();
    let beyond = error.downcast_ref::<OutOfBounds>().unwrap();
    assert_eq!((beyond.index(), beyond.size()), (65_536, 65_536));

    let many = (0..30).map(|i| format!("(global (export \"g{i}\") i32 (i32.const 0))"));
    let many = format!("(module {})", many.collect::<String>());
    let (mut store, instance) = instantiate(&many);
    let text = message(instance.get_typed_func::<(), ()>(&mut store, "f"));
    assert!(text.starts_with("there is no export \"f\": there are \"g0\", \"g1\""), "{text}");
    assert!(text.ends_with("\"g19\" and 10 more"), "{text}");
    let (mut store, instance) = instantiate("(module)");
    fails_as(
        instance.get_typed_func::<(), ()>(&mut store, "f"),
        "there is no export \"f\": there are no exports",
    );
}

#[test]
fn tables_are_filled_and_copied() {
    let mut store = Store::new(&Engine::default(), ());
    let ty = TableType::new(RefType::EXTERNREF, 6, None);
    let one = Table::new(&mut store, ty, Val::ExternRef(None)).unwrap();
    let other = Table::new(&mut store, ty, Val::ExternRef(None)).unwrap();
    let value = ExternRef::new(&mut store, 5).unwrap();
    one.fill(&mut store, 1, value.into(), 2).unwrap();
    Table::copy(&mut store, &one, 2, &one, 1, 3).unwrap();
    Table::copy(&mut store, &other, 0, &one, 0, 6).unwrap();
    let full: Vec<bool> = (0..6).map(|i| !other.get(&mut store, i).unwrap().is_null()).collect();
    assert_eq!(full, [false, true, true, true, false, false]);
    for error in [
        one.fill(&mut store, 5, Val::ExternRef(None), 2),
        one.fill(&mut store, u64::MAX, Val::ExternRef(None), 2),
        Table::copy(&mut store, &one, 4, &other, 0, 3),
        Table::copy(&mut store, &one, 0, &other, 4, 3),
    ] {
        assert!(error.unwrap_err().is::<OutOfBounds>());
    }
    assert!(one.fill(&mut store, 0, Val::FuncRef(None), 1).unwrap_err().is::<WrongType>());
    let funcs = TableType::new(RefType::FUNCREF, 1, None);
    let funcs = Table::new(&mut store, funcs, Val::FuncRef(None)).unwrap();
    let error = Table::copy(&mut store, &one, 0, &funcs, 0, 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected an element of type externref, found one of type funcref"
    );
}

#[test]
fn imported_functions_and_globals_keep_their_own_type() {
    let engine = Engine::default();
    let types = "(type $t (sub (func (result anyref)))) (type $u (sub $t (func (result i31ref))))";
    let owner = format!(
        r#"(module {types}
             (func (export "f") (type $u) (ref.i31 (i32.const 7)))
             (global (export "g") i31ref (ref.i31 (i32.const 7))))"#
    );
    let passes = format!(
        r#"(module {types}
             (import "owner" "f" (func $f (type $t)))
             (import "owner" "g" (global $g anyref))
             (export "f" (func $f)) (export "g" (global $g)))"#
    );
    let mut store = Store::new(&engine, ());
    let owner = Module::new(&engine, owner).unwrap();
    let owner = Instance::new(&mut store, &owner, &[]).unwrap();
    let mut linker = Linker::new(&engine);
    linker.instance(&mut store, "owner", owner).unwrap();
    let passes = Module::new(&engine, passes).unwrap();
    let passed = linker.instantiate(&mut store, &passes).unwrap();
    let [own, func] = [owner, passed].map(|instance| instance.get_func(&mut store, "f").unwrap());
    assert_eq!(func.ty(&store).unwrap(), own.ty(&store).unwrap());
    let [own, global] =
        [owner, passed].map(|instance| instance.get_global(&mut store, "g").unwrap());
    assert_eq!(global.ty(&store).unwrap(), own.ty(&store).unwrap());
}
