//! A [`Trace`] is made of what was recorded: numbers get names and places.

use super::Recorder;
use super::event::{Kind, NONE, Raw};
use crate::code::LoadedModule;
use crate::store::Store;
use ropewalk_abi::module::Item;
use ropewalk_abi::stack::Purpose;
use ropewalk_abi::{FuncImport, FuncRef};
use ropewalk_trace::{
    Design, Event, Frame, FramesId, Function, FunctionId, Position, PositionId, Stack, StackId,
    Tag, TagId, Trace, What,
};
use std::collections::HashMap;
use std::sync::Arc;

/// How long a line of the source is kept.
const LINE: usize = 200;

impl Recorder {
    /// What was recorded since the last time. Stacks, tags and frames keep their numbers.
    pub(super) fn take(&mut self, store: &Store) -> Trace {
        let events = std::mem::take(&mut self.events);
        let mut tables = Tables::new(store, &self.host_functions);
        let stacks = self.stacks.iter().map(|stack| Stack {
            design: design(stack.purpose),
            // SAFETY: functions live as long as their store.
            function: unsafe { stack.function.as_ref() }.and_then(|f| tables.function_of(f)),
        });
        let stacks = stacks.collect();
        let frames = self.frames.nodes.iter().map(|node| {
            let module = store.module_at(node.code).map(|(module, _)| module.clone());
            let module = module.expect("modules stay as long as their store");
            Frame {
                caller: node.caller.map(FramesId),
                function: tables.function(&module, node.function),
                position: node.position.map(|offset| tables.position(&module, offset)),
            }
        });
        let frames = frames.collect();
        let tags = self.tags.iter().map(|tag| Tag { name: store.tag_name(*tag as usize) });
        Trace {
            name: String::new(),
            stacks,
            frames,
            tags: tags.collect(),
            events: events.iter().map(|raw| self.event(raw)).collect(),
            dropped: std::mem::take(&mut self.dropped),
            functions: tables.functions,
            positions: tables.positions,
        }
    }

    /// An event, as others see it.
    pub(super) fn event(&self, raw: &Raw) -> Event {
        let other = StackId(raw.other);
        let outermost = StackId(raw.outermost);
        let tag = (raw.tag != NONE).then_some(TagId(raw.tag));
        let what = match raw.kind {
            Kind::Enter => What::Enter,
            Kind::Leave => What::Leave,
            Kind::Create => What::Create { created: other },
            Kind::Resume => What::Resume { target: other, values: raw.text() },
            Kind::Suspend => What::Suspend { to: other, outermost, tag, values: raw.text() },
            Kind::Switch => What::Switch { target: other, outermost, tag, values: raw.text() },
            Kind::Return => What::Return { to: other, values: raw.text() },
            Kind::Throw => What::Throw { to: (raw.other != NONE).then_some(other), tag },
            Kind::Trap => What::Trap { message: self.messages[raw.other as usize].clone() },
            Kind::Drop => What::Drop,
            Kind::Collect => {
                What::Collect { nanoseconds: raw.values[0], stacks_freed: raw.values[1] }
            }
            Kind::Grow => What::Grow { bytes: raw.values[0] },
            Kind::Park => What::Park,
            Kind::Unpark => What::Unpark,
            // Functions of the host come first.
            Kind::HostCall => What::HostCall { function: FunctionId(raw.other) },
            Kind::HostReturn => What::HostReturn,
        };
        let frames = (raw.frames != NONE).then_some(FramesId(raw.frames));
        Event { time: raw.time, stack: StackId(raw.stack), frames, what }
    }
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

/// Names and places, each once.
struct Tables<'a> {
    store: &'a Store,
    functions: Vec<Function>,
    positions: Vec<Position>,
    /// By where the code of a module begins, and the index there.
    function_numbers: HashMap<(usize, u32), FunctionId>,
    position_numbers: HashMap<(usize, u32), PositionId>,
}

impl<'a> Tables<'a> {
    fn new(store: &'a Store, host_functions: &[usize]) -> Tables<'a> {
        let names = imported_names(store);
        let function = |context: &usize| {
            let unknown = Function { module: "host".to_string(), name: "?".to_string() };
            names.get(context).cloned().unwrap_or(unknown)
        };
        Tables {
            store,
            functions: host_functions.iter().map(function).collect(),
            positions: Vec::new(),
            function_numbers: HashMap::new(),
            position_numbers: HashMap::new(),
        }
    }

    /// The function that a reference refers to, unless it is one of the host.
    fn function_of(&mut self, function: &FuncRef) -> Option<FunctionId> {
        let frame = self.store.frame_of_function(function)?;
        Some(self.function(frame.module(), frame.function_index()))
    }

    fn function(&mut self, module: &Arc<LoadedModule>, index: u32) -> FunctionId {
        let functions = &mut self.functions;
        *self.function_numbers.entry((module.code.start(), index)).or_insert_with(|| {
            let name = module.info.function_name(index).map(str::to_string);
            functions.push(Function {
                module: module.info.name.clone().unwrap_or_default(),
                name: name.unwrap_or_else(|| index.to_string()),
            });
            FunctionId(functions.len() as u32 - 1)
        })
    }

    fn position(&mut self, module: &Arc<LoadedModule>, offset: u32) -> PositionId {
        let positions = &mut self.positions;
        *self.position_numbers.entry((module.code.start(), offset)).or_insert_with(|| {
            positions.push(position(module, offset));
            PositionId(positions.len() as u32 - 1)
        })
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

/// As what functions of the host are imported, by their contexts.
fn imported_names(store: &Store) -> HashMap<usize, Function> {
    let mut names = HashMap::new();
    for instance in store.instances() {
        for import in &instance.module().info.imports {
            let Item::Func(index) = import.item else { continue };
            let FuncImport { context, .. } = instance.function_import(index);
            let (module, name) = (import.module.clone(), import.name.clone());
            names.entry(context as usize).or_insert(Function { module, name });
        }
    }
    names
}
