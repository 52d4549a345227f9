//! Unwind information for native debuggers (DWARF call frame information).
//!
//! The frames of functions are unwound by frame pointer. At a stub the stack changes, so its rules
//! are DWARF expressions, programs for a stack machine that the debugger runs. They read the
//! records of stores:
//!
//! * [Where the host was called](called_host), the frames continue on the running stack of the
//!   activation, at `ControlBlock::sp` and `fp`. The activation is the innermost one above the
//!   stub's frame on the host's stack. Its store is in a word that the stub has pushed.
//! * [Where a stack or root begins](begun), the frames continue on its parent, or on the host's
//!   stack at `host_sp`. The program finds the stack by the address of its frames, among those that
//!   are running or waiting. A debugger can stop anywhere, also where no register leads to the
//!   store, so the program searches all [known stores](crate::store::debugger_list).
//!
//! A program cannot tell where in the stub the debugger stopped, only what `rsp` is. While a user
//! steps through a stub, the backtrace may be wrong for an instruction or two.
//!
//! gdb ends a backtrace where the stack seems to go the wrong way, except at the frame of a signal
//! handler. So the stubs are marked as such, and gdb shows `<signal handler called>`.

use super::stubs;
use gimli::write::{
    Address, CallFrameInstruction, CommonInformationEntry, EhFrame, EndianVec, Expression,
    FrameDescriptionEntry, FrameTable,
};
use gimli::{
    DW_OP_and, DW_OP_drop, DW_OP_dup, DW_OP_eq, DW_OP_ge, DW_OP_lt, DW_OP_over, DW_OP_rot,
    DW_OP_swap, DwOp, Encoding, Format, LittleEndian, Register, X86_64,
};
use ropewalk_abi::{ControlBlock, StoreContext};
use std::mem::offset_of;
use std::ops::Range;

// Debuggers set a breakpoint on this function.
core::arch::global_asm!(
    ".pushsection .text.__jit_debug_register_code, \"ax\", @progbits",
    ".weak __jit_debug_register_code",
    ".type __jit_debug_register_code, @function",
    "__jit_debug_register_code:",
    "ret",
    ".size __jit_debug_register_code, . - __jit_debug_register_code",
    ".popsection",
);

/// Offsets in a function after `push rbp` and after `mov rbp, rsp`.
const PUSHED: u32 = 1;
const LINKED: u32 = 4;

/// `pop rbp`, `ret`. These bytes can also be part of other instructions. Then no instruction begins
/// at the second byte, so the rule there does no harm.
const EPILOGUE: [u8; 2] = [0x5d, 0xc3];

/// An upper bound of a stub's size up to its call.
const LONGEST_STUB: usize = 512;

/// Offsets in the records of higher layers, from which a debugger finds the activations of all
/// stores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreRecords {
    /// The address of the first node in the list of stores.
    pub first: usize,
    /// In a node: the context of its store, and the next node.
    pub node_context: usize,
    pub node_next: usize,
    /// In a store: its newest activation.
    pub newest: usize,
    /// In an activation: the outer activation, with its running stack and its host stack pointer.
    pub outer: usize,
    pub outer_stack: usize,
    pub outer_sp: usize,
}

/// Unwind information for functions, given by the sorted ranges of their code.
pub(crate) fn frames_of(start: usize, code: &[u8], functions: &[Range<usize>]) -> Vec<u8> {
    let mut table = FrameTable::default();
    let cie = table.add_cie(entry(false));
    let address = |offset: usize| Address::Constant((start + offset) as u64);
    for function in functions {
        let mut fde = FrameDescriptionEntry::new(address(function.start), function.len() as u32);
        function_rules(&mut fde, &code[function.clone()]);
        table.add_fde(cie, fde);
    }
    // Code after the functions runs in their frames. It is mostly code of switches.
    let end = functions.last().map_or(0, |function| function.end);
    let rest = code.len() - end;
    if rest > 0 {
        let mut fde = FrameDescriptionEntry::new(address(end), rest as u32);
        in_frame(&mut fde, 0);
        table.add_fde(cie, fde);
    }
    bytes_of(&table)
}

fn function_rules(fde: &mut FrameDescriptionEntry, code: &[u8]) {
    fde.add_instruction(PUSHED, CallFrameInstruction::CfaOffset(16));
    fde.add_instruction(PUSHED, CallFrameInstruction::Offset(X86_64::RBP, -16));
    fde.add_instruction(LINKED, CallFrameInstruction::CfaRegister(X86_64::RBP));
    let ends = code.windows(EPILOGUE.len()).enumerate().filter(|(_, bytes)| *bytes == EPILOGUE);
    for (at, _) in ends.skip_while(|(at, _)| *at < LINKED as usize) {
        let ret = at as u32 + 1;
        fde.add_instruction(ret, CallFrameInstruction::Cfa(X86_64::RSP, 8));
        fde.add_instruction(ret, CallFrameInstruction::SameValue(X86_64::RBP));
        in_frame(fde, ret + 1);
    }
}

/// From an offset on, the frame is in the chain of frame pointers.
fn in_frame(fde: &mut FrameDescriptionEntry, offset: u32) {
    fde.add_instruction(offset, CallFrameInstruction::Cfa(X86_64::RBP, 16));
    fde.add_instruction(offset, CallFrameInstruction::Offset(X86_64::RBP, -16));
}

/// Whether the instruction before an offset may be a call, or the jump of a switch.
pub(crate) fn may_follow_call(code: &[u8], offset: usize) -> bool {
    let before = |count: usize| offset.checked_sub(count).map(|at| code[at]);
    let is_call = |byte: Option<u8>, mode: u8| byte.is_some_and(|byte| byte & 0xf8 == mode);
    // `call` and `jmp` with a displacement; a register; a word in memory with a displacement of
    // zero, one and four bytes.
    matches!(before(5), Some(0xe8 | 0xe9))
        || before(2) == Some(0xff) && (is_call(before(1), 0xd0) || is_call(before(1), 0x10))
        || before(3) == Some(0xff) && is_call(before(2), 0x50)
        || before(6) == Some(0xff) && is_call(before(5), 0x90)
}

/// The rule that all frames share: the return address is on top.
fn entry(changes_stacks: bool) -> CommonInformationEntry {
    let encoding = Encoding { format: Format::Dwarf32, version: 1, address_size: 8 };
    let mut entry = CommonInformationEntry::new(encoding, 1, -8, X86_64::RA);
    entry.add_instruction(CallFrameInstruction::Cfa(X86_64::RSP, 8));
    entry.add_instruction(CallFrameInstruction::Offset(X86_64::RA, -8));
    entry.signal_trampoline = changes_stacks;
    entry
}

fn bytes_of(table: &FrameTable) -> Vec<u8> {
    let mut section = EhFrame(EndianVec::new(LittleEndian));
    table.write_eh_frame(&mut section).expect("all of it can be written");
    let mut bytes = section.0.into_vec();
    bytes.extend([0; 4]); // the end
    bytes
}

/// How to unwind the frame of a stub.
#[derive(Clone, Copy, PartialEq)]
enum Rule {
    CalledHost,
    Begun,
    /// There is no rule. The stub only ends the range of another.
    None,
}

macro_rules! addresses {
    ($($stub:ident),*) => {
        [$(stubs::$stub as *const () as usize),*]
    };
}

fn all_stubs() -> Vec<(usize, Rule)> {
    let called_host =
        addresses![call_builtin, call_host, call_host_watched, pause, finish_with_traced];
    let host_words = [false, true].map(|is_watched| stubs::host_words(is_watched) as usize);
    // A stack can continue at the first instruction of the last two. For a return address,
    // debuggers look up the rule of the byte before it.
    let begun = addresses![
        enter,
        enter_words,
        enter_words_for_float,
        begin_words,
        begin_words_for_float,
        start
    ];
    let continued = addresses![come_back, ground].map(|stub| stub - 1);
    let others = addresses![
        enter_stack,
        enter_landing,
        leave,
        continue_call,
        continue_paused,
        make_room,
        go_back,
        deliver,
        deliver_checked,
        unpark,
        finish,
        finish_with,
        finish_traced
    ];
    let called_host =
        called_host.into_iter().chain(host_words).map(|stub| (stub, Rule::CalledHost));
    let begun = begun.into_iter().chain(continued).map(|stub| (stub, Rule::Begun));
    let others = others.into_iter().map(|stub| (stub, Rule::None));
    let mut all: Vec<_> = called_host.chain(begun).chain(others).collect();
    all.sort_by_key(|(start, _)| *start);
    all
}

pub(crate) fn frames_of_stubs(records: StoreRecords) -> Vec<u8> {
    let mut table = FrameTable::default();
    let cie = table.add_cie(entry(true));
    let stubs = all_stubs();
    for (i, (start, rule)) in stubs.iter().enumerate() {
        let end = start + LONGEST_STUB;
        let end = stubs.get(i + 1).map_or(end, |(next, _)| end.min(*next));
        let mut fde =
            FrameDescriptionEntry::new(Address::Constant(*start as u64), (end - start) as u32);
        let rule_of: fn(StoreRecords, Query) -> Expression = match rule {
            Rule::CalledHost => called_host,
            Rule::Begun => begun,
            Rule::None => continue,
        };
        fde.add_instruction(0, CallFrameInstruction::CfaExpression(rule_of(records, Query::Frame)));
        let registers: &[_] = match rule {
            Rule::CalledHost => &[X86_64::RBP],
            _ => &SAVED_FOR_HOST,
        };
        for register in registers {
            let value = rule_of(records, Query::Register(*register));
            fde.add_instruction(0, CallFrameInstruction::ValExpression(*register, value));
        }
        table.add_fde(cie, fde);
    }
    bytes_of(&table)
}

/// The registers that the entering stubs push. Below is the store, at `StoreContext::host_sp`.
const SAVED_FOR_HOST: [Register; 6] =
    [X86_64::RBP, X86_64::RBX, X86_64::R12, X86_64::R13, X86_64::R14, X86_64::R15];

/// What a program computes about the caller's frame.
#[derive(Clone, Copy)]
enum Query {
    /// The address after its return address.
    Frame,
    Register(Register),
}

/// The target of jumps.
#[derive(Default)]
struct Label {
    jumps: Vec<usize>,
    target: Option<usize>,
}

/// A DWARF program. The comment after each line shows the machine's stack, its top last.
struct Program(Expression, StoreRecords);

impl Program {
    fn op(&mut self, op: DwOp) -> &mut Self {
        self.0.op(op);
        self
    }

    /// Pushes the value of `rsp` in the stub's frame, plus an offset.
    fn rsp(&mut self, offset: i64) -> &mut Self {
        self.0.op_breg(X86_64::RSP, offset);
        self
    }

    /// Replaces the address on top by the address of a field.
    fn field(&mut self, offset: usize) -> &mut Self {
        self.0.op_plus_uconst(offset as u64);
        self
    }

    /// Replaces the address on top by the word there.
    fn load(&mut self) -> &mut Self {
        self.0.op_deref();
        self
    }

    fn pick(&mut self, depth: u8) -> &mut Self {
        self.0.op_pick(depth);
        self
    }

    /// Pushes the first node of the list of stores.
    fn stores(&mut self) -> &mut Self {
        self.0.op_constu(self.1.first as u64);
        self.load()
    }

    fn jump(&mut self, label: &mut Label) {
        let jump = self.0.op_skip();
        self.link(jump, label);
    }

    /// Pops a word, and jumps if it is not zero.
    fn jump_if(&mut self, label: &mut Label) {
        let jump = self.0.op_bra();
        self.link(jump, label);
    }

    fn link(&mut self, jump: usize, label: &mut Label) {
        match label.target {
            Some(target) => self.0.set_target(jump, target),
            None => label.jumps.push(jump),
        }
    }

    fn place(&mut self, label: &mut Label) {
        let target = self.0.next_index();
        label.target = Some(target);
        for jump in label.jumps.drain(..) {
            self.0.set_target(jump, target);
        }
    }

    /// Pushes whether `rsp` is in the stack whose block is on top.
    fn is_on_stack(&mut self) {
        self.op(DW_OP_dup).field(offset_of!(ControlBlock, limit)).load(); // block limit
        self.rsp(0).op(DW_OP_lt); // block above
        self.op(DW_OP_over).field(offset_of!(ControlBlock, high)).load(); // block above high
        self.rsp(0).op(DW_OP_ge).op(DW_OP_and); // block whether
    }

    /// For a stub that was just called, so that its rule does not apply yet.
    fn was_called(&mut self, query: Query) {
        match query {
            Query::Frame => {
                self.rsp(8);
            }
            Query::Register(register) => self.0.op_breg(register, 0),
        }
    }
}

/// The maximum number of words from `rsp` up to the store.
const WORDS_TO_STORE: i64 = 16;

/// The program for a stub that has called the host. Its caller is the function on the stack that
/// was running.
fn called_host(records: StoreRecords, query: Query) -> Expression {
    let mut p = Program(Expression::default(), records);
    let [mut word, mut node, mut is_node, mut found] = [const { LABEL }; 4];
    let [mut outwards, mut is_inner, mut is_that, mut elsewhere, mut end] = [const { LABEL }; 5];

    // The store is the first word above that is one of the known stores.
    p.rsp(0); // place
    p.place(&mut word);
    p.stores(); // place node
    p.place(&mut node);
    p.op(DW_OP_dup).jump_if(&mut is_node);
    p.op(DW_OP_drop).field(8); // next place
    p.op(DW_OP_dup).rsp(8 * WORDS_TO_STORE).op(DW_OP_lt).jump_if(&mut word);
    p.jump(&mut elsewhere);
    p.place(&mut is_node); // place node
    p.op(DW_OP_over).load(); // place node word
    p.op(DW_OP_over).field(records.node_context).load(); // place node word store
    p.op(DW_OP_eq).jump_if(&mut found); // place node
    p.field(records.node_next).load().jump(&mut node);

    // Inner activations, whose frames are below the stub's, belong to the called host function.
    p.place(&mut found); // place node
    p.field(records.node_context).load(); // place store
    p.op(DW_OP_dup).field(offset_of!(StoreContext, stack)).load(); // place store block
    p.op(DW_OP_swap).newest_activation(); // place block activation
    p.place(&mut outwards);
    p.op(DW_OP_dup).rsp(0).op(DW_OP_lt).jump_if(&mut is_inner);
    p.jump(&mut is_that);
    p.place(&mut is_inner); // block activation
    p.op(DW_OP_swap).op(DW_OP_drop).op(DW_OP_dup); // activation activation
    p.field(records.outer_stack).load(); // activation block
    p.op(DW_OP_swap).field(records.outer).load(); // block activation
    p.op(DW_OP_dup).jump_if(&mut outwards);

    p.place(&mut is_that); // block activation
    p.op(DW_OP_drop); // block
    p.is_on_stack();
    p.jump_if(&mut elsewhere);
    p.left_at(query);
    p.jump(&mut end);
    p.place(&mut elsewhere);
    p.was_called(query);
    p.place(&mut end);
    p.0
}

const LABEL: Label = Label { jumps: Vec::new(), target: None };

impl Program {
    /// Replaces the store on top by its newest activation.
    fn newest_activation(&mut self) {
        self.field(offset_of!(StoreContext, store)).load();
        let newest = self.1.newest;
        self.field(newest).load();
    }

    /// The result for a stack that was left, whose block is on top.
    fn left_at(&mut self, query: Query) {
        match query {
            Query::Frame => self.field(offset_of!(ControlBlock, sp)).load().field(8),
            Query::Register(_) => self.field(offset_of!(ControlBlock, fp)).load(),
        };
    }
}

/// The program for a stub where a stack begins. Its caller is on the parent, or the host.
fn begun(records: StoreRecords, query: Query) -> Expression {
    let mut p = Program(Expression::default(), records);
    let [mut store, mut is_store, mut block, mut is_block, mut found] = [const { LABEL }; 5];
    let [mut is_outer, mut is_waiting, mut elsewhere, mut end] = [const { LABEL }; 4];

    p.stores(); // node
    p.place(&mut store);
    p.op(DW_OP_dup).jump_if(&mut is_store);
    p.jump(&mut elsewhere);
    p.place(&mut is_store); // node
    p.op(DW_OP_dup).field(records.node_context).load(); // node store
    p.op(DW_OP_dup).newest_activation(); // node store activation
    p.op(DW_OP_over).field(offset_of!(StoreContext, host_sp)).load(); // node store activation host
    p.pick(2).field(offset_of!(StoreContext, stack)).load();

    p.place(&mut block); // node store activation host block
    p.op(DW_OP_dup).jump_if(&mut is_block);
    p.op(DW_OP_drop).op(DW_OP_drop).op(DW_OP_dup).jump_if(&mut is_outer);
    p.op(DW_OP_drop).op(DW_OP_drop); // node
    p.field(records.node_next).load().jump(&mut store);

    p.place(&mut is_outer); // node store activation
    p.op(DW_OP_dup).field(records.outer_sp).load(); // .. activation host
    p.op(DW_OP_over).field(records.outer_stack).load(); // .. activation host block
    p.op(DW_OP_rot).op(DW_OP_rot); // .. host block activation
    p.field(records.outer).load().op(DW_OP_rot); // .. activation host block
    p.jump(&mut block);

    p.place(&mut is_block); // node store activation host block
    p.is_on_stack();
    p.jump_if(&mut found);
    p.outside();
    p.jump(&mut block);

    p.place(&mut found); // node store activation host block
    if let Query::Frame | Query::Register(X86_64::RBP) = query {
        p.outside(); // .. host outside
        p.op(DW_OP_dup).jump_if(&mut is_waiting);
    }
    p.op(DW_OP_drop); // .. host
    p.left_by_host(query);
    p.jump(&mut end);
    p.place(&mut is_waiting); // .. host outside
    p.left_at(query);
    p.jump(&mut end);
    p.place(&mut elsewhere);
    p.was_called(query);
    p.place(&mut end);
    p.0
}

impl Program {
    /// Replaces the block on top by the stack that waits for it, or null. The store is three words
    /// below.
    fn outside(&mut self) {
        let mut is_base = LABEL;
        let mut end = LABEL;
        self.op(DW_OP_dup).field(offset_of!(ControlBlock, parent)).load(); // block parent
        self.op(DW_OP_dup).pick(5).field(offset_of!(StoreContext, no_parent)).load();
        self.op(DW_OP_eq).jump_if(&mut is_base);
        self.op(DW_OP_swap).op(DW_OP_drop).jump(&mut end);
        self.place(&mut is_base); // block parent
        self.op(DW_OP_drop).field(offset_of!(ControlBlock, extender)).load();
        self.place(&mut end);
    }

    /// The result for the host, whose stack pointer is on top.
    fn left_by_host(&mut self, query: Query) {
        let saved = SAVED_FOR_HOST.len() + 1; // and the store
        match query {
            Query::Frame => self.field(8 * (saved + 1)),
            Query::Register(register) => {
                let place = SAVED_FOR_HOST.iter().position(|saved| *saved == register);
                self.field(8 * (saved - 1 - place.expect("one of them"))).load()
            }
        };
    }
}
