//! Positions and messages of errors that validation finds in the binary.

use crate::common::errors::{Row, rows, validate};
use ropewalk_text::{Text, TextError};
use wasmparser::WasmFeatures;

#[track_caller]
fn invalid(text: &Text) -> TextError {
    validate(text, WasmFeatures::all()).expect_err("the module is valid")
}

#[track_caller]
fn check(source: &str, position: &str, message: &str) {
    let text = Text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let error = invalid(&text);
    let found = error.position().expect("a position").to_string();
    assert_eq!(found, position, "\n{error}");
    assert!(error.message().starts_with(message), "\n{error}");
}

#[track_caller]
fn check_table(head: &str, table: &str) {
    for Row { source, position, message } in rows(head, table) {
        check(&source, &position, message);
    }
}

const MISMATCH: &str = "type mismatch";

#[test]
fn plain_code() {
    check(
        "(module\n  (func\n    i32.const 1\n    i64.const 2\n    i32.add\n    drop))",
        "5:5",
        MISMATCH,
    );
    check("(func i32.const 1 i64.eqz drop nop)", "1:19", MISMATCH);
    check("(func (result i32) local.get 7)", "1:20", "unknown local 7");
    check("(func nop call 9)", "1:11", "unknown function 9");
}

#[test]
fn folded_code() {
    let rows = r"
(module
  (func (param $x i32) (result i32)
    (i32.mul
      (i32.add (local.get $x) (i32.const 1))
      (i32.sub (local.get $x)
               (^i64.extend_i32_u (f32.const 1)))))) => type mismatch
(func (drop (^i32.add (i32.const 1) (i64.const 2)))) => type mismatch
(func (local f32)
 (^i64.store (i32.const 0)
  (local.get 0)))
(memory 1) => type mismatch
";
    check_table("", rows);
}

#[test]
fn nested_blocks() {
    check(
        "(func (param i32)
  block
    loop
      local.get 0
      if
        f32.const 0
        br_if 1
      else
        nop
      end
    end
  end)",
        "7:9",
        MISMATCH,
    );
    check(
        "(func (block\n (loop (nop)\n  (if (i32.const 1)\n   (then (i32.const 7))))))",
        "4:24",
        MISMATCH,
    );
    check("(func\n block (result i32)\n  nop\n end\n drop)", "4:2", MISMATCH);
    check("(func (block (result i32)\n  nop\n  )\n drop)", "3:3", MISMATCH);
    check(
        "(func (drop (if (result i32) (i32.const 1)\n (then (nop))\n (else (i32.const 2)))))",
        "3:3",
        MISMATCH,
    );
    check("(func nop\n br 3)", "2:2", "unknown label");
}

#[test]
fn the_end_of_a_function() {
    check("(func (result i32)\n  nop\n)", "3:1", MISMATCH);
    check("(func\n  i32.const 1 ;; )\n  (; ) ;) )", "3:11", MISMATCH);
    check("(func (result i32))\n(func (result i64))", "1:19", MISMATCH);
}

#[test]
fn the_second_function() {
    check("(func nop)\n(func i32.add)", "2:7", MISMATCH);
    check("(func $a (result i32) (i32.const 1))\n(func $b (call $a))", "2:19", MISMATCH);
}

#[test]
fn after_sugar() {
    let text = r#"(module
  (func $log (import "host" "log") (param i32))
  (import "host" "x" (global i32))
  (memory (export "m") (export "memory") (data "abc"))
  (table funcref (elem $f $f))
  (global (export "g") (mut f64) (f64.const 0))
  (func (export "h") (param f32 f32) (result f32) (f32.add (local.get 0) (local.get 1)))
  (func $f (export "f") (export "f2") (param i32) (result i64)
    (call_indirect (param i64) (result i64)
      (local.get 0)
      (i32.const 0))))"#;
    check(text, "9:6", MISMATCH);
}

#[test]
fn locals() {
    check(
        "(module\n (func (local i32 i32)\n  (local $x i64) (local (ref 7))))",
        "3:25",
        "unknown type 7",
    );
    check("(func)\n(func (local i32 (ref null 9) f32))", "2:18", "unknown type 9");
    check("(func (local $r (ref func))\n (drop (local.get $r)))", "2:9", "uninitialized local");
}

#[test]
fn types() {
    check("(type (func))\n(type (func (param (ref 9))))", "2:2", "unknown type 9");
    check("(type (func))\n(rec (type (func))\n (type (sub 5 (func))))", "2:2", "supertypes must");
    check("(rec (type (sub (func)))\n (type (sub 0 (struct))))", "1:2", "sub type must match");
    check("(type (sub final (func)))\n(type $b (sub 0 (func)))", "2:2", "sub type cannot");
    check("(type (struct))\n(type (cont 0))", "2:2", "non-function type 0");
}

#[test]
fn undeclared_types() {
    check("(func)\n(func (param (ref 9)))", "2:2", "unknown type 9");
    check("(import \"a\" \"b\" (func (param (ref 9))))", "1:2", "unknown type 9");
    check("(func\n block (param i32) (result (ref 9))\n end)", "2:2", "unknown type 9");
    check("(tag (param (ref 9)))", "1:2", "unknown type 9");
}

#[test]
fn type_uses() {
    check("(func)\n(func (type 7))", "2:13", "unknown type 7");
    check("(type $t (func))\n(func (export \"a\") (type 1))", "2:26", "unknown type 1");
    check("(import \"a\" \"b\" (func (type 3)))", "1:29", "unknown type 3");
    check("(func (import \"a\" \"b\") (type 3))", "1:30", "unknown type 3");
    check("(tag)\n(tag (type 5))", "2:12", "unknown type 5");
}

#[test]
fn imports() {
    check("(import \"a\" \"b\" (func))\n(import \"a\" \"c\" (memory 1 0))", "2:2", "size minimum");
    check("(global (import \"a\" \"b\") (ref 3))", "1:2", "unknown type 3");
    check(
        "(import \"a\" (item \"b\" (func)) (item \"c\" (global (ref 3))))",
        "1:32",
        "unknown type 3",
    );
    check("(import \"a\"\n (item \"b\" (global (ref 3))))", "2:3", "unknown type 3");
}

#[test]
fn tables_and_memories() {
    check("(memory 1)\n(memory 2 1)", "2:2", "size minimum");
    check("(table 1 funcref)\n(table 2 1 funcref)", "2:2", "size minimum");
    check("(table 1 (ref func))", "1:2", MISMATCH);
    check("(table 1 funcref (ref.null extern))", "1:19", MISMATCH);
    check("(table 1 funcref\n (i32.const 0))", "2:3", MISMATCH);
}

#[test]
fn globals() {
    check("(global i32 (i32.const 0))\n(global i32 (i64.const 0))", "2:14", MISMATCH);
    check("(global i32 (i32.add (i32.const 0)\n (i64.const 1)))", "1:14", MISMATCH);
    check("(global i32\n i32.const 0\n i32.popcnt)", "3:2", "constant expression required");
    check("(global i32 (global.get 7))", "1:14", "unknown global 7");
    check("(global i32)", "1:2", MISMATCH);
}

#[test]
fn exports() {
    check(
        "(func $f)\n(export \"a\" (func $f))\n(export \"a\" (func $f))",
        "3:2",
        "duplicate export name",
    );
    check("(func (export \"a\"))\n(export \"b\" (memory 0))", "2:2", "unknown memory 0");
    check(
        "(func (export \"a\"))\n(memory $m (export \"b\") (export \"c\")\n  (export \"a\") 1)",
        "3:4",
        "duplicate export name",
    );
    check("(func (export \"a\") (export \"a\"))", "1:21", "duplicate export name");
}

#[test]
fn start_functions() {
    check("(func $f (param i32))\n(start $f)", "2:8", "invalid start function");
    check("(start 3)", "1:8", "unknown function 3");
}

#[test]
fn element_segments() {
    check("(table 1 funcref)\n(elem (i32.const 0) func 0 1)\n(func)", "2:28", "unknown function 1");
    check("(table 1 funcref)\n(func)\n(elem (i64.const 0) 0)", "3:8", MISMATCH);
    check("(table 1 funcref)\n(func)\n(elem (offset i32.const 0 f32.const 0) 0)", "3:27", MISMATCH);
    check("(elem funcref (ref.null func) (item (i32.const 1)))", "1:38", MISMATCH);
    check("(elem (i32.const 0) func)", "1:2", "unknown table 0");
    check("(table 1 externref)\n(func)\n(elem (i32.const 0) 0)", "3:2", MISMATCH);
    check("(type (func))\n(table (ref null 0) (elem 0 1))\n(func)", "2:29", "unknown function 1");
}

#[test]
fn data_segments() {
    check("(memory 1)\n(data (i32.const 0) \"\")\n(data (i64.const 0) \"\")", "3:8", MISMATCH);
    check("(memory 1)\n(data (memory 0) (f32.const 0) \"\")", "2:19", MISMATCH);
    check("(memory 1)\n(data (offset f32.const 0) \"\")", "2:15", MISMATCH);
    check("(memory 1)\n(data (i32.add (i32.const 0) (i64.const 0)) \"\")", "2:8", MISMATCH);
    check("(data (i32.const 0) \"\")", "1:2", "unknown memory 0");
    check(
        "(memory 1)\n(func (memory.init 3 (i32.const 0) (i32.const 0) (i32.const 0)))",
        "2:8",
        "unknown data segment 3",
    );
}

#[test]
fn tags() {
    check("(tag)\n(func (throw 1))", "2:8", "unknown tag 1");
}

#[test]
fn columns_are_characters() {
    check("(func (; é漢😀 ;) i64.eqz drop)", "1:17", MISMATCH);
    check("(func\n\t\ti64.eqz\tdrop)", "2:3", MISMATCH);
    check("(func (export \"漢字\") i64.eqz drop)", "1:21", MISMATCH);
}

#[test]
fn lines_end_with_lf_cr_or_both() {
    check("(func\r\n  nop\r\n  i64.eqz\r\n  drop)\r\n", "3:3", MISMATCH);
    check("(func\r  nop\r  i64.eqz\r  drop)\r", "3:3", MISMATCH);
}

#[test]
fn comments_and_annotations() {
    check(
        "(func (@custom.note \")\" (nop)) (; (func) ;) ;; )\n (result i32) (@x))",
        "2:19",
        MISMATCH,
    );
    check("(func (@name \"f\") (local (@name \"l\") (ref 7)))", "1:38", "unknown type 7");
}

#[test]
fn literals() {
    let binary = |section| format!("(module binary \"\\00asm\" \"\\01\\00\\00\\00\"\n {section})");
    check(&binary(r#""\0c\01\ff""#), "2:12", "unexpected end");
    check(&binary(r#""\03\02" "" "\01\07""#), "2:18", "unknown type 7");
    check(r#"(module quote "(func" "(drop (i64.eqz \28i32.const 1))))")"#, "1:31", MISMATCH);
    check(r#"(module quote "(func i32.const \31)")"#, "1:35", MISMATCH);
}

#[test]
fn offsets_without_a_position() {
    let text = Text::parse("\n (module (func))").unwrap();
    assert_eq!(text.position(0), None);
    assert_eq!(text.position(text.binary().len() + 10), None);
    assert_eq!(text.error_at(0, "").position().unwrap().to_string(), "2:3");
}

/// Types have names of the source instead of the validator's placeholders and numbers.
#[test]
fn types_are_named() {
    let types = "(type $f (func)) (type $g (func (param i32))) (type (func (param i64)))";
    check_table(
        &format!("{types}\n"),
        r#"
(func (param (ref $g)) (result (ref null $f)) (local.get 0)^)
    => type mismatch: expected (ref null $f), found (ref $g)
(func (param (ref $g) f64) (^call_ref $f (local.get 0)))
    => type mismatch: expected (ref null $f), found (ref $g)
(func (drop (^ref.eq (ref.null $f) (ref.null $g))))
    => type mismatch: expected subtype of eqref, found (ref null $g)
;; The expected type of a missing operand below one that is there.
(func $h (param (ref $f) (ref null $g) f32))
(func (^call $h (ref.null $g) (f32.const 1)))
    => type mismatch: expected (ref $f) but nothing on stack
(func $h (param (ref $f) (ref $g)))
(func $i (export "i") (type $g) (^call $h (ref.func $i)))
    => type mismatch: expected (ref $f) but nothing on stack
(func (param i32) (^call_ref $f)) => type mismatch: expected (ref null $f) but nothing on stack
;; Constant expressions.
(global (ref null $f) (^ref.null $g)) => type mismatch: expected (ref null $f), found (ref null $g)
(import "a" "b" (global $i (ref $g)))
(global (ref $f) (^global.get $i)) => type mismatch: expected (ref $f), found (ref $g)
(func $h (type $g)) (table 1 (ref $f) (^ref.func $h))
    => type mismatch: expected (ref $f), found (ref (exact $g))
(elem (ref null $f) (item ^ref.null $g))
    => type mismatch: expected (ref null $f), found (ref null $g)
;; The third type has no name.
(func (param (ref 2)) (result (ref null $f)) (local.get 0)^)
    => type mismatch: expected (ref null $f), found (ref (func (param i64)))
(type (struct (field (mut (ref null 2))) (field i8))) (func (param (ref 3)) (^call_ref $f (local.get 0)))
    => type mismatch: expected (ref null $f), found (ref (struct (field (mut (ref null (func ..)))) (field i8)))
(func $h) (global (ref 2) (^ref.func $h))
    => type mismatch: expected (ref (func (param i64))), found (ref (exact $f))
(type $"a b" (func (param f32))) (func (param (ref $"a b")) (^call_ref $f (local.get 0)))
    => type mismatch: expected (ref null $f), found (ref $"a b")
"#,
    );
}

/// Types and tags for clauses.
const CLAUSES: &str = "(type $f (func)) (type $k (cont $f)) (type $g (func (param i64) (result f32))) \
                       (type $c (cont $g)) (tag $e (param i32)) (tag $r (param i32) (result i64)) \
                       (tag $s (result i64))";

/// An error about a label is shown at the label, with the expected and actual types.
#[test]
fn labels_of_catches() {
    let check = |table: &str| {
        for Row { source, position, message } in rows(&format!("{CLAUSES}\n(func\n"), table) {
            let message = format!("type mismatch: expected a label that takes {message}");
            check(&format!("{source})"), &position, &message);
        }
    };
    let text = r"
(block $l (result i64) (try_table (catch $e ^$l)) (unreachable)) (drop)
    => [i32], found one that takes [i64]
(block $l (try_table (catch $e ^$l))) => [i32], found one that takes []
(block $a (block $l (result i32) (try_table (catch_all $a) (catch_ref $e ^$l)) (unreachable)) (drop))
    => [i32 (ref exn)], found one that takes [i32]
(block $l (result i32 (ref $f))
  try_table (catch_ref $e ^$l) end unreachable) (drop) (drop)
    => [i32 (ref exn)], found one that takes [i32 (ref $f)]
(block $l (result i32) (try_table (catch_all ^$l)) (unreachable)) (drop)
    => [], found one that takes [i32]
(block $l (result i32) (try_table (catch_all_ref ^$l)) (unreachable)) (drop)
    => [(ref exn)], found one that takes [i32]
;; The parameters of a loop, the results of the function.
(i32.const 1) (loop $l (param i32) (drop) (try_table (catch_all ^$l)))
    => [], found one that takes [i32]
(try_table (catch $e ^0)) => [i32], found one that takes []
;; The operand is wrong as well.
(block $l (try_table (param i32) (catch $e ^$l) (drop))) => [i32], found one that takes []
";
    check(text);
}

#[test]
fn labels_of_resume_clauses() {
    let check = |code: &str, position: &str, message: &str| {
        let message = format!("type mismatch: expected a {message}");
        check(&format!("{CLAUSES}\n(func\n{code})"), position, &message);
    };
    let label = |types: &str, clause: &str| {
        format!("(block $l{types} (resume $k {clause} (ref.null $k)) (unreachable)) (unreachable)")
    };
    check(
        &label(" (result i32)", "(on $e $l)"),
        "3:42",
        "label that takes [i32 (ref $k)], found one that takes [i32]",
    );
    check(
        &label("", "(on $e $l)"),
        "3:29",
        "label that takes [i32 (ref $k)], found one that takes []",
    );
    check(
        &label(" (result i32 (ref $c))", "(on $e $l)"),
        "3:51",
        "label that takes [i32 (ref $k)], found one that takes [i32 (ref $c)]",
    );
    check(
        &label(" (result i64 (ref $k))", "(on $e $l)"),
        "3:51",
        "label that takes [i32 (ref $k)], found one that takes [i64 (ref $k)]",
    );
    check(
        &label(" (result i32 contref)", "(on $e $l)"),
        "3:50",
        "label that takes [i32 (ref $k)], found one that takes [i32 contref]",
    );
    check(
        &label(" (result i32 (ref $k))", "(on $e $l) (on $r $l)"),
        "3:62",
        "label that takes [i32 (ref (cont [i64] -> []))], found one that takes [i32 (ref $k)]",
    );
    check(&label("", "(on $s switch)"), "3:26", "tag of [] -> [], found one of [] -> [i64]");
    check(
        "(block $l (resume_throw $k $e (on $e $l) (i32.const 1) (ref.null $k)))",
        "3:38",
        "label that takes [i32 (ref $k)], found one that takes []",
    );
    check(
        "(block $l (resume_throw_ref $k (on $e $l) (ref.null exn) (ref.null $k)))",
        "3:39",
        "label that takes [i32 (ref $k)], found one that takes []",
    );
}

#[test]
fn clauses_that_name_nothing() {
    check("(tag $e)\n(func (try_table (catch $e 7)))", "2:28", "unknown label");
    check("(tag $e)\n(func (try_table (catch_all 0) (catch 7 0)))", "2:41", "unknown tag 7");
}

#[test]
fn undeclared_function_references_get_advice() {
    let hint = |function: &str| {
        format!(
            "undeclared function reference: a function that `ref.func` names in a body must be \
             named outside of bodies too; add `(elem declare func {function})` to the module"
        )
    };
    check("(func $f)\n(func (drop (ref.func $f)))", "2:14", &hint("$f"));
    check("(func)\n(func ref.func 0 drop)", "2:7", &hint("0"));
    check(
        "(type $c (stack (ref null $c)))\n(func $f)\n(func (drop (ref.func $f)))",
        "3:14",
        &hint("$f"),
    );
}

/// In a binary, types have the names of its name section.
#[test]
fn messages_about_binaries_have_names() {
    let check = |source: &str, message: &str| {
        let text = Text::parse(source).unwrap();
        let error = wasmparser::validate(text.binary()).err().expect("it is invalid");
        let offset = error.offset() as usize;
        let found = ropewalk_text::explain_binary(text.binary(), offset, error.message());
        assert_eq!(found, message);
    };
    check(
        "(type $f (func)) (type $g (func (param i32))) (func (param (ref $g)) (call_ref $f (local.get 0)))",
        "type mismatch: expected (ref null $f), found (ref $g)",
    );
    check(
        "(type $f (func)) (global (ref null $f) (ref.null extern))",
        "type mismatch: expected (ref null $f), found externref",
    );
    check(
        "(tag $e (param i32)) (func (try_table (catch $e 0)))",
        "type mismatch: expected a label that takes [i32], found one that takes []",
    );
}
