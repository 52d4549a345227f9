//! Reserved imports in handwritten modules: which uses are refused, and with which message.

use ropewalk::*;

/// The head of a module: types of all designs, functions and tags.
const HEAD: &str = r#"
  (type $v (func))
  (rec (type $cf (func (param i32 (ref null $c)))) (type $c (cont $cf)))
  (rec (type $df (func (param (ref $d)))) (type $d (cont $df)))
  (rec (type $tf (func (param i32) (result i64))) (type $t (cont $tf)))
  (rec (type $openf (sub (func))) (type $open (sub (cont $openf))))
  (rec (type $fiber (cont $fiberf)) (type $fiberf (func (param (ref null $fiber)))))
  (rec (type $stack (cont $stackf))
       (type $stackf (func (param (ref null $stack) (ref null $stack)))))
  (type $box (struct (field (mut (ref null $stack))))) (type $env (struct))
  (type $body (func (param (ref null $t) i32 f32) (result i64)))
  (type $fiberbody (func (param i32 (ref null $fiber) i64)))
  (type $takes-env (func (param (ref $env)))) (tag $none) (tag $i32 (param i32))
  (tag $i64 (param i64)) (tag $left (param i64 (ref null $c)))
  (tag $stackref (param (ref null $stack))) (elem declare func $body $fiberbody $takes-env)
  (func $body (type $body) unreachable)
  (func $fiberbody (type $fiberbody) unreachable)
  (func $takes-env (type $takes-env) unreachable)
  (func $next (param i32 (ref null $c)) unreachable)
"#;

/// The message that refuses a module. It is the same for compilation and validation, for text and
/// binary.
#[track_caller]
fn refusal(source: &str) -> String {
    let engine = Engine::default();
    let text = ropewalk_text::Text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let message = |result: Result<()>| {
        let error = result.err().unwrap_or_else(|| panic!("accepted:\n{source}"));
        error.downcast::<ModuleError>().expect("an error of the module").message().to_string()
    };
    let messages = [
        message(Module::validate(&engine, source)),
        message(Module::validate(&engine, text.binary())),
        message(Module::new(&engine, source).map(drop)),
        message(Module::new(&engine, text.binary()).map(drop)),
    ];
    assert!(messages.iter().all(|message| *message == messages[0]), "{messages:?}");
    let [message, ..] = messages;
    message
}

/// A module with an import, which must follow the types.
fn module(import: &str, rest: &str) -> String {
    format!("(module {import} {HEAD} {rest})")
}

#[track_caller]
fn refused(import: &str, rest: &str, expected: &str) {
    let message = refusal(&module(import, rest));
    assert!(message.contains(expected), "expected {expected:?}, found {message:?}");
}

#[track_caller]
fn accepted(import: &str, rest: &str) {
    let (engine, source) = (Engine::default(), module(import, rest));
    Module::validate(&engine, &source).unwrap_or_else(|error| panic!("{error:#}"));
    Module::new(&engine, &source).unwrap_or_else(|error| panic!("{error:#}"));
}

/// An import of a function of a design.
fn import(design: &str, name: &str, ty: &str) -> String {
    format!("(import \"ropewalk:{design}\" \"{name}\" (func $op {ty}))")
}

// ---- imports

#[test]
fn unknown_names() {
    for (design, name) in [
        ("stack", "old"),
        ("stack", ""),
        ("task", "yield"),
        ("fiber", "mount_new"),
        ("first-class", "stack.switch"),
        ("frob", "new"),
        ("", "new"),
    ] {
        let expected = format!("there is no reserved import `ropewalk:{design}` `{name}`");
        refused(&import(design, name, ""), "", &expected);
    }
    // Other modules and names are not reserved.
    accepted("(import \"ropewalk\" \"new\" (func $op))", "(func (call $op))");
}

#[test]
fn a_module_cannot_create_stacks_without_its_host() {
    let expected = "`ropewalk:first-class` `new_stack` is for the engine: import `\"host\" \
                    \"new_stack\"` instead";
    refused(&import("first-class", "new_stack", "(result (ref null $stack))"), "", expected);
    let refusing = r#"(import "host" "new_stack" (func $op (result (ref null $stack))))"#;
    accepted(refusing, "(func (drop (call $op)))");
}

#[test]
fn only_functions_are_there() {
    for item in ["(global i32)", "(memory 1)", "(table 1 funcref)", "(tag)"] {
        let import = format!("(import \"ropewalk:stack\" \"new\" {item})");
        refused(&import, "", "the module name `ropewalk:stack` is reserved: it has functions only");
    }
}

#[test]
fn types_of_imports() {
    let imports = [
        // Types with something missing, wrong or extra.
        ("stack", "new", "(param (ref null $df)) (result (ref $c))"),
        ("stack", "new", "(param (ref null $c)) (result (ref $c))"),
        ("stack", "new", "(param (ref null $cf)) (result (ref $t))"),
        ("stack", "new", "(param (ref null $cf))"),
        ("stack", "switch", "(param (ref null $c)) (result i32 (ref null $c))"),
        ("stack", "switch", "(param i32 (ref null $c)) (result (ref null $c))"),
        ("stack", "switch", "(param i32 (ref null $c)) (result i32 (ref $c))"),
        ("stack", "switch", "(param i32 (ref null $t)) (result i32)"),
        ("stack", "switch", "(param i32 contref) (result i32 contref)"),
        ("stack", "switch", ""),
        ("stack", "switch_retire", "(param (ref null $d))"),
        ("stack", "switch_retire", "(param i32 (ref null $c)) (result i32)"),
        ("stack", "bind", "(param i64 (ref null $c)) (result (ref $c))"),
        ("stack", "bind", "(param i32 (ref null $c)) (result (ref $c))"),
        ("stack", "bind", "(param i32 i32 i32 (ref null $c)) (result (ref $c))"),
        ("stack", "switch_throw", "(param i64 (ref null $c)) (result (ref null $c))"),
        ("stack", "switch_throw", "(param i64 (ref null $tf)) (result i32 (ref null $c))"),
        ("stack", "return_switch", "(param (ref null $c)) (result i32 (ref null $c))"),
        ("stack", "return_switch_throw", "(result i32 (ref null $c))"),
        ("task", "new", "(param f32 (ref $body)) (result (ref $c))"),
        ("task", "new", "(param f64 (ref $body)) (result (ref $t))"),
        ("task", "new", "(param (ref $body)) (result (ref $t))"),
        ("task", "new", "(param (ref $v)) (result (ref $t))"),
        ("task", "new", "(param funcref) (result (ref $t))"),
        ("task", "new", "(result (ref $t))"),
        ("task", "resume", "(param (ref null $t)) (result i64)"),
        ("task", "resume", "(param (ref null $t) i32)"),
        ("task", "resume", "(param (ref null $tf) i32) (result i64)"),
        ("task", "suspend", "(param (ref null $t) i32) (result i64)"),
        ("task", "switchto", "(param (ref null $t) i32) (result i32)"),
        ("task", "switchto", "(param (ref null $t) (ref null $c) i32 (ref null $c)) (result i32)"),
        ("task", "retire", "(param (ref null $t) i64) (result i32)"),
        ("task", "retire", "(param (ref null $t))"),
        ("task", "release", "(param (ref null $t) i32)"),
        ("task", "release", "(param contref)"),
        // A task type is final.
        ("task", "release", "(param (ref null $open))"),
        ("task", "resume", "(param (ref null $open))"),
        ("task", "release_any", ""),
        ("task", "release_any", "(param anyref)"),
        ("task", "release_any", "(param contref contref)"),
        ("task", "release_any", "(param contref) (result i32)"),
        ("task", "eq", "(param contref contref)"),
        ("task", "eq", "(param contref) (result i32)"),
        ("task", "eq", "(param contref eqref) (result i32)"),
        ("task", "eq", "(param contref contref) (result i64)"),
        ("fiber", "new", "(result (ref $t))"),
        ("fiber", "new", ""),
        ("fiber", "new_returning", "(result (ref null $c))"),
        ("fiber", "eq", "(param (ref null $fiber) (ref null $fiber))"),
        ("fiber", "eq", "(param (ref null $fiber) contref) (result i32)"),
        ("fiber", "eq", "(param (ref null $fiber)) (result i32)"),
        ("fiber", "mount", "(param (ref null $t))"),
        ("fiber", "mount", "(param (ref null $fiber)) (result i32)"),
        ("fiber", "mount", ""),
        ("fiber", "switch", "(param (ref null $fiber))"),
        ("fiber", "switch", "(param (ref null $fiber) (ref null $c))"),
        ("fiber", "dismount", "(param contref)"),
        ("fiber", "release", "(param i32 (ref null $fiber))"),
        ("fiber", "release", ""),
        ("fiber", "dismount_release", "(param i32)"),
        ("fiber", "switch_release", "(param i32 (ref null $fiber))"),
        ("first-class", "switch", "(param (ref null $c))"),
        ("first-class", "switch", "(param (ref $stack))"),
        ("first-class", "switch_drop", "(param (ref null $stack) i32)"),
        ("first-class", "switch_call", "(param (ref null $stack) (ref $v))"),
        ("first-class", "switch_call_trap", "(param (ref null $stack))"),
        ("first-class", "extend", "(param (ref null $stack) (ref $v))"),
        (
            "first-class",
            "extend_trap",
            "(param i32 (ref null $stack) (ref $v)) (result (ref null $stack))",
        ),
        ("first-class", "start", "(param i32)"),
        ("first-class", "check_cleared", "(param i32)"),
        ("first-class", "check_cleared", "(param (ref any))"),
        ("first-class", "is_cleared", "(param (ref null $stack))"),
        ("first-class", "is_cleared", "(param i64) (result i32)"),
        ("first-class", "redirect", "(param (ref null $stack))"),
        ("first-class", "redirect", "(param externref (ref null $stack))"),
        ("first-class", "level", ""),
        ("first-class", "leave_to", "(param i64)"),
        ("first-class", "enter_answer", "(param (ref $env) (ref $v))"),
        ("first-class", "enter_answer", "(param (ref null $env) (ref $takes-env))"),
        ("first-class", "enter_redirect", "(param (ref $env))"),
        (
            "first-class",
            "enter_redirect_to",
            "(param (ref $env) (ref $takes-env) (ref $takes-env))",
        ),
    ];
    for (design, name, ty) in imports {
        let expected = format!("the type of `ropewalk:{design}` `{name}` does not fit: expected [");
        refused(&import(design, name, ty), "", &expected);
    }
}

#[test]
fn types_match_as_those_of_functions_do() {
    // Parameters may be narrower and results wider than needed.
    let release = import("task", "release", "(param (ref $t))");
    accepted(&release, "(func (param (ref $t)) (call $op (local.get 0)))");
    let switch = import("stack", "switch", "(param i32 (ref null $c)) (result i32 contref)");
    accepted(&switch, "(func (param (ref $c)) (call $op (i32.const 1) (local.get 0)) drop drop)");
}

// ---- uses

/// Imports that are used in the plain form.
const PLAIN: &[(&str, &str, &str)] = &[
    ("stack", "new", "(param (ref null $cf)) (result (ref $c))"),
    ("stack", "switch", "(param i32 (ref null $c)) (result i32 (ref null $c))"),
    ("stack", "switch_retire", "(param i32 (ref null $c))"),
    ("stack", "bind", "(param (ref null $c)) (result (ref $c))"),
    ("task", "resume", "(param (ref null $t) i32) (result i64)"),
    ("task", "suspend", "(param (ref null $t) i64) (result i32)"),
    ("task", "switchto", "(param (ref null $t) (ref null $t) i32) (result i32)"),
    ("task", "retire", "(param (ref null $t) i64)"),
    ("task", "release", "(param (ref null $t))"),
    ("task", "release_any", "(param contref)"),
    ("task", "eq", "(param contref (ref $t)) (result i32)"),
    ("fiber", "eq", "(param (ref null $fiber) (ref $fiber)) (result i32)"),
    ("fiber", "release", "(param (ref null $fiber))"),
    ("first-class", "start", ""),
    ("first-class", "check_cleared", "(param (ref null $stack))"),
    ("first-class", "check_cleared", "(param externref)"),
    ("first-class", "is_cleared", "(param (ref null $stack)) (result i32)"),
    ("first-class", "is_cleared", "(param funcref) (result i32)"),
    ("first-class", "redirect", "(param exnref (ref null $stack))"),
    ("first-class", "level", "(result i32)"),
    ("first-class", "leave_to", "(param i32)"),
    ("first-class", "enter_redirect", "(param (ref $box))"),
];

/// Imports with a tag operand, and the body of their `try_table`.
const TAGGED: &[(&str, &str, &str, &str)] = &[
    ("stack", "switch_throw", "(param i64 (ref null $c)) (result i32 (ref null $c))", "$left"),
    (
        "stack",
        "return_switch_throw",
        "(param i64 (ref null $c)) (result i32 (ref null $c))",
        "$left",
    ),
    ("fiber", "mount", "(param i32 (ref null $fiber))", "$i32"),
    ("fiber", "switch", "(param i32 (ref null $fiber) (ref null $fiber))", "$i32"),
    ("fiber", "dismount", "(param (ref null $fiber))", "$none"),
    ("fiber", "dismount_release", "(param (ref null $fiber))", "$none"),
    ("fiber", "switch_release", "(param i32 (ref null $fiber) (ref null $fiber))", "$i32"),
    ("first-class", "switch", "(param (ref null $stack))", "$stackref"),
    ("first-class", "switch_drop", "(param i32 (ref null $stack))", "$i32"),
];

#[test]
fn a_call_is_the_only_use() {
    for (design, name, ty) in PLAIN {
        let import = import(design, name, ty);
        let value =
            format!("`ropewalk:{design}` `{name}` can only be called, not exported or used");
        accepted(&import, "(func unreachable (call $op) unreachable)");
        refused(&import, "(export \"op\" (func $op))", &value);
        refused(&import, "(elem declare func $op) (func (drop (ref.func $op)))", &value);
        refused(&import, "(table 1 funcref) (elem (i32.const 0) func $op)", &value);
        refused(&import, "(elem funcref (ref.func $op))", &value);
        refused(&import, "(global funcref (ref.func $op))", &value);
        refused(&import, "(table 1 funcref (ref.func $op))", &value);
        let tail = format!("`ropewalk:{design}` `{name}` cannot be tail-called");
        refused(&import, &format!("(func {ty} unreachable (return_call $op))"), &tail);
    }
    let start = import("first-class", "start", "");
    refused(&start, "(start $op)", "can only be called");
}

#[test]
fn a_rout_calls_nothing_before_its_start() {
    let imports = r#"
        (import "ropewalk:first-class" "extend_trap"
          (func $op (param (ref null $stack) (ref $v)) (result (ref null $stack))))
        (import "ropewalk:first-class" "start" (func $start))
        (import "ropewalk:first-class" "level" (func $level (result i32)))
        (import "ropewalk:first-class" "leave_to" (func $leave_to (param i32)))
        (import "host" "f" (func $imported))"#;
    let rout = |body: &str| {
        format!(
            "(elem declare func $rout $imported) (func $other) (table 1 funcref)
             (func $rout {body})
             (func (drop (call $op (ref.null $stack) (ref.func $rout))))"
        )
    };
    let early = "calls `ropewalk:first-class` `start` before it calls or switches";
    for body in [
        "(call $other) (call $start)",
        "(call $op (ref.null $stack) (ref.func $rout)) (drop) (call $start)",
        "(call_indirect (i32.const 0)) (call $start)",
        "(return_call $other)",
        "(loop (br 0) (call $other) (call $start))",
        "(call $imported)",
    ] {
        refused(imports, &rout(body), early);
    }
    let skips = "a branch before `ropewalk:first-class` `start` skips it";
    for body in [
        "(block (br_if 0 (i32.const 1)) (call $start)) (call $other)",
        "(if (i32.const 1) (then (call $start)) (else (call $other)))",
        "(block (br_table 0 0 (i32.const 1)) (call $start)) (call $other)",
        "(br_if 0 (i32.const 1)) (call $start)",
    ] {
        refused(imports, &rout(body), skips);
    }
    for body in [
        "(call $start) (call $other)",
        "(block (br_if 0 (i32.const 1))) (call $leave_to (call $level)) (call $start)",
        "(block (loop (call $start) (call $other)))",
        "(if (i32.const 1) (then (nop))) (call $start)",
        "(unreachable)",
        "(return)",
    ] {
        accepted(imports, &rout(body));
    }
    let imported = "(elem declare func $imported)
        (func (drop (call $op (ref.null $stack) (ref.func $imported))))";
    refused(imports, imported, "needs a function of the module itself");
}

#[test]
fn a_tag_operand_is_a_try_table() {
    for (design, name, ty, tag) in TAGGED {
        let import = import(design, name, ty);
        let wanted = format!("`ropewalk:{design}` `{name}` must be the whole body of a try_table");
        let lacks = format!("`ropewalk:{design}` `{name}` lacks the catch that names its tag");
        let body = |body: &str| {
            format!("(func (block $l (param) (result) unreachable {body} unreachable) unreachable)")
        };
        // A bare call, one in another block, and one with company in its `try_table`.
        refused(&import, &body("call $op"), &wanted);
        refused(&import, &body("(block unreachable call $op unreachable)"), &wanted);
        let sent = |body: &str| {
            format!(
                "(func (block $sent (param) (result {}) (try_table {body}) unreachable) unreachable)",
                values(tag)
            )
        };
        refused(
            &import,
            &sent(&format!("(catch {tag} $sent) unreachable (call $op) (unreachable)")),
            &wanted,
        );
        refused(
            &import,
            &sent(&format!("(catch {tag} $sent) unreachable (nop) (call $op)")),
            &wanted,
        );
        // Without the catch clause, or with one of another kind.
        refused(&import, &typed(ty, "", ""), &lacks);
        refused(&import, &typed(ty, "", "(catch_all $l)"), "has only plain catches");
        refused(&import, &typed(ty, "exnref", "(catch_all_ref $l)"), "has only plain catches");
        let with_ref = format!("{} exnref", values(tag));
        let catch = format!("(catch_ref {tag} $l)");
        refused(&import, &typed(ty, &with_ref, &catch), "has only plain catches");
        // With a tag that does not fit.
        let unfit = format!("the tags or functions of `ropewalk:{design}` `{name}` do not fit");
        refused(&import, &typed(ty, "i64", "(catch $i64 $l)"), &unfit);
    }
}

/// The values of a tag of the head.
fn values(tag: &str) -> &'static str {
    match tag {
        "$none" => "",
        "$i32" => "i32",
        "$i64" => "i64",
        "$left" => "i64 (ref null $c)",
        "$stackref" => "(ref null $stack)",
        other => panic!("no tag {other}"),
    }
}

/// A function with only the call in a `try_table` of its type.
fn typed(ty: &str, label: &str, catches: &str) -> String {
    format!(
        "(func unreachable (block $l (result {label}) unreachable
           (try_table {ty} {catches} (call $op)) unreachable) unreachable)"
    )
}

#[test]
fn only_some_have_clauses() {
    let catch = "(catch $i32 $l) (catch $i32 $l)";
    let lacks = "lacks the catch that names its tag";
    let fiber = "(param i32 (ref null $fiber))";
    accepted(&import("fiber", "mount", fiber), &typed(fiber, "i32", catch));
    refused(&import("fiber", "dismount_release", fiber), &typed(fiber, "i32", catch), lacks);
    let stack = "(param i32 (ref null $stack))";
    refused(&import("first-class", "switch_drop", stack), &typed(stack, "i32", catch), lacks);
}

#[test]
fn a_function_operand_is_a_ref_func() {
    let task = import("task", "new", "(param f32 (ref $body)) (result (ref $t))");
    accepted(&task, "(func (drop (call $op (f32.const 1) (ref.func $body))))");
    let wanted = "`ropewalk:task` `new` needs 1 ref.func directly before the call";
    for body in [
        "(param $f (ref $body)) (drop (call $op (f32.const 1) (local.get $f)))",
        "(local $f (ref $body)) (local.set $f (ref.func $body)) \
         (drop (call $op (f32.const 1) (local.get $f)))",
        "(f32.const 1) (ref.func $body) (nop) (drop (call $op))",
        "(f32.const 1) (ref.func $body) (block (param f32 (ref $body)) (drop (call $op)))",
        "unreachable (drop (call $op))",
    ] {
        refused(&task, &format!("(func {body})"), wanted);
    }

    let fiber = import("fiber", "new", "(param i32 (ref $fiberbody)) (result (ref $fiber))");
    let ty = "(param i32) (result (ref $fiber))";
    let form = |catches: &str, body: &str| {
        format!(
            "(func (drop (block $after (result (ref $fiber)) (block $l (result i64) (i32.const 1)
               (try_table {ty} {catches} {body} (call $op)) (br $after)) unreachable)))"
        )
    };
    accepted(&fiber, &form("(catch $i64 $l)", "(ref.func $fiberbody)"));
    refused(
        &fiber,
        &form("(catch $i64 $l) (catch $i64 $l)", "(ref.func $fiberbody)"),
        "needs 2 ref.func",
    );
    // The function may be an argument too, like any other value.
    accepted(&fiber, &form("", "(ref.func $fiberbody)"));
}

#[test]
fn functions_of_fibers_fit_their_events() {
    let ty = "(param i32) (result (ref $fiber))";
    let import = |name| import("fiber", name, "(param i32 (ref $fiberbody)) (result (ref $fiber))");
    let form = |label: &str, catches: &str| {
        format!(
            "(func (drop (block $after (result (ref $fiber)) (block $r (block $l (result {label})
               (i32.const 1) (try_table {ty} {catches} (ref.func $fiberbody) (call $op))
               (br $after)) unreachable) unreachable)))"
        )
    };
    let unfit = "do not fit: expected functions [a* (ref null? $fiber) te*] -> [to*]";
    accepted(&import("new"), &form("i64", "(catch $i64 $l)"));
    refused(&import("new"), &form("i32", "(catch $i32 $l)"), unfit);
    refused(&import("new"), &form("", "(catch $none $l)"), unfit);
    accepted(&import("new_returning"), &form("i64", "(catch $none $r) (catch $i64 $l)"));
    refused(&import("new_returning"), &form("i64", "(catch $i64 $l) (catch $i64 $l)"), unfit);
    refused(&import("new_returning"), &form("", ""), "lacks the catch that names its tag");
}

#[test]
fn return_switches_are_followed_by_return_calls() {
    let ty = "(param i32 (ref null $c)) (result i32 (ref null $c))";
    let switch = import("stack", "return_switch", ty);
    let wanted = "`ropewalk:stack` `return_switch` must be directly followed by return_call";
    let operands = "(i32.const 1) (ref.null $c)";
    accepted(&switch, &format!("(func (call $op {operands}) (return_call $next))"));
    refused(&switch, &format!("(func (call $op {operands}) (call $next))"), wanted);
    refused(&switch, &format!("(func (call $op {operands}) (nop) (return_call $next))"), wanted);
    refused(&switch, &format!("(func (call $op {operands}) (drop) (drop))"), wanted);
    refused(&switch, &format!("(func {ty} (call $op {operands}))"), wanted);

    let ty = "(param i64 (ref null $c)) (result i32 (ref null $c))";
    let throw = import("stack", "return_switch_throw", ty);
    let wanted = "`ropewalk:stack` `return_switch_throw` must be directly followed by return_call";
    let form = |then: &str| {
        format!(
            "(func (block $l (result i64 (ref null $c)) (i64.const 1) (ref.null $c)
               (try_table {ty} (catch $left $l) (call $op)) {then}) unreachable)"
        )
    };
    accepted(&throw, &form("(return_call $next)"));
    refused(&throw, &form("(nop) (return_call $next)"), wanted);
    refused(&throw, &form("(call $next) unreachable"), wanted);
    refused(&throw, &form("unreachable"), wanted);
}

#[test]
fn the_error_is_at_the_import_or_the_call() {
    let source = "(module\n  (import \"ropewalk:stack\" \"old\" (func)))";
    let error = Module::validate(&Engine::default(), source).unwrap_err();
    let error = error.downcast::<ModuleError>().unwrap();
    assert_eq!(error.position().map(|(line, _)| line), Some(2), "{error}");
    let import = import("stack", "return_switch", "(param (ref null $k)) (result (ref null $k))");
    let source = format!(
        "(module {import}
           (rec (type $f (func (param (ref null $k)))) (type $k (cont $f)))
           (func (param (ref null $k)) (result (ref null $k))
             (call $op (local.get 0))))"
    );
    let error = Module::new(&Engine::default(), &source).unwrap_err();
    let error = error.downcast::<ModuleError>().unwrap();
    assert_eq!(error.position(), Some((4, 15)), "{error}");
}
