//! Printed errors.

use ropewalk_text::{Text, TextError};

fn error(source: &str) -> TextError {
    Text::parse(source).unwrap_err()
}

#[track_caller]
fn check(source: &str, printed: &str) {
    let error = error(source).to_string();
    let (_, place) = error.split_once('\n').unwrap();
    assert_eq!(place, printed.strip_prefix('\n').unwrap(), "\n{error}");
}

#[test]
fn a_line_and_a_caret() {
    check(
        "(module\n  (func\n    local.get $y))",
        "
  --> 3:15
   |
 3 |     local.get $y))
   |               ^",
    );
}

#[test]
fn the_margin_fits_the_number() {
    check(
        &format!("(module{}(fun))", "\n".repeat(11)),
        "
   --> 12:2
    |
 12 | (fun))
    |  ^",
    );
}

#[test]
fn a_path() {
    let error = error("(modul)").with_path("lib/sum.wat");
    assert_eq!(error.path(), Some("lib/sum.wat"));
    assert_eq!(
        error.to_string(),
        "\
expected valid module field
  --> lib/sum.wat:1:2
   |
 1 | (modul)
   |  ^"
    );
}

#[test]
fn tabs_and_wide_characters() {
    check(
        "(func\n\t(; é漢 ;)\tlocal.get $y)",
        "
  --> 2:21
   |
 2 |     (; é漢 ;)    local.get $y)
   |                            ^",
    );
}

#[test]
fn the_end_of_the_input() {
    check(
        "(module\r\n  (func\r\n\r\n",
        "
  --> 2:8
   |
 2 |   (func
   |        ^",
    );
    check(
        "",
        "
  --> 1:1
   |
 1 | 
   | ^",
    );
}

#[test]
fn long_lines() {
    let nops = " nop".repeat(500);
    check(
        &format!("(func{nops} local.get $y{nops})"),
        "
  --> 1:2017
   |
 1 | ...p nop nop nop nop nop nop nop nop nop nop nop nop local.get $y nop nop nop nop nop nop nop nop nop n...
   |                                                                ^",
    );
}

/// The alternate form shows the lines before and after.
#[test]
fn lines_around() {
    let shown = |source: &str| format!("{:#}", error(source));
    let source = "(module\r\n  (func\r\n    local.get $y)\n\t(func))\n";
    assert_eq!(
        shown(source),
        "\
unknown local: failed to find name `$y`
  --> 3:15
   |
 2 |   (func
 3 |     local.get $y)
   |               ^
 4 |     (func))"
    );
    let lines = "\n".repeat(8);
    assert_eq!(
        shown(&format!("{lines}(func local.get $y\n)")),
        "\
unknown local: failed to find name `$y`
   --> 9:17
    |
  9 | (func local.get $y
    |                 ^
 10 | )"
    );
    assert_eq!(shown("(modul)"), error("(modul)").to_string());
}
