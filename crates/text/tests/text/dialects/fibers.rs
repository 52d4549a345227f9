//! Lowering of fibers: the result is valid, standard text, and the rest of the source is unchanged.

use crate::common::lowering::{check_table, field_of, lower};

/// The start of every module: tags and functions.
const HEAD: &str = r#"
  (tag $e) (tag $n (param i32)) (tag $two (param i32 (ref fiber)))
  (func $f (param fiberref)) (func $g (param i64 (ref fiber) i32) (result i32) (local.get 2))
  (func $h (param i64 fiberref) (result i32) (i32.const 1))
"#;

#[track_caller]
fn check(source: &str, expected: &str) {
    assert_eq!(field_of(HEAD, source), expected);
}

#[test]
fn the_type_of_fibers() {
    let lowered = lower("(module (func (param fiberref)))");
    assert_eq!(
        lowered,
        "(module (rec (type $fiber (cont $fiber.func)) \
         (type $fiber.func (func (param (ref null $fiber)))))\n  (func (param (ref null $fiber))))"
    );
    let lowered = lower("(type $fiber (func)) (func (drop (ref.null fiber)))");
    assert!(lowered.contains("(rec (type $fiber.1 (cont $fiber.func))"), "{lowered}");
    assert!(lowered.contains("(drop (ref.null $fiber.1))"), "{lowered}");
}

#[test]
fn value_types() {
    let rows = r"
(table $t 3 fiberref) (global $g (mut (ref null fiber)) (ref.null fiber))
=> (table $t 3 (ref null $fiber)) (global $g (mut (ref null $fiber)) (ref.null $fiber))
(type $s (struct (field $f (mut fiberref)) (field (ref fiber)))) (type $a (array fiberref))
=> (type $s (struct (field $f (mut (ref null $fiber))) (field (ref $fiber)))) (type $a (array
  (ref null $fiber)))
(func (param $x fiberref) (result (ref fiber) fiberref) (local fiberref) (ref.as_non_null
  (local.get $x)) (local.get 1))
=> (func (param $x (ref null $fiber)) (result (ref $fiber) (ref null $fiber)) (local
  (ref null $fiber)) (ref.as_non_null (local.get $x)) (local.get 1))
(elem $el fiberref (ref.null fiber)) (func (param fiberref) (result i32) (ref.is_null
  (local.get 0)))
(func (param fiberref) (block $l (br_on_null $l (local.get 0)) (drop)))
(func (param fiberref i32) (result fiberref) (select (result fiberref) (local.get 0) (local.get 0)
  (local.get 1)))
(type $ft (func (param fiberref))) (type $c (cont $ft)) (func (param (ref $c)) (resume $c
  (ref.null fiber) (local.get 0)))
";
    check_table(HEAD, rows);
}

#[test]
fn new() {
    let rows = r"
(func (result (ref fiber)) (fiber.new))
=> (func (result (ref $fiber)) (nop (try_table (result (ref $fiber)) (call $fiber.new))))
(func (result (ref fiber)) fiber.new (on $e $f))
=> (func (result (ref $fiber)) (block $made (result (ref $fiber)) (block $event.1 (try_table
  (result (ref $fiber)) (catch $e $event.1) (ref.func $f) (call $fiber.new)) (br $made))
  (unreachable)))
(func (result (ref fiber)) (fiber.new $n (on $n $g) (on $e $h) (i64.const 1)))
=> (func (result (ref $fiber)) (nop (i64.const 1) (block $made (param i64) (result (ref $fiber))
  (block $event.1 (param i64) (result i32) (block $event.2 (param i64) (try_table (param i64)
  (result (ref $fiber)) (catch $n $event.1) (catch $n $event.1) (catch $e $event.2) (ref.func $g)
  (ref.func $h) (call $fiber.new_returning)) (br $made)) (unreachable)) (unreachable))))
";
    check_table(HEAD, rows);
}

#[test]
fn mount_switch_and_dismount() {
    let rows = r"
(func (param fiberref) (block $l (result i32) (fiber.mount $e (on $n $l) (local.get 0))
  (i32.const 1)) (drop))
=> (func (param (ref null $fiber)) (block $l (result i32) (nop (local.get 0) (block $after (param
  (ref null $fiber)) (block $sent (param (ref null $fiber)) (try_table (param (ref null $fiber))
  (catch $e $sent) (catch $n $l) (call $fiber.mount)) (br $after)) (unreachable))) (i32.const 1))
  (drop))
(func (param fiberref fiberref) i32.const 1 local.get 0 local.get 1 fiber.switch $n)
=> (func (param (ref null $fiber) (ref null $fiber)) i32.const 1 local.get 0 local.get 1
  (block $after (param i32 (ref null $fiber) (ref null $fiber)) (block $sent (param i32
  (ref null $fiber) (ref null $fiber)) (result i32) (try_table (param i32 (ref null $fiber)
  (ref null $fiber)) (catch $n $sent) (call $fiber.switch)) (br $after)) (unreachable)))
(func (param fiberref) (fiber.dismount $n (i32.const 1) (local.get 0)))
(func (param fiberref) (fiber.dismount_release $n (i32.const 1) (local.get 0)))
(func (param fiberref) local.get 0 local.get 0 fiber.switch_release $e)
(func (param fiberref) (fiber.release (local.get 0)) local.get 0 fiber.release)
=> (func (param (ref null $fiber)) (call $fiber.release (local.get 0)) local.get 0 call
  $fiber.release)
";
    check_table(HEAD, rows);
}

#[test]
fn mount_new() {
    check(
        "(func (result (ref fiber) i32) (fiber.mount_new $n $h (i64.const 1)))",
        "(func (result (ref $fiber) i32) (local $new (ref $fiber)) (local $value i32) \
         (nop (i64.const 1) (block $made (param i64) (result (ref $fiber)) \
         (block $event.1 (param i64) (result i32) (block $event.2 (param i64) \
         (try_table (param i64) (result (ref $fiber)) (catch $n $event.1) \
         (catch $fiber.start $event.2) (ref.func $h) (call $fiber.new_returning)) (br $made)) \
         (unreachable)) (unreachable)) (local.set $new) (block $returned (result i32) \
         (local.get $new) (block $after (param (ref null $fiber)) \
         (block $sent (param (ref null $fiber)) (try_table (param (ref null $fiber)) \
         (catch $fiber.start $sent) (catch $n $returned) (call $fiber.mount)) (br $after)) \
         (unreachable)) (unreachable)) (local.set $value) (local.get $new) (local.get $value)))",
    );
    // Labels take the fiber first, then the values.
    let lowered = field_of(
        HEAD,
        "(func (block $l (result (ref fiber) i32 (ref fiber)) \
           (drop (fiber.mount_new $e $f (on $two $l))) (unreachable)) (drop) (drop) (drop))",
    );
    assert!(
        lowered.contains(
            "(local.set $value.1) (local.set $value) (local.get $new) (local.get $value) \
             (local.get $value.1) (br $l)"
        ),
        "{lowered}"
    );
}

#[test]
fn switch_new() {
    let lowered = field_of(
        HEAD,
        "(func (param i32 fiberref) (local $x i32) (block $l (result (ref fiber)) \
           (fiber.switch_new $n $h (on $e $l) (i64.const 1) (local.get 1)) (drop)) (drop))",
    );
    assert!(lowered.contains("(local $x i32) (local $left (ref null $fiber))"), "{lowered}");
    assert!(lowered.contains("(local.get 1) (local.set $left) (block $made"), "{lowered}");
    assert!(lowered.contains("(local.get $left) (local.get $new) (block $after"), "{lowered}");
    // One start event for the module.
    let lowered = lower(&format!(
        "(module {HEAD} (func (drop (fiber.mount_new $e $f)) (drop (fiber.mount_new $e $f)))
           (func (drop (fiber.switch_new $e $f (ref.null fiber)))))"
    ));
    assert_eq!(lowered.matches("(tag $fiber.start)").count(), 1, "{lowered}");
    assert_eq!(lowered.matches("\"new_returning\"").count(), 1, "{lowered}");
}

#[test]
fn functions_are_matched_by_shape() {
    let rows = r"
(type $t (func (param (ref fiber)))) (func $x (type $t)) (func (drop (fiber.new (on $e $x))))
(rec (type $t (func (param (ref null fiber)))) (type $u (struct))) (func $x (type $t)) (func (drop
  (fiber.new (on $e $x))) (drop (fiber.mount_new $e $x)))
(type $t (sub (func (param anyref fiberref eqref) (result (ref null i31))))) (tag $some
  (param i31ref)) (tag $any (param anyref)) (func $x (type $t) (unreachable)) (func $y (param eqref
  (ref fiber)) (result nullref) (unreachable)) (func (drop (fiber.new $any (on $e $y) (on $some $x)
  (ref.null eq))))
";
    check_table(HEAD, rows);
    lower(
        "(module (import \"a\" \"b\" (func $x (param fiberref)))
           (func $y (import \"a\" \"c\") (param i32 fiberref)) (import \"a\" \"d\" (tag $t))
           (func (drop (fiber.new (on $t $x))) (drop (fiber.mount_new $t $y (i32.const 1)))))",
    );
}

#[test]
fn without_a_return_event_any_results_are_allowed() {
    field_of(
        HEAD,
        "(func $x (param fiberref) (result f32) (unreachable)) (func (drop (fiber.new (on $e $f) (on $e $x))))",
    );
}

#[test]
fn operands_may_come_from_anywhere() {
    let rows = r"
(func (param fiberref) (i32.const 1) (fiber.mount $n (local.get 0)))
(func (param fiberref) (i64.const 1) (drop (fiber.switch_new $n $h (local.get 0))) (drop))
(func (param $p fiberref) (result fiberref) (local $x (ref fiber)) (fiber.mount $e (local.tee $x
  (ref.as_non_null (local.get $p)))) (local.get $x))
;; Nested, in loops, and in unreachable code.
(func (fiber.mount $e (fiber.mount_new $e $f)))
(func (drop (fiber.new (on $n $g) (i64.const 1) (fiber.mount $e (fiber.new)))))
(func (loop $l (fiber.mount $e (on $e $l) (fiber.new)) (drop (fiber.mount_new $e $f)) (br $l)))
(func unreachable fiber.mount $n fiber.switch_new $n $h drop drop)
(func (if (fiber.mount $e (fiber.new)) (i32.const 1) (then (fiber.release (fiber.new)))))
";
    check_table(HEAD, rows);
}

#[test]
fn labels_of_every_sort() {
    let rows = r"
(func (block $l (block $m (fiber.mount $e (on $e $l) (on $e $m) (on $e $l) (fiber.new)))))
(func $x (result i32) block $l (result i32) fiber.new fiber.mount $e (on $n $l) i32.const 1 end $l)
(func (param i32) (local.get 0) (loop $l (param i32) (drop) (fiber.mount $e (on $n $l)
  (fiber.new))))
(tag $a (param (ref null i31))) (func (block $l (result anyref) (fiber.mount $e (on $a $l)
  (fiber.new)) (unreachable)) (drop))
";
    check_table(HEAD, rows);
}

#[test]
fn names_do_not_clash() {
    let rows = r"
(func (block $after (block $sent (block $made (block $event.1 (block $clause.1 (fiber.mount $e
  (on $e $after) (on $e $sent) (fiber.new (on $e $f)))))))))
(func (param $new i32) (local $value i32) (block $returned (block $clause.1 (result (ref fiber))
  (drop (fiber.mount_new $e $f (on $e $clause.1))) (br $returned)) (drop)))
";
    check_table(HEAD, rows);
}

/// Creating and entering a fiber in one instruction calls each primitive once.
#[test]
fn entering_a_new_fiber_calls_each_primitive_once() {
    let lowered = lower(
        "(module (tag $end (param i32)) (tag $e) (func $f (param fiberref) (result i32) (i32.const 1))
         (func (block $l (result (ref fiber)) (drop (fiber.mount_new $end $f $e $l))) (drop)))",
    );
    let calls: Vec<&str> = lowered.split("(call ").skip(1).collect();
    assert_eq!(calls.len(), 2, "{lowered}");
    assert!(calls[0].starts_with("$fiber.new_returning)"), "{lowered}");
    assert!(calls[1].starts_with("$fiber.mount)"), "{lowered}");
}
