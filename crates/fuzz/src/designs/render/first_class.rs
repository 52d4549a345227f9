//! Renders operations of first-class stacks.

use super::Writer;
use crate::designs::program::FirstClass;

impl Writer<'_> {
    pub(super) fn first_class(&mut self, op: &FirstClass) {
        match op {
            FirstClass::NewStack { to } => self.set(*to, "(call $new_stack)"),
            FirstClass::Clone { to, stack } => {
                self.burn();
                self.line(format!("(stack.clone {})", self.get(*stack)));
                self.set_all(to);
            }
            FirstClass::Switch { event, args, stack } => {
                let (args, stack) = (self.get_all(args), self.get(*stack));
                self.line(format!("(stack.switch $e{event}{args} {stack})"));
            }
            FirstClass::SwitchCall { function, event, args, stack } => {
                let event = event.map(|event| format!(" $e{event}")).unwrap_or_default();
                let (args, stack) = (self.get_all(args), self.get(*stack));
                self.line(format!("(stack.switch_call $fn{function}{event}{args} {stack})"));
            }
            FirstClass::SwitchDrop { event, args, stack } => {
                let (args, stack) = (self.get_all(args), self.get(*stack));
                self.line(format!("(stack.switch_drop $e{event}{args} {stack})"));
            }
            FirstClass::Extend { to, rout, event, args, stack } => {
                // A rout cannot burn fuel before `stack.start`.
                self.burn();
                let event = event.map(|event| format!(" $e{event}")).unwrap_or_default();
                let (args, stack) = (self.get_all(args), self.get(*stack));
                self.set(*to, &format!("(stack.extend $fn{rout}{event}{args} {stack})"));
            }
            FirstClass::Start => self.line("(stack.start)"),
            FirstClass::Redirect { local, body } => {
                self.nest(format!("(stack.redirect $l{local}"), |writer| writer.block(*body));
            }
            FirstClass::RedirectTo { ask, ask_to, give_to, give, body } => {
                self.nest("(stack.redirect_to", |writer| {
                    writer.block(*ask);
                    let stack = writer.get(*ask_to);
                    writer.line(stack);
                    writer.line("then");
                    writer.set(*give_to, "");
                    writer.block(*give);
                    writer.line("within");
                    writer.block(*body);
                });
            }
            FirstClass::Answer { tag, params, code, results, body } => {
                self.nest(format!("(answer $ask{tag}"), |writer| {
                    writer.set_all(params);
                    writer.block(*code);
                    for &result in results {
                        let result = writer.get(result);
                        writer.line(result);
                    }
                    writer.line("within");
                    writer.block(*body);
                });
            }
            FirstClass::CallStack { tag, args, to } => {
                self.burn();
                self.line(format!("(call_stack $ask{tag}{})", self.get_all(args)));
                self.set_all(to);
            }
        }
    }
}
