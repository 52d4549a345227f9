//! Tracing: recording what the stacks of a store do.
//!
//! An engine that [traces](crate::StoreOptions::trace) has code that calls a builtin for each
//! creation of a stack and each switch, and stubs that report returns and calls of the host. The
//! table of stacks records all other [events](crate::stack::stack_events), which the recorder fetches before it records the
//! next one. Other engines have other code and stubs, and pay nothing for tracing.
//!
//! | file | contents |
//! | --- | --- |
//! | [`event`] | an event as it is recorded, in 64 bytes |
//! | [`record`] | recording events |
//! | [`export`] | making a [`Trace`] of them |
//! | [`stream`] | writing one while the program runs |
//! | [`breakpoint`] | all stacks at an event |
//!
//! A stack has a [`StackId`] for life, which the recorder maps from the number of its block. Links
//! and recorded parents say what a switch is: a resumed stack has the previous one as its parent, a
//! suspension returns to the parent, and anything else is a switch.

mod breakpoint;
mod event;
mod export;
mod record;
mod stream;

use crate::embedder::Foreign;
use crate::observe::frame_tree::FrameTree;
use breakpoint::Breakpoint;
use event::{NONE, RawEvent};
use ropewalk_abi::stack::Purpose;
use ropewalk_abi::{ControlBlock, FuncRef, TagDef};
pub use ropewalk_trace::{StackId, Trace};
use std::collections::{HashMap, VecDeque};
use std::time::Instant;
use stream::Stream;

pub use breakpoint::AtEvent;
pub(crate) use record::{finished, host_called, host_returned};
pub use stream::WhenBehind;

/// How many events are kept by default.
pub const DEFAULT_LIMIT: usize = 1 << 20;

/// Called with each event.
pub type Listener = Foreign<Box<dyn FnMut(&ropewalk_trace::Event) + Send + Sync>>;

/// The recorder of a store.
pub struct Recorder {
    begun: Instant,
    events: VecDeque<RawEvent>,
    /// The maximum number of kept events.
    limit: usize,
    dropped: u64,
    /// The stacks, by their identifiers.
    stacks: Vec<TracedStack>,
    /// The identifiers, by the numbers of blocks.
    ids: Vec<Option<u32>>,
    frames: FrameTree,
    tags: Vec<*const TagDef>,
    tag_numbers: HashMap<*const TagDef, u32>,
    /// The called host functions, by their contexts.
    host_functions: Vec<usize>,
    host_numbers: HashMap<usize, u32>,
    messages: Vec<String>,
    /// The roots of the activations that have begun and not ended, outermost first.
    entered: Vec<u32>,
    /// Stands for the host where no stack runs.
    host: Option<u32>,
    listener: Option<Listener>,
    /// Receives the events instead of `events`, if set.
    stream: Option<Box<Stream>>,
    /// The event at which the stacks are listed.
    breakpoint: Option<Breakpoint>,
}

// SAFETY: the pointers are into the recorder's store, and used only together with it.
unsafe impl Send for Recorder {}
// SAFETY: as above.
unsafe impl Sync for Recorder {}

/// The record of a stack, for all its life.
#[derive(Clone, Copy, Debug)]
struct TracedStack {
    purpose: Purpose,
    /// The function that it was made with, if any.
    function: *const FuncRef,
    /// The stack that resumed it, until it is suspended.
    parent: Option<u32>,
}

impl Default for Recorder {
    fn default() -> Self {
        Recorder {
            begun: Instant::now(),
            events: VecDeque::new(),
            limit: DEFAULT_LIMIT,
            dropped: 0,
            stacks: Vec::new(),
            ids: Vec::new(),
            frames: FrameTree::default(),
            tags: Vec::new(),
            tag_numbers: HashMap::new(),
            host_functions: Vec::new(),
            host_numbers: HashMap::new(),
            messages: Vec::new(),
            entered: Vec::new(),
            host: None,
            listener: None,
            stream: None,
            breakpoint: None,
        }
    }
}

impl Recorder {
    /// Assigns an identifier to the stack of a block.
    fn begin_stack(&mut self, number: usize, block: &ControlBlock) -> u32 {
        let id = self.stacks.len() as u32;
        let function = match block.purpose {
            Purpose::Root | Purpose::Free => std::ptr::null(),
            _ => block.function,
        };
        self.stacks.push(TracedStack { purpose: block.purpose, function, parent: None });
        if self.ids.len() <= number {
            self.ids.resize(number + 1, None);
        }
        self.ids[number] = Some(id);
        id
    }

    /// The identifier of the stack of a block, which may be older than the recorder.
    fn id(&mut self, number: usize, block: &ControlBlock) -> u32 {
        match self.ids.get(number) {
            Some(Some(id)) => *id,
            _ => self.begin_stack(number, block),
        }
    }

    /// Ends the life of a stack; returns its identifier, if it has one.
    fn end_stack(&mut self, number: usize) -> Option<u32> {
        self.ids.get_mut(number)?.take()
    }

    fn host(&mut self) -> u32 {
        *self.host.get_or_insert_with(|| {
            let purpose = Purpose::Root;
            self.stacks.push(TracedStack { purpose, function: std::ptr::null(), parent: None });
            self.stacks.len() as u32 - 1
        })
    }

    /// The number of a tag, which may be null.
    fn tag(&mut self, tag: *const TagDef) -> u32 {
        if tag.is_null() {
            return NONE;
        }
        let tags = &mut self.tags;
        *self.tag_numbers.entry(tag).or_insert_with(|| {
            tags.push(tag);
            tags.len() as u32 - 1
        })
    }

    fn host_function(&mut self, context: usize) -> u32 {
        let functions = &mut self.host_functions;
        *self.host_numbers.entry(context).or_insert_with(|| {
            functions.push(context);
            functions.len() as u32 - 1
        })
    }

    fn now(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }

    /// Keeps an event; drops the oldest one if there are too many.
    fn push(&mut self, raw: RawEvent) {
        if let Some(stream) = &mut self.stream {
            return stream.events.push(raw);
        }
        if self.events.len() >= self.limit {
            self.dropped += 1;
            if self.events.pop_front().is_none() {
                return;
            }
        }
        self.events.push_back(raw);
    }
}
