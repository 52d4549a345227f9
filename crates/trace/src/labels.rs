//! Labels of events, positions and functions, shared by all pictures.

use crate::{EventKind, FramesId, FunctionId, Position, StackId, TagId, Trace};

impl EventKind {
    /// The kind of event, in one word.
    pub fn word(&self) -> &'static str {
        match self {
            EventKind::Enter => "enter",
            EventKind::Leave => "leave",
            EventKind::Create { .. } => "create",
            EventKind::Clone { .. } => "clone",
            EventKind::Resume { .. } => "resume",
            EventKind::Suspend { .. } => "suspend",
            EventKind::Switch { .. } => "switch",
            EventKind::Return { .. } => "return",
            EventKind::Retire { .. } => "retire",
            EventKind::Refuse { .. } => "refuse",
            EventKind::Throw { .. } => "throw",
            EventKind::Trap { .. } => "trap",
            EventKind::Drop => "drop",
            EventKind::Collect { .. } => "collect",
            EventKind::Grow { .. } => "grow",
            EventKind::Park => "park",
            EventKind::Unpark => "unpark",
            EventKind::HostCall { .. } => "host call",
            EventKind::HostReturn => "host return",
        }
    }

    /// The other stack of the event: the one that runs now, that was created, or that has refused.
    pub fn target(&self) -> Option<StackId> {
        match self {
            EventKind::Create { created: to }
            | EventKind::Clone { created: to, .. }
            | EventKind::Resume { target: to, .. }
            | EventKind::Suspend { to, .. }
            | EventKind::Switch { target: to, .. }
            | EventKind::Return { to, .. }
            | EventKind::Retire { to, .. }
            | EventKind::Refuse { by: to, .. } => Some(*to),
            EventKind::Throw { to, .. } => *to,
            _ => None,
        }
    }

    /// Whether another stack runs after the event.
    pub fn is_switch(&self) -> bool {
        let stays = matches!(
            self,
            EventKind::Create { .. } | EventKind::Clone { .. } | EventKind::Refuse { .. }
        );
        self.target().is_some() && !stays
    }

    /// The origin of a copy.
    pub fn origin(&self) -> Option<StackId> {
        match self {
            EventKind::Clone { origin, .. } => Some(*origin),
            _ => None,
        }
    }

    /// The tag of the event, if it has one.
    pub fn tag(&self) -> Option<TagId> {
        match self {
            EventKind::Resume { tag, .. }
            | EventKind::Suspend { tag, .. }
            | EventKind::Switch { tag, .. }
            | EventKind::Return { tag, .. }
            | EventKind::Retire { tag, .. }
            | EventKind::Refuse { tag, .. }
            | EventKind::Throw { tag, .. } => *tag,
            _ => None,
        }
    }

    /// The printed values that the event passes on.
    pub fn values(&self) -> &str {
        match self {
            EventKind::Resume { values, .. }
            | EventKind::Suspend { values, .. }
            | EventKind::Switch { values, .. }
            | EventKind::Return { values, .. }
            | EventKind::Retire { values, .. } => values,
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
