//! Recording events.

use super::event::{EventKind, MAX_VALUES, NONE, RawEvent, Shown};
use super::{Listener, Recorder};
use crate::stack::TopFrame;
use crate::stack::stack_events::StackEvent;
use crate::store::Store;
use ropewalk_abi::builtin::SUSPEND;
use ropewalk_abi::stack::{EVERY_TAG, Purpose, tag_of_handler};
use ropewalk_abi::trace::{TracedClass, traced_class, traced_count, traced_word};
use ropewalk_abi::{ControlBlock, HostContext, StoreContext, TagDef, TypeInfo, clauses};
use std::ptr;
use std::time::Instant;

/// Which types of a function the values have.
enum Values {
    Params,
    Results,
}

impl Store {
    pub(crate) fn begin_trace(&mut self) {
        self.observers.recorder.set(Some(Box::<Recorder>::default()));
    }

    /// Whether events are recorded.
    pub fn is_traced(&self) -> bool {
        !self.observers.recorder.is_empty()
    }

    /// Sets how many events are kept.
    pub fn set_trace_limit(&mut self, events: usize) {
        if let Some(recorder) = self.observers.recorder.get_mut::<Recorder>() {
            recorder.limit = events;
        }
    }

    /// Sets the listener that is called with each event.
    pub fn set_listener(&mut self, listener: Option<Listener>) {
        if let Some(recorder) = self.observers.recorder.get_mut::<Recorder>() {
            recorder.listener = listener;
        }
    }

    /// Takes the events since the last call, if events are recorded.
    pub fn take_trace(&mut self) -> Option<super::Trace> {
        self.record_pending_notes()?;
        let mut recorder = self.observers.recorder.take::<Recorder>()?;
        let trace = recorder.take(self);
        self.observers.recorder.set(Some(recorder));
        Some(trace)
    }

    /// Records the notes of the table of stacks. None if events are not recorded.
    pub(super) fn record_pending_notes(&mut self) -> Option<()> {
        self.record(|_, _| None)
    }

    /// Records an event, if one is made, after the notes. None if events are not recorded.
    fn record(
        &mut self,
        event: impl FnOnce(&mut Recorder, &Store) -> Option<RawEvent>,
    ) -> Option<()> {
        self.record_at(None, event)
    }

    /// As [`record`](Self::record), when the running stack may have been left at a fault.
    fn record_at(
        &mut self,
        fault: Option<&TopFrame>,
        event: impl FnOnce(&mut Recorder, &Store) -> Option<RawEvent>,
    ) -> Option<()> {
        let mut recorder = self.observers.recorder.take::<Recorder>()?;
        if !self.stacks.events.is_empty() {
            self.record_notes(&mut recorder, fault);
        }
        if let Some(raw) = event(&mut recorder, self) {
            self.keep(&mut recorder, raw, fault);
        }
        self.observers.recorder.set(Some(recorder));
        Some(())
    }

    /// Keeps an event, and calls the listener, whose panic resumes at the next call of the runtime.
    fn keep(&mut self, recorder: &mut Recorder, raw: RawEvent, fault: Option<&TopFrame>) {
        recorder.push(raw);
        if recorder.stream.as_ref().is_some_and(|stream| stream.is_due(&raw)) {
            recorder.hand_over(self);
        }
        if recorder.breakpoint.is_some() {
            self.count_down(recorder, &raw, fault);
        }
        if let Some(mut listener) = recorder.listener.take() {
            let event = recorder.event(&raw);
            match listener.call(|listener| listener(&event)) {
                Ok(()) => recorder.listener = Some(listener),
                Err(panic) => {
                    self.embedder.keep(panic);
                    self.embedder.drop_value(listener);
                }
            }
        }
    }

    fn record_notes(&mut self, recorder: &mut Recorder, fault: Option<&TopFrame>) {
        for note in self.stacks.events.take() {
            if let Some(raw) = self.note(recorder, note) {
                self.keep(recorder, raw, fault);
            }
        }
    }

    fn note(&self, recorder: &mut Recorder, note: StackEvent) -> Option<RawEvent> {
        let (number, kind, value) = match note {
            StackEvent::Freed(number) => {
                // A switch that is recorded next frees the running stack.
                if ptr::eq(self.stacks.block(number), self.context().stack) {
                    return None;
                }
                let id = recorder.end_stack(number)?;
                return Some(recorder.raw(id, None, EventKind::Drop));
            }
            StackEvent::Renewed { from, to } => {
                let id = recorder.end_stack(from);
                if recorder.ids.len() <= to {
                    recorder.ids.resize(to + 1, None);
                }
                recorder.ids[to] = id;
                return None;
            }
            StackEvent::Parked(number) => (number, EventKind::Park, 0),
            StackEvent::Unparked(number) => (number, EventKind::Unpark, 0),
            StackEvent::Grown(number, bytes) => (number, EventKind::Grow, bytes as u64),
        };
        // SAFETY: blocks of the table are always initialized.
        let id = recorder.id(number, unsafe { &*self.stacks.block(number) });
        let raw = recorder.raw(id, None, kind);
        Some(RawEvent { values: [value, 0, 0], ..raw })
    }

    // ---- events

    /// Records that a stack was made.
    pub(crate) fn trace_create(&mut self, block: *mut ControlBlock) {
        self.record(|recorder, store| {
            let raw = recorder.here(store, EventKind::Create);
            let number = store.stacks.number_of(block)?;
            // SAFETY: the stack was just made.
            let created = recorder.begin_stack(number, unsafe { &*block });
            Some(RawEvent { other: created, ..raw })
        });
    }

    /// Records copies of stacks: pairs of origin and copy, innermost first.
    pub(crate) fn trace_clone(&mut self, pairs: &[(*mut ControlBlock, *mut ControlBlock)]) {
        let mut outermost = NONE;
        let mut parent = NONE;
        for &(origin, copy) in pairs.iter().rev() {
            self.record(|recorder, store| {
                let raw = recorder.here(store, EventKind::Clone);
                let origin = recorder.id_of(store, origin);
                let number = store.stacks.number_of(copy)?;
                // SAFETY: the stack was just made.
                let created = recorder.begin_stack(number, unsafe { &*copy });
                recorder.stacks[created as usize].parent = (parent != NONE).then_some(parent);
                if outermost == NONE {
                    outermost = created;
                }
                let values = [origin.into(), parent.into(), 0];
                parent = created;
                Some(RawEvent { other: created, outermost, values, ..raw })
            });
        }
    }

    /// Records a switch to another stack. The word gives the classes of the values.
    pub(crate) fn trace_switch(&mut self, to: *mut ControlBlock, word: u64, tag: *const TagDef) {
        self.record(|recorder, store| {
            let raw = recorder.here(store, EventKind::Switch);
            let tag = recorder.tag(tag);
            let raw = RawEvent { tag, ..raw.with_values(store, word) };
            // SAFETY: both are alive, or the first was just freed.
            Some(unsafe { recorder.switch(store, raw, store.context().stack, to) })
        });
    }

    /// Records a switch that ends the running stack, which the runtime is about to free.
    pub(crate) fn trace_last_switch(&mut self, to: *mut ControlBlock, tag: *const TagDef) {
        self.record(|recorder, store| {
            let raw = recorder.here(store, EventKind::Retire);
            let tag = recorder.tag(tag);
            let from = store.context().stack;
            // SAFETY: running stacks are alive. A root is not freed.
            if unsafe { (*from).purpose } != Purpose::Root {
                recorder.end_stack(store.stacks.number_of(from)?);
            }
            Some(RawEvent { tag, other: recorder.id_of(store, to), ..raw })
        });
    }

    /// Records that a stack has no clause for an event.
    pub(crate) fn trace_refuse(&mut self, by: *mut ControlBlock, tag: *const TagDef) {
        self.record(|recorder, store| {
            let raw = recorder.here(store, EventKind::Refuse);
            Some(RawEvent { tag: recorder.tag(tag), other: recorder.id_of(store, by), ..raw })
        });
    }

    /// Records that a host function leaves the stack of its caller, perhaps with a tag and its
    /// values.
    pub(crate) fn trace_leave_call(&mut self, to: *mut ControlBlock, tag: *const TagDef) {
        if self.is_traced() {
            self.trace_host_return();
            // SAFETY: tags live as long as the store.
            let ty = unsafe { tag.as_ref() }.map(|tag| tag.ty);
            let word = ty.map_or(0, |ty| self.traced_word(ty, Values::Params));
            self.trace_switch(to, word, tag);
        }
    }

    /// Records an exception that leaves the running stack up to `until`, or the activation.
    pub(crate) fn trace_throw(&mut self, until: *mut ControlBlock, tag: *const TagDef) {
        let mut stack = self.context().stack;
        while stack != until {
            // SAFETY: running stacks and their parents are alive.
            let parent = unsafe { (*stack).parent };
            let is_last = until.is_null();
            self.record(|recorder, store| {
                let tag = recorder.tag(tag);
                // SAFETY: the blocks of waiting stacks say where they were left.
                let raw = unsafe { recorder.at(store, stack, EventKind::Throw) };
                let other = if is_last { NONE } else { recorder.id_of(store, parent) };
                if !is_last {
                    recorder.end_stack(store.stacks.number_of(stack)?);
                }
                Some(RawEvent { tag, other, ..raw })
            });
            if is_last {
                return;
            }
            stack = parent;
        }
    }

    /// Records that an activation failed.
    pub(crate) fn trace_trap(&mut self, message: &str, fault: Option<&TopFrame>) {
        self.record_at(fault, |recorder, store| {
            let raw = match fault {
                None => recorder.here(store, EventKind::Trap),
                Some(left) => {
                    // SAFETY: the running stack was left there.
                    let frames = unsafe { recorder.frames.of(store, &after(left)) };
                    let id = recorder.id_of(store, store.context().stack);
                    recorder.raw(id, frames, EventKind::Trap)
                }
            };
            recorder.messages.push(message.to_string());
            Some(RawEvent { other: recorder.messages.len() as u32 - 1, ..raw })
        });
    }

    /// Records that an activation begins on a root.
    #[cold]
    pub(crate) fn trace_enter(&mut self, root: *mut ControlBlock) {
        self.record(|recorder, store| {
            let id = recorder.id_of(store, root);
            recorder.entered.push(id);
            Some(recorder.raw(id, None, EventKind::Enter))
        });
    }

    /// Records that the newest activation has ended or is pending.
    pub(crate) fn trace_leave(&mut self) {
        self.record(|recorder, _| {
            let id = recorder.entered.pop()?;
            Some(recorder.raw(id, None, EventKind::Leave))
        });
    }

    /// Records a collection.
    pub(crate) fn trace_collect(&mut self, begun: Instant) {
        let freed = |note: &&StackEvent| matches!(note, StackEvent::Freed(_));
        let freed = self.stacks.events.iter().filter(freed).count();
        self.record(|recorder, store| {
            let raw = recorder.here(store, EventKind::Collect);
            let nanoseconds = begun.elapsed().as_nanos() as u64;
            Some(RawEvent { values: [nanoseconds, freed as u64, 0], ..raw })
        });
    }

    /// Records a return to the parent with a signal; the values are in the transfer area.
    fn trace_return(&mut self, signal: u64) {
        let from = self.context().stack;
        // SAFETY: the running stack and its parent are alive, and the parent's clauses are set.
        // Functions live as long as their store.
        let (to, tag, word) = unsafe {
            let to = (*from).parent;
            match (signal.checked_sub(1), (*from).function.as_ref()) {
                (Some(number), _) => {
                    let word = clauses::all((*to).handlers).nth(number as usize);
                    let tag = word.filter(|word| *word != EVERY_TAG).map(tag_of_handler);
                    let tag = tag.map_or(ptr::null(), |tag| tag as *const TagDef);
                    let ty = tag.as_ref().map(|tag| tag.ty);
                    (to, tag, ty.map_or(0, |ty| self.traced_word(ty, Values::Params)))
                }
                (None, Some(function)) => {
                    (to, ptr::null(), self.traced_word(function.ty, Values::Results))
                }
                (None, None) => (to, ptr::null(), 0),
            }
        };
        self.record(|recorder, store| {
            let raw = recorder.here(store, EventKind::Return);
            let tag = recorder.tag(tag);
            recorder.end_stack(store.stacks.number_of(from)?);
            let other = recorder.id_of(store, to);
            Some(RawEvent { tag, other, frames: NONE, ..raw.with_values(store, word) })
        });
    }

    fn trace_host_call(&mut self, context: *const HostContext) {
        self.record(|recorder, store| {
            let raw = recorder.here(store, EventKind::HostCall);
            Some(RawEvent { other: recorder.host_function(context as usize), ..raw })
        });
    }

    /// Records that the running host function returns.
    pub(crate) fn trace_host_return(&mut self) {
        self.record(|recorder, store| Some(recorder.here(store, EventKind::HostReturn)));
    }

    /// The word with the classes of a function type's values.
    fn traced_word(&self, ty: *const TypeInfo, values: Values) -> u64 {
        let types = &self.options.types;
        // SAFETY: types live as long as the engine.
        let ty = types.get(unsafe { (*ty).id });
        let Some(ty) = ty.ty().composite.as_func() else { return 0 };
        let values = match values {
            Values::Params => ty.params(),
            Values::Results => ty.results(),
        };
        traced_word(values, |number| types.kind(number))
    }
}

/// A fault, as if it were a call.
fn after(left: &TopFrame) -> TopFrame {
    TopFrame { pc: left.pc + 1, ..left.clone() }
}

impl Recorder {
    fn raw(&self, stack: u32, frames: Option<u32>, kind: EventKind) -> RawEvent {
        RawEvent {
            time: self.now(),
            values: [0; MAX_VALUES],
            stack,
            other: NONE,
            outermost: NONE,
            frames: frames.unwrap_or(NONE),
            tag: NONE,
            kind,
            count: 0,
            shown: [Shown::Null; MAX_VALUES],
        }
    }

    /// An event on the running stack, which is in a call of the host.
    fn here(&mut self, store: &Store, kind: EventKind) -> RawEvent {
        let running = store.context().stack;
        match running.is_null() {
            true => {
                let host = self.host();
                self.raw(host, None, kind)
            }
            // SAFETY: the stack is alive, and its block says where it was left.
            false => unsafe { self.at(store, running, kind) },
        }
    }

    /// An event on a stack.
    ///
    /// # Safety
    ///
    /// The stack's block must say where it was left.
    unsafe fn at(&mut self, store: &Store, stack: *mut ControlBlock, kind: EventKind) -> RawEvent {
        let id = self.id_of(store, stack);
        // SAFETY: the caller's promise.
        let frames = unsafe {
            let left = TopFrame::in_host_call(&*stack);
            self.frames.of(store, &left)
        };
        self.raw(id, frames, kind)
    }

    fn id_of(&mut self, store: &Store, stack: *mut ControlBlock) -> u32 {
        match store.stacks.number_of(stack) {
            // SAFETY: blocks of the table are always initialized.
            Some(number) => self.id(number, unsafe { &*stack }),
            None => self.host(),
        }
    }

    /// Completes the event of a switch: finds its kind.
    ///
    /// # Safety
    ///
    /// `to` must be about to run. `from` must have run, and may have been freed since.
    unsafe fn switch(
        &mut self,
        store: &Store,
        raw: RawEvent,
        from: *mut ControlBlock,
        to: *mut ControlBlock,
    ) -> RawEvent {
        let other = self.id_of(store, to);
        // SAFETY: the caller's promise.
        unsafe {
            if (*from).purpose == Purpose::Free {
                store.stacks.number_of(from).and_then(|number| self.end_stack(number));
                return RawEvent { kind: EventKind::Retire, other, ..raw };
            }
            let running: Vec<*mut ControlBlock> = chain(store, to).collect();
            // Up to the stack that `from` resumed.
            if let Some(place) = running[1..].iter().position(|stack| *stack == from) {
                let outermost = self.id_of(store, running[place]);
                self.stacks[outermost as usize].parent = Some(raw.stack);
                return RawEvent { kind: EventKind::Resume, other, ..raw };
            }
            let base = *running.last().expect("at least the stack itself");
            if (*base).extender == from {
                let extended = self.id_of(store, base);
                self.stacks[extended as usize].parent = Some(raw.stack);
                return RawEvent { kind: EventKind::Resume, other, ..raw };
            }
            let is_last = |stack: &*mut ControlBlock| {
                let parent = (**stack).parent;
                parent.is_null() || parent == store.running.no_parent() || running.contains(&parent)
            };
            let outermost = chain(store, from).find(is_last).unwrap_or(from);
            let outermost_id = self.id_of(store, outermost);
            let parent = self.stacks[outermost_id as usize].parent.take();
            let kind = match (*outermost).parent == to || parent == Some(other) {
                true => EventKind::Suspend,
                false => EventKind::Switch,
            };
            if kind == EventKind::Switch {
                let meets = |stack: &&*mut ControlBlock| (***stack).parent == (*outermost).parent;
                let first = running.iter().find(meets).unwrap_or(&base);
                let first = self.id_of(store, *first);
                self.stacks[first as usize].parent = parent;
            }
            RawEvent { kind, other, outermost: outermost_id, ..raw }
        }
    }
}

/// A stack and its parents.
///
/// # Safety
///
/// They must be alive.
unsafe fn chain(
    store: &Store,
    stack: *mut ControlBlock,
) -> impl Iterator<Item = *mut ControlBlock> {
    let no_parent = store.running.no_parent();
    std::iter::successors(Some(stack), move |stack| {
        // SAFETY: the caller's promise.
        let parent = unsafe { (**stack).parent };
        (!parent.is_null() && parent != no_parent).then_some(parent)
    })
}

impl RawEvent {
    /// Adds the first values of the transfer area, whose classes are in a word.
    fn with_values(self, store: &Store, word: u64) -> RawEvent {
        let mut raw = RawEvent { count: traced_count(word) as u8, ..self };
        for number in 0..MAX_VALUES {
            let Some(class) = traced_class(word, number) else { break };
            let value = store.transferred(number);
            raw.values[number] = match class {
                TracedClass::I32 | TracedClass::F32 => value.u32().into(),
                TracedClass::V128 => 0,
                _ => value.u64(),
            };
            raw.shown[number] = Shown::of(class, raw.values[number]);
        }
        raw
    }
}

// ---- called by stubs

/// The running stack returns to its parent.
pub(crate) unsafe extern "C" fn finished(context: *mut StoreContext, signal: u64) {
    // SAFETY: generated code holds no reference to the store.
    unsafe { Store::from_context(context) }.trace_return(signal);
}

pub(crate) unsafe extern "C" fn host_called(
    context: *mut StoreContext,
    function: *const HostContext,
) {
    // SAFETY: generated code holds no reference to the store.
    let store = unsafe { Store::from_context(context) };
    store.move_running();
    store.trace_host_call(function);
}

pub(crate) unsafe extern "C" fn host_returned(context: *mut StoreContext, ended: u64) {
    // A call that was left has not returned, or its return was recorded.
    if ended != SUSPEND {
        // SAFETY: generated code holds no reference to the store, and the host has released it.
        unsafe { Store::from_context(context) }.trace_host_return();
    }
}
