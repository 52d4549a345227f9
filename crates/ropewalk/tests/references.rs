//! References in the hands of the host: structs, arrays, `i31`, host values;
//! how long they last; and what is refused.

mod common;
use common::*;
use ropewalk::*;
use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

// ---- structs and arrays

const OBJECTS: &str = r#"(module
    (type $leaf (sub (struct (field i32))))
    (type $twig (sub $leaf (struct (field i32) (field (mut i64)))))
    (type $every (struct
      (field (mut i8)) (field (mut i16)) (field (mut i32)) (field (mut i64))
      (field (mut f32)) (field (mut f64)) (field (mut v128))
      (field (mut funcref)) (field (mut externref)) (field (mut (ref null $leaf)))
      (field (mut i31ref)) (field (mut anyref)) (field i32)))
    (type $bytes (array (mut i8)))
    (type $leaves (array (mut (ref $leaf))))
    (type $constants (array f64))
    (func (export "leaf") (param i32) (result (ref $leaf)) (struct.new $leaf (local.get 0)))
    (func (export "twig") (param i32 i64) (result (ref $twig))
      (struct.new $twig (local.get 0) (local.get 1)))
    (func (export "leaf value") (param (ref $leaf)) (result i32)
      (struct.get $leaf 0 (local.get 0)))
    (func (export "every") (result (ref $every)) (struct.new_default $every))
    (func (export "sum") (param $s (ref $every)) (result f64)
      (f64.convert_i32_s (struct.get_s $every 0 (local.get $s)))
      (f64.add (f64.convert_i32_s (struct.get_s $every 1 (local.get $s))))
      (f64.add (f64.convert_i32_s (struct.get $every 2 (local.get $s))))
      (f64.add (f64.convert_i64_s (struct.get $every 3 (local.get $s))))
      (f64.add (f64.promote_f32 (struct.get $every 4 (local.get $s))))
      (f64.add (struct.get $every 5 (local.get $s)))
      (f64.add (f64.convert_i32_s (i32x4.extract_lane 2 (struct.get $every 6 (local.get $s)))))
      (f64.add (f64.convert_i32_s (ref.is_null (struct.get $every 7 (local.get $s)))))
      (f64.add (f64.convert_i32_s (ref.is_null (struct.get $every 8 (local.get $s)))))
      (f64.add (f64.convert_i32_s (struct.get $leaf 0 (struct.get $every 9 (local.get $s)))))
      (f64.add (f64.convert_i32_s (i31.get_s (struct.get $every 10 (local.get $s)))))
      (f64.add (f64.convert_i32_s
        (i31.get_s (ref.cast (ref i31) (struct.get $every 11 (local.get $s))))))
      (f64.add (f64.convert_i32_s (struct.get $every 12 (local.get $s)))))
    (func (export "bytes") (param i32 i32) (result (ref $bytes))
      (array.new $bytes (local.get 0) (local.get 1)))
    (func (export "checksum") (param $b (ref $bytes)) (result i32)
      (local $i i32) (local $sum i32)
      (loop $next
        (if (i32.lt_u (local.get $i) (array.len (local.get $b)))
          (then
            (local.set $sum
              (i32.add
                (i32.mul (local.get $sum) (i32.const 31))
                (array.get_u $bytes (local.get $b) (local.get $i))))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br $next))))
      (local.get $sum))
    (func (export "leaves") (param (ref $leaf) i32) (result (ref $leaves))
      (array.new $leaves (local.get 0) (local.get 1)))
    (func (export "constants") (result (ref $constants))
      (array.new $constants (f64.const 0.5) (i32.const 2)))
    (global (export "global") (mut (ref null $twig)) (ref.null $twig))
    (table (export "table") 2 (ref null $leaf)))"#;

/// The type that an exported function of [`OBJECTS`] answers.
fn made_by(store: &mut Store<()>, instance: Instance, name: &str) -> ValType {
    let func = instance.get_func(&mut *store, name).unwrap();
    func.ty(&*store).unwrap().results()[0]
}

/// The type of the structs that an exported function answers.
fn structs_by(store: &mut Store<()>, instance: Instance, name: &str) -> StructType {
    let ty = made_by(store, instance, name);
    StructType::of(store.engine(), ty).unwrap()
}

/// The type of the arrays that an exported function answers.
fn arrays_by(store: &mut Store<()>, instance: Instance, name: &str) -> ArrayType {
    let ty = made_by(store, instance, name);
    ArrayType::of(store.engine(), ty).unwrap()
}

fn any(value: Val) -> AnyRef {
    match value {
        Val::AnyRef(Some(reference)) => reference,
        other => panic!("expected an internal reference, found {other:?}"),
    }
}

fn structure(store: &Store<()>, value: Val) -> StructRef {
    any(value).as_struct(store).unwrap().expect("a struct")
}

fn array(store: &Store<()>, value: Val) -> ArrayRef {
    any(value).as_array(store).unwrap().expect("an array")
}

#[test]
fn structs_of_the_host_are_structs_of_wasm() {
    for engine in engines() {
        let (mut store, instance) = instantiate_in(&engine, OBJECTS);
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
    for engine in engines() {
        let (mut store, instance) = instantiate_in(&engine, OBJECTS);
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
fn structs_refuse_what_does_not_fit() {
    let (mut store, instance) = instantiate(OBJECTS);
    let leaf = structs_by(&mut store, instance, "leaf");
    let twig = structs_by(&mut store, instance, "twig");
    let made = StructRef::new(&mut store, &leaf, &[]);
    assert_eq!(message(made), "expected 1 field, found 0");
    let made = StructRef::new(&mut store, &leaf, &[Val::I64(1)]);
    assert_eq!(message(made), "in field 0: expected a value of type i32, found one of type i64");
    let bytes = made_by(&mut store, instance, "bytes");
    assert_eq!(StructType::of(store.engine(), bytes), None, "those are arrays");
    assert_eq!(StructType::of(store.engine(), ValType::I32), None);
    let unknown = ValType::Ref(RefType { nullable: true, heap: HeapType::Concrete(1_000_000) });
    assert_eq!(StructType::of(store.engine(), unknown), None);

    let object = StructRef::new(&mut store, &twig, &[Val::I32(1), Val::I64(2)]).unwrap();
    assert_eq!(message(object.field(&mut store, 2)), "field 2 is beyond the struct's 2 fields");
    assert_eq!(
        message(object.field(&mut store, usize::MAX)),
        format!("field {} is beyond the struct's 2 fields", usize::MAX)
    );
    assert_eq!(
        message(object.set_field(&mut store, 2, Val::I32(0))),
        "field 2 is beyond the struct's 2 fields"
    );
    assert_eq!(
        message(object.set_field(&mut store, 0, Val::I32(0))),
        "in field 0: an immutable field cannot be set"
    );
    assert_eq!(
        message(object.set_field(&mut store, 1, Val::I32(0))),
        "expected a value of type i64, found one of type i32"
    );
    assert_eq!(object.field(&mut store, 1).unwrap().i64(), Some(2), "nothing was changed");
}

#[test]
fn arrays_of_the_host_are_arrays_of_wasm() {
    for engine in engines() {
        let (mut store, instance) = instantiate_in(&engine, OBJECTS);
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
    for engine in engines() {
        let (mut store, instance) = instantiate_in(&engine, OBJECTS);
        let made = call(&mut store, instance, "bytes", &[Val::I32(-1), Val::I32(3)]).unwrap()[0];
        let bytes = array(&store, made);
        bytes.set(&mut store, 1, Val::I32(0x1234)).unwrap();
        let found: Vec<_> = (0..3).map(|i| bytes.get(&mut store, i).unwrap().i32()).collect();
        assert_eq!(found, [Some(0xff), Some(0x34), Some(0xff)]);
    }
}

#[test]
fn arrays_refuse_what_does_not_fit() {
    let (mut store, instance) = instantiate(OBJECTS);
    let leaves = arrays_by(&mut store, instance, "leaves");
    let made = call(&mut store, instance, "bytes", &[Val::I32(1), Val::I32(3)]).unwrap()[0];
    let bytes = array(&store, made);
    let beyond = "index 3 is beyond the array's 3 elements";
    assert_eq!(message(bytes.get(&mut store, 3)), beyond);
    assert_eq!(message(bytes.set(&mut store, 3, Val::I32(0))), beyond);
    assert_eq!(
        message(bytes.get(&mut store, u32::MAX)),
        "index 4294967295 is beyond the array's 3 elements"
    );
    assert_eq!(
        message(bytes.set(&mut store, 0, Val::F32(0))),
        "expected a value of type i32, found one of type f32"
    );
    let made = call(&mut store, instance, "constants", &[]).unwrap()[0];
    let constants = array(&store, made);
    assert_eq!(
        message(constants.set(&mut store, 0, Val::F64(0))),
        "an immutable element cannot be set"
    );
    assert_eq!(constants.get(&mut store, 1).unwrap().f64(), Some(0.5));

    let leaf = made_by(&mut store, instance, "leaf");
    assert_eq!(ArrayType::of(store.engine(), leaf), None, "those are structs");
    let null = ArrayRef::new(&mut store, &leaves, &[Val::AnyRef(None)]);
    assert_eq!(
        message(null),
        "in field 0: expected a value of type (ref (struct (field i32))), found one of type anyref"
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
        assert!(message(global.set(&mut store, other)).contains("(ref null (struct "));
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

// ---- the kinds of references

#[test]
fn an_i31_of_the_host_has_31_bits() {
    let text = r#"(module
        (func (export "signed") (param i31ref) (result i32) (i31.get_s (local.get 0)))
        (func (export "make") (param i32) (result (ref i31)) (ref.i31 (local.get 0))))"#;
    for engine in engines() {
        let (mut store, instance) = instantiate_in(&engine, text);
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
fn what_a_reference_is_can_be_asked() {
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
    for engine in engines() {
        let (mut store, instance) = instantiate_in(&engine, OBJECTS);
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
        (func (export "out") (param anyref) (result externref)
          (extern.convert_any (local.get 0))))"#;
    #[derive(Debug, PartialEq)]
    struct Own(Vec<String>);
    for engine in engines() {
        let (mut store, instance) = instantiate_in(&engine, text);
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
        assert_eq!(
            message(outside.data(&store)),
            "the reference is to a value of WebAssembly, not of the host"
        );
    }
}

// ---- how long handles last

#[test]
fn handles_stay_valid_through_collections() {
    for engine in engines() {
        let (mut store, instance) = instantiate_in(&engine, OBJECTS);
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
        assert_eq!(message(nested.data(&scope)), ENDED);
        assert!(inside.data(&scope).is_ok() && before.data(&scope).is_ok());
        (inside, nested, AnyRef::i31(&mut scope, 1))
    };
    assert!(before.data(&store).is_ok());
    for ended in [inside, nested] {
        assert_eq!(message(ended.data(&store)), ENDED);
    }
    assert_eq!(message(number.as_i31(&store)), ENDED);

    // Others that have their places do not revive them.
    let after: Vec<_> = (0..10).map(|i| ExternRef::new(&mut store, i).unwrap()).collect();
    for ended in [inside, nested] {
        assert_eq!(message(ended.data(&store)), ENDED);
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
    let error = message(call(&mut store, instance, "leaf value", &[any.into()]));
    assert_eq!(error, format!("in argument 0: {ENDED}"));
}

#[test]
fn handles_of_a_host_function_end_with_it() {
    let text = r#"(module
        (import "host" "keep" (func $keep (param externref anyref)))
        (func (export "run") (param externref)
          (call $keep (local.get 0) (ref.i31 (i32.const 5)))))"#;
    for engine in engines() {
        let kept = Arc::new(Mutex::new(Vec::<(ExternRef, AnyRef)>::new()));
        let module = Module::new(&engine, text).unwrap();
        let mut linker = Linker::new(&engine);
        let keep = kept.clone();
        linker
            .func_wrap(
                "host",
                "keep",
                move |mut caller: Caller<'_, ()>,
                      given: Option<ExternRef>,
                      number: Option<AnyRef>|
                      -> Result<()> {
                    let made = ExternRef::new(&mut caller, "made")?;
                    let given = given.unwrap();
                    assert!(given.data(&caller)?.is::<i32>() && made.data(&caller)?.is::<&str>());
                    keep.lock()
                        .unwrap()
                        .extend([(given, number.unwrap()), (made, number.unwrap())]);
                    Ok(())
                },
            )
            .unwrap();
        let mut store = Store::new(&engine, ());
        let instance = linker.instantiate(&mut store, &module).unwrap();
        let argument = ExternRef::new(&mut store, 7).unwrap();
        call(&mut store, instance, "run", &[argument.into()]).unwrap();
        let _later = ExternRef::new(&mut store, 8).unwrap();
        for (reference, number) in kept.lock().unwrap().iter() {
            assert_eq!(message(reference.data(&store)), ENDED);
            assert_eq!(message(number.as_i31(&store)), ENDED);
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
        // It may also outlive the store, and is then of no use.
        drop(store);
        let mut other = Store::new(&engine, ());
        assert_eq!(message(copy.get(&mut other)), WRONG_STORE);
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
    // Places with the same numbers are in use there.
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
    let error = message(call(&mut other, other_instance, "leaf value", &[leaf]));
    assert_eq!(error, format!("in argument 0: {WRONG_STORE}"));
    let error = message(ArrayRef::new(&mut other, &leaf_number, &[leaf]));
    assert_eq!(error, format!("in field 0: {WRONG_STORE}"));
}

// ---- functions of both sides

#[test]
fn typed_functions_take_and_answer_references() {
    let text = r#"(module
        (type $s (struct (field (mut i32))))
        (type $a (array i8))
        (type $f (func))
        (func (export "make") (param i32) (result (ref $s)) (struct.new $s (local.get 0)))
        (func (export "none") (result (ref null $s)) (ref.null $s))
        (func (export "array") (result (ref $a)) (array.new_default $a (i32.const 3)))
        (func (export "struct") (param structref) (result i32)
          (struct.get $s 0 (ref.cast (ref $s) (local.get 0))))
        (func (export "concrete") (param (ref $s)))
        (func $f (export "function") (result (ref $f)) (ref.func $f2))
        (func $f2 (type $f)) (elem declare func $f2)
        (func (export "any") (param anyref (ref any)) (result anyref) (local.get 1)))"#;
    for engine in engines() {
        let (mut store, instance) = instantiate_in(&engine, text);
        let make = instance.get_typed_func::<i32, StructRef>(&mut store, "make").unwrap();
        let made = make.call(&mut store, 5).unwrap();
        assert_eq!(made.field(&mut store, 0).unwrap().i32(), Some(5));
        // Results may be asked for as something more general.
        let any = instance.get_typed_func::<i32, AnyRef>(&mut store, "make").unwrap();
        assert!(any.call(&mut store, 5).unwrap().as_struct(&store).unwrap().is_some());
        let maybe = instance.get_typed_func::<i32, Option<AnyRef>>(&mut store, "make").unwrap();
        assert!(maybe.call(&mut store, 5).unwrap().is_some());
        let none = instance.get_typed_func::<(), Option<StructRef>>(&mut store, "none").unwrap();
        assert!(none.call(&mut store, ()).unwrap().is_none());
        let array = instance.get_typed_func::<(), ArrayRef>(&mut store, "array").unwrap();
        assert_eq!(array.call(&mut store, ()).unwrap().len(&store).unwrap(), 3);
        let func = instance.get_typed_func::<(), Func>(&mut store, "function").unwrap();
        func.call(&mut store, ()).unwrap().call(&mut store, &[], &mut []).unwrap();
        let any = instance
            .get_typed_func::<(Option<AnyRef>, AnyRef), Option<AnyRef>>(&mut store, "any")
            .unwrap();
        let found = any.call(&mut store, (None, made.into())).unwrap().unwrap();
        assert!(found.same(&made.into(), &store).unwrap());
        // Parameters may be given as something more special.
        let value = instance.get_typed_func::<StructRef, i32>(&mut store, "struct").unwrap();
        assert_eq!(value.call(&mut store, made).unwrap(), 5);
        let value =
            instance.get_typed_func::<Option<StructRef>, i32>(&mut store, "struct").unwrap();
        let error = value.call(&mut store, None).unwrap_err();
        assert_eq!(trap(&error).code(), TrapCode::CastFailure);

        // But not the other way.
        assert!(instance.get_typed_func::<i32, ArrayRef>(&mut store, "make").is_err());
        assert!(instance.get_typed_func::<(), StructRef>(&mut store, "none").is_err());
        assert!(instance.get_typed_func::<AnyRef, i32>(&mut store, "struct").is_err());
    }
}

const DEFINED: &str = r#"(module
    (rec (type $list (sub (struct (field i32) (field (ref null $list))))))
    (type $longer (sub $list (struct (field i32) (field (ref null $list)) (field i64))))
    (type $point (struct (field f64) (field f64)))
    (type $bytes (array (mut i8)))
    (type $callback (func (param i32) (result i32)))
    (type $other (func (result i32)))
    (tag $ask (export "ask") (param i32) (result (ref null $list)))
    (func (export "cons") (param i32 (ref null $list)) (result (ref $list))
      (struct.new $list (local.get 0) (local.get 1)))
    (func (export "longer") (result (ref $longer))
      (struct.new $longer (i32.const 7) (ref.null $list) (i64.const 0)))
    (func (export "point") (result (ref $point)) (struct.new_default $point))
    (func (export "head") (param (ref $list)) (result i32)
      (struct.get $list 0 (local.get 0)))
    (func (export "length") (param $list (ref null $list)) (result i32)
      (local $n i32)
      (block $end
        (loop $next
          (br_if $end (ref.is_null (local.get $list)))
          (local.set $n (i32.add (local.get $n) (i32.const 1)))
          (local.set $list (struct.get $list 1 (local.get $list)))
          (br $next)))
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
        let length =
            instance.get_typed_func::<Option<StructRef>, i32>(&mut *store, "length").unwrap();
        let mut list = None;
        for i in 0..5 {
            assert_eq!(length.call(&mut *store, list).unwrap(), i);
            list = Some(cons.call(&mut *store, (i, list)).unwrap());
        }
        assert_eq!(head.call(&mut *store, list.unwrap()).unwrap(), 4);
        let longer = instance.get_typed_func::<(), StructRef>(&mut *store, "longer").unwrap();
        let longer = longer.call(&mut *store, ()).unwrap();
        assert_eq!(head.call(&mut *store, longer).unwrap(), 7, "a subtype fits");

        let any = instance.get_typed_func::<AnyRef, i32>(&mut *store, "head").unwrap();
        assert_eq!(any.call(&mut *store, longer.into()).unwrap(), 7);
        let owned = instance.get_typed_func::<Owned<AnyRef>, i32>(&mut *store, "head").unwrap();
        let longer = AnyRef::from(longer).own(&mut *store).unwrap();
        assert_eq!(owned.call(&mut *store, longer).unwrap(), 7);

        let bytes = FieldType { storage: StorageType::I8, mutable: true };
        let bytes = ArrayType::new(&engine, bytes).unwrap();
        let array = ArrayRef::new(&mut *store, &bytes, &[Val::I32(200)]).unwrap();
        let first = instance.get_typed_func::<ArrayRef, i32>(&mut *store, "first").unwrap();
        assert_eq!(first.call(&mut *store, array).unwrap(), 200);

        type Apply<F> = TypedFunc<(i32, F), i32>;
        let apply: Apply<Func> = instance.get_typed_func(&mut *store, "apply").unwrap();
        let next = instance.get_func(&mut *store, "next").unwrap();
        assert_eq!(apply.call(&mut *store, (41, next)).unwrap(), 42);
        let apply: Apply<Option<Func>> = instance.get_typed_func(&mut *store, "apply").unwrap();
        assert_eq!(apply.call(&mut *store, (41, Some(next))).unwrap(), 42);
        let null = apply.call(&mut *store, (41, None)).unwrap_err();
        assert_eq!(trap(&null).code(), TrapCode::NullFunctionReference);
    }
}

/// What an error says of a type that does not fit.
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

    let any = instance.get_typed_func::<AnyRef, i32>(&mut store, "head").unwrap();
    let i31 = AnyRef::i31(&mut store, 5);
    assert_eq!(wrong_type(any.call(&mut store, i31)).1, "(ref i31)");
    let owned = instance.get_typed_func::<Owned<StructRef>, i32>(&mut store, "head").unwrap();
    let point = point.own(&mut store).unwrap();
    assert_eq!(
        wrong_type(owned.call(&mut store, point)).1,
        "(ref (struct (field f64) (field f64)))"
    );

    type Apply<F> = TypedFunc<(i32, F), i32>;
    let apply: Apply<Func> = instance.get_typed_func(&mut store, "apply").unwrap();
    let six = instance.get_func(&mut store, "six").unwrap();
    let (expected, found) = wrong_type(apply.call(&mut store, (1, six)));
    assert_eq!((&expected[..], &found[..]), ("(ref null [i32] -> [i32])", "(ref [] -> [i32])"));
    let error = message(apply.call(&mut store, (1, six)));
    assert!(error.starts_with("in argument 1: "), "{error}");

    // What can never fit is refused when the types are given.
    let (expected, found) =
        wrong_type(instance.get_typed_func::<ArrayRef, i32>(&mut store, "head"));
    assert_eq!(expected, "[(ref array)] -> [i32]");
    assert!(found.starts_with("[(ref (struct (field i32)"), "{found}");
    wrong_type(instance.get_typed_func::<Option<StructRef>, i32>(&mut store, "head"));
    wrong_type(instance.get_typed_func::<Option<ExternRef>, i32>(&mut store, "length"));
}

#[test]
fn a_continuation_is_resumed_with_a_defined_type() {
    for engine in engines() {
        let (mut store, instance) = instantiate_in(&engine, DEFINED);
        let ask = instance.get_tag(&mut store, "ask").unwrap();
        let ask = ask.typed::<i32, Option<StructRef>>(&store).unwrap();
        let asks = instance.get_typed_func::<i32, i32>(&mut store, "asks").unwrap();
        type Cons<R> = TypedFunc<(i32, Option<R>), R>;
        let cons: Cons<StructRef> = instance.get_typed_func(&mut store, "cons").unwrap();
        let point = instance.get_typed_func::<(), StructRef>(&mut store, "point").unwrap();

        for fits in [true, false] {
            let asking = TypedContinuation::new(&mut store, &asks).unwrap();
            let asked = asking.resume_on(&mut store, &ask, 3).unwrap();
            let TypedResumed::Suspended { values: 3, continuation } = asked else {
                panic!("it suspends");
            };
            let answer = match fits {
                true => cons.call(&mut store, (50, None)).unwrap(),
                false => point.call(&mut store, ()).unwrap(),
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

// ---- references outside of all scopes

#[test]
fn calls_that_return_references_outside_of_all_scopes_take_bounded_memory() {
    let text = r#"(module
        (type $big (array (mut i64)))
        (type $body (func))
        (type $k (cont $body))
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

    let cont = instance.get_typed_func::<(), ContRef>(&mut store, "cont").unwrap();
    for _ in 0..100_000 {
        cont.call(&mut store, ()).unwrap();
    }
    store.gc();
    assert_eq!(store.stack_statistics().live, 10_000);

    // With an owner they are given up at once.
    let cont = instance.get_typed_func::<(), Continuation>(&mut store, "cont").unwrap();
    let owned = instance.get_typed_func::<(), Owned<ContRef>>(&mut store, "cont").unwrap();
    let arrays = instance.get_typed_func::<(), Owned<ArrayRef>>(&mut store, "array").unwrap();
    for _ in 0..100_000 {
        cont.call(&mut store, ()).unwrap();
        owned.call(&mut store, ()).unwrap();
        arrays.call(&mut store, ()).unwrap();
    }
    store.gc();
    assert_eq!(store.stack_statistics().live, 10_000);
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

/// Makes more than a mebibyte of garbage, so that the heap is collected.
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
fn host_functions_make_objects_while_wasm_holds_others() {
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
        linker
            .func_new("host", "make", types[0].clone(), move |mut caller, arguments, results| {
                if n == 3 {
                    churn(&mut caller)?;
                }
                let made = StructRef::new(&mut caller, &pair, arguments)?;
                if n == 3 {
                    churn(&mut caller)?;
                }
                results[0] = AnyRef::from(made).into();
                Ok(())
            })
            .unwrap();
        linker
            .func_new("host", "sum", types[1].clone(), |mut caller, arguments, results| {
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
            })
            .unwrap();
        let mut store = Store::new(engine, ());
        let instance = linker.instantiate(&mut store, &module).unwrap();
        let before = store.collections();
        let found = call(&mut store, instance, "run", &[Val::I32(n)]).unwrap();
        // The lists are b; c, b; and n..1, b.
        let expected = 1000 + 1 + 3 + n * (n + 1) / 2 + 1;
        assert_eq!(found[0].i32(), Some(expected));
        assert!(store.collections() > before, "it has collected meanwhile");
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
    for engine in engines() {
        let module = Module::new(&engine, text).unwrap();
        let mut linker = Linker::new(&engine);
        let entered = Arc::new(AtomicUsize::new(0));
        let counter = entered.clone();
        linker
            .func_wrap(
                "host",
                "down",
                move |mut caller: Caller<'_, ()>,
                      depth: i32,
                      list: Option<AnyRef>|
                      -> Result<Option<AnyRef>> {
                    counter.fetch_add(1, Ordering::Relaxed);
                    let run = caller.get_export("run").and_then(Extern::into_func).unwrap();
                    let run = run.typed::<(i32, Option<AnyRef>), Option<AnyRef>>(&caller)?;
                    let found = run.call(&mut caller, (depth, list))?;
                    ExternRef::new(&mut caller, "garbage")?;
                    assert!(list.unwrap().as_struct(&caller)?.is_some());
                    Ok(found)
                },
            )
            .unwrap();
        let mut store = Store::new(&engine, ());
        let instance = linker.instantiate(&mut store, &module).unwrap();
        let run = instance
            .get_typed_func::<(i32, Option<AnyRef>), Option<AnyRef>>(&mut store, "run")
            .unwrap();
        let mut next = run.call(&mut store, (20, None)).unwrap();
        // Down the results 20..1 come first, and then the arguments 0..20.
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

// ---- casts

/// The types that values are asked for, and values with the types they have.
const TYPES: [&str; 13] = [
    "any", "eq", "i31", "struct", "array", "none", "$a", "$b", "$c", "$d", "$other", "$row",
    "$subrow",
];
const VALUES: [(&str, &[&str]); 10] = [
    ("(ref.null none)", &[]),
    ("(ref.i31 (i32.const 1))", &["any", "eq", "i31"]),
    ("(struct.new $a)", &["any", "eq", "struct", "$a"]),
    ("(struct.new_default $b)", &["any", "eq", "struct", "$a", "$b"]),
    ("(struct.new_default $c)", &["any", "eq", "struct", "$a", "$b", "$c"]),
    ("(struct.new_default $d)", &["any", "eq", "struct", "$a", "$d"]),
    ("(struct.new $other)", &["any", "eq", "struct", "$other"]),
    ("(array.new_default $row (i32.const 2))", &["any", "eq", "array", "$row"]),
    ("(array.new_default $subrow (i32.const 99))", &["any", "eq", "array", "$row", "$subrow"]),
    ("(any.convert_extern (global.get $host))", &["any"]),
];

/// A module that asks every question about every value in every way.
fn casts() -> String {
    let mut text = String::from(
        r#"(module
          (type $a (sub (struct)))
          (type $b (sub $a (struct (field i32))))
          (type $c (sub final $b (struct (field i32) (field i64))))
          (type $d (sub $a (struct (field f32))))
          (rec (type $other (sub (struct))) (type (struct)))
          (type $row (sub (array (ref null $a))))
          (type $subrow (sub $row (array (ref null $b))))
          (global $host (export "host") (mut externref) (ref.null extern))"#,
    );
    for (v, (value, _)) in VALUES.iter().enumerate() {
        write!(text, "(func $v{v} (result anyref) {value})").unwrap();
        for (t, ty) in TYPES.iter().enumerate() {
            for (null, ty) in [format!("(ref {ty})"), format!("(ref null {ty})")].iter().enumerate()
            {
                let name = |kind| format!("{kind} {v} {t} {null}");
                write!(
                    text,
                    r#"(func (export "{}") (result i32) (ref.test {ty} (call $v{v})))
                    (func (export "{}") (result i32)
                      (drop (ref.cast {ty} (call $v{v}))) (i32.const 1))
                    (func (export "{}") (result i32)
                      (block $yes (result {ty})
                        (drop (br_on_cast $yes anyref {ty} (call $v{v})))
                        (return (i32.const 0)))
                      (drop) (i32.const 1))
                    (func (export "{}") (result i32)
                      (block $no (result anyref)
                        (drop (br_on_cast_fail $no anyref {ty} (call $v{v})))
                        (return (i32.const 1)))
                      (drop) (i32.const 0))"#,
                    name("test"),
                    name("cast"),
                    name("branch"),
                    name("branch on fail"),
                )
                .unwrap();
            }
        }
    }
    text + ")"
}

#[test]
fn every_cast_agrees_with_the_hierarchy() {
    let text = casts();
    for engine in [engine(DEFAULT), engine(COLLECT_AND_MOVE)] {
        let (mut store, instance) = instantiate_in(&engine, &text);
        let host_value = ExternRef::new(&mut store, 1).unwrap();
        let host = instance.get_global(&mut store, "host").unwrap();
        host.set(&mut store, host_value.into()).unwrap();
        for (v, (value, types)) in VALUES.iter().enumerate() {
            for (t, ty) in TYPES.iter().enumerate() {
                for null in 0..2 {
                    let has = if types.is_empty() { null == 1 } else { types.contains(ty) };
                    for kind in ["test", "branch", "branch on fail"] {
                        let name = format!("{kind} {v} {t} {null}");
                        let found = call_i32(&mut store, instance, &name);
                        assert_eq!(found, has.into(), "{kind} {value} {ty} {null}");
                    }
                    let cast = call(&mut store, instance, &format!("cast {v} {t} {null}"), &[]);
                    match cast {
                        Ok(_) => assert!(has, "cast {value} {ty} {null}"),
                        Err(error) => {
                            assert!(!has, "cast {value} {ty} {null}");
                            assert_eq!(trap(&error).code(), TrapCode::CastFailure);
                        }
                    }
                }
            }
        }
    }
}
