//! Instruction sequences that several stubs share, and the names of the offsets in them.

/// The body of a stub. The fields of the records that stubs use are operands in all of them:
///
/// | operands | record |
/// | --- | --- |
/// | `host_sp`, `stack`, `transfer`, `calls`, ... | [`StoreContext`](ropewalk_abi::StoreContext) |
/// | `sp`, `fp`, `high`, `parent`, ... | [`ControlBlock`](ropewalk_abi::ControlBlock) |
/// | `paused`, `host_called`, ... | [`RuntimeCalls`](crate::arch::calls::RuntimeCalls) |
///
/// Other operands follow a semicolon.
macro_rules! stub {
    ($($line:expr),* $(,)? $(; $($operand:ident = $kind:ident $value:expr),* $(,)?)?) => {
        core::arch::naked_asm!(
            $($line,)*
            // The assembler requires that each operand is used.
            "/* {host_sp} {stack} {transfer} {calls} {saved_word} {free_stacks} {landing} */",
            "/* {to} {signal} {reference} {array} {results} */",
            "/* {sp} {fp} {high} {parent} {next_free} {purpose} {function} {entry} */",
            "/* {paused} {make_room} {unpark_running} {deliver_checked} */",
            "/* {host_called} {host_returned} {finished} {leaving} */",
            host_sp = const offset_of!(StoreContext, host_sp),
            stack = const offset_of!(StoreContext, stack),
            transfer = const offset_of!(StoreContext, transfer),
            calls = const offset_of!(StoreContext, calls),
            saved_word = const offset_of!(StoreContext, saved_word),
            free_stacks = const offset_of!(StoreContext, free_stacks),
            landing = const offset_of!(StoreContext, landing),
            to = const offset_of!(StoreContext, passage.to),
            signal = const offset_of!(StoreContext, passage.signal),
            reference = const offset_of!(StoreContext, passage.reference),
            array = const offset_of!(StoreContext, left_call.array),
            results = const offset_of!(StoreContext, left_call.results),
            sp = const offset_of!(ControlBlock, sp),
            fp = const offset_of!(ControlBlock, fp),
            high = const offset_of!(ControlBlock, high),
            parent = const offset_of!(ControlBlock, parent),
            next_free = const offset_of!(ControlBlock, next_free),
            purpose = const offset_of!(ControlBlock, purpose),
            function = const offset_of!(ControlBlock, function),
            entry = const offset_of!(ControlBlock, entry),
            paused = const offset_of!(RuntimeCalls, paused),
            make_room = const offset_of!(RuntimeCalls, make_room),
            unpark_running = const offset_of!(RuntimeCalls, unpark_running),
            deliver_checked = const offset_of!(RuntimeCalls, deliver_checked),
            leaving = const offset_of!(RuntimeCalls, leaving),
            host_called = const offset_of!(RuntimeCalls, host_called),
            host_returned = const offset_of!(RuntimeCalls, host_returned),
            finished = const offset_of!(RuntimeCalls, finished),
            $($($operand = $kind $value,)*)?
        )
    };
}

/// Saves the registers that the host's calling convention preserves on the host's stack, and
/// records the stack pointer. The store's context is in `rdi` or the register that is given.
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

/// Restores the registers of [`save_for_host`], and returns from the stub that saved them.
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

/// Pushes registers, executes a sequence, and pops them.
macro_rules! saving {
    ([] $body:expr) => { $body };
    ([$register:literal $($others:literal)*] $body:expr) => {
        concat!(
            concat!("push ", $register, "\n"),
            saving!([$($others)*] $body),
            concat!("pop ", $register, "\n"),
        )
    };
}

/// Stores the values that a switch carries in registers at an address.
macro_rules! store_carried {
    ($place:literal) => {
        concat!(
            concat!("movups [", $place, "], xmm0\n"),
            concat!("movups [", $place, " + 16], xmm1\n"),
            concat!("movups [", $place, " + 32], xmm2\n"),
        )
    };
}

/// Loads the values that a switch carries in registers from an address.
macro_rules! load_carried {
    ($place:literal) => {
        concat!(
            concat!("movups xmm0, [", $place, "]\n"),
            concat!("movups xmm1, [", $place, " + 16]\n"),
            concat!("movups xmm2, [", $place, " + 32]\n"),
        )
    };
}

/// Saves where the running stack is left. Its block is in `r11`.
macro_rules! save_position {
    () => {
        "mov [r11 + {sp}], rsp\nmov [r11 + {fp}], rbp\n"
    };
}

/// Returns to the running stack of the store in `r10`, wherever its memory is by now.
macro_rules! return_to_running {
    () => {
        concat!("mov r11, [r10 + {stack}]\n", "mov rsp, [r11 + {sp}]\n", "mov rbp, [r11 + {fp}]\n",)
    };
}

/// Continues at the handler of the exception in `rdx`, on the running stack of the store in `r10`.
macro_rules! land {
    () => {
        concat!(
            return_to_running!(),
            "mov rax, rdx\n", // a handler gets the exception in rax
            "jmp [r10 + {landing}]",
        )
    };
}

/// Makes the stack in `rsi` the running one, and continues it. The store's context is in `r8`.
macro_rules! continue_stack {
    () => {
        concat!(
            "mov [r8 + {stack}], rsi\n",
            "mov r9, [rsi + {sp}]\n",
            "mov rbp, [rsi + {fp}]\n",
            "lea rsp, [r9 + 8]\n",
            "jmp [r9]",
        )
    };
}

/// Switches from the running stack to the one in `rsi`, with the signal in `rdx`, the reference
/// in `rcx`, and the values in the transfer area. The store's context is in `r8`.
macro_rules! switch {
    () => {
        concat!(
            "mov rdi, [r8 + {stack}]\n",
            "mov rax, [r8 + {transfer}]\n",
            load_carried!("rax"),
            continue_stack!(),
        )
    };
}

/// Calls a function of the runtime. The store's context is in `rdi`.
macro_rules! call_runtime {
    ($call:literal) => {
        concat!("mov rax, [rdi + {calls}]\n", "call [rax + {", $call, "}]\n")
    };
}
