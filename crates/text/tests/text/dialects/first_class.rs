//! Lowering of first-class stacks: the result is valid, standard text.

use crate::common::lowering::{check_table, field_of, lower};

/// The start of every module: events, call tags, functions and routs.
const HEAD: &str = r#"
  (import "host" "new_stack" (func $new (result stackref)))
  (event $back (param stackref))
  (event $value (param i32 stackref))
  (event $done (param i32))
  (event $stop)
  (tag $error)
  (call_tag $ask (param i32) (result i64))
  (call_tag $ping)
  (global $g (mut stackref) (ref.null stack))
  (table $t 10 stackref)
  (type $s (struct (field i32)))
  (func $body (param i32 stackref) (result i32) (local.get 0))
  (rout $r (param i32) (result i32) (local i32) (stack.start))
"#;

#[track_caller]
fn check(source: &str, expected: &str) {
    assert_eq!(field_of(HEAD, source), expected);
}

/// Checks that a lowered module contains each of these parts.
#[track_caller]
fn has(lowered: &str, parts: &[&str]) {
    for part in parts {
        assert!(lowered.contains(part), "{part}\n{lowered}");
    }
}

#[test]
fn types() {
    let rows = r"
(type $f (func (param stackref) (result stackref i32)))
=> (type $f (func (param (ref null $stackref)) (result (ref null $stackref) i32)))
(table $u 1 stackref (ref.null stack)) (global (mut stackref) (ref.null stack))
=> (table $u 1 (ref null $stackref) (ref.null $stackref)) (global (mut (ref null $stackref))
  (ref.null $stackref))
";
    check_table(HEAD, rows);
    has(
        &lower("(module (func (param stackref)))"),
        &["(rec (type $stackref (cont $stackref.func)) (type $stackref.func \
           (func (param (ref null $stackref) (ref null $stackref)))))"],
    );
}

#[test]
fn null_of_both_kinds() {
    let lowered = lower(
        "(module (type $c (stack (ref null $c))) (global (mut stackref) (ref.null stack))
           (global (ref null $c) (ref.null stack)) (table 1 stackref (ref.null stack))
           (func (result (ref null $c) stackref) (ref.null stack) (ref.null stack))
           (func (local $s stackref) (local.set_cleared $s (ref.null stack))))",
    );
    has(&lowered, &["(ref.null nocont)"]);
    // Without stack types it is a stackref.
    has(
        &lower("(module (func (drop (ref.null stack)) (call_stack $a)) (call_tag $a))"),
        &["(ref.null $stackref)"],
    );
}

#[test]
fn events_and_call_tags() {
    check(
        "(event $e (export \"e\") (param i32 stackref)) (export \"f\" (event $e))",
        "(tag $e (export \"e\") (param i32 (ref null $stackref))) (export \"f\" (tag $e))",
    );
    has(
        &lower(
            "(module (import \"a\" \"e\" (event $e (param i32))) (event $f (import \"a\" \"f\"))
               (import \"a\" \"c\" (call_tag $c (param i32) (result i64)))
               (call_tag $d (import \"a\" \"d\"))
               (type $t (func (param f32)))
               (call_tag $u (export \"u\") (type $t)) (call_tag (export \"v\") (param i32))
               (export \"c\" (call_tag $c)))",
        ),
        &[
            "(import \"a\" \"e\" (tag $e (param i32)))",
            "(tag $f (import \"a\" \"f\"))",
            "(tag $c  (param (ref null $c.call)))",
            "(type $c.call (func (param i32) (result i64)))",
            "(tag $u (export \"u\")  (param (ref null $t)))",
            "(export \"c\" (tag $c))",
        ],
    );
}

#[test]
fn the_import_of_new_stack() {
    // It is an ordinary import: it can be called, referred to and exported.
    let lowered = lower(
        "(module (import \"host\" \"new_stack\" (func $new (result stackref)))
           (import \"a\" \"b\" (func $f))
           (export \"new\" (func $new)) (elem declare func $new) (table 1 funcref)
           (elem (i32.const 0) func $new)
           (func (result stackref) (drop (ref.func $new)) (call $new)))",
    );
    has(&lowered, &["(import \"host\" \"new_stack\" (func $new (result (ref null $stackref))))"]);
    lower(
        "(module (func $new (export \"n\") (import \"host\" \"new_stack\") (result stackref))
           (func (drop (call $new))))",
    );
    lower(
        "(module (type $f (func (result stackref)))
           (import \"host\" \"new_stack\" (func $new (type $f))) (func (drop (call $new))))",
    );
    // Also of another type.
    has(
        &lower("(module (import \"host\" \"new_stack\" (func $new (result i32 stackref))))"),
        &["\"host\" \"new_stack\""],
    );
}

#[test]
fn slots() {
    let rows = r"
(func (local $x stackref) local.get_clear $x drop)
=> (func (local $x (ref null $stackref)) (local.get $x) (ref.null $stackref) local.set $x drop)
(func (param $x stackref) (global.set_cleared $g (local.get_clear $x)))
=> (func (param $x (ref null $stackref)) (global.set $g (local.set $x (local.get $x)
  (ref.null $stackref)) (call $first-class.check_cleared (global.get $g))) (drop (local.get $x)))
(func (result stackref) (table.get_clear $t (i32.const 1)))
=> (func (result (ref null $stackref)) (local $index i32) (table.set $t (i32.const 1)
  (local.tee $index) (table.get $t) (local.get $index) (ref.null $stackref)))
(func (table.set_cleared $t (i32.const 1) (call $new)))
(func (table.set_cleared 0 (i32.const 1) (global.get_clear 0)))
(func i32.const 1 i32.const 2 table.get_clear table.set_cleared)
(table $big i64 3 stackref) (func (table.set_cleared $big (i64.const 1) (table.get_clear $big
  (i64.const 2))))
(func (local i32 stackref) (local.set_cleared 1 (local.get_clear 1)))
";
    check_table(HEAD, rows);
}

/// Checks the lowering of a function in a module without first-class stacks.
#[track_caller]
fn check_alone(head: &str, function: &str, expected: &str) {
    let text = lower(&format!("(module {head} {function})"));
    has(&text, &[expected]);
    assert!(!text.contains("stackref"), "{text}");
}

#[test]
fn places() {
    check_alone(
        "(global $g funcref (ref.null func))",
        "(func (local $x externref) (local.set_cleared $x (local.get_clear $x)))",
        "(func (local $x externref) (local.set $x (local.set $x (local.get $x) \
         (ref.null extern)) (call $first-class.check_cleared (local.get $x))))",
    );
    check_alone(
        "(global $g funcref (ref.null func))",
        "(func (result i32) global.is_cleared $g)",
        "(func (result i32) (global.get $g) ref.is_null)",
    );
    check_alone(
        "(table $t i64 1 anyref)",
        "(func (result i64) (table.grow_cleared $t (i64.const 1)))",
        "(func (result i64) (local $index i64) (table.grow $t (i64.const 1) (local.set $index) \
         (ref.null any) (local.get $index)))",
    );
    let objects = "(type $s (struct (field $f (mut eqref)))) (type $a (array (mut (ref null $s))))";
    check_alone(
        objects,
        "(func (param (ref $s)) (result eqref) (struct.get_clear $s $f (local.get 0)))",
        "(func (param (ref $s)) (result eqref) (local $object (ref null $s)) \
         (struct.set $s $f (local.get 0) (local.tee $object) (struct.get $s $f) \
         (local.get $object) (ref.null eq)))",
    );
    check_alone(
        objects,
        "(func (param (ref $a)) (result i32) (array.is_cleared $a (local.get 0) (i32.const 1)))",
        "(func (param (ref $a)) (result i32) (ref.is_null (local.get 0) (i32.const 1) \
         (array.get $a)))",
    );
    check_alone(
        objects,
        "(func (param (ref $a)) (result (ref null $s)) \
         (array.get_clear $a (local.get 0) (i32.const 1)))",
        "(func (param (ref $a)) (result (ref null $s)) (local $object (ref null $a)) \
         (local $index i32) (array.set $a (local.get 0) (i32.const 1) (local.set $index) \
         (local.tee $object) (local.get $index) (array.get $a) (local.get $object) \
         (local.get $index) (ref.null $s)))",
    );
    check_alone(
        objects,
        "(func (param (ref $a)) \
         (array.set_cleared $a (local.get 0) (i32.const 1) (ref.null $s)))",
        "(func (param (ref $a)) (local $value (ref null $s)) (local $object (ref null $a)) \
         (local $index i32) (local.set $value (local.get 0) (i32.const 1) (ref.null $s) \
         (local.set $value) (local.set $index) (local.set $object) \
         (call $first-class.check_cleared (array.get $a (local.get $object) (local.get $index))) \
         (array.set $a (local.get $object) (local.get $index) (local.get $value)) \
         (ref.null $s)))",
    );
}

#[test]
fn objects_with_stacks() {
    let objects = "(type $s (struct (field $f (mut stackref)))) (type $a (array (mut stackref)))";
    has(
        &lower(&format!(
            "(module {objects} (func (param (ref $s)) (result i32) (struct.is_cleared $s 0 (local.get 0))))"
        )),
        &[
            "(import \"ropewalk:first-class\" \"is_cleared\" \
             (func $first-class.is_cleared (param (ref null $stackref)) (result i32)))",
            "(type $s (struct (field $f (mut (ref null $stackref)))))",
            "(type $a (array (mut (ref null $stackref))))",
            "(call $first-class.is_cleared (local.get 0) (struct.get $s 0))",
        ],
    );
    // Instructions whose operand is stored in an environment.
    lower(
        "(module (call_tag $ask (result i32)) (type $s (struct (field (mut externref))))
           (func (param $x externref) (param $o (ref $s))
             (answer $ask
               (local.set_cleared $x (local.get_clear $x))
               (struct.set_cleared $s 0 (local.get $o) (local.get_clear $x))
               (i32.add (local.is_cleared $x) (struct.is_cleared $s 0 (local.get $o))) within)))",
    );
}

#[test]
fn switches() {
    let rows = r"
(func (stack.switch $value (i32.const 1) (global.get_clear $g)))
=> (func (unreachable (i32.const 1) (global.set $g (global.get $g) (ref.null $stackref))
  (block $sent (param i32 (ref null $stackref)) (result i32 (ref null $stackref)) (try_table
  (param i32 (ref null $stackref)) (catch $value $sent) (call $first-class.switch)) (unreachable))))
(func i32.const 1 call $new stack.switch_drop $done)
=> (func i32.const 1 call $new (block $sent (param i32 (ref null $stackref)) (result i32)
  (try_table (param i32 (ref null $stackref)) (catch $done $sent) (call $first-class.switch_drop))
  (unreachable)) unreachable)
(func (stack.switch_call $body (i32.const 1) (call $new)))
=> (func (unreachable (i32.const 1) (call $new) (ref.func $body)
  (call $first-class.switch_call_trap)))
(func (result i64) (stack.switch_call $body $done (i32.const 1) (call $new)))
(func (result stackref) (stack.extend $r (i32.const 1) (call $new)))
=> (func (result (ref null $stackref)) (call $first-class.extend_trap (i32.const 1) (call $new)
  (ref.func $r)))
(func (result stackref) i32.const 1 call $new stack.extend $r $done)
=> (func (result (ref null $stackref)) i32.const 1 call $new (block $after (param i32
  (ref null $stackref)) (result (ref null $stackref)) (block $sent (param i32 (ref null $stackref))
  (result i32) (try_table (param i32 (ref null $stackref)) (result (ref null $stackref))
  (catch $done $sent) (ref.func $r) (call $first-class.extend)) (br $after)) (unreachable)))
(func (result i64) (call_stack $ask (i32.const 1)))
=> (func (result i64) (nop (i32.const 1) (block $after (param i32) (result i64) (block $sent
  (param i32) (result (ref null $ask.call)) (try_table (param i32) (result i64) (catch $ask $sent)
  (call $first-class.call_stack)) (br $after)) (unreachable))))
;; Results may be subtypes of the event's values.
(event $any (param anyref)) (func $f (param stackref) (result (ref $s)) (unreachable)) (func
  (stack.switch_call $f $any (call $new)))
;; A tag is an event.
(func (stack.switch_drop $error (call $new)))
";
    check_table(HEAD, rows);
}

#[test]
fn tries() {
    check(
        "(func (block $l (try $t (result i32) (i32.const 1) catch $stop $l) (drop)))",
        "(func (block $l (try_table $t (result i32) (catch $stop $l) (i32.const 1) ) (drop)))",
    );
    check(
        "(func block $l try call_stack $ping catch $stop $l catch $error $l end end)",
        "(func block $l try_table (catch $stop $l) (catch $error $l) (block $after (block $sent \
         (result (ref null $ping.call)) (try_table (catch $ping $sent) \
         (call $first-class.call_stack)) (br $after)) (unreachable))   end end)",
    );
    field_of(HEAD, "(func (block $l (try (nop) (catch $stop $l))))");
    field_of(HEAD, "(func (block $l try (catch $error $l) end))");
    field_of(HEAD, "(func (try))");
    // A label outside of a `try` with the same label.
    field_of(HEAD, "(func (block $l (try $l catch $stop $l)))");
}

#[test]
fn returning_frees_stacks() {
    check(
        "(func (param $x stackref) (param i32) (result i32) (local $y stackref) (local $z stackref)
    (local.set_cleared $y (call $new))
    (if (local.get 1) (then (return (i32.const 1))))
    (return_call $body (i32.const 1) (call $new)))",
        "(func (param $x (ref null $stackref)) (param i32) (result i32) \
         (local $y (ref null $stackref)) (local $z (ref null $stackref))
    (local.set $y (call $new) (call $first-class.check_cleared (local.get $y)))
    (if (local.get 1) (then (return (i32.const 1) (drop (local.get $x)) (drop (local.get $y)))))
    (return_call $body (i32.const 1) (call $new) (drop (local.get $x)) (drop (local.get $y))) \
         (drop (local.get $x)) (drop (local.get $y)))",
    );
    check(
        "(func (param $x stackref) i32.const 1 if return end)",
        "(func (param $x (ref null $stackref)) i32.const 1 if (drop (local.get $x)) return end \
         (drop (local.get $x)))",
    );
    lower("(module (func $f (import \"a\" \"b\") (param stackref)))");
}

#[test]
fn answers() {
    let lowered = lower(&format!(
        "(module {HEAD}
           (func $f (param $x i32) (param f64) (result i64) (local $y i64) (local $z (ref $s))
             (local $st stackref)
             (local.set $z (struct.new $s (i32.const 1)))
             (answer $ask (result i64)
               (i32.add (local.get $x)) (local.tee $x) (i64.extend_i32_u)
               (local.set $y (i64.add (local.get $y)))
               (drop (struct.get $s 0 (local.get $z)))
               (local.set_cleared $st (call $new))
               (global.set_cleared $g (local.get_clear $st))
               (local.get $y)
              within
               (local.set $x (i32.const 5))
               (call_stack $ask (local.get $x)))))"
    ));
    has(
        &lowered,
        &[
            "(type $f.env (struct (field $x (mut i32)) (field $y (mut i64)) \
         (field $z (mut (ref null $s))) (field $st (mut (ref null $stackref)))))",
            "(struct.new $f.env (local.get $x) (local.get $y) (ref.null $s) (local.get $st))",
            "(func $f.answer (type $f.answer.type) (param $env (ref $f.env)) (param i32) (result i64)",
            "(ref.as_non_null (struct.get $f.env $z (local.get $env)))",
            "(call $first-class.leave_to (local.get $level))",
            "(drop (struct.get $f.env $st (local.get $env)))",
        ],
    );
    let rows = r"
;; Plain instructions, with a block type and numeric locals.
(func (param i32 stackref) (result i64) local.get 0 answer $ask (param i32)
  (result i64) local.get 0 i32.add local.set 0 local.get_clear 1 drop i64.const 1 within call_stack
  $ask end)
;; Parameters that are stacks, without captured locals.
(call_tag $c (param stackref i32) (result stackref)) (func (drop (answer $c (result stackref)
  (drop) within (call_stack $c (call $new) (i32.const 1)))))
;; A named block type.
(type $b (func (param i32) (result i32))) (func (drop (i32.const 1) (answer $ping
  (type $b) within)))
";
    check_table(HEAD, rows);
}

#[test]
fn nested_answers_share_an_environment() {
    let lowered = lower(&format!(
        "(module {HEAD}
           (func $f (local $x i32) (local $y i32)
             (answer $ping
               (answer $ping (local.set $y (local.get $x)) within
                 (block $l (answer $ping (local.set $x (i32.const 1)) within (br $l)))
                 (call_stack $ping))
              within
               (call_stack $ping))))"
    ));
    assert_eq!(lowered.matches("(type $f.env (struct").count(), 1);
    assert_eq!(lowered.matches("(func $f.answer").count(), 3);
    // The code of an answer has marks of its own.
    assert_eq!(lowered.matches("(local $level i32)").count(), 2);
}

#[test]
fn redirections() {
    let lowered = lower(&format!(
        "(module {HEAD}
           (func $f (param $x stackref) (result i32)
             (stack.redirect $x (result i32) (i32.const 1))))"
    ));
    has(
        &lowered,
        &[
            "(type $stackref.box (struct (field (mut (ref null $stackref)))))",
            "(local.set $x.box (struct.new $stackref.box (local.get $x))) \
         (local.set $x (ref.null $stackref))",
            "(call $first-class.enter_redirect (local.get $x.box))",
            "(catch_all_ref $exception)",
            "(call $first-class.redirect)",
        ],
    );
    let rows = r"
(func (param $x stackref) (result i64) i32.const 3 stack.redirect $x (param i32)
  (result i64) i64.extend_i32_u end)
;; With code that uses the local, and with two locals.
(func (param $x stackref) (local $y stackref) (stack.redirect $x (answer $ping
  (global.set_cleared $g (local.get_clear $x)) (stack.redirect $y (stack.redirect 0)) within
  (stack.redirect $y (call_stack $ping)))))
(func (local $n i32) (stack.redirect_to (local.set $n (i32.add (local.get $n) (i32.const 1)))
  (global.get_clear $g) then (global.set_cleared $g) within (call_stack $ping)) (drop
  (local.get $n)))
(func (result i32) stack.redirect_to (result i32) call $new then drop within i32.const 1 end)
";
    check_table(HEAD, rows);
}

#[test]
fn marks_are_removed_at_every_exit() {
    let rows = r"
;; After the block whose label is named inside.
(func (block $l (answer $ping within (br $l))))
=> (func (local $level i32) (local $env (ref $func.env)) (local.set $level
  (call $first-class.level)) (local.set $env (struct.new $func.env)) (block $l (block
  (local.get $env) (block $after (param (ref $func.env)) (block $sent (param (ref $func.env))
  (result (ref null $ping.call)) (try_table (param (ref $func.env)) (catch $ping $sent)
  (ref.func $func.answer) (call $first-class.enter_answer)) (br $after)) (unreachable)) (br $l)
  (call $first-class.leave_to (local.get $level)))) (call $first-class.leave_to (local.get $level)))
;; At the top of a loop, and at a return, a tail call and a catch.
";
    check_table(HEAD, rows);
    let top = field_of(HEAD, "(func (loop $l (answer $ping within (br $l))))");
    has(&top, &["(loop $l (call $first-class.leave_to (local.get $level)) (block"]);
    let inner = field_of(
        HEAD,
        "(func (answer $ping within (block $l (answer $ping within (br_if $l (i32.const 1))))))",
    );
    has(&inner, &[")) (call $first-class.leave_to (i32.add (local.get $level) (i32.const 1))))"]);
    let plain = field_of(HEAD, "(func block $l answer $ping within br $l end end $l)");
    has(&plain, &["end end $l (call $first-class.leave_to (local.get $level))"]);
    has(
        &field_of(HEAD, "(func (answer $ping within (return)))"),
        &["(return (call $first-class.leave_to (local.get $level)))"],
    );
    has(
        &field_of(HEAD, "(func $h answer $ping within return_call $h end)"),
        &["(call $first-class.leave_to (local.get $level)) return_call $h"],
    );
    has(
        &field_of(HEAD, "(func (block $l (try_table (catch_all $l) (answer $ping within))))"),
        &["(local.get $level))))) (call $first-class.leave_to (local.get $level))"],
    );
    // Not after a block without branches or without marks.
    let calm = field_of(HEAD, "(func (block $l (br $l)) (block $m (answer $ping within)))");
    assert_eq!(calm.matches("leave_to").count(), 1);
    let rows = r"
;; In the condition of a folded `if`, and as an operand.
(func (result i32) (if (result i32) (block $l (result i32) (answer $ping within (br $l
  (i32.const 1))) (i32.const 0)) (then (i32.const 1)) (else (i32.add (block $l (result i32)
  (answer $ping within (br $l (i32.const 1))) (i32.const 0)) (i32.const 1)))))
";
    check_table(HEAD, rows);
}

#[test]
fn routs() {
    let rows = r"
(rout $q (block $l (result stackref) (try (stack.start) catch $back $l) (unreachable)) (drop))
=> (func $q (block $l (result (ref null $stackref)) (try_table (catch $back $l) (unreachable
  (call $first-class.start)) ) (unreachable)) (drop))
(rout $q (param $x stackref) (result i32) (block $out (answer $ask (i64.extend_i32_u) within
  (stack.redirect $x (stack.redirect_to (global.get_clear $g) then (global.set_cleared $g) within
  (loop $unused (try_table (catch_all $out) (drop (stack.start)))))))) (i32.const 1))
(rout $q block loop stack.start end end)
(rout $q (stack.start) (loop $l (br $l)))
";
    check_table(HEAD, rows);
    lower(
        "(module (import \"host\" \"new_stack\" (func $n (result stackref)))
           (func (export \"f\") (result stackref) (stack.extend $r (call $n)))
           (rout $r stack.start))",
    );
}

#[test]
fn stacks_are_moved() {
    let rows = r"
(type $f (func (param stackref) (result stackref))) (type $k (cont $f)) (elem declare func $h)
  (table $calls funcref (elem $h)) (func $h (type $f) (local.get_clear 0)) (func
  (param $x stackref) (result stackref) (local.get_clear $x) (block $l (param stackref)
  (result stackref) (br_on_non_null $l) (call $new)) (call_ref $f (ref.func $h))
  (call_indirect $calls (type $f) (i32.const 0)) (resume $k (cont.new $k (ref.func $h)))
  (return_call $h))
(func (drop (ref.is_null (call $new))) (throw $back (call $new)))
";
    check_table(HEAD, rows);
}

#[test]
fn dialects_together() {
    lower(
        "(module (type $c (stack (ref null $c))) (call_tag $a)
           (func $f (param (ref null $c)) (answer $a (switch $c (ref.null $c)) (drop) within
             (switch_retire $c (local.get 0))))
           (func $g (param $x (ref null $c)) (param $s stackref)
             (return_switch $c $f (local.get $x))))",
    );
}
