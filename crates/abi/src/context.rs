//! The records that generated code reads and writes.

use crate::builtin::BuiltinPointer;
use crate::purpose::Purpose;
use crate::signature::in_registers;
use crate::types::{FuncType, TypeKind};
use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize};

/// A value in a place that is wide enough for any type.
///
/// Narrower values are at the start of the place, followed by unspecified bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct RawVal([u8; 16]);

macro_rules! raw_values {
    ($($(#[$doc:meta])* $ty:ty: $from:ident, $get:ident;)*) => {
        impl RawVal {
            $(
                $(#[$doc])*
                #[inline]
                pub fn $from(value: $ty) -> RawVal {
                    let bytes = value.to_le_bytes();
                    let mut place = RawVal::ZERO;
                    place.0[..bytes.len()].copy_from_slice(&bytes);
                    place
                }

                /// The value of this type in the place.
                #[inline]
                pub fn $get(&self) -> $ty {
                    const SIZE: usize = size_of::<$ty>();
                    let bytes: [u8; SIZE] = self.0[..SIZE].try_into().expect("of that size");
                    <$ty>::from_le_bytes(bytes)
                }
            )*
        }
    };
}

raw_values! {
    /// An `i32`, or the bits of an `f32`.
    u32: from_u32, u32;
    /// An `i64`, the bits of an `f64`, or a reference, where zero is null.
    u64: from_u64, u64;
    /// A `v128`.
    u128: from_u128, u128;
}

impl RawVal {
    /// All bits zero: the default value of every type that has one.
    pub const ZERO: RawVal = RawVal([0; 16]);
}

impl Default for RawVal {
    fn default() -> Self {
        RawVal::ZERO
    }
}

/// A control block: the memory of a stack, the place where it was left, and its links.
///
/// ```text
///   low                                                      high
///    | guard |  unused  |  newest frame  | ... |  first frame  |
///            ^limit     ^sp
/// ```
///
/// `sp` and `fp` have meaning only while the stack is not running. The word at `sp` is the address
/// where it continues. When the memory moves, only these two and the chain of frame pointers from
/// `fp` are rewritten.
///
/// The fields that a switch uses are in the first half, which is one cache line.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct ControlBlock {
    /// The stack pointer where the stack was left, with the address to continue at on top. No
    /// meaning while the stack is free or runs generated code.
    pub sp: usize,
    /// The frame pointer that belongs to `sp`: zero, or a link in the chain of frames on this
    /// stack.
    pub fp: usize,
    /// While the stack runs or waits: the stack that resumed it, never null. The parent of a base
    /// (a root, a stack of the bag, or a first-class stack) is always the block
    /// `StoreContext::no_parent`, which has no handlers. So is the parent of a lost task or
    /// fiber. The parent of a task or fiber is null exactly while it is new or suspended. It has no meaning
    /// for a suspended continuation.
    pub parent: *mut ControlBlock,
    /// The [clauses](crate::clauses) of this stack. While it waits for another: those of its
    /// `resume`, `task.resume` (none) or `fiber.mount`. While it is a suspended fiber or
    /// first-class stack: the events that can continue it. While it is a new fiber: those of its
    /// `fiber.new`. No meaning while it runs, but valid to read once it has been set.
    pub handlers: *const u64,
    /// The reference that is valid while this stack is suspended, now or the next time; without its
    /// kind.
    pub reference: u64,
    /// Nonzero if `innermost` is another stack or `through` is not null:
    /// [`GROUPED`](crate::stack::GROUPED), or [`HAS_WAITED`](crate::stack::HAS_WAITED) after this
    /// stack has resumed another.
    pub is_grouped: u32,
    /// The purpose of the stack. Generated code writes it together with the two fields after it.
    pub purpose: Purpose,
    /// Whether a frame on this stack may have owned a first-class stack, or a structure with
    /// locals, since the stack was made. Only then, freeing or copying the stack must visit its
    /// frames.
    pub owns: bool,
    /// The number of marks that `answer` and the redirections have left on it.
    pub marks: u16,
    /// The stack that continues when this one is resumed: the innermost of those that were
    /// suspended together with it. The stack itself if it is suspended alone, and in every other
    /// state. Never null in a block with a stack.
    pub innermost: *mut ControlBlock,
    /// The stack through which this one was continued, if that is another: the one that the
    /// reference named. No stack between the two can change until this one has waited for another;
    /// after that, `sought` tells. No meaning unless `is_grouped`.
    pub through: *mut ControlBlock,
    /// The last word for which this stack searched a handler beyond its parent, and found it in the
    /// parent of `through`. Zero when `through` changes. In a stack that has waited:
    /// `StoreContext::captures` when it started to wait. While that stays the same, no stack
    /// between this one and `through` has changed.
    pub sought: u64,
    /// In a base on which a rout begins: the stack whose `stack.extend` waits for the rout's
    /// `stack.start`. Otherwise null.
    pub extender: *mut ControlBlock,
    /// The function of a stack that has not started. No meaning afterwards.
    pub function: *const FuncRef,
    /// The code that calls that function.
    pub entry: *const c_void,
    /// The next free stack, while this one is free.
    pub next_free: *mut ControlBlock,
    /// The place of the start address of a new stack without arguments: the highest word of the
    /// stack.
    pub top: usize,
    /// The lowest usable address, above the guard. Zero in a block without a stack. [`PARKED`] or
    /// [`PARKED_PLAIN`] in a parked stack: not an address, so that nothing fits on it.
    pub limit: usize,
    /// The address after the highest usable one. In a parked stack, the place of its packed frames.
    pub high: usize,
}

/// The `limit` of a parked stack.
pub const PARKED: usize = usize::MAX - 1;
/// The `limit` of a parked stack without references.
pub const PARKED_PLAIN: usize = usize::MAX;

impl ControlBlock {
    /// A block without a stack.
    pub const BLANK: ControlBlock = ControlBlock {
        sp: 0,
        fp: 0,
        parent: ptr::null_mut(),
        handlers: ptr::null(),
        reference: 0,
        innermost: ptr::null_mut(),
        through: ptr::null_mut(),
        sought: 0,
        extender: ptr::null_mut(),
        is_grouped: 0,
        purpose: Purpose::Free,
        owns: false,
        marks: 0,
        function: ptr::null(),
        entry: ptr::null(),
        next_free: ptr::null_mut(),
        top: 0,
        limit: 0,
        high: 0,
    };

    /// Whether its frames are packed, and it has no memory.
    pub fn is_parked(&self) -> bool {
        self.limit >= PARKED
    }

    /// Whether a function can be called on top of the stack while it is suspended: a first-class
    /// reference may name it. A root may also have one, but is never parked.
    pub fn takes_calls_on_top(&self) -> bool {
        matches!(self.purpose, Purpose::Bag | Purpose::FirstClass)
    }
}

const _: () = assert!(
    offset_of!(ControlBlock, owns) == offset_of!(ControlBlock, purpose) + 1
        && offset_of!(ControlBlock, marks) == offset_of!(ControlBlock, purpose) + 2
        && offset_of!(ControlBlock, purpose) % 4 == 0
        && offset_of!(ControlBlock, is_grouped) + 4 == offset_of!(ControlBlock, purpose)
        && offset_of!(ControlBlock, is_grouped) % 8 == 0
);
const _: () = assert!(offset_of!(ControlBlock, innermost) < 64);

/// The part of a store that generated code uses. Its address never changes.
#[derive(Debug)]
#[repr(C)]
pub struct StoreContext {
    /// The running stack, or the one that made the running host call.
    pub stack: *mut ControlBlock,
    /// The host's stack pointer to which a host call or the end of the activation returns. No
    /// meaning while nothing runs.
    pub host_sp: usize,
    /// The stub that calls a builtin.
    pub call_builtin: *const c_void,
    /// The stub that calls a host function.
    pub call_host: *const c_void,
    /// Parameters and results that do not travel in registers:
    /// [`TRANSFER_SLOTS`](crate::signature::TRANSFER_SLOTS) values.
    pub transfer: *mut RawVal,
    /// The runtime's functions, in the order of [`Builtin::ALL`].
    ///
    /// [`Builtin::ALL`]: crate::Builtin::ALL
    pub builtins: *const BuiltinPointer,
    /// The address of the next object in the heap.
    pub heap_next: usize,
    /// The end of the free part of the heap.
    pub heap_end: usize,
    /// Copies few bytes: to, from, number.
    pub copy_bytes: *const c_void,
    /// Fills few bytes: to, byte, number.
    pub fill_bytes: *const c_void,
    /// The control blocks of all stacks, by number.
    pub blocks: *mut ControlBlock,
    /// The free list: stacks that are ready for use by any design.
    pub free_stacks: *mut ControlBlock,
    /// The stub at which new stacks start.
    pub start: *const c_void,
    /// The stub at which stacks with [bound arguments](crate::bound) continue.
    pub deliver: *const c_void,
    /// The stub at which stacks continue that were suspended in a host call.
    pub continue_call: *const c_void,
    /// The stub that ends a stack and continues its parent.
    pub finish: *const c_void,
    /// The stub that ends a stack and continues its parent with a signal.
    pub finish_with: *const c_void,
    /// The parent of bases: a block without handlers.
    pub no_parent: *mut ControlBlock,
    /// The address where an exception continues, while one is thrown.
    pub landing: usize,
    /// The result of a search for a handler: the outermost stack that is captured.
    pub found: *mut ControlBlock,
    /// Incremented when stacks with parents are captured together, since stacks inside may have
    /// other parents afterwards.
    pub captures: u64,
    /// The root of the newest activation. No meaning while nothing runs.
    pub root: *mut ControlBlock,
    /// The base of the running stack: the outermost of its parents, or the stack itself. Null while
    /// nothing runs.
    pub base: *mut ControlBlock,
    /// The base of the stack whose `stack.extend` waits for the `stack.start` of its rout. There is
    /// at most one, since nothing else runs in between.
    pub extending: *mut ControlBlock,
    /// The frame below the first one of a blank stack.
    pub ground: *const c_void,
    /// The result of a walk: the function to call.
    pub walk_function: *const FuncRef,
    /// The structure that the function gets first.
    pub walk_env: u64,
    /// The stack that is handed back to the function.
    pub walk_stack: u64,
    /// A switch between a stack and the host.
    pub passage: Passage,
    /// The results of a suspended host call.
    pub left_call: LeftCall,
    /// The fuel that is left, if it is counted.
    pub fuel: i64,
    /// The stub that a function calls when a poll tells it to stop. It preserves all registers.
    pub pause: *const c_void,
    /// A word for stubs that have no free register while they change stacks.
    pub saved_word: usize,
    /// The store, for the runtime's use.
    pub store: *mut c_void,
    /// The functions of the runtime that stubs call.
    pub calls: *const c_void,
}

/// The registers of a paused function, except the stack pointer and the frame pointer.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PausedRegisters {
    /// `rax`, `rbx`, `rcx`, `rdx`, `rsi`, `rdi`, then `r8` to `r15`.
    pub words: [u64; 14],
    /// `xmm0` to `xmm15`.
    pub vectors: [[u64; 2]; 16],
}

/// The frame on top of a stack that was suspended at a poll. It looks like the frame of a function
/// that was called there, with the registers of its caller.
///
/// ```text
///   | frames                       |
///   | return into the function     |  <- sp in the call
///   | frame pointer                |  <- fp
///   | registers                    |
///   | where it continues           |  <- sp
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PausedFrame {
    /// Code that loads the registers from here and returns.
    pub resume: *const c_void,
    /// The registers.
    pub registers: PausedRegisters,
    /// The frame pointer of the function.
    pub fp: usize,
}

/// How the results of a suspended host call are passed when it continues.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LeftCall {
    /// The number of results.
    pub results: usize,
    /// The size of the array of values below the host's stack pointer. Zero if the result is passed
    /// in a register.
    pub array: usize,
}

impl LeftCall {
    /// The results of a function type.
    pub fn of(ty: &FuncType) -> LeftCall {
        LeftCall::new(ty.params().len(), ty.results().len(), in_registers(ty))
    }

    /// The results of a function with these numbers of parameters and results, which are in
    /// registers or not.
    pub const fn new(params: usize, results: usize, in_registers: bool) -> LeftCall {
        let count = if params > results { params } else { results };
        let array = if in_registers { 0 } else { count * size_of::<RawVal>() };
        LeftCall { results, array }
    }
}

/// The bytes on top of a stack that was suspended in a host call: the address where it continues,
/// a word for the alignment, the registers that the host preserves, a [`LeftCall`], and the frame
/// pointer of the caller.
pub const LEFT_CALL_FRAME: usize = 80;

/// A switch between a stack and the host. Its values are in the transfer area.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Passage {
    /// The stack that the host continues.
    pub to: *mut ControlBlock,
    /// The signal, in either direction.
    pub signal: u64,
    /// In a switch to the host with a clause: the reference to the suspended stack. Otherwise, the
    /// reference for the next suspension of the stack that continues.
    pub reference: u64,
}

impl Passage {
    /// No switch.
    pub const NONE: Passage = Passage { to: ptr::null_mut(), signal: 0, reference: 0 };
}

/// A function as a value: the target of a non-null `funcref`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FuncRef {
    /// Its code, in the `tail` convention: the context, then the parameters.
    pub code: *const c_void,
    /// Its first argument: an [`InstanceHeader`] or a [`HostContext`].
    pub context: *mut c_void,
    /// Its type.
    pub ty: *const TypeInfo,
    /// Whether the context is a [`HostContext`].
    pub is_host: bool,
}

/// An imported function, for calls.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FuncImport {
    /// Its code.
    pub code: *const c_void,
    /// Its first argument.
    pub context: *mut c_void,
}

/// The first argument of a host function.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HostContext {
    /// The store. It is first, as in [`InstanceHeader`], so that stubs find it.
    pub store: *mut StoreContext,
    /// The function to call on the host's stack: `extern "C" fn(&HostContext, *mut RawVal) ->
    /// Outcome`. If [`in_registers`], it takes four integers and
    /// four floats after the context instead: parameters that are floats are among the floats, all
    /// others among the integers, each in order.
    pub function: *const c_void,
    /// The data of the closure.
    pub data: *const c_void,
    /// The instance that imported the function, or null.
    pub importer: *mut InstanceHeader,
    /// The type of calls: that of the function or of the import.
    pub ty: *const TypeInfo,
}

/// The most supertypes of a type, including itself.
pub const MAX_DEPTH: usize = 64;

/// A defined type at run time. Each type of an engine has one, so equal types have equal addresses.
/// Objects in the heap begin with a pointer to it.
#[derive(Debug)]
#[repr(C)]
pub struct TypeInfo {
    /// Its supertypes by depth, including itself at its own depth, then nulls. It is a subtype of
    /// another type if it has that type at the depth of that type.
    pub supertypes: [*const TypeInfo; MAX_DEPTH],
    /// The number of its supertypes, without itself.
    pub depth: u32,
    /// Its number in the engine.
    pub id: u32,
    /// The size of a struct or exception, or of the element of an array.
    pub size: u32,
    /// The kind of its objects.
    pub kind: TypeKind,
    /// Whether the collector follows the elements of an array.
    pub elements_are_collected: bool,
    /// In a function type of continuations: the code that calls functions of this type on a new
    /// stack.
    pub entry: AtomicPtr<c_void>,
    /// The offsets of the references in a struct or exception that the collector follows.
    pub references: *const u32,
    /// The number of these references.
    pub reference_count: u32,
}

// SAFETY: it never changes, and its pointers lead to data of the engine.
unsafe impl Send for TypeInfo {}
// SAFETY: as above.
unsafe impl Sync for TypeInfo {}

/// A tag. Equal tags have equal addresses.
#[derive(Debug)]
#[repr(C)]
pub struct TagDef {
    /// The function type with its values.
    pub ty: *const TypeInfo,
}

/// A memory, for generated code.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MemoryDef {
    /// The address of its first byte.
    pub base: *mut u8,
    /// Its size in bytes.
    pub len: usize,
}

/// A table, for generated code. Each element is a 64-bit word.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TableDef {
    /// The address of its first element.
    pub base: *mut u64,
    /// The number of its elements.
    pub len: usize,
}

impl MemoryDef {
    /// A memory of no bytes.
    pub const EMPTY: MemoryDef = MemoryDef { base: ptr::null_mut(), len: 0 };
}

impl TableDef {
    /// A table of no elements.
    pub const EMPTY: TableDef = TableDef { base: ptr::null_mut(), len: 0 };
}

/// The header of an instance. [`InstanceLayout`](crate::InstanceLayout) describes the rest.
#[derive(Debug)]
#[repr(C)]
pub struct InstanceHeader {
    /// The store of the instance.
    pub store: *mut StoreContext,
    /// Its number in the store.
    pub index: usize,
    /// The address of this header, unless functions of the instance must stop: then another thread
    /// writes zero. Functions that poll compare it with the context, which they have in a register.
    pub keep_running: AtomicUsize,
}

/// The inaccessible bytes after the reservation of a 32-bit memory, or after the end of a 64-bit
/// memory. An access with a smaller static offset needs no check of the offset.
pub const MEMORY_GUARD: u64 = 32 << 20;
/// Up to this many bytes are copied or filled without a call of the host.
pub const FEW_BYTES: u64 = 1024;
/// The address space of a 32-bit memory before its guard.
pub const MEMORY32_RESERVATION: u64 = 4 << 30;
