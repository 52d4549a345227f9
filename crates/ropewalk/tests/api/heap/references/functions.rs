//! References as arguments and results of functions of the host and of WebAssembly.

use super::*;

#[test]
fn typed_functions_take_and_answer_references() {
    let text = r#"(module
        (type $s (struct (field (mut i32)))) (type $a (array i8)) (type $f (func))
        (func (export "make") (param i32) (result (ref $s)) (struct.new $s (local.get 0)))
        (func (export "none") (result (ref null $s)) (ref.null $s))
        (func (export "array") (result (ref $a)) (array.new_default $a (i32.const 3)))
        (func (export "struct") (param structref) (result i32)
          (struct.get $s 0 (ref.cast (ref $s) (local.get 0))))
        (func (export "concrete") (param (ref $s)))
        (func $f (export "function") (result (ref $f)) (ref.func $f2))
        (func $f2 (type $f)) (elem declare func $f2)
        (func (export "any") (param anyref (ref any)) (result anyref) (local.get 1)))"#;
    for (mut store, instance) in instances(text) {
        let made = invoke::<i32, StructRef>(&mut store, instance, "make", 5).unwrap();
        assert_eq!(made.field(&mut store, 0).unwrap().i32(), Some(5));
        // A result may be requested as a supertype.
        assert!(
            invoke::<i32, AnyRef>(&mut store, instance, "make", 5)
                .unwrap()
                .as_struct(&store)
                .unwrap()
                .is_some()
        );
        assert!(invoke::<i32, Option<AnyRef>>(&mut store, instance, "make", 5).unwrap().is_some());
        assert!(
            invoke::<(), Option<StructRef>>(&mut store, instance, "none", ()).unwrap().is_none()
        );
        assert_eq!(
            invoke::<(), ArrayRef>(&mut store, instance, "array", ()).unwrap().len(&store).unwrap(),
            3
        );
        invoke::<(), Func>(&mut store, instance, "function", ())
            .unwrap()
            .call(&mut store, &[], &mut [])
            .unwrap();
        let found = invoke::<(Option<AnyRef>, AnyRef), Option<AnyRef>>(
            &mut store,
            instance,
            "any",
            (None, made.into()),
        )
        .unwrap()
        .unwrap();
        assert!(found.same(&made.into(), &store).unwrap());
        // A parameter may be given as a subtype.
        assert_eq!(invoke::<StructRef, i32>(&mut store, instance, "struct", made).unwrap(), 5);
        let error =
            invoke::<Option<StructRef>, i32>(&mut store, instance, "struct", None).unwrap_err();
        assert_eq!(trap(&error).code(), TrapCode::CastFailure);

        assert!(instance.get_typed_func::<i32, ArrayRef>(&mut store, "make").is_err());
        assert!(instance.get_typed_func::<(), StructRef>(&mut store, "none").is_err());
        assert!(instance.get_typed_func::<AnyRef, i32>(&mut store, "struct").is_err());
    }
}

const DEFINED: &str = r#"(module
    (rec (type $list (sub (struct (field i32) (field (ref null $list))))))
    (type $longer (sub $list (struct (field i32) (field (ref null $list)) (field i64))))
    (type $point (struct (field f64) (field f64))) (type $bytes (array (mut i8)))
    (type $callback (func (param i32) (result i32))) (type $other (func (result i32)))
    (tag $ask (export "ask") (param i32) (result (ref null $list)))
    (func (export "cons") (param i32 (ref null $list)) (result (ref $list))
      (struct.new $list (local.get 0) (local.get 1)))
    (func (export "longer") (result (ref $longer))
      (struct.new $longer (i32.const 7) (ref.null $list) (i64.const 0)))
    (func (export "point") (result (ref $point)) (struct.new_default $point))
    (func (export "head") (param (ref $list)) (result i32) (struct.get $list 0 (local.get 0)))
    (func (export "length") (param $list (ref null $list)) (result i32) (local $n i32)
      (block $end
        (loop $next
          (br_if $end (ref.is_null (local.get $list)))
          (local.set $n (i32.add (local.get $n) (i32.const 1)))
          (local.set $list (struct.get $list 1 (local.get $list))) (br $next)))
      (local.get $n))
    (func (export "first") (param (ref null $bytes)) (result i32)
      (array.get_u $bytes (local.get 0) (i32.const 0)))
    (func (export "apply") (param i32 (ref null $callback)) (result i32)
      (call_ref $callback (local.get 0) (local.get 1)))
    (func (export "next") (param i32) (result i32) (i32.add (local.get 0) (i32.const 1)))
    (func (export "six") (result i32) (i32.const 6))
    (func (export "asks") (param i32) (result i32)
      (struct.get $list 0 (suspend $ask (local.get 0)))))"#;

#[test]
fn typed_functions_take_and_answer_defined_types() {
    for engine in engines() {
        let (mut store, instance) = instantiate_in(&engine, DEFINED);
        let store = &mut store;
        type Cons<R> = TypedFunc<(i32, Option<R>), R>;
        let cons: Cons<StructRef> = instance.get_typed_func(&mut *store, "cons").unwrap();
        let head = instance.get_typed_func::<StructRef, i32>(&mut *store, "head").unwrap();
        let mut list = None;
        for i in 0..5 {
            assert_eq!(
                invoke::<Option<StructRef>, i32>(&mut *store, instance, "length", list).unwrap(),
                i
            );
            list = Some(cons.call(&mut *store, (i, list)).unwrap());
        }
        assert_eq!(head.call(&mut *store, list.unwrap()).unwrap(), 4);
        let longer = instance.get_typed_func::<(), StructRef>(&mut *store, "longer").unwrap();
        let longer = longer.call(&mut *store, ()).unwrap();
        assert_eq!(head.call(&mut *store, longer).unwrap(), 7, "a subtype fits");

        assert_eq!(invoke::<AnyRef, i32>(&mut *store, instance, "head", longer.into()).unwrap(), 7);
        let longer = AnyRef::from(longer).own(&mut *store).unwrap();
        assert_eq!(invoke::<Owned<AnyRef>, i32>(&mut *store, instance, "head", longer).unwrap(), 7);

        let bytes = FieldType { storage: StorageType::I8, mutable: true };
        let bytes = ArrayType::new(&engine, bytes).unwrap();
        let array = ArrayRef::new(&mut *store, &bytes, &[Val::I32(200)]).unwrap();
        assert_eq!(invoke::<ArrayRef, i32>(&mut *store, instance, "first", array).unwrap(), 200);

        type Apply<F> = TypedFunc<(i32, F), i32>;
        let apply: Apply<Func> = instance.get_typed_func(&mut *store, "apply").unwrap();
        let next = instance.get_func(&mut *store, "next").unwrap();
        assert_eq!(apply.call(&mut *store, (41, next)).unwrap(), 42);
        let apply: Apply<Option<Func>> = instance.get_typed_func(&mut *store, "apply").unwrap();
        assert_eq!(apply.call(&mut *store, (41, Some(next))).unwrap(), 42);
        traps(apply.call(&mut *store, (41, None)), TrapCode::NullFunctionReference);
    }
}

/// The types that an error of a wrong type names.
fn wrong_type<T>(result: Result<T>) -> (String, String) {
    let error = result.err().expect("an error");
    let wrong = error.downcast_ref::<WrongType>().unwrap_or_else(|| panic!("{error:#}"));
    (wrong.expected().to_string(), wrong.found().to_string())
}

#[test]
fn a_typed_call_with_another_defined_type_is_refused_before_it_begins() {
    let (mut store, instance) = instantiate(DEFINED);
    let point = instance.get_typed_func::<(), StructRef>(&mut store, "point").unwrap();
    let point = point.call(&mut store, ()).unwrap();
    let head = instance.get_typed_func::<StructRef, i32>(&mut store, "head").unwrap();
    let (expected, found) = wrong_type(head.call(&mut store, point));
    assert!(expected.starts_with("(ref (struct (field i32) (field (ref null type "), "{expected}");
    assert_eq!(found, "(ref (struct (field f64) (field f64)))");
    let error = message(head.call(&mut store, point));
    assert!(error.starts_with("in argument 0: expected a value of type (ref (struct"), "{error}");

    let i31 = AnyRef::i31(&mut store, 5);
    assert_eq!(wrong_type(invoke::<AnyRef, i32>(&mut store, instance, "head", i31)).1, "(ref i31)");
    let point = point.own(&mut store).unwrap();
    assert_eq!(
        wrong_type(invoke::<Owned<StructRef>, i32>(&mut store, instance, "head", point)).1,
        "(ref (struct (field f64) (field f64)))"
    );

    type Apply<F> = TypedFunc<(i32, F), i32>;
    let apply: Apply<Func> = instance.get_typed_func(&mut store, "apply").unwrap();
    let six = instance.get_func(&mut store, "six").unwrap();
    let (expected, found) = wrong_type(apply.call(&mut store, (1, six)));
    assert_eq!((&expected[..], &found[..]), ("(ref null [i32] -> [i32])", "(ref [] -> [i32])"));
    let error = message(apply.call(&mut store, (1, six)));
    assert!(error.starts_with("in argument 1: "), "{error}");

    // Types that never match are refused by `typed`.
    let (expected, found) =
        wrong_type(instance.get_typed_func::<ArrayRef, i32>(&mut store, "head"));
    assert_eq!(expected, "[(ref array)] -> [i32]");
    assert!(found.starts_with("[(ref (struct (field i32)"), "{found}");
    wrong_type(instance.get_typed_func::<Option<StructRef>, i32>(&mut store, "head"));
    wrong_type(instance.get_typed_func::<Option<ExternRef>, i32>(&mut store, "length"));
}

#[test]
fn a_continuation_is_resumed_with_a_defined_type() {
    for (mut store, instance) in instances(DEFINED) {
        let ask = instance.get_tag(&mut store, "ask").unwrap();
        let ask = ask.typed::<i32, Option<StructRef>>(&store).unwrap();
        let asks = instance.get_typed_func::<i32, i32>(&mut store, "asks").unwrap();
        type Cons<R> = TypedFunc<(i32, Option<R>), R>;
        let cons: Cons<StructRef> = instance.get_typed_func(&mut store, "cons").unwrap();

        for fits in [true, false] {
            let asking = TypedContinuation::new(&mut store, &asks).unwrap();
            let asked = asking.resume_on(&mut store, &ask, 3).unwrap();
            let TypedResumed::Suspended { values: 3, continuation } = asked else {
                panic!("it suspends");
            };
            let answer = match fits {
                true => cons.call(&mut store, (50, None)).unwrap(),
                false => invoke::<(), StructRef>(&mut store, instance, "point", ()).unwrap(),
            };
            let resumed = continuation.resume_on(&mut store, &ask, Some(answer));
            match fits {
                true => assert!(matches!(resumed.unwrap(), TypedResumed::Returned(50))),
                false => {
                    assert_eq!(wrong_type(resumed).1, "(ref (struct (field f64) (field f64)))")
                }
            }
        }
        assert_eq!(store.stack_statistics().live, 0);
    }
}

/// Makes more than a mebibyte of garbage, which causes a collection.
fn churn(caller: &mut Caller<'_, ()>) -> Result<()> {
    for _ in 0..700 {
        let mut scope = RootScope::new(&mut *caller);
        for i in 0..100 {
            ExternRef::new(&mut scope, i)?;
        }
    }
    Ok(())
}

const HOST_MAKES: &str = r#"(module
    (type $pair (struct (field (mut i32)) (field (mut (ref null $pair)))))
    (import "host" "make" (func $make (param i32 (ref null $pair)) (result (ref $pair))))
    (import "host" "sum" (func $sum (param (ref $pair) (ref $pair) (ref null $pair)) (result i32)))
    (func (export "run") (param $n i32) (result i32)
      (local $a (ref null $pair)) (local $b (ref $pair)) (local $c (ref $pair))
      (local.set $b (struct.new $pair (i32.const 1) (ref.null $pair)))
      (local.set $c (struct.new $pair (i32.const 2) (local.get $b)))
      (local.set $a (local.get $b))
      (struct.new $pair (i32.const 1000) (local.get $c))
      (loop $next
        (local.set $a (call $make (local.get $n) (local.get $a)))
        (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
      (struct.get $pair 0)
      (i32.add (call $sum (local.get $b) (local.get $c) (local.get $a)))))"#;

#[test]
fn host_functions_make_objects_while_webassembly_has_others() {
    for (engine, n) in engines().iter().zip([3, 3, 50, 50]) {
        let module = Module::new(engine, HOST_MAKES).unwrap();
        let types: Vec<FuncType> = module
            .imports()
            .map(|import| match import.ty() {
                ExternType::Func(ty) => ty.clone(),
                other => panic!("expected a function, found {other}"),
            })
            .collect();
        let pair = struct_type(engine, types[0].results()[0]);
        let mut linker = Linker::<()>::new(engine);
        linker.host_new("make", types[0].clone(), move |mut caller, arguments, results| {
            if n == 3 {
                churn(&mut caller)?;
            }
            let made = StructRef::new(&mut caller, &pair, arguments)?;
            if n == 3 {
                churn(&mut caller)?;
            }
            results[0] = AnyRef::from(made).into();
            Ok(())
        });
        linker.host_new("sum", types[1].clone(), |mut caller, arguments, results| {
            let mut sum = 0;
            for argument in arguments {
                let mut next = *argument;
                while let Val::AnyRef(Some(reference)) = next {
                    let pair = reference.as_struct(&caller)?.unwrap();
                    sum += pair.field(&mut caller, 0)?.i32().unwrap();
                    next = pair.field(&mut caller, 1)?;
                }
            }
            results[0] = Val::I32(sum);
            Ok(())
        });
        let (mut store, instance) = start_with(&linker, (), &module);
        let before = store.collections();
        let found = call(&mut store, instance, "run", &[Val::I32(n)]).unwrap();
        // The lists are b; c, b; and n..1, b.
        assert_eq!(found[0].i32(), Some(1000 + 1 + 3 + n * (n + 1) / 2 + 1));
        assert!(store.collections() > before, "a collection ran during the calls");
    }
}

#[test]
fn host_functions_pass_references_through_nested_calls() {
    let text = r#"(module
        (type $n (struct (field i32) (field anyref)))
        (import "host" "down" (func $down (param i32 anyref) (result anyref)))
        (func (export "run") (param $depth i32) (param $list anyref) (result anyref)
          (local $own (ref $n)) (local $found anyref)
          (local.set $own (struct.new $n (local.get $depth) (local.get $list)))
          (if (i32.eqz (local.get $depth)) (then (return (local.get $own))))
          (local.set $found
            (call $down (i32.sub (local.get $depth) (i32.const 1)) (local.get $own)))
          (drop (struct.new $n (i32.const -1) (local.get $own)))
          (struct.new $n (struct.get $n 0 (local.get $own)) (local.get $found))))"#;
    for mut linker in engines().iter().map(Linker::new) {
        let entered = Arc::new(AtomicUsize::new(0));
        let counter = entered.clone();
        linker.host(
            "down",
            move |mut caller: Caller<'_, ()>,
                  depth: i32,
                  list: Option<AnyRef>|
                  -> Result<Option<AnyRef>> {
                counter.fetch_add(1, Ordering::Relaxed);
                let found = call_export::<_, (i32, Option<AnyRef>), Option<AnyRef>>(
                    &mut caller,
                    "run",
                    (depth, list),
                )?;
                ExternRef::new(&mut caller, "garbage")?;
                assert!(list.unwrap().as_struct(&caller)?.is_some());
                Ok(found)
            },
        );
        let (mut store, instance) = link(&linker, (), text);
        let mut next = invoke::<(i32, Option<AnyRef>), Option<AnyRef>>(
            &mut store,
            instance,
            "run",
            (20, None),
        )
        .unwrap();
        // The results 20..1 come first, then the arguments 0..20.
        let mut found = Vec::new();
        while let Some(reference) = next {
            let node = reference.as_struct(&store).unwrap().unwrap();
            found.push(node.field(&mut store, 0).unwrap().i32().unwrap());
            next = match node.field(&mut store, 1).unwrap() {
                Val::AnyRef(next) => next,
                other => panic!("expected a node, found {other:?}"),
            };
        }
        assert_eq!(found, (1..=20).rev().chain(0..=20).collect::<Vec<_>>());
        assert_eq!(entered.load(Ordering::Relaxed), 20);
    }
}

#[test]
fn globals_and_tables_of_the_host_hold_references() {
    let text = r#"(module
        (import "" "global" (global $g (mut anyref)))
        (import "" "table" (table $t 3 eqref))
        (type $s (struct (field i32)))
        (func (export "sum") (result i32)
          (drop (struct.new $s (i32.const 0)))
          (i32.add
            (struct.get $s 0 (ref.cast (ref $s) (global.get $g)))
            (i31.get_u (ref.cast (ref i31) (table.get $t (i32.const 2))))))
        (func (export "replace")
          (global.set $g (struct.new $s (i32.const 10)))
          (table.set $t (i32.const 0) (struct.new $s (i32.const 20))))
        (func (export "make") (result (ref $s)) (struct.new $s (i32.const 1))))"#;
    for engine in engines() {
        let module = Module::new(&engine, text).unwrap();
        let mut store = Store::new(&engine, ());
        let ty = GlobalType { content: ValType::Ref(RefType::ANYREF), mutable: true };
        let global = Global::new(&mut store, ty, Val::AnyRef(None)).unwrap();
        let element = RefType { nullable: true, heap: HeapType::Eq };
        let ty = TableType { table64: false, element, minimum: 2, maximum: None };
        let table = Table::new(&mut store, ty, Val::AnyRef(None)).unwrap();
        let number = AnyRef::i31(&mut store, 5);
        table.grow(&mut store, 1, number.into()).unwrap();
        let instance = Instance::new(&mut store, &module, &[global.into(), table.into()]).unwrap();
        let made = call(&mut store, instance, "make", &[]).unwrap()[0];
        global.set(&mut store, made).unwrap();
        assert_eq!(call_i32(&mut store, instance, "sum"), 6);
        call(&mut store, instance, "replace", &[]).unwrap();
        assert_eq!(call_i32(&mut store, instance, "sum"), 15);
        store.gc();
        let first = table.get(&mut store, 0).unwrap();
        let first = structure(&store, first);
        assert_eq!(first.field(&mut store, 0).unwrap().i32(), Some(20));
        let host_value = ExternRef::new(&mut store, 0).unwrap().to_any();
        assert!(table.set(&mut store, 0, host_value.into()).is_err(), "not comparable");
        global.set(&mut store, host_value.into()).unwrap();
    }
}

const IMPORTS_DEFINED: &str = r#"(module
    (type $list (struct (field i32) (field (ref null $list)))) (type $other (struct (field f64)))
    (type $f (func (param (ref null $list)) (result (ref null $list)))) (type $k (cont $f))
    (import "host" "tail" (func $tail (type $f)))
    (import "host" "finish" (func $finish (param (ref $k)) (result i32)))
    (elem declare func $tail)
    (func (export "second") (result i32)
      (struct.get $list 0
        (call $tail (struct.new $list (i32.const 1)
          (struct.new $list (i32.const 2) (ref.null $list))))))
    (func (export "as a value") (result i32)
      (struct.get $list 0
        (call_ref $f (struct.new $list (i32.const 1)
          (struct.new $list (i32.const 3) (ref.null $list))) (ref.func $tail))))
    (func (export "finished") (result i32) (call $finish (cont.new $k (ref.func $tail))))
    (func (export "other") (result (ref $other)) (struct.new $other (f64.const 1))))"#;

fn tail(
    caller: &mut Caller<'_, Option<Owned<StructRef>>>,
    list: StructRef,
) -> Result<Option<StructRef>> {
    if let Some(other) = caller.data().clone() {
        return Ok(Some(other.get(caller)?));
    }
    let Val::AnyRef(rest) = list.field(&mut *caller, 1)? else { panic!("a reference") };
    rest.map(|rest| Ok(rest.as_struct(&*caller)?.expect("a struct"))).transpose()
}

#[test]
fn host_functions_take_and_return_defined_types() {
    for engine in engines() {
        for waits in [false, true] {
            let mut linker = Linker::<Option<Owned<StructRef>>>::new(&engine);
            if waits {
                let defined = linker.func_wrap_async(
                    "host",
                    "tail",
                    |mut caller: Caller<'_, _>, (list,): (Option<StructRef>,)| {
                        Box::new(async move { tail(&mut caller, list.expect("a list")) })
                    },
                );
                defined.unwrap();
            } else {
                let defined = linker.func_wrap(
                    "host",
                    "tail",
                    |mut caller: Caller<'_, _>, list: Option<StructRef>| {
                        tail(&mut caller, list.expect("a list"))
                    },
                );
                defined.unwrap();
            }
            let finish = |mut caller: Caller<'_, _>, rest: Continuation| -> Result<i32> {
                let ty = rest.ty(&caller)?;
                assert_eq!((ty.params().len(), ty.results().len()), (1, 1));
                rest.free(&mut caller)?;
                Ok(7)
            };
            linker.host("finish", finish);
            let (mut store, instance) = link(&linker, None, IMPORTS_DEFINED);
            let run =
                |store: &mut Store<_>, name: &str| invoke::<(), i32>(store, instance, name, ());
            assert_eq!(run(&mut store, "second").unwrap(), 2);
            assert_eq!(run(&mut store, "as a value").unwrap(), 3);
            assert_eq!(run(&mut store, "finished").unwrap(), 7);

            // A struct of another type is refused before WebAssembly sees it.
            let other = instance.get_typed_func::<(), StructRef>(&mut store, "other").unwrap();
            let other = other.call(&mut store, ()).unwrap();
            *store.data_mut() = Some(other.own(&mut store).unwrap());
            let error = run(&mut store, "second").unwrap_err();
            assert!(error.downcast_ref::<WrongType>().is_some(), "{error}");
            assert!(
                error
                    .to_string()
                    .starts_with("in result 0: expected a value of type (ref null (struct"),
                "{error}"
            );
        }
    }
}

#[test]
fn a_host_function_that_takes_less_than_it_is_given_does_not_fit() {
    let engine = Engine::default();
    let module = Module::new(&engine, IMPORTS_DEFINED).unwrap();
    let mut linker = Linker::<()>::new(&engine);
    linker.host("tail", |list: StructRef| Some(list));
    linker.host("finish", |_: Continuation| 0);
    let mut store = Store::new(&engine, ());
    let error = linker.instantiate(&mut store, &module).unwrap_err();
    assert!(error.downcast_ref::<LinkError>().is_some_and(|error| error.name == "tail"));
}
