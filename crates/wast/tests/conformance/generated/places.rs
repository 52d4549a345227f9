//! `get_clear`, `set_cleared` and `is_cleared` on each kind of place, with references of every type.

use ropewalk::{Engine, stress};
use ropewalk_wast::WastRunner;

/// A type, with the definitions that it needs, a non-null value, and the heap type of null.
struct Type {
    ty: &'static str,
    definitions: &'static str,
    make: &'static str,
    null: &'static str,
}

const FUNCTION: &str = "(type $ft (func)) (func $f (type $ft)) (elem declare func $f)";
const CONTINUATION: &str =
    "(type $ft (func)) (type $k (cont $ft)) (func $f (type $ft)) (elem declare func $f)";
const STACK: &str =
    "(rec (type $c (stack (ref null $c)))) (func $f (param (ref null $c)) (unreachable))";
const TASK: &str =
    "(type $k (task (param i32) (result))) (func $f (param (ref null $k)) (param i32))";
const THROWN: &str =
    "(block $l (result exnref) (try_table (catch_all_ref $l) (throw $e)) (unreachable))";
const NEW_STACK: &str = "(import \"host\" \"new_stack\" (func $new (result stackref)))";

#[rustfmt::skip]
const TYPES: &[Type] = &[
    Type { ty: "funcref", definitions: FUNCTION, make: "(ref.func $f)", null: "func" },
    Type { ty: "(ref null $ft)", definitions: FUNCTION, make: "(ref.func $f)", null: "$ft" },
    Type { ty: "externref", definitions: "", make: "(extern.convert_any (ref.i31 (i32.const 1)))", null: "extern" },
    Type { ty: "anyref", definitions: "", make: "(ref.i31 (i32.const 0))", null: "any" },
    Type { ty: "(ref null any)", definitions: "", make: "(struct.new_default $s)", null: "any" },
    Type { ty: "eqref", definitions: "", make: "(array.new_default $a (i32.const 3))", null: "eq" },
    Type { ty: "i31ref", definitions: "", make: "(ref.i31 (i32.const 0))", null: "i31" },
    Type { ty: "structref", definitions: "", make: "(struct.new_default $s)", null: "struct" },
    Type { ty: "arrayref", definitions: "", make: "(array.new_default $a (i32.const 0))", null: "array" },
    Type { ty: "(ref null $b)", definitions: "(type $b (struct))", make: "(struct.new $b)", null: "$b" },
    Type { ty: "exnref", definitions: "(tag $e)", make: THROWN, null: "exn" },
    Type { ty: "contref", definitions: CONTINUATION, make: "(cont.new $k (ref.func $f))", null: "cont" },
    Type { ty: "(ref null $k)", definitions: CONTINUATION, make: "(cont.new $k (ref.func $f))", null: "$k" },
    Type { ty: "(ref null stack)", definitions: STACK, make: "(stack.new $c $f)", null: "stack" },
    Type { ty: "(ref null $c)", definitions: STACK, make: "(stack.new $c $f)", null: "$c" },
    Type { ty: "taskref", definitions: TASK, make: "(task.new $k $f)", null: "task" },
    Type { ty: "(ref null $k)", definitions: TASK, make: "(task.new $k $f)", null: "$k" },
    Type { ty: "fiberref", definitions: "", make: "(fiber.new)", null: "fiber" },
    Type { ty: "stackref", definitions: NEW_STACK, make: "(call $new)", null: "stack" },
];

/// Types whose only value is null.
const EMPTY: &[Type] = &[
    Type { ty: "nullref", definitions: "", make: "(ref.null none)", null: "none" },
    Type { ty: "nullfuncref", definitions: "", make: "(ref.null nofunc)", null: "nofunc" },
    Type { ty: "nullexternref", definitions: "", make: "(ref.null noextern)", null: "noextern" },
    Type { ty: "nullexnref", definitions: "", make: "(ref.null noexn)", null: "noexn" },
    Type { ty: "nullcontref", definitions: "", make: "(ref.null nocont)", null: "nocont" },
    Type { ty: "(ref null nostack)", definitions: "", make: "(ref.null nostack)", null: "nostack" },
];

/// A place: the prefix and the immediates of its instructions, and the operands that locate it.
type Place = (&'static str, &'static str, &'static str);

const PLACES: &[Place] = &[
    ("local", "$x", ""),
    ("global", "$g", ""),
    ("table", "$t", "(i32.const 1)"),
    ("table", "$t64", "(i64.const 1)"),
    ("struct", "$s $f", "(local.get $struct)"),
    ("struct", "$s 1", "(local.get $struct)"),
    ("array", "$a", "(local.get $array) (i32.const 1)"),
];

/// A local that the code of an `answer` uses, and that is therefore in a struct.
const CAPTURED: Place = ("local", "$captured", "");

/// A module with two functions for each place: one tests, fills, tests, takes and tests, the other
/// fills twice.
fn module(ty: &Type, places: &[Place]) -> String {
    let Type { ty, definitions, make, null } = ty;
    let mut functions = String::new();
    for (number, (sort, name, at)) in places.iter().enumerate() {
        let begin = format!(
            "(local $x {ty}) (local $captured {ty}) (local $struct (ref $s)) \
             (local $array (ref null $a)) \
             (local.set $struct (struct.new_default $s)) \
             (local.set $array (array.new_default $a (i32.const 2)))"
        );
        let capture = match places {
            [CAPTURED] => "(answer $ask (local.is_cleared $captured) within)",
            _ => "",
        };
        functions += &format!(
            "(func (export \"use {number}\") (result i32 i32 i32 i32 i32) {begin} {capture}
                ({sort}.is_cleared {name} {at})
                ({sort}.set_cleared {name} {at} (call $make))
                ({sort}.is_cleared {name} {at})
                (ref.is_null ({sort}.get_clear {name} {at}))
                ({sort}.is_cleared {name} {at})
                (ref.is_null ({sort}.get_clear {name} {at})))
             (func (export \"fill {number}\") {begin} {capture}
                ({sort}.set_cleared {name} {at} (call $make))
                ({sort}.set_cleared {name} {at} (call $make)))
             "
        );
    }
    let call_tag = match places {
        [CAPTURED] => "(call_tag $ask (result i32))",
        _ => "",
    };
    format!(
        "(module
            {definitions} {call_tag}
            (type $s (struct (field i64) (field $f (mut {ty}))))
            (type $a (array (mut {ty})))
            (global $g (mut {ty}) (ref.null {null}))
            (table $t 2 {ty})
            (table $t64 i64 2 {ty})
            (func $make (result {ty}) {make})
            (func (export \"grow\") (result i32 i64 i32 i32)
                (table.grow_cleared $t (i32.const 3)) (table.grow_cleared $t64 (i64.const 4))
                (table.is_cleared $t (i32.const 4)) (table.is_cleared $t64 (i64.const 5)))
            {functions})
         (assert_return (invoke \"grow\")
            (i32.const 2) (i64.const 2) (i32.const 1) (i32.const 1))\n"
    )
}

/// The script for a type; `full` is whether its values are not null.
fn script(ty: &Type, places: &[Place], full: bool) -> String {
    let empty = i32::from(!full);
    let mut script = module(ty, places);
    for number in 0..places.len() {
        script += &format!(
            "(assert_return (invoke \"use {number}\")
                (i32.const 1) (i32.const {empty}) (i32.const {empty}) (i32.const 1) (i32.const 1))\n"
        );
        script += &match full {
            true => {
                format!("(assert_trap (invoke \"fill {number}\") \"linear slot is not empty\")\n")
            }
            false => format!("(assert_return (invoke \"fill {number}\"))\n"),
        };
    }
    script
}

#[test]
fn places_hold_references_of_every_type() {
    for mode in [stress::DEFAULT, stress::MOVE, stress::COLLECT] {
        let engine = Engine::new(&mode.config()).expect("the configuration is supported");
        let runner = WastRunner::new(&engine);
        let all = TYPES.iter().map(|ty| (ty, true)).chain(EMPTY.iter().map(|ty| (ty, false)));
        for (ty, full) in all {
            let text = script(ty, PLACES, full) + &script(ty, &[CAPTURED], full);
            let report = runner.run_script(ty.ty, &text);
            assert!(report.failures.is_empty(), "{report}, {}, {}", ty.ty, mode.name);
        }
    }
}
