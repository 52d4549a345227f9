//! The code at the ends of WebAssembly's calling convention, for each type of
//! functions.
//!
//! Two kinds stand between WebAssembly and the host. Both pass values in an array
//! on the host's stack, one place of 16 bytes for each parameter and, afterwards,
//! for each result:
//!
//! * the [entry trampoline](entry_trampoline) of a type runs on a root stack.
//!   It takes arguments out of the array, calls a function of that type and
//!   puts its results into the array;
//! * the [host trampoline](host_trampoline) of a type *is* a function of that
//!   type, in WebAssembly's convention. It puts its arguments into an array
//!   below the host's stack pointer, has the stub call the host function
//!   there, and takes the results out of it. A few words, and one as the
//!   result, stay in registers; if no float is among them, a stub of the runtime takes
//!   the place of the trampoline.
//!
//! The third, the [stack trampoline](stack_trampoline) of a type, is where a new
//! continuation begins. It takes the arguments from where a switch puts them,
//! calls the function, and continues the parent with the results.

use crate::budget::Budget;
use crate::emit::open_function;
use crate::emit::record::{Records, func_ref, host, store};
use crate::emit::transfer::Transfer;
use crate::function::generate;
use crate::pointers::program_value;
use crate::target::Target;
use crate::translate::{clif_type, constant_flags};
use crate::{CompileError, image, signature};
use cranelift_codegen::Context;
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, UserFuncName, Value, types::I64};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use regalloc2::Ctx;
use ropewalk_abi::access::PAGE;
use ropewalk_abi::code::CodeImage;
use ropewalk_abi::signature::{param_places, result_places};
use ropewalk_abi::transfer::transfer_offset;
use ropewalk_abi::{FuncType, RawVal, ValType};

/// Code by which a host calls functions of a type.
pub fn entry_trampoline(target: &Target, ty: &FuncType) -> Result<CodeImage, CompileError> {
    build(target, signature::entry(), 3, |builder, params| {
        let (values, context, code) = (params[0], params[1], params[2]);
        let mut emit = Emit::new(target, builder, context);
        emit.values = values;
        let arguments = emit.load_values(ty.params());
        let results = emit.call(code, ty, &arguments);
        emit.store_values(&results);
        emit.builder.ins().return_(&[]);
    })
}

/// Code by which functions of a type call a host function that is called with an array.
pub fn host_trampoline(target: &Target, ty: &FuncType) -> Result<CodeImage, CompileError> {
    build(target, signature::wasm(ty), 1, |builder, params| {
        let context = params[0];
        let mut emit = Emit::new(target, builder, context);
        let host_sp = emit.get(emit.store, store::HOST_SP);
        let builder = &mut *emit.builder;
        let size = ty.params().len().max(ty.results().len()) * size_of::<RawVal>();
        // Many values could reach beyond the guard of the host's stack, so
        // touch every page on the way.
        for page in 1..=size / PAGE {
            let zero = builder.ins().iconst(I64, 0);
            let offset = -((page * PAGE) as i32);
            builder.ins().store(MemFlagsData::trusted(), zero, host_sp, offset);
        }
        emit.values = builder.ins().iadd_imm_s(host_sp, -(size as i64));
        let places = param_places(ty.params());
        let arguments = emit.transfer().gather(&params[1..], ty.params(), places);
        emit.store_values(&arguments);
        emit.call_host();
        // The call may have been left, and continue in another activation.
        let host_sp = emit.get(emit.store, store::HOST_SP);
        emit.values = emit.builder.ins().iadd_imm_s(host_sp, -(size as i64));
        let results = emit.load_values(ty.results());
        let places = result_places(ty.results());
        let returned = emit.transfer().scatter(&results, ty.results(), places);
        emit.builder.ins().return_(&returned);
    })
}

/// Code that calls a function of a type on a stack of its own: it takes the
/// arguments from registers and the transfer area, puts the results there, and
/// goes back to the parent for good.
pub fn stack_trampoline(target: &Target, ty: &FuncType) -> Result<CodeImage, CompileError> {
    build(target, signature::stack_entry(ty), 1, |builder, params| {
        let (function, carried) = (params[0], &params[1..]);
        let context = builder.ins().load(I64, constant_flags(), function, func_ref::CONTEXT.offset);
        let mut emit = Emit::new(target, builder, context);
        let code = emit.get_constant(function, func_ref::CODE);
        // All arguments are read before any is moved on.
        let arguments = emit.transfer().receive(carried, ty.params());
        let results = emit.call(code, ty, &arguments);
        let mut args = vec![emit.store];
        args.extend(emit.transfer().carry(&results, ty.results()));
        let finish = emit.get_constant(emit.store, store::FINISH);
        let signature = emit.builder.import_signature(signature::finish_stub(ty));
        emit.builder.ins().return_call_indirect(signature, finish, &args);
    })
}

struct Emit<'b, 'f> {
    target: &'b Target,
    builder: &'b mut FunctionBuilder<'f>,
    /// The array of values, if there is one.
    values: Value,
    /// An instance's or host function's context.
    context: Value,
    /// The store's.
    store: Value,
}

impl<'f> Records<'f> for Emit<'_, 'f> {
    fn builder(&mut self) -> &mut FunctionBuilder<'f> {
        self.builder
    }
}

impl<'b, 'f> Emit<'b, 'f> {
    /// Without an array.
    fn new(target: &'b Target, builder: &'b mut FunctionBuilder<'f>, context: Value) -> Self {
        // Any context begins with the store.
        let store = builder.ins().load(I64, constant_flags(), context, host::STORE.offset);
        Emit { target, builder, values: store, context, store }
    }

    fn transfer(&mut self) -> Transfer<'_, 'f> {
        Transfer::of(self.target, self.builder, self.store)
    }

    /// Takes values out of the array.
    fn load_values(&mut self, types: &[ValType]) -> Vec<Value> {
        let load = |(i, ty): (u32, &ValType)| {
            let flags = program_value(MemFlagsData::trusted());
            self.builder.ins().load(clif_type(*ty), flags, self.values, transfer_offset(i))
        };
        (0..).zip(types).map(load).collect()
    }

    /// Puts values into the array.
    fn store_values(&mut self, values: &[Value]) {
        for (i, value) in (0..).zip(values) {
            let flags = MemFlagsData::trusted();
            self.builder.ins().store(flags, *value, self.values, transfer_offset(i));
        }
    }

    /// Calls a function of WebAssembly; returns its results.
    fn call(&mut self, code: Value, ty: &FuncType, arguments: &[Value]) -> Vec<Value> {
        let mut args = vec![self.context];
        let places = param_places(ty.params());
        args.extend(self.transfer().scatter(arguments, ty.params(), places));
        let callee = self.builder.import_signature(signature::wasm(ty));
        let call = self.builder.ins().call_indirect(callee, code, &args);
        let direct = self.builder.inst_results(call).to_vec();
        self.transfer().gather(&direct, ty.results(), result_places(ty.results()))
    }

    fn call_host(&mut self) {
        let function = self.get_constant(self.context, host::FUNCTION);
        let stub = self.get_constant(self.store, store::CALL_HOST);
        let signature = self.builder.import_signature(signature::host_stub());
        let args = [self.context, self.values, function];
        self.builder.ins().call_indirect(signature, stub, &args);
    }
}

/// Code whose first parameters, as many as are said, are pointers of the engine.
fn build(
    target: &Target,
    signature: ir::Signature,
    pointers: usize,
    body: impl FnOnce(&mut FunctionBuilder<'_>, &[Value]),
) -> Result<CodeImage, CompileError> {
    let mut context = Context::new();
    context.func = ir::Function::with_name_signature(UserFuncName::user(1, 0), signature);
    let mut builder_context = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut context.func, &mut builder_context);
    let params = open_function(&mut builder);
    // Values that travel in registers are none.
    let is_word = |value: &&Value| builder.func.dfg.value_type(**value) == I64;
    let pointers: Vec<Value> = params.iter().take(pointers).filter(is_word).copied().collect();
    body(&mut builder, &params);
    builder.finalize(target.isa.frontend_config());
    let (mut regalloc, mut budget) = (Ctx::default(), Budget::new(0, 0, &target.limits));
    let function =
        generate(target, &mut context, &mut regalloc, false, &mut budget, &[], &pointers)?;
    image::link(vec![function], 0, 1)
}
