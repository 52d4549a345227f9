//! What is wrong in text with first-class stacks. Each row is a source, in
//! which `ropewalk_runtime::` stands before the place of the error, and a part of the message.

mod common;
use common::erring::error;
use ropewalk_text::Position;

/// What every module below starts with, on the first line.
const HEAD: &str = "(import \"host\" \"new_stack\" (func $new (result stackref))) \
    (event $back (param stackref)) (event $done (param i32)) (event $stop) (tag $tag) \
    (call_tag $ask (param i32) (result i64)) (call_tag $ping) \
    (global $g (mut stackref) (ref.null stack)) (global $i (mut i32) (i32.const 0)) \
    (table $t 4 stackref) (table $u 4 funcref) (type $k.f (func)) (type $k (cont $k.f)) \
    (func $f (param stackref)) (func $h (param i32)) \
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))\n";

/// Checks each row; `invalid` is whether the modules can be read.
#[track_caller]
fn check(invalid: bool, rows: &[(&str, &str)]) {
    for (marked, message) in rows {
        let (before, _) = marked.split_once("ropewalk_runtime::").expect("a place is marked");
        let line = 2 + before.matches('\n').count();
        let column = 1 + before.rsplit('\n').next().unwrap_or_default().chars().count();
        let error = error(&format!("{HEAD}{}", marked.replace("ropewalk_runtime::", "")));
        let expected = Position { line, column };
        assert_eq!(error.position(), Some(expected), "{marked}\n{error}");
        assert!(error.message().contains(message), "{marked}\n{error}");
        assert_eq!(error.is_invalid(), invalid, "{marked}\n{error}");
    }
}

#[test]
fn what_would_copy_a_stackref() {
    check(
        true,
        &[
            (
                "(func (param $x stackref) (drop (ropewalk_runtime::local.get $x)))",
                "a stackref is linear: `local.get`",
            ),
            ("(func (param stackref) ropewalk_runtime::local.get 0 drop)", "use `local.get_clear`"),
            (
                "(func (local $x stackref) (ropewalk_runtime::local.set $x (call $new)))",
                "`local.set_cleared`",
            ),
            (
                "(func (local $x stackref) (drop (ropewalk_runtime::local.tee $x (call $new))))",
                "linear",
            ),
            ("(func (drop (ropewalk_runtime::global.get $g)))", "use `global.get_clear`"),
            ("(func (drop (ropewalk_runtime::global.get 0)))", "linear"),
            ("(func call $new ropewalk_runtime::global.set $g)", "use `global.get_clear`"),
            (
                "(func (drop (ropewalk_runtime::table.get $t (i32.const 0))))",
                "use `table.get_clear`",
            ),
            ("(func (drop (ropewalk_runtime::table.get (i32.const 0))))", "linear"),
            (
                "(func (ropewalk_runtime::table.set $t (i32.const 0) (call $new)))",
                "`table.set_cleared`",
            ),
            (
                "(func (ropewalk_runtime::table.fill $t (i32.const 0) (call $new) (i32.const 1)))",
                "linear",
            ),
            (
                "(func (drop (ropewalk_runtime::table.grow $t (call $new) (i32.const 1))))",
                "use `table.grow_cleared`",
            ),
            (
                "(func (ropewalk_runtime::table.copy $t $t (i32.const 0) (i32.const 0) (i32.const 0)))",
                "linear",
            ),
            (
                "(func (ropewalk_runtime::table.copy $u $t (i32.const 0) (i32.const 0) (i32.const 0)))",
                "linear",
            ),
            (
                "(func (ropewalk_runtime::table.copy (i32.const 0) (i32.const 0) (i32.const 0)))",
                "linear",
            ),
            (
                "(elem $e func) (func (ropewalk_runtime::table.init $t $e (i32.const 0) (i32.const 0) (i32.const 0)))",
                "linear",
            ),
            (
                "(elem $e func) (func (ropewalk_runtime::table.init $e (i32.const 0) (i32.const 0) (i32.const 0)))",
                "linear",
            ),
            (
                "(elem $e ropewalk_runtime::stackref (ref.null stack))",
                "it cannot be in an element segment",
            ),
            (
                "(elem declare ropewalk_runtime::stackref (ref.null stack))",
                "it cannot be in an element segment",
            ),
            (
                "(elem (table $t) (i32.const 0) ropewalk_runtime::stackref (ref.null stack))",
                "element segment",
            ),
            ("(table $v ropewalk_runtime::stackref (elem (ref.null stack)))", "element segment"),
            (
                "(func (drop (select (result ropewalk_runtime::stackref) (call $new) (call $new) (i32.const 0))))",
                "`select` would lose one",
            ),
            (
                "(func call $new call $new i32.const 0 select (result ropewalk_runtime::stackref) drop)",
                "`select` would lose one",
            ),
            (
                "(type $x (struct (field ropewalk_runtime::stackref)))",
                "must be mutable, `(mut stackref)`",
            ),
            (
                "(type $x (struct (field i32 (mut stackref) ropewalk_runtime::stackref)))",
                "must be mutable",
            ),
            (
                "(type $x (array ropewalk_runtime::stackref))",
                "a field or an element that holds one must be mutable",
            ),
            (
                "(rec (type $x (sub (struct (field $f ropewalk_runtime::stackref)))))",
                "must be mutable",
            ),
            ("(global $h ropewalk_runtime::stackref (ref.null stack))", "must be mutable"),
            ("(import \"a\" \"b\" (global $h ropewalk_runtime::stackref))", "must be mutable"),
            (
                "(func (param $x stackref) (answer $ping (drop (ropewalk_runtime::local.get $x)) within))",
                "linear",
            ),
        ],
    );
}

/// Objects that hold stackrefs, and others.
const OBJECTS: &str = "(type $s (struct (field $i (mut i32)) (field $f (mut stackref)) \
    (field $a anyref) (field $n (mut (ref any))))) (type $a (array (mut stackref))) \
    (type $b (array anyref)) (type $c (array (mut i8))) ";

/// The same as `check`, in modules with these objects.
#[track_caller]
fn check_with_objects(invalid: bool, rows: &[(&str, &str)]) {
    for (marked, message) in rows {
        check(invalid, &[(&format!("{OBJECTS}{marked}"), message)]);
    }
}

#[test]
fn what_would_copy_a_stackref_of_an_object() {
    let rows = [
        (
            "(func (param (ref $s)) (drop (ropewalk_runtime::struct.get $s $f (local.get 0))))",
            "a stackref is linear: `struct.get` would copy or overwrite one; use \
             `struct.get_clear` and `struct.set_cleared`",
        ),
        (
            "(func (param (ref $s)) local.get 0 ropewalk_runtime::struct.get $s 1 drop)",
            "linear: `struct.get`",
        ),
        (
            "(func (param (ref $s)) (ropewalk_runtime::struct.set $s $f (local.get 0) (call $new)))",
            "`struct.set`",
        ),
        (
            "(func (param (ref $s)) (drop (ropewalk_runtime::struct.get_u $s $f (local.get 0))))",
            "linear",
        ),
        (
            "(func (param (ref $a)) (drop (ropewalk_runtime::array.get $a (local.get 0) (i32.const 0))))",
            "a stackref is linear: `array.get` would copy or overwrite one; use `array.get_clear` \
             and `array.set_cleared`",
        ),
        (
            "(func (param (ref $a)) (ropewalk_runtime::array.set $a (local.get 0) (i32.const 0) (call $new)))",
            "linear: `array.set`",
        ),
        (
            "(func (drop (ropewalk_runtime::array.new $a (call $new) (i32.const 1))))",
            "use `array.new_default` or `array.new_fixed`",
        ),
        (
            "(global $x (ref $a) (ropewalk_runtime::array.new $a (ref.null stack) (i32.const 1)))",
            "linear: `array.new`",
        ),
        (
            "(func (param (ref $a)) (ropewalk_runtime::array.fill $a (local.get 0) (i32.const 0) (call $new) \
             (i32.const 1)))",
            "linear: `array.fill`",
        ),
        (
            "(func (param (ref $a)) (ropewalk_runtime::array.copy $a $a (local.get 0) (i32.const 0) (local.get 0) \
             (i32.const 0) (i32.const 1)))",
            "linear: `array.copy`",
        ),
        (
            "(func (param (ref $a) (ref $b)) (ropewalk_runtime::array.copy $b $a (local.get 1) (i32.const 0) \
             (local.get 0) (i32.const 0) (i32.const 1)))",
            "linear: `array.copy`",
        ),
        (
            "(elem $e nullcontref) (func (param (ref $a)) (ropewalk_runtime::array.init_elem $a $e (local.get 0) \
             (i32.const 0) (i32.const 0) (i32.const 0)))",
            "linear: `array.init_elem`",
        ),
        (
            "(elem $e nullcontref) (func (drop (ropewalk_runtime::array.new_elem $a $e (i32.const 0) (i32.const 0))))",
            "linear: `array.new_elem`",
        ),
    ];
    check_with_objects(true, &rows);
}

#[test]
fn places_of_another_type() {
    let rows = [
        (
            "(func (local $x i32) (drop (local.get_clear ropewalk_runtime::$x)))",
            "type mismatch: `local.get_clear` works on a nullable reference, but `$x` is of type \
             `i32`",
        ),
        (
            "(func (local i32) (local.set_cleared ropewalk_runtime::0 (i32.const 1)))",
            "but `0` is of type `i32`",
        ),
        (
            "(func (param $x (ref func)) (drop (local.is_cleared ropewalk_runtime::$x)))",
            "type `(ref func)`",
        ),
        ("(func (drop (global.get_clear ropewalk_runtime::$i)))", "`$i` is of type `i32`"),
        ("(func (global.set_cleared ropewalk_runtime::$i (i32.const 1)))", "`$i` is of type `i32`"),
        ("(func (drop (global.is_cleared ropewalk_runtime::1)))", "`1` is of type `i32`"),
        (
            "(table $v 1 (ref func) (ref.func $f)) (func (drop (table.get_clear ropewalk_runtime::$v (i32.const 0))))",
            "an element of `$v` is of type `(ref func)`",
        ),
        (
            "(table $v 1 (ref func) (ref.func $f)) (func (drop (table.grow_cleared ropewalk_runtime::$v (i32.const 0))))",
            "an element of `$v` is of type `(ref func)`",
        ),
        (
            "(func (param (ref $s)) (drop (struct.get_clear $s ropewalk_runtime::$i (local.get 0))))",
            "the field `$i` is of type `i32`",
        ),
        (
            "(func (param (ref $s)) (struct.set_cleared $s ropewalk_runtime::3 (local.get 0) (ref.null any)))",
            "the field `3` is of type `(ref any)`",
        ),
        (
            "(func (param (ref $s)) (drop (struct.is_cleared $s ropewalk_runtime::0 (local.get 0))))",
            "the field `0` is of type `i32`",
        ),
        (
            "(func (param (ref $c)) (drop (array.get_clear ropewalk_runtime::$c (local.get 0) (i32.const 0))))",
            "an element of `$c` is of type `i8`",
        ),
        (
            "(func (param (ref $a)) (drop (struct.get_clear ropewalk_runtime::$a 0 (local.get 0))))",
            "type mismatch: expected a struct type, but `$a` is an array type",
        ),
        (
            "(func (param (ref $s)) (drop (array.is_cleared ropewalk_runtime::$s (local.get 0) (i32.const 0))))",
            "type mismatch: expected an array type, but `$s` is a struct type",
        ),
        (
            "(func (drop (struct.get_clear ropewalk_runtime::$k.f 0 (ref.null $k.f))))",
            "expected a struct type, but `$k.f` is a function type",
        ),
        // operands
        ("(func (drop (ropewalk_runtime::struct.get_clear $s $f (i32.const 1))))", "type mismatch"),
        (
            "(func (param (ref $s)) (ropewalk_runtime::struct.set_cleared $s $f (local.get 0)))",
            "type mismatch",
        ),
        (
            "(func (param (ref $s)) (ropewalk_runtime::struct.set_cleared $s $f (call $new)))",
            "type mismatch",
        ),
        (
            "(func (param (ref $a)) (drop (ropewalk_runtime::array.get_clear $a (local.get 0))))",
            "type mismatch",
        ),
        (
            "(func (param (ref $a)) (drop (ropewalk_runtime::array.is_cleared $a (local.get 0) (i64.const 0))))",
            "type mismatch",
        ),
        ("(func (drop (ropewalk_runtime::table.grow_cleared $t (i64.const 1))))", "type mismatch"),
    ];
    check_with_objects(true, &rows);
}

#[test]
fn places_that_cannot_be_changed() {
    let rows = [
        (
            "(global $x funcref (ref.null func)) (func (drop (global.get_clear ropewalk_runtime::$x)))",
            "immutable global: `global.get_clear` changes what is there, but `$x` is not `mut`",
        ),
        (
            "(global $x funcref (ref.null func)) (func (global.set_cleared ropewalk_runtime::$x (ref.null func)))",
            "immutable global",
        ),
        (
            "(func (param (ref $s)) (drop (struct.get_clear $s ropewalk_runtime::$a (local.get 0))))",
            "immutable field: `struct.get_clear` changes what is there, but the field `$a` is not \
             `mut`",
        ),
        (
            "(func (param (ref $s)) (struct.set_cleared $s ropewalk_runtime::2 (local.get 0) (ref.null any)))",
            "immutable field",
        ),
        (
            "(func (param (ref $b)) (drop (array.get_clear ropewalk_runtime::$b (local.get 0) (i32.const 0))))",
            "immutable array: `array.get_clear` changes what is there, but an element of `$b` is \
             not `mut`",
        ),
        (
            "(func (param (ref $b)) (array.set_cleared ropewalk_runtime::$b (local.get 0) (i32.const 0) \
             (ref.null any)))",
            "immutable array",
        ),
        (
            "(func (param (ref $s)) (drop (struct.get_clear $s ropewalk_runtime::4 (local.get 0))))",
            "unknown field 4",
        ),
        (
            "(global $x i32 (ropewalk_runtime::struct.is_cleared $s $f (struct.new_default $s)))",
            "`struct.is_cleared` stands only in functions",
        ),
    ];
    check_with_objects(true, &rows);
}

#[test]
fn select_without_a_type() {
    check(
        true,
        &[
            (
                "(func (drop (ropewalk_runtime::select (call $new) (call $new) (i32.const 0))))",
                "linear: `select`",
            ),
            (
                "(func call $new call $new i32.const 0\n ropewalk_runtime::select drop)",
                "linear: `select`",
            ),
            (
                "(func (result i32) (ropewalk_runtime::select (i32.const 0) (i64.const 0) (i32.const 0)))",
                "type mismatch",
            ),
        ],
    );
}

#[test]
fn slots_of_another_type() {
    check(
        true,
        &[
            (
                "(func (ropewalk_runtime::table.set_cleared $u (i32.const 0) (ref.null extern)))",
                "type mismatch",
            ),
            ("(func (local.get_clear ropewalk_runtime::3))", "unknown local"),
            ("(func (drop (global.get_clear ropewalk_runtime::7)))", "unknown global 7"),
            (
                "(func (local $x stackref) (ropewalk_runtime::local.set_cleared $x (i32.const 1)))",
                "type mismatch",
            ),
            (
                "(func (local $x stackref) (ropewalk_runtime::local.set_cleared $x))",
                "type mismatch",
            ),
            ("(func (ropewalk_runtime::table.set_cleared $t (call $new)))", "type mismatch"),
            (
                "(func (local $x i32) (stack.redirect ropewalk_runtime::$x))",
                "`$x` has another type",
            ),
            (
                "(global $h i32 (ropewalk_runtime::call_stack $ping))",
                "`call_stack` stands only in functions",
            ),
        ],
    );
}

#[test]
fn events_that_do_not_fit() {
    check(
        true,
        &[
            (
                "(func (stack.switch ropewalk_runtime::$done (i32.const 1) (call $new)))",
                "type mismatch: `stack.switch` sends",
            ),
            (
                "(func (stack.switch ropewalk_runtime::$stop (call $new)))",
                "last parameter of `$stop` is not a stackref",
            ),
            ("(func (ropewalk_runtime::stack.switch $back))", "type mismatch"),
            ("(func (ropewalk_runtime::stack.switch $back (i32.const 1)))", "type mismatch"),
            ("(func (ropewalk_runtime::stack.switch_drop $back (call $new)))", "type mismatch"),
            (
                "(func (stack.switch_call ropewalk_runtime::$h (i32.const 1) (call $new)))",
                "its last parameter is not a stackref",
            ),
            (
                "(func (stack.switch_call $f ropewalk_runtime::$done (call $new)))",
                "`$done` takes 1, and `$f` has 0",
            ),
            (
                "(func $o (param stackref) (result i64) (i64.const 0)) \
                 (func (stack.switch_call $o ropewalk_runtime::$done (call $new)))",
                "type mismatch: `stack.switch_call` makes the results of `$o` the values of `$done`",
            ),
            (
                "(func (drop (stack.extend $s ropewalk_runtime::$stop (i32.const 1) (call $new))))",
                "which takes others",
            ),
            ("(func (drop (ropewalk_runtime::stack.extend $s (call $new))))", "type mismatch"),
            (
                "(tag $y (result i32)) (func (stack.switch_drop ropewalk_runtime::$y (call $new)))",
                "is no event",
            ),
            ("(ropewalk_runtime::event $x (result i32))", "an event has no results"),
            ("(func (drop (ropewalk_runtime::call_stack $ask)))", "type mismatch"),
            (
                "(func (block $l (result i32) (try catch $stop ropewalk_runtime::$l) (i32.const 1)) (drop))",
                "type mismatch",
            ),
        ],
    );
}

#[test]
fn names_of_another_sort() {
    check(
        true,
        &[
            (
                "(func (drop (stack.extend ropewalk_runtime::$h (i32.const 1) (call $new))))",
                "unknown rout: `$h` is a function",
            ),
            (
                "(func (call ropewalk_runtime::$r))",
                "`$r` is a rout, and only `stack.extend` can name a rout",
            ),
            ("(func (return_call ropewalk_runtime::$r))", "is a rout"),
            ("(func (drop (ref.func ropewalk_runtime::$r)))", "is a rout"),
            ("(elem declare func ropewalk_runtime::$r)", "is a rout"),
            ("(elem (table $u) (i32.const 0) func $f ropewalk_runtime::$r)", "is a rout"),
            ("(table funcref (elem ropewalk_runtime::$r))", "is a rout"),
            ("(export \"r\" (func ropewalk_runtime::$r))", "is a rout"),
            ("(start ropewalk_runtime::$r)", "is a rout"),
            ("(func (stack.switch_call ropewalk_runtime::$r (call $new)))", "is a rout"),
            ("(func (throw ropewalk_runtime::$ping))", "`$ping` is a call_tag"),
            ("(func (suspend ropewalk_runtime::$ping))", "is a call_tag"),
            ("(func (stack.switch_drop ropewalk_runtime::$ping (call $new)))", "is a call_tag"),
            ("(func (block $l (try catch ropewalk_runtime::$ping $l)))", "is a call_tag"),
            ("(func (block $l (try_table (catch ropewalk_runtime::$ping $l))))", "is a call_tag"),
            ("(export \"a\" (tag ropewalk_runtime::$ping))", "is a call_tag"),
            ("(export \"a\" (event ropewalk_runtime::$ping))", "is a call_tag"),
            ("(export \"a\" (call_tag ropewalk_runtime::$stop))", "`$stop` is a tag or an event"),
            ("(func (call_stack ropewalk_runtime::$stop))", "`$stop` is a tag or an event"),
            ("(func (answer ropewalk_runtime::$tag within))", "`$tag` is a tag or an event"),
            (
                "(rout $x ropewalk_runtime::(export \"x\") (stack.start))",
                "a rout cannot be imported or exported",
            ),
            (
                "(import \"a\" \"b\" ropewalk_runtime::(rout $x))",
                "a rout cannot be imported or exported",
            ),
        ],
    );
}

#[test]
fn unknown_words_and_names() {
    check(
        false,
        &[
            ("(func (drop (local.get_clear ropewalk_runtime::$x)))", "unknown local"),
            ("(func (stack.redirect ropewalk_runtime::$x))", "unknown local"),
            ("(func (drop (global.get_clear ropewalk_runtime::$x)))", "unknown global"),
            ("(func (drop (table.get_clear ropewalk_runtime::$x (i32.const 0))))", "unknown table"),
            ("(func (stack.switch ropewalk_runtime::$x (call $new)))", "unknown tag"),
            ("(func (stack.switch_call ropewalk_runtime::$x (call $new)))", "unknown function"),
            ("(func (stack.switch_call $f ropewalk_runtime::$x (call $new)))", "unknown tag"),
            ("(func (drop (stack.extend ropewalk_runtime::$x (call $new))))", "unknown rout"),
            ("(func (call_stack ropewalk_runtime::$x))", "unknown call_tag"),
            ("(func (answer ropewalk_runtime::$x within))", "unknown call_tag"),
            ("(func (block $l (try catch ropewalk_runtime::$x $l)))", "unknown tag"),
            ("(func (try catch $stop ropewalk_runtime::$l))", "unknown label"),
            ("(func (ropewalk_runtime::stack.frob))", "unknown operator"),
            (
                "(func (param (ref ropewalk_runtime::stackref)))",
                "`stackref` is a value type and has no heap type",
            ),
            ("(event $x (param (ref ropewalk_runtime::$y)))", "unknown type"),
        ],
    );
}

#[test]
fn names_of_places() {
    check_with_objects(
        false,
        &[
            (
                "(func (param (ref $s)) (drop (struct.get_clear $s ropewalk_runtime::$x (local.get 0))))",
                "unknown field: there is no field named `$x`",
            ),
            (
                "(func (drop (struct.get_clear ropewalk_runtime::$x 0 (ref.null any))))",
                "unknown type",
            ),
            (
                "(func (drop (array.is_cleared ropewalk_runtime::$x (ref.null any) (i32.const 0))))",
                "unknown type",
            ),
            ("(func (drop (local.is_cleared ropewalk_runtime::$x)))", "unknown local"),
            ("(func (drop (global.is_cleared ropewalk_runtime::$x)))", "unknown global"),
            (
                "(func (drop (table.grow_cleared ropewalk_runtime::$x (i32.const 1))))",
                "unknown table",
            ),
            (
                "(func (param (ref $s)) (drop (struct.get_clear ropewalk_runtime::0 $f (local.get 0))))",
                "expected a name, found the number 0",
            ),
            (
                "(func (param (ref $a)) (drop (array.is_cleared ropewalk_runtime::0 (local.get 0) (i32.const 0))))",
                "expected a name, found the number 0",
            ),
            (
                "(func (param (ref $s)) (drop (struct.get_clear $s ropewalk_runtime::(local.get 0))))",
                "`struct.get_clear` expects the name of a field here, found `(local.get ..)`",
            ),
            (
                "(func (param (ref $s)) (drop (struct.get_clear ropewalk_runtime::(local.get 0))))",
                "expects the name of a struct type here",
            ),
            (
                "(func (drop (array.get_clearropewalk_runtime::)))",
                "expects the name of an array type here",
            ),
            ("(func (ropewalk_runtime::local.grow_cleared 0))", "unknown operator"),
        ],
    );
}

#[test]
fn missing_and_superfluous_words() {
    check(
        false,
        &[
            ("(func (stack.switchropewalk_runtime::))", "expects the name of an event here"),
            (
                "(func (stack.switch ropewalk_runtime::0 (call $new)))",
                "expected a name, found the number",
            ),
            (
                "(func (drop (stack.extend ropewalk_runtime::0 (call $new))))",
                "expected a name, found the number",
            ),
            (
                "(func (block $l (try catch $stop ropewalk_runtime::0)))",
                "expected a name, found the number",
            ),
            ("(func (call_stack ropewalk_runtime::(nop)))", "expects the name of a call_tag here"),
            (
                "(func (drop (local.get_clearropewalk_runtime::)))",
                "expects the name of a local here",
            ),
            (
                "(func (stack.redirect_to (call $new) ropewalk_runtime::within))",
                "expected `then`, found `within`",
            ),
            (
                "(func (stack.redirect_to (call $new) then (drop)ropewalk_runtime::))",
                "expected `within`, found `)`",
            ),
            (
                "(func stack.redirect_to call $new ropewalk_runtime::end)",
                "expected `then`, found `end`",
            ),
            ("(func (answer $ping (nop)ropewalk_runtime::))", "expected `within`"),
            ("(func answer $ping ropewalk_runtime::end)", "expected `within`"),
            ("(func answer $ping within end ropewalk_runtime::$l)", "mismatching labels"),
            ("(func (answer $ping within ropewalk_runtime::within))", "unexpected `within`"),
            (
                "(func (answer $ping ropewalk_runtime::then within))",
                "expected `within`, found `then`",
            ),
            ("(func ropewalk_runtime::within)", "unexpected `within`"),
            ("(func (block (nop) ropewalk_runtime::within))", "unexpected `within`"),
            ("(func answer $ping withinropewalk_runtime::)", "expected `end`"),
            ("(func block (nop)ropewalk_runtime::)", "expected `end`"),
            ("(func ropewalk_runtime::end)", "unexpected `end`"),
            ("(func (answer $ping within blockropewalk_runtime::))", "expected `end`"),
            ("(func (answer $ping within) ropewalk_runtime::end)", "unexpected `end`"),
            ("(func (block $l (try catch $stop $l ropewalk_runtime::(nop))))", "expected `catch`"),
            (
                "(func block $l try catch $stop $l ropewalk_runtime::nop end end)",
                "expected `catch`",
            ),
            ("(func (block $l (try (catch $stop $l ropewalk_runtime::(nop)))))", "expected `)`"),
            (
                "(func (drop (try (result i32) ropewalk_runtime::(do (nop)) (catch $done))))",
                "unexpected `(do ..)`: the code of a `try` stands in it as in a block",
            ),
            (
                "(func (block $l (try catch $stopropewalk_runtime::)))",
                "expects the name of a label here",
            ),
            (
                "(ropewalk_runtime::import \"host\" \"new_stack\" (func (result stackref)))",
                "import after",
            ),
            (
                "(ropewalk_runtime::func (import \"host\" \"new_stack\") (result stackref))",
                "import after",
            ),
            (
                "(call_tag $x (result i32) ropewalk_runtime::(param i32))",
                "parameters stand before results",
            ),
            (
                "(event $x (result i32) ropewalk_runtime::(param i32))",
                "parameters stand before results",
            ),
            (
                "(func answer $ping (result i32) ropewalk_runtime::(param i32) within end)",
                "before results",
            ),
            (
                "(func (answer $ping (param ropewalk_runtime::$x i32) within drop))",
                "unexpected `$x`",
            ),
            (
                "(func (local $x stackref) (stack.redirect $x (param ropewalk_runtime::$y i32)))",
                "unexpected `$y`",
            ),
            ("(func (try (param i32) (param ropewalk_runtime::$x i32)))", "unexpected `$x`"),
        ],
    );
}

#[test]
fn labels_around_code_that_does_not_see_them() {
    check(
        false,
        &[
            (
                "(func (block $l (answer $ping (br ropewalk_runtime::$l) within)))",
                "unknown label: `$l` is outside",
            ),
            (
                "(func (block $l (answer $ping (br_if ropewalk_runtime::$l (i32.const 1)) within)))",
                "outside",
            ),
            (
                "(func block $l answer $ping block $m i32.const 0 br_table $m ropewalk_runtime::$l end within end end)",
                "outside",
            ),
            (
                "(func (block $l (answer $ping (try_table (catch_all ropewalk_runtime::$l)) within)))",
                "outside",
            ),
            (
                "(func (block $l (answer $ping (try (catch $stop ropewalk_runtime::$l)) within)))",
                "outside",
            ),
            (
                "(func (block $l (answer $ping (br_on_null ropewalk_runtime::$l (call $new)) (drop) within)))",
                "outside",
            ),
            (
                "(func (block $l (answer $ping (resume $k (on $tag ropewalk_runtime::$l) (ref.null $k)) within)))",
                "outside",
            ),
            (
                "(func (block $l (stack.redirect_to (br ropewalk_runtime::$l) then (drop) within)))",
                "outside",
            ),
            (
                "(func (block $l (stack.redirect_to (call $new) then (drop) (br ropewalk_runtime::$l) within)))",
                "outside",
            ),
            (
                "(func (answer $ping (block $l (answer $ping (br ropewalk_runtime::$l) within)) within))",
                "outside",
            ),
        ],
    );
}

#[test]
fn code_that_leaves_its_function() {
    check(
        true,
        &[
            ("(func (answer $ping (ropewalk_runtime::return) within))", "`return` cannot stand"),
            (
                "(func $x (answer $ping (ropewalk_runtime::return_call $x) within))",
                "may not return",
            ),
            (
                "(func (answer $ping (ropewalk_runtime::return_call_ref $k.f (ref.null $k.f)) within))",
                "may not return",
            ),
            (
                "(func answer $ping i32.const 0 ropewalk_runtime::return_call_indirect $u within end)",
                "may not return",
            ),
            (
                "(func (stack.redirect_to (ropewalk_runtime::return) then (drop) within))",
                "`return` cannot stand",
            ),
            (
                "(func (stack.redirect_to (call $new) then (drop) (ropewalk_runtime::return) within))",
                "`return` cannot stand",
            ),
        ],
    );
}

#[test]
fn types_of_blocks() {
    check(
        true,
        &[
            ("(func (answer $ping within (i32.const 1)ropewalk_runtime::))", "type mismatch"),
            (
                "(func (answer $ping (i32.const 1) ropewalk_runtime::within))",
                "begins with `[]` on the stack, and must end with `[]`",
            ),
            (
                "(func (answer $ask ropewalk_runtime::within))",
                "begins with `[i32]` on the stack, and must end with `[i64]`",
            ),
            (
                "(func (local $x stackref) (stack.redirect $x (i32.const 1)ropewalk_runtime::))",
                "type mismatch",
            ),
            (
                "(func (stack.redirect_to (i32.const 1) ropewalk_runtime::then (drop) within))",
                "begins with `[]` on the stack, and must end with `[stackref]`",
            ),
            (
                "(func (stack.redirect_to (call $new) then ropewalk_runtime::within))",
                "begins with `[stackref]` on the stack, and must end with `[]`",
            ),
            ("(func (try (i32.const 1)ropewalk_runtime::))", "type mismatch"),
        ],
    );
}

#[test]
fn how_routs_begin() {
    check(
        true,
        &[
            ("(ropewalk_runtime::rout $x)", "a rout begins with openings"),
            ("(rout $x (ropewalk_runtime::nop) (stack.start))", "a rout begins with openings"),
            ("(rout $x (ropewalk_runtime::block) (stack.start))", "a rout begins with openings"),
            (
                "(rout $x (drop (ropewalk_runtime::i32.const 1)) (stack.start))",
                "a rout begins with openings",
            ),
            (
                "(rout $x (ropewalk_runtime::if (i32.const 1) (then (stack.start))))",
                "a rout begins with openings",
            ),
            (
                "(rout $x (answer $ping (stack.start) within (ropewalk_runtime::nop)))",
                "a rout begins with openings",
            ),
            ("(func (ropewalk_runtime::stack.start))", "can only stand at the beginning of a rout"),
            (
                "(rout $x (stack.start) (ropewalk_runtime::stack.start))",
                "can only stand at the beginning of a rout",
            ),
            (
                "(rout $x (answer $ping (ropewalk_runtime::stack.start) within (stack.start)))",
                "can only stand at",
            ),
            (
                "(rout $x (loop $l (block $m (try (stack.start) catch $stop $m)) (br ropewalk_runtime::$l)))",
                "branch back over `stack.start`",
            ),
            (
                "(rout $x (loop $l (try (stack.start) catch $stop ropewalk_runtime::$l)))",
                "branch back over `stack.start`",
            ),
            (
                "(rout $x loop $l stack.start i32.const 1 br_if ropewalk_runtime::$l end)",
                "branch back over `stack.start`",
            ),
        ],
    );
}

#[test]
fn kinds_do_not_match() {
    check(
        true,
        &[
            (
                "(func (param (ref null stack)) (ropewalk_runtime::stack.switch $back (local.get 0)))",
                "type mismatch",
            ),
            ("(func (result (ref null stack)) (call $new)ropewalk_runtime::)", "type mismatch"),
            // The module has words for continuations, which could be meant.
            (
                "(func (param (ref null stack)) (result stackref) (local.get 0)ropewalk_runtime::)",
                "found contref",
            ),
            (
                "(func (param (ref null cont)) (result stackref) (local.get 0)ropewalk_runtime::)",
                "type mismatch",
            ),
            ("(func (result anyref) (call $new)ropewalk_runtime::)", "type mismatch"),
            (
                "(type $c (stack (ref null $c))) (func (param (ref null $c)) (result stackref) (local.get 0)ropewalk_runtime::)",
                "type mismatch",
            ),
            (
                "(type $c (stack (ref null $c))) (func (result (ref null stack)) (call $new)ropewalk_runtime::)",
                "type mismatch",
            ),
            (
                "(func (drop (ropewalk_runtime::ref.cast (ref null cont) (call $new))))",
                "invalid cast",
            ),
            ("(func (drop (ropewalk_runtime::ref.eq (call $new) (call $new))))", "type mismatch"),
        ],
    );
}

/// Locals that parts use are kept elsewhere, and must be set all the same.
#[test]
fn locals_that_are_read_before_they_are_set() {
    let function = |code: &str| format!("(func $x (local $x (ref $k.f)) {code})");
    let set = "(local.set $x (ref.func $x))";
    let rows = [
        "(answer $ping (drop (ropewalk_runtime::local.get $x)) within (nop))".to_string(),
        "(answer $ping (drop (ropewalk_runtime::local.get 0)) within (nop))".to_string(),
        // What other code sets is not known to be set.
        format!("(answer $ping {set} within (drop (ropewalk_runtime::local.get $x)))"),
        format!("(answer $ping (drop (ropewalk_runtime::local.get $x)) within {set})"),
        format!(
            "(answer $ping within {set}) (answer $ping (drop (ropewalk_runtime::local.get $x)) within (nop))"
        ),
        format!("(answer $ping {set} within (nop)) (drop (ropewalk_runtime::local.get $x))"),
        format!("stack.redirect_to {set} ref.null stack then drop local.get $x drop within end")
            .replace("local.get $x", "ropewalk_runtime::local.get $x"),
        format!(
            "(block {set}) (answer $ping (drop (ropewalk_runtime::local.get $x)) within (nop))"
        ),
        format!(
            "(if (i32.const 1) (then {set}) (else (answer $ping (drop (ropewalk_runtime::local.get $x)) within)))"
        ),
        format!(
            "i32.const 1 if {set} else answer $ping ropewalk_runtime::local.get $x drop within end end"
        ),
        format!(
            "(if (i32.const 1) (then {set}) (else {set})) (answer $ping within) (drop (ropewalk_runtime::local.get $x))\
             (answer $ping (drop (local.get $x)) within)"
        ),
    ];
    let rows: Vec<String> = rows.iter().map(|code| function(code)).collect();
    let rows: Vec<(&str, &str)> =
        rows.iter().map(|row| (row.as_str(), "uninitialized local: `$x`")).collect();
    check(true, &rows);
}

/// Before the first word of a text stands nothing that could be looked at.
#[test]
fn a_type_that_a_text_begins_with_is_refused() {
    assert!(ropewalk_text::Text::parse("(result stackref)").is_err());
}
