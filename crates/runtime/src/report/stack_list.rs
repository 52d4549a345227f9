//! All stacks of a store, as whoever debugs a program wants to see them: in which state
//! each is, for whom it waits, where it is, and how much memory it has.

use super::backtrace::{Backtrace, Boundary, Frame, write_tags};
use ropewalk_abi::life::Life;
use ropewalk_abi::stack::StackKind;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt;

/// The stacks of a store at one moment, in the order of their numbers.
#[derive(Clone, Debug, Default)]
pub struct StackList {
    pub(crate) stacks: Vec<StackInfo>,
    /// How many more there were.
    pub(crate) omitted: usize,
}

/// What is known of a stack.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StackInfo {
    /// Its number. No other stack has it now; when this one has ended, another may get
    /// it.
    pub number: usize,
    /// In which state it is: new, running, waiting, suspended, parked, inside of what is
    /// suspended, or lost.
    pub life: Life,
    /// Of which design it is; none if it is the root of an activation.
    pub kind: Option<StackKind>,
    /// The stack that waits for it, if one does, and in what. Of a stack inside of what is
    /// suspended, the one that it is suspended with.
    pub parent: Option<(usize, Boundary)>,
    /// The function that it began with, if that is known.
    pub function: Option<Frame>,
    /// Where it is: its own frames, without those of its parents.
    pub backtrace: Backtrace,
    /// Of a fiber or a first-class stack that is suspended: the tags of the events that
    /// can continue it, the first 32.
    pub events: Vec<String>,
    /// How many more such tags there are.
    pub events_omitted: usize,
    /// How many bytes its frames take.
    pub used_bytes: usize,
    /// How many bytes it has room for now. Of one that is parked, what its packed frames
    /// take.
    pub size_bytes: usize,
}

impl StackList {
    /// The stacks, in the order of their numbers.
    pub fn iter(&self) -> std::slice::Iter<'_, StackInfo> {
        self.stacks.iter()
    }

    /// How many more there were, if not all are listed.
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// How many are listed.
    pub fn len(&self) -> usize {
        self.stacks.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    /// Some stacks have ended, and another runs now.
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

    /// As JSON: a list of objects, with the frames of each, the innermost first.
    pub fn to_json(&self) -> String {
        let stacks: Vec<Value> = self.stacks.iter().map(StackInfo::json).collect();
        format!("{:#}", json!({ "stacks": stacks, "stacks_omitted": self.omitted }))
    }

    /// Those that have a parent, by its number.
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

/// How wide the columns of the text are.
struct Columns {
    title: usize,
    function: usize,
}

/// How deep a tree of stacks is indented at most.
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
        // A chain may be as long as there are stacks, so there is no recursion. Where its middle
        // is left out, another part begins.
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

    /// What the design calls it.
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
