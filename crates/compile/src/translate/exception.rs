//! Exceptions.
//!
//! A call inside a `try_table` is a `try_call`: its exception table names, for
//! each clause of the `try_table`s around it from the inside out, the block
//! where such an exception continues. That block gets the exception, takes its
//! values out and branches to the clause's label. Nothing of this is executed
//! unless something is thrown.

use super::call::Callee;
use super::owned::Caught;
use super::{Translator, clif_type, trap};
use crate::pointers::program_value;
use crate::signature;
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
pub(crate) struct Handlers {
    /// Where its clauses continue.
    landings: Vec<Block>,
    /// The clauses that an exception in it can reach, from the inside out: of
    /// several with the same tag the first, and none after one for all.
    reachable: Rc<[Handler]>,
}

#[derive(Clone, Copy)]
struct Handler {
    /// The tag, or none for all exceptions.
    tag: Option<u32>,
    /// Where it continues; its parameter is the exception.
    landing: Block,
    /// The number of what it catches, by which the runtime knows it.
    number: u32,
}

const EXN: ValType = ValType::Ref(RefType::EXNREF);

impl Translator<'_> {
    /// Makes the blocks where exceptions continue, and continues behind them. The
    /// topmost operands are those of the body, and not there any more when one does.
    pub(crate) fn open_handlers(&mut self, catches: &[Catch], params: usize) {
        let body = self.builder.create_block();
        self.jump(body, &[]);
        let operands = self.stack.split_off(self.stack.len() - params);
        let known = self.known();
        let handlers = catches.iter().map(|catch| self.landing(catch)).collect();
        self.set_known(known);
        self.stack.extend(operands);
        self.push_handlers(handlers);
        self.enter_sealed(body);
    }

    /// After the end of a `try_table` nothing leads to its handlers any more.
    pub(crate) fn close_handlers(&mut self) {
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
        self.find_fuel();
        self.find_running();
        let number = self.caught(tag, 0);
        let height = self.stack.len();
        if let Some(tag) = tag {
            self.push_values_of(exception, tag);
        }
        if with_reference {
            self.push(exception);
        }
        self.find_running();
        self.branch_to(label);
        self.stack.truncate(height);
        Handler { tag, landing, number }
    }

    /// A number for a handler. Of the operands, the topmost ones are not there any more
    /// when an exception continues there.
    fn caught(&mut self, tag: Option<u32>, topmost: usize) -> u32 {
        let kept = self.owned_below(topmost);
        self.caught.push(Caught { tag, kept });
        self.caught.len() as u32 - 1
    }

    /// Makes a block where any exception continues that what follows throws; the
    /// block's parameter is the exception. The topmost operands are not there any more
    /// when one does.
    pub(crate) fn open_cleanup(&mut self, topmost: usize) -> Block {
        let landing = self.builder.create_block();
        self.builder.set_cold_block(landing);
        let exception = self.builder.append_block_param(landing, I64);
        self.declare(exception, EXN);
        let number = self.caught(None, topmost);
        self.push_handlers(vec![Handler { tag: None, landing, number }]);
        landing
    }

    /// What follows no longer leads there.
    pub(crate) fn close_cleanup(&mut self) {
        self.handlers.pop().expect("opened before");
    }

    fn push_values_of(&mut self, exception: Value, tag: u32) {
        let env = self.env;
        let ty = env.info.tag_type(tag);
        let layout = self.exception_layout(tag);
        for (&ty, &offset) in ty.params().iter().zip(&layout.offsets) {
            let flags = program_value(MemFlagsData::new().with_notrap());
            let value = self.builder.ins().load(clif_type(ty), flags, exception, offset as i32);
            let value = self.deliver_stack(value, ty);
            self.push_typed(value, ty);
        }
    }

    fn exception_layout(&self, tag: u32) -> ObjectLayout {
        self.env.objects[self.env.info.tags[tag as usize] as usize].clone()
    }

    /// The exception table of a call that returns to a block whose parameters
    /// are the results.
    pub(crate) fn exception_table(&mut self, signature: SigRef, next: Block) -> ExceptionTable {
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

    /// Emits something as if no `try_table` were around it.
    pub(crate) fn without_handlers(&mut self, emit: impl FnOnce(&mut Self)) {
        let handlers = std::mem::take(&mut self.handlers);
        emit(self);
        self.handlers = handlers;
    }

    pub fn throw(&mut self, tag: u32) {
        let object = self.new_exception(tag);
        self.throw_object(object);
    }

    /// A new exception with the topmost operands as its values.
    pub(crate) fn new_exception(&mut self, tag: u32) -> Value {
        let env = self.env;
        let ty = env.info.tag_type(tag);
        let layout = self.exception_layout(tag);
        let values = self.stack.split_off(self.stack.len() - ty.params().len());
        let object = self.allocate(env.info.tags[tag as usize], layout.size);
        let identity = self.load_constant(self.context, env.layout.tag(tag));
        let flags = MemFlagsData::new().with_notrap();
        self.builder.ins().store(flags, identity, object, EXCEPTION_TAG as i32);
        for (value, offset) in values.into_iter().zip(layout.offsets) {
            self.builder.ins().store(flags, value, object, offset as i32);
        }
        object
    }

    pub fn throw_ref(&mut self) {
        let exception = self.pop();
        self.builder.ins().trapz(exception, trap(TrapCode::NullExceptionReference));
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
            true => self.plain_call(Callee::Indirect(signature, stub), &args),
            false => self.guarded_call(Callee::Indirect(signature, stub), &args),
        };
        // The stub does not return here.
        self.builder.ins().trap(trap(TrapCode::Unreachable));
    }
}
