//! Functions whose frames are much larger than a page. Without room on the stack, their calls trap
//! like all others: a frame must not skip the guard pages at the end of the stack.

use super::{check, repeat};

/// A function `$f` that recurs `depth` times with `count` values of a type live across each call, and
/// returns the number of unchanged values.
fn recursive(ty: &str, count: usize) -> String {
    let locals = format!("{ty} ").repeat(count);
    let load = repeat(count, |i| format!("(local.set {} {})", i + 1, load(ty, i)));
    let compare = repeat(count, |i| format!("{} (i32.add)", equal(ty, i)));
    format!(
        "(module
           (import \"spectest\" \"print_i32\" (func $print (param i32)))
           (memory 16)
           (func $fill (export \"fill\") (local $i i32)
             (loop $next
               (i32.store (local.get $i) (local.get $i))
               (local.set $i (i32.add (local.get $i) (i32.const 4)))
               (br_if $next (i32.lt_u (local.get $i) (i32.const 0x100000)))))
           (func $f (export \"f\") (param $depth i32) (result i32)
             (local {locals})
             {load}
             (if (local.get $depth)
               (then (drop (call $f (i32.sub (local.get $depth) (i32.const 1)))))
               (else (call $print (i32.const 1))))
             (i32.const 0)
             {compare}))
         (assert_return (invoke \"fill\"))\n"
    )
}

fn size(ty: &str) -> usize {
    match ty {
        "v128" => 16,
        _ => 8,
    }
}

fn load(ty: &str, i: usize) -> String {
    format!("({ty}.load offset={} (i32.const 0))", i * size(ty))
}

/// Compares local number `i` with memory.
fn equal(ty: &str, i: usize) -> String {
    let loaded = load(ty, i);
    let local = format!("(local.get {})", i + 1);
    match ty {
        "v128" => format!("(i8x16.all_true (i8x16.eq {local} {loaded}))"),
        _ => format!("({ty}.eq {local} {loaded})"),
    }
}

#[track_caller]
fn check_recursion(ty: &str, count: usize) {
    let works = format!("(assert_return (invoke \"f\" (i32.const 2)) (i32.const {count}))\n");
    let exhausts = "(assert_exhaustion (invoke \"f\" (i32.const -1)) \"call stack exhausted\")\n";
    let script = [&*recursive(ty, count), &works, exhausts, &works, exhausts, &works].concat();
    check(&format!("{count} live {ty}"), &script);
}

#[test]
fn frames_of_some_pages() {
    check_recursion("i64", 1000);
    check_recursion("f64", 1000);
    check_recursion("v128", 600);
}

#[test]
fn frames_of_many_pages() {
    check_recursion("i64", 3000);
    check_recursion("v128", 1500);
}

/// Small frames almost fill the stack before a huge one.
#[test]
fn a_huge_frame_after_many_small_ones() {
    let types = "v128 ".repeat(60);
    let arguments = repeat(60, |i| format!("(local.get {i})"));
    let values = repeat(60, |i| format!("(v128.const i64x2 {i} -1)"));
    let creep = format!(
        "(register \"huge\")
         (module
           (import \"huge\" \"f\" (func $f (param i32) (result i32)))
           (func $creep (export \"creep\") (param {types}) (result i32)
             (i32.add (call $f (i32.const 0)) (call $creep {arguments}))))
         (assert_exhaustion (invoke \"creep\" {values}) \"call stack exhausted\")
         (assert_exhaustion (invoke \"creep\" {values}) \"call stack exhausted\")\n"
    );
    check("creep", &(recursive("i64", 3000) + &creep));
}

/// Arguments on the stack are written before the callee checks the stack's limit.
#[test]
fn a_thousand_vectors_as_arguments() {
    let types = "v128 ".repeat(1000);
    let arguments = repeat(1000, |i| format!("(local.get {i})"));
    let values = repeat(1000, |i| format!("(v128.const i64x2 {i} -1)"));
    let script = format!(
        "(module
           (func $f (export \"f\") (param {types}) (result v128)
             (call $f {arguments}))
           (func $g (export \"g\") (param {types}) (result v128 v128)
             (local.get 0) (local.get 999))
           (func $small (export \"creep\") (result v128)
             (drop (drop (call $g {values})))
             (call $small)))
         (assert_exhaustion (invoke \"f\" {values}) \"call stack exhausted\")
         (assert_return (invoke \"g\" {values})
           (v128.const i64x2 0 -1) (v128.const i64x2 999 -1))
         (assert_exhaustion (invoke \"creep\") \"call stack exhausted\")
         (assert_exhaustion (invoke \"f\" {values}) \"call stack exhausted\")"
    );
    check("a thousand vectors", &script);
}
