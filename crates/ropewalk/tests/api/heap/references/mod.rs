//! The host's references: structs, arrays, `i31` and host values, their lifetimes, and what is
//! refused.

mod casts;
mod functions;
mod kinds;
mod lifetimes;
mod objects;

use crate::common::*;
use ropewalk::*;
use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const OBJECTS: &str = r#"(module
    (type $leaf (sub (struct (field i32))))
    (type $twig (sub $leaf (struct (field i32) (field (mut i64)))))
    (type $every (struct
      (field (mut i8)) (field (mut i16)) (field (mut i32)) (field (mut i64))
      (field (mut f32)) (field (mut f64)) (field (mut v128))
      (field (mut funcref)) (field (mut externref)) (field (mut (ref null $leaf)))
      (field (mut i31ref)) (field (mut anyref)) (field i32)))
    (type $bytes (array (mut i8))) (type $leaves (array (mut (ref $leaf))))
    (type $constants (array f64))
    (func (export "leaf") (param i32) (result (ref $leaf)) (struct.new $leaf (local.get 0)))
    (func (export "twig") (param i32 i64) (result (ref $twig))
      (struct.new $twig (local.get 0) (local.get 1)))
    (func (export "leaf value") (param (ref $leaf)) (result i32) (struct.get $leaf 0 (local.get 0)))
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
    (func (export "checksum") (param $b (ref $bytes)) (result i32) (local $i i32) (local $sum i32)
      (loop $next
        (if (i32.lt_u (local.get $i) (array.len (local.get $b)))
          (then
            (local.set $sum
              (i32.add
                (i32.mul (local.get $sum) (i32.const 31))
                (array.get_u $bytes (local.get $b) (local.get $i))))
            (local.set $i (i32.add (local.get $i) (i32.const 1))) (br $next))))
      (local.get $sum))
    (func (export "leaves") (param (ref $leaf) i32) (result (ref $leaves))
      (array.new $leaves (local.get 0) (local.get 1)))
    (func (export "constants") (result (ref $constants))
      (array.new $constants (f64.const 0.5) (i32.const 2)))
    (global (export "global") (mut (ref null $twig)) (ref.null $twig))
    (table (export "table") 2 (ref null $leaf)))"#;

/// The result type of an exported function of [`OBJECTS`].
fn made_by(store: &mut Store<()>, instance: Instance, name: &str) -> ValType {
    let func = instance.get_func(&mut *store, name).unwrap();
    func.ty(&*store).unwrap().results()[0]
}

/// The type of the structs that an exported function returns.
fn structs_by(store: &mut Store<()>, instance: Instance, name: &str) -> StructType {
    let ty = made_by(store, instance, name);
    StructType::of(store.engine(), ty).unwrap()
}

/// The type of the arrays that an exported function returns.
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
