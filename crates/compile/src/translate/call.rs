//! Calls: direct, of imports, indirect, tail calls, and of the runtime.

use super::Translator;
use crate::emit::code_ref::{ImageCode, code_ref};
use crate::emit::record::{Records, func_ref, instance, store};
use crate::emit::{constant_flags, signature, trap};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, SigRef, Value, types::*};
use cranelift_codegen::isa::CallConv;
use ropewalk_abi::signature::{param_places, result_places};
use ropewalk_abi::{Builtin, FuncImport, FuncType, TrapCode, TypeInfo};
use std::collections::HashMap;
use std::mem::{offset_of, size_of};
use wasmparser::Operator;

/// Declarations that the calls of a function share.
#[derive(Default)]
pub(super) struct CallCaches {
    /// Signatures by type index.
    signatures: HashMap<u32, SigRef>,
    /// Functions of this module by index.
    functions: HashMap<u32, ir::FuncRef>,
    builtin: Option<SigRef>,
    pause: Option<SigRef>,
}

pub(crate) enum CallTarget {
    /// A function of this module.
    Direct(ir::FuncRef),
    /// Code at an address.
    Indirect(SigRef, Value),
}

impl<'a> Translator<'a> {
    /// Translates calls and tail calls.
    pub(super) fn calls(&mut self, op: &Operator<'_>) -> bool {
        let (target, context, ty) = match *op {
            Operator::Call { function_index } | Operator::ReturnCall { function_index } => {
                self.direct_callee(function_index)
            }
            Operator::CallIndirect { type_index, table_index }
            | Operator::ReturnCallIndirect { type_index, table_index } => {
                self.indirect_callee(type_index, table_index)
            }
            Operator::CallRef { type_index } | Operator::ReturnCallRef { type_index } => {
                self.ref_callee(type_index)
            }
            _ => return false,
        };
        match op {
            Operator::Call { .. } | Operator::CallIndirect { .. } | Operator::CallRef { .. } => {
                self.emit_call(target, context, ty);
            }
            _ => self.emit_return_call(target, context, ty),
        }
        true
    }

    /// The target, context and type of a function by index.
    fn direct_callee(&mut self, function: u32) -> (CallTarget, Value, &'a FuncType) {
        let ty = self.env.info.function_type(function);
        if function >= self.env.info.imported_functions {
            return (CallTarget::Direct(self.function(function)), self.context, ty);
        }
        let offset = self.env.layout.imported_function(function);
        let code = offset_of!(FuncImport, code) as i32;
        let context = offset_of!(FuncImport, context) as i32;
        let code = self.load_constant(self.context, offset + code);
        let context = self.load_constant(self.context, offset + context);
        let signature = self.signature(self.env.info.functions[function as usize]);
        (CallTarget::Indirect(signature, code), context, ty)
    }

    /// Pops an index, and loads the function at the index in a table, which must have the type.
    fn indirect_callee(&mut self, ty: u32, table: u32) -> (CallTarget, Value, &'a FuncType) {
        let index = self.pop();
        let element = self.element_address(table, index, TrapCode::UndefinedElement);
        let function = self.ins().load(I64, MemFlagsData::trusted(), element, 0);
        self.check_type(function, ty);
        // The check has already touched the record.
        let flags = MemFlagsData::trusted().with_readonly();
        let code = self.ins().load(I64, flags, function, func_ref::CODE.offset);
        let context = self.ins().load(I64, flags, function, func_ref::CONTEXT.offset);
        (CallTarget::Indirect(self.signature(ty), code), context, self.env.info.func_type(ty))
    }

    /// Traps unless the function has the type. A null reference faults on the load of its type,
    /// which needs no check.
    fn check_type(&mut self, function: Value, ty: u32) {
        let flags = MemFlagsData::new()
            .with_aligned()
            .with_readonly()
            .with_trap_code(Some(trap(TrapCode::UninitializedElement)));
        let actual = self.ins().load(I64, flags, function, func_ref::TYPE.offset);
        let expected = self.type_info(ty);
        let is_final = self.env.info.types[ty as usize].is_final;
        let fits = match is_final {
            true => self.ins().icmp(IntCC::Equal, actual, expected),
            false => self.is_subtype(actual, ty, expected),
        };
        self.ins().trapz(fits, trap(TrapCode::IndirectCallTypeMismatch));
    }

    pub(crate) fn type_info(&mut self, ty: u32) -> Value {
        let offset = self.env.layout.type_info(ty);
        self.load_constant(self.context, offset)
    }

    /// Whether the type `actual`, which is not null, is a subtype of `ty`: whether its supertype at
    /// the depth of `ty` is `ty`.
    pub(super) fn is_subtype(&mut self, actual: Value, ty: u32, expected: Value) -> Value {
        let depth = self.env.type_depth(ty) * size_of::<usize>();
        let offset = offset_of!(TypeInfo, supertypes) + depth;
        let flags = constant_flags();
        let at_depth = self.ins().load(I64, flags, actual, offset as i32);
        self.ins().icmp(IntCC::Equal, at_depth, expected)
    }

    /// Pops a function reference. Null faults on the load of its code.
    fn ref_callee(&mut self, ty: u32) -> (CallTarget, Value, &'a FuncType) {
        let function = self.pop();
        let flags = MemFlagsData::new()
            .with_aligned()
            .with_readonly()
            .with_trap_code(Some(trap(TrapCode::NullFunctionReference)));
        let code = self.ins().load(I64, flags, function, func_ref::CODE.offset);
        let flags = MemFlagsData::trusted().with_readonly();
        let context = self.ins().load(I64, flags, function, func_ref::CONTEXT.offset);
        (CallTarget::Indirect(self.signature(ty), code), context, self.env.info.func_type(ty))
    }

    pub(crate) fn emit_call(&mut self, callee: CallTarget, context: Value, ty: &FuncType) {
        let args = self.pop_arguments(context, ty);
        // A call with an exception table, even an empty one, preserves no registers.
        let direct = match self.handlers.is_empty() && !self.env.modes.snapshots {
            true => self.plain_call(callee, &args),
            false => self.guarded_call(callee, &args),
        };
        self.forget_running();
        let places = result_places(ty.results());
        let results = self.transfer().gather(&direct, ty.results(), places);
        for (value, &ty) in results.into_iter().zip(ty.results()) {
            self.push_typed(value, ty);
        }
    }

    pub(super) fn plain_call(&mut self, callee: CallTarget, args: &[Value]) -> Vec<Value> {
        let owned = self.spill_owned();
        self.write_fuel_back();
        let call = match callee {
            CallTarget::Direct(function) => self.ins().call(function, args),
            CallTarget::Indirect(signature, code) => {
                self.ins().call_indirect(signature, code, args)
            }
        };
        self.list_owned(call, owned);
        self.builder.inst_results(call).to_vec()
    }

    /// Emits a call inside a `try_table`; returns its results.
    pub(crate) fn guarded_call(&mut self, callee: CallTarget, args: &[Value]) -> Vec<Value> {
        let signature = self.signature_of(&callee);
        let results = self.builder.func.dfg.signatures[signature].returns.clone();
        let next = self.builder.create_block();
        for result in &results {
            self.builder.append_block_param(next, result.value_type);
        }
        self.guarded_call_to(callee, args, next);
        self.enter_sealed(next);
        self.builder.block_params(next).to_vec()
    }

    /// Emits a call inside a `try_table`, which returns to a block whose parameters are the
    /// results.
    pub(crate) fn guarded_call_to(&mut self, callee: CallTarget, args: &[Value], next: ir::Block) {
        let signature = self.signature_of(&callee);
        let table = self.exception_table(signature, next);
        let owned = self.spill_owned();
        self.write_fuel_back();
        let call = match callee {
            CallTarget::Direct(function) => self.ins().try_call(function, args, table),
            CallTarget::Indirect(_, code) => self.ins().try_call_indirect(code, args, table),
        };
        self.list_owned(call, owned);
    }

    fn signature_of(&self, callee: &CallTarget) -> SigRef {
        match callee {
            CallTarget::Direct(function) => self.builder.func.dfg.ext_funcs[*function].signature,
            CallTarget::Indirect(signature, _) => *signature,
        }
    }

    fn emit_return_call(&mut self, callee: CallTarget, context: Value, ty: &FuncType) {
        self.free_below(ty.params().len());
        let below = self.stack.len() - ty.params().len();
        let below = self.stack.take_below(..below);
        self.emit_return_call_without(callee, context, ty);
        // The enclosing blocks need these operands after their ends.
        self.stack.put_below(below);
    }

    /// The same, when only the arguments are on the operand stack.
    fn emit_return_call_without(&mut self, callee: CallTarget, context: Value, ty: &FuncType) {
        if self.on_top.is_some() {
            // The callee must return to this frame.
            self.without_handlers(|this| this.emit_call(callee, context, ty));
            return self.return_();
        }
        let args = self.pop_arguments(context, ty);
        self.write_fuel_back();
        match callee {
            CallTarget::Direct(function) => self.ins().return_call(function, &args),
            CallTarget::Indirect(signature, code) => {
                self.ins().return_call_indirect(signature, code, &args)
            }
        };
        self.set_unreachable();
    }

    /// Pops the arguments of a call; returns those of the machine-level signature.
    fn pop_arguments(&mut self, context: Value, ty: &FuncType) -> Vec<Value> {
        let values = self.stack.split_off(self.stack.len() - ty.params().len());
        let mut args = vec![context];
        args.extend(self.transfer().scatter(&values, ty.params(), param_places(ty.params())));
        args
    }

    /// Calls a function of the runtime, on the host's stack, with up to four words; returns its
    /// result.
    pub(crate) fn call_builtin(&mut self, builtin: Builtin, operands: &[Value]) -> Value {
        let signature = match self.caches.builtin {
            Some(signature) => signature,
            None => self.builder.import_signature(signature::builtin_stub(CallConv::SystemV)),
        };
        self.caches.builtin = Some(signature);
        let (stub, args) = self.builtin_call(builtin, operands);
        let result = self.plain_call(CallTarget::Indirect(signature, stub), &args)[0];
        if builtin.returns_pointer() {
            self.pointers.push(result);
        }
        if builtin.can_wait() {
            // Other code may have used fuel during the wait.
            self.reload_fuel();
        }
        result
    }

    pub(super) fn pause_signature(&mut self) -> SigRef {
        let import = || self.builder.import_signature(signature::pause_stub());
        *self.caches.pause.get_or_insert_with(import)
    }

    /// The stub that calls a builtin, and its arguments.
    pub(crate) fn builtin_call(
        &mut self,
        builtin: Builtin,
        operands: &[Value],
    ) -> (Value, Vec<Value>) {
        assert_eq!(operands.len(), builtin.params());
        let context = self.running_context();
        // These loads must not be hoisted: most calls of builtins are cold, and the registers are
        // better used otherwise.
        let store = self.get(context, instance::STORE);
        let stub = self.get(store, store::CALL_BUILTIN);
        let table = self.get(store, store::BUILTINS);
        let function = self.load_word(table, (builtin as usize * size_of::<usize>()) as i32);
        let mut args = vec![context];
        args.extend(operands);
        args.resize(signature::BUILTIN_STUB_PARAMS - 1, context);
        args.push(function);
        (stub, args)
    }

    fn signature(&mut self, ty: u32) -> SigRef {
        if let Some(&signature) = self.caches.signatures.get(&ty) {
            return signature;
        }
        let signature = signature::wasm(self.env.info.func_type(ty));
        let signature = self.builder.import_signature(signature);
        self.caches.signatures.insert(ty, signature);
        signature
    }

    fn function(&mut self, function: u32) -> ir::FuncRef {
        if let Some(&function) = self.caches.functions.get(&function) {
            return function;
        }
        let signature = self.signature(self.env.info.functions[function as usize]);
        let reference = code_ref(&mut self.builder, ImageCode::Function(function), signature);
        self.caches.functions.insert(function, reference);
        reference
    }
}
