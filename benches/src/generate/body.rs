//! Statements of a generated function.

use wasm_encoder::{BlockType, Function, InstructionSink, MemArg, MemArgTarget, ValType};

use super::locals::{F32_PAGE, F64_PAGE, LOOPS, Locals, POINTER, REACH};
use super::random::Random;
use super::{IN_TABLE, SIGNATURES};

/// The types that statements work on, mostly integers.
const TYPES: [ValType; 6] =
    [ValType::I32, ValType::I32, ValType::I32, ValType::I64, ValType::F64, ValType::F32];
/// The maximum nesting of statements.
const DEPTH: u32 = 4;
/// The maximum nesting of expressions in statements.
const EXPRESSION: u32 = 3;

/// An instruction that loads or stores.
type Access = for<'c, 's> fn(&'c mut InstructionSink<'s>, MemArg) -> &'c mut InstructionSink<'s>;

/// A function that can be called.
#[derive(Clone, Copy)]
pub struct Callee {
    pub index: u32,
    pub ty: u32,
}

/// A function under construction.
pub struct Body<'a> {
    pub random: &'a mut Random,
    pub locals: Locals,
    function: Function,
    callees: &'a [Callee],
    result: ValType,
    /// The numbers of enclosing loops and statements.
    loops: u32,
    depth: u32,
}

/// A function of one of the signatures. It calls the `callees`, which must call nothing.
pub fn write_function(random: &mut Random, ty: u32, callees: &[Callee]) -> Function {
    let signature = &SIGNATURES[ty as usize];
    let locals = Locals::new(signature.parameters);
    let function = Function::new(locals.declarations());
    let result = signature.result;
    let mut body = Body { random, locals, function, callees, result, loops: 0, depth: 0 };
    let statements = body.length();
    body.prologue();
    body.statements(statements);
    body.expression(result, EXPRESSION);
    body.code().end();
    body.function
}

impl Body<'_> {
    pub fn code(&mut self) -> InstructionSink<'_> {
        self.function.instructions()
    }

    /// Most functions are short, some are long.
    fn length(&mut self) -> u32 {
        let bound = self.random.of(&[4, 8, 8, 16, 16, 24, 80]);
        2 + self.random.below(bound)
    }

    /// Creates a frame in memory, and initializes the other pointers.
    fn prologue(&mut self) {
        let pointers = self.locals.pointers();
        let size = 16 * (1 + self.random.below(8) as i32);
        self.code().global_get(0).i32_const(size).i32_sub().local_set(pointers[0]);
        for pointer in &pointers[1..] {
            self.expression(ValType::I32, 1);
            self.code().i32_const(POINTER).i32_and().local_set(*pointer);
        }
    }

    fn statements(&mut self, count: u32) {
        for _ in 0..count {
            self.statement();
        }
    }

    fn statement(&mut self) {
        let nests = self.depth < DEPTH;
        match self.random.below(32) {
            0..=12 => self.assign(),
            13..=18 => self.store(),
            19 => self.advance(),
            20..=22 if nests => self.conditional(),
            23 if nests => self.alternative(),
            24 if nests => self.exit_early(),
            25 if nests => self.switch(),
            26 | 27 if nests && self.loops < LOOPS => self.repeat(),
            28 | 29 if self.can_call() => self.call(),
            30 if self.can_call() => self.call_indirect(),
            31 => self.set_global(),
            _ => self.assign(),
        }
    }

    /// With calls in loops, `run` would take too long.
    fn can_call(&self) -> bool {
        !self.callees.is_empty() && self.loops == 0
    }

    fn assign(&mut self) {
        let ty = self.random.of(&TYPES);
        self.expression(ty, EXPRESSION);
        self.set(ty);
    }

    /// Sets a variable to the value on top of the stack.
    fn set(&mut self, ty: ValType) {
        let local = self.random.of(&self.locals.numbers(ty));
        self.code().local_set(local);
    }

    fn store(&mut self) {
        let ty = self.random.of(&TYPES);
        let narrow = self.random.below(4) == 0;
        self.pointer();
        self.expression(ty, EXPRESSION);
        match ty {
            ValType::I32 if narrow => self.at(0, |code, at| code.i32_store8(at)),
            ValType::I32 => self.at(2, |code, at| code.i32_store(at)),
            ValType::I64 if narrow => self.at(1, |code, at| code.i64_store16(at)),
            ValType::I64 => self.at(3, |code, at| code.i64_store(at)),
            ValType::F32 => self.at_float(F32_PAGE, 2, |code, at| code.f32_store(at)),
            _ => self.at_float(F64_PAGE, 3, |code, at| code.f64_store(at)),
        }
    }

    /// The base address of an access.
    pub fn pointer(&mut self) {
        let local = self.random.of(&self.locals.pointers());
        self.code().local_get(local);
    }

    /// An access to integers, relative to the address on the stack.
    pub fn at(&mut self, align: u32, access: Access) {
        self.at_float(0, align, access);
    }

    /// An access to a page of floats, relative to the address on the stack.
    pub fn at_float(&mut self, page: u64, align: u32, access: Access) {
        let offset = page + u64::from(self.random.below(REACH >> 3) << 3);
        access(
            &mut self.code(),
            MemArg { offset, align, target: MemArgTarget::Memory(0), ordering: None },
        );
    }

    /// Moves a pointer, but not the one to the frame.
    fn advance(&mut self) {
        let pointers = self.locals.pointers();
        let pointer = self.random.of(&pointers[1..]);
        let step = self.random.of(&[1, 4, 8, 24, 64]);
        self.code().local_get(pointer).i32_const(step).i32_add();
        self.code().i32_const(POINTER).i32_and().local_set(pointer);
    }

    fn set_global(&mut self) {
        let (global, ty) = self.random.of(&[(1, ValType::I32), (2, ValType::I64)]);
        self.expression(ty, EXPRESSION);
        self.code().global_set(global);
    }

    fn conditional(&mut self) {
        self.expression(ValType::I32, 2);
        self.code().if_(BlockType::Empty);
        self.nested();
        self.code().end();
    }

    fn alternative(&mut self) {
        self.expression(ValType::I32, 2);
        self.code().if_(BlockType::Empty);
        self.nested();
        self.code().else_();
        self.nested();
        self.code().end();
    }

    /// A few statements, nested one level deeper.
    fn nested(&mut self) {
        let count = 1 + self.random.below(4);
        self.depth += 1;
        self.statements(count);
        self.depth -= 1;
    }

    /// Leaves a block or, rarely, the function, before its end.
    fn exit_early(&mut self) {
        self.code().block(BlockType::Empty);
        self.nested();
        self.expression(ValType::I32, 2);
        if self.random.below(4) == 0 {
            self.return_if();
        } else {
            self.code().br_if(0);
        }
        self.nested();
        self.code().end();
    }

    fn return_if(&mut self) {
        self.code().if_(BlockType::Empty);
        self.expression(self.result, 1);
        self.code().return_().end();
    }

    /// A `br_table` with three cases. The first two fall through to the end.
    fn switch(&mut self) {
        for _ in 0..4 {
            self.code().block(BlockType::Empty);
        }
        self.expression(ValType::I32, 1);
        self.code().i32_const(3).i32_and().br_table([0, 1, 2], 3).end();
        self.nested();
        self.code().br(2).end();
        self.nested();
        self.code().br(1).end();
        self.nested();
        self.code().end();
    }

    /// A loop that counts down.
    fn repeat(&mut self) {
        let counter = self.locals.counter(self.loops);
        let times = 2 + self.random.below(7) as i32;
        self.code().i32_const(times).local_set(counter).loop_(BlockType::Empty);
        self.loops += 1;
        self.nested();
        self.loops -= 1;
        self.code().local_get(counter).i32_const(1).i32_sub().local_tee(counter).br_if(0).end();
    }

    fn call(&mut self) {
        let callee = self.random.of(self.callees);
        let signature = &SIGNATURES[callee.ty as usize];
        self.arguments(signature.parameters);
        self.code().call(callee.index);
        self.set(signature.result);
    }

    fn call_indirect(&mut self) {
        self.arguments(SIGNATURES[0].parameters);
        self.expression(ValType::I32, 1);
        self.code().i32_const(IN_TABLE as i32 - 1).i32_and().call_indirect(0, 0);
        self.set(SIGNATURES[0].result);
    }

    fn arguments(&mut self, types: &[ValType]) {
        for ty in types {
            self.expression(*ty, 1);
        }
    }
}
