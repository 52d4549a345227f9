//! Structs and arrays of the host and of WebAssembly, and the values they refuse.

use super::*;

#[test]
fn structs_of_the_host_are_structs_of_wasm() {
    for (mut store, instance) in instances(OBJECTS) {
        let every = structs_by(&mut store, instance, "every");
        let twig = structs_by(&mut store, instance, "twig");
        let func = instance.get_func(&mut store, "sum").unwrap();
        let host_value = ExternRef::new(&mut store, 1).unwrap();
        let twig = StructRef::new(&mut store, &twig, &[Val::I32(90), Val::I64(0)]).unwrap();
        let fields = [
            Val::I32(0x1ff),
            Val::I32(-2),
            Val::I32(30),
            Val::I64(400),
            Val::from(0.5f32),
            Val::from(0.25f64),
            Val::V128(60 << 64),
            func.into(),
            host_value.into(),
            AnyRef::from(twig).into(),
            AnyRef::i31(&mut store, 100).into(),
            AnyRef::i31(&mut store, u32::MAX).into(),
            Val::I32(1000),
        ];
        let object = StructRef::new(&mut store, &every, &fields).unwrap();
        let sum = call(&mut store, instance, "sum", &[AnyRef::from(object).into()]).unwrap();
        // -1 for the byte, two references that are not null, -1 for the last i31.
        let expected = -1.0 - 2.0 + 30.0 + 400.0 + 0.75 + 60.0 + 90.0 + 100.0 - 1.0 + 1000.0;
        assert_eq!(sum[0].f64(), Some(expected));
        assert_eq!(object.len(&store).unwrap(), 13);
        assert_eq!(object.ty(&store).unwrap(), every);
    }
}

#[test]
fn the_host_reads_and_writes_every_field() {
    for (mut store, instance) in instances(OBJECTS) {
        let made = call(&mut store, instance, "every", &[]).unwrap()[0];
        let object = structure(&store, made);
        let zero =
            |store: &mut Store<()>, index| format!("{:?}", object.field(store, index).unwrap());
        assert_eq!(zero(&mut store, 0), "I32(0)");
        assert_eq!(zero(&mut store, 6), "V128(0)");
        for (index, null) in [(7, "FuncRef"), (8, "ExternRef"), (9, "AnyRef"), (10, "AnyRef")] {
            assert_eq!(zero(&mut store, index), format!("{null}(None)"));
        }
        let leaf = call(&mut store, instance, "leaf", &[Val::I32(5)]).unwrap()[0];
        let func = instance.get_func(&mut store, "leaf").unwrap();
        let host_value = ExternRef::new(&mut store, "kept").unwrap();
        let values = [
            Val::I32(-1),
            Val::I32(-1),
            Val::I32(-1),
            Val::I64(i64::MIN),
            Val::F32(0x7fc0_1234),
            Val::F64(0xfff8_0000_0000_0001),
            Val::V128(u128::MAX / 3),
            func.into(),
            host_value.into(),
            leaf,
            AnyRef::i31(&mut store, 7).into(),
            AnyRef::from(object).into(),
        ];
        for (index, value) in values.into_iter().enumerate() {
            object.set_field(&mut store, index, value).unwrap();
        }
        let mut field = |index| object.field(&mut store, index).unwrap();
        assert_eq!((field(0).i32(), field(1).i32()), (Some(0xff), Some(0xffff)));
        assert_eq!((field(2).i32(), field(3).i64()), (Some(-1), Some(i64::MIN)));
        assert!(matches!(field(4), Val::F32(0x7fc0_1234)));
        assert!(matches!(field(5), Val::F64(0xfff8_0000_0000_0001)));
        assert_eq!(field(6).v128(), Some(u128::MAX / 3));
        assert!(matches!(field(7), Val::FuncRef(Some(_))));
        let Val::ExternRef(Some(found)) = field(8) else { panic!("a host value") };
        let (leaf, number, itself) = (any(field(9)), any(field(10)), any(field(11)));
        assert_eq!(found.data(&store).unwrap().downcast_ref(), Some(&"kept"));
        let leaf = leaf.as_struct(&store).unwrap().unwrap();
        assert_eq!(leaf.field(&mut store, 0).unwrap().i32(), Some(5));
        assert_eq!(number.as_i31(&store).unwrap(), Some(7));
        assert!(itself.same(&object.into(), &store).unwrap());
    }
}

#[test]
fn structs_refuse_wrong_values_and_indices() {
    let (mut store, instance) = instantiate(OBJECTS);
    let leaf = structs_by(&mut store, instance, "leaf");
    let twig = structs_by(&mut store, instance, "twig");
    let made = StructRef::new(&mut store, &leaf, &[]);
    fails_as(made, "expected 1 field, found 0");
    let made = StructRef::new(&mut store, &leaf, &[Val::I64(1)]);
    fails_as(made, "in field 0: expected a value of type i32, found one of type i64");
    let bytes = made_by(&mut store, instance, "bytes");
    assert_eq!(StructType::of(store.engine(), bytes), None, "those are arrays");
    assert_eq!(StructType::of(store.engine(), ValType::I32), None);
    let unknown = ValType::Ref(RefType { nullable: true, heap: HeapType::Concrete(1_000_000) });
    assert_eq!(StructType::of(store.engine(), unknown), None);

    let object = StructRef::new(&mut store, &twig, &[Val::I32(1), Val::I64(2)]).unwrap();
    fails_as(object.field(&mut store, 2), "field 2 is beyond the struct's 2 fields");
    fails_as(
        object.field(&mut store, usize::MAX),
        format!("field {} is beyond the struct's 2 fields", usize::MAX),
    );
    fails_as(
        object.set_field(&mut store, 2, Val::I32(0)),
        "field 2 is beyond the struct's 2 fields",
    );
    fails_as(
        object.set_field(&mut store, 0, Val::I32(0)),
        "in field 0: an immutable field cannot be set",
    );
    fails_as(
        object.set_field(&mut store, 1, Val::I32(0)),
        "expected a value of type i64, found one of type i32",
    );
    assert_eq!(object.field(&mut store, 1).unwrap().i64(), Some(2), "nothing was changed");
}

#[test]
fn arrays_of_the_host_are_arrays_of_wasm() {
    for (mut store, instance) in instances(OBJECTS) {
        let bytes = arrays_by(&mut store, instance, "bytes");
        let text: Vec<Val> = b"hello \xff".iter().map(|byte| Val::I32((*byte).into())).collect();
        let array = ArrayRef::new(&mut store, &bytes, &text).unwrap();
        assert_eq!(array.len(&store).unwrap(), 7);
        let sum = call(&mut store, instance, "checksum", &[AnyRef::from(array).into()]).unwrap();
        let expected =
            b"hello \xff".iter().fold(0i32, |sum, b| sum.wrapping_mul(31) + i32::from(*b));
        assert_eq!(sum[0].i32(), Some(expected));
        let empty = ArrayRef::new(&mut store, &bytes, &[]).unwrap();
        assert!(empty.is_empty(&store).unwrap());
        let sum = call(&mut store, instance, "checksum", &[AnyRef::from(empty).into()]).unwrap();
        assert_eq!(sum[0].i32(), Some(0));

        let leaves = arrays_by(&mut store, instance, "leaves");
        let elements: Vec<Val> = (0..100)
            .map(|i| call(&mut store, instance, "leaf", &[Val::I32(i)]).unwrap()[0])
            .collect();
        let array = ArrayRef::new(&mut store, &leaves, &elements).unwrap();
        for i in 0..100 {
            let leaf = array.get(&mut store, i).unwrap();
            let value = call(&mut store, instance, "leaf value", &[leaf]).unwrap();
            assert_eq!(value[0].i32(), Some(i as i32));
        }
    }
}

#[test]
fn the_host_reads_and_writes_every_element() {
    for (mut store, instance) in instances(OBJECTS) {
        let made = call(&mut store, instance, "bytes", &[Val::I32(-1), Val::I32(3)]).unwrap()[0];
        let bytes = array(&store, made);
        bytes.set(&mut store, 1, Val::I32(0x1234)).unwrap();
        let found: Vec<_> = (0..3).map(|i| bytes.get(&mut store, i).unwrap().i32()).collect();
        assert_eq!(found, [Some(0xff), Some(0x34), Some(0xff)]);
    }
}

#[test]
fn arrays_refuse_wrong_values_and_indices() {
    let (mut store, instance) = instantiate(OBJECTS);
    let leaves = arrays_by(&mut store, instance, "leaves");
    let made = call(&mut store, instance, "bytes", &[Val::I32(1), Val::I32(3)]).unwrap()[0];
    let bytes = array(&store, made);
    let beyond = "index 3 is beyond the array's 3 elements";
    fails_as(bytes.get(&mut store, 3), beyond);
    fails_as(bytes.set(&mut store, 3, Val::I32(0)), beyond);
    fails_as(bytes.get(&mut store, u32::MAX), "index 4294967295 is beyond the array's 3 elements");
    fails_as(
        bytes.set(&mut store, 0, Val::F32(0)),
        "expected a value of type i32, found one of type f32",
    );
    let made = call(&mut store, instance, "constants", &[]).unwrap()[0];
    let constants = array(&store, made);
    fails_as(constants.set(&mut store, 0, Val::F64(0)), "an immutable element cannot be set");
    assert_eq!(constants.get(&mut store, 1).unwrap().f64(), Some(0.5));

    let leaf = made_by(&mut store, instance, "leaf");
    assert_eq!(ArrayType::of(store.engine(), leaf), None, "those are structs");
    let null = ArrayRef::new(&mut store, &leaves, &[Val::AnyRef(None)]);
    fails_as(
        null,
        "in field 0: expected a value of type (ref (struct (field i32))), found one of type anyref",
    );
}

#[test]
fn a_reference_of_another_type_is_refused_everywhere() {
    let (mut store, instance) = instantiate(OBJECTS);
    let leaf = call(&mut store, instance, "leaf", &[Val::I32(1)]).unwrap()[0];
    let twig = call(&mut store, instance, "twig", &[Val::I32(2), Val::I64(3)]).unwrap()[0];
    let bytes = call(&mut store, instance, "bytes", &[Val::I32(1), Val::I32(3)]).unwrap()[0];
    let number = AnyRef::i31(&mut store, 1).into();
    let host_value = ExternRef::new(&mut store, ()).unwrap();

    // A subtype is accepted.
    for (value, expected) in [(leaf, 1), (twig, 2)] {
        let found = call(&mut store, instance, "leaf value", &[value]).unwrap();
        assert_eq!(found[0].i32(), Some(expected));
    }
    let others = [bytes, number, host_value.into(), host_value.to_any().into(), Val::AnyRef(None)];
    for other in others {
        let error = message(call(&mut store, instance, "leaf value", &[other]));
        assert!(
            error.starts_with("in argument 0: expected a value of type (ref (struct "),
            "{error}"
        );
    }
    let global = instance.get_global(&mut store, "global").unwrap();
    global.set(&mut store, twig).unwrap();
    for other in [leaf, bytes, number, Val::ExternRef(None), Val::FuncRef(None)] {
        fails_because(global.set(&mut store, other), "(ref null (struct ");
    }
    let Val::AnyRef(Some(kept)) = global.get(&mut store).unwrap() else { panic!("not null") };
    assert!(kept.same(&any(twig), &store).unwrap());
    global.set(&mut store, Val::AnyRef(None)).unwrap();

    let table = instance.get_table(&mut store, "table").unwrap();
    table.set(&mut store, 0, leaf).unwrap();
    table.set(&mut store, 1, twig).unwrap();
    assert!(table.set(&mut store, 0, bytes).is_err());
    assert!(table.grow(&mut store, 1, number).is_err());
    table.grow(&mut store, 1, twig).unwrap();
    assert!(any(table.get(&mut store, 2).unwrap()).same(&any(twig), &store).unwrap());
    table.set(&mut store, 0, Val::AnyRef(None)).unwrap();
}
