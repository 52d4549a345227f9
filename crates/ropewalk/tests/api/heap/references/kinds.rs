//! Kinds of references: `i31`, host values, internal and external references.

use super::*;

#[test]
fn an_i31_of_the_host_has_31_bits() {
    let text = r#"(module
        (func (export "signed") (param i31ref) (result i32) (i31.get_s (local.get 0)))
        (func (export "make") (param i32) (result (ref i31)) (ref.i31 (local.get 0))))"#;
    for (mut store, instance) in instances(text) {
        for (value, kept, signed) in [
            (0, 0, 0),
            (1, 1, 1),
            (0x3fff_ffff, 0x3fff_ffff, 0x3fff_ffff),
            (0x4000_0000, 0x4000_0000, -0x4000_0000),
            (u32::MAX, 0x7fff_ffff, -1),
            (0x8000_0000, 0, 0),
        ] {
            let reference = AnyRef::i31(&mut store, value);
            assert_eq!(reference.as_i31(&store).unwrap(), Some(kept));
            let found = call(&mut store, instance, "signed", &[reference.into()]).unwrap();
            assert_eq!(found[0].i32(), Some(signed));
            let made = call(&mut store, instance, "make", &[Val::I32(value as i32)]).unwrap();
            assert_eq!(any(made[0]).as_i31(&store).unwrap(), Some(kept));
            assert!(any(made[0]).same(&reference, &store).unwrap());
        }
    }
}

#[test]
fn references_tell_their_kind() {
    let (mut store, instance) = instantiate(OBJECTS);
    let leaf = any(call(&mut store, instance, "leaf", &[Val::I32(1)]).unwrap()[0]);
    let bytes = call(&mut store, instance, "bytes", &[Val::I32(1), Val::I32(3)]).unwrap()[0];
    let number = AnyRef::i31(&mut store, 1);
    let host_value = ExternRef::new(&mut store, ()).unwrap().to_any();
    for (reference, kind) in [(leaf, 0), (any(bytes), 1), (number, 2), (host_value, 3)] {
        let kinds = [
            reference.as_struct(&store).unwrap().is_some(),
            reference.as_array(&store).unwrap().is_some(),
            reference.as_i31(&store).unwrap().is_some(),
            reference.as_extern(&store).unwrap().is_some(),
        ];
        assert_eq!(kinds, std::array::from_fn(|i| i == kind));
    }
}

#[test]
fn references_are_the_same_if_they_refer_to_the_same() {
    for (mut store, instance) in instances(OBJECTS) {
        let table = instance.get_table(&mut store, "table").unwrap();
        let leaf = call(&mut store, instance, "leaf", &[Val::I32(1)]).unwrap()[0];
        let alike = call(&mut store, instance, "leaf", &[Val::I32(1)]).unwrap()[0];
        table.set(&mut store, 0, leaf).unwrap();
        let again = table.get(&mut store, 0).unwrap();
        store.gc();
        assert!(any(leaf).same(&any(again), &store).unwrap());
        assert!(!any(leaf).same(&any(alike), &store).unwrap());
        let out_and_in = any(leaf).to_extern().to_any();
        assert!(any(leaf).same(&out_and_in, &store).unwrap());
    }
}

#[test]
fn host_values_of_any_type_come_back_as_they_were() {
    let text = r#"(module
        (func (export "id") (param externref) (result externref) (local.get 0))
        (func (export "in") (param externref) (result anyref) (any.convert_extern (local.get 0)))
        (func (export "out") (param anyref) (result externref) (extern.convert_any (local.get 0))))"#;
    #[derive(Debug, PartialEq)]
    struct Own(Vec<String>);
    for (mut store, instance) in instances(text) {
        let own = ExternRef::new(&mut store, Own(vec!["a".into(), "b".into()])).unwrap();
        let unit = ExternRef::new(&mut store, ()).unwrap();
        let shared = Arc::new(Mutex::new(1));
        let mutex = ExternRef::new(&mut store, shared.clone()).unwrap();

        let found = call(&mut store, instance, "id", &[own.into()]).unwrap();
        let Val::ExternRef(Some(found)) = found[0] else { panic!("a host value") };
        let expected = Own(vec!["a".into(), "b".into()]);
        assert_eq!(found.data(&store).unwrap().downcast_ref(), Some(&expected));
        assert!(found.data(&store).unwrap().downcast_ref::<String>().is_none());

        let inside = any(call(&mut store, instance, "in", &[unit.into()]).unwrap()[0]);
        assert!(inside.same(&unit.to_any(), &store).unwrap());
        let outside = call(&mut store, instance, "out", &[inside.into()]).unwrap();
        let Val::ExternRef(Some(outside)) = outside[0] else { panic!("a host value") };
        assert!(outside.data(&store).unwrap().is::<()>());

        let mutex = mutex.data(&store).unwrap().downcast_ref::<Arc<Mutex<i32>>>().unwrap();
        *mutex.lock().unwrap() = 2;
        assert_eq!(*shared.lock().unwrap(), 2);
    }
}

#[test]
fn internal_references_outside_are_not_host_values() {
    let (mut store, instance) = instantiate(OBJECTS);
    let leaf = any(call(&mut store, instance, "leaf", &[Val::I32(1)]).unwrap()[0]);
    let number = AnyRef::i31(&mut store, 1);
    for reference in [leaf, number] {
        let outside = reference.to_extern();
        fails_as(
            outside.data(&store),
            "expected a reference to a host value, found one to a value of WebAssembly",
        );
    }
}
