//! What generated code calls, on the host's stack.
//!
//! Each function returns an [`Outcome`]: continue, perhaps with a value, or end
//! the activation with the trap that it has noted in the store.

use crate::run::lifecycle;
use crate::run::waiting_builtin::BuiltinCall;
use crate::stack::Park;
use crate::stack::mark::MarkKind;
use crate::store::Store;
use crate::store::objects::Objects;
use crate::store::running::Ending;
use crate::vm::instance::Instance;
use crate::vm::instance::range;
use arrays::*;
use ropewalk_abi::builtin::{BuiltinPointer, END, LEAVE_FREED, Outcome};
use ropewalk_abi::stack::{KIND_SHIFT, StackKind};
use ropewalk_abi::{Builtin, ControlBlock, FuncRef, InstanceHeader, TagDef, TrapCode, TypeInfo};

mod arrays;
mod entry_points;
mod pieces;

pub use entry_points::new_store;

type Result<T> = std::result::Result<T, TrapCode>;

/// The instance that called, and the store it lives in.
struct Calling<'a> {
    store: &'a mut Store,
    instance: usize,
}

impl Calling<'_> {
    fn instance(&mut self) -> &mut Instance {
        &mut self.store.objects.instances[self.instance]
    }

    fn memory_index(&self, memory: u64) -> usize {
        self.store.objects.instances[self.instance].memories[memory as usize]
    }

    fn table_index(&self, table: u64) -> usize {
        self.store.objects.instances[self.instance].tables[table as usize]
    }
}

/// Defines the functions of the table: each finds the instance and the store,
/// and runs the function of that name below.
macro_rules! define {
    ($($name:ident($($param:ident),*);)*) => {
        mod entry {
            use super::*;
            $(
                pub(super) unsafe extern "C" fn $name(
                    header: *mut InstanceHeader,
                    $($param: u64),*
                ) -> Outcome {
                    // SAFETY: generated code passes its instance, and holds no
                    // reference to the store.
                    let (store, instance) = unsafe {
                        (Store::from_context((*header).store), (*header).index)
                    };
                    if Builtin::$name.can_wait() {
                        store.begin_asking();
                    }
                    let calling = &mut Calling { store, instance };
                    let result = super::$name(calling, $($param),*);
                    if Builtin::$name.can_wait() {
                        let call = BuiltinCall::new(Builtin::$name, header, &[$($param),*]);
                        if let Some(left) = store.end_asking(call, result.has_failed()) {
                            return left;
                        }
                    }
                    result.conclude(store, Builtin::$name)
                }
            )*
        }

        /// Calls a builtin again that could not go on, with the operands that it had.
        ///
        /// # Safety
        ///
        /// Generated code must have called it with them, and hold no reference to the store.
        pub(crate) unsafe fn call_again(
            builtin: Builtin,
            instance: *mut InstanceHeader,
            words: [u64; 4],
        ) -> Outcome {
            let mut words = words.into_iter();
            let mut word = || words.next().expect("builtins take four words at most");
            match builtin {
                $(Builtin::$name => {
                    $(let $param = word();)*
                    // SAFETY: the caller's promise.
                    unsafe { entry::$name(instance, $($param),*) }
                })*
            }
        }

        /// The same, with a check of all stacks after each.
        mod checked {
            use super::*;
            $(
                pub(super) unsafe extern "C" fn $name(
                    instance: *mut InstanceHeader,
                    $($param: u64),*
                ) -> Outcome {
                    // SAFETY: generated code passes its instance, and holds no
                    // reference to the store.
                    let (outcome, store) = unsafe {
                        let outcome = entry::$name(instance, $($param),*);
                        (outcome, Store::from_context((*instance).store))
                    };
                    match Builtin::$name.is_half_way() {
                        true => outcome,
                        false => store.check_after(outcome, Builtin::$name.ends_beginning()),
                    }
                }
            )*
        }

        /// The functions with checks.
        pub(crate) static CHECKED_TABLE: Table = Table([$(checked::$name as *const ()),*]);

        /// The functions, in the order of [`Builtin::ALL`].
        pub(crate) static TABLE: Table = Table([$(entry::$name as *const ()),*]);
    };
}

/// What the functions below return.
trait Conclude {
    /// Whether the activation ends.
    fn has_failed(&self) -> bool;

    fn conclude(self, store: &mut Store, builtin: Builtin) -> Outcome;
}

impl Conclude for Result<u64> {
    fn has_failed(&self) -> bool {
        self.is_err()
    }

    fn conclude(self, store: &mut Store, builtin: Builtin) -> Outcome {
        self.map_err(Ending::Trap).conclude(store, builtin)
    }
}

impl Conclude for std::result::Result<u64, Ending> {
    fn has_failed(&self) -> bool {
        self.is_err()
    }

    fn conclude(self, store: &mut Store, builtin: Builtin) -> Outcome {
        // While links are half changed, nothing ends that need not: the panic of a
        // value that was dropped waits for the next builtin.
        let panic = match builtin.is_half_way() {
            true => None,
            false => store.embedder.take_panic(),
        };
        if let Some(panic) = panic {
            store.set_ending(Ending::Panic(panic));
            return Outcome::END;
        }
        match self {
            Ok(value) => Outcome::returned(value),
            Err(ending) => {
                store.set_ending(ending);
                Outcome::END
            }
        }
    }
}

impl Conclude for Outcome {
    fn has_failed(&self) -> bool {
        self.ended == END
    }

    fn conclude(self, _: &mut Store, _: Builtin) -> Outcome {
        self
    }
}

/// The table that stores point to.
pub(crate) struct Table([BuiltinPointer; Builtin::COUNT]);

// SAFETY: pointers to code.
unsafe impl Sync for Table {}

impl Table {
    pub fn as_ptr(&self) -> *const BuiltinPointer {
        self.0.as_ptr()
    }
}

ropewalk_abi::for_each_builtin!(define);

/// What -1 means as the result of `memory.grow` and `table.grow`.
const FAILED: u64 = u64::MAX;

fn memory_grow(
    calling: &mut Calling<'_>,
    memory: u64,
    pages: u64,
) -> std::result::Result<u64, Ending> {
    let memory = calling.memory_index(memory);
    let grown = calling.store.grow_memory(memory, pages).map_err(Ending::Error)?;
    Ok(grown.unwrap_or(FAILED))
}

fn memory_copy(
    calling: &mut Calling<'_>,
    memories: u64,
    to: u64,
    from: u64,
    len: u64,
) -> Result<u64> {
    let (to_index, from_index) = unpair(memories);
    let (to_memory, from_memory) =
        (calling.memory_index(to_index), calling.memory_index(from_index));
    let Store { objects: Objects { memories, .. }, budget, .. } = &mut *calling.store;
    let interrupts = &budget.interrupts;
    let out = TrapCode::MemoryOutOfBounds;
    let from = range(from, len, memories[from_memory].data().len()).ok_or(out)?;
    let to = range(to, len, memories[to_memory].data().len()).ok_or(out)?;
    if to_memory == from_memory {
        pieces::copy_within(interrupts, memories[to_memory].data_mut(), from, to.start)?;
        return Ok(0);
    }
    let [to_memory, from_memory] = memories
        .get_disjoint_mut([to_memory, from_memory])
        .expect("different memories of the store");
    pieces::copy(interrupts, &mut to_memory.data_mut()[to], &from_memory.data()[from])?;
    Ok(0)
}

fn memory_fill(
    calling: &mut Calling<'_>,
    memory: u64,
    to: u64,
    byte: u64,
    len: u64,
) -> Result<u64> {
    let memory = calling.memory_index(memory);
    let Store { objects: Objects { memories, .. }, budget, .. } = &mut *calling.store;
    let interrupts = &budget.interrupts;
    let data = memories[memory].data_mut();
    let to = range(to, len, data.len()).ok_or(TrapCode::MemoryOutOfBounds)?;
    pieces::fill(interrupts, &mut data[to], byte as u8)?;
    Ok(0)
}

fn memory_init(
    calling: &mut Calling<'_>,
    memory_and_segment: u64,
    to: u64,
    from: u64,
    len: u64,
) -> Result<u64> {
    let (memory, segment) = unpair(memory_and_segment);
    let memory = calling.memory_index(memory);
    let Store { objects: Objects { memories, instances, .. }, budget, .. } = &mut *calling.store;
    let interrupts = &budget.interrupts;
    let segment = instances[calling.instance].data_segment(segment as usize);
    let data = memories[memory].data_mut();
    let out = TrapCode::MemoryOutOfBounds;
    let from = range(from, len, segment.len()).ok_or(out)?;
    let to = range(to, len, data.len()).ok_or(out)?;
    pieces::copy(interrupts, &mut data[to], &segment[from])?;
    Ok(0)
}

fn data_drop(calling: &mut Calling<'_>, segment: u64) -> Result<u64> {
    calling.instance().drop_data(segment as usize);
    Ok(0)
}

fn table_grow(
    calling: &mut Calling<'_>,
    table: u64,
    init: u64,
    delta: u64,
) -> std::result::Result<u64, Ending> {
    let table = calling.table_index(table);
    let grown = calling.store.grow_table(table, delta, init).map_err(Ending::Error)?;
    Ok(grown.unwrap_or(FAILED))
}

fn table_copy(calling: &mut Calling<'_>, tables: u64, to: u64, from: u64, len: u64) -> Result<u64> {
    let (to_index, from_index) = unpair(tables);
    let (to_table, from_table) = (calling.table_index(to_index), calling.table_index(from_index));
    let Store { objects: Objects { tables, .. }, budget, .. } = &mut *calling.store;
    let interrupts = &budget.interrupts;
    let out = TrapCode::TableOutOfBounds;
    let from = range(from, len, tables[from_table].elements().len()).ok_or(out)?;
    let to = range(to, len, tables[to_table].elements().len()).ok_or(out)?;
    if to_table == from_table {
        pieces::copy_within(interrupts, tables[to_table].elements_mut(), from, to.start)?;
        return Ok(0);
    }
    let [to_table, from_table] =
        tables.get_disjoint_mut([to_table, from_table]).expect("different tables of the store");
    pieces::copy(interrupts, &mut to_table.elements_mut()[to], &from_table.elements()[from])?;
    Ok(0)
}

fn table_fill(calling: &mut Calling<'_>, table: u64, to: u64, value: u64, len: u64) -> Result<u64> {
    let table = calling.table_index(table);
    let Store { objects: Objects { tables, .. }, budget, .. } = &mut *calling.store;
    let interrupts = &budget.interrupts;
    let elements = tables[table].elements_mut();
    let to = range(to, len, elements.len()).ok_or(TrapCode::TableOutOfBounds)?;
    pieces::fill(interrupts, &mut elements[to], value)?;
    Ok(0)
}

fn table_init(
    calling: &mut Calling<'_>,
    table_and_segment: u64,
    to: u64,
    from: u64,
    len: u64,
) -> Result<u64> {
    let (table, segment) = unpair(table_and_segment);
    let table = calling.table_index(table);
    let Store { objects: Objects { tables, instances, .. }, budget, .. } = &mut *calling.store;
    let interrupts = &budget.interrupts;
    let segment = &instances[calling.instance].elements[segment as usize];
    let elements = tables[table].elements_mut();
    let out = TrapCode::TableOutOfBounds;
    let from = range(from, len, segment.len()).ok_or(out)?;
    let to = range(to, len, elements.len()).ok_or(out)?;
    pieces::copy(interrupts, &mut elements[to], &segment[from])?;
    Ok(0)
}

fn elem_drop(calling: &mut Calling<'_>, segment: u64) -> Result<u64> {
    calling.instance().elements[segment as usize] = Vec::new();
    Ok(0)
}

fn throw(calling: &mut Calling<'_>, exception: u64) -> Outcome {
    calling.store.throw(exception)
}

fn new_stack(calling: &mut Calling<'_>) -> Result<u64> {
    Ok(calling.store.new_stack()? as u64)
}

fn invalid_stack(_: &mut Calling<'_>, reference: u64, kind: u64) -> Result<u64> {
    Err(lifecycle::invalid_stack(reference, stack_kind(kind)))
}

fn prepare(calling: &mut Calling<'_>, reference: u64, ty: u64, count: u64) -> Result<u64> {
    // SAFETY: generated code passes types of its instance.
    let ty = unsafe { &*(ty as *const TypeInfo) };
    Ok(calling.store.prepare(reference, ty, count as usize)? as u64)
}

fn bind(calling: &mut Calling<'_>, reference: u64, ty: u64, kind_and_count: u64) -> Result<u64> {
    let (kind, count) = unpair(kind_and_count);
    // SAFETY: generated code passes types of its instance.
    let ty = unsafe { &*(ty as *const TypeInfo) };
    calling.store.bind(reference, ty, count as usize, stack_kind(kind))
}

fn find_clause(calling: &mut Calling<'_>, word: u64) -> std::result::Result<u64, Ending> {
    calling.store.find_clause(word)
}

fn resume_throw(
    calling: &mut Calling<'_>,
    reference: u64,
    exception: u64,
    handlers: u64,
) -> Outcome {
    calling.store.resume_throw(reference, exception, handlers as *const u64)
}

fn move_stack(calling: &mut Calling<'_>, block: u64) -> Result<u64> {
    // SAFETY: generated code passes a stack that it is about to continue.
    unsafe { calling.store.move_stack(block as *mut ControlBlock) };
    Ok(0)
}

fn unpark(calling: &mut Calling<'_>, block: u64) -> Result<u64> {
    // SAFETY: generated code passes a stack that it is about to continue.
    unsafe { calling.store.unpark_running(block as *mut ControlBlock) }?;
    Ok(0)
}

fn park_stacks(calling: &mut Calling<'_>) -> Result<u64> {
    calling.store.park_stacks(Park::All);
    Ok(0)
}

/// What happens after every builtin in the mode in which this is called.
fn check_stacks(_: &mut Calling<'_>) -> Result<u64> {
    Ok(0)
}

fn trace_create(calling: &mut Calling<'_>, block: u64) -> Result<u64> {
    calling.store.trace_create(block as *mut ControlBlock);
    Ok(0)
}

fn trace_switch(calling: &mut Calling<'_>, block: u64, values: u64, tag: u64) -> Result<u64> {
    calling.store.trace_switch(block as *mut ControlBlock, values, tag as *const TagDef);
    Ok(0)
}

fn make_room(calling: &mut Calling<'_>, block: u64, size: u64) -> Result<u64> {
    // SAFETY: generated code passes a free stack, of which it keeps no address.
    unsafe { calling.store.make_room_on_free(block as *mut ControlBlock, size as usize) }
}

fn copy_stack(calling: &mut Calling<'_>, reference: u64, kind: u64) -> Result<u64> {
    calling.store.copy_suspended(reference, stack_kind(kind))
}

fn renew_free(calling: &mut Calling<'_>) -> Result<u64> {
    Ok(calling.store.renew_free()? as u64)
}

fn switch_throw(calling: &mut Calling<'_>, reference: u64, exception: u64, offset: u64) -> Outcome {
    calling.store.switch_throw(reference, exception, offset as u32)
}

fn fiber_not_running(_: &mut Calling<'_>, reference: u64) -> Result<u64> {
    match lifecycle::invalid_stack(reference, StackKind::Fiber) {
        TrapCode::FiberMoribund => Err(TrapCode::FiberNotRunning),
        code => Err(code),
    }
}

fn release_running(calling: &mut Calling<'_>, block: u64) -> Result<u64> {
    // SAFETY: generated code passes a running stack or a parent of one.
    unsafe { calling.store.release_up_to(block as *mut ControlBlock) };
    Ok(0)
}

fn release_suspended(calling: &mut Calling<'_>, block: u64) -> Result<u64> {
    // SAFETY: generated code passes a task that is suspended.
    unsafe { calling.store.release_suspended(block as *mut ControlBlock) };
    Ok(0)
}

fn release_fiber(calling: &mut Calling<'_>, reference: u64) -> Result<u64> {
    calling.store.release_fiber(reference)?;
    Ok(0)
}

fn event_throw(calling: &mut Calling<'_>, reference: u64, word: u64, leaving: u64) -> Outcome {
    calling.store.event_throw(reference, word, leaving == LEAVE_FREED)
}

fn event_return(calling: &mut Calling<'_>, word: u64) -> Outcome {
    calling.store.event_return(word)
}

fn extension_end(calling: &mut Calling<'_>) -> Result<u64> {
    Ok(calling.store.extension_end()? as u64)
}

fn drop_stack(calling: &mut Calling<'_>, reference: u64) -> Result<u64> {
    calling.store.drop_stack(reference);
    Ok(0)
}

fn deliver_stack(calling: &mut Calling<'_>, reference: u64) -> Result<u64> {
    Ok(calling.store.deliver_stack(reference))
}

fn redirect(calling: &mut Calling<'_>, exception: u64, reference: u64) -> Outcome {
    calling.store.redirect(exception, reference)
}

fn leave_to(calling: &mut Calling<'_>, level: u64) -> Result<u64> {
    calling.store.leave_to(level as usize);
    Ok(0)
}

fn enter_answer(calling: &mut Calling<'_>, tag: u64, function: u64, env: u64) -> Result<u64> {
    let tag = tag as *const TagDef;
    calling.store.add_mark(MarkKind::Answer { tag, function: function as *const FuncRef, env })?;
    Ok(0)
}

fn enter_redirect(calling: &mut Calling<'_>, boxed: u64) -> Result<u64> {
    calling.store.add_mark(MarkKind::Redirect { boxed })?;
    Ok(0)
}

fn enter_redirect_to(
    calling: &mut Calling<'_>,
    function: u64,
    taker: u64,
    env: u64,
) -> Result<u64> {
    let (function, taker) = (function as *const FuncRef, taker as *const FuncRef);
    calling.store.add_mark(MarkKind::RedirectTo { function, taker, env })?;
    Ok(0)
}

fn walk_begin(calling: &mut Calling<'_>, tag: u64) -> Result<u64> {
    calling.store.walk_begin(tag as *const TagDef)
}

fn walk_on(calling: &mut Calling<'_>, tag: u64, number: u64) -> Result<u64> {
    Ok(u64::from(calling.store.walk_on(tag as *const TagDef, number as usize)?))
}

fn walk_target(calling: &mut Calling<'_>, number: u64, reference: u64) -> Result<u64> {
    calling.store.walk_target(number as usize, reference)?;
    Ok(0)
}

fn walk_back(calling: &mut Calling<'_>, number: u64) -> Result<u64> {
    Ok(u64::from(calling.store.walk_back(number as usize)?))
}

/// A kind that generated code passes as a word.
fn stack_kind(word: u64) -> StackKind {
    StackKind::of(word << KIND_SHIFT).expect("generated code passes kinds")
}

/// The indices that travel as one word.
fn unpair(word: u64) -> (u64, u64) {
    (word >> 32, word & 0xffff_ffff)
}
