//! Labels of events, positions and functions, shared by all pictures.

use crate::{FramesId, FunctionId, Position, StackId, TagId, Trace, What};

impl What {
    /// The kind of event, in one word.
    pub fn word(&self) -> &'static str {
        match self {
            What::Enter => "enter",
            What::Leave => "leave",
            What::Create { .. } => "create",
            What::Clone { .. } => "clone",
            What::Resume { .. } => "resume",
            What::Suspend { .. } => "suspend",
            What::Switch { .. } => "switch",
            What::Return { .. } => "return",
            What::Throw { .. } => "throw",
            What::Trap { .. } => "trap",
            What::Drop => "drop",
            What::Collect { .. } => "collect",
            What::Grow { .. } => "grow",
            What::Park => "park",
            What::Unpark => "unpark",
            What::HostCall { .. } => "host call",
            What::HostReturn => "host return",
        }
    }

    /// The other stack of the event: the one that runs now, or that was created.
    pub fn target(&self) -> Option<StackId> {
        match self {
            What::Create { created: to }
            | What::Clone { created: to, .. }
            | What::Resume { target: to, .. }
            | What::Suspend { to, .. }
            | What::Switch { target: to, .. }
            | What::Return { to, .. } => Some(*to),
            What::Throw { to, .. } => *to,
            _ => None,
        }
    }

    /// Whether another stack runs after the event.
    pub fn is_switch(&self) -> bool {
        self.target().is_some() && !matches!(self, What::Create { .. } | What::Clone { .. })
    }

    /// The origin of a copy.
    pub fn origin(&self) -> Option<StackId> {
        match self {
            What::Clone { origin, .. } => Some(*origin),
            _ => None,
        }
    }

    /// The tag of the event, if it has one.
    pub fn tag(&self) -> Option<TagId> {
        match self {
            What::Suspend { tag, .. } | What::Switch { tag, .. } | What::Throw { tag, .. } => *tag,
            _ => None,
        }
    }

    /// The printed values that the event passes on.
    pub fn values(&self) -> &str {
        match self {
            What::Resume { values, .. }
            | What::Suspend { values, .. }
            | What::Switch { values, .. }
            | What::Return { values, .. } => values,
            _ => "",
        }
    }
}

impl Position {
    /// `file:line:column`, or the offset if there is no source.
    pub fn place(&self) -> String {
        match (self.file.as_str(), self.line) {
            ("", _) | (_, 0) => format!("at offset {:#x}", self.offset),
            (file, line) if self.column == 0 => format!("{file}:{line}"),
            (file, line) => format!("{file}:{line}:{}", self.column),
        }
    }
}

impl Trace {
    /// The name of a function; `?` if it is not in the trace.
    pub fn function_name(&self, function: FunctionId) -> &str {
        self.functions.get(function.index()).map_or("?", |function| &function.name)
    }

    /// The name of a tag; `?` if it is not in the trace.
    pub fn tag_name(&self, tag: TagId) -> &str {
        self.tags.get(tag.index()).map_or("?", |tag| &tag.name)
    }

    /// The position of the innermost frame of an event.
    pub fn place(&self, frames: Option<FramesId>) -> Option<String> {
        let position = self.frames(frames).next()?.position?;
        Some(self.positions.get(position.index())?.place())
    }

    /// The duration of the trace, in nanoseconds.
    pub fn duration(&self) -> u64 {
        self.events.iter().map(|event| event.time).max().unwrap_or(0)
    }
}
