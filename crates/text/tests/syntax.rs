//! Where errors of the text itself are found: each test gives a source, the
//! line and column, and how the message starts.

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
    check("(func)\n(import \"a\" \"b\" (func))", "2:2", "import after function");
    check("(func)\n(func (import \"a\" \"b\"))", "2:2", "import after function");
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
fn components_are_no_modules() {
    check("(component)", "1:2", "expected a module, found a component");
}
