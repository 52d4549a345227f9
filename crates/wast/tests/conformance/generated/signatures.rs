//! Functions with any number of parameters and results. Values beyond the registers travel through
//! memory, in both directions.

use super::{check, repeat};

pub(crate) const MIXED: &[&str] = &["i32", "i64", "f32", "f64", "v128"];

/// Checks functions with `count` parameters and results, whose types repeat `pattern`.
#[track_caller]
fn check_count(pattern: &[&str], count: usize) {
    let types: Vec<_> = pattern.iter().copied().cycle().take(count).collect();
    let name = format!("{count} of {}", pattern.join(" "));
    check(&name, &(module(&types) + &assertions(&types)));
}

/// A module with a function that returns its parameters, one that reverses them, and every way to
/// call a function.
fn module(types: &[&str]) -> String {
    let (list, reversed) = (types.join(" "), reversed(types).join(" "));
    let parameters = repeat(types.len(), |i| format!("(local.get {i})"));
    let last_first = repeat(types.len(), |i| format!("(local.get {})", types.len() - 1 - i));
    let caller = |name: &str, call: &str, index: &str| {
        format!("(func (export \"{name}\") (type $same) ({call} {parameters} {index}))\n")
    };
    let module = [
        "(module\n(func $tick (import \"spectest\" \"print\"))\n".to_owned(),
        format!("(type $same (func (param {list}) (result {list})))\n"),
        format!("(type $reversed (func (param {list}) (result {reversed})))\n"),
        "(table funcref (elem $echo))\n".to_owned(),
        format!("(func $echo (export \"echo\") (type $same) {parameters})\n"),
        format!("(func $reverse (export \"reverse\") (type $reversed) {last_first})\n"),
        caller("call", "call $echo", ""),
        caller("call_indirect", "call_indirect (type $same)", "(i32.const 0)"),
        caller("return_call", "return_call $echo", ""),
        caller("return_call_indirect", "return_call_indirect (type $same)", "(i32.const 0)"),
        host_calls(types),
        ")\n".to_owned(),
    ];
    module.concat()
}

/// A function that calls the host while all its parameters and the results of a call are live.
fn host_calls(types: &[&str]) -> String {
    let (list, parameters) = (types.join(" "), repeat(types.len(), |i| format!("(local.get {i})")));
    format!(
        "(func $slow (type $same) (call $tick) {parameters} (call $tick))
         (func (export \"host\") (type $same)
           (call $slow {parameters})
           (call $tick)
           (block (param {list}) (result {list}) (call $tick) (call $slow)))\n"
    )
}

fn assertions(types: &[&str]) -> String {
    let values = repeat(types.len(), |i| value(types[i], i));
    let last_first = repeat(types.len(), |i| {
        let i = types.len() - 1 - i;
        value(types[i], i)
    });
    let same = ["echo", "call", "call_indirect", "return_call", "return_call_indirect", "host"];
    let mut script: String = same
        .iter()
        .map(|name| format!("(assert_return (invoke \"{name}\" {values}) {values})\n"))
        .collect();
    script += &format!("(assert_return (invoke \"reverse\" {values}) {last_first})\n");
    script
}

fn reversed<'a>(types: &[&'a str]) -> Vec<&'a str> {
    types.iter().rev().copied().collect()
}

/// The value of parameter number `i`. All values differ.
pub(crate) fn value(ty: &str, i: usize) -> String {
    match ty {
        "i64" => format!("(i64.const {})", (i as i64 + 1) << 32),
        "f32" => format!("(f32.const {i}.5)"),
        "f64" => format!("(f64.const -{i}.25)"),
        "v128" => format!("(v128.const i32x4 {i} {} {} -1)", i + 1, i + 2),
        "externref" => format!("(ref.extern {i})"),
        _ => format!("({ty}.const {i})"),
    }
}

#[test]
fn up_to_twenty() {
    for count in 0..=20 {
        check_count(MIXED, count);
    }
}

#[test]
fn more_than_there_are_integer_registers() {
    for count in [4, 5, 6, 7, 8, 9, 10, 16, 17, 18] {
        check_count(&["i32"], count);
        check_count(&["i64"], count);
        check_count(&["externref"], count);
    }
}

#[test]
fn more_than_there_are_vector_registers() {
    for count in [7, 8, 9, 15, 16, 17, 18] {
        check_count(&["f32"], count);
        check_count(&["f64"], count);
        check_count(&["v128"], count);
    }
}

#[test]
fn sixty_four() {
    for count in 63..=66 {
        check_count(MIXED, count);
        check_count(&["i32"], count);
        check_count(&["v128"], count);
    }
}

#[test]
fn a_hundred() {
    check_count(MIXED, 100);
    check_count(&["v128", "i32", "externref"], 101);
}

#[test]
fn as_many_as_there_may_be() {
    check_count(MIXED, 1000);
}
