//! Renders operations on numbers, objects, variables and control flow.

use super::Writer;
use super::clauses::Landing;
use super::module::{function_type, wrapper};
use crate::designs::program::{Catch, FunctionId, Op, Ty};

impl Writer<'_> {
    pub(super) fn basic(&mut self, op: &Op) {
        match op {
            Op::Const { to, value } => self.set(*to, &format!("(i64.const {value})")),
            Op::Mix { to, a, b } => {
                let (a, b) = (self.get(*a), self.get(*b));
                self.set(*to, &format!("(i64.add (i64.mul {a} (i64.const 31)) {b})"));
            }
            Op::Copy { to, from } => {
                let from_text = self.get(*from);
                let value = match (self.ty(*from), self.ty(*to)) {
                    (Ty::I64, Ty::V128) => format!("(i64x2.splat {from_text})"),
                    (Ty::V128, Ty::I64) => format!("(i64x2.extract_lane 1 {from_text})"),
                    _ => from_text,
                };
                self.set(*to, &value);
            }
            Op::IsNull { to, from } => {
                let from = self.get(*from);
                self.set(*to, &format!("(i64.extend_i32_u (ref.is_null {from}))"));
            }
            Op::Drop { from } => self.line(format!("(drop {})", self.get(*from))),
            Op::Log { from } => self.line(format!("(call $log {})", self.get(*from))),
            Op::Note { from } => {
                let digest = "(i64.mul (global.get $digest) (i64.const 31))";
                self.line(format!("(global.set $digest (i64.add {digest} {}))", self.get(*from)));
            }
            Op::NewStruct { .. } | Op::NewArray { .. } | Op::NewI31 { .. } => self.object(op),
            Op::Number { .. } | Op::Wrap { .. } | Op::Unwrap { .. } => self.object(op),
            Op::Refill { .. } | Op::IsCleared { .. } => self.object(op),
            Op::GlobalGet { .. } | Op::GlobalSet { .. } => self.variable(op),
            Op::TableGet { .. } | Op::TableSet { .. } => self.variable(op),
            _ => self.control(op),
        }
    }

    fn object(&mut self, op: &Op) {
        match op {
            Op::NewStruct { to, number, object } => {
                let (number, object) = (self.get(*number), self.get(*object));
                self.set(*to, &format!("(struct.new $struct {number} {object})"));
            }
            Op::NewArray { to, number, length } => {
                let number = self.get(*number);
                self.set(*to, &format!("(array.new $array {number} (i32.const {length}))"));
            }
            Op::NewI31 { to, number } => {
                let number = self.get(*number);
                self.set(*to, &format!("(ref.i31 (i32.wrap_i64 {number}))"));
            }
            Op::Number { to, object } => {
                let object = self.get(*object);
                self.set(*to, &format!("(call $number {object})"));
            }
            Op::Wrap { to, from } => {
                let (name, from) = (wrapper(self.ty(*from)), self.get(*from));
                self.set(*to, &format!("(struct.new {name} {from})"));
            }
            Op::Unwrap { to, object } => {
                let (name, object) = (wrapper(self.ty(*to)), self.get(*object));
                let word = linear(self.ty(*to), "struct.get", "clear");
                self.set(*to, &format!("({word} {name} 0 (ref.cast (ref {name}) {object}))"));
            }
            Op::Refill { object, from } => {
                let (name, object, from) =
                    (wrapper(Ty::Linear), self.get(*object), self.get(*from));
                let object = format!("(ref.cast (ref {name}) {object})");
                self.line(format!("(struct.set_cleared {name} 0 {object} {from})"));
            }
            Op::IsCleared { to, object } => {
                let (name, object) = (wrapper(Ty::Linear), self.get(*object));
                let object = format!("(ref.cast (ref {name}) {object})");
                let ask = format!("(i64.extend_i32_u (struct.is_cleared {name} 0 {object}))");
                self.set(*to, &ask);
            }
            other => unreachable!("not about objects: {other:?}"),
        }
    }

    fn variable(&mut self, op: &Op) {
        match op {
            Op::GlobalGet { to, global } => {
                let word = linear(self.ty(*to), "global.get", "clear");
                self.set(*to, &format!("({word} $g{global})"));
            }
            Op::GlobalSet { global, from } => {
                let word = linear(self.ty(*from), "global.set", "cleared");
                self.line(format!("({word} $g{global} {})", self.get(*from)));
            }
            Op::TableGet { to, table, index } => {
                let word = linear(self.ty(*to), "table.get", "clear");
                self.set(*to, &format!("({word} $a{table} (i32.const {index}))"));
            }
            Op::TableSet { table, index, from } => {
                let word = linear(self.ty(*from), "table.set", "cleared");
                let from = self.get(*from);
                self.line(format!("({word} $a{table} (i32.const {index}) {from})"));
            }
            other => unreachable!("not about variables: {other:?}"),
        }
    }

    fn control(&mut self, op: &Op) {
        match op {
            Op::If { condition, then, otherwise } => {
                let condition = self.get(*condition);
                self.nest(format!("(if (i64.ne {condition} (i64.const 0))"), |writer| {
                    writer.nest("(then", |writer| writer.block(*then));
                    writer.nest("(else", |writer| writer.block(*otherwise));
                });
            }
            Op::Next { to } => {
                self.set(*to, "(i64.load16_u (global.get $position))");
                self.line("(global.set $position (i32.add (global.get $position) (i32.const 2)))");
            }
            Op::Choose { number, arms } => self.choose(*number, arms),
            Op::Loop { counter, body } => {
                let label = self.label("loop");
                self.nest(format!("(loop {label}"), |writer| {
                    writer.block(*body);
                    let count = writer.get(*counter);
                    writer.set(*counter, &format!("(i64.sub {count} (i64.const 1))"));
                    writer.burn();
                    writer.line(format!("(br_if {label} (i64.gt_s {count} (i64.const 0)))"));
                });
            }
            Op::Try { body, catches } => {
                let landings: Vec<_> = catches
                    .iter()
                    .map(|catch| Landing { to: &catch.to, handler: catch.handler })
                    .collect();
                self.landings(&landings, |writer, labels| {
                    let catches = catches.iter().zip(labels);
                    let catches: String =
                        catches.map(|(catch, label)| catch_text(catch, label)).collect();
                    writer.nest(format!("(try_table{catches}"), |writer| writer.block(*body));
                });
            }
            Op::Throw { tag, args } => self.line(format!("(throw $e{tag}{})", self.get_all(args))),
            Op::ThrowRef { exn } => self.line(format!("(throw_ref {})", self.get(*exn))),
            Op::Return => {
                let results = self.program.functions[self.function].results.clone();
                self.line(format!("(return{})", self.get_all(&results)));
            }
            Op::Unreachable => self.line("(unreachable)"),
            Op::Call { function, args, to } => {
                self.line(self.call_text("call", *function, args));
                self.set_all(to);
            }
            Op::ReturnCall { function, args } => {
                self.line(self.call_text("return_call", *function, args));
            }
            Op::Enter { function, argument, swallow, to } => {
                let (argument, swallow) = (self.get(*argument), i32::from(*swallow));
                let call = format!(
                    "(call $enter (i32.const {function}) {argument} (i32.const {swallow}))"
                );
                self.set(*to, &call);
            }
            Op::HostThrow { number } => {
                self.line(format!("(call $throw {})", self.get(*number)));
                self.line("(unreachable)");
            }
            Op::HostFail => {
                self.line("(call $fail)");
                self.line("(unreachable)");
            }
            other => unreachable!("not a basic operation: {other:?}"),
        }
    }

    fn choose(&mut self, number: usize, arms: &[usize]) {
        let labels: Vec<_> = arms.iter().map(|_| self.label("arm")).collect();
        let done = self.label("done");
        self.line(format!("(block {done}"));
        for label in labels.iter().rev() {
            self.line(format!("(block {label}"));
        }
        let number = self.get(number);
        let labels = labels.join(" ");
        self.line(format!("(br_table {labels} {done} (i32.wrap_i64 {number}))"));
        for &arm in arms {
            self.line(")");
            self.block(arm);
            self.line(format!("(br {done})"));
        }
        self.line(")");
    }

    /// A call by name, or through the table if the function's module comes later.
    fn call_text(&self, word: &str, id: FunctionId, args: &[usize]) -> String {
        let function = &self.program.functions[id];
        let args = self.get_all(args);
        if function.module <= self.program.functions[self.function].module {
            return format!("({word} $fn{id}{args})");
        }
        let ty = function_type(function);
        format!("({word}_indirect $functions{ty}{args} (i32.const {id}))")
    }
}

/// The instruction that reads or writes a place; linear places have their own.
fn linear(ty: Ty, plain: &str, clear: &str) -> String {
    match ty {
        Ty::Linear => format!("{plain}_{clear}"),
        _ => plain.to_string(),
    }
}

fn catch_text(catch: &Catch, label: &str) -> String {
    match (catch.tag, catch.with_ref) {
        (Some(tag), false) => format!(" (catch $e{tag} {label})"),
        (Some(tag), true) => format!(" (catch_ref $e{tag} {label})"),
        (None, false) => format!(" (catch_all {label})"),
        (None, true) => format!(" (catch_all_ref {label})"),
    }
}
