//! Lowering of tasks: the result is valid, standard text.

use crate::common::lowering::{check_table, field_of, lower};
use ropewalk_text::Text;

/// The start of every module: types and functions.
const HEAD: &str = r#"
  (type $t (task (param i32) (result i64)))
  (type $none (task))
  (func $f (param (ref null $t) i32 f32 f64) (result i64) (i64.const 1))
"#;

#[test]
fn types() {
    let rows = r"
(type $a (task (param i32) (param $x i64) (result f32) (result f64)))
=> (rec (type $a.func (func (param i32 i64) (result f32 f64))) (type $a (cont $a.func)))
(type $a (taskref (i32 (ref null $t)) ()))
=> (rec (type $a.func (func (param i32 (ref null $t)))) (type $a (cont $a.func)))
(type $a (task))
=> (rec (type $a.func (func)) (type $a (cont $a.func)))
(type (taskref () ()))
=> (rec (type $task.func (func)) (type (cont $task.func)))
(type $a (sub final (task (result i32))))
=> (rec (type $a.func (func (result i32))) (type $a (cont $a.func)))
";
    check_table(HEAD, rows);
}

#[test]
fn recursive_types() {
    let rows = r"
(type $a (task (param (ref null $a)) (result (ref $a))))
=> (rec (type $a.func (func (param (ref null $a)) (result (ref $a)))) (type $a (cont $a.func)))
(rec (type $a (task (param (ref $s)))) (type $s (struct (field (ref null $b)))) (type $b (taskref
  () ((ref $a) (ref null stack)))))
=> (rec (type $a.func (func (param (ref $s)))) (type $a (cont $a.func)) (type $s (struct (field
  (ref null $b)))) (type $b.func (func (result (ref $a) (ref null cont)))) (type $b (cont $b.func)))
";
    check_table(HEAD, rows);
}

#[test]
fn the_type_of_all_tasks() {
    let rows = r"
(type $a (task (param taskref) (result (ref task))))
=> (rec (type $a.func (func (param (ref null cont)) (result (ref cont)))) (type $a (cont $a.func)))
(type $a (taskref (taskref) ((ref null task))))
=> (rec (type $a.func (func (param (ref null cont)) (result (ref null cont)))) (type $a
  (cont $a.func)))
(global (mut taskref) (ref.null task))
=> (global (mut (ref null cont)) (ref.null cont))
(table 3 taskref)
=> (table 3 (ref null cont))
(elem taskref (ref.null task))
=> (elem (ref null cont) (ref.null cont))
(func (param taskref) (task.release (local.get 0)))
=> (func (param (ref null cont)) (call $task.release_any (local.get 0)))
(func (param (ref task)) local.get 0 task.release nop)
=> (func (param (ref cont)) local.get 0 call $task.release_any nop)
(func (param (ref task) (ref $t)) (result i32) (task.eq (local.get 0) (local.get 1)))
=> (func (param (ref cont) (ref $t)) (result i32) (call $task.eq (local.get 0) (local.get 1)))
(func (param taskref) (result i32) local.get 0 ref.null $t task.eq)
=> (func (param (ref null cont)) (result i32) local.get 0 ref.null $t call $task.eq)
(func (param (ref null $t) (ref $none)) (result taskref (ref task)) (local.get 0) (local.get 1))
=> (func (param (ref null $t) (ref $none)) (result (ref null cont) (ref cont)) (local.get 0)
  (local.get 1))
";
    check_table(HEAD, rows);
}

#[test]
fn identical_types_match() {
    field_of(
        HEAD,
        "(type $a (taskref (i32) (i64))) (type $b (task (param $x i32) (result i64)))
         (func (param (ref null $t)) (result (ref null $a)) (local.get 0))
         (func (param (ref null $a)) (result (ref null $b)) (local.get 0))
         (func (param (ref null $b)) (drop (task.resume $t (local.get 0) (i32.const 1))))",
    );
}

#[test]
fn plain_instructions() {
    let rows = r"
(func (param (ref $t)) (result i64) local.get 0 i32.const 1 task.resume $t)
=> (func (param (ref $t)) (result i64) local.get 0 i32.const 1 call $task.resume)
(func (param (ref $t)) (result i32) local.get 0 i64.const 1 task.suspend $t)
=> (func (param (ref $t)) (result i32) local.get 0 i64.const 1 call $task.suspend)
(func (result (ref $t)) f32.const 1 f64.const 2 task.new $t $f)
=> (func (result (ref $t)) f32.const 1 f64.const 2 (ref.func $f) call $task.new)
(func (param (ref $t)) (result i32) local.get 0 i64.const 1 task.retire $t)
=> (func (param (ref $t)) (result i32) local.get 0 i64.const 1 (call $task.retire) unreachable)
(func (param (ref $t)) local.get 0 task.release $t)
=> (func (param (ref $t)) local.get 0 call $task.release)
(func (param (ref $t)) local.get 0 local.get 0 i32.const 1 task.switchto $t $t drop)
=> (func (param (ref $t)) local.get 0 local.get 0 i32.const 1 call $task.switchto drop)
";
    check_table(HEAD, rows);
}

#[test]
fn folded_instructions() {
    let rows = r"
(func (drop (task.resume $t (task.new $t $f (f32.const 1) (f64.const 2)) (i32.const 3))))
=> (func (drop (call $task.resume (call $task.new (f32.const 1) (f64.const 2) (ref.func $f))
  (i32.const 3))))
(func (param (ref $t)) (task.retire $t (local.get 0) (i64.const 1)))
=> (func (param (ref $t)) (unreachable (local.get 0) (i64.const 1) (call $task.retire)))
(func (task.release $none (ref.null $none)))
=> (func (call $task.release (ref.null $none)))
;; Some operands are on the operand stack, and one sets a local.
(func (f32.const 1) (drop (task.new $t $f (f64.const 2))))
(func (param $p (ref $t)) (result (ref $t)) (local $x (ref $t)) (task.retire $t (local.tee $x
  (local.get $p)) (i64.const 1)) (local.get $x))
";
    check_table(HEAD, rows);
}

#[test]
fn imports_have_the_types() {
    let lowered = lower(&format!(
        "(module {HEAD} (type $u (task (param f32) (result (ref null extern))))
           (type $v (task (result externref)))
           (func (param (ref null $u) (ref null $v))
             (task.switchto $v $u (local.get 1) (local.get 0) (f32.const 1))
             (drop (task.new $t $f (f32.const 1) (f64.const 2)))
             (task.retire $t (ref.null $t) (i64.const 1))))"
    ));
    for import in [
        "\"switchto\" (func $task.switchto (param (ref null $v) (ref null $u) f32)))",
        "\"new\" (func $task.new (param f32 f64 (ref $f.type)) (result (ref $t))))",
        "\"retire\" (func $task.retire (param (ref null $t) i64)))",
        "(elem declare func $f)",
    ] {
        assert!(lowered.contains(import), "{import} is missing in\n{lowered}");
    }
}

#[test]
fn functions_are_matched_by_shape() {
    let rows = r"
;; Functions with type uses (in a group or not), and imported functions.
(type $ft (func (param (ref null $none) i32))) (func $a (type $ft)) (func (drop (task.new $none $a
  (i32.const 1))))
(rec (type $ft (sub (func (param (ref $none))))) (type $s (struct))) (func $a (type $ft)) (func
  (drop (task.new $none $a)))
";
    check_table(HEAD, rows);
    lower(
        "(module (import \"a\" \"b\" (func $a (param (ref null $none)))) (type $none (task))
           (func (drop (task.new $none $a))))",
    );
    let rows = r"
;; It may take more and give less than the task.
(type $u (task (param (ref i31)) (result anyref))) (func $a (param (ref null $u) eqref) (result
  (ref i31)) (ref.i31 (i32.const 1))) (func (drop (task.new $u $a)))
";
    check_table(HEAD, rows);
}

#[test]
fn a_task_may_give_subtypes() {
    let rows = r"
(type $any (task (result anyref))) (type $eq (task (result eqref))) (func (param (ref null $any)
  (ref null $eq)) (task.switchto $any $eq (local.get 0) (local.get 1)))
";
    check_table(HEAD, rows);
}

#[test]
fn tasks_carry_the_kinds_of_all_designs() {
    field_of(
        HEAD,
        "(type $c (stack (param (ref null $t)) (ref null $c))) (type $kf (func)) (type $k (cont $kf))
         (type $u (task (param (ref $c) fiberref (ref null stack)) (result (ref null $k) contref)))
         (func (param (ref null $u) (ref $c) fiberref)
           (task.resume $u (local.get 0) (local.get 1) (local.get 2) (local.get 1)) drop drop)",
    );
}

#[test]
fn text_without_tasks_is_unchanged() {
    for source in [
        "(module (func $task (export \"task.new\")) (@task (type (task))))",
        "(type $task (func)) (func $task.new (type $task) ;; (task.new)\n)",
    ] {
        assert_eq!(Text::parse(source).unwrap().lowered(), None, "{source}");
    }
}
