//! From the IR of a function to machine code, and from functions to an image.
//!
//! | file | contents |
//! | --- | --- |
//! | [`phis`] | the cost of removing redundant block parameters |
//! | [`pointers`] | pointer maps, for frames that move to another store |
//! | [`relocatable`] | the check that frames can move in memory |
//! | [`liveness`] | approximate live ranges |
//! | [`register_allocator`] | the choice between two register allocators |
//! | [`stack_map`] | references, pointers and handlers at calls |
//! | [`image`] | linking the functions of a module |

pub(crate) mod image;
pub(crate) mod liveness;
mod phis;
pub(crate) mod pointers;
mod register_allocator;
mod relocatable;
pub(crate) mod stack_map;

use crate::budget::{Budget, INSTRUCTION};
use crate::emit::code_ref::ImageCode;
use crate::emit::open_function;
use crate::target::Target;
use crate::{CompileError, arch};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{self, LibCall, UserFuncName, Value};
use cranelift_codegen::{CompiledCode, Context, FinalizedMachReloc, FinalizedRelocTarget};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use register_allocator::Allocator;
use ropewalk_abi::TrapCode;
use ropewalk_abi::code::{Handler, NO_POSITION};
use stack_map::{Caught, Site};

/// The machine code of one function, before it has a place in the image.
pub(crate) struct MachineFunction {
    pub code: Vec<u8>,
    pub alignment: u32,
    /// The index of the function in the module, if it is one.
    pub function: Option<u32>,
    /// The offset of the body in the module.
    pub body: u32,
    pub calls: Vec<NearCall>,
    pub traps: Vec<(u32, TrapCode)>,
    pub positions: Vec<(u32, u32)>,
    pub sites: Vec<Site>,
}

impl MachineFunction {
    /// About how many bytes it takes in an image, which doubles its size when it grows.
    pub fn memory(&self) -> u64 {
        /// About the bytes of a table entry.
        const ENTRY: usize = 32;
        /// About the bytes of a call site without its lists.
        const SITE: usize = 64;
        let lists = |site: &Site| {
            let words = site.references.len() + site.pointers.len() + site.owned.len();
            words * size_of::<u32>() + site.handlers.len() * size_of::<Handler>() + SITE
        };
        let tables = self.sites.iter().map(lists).sum::<usize>()
            + (self.traps.len() + self.positions.len() + self.calls.len()) * ENTRY;
        2 * (self.code.len() + tables) as u64
    }
}

/// A call whose distance is known only in the image.
pub(crate) struct NearCall {
    /// The offset of the distance in the code, as 32 bits.
    pub at: u32,
    pub callee: NearCallee,
    pub addend: i64,
}

pub(crate) enum NearCallee {
    Code(ImageCode),
    /// The stub that probes large frames.
    ProbeStack,
}

/// Generates the code of a function outside of bodies: a thunk or a trampoline. Of its parameters,
/// the words among the first `pointers` are pointers of the engine.
pub(crate) fn generate_helper(
    target: &Target,
    number: u32,
    signature: ir::Signature,
    pointers: usize,
    body: impl FnOnce(&mut FunctionBuilder<'_>, &[Value]),
) -> Result<MachineFunction, CompileError> {
    let mut context = Context::new();
    let name = UserFuncName::user(1, number);
    context.func = ir::Function::with_name_signature(name, signature);
    let mut builder_context = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut context.func, &mut builder_context);
    let params = open_function(&mut builder);
    let is_word = |value: &&Value| builder.func.dfg.value_type(**value) == ir::types::I64;
    let pointers: Vec<Value> = params.iter().take(pointers).filter(is_word).copied().collect();
    body(&mut builder, &params);
    builder.finalize(target.isa.frontend_config());
    let (mut regalloc, mut budget) =
        (regalloc2::Ctx::default(), Budget::new(number, 0, &target.limits));
    let translated = Translated { caught: Vec::new(), pointers };
    generate(target, &mut context, &mut regalloc, false, &mut budget, &translated)
}

/// What generating code needs to know beside the IR of a function.
pub(crate) struct Translated {
    /// What each exception handler catches, by number.
    pub caught: Vec<Caught>,
    /// Values that are pointers of the engine.
    pub pointers: Vec<Value>,
}

/// Generates code for the function in the context; in linear time if it is frugal.
pub(crate) fn generate(
    target: &Target,
    context: &mut Context,
    regalloc: &mut regalloc2::Ctx,
    is_frugal: bool,
    budget: &mut Budget,
    translated: &Translated,
) -> Result<MachineFunction, CompileError> {
    let function = budget.function();
    let failed = |message: String| CompileError::Codegen { function, message };
    let mut control = ControlPlane::default();
    if target.modes.snapshots {
        pointers::reload_after_calls(&mut context.func);
    }
    budget.charge("its instructions", context.func.dfg.num_insts() as u64 * INSTRUCTION)?;
    phis::charge(context, budget)?;
    let isa = if is_frugal { &target.frugal_isa } else { &target.isa };
    context.optimize(&**isa, &mut control).map_err(|error| failed(format!("{error}")))?;
    if target.modes.snapshots {
        pointers::list_pointers(&mut context.func, &translated.pointers, budget)?;
        context.flowgraph();
    }
    relocatable::make_relocatable(&mut context.func)
        .map_err(|immovable| failed(format!("the frame cannot move: {}", immovable.0)))?;
    let isa = match register_allocator::choose(context, &target.limits, is_frugal, budget)? {
        Allocator::Backtracking => &target.isa,
        Allocator::SinglePass if is_frugal => &target.frugal_isa,
        Allocator::SinglePass => &target.single_pass_isa,
    };
    let stencil = isa
        .compile_function(&context.func, &context.domtree, regalloc, false, &mut control)
        .map_err(|error| failed(format!("{error}")))?;
    let code = stencil.apply_params(&context.func.params);
    machine_function(&context.func, &code, &translated.caught).map_err(failed)
}

fn machine_function(
    func: &ir::Function,
    code: &CompiledCode,
    caught: &[Caught],
) -> Result<MachineFunction, String> {
    let buffer = &code.buffer;
    let traps = buffer.traps().iter().map(|trap| (trap.offset, trap_code(trap.code)));
    let mut for_room = traps.clone().filter(|(_, code)| *code == TrapCode::CallStackExhausted);
    if !for_room.all(|(offset, _)| arch::is_check_for_room(buffer.data(), offset as usize)) {
        return Err("a check for room at which the stack cannot move".to_string());
    }
    let mut function = MachineFunction {
        code: buffer.data().to_vec(),
        alignment: buffer.alignment,
        function: None,
        body: 0,
        calls: Vec::new(),
        traps: traps.collect(),
        positions: Vec::new(),
        sites: stack_map::sites(code, caught)?,
    };
    for reloc in buffer.relocs() {
        function.calls.push(near_call(func, reloc)?);
    }
    for range in buffer.get_srclocs_sorted() {
        let position = if range.loc.is_default() { NO_POSITION } else { range.loc.bits() };
        push_position(&mut function.positions, range.start, position);
        push_position(&mut function.positions, range.end, NO_POSITION);
    }
    Ok(function)
}

/// Adds the start of a range, and merges the range with the one before if both have the same
/// position.
fn push_position(positions: &mut Vec<(u32, u32)>, start: u32, position: u32) {
    positions.pop_if(|(last, _)| *last == start);
    if positions.last().is_none_or(|(_, last)| *last != position) {
        positions.push((start, position));
    }
}

fn near_call(func: &ir::Function, reloc: &FinalizedMachReloc) -> Result<NearCall, String> {
    let callee = match &reloc.target {
        FinalizedRelocTarget::ExternalName(ir::ExternalName::User(name)) => {
            NearCallee::Code(ImageCode::of(&func.params.user_named_funcs()[*name]))
        }
        FinalizedRelocTarget::ExternalName(ir::ExternalName::LibCall(LibCall::Probestack)) => {
            NearCallee::ProbeStack
        }
        other => return Err(format!("unexpected reference to {other:?}")),
    };
    match arch::is_near(reloc.kind) {
        true => Ok(NearCall { at: reloc.offset, callee, addend: reloc.addend }),
        false => Err(format!("unexpected relocation {:?}", reloc.kind)),
    }
}

fn trap_code(code: ir::TrapCode) -> TrapCode {
    match code {
        ir::TrapCode::STACK_OVERFLOW => TrapCode::CallStackExhausted,
        ir::TrapCode::INTEGER_OVERFLOW => TrapCode::IntegerOverflow,
        ir::TrapCode::HEAP_OUT_OF_BOUNDS => TrapCode::MemoryOutOfBounds,
        ir::TrapCode::INTEGER_DIVISION_BY_ZERO => TrapCode::IntegerDivideByZero,
        ir::TrapCode::BAD_CONVERSION_TO_INTEGER => TrapCode::InvalidConversionToInteger,
        user => TrapCode::from_number(user.as_raw().get())
            .expect("translation uses only the numbers of our traps"),
    }
}
