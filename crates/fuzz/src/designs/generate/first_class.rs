//! Generates operations of first-class stacks.

use super::bag::can_switch;
use super::block_writer::BlockWriter;
use crate::designs::model::{OnReturn, StackId};
use crate::designs::program::{BlockId, Catch, FirstClass, Local, Op, Signature, TagId, Ty};
use std::rc::Rc;

impl BlockWriter<'_> {
    pub fn first_class(&mut self) -> Option<()> {
        match self.choice.below(29) {
            0 => self.blank(),
            24..=28 => self.clone_linear(),
            1..=4 => self.switch_call(),
            5..=8 => self.extend(),
            9..=13 => self.switch(),
            14 if self.choice.percent(40) => self.switch_away(),
            14..=16 => self.redirect(),
            17..=20 => self.answer(),
            _ => self.call_stack(),
        }
    }

    /// Whether the function is on top of a stack, so that returning would trap.
    pub fn is_on_top(&mut self) -> bool {
        matches!(self.machine.frame().then, OnReturn::Event(None, _))
    }

    fn blank(&mut self) -> Option<()> {
        let to = self.place(Ty::Linear);
        self.add(Op::FirstClass(FirstClass::NewStack { to }));
        Some(())
    }

    /// Copies a stack, mostly one that can be copied, and often continues with both.
    fn clone_linear(&mut self) -> Option<()> {
        let (_, stack) = self.seek_copied(&[Ty::Linear])?;
        let given = if self.choice.percent(70) { stack } else { self.place(Ty::Linear) };
        let copy = self.place_beside(Ty::Linear, given);
        let target = self.machine.valid(self.machine.peek(stack));
        self.add(Op::FirstClass(FirstClass::Clone { to: [given, copy], stack }));
        for one in [copy, given] {
            if self.choice.percent(50) {
                self.switch_to_linear(one, target);
            }
        }
        Some(())
    }

    /// A stack to switch to: an existing or a new one.
    fn stack(&mut self, blank: usize) -> Option<(Local, Option<StackId>)> {
        if !self.choice.percent(blank)
            && let Some((_, stack)) = self.seek(&[Ty::Linear], can_switch)
        {
            return Some((stack, self.machine.valid(self.machine.peek(stack))));
        }
        let to = self.place(Ty::Linear);
        self.add(Op::FirstClass(FirstClass::NewStack { to }));
        Some((to, None))
    }

    /// Catches for events that may arrive at a switch, mostly events with a stack.
    fn catches(&mut self) -> Vec<Catch> {
        let with_stack = self.tags(|tag| tag.params.last() == Some(&Ty::Linear));
        let others = self.tags(|tag| tag.results.is_empty());
        let mut catches = Vec::new();
        for _ in 0..1 + self.choice.below(3) {
            let from = if self.choice.percent(75) { &with_stack } else { &others };
            let tag = self.tag(from);
            let mut catch = self.catch(tag);
            // The engine has a fast path for plain catches.
            if catch.with_ref && self.choice.percent(70) {
                catch.with_ref = false;
                catch.to.pop();
            }
            catches.push(catch);
        }
        if self.choice.percent(15) {
            let catch = self.catch(None);
            catches.push(catch);
        }
        catches
    }

    /// Adds an operation that does not return, with catches around it.
    fn add_caught(&mut self, op: Op) {
        if self.choice.percent(8) {
            return self.add_last(op);
        }
        let catches = self.catches();
        let body = self.machine.program.new_block();
        let block = &mut self.machine.program.blocks[body];
        block.ops.push(Rc::new(op));
        block.closed = true;
        self.add(Op::Try { body, catches });
    }

    /// An event, mostly one that is caught where a stack waits. Omits the last value if that is the
    /// suspended stack.
    fn event_for(
        &mut self,
        stack: Option<StackId>,
        with_stack: bool,
    ) -> Option<(TagId, Vec<Local>)> {
        let events = self.tags(|tag| {
            tag.results.is_empty() && (!with_stack || tag.params.last() == Some(&Ty::Linear))
        });
        let caught = stack.map(|stack| self.machine.catches_at(stack)).unwrap_or_default();
        let fitting: Vec<_> =
            events.iter().copied().filter(|event| caught.contains(event)).collect();
        let event = match self.choice.one(&fitting) {
            Some(event) if !self.choice.percent(6) => event,
            _ if self.choice.percent(30) => self.tag(&events)?,
            _ => return None,
        };
        let mut params = self.params_of(event);
        if with_stack {
            params.pop();
        }
        Some((event, self.args(&params)))
    }

    fn switch(&mut self) -> Option<()> {
        let (stack, target) = self.stack(1)?;
        self.switch_to_linear(stack, target)
    }

    fn switch_to_linear(&mut self, stack: Local, target: Option<StackId>) -> Option<()> {
        let (event, args) = self.event_for(target, true)?;
        self.add_caught(Op::FirstClass(FirstClass::Switch { event, args, stack }));
        Some(())
    }

    /// Switches to another stack and frees this one.
    pub fn switch_away(&mut self) -> Option<()> {
        let (stack, target) = self.stack(1)?;
        let (event, args) = self.event_for(target, false)?;
        self.add_last(Op::FirstClass(FirstClass::SwitchDrop { event, args, stack }));
        Some(())
    }

    fn switch_call(&mut self) -> Option<()> {
        let (stack, target) = self.stack(50)?;
        let own: &[Ty] = [&[][..], &[Ty::I64], &[Ty::Any, Ty::I64]][self.choice.below(3)];
        let (event, results) = match target {
            Some(_) if self.choice.percent(50) => {
                let (event, _) = self.event_for(target, false)?;
                (Some(event), self.params_of(event))
            }
            _ => (None, vec![]),
        };
        let params = [own, &[Ty::Linear]].concat();
        let function = self.function(&Signature::new(&params, &results), false);
        let args = self.args(own);
        self.add_caught(Op::FirstClass(FirstClass::SwitchCall { function, event, args, stack }));
        Some(())
    }

    fn extend(&mut self) -> Option<()> {
        let (stack, target) = self.stack(50)?;
        let own: &[Ty] = [&[][..], &[Ty::I64], &[Ty::Linear]][self.choice.below(3)];
        let event = match target {
            Some(_) => self.event_for(target, false).map(|(event, _)| event),
            None => None,
        };
        let results = event.map(|event| self.params_of(event)).unwrap_or_default();
        let rout = self.rout(&Signature::new(own, &results));
        let args = self.args(own);
        let to = self.place(Ty::Linear);
        self.add(Op::FirstClass(FirstClass::Extend { to, rout, event, args, stack }));
        Some(())
    }

    /// A rout of this module: an existing or a new one.
    fn rout(&mut self, signature: &Signature) -> usize {
        let module = self.module();
        let functions = self.machine.program.functions.iter().enumerate();
        let routs = functions.filter(|(_, function)| {
            function.rout && function.module == module && function.signature == *signature
        });
        let routs: Vec<_> = routs.map(|(id, _)| id).collect();
        match self.choice.one(&routs) {
            Some(rout) if self.choice.percent(50) => rout,
            _ => self.new_rout(signature),
        }
    }

    /// Generates the openings of a new rout, and its `stack.start`.
    fn new_rout(&mut self, signature: &Signature) -> usize {
        let module = self.module();
        let rout = self.new_function(module, signature, true);
        let mut block = self.machine.program.functions[rout].body;
        for _ in 0..1 + self.choice.below(3) {
            let opening = self.opening(rout);
            let (Op::Try { body, .. }
            | Op::FirstClass(
                FirstClass::Redirect { body, .. }
                | FirstClass::RedirectTo { body, .. }
                | FirstClass::Answer { body, .. },
            )) = &opening
            else {
                continue;
            };
            let inner = *body;
            self.machine.program.blocks[block].ops.push(Rc::new(opening));
            block = inner;
        }
        let start = Op::FirstClass(FirstClass::Start);
        let block = &mut self.machine.program.blocks[block];
        block.ops.push(Rc::new(start));
        block.closed = true;
        rout
    }

    /// An opening with an empty body.
    fn opening(&mut self, rout: usize) -> Op {
        let body = self.machine.program.new_block();
        let params = self.machine.program.functions[rout].signature.params.clone();
        let linear = params.iter().position(|&ty| ty == Ty::Linear);
        let new = |block_writer: &mut Self, types: &[Ty]| -> Vec<Local> {
            types.iter().map(|&ty| block_writer.machine.program.new_local(rout, ty)).collect()
        };
        match self.choice.below(8) {
            0 | 1 => {
                let tag = self.choice.below(self.machine.program.call_tags.len());
                let signature = self.machine.program.call_tags[tag].clone();
                let params = new(self, &signature.params);
                let results = new(self, &signature.results);
                let code = self.machine.program.new_block();
                Op::FirstClass(FirstClass::Answer { tag, params, code, results, body })
            }
            2 if linear.is_some() => {
                Op::FirstClass(FirstClass::Redirect { local: linear.unwrap_or_default(), body })
            }
            3 if linear.is_some() => {
                let local = linear.unwrap_or_default();
                let (ask, give) =
                    (self.machine.program.new_block(), self.machine.program.new_block());
                let redirect =
                    FirstClass::RedirectTo { ask, ask_to: local, give_to: local, give, body };
                Op::FirstClass(redirect)
            }
            _ => {
                let tags = self.tags(|tag| tag.params.last() == Some(&Ty::Linear));
                let all = self.tags(|tag| tag.results.is_empty());
                let mut catches = Vec::new();
                for _ in 0..1 + self.choice.below(3) {
                    let from = if self.choice.percent(80) { &tags } else { &all };
                    let Some(tag) = self.tag(from) else { continue };
                    let to = new(self, &self.params_of(tag));
                    let handler = self.machine.program.new_block();
                    catches.push(Catch { tag: Some(tag), to, with_ref: false, handler });
                }
                Op::Try { body, catches }
            }
        }
    }

    fn redirect(&mut self) -> Option<()> {
        let body = self.new_block();
        if self.choice.percent(60) {
            let (_, local) = self.seek(&[Ty::Linear], can_switch)?;
            self.add(Op::FirstClass(FirstClass::Redirect { local, body }));
            return Some(());
        }
        let (ask, give) = (self.new_block(), self.new_block());
        let ask_to = match self.seek(&[Ty::Linear], can_switch) {
            Some((_, local)) => local,
            None => self.new_local(Ty::Linear),
        };
        let give_to = if self.choice.percent(90) { ask_to } else { self.new_local(Ty::Linear) };
        self.add(Op::FirstClass(FirstClass::RedirectTo { ask, ask_to, give_to, give, body }));
        Some(())
    }

    fn answer(&mut self) -> Option<()> {
        let tag = self.choice.below(self.machine.program.call_tags.len());
        let signature = self.machine.program.call_tags[tag].clone();
        let (params, results) = (self.places(&signature.params), self.places(&signature.results));
        let (code, body): (BlockId, BlockId) = (self.new_block(), self.new_block());
        self.add(Op::FirstClass(FirstClass::Answer { tag, params, code, results, body }));
        Some(())
    }

    /// Calls a call tag, mostly one that some stack answers.
    fn call_stack(&mut self) -> Option<()> {
        let mut tags: Vec<_> = (0..self.machine.program.call_tags.len()).collect();
        if !self.choice.percent(4) {
            let answered = self.machine.answered();
            tags.retain(|tag| answered.contains(tag));
        }
        let tag = self.choice.one(&tags)?;
        let signature = self.machine.program.call_tags[tag].clone();
        let args = self.args(&signature.params);
        let to = self.places(&signature.results);
        self.add(Op::FirstClass(FirstClass::CallStack { tag, args, to: to.clone() }));
        self.show(&to);
        Some(())
    }
}
