//! The module that random uses of the API call.

/// The module that the cases use. It calls the host in several ways, and has globals, tables and a
/// memory.
pub const SOURCE: &str = r#"
(module
  (type $node (struct
    (field i32) (field (mut anyref)) (field (mut i64)) (field (mut externref)) (field (mut funcref))))
  (type $array (array (mut anyref)))
  (type $pass (func (param anyref i64 f32) (result anyref i32)))
  (type $body (cont $pass))
  (type $task (task (param anyref i64 f32) (result anyref i32)))
  (import "host" "wrapped" (func $wrapped (type $pass)))
  (import "host" "dynamic" (func $dynamic (type $pass)))
  (tag $failure (export "failure") (param i32 anyref))

  (global (export "g.i32") (mut i32) (i32.const 0))
  (global (export "g.i64") (mut i64) (i64.const 0))
  (global (export "g.f64") (mut f64) (f64.const 0))
  (global (export "g.v128") (mut v128) (v128.const i64x2 0 0))
  (global (export "g.any") (mut anyref) (ref.null any))
  (global (export "g.extern") (mut externref) (ref.null extern))
  (global (export "g.exn") (mut exnref) (ref.null exn))
  (table (export "t.any") 3 10 anyref)
  (table (export "t.extern") 3 10 externref)
  (table (export "t.func") 3 10 funcref)
  (memory (export "memory") 1 3)

  (func (export "node") (param i32) (result (ref $node))
    (struct.new $node (local.get 0) (ref.null any) (i64.const 0) (ref.null extern) (ref.null func)))
  (func (export "array") (param i32) (result (ref $array))
    (array.new_default $array (local.get 0)))

  (func (export "wrapped") (type $pass)
    (call $wrapped (local.get 0) (local.get 1) (local.get 2)))
  (func (export "dynamic") (type $pass)
    (call $dynamic (local.get 0) (local.get 1) (local.get 2)))
  (elem declare func $call $in-task)
  (func $call (type $pass)
    (call $wrapped (local.get 0) (local.get 1) (local.get 2)))
  (func (export "continued") (type $pass)
    (resume $body (local.get 0) (local.get 1) (local.get 2) (cont.new $body (ref.func $call))))
  (func $in-task (param (ref null $task) anyref i64 f32) (result anyref i32)
    (call $dynamic (local.get 1) (local.get 2) (local.get 3)))
  (func (export "task") (type $pass)
    (task.resume $task (task.new $task $in-task) (local.get 0) (local.get 1) (local.get 2)))
  ;; An exception gives its values, in the order of the results.
  (func (export "caught") (type $pass) (local $number i32)
    (block $caught (result i32 anyref)
      (try_table (catch $failure $caught)
        (return (call $wrapped (local.get 0) (local.get 1) (local.get 2))))
      (unreachable))
    (local.set 0)
    (local.set $number)
    (local.get 0)
    (local.get $number))

  (func (export "i32") (param i32) (result i32) (local.get 0))
  (func (export "func") (param funcref) (result funcref) (local.get 0)))
"#;

use crate::oracle::modes::{self, OnceEach};
use ropewalk::{Engine, Module};

/// The module, compiled once for each engine.
pub fn compiled(engine: &Engine) -> ropewalk::Result<Module> {
    static COMPILED: OnceEach = OnceEach::new();
    COMPILED.module(engine, SOURCE)
}

/// The module, compiled for another engine.
pub fn of_another(engine: &Engine) -> Option<Module> {
    let other = modes::all().iter().find(|mode| !Engine::same(&mode.engine, engine))?;
    compiled(&other.engine).ok()
}
