//! Attempts of safe code to break soundness: each ends with an error at worst.

use crate::common::*;
use ropewalk::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Functions that say whether their argument is null, and items that hold nulls.
const NULLS: &str = r#"(module
    (type $f (func)) (type $c (cont $f))
    (type $s (struct (field (mut (ref null $f))) (field (mut (ref null $c)))))
    (type $a (array (mut (ref null $c))))
    (import "host" "f" (func $host_f (result (ref null $f))))
    (import "host" "c" (func $host_c (result (ref null $c))))
    (tag $e (export "e") (param (ref null $f) (ref null $c)))
    (func (export "func") (param (ref null $f)) (result i32) (ref.is_null (local.get 0)))
    (func (export "cont") (param (ref null $c)) (result i32) (ref.is_null (local.get 0)))
    (func (export "struct") (param (ref null $s)) (result i32) (ref.is_null (local.get 0)))
    (func (export "array") (param (ref null $a)) (result i32) (ref.is_null (local.get 0)))
    (func (export "funcref") (param funcref) (result i32) (ref.is_null (local.get 0)))
    (func (export "contref") (param contref) (result i32) (ref.is_null (local.get 0)))
    (func (export "nullfuncref") (param nullfuncref) (result i32) (ref.is_null (local.get 0)))
    (func (export "nullcontref") (param nullcontref) (result i32) (ref.is_null (local.get 0)))
    (func (export "nullref") (param nullref) (result i32) (ref.is_null (local.get 0)))
    (func (export "externref") (param externref) (result i32) (ref.is_null (local.get 0)))
    (func (export "exnref") (param exnref) (result i32) (ref.is_null (local.get 0)))
    (func (export "not null") (param (ref $f)))
    (func (export "from host") (result i32)
      (i32.add (ref.is_null (call $host_f)) (ref.is_null (call $host_c))))
    (func (export "results") (result (ref null $f) (ref null $c) nullfuncref nullcontref)
      (ref.null $f) (ref.null $c) (ref.null nofunc) (ref.null nocont))
    (func $made (export "made") (result (ref $s) (ref $a))
      (struct.new_default $s) (array.new_default $a (i32.const 1)))
    (table (export "funcs") 1 (ref null $f))
    (table (export "conts") 1 (ref null $c))
    (global (export "a func") (mut (ref null $f)) (ref.null $f))
    (global (export "a cont") (mut (ref null $c)) (ref.null $c)))"#;

fn instantiate_nulls(engine: &Engine) -> (Store<()>, Instance) {
    let module = Module::new(engine, NULLS).unwrap();
    let mut store = Store::new(engine, ());
    let mut linker = Linker::new(engine);
    for import in module.imports() {
        let ExternType::Func(ty) = import.ty().clone() else { unreachable!() };
        // The results stay unchanged: null of their type.
        linker.func_new(import.module(), import.name(), ty, |_, _, _| Ok(())).unwrap();
    }
    let instance = linker.instantiate(&mut store, &module).unwrap();
    (store, instance)
}

fn ref_type(ty: ValType) -> RefType {
    match ty {
        ValType::Ref(ty) => ty,
        other => panic!("expected a reference type, found {other}"),
    }
}

#[test]
fn null_is_a_value_of_every_nullable_type() {
    for (mut store, instance) in engines().iter().map(instantiate_nulls) {
        let names = ["func", "cont", "struct", "array", "funcref", "contref"];
        let bottoms = ["nullfuncref", "nullcontref", "nullref", "externref", "exnref"];
        for name in names.into_iter().chain(bottoms) {
            let func = instance.get_func(&mut store, name).unwrap();
            let ty = ref_type(func.ty(&store).unwrap().params()[0]);
            let results = call(&mut store, instance, name, &[Val::null(ty)]);
            assert_eq!(results.unwrap()[0].i32(), Some(1), "{name}");
        }
        assert_eq!(call_i32(&mut store, instance, "from host"), 2);
        let results = call(&mut store, instance, "results", &[]).unwrap();
        assert!(matches!(
            results[..],
            [Val::FuncRef(None), Val::ContRef(None), Val::FuncRef(None), Val::ContRef(None)]
        ));
        let not_null = instance.get_func(&mut store, "not null").unwrap();
        let ty = ref_type(not_null.ty(&store).unwrap().params()[0]);
        assert!(not_null.call(&mut store, &[Val::null(ty)], &mut []).is_err());
    }
}

#[test]
fn null_of_a_defined_type_can_be_kept_everywhere() {
    let (mut store, instance) = instantiate_nulls(&Engine::default());
    for (table, global) in [("funcs", "a func"), ("conts", "a cont")] {
        let table = instance.get_table(&mut store, table).unwrap();
        let ty = table.ty(&store).unwrap();
        let null = Val::null(ty.element);
        table.set(&mut store, 0, null).unwrap();
        table.grow(&mut store, 1, null).unwrap();
        Table::new(&mut store, ty, null).unwrap();
        let global = instance.get_global(&mut store, global).unwrap();
        let ty = global.ty(&store).unwrap();
        global.set(&mut store, null).unwrap();
        Global::new(&mut store, ty, null).unwrap();
    }
    let made = call(&mut store, instance, "made", &[]).unwrap();
    let [Val::AnyRef(Some(a)), Val::AnyRef(Some(b))] = made[..] else { panic!("{made:?}") };
    let (a, b) = (a.as_struct(&store).unwrap().unwrap(), b.as_array(&store).unwrap().unwrap());
    let null = Val::AnyRef(None);
    a.set_field(&mut store, 0, null).unwrap();
    a.set_field(&mut store, 1, null).unwrap();
    b.set(&mut store, 0, null).unwrap();
    let ty = a.ty(&store).unwrap();
    StructRef::new(&mut store, &ty, &[null, null]).unwrap();
    let tag = instance.get_tag(&mut store, "e").unwrap();
    Exception::new(&mut store, tag, &[null, null]).unwrap();
}

#[test]
fn a_null_of_another_kind_is_refused() {
    let (mut store, instance) = instantiate_nulls(&Engine::default());
    for (name, null) in [
        ("func", Val::ContRef(None)),
        ("func", Val::ExternRef(None)),
        ("cont", Val::FuncRef(None)),
        ("struct", Val::FuncRef(None)),
        ("array", Val::ExnRef(None)),
        ("funcref", Val::AnyRef(None)),
        ("contref", Val::AnyRef(None)),
        ("externref", Val::AnyRef(None)),
    ] {
        assert!(call(&mut store, instance, name, &[null]).is_err(), "{name} {null:?}");
    }
    let func = instance.get_func(&mut store, "func").unwrap();
    let refused = message(func.typed::<Option<StructRef>, i32>(&store));
    let expected = "expected a function of type [(ref null struct)] -> [i32]";
    assert!(refused.starts_with(expected), "{refused}");
}

#[test]
fn functions_of_a_linker_stay_with_its_engine() {
    let (one, other) = (Engine::default(), Engine::default());
    let mut linker = Linker::new(&one);
    linker.func_wrap("a", "b", |x: i64| x).unwrap();
    let mut store = Store::new(&other, ());
    assert!(linker.get(&mut store, "a", "b").is_none());
    let mut store = Store::new(&one, ());
    let func = linker.get(&mut store, "a", "b").and_then(Extern::into_func).unwrap();
    assert_eq!(func.typed::<i64, i64>(&store).unwrap().call(&mut store, 7).unwrap(), 7);
}

#[test]
fn stores_and_scopes_may_be_swapped_while_a_host_function_runs() {
    let engine = Engine::default();
    type Data = Option<Store<u32>>;
    let mut store: Store<Data> = Store::new(&engine, None);
    let swap = Func::wrap(&mut store, |mut caller: Caller<'_, Data>| -> Result<u32> {
        let mut other = Store::new(caller.engine(), 1);
        let of_other = ExternRef::new(&mut other, 1u8)?;
        // The data of two stores is swapped while a call runs.
        let before = caller.data_mut().replace(other);
        assert!(before.is_none());
        let own = ExternRef::new(&mut caller, 2u8)?;
        let mut third = Store::new(caller.engine(), None);
        let of_third = ExternRef::new(&mut third, 3u8)?;
        let (mut a, mut b) = (caller.as_context_mut(), third.as_context_mut());
        std::mem::swap(&mut a, &mut b);
        assert!(own.data(&a).is_err() && of_third.data(&b).is_err());
        let (mut a, mut b) = (RootScope::new(a), RootScope::new(b));
        let (in_a, in_b) = (ExternRef::new(&mut a, 4u8)?, ExternRef::new(&mut b, 5u8)?);
        std::mem::swap(&mut a, &mut b);
        drop(a);
        assert!(in_b.data(&b).is_err() && in_a.data(&b).is_ok());
        std::mem::forget(b);
        assert!(of_other.data(&caller).is_err());
        let inner = caller.data_mut().take().expect("put there before");
        Ok(inner.into_data())
    });
    let swap = swap.typed::<(), u32>(&store).unwrap();
    for _ in 0..3 {
        assert_eq!(swap.call(&mut store, ()).unwrap(), 1);
    }
    assert!(store.into_data().is_none());
}

#[test]
fn a_scope_that_is_forgotten_ends_with_the_one_around_it() {
    let mut store = Store::new(&Engine::default(), ());
    let (inside, outside) = {
        let mut scope = RootScope::new(&mut store);
        let outside = AnyRef::i31(&mut scope, 1);
        let mut forgotten = RootScope::new(&mut scope);
        let inside = AnyRef::i31(&mut forgotten, 2);
        std::mem::forget(forgotten);
        assert_eq!(inside.as_i31(&scope).unwrap(), Some(2));
        (inside, outside)
    };
    for value in 0..4 {
        AnyRef::i31(&mut store, value);
        assert!(inside.as_i31(&store).is_err() && outside.as_i31(&store).is_err());
    }
}

#[test]
fn a_host_function_may_continue_in_another_thread() {
    let text = r#"(module
        (import "host" "apart" (func $apart (param i32) (result i32)))
        (type $f (func (param i32) (result i32))) (type $c (cont $f))
        (func $inside (param i32) (result i32) (call $apart (local.get 0)))
        (elem declare func $inside)
        (func (export "run") (param i32) (result i32)
          (resume $c (local.get 0) (cont.new $c (ref.func $inside))))
        (func (export "trap") (result i32) (unreachable))
        (memory 1)
        (func (export "load") (result i32) (i32.load (i32.const -1))))"#;
    for mut linker in engines().iter().map(Linker::new) {
        let apart = |mut caller: Caller<'_, ()>, depth: i32| -> i32 {
            std::thread::scope(|scope| {
                let thread = scope.spawn(|| {
                    for name in ["trap", "load"] {
                        trap(&call_export::<_, (), i32>(&mut caller, name, ()).unwrap_err());
                    }
                    let run = caller.get_export("run").and_then(Extern::into_func).unwrap();
                    let run = run.typed::<i32, i32>(&caller).unwrap();
                    match depth {
                        0 => 1,
                        _ => 1 + run.call(&mut caller, depth - 1).unwrap(),
                    }
                });
                thread.join().unwrap()
            })
        };
        linker.host("apart", apart);
        let (mut store, instance) = link(&linker, (), text);
        assert_eq!(invoke::<i32, i32>(&mut store, instance, "run", 4).unwrap(), 5);
    }
}

struct PanicsWhenDropped(Arc<AtomicUsize>);

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("dropped");
    }
}

#[test]
fn a_value_that_panics_when_its_store_is_dropped_keeps_no_other_from_it() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let mut store = Store::new(&Engine::default(), CountsDrop(dropped.clone()));
    ExternRef::new(&mut store, CountsDrop(dropped.clone())).unwrap();
    ExternRef::new(&mut store, PanicsWhenDropped(dropped.clone())).unwrap();
    ExternRef::new(&mut store, CountsDrop(dropped.clone())).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(store))).is_err());
    assert_eq!(dropped.load(Ordering::Relaxed), 4);
}

#[test]
fn extreme_settings_are_errors_or_work() {
    let text = r#"(module (type $f (func)) (type $c (cont $f)) (func $nop)
        (elem declare func $nop)
        (func (export "run") (resume $c (cont.new $c (ref.func $nop)))))"#;
    let try_out = |config: &mut Config| -> Result<()> {
        let engine = Engine::new(config)?;
        let module = Module::new(&engine, text)?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[])?;
        instance.get_typed_func::<(), ()>(&mut store, "run")?.call(&mut store, ())
    };
    for size in [0, 1, 4095, 1 << 36, (1 << 36) + 1, usize::MAX - 4096, usize::MAX] {
        for config in [Config::new().stack_size(size), Config::new().max_wasm_stack(size)] {
            match try_out(config) {
                Ok(()) => assert!(size <= 1 << 36, "{size}"),
                Err(error) => {
                    let refused = format!("a stack has at most {} bytes, found {size}", 1u64 << 36);
                    let is_trap = error.downcast_ref::<Trap>().is_some();
                    assert!(is_trap && size <= 1 << 36 || error.to_string() == refused, "{error}");
                }
            }
        }
        for config in [
            Config::new().max_stacks(size),
            Config::new().max_activations(size),
            Config::new().max_heap(size),
            Config::new().stress(|stress| stress.first_generation = size as u64),
            Config::new().stack_pool(size.min(4096)),
        ] {
            if let Err(error) = try_out(config) {
                let message = error.to_string();
                let is_refused = message.starts_with("Config::") || message.starts_with("Stress::");
                assert!(is_refused || size == 0 && error.is::<Trap>(), "{error}");
            }
        }
    }
}

/// The panic continues at a later operation. In this mode the switch to a task moves a stack, and a
/// call cannot end there.
#[test]
fn a_panic_of_a_collected_value_continues_in_the_operation_that_collects() {
    for engine in engines() {
        let text = r#"(module
                 (type $task (task (param) (result i32))) (type $big (array (mut i64)))
                 (func $seven (param (ref null $task)) (result i32) (i32.const 7))
                 (elem declare func $seven)
                 (func (export "task") (result i32) (task.resume $task (task.new $task $seven)))
                 (func (export "fill") (local $n i32)
                   (loop $more
                     (drop (array.new_default $big (i32.const 1000)))
                     (br_if $more (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1)))
                       (i32.const 1000))))))"#;
        let (mut store, instance) = instantiate_in(&engine, text);
        type Collects<'a> = &'a dyn Fn(&mut Store<()>);
        let ways: [Collects<'_>; 2] =
            [&|store| store.gc(), &|store| invoke::<(), ()>(store, instance, "fill", ()).unwrap()];
        for collects in ways {
            let dropped = Arc::new(AtomicUsize::new(0));
            {
                let mut scope = RootScope::new(&mut store);
                ExternRef::new(&mut scope, PanicsWhenDropped(dropped.clone())).unwrap();
            }
            assert_eq!(dropped.load(Ordering::Relaxed), 0);
            let collected = catch_unwind(AssertUnwindSafe(|| collects(&mut store)));
            assert!(collected.is_err(), "the panic is seen");
            assert_eq!(dropped.load(Ordering::Relaxed), 1);
            assert_eq!(invoke::<(), i32>(&mut store, instance, "task", ()).unwrap(), 7);
        }
    }
}
