//! The code between WebAssembly's calling convention and the host's.
//!
//! Both directions pass values in an array on the host's stack, one place of
//! 16 bytes for each parameter and, afterwards, for each result:
//!
//! * the [entry trampoline](entry_trampoline) of a type runs on a root stack.
//!   It takes arguments out of the array, calls a function of that type and
//!   puts its results into the array;
//! * the [host trampoline](host_trampoline) of a type *is* a function of that
//!   type, in WebAssembly's convention. It puts its arguments into an array
//!   below the host's stack pointer, has the stub call the host function
//!   there, and takes the results out of it. A few words, and one as the
//!   result, stay in registers.

use crate::carry::{CARRIED, from_carrier, to_carrier};
use crate::function::generate;
use crate::target::Target;
use crate::translate::{clif_type, constant_flags, transfer_offset};
use crate::{CompileError, image, signature};
use cranelift_codegen::Context;
use cranelift_codegen::ir::{
    self, InstBuilder, MemFlagsData, UserFuncName, Value,
    types::{F32, F64, I32, I64},
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use ropewalk_abi::code::CodeImage;
use ropewalk_abi::signature::{HOST_WORDS, Place, host_in_registers, param_places, result_places};
use ropewalk_abi::{FuncRef, FuncType, HostContext, RawVal, StoreContext};
use std::mem::{offset_of, size_of};

/// The size of a page of the machine.
const PAGE: usize = 4096;

/// Code by which a host calls functions of a type.
pub fn entry_trampoline(target: &Target, ty: &FuncType) -> Result<CodeImage, CompileError> {
    build(target, signature::entry(), |builder, params| {
        let (values, context, code) = (params[0], params[1], params[2]);
        // Any context begins with the store.
        let mut emit = Emit { builder, values, context };
        let mut args = vec![context];
        for (i, (&ty, place)) in ty.params().iter().zip(param_places(ty.params())).enumerate() {
            let value = emit.load_value(i, clif_type(ty));
            emit.put(place, value, &mut args);
        }
        let callee = emit.builder.import_signature(signature::wasm(ty));
        let call = emit.builder.ins().call_indirect(callee, code, &args);
        let mut direct = emit.builder.inst_results(call).to_vec().into_iter();
        for (i, (&ty, place)) in ty.results().iter().zip(result_places(ty.results())).enumerate() {
            let value = emit.take(place, clif_type(ty), &mut direct);
            emit.store_value(i, value);
        }
        emit.builder.ins().return_(&[]);
    })
}

/// Code by which functions of a type call a host function.
pub fn host_trampoline(target: &Target, ty: &FuncType) -> Result<CodeImage, CompileError> {
    match host_in_registers(ty) {
        true => register_host_trampoline(target, ty),
        false => array_host_trampoline(target, ty),
    }
}

/// The words go through the stub for builtins, which takes as many.
fn register_host_trampoline(target: &Target, ty: &FuncType) -> Result<CodeImage, CompileError> {
    build(target, signature::wasm(ty), |builder, params| {
        let context = params[0];
        let load = |builder: &mut FunctionBuilder<'_>, base, offset: usize| {
            builder.ins().load(I64, constant_flags(), base, offset as i32)
        };
        let store = load(builder, context, offset_of!(HostContext, store));
        let stub = load(builder, store, offset_of!(StoreContext, call_builtin));
        let function = load(builder, context, offset_of!(HostContext, function));
        let mut args = vec![context];
        args.extend(params[1..].iter().map(|value| to_word(builder, *value)));
        args.resize(1 + HOST_WORDS, context);
        args.push(function);
        let signature = signature::builtin_stub(CallConv::SystemV);
        let signature = builder.import_signature(signature);
        let call = builder.ins().call_indirect(signature, stub, &args);
        let word = builder.inst_results(call)[0];
        let results = ty.results().iter();
        let results: Vec<_> = results.map(|ty| from_word(builder, word, clif_type(*ty))).collect();
        builder.ins().return_(&results);
    })
}

/// A value as a word; what is above its bits is zero.
fn to_word(builder: &mut FunctionBuilder<'_>, value: Value) -> Value {
    let bits = MemFlagsData::new();
    match builder.func.dfg.value_type(value) {
        I32 => builder.ins().uextend(I64, value),
        F32 => {
            let value = builder.ins().bitcast(I32, bits, value);
            builder.ins().uextend(I64, value)
        }
        F64 => builder.ins().bitcast(I64, bits, value),
        _ => value,
    }
}

/// The value that a word is.
fn from_word(builder: &mut FunctionBuilder<'_>, word: Value, ty: ir::Type) -> Value {
    let bits = MemFlagsData::new();
    match ty {
        I32 => builder.ins().ireduce(I32, word),
        F32 => {
            let value = builder.ins().ireduce(I32, word);
            builder.ins().bitcast(F32, bits, value)
        }
        F64 => builder.ins().bitcast(F64, bits, word),
        _ => word,
    }
}

fn array_host_trampoline(target: &Target, ty: &FuncType) -> Result<CodeImage, CompileError> {
    build(target, signature::wasm(ty), |builder, params| {
        let context = params[0];
        let mut direct = params[1..].iter().copied();
        let store = builder.ins().load(
            I64,
            constant_flags(),
            context,
            offset_of!(HostContext, store) as i32,
        );
        let host_sp = builder.ins().load(
            I64,
            MemFlagsData::trusted(),
            store,
            offset_of!(StoreContext, host_sp) as i32,
        );
        let size = ty.params().len().max(ty.results().len()) * size_of::<RawVal>();
        // Many values could reach beyond the guard of the host's stack, so
        // touch every page on the way.
        for page in 1..=size / PAGE {
            let zero = builder.ins().iconst(I64, 0);
            let offset = -((page * PAGE) as i32);
            builder.ins().store(MemFlagsData::trusted(), zero, host_sp, offset);
        }
        let values = builder.ins().iadd_imm_s(host_sp, -(size as i64));
        let mut emit = Emit { builder, values, context };
        for (i, (&ty, place)) in ty.params().iter().zip(param_places(ty.params())).enumerate() {
            let value = emit.take(place, clif_type(ty), &mut direct);
            emit.store_value(i, value);
        }
        emit.call_host(store);
        let mut returned = Vec::new();
        for (i, (&ty, place)) in ty.results().iter().zip(result_places(ty.results())).enumerate() {
            let value = emit.load_value(i, clif_type(ty));
            emit.put(place, value, &mut returned);
        }
        emit.builder.ins().return_(&returned);
    })
}

/// Code that calls a function of a type on a stack of its own: it takes the
/// arguments from registers and the transfer area, puts the results there, and
/// goes back to the parent for good.
pub fn stack_trampoline(target: &Target, ty: &FuncType) -> Result<CodeImage, CompileError> {
    build(target, signature::stack_entry(ty), |builder, params| {
        let (func_ref, carried) = (params[0], &params[1..]);
        let load = |builder: &mut FunctionBuilder<'_>, base, offset: usize| {
            builder.ins().load(I64, constant_flags(), base, offset as i32)
        };
        let code = load(builder, func_ref, offset_of!(FuncRef, code));
        let context = load(builder, func_ref, offset_of!(FuncRef, context));
        let store = load(builder, context, 0);
        let values = load(builder, store, offset_of!(StoreContext, transfer));
        let mut emit = Emit { builder, values, context };
        // All arguments are read before any is moved on.
        let params = ty.params().iter().enumerate();
        let arguments = params.map(|(i, ty)| match carried.get(i) {
            Some(carrier) => from_carrier(emit.builder, *carrier, clif_type(*ty)),
            None => emit.load_value(i, clif_type(*ty)),
        });
        let arguments: Vec<_> = arguments.collect();
        let mut args = vec![context];
        for (value, place) in arguments.into_iter().zip(param_places(ty.params())) {
            emit.put(place, value, &mut args);
        }
        let callee = emit.builder.import_signature(signature::wasm(ty));
        let call = emit.builder.ins().call_indirect(callee, code, &args);
        let mut direct = emit.builder.inst_results(call).to_vec().into_iter();
        let places = ty.results().iter().zip(result_places(ty.results()));
        let results: Vec<_> =
            places.map(|(ty, place)| emit.take(place, clif_type(*ty), &mut direct)).collect();
        let mut args = vec![store];
        for (i, value) in results.into_iter().enumerate() {
            match i < CARRIED {
                true => args.push(to_carrier(emit.builder, value)),
                false => emit.store_value(i, value),
            }
        }
        let finish = load(emit.builder, store, offset_of!(StoreContext, finish));
        let signature = emit.builder.import_signature(signature::finish_stub(ty));
        emit.builder.ins().return_call_indirect(signature, finish, &args);
    })
}

struct Emit<'b, 'f> {
    builder: &'b mut FunctionBuilder<'f>,
    /// The array of values.
    values: Value,
    /// An instance's or host function's context.
    context: Value,
}

impl Emit<'_, '_> {
    fn load_value(&mut self, index: usize, ty: ir::Type) -> Value {
        let offset = (index * size_of::<RawVal>()) as i32;
        self.builder.ins().load(ty, MemFlagsData::trusted(), self.values, offset)
    }

    fn store_value(&mut self, index: usize, value: Value) {
        let offset = (index * size_of::<RawVal>()) as i32;
        self.builder.ins().store(MemFlagsData::trusted(), value, self.values, offset);
    }

    fn transfer_area(&mut self) -> Value {
        let store = self.builder.ins().load(I64, constant_flags(), self.context, 0);
        let offset = offset_of!(StoreContext, transfer) as i32;
        self.builder.ins().load(I64, constant_flags(), store, offset)
    }

    /// Puts a value where a callee or caller expects it.
    fn put(&mut self, place: Place, value: Value, direct: &mut Vec<Value>) {
        match place {
            Place::Direct => direct.push(value),
            Place::Transfer(slot) => {
                let area = self.transfer_area();
                let offset = transfer_offset(slot);
                self.builder.ins().store(MemFlagsData::trusted(), value, area, offset);
            }
        }
    }

    /// Takes a value from where a caller or callee left it.
    fn take(
        &mut self,
        place: Place,
        ty: ir::Type,
        direct: &mut impl Iterator<Item = Value>,
    ) -> Value {
        match place {
            Place::Direct => direct.next().expect("as many as there are direct places"),
            Place::Transfer(slot) => {
                let area = self.transfer_area();
                let offset = transfer_offset(slot);
                self.builder.ins().load(ty, MemFlagsData::trusted(), area, offset)
            }
        }
    }

    fn call_host(&mut self, store: Value) {
        let function = offset_of!(HostContext, function) as i32;
        let function = self.builder.ins().load(I64, constant_flags(), self.context, function);
        let stub = offset_of!(StoreContext, call_host) as i32;
        let stub = self.builder.ins().load(I64, constant_flags(), store, stub);
        let signature = self.builder.import_signature(signature::host_stub());
        let args = [self.context, self.values, function];
        self.builder.ins().call_indirect(signature, stub, &args);
    }
}

fn build(
    target: &Target,
    signature: ir::Signature,
    body: impl FnOnce(&mut FunctionBuilder<'_>, &[Value]),
) -> Result<CodeImage, CompileError> {
    let mut context = Context::new();
    context.func = ir::Function::with_name_signature(UserFuncName::user(1, 0), signature);
    let mut builder_context = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut context.func, &mut builder_context);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    builder.seal_block(entry);
    let params = builder.block_params(entry).to_vec();
    body(&mut builder, &params);
    builder.finalize(target.isa.frontend_config());
    let function = generate(target, &mut context, &mut regalloc2::Ctx::default(), 0)?;
    image::link(vec![function], 0, 1)
}
