//! The translator: from the operators of a function body to Cranelift IR.
//!
//! The operand stack of WebAssembly is a stack of Cranelift values here, and its locals are
//! Cranelift variables. [`dispatch`] calls one function for each operator, in the file of its
//! chapter. Instructions that switch stacks are not here: the [`design`](crate::design) folder has
//! them, made from [`verbs`](crate::verbs).

mod blocks;
mod bulk;
pub(crate) mod call;
pub(crate) mod contents;
mod control;
mod current_stack;
mod dispatch;
mod exception;
mod fuel;
mod gc;
mod interruption;
mod linear;
mod locals_in_memory;
mod memory;
mod null;
mod numeric;
mod on_top;
mod operands;
mod operator_coverage;
mod owned;
mod reference;
mod reference_liveness;
mod simd;
mod table;
mod trace;
mod unpolled_calls;
mod variable;

use crate::CompileError;
use crate::budget::Budget;
use crate::codegen::Translated;
use crate::codegen::stack_map::Caught;
use crate::emit::record::{Records, instance};
use crate::emit::transfer::Transfer;
use crate::emit::{clif_type, constant_flags, open_function, signature};
use crate::module::Environment;
use contents::Contents;
use control::Control;
use cranelift_codegen::entity::EntitySet;
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, Value, types::*};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
pub(crate) use current_stack::Cached;
use locals_in_memory::{LocalSlot, LocalSlots};
pub(crate) use on_top::Entered;
use on_top::OnTop;
use operands::Operands;
use owned::Owned;
use ropewalk_abi::signature::param_places;
use ropewalk_abi::{FuncType, ValType};
use wasmparser::{FuncValidator, FunctionBody, Operator, OperatorsReader, ValidatorResources};

/// The state of translating one function.
pub(crate) struct Translator<'a> {
    pub env: &'a Environment<'a>,
    pub builder: FunctionBuilder<'a>,
    /// The operand stack. A `v128` is always an `I8X16` here.
    pub stack: Operands,
    controls: Vec<Control>,
    /// How many blocks deep the translation is in unreachable code.
    unreachable_depth: usize,
    reachable: bool,
    locals: Vec<Local>,
    local_slots: LocalSlots,
    used_locals: UsedLocals<'a>,
    budget: &'a mut Budget,
    /// The context of the instance, the first argument of the function.
    pub context: Value,
    caches: call::CallCaches,
    /// What travels with the next switch.
    pub traced: trace::Traced,
    /// The handlers of the `try_table`s around, the innermost last.
    handlers: Vec<exception::Handlers>,
    /// The running stack, if the function switches between stacks.
    running: Option<current_stack::CurrentStack>,
    /// How the function ends, if it runs on top of a suspended stack.
    on_top: Option<OnTop>,
    /// The values that stack maps list: those that the collector follows, and functions where all
    /// pointers are listed.
    references: EntitySet<Value>,
    /// The values that are known to be pointers of the engine.
    pub pointers: Vec<Value>,
    has_nulls: bool,
    owned: Owned,
    /// What each exception handler catches, by number.
    caught: Vec<Caught>,
    fuel: fuel::Fuel,
    unpolled: unpolled_calls::Unpolled,
}

/// The body to translate.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub function: u32,
    pub body: &'a FunctionBody<'a>,
    pub entered: Entered,
    pub used_locals: UsedLocals<'a>,
}

/// The locals that a body uses.
#[derive(Clone, Copy)]
pub(crate) struct UsedLocals<'a> {
    /// Their indices, in order.
    pub indices: &'a [u32],
    /// Whether they are kept in memory.
    pub are_in_memory: bool,
}

#[derive(Clone, Copy)]
struct Local {
    location: LocalLocation,
    ty: ValType,
}

/// Where a local is.
#[derive(Clone, Copy)]
enum LocalLocation {
    Variable(Variable),
    Memory(LocalSlot),
    /// Nowhere: the body does not use it.
    Unused,
}

impl<'a> Translator<'a> {
    /// Opens a function: its parameters become the first locals.
    pub(crate) fn begin(
        env: &'a Environment<'a>,
        builder_context: &'a mut FunctionBuilderContext,
        func: &'a mut ir::Function,
        input: &Input<'a>,
        contents: &Contents,
        budget: &'a mut Budget,
    ) -> Self {
        let ty = env.info.function_type(input.function);
        func.signature = match input.entered {
            Entered::ByCall => signature::wasm(ty),
            Entered::OnTop { .. } => signature::on_top_thunk(),
        };
        let mut translator = Translator {
            env,
            builder: FunctionBuilder::new(func, builder_context),
            stack: Operands::default(),
            controls: Vec::new(),
            unreachable_depth: 0,
            reachable: true,
            locals: Vec::new(),
            local_slots: LocalSlots::default(),
            used_locals: input.used_locals,
            budget,
            context: Value::from_u32(0),
            caches: call::CallCaches::default(),
            traced: trace::Traced::default(),
            handlers: Vec::new(),
            running: None,
            on_top: None,
            references: EntitySet::new(),
            pointers: Vec::new(),
            has_nulls: false,
            owned: Owned::default(),
            caught: Vec::new(),
            fuel: fuel::Fuel::default(),
            unpolled: unpolled_calls::Unpolled::default(),
        };
        translator.enter_function(ty, input.entered, contents);
        translator.declare_running(contents);
        translator.declare_fuel(contents);
        translator
    }

    fn enter_function(&mut self, ty: &FuncType, entered: Entered, contents: &Contents) {
        let given = open_function(&mut self.builder);
        self.pointers.extend(&given[..entered.words()]);
        let params = match entered {
            Entered::ByCall => {
                self.context = given[0];
                let places = param_places(ty.params());
                self.transfer().gather(&given[1..], ty.params(), places)
            }
            Entered::OnTop { delivers } => self.enter_on_top(&given, ty, delivers, contents),
        };
        for (value, &ty) in params.into_iter().zip(ty.params()) {
            let local = self.declare_local(ty);
            self.define_local(local, value);
        }
        self.push_function_frame(ty);
    }

    /// Reads the locals of a body, which come before its operators, and polls if the function needs
    /// that on entry.
    pub(crate) fn read_locals<'b>(
        &mut self,
        validator: &mut FuncValidator<ValidatorResources>,
        body: &FunctionBody<'b>,
        contents: &Contents,
    ) -> wasmparser::Result<OperatorsReader<'b>> {
        let mut locals = body.get_locals_reader()?;
        for _ in 0..locals.get_count() {
            let offset = locals.original_position();
            let (count, ty) = locals.read()?;
            validator.define_locals(offset, count, ty)?;
            self.declare_locals(count, crate::module::convert::val_type(ty));
        }
        self.poll_at_entry(validator.index(), contents, body);
        Ok(OperatorsReader::new(locals.get_binary_reader()))
    }

    /// Counts fuel and polls, before a valid operator is translated.
    pub(crate) fn before_operator(&mut self, operator: &Operator<'_>) {
        self.count_fuel(operator);
        self.poll_before(operator);
    }

    /// Polls, and keeps what the frame owns, after an operator was translated.
    pub(crate) fn after_operator(&mut self, operator: &Operator<'_>) -> Result<(), CompileError> {
        self.poll_after(operator);
        self.keep_operands();
        self.charge_listed()
    }

    /// Ends the function, when all operators are translated.
    pub(crate) fn finish(mut self) -> Result<Translated, CompileError> {
        self.charge_live_references()?;
        self.clear_late_places();
        self.separate_nulls();
        self.builder.finalize(self.env.isa.frontend_config());
        Ok(Translated { caught: self.caught, pointers: self.pointers })
    }

    fn declare_locals(&mut self, count: u32, ty: ValType) {
        if count == 0 {
            return;
        }
        let zero = self.zero(ty);
        for _ in 0..count {
            let local = self.declare_local(ty);
            self.define_local(local, zero);
        }
    }

    // ---- the operand stack

    pub(crate) fn push(&mut self, value: Value) {
        self.stack.push(value);
    }

    /// Pushes a value of a type. If the collector follows such values, stack maps list it at every
    /// call during which it is needed.
    pub(crate) fn push_typed(&mut self, value: Value, ty: ValType) {
        self.declare(value, ty);
        self.push(value);
    }

    /// Declares the type of a value, so that stack maps list it if they must.
    fn declare(&mut self, value: Value, ty: ValType) {
        if self.env.is_listed(ty) {
            self.references.insert(value);
            self.builder.declare_value_needs_stack_map(value);
        }
        if self.env.is_stackref(ty) {
            self.own_value(value);
        }
    }

    /// Declares a local of a type; returns its index.
    fn declare_local(&mut self, ty: ValType) -> u32 {
        let index = self.locals.len() as u32;
        let is_used = self.used_locals.indices.binary_search(&index).is_ok();
        let location = match self.env.is_stackref(ty) {
            _ if !is_used => LocalLocation::Unused,
            true if self.used_locals.are_in_memory => LocalLocation::Memory(self.new_owned_slot()),
            false if self.used_locals.are_in_memory => {
                LocalLocation::Memory(self.new_local_slot(ty))
            }
            _ => LocalLocation::Variable(self.declare_variable(ty)),
        };
        if let (LocalLocation::Variable(variable), true) = (location, self.env.is_stackref(ty)) {
            self.own_local(index, variable);
        }
        self.locals.push(Local { location, ty });
        index
    }

    fn declare_variable(&mut self, ty: ValType) -> Variable {
        let variable = self.builder.declare_var(clif_type(ty));
        if self.env.is_listed(ty) {
            self.builder.declare_var_needs_stack_map(variable);
        }
        variable
    }

    pub(crate) fn pop(&mut self) -> Value {
        self.stack.pop().expect("validation keeps the operand stack balanced")
    }

    /// Pops two operands, the first one pushed first.
    pub(crate) fn pop2(&mut self) -> (Value, Value) {
        let b = self.pop();
        let a = self.pop();
        (a, b)
    }

    /// Pops three operands, the first one pushed first.
    pub(crate) fn pop3(&mut self) -> (Value, Value, Value) {
        let c = self.pop();
        let (a, b) = self.pop2();
        (a, b, c)
    }

    /// Pops a `v128` as a vector of another shape.
    fn pop_vector(&mut self, ty: ir::Type) -> Value {
        let value = self.pop();
        self.as_vector(value, ty)
    }

    /// Pops two `v128` as vectors of another shape, the first one pushed first.
    fn pop2_vectors(&mut self, ty: ir::Type) -> (Value, Value) {
        let b = self.pop_vector(ty);
        let a = self.pop_vector(ty);
        (a, b)
    }

    /// Pushes a vector of any shape.
    fn push_vector(&mut self, value: Value) {
        let value = self.as_vector(value, I8X16);
        self.push(value);
    }

    fn as_vector(&mut self, value: Value, ty: ir::Type) -> Value {
        if self.builder.func.dfg.value_type(value) == ty {
            return value;
        }
        let flags = MemFlagsData::new().with_endianness(ir::Endianness::Little);
        self.ins().bitcast(ty, flags, value)
    }

    // ---- values

    fn zero(&mut self, ty: ValType) -> Value {
        match ty {
            ValType::F32 => self.ins().f32const(0.0),
            ValType::F64 => self.ins().f64const(0.0),
            ValType::V128 => {
                let zero = self.builder.func.dfg.constants.insert(vec![0; 16].into());
                self.ins().vconst(I8X16, zero)
            }
            ValType::I32 | ValType::I64 => self.ins().iconst(clif_type(ty), 0),
            ValType::Ref(_) => self.null(),
        }
    }

    /// An integer operand as 64 bits, zero-extended.
    pub(crate) fn widen(&mut self, value: Value) -> Value {
        match self.builder.func.dfg.value_type(value) {
            I64 => value,
            _ => self.ins().uextend(I64, value),
        }
    }

    /// The low 32 bits of a word if `narrow`, otherwise the word.
    fn narrow_if(&mut self, narrow: bool, value: Value) -> Value {
        if narrow { self.ins().ireduce(I32, value) } else { value }
    }

    // ---- the contexts

    pub(crate) fn store_context(&mut self) -> Value {
        self.get_constant(self.context, instance::STORE)
    }

    /// Loads a word that never changes while the code runs.
    pub(crate) fn load_constant(&mut self, base: Value, offset: i32) -> Value {
        self.ins().load(I64, constant_flags(), base, offset)
    }

    /// The store's transfer area.
    pub(crate) fn transfer(&mut self) -> Transfer<'_, 'a> {
        let store = self.store_context();
        Transfer::of(self.env, &mut self.builder, store)
    }
}
