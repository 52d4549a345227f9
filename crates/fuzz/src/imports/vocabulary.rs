//! The parts of generated modules: types, tags, and the items that all instances of a case share.
//!
//! A module `shared` has some globals and a table for each type of reference. So each function of
//! each instance finds the references of all others: used, stale, copied, and of every design.

use std::fmt::Write;

/// A type of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ty {
    I32,
    I64,
    F64,
    V128,
    /// An object with a magic number.
    Obj,
    /// An object of a subtype, with one more field.
    Sub,
    /// A stack of the bag, of one of seven types. The last type is a subtype of the one before.
    Bag(u8),
    /// A task, of one of six types.
    Task(u8),
    Fiber,
    /// A first-class stack.
    Stack,
    /// A typed continuation, of one of three types.
    Cont(u8),
    Exn,
    /// The environment of an `answer`. Never null.
    Env,
    /// The parameters of a call tag, of one of two types.
    Ask(u8),
}

use Ty::*;

/// The types of references in globals and tables.
pub fn kept() -> Vec<Ty> {
    let numbered = (0..7).map(Bag).chain((0..6).map(Task)).chain((0..3).map(Cont));
    [Obj, Sub, Fiber, Stack, Exn].into_iter().chain(numbered).collect()
}

impl Ty {
    /// Its part of the names of globals and tables.
    pub fn name(self) -> String {
        match self {
            I32 => "i32".into(),
            I64 => "i64".into(),
            F64 => "f64".into(),
            V128 => "v128".into(),
            Obj => "obj".into(),
            Sub => "sub".into(),
            Bag(n) => format!("c{n}"),
            Task(n) => format!("t{n}"),
            Fiber => "fiber".into(),
            Stack => "stack".into(),
            Cont(n) => format!("k{n}"),
            Exn => "exn".into(),
            Env => "env".into(),
            Ask(n) => format!("ask{n}"),
        }
    }

    /// Its text.
    pub fn text(self) -> String {
        match self {
            I32 | I64 | F64 | V128 => self.name(),
            Env => "(ref $env)".into(),
            _ => format!("(ref null {})", self.heap()),
        }
    }

    /// The heap type of a reference.
    pub fn heap(self) -> String {
        if self == Exn { "exn".into() } else { format!("${}", self.name()) }
    }

    /// Its null.
    pub fn null(self) -> String {
        format!("(ref.null {})", self.heap())
    }
}

/// The text of each type.
pub fn each(types: &[Ty]) -> Vec<String> {
    types.iter().map(|ty| ty.text()).collect()
}

/// The texts of types.
pub fn texts(types: &[Ty]) -> String {
    each(types).join(" ")
}

/// `(param t*)`, or nothing.
pub fn params(types: &[Ty]) -> String {
    if types.is_empty() { String::new() } else { format!("(param {})", texts(types)) }
}

/// `(result t*)`, or nothing.
pub fn results(types: &[Ty]) -> String {
    if types.is_empty() { String::new() } else { format!("(result {})", texts(types)) }
}

/// Identifies an object.
pub const MAGIC: u32 = 0x0b1ec7;

/// Identifies the last field of an object of the subtype.
pub const EXTRA: u64 = 0x5b0b_1ec7_5b0b_1ec7;

/// The types of all modules.
pub const TYPES: &str = "
  (type $obj (sub (struct (field $magic i32) (field $id i32))))
  (type $sub (sub $obj (struct (field $magic i32) (field $id i32) (field $extra i64))))
  (rec
    (type $c0.f (func (param (ref null $c1)))) (type $c0 (cont $c0.f))
    (type $c1.f (func (param i32 (ref null $c0)))) (type $c1 (cont $c1.f)))
  (rec
    (type $c2.f (func (param (ref null $sub) i64 f64 i32 i64 (ref null $obj) (ref null $c2))))
    (type $c2 (cont $c2.f)))
  (rec (type $c3.f (func (param (ref null $c0)))) (type $c3 (cont $c3.f)))
  (rec
    (type $c4.f (func (param i64 f64 i32 i64 (ref null $obj) (ref null $c2))))
    (type $c4 (cont $c4.f)))
  (rec
    (type $c5.f (sub (func (param (ref null $sub) (ref null $c5)))))
    (type $c5 (sub (cont $c5.f)))
    (type $c6.f (sub $c5.f (func (param (ref null $obj) (ref null $c5)))))
    (type $c6 (sub $c5 (cont $c6.f))))
  (rec (type $t0.f (func (result i32))) (type $t0 (cont $t0.f)))
  (rec
    (type $t1.f (func (param i32 (ref null $obj)) (result i64 (ref null $sub))))
    (type $t1 (cont $t1.f)))
  (rec
    (type $t2.f (func (param (ref null $sub) i64 i64 i64 i64 f64)
      (result (ref null $obj) i64 i64 i64 i64 v128)))
    (type $t2 (cont $t2.f)))
  (rec
    (type $t3.f (func (param (ref null $t3)) (result (ref null $t3))))
    (type $t3 (cont $t3.f)))
  (rec (type $t4.f (func (param (ref null $sub)) (result (ref null $obj)))) (type $t4 (cont $t4.f)))
  (rec (type $t5.f (func (param (ref null $obj)) (result (ref null $sub)))) (type $t5 (cont $t5.f)))
  (rec (type $fiber (cont $fiber.f)) (type $fiber.f (func (param (ref null $fiber)))))
  (rec
    (type $stack (cont $stack.f))
    (type $stack.f (func (param (ref null $stack) (ref null $stack)))))
  (type $k0.f (func)) (type $k0 (cont $k0.f))
  (type $k1.f (func (param i32) (result (ref null $obj)))) (type $k1 (cont $k1.f))
  (rec (type $k2.f (func (param (ref null $k2)))) (type $k2 (cont $k2.f)))
  (type $r01.f (func (result (ref null $obj)))) (type $r01 (cont $r01.f))
  (type $r10.f (func (param (ref null $obj)))) (type $r10 (cont $r10.f))
  (type $r11.f (func (param (ref null $obj)) (result (ref null $obj)))) (type $r11 (cont $r11.f))
  (type $env (struct (field (mut (ref null $sub))) (field (mut (ref null $stack)))))
  (type $box (sub (struct (field (mut (ref null $stack))))))
  (type $bigbox (sub $box (struct (field (mut (ref null $stack))) (field (mut (ref null $obj))))))
  (type $ask0 (func (result i32)))
  (type $ask1 (func (param i32 (ref null $obj)) (result (ref null $sub))))
";

/// The parameters of a stack of the bag, the return stack last.
pub fn bag(n: u8) -> Vec<Ty> {
    match n {
        0 => vec![Bag(1)],
        1 => vec![I32, Bag(0)],
        2 => vec![Sub, I64, F64, I32, I64, Obj, Bag(2)],
        3 => vec![Bag(0)],
        4 => vec![I64, F64, I32, I64, Obj, Bag(2)],
        5 => vec![Sub, Bag(5)],
        _ => vec![Obj, Bag(5)],
    }
}

/// The types that a task receives and gives.
pub fn task(n: u8) -> (Vec<Ty>, Vec<Ty>) {
    match n {
        0 => (vec![], vec![I32]),
        1 => (vec![I32, Obj], vec![I64, Sub]),
        2 => (vec![Sub, I64, I64, I64, I64, F64], vec![Obj, I64, I64, I64, I64, V128]),
        3 => (vec![Task(3)], vec![Task(3)]),
        4 => (vec![Sub], vec![Obj]),
        _ => (vec![Obj], vec![Sub]),
    }
}

/// The parameters and results of a typed continuation.
pub fn cont(n: u8) -> (Vec<Ty>, Vec<Ty>) {
    match n {
        0 => (vec![], vec![]),
        1 => (vec![I32], vec![Obj]),
        _ => (vec![Cont(2)], vec![]),
    }
}

/// A tag and its values.
#[derive(Clone, Copy)]
pub struct Tag {
    pub name: &'static str,
    pub values: &'static [Ty],
}

/// Tags without a stack at the end: events, exceptions.
pub const EVENTS: [Tag; 5] = [
    Tag { name: "$e0", values: &[] },
    Tag { name: "$e1", values: &[I32] },
    Tag { name: "$e2", values: &[Sub, I64] },
    Tag { name: "$e3", values: &[Fiber, I32] },
    Tag { name: "$e4", values: &[Obj, I64, I64, I64, I64, F64, Obj] },
];

/// Tags with a first-class stack at the end.
pub const STACK_EVENTS: [Tag; 5] = [
    Tag { name: "$s0", values: &[Stack] },
    Tag { name: "$s1", values: &[I32, Stack] },
    Tag { name: "$s2", values: &[Sub, I64, Stack] },
    Tag { name: "$s3", values: &[Stack, Stack] },
    Tag { name: "$s4", values: &[Obj, I64, I64, I64, I64, F64, Stack] },
];

/// Tags for `switch_throw`, with the suspended stack at the end.
pub const THROWN: [Tag; 3] = [
    Tag { name: "$x0", values: &[Bag(1)] },
    Tag { name: "$x1", values: &[Sub, Bag(0)] },
    Tag { name: "$x2", values: &[I64, Obj, Bag(5)] },
];

/// Call tags.
pub const CALLS: [Tag; 2] =
    [Tag { name: "$ct0", values: &[Ask(0)] }, Tag { name: "$ct1", values: &[Ask(1)] }];

/// Every tag that can be thrown.
pub fn thrown() -> Vec<Tag> {
    [&EVENTS[..], &STACK_EVENTS, &THROWN].concat()
}

/// Tags for `suspend`: name, values sent, values returned.
pub const SUSPENSIONS: [(&str, &[Ty], &[Ty]); 2] =
    [("$y0", &[], &[]), ("$y1", &[I32, Sub], &[Obj])];

/// The shared items, each as an import and as a definition.
fn items() -> Vec<(String, String, String)> {
    let mut items = Vec::new();
    let mut item = |name: String, kind: String, init: &str| items.push((name, kind, init.into()));
    for ty in kept() {
        for i in 0..2 {
            item(format!("g.{}.{i}", ty.name()), format!("global (mut {})", ty.text()), &ty.null());
        }
        item(format!("tab.{}", ty.name()), format!("table 3 {}", ty.text()), "");
    }
    item("fuel".into(), "global (mut i32)".into(), "(i32.const 0)");
    item("n".into(), "global (mut i32)".into(), "(i32.const 1)");
    item(
        "env".into(),
        "global (ref $env)".into(),
        "(struct.new $env (ref.null $sub) (ref.null $stack))",
    );
    item("box".into(), "global (ref $box)".into(), "(struct.new $box (ref.null $stack))");
    item(
        "bigbox".into(),
        "global (ref $bigbox)".into(),
        "(struct.new $bigbox (ref.null $stack) (ref.null $obj))",
    );
    item("funcs".into(), "table 16 funcref".into(), "");
    for tag in thrown().iter().chain(&CALLS) {
        item(tag.name[1..].into(), format!("tag {}", params(tag.values)), "");
    }
    for (name, sent, back) in SUSPENSIONS {
        item(name[1..].into(), format!("tag {} {}", params(sent), results(back)), "");
    }
    item("z".into(), "tag".into(), "");
    items
}

/// The text of the shared module.
pub fn shared() -> String {
    let mut text = format!("(module{TYPES}");
    for (name, kind, init) in items() {
        let (word, rest) = kind.split_once(' ').unwrap_or((&kind, ""));
        writeln!(text, "  ({word} (export \"{name}\") {rest} {init})").expect("a string");
    }
    text + ")\n"
}

/// The imports of the shared items.
pub fn imports() -> String {
    let mut text = String::new();
    for (name, kind, _) in items() {
        let (word, rest) = kind.split_once(' ').unwrap_or((&kind, ""));
        writeln!(text, "  (import \"shared\" \"{name}\" ({word} ${name} {rest}))")
            .expect("a string");
    }
    text
}
