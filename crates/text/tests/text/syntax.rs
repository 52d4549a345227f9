//! Positions and messages of errors that parsing finds.

use ropewalk_text::Text;

#[track_caller]
fn check(source: &str, position: &str, message: &str) {
    let error = Text::parse(source).expect_err("the text is parsed");
    let found = error.position().expect("a position");
    assert_eq!((found.to_string().as_str(), error.message()), (position, message), "\n{error}");
}

#[test]
fn unknown_names() {
    let message = "unknown local: failed to find name `$y`";
    check("(module\n  (func (param $x i32)\n    local.get $y))", "3:15", message);
    check("(module\n  (func (drop\n    (local.get $y))))", "3:16", message);
    check("(func (call $g))", "1:13", "unknown func: failed to find name `$g`");
    check("(func)\n(start $g)", "2:8", "unknown func: failed to find name `$g`");
    check("(export \"a\" (memory $m))", "1:21", "unknown memory: failed to find name `$m`");
    check("(func block $a\n br $b\n end)", "2:5", "unknown label: failed to find name `$b`");
    check("(func (type $t))", "1:13", "unknown type: failed to find name `$t`");
}

#[test]
fn exceptions_of_the_legacy_proposal() {
    let message = ropewalk_text::LEGACY_EXCEPTIONS;
    let legacy = |code: &str, column: usize| {
        check(&format!("(tag $e)\n(func {code})"), &format!("2:{column}"), message);
    };
    legacy("(try (do (throw $e)) (catch $e (nop)))", 8);
    legacy("(try $l (result i32) (do (i32.const 1)) (catch_all (i32.const 2)))", 8);
    legacy("(try (do (throw $e)) (delegate 0))", 8);
    legacy("try throw $e catch $e nop end", 7);
    legacy("nop try throw 0 catch 0 nop end", 11);
    legacy("try nop catch $e end", 7);
    legacy("try throw $e catch_all rethrow 0 end", 7);
    legacy("try throw $e delegate 0", 7);
    // Errors in other functions stay.
    let other = "(func i32.ad)\n(func (try (do (nop))))";
    check(other, "1:7", "unknown operator or unexpected token");
}

#[test]
fn names_declared_twice() {
    check("(func $f)\n(func $g)\n(func $f)", "3:7", "duplicate func identifier");
    check("(func (param $x i32)\n (local $x i32))", "2:9", "duplicate local identifier");
}

#[test]
fn unexpected_tokens() {
    check("(module (fun))", "1:10", "expected valid module field");
    check("(modul)", "1:2", "expected valid module field");
    check("(module (func i32.ad))", "1:15", "unknown operator or unexpected token");
    check("(module (func) nop)", "1:16", "expected `(`");
    check("(module) (module)", "1:10", "extra tokens remaining after parse");
    check("(func (i32.const 0x1_0000_0000))", "1:18", "invalid i32 number: constant out of range");
}

#[test]
fn malformed_tokens() {
    check("(func $f)\n\"abc", "2:5", "unexpected end-of-file");
    check("(module) (; never closed", "1:10", "unterminated block comment");
    check("(export \"\\q\" (func 0))", "1:11", "invalid string escape 'q'");
    check("(module é)", "1:9", "unexpected character '\\u{e9}'");
}

#[test]
fn the_end_of_the_input() {
    let message = "expected `)`";
    check("(module", "1:8", message);
    check("(module\n  (func", "2:8", message);
    check("(module\n  (func\n\n  \n", "2:8", message);
    check("(module\r\n  (func)\r\n", "2:9", message);
    check("", "1:1", "expected at least one module field");
    check("\n\n", "1:1", "expected at least one module field");
}

#[test]
fn columns_are_characters() {
    let message = "unknown local: failed to find name `$y`";
    check("(func (; é漢😀 ;) local.get $y)", "1:27", message);
    check("(func\n\t\tlocal.get\t$y)", "2:13", message);
    check("(export \"漢字\" (func $y))", "1:20", "unknown func: failed to find name `$y`");
}

#[test]
fn lines_end_with_lf_cr_or_both() {
    let message = "unknown local: failed to find name `$y`";
    check("(module\r\n  (func\r\n    local.get $y))\r\n", "3:15", message);
    check("(module\r  (func\r    local.get $y))\r", "3:15", message);
}

#[test]
fn imports_come_first() {
    let definitions = [
        ("(func)", "import after function"),
        ("(table 1 funcref)", "import after table"),
        ("(memory 1)", "import after memory"),
        ("(global i32 (i32.const 0))", "import after global"),
        ("(tag)", "import after tag"),
        ("(tag (export \"t\"))", "import after tag"),
    ];
    let imports = [
        "(func (import \"a\" \"b\"))",
        "(table (import \"a\" \"b\") 1 funcref)",
        "(memory (import \"a\" \"b\") 1)",
        "(global (import \"a\" \"b\") i32)",
        "(tag (import \"a\" \"b\"))",
        "(tag (export \"e\") (import \"a\" \"b\"))",
        "(import \"a\" \"b\" (func))",
        "(import \"a\" \"b\" (table 1 funcref))",
        "(import \"a\" \"b\" (memory 1))",
        "(import \"a\" \"b\" (global i32))",
        "(import \"a\" \"b\" (tag))",
    ];
    let designs = [
        "",
        "(type $f (func)) (type $k (cont $f))",
        "(type $c (stack (ref null $c)))",
        "(type $t (task))",
        "(global (import \"a\" \"g\") fiberref)",
        "(global (import \"a\" \"g\") (mut stackref))",
    ];
    for design in designs {
        for (definition, message) in definitions {
            for import in imports {
                check(&format!("{design}\n{definition}\n{import}"), "3:2", message);
            }
        }
    }
}

#[test]
fn blocks_that_are_not_balanced() {
    let message = "expected `end`: a block is not closed";
    check("(func\n block\n nop)\n(func)", "3:5", message);
    check("(func nop)\n(func block)\n(data \"\")", "2:12", message);
    check("(func (if (i32.const 1) (then\n loop)))", "2:8", message);
    check("(global i32 i32.const 1 block)", "1:2", message);
    check("(func\n nop end\n nop)", "2:6", "unexpected `end`");
    check("(func (block\n end))", "2:5", "unexpected `end`");
    check("(memory 1) (data (offset i32.const 1 end))", "1:38", "unexpected `end`");
    check("(table 1 funcref) (elem (offset (i32.const 1) end))", "1:47", "unexpected `end`");
    check("(elem funcref (item ref.null func end))", "1:35", "unexpected `end`");
    check("(table 1 funcref (end))", "1:19", "unexpected `end`");
    check("(func\n nop\n else nop)", "3:2", "unexpected `else`");
    check("(func block else end)", "1:13", "unexpected `else`");
    check("(func (if (i32.const 1) (then) (else else)))", "1:38", "unexpected `else`");
    check("(tag $e) (func (catch $e))", "1:17", "unexpected `catch`");
    check("(func block catch_all end)", "1:13", "unexpected `catch_all`");
    check("(func block delegate 0)", "1:13", "unexpected `delegate`");
}

#[test]
fn a_second_start() {
    let message = "unexpected second `start`: a module has at most one";
    check("(func $f)\n(start $f)\n(start $f)", "3:8", message);
}

#[test]
fn quoted_text() {
    check(
        "(module quote\n  \"(func \\n\"\n  \"\\22 local.get \\24y)\")",
        "3:23",
        "unexpected end-of-file",
    );
    check(
        "(module quote\n  \"(func \\n\"\n  \"  local.get \\24y)\")",
        "3:16",
        "unknown local: failed to find name `$y`",
    );
    check("(module quote \"(func\"   )", "1:21", "expected `)`");
    check("(module quote \"(func \\ff)\")", "1:22", "malformed UTF-8 encoding");
}

#[test]
fn components_are_not_modules() {
    check("(component)", "1:2", "expected a module, found a component");
}
