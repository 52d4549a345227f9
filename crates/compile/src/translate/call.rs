//! Calls: direct, through imports, indirect, tail calls, and of the runtime.

use super::{Translator, clif_type, trap};
use crate::signature;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, SigRef, Value, types::*};
use ropewalk_abi::signature::{Place, param_places, result_places};
use ropewalk_abi::{
    Builtin, FuncImport, FuncRef, FuncType, RawVal, StoreContext, TrapCode, ValType,
};
use std::collections::HashMap;
use std::mem::{offset_of, size_of};

/// What is declared once for each function that contains a call.
#[derive(Default)]
pub(super) struct CallCaches {
    /// Signatures by type index.
    signatures: HashMap<u32, SigRef>,
    /// Functions of this module by index.
    functions: HashMap<u32, ir::FuncRef>,
    builtin: Option<SigRef>,
}

/// What a call calls.
enum Callee {
    /// A function of this module.
    Direct(ir::FuncRef),
    /// Code at an address.
    Indirect(SigRef, Value),
}

impl Translator<'_> {
    pub fn call(&mut self, function: u32) {
        let (callee, context, ty) = self.callee(function);
        self.emit_call(callee, context, &ty);
    }

    pub fn return_call(&mut self, function: u32) {
        let (callee, context, ty) = self.callee(function);
        self.emit_return_call(callee, context, &ty);
    }

    pub fn call_indirect(&mut self, ty: u32, table: u32) {
        let (callee, context) = self.indirect_callee(ty, table);
        let env = self.env;
        self.emit_call(callee, context, &env.info.types[ty as usize]);
    }

    pub fn return_call_indirect(&mut self, ty: u32, table: u32) {
        let (callee, context) = self.indirect_callee(ty, table);
        let env = self.env;
        self.emit_return_call(callee, context, &env.info.types[ty as usize]);
    }

    /// A function by its index: what to call, with which context.
    fn callee(&mut self, function: u32) -> (Callee, Value, FuncType) {
        let ty = self.env.info.function_type(function).clone();
        if function >= self.env.info.imported_functions {
            return (Callee::Direct(self.function(function)), self.context, ty);
        }
        let offset = self.env.layout.imported_function(function);
        let code = offset_of!(FuncImport, code) as i32;
        let context = offset_of!(FuncImport, context) as i32;
        let code = self.load_constant(self.context, offset + code);
        let context = self.load_constant(self.context, offset + context);
        let signature = self.signature(self.env.info.functions[function as usize]);
        (Callee::Indirect(signature, code), context, ty)
    }

    /// The function in the table at the index on top of the operand stack,
    /// checked to have the type.
    fn indirect_callee(&mut self, ty: u32, table: u32) -> (Callee, Value) {
        let index = self.pop();
        let element = self.element_address(table, index, TrapCode::UndefinedElement);
        let function = self.builder.ins().load(I64, MemFlagsData::trusted(), element, 0);
        self.check_type(function, ty);
        // The check has already touched the record.
        let flags = MemFlagsData::trusted().with_readonly();
        let code = offset_of!(FuncRef, code) as i32;
        let context = offset_of!(FuncRef, context) as i32;
        let code = self.builder.ins().load(I64, flags, function, code);
        let context = self.builder.ins().load(I64, flags, function, context);
        (Callee::Indirect(self.signature(ty), code), context)
    }

    /// Traps unless the function has the type. A null reference faults on the
    /// load of its type, which costs nothing.
    fn check_type(&mut self, function: Value, ty: u32) {
        let flags = MemFlagsData::new()
            .with_aligned()
            .with_readonly()
            .with_trap_code(Some(trap(TrapCode::UninitializedElement)));
        let offset = offset_of!(FuncRef, type_id) as i32;
        let actual = self.builder.ins().load(I32, flags, function, offset);
        let expected = self.env.layout.type_id(ty);
        let expected =
            self.builder.ins().load(I32, super::constant_flags(), self.context, expected);
        let same = self.builder.ins().icmp(IntCC::Equal, actual, expected);
        self.builder.ins().trapz(same, trap(TrapCode::IndirectCallTypeMismatch));
    }

    fn emit_call(&mut self, callee: Callee, context: Value, ty: &FuncType) {
        let args = self.pop_arguments(context, ty);
        let call = match callee {
            Callee::Direct(function) => self.builder.ins().call(function, &args),
            Callee::Indirect(signature, code) => {
                self.builder.ins().call_indirect(signature, code, &args)
            }
        };
        let direct = self.builder.inst_results(call).to_vec();
        let results = self.gather(&direct, ty.results(), result_places(ty.results()));
        self.stack.extend(results);
    }

    fn emit_return_call(&mut self, callee: Callee, context: Value, ty: &FuncType) {
        let args = self.pop_arguments(context, ty);
        match callee {
            Callee::Direct(function) => self.builder.ins().return_call(function, &args),
            Callee::Indirect(signature, code) => {
                self.builder.ins().return_call_indirect(signature, code, &args)
            }
        };
        self.set_unreachable();
    }

    /// Pops the arguments of a call; answers those of the machine-level
    /// signature.
    fn pop_arguments(&mut self, context: Value, ty: &FuncType) -> Vec<Value> {
        let values = self.stack.split_off(self.stack.len() - ty.params().len());
        let mut args = vec![context];
        args.extend(self.scatter(&values, param_places(ty.params())));
        args
    }

    /// Puts values into their places: answers the direct ones, and stores the
    /// others into the transfer area.
    pub fn scatter(&mut self, values: &[Value], places: impl Iterator<Item = Place>) -> Vec<Value> {
        let mut direct = Vec::with_capacity(values.len());
        for (&value, place) in values.iter().zip(places) {
            match place {
                Place::Direct => direct.push(value),
                Place::Transfer(slot) => {
                    let area = self.transfer_area();
                    let flags = MemFlagsData::trusted();
                    self.builder.ins().store(flags, value, area, transfer_offset(slot));
                }
            }
        }
        direct
    }

    /// Takes values out of their places, of which the direct ones are given.
    pub fn gather(
        &mut self,
        direct: &[Value],
        types: &[ValType],
        places: impl Iterator<Item = Place>,
    ) -> Vec<Value> {
        let mut direct = direct.iter();
        let mut values = Vec::with_capacity(types.len());
        for (&ty, place) in types.iter().zip(places) {
            values.push(match place {
                Place::Direct => *direct.next().expect("as many as there are direct places"),
                Place::Transfer(slot) => {
                    let area = self.transfer_area();
                    let flags = MemFlagsData::trusted();
                    self.builder.ins().load(clif_type(ty), flags, area, transfer_offset(slot))
                }
            });
        }
        values
    }

    /// Calls a function of the runtime, on the host's stack, with an index or
    /// two and up to three operands; answers its result.
    pub fn call_builtin(&mut self, builtin: Builtin, indices: u64, operands: &[Value]) -> Value {
        assert_eq!(1 + operands.len(), builtin.params());
        let signature = match self.caches.builtin {
            Some(signature) => signature,
            None => self.builder.import_signature(signature::builtin_stub()),
        };
        self.caches.builtin = Some(signature);
        let store = self.store_context();
        let stub = self.load_constant(store, offset_of!(StoreContext, call_builtin) as i32);
        let table = self.load_constant(store, offset_of!(StoreContext, builtins) as i32);
        let function = self.load_constant(table, (builtin as usize * size_of::<usize>()) as i32);
        let mut args = vec![self.context, self.builder.ins().iconst(I64, indices as i64)];
        args.extend(operands);
        args.resize(signature::BUILTIN_STUB_PARAMS - 1, self.context);
        args.push(function);
        let call = self.builder.ins().call_indirect(signature, stub, &args);
        self.builder.inst_results(call)[0]
    }

    fn signature(&mut self, ty: u32) -> SigRef {
        if let Some(&signature) = self.caches.signatures.get(&ty) {
            return signature;
        }
        let signature = signature::wasm(&self.env.info.types[ty as usize]);
        let signature = self.builder.import_signature(signature);
        self.caches.signatures.insert(ty, signature);
        signature
    }

    fn function(&mut self, function: u32) -> ir::FuncRef {
        if let Some(&function) = self.caches.functions.get(&function) {
            return function;
        }
        let signature = self.signature(self.env.info.functions[function as usize]);
        let name = ir::UserExternalName::new(0, function);
        let name = self.builder.func.declare_imported_user_function(name);
        let reference = self.builder.import_function(ir::ExtFuncData {
            name: ir::ExternalName::user(name),
            signature,
            colocated: true,
            patchable: false,
        });
        self.caches.functions.insert(function, reference);
        reference
    }
}

/// The offset of a slot of the transfer area.
pub(crate) fn transfer_offset(slot: u32) -> i32 {
    (slot as usize * size_of::<RawVal>()) as i32
}
