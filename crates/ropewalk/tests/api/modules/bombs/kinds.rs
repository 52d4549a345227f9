//! Sources of compilation bombs: modules that ask for more than they are long.

use std::fmt::Write;

/// A kind of bomb: its name, and its source for a size. The source is about as long as the size.
pub type Kind = (&'static str, fn(usize) -> String);

/// All kinds.
pub const KINDS: &[Kind] = &[
    ("catches times calls", catches_times_calls),
    ("nested catches times calls", nested_catches_times_calls),
    ("nested catches with values", nested_catches_with_values),
    ("clauses times resumes", clauses_times_resumes),
    ("clause lists", clause_lists),
    ("long clause list", long_clause_list),
    ("long clause lists", long_clause_lists),
    ("nested blocks", |n| nested(n, "(block ", "")),
    ("nested blocks with values", |n| {
        nested(n, "(block (result i32 i64) ", "(i32.const 1) (i64.const 1)")
    }),
    ("nested loops", |n| nested(n, "(loop ", "")),
    ("nested loops with exits", |n| nested(n, "(loop (br_if 1 (local.get 0)) ", "")),
    ("nested blocks with exits", |n| nested(n, "(block (br_if 0 (local.get 0)) ", "")),
    ("nested loops that repeat", |n| nested(n, "(loop (br_if 0 (local.get 0)) ", "")),
    ("nested ifs", |n| nested_ifs(n)),
    ("nested try_tables", |n| nested(n, "(try_table (catch_all 0) ", "(call 0 (i32.const 1))")),
    ("nested calls in try_tables", |n| {
        nested(n, "(try_table (catch_all 0) (call 0 (i32.const 1)) ", "")
    }),
    ("sequence of loops", |n| sequence(n, "(loop (br_if 0 (local.get 0)))")),
    ("sequence of blocks", |n| sequence(n, "(block (br_if 0 (local.get 0)))")),
    ("sequence of calls", |n| sequence(n, "(call $f (i32.const 1))")),
    ("sequence of guarded calls", sequence_of_guarded_calls),
    ("long br_table", long_br_table),
    ("br_tables", br_tables),
    ("br_table with operands", br_table_with_operands),
    ("brs with operands", brs_with_operands),
    ("locals", |n| format!("(module (func (local{})))", " i32".repeat(n))),
    ("locals of all types live over calls", locals_live_over_calls),
    ("references live over calls", references_live_over_calls),
    ("references set and live over calls", references_set_over_calls),
    ("operands live over calls", operands_live_over_calls),
    ("locals in loops", locals_in_loops),
    ("parameters times calls", parameters_times_calls),
    ("results times calls", results_times_calls),
    ("block parameters", block_parameters),
    ("types", |n| types(n)),
    ("equal types", |n| format!("(module {})", "(type (func (param i32)))".repeat(n))),
    ("long recursive group", long_recursive_group),
    ("recursive groups", recursive_groups),
    ("equal recursive groups", equal_recursive_groups),
    ("long structs", long_structs),
    ("chains of subtypes", chains_of_subtypes),
    ("function types", function_types),
    ("continuation types", continuation_types),
    ("imports", |n| {
        (0..n).fold("(module".into(), |s: String, i| s + &format!("(import \"m\" \"f{i}\" (func))"))
            + ")"
    }),
    ("exports", exports),
    ("globals", |n| format!("(module {})", "(global (mut i32) (i32.const 7))".repeat(n))),
    ("reference globals", |n| {
        format!("(module (func $f) {})", "(global (mut funcref) (ref.func $f))".repeat(n))
    }),
    ("chain of globals", chain_of_globals),
    ("tags", |n| format!("(module {})", "(tag)".repeat(n))),
    ("element segments", |n| format!("(module (func $f) {})", "(elem func $f $f)".repeat(n))),
    ("active element segments", |n| {
        format!(
            "(module (table 10 funcref) (func $f) {})",
            "(elem (i32.const 1) func $f $f)".repeat(n)
        )
    }),
    ("long element segment", |n| {
        format!(
            "(module (func $f) (table {n} funcref) (elem (i32.const 0) func {}))",
            " $f".repeat(n)
        )
    }),
    ("long element segment of expressions", |n| {
        format!(
            "(module (func $f) (table {n} funcref) (elem (i32.const 0) funcref {}))",
            "(ref.func $f)".repeat(n)
        )
    }),
    ("data segments", |n| {
        format!("(module (memory 1) {})", "(data (i32.const 1) \"abc\")".repeat(n))
    }),
    ("long constant expression", |n| {
        format!("(module (global i32 {} {}))", "i32.const 1 ".repeat(n + 1), "i32.add ".repeat(n))
    }),
    ("functions with types of their own", functions_with_types),
    ("functions with many locals", |n| format!("(module {})", "(func (local i32 i64))".repeat(n))),
    ("functions", |n| {
        format!("(module {})", "(func (param i32) (result i32) local.get 0)".repeat(n))
    }),
    ("function references", |n| format!("(module {})", "(func) (elem declare func 0)".repeat(n))),
    ("names", names),
    ("constants", constants),
    ("adds", |n| sequence(n, "(local.set 0 (i32.add (local.get 0) (i32.const 3)))")),
    ("loads and stores", |n| sequence(n, "(i32.store (local.get 0) (i32.load (local.get 0)))")),
    ("table operations", |n| {
        sequence(n, "(table.set $t (local.get 0) (table.get $t (local.get 0)))")
    }),
    ("bulk operations", |n| sequence(n, "(memory.copy (local.get 0) (local.get 0) (local.get 0))")),
    ("indirect calls", |n| {
        sequence(n, "(call_indirect $t (param i32) (local.get 0) (local.get 0))")
    }),
    ("struct.new", |n| sequence(n, "(drop (struct.new_default $s))")),
    ("kept structs", kept_structs),
    ("array.new_fixed", array_new_fixed),
    ("casts", |n| sequence(n, "(drop (ref.test (ref $s) (global.get $any)))")),
    ("throws", |n| sequence(n, "(if (local.get 0) (then (throw $e)))")),
    ("unreachable code", |n| {
        format!("(module (func unreachable {}))", "(drop (i32.const 1))".repeat(n))
    }),
    ("simd", |n| {
        sequence(
            n,
            "(global.set $v (i8x16.shuffle 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 31 (global.get $v) (global.get $v)))",
        )
    }),
    ("cont.new", |n| continuations(n, "(drop (cont.new $c (ref.func $g)))")),
    ("cont.bind", |n| {
        continuations(n, "(drop (cont.bind $ci $c (i32.const 1) (cont.new $ci (ref.func $gi))))")
    }),
    ("resume", |n| continuations(n, "(resume $c (local.get $k))")),
    ("resume with a clause", |n| {
        continuations(
            n,
            "(block $h (result (ref $c)) (resume $c (on $e $h) (local.get $k)) (unreachable)) (drop)",
        )
    }),
    ("resume_throw", |n| continuations(n, "(resume_throw $c $e (local.get $k))")),
    ("suspend", |n| continuations(n, "(suspend $e)")),
    ("switch", |n| continuations(n, "(switch $cs $e2 (local.get $ks))")),
    ("stack.new", |n| bag(n, "(drop (stack.new $a $f))")),
    ("stack switch", |n| bag(n, "(local.set $s (switch $a (local.get $s)))")),
    ("stack.bind", |n| bag(n, "(drop (stack.bind $b $a (i32.const 1) (local.get $t)))")),
    ("switch_throw", |n| bag(n, "(local.set $s (switch_throw $a $e (local.get $s)))")),
    ("task.new", |n| tasks(n, "(drop (task.new $t $f))")),
    ("task.resume", |n| tasks(n, "(task.resume $t (local.get $k))")),
    ("task.suspend", |n| tasks(n, "(task.suspend $t (local.get $k))")),
    ("task.switchto", |n| tasks(n, "(task.switchto $t $t (local.get $k) (local.get $k))")),
    ("task.release", |n| tasks(n, "(task.release $t (local.get $k))")),
    ("task thunks", task_thunks),
    ("fiber.new", |n| fibers(n, "(drop (fiber.new (on $go $f)))")),
    ("fiber.mount", |n| fibers(n, "(fiber.mount $go (local.get $k))")),
    ("fiber.mount with clauses", |n| {
        fibers(n, "(block $h (fiber.mount $go (on $go $h) (on $end $h) (local.get $k)))")
    }),
    ("fiber.dismount", |n| fibers(n, "(fiber.dismount $go (local.get $k))")),
    ("fiber.switch", |n| fibers(n, "(fiber.switch $go (local.get $k) (local.get $k))")),
    ("fiber.release", |n| fibers(n, "(fiber.release (local.get $k))")),
    ("fiber.mount_new", |n| fibers(n, "(drop (fiber.mount_new $end $f))")),
    ("fiber clauses times mounts", fiber_clauses_times_mounts),
    ("fiber functions", fiber_functions),
    ("stack.switch", |n| {
        first_class(
            n,
            "(block $h (result stackref) (try (stack.switch $ev (local.get_clear $s)) catch $ev $h) (unreachable)) (local.set_cleared $s)",
        )
    }),
    ("stack.switch_drop", |n| {
        first_class(
            n,
            "(block $h (result stackref) (try (stack.switch_drop $no (local.get_clear $s)) catch $ev $h) (unreachable)) (local.set_cleared $s)",
        )
    }),
    ("stack.switch_call", |n| {
        first_class(
            n,
            "(block $h (result stackref) (try (stack.switch_call $f (local.get_clear $s)) catch $ev $h) (unreachable)) (local.set_cleared $s)",
        )
    }),
    ("stack.extend", |n| first_class(n, "(drop (stack.extend $r (call $new-stack)))")),
    ("call_stack", |n| first_class(n, "(call_stack $ask)")),
    ("answers", |n| first_class(n, "(answer $ask (local.set $x (i32.const 1)) within (nop))")),
    ("nested answers", nested_answers),
    ("nested redirects", nested_redirects),
    ("locals captured by answers", locals_captured_by_answers),
    ("routs", routs),
    ("dialect functions", dialect_functions),
    ("dialect types", dialect_types),
    ("dialect locals", dialect_locals),
    ("dialect nesting", dialect_nesting),
    ("dialect expression nesting", dialect_expression_nesting),
    ("dialect stackref locals times returns", stackref_locals_times_returns),
    ("events", events),
    ("dialect line", dialect_line),
];

/// Repeats an item with its number.
fn each(n: usize, mut item: impl FnMut(usize) -> String) -> String {
    let mut all = String::new();
    for i in 0..n {
        all.push_str(&item(i));
        all.push('\n');
    }
    all
}

/// The side of a square with this many fields.
fn side(n: usize) -> usize {
    n.isqrt()
}

const PRELUDE: &str = "(memory 1) (table $t 10 funcref) (tag $e)
    (type $s (struct (field i32))) (global $any (mut anyref) (ref.null any))
    (global $v (mut v128) (v128.const i64x2 0 0))";

fn sequence(n: usize, item: &str) -> String {
    format!(
        "(module {PRELUDE} (func $f (param i32)) (func (param i32) {}))",
        each(n, |_| item.into())
    )
}

fn nested(n: usize, open: &str, inside: &str) -> String {
    let results = if open.contains("result") { "(result i32 i64)" } else { "" };
    format!(
        "(module (func (param i32)) (func (param i32) {results} {}{inside}{}))",
        open.repeat(n),
        ")".repeat(n)
    )
}

fn nested_ifs(n: usize) -> String {
    format!(
        "(module (func (param i32) (result i32) {}(i32.const 0){}))",
        "(if (result i32) (local.get 0) (then (i32.const 1)) (else ".repeat(n),
        "))".repeat(n)
    )
}

fn catches_times_calls(n: usize) -> String {
    format!(
        "(module {} (func $f) (func (block $l (try_table {} {}))))",
        each(n, |i| format!("(tag $e{i})")),
        each(n, |i| format!("(catch $e{i} $l)")),
        each(n, |_| "(call $f)".into()),
    )
}

fn nested_catches_times_calls(n: usize) -> String {
    format!(
        "(module (tag $e) (func $f) (func (block $l {}{}{})))",
        each(n, |_| "(try_table (catch $e $l)".into()),
        each(n, |_| "(call $f)".into()),
        ")".repeat(n),
    )
}

fn nested_catches_with_values(n: usize) -> String {
    format!(
        "(module (tag $e (param i32)) (func $f) (func {}{}{}))",
        each(n, |i| format!("(block $l{i} (result i32)")),
        each(n, |i| format!("(try_table (catch $e $l{i}) (call $f))")),
        "(i32.const 1)) (drop)\n".repeat(n),
    )
}

fn clauses_times_resumes(n: usize) -> String {
    let side = side(n);
    let clauses = each(side, |i| format!("(on $e{i} $l)"));
    format!(
        "(module (type $f (func)) (type $c (cont $f)) {} (func (param $k (ref null $c)) {}))",
        each(side, |i| format!("(tag $e{i})")),
        each(side, |_| format!(
            "(block $l (result (ref $c)) (resume $c {clauses} (local.get $k)) (unreachable)) (drop)"
        ))
    )
}

fn long_clause_list(n: usize) -> String {
    let clauses = each(n.min(10_000), |i| format!("(on $e{i} $l)"));
    format!(
        "(module (type $f (func)) (type $c (cont $f)) {}
           (func (param $k (ref null $c))
             (block $l (result (ref $c)) (resume $c {clauses} (local.get $k)) (unreachable))
             (drop)))",
        each(n.min(10_000), |i| format!("(tag $e{i})")),
    )
}

/// A square of lists, all different.
fn long_clause_lists(n: usize) -> String {
    let side = side(n);
    let clauses = |from: usize| each(side, |i| format!("(on $e{} $l)", (from + i) % side));
    format!(
        "(module (type $f (func)) (type $c (cont $f)) {} (func (param $k (ref null $c)) {}))",
        each(side, |i| format!("(tag $e{i})")),
        each(side, |i| format!(
            "(block $l (result (ref $c)) (resume $c {} (local.get $k)) (unreachable)) (drop)",
            clauses(i)
        ))
    )
}

fn clause_lists(n: usize) -> String {
    format!(
        "(module (type $f (func)) (type $c (cont $f)) {} (func (param $k (ref null $c)) {}))",
        each(n, |i| format!("(tag $e{i})")),
        each(n, |i| format!(
            "(block $l (result (ref $c)) (resume $c (on $e{i} $l) (local.get $k)) (unreachable)) (drop)"
        ))
    )
}

fn sequence_of_guarded_calls(n: usize) -> String {
    format!(
        "(module (tag $e) (func $f) (func {}))",
        each(n, |_| "(block $l (try_table (catch $e $l) (call $f)))".into())
    )
}

fn long_br_table(n: usize) -> String {
    format!(
        "(module (func (param i32) (block (block (br_table {} 0 (local.get 0))))))",
        " 0 1".repeat(n / 2)
    )
}

fn br_tables(n: usize) -> String {
    let side = side(n);
    let table = format!("(br_table {} 0 (local.get 0))", " 0 1".repeat(side / 2));
    format!("(module (func (param i32) (block {})))", each(side, |_| format!("(block {table})")))
}

fn br_table_with_operands(n: usize) -> String {
    let side = n.min(1000);
    format!(
        "(module (type $many (func (result {}))) (func (param i32) (result {})
          (block (type $many) (block (type $many) {} (br_table {} 0 (local.get 0))))))",
        " i32".repeat(side),
        " i32".repeat(side),
        "(i32.const 1)".repeat(side),
        " 0 1".repeat(n / 2)
    )
}

fn brs_with_operands(n: usize) -> String {
    let side = n.min(1000);
    format!(
        "(module (type $many (func (result {0}))) (func (param i32) (result {0})
          (block (type $many) {1} {2})))",
        " i32".repeat(side),
        "(i32.const 1)".repeat(side),
        each(n, |_| "(br_if 0 (local.get 0))".into())
    )
}

fn locals_live_over_calls(n: usize) -> String {
    let types = ["i32", "i64", "f32", "f64", "v128"];
    let mut body = String::new();
    for i in 0..n {
        let ty = types[i % 5];
        let _ = writeln!(body, "(local.set {i} (call $get_{ty}))");
    }
    let calls = each(n, |_| "(call $f)".into());
    for i in 0..n {
        let ty = types[i % 5];
        let _ = writeln!(body, "(call $take_{ty} (local.get {i}))");
    }
    let locals = each(n, |i| types[i % 5].into());
    let imports: String = types
        .iter()
        .map(|ty| format!("(import \"m\" \"get_{ty}\" (func $get_{ty} (result {ty}))) (import \"m\" \"take_{ty}\" (func $take_{ty} (param {ty})))"))
        .collect();
    format!("(module {imports} (func $f) (func (local {locals}) {calls} {body} ))")
}

fn references_live_over_calls(n: usize) -> String {
    format!(
        "(module (func $f) (func $get (result anyref) (ref.null any)) (func $take (param anyref))
          (func (local {}) {} {} {}))",
        " anyref".repeat(n),
        each(n, |i| format!("(local.set {i} (call $get))")),
        each(n, |_| "(call $f)".into()),
        each(n, |i| format!("(call $take (local.get {i}))")),
    )
}

fn references_set_over_calls(n: usize) -> String {
    format!(
        "(module (func $f) (func $get (result anyref) (ref.null any)) (func $take (param anyref))
          (func (local {}) (loop {} {} {} (br 0))))",
        " anyref".repeat(n),
        each(n, |i| format!("(call $take (local.get {i}))")),
        each(n, |_| "(call $f)".into()),
        each(n, |i| format!("(local.set {i} (call $get))")),
    )
}

fn operands_live_over_calls(n: usize) -> String {
    format!(
        "(module (func $get (result anyref) (ref.null any)) (func $take (param anyref))
          (func {} {}))",
        "call $get\n".repeat(n),
        "call $take\n".repeat(n),
    )
}

fn locals_in_loops(n: usize) -> String {
    format!(
        "(module (func (param i32) (local {}) {}))",
        " i32".repeat(n),
        each(n, |i| format!(
            "(loop (local.set {0} (i32.add (local.get {0}) (i32.const 1))) (br_if 0 (local.get 0)))",
            i + 1
        )),
    )
}

fn parameters_times_calls(n: usize) -> String {
    let side = n.min(1000);
    format!(
        "(module (func $f (param {})) (func {}))",
        " i32".repeat(side),
        each(n / side, |_| format!("(call $f {})", "(i32.const 1)".repeat(side)))
    )
}

fn results_times_calls(n: usize) -> String {
    let side = n.min(1000);
    format!(
        "(module (func $f (param {0}) (result {0}) unreachable) (func {1} {2} unreachable))",
        " i32".repeat(side),
        "(i32.const 1)".repeat(side),
        each(n, |_| "(call $f)".into())
    )
}

fn block_parameters(n: usize) -> String {
    let side = n.min(1000);
    format!(
        "(module (type $b (func (param {0}) (result {0}))) (func (param i32) {1} {2} unreachable))",
        " i32".repeat(side),
        "(i32.const 1)".repeat(side),
        each(n, |_| "(block (type $b) (br_if 0 (local.get 0)))".into())
    )
}

/// This many different types, made from the digits of their numbers.
fn types(n: usize) -> String {
    let names = ["i32", "i64", "f32", "f64", "v128", "funcref", "externref", "anyref"];
    let params = |mut i: usize| {
        let mut params = String::new();
        while i > 0 {
            params.push_str(names[i % 8]);
            params.push(' ');
            i /= 8;
        }
        params
    };
    format!("(module {})", each(n, |i| format!("(type (func (param {}i32)))", params(i))))
}

fn long_recursive_group(n: usize) -> String {
    format!(
        "(module (rec {}))",
        each(n, |i| format!("(type $t{i} (struct (field (ref null $t{}))))", (i + 1) % n))
    )
}

/// Each group refers to the one before.
fn recursive_groups(n: usize) -> String {
    format!(
        "(module (type $t0 (struct)) {})",
        each(n, |i| format!("(type $t{} (struct (field (ref null $t{i}))))", i + 1))
    )
}

fn equal_recursive_groups(n: usize) -> String {
    let side = side(n);
    let group = |g: usize| {
        each(side, |i| {
            format!("(type $t{g}_{i} (struct (field (ref null $t{g}_{}))))", (i + 1) % side)
        })
    };
    format!("(module {})", each(side, |g| format!("(rec {})", group(g))))
}

fn long_structs(n: usize) -> String {
    let side = side(n);
    let fields = "(field (mut anyref))".repeat(side);
    format!(
        "(module {} {})",
        each(side, |i| format!("(type $s{i} (struct {fields} (field (ref null {i}))))")),
        each(side, |i| format!("(func (drop (struct.new_default $s{i})))"))
    )
}

fn chains_of_subtypes(n: usize) -> String {
    format!(
        "(module {} (func (param anyref) {}))",
        each(n / 60, |c| {
            format!(
                "(type $t{c}_0 (sub (struct (field i32)))) {}",
                each(60, |i| format!(
                    "(type $t{c}_{} (sub $t{c}_{i} (struct (field i32) )))",
                    i + 1
                ))
            )
        }),
        each(n / 60, |c| format!("(drop (ref.test (ref $t{c}_60) (local.get 0)))"))
    )
}

/// Functions with types of their own that are all called.
fn function_types(n: usize) -> String {
    format!(
        "(module (type $t0 (func)) {0} {1} (func {2}))",
        each(n, |i| format!("(type $t{} (func (param (ref null $t{i}))))", i + 1)),
        each(n, |i| format!("(func $f{i} (type $t{}))", i + 1)),
        each(n, |i| format!("(call $f{i} (ref.null $t{i}))"))
    )
}

/// As many types as functions.
fn functions_with_types(n: usize) -> String {
    format!(
        "(module {} {})",
        each(n, |i| format!("(type (struct (field (ref null {i}))))")),
        "(func)".repeat(n)
    )
}

fn continuation_types(n: usize) -> String {
    format!(
        "(module (type $t0 (func)) (type $c0 (cont $t0)) {})",
        each(n, |i| format!(
            "(type $t{0} (func (param (ref null $c{i})))) (type $c{0} (cont $t{0}))",
            i + 1
        )),
    )
}

fn exports(n: usize) -> String {
    format!("(module (func $f) {})", each(n, |i| format!("(export \"f{i}\" (func $f))")))
}

fn chain_of_globals(n: usize) -> String {
    format!(
        "(module (global $g0 i32 (i32.const 1)) {})",
        each(n, |i| format!("(global $g{} i32 (i32.add (global.get $g{i}) (i32.const 1)))", i + 1))
    )
}

fn names(n: usize) -> String {
    format!("(module {})", each(n, |i| format!("(func $a_rather_long_name_of_a_function_{i})")))
}

fn constants(n: usize) -> String {
    format!(
        "(module (global $v (mut v128) (v128.const i64x2 0 0)) (func {}))",
        each(n, |i| format!("(global.set $v (v128.const i64x2 {i} 1))"))
    )
}

fn kept_structs(n: usize) -> String {
    format!(
        "(module (type $s (struct (field i32))) (func {} {}))",
        each(n, |_| "struct.new_default $s".into()),
        each(n, |_| "drop".into()),
    )
}

fn array_new_fixed(n: usize) -> String {
    let side = n.min(9000);
    format!(
        "(module (type $a (array (mut i32))) (func {}))",
        each(n / side, |_| format!(
            "(drop (array.new_fixed $a {side} {}))",
            "(i32.const 1)".repeat(side)
        ))
    )
}

fn continuations(n: usize, item: &str) -> String {
    format!(
        "(module (type $f (func)) (type $c (cont $f)) (tag $e) (tag $e2)
           (type $fi (func (param i32))) (type $ci (cont $fi))
           (rec (type $fs (func (param (ref null $cs)))) (type $cs (cont $fs)))
           (func $g) (func $gi (param i32)) (elem declare func $g $gi)
           (func (param $k (ref null $c)) (param $ks (ref null $cs)) {}))",
        each(n, |_| match item.starts_with("(switch") {
            true => format!("(local.set $ks {item})"),
            false => item.into(),
        })
    )
}

fn bag(n: usize, item: &str) -> String {
    format!(
        "(module (rec (type $a (stack (ref null $a)))) (rec (type $b (stack (param i32) (ref null $a))))
           (tag $e (param (ref null $a)))
           (func $f (param (ref null $a)))
           (func (param $s (ref null $a)) (param $t (ref null $b)) {}))",
        each(n, |_| item.into())
    )
}

fn tasks(n: usize, item: &str) -> String {
    format!(
        "(module (type $t (task)) (func $f (param (ref null $t)))
           (func (param $k (ref null $t)) {}))",
        each(n, |_| item.into())
    )
}

fn task_thunks(n: usize) -> String {
    format!(
        "(module (type $t (task)) {} (func {}))",
        each(n, |i| format!("(func $f{i} (param (ref null $t)))")),
        each(n, |i| format!("(drop (task.new $t $f{i}))")),
    )
}

fn fibers(n: usize, item: &str) -> String {
    format!(
        "(module (tag $go) (tag $end) (func $f (param fiberref))
           (func (param $k fiberref) {}))",
        each(n, |_| item.into())
    )
}

fn fiber_clauses_times_mounts(n: usize) -> String {
    let side = side(n);
    let clauses = each(side, |i| format!("(on $e{i} $h)"));
    format!(
        "(module {} (func (param $k fiberref) {}))",
        each(side, |i| format!("(tag $e{i})")),
        each(side, |_| format!("(block $h (fiber.mount $e0 {clauses} (local.get $k)))"))
    )
}

fn fiber_functions(n: usize) -> String {
    let n = n.min(900);
    format!(
        "(module {} (func (drop (fiber.new {}))))",
        each(n, |i| format!("(tag $e{i}) (func $f{i} (param fiberref))")),
        each(n, |i| format!("(on $e{i} $f{i})")),
    )
}

const FIRST_CLASS: &str = "(import \"host\" \"new_stack\" (func $new-stack (result stackref)))
    (event $ev (param stackref)) (event $no) (call_tag $ask)
    (func $f (param stackref))
    (rout $r (block $first (result stackref) (try (stack.start) catch $ev $first) (unreachable)) (drop))";

fn first_class(n: usize, item: &str) -> String {
    format!(
        "(module {FIRST_CLASS} (func (param $s stackref) (local $x i32) {}))",
        each(n, |_| item.into())
    )
}

fn nested_answers(n: usize) -> String {
    format!(
        "(module {FIRST_CLASS} (func (local $x i32) {}{}))",
        each(n, |_| "(answer $ask (local.set $x (i32.const 1)) within ".into()),
        ")".repeat(n)
    )
}

fn nested_redirects(n: usize) -> String {
    format!(
        "(module {FIRST_CLASS} (func (param $s stackref) {}{}))",
        each(n, |_| "(stack.redirect $s ".into()),
        ")".repeat(n)
    )
}

fn locals_captured_by_answers(n: usize) -> String {
    format!(
        "(module {FIRST_CLASS} (func {} {}))",
        each(n, |i| format!("(local $x{i} i32)")),
        each(n, |i| format!("(answer $ask (local.set $x{i} (i32.const 1)) within (nop))")),
    )
}

fn routs(n: usize) -> String {
    format!(
        "(module {FIRST_CLASS} {} (func {}))",
        each(n, |i| format!(
            "(rout $r{i} (block $first (result stackref) (try (stack.start) catch $ev $first) (unreachable)) (drop))"
        )),
        each(n, |i| format!("(drop (stack.extend $r{i} (call $new-stack)))")),
    )
}

fn dialect_functions(n: usize) -> String {
    format!(
        "(module (type $t (task (param i32) (result i32))) {})",
        each(n, |i| format!(
            "(func $f{i} (param $k (ref null $t)) (result i32) (task.resume $t (local.get $k) (i32.const {i})))"
        ))
    )
}

fn dialect_types(n: usize) -> String {
    format!(
        "(module (type $t0 (task)) {})",
        each(n, |i| format!("(type $t{} (task (param (ref null $t{i})) (result i32)))", i + 1))
    )
}

fn dialect_locals(n: usize) -> String {
    format!(
        "(module (type $t (task)) (func {} {}))",
        each(n, |i| format!("(local $x{i} (ref null $t))")),
        each(n, |i| format!("(task.resume $t (local.get $x{i}))"))
    )
}

fn dialect_nesting(n: usize) -> String {
    format!(
        "(module (type $t (task)) (func (param $k (ref null $t)) {}{}))",
        each(n, |i| format!("(block $b{i} (task.resume $t (local.get $k))")),
        ")".repeat(n)
    )
}

fn dialect_expression_nesting(n: usize) -> String {
    format!(
        "(module (type $t (task (param i32) (result i32))) (func (param $k (ref null $t)) (result i32) {}(i32.const 1){}))",
        each(n, |_| "(task.resume $t (local.get $k) ".into()),
        ")".repeat(n)
    )
}

fn stackref_locals_times_returns(n: usize) -> String {
    let side = side(n);
    format!(
        "(module {FIRST_CLASS} (func (param $x i32) {} {}))",
        each(side, |i| format!("(local $s{i} stackref)")),
        each(n, |_| "(if (local.get $x) (then (return)))".into()),
    )
}

fn events(n: usize) -> String {
    format!(
        "(module {FIRST_CLASS} {} (func (param $s stackref) {}))",
        each(n, |i| format!("(event $e{i} (param stackref))")),
        each(n, |i| format!(
            "(block $h (result stackref) (try (stack.switch $e{i} (local.get_clear $s)) catch $e{i} $h) (unreachable)) (local.set_cleared $s)"
        )),
    )
}

fn dialect_line(n: usize) -> String {
    dialect_functions(n).replace('\n', " ")
}
