//! Renders operations of typed continuations.

use super::Writer;
use super::clauses::Landing;
use crate::designs::program::{FunctionId, Handler, Typed, With};

impl Writer<'_> {
    pub(super) fn typed(&mut self, op: &Typed) {
        match op {
            Typed::New { to, ty, function } => {
                let function = self.function_reference(*function);
                self.set(*to, &format!("(cont.new $c{ty} {function})"));
            }
            Typed::Bind { to, ty, into, args, cont } => {
                let (args, cont) = (self.get_all(args), self.get(*cont));
                self.set(*to, &format!("(cont.bind $c{ty} $c{into}{args} {cont})"));
            }
            Typed::Clone { to, ty, cont } => {
                self.burn();
                let cont = self.get(*cont);
                self.set(*to, &format!("(cont.clone $c{ty} {cont})"));
            }
            Typed::Suspend { tag, args, to } => {
                self.line(format!("(suspend $e{tag}{})", self.get_all(args)));
                self.set_all(to);
            }
            Typed::Resume { ty, with, cont, handlers, to } => {
                let landings = handlers.iter().filter_map(|handler| match handler {
                    Handler::Label(clause) => {
                        Some(Landing { to: &clause.to, handler: clause.handler })
                    }
                    Handler::Switch(_) => None,
                });
                let landings: Vec<_> = landings.collect();
                self.landings(&landings, |writer, labels| {
                    let mut labels = labels.iter();
                    let clauses: String = handlers
                        .iter()
                        .map(|handler| match handler {
                            Handler::Label(clause) => {
                                let label = labels.next().expect("a label for each");
                                format!(" (on $e{} {label})", clause.tag)
                            }
                            Handler::Switch(tag) => format!(" (on $e{tag} switch)"),
                        })
                        .collect();
                    let cont = writer.get(*cont);
                    writer.line(match with {
                        With::Values(args) => {
                            format!("(resume $c{ty}{clauses}{} {cont})", writer.get_all(args))
                        }
                        With::Throw(tag, args) => {
                            let args = writer.get_all(args);
                            format!("(resume_throw $c{ty} $e{tag}{clauses}{args} {cont})")
                        }
                        With::ThrowRef(exn) => {
                            let exn = writer.get(*exn);
                            format!("(resume_throw_ref $c{ty}{clauses} {exn} {cont})")
                        }
                    });
                    writer.set_all(to);
                });
            }
            Typed::Switch { ty, tag, args, cont, to } => {
                let (args, cont) = (self.get_all(args), self.get(*cont));
                self.line(format!("(switch $c{ty} $e{tag}{args} {cont})"));
                self.set_all(to);
            }
        }
    }

    /// A reference to a function that has a named type.
    pub(super) fn function_reference(&self, id: FunctionId) -> String {
        let function = &self.program.functions[id];
        match function.declared {
            Some(ty) if function.module > self.program.functions[self.function].module => {
                format!("(ref.cast (ref $f{ty}) (table.get $functions (i32.const {id})))")
            }
            _ => format!("(ref.func $fn{id})"),
        }
    }
}
