//! A report on which stacks wait for which, for programs that are stuck.

use super::stack_list::{StackInfo, StackList};
use crate::report::backtrace::{Boundary, Frame, write_tags};
use ropewalk_abi::life::Life;
use std::collections::HashMap;
use std::fmt;

/// How many stacks a report names; there may be a million.
const SHOWN: usize = 32;
/// How many stacks suspended inside another are named.
const SHOWN_INSIDE: usize = 8;
/// How many characters of a source line are shown.
const LINE: usize = 72;

impl StackList {
    /// Whether stacks are suspended but nothing runs: only the host can resume one.
    pub fn is_stuck(&self) -> bool {
        let runs = |stack: &StackInfo| stack.life == Life::Running;
        !self.iter().any(runs) && self.iter().any(StackInfo::is_suspended)
    }

    /// Describes what each stack that does not run waits for. Empty if all run.
    ///
    /// A waiting stack has resumed another one. For a suspended stack, the report shows where it
    /// is, the source line if it is known, and the events that can resume it.
    pub fn waits(&self) -> Waits<'_> {
        Waits { list: self, has_calls: false }
    }

    /// As [`waits`](Self::waits), and names the stacks in host calls too, for concurrent calls.
    pub fn waits_with_calls(&self) -> Waits<'_> {
        Waits { list: self, has_calls: true }
    }
}

impl StackInfo {
    /// Whether the holder of a reference can resume it.
    pub fn is_suspended(&self) -> bool {
        matches!(self.life, Life::New | Life::Suspended | Life::Parked)
    }
}

/// A report on which stacks wait for which.
#[derive(Clone, Copy, Debug)]
pub struct Waits<'a> {
    list: &'a StackList,
    /// Whether stacks in host calls are named.
    has_calls: bool,
}

impl Waits<'_> {
    /// Whether no stack is suspended.
    pub fn is_empty(&self) -> bool {
        !self.list.iter().any(StackInfo::is_suspended)
    }

    fn write_waiting(&self, f: &mut fmt::Formatter<'_>, child: &StackInfo) -> fmt::Result {
        let Some((number, boundary)) = &child.parent else { return Ok(()) };
        let Some(parent) = self.list.get(*number) else { return Ok(()) };
        write!(f, "\n  {} waits for stack {}", Title(parent), child.number)?;
        match boundary {
            Boundary::Resume { instruction, tags, tags_omitted } => {
                write!(f, ", in {instruction}")?;
                write_tags(f, tags, *tags_omitted)?;
            }
            Boundary::Host => f.write_str(", in a call of the host")?,
        }
        write_place(f, parent)
    }

    fn write_suspended(
        &self,
        f: &mut fmt::Formatter<'_>,
        stack: &StackInfo,
        inside: &Inside<'_>,
    ) -> fmt::Result {
        write!(f, "\n  {} ", Title(stack))?;
        match stack.backtrace.frames() {
            [] => f.write_str("has not begun")?,
            _ => f.write_str("is suspended")?,
        }
        if !stack.events.is_empty() {
            f.write_str(", for")?;
            stack.events.iter().try_for_each(|event| write!(f, " ${event}"))?;
        }
        match stack.events_omitted {
            0 => {}
            more => write!(f, " and {more} more")?,
        }
        // Of several stacks suspended together, the innermost waits.
        let (mut innermost, mut count) = (stack, 0_usize);
        while let Some(inner) = inside.get(&innermost.number) {
            innermost = inner;
            count += 1;
            if count <= SHOWN_INSIDE {
                write!(f, ", with stack {} in it", inner.number)?;
            }
        }
        match count.saturating_sub(SHOWN_INSIDE) {
            0 => {}
            more => write!(f, " and {more} more")?,
        }
        write_place(f, innermost)
    }

    /// The stacks suspended inside others, by the numbers of these.
    fn inside(&self) -> Inside<'_> {
        let inside = self.list.iter().filter(|stack| stack.life == Life::Inside);
        inside.filter_map(|stack| Some((stack.parent_number()?, stack))).collect()
    }
}

type Inside<'a> = HashMap<usize, &'a StackInfo>;

impl fmt::Display for Waits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.list.is_stuck() {
            true => "nothing runs, and these stacks wait:",
            false => "these stacks wait:",
        })?;
        let is_calling = |stack: &&StackInfo| self.has_calls && stack.life == Life::Running;
        let is_waited_for = |stack: &&StackInfo| {
            matches!(stack.life, Life::Running | Life::Waiting) && stack.parent.is_some()
        };
        let mut left = SHOWN;
        for stack in self.list.iter().filter(is_calling).take(left) {
            write!(f, "\n  {} is in a call of the host", Title(stack))?;
            write_place(f, stack)?;
            left -= 1;
        }
        for stack in self.list.iter().filter(is_waited_for).take(left) {
            self.write_waiting(f, stack)?;
            left -= 1;
        }
        let inside = self.inside();
        for stack in self.list.iter().filter(|stack| stack.is_suspended()).take(left) {
            self.write_suspended(f, stack, &inside)?;
        }
        let count = self.list.iter().filter(is_waited_for).count()
            + self.list.iter().filter(is_calling).count()
            + self.list.iter().filter(|stack| stack.is_suspended()).count();
        match count.saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n  ... and {more} more"),
        }
    }
}

/// The name of a stack in a report.
struct Title<'a>(&'a StackInfo);

impl fmt::Display for Title<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StackInfo { number, function, .. } = self.0;
        write!(f, "stack {number} ({}", self.0.kind_name())?;
        if let Some(function) = function {
            write!(f, " of {}", function.function_text())?;
        }
        f.write_str(")")
    }
}

/// Writes the place of a stack, and the source line there.
fn write_place(f: &mut fmt::Formatter<'_>, stack: &StackInfo) -> fmt::Result {
    let Some(frame) = stack.backtrace.frames().first() else { return Ok(()) };
    write!(f, "\n    at {frame}")?;
    match frame.source_line() {
        Some(line) => write!(f, "\n       {}", shorten(line)),
        None => Ok(()),
    }
}

fn shorten(line: &str) -> String {
    match line.char_indices().nth(LINE) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_string(),
    }
}

impl Frame {
    /// The source line of its instruction, trimmed, if it is known.
    fn source_line(&self) -> Option<&str> {
        let line = self.line()?.checked_sub(1)?;
        Some(self.module().source.as_ref()?.text()?.lines().nth(line)?.trim())
    }
}
