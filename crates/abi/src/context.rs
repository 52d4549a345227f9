//! The records that generated code reads and writes.

use crate::builtin::BuiltinPointer;
use crate::signature::in_registers;
use crate::stack::Purpose;
use crate::types::{FuncType, TypeKind};
use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize};

/// A value in a place wide enough for any.
///
/// Numbers narrower than the place are at its beginning; what follows them is
/// unspecified.
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

                /// The value of that type which is in the place.
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
    /// All bits zero, which is the default value of every type that has one.
    pub const ZERO: RawVal = RawVal([0; 16]);
}

impl Default for RawVal {
    fn default() -> Self {
        RawVal::ZERO
    }
}

/// A stack: where its memory is, where it was left, and what it is linked to.
///
/// ```text
///   low                                                      high
///    | guard |  unused  |  newest frame  | ... |  first frame  |
///            ^limit     ^sp
/// ```
///
/// `sp` and `fp` are meaningful only while the stack is not running: the word
/// at `sp` is the address where it continues. They, and the chain of frame
/// pointers that starts at `fp`, are all that is rewritten when the memory
/// moves.
///
/// What a switch uses lies in the first half, which is one line of the cache.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct ControlBlock {
    /// The stack pointer at which the computation was left, with the address to
    /// continue at on top. Without meaning while the stack is free or runs generated
    /// code.
    pub sp: usize,
    /// The frame pointer that belongs to `sp`: zero, or a link of the chain of
    /// frames on this stack.
    pub fp: usize,
    /// While it runs or waits: the stack that resumed this one. The block
    /// `StoreContext::no_parent`, which has no handlers, of a base (a root, a stack of
    /// the bag or a first-class stack) always, and of a task or fiber that is lost.
    /// Null of a task or fiber exactly while it is new or suspended. Of a
    /// continuation that is suspended it has no meaning. Never null while it runs.
    pub parent: *mut ControlBlock,
    /// The [clauses](crate::clauses) with which this stack waits. Of a stack that
    /// waits for another, those of its `resume`, `task.resume` (none) or
    /// `fiber.mount`. Of a fiber or first-class stack that is suspended, the events
    /// that can continue it; of a new fiber, those of its `fiber.new`. Without meaning
    /// while the stack runs, but valid to read once it has been set.
    pub handlers: *const u64,
    /// The reference that will be valid for this stack when it is suspended
    /// the next time, or is while it is suspended; without its kind.
    pub reference: u64,
    /// Nonzero if `innermost` is another stack or `through` is not null:
    /// [`GROUPED`](crate::stack::GROUPED), or
    /// [`HAS_WAITED`](crate::stack::HAS_WAITED) as soon as this one resumes another.
    pub is_grouped: u32,
    /// What it is used for. Generated code writes it together with the two fields
    /// after it.
    pub purpose: Purpose,
    /// Whether a frame on it may have owned a first-class stack, or a structure with its
    /// locals, ever since the stack was made: only then freeing or copying it looks at its
    /// frames.
    pub owns: bool,
    /// How many marks `answer` and the redirections have left on it.
    pub marks: u16,
    /// The stack to continue when this one is resumed: the innermost of those
    /// that were suspended together with it. The stack itself in every other state
    /// than suspended, and if it is suspended alone. Never null of a block with a
    /// stack.
    pub innermost: *mut ControlBlock,
    /// The stack, if another, that was named by the reference by which this one
    /// was continued. Nothing between the two can have changed until this one has waited
    /// for another; from then on, `sought` tells. Without meaning unless `is_grouped`.
    pub through: *mut ControlBlock,
    /// What this stack searched a handler for, beyond its parent, and found in
    /// the parent of `through`. Zero as soon as `through` is another or none. Of a stack
    /// that has waited, `StoreContext::captures` when it began to: while that stays the
    /// same, nothing between this stack and `through` has changed.
    pub sought: u64,
    /// Of a base on which a rout begins: the stack whose `stack.extend` waits
    /// for the rout's `stack.start`. Else null.
    pub extender: *mut ControlBlock,
    /// The function of a stack that has not started; afterwards without meaning.
    pub function: *const FuncRef,
    /// The code that calls that function.
    pub entry: *const c_void,
    /// The next free stack, while this one is free.
    pub next_free: *mut ControlBlock,
    /// Where the address to start at of a new stack without arguments lies. Nothing
    /// lies above that word.
    pub top: usize,
    /// The lowest usable address; the guard lies below. Zero of a block without a
    /// stack. [`PARKED`] or [`PARKED_PLAIN`] of one that is parked: no address, so
    /// that nothing fits on it.
    pub limit: usize,
    /// The address after the highest usable one. Of a stack that is parked, where its
    /// frames are packed.
    pub high: usize,
}

/// The `limit` of a stack that is parked.
pub const PARKED: usize = usize::MAX - 1;
/// The `limit` of a stack that is parked, and on which the collector finds nothing.
pub const PARKED_PLAIN: usize = usize::MAX;

impl ControlBlock {
    /// A block of no stack.
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

    /// Whether its frames are packed, and it has no memory of its own.
    pub fn is_parked(&self) -> bool {
        self.limit >= PARKED
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

/// What generated code needs of a store. Its address never changes.
#[derive(Debug)]
#[repr(C)]
pub struct StoreContext {
    /// The stack that runs, or from which the running host call was made.
    pub stack: *mut ControlBlock,
    /// The host's stack pointer to which a host call or the end of the
    /// activation returns. Without meaning while nothing runs.
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
    /// Where the next object of the heap goes.
    pub heap_next: usize,
    /// The end of the free part of the heap.
    pub heap_end: usize,
    /// Copies a few bytes: to, from, how many.
    pub copy_bytes: *const c_void,
    /// Fills a few bytes: to, the byte, how many.
    pub fill_bytes: *const c_void,
    /// The control blocks of the stacks that references name.
    pub blocks: *mut ControlBlock,
    /// Stacks that are ready to be used, of any design.
    pub free_stacks: *mut ControlBlock,
    /// Where a stack starts that has not run yet.
    pub start: *const c_void,
    /// Where a stack continues that has [bound arguments](crate::bound).
    pub deliver: *const c_void,
    /// Where a stack continues that was left in a call of the host.
    pub continue_call: *const c_void,
    /// The stub that goes back to the parent for good.
    pub finish: *const c_void,
    /// The stub that goes back to the parent for good, with a signal.
    pub finish_with: *const c_void,
    /// The parent of bases: a block without handlers.
    pub no_parent: *mut ControlBlock,
    /// Where an exception continues, while one is being thrown.
    pub landing: usize,
    /// The result of a search for a handler: the outermost stack that is
    /// captured.
    pub found: *mut ControlBlock,
    /// Another number each time that stacks are captured together which have parents:
    /// a stack inside, which waited, has other ones when it runs again.
    pub captures: u64,
    /// The root of the newest activation. Without meaning while nothing runs.
    pub root: *mut ControlBlock,
    /// The base of the running stack: the outermost of its parents, or the stack
    /// itself. Null while nothing runs.
    pub base: *mut ControlBlock,
    /// The base of the stack whose `stack.extend` waits for the `stack.start` of its
    /// rout. Nothing else runs in between, so there is one.
    pub extending: *mut ControlBlock,
    /// The frame below the first one of a blank stack.
    pub ground: *const c_void,
    /// What a walk has found: the function to call.
    pub walk_function: *const FuncRef,
    /// The structure that it gets first.
    pub walk_env: u64,
    /// The stack that is handed back to it.
    pub walk_stack: u64,
    /// What the host continues a stack with, and what comes back to it.
    pub passage: Passage,
    /// The results of a host call that is left.
    pub left_call: LeftCall,
    /// How much more functions may execute now, where that is counted.
    pub fuel: i64,
    /// The stub that is called where a function has seen that it is to stop. It
    /// preserves all registers.
    pub pause: *const c_void,
    /// One word that a stub keeps while it changes stacks and has no register to spare.
    pub saved_word: usize,
    /// The store that this belongs to, for the runtime's use.
    pub store: *mut c_void,
    /// The functions of the runtime that stubs call, for the runtime's use.
    pub calls: *const c_void,
}

/// The registers of a function that was stopped: all but the stack pointer and the frame
/// pointer.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PausedRegisters {
    /// `rax`, `rbx`, `rcx`, `rdx`, `rsi`, `rdi`, then `r8` to `r15`.
    pub words: [u64; 14],
    /// `xmm0` to `xmm15`.
    pub vectors: [[u64; 2]; 16],
}

/// What lies on top of a stack that was left where its function has stopped: like the
/// frame of a function that was called there, with the registers of its caller.
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
    /// Code that takes the registers from here and returns.
    pub resume: *const c_void,
    /// The registers.
    pub registers: PausedRegisters,
    /// The frame pointer of the function.
    pub fp: usize,
}

/// How the results of a host call are passed that is left and continues later.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LeftCall {
    /// How many there are.
    pub results: usize,
    /// How many bytes below the host's stack pointer the array of values has. Zero if
    /// the result is passed in a register.
    pub array: usize,
}

impl LeftCall {
    /// The results of a function of a type.
    pub fn of(ty: &FuncType) -> LeftCall {
        LeftCall::new(ty.params().len(), ty.results().len(), in_registers(ty))
    }

    /// The results of a function that takes and gives so many values, and has them in
    /// registers or not.
    pub const fn new(params: usize, results: usize, in_registers: bool) -> LeftCall {
        let count = if params > results { params } else { results };
        let array = if in_registers { 0 } else { count * size_of::<RawVal>() };
        LeftCall { results, array }
    }
}

/// How many bytes lie on top of a stack that was left in a host call: where it
/// continues, the registers that the host preserves, a [`LeftCall`], and the frame pointer
/// of whoever has called.
pub const LEFT_CALL_FRAME: usize = 72;

/// A switch between a stack and the host, beside its values, which are in the
/// transfer area.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Passage {
    /// The stack that the host continues.
    pub to: *mut ControlBlock,
    /// The signal, in either direction.
    pub signal: u64,
    /// Of what comes back to the host with a clause: the reference to what was
    /// suspended. Else the one under which the stack that continues will be suspended.
    pub reference: u64,
}

impl Passage {
    /// No switch.
    pub const NONE: Passage = Passage { to: ptr::null_mut(), signal: 0, reference: 0 };
}

/// A function as a value: what a non-null `funcref` points to.
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

/// An imported function, as calls use it.
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
    /// The store. First, as in [`InstanceHeader`], so that the stubs find it.
    pub store: *mut StoreContext,
    /// The function to call on the host's stack:
    /// `extern "C" fn(&HostContext, *mut RawVal) -> Outcome`, or, if
    /// [`in_registers`](crate::signature::in_registers),
    /// with four integers and four floats after the context: then parameters that are
    /// floats are among those, all others among the former, each in their order.
    pub function: *const c_void,
    /// What the function closes over.
    pub data: *const c_void,
    /// The instance that imported the function, or null.
    pub importer: *mut InstanceHeader,
    /// The type that it is called as: its own, or that of the import.
    pub ty: *const TypeInfo,
}

/// How many supertypes a type may have, counting itself.
pub const MAX_DEPTH: usize = 64;

/// A defined type at run time. Each type of an engine has one, so that equal
/// types are equal pointers; objects of the heap begin with a pointer to it.
#[derive(Debug)]
#[repr(C)]
pub struct TypeInfo {
    /// Its supertypes by their depth, itself at its own depth, then nulls. So
    /// it is a subtype of another if it has that one at that one's depth.
    pub supertypes: [*const TypeInfo; MAX_DEPTH],
    /// How many supertypes it has, without itself.
    pub depth: u32,
    /// The engine's number for it.
    pub id: u32,
    /// The size of an object: of a struct, of an exception, or of the element
    /// of an array.
    pub size: u32,
    /// Which kind of objects it describes.
    pub kind: TypeKind,
    /// Whether the elements of an array are references that are followed.
    pub elements_are_collected: bool,
    /// The code that calls functions of this type on a stack of their own, for
    /// a function type that continuations are made of.
    pub entry: AtomicPtr<c_void>,
    /// The offsets of the references in a struct or exception that are
    /// followed.
    pub references: *const u32,
    /// How many there are.
    pub reference_count: u32,
}

// SAFETY: it never changes, and what it points to belongs to the engine.
unsafe impl Send for TypeInfo {}
// SAFETY: as above.
unsafe impl Sync for TypeInfo {}

/// A tag. Tags are the same if they are at the same address.
#[derive(Debug)]
#[repr(C)]
pub struct TagDef {
    /// The function type of its values.
    pub ty: *const TypeInfo,
}

/// A memory, as generated code sees it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MemoryDef {
    /// The address of its first byte.
    pub base: *mut u8,
    /// Its size in bytes.
    pub len: usize,
}

/// A table, as generated code sees it: each element is one 64-bit word.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TableDef {
    /// The address of its first element.
    pub base: *mut u64,
    /// How many elements it has.
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

/// The beginning of an instance; the rest lies after it as
/// [`InstanceLayout`](crate::InstanceLayout) says.
#[derive(Debug)]
#[repr(C)]
pub struct InstanceHeader {
    /// The store it lives in.
    pub store: *mut StoreContext,
    /// Its number in the store.
    pub index: usize,
    /// The address of this header, as long as nobody wants its functions to stop.
    /// They compare it with the context that they have in a register, where the module
    /// was compiled for that; another thread may write zero here.
    pub go_on: AtomicUsize,
}

/// How many bytes after the end of a 32-bit memory's reservation, or of a
/// 64-bit memory, are inaccessible, so that an access with a static offset
/// below this needs no check of the offset.
pub const MEMORY_GUARD: u64 = 32 << 20;
/// Up to how many bytes are copied or filled without calling the host.
pub const FEW_BYTES: u64 = 1024;
/// How many bytes of address space a 32-bit memory takes before its guard.
pub const MEMORY32_RESERVATION: u64 = 4 << 30;
