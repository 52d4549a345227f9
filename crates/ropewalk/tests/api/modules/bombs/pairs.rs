//! Families of modules that scale two counts, whose product compilation might cost.
//!
//! A source is about as long as the sum of the counts. The families cover the counts that a module
//! can make large: operands, locals, references, calls, blocks, loops, branches, cases, clauses,
//! tags, types, functions.

/// A family of modules: its name, and its source for two counts.
pub type Pair = (&'static str, fn(usize, usize) -> String);

/// All families.
pub const PAIRS: &[Pair] = &[
    ("operands, straight line", |a, _| operands(a, String::new())),
    ("operands, ifs", |a, b| operands(a, IF.repeat(b))),
    ("operands, blocks", |a, b| operands(a, "(block (br_if 0 (local.get 0)))".repeat(b))),
    ("operands, loops", |a, b| operands(a, "(loop (br_if 0 (local.get 0)))".repeat(b))),
    ("operands, nested loops", |a, b| operands(a, nest("(loop (br_if 0 (local.get 0)) ", b, ""))),
    ("operands, calls", |a, b| operands(a, "(call $f)".repeat(b))),
    ("operands, guarded calls", |a, b| {
        operands(a, format!("(block $l (try_table (catch_all $l) {}))", "(call $f)".repeat(b)))
    }),
    ("operands, cases", |a, b| operands(a, cases(b))),
    ("operands, branches to one block", |a, b| {
        operands(a, format!("(block {})", "(br_if 0 (local.get 0))".repeat(b)))
    }),
    ("vectors, ifs", |a, b| {
        let loads = "(v128.load (global.get $g))(global.set $g (i32.const 7))".repeat(a);
        let (ifs, xors) = (IF.repeat(b), "(v128.xor)".repeat(a));
        let body = format!("{loads}{ifs}(i8x16.splat (i32.const 0)){xors}(local.set 1)");
        function("(local v128)", format!("{body}(v128.store (i32.const 0) (local.get 1))"))
    }),
    ("common terms, ifs", |a, b| {
        let terms = each(a, |i| format!("(global.set $g (i32.mul (local.get 0) (i32.const {i})))"));
        function("", format!("{terms}{}{terms}", IF.repeat(b)))
    }),
    ("locals, ifs", |a, b| {
        locals(a, set_all(a), "(if (local.get 0) (then (local.set 1 (i32.const 5))))".repeat(b))
    }),
    ("locals set in ifs", |a, b| {
        let set = each(b, |i| {
            format!("(if (local.get 0) (then (local.set {} (i32.const 5))))", 1 + i % a.max(1))
        });
        locals(a, set_all(a), set)
    }),
    ("locals, loops", |a, b| locals(a, set_all(a), "(loop (br_if 0 (local.get 0)))".repeat(b))),
    ("locals, nested loops", |a, b| {
        locals(a, set_all(a), nest("(loop (br_if 0 (local.get 0)) ", b, &get_all(a)))
    }),
    ("locals, nested blocks", |a, b| {
        locals(a, set_all(a), nest("(block (br_if 0 (local.get 0)) ", b, &get_all(a)))
    }),
    ("locals, nested ifs", |a, b| {
        let nested =
            format!("{}{}{}", "(if (local.get 0) (then ".repeat(b), get_all(a), "))\n".repeat(b));
        locals(a, set_all(a), nested)
    }),
    ("locals that rotate in loops", |a, b| {
        let rotate = each(a, |i| format!("(local.set {} (local.get {}))", i + 1, i + 2));
        let rotate =
            format!("(loop {rotate} (local.set {} (local.get 0)) (br_if 0 (local.get 0)))", a + 1);
        locals(a + 1, String::new(), rotate.repeat(1 + b / a.max(1)))
    }),
    ("block parameters that rotate", |a, b| {
        let a = a.clamp(1, 900);
        let many = format!("(param {0}) (result {0})", " i32".repeat(a));
        let set = (0..a).rev().fold(String::new(), |s, i| s + &format!("(local.set {})", i + 1));
        let get = each(a - 1, |i| format!("(local.get {})", i + 2));
        let zeros = "(i32.const 0)".repeat(a);
        let body = format!("(loop (type $many) {set}{get}(local.get 0)(br_if 0 (local.get 0)))");
        let drops = "(drop)".repeat(a);
        module(
            &format!("(type $many (func {many}))"),
            &format!("(local {})", " i32".repeat(a)),
            format!("{zeros}{}{drops}", body.repeat(1 + b / a)),
        )
    }),
    ("locals, branches to one block", |a, b| {
        let set = each(b, |i| {
            format!("(local.set {} (i32.const {i})) (br_if 0 (local.get 0))", 1 + i % a.max(1))
        });
        locals(a, set_all(a), format!("(block {set})"))
    }),
    ("locals, cases", |a, b| locals(a, set_all(a), cases(b))),
    ("locals set in cases", |a, b| {
        locals(
            a,
            set_all(a),
            cases_with(b, |i| format!("(local.set {} (i32.const {i}))", 1 + i % a.max(1))),
        )
    }),
    ("locals, calls", |a, b| locals(a, set_all(a), "(call $f)".repeat(b))),
    ("locals, guarded calls", |a, b| {
        let guarded = "(block $l (try_table (catch_all $l) (call $f)))".repeat(b);
        locals(a, set_all(a), guarded)
    }),
    ("locals set between guarded calls", |a, b| {
        let calls =
            each(b, |i| format!("(local.set {} (i32.const {i})) (call $f)", 1 + i % a.max(1)));
        locals(a, set_all(a), format!("(block $l (try_table (catch_all $l) {calls}))"))
    }),
    ("references, calls", |a, b| references(a, "(call $f)".repeat(b))),
    ("references, ifs", |a, b| references(a, IF.repeat(b))),
    ("references, loops", |a, b| {
        references(a, "(loop (call $f) (br_if 0 (local.get 0)))".repeat(b))
    }),
    ("references, nested loops", |a, b| {
        references(a, nest("(loop (br_if 0 (local.get 0)) ", b, "(call $f)"))
    }),
    ("references at once, later calls", |a, b| {
        let make = each(a, |i| format!("(local.set {} (global.get $r))", i + 1));
        let use_ = each(a, |i| format!("(global.set $r (local.get {}))", i + 1));
        let body = format!(
            "{make}(call $f){use_}{}(global.set $r (local.get {a}))",
            "(call $f)".repeat(b)
        );
        function(&"(local anyref)".repeat(a), body)
    }),
    ("reference operands, calls", |a, b| {
        function(
            "",
            format!(
                "{}{}{}",
                "(global.get $r)".repeat(a),
                "(call $f)".repeat(b),
                "(global.set $r)".repeat(a)
            ),
        )
    }),
    ("stack locals, calls", |a, b| {
        first_class(format!("{}{}", stack_locals(a), "(call $g)".repeat(b)))
    }),
    ("stack locals, ifs", |a, b| first_class(format!("{}{}", stack_locals(a), IF.repeat(b)))),
    ("stack locals, allocations", |a, b| {
        first_class(format!("{}{}", stack_locals(a), "(drop (struct.new_default $s))".repeat(b)))
    }),
    ("stack operands, calls", |a, b| {
        let drops = "(call $take)".repeat(a);
        first_class(format!("{}{}{drops}", "(call $new)".repeat(a), "(call $g)".repeat(b)))
    }),
    ("stack operands, branches", |a, b| {
        let branches = "(br_if $out (local.get 0))".repeat(b);
        let drops = "(call $take)".repeat(a);
        first_class(format!("(block $out {}{branches}{drops})", "(call $new)".repeat(a)))
    }),
    ("parameters, calls", |a, b| {
        let a = a.min(1000);
        let call = format!("{}(call $many)", "(local.get 0)".repeat(a));
        let many = format!("(func $many (param {}))", " i32".repeat(a));
        module(&many, "", call.repeat(1 + b / a.max(1)))
    }),
    ("results, calls", |a, b| {
        let a = a.min(1000);
        module(
            &format!("(func $many (result {}) (unreachable))", " i32".repeat(a)),
            "",
            "(block (call $many) (br 0))".repeat(b),
        )
    }),
    ("clauses, calls", |a, b| {
        let calls = "(call $f)".repeat(b);
        let catches = each(a.min(9000), |i| format!("(catch $e{i} $l)"));
        module(&tags(a), "", format!("(block $l (try_table {catches} {calls}))"))
    }),
    ("nested try_tables, calls", |a, b| {
        let open = each(a, |i| format!("(try_table (catch $e{i} $l)"));
        let body = format!("(block $l {open}{}{})", "(call $f)".repeat(b), ")".repeat(a));
        module(&tags(a), "", body)
    }),
    ("clauses, resumes", |a, b| {
        let clauses = each(a.min(9000), |i| format!("(on $e{i} $l)"));
        let plain = "(resume $c (local.get $k))".repeat(b);
        module(
            &format!("(type $v (func)) (type $c (cont $v)) {}", tags(a)),
            "(local $k (ref null $c))",
            format!(
                "(block $l (result (ref $c)) (resume $c {clauses} (local.get $k)) (unreachable)) (drop) {plain}"
            ),
        )
    }),
    ("locals, resumes", |a, b| {
        let resumes = "(resume $c (local.get $k))".repeat(b);
        let get = each(a, |i| format!("(global.set $g (local.get {}))", i + 1));
        module(
            "(type $v (func)) (type $c (cont $v))",
            &format!("(local {}) (local $k (ref null $c))", " i32".repeat(a)),
            format!("{}{resumes}{get}", set_all(a)),
        )
    }),
    ("references, suspends", |a, b| {
        let make = each(a, |i| format!("(local.set {} (global.get $r))", i + 1));
        let get = each(a, |i| format!("(global.set $r (local.get {}))", i + 1));
        module(
            "(type $v (func)) (type $c (cont $v)) (tag $e)",
            &format!("(local {})", " anyref".repeat(a)),
            format!("{make}{}{get}", "(suspend $e)".repeat(b)),
        )
    }),
    ("block results, cases", |a, b| {
        let a = a.min(1000);
        module(
            &format!("(type $many (func (result {})))", " i32".repeat(a)),
            "",
            format!(
                "(block (type $many) {}(br_table {} 0 (local.get 0))) {}",
                "(local.get 0)".repeat(a),
                " 0".repeat(b),
                "(drop)".repeat(a)
            ),
        )
    }),
    ("cases, tables", |a, b| {
        let labels = (0..a).fold(String::new(), |s, i| s + &format!(" {i}"));
        let table = format!("(block (br_table {labels} 0 (local.get 0)))");
        function("", nest("(block ", a, &table.repeat(1 + b / a.max(1))))
    }),
    ("cases with a value", |a, b| {
        let labels = (0..a).fold(String::new(), |s, i| s + &format!(" {i}"));
        let open = "(block (result i32) ".repeat(a + 1);
        let close = "(drop) (local.get 0))".repeat(a);
        function(
            "",
            format!(
                "{open}(local.get 0)(br_table {labels} 0 (local.get 0))){close}{}(drop)",
                IF.repeat(b)
            ),
        )
    }),
    ("nested blocks, branches out", |a, b| {
        let branches = each(b, |i| format!("(br_if {} (local.get 0))", i % a.max(1)));
        function("", nest("(block ", a.min(19_000), &branches))
    }),
    ("nested loops, branches back", |a, b| {
        let branches = each(b, |i| format!("(br_if {} (local.get 0))", i % a.max(1)));
        function("", nest("(loop ", a.min(19_000), &branches))
    }),
    ("loads, calls", |_, b| {
        function("", "(global.set $g (i32.load (local.get 0))) (call $f)".repeat(b))
    }),
    ("globals, builtins", |a, b| {
        let get = "(global.set $g (i32.add (global.get $g) (local.get 0)))".repeat(a);
        function("", format!("{}{get}", "(drop (memory.grow (local.get 0)))".repeat(b)))
    }),
    ("casts, types", |a, b| {
        let types = each(a, |i| {
            format!("(type $t{} (sub $t{} (struct)))", i + 1, if i % 60 == 59 { 0 } else { i })
        });
        let casts =
            each(b, |i| format!("(drop (ref.test (ref $t{}) (global.get $r)))", i % a.max(1)));
        module(&format!("(type $t0 (sub (struct))) {types}"), "", casts)
    }),
    ("fields, objects", |a, b| {
        module(
            &format!("(type $wide (struct {}))", "(field i32)".repeat(a.min(9000))),
            "",
            "(drop (struct.new_default $wide))".repeat(b),
        )
    }),
    ("signatures, indirect calls", |a, b| {
        let types = each(a, |i| format!("(type $t{i} (func (param {})))", " i32".repeat(i % 4)));
        let calls = each(b, |i| {
            let i = i % a.max(1);
            format!("(call_indirect (type $t{i}) {} (local.get 0))", "(local.get 0)".repeat(i % 4))
        });
        module(&types, "", calls)
    }),
    ("one long function, short ones", |a, b| {
        module(
            &each(b, |_| "(func (param i32) (result i32) (local.get 0))".into()),
            "",
            IF.repeat(a),
        )
    }),
    ("types, functions", |a, b| {
        format!(
            "(module {} {})",
            each(a, |i| format!("(type $t{i} (func (param {})))", " i32".repeat(i % 9))),
            each(b, |i| format!("(func (type $t{}))", i % a.max(1)))
        )
    }),
    ("locals of functions", |a, b| {
        format!(
            "(module {})",
            each(b, |_| format!("(func (local {}))", "i32 ".repeat(a / b.max(1))))
        )
    }),
];

const IF: &str = "(if (local.get 0) (then (global.set $g (i32.const 1))))";

fn each(n: usize, item: impl Fn(usize) -> String) -> String {
    (0..n).fold(String::new(), |all, i| all + &item(i) + "\n")
}

fn nest(open: &str, n: usize, inside: &str) -> String {
    format!("{}{inside}{}", open.repeat(n), ")\n".repeat(n))
}

fn module(declarations: &str, locals: &str, body: String) -> String {
    format!(
        "(module (memory 1) (table 10 funcref) (global $g (mut i32) (i32.const 0))
           (global $r (mut anyref) (ref.null any)) {declarations}
           (func $f) (func (export \"run\") (param i32) {locals} {body}))"
    )
}

fn function(locals: &str, body: String) -> String {
    module("", locals, body)
}

/// Many operands that are live around some code.
fn operands(n: usize, around: String) -> String {
    let loads = each(n, |i| format!("(i32.load offset={i} (local.get 0))"));
    function("", format!("{loads}{around}(i32.const 0){}(global.set $g)", "(i32.add)".repeat(n)))
}

fn set_all(n: usize) -> String {
    each(n, |i| format!("(local.set {} (i32.load offset={i} (local.get 0)))", i + 1))
}

fn get_all(n: usize) -> String {
    each(n, |i| format!("(global.set $g (local.get {}))", i + 1))
}

/// Many locals that are set before some code and used after it.
fn locals(n: usize, before: String, around: String) -> String {
    function(&format!("(local {})", " i32".repeat(n)), format!("{before}{around}{}", get_all(n)))
}

fn references(n: usize, around: String) -> String {
    let make = each(n, |i| format!("(local.set {} (global.get $r))", i + 1));
    let use_ = each(n, |i| format!("(global.set $r (local.get {}))", i + 1));
    function(&format!("(local {})", " anyref".repeat(n)), format!("{make}{around}{use_}"))
}

fn cases_with(n: usize, case: impl Fn(usize) -> String) -> String {
    let labels = (0..n).fold(String::new(), |s, i| s + &format!(" {i}"));
    let open = "(block ".repeat(n + 1);
    let close = each(n, |i| format!("{})", case(i)));
    format!("{open}(br_table {labels} 0 (local.get 0))){close}")
}

fn cases(n: usize) -> String {
    cases_with(n, |_| "(global.set $g (i32.const 1))".into())
}

fn tags(n: usize) -> String {
    each(n, |i| format!("(tag $e{i})"))
}

fn first_class(body: String) -> String {
    format!(
        "(module (import \"host\" \"new_stack\" (func $new (result stackref)))
           (import \"host\" \"take_stack\" (func $take (param stackref)))
           (type $s (struct (field i32))) (global $g (mut i32) (i32.const 0))
           (func $g) (func (param i32) {body}))"
    )
}

/// Locals, each with a stack.
fn stack_locals(n: usize) -> String {
    let locals = each(n, |i| format!("(local $s{i} stackref)"));
    format!("{locals}{}", each(n, |i| format!("(local.set_cleared $s{i} (call $new))")))
}
