//! How long handles last, and the errors after their end.

use super::*;

#[test]
fn handles_stay_valid_through_collections() {
    for (mut store, instance) in instances(OBJECTS) {
        let leaves: Vec<AnyRef> = (0..50)
            .map(|i| any(call(&mut store, instance, "leaf", &[Val::I32(i)]).unwrap()[0]))
            .collect();
        let externs: Vec<ExternRef> =
            (0..50).map(|i: usize| ExternRef::new(&mut store, i).unwrap()).collect();
        for _ in 0..5 {
            let before = store.collections();
            store.gc();
            assert_eq!(store.collections(), before + 1);
            for (i, leaf) in leaves.iter().enumerate() {
                let leaf = leaf.as_struct(&store).unwrap().unwrap();
                assert_eq!(leaf.field(&mut store, 0).unwrap().i32(), Some(i as i32));
                assert_eq!(externs[i].data(&store).unwrap().downcast_ref(), Some(&i));
            }
        }
    }
}

const ENDED: &str = "a reference was used after its scope had ended: \
                     keep it with `own`, or in a `RootScope`";

#[test]
fn a_scope_ends_the_handles_that_were_made_in_it() {
    let mut store = Store::new(&Engine::default(), ());
    let before = ExternRef::new(&mut store, 1).unwrap();
    let (inside, nested, number) = {
        let mut scope = RootScope::new(&mut store);
        let inside = ExternRef::new(&mut scope, 2).unwrap();
        let nested = {
            let mut scope = RootScope::new(&mut scope);
            let nested = ExternRef::new(&mut scope, 3).unwrap();
            assert!(inside.data(&scope).is_ok() && nested.data(&scope).is_ok());
            nested
        };
        fails_as(nested.data(&scope), ENDED);
        assert!(inside.data(&scope).is_ok() && before.data(&scope).is_ok());
        (inside, nested, AnyRef::i31(&mut scope, 1))
    };
    assert!(before.data(&store).is_ok());
    for ended in [inside, nested] {
        fails_as(ended.data(&store), ENDED);
    }
    fails_as(number.as_i31(&store), ENDED);

    // Later references in the same slots do not revive them.
    let after: Vec<_> = (0..10).map(|i| ExternRef::new(&mut store, i).unwrap()).collect();
    for ended in [inside, nested] {
        fails_as(ended.data(&store), ENDED);
    }
    assert!(after.iter().all(|reference| reference.data(&store).is_ok()));
}

#[test]
fn every_use_of_a_handle_after_its_scope_is_an_error() {
    let (mut store, instance) = instantiate(OBJECTS);
    let leaf = structs_by(&mut store, instance, "leaf");
    let bytes = arrays_by(&mut store, instance, "bytes");
    let tag = Tag::with_params(&mut store, []).unwrap();
    let (structure, array, exception) = {
        let mut scope = RootScope::new(&mut store);
        (
            StructRef::new(&mut scope, &leaf, &[Val::I32(1)]).unwrap(),
            ArrayRef::new(&mut scope, &bytes, &[]).unwrap(),
            ExnRef::new(&mut scope, tag, &[]).unwrap(),
        )
    };
    let any = AnyRef::from(structure);
    let fresh = AnyRef::i31(&mut store, 1);
    let errors = [
        message(structure.field(&mut store, 0)),
        message(structure.set_field(&mut store, 0, Val::I32(1))),
        message(structure.len(&store)),
        message(structure.ty(&store)),
        message(array.len(&store)),
        message(array.get(&mut store, 0)),
        message(array.set(&mut store, 0, Val::I32(1))),
        message(exception.tag(&store)),
        message(exception.values(&mut store)),
        message(Exception::from_ref(&mut store, exception)),
        message(any.as_struct(&store)),
        message(any.same(&fresh, &store)),
        message(fresh.same(&any, &store)),
        message(any.own(&mut store)),
        message(Global::new(
            &mut store,
            GlobalType { content: ValType::Ref(RefType::ANYREF), mutable: false },
            any.into(),
        )),
    ];
    for error in errors {
        assert_eq!(error, ENDED);
    }
    fails_as(
        call(&mut store, instance, "leaf value", &[any.into()]),
        format!("in argument 0: {ENDED}"),
    );
}

#[test]
fn handles_of_a_host_function_end_with_it() {
    let text = r#"(module
        (import "host" "keep" (func $keep (param externref anyref)))
        (func (export "run") (param externref) (call $keep (local.get 0) (ref.i31 (i32.const 5)))))"#;
    for engine in engines() {
        let kept = Arc::new(Mutex::new(Vec::<(ExternRef, AnyRef)>::new()));
        let mut linker = Linker::new(&engine);
        let keep = kept.clone();
        linker.host(
            "keep",
            move |mut caller: Caller<'_, ()>,
                  given: Option<ExternRef>,
                  number: Option<AnyRef>|
                  -> Result<()> {
                let made = ExternRef::new(&mut caller, "made")?;
                let given = given.unwrap();
                assert!(given.data(&caller)?.is::<i32>() && made.data(&caller)?.is::<&str>());
                keep.lock().unwrap().extend([(given, number.unwrap()), (made, number.unwrap())]);
                Ok(())
            },
        );
        let (mut store, instance) = link(&linker, (), text);
        let argument = ExternRef::new(&mut store, 7).unwrap();
        call(&mut store, instance, "run", &[argument.into()]).unwrap();
        let _later = ExternRef::new(&mut store, 8).unwrap();
        for (reference, number) in kept.lock().unwrap().iter() {
            fails_as(reference.data(&store), ENDED);
            fails_as(number.as_i31(&store), ENDED);
        }
        assert!(argument.data(&store).is_ok(), "the caller's own handle stays");
    }
}

#[test]
fn an_owned_reference_outlives_every_scope() {
    for engine in engines() {
        let (mut store, instance) = instantiate_in(&engine, OBJECTS);
        let leaf = structs_by(&mut store, instance, "leaf");
        let (owned, host_value) = {
            let mut scope = RootScope::new(&mut store);
            let leaf = StructRef::new(&mut scope, &leaf, &[Val::I32(42)]).unwrap();
            let host_value = ExternRef::new(&mut scope, "kept").unwrap();
            (leaf.own(&mut scope).unwrap(), host_value.own(&mut scope).unwrap())
        };
        let copy = owned.clone();
        drop(owned);
        for _ in 0..3 {
            store.gc();
            let mut scope = RootScope::new(&mut store);
            let leaf = copy.get(&mut scope).unwrap();
            assert_eq!(leaf.field(&mut scope, 0).unwrap().i32(), Some(42));
            let value = host_value.get(&mut scope).unwrap();
            assert_eq!(value.data(&scope).unwrap().downcast_ref(), Some(&"kept"));
        }
        // The handle may outlive the store, and is then useless.
        drop(store);
        let mut other = Store::new(&engine, ());
        fails_as(copy.get(&mut other), WRONG_STORE);
    }
}

const WRONG_STORE: &str = "a reference was used with a store that it does not belong to";

#[test]
fn handles_of_another_store_are_errors() {
    let engine = Engine::default();
    let (mut store, instance) = instantiate_in(&engine, OBJECTS);
    let (mut other, other_instance) = instantiate_in(&engine, OBJECTS);
    let leaf = call(&mut store, instance, "leaf", &[Val::I32(1)]).unwrap()[0];
    let bytes = call(&mut store, instance, "bytes", &[Val::I32(1), Val::I32(1)]).unwrap()[0];
    // The same slots are in use there.
    call(&mut other, other_instance, "leaf", &[Val::I32(2)]).unwrap();
    call(&mut other, other_instance, "leaf", &[Val::I32(3)]).unwrap();
    let structure = structure(&store, leaf);
    let array = array(&store, bytes);
    let host_value = ExternRef::new(&mut store, 1).unwrap();
    let owned = structure.own(&mut store).unwrap();
    let number = AnyRef::i31(&mut store, 1);
    let their_number = AnyRef::i31(&mut other, 1);
    let global = other_instance.get_global(&mut other, "global").unwrap();
    let table = other_instance.get_table(&mut other, "table").unwrap();
    let leaf_number = arrays_by(&mut other, other_instance, "leaves");
    let errors = [
        message(structure.field(&mut other, 0)),
        message(structure.len(&other)),
        message(array.get(&mut other, 0)),
        message(array.set(&mut other, 0, Val::I32(0))),
        message(host_value.data(&other)),
        message(owned.get(&mut other)),
        message(number.as_i31(&other)),
        message(number.same(&their_number, &other)),
        message(number.same(&their_number, &store)),
        message(any(leaf).own(&mut other)),
        message(global.set(&mut other, leaf)),
        message(table.set(&mut other, 0, leaf)),
        message(table.grow(&mut other, 1, leaf)),
    ];
    for error in errors {
        assert_eq!(error, WRONG_STORE);
    }
    fails_as(
        call(&mut other, other_instance, "leaf value", &[leaf]),
        format!("in argument 0: {WRONG_STORE}"),
    );
    fails_as(
        ArrayRef::new(&mut other, &leaf_number, &[leaf]),
        format!("in field 0: {WRONG_STORE}"),
    );
}

#[test]
fn calls_that_return_references_outside_of_all_scopes_take_bounded_memory() {
    let text = r#"(module
        (type $big (array (mut i64))) (type $body (func)) (type $k (cont $body))
        (func $body)
        (elem declare func $body)
        (func (export "array") (result (ref $big)) (array.new_default $big (i32.const 100)))
        (func (export "cont") (result (ref $k)) (cont.new $k (ref.func $body))))"#;
    let (mut store, instance) = instantiate(text);
    let array = instance.get_typed_func::<(), ArrayRef>(&mut store, "array").unwrap();
    let first = array.call(&mut store, ()).unwrap();
    for _ in 0..100_000 {
        array.call(&mut store, ()).unwrap();
    }
    assert!(message(first.len(&store)).starts_with(ENDED));
    store.gc();
    let used = store.heap_used();
    assert!((8_000_000..9_000_000).contains(&used), "ten thousand of 816 bytes, not {used}");

    for _ in 0..100_000 {
        invoke::<(), ContRef>(&mut store, instance, "cont", ()).unwrap();
    }
    check_live(&mut store, 10_000);

    // An owner frees them at once.
    for _ in 0..100_000 {
        invoke::<(), Continuation>(&mut store, instance, "cont", ()).unwrap();
        invoke::<(), Owned<ContRef>>(&mut store, instance, "cont", ()).unwrap();
        invoke::<(), Owned<ArrayRef>>(&mut store, instance, "array", ()).unwrap();
    }
    check_live(&mut store, 10_000);
    assert!(store.heap_used() < 1_000_000);
}

#[test]
fn references_outside_of_all_scopes_are_not_those_of_a_scope() {
    let mut store = Store::new(&Engine::default(), ());
    let outside = ExternRef::new(&mut store, 1).unwrap();
    {
        let mut scope = RootScope::new(&mut store);
        let first = ExternRef::new(&mut scope, 2).unwrap();
        for i in 0..30_000 {
            ExternRef::new(&mut scope, i).unwrap();
        }
        assert_eq!(first.data(&scope).unwrap().downcast_ref(), Some(&2));
    }
    assert_eq!(outside.data(&store).unwrap().downcast_ref(), Some(&1));
    for i in 0..9_999 {
        ExternRef::new(&mut store, i).unwrap();
    }
    assert_eq!(outside.data(&store).unwrap().downcast_ref(), Some(&1));
    ExternRef::new(&mut store, 0).unwrap();
    assert!(outside.data(&store).unwrap_err().is::<ScopeEnded>());
    let func = Func::wrap(&mut store, |mut caller: Caller<'_, ()>, value: ExternRef| {
        for i in 0..30_000 {
            ExternRef::new(&mut caller, i).unwrap();
        }
        *value.data(&caller).unwrap().downcast_ref::<i32>().unwrap()
    });
    let func = func.typed::<ExternRef, i32>(&store).unwrap();
    let value = ExternRef::new(&mut store, 77).unwrap();
    assert_eq!(func.call(&mut store, value).unwrap(), 77);
}
