//! The code in which the stacks of the other designs begin.
//!
//! A stack that has not run yet has a word on top, the address of the stub
//! `start`, and behind it the arguments that it was made with:
//!
//! ```text
//!   | arguments, 16 bytes each |
//!   | start                    |  <-- ControlBlock::sp
//! ```
//!
//! `start` calls the stack's thunk. It takes those arguments and what whoever
//! continues the stack has put into the transfer area, calls the function, and
//! does what the design wants when that returns.

use crate::environment::Environment;
use crate::function::{MachineFunction, generate};
use crate::intrinsic::{FiberOp, FirstClassOp, Intrinsic, StackOp, TaskOp};
use crate::near::continue_below;
use crate::transfer::Transfer;
use crate::translate::{clif_type, constant_flags, find_event, trap};
use crate::{CompileError, signature};
use cranelift_codegen::Context;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, UserFuncName, Value, types::I64};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Switch};
use ropewalk_abi::signature::{param_places, result_places};
use ropewalk_abi::stack::{ClauseKind, NEXT_GENERATION, StackKind, kind_bits};
use ropewalk_abi::transfer::transfer_offset;
use ropewalk_abi::{
    Builtin, ControlBlock, FuncRef, FuncType, HeapType, RefType, StoreContext, TrapCode, ValType,
};
use std::mem::offset_of;

/// Where a stack begins.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Thunk {
    /// A coroutine, made by this import.
    Coroutine(u32),
    /// A task, made by this import.
    Task(u32),
    /// A function that runs on top of a suspended stack.
    Call { function: u32, delivers: bool, extends: bool },
    /// A fiber, made by this import, with a function for each event, and perhaps
    /// the tag of its return event.
    Fiber { import: u32, functions: Vec<u32>, returning: Option<u32> },
}

impl Thunk {
    /// The one of the stacks that a call of a reserved import makes, if it
    /// makes any.
    pub fn of(used: &crate::intrinsic::form::Use) -> Option<Thunk> {
        let import = used.function;
        let functions = used.functions.clone();
        match used.intrinsic {
            Intrinsic::Stack(StackOp::New) => Some(Thunk::Coroutine(import)),
            Intrinsic::Task(TaskOp::New) => Some(Thunk::Task(import)),
            Intrinsic::Fiber(FiberOp::New) => {
                Some(Thunk::Fiber { import, functions, returning: None })
            }
            Intrinsic::Fiber(FiberOp::NewReturning) => {
                let returning = Some(used.catches[0].0);
                Some(Thunk::Fiber { import, functions, returning })
            }
            Intrinsic::FirstClass(op) => Thunk::of_call(op, *functions.first()?),
            _ => None,
        }
    }

    fn of_call(op: FirstClassOp, function: u32) -> Option<Thunk> {
        let (delivers, extends) = match op {
            FirstClassOp::SwitchCall => (true, false),
            FirstClassOp::SwitchCallTrap => (false, false),
            FirstClassOp::Extend => (true, true),
            FirstClassOp::ExtendTrap => (false, true),
            _ => return None,
        };
        Some(Thunk::Call { function, delivers, extends })
    }

    fn signature(&self) -> ir::Signature {
        match self {
            Thunk::Call { .. } => signature::call_thunk(),
            _ => signature::thunk(),
        }
    }
}

/// Generates the code of a thunk.
pub(crate) fn compile(
    env: &Environment<'_>,
    thunk: &Thunk,
    number: u32,
) -> Result<MachineFunction, CompileError> {
    let mut context = Context::new();
    let name = UserFuncName::user(1, number);
    context.func = ir::Function::with_name_signature(name, thunk.signature());
    let mut builder_context = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut context.func, &mut builder_context);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    builder.seal_block(entry);
    let params = builder.block_params(entry).to_vec();
    let [function, block, arguments, signal, ref carried @ ..] = params[..] else {
        unreachable!("a thunk has four words and then values as parameters")
    };
    if let Thunk::Call { function, delivers, extends } = *thunk {
        // In this one they mean something else.
        let (word, instance) = (arguments, signal);
        let mut emit = Emit { env, builder: &mut builder, block, arguments, carried };
        emit.call_on_top(function, instance, delivers.then_some(word), extends);
        builder.finalize(env.isa.frontend_config());
        return generate(env, &mut context, &mut regalloc2::Ctx::default(), number);
    }
    let mut emit = Emit { env, builder: &mut builder, block, arguments, carried };
    match thunk {
        Thunk::Coroutine(import) => emit.coroutine(*import, function),
        Thunk::Task(import) => emit.task(*import, function),
        Thunk::Fiber { import, functions, returning } => {
            emit.fiber(*import, functions, *returning, signal);
        }
        Thunk::Call { .. } => unreachable!("emitted above"),
    }
    builder.finalize(env.isa.frontend_config());
    generate(env, &mut context, &mut regalloc2::Ctx::default(), number)
}

/// The types of a function that is called by reference, and its code.
struct Callee<'t> {
    ty: &'t FuncType,
    code: Value,
    context: Value,
    store: Value,
}

struct Emit<'e, 'b, 'f> {
    env: &'e Environment<'e>,
    builder: &'b mut FunctionBuilder<'f>,
    /// The stack's block.
    block: Value,
    /// The arguments that it was made with.
    arguments: Value,
    /// The values that travelled in registers.
    carried: &'b [Value],
}

impl<'e, 'f> Emit<'e, '_, 'f> {
    fn coroutine(&mut self, import: u32, function: Value) {
        let info = self.env.info;
        let function_type = function_of(info.function_type(import).params().last(), self.env);
        let callee = self.callee(function, function_type);
        let received = self.received(&callee, callee.ty.params());
        self.call(&callee, &received);
        self.trap(TrapCode::CoroutineReturned);
    }

    fn task(&mut self, import: u32, function: Value) {
        let info = self.env.info;
        let import = info.function_type(import);
        let callee = self.callee(function, function_of(import.params().last(), self.env));
        let bound = import.params().len() - 1;
        let middle = callee.ty.params().len() - bound;
        let mut values = vec![self.own_reference(StackKind::Task)];
        values.extend(self.received(&callee, &callee.ty.params()[1..middle]));
        values.extend(self.bound(&callee.ty.params()[middle..]));
        let results = self.call(&callee, &values);
        let carried = self.transfer(callee.store).carry(&results, callee.ty.results());
        let none = self.builder.ins().iconst(I64, 0);
        self.finish(callee.store, none, &carried);
    }

    fn fiber(&mut self, import: u32, functions: &[u32], returning: Option<u32>, signal: Value) {
        let bound = self.env.info.function_type(import).params().len() - functions.len();
        let instance = self.load(self.arguments, transfer_offset(bound as u32) as usize);
        let mut switch = Switch::new();
        let blocks: Vec<_> = functions.iter().map(|_| self.builder.create_block()).collect();
        for (i, block) in blocks.iter().enumerate() {
            switch.set_entry(i as u128 + 1, *block);
        }
        let otherwise = self.builder.create_block();
        switch.emit(self.builder, signal, otherwise);
        for (block, function) in blocks.into_iter().zip(functions) {
            self.builder.switch_to_block(block);
            self.builder.seal_block(block);
            self.fiber_function(*function, bound, instance, returning);
        }
        self.builder.switch_to_block(otherwise);
        self.builder.seal_block(otherwise);
        // Only events that the fiber was made for are delivered to it.
        self.trap(TrapCode::Unreachable);
    }

    /// Calls the function of one event of a fiber.
    fn fiber_function(
        &mut self,
        function: u32,
        bound: usize,
        instance: Value,
        returning: Option<u32>,
    ) {
        let callee = self.callee_of(function, instance);
        let mut values = self.bound(&callee.ty.params()[..bound]);
        values.push(self.own_reference(StackKind::Fiber));
        values.extend(self.received(&callee, &callee.ty.params()[bound + 1..]));
        let results = self.call(&callee, &values);
        let Some(tag) = returning else {
            return self.trap(TrapCode::FiberReturned);
        };
        let carried = self.transfer(callee.store).carry(&results, callee.ty.results());
        let current = self.load(callee.store, offset_of!(StoreContext, stack));
        let parent = self.load(current, offset_of!(ControlBlock, parent));
        let clauses = self.load(parent, offset_of!(ControlBlock, handlers));
        let tag = self.constant(instance, self.env.layout.tag(tag) as usize);
        let word = self.builder.ins().iadd_imm_s(tag, ClauseKind::Event as i64);
        let unhandled = self.builder.create_block();
        self.builder.set_cold_block(unhandled);
        let signal = find_event(self.builder, clauses, word, unhandled);
        self.finish(callee.store, signal, &carried);
        self.builder.switch_to_block(unhandled);
        self.builder.seal_block(unhandled);
        self.trap(TrapCode::UnhandledReturn);
    }

    /// Calls a function on top of a suspended stack, as if the instruction at
    /// which that is suspended had called it; then continues that instruction
    /// with an event.
    fn call_on_top(&mut self, function: u32, instance: Value, event: Option<Value>, extends: bool) {
        let callee = self.callee_of(function, instance);
        let received = self.received(&callee, callee.ty.params());
        let Some(word) = event else {
            self.call(&callee, &received);
            return self.trap(match extends {
                true => TrapCode::RoutReturned,
                false => TrapCode::ReturnedToSuspended,
            });
        };
        // While the function runs, others may wait on this stack, but what waits
        // below stays the same.
        let clauses = self.load(self.block, offset_of!(ControlBlock, handlers));
        let thrown = self.builder.create_block();
        self.builder.set_cold_block(thrown);
        let signal = find_event(self.builder, clauses, word, thrown);
        let results = self.call_started(&callee, &received, extends);
        self.continue_below(&callee, signal, &results);
        self.builder.switch_to_block(thrown);
        self.builder.seal_block(thrown);
        let results = self.call_started(&callee, &received, extends);
        self.transfer(callee.store).put_all(&results, callee.ty.results());
        self.throw_event(&callee, word);
    }

    /// Calls a function; a rout must have started before it returns, since else it
    /// has nothing to return to.
    fn call_started(&mut self, callee: &Callee<'_>, values: &[Value], extends: bool) -> Vec<Value> {
        let results = self.call(callee, values);
        if extends {
            let base = self.base_of_running(callee.store);
            let extender = self.load(base, offset_of!(ControlBlock, extender));
            self.builder.ins().trapnz(extender, trap(TrapCode::RoutReturned));
        }
        results
    }

    /// The base of the running stack.
    fn base_of_running(&mut self, store: Value) -> Value {
        let running = self.load(store, offset_of!(StoreContext, stack));
        let no_parent = self.load(store, offset_of!(StoreContext, no_parent));
        let [search, found] = [self.builder.create_block(), self.builder.create_block()];
        let stack = self.builder.append_block_param(search, I64);
        self.builder.ins().jump(search, &[running.into()]);
        self.builder.switch_to_block(search);
        let parent = self.load(stack, offset_of!(ControlBlock, parent));
        let is_base = self.builder.ins().icmp(IntCC::Equal, parent, no_parent);
        self.builder.ins().brif(is_base, found, &[], search, &[parent.into()]);
        self.builder.seal_block(search);
        self.builder.switch_to_block(found);
        self.builder.seal_block(found);
        stack
    }

    /// Continues the instruction at which the stack was suspended.
    fn continue_below(&mut self, callee: &Callee<'_>, signal: Value, values: &[Value]) {
        let store = callee.store;
        let carried = self.transfer(store).carry(values, callee.ty.results());
        let stack = self.load(store, offset_of!(StoreContext, stack));
        continue_below(self.builder, store, stack, signal, &carried);
    }

    fn type_of(&self, value: Value) -> ir::Type {
        self.builder.func.dfg.value_type(value)
    }

    /// Throws an event where the stack was suspended.
    fn throw_event(&mut self, callee: &Callee<'_>, word: Value) {
        let store = callee.store;
        let stub = self.constant(store, offset_of!(StoreContext, call_builtin));
        let table = self.constant(store, offset_of!(StoreContext, builtins));
        let number = Builtin::event_return as usize * size_of::<usize>();
        let function = self.constant(table, number);
        let mut args = vec![callee.context, word];
        args.resize(signature::BUILTIN_STUB_PARAMS - 1, word);
        args.push(function);
        let signature = signature::builtin_stub(CallConv::SystemV);
        let signature = self.builder.import_signature(signature);
        self.builder.ins().call_indirect(signature, stub, &args);
        self.trap(TrapCode::Unreachable);
    }

    // ---- the parts

    fn load(&mut self, base: Value, offset: usize) -> Value {
        self.builder.ins().load(I64, MemFlagsData::trusted(), base, offset as i32)
    }

    fn constant(&mut self, base: Value, offset: usize) -> Value {
        self.builder.ins().load(I64, constant_flags(), base, offset as i32)
    }

    /// The reference to the stack itself.
    fn own_reference(&mut self, kind: StackKind) -> Value {
        let reference = self.load(self.block, offset_of!(ControlBlock, reference));
        self.builder.ins().bor_imm_u(reference, kind_bits(kind) as i64)
    }

    fn trap(&mut self, code: TrapCode) {
        self.builder.ins().trap(trap(code));
    }

    /// A function of an instance, by index.
    fn callee_of(&mut self, function: u32, instance: Value) -> Callee<'e> {
        let env = self.env;
        let number = env.info.func_refs[function as usize];
        let offset = i64::from(env.layout.func_ref(number));
        let func_ref = self.builder.ins().iadd_imm_s(instance, offset);
        self.callee(func_ref, env.info.function_type(function))
    }

    fn callee<'t>(&mut self, func_ref: Value, ty: &'t FuncType) -> Callee<'t> {
        let code = self.constant(func_ref, offset_of!(FuncRef, code));
        let context = self.constant(func_ref, offset_of!(FuncRef, context));
        // Any context begins with the store.
        let store = self.constant(context, 0);
        Callee { ty, code, context, store }
    }

    fn transfer(&mut self, store: Value) -> Transfer<'_, 'f> {
        Transfer::of(self.env, self.builder, store)
    }

    /// The values with which the stack is continued.
    fn received(&mut self, callee: &Callee<'_>, types: &[ValType]) -> Vec<Value> {
        let carried = self.carried;
        self.transfer(callee.store).receive(carried, types)
    }

    /// The arguments that the stack was made with.
    fn bound(&mut self, types: &[ValType]) -> Vec<Value> {
        self.values_at(self.arguments, types)
    }

    fn values_at(&mut self, place: Value, types: &[ValType]) -> Vec<Value> {
        let flags = MemFlagsData::trusted();
        let value = |(i, ty): (u32, &ValType)| {
            self.builder.ins().load(clif_type(*ty), flags, place, transfer_offset(i))
        };
        (0..).zip(types).map(value).collect()
    }

    /// Calls the function; answers its results.
    fn call(&mut self, callee: &Callee<'_>, values: &[Value]) -> Vec<Value> {
        let Callee { ty, store, .. } = *callee;
        let places = param_places(ty.params());
        let mut args = vec![callee.context];
        args.extend(self.transfer(store).scatter(values, ty.params(), places));
        let signature = self.builder.import_signature(signature::wasm(ty));
        let call = self.builder.ins().call_indirect(signature, callee.code, &args);
        let direct = self.builder.inst_results(call).to_vec();
        self.transfer(store).gather(&direct, ty.results(), result_places(ty.results()))
    }

    /// Makes the reference to the running stack stale, frees the stack and
    /// continues its parent with a signal.
    fn finish(&mut self, store: Value, signal: Value, carried: &[Value]) {
        let current = self.load(store, offset_of!(StoreContext, stack));
        let reference = self.load(current, offset_of!(ControlBlock, reference));
        let next = self.builder.ins().iadd_imm_s(reference, NEXT_GENERATION as i64);
        let offset = offset_of!(ControlBlock, reference) as i32;
        self.builder.ins().store(MemFlagsData::trusted(), next, current, offset);
        let finish = self.constant(store, offset_of!(StoreContext, finish_with));
        let types: Vec<_> = carried.iter().map(|value| self.type_of(*value)).collect();
        let signature = self.builder.import_signature(signature::finish_with_stub(&types));
        let args = [&[store, signal], carried].concat();
        self.builder.ins().return_call_indirect(signature, finish, &args);
    }
}

/// The function type of an operand that is a function.
fn function_of<'e>(operand: Option<&ValType>, env: &Environment<'e>) -> &'e FuncType {
    match operand {
        Some(ValType::Ref(RefType { heap: HeapType::Concrete(ty), .. })) => env.info.func_type(*ty),
        _ => unreachable!("the types of reserved imports are checked"),
    }
}
