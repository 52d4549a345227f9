//! Where a computation was, from the innermost frame outwards, through all
//! activations.

use crate::code::LoadedModule;
use crate::code::source::Place;
use crate::report::names::in_line;
use crate::vm::store_id::StoreId;
use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The frames of WebAssembly functions, the innermost first.
///
/// Of more than 64, a recursion has each of its frames once, and if there are still too many,
/// the innermost and the outermost are kept: enough to see where a runaway recursion came from,
/// and not a megabyte of text.
#[derive(Clone, Default)]
pub struct Backtrace {
    pub(crate) frames: Vec<Frame>,
    pub(crate) parts: Vec<Part>,
    /// How many frames there were.
    pub(crate) count: usize,
}

/// Frames that follow each other, perhaps several times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// How many frames are inside of the first one.
    pub number: usize,
    /// Which of the frames that are kept the first one is.
    pub first: usize,
    pub length: usize,
    pub times: usize,
}

/// A frame of a WebAssembly function.
#[derive(Clone)]
pub struct Frame {
    pub(crate) module: Arc<LoadedModule>,
    /// The store, and the number of the instance in it, if the module has only that one.
    pub(crate) instance: Option<(StoreId, usize)>,
    pub(crate) function: u32,
    /// Which byte of the binary the body of the function begins at.
    pub(crate) body: Option<u32>,
    pub(crate) offset: Option<u32>,
    pub(crate) boundary: Option<Boundary>,
    /// Looked for only when somebody asks.
    pub(crate) places: OnceLock<Vec<Place>>,
}

/// What lies between a frame and the one inside of it, if they are on different
/// stacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// This frame resumed the stack of the inner one.
    Resume {
        /// The instruction by which it did, such as `resume` or `fiber.mount`.
        instruction: &'static str,
        /// The names of the tags that it handles, of the first 32; those without a name
        /// are numbers.
        tags: Vec<String>,
        /// How many more it handles.
        tags_omitted: usize,
    },
    /// This frame called the host, which called the inner one.
    Host,
}

/// Writes which tags are handled.
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
    /// A function, without a place in it.
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

    /// The module that its function belongs to.
    pub fn module(&self) -> &Arc<LoadedModule> {
        &self.module
    }

    /// The number of the instance in a store that its function belongs to. Nothing if the
    /// frame is of another store, or the store had several instances of the module: frames
    /// do not say of which of them they are.
    pub fn instance_in(&self, store: StoreId) -> Option<usize> {
        self.instance.filter(|(id, _)| *id == store).map(|(_, index)| index)
    }

    /// What lies between this frame and the one inside of it, if they are on
    /// different stacks.
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

    /// The name of the function, if the name section or an export gives one.
    pub fn function_name(&self) -> Option<&str> {
        self.module.info.function_name(self.function)
    }

    /// Which byte of the binary the instruction begins at. The binary of a module
    /// that is written as text is what it was encoded to.
    pub fn offset(&self) -> Option<u32> {
        self.offset
    }

    /// How many bytes of the binary the instruction is behind the beginning of the body of
    /// its function, which begins with the declarations of its locals.
    pub fn function_offset(&self) -> Option<u32> {
        self.offset?.checked_sub(self.body?)
    }

    /// Where the instruction stands in the source: in the text of the module, or in the source that
    /// debug information (DWARF) tells of.
    ///
    /// Functions that were inlined have places before that of the function itself, the innermost
    /// first.
    pub fn places(&self) -> &[Place] {
        self.places.get_or_init(|| match (&self.module.source, self.offset) {
            (Some(source), Some(offset)) => source.places(offset),
            _ => Vec::new(),
        })
    }

    /// The file of its source, if that is known.
    pub fn file(&self) -> Option<&str> {
        self.places().first()?.file()
    }

    /// The line of the instruction in its source, if that is known; the first line is 1.
    pub fn line(&self) -> Option<usize> {
        Some(self.places().first()?.line())
    }

    /// The character of its line that the instruction begins at, if that is known; the first
    /// character is 1.
    pub fn column(&self) -> Option<usize> {
        self.places().first()?.column()
    }

    /// Its module and its function.
    pub(crate) fn function_text(&self) -> String {
        let module = self.shown_module();
        match self.function_name() {
            Some(name) => format!("{module}!{}", in_line(name)),
            None => format!("{module}!<function {}>", self.function),
        }
    }

    /// Writes the functions that were inlined, each with its place.
    fn write_inlined(&self, f: &mut fmt::Formatter<'_>, inlined: &[Place]) -> fmt::Result {
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
    /// The frames, the innermost first. Of more than 64, those of a recursion are there once,
    /// and if there are still too many, only the innermost and the outermost.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// How many frames are left out.
    pub fn omitted(&self) -> usize {
        self.count - self.frames.len()
    }
}

impl Backtrace {
    /// The function of the outermost frame.
    pub(crate) fn outermost(&self) -> Option<Frame> {
        let outermost = self.frames.last()?;
        Some(Frame::of_function(&outermost.module, outermost.function))
    }

    /// Writes the frames, a line each, the numbers of which are indented.
    pub(crate) fn write_frames(&self, f: &mut fmt::Formatter<'_>, indent: usize) -> fmt::Result {
        let mut number = 0;
        for part in &self.parts {
            write_missing(f, indent, part.number - number)?;
            for place in 0..part.length {
                let frame = &self.frames[part.first + place];
                if let Some(boundary) = &frame.boundary {
                    write!(f, "\n{:indent$}    -- {boundary}", "")?;
                }
                write!(f, "\n{:indent$}{:2}: {frame}", "", part.number + place)?;
            }
            let same = if part.length == 1 { "frame" } else { &format!("{} frames", part.length) };
            if part.times > 1 {
                let more = part.times - 1;
                write!(f, "\n{:indent$}    ... the same {same} {more} times more", "")?;
            }
            number = part.number + part.length * part.times;
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
