//! Exceptions between WebAssembly and the host, in both directions.

use crate::common::*;
use ropewalk::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The exception in an error.
fn exception(error: &Error) -> &Exception {
    error
        .downcast_ref::<Exception>()
        .unwrap_or_else(|| panic!("expected an exception, found: {error:?}"))
}

/// An instance of a module that imports `"host" "f"` and the tag `"host" "tag"` with an `i32`.
fn with_host<P, R>(
    engine: &Engine,
    text: &str,
    f: impl IntoFunc<Option<Tag>, P, R>,
) -> (Store<Option<Tag>>, Instance) {
    let module = Module::new(engine, text).unwrap();
    let mut store = Store::new(engine, None);
    let tag = Tag::with_params(&mut store, [ValType::I32]).unwrap();
    *store.data_mut() = Some(tag);
    let mut linker = Linker::new(engine);
    linker.define(&mut store, "host", "tag", tag).unwrap();
    linker.host("f", f);
    let instance = linker.instantiate(&mut store, &module).unwrap();
    (store, instance)
}

// ---- the host throws

const CATCHES: &str = r#"(module
    (type $f (func (param i32) (result i32)))
    (import "host" "tag" (tag $tag (param i32)))
    (import "host" "f" (func $f (type $f)))
    (tag $other (param i32))
    (table funcref (elem $f))
    (func $inner (param i32) (result i32) (call $f (local.get 0)))
    (func $tail (param i32) (result i32) (return_call $f (local.get 0)))
    (func (export "direct") (param i32) (result i32)
      (block $h (result i32)
        (try_table (result i32) (catch $other $h) (catch $tag $h) (call $f (local.get 0)))
        (i32.add (i32.const 1000))))
    (func (export "deep") (param i32) (result i32)
      (block $h (result i32)
        (try_table (result i32) (catch $tag $h) (call $inner (local.get 0)))
        (i32.add (i32.const 1000))))
    (func (export "tail") (param i32) (result i32)
      (block $h (result i32)
        (try_table (result i32) (catch $tag $h) (call $tail (local.get 0)))
        (i32.add (i32.const 1000))))
    (func (export "indirect") (param i32) (result i32)
      (block $h (result i32)
        (try_table (result i32) (catch $tag $h)
          (call_indirect (type $f) (local.get 0) (i32.const 0)))
        (i32.add (i32.const 1000))))
    (func (export "reference") (param i32) (result i32)
      (block $h (result i32)
        (try_table (result i32) (catch $tag $h) (call_ref $f (local.get 0) (ref.func $f)))
        (i32.add (i32.const 1000))))
    (func (export "all") (param i32) (result i32)
      (block $h
        (try_table (catch_all $h) (return (i32.add (call $f (local.get 0)) (i32.const 1000))))
        (unreachable))
      (local.get 0))
    (func (export "other") (param i32) (result i32)
      (block $h (result i32)
        (try_table (result i32) (catch $other $h) (call $f (local.get 0))))))"#;

/// Throws the tag with its argument, unless that is zero.
fn throws(mut caller: Caller<'_, Option<Tag>>, value: i32) -> Result<i32> {
    if value == 0 {
        return Ok(5);
    }
    let tag = caller.data().expect("set in the beginning");
    Err(Exception::new(&mut caller, tag, &[Val::I32(value)])?.into())
}

#[test]
fn webassembly_catches_exceptions_of_the_host() {
    for (mut store, instance) in engines().iter().map(|engine| with_host(engine, CATCHES, throws)) {
        for name in ["direct", "deep", "tail", "indirect", "reference", "all"] {
            for _ in 0..2 {
                assert_eq!(number(&mut store, instance, name, &[7]).unwrap(), 7, "{name}");
                assert_eq!(number(&mut store, instance, name, &[0]).unwrap(), 1005, "{name}");
            }
        }
        let error = call(&mut store, instance, "other", &[Val::I32(7)]).unwrap_err();
        let tag = store.data().unwrap();
        assert_eq!(exception(&error).tag(&mut store).unwrap(), tag);
        assert_eq!(exception(&error).values(&mut store).unwrap()[0].i32(), Some(7));
        assert_eq!(frames(exception(&error).backtrace()), ["other"]);
    }
}

#[test]
fn an_error_with_context_is_still_an_exception() {
    for engine in engines() {
        let (mut store, instance) =
            with_host(&engine, CATCHES, |caller: Caller<'_, Option<Tag>>, value: i32| {
                use anyhow::Context;
                throws(caller, value).context("while throwing").context("twice")
            });
        assert_eq!(number(&mut store, instance, "direct", &[7]).unwrap(), 7);
    }
}

#[test]
fn other_errors_of_the_host_are_not_caught() {
    for engine in engines() {
        let (mut store, instance) = with_host(&engine, CATCHES, |value: i32| -> Result<i32> {
            match value {
                1 => Err(Trap::from_code(TrapCode::IntegerOverflow).into()),
                _ => anyhow::bail!("no exception"),
            }
        });
        for name in ["direct", "all"] {
            traps(call(&mut store, instance, name, &[Val::I32(1)]), TrapCode::IntegerOverflow);
            let error = call(&mut store, instance, name, &[Val::I32(2)]).unwrap_err();
            assert_eq!(host_message(&error), "no exception");
            assert!(error.downcast_ref::<Exception>().is_none());
        }
    }
}

#[test]
fn a_panic_of_the_host_is_not_caught() {
    for engine in engines() {
        let (mut store, instance) =
            with_host(&engine, CATCHES, |caller: Caller<'_, Option<Tag>>, value: i32| {
                if value == 1 {
                    std::panic::panic_any("from the host");
                }
                throws(caller, value)
            });
        for name in ["direct", "deep", "tail", "all"] {
            let panic = catch_unwind(AssertUnwindSafe(|| {
                let _ = call(&mut store, instance, name, &[Val::I32(1)]);
            }));
            assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"from the host"));
            assert_eq!(number(&mut store, instance, name, &[7]).unwrap(), 7, "the store is usable");
        }
    }
}

#[test]
fn values_of_every_type_travel_with_an_exception_to_wasm() {
    let text = r#"(module
        (type $s (struct (field (mut i32))))
        (import "host" "tag" (tag $tag
          (param i32 i64 f32 f64 v128 funcref externref anyref (ref $s) exnref i31ref)))
        (import "host" "f" (func $f))
        (tag $inner (param i32))
        (func (export "seven") (result i32) (i32.const 7))
        (func (export "make") (param i32) (result (ref $s)) (struct.new $s (local.get 0)))
        (func (export "exn") (param i32) (result exnref)
          (block $h (result exnref)
            (try_table (catch_all_ref $h) (throw $inner (local.get 0))) (unreachable)))
        (func (export "run")
          (result i32 i64 f32 f64 v128 funcref externref anyref (ref $s) exnref i31ref)
          (try_table (catch $tag 0) (call $f)) (unreachable)))"#;
    for engine in engines() {
        let module = Module::new(&engine, text).unwrap();
        let ExternType::Tag(ty) = module.imports().next().unwrap().ty().clone() else {
            panic!("a tag")
        };
        let structs = struct_type(&engine, ty.ty.params()[8]);
        let mut store = Store::new(&engine, ());
        let tag = Tag::new(&mut store, ty).unwrap();
        let mut linker = Linker::new(&engine);
        linker.define(&mut store, "host", "tag", tag).unwrap();
        linker.host("f", move |mut caller: Caller<'_, ()>| -> Result<()> {
            let seven = caller.get_export("seven").and_then(Extern::into_func).unwrap();
            let inner = call_export::<_, i32, Option<ExnRef>>(&mut caller, "exn", 9)?.unwrap();
            let host_value = ExternRef::new(&mut caller, "a value")?;
            let structure = StructRef::new(&mut caller, &structs, &[Val::I32(8)])?;
            let values = [
                Val::I32(-1),
                Val::I64(-2),
                Val::from(3.5f32),
                Val::from(4.5f64),
                Val::V128(5 << 100),
                seven.into(),
                host_value.into(),
                host_value.to_any().into(),
                AnyRef::from(structure).into(),
                inner.into(),
                AnyRef::i31(&mut caller, 11).into(),
            ];
            Err(Exception::new(&mut caller, tag, &values)?.into())
        });
        let instance = linker.instantiate(&mut store, &module).unwrap();
        let values = call(&mut store, instance, "run", &[]).unwrap();
        store.gc();
        assert_eq!((values[0].i32(), values[1].i64()), (Some(-1), Some(-2)));
        assert_eq!((values[2].f32(), values[3].f64()), (Some(3.5), Some(4.5)));
        assert_eq!(values[4].v128(), Some(5 << 100));
        let Val::FuncRef(Some(seven)) = values[5] else { panic!("a function") };
        assert_eq!(seven.typed::<(), i32>(&store).unwrap().call(&mut store, ()).unwrap(), 7);
        let Val::ExternRef(Some(host_value)) = values[6] else { panic!("a host value") };
        assert_eq!(host_value.data(&store).unwrap().downcast_ref(), Some(&"a value"));
        let Val::AnyRef(Some(any)) = values[7] else { panic!("a reference") };
        assert!(any.same(&host_value.to_any(), &store).unwrap());
        let Val::AnyRef(Some(structure)) = values[8] else { panic!("a struct") };
        let structure = structure.as_struct(&store).unwrap().unwrap();
        assert_eq!(structure.field(&mut store, 0).unwrap().i32(), Some(8));
        let Val::ExnRef(Some(inner)) = values[9] else { panic!("an exception") };
        assert_eq!(inner.values(&mut store).unwrap()[0].i32(), Some(9));
        let Val::AnyRef(Some(number)) = values[10] else { panic!("an i31") };
        assert_eq!(number.as_i31(&store).unwrap(), Some(11));
    }
}

#[test]
fn a_host_function_that_the_host_calls_answers_its_exception() {
    let mut store = Store::new(&Engine::default(), ());
    let tag = Tag::with_params(&mut store, [ValType::I64]).unwrap();
    let func = Func::wrap(&mut store, move |mut caller: Caller<'_, ()>| -> Result<i32> {
        Err(Exception::new(&mut caller, tag, &[Val::I64(5)])?.into())
    });
    let error = func.call(&mut store, &[], &mut [Val::I32(0)]).unwrap_err();
    assert_eq!(exception(&error).values(&mut store).unwrap()[0].i64(), Some(5));
}

// ---- wasm throws

const THROWS: &str = r#"(module
    (type $cell (struct (field (mut i32)))) (tag $e (export "e") (param i32 externref (ref $cell)))
    (func $throws (param i32 externref)
      (throw $e (local.get 0) (local.get 1) (struct.new $cell (i32.const 50))))
    (func $middle (param i32 externref) (call $throws (local.get 0) (local.get 1)))
    (func $run (export "run") (param i32 externref) (call $middle (local.get 0) (local.get 1)))
    (func (export "fine") (result i32) (i32.const 42)))"#;

#[test]
fn an_exception_that_nothing_catches_is_an_error_with_tag_values_and_backtrace() {
    for (mut store, instance) in instances(THROWS) {
        let tag = instance.get_tag(&mut store, "e").unwrap();
        let value = ExternRef::new(&mut store, "with it").unwrap();
        for round in 0..3 {
            let arguments = [Val::I32(round), value.into()];
            let error = call(&mut store, instance, "run", &arguments).unwrap_err();
            assert_eq!(call_i32(&mut store, instance, "fine"), 42);
            store.gc();
            let exception = exception(&error);
            assert_eq!(exception.tag(&mut store).unwrap(), tag);
            let values = exception.values(&mut store).unwrap();
            assert_eq!(values.len(), 3);
            assert_eq!(values[0].i32(), Some(round));
            let Val::ExternRef(Some(found)) = values[1] else { panic!("a host value") };
            assert_eq!(found.data(&store).unwrap().downcast_ref(), Some(&"with it"));
            let Val::AnyRef(Some(cell)) = values[2] else { panic!("a struct") };
            let cell = cell.as_struct(&store).unwrap().unwrap();
            assert_eq!(cell.field(&mut store, 0).unwrap().i32(), Some(50));

            assert_eq!(frames(exception.backtrace()), ["throws", "middle", "run"]);
            let shown = error.to_string();
            let what = format!("$e with (i32.const {round}) (ref.extern) (struct (i32.const 50))");
            let start = format!("uncaught exception: {what}\nwasm backtrace:\n");
            assert!(shown.starts_with(&start), "{shown}");
            assert!(shown.contains("!throws") && shown.contains("!run"), "{shown}");
            assert!(error.downcast_ref::<Trap>().is_none());
        }
    }
}

#[test]
fn typed_calls_and_instantiations_answer_exceptions_too() {
    for engine in engines() {
        let (mut store, instance) = instantiate_in(&engine, THROWS);
        let error = invoke::<(i32, Option<ExternRef>), ()>(&mut store, instance, "run", (3, None))
            .unwrap_err();
        assert_eq!(exception(&error).values(&mut store).unwrap()[0].i32(), Some(3));

        let text = "(module (tag $e (param i64)) (start $s) (func $s (throw $e (i64.const 9))))";
        let module = Module::new(&engine, text).unwrap();
        let error = Instance::new(&mut store, &module, &[]).unwrap_err();
        assert_eq!(exception(&error).values(&mut store).unwrap()[0].i64(), Some(9));
        assert_eq!(frames(exception(&error).backtrace()), ["s"]);
    }
}

/// WebAssembly that calls the host, which calls WebAssembly that throws.
const THROUGH: &str = r#"(module
    (type $cell (struct (field (mut i32))))
    (import "host" "tag" (tag $tag (param i32)))
    (import "host" "f" (func $f (param i32) (result i32)))
    (tag $e (export "e") (param (ref $cell)))
    (global $cell (ref $cell) (struct.new $cell (i32.const 0)))
    (func (export "throws") (param i32)
      (struct.set $cell 0 (global.get $cell) (local.get 0))
      (throw $e (global.get $cell)))
    ;; The caught value: 1 and the cell's value for the exception itself, 2 and
    ;; the host's value for the host's tag, 3 for any other, 0 for none.
    (func (export "outer") (param i32) (result i32 i32)
      (local $found (ref $cell)) (local $value i32)
      (block $any
        (block $tag (result i32)
          (block $e (result (ref $cell))
            (try_table (catch $e $e) (catch $tag $tag) (catch_all $any)
              (i32.const 0) (call $f (local.get 0)) (return))
            (unreachable))
          (local.set $found)
          (i32.const 1)
          (i32.mul
            (struct.get $cell 0 (local.get $found))
            (ref.eq (local.get $found) (global.get $cell)))
          (return))
        (local.set $value)
        (return (i32.const 2) (local.get $value)))
      (i32.const 3) (i32.const 0))
    (func (export "not catching") (param i32) (result i32) (call $f (local.get 0))))"#;

/// What the host does with the exception that it sees.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reaction {
    Swallow,
    Return,
    ReturnCopy,
    ThrowAnother,
    Trap,
}

/// The host function of [`THROUGH`].
fn through(
    reaction: Reaction,
) -> impl Fn(Caller<'_, Option<Tag>>, i32) -> Result<i32> + Send + Sync + 'static {
    move |mut caller, value| {
        let throws = caller.get_export("throws").and_then(Extern::into_func).unwrap();
        let tag = caller.get_export("e").and_then(Extern::into_tag).unwrap();
        let error = throws.call(&mut caller, &[Val::I32(value)], &mut []).unwrap_err();
        let seen = exception(&error);
        assert_eq!(seen.tag(&mut caller)?, tag);
        let Val::AnyRef(Some(cell)) = seen.values(&mut caller)?[0] else { panic!("a cell") };
        let cell = cell.as_struct(&caller)?.unwrap();
        assert_eq!(cell.field(&mut caller, 0)?.i32(), Some(value));
        match reaction {
            Reaction::Swallow => Ok(value * 2),
            Reaction::Return => Err(error),
            Reaction::ReturnCopy => {
                let reference = seen.reference(&mut caller)?;
                Err(Exception::from_ref(&mut caller, reference)?.into())
            }
            Reaction::ThrowAnother => {
                let tag = caller.data().unwrap();
                Err(Exception::new(&mut caller, tag, &[Val::I32(value * 3)])?.into())
            }
            Reaction::Trap => Err(Trap::from_code(TrapCode::Unreachable).into()),
        }
    }
}

#[test]
fn the_host_decides_about_exceptions_that_pass_it() {
    for engine in engines() {
        for (reaction, expected) in [
            (Reaction::Swallow, (0, 14)),
            (Reaction::Return, (1, 7)),
            (Reaction::ReturnCopy, (1, 7)),
            (Reaction::ThrowAnother, (2, 21)),
        ] {
            let (mut store, instance) = with_host(&engine, THROUGH, through(reaction));
            for _ in 0..3 {
                let found = call(&mut store, instance, "outer", &[Val::I32(7)]).unwrap();
                let found = (found[0].i32().unwrap(), found[1].i32().unwrap());
                assert_eq!(found, expected, "{reaction:?}");
            }
        }
        let (mut store, instance) = with_host(&engine, THROUGH, through(Reaction::Trap));
        traps(call(&mut store, instance, "outer", &[Val::I32(7)]), TrapCode::Unreachable);
    }
}

#[test]
fn an_exception_that_passed_the_host_is_the_same_error() {
    for engine in engines() {
        let (mut store, instance) = with_host(&engine, THROUGH, through(Reaction::Return));
        let error = call(&mut store, instance, "not catching", &[Val::I32(7)]).unwrap_err();
        let tag = instance.get_tag(&mut store, "e").unwrap();
        assert_eq!(exception(&error).tag(&mut store).unwrap(), tag);
        let Val::AnyRef(Some(cell)) = exception(&error).values(&mut store).unwrap()[0] else {
            panic!("a cell")
        };
        let cell = cell.as_struct(&store).unwrap().unwrap();
        assert_eq!(cell.field(&mut store, 0).unwrap().i32(), Some(7));
    }
}

#[test]
fn the_backtrace_of_an_exception_that_passed_the_host_begins_where_it_was_thrown() {
    for engine in engines() {
        let (mut store, instance) = with_host(&engine, THROUGH, through(Reaction::Return));
        let error = call(&mut store, instance, "not catching", &[Val::I32(7)]).unwrap_err();
        assert_eq!(frames(exception(&error).backtrace()), ["throws", "not catching"]);
    }
}

#[test]
fn an_exception_crosses_any_number_of_nested_calls() {
    let text = r#"(module
        (import "host" "down" (func $down (param i32)))
        (tag $e (export "e") (param i32)) (tag $other)
        (func (export "run") (param $n i32)
          (if (i32.eqz (local.get $n)) (then (throw $e (i32.const 77))))
          (block $h
            (try_table (catch $other $h) (call $down (i32.sub (local.get $n) (i32.const 1))))))
        (func (export "catch") (param $n i32) (result i32)
          (block $h (result i32)
            (try_table (catch $e $h) (call $down (local.get $n))) (unreachable))))"#;
    for engine in engines() {
        let passed = Arc::new(AtomicUsize::new(0));
        let mut linker = Linker::new(&engine);
        let counter = passed.clone();
        linker.host("down", move |mut caller: Caller<'_, ()>, n: i32| -> Result<()> {
            let result = call_export::<_, _, ()>(&mut caller, "run", n);
            counter.fetch_add(usize::from(result.is_err()), Ordering::Relaxed);
            // The host can read its values.
            let error = result.unwrap_err();
            assert_eq!(exception(&error).values(&mut caller)?[0].i32(), Some(77));
            Err(error)
        });
        let (mut store, instance) = link(&linker, (), text);
        assert_eq!(number(&mut store, instance, "catch", &[50]).unwrap(), 77);
        assert_eq!(passed.load(Ordering::Relaxed), 51);
        let error = call(&mut store, instance, "run", &[Val::I32(20)]).unwrap_err();
        assert_eq!(exception(&error).values(&mut store).unwrap()[0].i32(), Some(77));
    }
}

// ---- tags

#[test]
fn a_tag_of_the_host_is_the_same_for_all_who_import_it() {
    let text = r#"(module
        (import "" "tag" (tag $tag (param i32 externref)))
        (import "" "alike" (tag $alike (param i32 externref)))
        (export "tag" (tag $tag))
        (func (export "throw") (param i32) (throw $tag (local.get 0) (ref.null extern)))
        (func (export "throw alike") (throw $alike (i32.const 1) (ref.null extern))))"#;
    let catcher = r#"(module
        (import "" "tag" (tag $tag (param i32 externref)))
        (import "" "throw" (func $throw (param i32)))
        (import "" "throw alike" (func $alike))
        (func (export "catch") (result i32)
          (block $h (result i32 externref)
            (try_table (catch $tag $h) (call $throw (i32.const 5))) (unreachable))
          (drop))
        (func (export "miss") (result i32)
          (block $h (result i32 externref)
            (try_table (catch $tag $h) (call $alike)) (unreachable))
          (drop)))"#;
    for engine in engines() {
        let mut store = Store::new(&engine, ());
        let params = [ValType::I32, ValType::EXTERNREF];
        let tag = Tag::with_params(&mut store, params).unwrap();
        let alike = Tag::with_params(&mut store, params).unwrap();
        assert_ne!(tag, alike);
        assert_eq!(tag.ty(&store).unwrap().ty, FuncType::new(params, []));
        let thrower = Module::new(&engine, text).unwrap();
        let thrower = Instance::new(&mut store, &thrower, &[tag.into(), alike.into()]).unwrap();
        assert_eq!(thrower.get_tag(&mut store, "tag"), Some(tag));
        let imports =
            ["throw", "throw alike"].map(|name| thrower.get_func(&mut store, name).unwrap().into());
        let catcher = Module::new(&engine, catcher).unwrap();
        let imports = [Extern::from(tag), imports[0], imports[1]];
        let catcher = Instance::new(&mut store, &catcher, &imports).unwrap();
        assert_eq!(call_i32(&mut store, catcher, "catch"), 5);
        let error = call(&mut store, catcher, "miss", &[]).unwrap_err();
        assert_eq!(exception(&error).tag(&mut store).unwrap(), alike);
    }
}

#[test]
fn tags_refuse_wrong_values() {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let with_result = TagType { ty: FuncType::new([], [ValType::I32]) };
    let with_result = Tag::new(&mut store, with_result).unwrap();
    fails_as(
        Exception::new(&mut store, with_result, &[]),
        "the tag of an exception has no results: tag [] -> [i32]",
    );
    let tag = Tag::with_params(&mut store, [ValType::I32, ValType::FUNCREF]).unwrap();
    fails_as(Exception::new(&mut store, tag, &[]), "expected 2 values, found 0");
    fails_as(
        Exception::new(&mut store, tag, &[Val::I32(1), Val::I32(2)]),
        "in value 1: expected a value of type funcref, found one of type i32",
    );
    let module = Module::new(&engine, r#"(module (import "" "tag" (tag (param i32))))"#).unwrap();
    assert_eq!(
        message(Instance::new(&mut store, &module, &[tag.into()])),
        "incompatible import type for \"\" \"tag\": \
         expected tag [i32] -> [], found tag [i32 funcref] -> []"
    );

    let mut other = Store::new(&engine, ());
    let wrong = "a tag was used with a store that it does not belong to";
    fails_as(tag.ty(&other), wrong);
    let values = [Val::I32(1), Val::FuncRef(None)];
    fails_as(Exception::new(&mut other, tag, &values), wrong);
    fails_as(ExnRef::new(&mut other, tag, &values), wrong);
    fails_as(Instance::new(&mut other, &module, &[tag.into()]), wrong);
}

#[test]
fn an_exception_of_another_store_is_an_error_that_wasm_does_not_catch() {
    for engine in engines() {
        let mut other = Store::new(&engine, ());
        let tag = Tag::with_params(&mut other, [ValType::I32]).unwrap();
        let foreign = Exception::new(&mut other, tag, &[Val::I32(1)]).unwrap();
        let thrown = foreign.clone();
        let (mut store, instance) = with_host(&engine, CATCHES, move |_: i32| -> Result<i32> {
            Err(thrown.clone().into())
        });
        for name in ["direct", "all"] {
            let error = call(&mut store, instance, name, &[Val::I32(1)]).unwrap_err();
            let found = exception(&error);
            fails_as(
                found.values(&mut store),
                "a reference was used with a store that it does not belong to",
            );
            assert_eq!(found.values(&mut other).unwrap()[0].i32(), Some(1));
        }
    }
}

// ---- exceptions as values

#[test]
fn exceptions_are_passed_to_the_host_and_back() {
    let text = r#"(module
        (import "host" "pass" (func $pass (param exnref) (result exnref)))
        (tag $e (export "e") (param i32))
        (func $make (export "make") (param i32) (result (ref exn))
          (block $h (result (ref exn))
            (try_table (catch_all_ref $h) (throw $e (local.get 0))) (unreachable)))
        (func $value (export "value") (param exnref) (result i32)
          (block $h (result i32)
            (try_table (catch $e $h) (throw_ref (local.get 0))) (unreachable)))
        (func (export "round") (param i32) (result i32)
          (call $value (call $pass (call $make (local.get 0)))))
        (func (export "throw") (param exnref) (throw_ref (local.get 0))))"#;
    for mut linker in engines().iter().map(Linker::new) {
        linker.host(
            "pass",
            |mut caller: Caller<'_, ()>, given: Option<ExnRef>| -> Result<Option<ExnRef>> {
                let given = given.unwrap();
                let tag = caller.get_export("e").and_then(Extern::into_tag).unwrap();
                assert_eq!(given.tag(&caller)?, tag);
                let value = given.values(&mut caller)?[0].i32().unwrap();
                ExternRef::new(&mut caller, "garbage")?;
                match value % 2 {
                    0 => Ok(Some(given)),
                    _ => Ok(Some(ExnRef::new(&mut caller, tag, &[Val::I32(value * 10)])?)),
                }
            },
        );
        let (mut store, instance) = link(&linker, (), text);
        let round = instance.get_typed_func::<i32, i32>(&mut store, "round").unwrap();
        assert_eq!(round.call(&mut store, 4).unwrap(), 4);
        assert_eq!(round.call(&mut store, 5).unwrap(), 50);

        let made = invoke::<i32, ExnRef>(&mut store, instance, "make", 6).unwrap();
        store.gc();
        assert_eq!(
            invoke::<Option<ExnRef>, i32>(&mut store, instance, "value", Some(made)).unwrap(),
            6
        );
        let error = call(&mut store, instance, "throw", &[made.into()]).unwrap_err();
        assert_eq!(exception(&error).values(&mut store).unwrap()[0].i32(), Some(6));
        traps(
            call(&mut store, instance, "throw", &[Val::ExnRef(None)]),
            TrapCode::NullExceptionReference,
        );
        let wrong = call(&mut store, instance, "throw", &[Val::AnyRef(None)]);
        fails_because(wrong, "expected a value of type exnref");
    }
}

#[test]
fn an_error_keeps_the_values_of_its_exception_alive() {
    for (mut store, instance) in instances(THROWS) {
        let alive = Arc::default();
        let error = {
            let mut scope = RootScope::new(&mut store);
            let value = ExternRef::new(&mut scope, Counted::new(&alive)).unwrap();
            let run = instance.get_func(&mut scope, "run").unwrap();
            run.call(&mut scope, &[Val::I32(1), value.into()], &mut []).unwrap_err()
        };
        store.gc();
        assert_eq!(alive.load(Ordering::Relaxed), 1);
        let copy = exception(&error).clone();
        drop(error);
        store.gc();
        assert_eq!(alive.load(Ordering::Relaxed), 1);
        drop(copy);
        store.gc();
        assert_eq!(alive.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn an_exception_has_as_many_values_as_its_tag_says() {
    let types = [
        ValType::I32,
        ValType::V128,
        ValType::F32,
        ValType::EXTERNREF,
        ValType::I64,
        ValType::Ref(RefType::ANYREF),
        ValType::F64,
    ];
    let params: Vec<ValType> = types.iter().copied().cycle().take(700).collect();
    let list: String = params.iter().map(|ty| format!("{ty} ")).collect();
    let text = format!(
        r#"(module
        (import "host" "tag" (tag $tag (param {list})))
        (import "host" "f" (func $f))
        (func (export "pass") (result exnref)
          (block $h (result {list} exnref)
            (try_table (catch_ref $tag $h) (call $f)) (unreachable))
          (return))
        (func (export "again")
          (block $h (result {list})
            (try_table (catch $tag $h) (call $f)) (unreachable))
          (throw $tag)))"#
    );
    for engine in [engine(DEFAULT), engine(COLLECT_AND_MOVE)] {
        let module = Module::new(&engine, &text).unwrap();
        let mut store = Store::new(&engine, ());
        let tag = Tag::with_params(&mut store, params.clone()).unwrap();
        let value = move |number: &mut dyn FnMut(u32) -> AnyRef, i: u32, ty: ValType| match ty {
            ValType::I32 => Val::I32(i as i32),
            ValType::I64 => Val::I64(i.into()),
            ValType::F32 => Val::from(i as f32),
            ValType::F64 => Val::from(f64::from(i)),
            ValType::V128 => Val::V128(u128::from(i) << 64),
            ValType::EXTERNREF => number(i).to_extern().into(),
            _ => number(i).into(),
        };
        let all = params.clone();
        let throw = Func::wrap(&mut store, move |mut caller: Caller<'_, ()>| -> Result<()> {
            let mut number = |i| AnyRef::i31(&mut caller, i);
            let values: Vec<Val> =
                (0..).zip(&all).map(|(i, ty)| value(&mut number, i, *ty)).collect();
            Err(Exception::new(&mut caller, tag, &values)?.into())
        });
        let instance = Instance::new(&mut store, &module, &[tag.into(), throw.into()]).unwrap();
        let passed = call(&mut store, instance, "pass", &[]).unwrap();
        let Val::ExnRef(Some(passed)) = passed[0] else { panic!("an exception") };
        let error = call(&mut store, instance, "again", &[]).unwrap_err();
        let again = exception(&error).reference(&mut store).unwrap();
        for found in [passed, again] {
            let values = found.values(&mut store).unwrap();
            assert_eq!(values.len(), params.len());
            for (i, found) in (0..).zip(values) {
                let right = match found {
                    Val::I32(value) => value == i as i32,
                    Val::I64(value) => value == i64::from(i),
                    Val::F32(bits) => f32::from_bits(bits) == i as f32,
                    Val::F64(bits) => f64::from_bits(bits) == f64::from(i),
                    Val::V128(value) => value == u128::from(i) << 64,
                    Val::ExternRef(value) => {
                        value.unwrap().to_any().as_i31(&store).unwrap() == Some(i)
                    }
                    Val::AnyRef(value) => value.unwrap().as_i31(&store).unwrap() == Some(i),
                    _ => false,
                };
                assert!(right, "value {i} is {found:?}");
            }
        }
    }
}
