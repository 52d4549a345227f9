//! Backtraces: the frames of a computation, innermost first, through all activations.

use crate::code::LoadedModule;
use crate::code::source::SourcePlace;
use crate::report::names::in_line;
use crate::vm::store_id::StoreId;
use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The frames of WebAssembly functions, innermost first.
///
/// If there are more than 64, repeated frames of a recursion are listed once. If there are still
/// too many, only the innermost and the outermost are listed.
#[derive(Clone, Default)]
pub struct Backtrace {
    pub(crate) frames: Vec<Frame>,
    pub(crate) runs: Vec<FrameRun>,
    /// The number of all frames.
    pub(crate) count: usize,
}

/// Consecutive frames, once or repeated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameRun {
    /// How many frames are inside of the first one.
    pub number: usize,
    /// The index of the first one among the listed frames.
    pub first: usize,
    pub length: usize,
    pub times: usize,
}

/// A frame of a WebAssembly function.
#[derive(Clone)]
pub struct Frame {
    pub(crate) module: Arc<LoadedModule>,
    /// The store, and the number of the instance, if the store has only one of the module.
    pub(crate) instance: Option<(StoreId, usize)>,
    pub(crate) function: u32,
    /// The byte of the binary where the body of the function begins.
    pub(crate) body: Option<u32>,
    pub(crate) offset: Option<u32>,
    pub(crate) boundary: Option<Boundary>,
    /// Looked up on demand.
    pub(crate) places: OnceLock<Vec<SourcePlace>>,
}

/// What separates a frame from the next inner one, if they are on different stacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// This frame resumed the stack of the inner one.
    Resume {
        /// The instruction, such as `resume` or `fiber.mount`.
        instruction: &'static str,
        /// The names of the first 32 tags that it handles, or their indices.
        tags: Vec<String>,
        /// How many more tags it handles.
        tags_omitted: usize,
    },
    /// This frame called the host, which called the inner frame.
    Host,
}

/// Writes the handled tags.
pub(crate) fn write_tags(
    f: &mut fmt::Formatter<'_>,
    tags: &[String],
    omitted: usize,
) -> fmt::Result {
    tags.iter().try_for_each(|tag| write!(f, " (on ${})", in_line(tag)))?;
    match omitted {
        0 => Ok(()),
        more => write!(f, " (on {more} more)"),
    }
}

impl fmt::Display for Boundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Boundary::Resume { instruction, tags, tags_omitted } => {
                write!(f, "resumed by {instruction}")?;
                write_tags(f, tags, *tags_omitted)
            }
            Boundary::Host => f.write_str("called by the host, which was called by"),
        }
    }
}

impl Frame {
    /// A function as a frame without a place.
    pub(crate) fn of_function(module: &Arc<LoadedModule>, function: u32) -> Frame {
        Frame {
            module: module.clone(),
            instance: None,
            function,
            body: None,
            offset: None,
            boundary: None,
            places: OnceLock::new(),
        }
    }

    /// The module of its function.
    pub fn module(&self) -> &Arc<LoadedModule> {
        &self.module
    }

    /// The number of its instance in a store. None if the frame is of another store, or the store
    /// has several instances of the module, which frames do not tell apart.
    pub fn instance_in(&self, store: StoreId) -> Option<usize> {
        self.instance.filter(|(id, _)| *id == store).map(|(_, index)| index)
    }

    /// What separates this frame from the next inner one, if they are on different stacks.
    pub fn boundary(&self) -> Option<&Boundary> {
        self.boundary.as_ref()
    }

    /// The name of the module, if it has one.
    pub fn module_name(&self) -> Option<&str> {
        self.module.info.name.as_deref()
    }

    /// The index of the function in its module.
    pub fn function_index(&self) -> u32 {
        self.function
    }

    /// The name of the function, from the name section or an export.
    pub fn function_name(&self) -> Option<&str> {
        self.module.info.function_name(self.function)
    }

    /// The offset of the instruction in the binary, also of a module in the text format.
    pub fn offset(&self) -> Option<u32> {
        self.offset
    }

    /// The offset of the instruction from its function's body, which begins with the locals.
    pub fn function_offset(&self) -> Option<u32> {
        self.offset?.checked_sub(self.body?)
    }

    /// The place of the instruction in the source: the text of the module, or as debug information
    /// (DWARF) says. With inlining, the places in inlined functions come first, innermost first.
    pub fn places(&self) -> &[SourcePlace] {
        self.places.get_or_init(|| match (&self.module.source, self.offset) {
            (Some(source), Some(offset)) => source.places(offset),
            _ => Vec::new(),
        })
    }

    /// The source file, if it is known.
    pub fn file(&self) -> Option<&str> {
        self.places().first()?.file()
    }

    /// The source line, from 1, if it is known.
    pub fn line(&self) -> Option<usize> {
        Some(self.places().first()?.line())
    }

    /// The column, from 1, if it is known.
    pub fn column(&self) -> Option<usize> {
        self.places().first()?.column()
    }

    /// The module and the function.
    pub(crate) fn function_text(&self) -> String {
        let module = self.shown_module();
        match self.function_name() {
            Some(name) => format!("{module}!{}", in_line(name)),
            None => format!("{module}!<function {}>", self.function),
        }
    }

    /// Writes the inlined functions, each with its place.
    fn write_inlined(&self, f: &mut fmt::Formatter<'_>, inlined: &[SourcePlace]) -> fmt::Result {
        inlined.iter().try_for_each(|place| {
            let name = in_line(place.function().unwrap_or("<function>"));
            write!(f, "{place}: {}!{name}\n      inlined into ", self.shown_module())
        })
    }

    fn shown_module(&self) -> Cow<'_, str> {
        in_line(self.module_name().unwrap_or("<module>"))
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.places().split_last(), self.offset) {
            (Some((place, inlined)), _) => {
                self.write_inlined(f, inlined)?;
                write!(f, "{place}: ")?;
            }
            (None, Some(offset)) => write!(f, "{offset:#8x}: ")?,
            (None, None) => {}
        }
        f.write_str(&self.function_text())
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Backtrace {
    /// The frames, innermost first. See [`Backtrace`] for omitted frames.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// The number of omitted frames.
    pub fn omitted(&self) -> usize {
        self.count - self.frames.len()
    }

    pub(crate) fn outermost(&self) -> Option<Frame> {
        let outermost = self.frames.last()?;
        Some(Frame::of_function(&outermost.module, outermost.function))
    }

    /// Writes numbered frames, one per line, indented.
    pub(crate) fn write_frames(&self, f: &mut fmt::Formatter<'_>, indent: usize) -> fmt::Result {
        let mut number = 0;
        for run in &self.runs {
            write_missing(f, indent, run.number - number)?;
            for place in 0..run.length {
                let frame = &self.frames[run.first + place];
                if let Some(boundary) = &frame.boundary {
                    write!(f, "\n{:indent$}    -- {boundary}", "")?;
                }
                write!(f, "\n{:indent$}{:2}: {frame}", "", run.number + place)?;
            }
            let same = if run.length == 1 { "frame" } else { &format!("{} frames", run.length) };
            if run.times > 1 {
                let more = run.times - 1;
                let times = if more == 1 { "time" } else { "times" };
                write!(f, "\n{:indent$}    ... the same {same} {more} more {times}", "")?;
            }
            number = run.number + run.length * run.times;
        }
        write_missing(f, indent, self.count - number)
    }
}

fn write_missing(f: &mut fmt::Formatter<'_>, indent: usize, missing: usize) -> fmt::Result {
    match missing {
        0 => Ok(()),
        1 => write!(f, "\n{:indent$}... 1 frame is left out", ""),
        many => write!(f, "\n{:indent$}... {many} frames are left out", ""),
    }
}

impl fmt::Display for Backtrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("wasm backtrace:")?;
        self.write_frames(f, 2)
    }
}

impl fmt::Debug for Backtrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
