//! Errors in text with first-class stacks.

use crate::common::errors;

/// The first line of every module below.
const HEAD: &str = "(import \"host\" \"new_stack\" (func $new (result stackref))) \
    (event $back (param stackref)) (event $done (param i32)) (event $stop) (tag $tag) \
    (call_tag $ask (param i32) (result i64)) (call_tag $ping) \
    (global $g (mut stackref) (ref.null stack)) (global $i (mut i32) (i32.const 0)) \
    (table $t 4 stackref) (table $u 4 funcref) (type $k.f (func)) (type $k (cont $k.f)) \
    (func $f (param stackref)) (func $h (param i32)) \
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))\n";

#[test]
fn instructions_that_copy_a_stackref() {
    let rows = r#"
(func (param $x stackref) (drop (^local.get $x))) => a stackref is linear: `local.get`
(func (param stackref) ^local.get 0 drop) => ..use `local.get_clear`
(func (local $x stackref) (^local.set $x (call $new))) => ..`local.set_cleared`
(func (local $x stackref) (drop (^local.tee $x (call $new)))) => ..linear
(func (drop (^global.get $g))) => ..use `global.get_clear`
(func (drop (^global.get 0))) => ..linear
(func call $new ^global.set $g) => ..use `global.get_clear`
(func (drop (^table.get $t (i32.const 0)))) => ..use `table.get_clear`
(func (drop (^table.get (i32.const 0)))) => ..linear
(func (^table.set $t (i32.const 0) (call $new))) => ..`table.set_cleared`
(func (^table.fill $t (i32.const 0) (call $new) (i32.const 1))) => ..linear
(func (drop (^table.grow $t (call $new) (i32.const 1)))) => ..use `table.grow_cleared`
(func (^table.copy $t $t (i32.const 0) (i32.const 0) (i32.const 0))) => ..linear
(func (^table.copy $u $t (i32.const 0) (i32.const 0) (i32.const 0))) => ..linear
(func (^table.copy (i32.const 0) (i32.const 0) (i32.const 0))) => ..linear
(elem $e func) (func (^table.init $t $e (i32.const 0) (i32.const 0) (i32.const 0))) => ..linear
(elem $e func) (func (^table.init $e (i32.const 0) (i32.const 0) (i32.const 0))) => ..linear
(elem $e ^stackref (ref.null stack)) => ..it cannot be in an element segment
(elem declare ^stackref (ref.null stack)) => ..it cannot be in an element segment
(elem (table $t) (i32.const 0) ^stackref (ref.null stack)) => ..element segment
(table $v ^stackref (elem (ref.null stack))) => ..element segment
(func (drop (select (result ^stackref) (call $new) (call $new) (i32.const 0))))
    => a stackref is linear: `select` would drop one of its operands
(func call $new call $new i32.const 0 select (result ^stackref) drop)
    => a stackref is linear: `select` would drop one of its operands
(type $x (struct (field ^stackref))) => ..must be mutable, `(mut stackref)`
(type $x (struct (field i32 (mut stackref) ^stackref))) => ..must be mutable
(type $x (array ^stackref)) => ..a field or an element that holds one must be mutable
(rec (type $x (sub (struct (field $f ^stackref))))) => ..must be mutable
(global $h ^stackref (ref.null stack)) => ..must be mutable
(import "a" "b" (global $h ^stackref)) => ..must be mutable
(func (param $x stackref) (answer $ping (drop (^local.get $x)) within)) => ..linear
"#;
    errors::invalid(HEAD, rows);
}

/// Types of objects with and without stackrefs.
const OBJECTS: &str = "(type $s (struct (field $i (mut i32)) (field $f (mut stackref)) \
    (field $a anyref) (field $n (mut (ref any))))) (type $a (array (mut stackref))) \
    (type $b (array anyref)) (type $c (array (mut i8))) ";

/// Checks a table of invalid modules that have these objects.
#[track_caller]
fn invalid_with_objects(table: &str) {
    errors::invalid(&format!("{HEAD}{OBJECTS}"), table);
}

#[test]
fn instructions_that_copy_a_stackref_of_an_object() {
    let rows = r"
(func (param (ref $s)) (drop (^struct.get $s $f (local.get 0))))
    => a stackref is linear: `struct.get` would copy or overwrite one; use `struct.get_clear` and `struct.set_cleared`
(func (param (ref $s)) local.get 0 ^struct.get $s 1 drop) => ..linear: `struct.get`
(func (param (ref $s)) (^struct.set $s $f (local.get 0) (call $new))) => ..`struct.set`
(func (param (ref $s)) (drop (^struct.get_u $s $f (local.get 0)))) => ..linear
(func (param (ref $a)) (drop (^array.get $a (local.get 0) (i32.const 0))))
    => a stackref is linear: `array.get` would copy or overwrite one; use `array.get_clear` and `array.set_cleared`
(func (param (ref $a)) (^array.set $a (local.get 0) (i32.const 0) (call $new)))
    => ..linear: `array.set`
(func (drop (^array.new $a (call $new) (i32.const 1))))
    => ..use `array.new_default` or `array.new_fixed`
(global $x (ref $a) (^array.new $a (ref.null stack) (i32.const 1))) => ..linear: `array.new`
(func (param (ref $a)) (^array.fill $a (local.get 0) (i32.const 0) (call $new) (i32.const 1)))
    => ..linear: `array.fill`
(func (param (ref $a)) (^array.copy $a $a (local.get 0) (i32.const 0) (local.get 0) (i32.const 0) (i32.const 1)))
    => ..linear: `array.copy`
(func (param (ref $a) (ref $b)) (^array.copy $b $a (local.get 1) (i32.const 0) (local.get 0) (i32.const 0) (i32.const 1)))
    => ..linear: `array.copy`
(elem $e nullcontref) (func (param (ref $a)) (^array.init_elem $a $e (local.get 0) (i32.const 0) (i32.const 0) (i32.const 0)))
    => ..linear: `array.init_elem`
(elem $e nullcontref) (func (drop (^array.new_elem $a $e (i32.const 0) (i32.const 0))))
    => ..linear: `array.new_elem`
";
    invalid_with_objects(rows);
}

#[test]
fn places_of_another_type() {
    let rows = r"
(func (local $x i32) (drop (local.get_clear ^$x)))
    => type mismatch: `local.get_clear` works on a nullable reference, but `$x` is of type `i32`
(func (local i32) (local.set_cleared ^0 (i32.const 1))) => ..but `0` is of type `i32`
(func (param $x (ref func)) (drop (local.is_cleared ^$x))) => ..type `(ref func)`
(func (drop (global.get_clear ^$i))) => ..`$i` is of type `i32`
(func (global.set_cleared ^$i (i32.const 1))) => ..`$i` is of type `i32`
(func (drop (global.is_cleared ^1))) => ..`1` is of type `i32`
(table $v 1 (ref func) (ref.func $f)) (func (drop (table.get_clear ^$v (i32.const 0))))
    => ..an element of `$v` is of type `(ref func)`
(table $v 1 (ref func) (ref.func $f)) (func (drop (table.grow_cleared ^$v (i32.const 0))))
    => ..an element of `$v` is of type `(ref func)`
(func (param (ref $s)) (drop (struct.get_clear $s ^$i (local.get 0))))
    => ..the field `$i` is of type `i32`
(func (param (ref $s)) (struct.set_cleared $s ^3 (local.get 0) (ref.null any)))
    => ..the field `3` is of type `(ref any)`
(func (param (ref $s)) (drop (struct.is_cleared $s ^0 (local.get 0))))
    => ..the field `0` is of type `i32`
(func (param (ref $c)) (drop (array.get_clear ^$c (local.get 0) (i32.const 0))))
    => ..an element of `$c` is of type `i8`
(func (param (ref $a)) (drop (struct.get_clear ^$a 0 (local.get 0))))
    => type mismatch: expected a struct type, but `$a` is an array type
(func (param (ref $s)) (drop (array.is_cleared ^$s (local.get 0) (i32.const 0))))
    => type mismatch: expected an array type, but `$s` is a struct type
(func (drop (struct.get_clear ^$k.f 0 (ref.null $k.f))))
    => ..expected a struct type, but `$k.f` is a function type
(func (drop (^struct.get_clear $s $f (i32.const 1)))) => type mismatch
(func (param (ref $s)) (^struct.set_cleared $s $f (local.get 0))) => type mismatch
(func (param (ref $s)) (^struct.set_cleared $s $f (call $new))) => type mismatch
(func (param (ref $a)) (drop (^array.get_clear $a (local.get 0)))) => type mismatch
(func (param (ref $a)) (drop (^array.is_cleared $a (local.get 0) (i64.const 0)))) => type mismatch
(func (drop (^table.grow_cleared $t (i64.const 1)))) => type mismatch
";
    invalid_with_objects(rows);
}

#[test]
fn immutable_places() {
    let rows = r"
(global $x funcref (ref.null func)) (func (drop (global.get_clear ^$x)))
    => immutable global: `global.get_clear` writes to `$x`, which is not `mut`
(global $x funcref (ref.null func)) (func (global.set_cleared ^$x (ref.null func)))
    => immutable global
(func (param (ref $s)) (drop (struct.get_clear $s ^$a (local.get 0))))
    => immutable field: `struct.get_clear` writes to the field `$a`, which is not `mut`
(func (param (ref $s)) (struct.set_cleared $s ^2 (local.get 0) (ref.null any))) => immutable field
(func (param (ref $b)) (drop (array.get_clear ^$b (local.get 0) (i32.const 0))))
    => immutable array: `array.get_clear` writes to an element of `$b`, which is not `mut`
(func (param (ref $b)) (array.set_cleared ^$b (local.get 0) (i32.const 0) (ref.null any)))
    => immutable array
(func (param (ref $s)) (drop (struct.get_clear $s ^4 (local.get 0)))) => unknown field 4
(global $x i32 (^struct.is_cleared $s $f (struct.new_default $s)))
    => constant expression required: `struct.is_cleared` is allowed only in functions
";
    invalid_with_objects(rows);
}

#[test]
fn select_without_a_type() {
    let rows = r"
(func (drop (^select (call $new) (call $new) (i32.const 0)))) => ..linear: `select`
(func call $new call $new i32.const 0
 ^select drop) => ..linear: `select`
(func (result i32) (^select (i32.const 0) (i64.const 0) (i32.const 0))) => type mismatch
";
    errors::invalid(HEAD, rows);
}

#[test]
fn slots_of_another_type() {
    let rows = r"
(func (^table.set_cleared $u (i32.const 0) (ref.null extern))) => type mismatch
(func (local.get_clear ^3)) => unknown local
(func (drop (global.get_clear ^7))) => unknown global 7
(func (local $x stackref) (^local.set_cleared $x (i32.const 1))) => type mismatch
(func (local $x stackref) (^local.set_cleared $x)) => type mismatch
(func (^table.set_cleared $t (call $new))) => type mismatch
(func (local $x i32) (stack.redirect ^$x)) => ..`$x` has another type
(global $h i32 (^call_stack $ping))
    => constant expression required: `call_stack` is allowed only in functions
";
    errors::invalid(HEAD, rows);
}

#[test]
fn events_that_do_not_fit() {
    let rows = r"
(func (stack.switch ^$done (i32.const 1) (call $new))) => type mismatch: `stack.switch` sends
(func (stack.switch ^$stop (call $new))) => ..last parameter of `$stop` is not a stackref
(func (^stack.switch $back)) => type mismatch
(func (^stack.switch $back (i32.const 1))) => type mismatch
(func (^stack.switch_drop $back (call $new))) => type mismatch
(func (stack.switch_call ^$h (i32.const 1) (call $new))) => ..its last parameter is not a stackref
(func (stack.switch_call $f ^$done (call $new))) => ..`$done` takes 1, and `$f` has 0
(func $o (param stackref) (result i64) (i64.const 0)) (func (stack.switch_call $o ^$done (call $new)))
    => type mismatch: `stack.switch_call` sends the results of `$o` with `$done`, which takes other
(func (drop (stack.extend $s ^$stop (i32.const 1) (call $new))))
    => type mismatch: `stack.extend` sends the results of `$s` with `$stop`, which takes other values:
(func (drop (^stack.extend $s (call $new)))) => type mismatch
(tag $y (result i32)) (func (stack.switch_drop ^$y (call $new)))
    => type mismatch: `$y` has results, but an event has none
(^event $x (result i32)) => an event has no results
(func (drop (^call_stack $ask))) => type mismatch
(func (block $l (result i32) (try catch $stop ^$l) (i32.const 1)) (drop)) => type mismatch
";
    errors::invalid(HEAD, rows);
}

#[test]
fn names_of_another_sort() {
    let rows = r#"
(func (drop (stack.extend ^$h (i32.const 1) (call $new)))) => unknown rout: `$h` is a function
(func (call ^$r)) => ..`$r` is a rout, and only `stack.extend` can name a rout
(func (return_call ^$r)) => ..is a rout
(func (drop (ref.func ^$r))) => ..is a rout
(elem declare func ^$r) => ..is a rout
(elem (table $u) (i32.const 0) func $f ^$r) => ..is a rout
(table funcref (elem ^$r)) => ..is a rout
(export "r" (func ^$r)) => ..is a rout
(start ^$r) => ..is a rout
(func (stack.switch_call ^$r (call $new))) => ..is a rout
(func (throw ^$ping)) => ..`$ping` is a call_tag
(func (suspend ^$ping)) => ..is a call_tag
(func (stack.switch_drop ^$ping (call $new))) => ..is a call_tag
(func (block $l (try catch ^$ping $l))) => ..is a call_tag
(func (block $l (try_table (catch ^$ping $l)))) => ..is a call_tag
(export "a" (tag ^$ping)) => ..is a call_tag
(export "a" (event ^$ping)) => ..is a call_tag
(export "a" (call_tag ^$stop)) => ..`$stop` is a tag or an event
(func (call_stack ^$stop)) => ..`$stop` is a tag or an event
(func (answer ^$tag within)) => ..`$tag` is a tag or an event
(rout $x ^(export "x") (stack.start)) => a rout cannot be imported or exported
(import "a" "b" ^(rout $x)) => a rout cannot be imported or exported
"#;
    errors::invalid(HEAD, rows);
}

#[test]
fn unknown_words_and_names() {
    let rows = r"
(func (drop (local.get_clear ^$x))) => unknown local
(func (stack.redirect ^$x)) => unknown local
(func (drop (global.get_clear ^$x))) => unknown global
(func (drop (table.get_clear ^$x (i32.const 0)))) => unknown table
(func (stack.switch ^$x (call $new))) => unknown tag
(func (stack.switch_call ^$x (call $new))) => unknown function
(func (stack.switch_call $f ^$x (call $new))) => unknown tag
(func (drop (stack.extend ^$x (call $new)))) => unknown rout
(func (call_stack ^$x)) => unknown call_tag
(func (answer ^$x within)) => unknown call_tag
(func (block $l (try catch ^$x $l))) => unknown tag
(func (try catch $stop ^$l)) => unknown label
(func (^stack.frob)) => unknown operator
(func (param stackref) (^global.set_clear $g (local.get_clear 0)))
    => unknown operator `global.set_clear`: write `global.set_cleared`
(event $x ^: [i32]) => unexpected token `:`: write the values of an event as `(param ..)`
(func (param (ref ^stackref))) => ..`stackref` is a value type and has no heap type
(event $x (param (ref ^$y))) => unknown type
";
    errors::malformed(HEAD, rows);
}

#[test]
fn names_of_places() {
    errors::malformed(
        &format!("{HEAD}{OBJECTS}"),
        r"
(func (param (ref $s)) (drop (struct.get_clear $s ^$x (local.get 0))))
    => unknown field: there is no field named `$x`
(func (drop (struct.get_clear ^$x 0 (ref.null any)))) => unknown type
(func (drop (array.is_cleared ^$x (ref.null any) (i32.const 0)))) => unknown type
(func (drop (local.is_cleared ^$x))) => unknown local
(func (drop (global.is_cleared ^$x))) => unknown global
(func (drop (table.grow_cleared ^$x (i32.const 1)))) => unknown table
(func (param (ref $s)) (drop (struct.get_clear ^0 $f (local.get 0))))
    => expected a name, found the number 0
(func (param (ref $a)) (drop (array.is_cleared ^0 (local.get 0) (i32.const 0))))
    => expected a name, found the number 0
(func (param (ref $s)) (drop (struct.get_clear $s ^(local.get 0))))
    => `struct.get_clear` expects the name of a field here, found `(local.get ..)`
(func (param (ref $s)) (drop (struct.get_clear ^(local.get 0))))
    => ..expects the name of a struct type here
(func (drop (array.get_clear^))) => ..expects the name of an array type here
(func (^local.grow_cleared 0)) => unknown operator
",
    );
}

#[test]
fn missing_and_superfluous_words() {
    let rows = r#"
(func (stack.switch^)) => ..expects the name of an event here
(func (stack.switch ^0 (call $new))) => expected a name, found the number
(func (drop (stack.extend ^0 (call $new)))) => expected a name, found the number
(func (block $l (try catch $stop ^0))) => expected a name, found the number
(func (call_stack ^(nop))) => ..expects the name of a call_tag here
(func (drop (local.get_clear^))) => ..expects the name of a local here
(func (stack.redirect_to (call $new) ^within)) => expected `then`, found `within`
(func (stack.redirect_to (call $new) then (drop)^)) => expected `within`, found `)`
(func stack.redirect_to call $new ^end) => expected `then`, found `end`
(func (answer $ping (nop)^)) => expected `within`
(func answer $ping ^end) => expected `within`
(func answer $ping within end ^$l) => mismatching labels
(func (answer $ping within ^within)) => unexpected `within`
(func (answer $ping ^then within)) => expected `within`, found `then`
(func ^within) => unexpected `within`
(func (block (nop) ^within)) => unexpected `within`
(func answer $ping within^) => expected `end`
(func block (nop)^) => expected `end`
(func ^end) => unexpected `end`
(func (answer $ping within block^)) => expected `end`
(func (answer $ping within) ^end) => unexpected `end`
(func (block $l (try catch $stop $l ^(nop)))) => expected `catch`
(func block $l try catch $stop $l ^nop end end) => expected `catch`
(func (block $l (try (catch $stop $l ^(nop))))) => expected `)`
(func (drop (try (result i32) ^(do (nop)) (catch $done))))
    => unexpected `(do ..)`: the code of a `try` stands in it as in a block
(func (block $l (try catch $stop^))) => ..expects the name of a label here
(^import "host" "new_stack" (func (result stackref))) => import after
(^func (import "host" "new_stack") (result stackref)) => import after
(call_tag $x (result i32) ^(param i32)) => ..parameters come before results
(event $x (result i32) ^(param i32)) => ..parameters come before results
(func answer $ping (result i32) ^(param i32) within end) => ..before results
(func (answer $ping (param ^$x i32) within drop)) => unexpected `$x`
(func (local $x stackref) (stack.redirect $x (param ^$y i32))) => unexpected `$y`
(func (try (param i32) (param ^$x i32))) => unexpected `$x`
"#;
    errors::malformed(HEAD, rows);
}

#[test]
fn labels_outside_of_closures() {
    let rows = r"
(func (block $l (answer $ping (br ^$l) within))) => unknown label: `$l` is outside
(func (block $l (answer $ping (br_if ^$l (i32.const 1)) within))) => ..outside
(func block $l answer $ping block $m i32.const 0 br_table $m ^$l end within end end) => ..outside
(func (block $l (answer $ping (try_table (catch_all ^$l)) within))) => ..outside
(func (block $l (answer $ping (try (catch $stop ^$l)) within))) => ..outside
(func (block $l (answer $ping (br_on_null ^$l (call $new)) (drop) within))) => ..outside
(func (block $l (answer $ping (resume $k (on $tag ^$l) (ref.null $k)) within))) => ..outside
(func (block $l (stack.redirect_to (br ^$l) then (drop) within))) => ..outside
(func (block $l (stack.redirect_to (call $new) then (drop) (br ^$l) within))) => ..outside
(func (answer $ping (block $l (answer $ping (br ^$l) within)) within)) => ..outside
";
    errors::malformed(HEAD, rows);
}

#[test]
fn code_that_leaves_its_function() {
    let rows = r"
(func (answer $ping (^return) within))
    => `return` is not allowed in the code of an `answer` or `stack.redirect_to`, which cannot return
(func $x (answer $ping (^return_call $x) within))
    => `return_call` is not allowed in the code of an `answer` or `stack.redirect_to`, which cannot
(func (answer $ping (^return_call_ref $k.f (ref.null $k.f)) within))
    => `return_call_ref` is not allowed in the code of an `answer` or `stack.redirect_to`, which
(func answer $ping i32.const 0 ^return_call_indirect $u within end)
    => `return_call_indirect` is not allowed in the code of an `answer` or `stack.redirect_to`, which
(func (stack.redirect_to (^return) then (drop) within))
    => `return` is not allowed in the code of an `answer` or `stack.redirect_to`, which cannot return
(func (stack.redirect_to (call $new) then (drop) (^return) within))
    => `return` is not allowed in the code of an `answer` or `stack.redirect_to`, which cannot return
";
    errors::invalid(HEAD, rows);
}

#[test]
fn types_of_blocks() {
    let rows = r"
(func (answer $ping within (i32.const 1)^)) => type mismatch
(func (answer $ping (i32.const 1) ^within))
    => type mismatch: this code starts with `[]` on the stack and must end with `[]`
(func (answer $ask ^within))
    => type mismatch: this code starts with `[i32]` on the stack and must end with `[i64]`
(func (local $x stackref) (stack.redirect $x (i32.const 1)^)) => type mismatch
(func (stack.redirect_to (i32.const 1) ^then (drop) within))
    => type mismatch: this code starts with `[]` on the stack and must end with `[stackref]`
(func (stack.redirect_to (call $new) then ^within))
    => type mismatch: this code starts with `[stackref]` on the stack and must end with `[]`
(func (try (i32.const 1)^)) => type mismatch
";
    errors::invalid(HEAD, rows);
}

#[test]
fn starts_of_routs() {
    let rows = r"
(^rout $x) => a rout begins with openings
(rout $x (^nop) (stack.start)) => a rout begins with openings
(rout $x (^block) (stack.start)) => a rout begins with openings
(rout $x (drop (^i32.const 1)) (stack.start)) => a rout begins with openings
(rout $x (^if (i32.const 1) (then (stack.start)))) => a rout begins with openings
(rout $x (answer $ping (stack.start) within (^nop))) => a rout begins with openings
(func (^stack.start)) => ..can only stand at the beginning of a rout
(rout $x (stack.start) (^stack.start)) => ..can only stand at the beginning of a rout
(rout $x (answer $ping (^stack.start) within (stack.start))) => ..can only stand at
(rout $x (loop $l (block $m (try (stack.start) catch $stop $m)) (br ^$l)))
    => ..branch back over `stack.start`
(rout $x (loop $l (try (stack.start) catch $stop ^$l))) => ..branch back over `stack.start`
(rout $x loop $l stack.start i32.const 1 br_if ^$l end) => ..branch back over `stack.start`
";
    errors::invalid(HEAD, rows);
}

#[test]
fn kinds_do_not_match() {
    let rows = r"
(func (param (ref null stack)) (^stack.switch $back (local.get 0))) => type mismatch
(func (result (ref null stack)) (call $new)^) => type mismatch
(func (param (ref null stack)) (result stackref) (local.get 0)^) => ..found contref
(func (param (ref null cont)) (result stackref) (local.get 0)^) => type mismatch
(func (result anyref) (call $new)^) => type mismatch
(type $c (stack (ref null $c))) (func (param (ref null $c)) (result stackref) (local.get 0)^)
    => type mismatch
(type $c (stack (ref null $c))) (func (result (ref null stack)) (call $new)^) => type mismatch
(func (drop (^ref.cast (ref null cont) (call $new)))) => invalid cast
(func (drop (^ref.eq (call $new) (call $new)))) => type mismatch
";
    errors::invalid(HEAD, rows);
}

/// Locals that closures use are stored in a struct, and must still be set first.
#[test]
fn uninitialized_locals() {
    let function = |code: &str| format!("(func $x (local $x (ref $k.f)) {code})");
    let set = "(local.set $x (ref.func $x))";
    let rows = [
        "(answer $ping (drop (^local.get $x)) within (nop))".to_string(),
        "(answer $ping (drop (^local.get 0)) within (nop))".to_string(),
        // A local that a closure sets does not count as set.
        format!("(answer $ping {set} within (drop (^local.get $x)))"),
        format!("(answer $ping (drop (^local.get $x)) within {set})"),
        format!("(answer $ping within {set}) (answer $ping (drop (^local.get $x)) within (nop))"),
        format!("(answer $ping {set} within (nop)) (drop (^local.get $x))"),
        format!("stack.redirect_to {set} ref.null stack then drop local.get $x drop within end")
            .replace("local.get $x", "^local.get $x"),
        format!("(block {set}) (answer $ping (drop (^local.get $x)) within (nop))"),
        format!(
            "(if (i32.const 1) (then {set}) (else (answer $ping (drop (^local.get $x)) within)))"
        ),
        format!("i32.const 1 if {set} else answer $ping ^local.get $x drop within end end"),
        format!(
            "(if (i32.const 1) (then {set}) (else {set})) (answer $ping within) (drop (^local.get $x))\
             (answer $ping (drop (local.get $x)) within)"
        ),
    ];
    for code in rows {
        let row = format!("{} => uninitialized local: `$x`", function(&code));
        errors::invalid(HEAD, &row);
    }
}

/// The first word of a text has no word before it to examine.
#[test]
fn a_text_that_starts_with_a_type() {
    assert!(ropewalk_text::Text::parse("(result stackref)").is_err());
}
