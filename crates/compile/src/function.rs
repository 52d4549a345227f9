//! Compiling one function.

use crate::allocation::{self, Allocator};
use crate::budget::{Budget, INSTRUCTION};
use crate::environment::Environment;
use crate::pointers::{self, OF_POINTER};
use crate::survey::Survey;
use crate::target::Target;
use crate::translate::owned::{Caught, OF_LOCAL, OF_OPERAND};
use crate::translate::{Entered, Input, UsedLocals};
use crate::{CompileError, arch, phis, relocatable, translate};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{self, LibCall, UserFuncName};
use cranelift_codegen::{
    CompiledCode, Context, ExceptionContextLoc, FinalizedMachExceptionHandler, FinalizedRelocTarget,
};
use cranelift_frontend::FunctionBuilderContext;
use ropewalk_abi::TrapCode;
use ropewalk_abi::code::{Handler, NO_INDEX, NO_POSITION};
use wasmparser::{FuncToValidate, FuncValidatorAllocations, FunctionBody, ValidatorResources};

/// The machine code of one function, before it has a place.
pub(crate) struct MachineFunction {
    pub code: Vec<u8>,
    pub alignment: u32,
    /// The function of the module that this is code of, if any.
    pub function: Option<u32>,
    /// Where its body begins in the module.
    pub body: u32,
    pub calls: Vec<NearCall>,
    pub traps: Vec<(u32, TrapCode)>,
    pub positions: Vec<(u32, u32)>,
    pub sites: Vec<Site>,
}

impl MachineFunction {
    /// About how many bytes it takes in an image, which doubles its size when it grows.
    pub fn memory(&self) -> u64 {
        let lists = |site: &Site| {
            let words = site.references.len() + site.pointers.len() + site.owned.len();
            words * size_of::<u32>() + site.handlers.len() * size_of::<Handler>() + SITE
        };
        let tables = self.sites.iter().map(lists).sum::<usize>()
            + (self.traps.len() + self.positions.len() + self.calls.len()) * ENTRY;
        2 * (self.code.len() + tables) as u64
    }
}

/// About how many bytes an entry of a table takes.
const ENTRY: usize = 32;
/// About how many bytes a call takes in an image, without its lists.
const SITE: usize = 64;

/// A call with references or listed pointers in its frame, or with handlers.
pub(crate) struct Site {
    pub return_offset: u32,
    pub frame_size: u32,
    pub references: Vec<u32>,
    /// Where pointers of the engine are, if all are listed.
    pub pointers: Vec<u32>,
    /// Those of the references that die with the frame.
    pub owned: Vec<u32>,
    pub handlers: Vec<Handler>,
}

/// A call whose distance is known only when everything has its place.
pub(crate) struct NearCall {
    /// Where in the code the distance stands, as 32 bits.
    pub at: u32,
    pub callee: NearCallee,
    pub addend: i64,
}

pub(crate) enum NearCallee {
    /// A function of the module, by index.
    Function(u32),
    /// The code in which a stack begins, by number.
    Thunk(u32),
    /// The stub that probes large frames.
    ProbeStack,
    /// The code that switches between stacks, and there enters a thunk if there
    /// is a number of one.
    Switch(Option<u32>),
    /// The code that continues the frame below, as a switch does.
    ContinueBelow,
}

/// The name space of the module's functions, by index.
pub(crate) const FUNCTIONS: u32 = 0;
/// The name space of the code that switches between stacks: zero, or the number
/// of the thunk to enter plus one.
pub(crate) const SWITCH: u32 = 1;
/// The name space of the code in which stacks begin, by number.
pub(crate) const THUNKS: u32 = 2;

/// The name space of the code that continues the frame below.
pub(crate) const CONTINUE_BELOW: u32 = 3;

/// From how many instructions on a function leaves nothing for the next one.
const LARGE: usize = 100_000;

/// What compiling reuses from one function to the next.
pub(crate) struct FunctionCompiler {
    context: Context,
    regalloc: regalloc2::Ctx,
    builder_context: FunctionBuilderContext,
    allocations: FuncValidatorAllocations,
}

impl Default for FunctionCompiler {
    fn default() -> Self {
        FunctionCompiler {
            context: Context::new(),
            regalloc: regalloc2::Ctx::default(),
            builder_context: FunctionBuilderContext::new(),
            allocations: FuncValidatorAllocations::default(),
        }
    }
}

impl FunctionCompiler {
    /// Gives back what a large function has needed.
    pub fn shrink(&mut self) {
        if self.context.func.dfg.num_insts() > LARGE {
            *self = FunctionCompiler::default();
        }
    }

    /// Validates and compiles a body.
    pub fn compile(
        &mut self,
        env: &Environment<'_>,
        func: FuncToValidate<ValidatorResources>,
        body: &FunctionBody<'_>,
        entered: Entered,
        survey: &Survey,
        budget: &mut Budget,
    ) -> Result<MachineFunction, CompileError> {
        let compiled = self.compile_body(env, func, body, entered, survey, budget);
        compiled.map_err(|error| error.at(body.range().start))
    }

    fn compile_body(
        &mut self,
        env: &Environment<'_>,
        func: FuncToValidate<ValidatorResources>,
        body: &FunctionBody<'_>,
        entered: Entered,
        survey: &Survey,
        budget: &mut Budget,
    ) -> Result<MachineFunction, CompileError> {
        let is_frugal = survey.has_locals_in_memory(&env.limits);
        let locals = UsedLocals { used: survey.used_locals(), are_in_memory: is_frugal };
        let index = func.index;
        let mut validator = func.into_validator(std::mem::take(&mut self.allocations));
        self.context.clear();
        self.context.func.name = UserFuncName::user(0, index);
        let func = &mut self.context.func;
        let input = Input { body, entered, used: locals };
        let context = &mut self.builder_context;
        let translated = translate::translate(env, context, func, &mut validator, input, budget);
        self.allocations = validator.into_allocations();
        let (caught, pointers) = match translated {
            Ok(translated) => translated,
            Err(error) => {
                // Half a function may be left in it.
                self.builder_context = FunctionBuilderContext::new();
                return Err(error);
            }
        };
        let code = generate(
            env,
            &mut self.context,
            &mut self.regalloc,
            is_frugal,
            budget,
            &caught,
            &pointers,
        )?;
        let body = body.range().start as u32;
        Ok(MachineFunction { function: Some(index), body, ..code })
    }
}

/// Generates code for the function in the context, in linear time if it is to be frugal.
/// What its exception handlers catch is given, by their numbers, and which values are pointers
/// of the engine.
pub(crate) fn generate(
    target: &Target,
    context: &mut Context,
    regalloc: &mut regalloc2::Ctx,
    is_frugal: bool,
    budget: &mut Budget,
    caught: &[Caught],
    pointers: &[ir::Value],
) -> Result<MachineFunction, CompileError> {
    let function = budget.function();
    let failed = |message: String| CompileError::Codegen { function, message };
    let mut control = ControlPlane::default();
    if target.snapshots {
        pointers::load_anew(&mut context.func);
    }
    budget.charge("its instructions", context.func.dfg.num_insts() as u64 * INSTRUCTION)?;
    phis::charge(context, budget)?;
    let isa = if is_frugal { &target.frugal_isa } else { &target.isa };
    context.optimize(&**isa, &mut control).map_err(|error| failed(format!("{error}")))?;
    if target.snapshots {
        pointers::list_pointers(&mut context.func, pointers, budget)?;
        context.flowgraph();
    }
    relocatable::make_relocatable(&mut context.func)
        .map_err(|immovable| failed(format!("the frame cannot move: {}", immovable.0)))?;
    let isa = match allocation::choose(context, &target.limits, is_frugal, budget)? {
        Allocator::Backtracking => &target.isa,
        Allocator::SinglePass if is_frugal => &target.frugal_isa,
        Allocator::SinglePass => &target.single_pass_isa,
    };
    let stencil = isa
        .compile_function(&context.func, &context.domtree, regalloc, false, &mut control)
        .map_err(|error| failed(format!("{error}")))?;
    let code = stencil.apply_params(&context.func.params);
    machine_function(&context.func, &code, caught).map_err(failed)
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
        return Err("a check for room in which the stack cannot move".to_string());
    }
    let mut function = MachineFunction {
        code: buffer.data().to_vec(),
        alignment: buffer.alignment,
        function: None,
        body: 0,
        calls: Vec::new(),
        traps: traps.collect(),
        positions: Vec::new(),
        sites: sites(code, caught)?,
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

/// The calls with references or handlers, by their return addresses.
fn sites(code: &CompiledCode, caught: &[Caught]) -> Result<Vec<Site>, String> {
    let maps = code.buffer.user_stack_maps();
    let mut maps = maps.iter().peekable();
    let mut sites = Vec::new();
    for call in code.buffer.call_sites() {
        let return_offset = call.ret_addr;
        let map = maps.next_if(|(offset, ..)| *offset == return_offset);
        let entries: Vec<_> = map.into_iter().flat_map(|(_, _, map)| map.entries()).collect();
        let of_type = |ty| entries.iter().filter(move |entry| entry.0 == ty).map(|(_, at)| *at);
        let locals = of_type(OF_LOCAL).count() as u32;
        let owned = of_type(OF_LOCAL).chain(of_type(OF_OPERAND)).collect();
        let pointers: Vec<u32> = of_type(OF_POINTER).collect();
        let references = entries.iter().filter(|(ty, _)| *ty != OF_POINTER);
        let references: Vec<u32> = references.map(|(_, at)| *at).collect();
        let handlers = handlers(call.exception_handlers, caught, locals)?;
        if references.is_empty() && handlers.is_empty() && pointers.is_empty() {
            continue;
        }
        let frame_size = call.frame_offset.or(map.map(|(_, size, _)| *size));
        let frame_size = frame_size.ok_or("a call whose frame has no known size")?;
        sites.push(Site { return_offset, frame_size, references, pointers, owned, handlers });
    }
    match maps.next() {
        None => Ok(sites),
        Some((offset, ..)) => Err(format!("a stack map at {offset:#x}, where no call returns")),
    }
}

/// The handlers of a call, each with the context that applies to it. At the call as
/// many locals own something.
fn handlers(
    table: &[FinalizedMachExceptionHandler],
    caught: &[Caught],
    locals: u32,
) -> Result<Vec<Handler>, String> {
    let mut context = None;
    let mut handlers = Vec::new();
    for item in table {
        let (number, code) = match item {
            FinalizedMachExceptionHandler::Context(ExceptionContextLoc::SPOffset(offset)) => {
                context = Some(*offset);
                continue;
            }
            FinalizedMachExceptionHandler::Context(other) => {
                return Err(format!("a context in {other:?}, where it does not survive a call"));
            }
            FinalizedMachExceptionHandler::Tag(number, code) => (number.as_u32(), *code),
            FinalizedMachExceptionHandler::Default(_) => {
                return Err("a handler without a number".to_string());
            }
        };
        let context = context.ok_or("a handler without a context")?;
        let Caught { tag, kept } = caught[number as usize];
        let tag = tag.unwrap_or(NO_INDEX);
        handlers.push(Handler { tag, context, code, kept: locals + kept });
    }
    Ok(handlers)
}

/// Adds the beginning of a range, merging it with what it continues.
fn push_position(positions: &mut Vec<(u32, u32)>, start: u32, position: u32) {
    if positions.last().is_some_and(|(last, _)| *last == start) {
        positions.pop();
    }
    if positions.last().is_none_or(|(_, last)| *last != position) {
        positions.push((start, position));
    }
}

fn near_call(
    func: &ir::Function,
    reloc: &cranelift_codegen::FinalizedMachReloc,
) -> Result<NearCall, String> {
    let callee = match &reloc.target {
        FinalizedRelocTarget::ExternalName(ir::ExternalName::User(name)) => {
            match func.params.user_named_funcs()[*name] {
                ir::UserExternalName { namespace: FUNCTIONS, index } => NearCallee::Function(index),
                ir::UserExternalName { namespace: THUNKS, index } => NearCallee::Thunk(index),
                ir::UserExternalName { namespace: CONTINUE_BELOW, .. } => NearCallee::ContinueBelow,
                ir::UserExternalName { index, .. } => NearCallee::Switch(index.checked_sub(1)),
            }
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
