//! Making a [`Trace`] from recorded events: numbers get names and places.

use super::Recorder;
use super::event::{EventKind as RawKind, NONE, RawEvent};
use crate::code::LoadedModule;
use crate::store::Store;
use ropewalk_abi::module::Item;
use ropewalk_abi::stack::Purpose;
use ropewalk_abi::{FuncImport, FuncRef};
use ropewalk_trace::{
    Design, Event, EventKind, Frame, FramesId, Function, FunctionId, LEFT_OUT, Position,
    PositionId, Stack, StackId, Tag, TagId, Trace,
};
use std::collections::HashMap;
use std::sync::Arc;

/// How many characters of a source line are kept.
const LINE: usize = 200;

impl Recorder {
    /// Takes the events since the last call. Stacks, tags and frames keep their numbers.
    pub(super) fn take(&mut self, store: &Store) -> Trace {
        let events = std::mem::take(&mut self.events);
        let mut known = WrittenTables::default();
        let tables = self.tables(store, &mut known);
        let event = |raw: &RawEvent| event(raw, &known.host_functions, &self.messages);
        let events = events.iter().map(event).collect();
        Trace { events, dropped: std::mem::take(&mut self.dropped), ..tables }
    }

    /// The new entries of the tables, without events.
    pub(super) fn tables(&self, store: &Store, known: &mut WrittenTables) -> Trace {
        known.add_host_functions(store, &self.host_functions);
        let stacks = self.stacks[known.stacks..].iter().map(|stack| Stack {
            design: design(stack.purpose),
            // SAFETY: functions live as long as their store.
            function: unsafe { stack.function.as_ref() }
                .and_then(|function| known.names.function_of(store, function)),
        });
        let stacks: Vec<Stack> = stacks.collect();
        let frames = self.frames.nodes[known.frames..].iter().map(|node| {
            if node.is_left_out() {
                let caller = node.caller.map(FramesId);
                return Frame { caller, function: known.names.left_out(), position: None };
            }
            let module = store.objects.module_at(node.code).map(|(module, _)| module.clone());
            let module = module.expect("modules stay as long as their store");
            Frame {
                caller: node.caller.map(FramesId),
                function: known.names.function(&module, node.function),
                position: node.position.map(|offset| known.names.position(&module, offset)),
            }
        });
        let frames: Vec<Frame> = frames.collect();
        let tags = self.tags[known.tags..].iter();
        let tags: Vec<Tag> = tags.map(|tag| Tag { name: store.tag_name(*tag as usize) }).collect();
        known.stacks += stacks.len();
        known.frames += frames.len();
        known.tags += tags.len();
        let (functions, positions) = known.names.take_new();
        Trace { functions, positions, tags, stacks, frames, ..Trace::default() }
    }

    /// An event for a listener, when it happens.
    pub(super) fn event(&self, raw: &RawEvent) -> Event {
        // Host functions are numbered first.
        let host_functions: Vec<FunctionId> = match raw.kind {
            RawKind::HostCall => (0..=raw.other).map(FunctionId).collect(),
            _ => Vec::new(),
        };
        event(raw, &host_functions, &self.messages)
    }
}

/// Converts an event. Host functions and messages are numbers in it.
pub(super) fn event(raw: &RawEvent, host_functions: &[FunctionId], messages: &[String]) -> Event {
    let other = StackId(raw.other);
    let outermost = StackId(raw.outermost);
    let tag = (raw.tag != NONE).then_some(TagId(raw.tag));
    let what = match raw.kind {
        RawKind::Enter => EventKind::Enter,
        RawKind::Leave => EventKind::Leave,
        RawKind::Create => EventKind::Create { created: other },
        RawKind::Clone => EventKind::Clone {
            created: other,
            origin: StackId(raw.values[0] as u32),
            parent: (raw.values[1] != u64::from(NONE)).then_some(StackId(raw.values[1] as u32)),
            outermost,
        },
        RawKind::Resume => EventKind::Resume { target: other, tag, values: raw.text() },
        RawKind::Suspend => EventKind::Suspend { to: other, outermost, tag, values: raw.text() },
        RawKind::Switch => EventKind::Switch { target: other, outermost, tag, values: raw.text() },
        RawKind::Return => EventKind::Return { to: other, tag, values: raw.text() },
        RawKind::Retire => EventKind::Retire { to: other, tag, values: raw.text() },
        RawKind::Refuse => EventKind::Refuse { by: other, tag },
        RawKind::Throw => EventKind::Throw { to: (raw.other != NONE).then_some(other), tag },
        RawKind::Trap => EventKind::Trap { message: messages[raw.other as usize].clone() },
        RawKind::Drop => EventKind::Drop,
        RawKind::Collect => {
            EventKind::Collect { nanoseconds: raw.values[0], stacks_freed: raw.values[1] }
        }
        RawKind::Grow => EventKind::Grow { bytes: raw.values[0] },
        RawKind::Park => EventKind::Park,
        RawKind::Unpark => EventKind::Unpark,
        RawKind::HostCall => EventKind::HostCall { function: host_functions[raw.other as usize] },
        RawKind::HostReturn => EventKind::HostReturn,
    };
    let frames = (raw.frames != NONE).then_some(FramesId(raw.frames));
    Event { time: raw.time, stack: StackId(raw.stack), frames, what }
}

fn design(purpose: Purpose) -> Design {
    match purpose {
        Purpose::Root | Purpose::Free => Design::Root,
        Purpose::Continuation => Design::Continuation,
        Purpose::Bag => Design::Bag,
        Purpose::Task => Design::Task,
        Purpose::Fiber => Design::Fiber,
        Purpose::FirstClass => Design::FirstClass,
    }
}

/// Which entries of the tables were written already.
#[derive(Debug, Default)]
pub(super) struct WrittenTables {
    names: Names,
    stacks: usize,
    frames: usize,
    tags: usize,
    /// The host functions, by the recorder's numbers.
    pub host_functions: Vec<FunctionId>,
}

impl WrittenTables {
    fn add_host_functions(&mut self, store: &Store, contexts: &[usize]) {
        let new = &contexts[self.host_functions.len()..];
        if new.is_empty() {
            return;
        }
        let names = imported_names(store);
        for context in new {
            let unknown = Function { module: "host".to_string(), name: "?".to_string() };
            let function = names.get(context).cloned().unwrap_or(unknown);
            self.host_functions.push(self.names.add_function(function));
        }
    }
}

/// Names and places, each once.
#[derive(Debug, Default)]
struct Names {
    functions: Vec<Function>,
    positions: Vec<Position>,
    /// How many earlier ones were taken already.
    functions_before: usize,
    positions_before: usize,
    /// By the start of a module's code and an index.
    function_numbers: HashMap<(usize, u32), FunctionId>,
    /// The function that stands for those left out.
    left_out: Option<FunctionId>,
    position_numbers: HashMap<(usize, u32), PositionId>,
}

impl Names {
    /// The function of a reference, unless it is a host function.
    fn function_of(&mut self, store: &Store, function: &FuncRef) -> Option<FunctionId> {
        let frame = store.frame_of_function(function)?;
        Some(self.function(frame.module(), frame.function_index()))
    }

    fn function(&mut self, module: &Arc<LoadedModule>, index: u32) -> FunctionId {
        let key = (module.code.start(), index);
        if let Some(id) = self.function_numbers.get(&key) {
            return *id;
        }
        let name = module.info.function_name(index).map(str::to_string);
        let id = self.add_function(Function {
            module: module.info.name.clone().unwrap_or_default(),
            name: name.unwrap_or_else(|| index.to_string()),
        });
        self.function_numbers.insert(key, id);
        id
    }

    fn left_out(&mut self) -> FunctionId {
        if let Some(id) = self.left_out {
            return id;
        }
        let function = Function { module: String::new(), name: LEFT_OUT.to_string() };
        let id = self.add_function(function);
        *self.left_out.insert(id)
    }

    fn add_function(&mut self, function: Function) -> FunctionId {
        self.functions.push(function);
        FunctionId((self.functions_before + self.functions.len() - 1) as u32)
    }

    fn position(&mut self, module: &Arc<LoadedModule>, offset: u32) -> PositionId {
        let (positions, before) = (&mut self.positions, self.positions_before);
        *self.position_numbers.entry((module.code.start(), offset)).or_insert_with(|| {
            positions.push(position(module, offset));
            PositionId((before + positions.len() - 1) as u32)
        })
    }

    fn take_new(&mut self) -> (Vec<Function>, Vec<Position>) {
        self.functions_before += self.functions.len();
        self.positions_before += self.positions.len();
        (std::mem::take(&mut self.functions), std::mem::take(&mut self.positions))
    }
}

fn position(module: &LoadedModule, offset: u32) -> Position {
    let source = module.source.as_ref();
    let places = source.map(|source| source.places(offset)).unwrap_or_default();
    let Some(place) = places.first() else {
        return Position { offset, ..Position::default() };
    };
    let text = source.and_then(|source| source.text()?.lines().nth(place.line().checked_sub(1)?));
    Position {
        file: place.file().unwrap_or_default().to_string(),
        line: place.line() as u32,
        column: place.column().unwrap_or(0) as u32,
        offset,
        source: text.unwrap_or_default().trim_end().chars().take(LINE).collect(),
    }
}

/// The import names of host functions, by their contexts.
fn imported_names(store: &Store) -> HashMap<usize, Function> {
    let mut names = HashMap::new();
    for instance in store.objects.instances() {
        for import in &instance.module().info.imports {
            let Item::Func(index) = import.item else { continue };
            let FuncImport { context, .. } = instance.function_import(index);
            let (module, name) = (import.module.clone(), import.name.clone());
            names.entry(context as usize).or_insert(Function { module, name });
        }
    }
    names
}
