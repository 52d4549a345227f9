//! Code in the same image, which a function refers to by its distance.

use crate::function::CONTINUE_BELOW;
use crate::signature;
use cranelift_codegen::ir::{self, InstBuilder, SigRef, Value};
use cranelift_frontend::FunctionBuilder;

/// Refers to code by a name space and an index.
pub(crate) fn code_ref(
    builder: &mut FunctionBuilder<'_>,
    namespace: u32,
    index: u32,
    signature: SigRef,
) -> ir::FuncRef {
    let name = ir::UserExternalName::new(namespace, index);
    let name = builder.func.declare_imported_user_function(name);
    builder.import_function(ir::ExtFuncData {
        name: ir::ExternalName::user(name),
        signature,
        colocated: true,
        patchable: false,
    })
}

/// Ends a function on top of a suspended stack: continues the instruction at
/// which that was left with a signal, the reference under which it will be suspended the
/// next time, and values as they travel.
pub(crate) fn continue_below(
    builder: &mut FunctionBuilder<'_>,
    store: Value,
    stack: Value,
    signal: Value,
    reference: Value,
    carried: &[Value],
) {
    let dfg = &builder.func.dfg;
    let types: Vec<_> = carried.iter().map(|value| dfg.value_type(*value)).collect();
    let signature = builder.import_signature(signature::switch_stub(&types, 0));
    let below = code_ref(builder, CONTINUE_BELOW, 0, signature);
    // Nobody looks at the stack that was left.
    let args = [&[stack, stack, signal, reference, store], carried].concat();
    builder.ins().return_call(below, &args);
}
