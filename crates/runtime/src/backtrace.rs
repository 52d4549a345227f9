//! Where a computation was, from the innermost frame outwards, through all
//! activations.

use crate::activation::LeavePoint;
use crate::arch;
use crate::code::LoadedModule;
use crate::source::Place;
use crate::store::{Store, StoreId};
use ropewalk_abi::code::index;
use ropewalk_abi::stack::{EVERY_TAG, Purpose, tag_of_handler};
use ropewalk_abi::{ControlBlock, clauses};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The frames of WebAssembly functions, the innermost first.
#[derive(Clone, Default)]
pub struct Backtrace {
    frames: Vec<Frame>,
    /// How many more there were.
    omitted: usize,
}

/// How many frames a backtrace keeps: enough to see where a runaway recursion
/// came from, and not a megabyte of text.
const MAX_FRAMES: usize = 64;

/// A frame of a WebAssembly function.
#[derive(Clone)]
pub struct Frame {
    module: Arc<LoadedModule>,
    /// The store, and the number of the instance in it, if the module has only that one.
    instance: Option<(StoreId, usize)>,
    function: u32,
    /// Which byte of the binary the body of the function begins at.
    body: Option<u32>,
    offset: Option<u32>,
    boundary: Option<Boundary>,
    /// Looked for only when somebody asks.
    places: OnceLock<Vec<Place>>,
}

/// What lies between a frame and the one inside of it, if they are on different
/// stacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// This frame resumed the stack of the inner one.
    Resume {
        /// The instruction by which it did, such as `resume` or `fiber.mount`.
        instruction: &'static str,
        /// The names of the tags that it handles; those without a name are
        /// numbers.
        tags: Vec<String>,
    },
    /// This frame called the host, which called the inner one.
    Host,
}

impl fmt::Display for Boundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Boundary::Resume { instruction, tags } => {
                write!(f, "resumed by {instruction}")?;
                tags.iter().try_for_each(|tag| write!(f, " (on ${tag})"))
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
    pub fn instance_in(&self, store: &Store) -> Option<usize> {
        self.instance.filter(|(id, _)| *id == store.id()).map(|(_, index)| index)
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

    /// Whether two frames look the same.
    fn is_like(&self, other: &Frame) -> bool {
        Arc::ptr_eq(&self.module, &other.module)
            && (self.function, self.offset) == (other.function, other.offset)
            && self.boundary == other.boundary
    }

    /// Its module and its function.
    pub(crate) fn function_text(&self) -> String {
        let module = self.shown_module();
        match self.function_name() {
            Some(name) => format!("{module}!{name}"),
            None => format!("{module}!<function {}>", self.function),
        }
    }

    /// Writes the functions that were inlined, each with its place.
    fn write_inlined(&self, f: &mut fmt::Formatter<'_>, inlined: &[Place]) -> fmt::Result {
        inlined.iter().try_for_each(|place| {
            let name = place.function().unwrap_or("<function>");
            write!(f, "{place}: {}!{name}\n      inlined into ", self.shown_module())
        })
    }

    fn shown_module(&self) -> &str {
        self.module_name().unwrap_or("<module>")
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
    /// The frames, the innermost first; of very many, only the first ones.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// How many outer frames are left out.
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// The frames of a store whose newest activation was left.
    ///
    /// # Safety
    ///
    /// The newest activation must have been left as `left` says, and its
    /// stacks not be used since.
    pub(crate) unsafe fn capture(store: &Store, left: &LeavePoint) -> Backtrace {
        let mut walker = Walker::new(store);
        // SAFETY: the caller's promise.
        unsafe { walker.walk_left(left) };
        // SAFETY: the running stack's block is alive.
        let newest = unsafe { &*store.context().stack };
        for (i, innermost) in std::iter::once(newest).chain(store.outer_stacks()).enumerate() {
            let mut child = None;
            for stack in store.with_extender(innermost) {
                let boundary = match child.replace(stack) {
                    Some(child) => store.resume_boundary(child, stack),
                    // This is the one that was left.
                    None if i == 0 => continue,
                    None => Boundary::Host,
                };
                walker.boundary = Some(boundary);
                // SAFETY: parents wait for their children, and outer
                // activations are in host calls, so their control blocks say
                // where they were left.
                unsafe { walker.walk_left(&LeavePoint::in_host_call(stack)) };
            }
        }
        walker.trace
    }

    /// The frames of one stack.
    ///
    /// # Safety
    ///
    /// The stack must have been left there.
    pub(crate) unsafe fn of_stack(store: &Store, left: &LeavePoint) -> Backtrace {
        let mut walker = Walker::new(store);
        // SAFETY: the caller's promise.
        unsafe { walker.walk_left(left) };
        walker.trace
    }

    /// The function of the outermost frame, if none is left out.
    pub(crate) fn outermost(&self) -> Option<Frame> {
        let outermost = self.frames.last().filter(|_| self.omitted == 0)?;
        Some(Frame::of_function(&outermost.module, outermost.function))
    }

    /// The frames of suspended stacks, of which the innermost comes first.
    pub(crate) fn of_suspended<'a>(
        store: &'a Store,
        stacks: impl Iterator<Item = &'a ControlBlock>,
    ) -> Backtrace {
        let mut walker = Walker::new(store);
        let mut child = None;
        for stack in stacks {
            if let Some(child) = child.replace(stack) {
                walker.boundary = Some(store.resume_boundary(child, stack));
            }
            if let Some(left) = LeavePoint::suspended(stack) {
                // SAFETY: a suspended stack says where it was left.
                unsafe { walker.walk_left(&left) };
            }
        }
        walker.trace
    }
}

impl Store {
    /// The frames below the host function that runs; none if none runs.
    ///
    /// Only a host function can have the store while something runs in it.
    pub fn host_backtrace(&self) -> Backtrace {
        if self.depth == 0 {
            return Backtrace::default();
        }
        // SAFETY: the newest activation is in a host call, so the block of its stack is
        // alive and says where that was left.
        unsafe {
            let left = LeavePoint::in_host_call(&*self.context().stack);
            Backtrace::capture(self, &left)
        }
    }

    /// A function of the module whose code begins at an address, with the module.
    pub(crate) fn function_text(&self, code: usize, function: u32) -> String {
        let module = self.module_at(code).map(|(module, _)| module);
        let module = module.expect("modules stay as long as their store");
        Frame::of_function(module, function).function_text()
    }

    /// What lies between a stack and its parent or extender.
    pub(crate) fn resume_boundary(&self, child: &ControlBlock, parent: &ControlBlock) -> Boundary {
        let instruction = match child.purpose {
            _ if std::ptr::eq(child.extender, parent) => "stack.extend",
            Purpose::Task => "task.resume",
            Purpose::Fiber => "fiber.mount",
            _ => "resume",
        };
        // SAFETY: a stack that waits for another has noted its clauses.
        let words = unsafe { clauses::all(parent.handlers) }.filter(|word| *word != EVERY_TAG);
        let tags = words.map(|word| self.tag_name(tag_of_handler(word)));
        Boundary::Resume { instruction, tags: tags.collect() }
    }

    /// The name of a tag in some module that has it.
    pub(crate) fn tag_name(&self, tag: usize) -> String {
        let named = self.instances.iter().find_map(|instance| {
            let info = &instance.module().info;
            let mut tags = 0..info.tags.len() as u32;
            let index = tags.find(|index| instance.tag(*index).addr().get() == tag)?;
            Some(info.tag_name(index).map_or_else(|| index.to_string(), str::to_string))
        });
        named.unwrap_or_else(|| "?".to_string())
    }
}

struct Walker<'a> {
    store: &'a Store,
    trace: Backtrace,
    /// What lies before the next frame.
    boundary: Option<Boundary>,
    /// The module of the newest frame, and its instance if there is only one.
    newest: Option<(&'a Arc<LoadedModule>, Option<usize>)>,
    /// The addresses that were met lately, and whether they are in a function: of a deep
    /// stack most frames are only counted, and most are of few calls.
    known: [(usize, bool); KNOWN],
}

/// A power of two.
const KNOWN: usize = 8;

impl<'a> Walker<'a> {
    fn new(store: &'a Store) -> Walker<'a> {
        let known = [(0, false); KNOWN];
        Walker { store, trace: Backtrace::default(), boundary: None, newest: None, known }
    }

    /// The instance of a module, if there is only one.
    fn only_instance(&mut self, module: &'a Arc<LoadedModule>) -> Option<usize> {
        if let Some((newest, instance)) = self.newest
            && Arc::ptr_eq(newest, module)
        {
            return instance;
        }
        let instances = self.store.instances.iter().enumerate();
        let mut found = instances.filter(|(_, instance)| Arc::ptr_eq(instance.module(), module));
        let instance = found.next().filter(|_| found.next().is_none()).map(|(index, _)| index);
        self.newest = Some((module, instance));
        instance
    }

    unsafe fn walk_left(&mut self, left: &LeavePoint) {
        self.push(left.pc, !left.at_fault);
        // SAFETY: `sp` was the stack pointer when it was left.
        let missing = unsafe { self.unlinked_caller(left) };
        if let Some(pc) = missing {
            self.push(pc, true);
        }
        let mut fp = left.fp;
        while fp != 0 {
            // SAFETY: `fp` is a link of the chain, so a saved frame pointer
            // and a return address are there.
            let (next, pc) = unsafe { (*(fp as *const usize), *((fp + 8) as *const usize)) };
            self.push(pc, true);
            fp = match next {
                0 => 0,
                link => link.wrapping_add(left.distance),
            };
        }
    }

    /// The return address of a function that faulted before its frame was
    /// linked into the chain, or of the stub that probes its frame.
    unsafe fn unlinked_caller(&self, left: &LeavePoint) -> Option<usize> {
        if !left.at_fault {
            return None;
        }
        let (module, offset) = self.store.module_at(left.pc)?;
        let image = module.code.tables();
        let start = image.function_at(offset).map(|f| image.functions[f as usize].start);
        let place = arch::frames::unlinked_return_address(start.map(|start| offset - start))?;
        // SAFETY: before its frame is linked, the return address of a function
        // is on top of the stack, or below what it has pushed.
        Some(unsafe { *((left.sp + place) as *const usize) })
    }

    /// Whether a function contains an address.
    fn is_in_function(&mut self, address: usize) -> bool {
        let known = &mut self.known[address % KNOWN];
        if known.0 != address {
            let function = self.store.module_at(address).and_then(|(module, offset)| {
                let image = module.code.tables();
                index(image.functions[image.function_at(offset)? as usize].function)
            });
            *known = (address, function.is_some());
        }
        known.1
    }

    /// Adds the frame of the function that contains an address: the address of
    /// an instruction, or after a call.
    fn push(&mut self, pc: usize, is_return_address: bool) {
        let address = if is_return_address { pc - 1 } else { pc };
        if self.trace.frames.len() >= MAX_FRAMES {
            self.trace.omitted += usize::from(self.is_in_function(address));
            return;
        }
        let Some((module, offset)) = self.store.module_at(address) else { return };
        let image = module.code.tables();
        let code = image.function_at(offset).map(|number| image.functions[number as usize]);
        let Some(code) = code else { return };
        let Some(function) = index(code.function) else { return };
        if self.trace.frames.try_reserve(1).is_err() {
            self.trace.omitted += 1;
            return;
        }
        let instance = self.only_instance(module).map(|index| (self.store.id(), index));
        self.trace.frames.push(Frame {
            instance,
            function,
            body: Some(code.body),
            offset: module.code.position_at(offset),
            module: module.clone(),
            boundary: self.boundary.take(),
            places: OnceLock::new(),
        });
    }
}

/// The longest cycle of a recursion that is shown as one.
const LONGEST_CYCLE: usize = 8;

/// Fewer repetitions than these are shown as they are.
const REPETITIONS: usize = 3;

impl Backtrace {
    /// The cycle of a recursion that begins with a frame: how many frames it has, and how often it
    /// comes. Nothing if that is too seldom to be folded.
    fn cycle(&self, begin: usize) -> Option<(usize, usize)> {
        let frames = &self.frames[begin..];
        (1..=LONGEST_CYCLE).find_map(|length| {
            let like = frames.iter().zip(frames.get(length..)?);
            let like = like.take_while(|(frame, next)| frame.is_like(next)).count();
            let times = like / length + 1;
            (times > REPETITIONS).then_some((length, times))
        })
    }

    fn write_frame(&self, f: &mut fmt::Formatter<'_>, number: usize) -> fmt::Result {
        let frame = &self.frames[number];
        if let Some(boundary) = &frame.boundary {
            write!(f, "\n      -- {boundary}")?;
        }
        write!(f, "\n  {number:2}: {frame}")
    }
}

impl fmt::Display for Backtrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("wasm backtrace:")?;
        let mut number = 0;
        while number < self.frames.len() {
            let (length, times) = self.cycle(number).unwrap_or((1, 1));
            (number..number + length).try_for_each(|number| self.write_frame(f, number))?;
            match (times - 1, length) {
                (0, _) => {}
                (more, 1) => write!(f, "\n      ... the same frame {more} times more")?,
                (more, _) => write!(f, "\n      ... the same {length} frames {more} times more")?,
            }
            number += length * times;
        }
        if self.omitted > 0 {
            write!(f, "\n  ... and {} more", self.omitted)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Backtrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
