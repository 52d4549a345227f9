//! Thunks: the code in which the stacks of the designs begin.
//!
//! A stack that has not run yet has the address of the stub `start` on top, and after it the
//! arguments with which it was made:
//!
//! ```text
//!   | arguments, 16 bytes each |
//!   | start                    |  <-- ControlBlock::sp
//! ```
//!
//! `start` jumps to the stack's thunk. The thunk takes these arguments, and the values of the
//! switch that continues the stack. It calls the function, and then does what the design requires
//! when the function returns.

use super::operation::OperationCall;
use super::{bag, fiber, first_class, task};
use crate::CompileError;
use crate::codegen::{MachineFunction, generate_helper};
use crate::emit::record::{Records, block, func_ref, host, store};
use crate::emit::transfer::Transfer;
use crate::emit::{Callee, check_room, load_values, signature, trap};
use crate::module::Environment;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{self, InstBuilder, Value};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::FunctionBuilder;
use ropewalk_abi::stack::{NEW_STACK_ARGUMENTS, NEXT_GENERATION, StackKind, kind_bits};
use ropewalk_abi::transfer::transfer_offset;
use ropewalk_abi::{Builtin, FuncType, HeapType, RefType, TrapCode, ValType};

/// The code in which a stack begins, or a function on top of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Thunk {
    Stack(bag::StackThunk),
    Task(task::TaskThunk),
    Fiber(fiber::FiberThunk),
    OnTop(first_class::OnTopThunk),
}

impl Thunk {
    /// The thunk of a call, if its operation has one.
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
    generate_helper(env, number, thunk.signature(), 4, |builder, params| {
        let [function, block, signal, captured, ref carried @ ..] = params[..] else {
            unreachable!("a thunk has four words and then values as parameters")
        };
        thunk.emit(&mut Emit { env, builder, function, block, signal, captured, carried });
    })
}

/// Emits the code of a thunk.
pub(crate) struct Emit<'e, 'b, 'f> {
    pub env: &'e Environment<'e>,
    pub builder: &'b mut FunctionBuilder<'f>,
    /// The function with which the stack was made, if any.
    pub function: Value,
    pub block: Value,
    /// The signal of the switch. On top of another stack, the word of an event.
    pub signal: Value,
    /// On top of another stack, the instance.
    pub captured: Value,
    /// The values that traveled in registers.
    pub carried: &'b [Value],
}

impl<'f> Records<'f> for Emit<'_, '_, 'f> {
    fn builder(&mut self) -> &mut FunctionBuilder<'f> {
        self.builder
    }
}

impl<'e, 'f> Emit<'e, '_, 'f> {
    /// The reference to the stack itself.
    pub fn own_reference(&mut self, kind: StackKind) -> Value {
        let reference = self.get(self.block, block::REFERENCE);
        self.builder.ins().bor_imm_u(reference, kind_bits(kind) as i64)
    }

    /// Continues at a block that no later code branches to.
    pub fn enter(&mut self, block: ir::Block) {
        self.builder.switch_to_block(block);
        self.builder.seal_block(block);
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

    /// A function by reference.
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

    /// The values of the switch that continues the stack.
    pub fn received(&mut self, callee: &Callee<'_>, types: &[ValType]) -> Vec<Value> {
        let carried = self.carried;
        self.transfer(callee.store).receive(carried, types)
    }

    /// The address of the arguments with which the stack was made. It is valid up to the next call:
    /// a stack without room for the frame of the thunk moves before that.
    pub fn arguments(&mut self, count: usize) -> Value {
        check_room(self.builder);
        let top = self.get(self.block, block::TOP);
        let distance = NEW_STACK_ARGUMENTS as i64 - i64::from(transfer_offset(count as u32));
        self.builder.ins().iadd_imm_s(top, distance)
    }

    pub fn values_at(&mut self, place: Value, types: &[ValType]) -> Vec<Value> {
        load_values(self.builder, place, types)
    }

    /// Calls a builtin that does not return.
    pub fn call_last(&mut self, callee: &Callee<'_>, builtin: Builtin, words: &[Value]) {
        let store = callee.store;
        let stub = self.get_constant(store, store::CALL_BUILTIN);
        let table = self.get_constant(store, store::BUILTINS);
        let function = self.load_word(table, (builtin as usize * size_of::<usize>()) as i32);
        let mut args = [&[callee.context], words].concat();
        args.resize(signature::BUILTIN_STUB_PARAMS - 1, callee.context);
        args.push(function);
        let signature = signature::builtin_stub(CallConv::SystemV);
        let signature = self.builder.import_signature(signature);
        self.builder.ins().call_indirect(signature, stub, &args);
        self.trap(TrapCode::Unreachable);
    }

    /// Ends the activation with a trap, because the function of the stack has returned. `event` is
    /// the word of the return event.
    pub fn trap_returned(&mut self, code: TrapCode, callee: &Callee<'_>, event: Option<Value>) {
        let number = self.builder.ins().iconst(I64, code as i64);
        let event = event.unwrap_or_else(|| self.builder.ins().iconst(I64, 0));
        self.call_last(callee, Builtin::function_returned, &[number, callee.code, event]);
    }

    pub fn call(&mut self, callee: &Callee<'_>, values: &[Value]) -> Vec<Value> {
        callee.call(self.env, self.builder, values)
    }

    /// Makes the reference to the running stack stale, frees the stack, and continues its parent
    /// with a signal.
    pub fn finish(&mut self, store: Value, signal: Value, carried: &[Value]) {
        let current = self.get(store, store::STACK);
        let reference = self.get(current, block::REFERENCE);
        let next = self.builder.ins().iadd_imm_s(reference, NEXT_GENERATION as i64);
        self.set(current, block::REFERENCE, next);
        let finish = self.get_constant(store, store::FINISH_WITH);
        let dfg = &self.builder.func.dfg;
        let types: Vec<_> = carried.iter().map(|value| dfg.value_type(*value)).collect();
        let signature = self.builder.import_signature(signature::finish_with_stub(&types));
        let args = [&[store, signal], carried].concat();
        self.builder.ins().return_call_indirect(signature, finish, &args);
    }
}

pub(super) fn function_of<'e>(operand: Option<&ValType>, env: &Environment<'e>) -> &'e FuncType {
    match operand {
        Some(ValType::Ref(RefType { heap: HeapType::Concrete(ty), .. })) => env.info.func_type(*ty),
        _ => unreachable!("the types of reserved imports are checked"),
    }
}
