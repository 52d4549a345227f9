//! Compiles a module: reads it, checks limits, and compiles its functions in parallel.
//!
//! | file | contents |
//! | --- | --- |
//! | [`survey`] | estimates the work of compiling a body |
//! | [`memory`] | the memory that the threads of a compilation share |
//! | [`collect`] | the clause lists and thunks of a module |
//! | [`bounded_work`] | functions that need not poll for interruption on entry |
//! | [`function`] | compiling one body |
//! | [`trampoline`] | code at the ends of WebAssembly's calling convention |
//! | [`validate`] | validating without generating code |
//! | [`progress`] | reporting progress, and cancellation |

mod bounded_work;
mod collect;
mod function;
mod memory;
pub(crate) mod progress;
mod survey;
pub(crate) mod trampoline;
pub(crate) mod validate;

use crate::CompileError;
use crate::budget::{Budget, ModuleBudget, require_memory};
use crate::codegen::{MachineFunction, image};
use crate::design::continuation;
use crate::design::first_class::{OnTopThunk, rout};
use crate::design::thunk::{self, Thunk};
use crate::design::{ModuleDesigns, Operations};
use crate::module::Environment;
use crate::module::sections::{Body, Sections, read_sections};
use crate::target::{Limits, Target};
use crate::translate::Entered;
use function::FunctionCompiler;
use memory::Memory;
use progress::{Watch, Watched};
use rayon::prelude::*;
use ropewalk_abi::InstanceLayout;
use ropewalk_abi::code::CodeImage;
use ropewalk_abi::module::ModuleInfo;
use std::sync::atomic::{AtomicU64, Ordering};
use survey::{Locals, Survey};
use wasmparser::{FuncToValidate, WasmFeatures};

/// A module, ready to be loaded.
#[derive(Debug)]
pub struct CompiledModule {
    /// The sections of the module.
    pub info: ModuleInfo,
    /// The layout of its instances.
    pub layout: InstanceLayout,
    /// Its code.
    pub code: CodeImage,
    /// The estimated cost of compiling its bodies.
    pub cost: Cost,
}

/// The estimated cost of compiling the bodies of a module.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// The [steps](crate::budget).
    pub steps: u64,
    /// The bytes of memory that the largest body takes.
    pub memory: u64,
}

/// Validates and compiles a binary module.
pub fn compile_module(
    target: &Target,
    features: WasmFeatures,
    bytes: &[u8],
    watch: Watch<'_>,
) -> Result<CompiledModule, CompileError> {
    let Sections { mut info, data, canonical, reserved, bodies } = read_sections(features, bytes)?;
    let operations = Operations::resolve(&info, &canonical, &reserved, target.permission)?;
    continuation::permission::check(target.permission, &bodies)?;
    let surveys = check_limits(&info, &operations, &bodies, &target.limits)?;
    let can_switch = collect::can_switch(&info, &operations);
    let (clause_lists, designs) = collect::collect(&mut info, operations, &canonical, &bodies);
    rout::check_all(&designs, info.imported_functions, &bodies)?;
    let layout = InstanceLayout::new(&info)
        .map_err(|_| CompileError::too_large("its instances exceed 2 GiB"))?;
    let mut env = Environment::new(&info, &layout, &clause_lists, &canonical, can_switch, target);
    if env.modes.interruption {
        let bodies = bodies.par_iter().map(|(_, body)| body);
        env.bounded_work = bounded_work::bounded_work(info.imported_functions, bodies);
    }
    let thunks = designs.thunks.in_order();
    let copied = copied_bodies(&thunks, info.imported_functions, &bodies);
    let (mut functions, cost) = compile_bodies(&env, &designs, bodies, &surveys, watch)?;
    let defined = functions.len() as u32;
    let mut compiler = FunctionCompiler::default();
    for ((number, thunk), copied) in (0..).zip(&thunks).zip(copied) {
        functions.push(match copied {
            Some((body, entered)) => {
                let index = body.0.index;
                let mut budget = Budget::new(index, SHORT as u64, &target.limits);
                let survey = &surveys[(index - env.info.imported_functions) as usize];
                compiler.compile(&env, &designs, body, entered, survey, &mut budget)?
            }
            None => thunk::compile(&env, thunk, number)?,
        });
    }
    let memory = functions.iter().map(MachineFunction::memory).fold(0, u64::saturating_add);
    require_memory(memory, || "the module".to_string())?;
    let mut code = image::link(functions, info.imported_functions, defined)?;
    code.has_stackrefs = env.has_stackrefs;
    code.data = data;
    Ok(CompiledModule { info, layout, code, cost })
}

/// Surveys all bodies. Fails if they need more work than is allowed.
fn check_limits(
    info: &ModuleInfo,
    operations: &Operations,
    bodies: &[Body<'_>],
    limits: &Limits,
) -> Result<Vec<Survey>, CompileError> {
    let surveys: Vec<_> = bodies
        .par_iter()
        .map_init(Locals::default, |locals, (_, body)| {
            survey::survey(info, operations, body, limits, locals)
        })
        .collect();
    survey::check(&surveys, info.imported_functions, limits)?;
    Ok(surveys)
}

/// Compiles the bodies of a module; also returns the cost.
fn compile_bodies(
    env: &Environment<'_>,
    designs: &ModuleDesigns,
    bodies: Vec<Body<'_>>,
    surveys: &[Survey],
    watch: Watch<'_>,
) -> Result<(Vec<MachineFunction>, Cost), CompileError> {
    let bytes = surveys.iter().map(Survey::bytes).sum();
    let watched = Watched::new(watch, bytes as usize);
    let (memory, total) = (Memory::new(&env.limits), ModuleBudget::new(bytes, &env.limits));
    let most = AtomicU64::new(0);
    let compiled: Vec<_> = bodies
        .into_par_iter()
        .zip(surveys)
        .map_init(FunctionCompiler::default, |compiler, (body, survey)| {
            watched.check()?;
            total.charge(0)?;
            let (index, start) = (body.0.index, body.1.range().start);
            let mut budget = Budget::new(index, survey.bytes(), &env.limits);
            let reserved = memory.reserve(index, survey).map_err(|error| error.at(start))?;
            let compiled =
                compiler.compile(env, designs, body, Entered::ByCall, survey, &mut budget);
            compiler.shrink();
            drop(reserved);
            let compiled = compiled?;
            total.charge(budget.used())?;
            let taken = survey.memory(&env.limits).saturating_add(budget.memory());
            most.fetch_max(taken, Ordering::Relaxed);
            watched.advance(survey.bytes() as usize);
            Ok::<_, CompileError>(compiled)
        })
        .collect();
    watched.check()?;
    // Of several errors, the first in the module.
    let compiled: Result<_, CompileError> = compiled.into_iter().collect();
    Ok((compiled?, Cost { steps: total.used(), memory: most.into_inner() }))
}

/// Functions of at most this many bytes are compiled a second time rather than called by a thunk.
const SHORT: usize = 64;

/// For each thunk, the body that is compiled in its place, if it runs a short function on top of a
/// suspended stack.
fn copied_bodies<'a>(
    thunks: &[Thunk],
    imported_functions: u32,
    bodies: &[Body<'a>],
) -> Vec<Option<(Body<'a>, Entered)>> {
    let copied = |thunk: &Thunk| {
        let &Thunk::OnTop(OnTopThunk { function, delivers, extends: false }) = thunk else {
            return None;
        };
        let (func, body) = bodies.get(function.checked_sub(imported_functions)? as usize)?;
        let length = body.range().end - body.range().start;
        let func = FuncToValidate { resources: func.resources.clone(), ..*func };
        (length <= SHORT as u64).then(|| ((func, body.clone()), Entered::OnTop { delivers }))
    };
    thunks.iter().map(copied).collect()
}
