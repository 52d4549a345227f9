//! Renders programs as text: standard text for typed continuations, and the dialects of
//! `docs/DESIGNS.md` for the other designs.
//!
//! Names: `$c` continuation types, `$f` their function types, `$s` stack types, `$t` task types, `$w`
//! wrappers; `$e` tags, `$ask` call tags, `$g` globals, `$a` tables, `$fn` functions, `$l` locals.

mod block;
mod instruction;
mod module;

use super::program::{BlockId, FunctionId, Local, Op, Program, Ty};
use std::fmt::Write;

pub use module::modules;

/// A script: the modules of a program, and the calls of the host as comments.
pub fn script(program: &Program) -> String {
    let mut text = String::new();
    for (number, module) in modules(program).iter().enumerate() {
        let _ = writeln!(text, ";; module {number}\n{module}");
    }
    for call in &program.calls {
        let _ = writeln!(text, ";; the host calls f{} with {}", call.function, call.argument);
    }
    text
}

pub struct Writer<'p> {
    program: &'p Program,
    function: FunctionId,
    text: String,
    depth: usize,
    labels: usize,
}

impl<'p> Writer<'p> {
    fn new(program: &'p Program, function: FunctionId) -> Writer<'p> {
        Writer { program, function, text: String::new(), depth: 2, labels: 0 }
    }

    /// Adds a line.
    fn line(&mut self, line: impl AsRef<str>) {
        for _ in 0..self.depth {
            self.text.push_str("  ");
        }
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    /// Adds an opening line, its contents, and the closing parenthesis.
    fn nest(&mut self, line: impl AsRef<str>, inside: impl FnOnce(&mut Self)) {
        self.line(line);
        self.depth += 1;
        inside(self);
        self.depth -= 1;
        self.line(")");
    }

    /// A unique label in this function.
    fn label(&mut self, word: &str) -> String {
        self.labels += 1;
        format!("${word}{}", self.labels)
    }

    fn ty(&self, local: Local) -> Ty {
        self.program.functions[self.function].locals[local]
    }

    /// Reads a local.
    fn get(&self, local: Local) -> String {
        match self.ty(local) {
            Ty::Linear => format!("(local.get_clear $l{local})"),
            _ => format!("(local.get $l{local})"),
        }
    }

    fn get_all(&self, locals: &[Local]) -> String {
        locals.iter().map(|&local| format!(" {}", self.get(local))).collect()
    }

    /// Sets a local to the value of a folded expression.
    fn set(&mut self, local: Local, value: &str) {
        let word = match self.ty(local) {
            Ty::Linear => "local.set_cleared",
            _ => "local.set",
        };
        let value = if value.is_empty() { String::new() } else { format!(" {value}") };
        self.line(format!("({word} $l{local}{value})"));
    }

    /// Sets locals to the values on the operand stack.
    fn set_all(&mut self, locals: &[Local]) {
        for &local in locals.iter().rev() {
            self.set(local, "");
        }
    }

    fn block(&mut self, block: BlockId) {
        for op in &self.program.blocks[block].ops {
            self.op(op);
        }
    }

    fn op(&mut self, op: &Op) {
        if self.with_blocks(op) {
            return;
        }
        if op.burns_fuel() {
            self.burn();
        }
        match op {
            Op::Next { to } => {
                self.set(*to, "(i64.load16_u (global.get $position))");
                let next = "(i32.add (global.get $position) (i32.const 2))";
                self.line(format!("(global.set $position {next})"));
            }
            _ => {
                self.line(self.instruction(op));
                self.set_all(op.results());
            }
        }
    }

    /// Burns fuel, without a call.
    fn burn(&mut self) {
        self.line("(global.set $fuel (i64.sub (global.get $fuel) (i64.const 1)))");
        self.line("(if (i64.le_s (global.get $fuel) (i64.const 0)) (then (unreachable)))");
    }
}
