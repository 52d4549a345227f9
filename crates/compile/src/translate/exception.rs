//! Exceptions.
//!
//! A call inside a `try_table` is a `try_call`. Its exception table names a landing block for each
//! clause of the `try_table`s around it, from the inside out. The landing block gets the exception,
//! reads its values and branches to the label of the clause. None of this is executed unless an
//! exception is thrown.

use super::Translator;
use super::call::CallTarget;
use crate::codegen::stack_map::Caught;
use crate::emit::{clif_type, program_value, signature, trap};
use cranelift_codegen::ir::{
    Block, BlockArg, BlockCall, ExceptionTable, ExceptionTableData, ExceptionTableItem,
    ExceptionTag, InstBuilder, MemFlagsData, SigRef, Value, types::*,
};
use cranelift_codegen::isa::CallConv;
use ropewalk_abi::heap::{EXCEPTION_TAG, ObjectLayout};
use ropewalk_abi::{Builtin, RefType, TrapCode, ValType};
use std::collections::HashSet;
use std::rc::Rc;
use wasmparser::Catch;

/// The handlers of a `try_table`.
pub(super) struct Handlers {
    landings: Vec<Block>,
    /// The clauses that an exception can reach, from the inside out: the first for each tag, and
    /// none after a clause for all exceptions.
    reachable: Rc<[Handler]>,
}

#[derive(Clone, Copy)]
struct Handler {
    /// The tag, or none for all exceptions.
    tag: Option<u32>,
    /// The landing block, whose parameter is the exception.
    landing: Block,
    /// The number of the handler in the function.
    number: u32,
}

const EXN: ValType = ValType::Ref(RefType::EXNREF);

impl Translator<'_> {
    /// Makes the landing blocks of a `try_table`, and continues after them. The topmost operands
    /// belong to the body, and are gone when an exception lands.
    pub(super) fn open_handlers(&mut self, catches: &[Catch], params: usize) {
        let body = self.builder.create_block();
        self.jump(body, &[]);
        let operands = self.stack.split_off(self.stack.len() - params);
        let cached = self.cached();
        let handlers = catches.iter().map(|catch| self.landing(catch)).collect();
        self.set_cached(cached);
        self.stack.extend(operands);
        self.push_handlers(handlers);
        self.enter_sealed(body);
    }

    /// Ends a `try_table`: later code does not reach its handlers.
    pub(super) fn close_handlers(&mut self) {
        let Handlers { landings, .. } = self.handlers.pop().expect("opened with the block");
        landings.into_iter().for_each(|landing| self.builder.seal_block(landing));
    }

    fn push_handlers(&mut self, handlers: Vec<Handler>) {
        let landings = handlers.iter().map(|handler| handler.landing).collect();
        let around = self.handlers.last().map_or(&[][..], |handlers| &handlers.reachable);
        let mut tags = HashSet::new();
        let all = handlers.iter().chain(around).copied();
        let reachable = all.filter(|handler| !tags.contains(&None) && tags.insert(handler.tag));
        let reachable = reachable.collect();
        self.handlers.push(Handlers { landings, reachable });
    }

    fn landing(&mut self, catch: &Catch) -> Handler {
        let (tag, label, with_reference) = match *catch {
            Catch::One { tag, label } => (Some(tag), label, false),
            Catch::OneRef { tag, label } => (Some(tag), label, true),
            Catch::All { label } => (None, label, false),
            Catch::AllRef { label } => (None, label, true),
        };
        let landing = self.builder.create_block();
        self.builder.set_cold_block(landing);
        let exception = self.builder.append_block_param(landing, I64);
        self.declare(exception, EXN);
        self.builder.switch_to_block(landing);
        self.reload_fuel();
        self.reload_at_landing();
        let number = self.caught(tag, 0);
        let height = self.stack.len();
        if let Some(tag) = tag {
            self.push_values_of(exception, tag);
        }
        if with_reference {
            self.push(exception);
        }
        self.reload_at_landing();
        self.branch_to(label);
        self.stack.truncate(height);
        Handler { tag, landing, number }
    }

    /// Numbers a handler. The topmost operands are gone when an exception lands.
    fn caught(&mut self, tag: Option<u32>, topmost: usize) -> u32 {
        let kept = self.owned_below(topmost);
        self.caught.push(Caught { tag, kept });
        self.caught.len() as u32 - 1
    }

    /// Makes a landing block for every exception that the following code throws. Its parameter is
    /// the exception. The topmost operands are gone when an exception lands.
    pub(crate) fn open_cleanup(&mut self, topmost: usize) -> Block {
        let landing = self.builder.create_block();
        self.builder.set_cold_block(landing);
        let exception = self.builder.append_block_param(landing, I64);
        self.declare(exception, EXN);
        let number = self.caught(None, topmost);
        self.push_handlers(vec![Handler { tag: None, landing, number }]);
        landing
    }

    /// Ends the code that [`open_cleanup`](Self::open_cleanup) guards.
    pub(crate) fn close_cleanup(&mut self) {
        self.handlers.pop().expect("opened before");
    }

    fn push_values_of(&mut self, exception: Value, tag: u32) {
        let env = self.env;
        let ty = env.info.tag_type(tag);
        let layout = self.exception_layout(tag);
        for (&ty, &offset) in ty.params().iter().zip(&layout.offsets) {
            let flags = program_value(MemFlagsData::new().with_notrap());
            let value = self.ins().load(clif_type(ty), flags, exception, offset as i32);
            let value = self.take_from_exception(value, ty);
            self.push_typed(value, ty);
        }
    }

    fn exception_layout(&self, tag: u32) -> ObjectLayout {
        self.env.objects[self.env.info.tags[tag as usize] as usize].clone()
    }

    /// The exception table of a call that returns to a block whose parameters are the results.
    pub(super) fn exception_table(&mut self, signature: SigRef, next: Block) -> ExceptionTable {
        let dfg = &mut self.builder.func.dfg;
        let results = dfg.signatures[signature].returns.len();
        let returned = (0..results as u32).map(BlockArg::TryCallRet);
        let returned = BlockCall::new(next, returned, &mut dfg.value_lists);
        let mut items = Vec::new();
        if !self.handlers.is_empty() {
            items.push(ExceptionTableItem::Context(self.context));
        }
        let handlers = self.handlers.last().map_or(&[][..], |handlers| &handlers.reachable);
        for handler in handlers {
            let thrown = [BlockArg::TryCallExn(0)];
            let target = BlockCall::new(handler.landing, thrown, &mut dfg.value_lists);
            let number = ExceptionTag::from_u32(handler.number);
            items.push(ExceptionTableItem::Tag(number, target));
        }
        let table = ExceptionTableData::new(signature, returned, items);
        dfg.exception_tables.push(table)
    }

    /// Emits code as if no `try_table` were around it.
    pub(crate) fn without_handlers(&mut self, emit: impl FnOnce(&mut Self)) {
        let handlers = std::mem::take(&mut self.handlers);
        emit(self);
        self.handlers = handlers;
    }

    pub(super) fn throw(&mut self, tag: u32) {
        let object = self.new_exception(tag);
        self.throw_object(object);
    }

    /// Makes a new exception with the topmost operands as its values.
    pub(crate) fn new_exception(&mut self, tag: u32) -> Value {
        let env = self.env;
        let ty = env.info.tag_type(tag);
        let layout = self.exception_layout(tag);
        let values = self.stack.split_off(self.stack.len() - ty.params().len());
        let object = self.allocate(env.info.tags[tag as usize], layout.size);
        let identity = self.load_constant(self.context, env.layout.tag(tag));
        let flags = MemFlagsData::new().with_notrap();
        self.ins().store(flags, identity, object, EXCEPTION_TAG as i32);
        for (value, offset) in values.into_iter().zip(layout.offsets) {
            self.ins().store(flags, value, object, offset as i32);
        }
        object
    }

    pub(super) fn throw_ref(&mut self) {
        let exception = self.pop();
        self.ins().trapz(exception, trap(TrapCode::NullExceptionReference));
        self.throw_object(exception);
    }

    fn throw_object(&mut self, exception: Value) {
        self.throw_again(exception);
        self.set_unreachable();
    }

    /// Throws an exception, and ends the current block.
    pub(crate) fn throw_again(&mut self, exception: Value) {
        let (stub, args) = self.builtin_call(Builtin::throw, &[exception]);
        let signature = signature::builtin_stub(CallConv::Tail);
        let signature = self.builder.import_signature(signature);
        match self.handlers.is_empty() {
            true => self.plain_call(CallTarget::Indirect(signature, stub), &args),
            false => self.guarded_call(CallTarget::Indirect(signature, stub), &args),
        };
        // The stub does not return.
        self.ins().trap(trap(TrapCode::Unreachable));
    }
}
