//! Reads ahead in a body: which calls, loops and switches it contains.

use super::Cached;
use std::collections::HashMap;
use wasmparser::{FunctionBody, Operator};

/// What a body contains.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    /// An instruction that switches between stacks.
    pub switches: bool,
    /// An instruction that suspends the running stack.
    pub suspends: bool,
    pub has_loops: bool,
    /// The loops that switch and call nothing, by offset, with the state worth caching throughout.
    pub loops: HashMap<u32, Cached>,
    /// A call, or an instruction that switches.
    pub calls: bool,
}

impl Contents {
    /// Reads a body. If a function is an operation of a design, `suspends` says whether calls of it
    /// suspend the running stack.
    pub(crate) fn of(body: &FunctionBody<'_>, suspends: impl Fn(u32) -> Option<bool>) -> Contents {
        let mut contents = Contents::default();
        let mut loops = Loops::default();
        let Ok(operators) = body.get_operators_reader() else { return contents };
        for (operator, offset) in operators.into_iter_with_offsets().map_while(Result::ok) {
            contents.calls |= calls(&operator);
            let effects = Effects::of(&operator, &suspends);
            contents.switches |= effects.switches;
            contents.suspends |= effects.suspends;
            contents.has_loops |= matches!(operator, Operator::Loop { .. });
            loops.read(&operator, offset, effects);
        }
        contents.loops = loops.cached;
        contents
    }
}

/// The effects of a part of a body.
#[derive(Clone, Copy, Debug, Default)]
struct Effects {
    switches: bool,
    suspends: bool,
    /// It calls a function, which may switch in any way.
    calls: bool,
}

impl Effects {
    fn of(operator: &Operator<'_>, suspends: impl Fn(u32) -> Option<bool>) -> Effects {
        let switch = |suspends| Effects { switches: true, suspends, calls: false };
        let operation = match operator {
            Operator::Call { function_index } => suspends(*function_index),
            _ => None,
        };
        match operator {
            Operator::Suspend { .. } | Operator::Switch { .. } => switch(true),
            Operator::Resume { .. }
            | Operator::ResumeThrow { .. }
            | Operator::ResumeThrowRef { .. } => switch(false),
            _ => match operation {
                Some(suspends) => switch(suspends),
                None => Effects { calls: calls(operator), ..Effects::default() },
            },
        }
    }

    fn or(self, other: Effects) -> Effects {
        Effects {
            switches: self.switches || other.switches,
            suspends: self.suspends || other.suspends,
            calls: self.calls || other.calls,
        }
    }
}

/// The loops of a body, as they are read.
#[derive(Default)]
struct Loops {
    /// The open blocks: the offset of each loop, and the effects so far.
    open: Vec<(Option<u32>, Effects)>,
    cached: HashMap<u32, Cached>,
}

impl Loops {
    fn read(&mut self, operator: &Operator<'_>, offset: u64, effects: Effects) {
        match operator {
            Operator::Loop { .. } => self.open.push((Some(offset as u32), effects)),
            Operator::Block { .. } | Operator::If { .. } | Operator::TryTable { .. } => {
                self.open.push((None, effects));
            }
            Operator::End => self.close(),
            _ => {
                if let Some((_, inside)) = self.open.last_mut() {
                    *inside = inside.or(effects);
                }
            }
        }
    }

    fn close(&mut self) {
        // The last `end` closes the body, which is not on the list.
        let Some((offset, inside)) = self.open.pop() else { return };
        if let (Some(offset), Effects { switches: true, suspends, calls: false }) = (offset, inside)
        {
            let cached = if suspends { Cached::Reference } else { Cached::Stack };
            self.cached.insert(offset, cached);
        }
        if let Some((_, around)) = self.open.last_mut() {
            *around = around.or(inside);
        }
    }
}

/// Whether an operator calls a function or continues another stack.
pub(crate) fn calls(operator: &Operator<'_>) -> bool {
    matches!(
        operator,
        Operator::Call { .. }
            | Operator::CallIndirect { .. }
            | Operator::CallRef { .. }
            | Operator::ReturnCall { .. }
            | Operator::ReturnCallIndirect { .. }
            | Operator::ReturnCallRef { .. }
            | Operator::Resume { .. }
            | Operator::ResumeThrow { .. }
            | Operator::ResumeThrowRef { .. }
            | Operator::Suspend { .. }
            | Operator::Switch { .. }
    )
}

/// The label to which an operator may branch, except `br_table`.
pub(crate) fn label(operator: &Operator<'_>) -> Option<u32> {
    match *operator {
        Operator::Br { relative_depth }
        | Operator::BrIf { relative_depth }
        | Operator::BrOnNull { relative_depth }
        | Operator::BrOnNonNull { relative_depth }
        | Operator::BrOnCast { relative_depth, .. }
        | Operator::BrOnCastFail { relative_depth, .. } => Some(relative_depth),
        _ => None,
    }
}
