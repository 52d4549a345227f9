//! The code in which the stacks of the other designs begin.
//!
//! A stack that has not run yet has a word on top, the address of the stub
//! `start`, and after it the arguments that it was made with:
//!
//! ```text
//!   | arguments, 16 bytes each |
//!   | start                    |  <-- ControlBlock::sp
//! ```
//!
//! `start` jumps to the stack's thunk. It takes those arguments, and the values that
//! travelled in registers and in the transfer area from whoever continues the stack,
//! calls the function, and does what the design wants when that returns.

use super::call::OperationCall;
use super::{bag, fiber, first_class, task};
use crate::budget::Budget;
use crate::emit::record::{Records, block, func_ref, host, store};
use crate::emit::transfer::Transfer;
use crate::emit::{check_room, open_function};
use crate::environment::Environment;
use crate::function::{MachineFunction, generate};
use crate::pointers::program_value;
use crate::translate::{clif_type, trap};
use crate::{CompileError, signature};
use cranelift_codegen::Context;
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, UserFuncName, Value};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use regalloc2::Ctx;
use ropewalk_abi::signature::{param_places, result_places};
use ropewalk_abi::stack::{NEW_STACK_ARGUMENTS, NEXT_GENERATION, StackKind, kind_bits};
use ropewalk_abi::transfer::transfer_offset;
use ropewalk_abi::{FuncType, HeapType, RefType, TrapCode, ValType};

/// Where a stack begins, or a function that runs on top of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Thunk {
    Stack(bag::StackThunk),
    Task(task::TaskThunk),
    Fiber(fiber::FiberThunk),
    OnTop(first_class::OnTopThunk),
}

impl Thunk {
    /// The one that a call needs, if it needs one.
    pub fn of(call: &OperationCall) -> Option<Thunk> {
        Some(call.operation.thunk?(call))
    }

    fn signature(&self) -> ir::Signature {
        match self {
            Thunk::OnTop(_) => signature::on_top_thunk(),
            _ => signature::thunk(),
        }
    }

    fn emit(&self, emit: &mut Emit<'_, '_, '_>) {
        match self {
            Thunk::Stack(thunk) => thunk.emit(emit),
            Thunk::Task(thunk) => thunk.emit(emit),
            Thunk::Fiber(thunk) => thunk.emit(emit),
            Thunk::OnTop(thunk) => thunk.emit(emit),
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
    let params = open_function(&mut builder);
    let [function, block, signal, captured, ref carried @ ..] = params[..] else {
        unreachable!("a thunk has four words and then values as parameters")
    };
    let builder_ref = &mut builder;
    let mut emit = Emit { env, builder: builder_ref, function, block, signal, captured, carried };
    thunk.emit(&mut emit);
    builder.finalize(env.isa.frontend_config());
    let pointers = [function, block, signal, captured];
    let (mut regalloc, mut budget) = (Ctx::default(), Budget::new(number, 0, &env.limits));
    generate(env, &mut context, &mut regalloc, false, &mut budget, &[], &pointers)
}

/// The types of a function that is called by reference, and its code.
pub(crate) struct Callee<'t> {
    pub ty: &'t FuncType,
    pub code: Value,
    pub context: Value,
    pub store: Value,
}

/// Emits the code of a thunk.
pub(crate) struct Emit<'e, 'b, 'f> {
    pub env: &'e Environment<'e>,
    pub builder: &'b mut FunctionBuilder<'f>,
    /// The function that the stack was made with, if any.
    pub function: Value,
    /// The stack's block.
    pub block: Value,
    /// The signal that the stack is continued with. On top of another stack, the word
    /// of an event.
    pub signal: Value,
    /// On top of another stack, the instance.
    pub captured: Value,
    /// The values that travelled in registers.
    pub carried: &'b [Value],
}

impl<'f> Records<'f> for Emit<'_, '_, 'f> {
    fn builder(&mut self) -> &mut FunctionBuilder<'f> {
        self.builder
    }
}

impl<'e, 'f> Emit<'e, '_, 'f> {
    pub fn type_of(&self, value: Value) -> ir::Type {
        self.builder.func.dfg.value_type(value)
    }

    /// The reference to the stack itself.
    pub fn own_reference(&mut self, kind: StackKind) -> Value {
        let reference = self.get(self.block, block::REFERENCE);
        self.builder.ins().bor_imm_u(reference, kind_bits(kind) as i64)
    }

    pub fn trap(&mut self, code: TrapCode) {
        self.builder.ins().trap(trap(code));
    }

    /// A function of an instance, by index.
    pub fn callee_of(&mut self, function: u32, instance: Value) -> Callee<'e> {
        let env = self.env;
        let number = env.info.func_refs[function as usize];
        let offset = i64::from(env.layout.func_ref(number));
        let func_ref = self.builder.ins().iadd_imm_s(instance, offset);
        self.callee(func_ref, env.info.function_type(function))
    }

    pub fn callee<'t>(&mut self, func_ref: Value, ty: &'t FuncType) -> Callee<'t> {
        let code = self.get_constant(func_ref, func_ref::CODE);
        let context = self.get_constant(func_ref, func_ref::CONTEXT);
        // Any context begins with the store.
        let store = self.get_constant(context, host::STORE);
        Callee { ty, code, context, store }
    }

    pub fn transfer(&mut self, store: Value) -> Transfer<'_, 'f> {
        Transfer::of(self.env, self.builder, store)
    }

    /// The values with which the stack is continued.
    pub fn received(&mut self, callee: &Callee<'_>, types: &[ValType]) -> Vec<Value> {
        let carried = self.carried;
        self.transfer(callee.store).receive(carried, types)
    }

    /// Where the arguments lie that the stack was made with, up to the next call: a
    /// stack that has no room for the frame of the thunk moves before that.
    pub fn arguments(&mut self, count: usize) -> Value {
        check_room(self.builder);
        let top = self.get(self.block, block::TOP);
        let distance = NEW_STACK_ARGUMENTS as i64 - i64::from(transfer_offset(count as u32));
        self.builder.ins().iadd_imm_s(top, distance)
    }

    pub fn values_at(&mut self, place: Value, types: &[ValType]) -> Vec<Value> {
        let flags = program_value(MemFlagsData::trusted());
        let value = |(i, ty): (u32, &ValType)| {
            self.builder.ins().load(clif_type(*ty), flags, place, transfer_offset(i))
        };
        (0..).zip(types).map(value).collect()
    }

    /// Calls the function; returns its results.
    pub fn call(&mut self, callee: &Callee<'_>, values: &[Value]) -> Vec<Value> {
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
    pub fn finish(&mut self, store: Value, signal: Value, carried: &[Value]) {
        let current = self.get(store, store::STACK);
        let reference = self.get(current, block::REFERENCE);
        let next = self.builder.ins().iadd_imm_s(reference, NEXT_GENERATION as i64);
        self.set(current, block::REFERENCE, next);
        let finish = self.get_constant(store, store::FINISH_WITH);
        let types: Vec<_> = carried.iter().map(|value| self.type_of(*value)).collect();
        let signature = self.builder.import_signature(signature::finish_with_stub(&types));
        let args = [&[store, signal], carried].concat();
        self.builder.ins().return_call_indirect(signature, finish, &args);
    }
}

/// The function type of an operand that is a function.
pub(super) fn function_of<'e>(operand: Option<&ValType>, env: &Environment<'e>) -> &'e FuncType {
    match operand {
        Some(ValType::Ref(RefType { heap: HeapType::Concrete(ty), .. })) => env.info.func_type(*ty),
        _ => unreachable!("the types of reserved imports are checked"),
    }
}
