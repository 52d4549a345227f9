//! Generates operations of typed continuations.

use super::block_writer::BlockWriter;
use crate::designs::model::Sought;
use crate::designs::program::{Handler, Local, Op, Signature, TagId, Ty, Typed, With};

impl BlockWriter<'_> {
    pub fn typed(&mut self) -> Option<()> {
        match self.choice.below(20) {
            0..=2 => self.new_cont(),
            3 => self.bind_cont(),
            16..=19 => self.clone_cont(),
            4..=9 => self.resume(),
            10..=13 => self.suspend(),
            _ => self.switch_cont(),
        }
    }

    /// The continuation types of the program, without those that exist only to name function types.
    fn cont_types(&self) -> Vec<Ty> {
        (0..7).map(Ty::Cont).collect()
    }

    fn signature(&self, ty: usize) -> Signature {
        self.machine.program.types.conts[ty].clone()
    }

    fn new_cont(&mut self) -> Option<()> {
        let ty = self.choice.below(7);
        let function = self.function(&self.signature(ty), true);
        let to = self.any(Ty::Cont(ty));
        self.add(Op::Typed(Typed::New { to, ty, function }));
        if self.choice.percent(60) {
            return self.resume();
        }
        Some(())
    }

    /// Pairs of types, where the second one is the first with some arguments bound.
    fn bind_cont(&mut self) -> Option<()> {
        let pairs =
            [(1, 0), (2, 3), (2, 0), (3, 0), (4, 2), (4, 0), (5, 6), (0, 0), (5, 0), (6, 0)];
        let (ty, into) = self.choice.one(&pairs)?;
        let valid = |machine: &_, value| valid(machine, value);
        let (_, cont) = self.seek(&[Ty::Cont(ty)], valid)?;
        let count = self.signature(ty).params.len() - self.signature(into).params.len();
        let args = self.args(&self.signature(ty).params[..count]);
        let to = self.any(Ty::Cont(into));
        self.add(Op::Typed(Typed::Bind { to, ty, into, args, cont }));
        Some(())
    }

    /// Copies a continuation, mostly one that can be copied, and often continues with both.
    fn clone_cont(&mut self) -> Option<()> {
        let (ty, cont) = self.seek_copied(&self.cont_types())?;
        let Ty::Cont(number) = ty else { return None };
        let to = self.place_beside(ty, cont);
        self.add(Op::Typed(Typed::Clone { to, ty: number, cont }));
        for one in [to, cont] {
            if self.choice.percent(60) {
                self.resume_one(number, one)?;
            }
        }
        Some(())
    }

    fn resume(&mut self) -> Option<()> {
        let (ty, cont) = self.seek(&self.cont_types(), valid)?;
        let Ty::Cont(ty) = ty else { return None };
        self.resume_one(ty, cont)
    }

    fn resume_one(&mut self, ty: usize, cont: Local) -> Option<()> {
        let signature = self.signature(ty);
        let with = self.what_with(&signature);
        let mut handlers = Vec::new();
        let tags = self.tags(|_| true);
        for _ in 0..self.choice.below(4) {
            let tag = self.tag(&tags)?;
            let tag_type = self.machine.program.tags[tag].signature.clone();
            let switches = tag_type.params.is_empty() && tag_type.results == self.setup.results;
            if switches && self.choice.percent(60) {
                handlers.push(Handler::Switch(tag));
                continue;
            }
            let rest = Signature::new(&tag_type.results, &signature.results);
            let Some(rest) = self.machine.program.types.function_type(&rest) else { continue };
            // Only types that have continuations.
            if rest < 7 {
                let clause = self.clause(tag, &[], &[Ty::Cont(rest)]);
                handlers.push(Handler::Label(clause));
            }
        }
        let to = self.places(&signature.results);
        self.add(Op::Typed(Typed::Resume { ty, with, cont, handlers, to: to.clone() }));
        self.show(&to);
        Some(())
    }

    fn what_with(&mut self, signature: &Signature) -> With {
        if self.choice.percent(88) {
            return With::Values(self.args(&signature.params));
        }
        let tags = self.tags(|tag| tag.results.is_empty() && !tag.params.contains(&Ty::Linear));
        match self.tag(&tags) {
            Some(tag) if self.choice.percent(60) => {
                let params = self.params_of(tag);
                With::Throw(tag, self.args(&params))
            }
            _ => {
                let exn = self.seek(&[Ty::Exn], |_, value| !value.is_null());
                let exn = exn.map(|(_, local)| local);
                match exn {
                    Some(exn) => With::ThrowRef(exn),
                    None => With::Values(self.args(&signature.params)),
                }
            }
        }
    }

    /// Suspends, mostly with a tag that is handled.
    fn suspend(&mut self) -> Option<()> {
        let mut tags = self.tags(|_| true);
        if !self.choice.percent(3) {
            tags.retain(|&tag| self.machine.find_handler(tag, Sought::Label).is_some());
        }
        if self.choice.percent(40) {
            self.prefer_far(&mut tags);
        }
        let tag = self.tag(&tags)?;
        let signature = self.machine.program.tags[tag].signature.clone();
        let args = self.args(&signature.params);
        let to = self.places(&signature.results);
        self.add(Op::Typed(Typed::Suspend { tag, args, to: to.clone() }));
        self.show(&to);
        Some(())
    }

    /// Keeps only tags whose handlers are beyond the parent, if there are any.
    fn prefer_far(&self, tags: &mut Vec<TagId>) {
        let is_far = |tag: &TagId| {
            let found = self.machine.find_handler(*tag, Sought::Label);
            found.is_some_and(|(outermost, _)| outermost != self.machine.running)
        };
        if tags.iter().any(is_far) {
            tags.retain(is_far);
        }
    }

    fn switch_cont(&mut self) -> Option<()> {
        let results = self.setup.results.clone();
        let mut tags = self.tags(|tag| tag.params.is_empty() && tag.results == results);
        if !self.choice.percent(3) {
            tags.retain(|&tag| self.machine.find_handler(tag, Sought::Switch).is_some());
        }
        let tag = self.tag(&tags)?;
        let switched = self.setup.switched;
        let found = self.seek(&switched.map(Ty::Cont), valid);
        let Some((Ty::Cont(ty), cont)) = found else {
            // Leaves a continuation to switch to the next time.
            let ty = switched[0];
            let function = self.function(&self.signature(ty), true);
            let to = self.any(Ty::Cont(ty));
            self.add(Op::Typed(Typed::New { to, ty, function }));
            return Some(());
        };
        let params = self.signature(ty).params;
        let args = self.args(&params[..params.len() - 1]);
        let to = self.places(&self.signature(switched[0]).params);
        self.add(Op::Typed(Typed::Switch { ty, tag, args, cont, to: to.clone() }));
        self.show(&to);
        Some(())
    }
}

fn valid(machine: &crate::designs::model::Machine, value: crate::designs::model::Value) -> bool {
    machine.valid(value).is_some()
}
