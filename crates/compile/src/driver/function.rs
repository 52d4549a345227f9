//! Compiles one function body: validation, translation, and code generation.

use super::survey::Survey;
use crate::CompileError;
use crate::budget::Budget;
use crate::codegen::{MachineFunction, Translated, generate};
use crate::design::recognize::{Recognized, Recognizer};
use crate::design::thunk::Thunk;
use crate::design::{self, ModuleDesigns};
use crate::module::Environment;
use crate::module::sections::Body;
use crate::translate::contents::Contents;
use crate::translate::{Entered, Input, Translator, UsedLocals};
use cranelift_codegen::Context;
use cranelift_codegen::ir::{SourceLoc, UserFuncName};
use cranelift_frontend::FunctionBuilderContext;
use wasmparser::{FuncValidator, FuncValidatorAllocations, ValidatorResources};

/// After a function with more instructions than this, no memory is kept for the next one.
const LARGE: usize = 100_000;

/// The memory that one compilation reuses for the next.
pub(super) struct FunctionCompiler {
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
    /// Gives back the memory of a large function.
    pub fn shrink(&mut self) {
        if self.context.func.dfg.num_insts() > LARGE {
            *self = FunctionCompiler::default();
        }
    }

    /// Validates and compiles a body.
    pub fn compile(
        &mut self,
        env: &Environment<'_>,
        designs: &ModuleDesigns,
        (func, body): Body<'_>,
        entered: Entered,
        survey: &Survey,
        budget: &mut Budget,
    ) -> Result<MachineFunction, CompileError> {
        let start = body.range().start;
        let is_frugal = survey.has_locals_in_memory(&env.limits);
        let used_locals = UsedLocals { indices: survey.used_locals(), are_in_memory: is_frugal };
        let function = func.index;
        let mut validator = func.into_validator(std::mem::take(&mut self.allocations));
        self.context.clear();
        self.context.func.name = UserFuncName::user(0, function);
        let input = Input { function, body: &body, entered, used_locals };
        let translated = self.translate(env, designs, &mut validator, &input, budget);
        self.allocations = validator.into_allocations();
        let translated = translated.inspect_err(|_| {
            // It may still contain half a function.
            self.builder_context = FunctionBuilderContext::new();
        });
        let (context, regalloc) = (&mut self.context, &mut self.regalloc);
        let code = translated.and_then(|translated| {
            generate(env, context, regalloc, is_frugal, budget, &translated)
        });
        let code = code.map_err(|error| error.at(start))?;
        Ok(MachineFunction { function: Some(function), body: start as u32, ..code })
    }

    /// Validates a body and translates it, in one pass over its operators.
    fn translate(
        &mut self,
        env: &Environment<'_>,
        designs: &ModuleDesigns,
        validator: &mut FuncValidator<ValidatorResources>,
        input: &Input<'_>,
        budget: &mut Budget,
    ) -> Result<Translated, CompileError> {
        let ModuleDesigns { operations, thunks } = designs;
        let suspends = |function| Some(operations.get(function)?.suspends);
        let contents = match env.can_switch || env.modes.interruption || env.modes.fuel {
            true => Contents::of(input.body, suspends),
            false => Contents::default(),
        };
        let (builder, func) = (&mut self.builder_context, &mut self.context.func);
        let mut translator = Translator::begin(env, builder, func, input, &contents, budget);
        let mut reader = translator.read_locals(validator, input.body, &contents)?;
        let mut recognizer = Recognizer::new(operations, env.subtyping());
        while !reader.eof() {
            let offset = reader.original_position();
            translator.builder.set_srcloc(SourceLoc::new(offset as u32));
            let operator = reader.read()?;
            let is_stack = translator.is_stack_on_top(validator);
            validator.op(offset, &operator)?;
            translator.before_operator(&operator);
            match recognizer.recognize(offset, &operator, &reader)? {
                Recognized::Ordinary => {
                    let is_translated = is_stack && translator.linear(&operator)
                        || translator.operator(&operator)
                        || design::instruction(&mut translator, &operator);
                    if !is_translated {
                        let message = format!("the instruction {operator:?} is not supported");
                        return Err(CompileError::Refused { offset, message });
                    }
                }
                Recognized::OpensForm(ty) => translator.open_form(ty),
                Recognized::Call(mut call) => {
                    call.thunk = Thunk::of(&call).and_then(|thunk| thunks.get(&thunk));
                    design::operation_call(&mut translator, &call);
                }
            }
            translator.after_operator(&operator)?;
        }
        reader.finish()?;
        translator.finish()
    }
}
