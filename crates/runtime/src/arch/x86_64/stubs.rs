//! The assembly. The pictures are in the [folder's head](super).

use crate::arch::calls::RuntimeCalls;
use ropewalk_abi::bound::{BoundEnd, BoundHead};
use ropewalk_abi::builtin::{CATCH, END, Outcome, SUSPEND};
use ropewalk_abi::stack::Purpose;
use ropewalk_abi::transfer::CARRIED;
use ropewalk_abi::{
    ControlBlock, HostContext, LEFT_CALL_FRAME, LeftCall, Passage, PausedFrame, PausedRegisters,
    RawVal, StoreContext,
};
use std::ffi::c_void;
use std::mem::{MaybeUninit, offset_of};

// ---- entering and leaving

/// Saves what the host's convention wants preserved on the host's stack, and notes
/// that place. The store's context is in a register, mostly `rdi`.
macro_rules! save_for_host {
    () => {
        save_for_host!("rdi")
    };
    ($store:literal) => {
        concat!(
            "push rbp\n",
            "push rbx\n",
            "push r12\n",
            "push r13\n",
            "push r14\n",
            "push r15\n",
            concat!("push ", $store, "\n"), // it also aligns the stack to 16 bytes
            concat!("mov [", $store, " + {host_sp}], rsp"),
        )
    };
}

/// How WebAssembly was left.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Left {
    /// Zero when it returned, or when somebody has come back to the root; else whoever
    /// has ended the activation has said why.
    pub ended: u64,
    /// The result of what was called with words.
    pub word: u64,
}

impl Left {
    /// The activation has ended before it began.
    pub const ENDED: Left = Left { ended: END, word: 0 };
}

/// Leaves the running stack and continues another, which is in `rsi`, with the signal in `rdx`,
/// the reference in `rcx`, and the values in the transfer area. The store's context is in `r8`.
macro_rules! pass {
    () => {
        concat!(
            "mov rdi, [r8 + {stack}]\n",
            "mov rax, [r8 + {transfer}]\n",
            "movups xmm0, [rax]\n",
            "movups xmm1, [rax + 16]\n",
            "movups xmm2, [rax + 32]\n",
            "mov [r8 + {stack}], rsi\n",
            "mov r9, [rsi + {sp}]\n",
            "mov rbp, [rsi + {fp}]\n",
            "lea rsp, [r9 + 8]\n",
            "jmp [r9]",
        )
    };
}

/// Takes from the host's stack what [`enter`] has saved there, and returns from it.
macro_rules! return_from_enter {
    () => {
        concat!(
            "add rsp, 8\n",
            "pop r15\n",
            "pop r14\n",
            "pop r13\n",
            "pop r12\n",
            "pop rbx\n",
            "pop rbp\n",
            "ret",
        )
    };
}

/// Runs an entry trampoline on the stack that ends at `top`.
///
/// # Safety
///
/// The store's running stack must be the one that ends at `top` and have
/// nothing on it, and the trampoline fit the function and the values.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn enter(
    store: *mut StoreContext,
    top: usize,
    trampoline: *const c_void,
    values: *mut RawVal,
    context: *mut c_void,
    code: *const c_void,
) -> Left {
    core::arch::naked_asm!(
        save_for_host!(),
        "mov rbx, rdi",
        "mov rsp, rsi", // from here on, on the root stack
        "mov rax, rdx",
        "mov rdi, rcx", // the trampoline's arguments: values, context, code
        "mov rsi, r8",
        "mov rdx, r9",
        "xor ebp, ebp", // ends the chain of frame pointers
        "call rax",
        "mov rsp, [rbx + {host_sp}]", // the trampoline preserves rbx
        "xor eax, eax",
        return_from_enter!(),
        host_sp = const offset_of!(StoreContext, host_sp),
    )
}

/// A stub that calls a function of WebAssembly on the running stack, with a few words,
/// which are in the same registers in both conventions. It keeps something in `rbx`, which
/// the function preserves, to find the host's stack again.
macro_rules! enter_words_stub {
    ($(#[$doc:meta])* $name:ident, $keep:literal, $back:literal, $result:literal) => {
        $(#[$doc])*
        ///
        /// # Safety
        ///
        /// The function's context must be in a store whose running stack is a root and
        /// has nothing on it, and the words be those that it expects.
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name(
            context: *mut c_void,
            a: MaybeUninit<u64>,
            b: MaybeUninit<u64>,
            c: MaybeUninit<u64>,
            d: MaybeUninit<u64>,
            code: *const c_void,
            w: MaybeUninit<f64>,
            x: MaybeUninit<f64>,
            y: MaybeUninit<f64>,
            z: MaybeUninit<f64>,
        ) -> Left {
            core::arch::naked_asm!(
                "mov r10, [rdi]", // the store
                save_for_host!("r10"),
                $keep,
                "mov r11, [r10 + {stack}]",
                "mov rsp, [r11 + {high}]", // from here on, on the root stack
                "xor ebp, ebp",            // ends the chain of frame pointers
                "call r9",
                concat!("mov rsp, ", $back),
                $result,
                "xor eax, eax",
                return_from_enter!(),
                stack = const offset_of!(StoreContext, stack),
                high = const offset_of!(ControlBlock, high),
                host_sp = const offset_of!(StoreContext, host_sp),
            )
        }
    };
}

enter_words_stub! {
    /// Calls a function whose result is an integer or a reference, or that has none. It
    /// cannot wait, so it returns to where this was called.
    enter_words, "mov rbx, rsp", "rbx", "mov rdx, rax"
}

enter_words_stub! {
    /// The same for a function whose result is a float.
    enter_words_for_float, "mov rbx, rsp", "rbx", "movq rdx, xmm0"
}

enter_words_stub! {
    /// As [`enter_words`], but the function may wait. Then it returns to whoever has
    /// continued it.
    begin_words, "mov rbx, r10", "[rbx + {host_sp}]", "mov rdx, rax"
}

enter_words_stub! {
    /// As [`begin_words`], for a function whose result is a float.
    begin_words_for_float, "mov rbx, r10", "[rbx + {host_sp}]", "movq rdx, xmm0"
}

/// A stub that a function on a root returns to which was read from a
/// [snapshot](crate::snapshot): the store lies above the frames.
macro_rules! end_restored_stub {
    ($(#[$doc:meta])* $name:ident, $result:literal) => {
        $(#[$doc])*
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "pop rcx", // the store
                $result,
                "mov rsp, [rcx + {host_sp}]",
                "xor eax, eax",
                return_from_enter!(),
                host_sp = const offset_of!(StoreContext, host_sp),
            )
        }
    };
}

end_restored_stub! {
    /// The result is an integer, a reference, or in an array.
    end_restored, "mov rdx, rax"
}

end_restored_stub! {
    /// The result is a float.
    end_restored_for_float, "movq rdx, xmm0"
}

/// Continues a stack with a signal, with the reference under which it will be suspended, and
/// with the values in the transfer area. Returns when somebody has switched to the root, on
/// which [`come_back`] lies, or when a function on the root has returned.
///
/// # Safety
///
/// The store's running stack must be that root, and wait for the other; the values
/// must be what the other one expects.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn enter_stack(
    store: *mut StoreContext,
    to: *mut ControlBlock,
    signal: u64,
    reference: u64,
) -> Left {
    core::arch::naked_asm!(
        save_for_host!(),
        "mov r8, rdi",
        pass!(), // the others are where it wants them
        host_sp = const offset_of!(StoreContext, host_sp),
        stack = const offset_of!(StoreContext, stack),
        transfer = const offset_of!(StoreContext, transfer),
        sp = const offset_of!(ControlBlock, sp),
        fp = const offset_of!(ControlBlock, fp),
    )
}

/// Where a root continues from which the host has continued a stack: returns zero from
/// [`enter_stack`], with what somebody has switched with in the store. The registers
/// are those after a switch.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn come_back() {
    core::arch::naked_asm!(
        "mov [r8 + {signal}], rdx",
        "mov [r8 + {reference}], rcx",
        "mov rax, [r8 + {transfer}]",
        "movups [rax], xmm0",
        "movups [rax + 16], xmm1",
        "movups [rax + 32], xmm2",
        "mov rsp, [r8 + {host_sp}]",
        "xor eax, eax",
        return_from_enter!(),
        host_sp = const offset_of!(StoreContext, host_sp),
        transfer = const offset_of!(StoreContext, transfer),
        signal = const offset_of!(StoreContext, passage) + offset_of!(Passage, signal),
        reference = const offset_of!(StoreContext, passage) + offset_of!(Passage, reference),
    )
}

/// Continues at the handler of an exception that the host has thrown on the running
/// stack. Returns as [`enter_stack`] does.
///
/// # Safety
///
/// The exception must have landed there.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn enter_landing(store: *mut StoreContext, exception: u64) -> Left {
    core::arch::naked_asm!(
        save_for_host!(),
        "mov r10, rdi",
        "mov rdx, rsi",
        "mov eax, {catch}",
        "jmp {depart}",
        host_sp = const offset_of!(StoreContext, host_sp),
        catch = const CATCH,
        depart = sym depart,
    )
}

/// Ends the activation: returns nonzero from the [`enter`] that began it. The
/// store's context is in `r10`. Jumped to, never called.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn leave() {
    core::arch::naked_asm!(
        "mov rsp, [r10 + {host_sp}]",
        "mov eax, 1",
        return_from_enter!(),
        host_sp = const offset_of!(StoreContext, host_sp),
    )
}

/// Does not continue after the call: ends the activation, continues at the
/// handler of an exception, or leaves the call for later. The store's context is in `r10`, the outcome in
/// `rax` and `rdx`. Jumped to, never called.
#[unsafe(naked)]
unsafe extern "C" fn depart() {
    core::arch::naked_asm!(
        "cmp rax, {catch}",
        "ja {leave_call}",
        "jne {leave}",
        "mov r11, [r10 + {stack}]",
        "mov rsp, [r11 + {sp}]",
        "mov rbp, [r11 + {fp}]",
        "mov rax, rdx", // a handler gets the exception in rax
        "jmp [r10 + {landing}]",
        catch = const CATCH,
        leave = sym leave,
        leave_call = sym leave_call,
        stack = const offset_of!(StoreContext, stack),
        sp = const offset_of!(ControlBlock, sp),
        fp = const offset_of!(ControlBlock, fp),
        landing = const offset_of!(StoreContext, landing),
    )
}

/// Leaves a host call whose results come later. On top of the stack lies then what looks
/// like the frame of a function that was called:
///
/// ```text
///   | frames                                       |
///   | return into the caller, or a host trampoline |  <- sp in the call
///   | frame pointer                                |  <- fp
///   | LeftCall: array, results                     |
///   | r15 r14 r13 r12 rbx                          |
///   | continue_call                                |  <- sp
/// ```
///
/// Then continues what the store's [`Passage`] names; if that is nothing, leaves the
/// activation. The store's context is in `r10`. Jumped to, never called.
#[unsafe(naked)]
unsafe extern "C" fn leave_call() {
    core::arch::naked_asm!(
        "mov r11, [r10 + {stack}]",
        "mov rcx, [r11 + {sp}]",
        "mov rax, [r11 + {fp}]",
        "mov [rcx - 8], rax",
        "mov rax, [r10 + {array}]",
        "mov [rcx - 16], rax",
        "mov rax, [r10 + {results}]",
        "mov [rcx - 24], rax",
        "mov [rcx - 32], r15",
        "mov [rcx - 40], r14",
        "mov [rcx - 48], r13",
        "mov [rcx - 56], r12",
        "mov [rcx - 64], rbx",
        "lea rax, [rip + {continue_call}]",
        "mov [rcx - 72], rax",
        "lea rax, [rcx - 8]",
        "mov [r11 + {fp}], rax",
        "sub rcx, 72",
        "mov [r11 + {sp}], rcx",
        "mov rsi, [r10 + {to}]",
        "test rsi, rsi",
        "je {leave}",
        "mov rdx, [r10 + {signal}]",
        "mov rcx, [r10 + {reference}]",
        "mov r8, r10",
        pass!(),
        leave = sym leave,
        continue_call = sym continue_call,
        array = const offset_of!(StoreContext, left_call) + offset_of!(LeftCall, array),
        results = const offset_of!(StoreContext, left_call) + offset_of!(LeftCall, results),
        stack = const offset_of!(StoreContext, stack),
        transfer = const offset_of!(StoreContext, transfer),
        to = const offset_of!(StoreContext, passage) + offset_of!(Passage, to),
        signal = const offset_of!(StoreContext, passage) + offset_of!(Passage, signal),
        reference = const offset_of!(StoreContext, passage) + offset_of!(Passage, reference),
        sp = const offset_of!(ControlBlock, sp),
        fp = const offset_of!(ControlBlock, fp),
    )
}

const _: () = assert!(LEFT_CALL_FRAME == 72);

/// Where a stack continues that was left in a host call: returns as the stub that called
/// the host would have, with the results that somebody has switched with. The registers are those after a switch.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn continue_call() {
    core::arch::naked_asm!(
        "pop rbx",
        "pop r12",
        "pop r13",
        "pop r14",
        "pop r15",
        "pop rcx", // how many results
        "pop rdx", // the bytes of the array
        "movq rax, xmm0",
        "test rdx, rdx",
        "jz 2f",
        "mov rsi, [r8 + {transfer}]",
        "movups [rsi], xmm0",
        "movups [rsi + 16], xmm1",
        "movups [rsi + 32], xmm2",
        "mov rdi, [r8 + {host_sp}]",
        "sub rdi, rdx",
        "add rcx, rcx", // words
        "rep movsq",
        "2:",
        "pop rbp",
        "ret", // the one word is in rax, and still in xmm0
        transfer = const offset_of!(StoreContext, transfer),
        host_sp = const offset_of!(StoreContext, host_sp),
    )
}

// ---- calling the host

/// A stub that calls something on the host's stack and then continues where the
/// running stack was left, wherever that is by then.
macro_rules! call_stub {
    (
        $(#[$doc:meta])*
        $name:ident,
        to_host_stack: $to_host_stack:literal,
        call: [$($call:literal),*],
        after: [$($after:literal),*],
        { $($operand:ident = $kind:ident $value:expr),* }
    ) => {
        $(#[$doc])*
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "mov r10, [rdi]", // any context begins with the store
                "mov r11, [r10 + {stack}]",
                "mov [r11 + {sp}], rsp",
                "mov [r11 + {fp}], rbp",
                $to_host_stack,
                "push r10",
                $($call,)*
                "mov r10, [rsp + 8]",
                "test rax, rax",
                "jnz {depart}",
                "mov r11, [r10 + {stack}]",
                "mov rsp, [r11 + {sp}]",
                "mov rbp, [r11 + {fp}]",
                $($after,)*
                "ret",
                stack = const offset_of!(StoreContext, stack),
                sp = const offset_of!(ControlBlock, sp),
                fp = const offset_of!(ControlBlock, fp),
                depart = sym depart,
                $($operand = $kind $value,)*
            )
        }
    };
}

call_stub! {
    /// Calls the builtin in `r9` with up to five words, of which the first is the
    /// instance's context; returns its value.
    call_builtin,
    to_host_stack: "mov rsp, [r10 + {host_sp}]",
    call: ["sub rsp, 8", "call r9"],
    after: ["mov rax, rdx"],
    { host_sp = const offset_of!(StoreContext, host_sp) }
}

call_stub! {
    /// Calls the host function in `rdx` with its context in `rdi` and its values
    /// in `rsi`, which lie right below the host's stack pointer.
    call_host,
    to_host_stack: "mov rsp, rsi",
    call: ["sub rsp, 8", "call rdx"],
    after: [],
    {}
}

/// The code of a function of the host that takes and gives a few words, which are in the
/// same registers in both conventions: calls what the context in `rdi` names. The
/// result is where an integer and where a float is expected. On top of the host's stack
/// lies the store.
#[unsafe(naked)]
unsafe extern "C" fn call_words() {
    core::arch::naked_asm!(
        "mov r10, [rdi]", // the store
        "mov r11, [r10 + {stack}]",
        "mov [r11 + {sp}], rsp",
        "mov [r11 + {fp}], rbp",
        "mov rsp, [r10 + {host_sp}]",
        "call [rdi + {function}]",
        "mov r10, [rsp]",
        "test rax, rax",
        "jnz {depart}",
        "mov r11, [r10 + {stack}]",
        "mov rsp, [r11 + {sp}]",
        "mov rbp, [r11 + {fp}]",
        "mov rax, rdx",
        "movq xmm0, rdx",
        "ret",
        stack = const offset_of!(StoreContext, stack),
        host_sp = const offset_of!(StoreContext, host_sp),
        sp = const offset_of!(ControlBlock, sp),
        fp = const offset_of!(ControlBlock, fp),
        function = const offset_of!(HostContext, function),
        depart = sym depart,
    )
}

/// The code of functions of the host that [take and give a few
/// words](ropewalk_abi::signature::in_registers). In a stress mode it moves the running
/// stack first; where calls are traced, it tells of them.
pub fn host_words(move_stacks: bool, trace: bool) -> *const c_void {
    match (move_stacks, trace) {
        (_, true) => call_words_traced as *const c_void,
        (true, false) => call_words_moving as *const c_void,
        (false, false) => call_words as *const c_void,
    }
}

call_stub! {
    /// As [`call_words`], but first moves the running stack to other memory.
    call_words_moving,
    to_host_stack: "mov rsp, [r10 + {host_sp}]",
    call: [
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "sub rsp, 32",
        "movlps [rsp], xmm0",
        "movlps [rsp + 8], xmm1",
        "movlps [rsp + 16], xmm2",
        "movlps [rsp + 24], xmm3",
        "mov rdi, r10",
        "mov rax, [rdi + {calls}]",
        "call [rax + {move_stack}]",
        "movlps xmm3, [rsp + 24]",
        "movlps xmm2, [rsp + 16]",
        "movlps xmm1, [rsp + 8]",
        "movlps xmm0, [rsp]",
        "add rsp, 32",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "sub rsp, 8",
        "call [rdi + {function}]"
    ],
    after: ["mov rax, rdx", "movq xmm0, rdx"],
    {
        host_sp = const offset_of!(StoreContext, host_sp),
        function = const offset_of!(HostContext, function),
        calls = const offset_of!(StoreContext, calls),
        move_stack = const offset_of!(RuntimeCalls, move_stack)
    }
}

call_stub! {
    /// As [`call_builtin`], but first moves the running stack to other memory.
    call_builtin_moving,
    to_host_stack: "mov rsp, [r10 + {host_sp}]",
    call: [
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "sub rsp, 8",
        "mov rdi, r10",
        "mov rax, [rdi + {calls}]",
        "call [rax + {move_stack}]",
        "add rsp, 8",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "sub rsp, 8",
        "call r9"
    ],
    after: ["mov rax, rdx"],
    {
        host_sp = const offset_of!(StoreContext, host_sp),
        calls = const offset_of!(StoreContext, calls),
        move_stack = const offset_of!(RuntimeCalls, move_stack)
    }
}

call_stub! {
    /// As [`call_host`], but first moves the running stack to other memory.
    call_host_moving,
    to_host_stack: "mov rsp, rsi",
    call: [
        "push rdi",
        "push rsi",
        "push rdx",
        "mov rdi, r10",
        "mov rax, [rdi + {calls}]",
        "call [rax + {move_stack}]",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "sub rsp, 8",
        "call rdx"
    ],
    after: [],
    { calls = const offset_of!(StoreContext, calls),
        move_stack = const offset_of!(RuntimeCalls, move_stack) }
}

call_stub! {
    /// As [`call_words`], but tells of the call and of its end. In a stress mode the running
    /// stack is moved too.
    call_words_traced,
    to_host_stack: "mov rsp, [r10 + {host_sp}]",
    call: [
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "sub rsp, 32",
        "movlps [rsp], xmm0",
        "movlps [rsp + 8], xmm1",
        "movlps [rsp + 16], xmm2",
        "movlps [rsp + 24], xmm3",
        "mov rsi, rdi",
        "mov rdi, r10",
        "mov rax, [rdi + {calls}]",
        "call [rax + {host_called}]",
        "movlps xmm3, [rsp + 24]",
        "movlps xmm2, [rsp + 16]",
        "movlps xmm1, [rsp + 8]",
        "movlps xmm0, [rsp]",
        "add rsp, 32",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "sub rsp, 8",
        "call [rdi + {function}]",
        "push rax", // the outcome
        "push rdx",
        "mov rdi, [rsp + 24]", // the store
        "mov rsi, rax",
        "mov rax, [rdi + {calls}]",
        "call [rax + {host_returned}]",
        "pop rdx",
        "pop rax"
    ],
    after: ["mov rax, rdx", "movq xmm0, rdx"],
    {
        host_sp = const offset_of!(StoreContext, host_sp),
        function = const offset_of!(HostContext, function),
        calls = const offset_of!(StoreContext, calls),
        host_called = const offset_of!(RuntimeCalls, host_called),
        host_returned = const offset_of!(RuntimeCalls, host_returned)
    }
}

call_stub! {
    /// As [`call_host`], but tells of the call and of its end. In a stress mode the running
    /// stack is moved too.
    call_host_traced,
    to_host_stack: "mov rsp, rsi",
    call: [
        "push rdi",
        "push rsi",
        "push rdx",
        "mov rsi, rdi",
        "mov rdi, r10",
        "mov rax, [rdi + {calls}]",
        "call [rax + {host_called}]",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "sub rsp, 8",
        "call rdx",
        "push rax", // the outcome
        "push rdx",
        "mov rdi, [rsp + 24]", // the store
        "mov rsi, rax",
        "mov rax, [rdi + {calls}]",
        "call [rax + {host_returned}]",
        "pop rdx",
        "pop rax"
    ],
    after: [],
    {
        calls = const offset_of!(StoreContext, calls),
        host_called = const offset_of!(RuntimeCalls, host_called),
        host_returned = const offset_of!(RuntimeCalls, host_returned)
    }
}

// ---- stopping

/// One instruction for each of the [`PausedRegisters`] at an address, but `rdi`.
macro_rules! all_registers {
    ($one:ident, $base:literal) => {
        concat!(
            $one!("mov", "rax", $base, "0"),
            $one!("mov", "rbx", $base, "8"),
            $one!("mov", "rcx", $base, "16"),
            $one!("mov", "rdx", $base, "24"),
            $one!("mov", "rsi", $base, "32"),
            $one!("mov", "r8", $base, "48"),
            $one!("mov", "r9", $base, "56"),
            $one!("mov", "r10", $base, "64"),
            $one!("mov", "r11", $base, "72"),
            $one!("mov", "r12", $base, "80"),
            $one!("mov", "r13", $base, "88"),
            $one!("mov", "r14", $base, "96"),
            $one!("mov", "r15", $base, "104"),
            $one!("movups", "xmm0", $base, "112"),
            $one!("movups", "xmm1", $base, "128"),
            $one!("movups", "xmm2", $base, "144"),
            $one!("movups", "xmm3", $base, "160"),
            $one!("movups", "xmm4", $base, "176"),
            $one!("movups", "xmm5", $base, "192"),
            $one!("movups", "xmm6", $base, "208"),
            $one!("movups", "xmm7", $base, "224"),
            $one!("movups", "xmm8", $base, "240"),
            $one!("movups", "xmm9", $base, "256"),
            $one!("movups", "xmm10", $base, "272"),
            $one!("movups", "xmm11", $base, "288"),
            $one!("movups", "xmm12", $base, "304"),
            $one!("movups", "xmm13", $base, "320"),
            $one!("movups", "xmm14", $base, "336"),
            $one!("movups", "xmm15", $base, "352"),
        )
    };
}

macro_rules! save_register {
    ($mov:literal, $register:literal, $base:literal, $place:literal) => {
        concat!($mov, " [", $base, " + ", $place, "], ", $register, "\n")
    };
}

macro_rules! load_register {
    ($mov:literal, $register:literal, $base:literal, $place:literal) => {
        concat!($mov, " ", $register, ", [", $base, " + ", $place, "]\n")
    };
}

/// Asks on the host's stack how a function continues that must stop. The store's context is in
/// `rdi`. All registers are preserved, and no word of the running stack is used, since there may
/// be none. The registers lie on the host's stack, so each activation has its own:
///
/// ```text
///   | frames of the host                   |  <- host_sp
///   | PausedRegisters, `rdi` at offset 40  |
///   | the store, one word of padding       |
///   | frame of `paused`                    |
/// ```
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn pause() {
    core::arch::naked_asm!(
        "mov [rdi + {saved_word}], r11",
        "mov r11, [rdi + {stack}]",
        "mov [r11 + {sp}], rsp",
        "mov [r11 + {fp}], rbp",
        "mov rsp, [rdi + {host_sp}]",
        "mov r11, [rdi + {saved_word}]",
        "sub rsp, {registers}",
        all_registers!(save_register, "rsp"),
        "mov [rsp + 40], rdi",
        "mov rsi, rsp",
        "push rdi",
        "sub rsp, 8",
        "mov rax, [rdi + {calls}]",
        "call [rax + {paused}]",
        "add rsp, 8",
        "pop rdi",
        "test rax, rax",
        "jnz 2f",
        "mov r11, [rdi + {stack}]", // it may have moved
        "mov rbp, [r11 + {fp}]",
        "mov r11, [r11 + {sp}]",
        "mov [rdi + {saved_word}], r11",
        all_registers!(load_register, "rsp"),
        "mov rsp, [rdi + {saved_word}]",
        "ret",
        "2:",
        "mov r10, rdi",
        "jmp {leave}",
        calls = const offset_of!(StoreContext, calls),
        paused = const offset_of!(RuntimeCalls, paused),
        leave = sym leave,
        registers = const size_of::<PausedRegisters>(),
        saved_word = const offset_of!(StoreContext, saved_word),
        stack = const offset_of!(StoreContext, stack),
        sp = const offset_of!(ControlBlock, sp),
        fp = const offset_of!(ControlBlock, fp),
        host_sp = const offset_of!(StoreContext, host_sp),
    )
}

/// Where a stack continues that was left in [`pause`]: with a
/// [`PausedFrame`] on top, whose first word was popped.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn continue_paused() {
    core::arch::naked_asm!(
        all_registers!(load_register, "rsp"),
        "mov rdi, [rsp + 40]",
        "add rsp, {fp}",
        "pop rbp",
        "ret",
        fp = const offset_of!(PausedFrame, fp) - offset_of!(PausedFrame, registers),
    )
}

/// Where an interrupted thread continues to get more room for its stack: on the host's stack,
/// where what it was interrupted with lies, of which `rsi` has the address. The store's context
/// is in `rdi`. The registers for floats and vectors are those of the interrupted code.
///
/// ```text
///   | frames of the host                       |  <- host_sp
///   | Saved: registers, fault                  |
///   | xmm0 to xmm15 and what controls them     |
///   | address of Saved, the store              |
///   | frame of `make_room`                     |
/// ```
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn make_room() {
    core::arch::naked_asm!(
        "sub rsp, 512",
        "fxsave64 [rsp]",
        "push rsi",
        "push rdi",
        "mov rax, [rdi + {calls}]",
        "call [rax + {make_room}]",
        "pop rdi",
        "pop rsi",
        "fxrstor64 [rsp]",
        "test rax, rax",
        "jnz 2f",
        "jmp {go_back}",
        "2:",
        "mov r10, rdi",
        "jmp {leave}",
        calls = const offset_of!(StoreContext, calls),
        make_room = const offset_of!(RuntimeCalls, make_room),
        go_back = sym go_back,
        leave = sym leave,
    )
}

/// Faults, so that the handler of signals puts the registers of an interrupted thread back, all
/// of them at once. The address of what it continues with is in `rsi`.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn go_back() {
    core::arch::naked_asm!("ud2")
}

// The registers lie as the stubs write them, after the word that a switch pops.
const _: () = assert!(
    offset_of!(PausedRegisters, vectors) == 112
        && size_of::<PausedRegisters>() == 112 + 256
        && size_of::<PausedRegisters>().is_multiple_of(16)
        && offset_of!(PausedFrame, registers) == size_of::<usize>()
        && offset_of!(PausedFrame, fp) + size_of::<usize>() == size_of::<PausedFrame>()
);

// ---- where stacks begin and end

/// Where a stack starts: calls its function. The stack's block is in `rsi` and the
/// signal in `rdx`, as the code that switches leaves them. It is entered by a jump, and left by one in
/// the end: after a call the processor would expect a return.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn start() {
    core::arch::naked_asm!(
        "mov rdi, [rsi + {function}]",
        "xor ebp, ebp", // ends the chain of frame pointers
        "lea rax, [rip + 2f]",
        "push rax",
        "jmp [rsi + {entry}]",
        "2:",
        "ud2", // it goes back to the parent by itself
        function = const offset_of!(ControlBlock, function),
        entry = const offset_of!(ControlBlock, entry),
    )
}

/// Where a stack continues that has [bound arguments](ropewalk_abi::bound): puts them
/// before the values that came with the switch, and continues where the stack was
/// left. All registers are as the code that switches leaves them; of those that it
/// gives no meaning, this uses some.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn deliver() {
    core::arch::naked_asm!(
        // The first values go into registers, those that have come after the bound ones.
        "cmp qword ptr [rsp + {rest}], {carried} - 1", // both numbers
        "ja 15f",
        "13:", // one value
        "movaps xmm2, xmm1",
        "movaps xmm1, xmm0",
        "movups xmm0, [rsp + {values}]",
        "add rsp, {values} + 16 + {end}",
        "pop r9",
        "jmp r9",
        "15:",
        "mov eax, [rsp + {further}]",
        "inc eax",
        "mov r10d, [rsp + {rest}]",
        "lea r11d, [rax + r10]",
        "cmp r11d, {carried}",
        "ja 4f",
        "14:",
        "cmp eax, 2",
        "jb 13b",
        "ja 3f",
        "movaps xmm2, xmm0",
        "movups xmm1, [rsp + {values}]",
        "movups xmm0, [rsp + {values} + 16]",
        "add rsp, {values} + 2 * 16 + {end}",
        "pop r9",
        "jmp r9",
        "3:",
        "shl rax, 4",
        "movups xmm2, [rsp + rax + {values} - 3 * 16]",
        "movups xmm1, [rsp + rax + {values} - 2 * 16]",
        "movups xmm0, [rsp + rax + {values} - 16]",
        "lea rsp, [rsp + rax + {values} + {end}]",
        "pop r9",
        "jmp r9",
        // Not all fit into registers. The values that have come move up in the transfer
        // area, the last one first. Those in registers are stored even if they have no
        // meaning: there is room.
        "4:",
        "mov r11, [r8 + {transfer}]",
        "mov r9, rax",
        "shl r9, 4", // the bytes of the bound values
        "shl r10, 4",
        "jz 7f",
        "lea rbx, [r11 + r9]",
        "5:",
        "cmp r10, 16 * {carried}",
        "jbe 6f",
        "movups xmm3, [r11 + r10 - 16]",
        "movups [rbx + r10 - 16], xmm3",
        "sub r10, 16",
        "jmp 5b",
        "6:",
        "movups [rbx], xmm0",
        "movups [rbx + 16], xmm1",
        "movups [rbx + 32], xmm2",
        // Those of the bound values that no register takes go before them: four at a
        // time, then one.
        "7:",
        "lea r10, [rsp + r9 + {values}]", // after the first value
        "sub r9, 16 * {carried}",
        "jbe 14b",
        "sub r10, 16 * {carried}",
        "add r11, 16 * {carried}",
        "sub r9, 64",
        "jb 9f",
        "8:",
        "movups xmm0, [r10 - 16]",
        "movups xmm1, [r10 - 32]",
        "movups xmm2, [r10 - 48]",
        "movups xmm3, [r10 - 64]",
        "movups [r11], xmm0",
        "movups [r11 + 16], xmm1",
        "movups [r11 + 32], xmm2",
        "movups [r11 + 48], xmm3",
        "sub r10, 64",
        "add r11, 64",
        "sub r9, 64",
        "jae 8b",
        "9:",
        "add r9, 64",
        "jz 3b",
        "12:",
        "movups xmm0, [r10 - 16]",
        "movups [r11], xmm0",
        "sub r10, 16",
        "add r11, 16",
        "sub r9, 16",
        "jnz 12b",
        "jmp 3b",
        // The switch has popped the first word of the head.
        further = const offset_of!(BoundHead, further) - size_of::<usize>(),
        rest = const offset_of!(BoundHead, rest) - size_of::<usize>(),
        values = const size_of::<BoundHead>() - size_of::<usize>(),
        end = const size_of::<BoundEnd>(),
        transfer = const offset_of!(StoreContext, transfer),
        carried = const CARRIED,
    )
}

/// As [`deliver`], where stacks are checked: the runtime does it.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn deliver_checked() {
    core::arch::naked_asm!(
        "mov r11, [r8 + {transfer}]",
        "movups [r11], xmm0",
        "movups [r11 + 16], xmm1",
        "movups [r11 + 32], xmm2",
        "lea rax, [rsp - 8]", // the switch has popped the first word
        "mov rsp, [r8 + {host_sp}]",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "sub rsp, 8",
        "mov rdi, r8",
        "mov rsi, rax",
        "mov rax, [rdi + {calls}]",
        "call [rax + {deliver_checked}]",
        "add rsp, 8",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "mov rsp, rax",
        "mov r11, [r8 + {transfer}]",
        "movups xmm0, [r11]",
        "movups xmm1, [r11 + 16]",
        "movups xmm2, [r11 + 32]",
        "pop r9",
        "jmp r9",
        host_sp = const offset_of!(StoreContext, host_sp),
        transfer = const offset_of!(StoreContext, transfer),
        calls = const offset_of!(StoreContext, calls),
        deliver_checked = const offset_of!(RuntimeCalls, deliver_checked),
    )
}

/// Where a parked stack continues: has the runtime unpack its frames, and continues
/// where it was left. The stack's block is in `rsi` and the store's context in `r8`, as
/// the code that switches leaves them; all other registers of a switch are kept. There
/// is no stack until the frames are unpacked.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn unpark() {
    core::arch::naked_asm!(
        "mov rsp, [r8 + {host_sp}]",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "sub rsp, 56", // three values, and the stack is aligned to 16 bytes
        "movups [rsp], xmm0",
        "movups [rsp + 16], xmm1",
        "movups [rsp + 32], xmm2",
        "mov rdi, r8",
        "mov rax, [rdi + {calls}]",
        "call [rax + {unpark_running}]",
        "movups xmm0, [rsp]",
        "movups xmm1, [rsp + 16]",
        "movups xmm2, [rsp + 32]",
        "add rsp, 56",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "mov r10, r8",
        "test rax, rax",
        "jnz {leave}",
        "mov rsp, [rsi + {sp}]",
        "mov rbp, [rsi + {fp}]",
        "pop r9",
        "jmp r9",
        host_sp = const offset_of!(StoreContext, host_sp),
        calls = const offset_of!(StoreContext, calls),
        unpark_running = const offset_of!(RuntimeCalls, unpark_running),
        leave = sym leave,
        sp = const offset_of!(ControlBlock, sp),
        fp = const offset_of!(ControlBlock, fp),
    )
}

/// A stub that frees the running stack of the store in `rdi` and continues its
/// parent, with the same registers as after a switch.
macro_rules! finish_stub {
    ($(#[$doc:meta])* $name:ident, $signal:literal) => {
        $(#[$doc])*
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                $signal,
                "mov r8, rdi",
                "mov rdi, [r8 + {stack}]",
                "mov rsi, [rdi + {parent}]",
                "mov rax, [r8 + {free_stacks}]",
                "mov [rdi + {next_free}], rax",
                "mov dword ptr [rdi + {purpose}], {free}", // and no marks
                "mov [r8 + {free_stacks}], rdi",
                "mov [r8 + {stack}], rsi",
                "mov r9, [rsi + {sp}]",
                "mov rbp, [rsi + {fp}]",
                "lea rsp, [r9 + 8]",
                "jmp [r9]",
                stack = const offset_of!(StoreContext, stack),
                free_stacks = const offset_of!(StoreContext, free_stacks),
                parent = const offset_of!(ControlBlock, parent),
                next_free = const offset_of!(ControlBlock, next_free),
                purpose = const offset_of!(ControlBlock, purpose),
                free = const Purpose::Free as u32,
                sp = const offset_of!(ControlBlock, sp),
                fp = const offset_of!(ControlBlock, fp),
            )
        }
    };
}

finish_stub! {
    /// Finishes with the signal that the stack has returned.
    finish, "xor edx, edx"
}

finish_stub! {
    /// Finishes with the signal in `rsi`.
    finish_with, "mov rdx, rsi"
}

/// As [`finish`], but tells of the end first, with the values in the transfer area.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn finish_traced() {
    core::arch::naked_asm!(
        "xor esi, esi",
        "jmp {finish_with_traced}",
        finish_with_traced = sym finish_with_traced,
    )
}

/// As [`finish_with`], but tells of the end first, with the values in the transfer area.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn finish_with_traced() {
    core::arch::naked_asm!(
        "mov rax, [rdi + {transfer}]",
        "movups [rax], xmm0",
        "movups [rax + 16], xmm1",
        "movups [rax + 32], xmm2",
        "mov r11, [rdi + {stack}]",
        "mov [r11 + {sp}], rsp",
        "mov [r11 + {fp}], rbp",
        "mov rsp, [rdi + {host_sp}]",
        "push rdi",
        "push rsi",
        "mov rax, [rdi + {calls}]",
        "call [rax + {finished}]",
        "pop rsi",
        "pop rdi",
        "mov rax, [rdi + {transfer}]",
        "movups xmm0, [rax]",
        "movups xmm1, [rax + 16]",
        "movups xmm2, [rax + 32]",
        "jmp {finish_with}", // which takes the stack of the parent
        transfer = const offset_of!(StoreContext, transfer),
        stack = const offset_of!(StoreContext, stack),
        sp = const offset_of!(ControlBlock, sp),
        fp = const offset_of!(ControlBlock, fp),
        host_sp = const offset_of!(StoreContext, host_sp),
        calls = const offset_of!(StoreContext, calls),
        finished = const offset_of!(RuntimeCalls, finished),
        finish_with = sym finish_with,
    )
}

/// The frame below the first one of a blank stack. Nothing returns to it: what
/// would is found out before.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn ground() {
    core::arch::naked_asm!("ud2")
}

// `deliver` knows how few values travel in registers.
const _: () = assert!(CARRIED == 3);
// The stubs test `rax` for a nonzero `ended` and take `value` from `rdx`.
const _: () = assert!(END < CATCH && CATCH < SUSPEND);
const _: () = assert!(offset_of!(Outcome, ended) == 0 && offset_of!(Outcome, value) == 8);
// They return as much in the same registers.
const _: () = assert!(offset_of!(Left, ended) == 0 && offset_of!(Left, word) == 8);
// The stubs load the store from the first word of any context.
const _: () = assert!(offset_of!(ropewalk_abi::InstanceHeader, store) == 0);
const _: () = assert!(offset_of!(ropewalk_abi::HostContext, store) == 0);
