//! Renders operations with blocks of code: control flow, catches, clauses, and marks.

use super::Writer;
use super::module::list;
use crate::designs::program::{
    BlockId, Catch, Clause, Fiber, FirstClass, Handler, Local, Op, Ty, Typed, With,
};

/// A clause or catch: its text up to the label, and what its label leads to, if it has one: the
/// locals for its values, and the code that runs then.
struct Landing<'a> {
    head: String,
    target: Option<(&'a [Local], BlockId)>,
}

impl<'a> Landing<'a> {
    fn catch(catch: &'a Catch) -> Landing<'a> {
        let head = match (catch.tag, catch.with_ref) {
            (Some(tag), false) => format!("catch $e{tag}"),
            (Some(tag), true) => format!("catch_ref $e{tag}"),
            (None, false) => "catch_all".to_string(),
            (None, true) => "catch_all_ref".to_string(),
        };
        Landing { head, target: Some((&catch.to, catch.handler)) }
    }

    fn clause(clause: &'a Clause) -> Landing<'a> {
        let head = format!("on $e{}", clause.tag);
        Landing { head, target: Some((&clause.to, clause.handler)) }
    }

    fn handler(handler: &'a Handler) -> Landing<'a> {
        match handler {
            Handler::Label(clause) => Landing::clause(clause),
            Handler::Switch(tag) => Landing { head: format!("on $e{tag} switch"), target: None },
        }
    }
}

impl Writer<'_> {
    /// Writes an operation, if it has blocks of code.
    pub(super) fn with_blocks(&mut self, op: &Op) -> bool {
        match op {
            Op::If { condition, then, otherwise } => {
                let condition = self.get(*condition);
                self.nest(format!("(if (i64.ne {condition} (i64.const 0))"), |writer| {
                    writer.nest("(then", |writer| writer.block(*then));
                    writer.nest("(else", |writer| writer.block(*otherwise));
                });
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
                let catches: Vec<_> = catches.iter().map(Landing::catch).collect();
                self.landings(&catches, |writer, catches| {
                    writer.nest(format!("(try_table{catches}"), |writer| writer.block(*body));
                });
            }
            Op::Typed(Typed::Resume { ty, with, cont, handlers, to }) => {
                let (word, args) = match with {
                    With::Values(args) => (format!("resume $c{ty}"), &args[..]),
                    With::Throw(tag, args) => (format!("resume_throw $c{ty} $e{tag}"), &args[..]),
                    With::ThrowRef(exn) => {
                        (format!("resume_throw_ref $c{ty}"), std::slice::from_ref(exn))
                    }
                };
                let operands = self.get_all(args) + &self.get_all(&[*cont]);
                self.clauses(&word, handlers.iter().map(Landing::handler), &operands, to);
            }
            Op::Fiber(op) => self.fiber(op),
            Op::FirstClass(FirstClass::Redirect { local, body }) => {
                self.nest(format!("(stack.redirect $l{local}"), |writer| writer.block(*body));
            }
            Op::FirstClass(FirstClass::RedirectTo { ask, ask_to, give_to, give, body }) => {
                self.nest("(stack.redirect_to", |writer| {
                    writer.block(*ask);
                    writer.line(writer.get(*ask_to));
                    writer.line("then");
                    writer.set(*give_to, "");
                    writer.block(*give);
                    writer.line("within");
                    writer.block(*body);
                });
            }
            Op::FirstClass(FirstClass::Answer { tag, params, code, results, body }) => {
                self.nest(format!("(answer $ask{tag}"), |writer| {
                    writer.set_all(params);
                    writer.block(*code);
                    writer.line(writer.get_all(results));
                    writer.line("within");
                    writer.block(*body);
                });
            }
            _ => return false,
        }
        true
    }

    fn choose(&mut self, number: Local, arms: &[BlockId]) {
        let labels: Vec<_> = arms.iter().map(|_| self.label("arm")).collect();
        let done = self.label("done");
        self.line(format!("(block {done}"));
        for label in labels.iter().rev() {
            self.line(format!("(block {label}"));
        }
        let (number, labels) = (self.get(number), labels.join(" "));
        self.line(format!("(br_table {labels} {done} (i32.wrap_i64 {number}))"));
        for &arm in arms {
            self.line(")");
            self.block(arm);
            self.line(format!("(br {done})"));
        }
        self.line(")");
    }

    fn fiber(&mut self, op: &Fiber) {
        let (word, clauses, operands) = match op {
            Fiber::New { to, returns, clauses, args } => {
                let returns = returns.map(|tag| format!(" $e{tag}")).unwrap_or_default();
                let clauses = clauses.iter().map(|(tag, id)| format!(" (on $e{tag} $fn{id})"));
                let (clauses, args) = (clauses.collect::<String>(), self.get_all(args));
                return self.set(*to, &format!("(fiber.new{returns}{clauses}{args})"));
            }
            Fiber::Release { fiber } => ("fiber.release".to_string(), &[][..], vec![*fiber]),
            Fiber::Mount { event, args, fiber, clauses } => {
                (format!("fiber.mount $e{event}"), &clauses[..], [&args[..], &[*fiber]].concat())
            }
            Fiber::Switch { event, args, from, fiber, clauses } => {
                let operands = [&args[..], &[*from, *fiber]].concat();
                (format!("fiber.switch $e{event}"), &clauses[..], operands)
            }
            Fiber::Dismount { event, args, from, clauses } => {
                (format!("fiber.dismount $e{event}"), &clauses[..], [&args[..], &[*from]].concat())
            }
            Fiber::Start { returns, function, args, from, clauses, .. } => {
                let word = if from.is_some() { "fiber.switch_new" } else { "fiber.mount_new" };
                let operands = args.iter().copied().chain(*from).collect();
                (format!("{word} $e{returns} $fn{function}"), &clauses[..], operands)
            }
            Fiber::DismountRelease { event, args, from } => {
                let operands = [&args[..], &[*from]].concat();
                (format!("fiber.dismount_release $e{event}"), &[][..], operands)
            }
            Fiber::SwitchRelease { event, args, from, fiber } => {
                let operands = [&args[..], &[*from, *fiber]].concat();
                (format!("fiber.switch_release $e{event}"), &[][..], operands)
            }
        };
        let to = if let Fiber::Start { to, .. } = op { &to[..] } else { &[] };
        let operands = self.get_all(&operands);
        self.clauses(&word, clauses.iter().map(Landing::clause), &operands, to);
    }

    /// Writes an instruction with clauses.
    fn clauses<'a>(
        &mut self,
        word: &str,
        clauses: impl Iterator<Item = Landing<'a>>,
        operands: &str,
        to: &[Local],
    ) {
        self.landings(&clauses.collect::<Vec<_>>(), |writer, clauses| {
            writer.line(format!("({word}{clauses}{operands})"));
            writer.set_all(to);
        });
    }

    /// Writes an instruction inside a block for each label of its clauses, whose text `inner`
    /// receives.
    ///
    /// ```text
    ///   (block $after
    ///     (block $on1 (result ...)
    ///       (block $on0 (result ...)
    ///         the instruction
    ///         (br $after))
    ///       handler 0
    ///       (br $after))
    ///     handler 1)
    /// ```
    fn landings(&mut self, clauses: &[Landing<'_>], inner: impl FnOnce(&mut Self, &str)) {
        let mut text = String::new();
        let mut targets = Vec::new();
        for Landing { head, target } in clauses {
            let label = target.map(|target| (target, self.label("on")));
            let name = label.as_ref().map(|(_, name)| format!(" {name}")).unwrap_or_default();
            text += &format!(" ({head}{name})");
            targets.extend(label);
        }
        if targets.is_empty() {
            return inner(self, &text);
        }
        let after = self.label("after");
        self.line(format!("(block {after}"));
        self.depth += 1;
        for ((to, _), label) in targets.iter().rev() {
            let types: Vec<Ty> = to.iter().map(|&local| self.ty(local)).collect();
            self.line(format!("(block {label}{}", list("result", &types)));
            self.depth += 1;
        }
        inner(self, &text);
        for ((to, handler), _) in targets {
            self.line(format!("(br {after})"));
            self.depth -= 1;
            self.line(")");
            self.set_all(to);
            self.block(handler);
        }
        self.depth -= 1;
        self.line(")");
    }
}
