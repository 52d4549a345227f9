//! Walks: how `call_stack` finds its answer, and how redirections send walks and exceptions to
//! other stacks.
//!
//! The parts of `answer` and `stack.redirect_to` run in frames of their own on top of the running
//! stack, with the locals of their function. Such a frame knows its walk. A walk that starts in it
//! continues outside of all that its walk has passed.

use super::copy::Copied;
use super::{CursorKind, Frame, Machine, StackId, Step, Trap, Value};
use crate::designs::program::{BlockId, FirstClass, FunctionId, Local, Op, TagId};
use std::rc::Rc;

/// What happens to the results of a frame.
#[derive(Clone, Debug)]
pub enum OnReturn {
    /// The operation of the frame below receives them.
    Call,
    /// The frame is the outermost one of its stack.
    Bottom,
    /// They become an event for the frame below; without an event, returning traps.
    Event(Option<TagId>, &'static str),
    /// The frame runs a part of a function.
    Part(Box<FunctionPart>),
}

impl OnReturn {
    /// The locals with the results of a part; `None` for a whole function.
    pub fn part_results(&self) -> Option<&[Local]> {
        let OnReturn::Part(part) = self else { return None };
        Some(match &**part {
            FunctionPart::Answer { results, .. } => results,
            FunctionPart::Ask { results, .. } | FunctionPart::AskForException { results, .. } => {
                results
            }
            FunctionPart::Give { .. } => &[],
        })
    }
}

/// The purpose of a part of a function.
#[derive(Clone, Debug)]
pub enum FunctionPart {
    /// The code of an `answer`.
    Answer { walk: Walk, results: Vec<Local> },
    /// A walk asks a `stack.redirect_to` for its target.
    Ask { walk: Walk, results: Vec<Local> },
    /// An exception asks a `stack.redirect_to` for its target.
    AskForException { exception: usize, results: Vec<Local> },
    /// A `stack.redirect_to` gets its stack back after a walk.
    Give { walk: Walk, after: After },
}

impl FunctionPart {
    /// The values that its walk has taken or is passing on.
    pub fn held(&self) -> Vec<Value> {
        let (walk, after) = match self {
            FunctionPart::Answer { walk, .. } | FunctionPart::Ask { walk, .. } => (walk, &[][..]),
            FunctionPart::Give { walk, after: After::Return(values) } => (walk, values.as_slice()),
            FunctionPart::Give { walk, .. } => (walk, &[][..]),
            FunctionPart::AskForException { .. } => return Vec::new(),
        };
        let others = walk.args.iter().chain(after).copied();
        self.taken().into_iter().chain(others).collect()
    }

    pub fn taken(&self) -> Vec<Value> {
        let (FunctionPart::Answer { walk, .. }
        | FunctionPart::Ask { walk, .. }
        | FunctionPart::Give { walk, .. }) = self
        else {
            return Vec::new();
        };
        let taken = walk.taken.iter().map(|taken| match taken {
            TakenStack::Local { stack, .. } | TakenStack::Part { stack, .. } => *stack,
        });
        taken.collect()
    }

    /// Moves its walk to the copied stacks.
    pub fn become_copy(&mut self, copied: &Copied) {
        if let FunctionPart::Give { after: After::Return(values), .. } = self {
            copied.replace_values(values);
        }
        let (FunctionPart::Answer { walk, .. }
        | FunctionPart::Ask { walk, .. }
        | FunctionPart::Give { walk, .. }) = self
        else {
            return;
        };
        walk.at.stack = copied.stack(walk.at.stack);
        copied.replace_values(&mut walk.args);
        for taken in &mut walk.taken {
            let (TakenStack::Local { stack, .. } | TakenStack::Part { stack, .. }) = taken;
            *stack = copied.value(*stack);
            match taken {
                TakenStack::Local { locals, .. } => *locals = copied.locals(*locals),
                TakenStack::Part { locals, at, .. } => {
                    *locals = copied.locals(*locals);
                    at.stack = copied.stack(at.stack);
                }
            }
        }
    }
}

#[derive(Clone, Debug)]
pub enum After {
    Return(Vec<Value>),
    Throw(usize),
}

/// A mark, which a walk can meet.
#[derive(Clone, Debug)]
pub struct Mark {
    /// A unique number.
    pub serial: usize,
    pub kind: MarkKind,
}

#[derive(Clone, Debug)]
pub enum MarkKind {
    Answer(Rc<Op>),
    Redirect(Local),
    RedirectTo(Rc<Op>),
}

/// A walk, and the stacks that it has taken on its way.
#[derive(Clone, Debug)]
pub struct Walk {
    tag: usize,
    args: Vec<Value>,
    at: WalkPosition,
    taken: Vec<TakenStack>,
}

/// A position in a stack: outside a block of a frame, both by index.
#[derive(Clone, Copy, Debug)]
struct WalkPosition {
    stack: StackId,
    frame: usize,
    cursor: usize,
    /// The number of the mark there, if there is one.
    serial: usize,
}

/// A stack that a walk has entered, and where it must return to.
#[derive(Clone, Debug)]
enum TakenStack {
    /// The local of a `stack.redirect`.
    Local { locals: usize, local: Local, stack: Value },
    /// A `stack.redirect_to`.
    Part { op: Rc<Op>, function: FunctionId, locals: usize, stack: Value, at: WalkPosition },
}

impl Machine {
    pub(super) fn call_stack(&mut self, tag: usize, args: Vec<Value>) -> Step {
        let at = self.top(self.running);
        self.walk_on(Walk { tag, args, at, taken: Vec::new() })
    }

    fn top(&self, stack: StackId) -> WalkPosition {
        let frames = &self.stacks[stack].frames;
        let cursor = frames.last().map_or(0, |frame| frame.cursors.len());
        WalkPosition { stack, frame: frames.len(), cursor, serial: 0 }
    }

    /// Walks until the answer is found, or a `stack.redirect_to` must be asked.
    fn walk_on(&mut self, mut walk: Walk) -> Step {
        loop {
            let Some(frame) = walk.at.frame.checked_sub(1) else {
                walk.at = self.parent_place(walk.at.stack)?;
                continue;
            };
            let Some(frame) = self.stacks[walk.at.stack].frames.get(frame) else {
                self.unspecified = true;
                return Ok(());
            };
            if walk.at.cursor == 0 {
                walk.at = self.below(walk.at);
                continue;
            }
            walk.at.cursor -= 1;
            let Some(cursor) = frame.cursors.get(walk.at.cursor) else {
                self.unspecified = true;
                return Ok(());
            };
            let CursorKind::Mark(mark) = &cursor.kind else { continue };
            walk.at.serial = mark.serial;
            let (function, locals) = (frame.function, frame.locals);
            match mark.kind.clone() {
                MarkKind::Answer(op) => {
                    if let Op::FirstClass(FirstClass::Answer { tag, params, code, results, .. }) =
                        &*op
                        && *tag == walk.tag
                    {
                        let args = std::mem::take(&mut walk.args);
                        let part = FunctionPart::Answer { walk, results: results.clone() };
                        return self.enter_part(function, locals, *code, part, params, &args);
                    }
                }
                MarkKind::Redirect(local) => {
                    let place = self.locals[locals].get_mut(local);
                    let stack = place.map(std::mem::take).unwrap_or_default();
                    if !stack.is_null() {
                        walk.taken.push(TakenStack::Local { locals, local, stack });
                        walk.at = self.inside(stack)?;
                    }
                }
                MarkKind::RedirectTo(op) => {
                    let Op::FirstClass(FirstClass::RedirectTo { ask, ask_to, .. }) = &*op else {
                        unreachable!("its mark")
                    };
                    let part = FunctionPart::Ask { walk, results: vec![*ask_to] };
                    return self.enter_part(function, locals, *ask, part, &[], &[]);
                }
            }
        }
    }

    /// The position outside a frame: the frame below, or for a part, the position of its walk.
    fn below(&mut self, at: WalkPosition) -> WalkPosition {
        let frames = &self.stacks[at.stack].frames;
        if let OnReturn::Part(part) = &frames[at.frame - 1].then
            && let FunctionPart::Answer { walk, .. }
            | FunctionPart::Ask { walk, .. }
            | FunctionPart::Give { walk, .. } = &**part
        {
            let place = walk.at;
            let is_reached = !walk.taken.is_empty() || self.is_outside(place.stack);
            self.unspecified |= !is_reached || !self.is_there(place);
            return place;
        }
        let next = at.frame - 1;
        let cursor = next.checked_sub(1).map_or(0, |below| frames[below].cursors.len());
        WalkPosition { frame: next, cursor, ..at }
    }

    /// Whether the mark that a walk found is still in place. If the answer was suspended and its
    /// function continued, it is gone, and the positions outside are unspecified.
    fn is_there(&self, place: WalkPosition) -> bool {
        let frame = self.stacks[place.stack].frames.get(place.frame - 1);
        let cursor = frame.and_then(|frame| frame.cursors.get(place.cursor));
        matches!(cursor.map(|cursor| &cursor.kind),
            Some(CursorKind::Mark(mark)) if mark.serial == place.serial)
    }

    /// Whether a stack is the running one or one of its parents. If the answer was suspended and
    /// continued elsewhere, the stack of the mark may not be, and the result of a walk is
    /// unspecified.
    fn is_outside(&self, stack: StackId) -> bool {
        let mut next = Some(self.running);
        while let Some(outer) = next {
            if outer == stack {
                return true;
            }
            next = if self.is_base(outer) { None } else { self.stacks[outer].parent };
        }
        false
    }

    fn parent_place(&self, stack: StackId) -> Result<WalkPosition, Trap> {
        let parent = if self.is_base(stack) { None } else { self.stacks[stack].parent };
        parent.map(|parent| self.top(parent)).ok_or(Trap("no answer on the stack"))
    }

    /// The innermost position of a stack to which a walk is sent.
    fn inside(&self, reference: Value) -> Result<WalkPosition, Trap> {
        let stack = self.check_once(reference)?;
        Ok(self.top(self.stacks[stack].innermost))
    }

    fn enter_part(
        &mut self,
        function: FunctionId,
        locals: usize,
        code: BlockId,
        part: FunctionPart,
        params: &[Local],
        args: &[Value],
    ) -> Step {
        self.push(Frame::new(function, locals, code, OnReturn::Part(Box::new(part))));
        self.set_all(params, args)
    }

    /// An exception has reached a `stack.redirect_to`, whose body it leaves.
    pub(super) fn ask_for_exception(&mut self, op: &Op, exception: usize) -> Step {
        let Op::FirstClass(FirstClass::RedirectTo { ask, ask_to, .. }) = op else {
            unreachable!("its mark")
        };
        let (function, locals) = (self.frame().function, self.frame().locals);
        let part = FunctionPart::AskForException { exception, results: vec![*ask_to] };
        self.enter_part(function, locals, *ask, part, &[], &[])
    }

    pub(super) fn part_returned(&mut self, part: FunctionPart, mut values: Vec<Value>) -> Step {
        match part {
            FunctionPart::Answer { walk, .. } => self.end_walk(walk, After::Return(values)),
            FunctionPart::AskForException { exception, .. } => match values.remove(0) {
                Value::Zero => self.throw(exception),
                target => self.redirect(exception, target),
            },
            FunctionPart::Give { walk, after } => self.end_walk(walk, after),
            FunctionPart::Ask { mut walk, .. } => {
                let stack = values.remove(0);
                if !self.is_there(walk.at) {
                    self.unspecified = true;
                    return Ok(());
                }
                let frame = &self.stacks[walk.at.stack].frames[walk.at.frame - 1];
                let CursorKind::Mark(Mark { kind: MarkKind::RedirectTo(op), .. }) =
                    &frame.cursors[walk.at.cursor].kind
                else {
                    unreachable!("it was asked")
                };
                let (op, function, locals) = (op.clone(), frame.function, frame.locals);
                walk.taken.push(TakenStack::Part { op, function, locals, stack, at: walk.at });
                if !stack.is_null() {
                    walk.at = self.inside(stack)?;
                }
                self.walk_on(walk)
            }
        }
    }

    /// Returns the stacks that the walk has taken, the last one first. Then its `call_stack`
    /// continues.
    pub(super) fn end_walk(&mut self, mut walk: Walk, after: After) -> Step {
        while let Some(taken) = walk.taken.pop() {
            match taken {
                TakenStack::Local { locals, local, stack } => {
                    let place = &mut self.locals[locals][local];
                    if !place.is_null() {
                        return Err(Trap("linear slot is not empty"));
                    }
                    *place = stack;
                }
                TakenStack::Part { op, function, locals, stack, at } => {
                    let Op::FirstClass(FirstClass::RedirectTo { give, give_to, .. }) = &*op else {
                        unreachable!("its mark")
                    };
                    walk.at = at;
                    let part = FunctionPart::Give { walk, after };
                    return self.enter_part(function, locals, *give, part, &[*give_to], &[stack]);
                }
            }
        }
        match after {
            After::Return(values) => self.complete(values),
            After::Throw(exception) => self.throw(exception),
        }
    }
}
