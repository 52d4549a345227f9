//! Proposes operations of typed continuations.

use super::proposer::Proposer;
use super::setup::SWITCHED;
use crate::designs::model::{Machine, Sought, Value};
use crate::designs::program::{Handler, Local, Op, Signature, Ty, Typed, With};

/// Pairs of types, where the second one is the first with some arguments bound.
const BOUND: [(usize, usize); 10] =
    [(1, 0), (2, 3), (2, 0), (3, 0), (4, 2), (4, 0), (5, 6), (0, 0), (5, 0), (6, 0)];

impl Proposer<'_> {
    pub fn typed(&mut self, kind: usize) -> Option<Vec<Op>> {
        let types = self.setup.conts;
        match kind {
            0..=2 => {
                let ty = self.choice.one(types)?;
                self.new_cont(ty)
            }
            3 => {
                let (ty, into) = self.choice.one(&BOUND)?;
                if !types.contains(&ty) || !types.contains(&into) {
                    return None;
                }
                let (_, cont) = self.seek(&[Ty::Cont(ty)], is_valid)?;
                let count = self.cont(ty).params.len() - self.cont(into).params.len();
                let args = self.args(&self.cont(ty).params[..count]);
                let to = self.any(Ty::Cont(into));
                Some(vec![Op::Typed(Typed::Bind { to, ty, into, args, cont })])
            }
            4..=9 => {
                let (ty, cont) = self.seek_of(Ty::Cont, types, is_valid)?;
                Some(self.resume(ty, cont))
            }
            10..=13 => self.suspend(),
            14 | 15 => self.switch_cont(),
            _ => {
                let copied = self.copied();
                let (ty, cont) = self.seek_of(Ty::Cont, types, copied)?;
                let to = self.place_beside(Ty::Cont(ty), cont);
                let mut ops = vec![Op::Typed(Typed::Clone { to, ty, cont })];
                for one in [to, cont] {
                    if self.choice.percent(60) {
                        ops.extend(self.resume(ty, one));
                    }
                }
                Some(ops)
            }
        }
    }

    fn cont(&self, ty: usize) -> Signature {
        self.program().types.conts[ty].clone()
    }

    fn new_cont(&mut self, ty: usize) -> Option<Vec<Op>> {
        let function = self.function_of(&self.cont(ty), true)?;
        let to = self.any(Ty::Cont(ty));
        let mut ops = vec![Op::Typed(Typed::New { to, ty, function })];
        if self.choice.percent(60) {
            ops.extend(self.resume(ty, to));
        }
        Some(ops)
    }

    fn resume(&mut self, ty: usize, cont: Local) -> Vec<Op> {
        let signature = self.cont(ty);
        let with = self.with_what(&signature);
        let mut handlers = Vec::new();
        for _ in 0..self.choice.below(4) {
            let Some(tag) = self.tag(|_| true) else { continue };
            let found = self.signature_of(tag);
            let switches = found.params.is_empty() && found.results == self.setup.results;
            let rest = Signature::new(&found.results, &signature.results);
            match self.program().types.function_type(&rest) {
                _ if switches && self.choice.percent(60) => handlers.push(Handler::Switch(tag)),
                // Other types have no continuations.
                Some(rest) if rest < 7 => {
                    handlers.push(Handler::Label(self.clause(tag, &[], &[Ty::Cont(rest)])));
                }
                _ => {}
            }
        }
        let to = self.places(&signature.results);
        self.shown(Op::Typed(Typed::Resume { ty, with, cont, handlers, to: to.clone() }), &to)
    }

    fn with_what(&mut self, signature: &Signature) -> With {
        match self.choice.below(16) {
            0 => {
                let tag =
                    self.tag(|tag| tag.results.is_empty() && !tag.params.contains(&Ty::Linear));
                let tag = tag.unwrap_or_default();
                With::Throw(tag, self.args(&self.params_of(tag)))
            }
            1 => With::ThrowRef(self.arg(Ty::Exn)),
            _ => With::Values(self.args(&signature.params)),
        }
    }

    /// Suspends, preferably to a handler beyond the parent.
    fn suspend(&mut self) -> Option<Vec<Op>> {
        let (first, second) = (self.tag(|_| true)?, self.tag(|_| true)?);
        let is_far = self.running().is_some() && {
            let found = self.machine.find_handler(second, Sought::Label);
            found.is_some_and(|(outermost, _)| outermost != self.machine.running)
        };
        let tag = if is_far { second } else { first };
        let Signature { params, results } = self.signature_of(tag);
        let (args, to) = (self.args(&params), self.places(&results));
        Some(self.shown(Op::Typed(Typed::Suspend { tag, args, to: to.clone() }), &to))
    }

    fn switch_cont(&mut self) -> Option<Vec<Op>> {
        let results = &self.setup.results;
        let tag = self.tag(|tag| tag.params.is_empty() && tag.results == *results)?;
        let Some((ty, cont)) = self.seek_of(Ty::Cont, &SWITCHED, is_valid) else {
            // Leaves a continuation to switch to the next time.
            return self.new_cont(SWITCHED[0]);
        };
        let params = self.cont(ty).params;
        let args = self.args(&params[..params.len() - 1]);
        let to = self.places(&self.cont(SWITCHED[0]).params);
        Some(self.shown(Op::Typed(Typed::Switch { ty, tag, args, cont, to: to.clone() }), &to))
    }
}

/// Whether a reference that works once is still valid.
pub fn is_valid(machine: &Machine, value: Value) -> bool {
    machine.valid(value).is_some()
}
