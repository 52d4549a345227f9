//! The list of the stacks of a store for debugging: state, parent, frames and memory of each.

use super::backtrace::{Backtrace, Boundary, Frame, write_tags};
use ropewalk_abi::life::Life;
use ropewalk_abi::stack::StackKind;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt;

/// The stacks of a store at one moment, sorted by their numbers.
#[derive(Clone, Debug, Default)]
pub struct StackList {
    pub(crate) stacks: Vec<StackInfo>,
    pub(crate) omitted: usize,
}

/// A stack in the list.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StackInfo {
    /// Its number, which may be reused after the stack has ended.
    pub number: usize,
    /// Its state.
    pub life: Life,
    /// Its design; none for the root of an activation.
    pub kind: Option<StackKind>,
    /// The stack that waits for this one or is suspended outside of it, and in what.
    pub parent: Option<(usize, Boundary)>,
    /// The function that it began with, if that is known.
    pub function: Option<Frame>,
    /// Its own frames, without those of its parents.
    pub backtrace: Backtrace,
    /// The first 32 events that can resume a suspended fiber or first-class stack.
    pub events: Vec<String>,
    /// How many more such tags there are.
    pub events_omitted: usize,
    /// The bytes of its frames.
    pub used_bytes: usize,
    /// The bytes of its memory; for a parked stack, of its packed frames.
    pub size_bytes: usize,
}

impl StackList {
    /// Iterates over the stacks, sorted by their numbers.
    pub fn iter(&self) -> std::slice::Iter<'_, StackInfo> {
        self.stacks.iter()
    }

    /// How many stacks are left out.
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// How many stacks are listed.
    pub fn len(&self) -> usize {
        self.stacks.len()
    }

    /// Whether no stack is listed.
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    /// Removes ended stacks, and marks one as running.
    pub(crate) fn end(&mut self, mut ended: Vec<usize>, runs: Option<usize>) {
        ended.sort_unstable();
        self.stacks.retain(|stack| ended.binary_search(&stack.number).is_err());
        for stack in &mut self.stacks {
            if Some(stack.number) == runs {
                stack.life = Life::Running;
            }
        }
    }

    /// The stack with a number.
    pub fn get(&self, number: usize) -> Option<&StackInfo> {
        let found = self.stacks.binary_search_by_key(&number, |stack| stack.number);
        found.ok().map(|place| &self.stacks[place])
    }

    /// A list of objects in JSON, each with its frames, innermost first.
    pub fn to_json(&self) -> String {
        let stacks: Vec<Value> = self.stacks.iter().map(StackInfo::json).collect();
        format!("{:#}", json!({ "stacks": stacks, "stacks_omitted": self.omitted }))
    }

    /// The stacks with a parent, by its number.
    fn children(&self) -> HashMap<usize, Vec<&StackInfo>> {
        let mut children = HashMap::<_, Vec<_>>::new();
        for stack in self {
            if let Some(parent) = stack.parent_number() {
                children.entry(parent).or_default().push(stack);
            }
        }
        children
    }
}

impl<'a> IntoIterator for &'a StackList {
    type Item = &'a StackInfo;
    type IntoIter = std::slice::Iter<'a, StackInfo>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

struct Columns {
    title: usize,
    function: usize,
}

/// The deepest indentation of the tree.
const MAX_INDENT: usize = 16;

impl fmt::Display for StackList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.len() {
            1 => f.write_str("1 stack")?,
            count => write!(f, "{count} stacks")?,
        }
        let width = |text: &dyn Fn(&StackInfo) -> String| {
            self.iter().map(|stack| text(stack).chars().count()).max().unwrap_or(0)
        };
        let columns = Columns {
            title: width(&StackInfo::title),
            function: width(&|stack| stack.function_text()),
        };
        let children = self.children();
        // No recursion: a chain may be as long as the list. After a gap, another tree begins.
        let is_listed = |number: usize| self.get(number).is_some();
        let outermost = self.iter().filter(|stack| !stack.parent_number().is_some_and(is_listed));
        let mut rest: Vec<_> = outermost.rev().map(|stack| (stack, 0)).collect();
        while let Some((stack, depth)) = rest.pop() {
            stack.write(f, depth, &columns)?;
            let inside = children.get(&stack.number).into_iter().flatten();
            rest.extend(inside.rev().map(|child| (*child, depth + 1)));
        }
        match self.omitted {
            0 => Ok(()),
            omitted => write!(f, "\n... and {omitted} more"),
        }
    }
}

impl StackInfo {
    /// The number of the stack that waits for it.
    pub fn parent_number(&self) -> Option<usize> {
        self.parent.as_ref().map(|(number, _)| *number)
    }

    /// The name of its kind in its design.
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            None => "root",
            Some(StackKind::Continuation) => "continuation",
            Some(StackKind::Bag) => "stack of the bag",
            Some(StackKind::Task) => "task",
            Some(StackKind::Fiber) => "fiber",
            Some(StackKind::FirstClass) => "first-class stack",
        }
    }

    /// Its state in one word.
    pub fn life_name(&self) -> &'static str {
        match self.life {
            Life::New => "new",
            Life::Suspended => "suspended",
            Life::Inside => "inside",
            Life::Parked => "parked",
            Life::Running => "running",
            Life::Waiting => "waiting",
            Life::Lost => "lost",
            Life::Free | Life::Idle | Life::Spent | Life::Vacant => "unused",
        }
    }

    fn title(&self) -> String {
        format!("stack {}: {}, {}", self.number, self.kind_name(), self.life_name())
    }

    fn function_text(&self) -> String {
        self.function.as_ref().map_or_else(|| "?".to_string(), Frame::function_text)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize, columns: &Columns) -> fmt::Result {
        let indent = 2 * depth.min(MAX_INDENT / 2);
        if let Some((_, boundary)) = &self.parent {
            write!(f, "\n{:indent$}-- {boundary}", "")?;
        }
        let (title, function) = (self.title(), self.function_text());
        let (title_width, width) = (columns.title, columns.function);
        write!(f, "\n{:indent$}{title:title_width$}  {function:width$}  ", "")?;
        write!(f, "{} of {} bytes", self.used_bytes, self.size_bytes)?;
        write_tags(f, &self.events, self.events_omitted)?;
        self.backtrace.write_frames(f, indent + 2)
    }

    fn json(&self) -> Value {
        let parent = self.parent.as_ref().map(|(number, boundary)| match boundary {
            Boundary::Resume { instruction, tags, tags_omitted } => json!({
                "stack": number,
                "by": instruction,
                "tags": tags,
                "tags_omitted": tags_omitted,
            }),
            Boundary::Host => json!({ "stack": number, "by": "host" }),
        });
        json!({
            "number": self.number,
            "design": self.kind_name(),
            "state": self.life_name(),
            "parent": parent,
            "function": self.function.as_ref().map(Frame::json),
            "events": self.events,
            "events_omitted": self.events_omitted,
            "frames": self.backtrace.frames().iter().map(Frame::json).collect::<Vec<_>>(),
            "frames_omitted": self.backtrace.omitted(),
            "used_bytes": self.used_bytes,
            "size_bytes": self.size_bytes,
        })
    }
}

impl Frame {
    fn json(&self) -> Value {
        json!({
            "module": self.module_name(),
            "function": self.function_index(),
            "name": self.function_name(),
            "offset": self.offset(),
            "file": self.file(),
            "line": self.line(),
            "column": self.column(),
        })
    }
}
