//! Trampolines: the code at the ends of WebAssembly's calling convention, for each function type.
//!
//! Two kinds are between WebAssembly and the host. Both pass values in an array on the host's
//! stack, with a place of 16 bytes for each parameter and, afterwards, for each result:
//!
//! * the [entry trampoline](entry_trampoline) of a type runs on a root stack. It reads arguments
//!   from the array, calls a function of the type, and writes its results to the array;
//! * the [host trampoline](host_trampoline) of a type *is* a function of that type, in
//!   WebAssembly's convention. It writes its arguments to an array below the host's stack pointer,
//!   calls the host function through a stub, and reads the results from the array. Up to four
//!   words, and one as the result, stay in registers: then stubs of the runtime take the place of
//!   both trampolines.
//!
//! The third, the [stack trampoline](stack_trampoline) of a type, is where a new continuation
//! begins. It receives the arguments of a switch, calls the function, and continues the parent with
//! the results.

use crate::CompileError;
use crate::codegen::{generate_helper, image};
use crate::emit::record::{Records, func_ref, host, store};
use crate::emit::transfer::Transfer;
use crate::emit::{Callee, constant_flags, load_values, signature, store_values};
use crate::target::Target;
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, Value, types::I64};
use cranelift_frontend::FunctionBuilder;
use ropewalk_abi::access::PAGE;
use ropewalk_abi::code::CodeImage;
use ropewalk_abi::signature::{param_places, result_places};
use ropewalk_abi::{FuncType, RawVal};

/// Makes the code by which the host calls functions of a type.
pub fn entry_trampoline(target: &Target, ty: &FuncType) -> Result<CodeImage, CompileError> {
    build(target, signature::entry(), 3, |builder, params| {
        let (values, context, code) = (params[0], params[1], params[2]);
        let mut emit = Emit::new(target, builder, context);
        let arguments = load_values(emit.builder, values, ty.params());
        let results = emit.call(code, ty, &arguments);
        store_values(emit.builder, values, &results);
        emit.builder.ins().return_(&[]);
    })
}

/// Makes the code by which functions of a type call a host function with an array.
pub fn host_trampoline(target: &Target, ty: &FuncType) -> Result<CodeImage, CompileError> {
    build(target, signature::wasm(ty), 1, |builder, params| {
        let context = params[0];
        let mut emit = Emit::new(target, builder, context);
        let host_sp = emit.get(emit.store, store::HOST_SP);
        let builder = &mut *emit.builder;
        let size = ty.params().len().max(ty.results().len()) * size_of::<RawVal>();
        // Many values could reach beyond the guard of the host's stack, so every page is touched.
        for page in 1..=size / PAGE {
            let zero = builder.ins().iconst(I64, 0);
            let offset = -((page * PAGE) as i32);
            builder.ins().store(MemFlagsData::trusted(), zero, host_sp, offset);
        }
        let values = builder.ins().iadd_imm_s(host_sp, -(size as i64));
        let places = param_places(ty.params());
        let arguments = emit.transfer().gather(&params[1..], ty.params(), places);
        store_values(emit.builder, values, &arguments);
        emit.call_host(values);
        // A suspended call may continue in another activation.
        let host_sp = emit.get(emit.store, store::HOST_SP);
        let values = emit.builder.ins().iadd_imm_s(host_sp, -(size as i64));
        let results = load_values(emit.builder, values, ty.results());
        let places = result_places(ty.results());
        let returned = emit.transfer().scatter(&results, ty.results(), places);
        emit.builder.ins().return_(&returned);
    })
}

/// Makes the code that calls a function of a type on a new stack. It receives the arguments of the
/// switch, and continues the parent with the results.
pub fn stack_trampoline(target: &Target, ty: &FuncType) -> Result<CodeImage, CompileError> {
    build(target, signature::stack_entry(ty), 1, |builder, params| {
        let (function, carried) = (params[0], &params[1..]);
        let context = builder.ins().load(I64, constant_flags(), function, func_ref::CONTEXT.offset);
        let mut emit = Emit::new(target, builder, context);
        let code = emit.get_constant(function, func_ref::CODE);
        // All arguments are read before any is passed on.
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
    /// The context of an instance or host function.
    context: Value,
    store: Value,
}

impl<'f> Records<'f> for Emit<'_, 'f> {
    fn builder(&mut self) -> &mut FunctionBuilder<'f> {
        self.builder
    }
}

impl<'b, 'f> Emit<'b, 'f> {
    fn new(target: &'b Target, builder: &'b mut FunctionBuilder<'f>, context: Value) -> Self {
        // Any context begins with the store.
        let store = builder.ins().load(I64, constant_flags(), context, host::STORE.offset);
        Emit { target, builder, context, store }
    }

    fn transfer(&mut self) -> Transfer<'_, 'f> {
        Transfer::of(self.target, self.builder, self.store)
    }

    /// Calls a function of WebAssembly; returns its results.
    fn call(&mut self, code: Value, ty: &FuncType, arguments: &[Value]) -> Vec<Value> {
        let callee = Callee { ty, code, context: self.context, store: self.store };
        callee.call(self.target, self.builder, arguments)
    }

    fn call_host(&mut self, values: Value) {
        let function = self.get_constant(self.context, host::FUNCTION);
        let stub = self.get_constant(self.store, store::CALL_HOST);
        let signature = self.builder.import_signature(signature::host_stub());
        let args = [self.context, values, function];
        self.builder.ins().call_indirect(signature, stub, &args);
    }
}

/// Makes code whose words among the first `pointers` parameters are pointers of the engine.
fn build(
    target: &Target,
    signature: ir::Signature,
    pointers: usize,
    body: impl FnOnce(&mut FunctionBuilder<'_>, &[Value]),
) -> Result<CodeImage, CompileError> {
    image::link(vec![generate_helper(target, 0, signature, pointers, body)?], 0, 1)
}
