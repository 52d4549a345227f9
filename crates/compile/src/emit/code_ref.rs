//! References to other code of the same image, by distance.

use super::signature;
use cranelift_codegen::ir::{self, InstBuilder, SigRef, UserExternalName, Value};
use cranelift_frontend::FunctionBuilder;

/// Code that the linker places in the image.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ImageCode {
    /// A function of the module, by index.
    Function(u32),
    /// The code in which a stack begins, by number.
    Thunk(u32),
    /// A switch between stacks. With a number, it enters that thunk on the other stack.
    Switch(Option<u32>),
    /// The end of a function on top of a suspended stack, which continues the frame below.
    ContinueBelow,
}

impl ImageCode {
    fn name(self) -> UserExternalName {
        let (namespace, index) = match self {
            ImageCode::Function(index) => (0, index),
            ImageCode::Switch(thunk) => (1, thunk.map_or(0, |number| number + 1)),
            ImageCode::Thunk(number) => (2, number),
            ImageCode::ContinueBelow => (3, 0),
        };
        UserExternalName::new(namespace, index)
    }

    /// The code that a relocation names.
    pub fn of(name: &UserExternalName) -> ImageCode {
        match *name {
            UserExternalName { namespace: 0, index } => ImageCode::Function(index),
            UserExternalName { namespace: 1, index } => ImageCode::Switch(index.checked_sub(1)),
            UserExternalName { namespace: 2, index } => ImageCode::Thunk(index),
            UserExternalName { .. } => ImageCode::ContinueBelow,
        }
    }
}

/// Declares code of the image, so that a function can call it.
pub(crate) fn code_ref(
    builder: &mut FunctionBuilder<'_>,
    code: ImageCode,
    signature: SigRef,
) -> ir::FuncRef {
    let name = builder.func.declare_imported_user_function(code.name());
    builder.import_function(ir::ExtFuncData {
        name: ir::ExternalName::user(name),
        signature,
        colocated: true,
        patchable: false,
    })
}

/// Ends a function on top of a suspended stack. The instruction at which the stack was left
/// continues with a signal, the reference for the next suspension, and values as they travel.
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
    let below = code_ref(builder, ImageCode::ContinueBelow, signature);
    // The receiver does not use the stack that was left.
    let args = [&[stack, stack, signal, reference, store], carried].concat();
    builder.ins().return_call(below, &args);
}
