//! From the operators of one function body to Cranelift IR.
//!
//! The operand stack of WebAssembly is a stack of Cranelift values here, its
//! locals are Cranelift variables, and [`dispatch`] calls one function for
//! each operator, in the file of its chapter.

mod admitted;
mod bind;
mod bulk;
pub(crate) mod call;
mod cases;
mod continuation;
mod control;
mod dispatch;
mod exception;
mod fuel;
mod gc;
mod homes;
mod interruption;
mod live_references;
mod memory;
mod null;
mod numeric;
mod operands;
pub(crate) mod owned;
mod reference;
mod running;
mod simd;
pub(crate) mod stack_reference;
pub(crate) mod switching;
mod table;
mod trace;
mod unseen;
mod variable;

use crate::CompileError;
use crate::budget::Budget;
use crate::design::call::{Recognised, Surroundings};
pub(crate) use crate::design::first_class::on_top::{Entered, OnTop};
use crate::emit::open_function;
use crate::emit::record::{Records, instance};
use crate::emit::transfer::Transfer;
use crate::environment::Environment;
use crate::{handlers, signature};
use control::Control;
use cranelift_codegen::entity::EntitySet;
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, Value, types::*};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use homes::{Home, Homes};
use operands::Operands;
use owned::{Caught, Owned};
use ropewalk_abi::signature::param_places;
use ropewalk_abi::{TrapCode, ValType};
pub(crate) use running::Known;
use wasmparser::{FuncValidator, FunctionBody, OperatorsReader, ValidatorResources};

/// The state of translating one function.
pub(crate) struct Translator<'a> {
    pub env: &'a Environment<'a>,
    pub builder: FunctionBuilder<'a>,
    /// The operand stack. A `v128` is always an `I8X16` here.
    pub stack: Operands,
    controls: Vec<Control>,
    /// How many blocks deep we are in code that cannot be reached.
    unreachable_depth: usize,
    reachable: bool,
    locals: Vec<Local>,
    /// Where they are in memory, if they are there.
    homes: Homes,
    /// Which of them are used, and whether they are kept in memory.
    used: UsedLocals<'a>,
    /// What compiling may still take.
    budget: &'a mut Budget,
    /// The context of the instance, the function's first argument.
    pub context: Value,
    caches: call::CallCaches,
    /// What travels with the next switch.
    traced: trace::Traced,
    /// The handlers of the `try_table`s around, the innermost last.
    handlers: Vec<exception::Handlers>,
    /// What runs, if the function switches between stacks.
    running: Option<running::Running>,
    /// How it ends, if it runs on top of a suspended stack.
    pub(crate) on_top: Option<OnTop>,
    /// The values that are listed at calls: those that the collector follows, and functions
    /// where all pointers are.
    references: EntitySet<Value>,
    /// The values that are known to be pointers of the engine.
    pointers: Vec<Value>,
    /// Whether null is used.
    has_nulls: bool,
    /// What dies with its frame.
    owned: Owned,
    /// What the exception handlers catch, by their numbers.
    caught: Vec<Caught>,
    /// What it may still execute.
    fuel: fuel::Fuel,
    /// What was called since it has looked whether it is to stop.
    unseen: unseen::Unseen,
}

/// What is translated.
pub(crate) struct Input<'a, 'b> {
    pub body: &'b FunctionBody<'b>,
    pub entered: Entered,
    pub used: UsedLocals<'a>,
}

/// The locals that a body uses.
#[derive(Clone, Copy)]
pub(crate) struct UsedLocals<'a> {
    /// Their indices, in order.
    pub used: &'a [u32],
    /// Whether they are kept in memory.
    pub are_in_memory: bool,
}

/// A local.
#[derive(Clone, Copy)]
struct Local {
    place: Place,
    ty: ValType,
}

/// Where a local is.
#[derive(Clone, Copy)]
enum Place {
    Variable(Variable),
    Home(Home),
    /// Nowhere: the body does not use it.
    Unused,
}

/// Validates a body and translates it into `func`, in one pass over it. Returns what
/// its exception handlers catch, and which values are pointers of the engine.
pub(crate) fn translate<'a>(
    env: &'a Environment<'a>,
    builder_context: &'a mut FunctionBuilderContext,
    func: &'a mut ir::Function,
    validator: &mut FuncValidator<ValidatorResources>,
    input: Input<'a, '_>,
    budget: &'a mut Budget,
) -> Result<(Vec<Caught>, Vec<Value>), CompileError> {
    let Input { body, entered, used } = input;
    let ty = env.info.function_type(validator.index()).clone();
    func.signature = match entered {
        Entered::ByCall => signature::wasm(&ty),
        Entered::OnTop { .. } => signature::on_top_thunk(),
    };
    let builder = FunctionBuilder::new(func, builder_context);
    let mut translator = Translator::new(env, builder, used, budget);
    let contents = match env.has_continuations || env.interruption || env.fuel {
        true => handlers::contents(&env.operations, body),
        false => handlers::Contents::default(),
    };
    translator.enter_function(&ty, entered, &contents);
    translator.declare_running(&contents);
    translator.declare_fuel(&contents);

    let mut reader = read_locals(&mut translator, validator, body)?;
    translator.check_point_at_entry(validator.index(), &contents, body);
    let mut around = Surroundings::new(&env.operations, env.subtyping());
    while !reader.eof() {
        let offset = reader.original_position();
        translator.builder.set_srcloc(ir::SourceLoc::new(offset as u32));
        let operator = reader.read()?;
        let is_stack = env.has_stackrefs && is_top_stackref(env, validator);
        validator.op(offset, &operator)?;
        translator.count(&operator);
        translator.look_before(&operator);
        match around.recognise(offset, &operator, &reader)? {
            Recognised::Ordinary if is_stack && translator.linear(&operator) => {}
            Recognised::Ordinary => {
                if !translator.operator(&operator) {
                    let message = format!("the instruction {operator:?} is not supported");
                    return Err(CompileError::Refused { offset, message });
                }
            }
            Recognised::OpensForm => translator.open_form(&operator),
            Recognised::Call(call) => translator.operation_call(&call),
        }
        translator.look_after(&operator);
        translator.keep_operands();
        translator.charge_listed()?;
    }
    reader.finish()?;
    translator.charge_live_references()?;
    Ok(translator.finish())
}

/// Whether a first-class stack is on top of the operand stack.
fn is_top_stackref(env: &Environment<'_>, validator: &FuncValidator<ValidatorResources>) -> bool {
    let top = validator.get_operand_type(0).flatten();
    top.is_some_and(|ty| env.subtyping().is_stackref(ty))
}

/// Reads the locals of a body, which come before its operators.
fn read_locals<'b>(
    translator: &mut Translator<'_>,
    validator: &mut FuncValidator<ValidatorResources>,
    body: &FunctionBody<'b>,
) -> wasmparser::Result<OperatorsReader<'b>> {
    let mut locals = body.get_locals_reader()?;
    for _ in 0..locals.get_count() {
        let offset = locals.original_position();
        let (count, ty) = locals.read()?;
        validator.define_locals(offset, count, ty)?;
        translator.declare_locals(count, crate::convert::val_type(ty));
    }
    Ok(OperatorsReader::new(locals.get_binary_reader()))
}

impl<'a> Translator<'a> {
    fn new(
        env: &'a Environment<'a>,
        builder: FunctionBuilder<'a>,
        used: UsedLocals<'a>,
        budget: &'a mut Budget,
    ) -> Self {
        Translator {
            env,
            builder,
            stack: Operands::default(),
            controls: Vec::new(),
            unreachable_depth: 0,
            reachable: true,
            locals: Vec::new(),
            homes: Homes::default(),
            used,
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
            unseen: unseen::Unseen::default(),
        }
    }

    /// Opens the function's body: its parameters become the first locals.
    fn enter_function(
        &mut self,
        ty: &ropewalk_abi::FuncType,
        entered: Entered,
        contents: &handlers::Contents,
    ) {
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

    fn finish(mut self) -> (Vec<Caught>, Vec<Value>) {
        self.clear_late_homes();
        self.separate_nulls();
        self.builder.finalize(self.env.isa.frontend_config());
        (self.caught, self.pointers)
    }

    // ---- the operand stack

    pub fn push(&mut self, value: Value) {
        self.stack.push(value);
    }

    /// Pushes a value of a type. If the collector follows such values, it will
    /// find this one in its frame at every call during which it is needed.
    pub fn push_typed(&mut self, value: Value, ty: ValType) {
        self.declare(value, ty);
        self.push(value);
    }

    /// Lets the collector find a value of a type in its frame.
    pub fn declare(&mut self, value: Value, ty: ValType) {
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
        let is_used = self.used.used.binary_search(&index).is_ok();
        let place = match self.env.is_stackref(ty) {
            _ if !is_used => Place::Unused,
            true if self.used.are_in_memory => Place::Home(self.new_owned_home()),
            false if self.used.are_in_memory => Place::Home(self.new_home(ty)),
            _ => Place::Variable(self.declare_variable(ty)),
        };
        if let (Place::Variable(variable), true) = (place, self.env.is_stackref(ty)) {
            self.own_local(index, variable);
        }
        self.locals.push(Local { place, ty });
        index
    }

    fn declare_variable(&mut self, ty: ValType) -> Variable {
        let variable = self.builder.declare_var(clif_type(ty));
        if self.env.is_listed(ty) {
            self.builder.declare_var_needs_stack_map(variable);
        }
        variable
    }

    pub fn pop(&mut self) -> Value {
        self.stack.pop().expect("validation keeps the operand stack balanced")
    }

    /// Pops two operands, the first one pushed first.
    pub fn pop2(&mut self) -> (Value, Value) {
        let b = self.pop();
        let a = self.pop();
        (a, b)
    }

    /// Pops three operands, the first one pushed first.
    pub fn pop3(&mut self) -> (Value, Value, Value) {
        let c = self.pop();
        let (a, b) = self.pop2();
        (a, b, c)
    }

    /// Pops a `v128` as a vector of another shape.
    pub fn pop_vector(&mut self, ty: ir::Type) -> Value {
        let value = self.pop();
        self.as_vector(value, ty)
    }

    /// Pops two `v128` as vectors of another shape, the first one pushed first.
    pub fn pop2_vectors(&mut self, ty: ir::Type) -> (Value, Value) {
        let b = self.pop_vector(ty);
        let a = self.pop_vector(ty);
        (a, b)
    }

    /// Pushes a vector of any shape.
    pub fn push_vector(&mut self, value: Value) {
        let value = self.as_vector(value, I8X16);
        self.push(value);
    }

    pub fn as_vector(&mut self, value: Value, ty: ir::Type) -> Value {
        if self.builder.func.dfg.value_type(value) == ty {
            return value;
        }
        let flags = MemFlagsData::new().with_endianness(ir::Endianness::Little);
        self.builder.ins().bitcast(ty, flags, value)
    }

    // ---- values

    /// The default value of a type.
    pub fn zero(&mut self, ty: ValType) -> Value {
        match ty {
            ValType::F32 => self.builder.ins().f32const(0.0),
            ValType::F64 => self.builder.ins().f64const(0.0),
            ValType::V128 => {
                let zero = self.builder.func.dfg.constants.insert(vec![0; 16].into());
                self.builder.ins().vconst(I8X16, zero)
            }
            ValType::I32 | ValType::I64 => self.builder.ins().iconst(clif_type(ty), 0),
            ValType::Ref(_) => self.null(),
        }
    }

    /// An integer operand as 64 bits, zero-extended.
    pub fn widen(&mut self, value: Value) -> Value {
        match self.builder.func.dfg.value_type(value) {
            I64 => value,
            _ => self.builder.ins().uextend(I64, value),
        }
    }

    /// The low 32 bits of a word if `narrow`, else the word.
    pub fn narrow_if(&mut self, narrow: bool, value: Value) -> Value {
        if narrow { self.builder.ins().ireduce(I32, value) } else { value }
    }

    // ---- the contexts

    /// The context of the store.
    pub fn store_context(&mut self) -> Value {
        self.get_constant(self.context, instance::STORE)
    }

    /// Loads a pointer-sized word that never changes while the code runs.
    pub fn load_constant(&mut self, base: Value, offset: i32) -> Value {
        self.builder.ins().load(I64, constant_flags(), base, offset)
    }

    /// The store's transfer area.
    pub fn transfer(&mut self) -> Transfer<'_, 'a> {
        let store = self.store_context();
        Transfer::of(self.env, &mut self.builder, store)
    }
}

/// The flags of a load that always succeeds and always gives the same word.
pub(crate) fn constant_flags() -> MemFlagsData {
    MemFlagsData::trusted().with_readonly().with_can_move()
}

/// Cranelift's name for one of our traps.
pub(crate) fn trap(code: TrapCode) -> ir::TrapCode {
    ir::TrapCode::unwrap_user(code as u8)
}

/// The type in which values of a type are computed.
pub(crate) fn clif_type(ty: ValType) -> ir::Type {
    match ty {
        ValType::I32 => I32,
        ValType::I64 | ValType::Ref(_) => I64,
        ValType::F32 => F32,
        ValType::F64 => F64,
        ValType::V128 => I8X16,
    }
}
