//! A large generated module, to measure the compiler.
//!
//! Its functions resemble the output of compilers: arithmetic on locals, accesses relative to
//! pointers, counted loops, early exits, switches, calls. The module is the same each time. It is
//! also a test: `run` calls every function and folds all results into one. No function traps or
//! runs for long, and no result depends on the bits of a NaN.

mod body;
mod expression;
mod locals;
mod random;

use wasm_encoder::{
    CodeSection, ConstExpr, ElementSection, Elements, ExportKind, ExportSection, Function,
    FunctionSection, GlobalSection, GlobalType, MemorySection, MemoryType, Module, RefType,
    TableSection, TableType, TypeSection, ValType,
};

use body::{Callee, write_function};
use random::Random;

/// The minimum size of the code in bytes.
const BYTES_OF_CODE: usize = 1_050_000;
/// The first functions are leaves of one signature. They fill the table.
const IN_TABLE: u32 = 16;
/// The number of functions that a driver calls.
const PER_DRIVER: usize = 16;
/// The type of the drivers and of `run`.
const DRIVER: u32 = SIGNATURES.len() as u32;

/// A type of function: its parameters and its result.
pub struct Signature {
    pub parameters: &'static [ValType],
    pub result: ValType,
}

/// The signatures of the functions. A function's type is an index here.
pub const SIGNATURES: [Signature; 4] = [
    Signature { parameters: &[ValType::I64, ValType::I32], result: ValType::I64 },
    Signature { parameters: &[ValType::I32, ValType::I32], result: ValType::I32 },
    Signature { parameters: &[ValType::F64, ValType::I32, ValType::F64], result: ValType::F64 },
    Signature { parameters: &[ValType::I32, ValType::F32, ValType::I64], result: ValType::I32 },
];

/// The functions so far.
struct Program {
    random: Random,
    /// All functions that `run` must reach.
    functions: Vec<Callee>,
    /// The functions among them that call nothing.
    leaves: Vec<Callee>,
    types: FunctionSection,
    code: CodeSection,
}

/// The module, as a binary.
pub fn big_module() -> Vec<u8> {
    let mut program = Program::new();
    while program.code.byte_len() < BYTES_OF_CODE {
        program.add_function();
    }
    program.add_run();
    program.finish()
}

impl Program {
    fn new() -> Self {
        Self {
            random: Random::new(),
            functions: Vec::new(),
            leaves: Vec::new(),
            types: FunctionSection::new(),
            code: CodeSection::new(),
        }
    }

    /// Adds a leaf or, with probability 1/3, a function that calls leaves.
    fn add_function(&mut self) {
        let index = self.types.len();
        let in_table = index < IN_TABLE;
        let ty = if in_table { 0 } else { self.random.below(SIGNATURES.len() as u32) };
        let is_leaf = in_table || self.random.below(3) > 0;
        let callees = if is_leaf { &[][..] } else { &self.leaves };
        let function = write_function(&mut self.random, ty, callees);
        let callee = Callee { index, ty };
        self.functions.push(callee);
        if is_leaf {
            self.leaves.push(callee);
        }
        self.add(ty, &function);
    }

    fn add(&mut self, ty: u32, function: &Function) -> u32 {
        let index = self.types.len();
        self.types.function(ty);
        self.code.function(function);
        index
    }

    /// Adds the drivers, and `run`, which calls the drivers.
    fn add_run(&mut self) {
        let functions = std::mem::take(&mut self.functions);
        let mut drivers = Vec::new();
        for group in functions.chunks(PER_DRIVER) {
            let index = self.add(DRIVER, &driver(group));
            drivers.push(Callee { index, ty: DRIVER });
        }
        self.add(DRIVER, &driver(&drivers));
    }

    fn finish(self) -> Vec<u8> {
        let mut module = Module::new();
        module.section(&types());
        module.section(&self.types);
        module.section(&table());
        module.section(&memory());
        module.section(&globals());
        module.section(&exports(self.types.len() - 1));
        module.section(&elements());
        module.section(&self.code);
        module.finish()
    }
}

/// A function `[i64] -> [i64]` that calls the others with arguments from its state, and mixes their
/// results into the state.
fn driver(callees: &[Callee]) -> Function {
    let mut function = Function::new([]);
    for callee in callees {
        let mut code = function.instructions();
        code.local_get(0).i64_const(5).i64_rotl();
        for parameter in parameters(callee.ty) {
            code.local_get(0);
            match parameter {
                ValType::I32 => code.i32_wrap_i64(),
                ValType::F32 => code.i32_wrap_i64().f32_convert_i32_s(),
                ValType::F64 => code.i32_wrap_i64().f64_convert_i32_s(),
                _ => &mut code,
            };
        }
        code.call(callee.index);
        match result(callee.ty) {
            ValType::I32 => code.i64_extend_i32_u(),
            ValType::F64 => code.i64_trunc_sat_f64_s(),
            _ => &mut code,
        };
        code.i64_add().local_set(0);
    }
    function.instructions().local_get(0).end();
    function
}

fn parameters(ty: u32) -> &'static [ValType] {
    SIGNATURES.get(ty as usize).map_or(&[ValType::I64], |signature| signature.parameters)
}

fn result(ty: u32) -> ValType {
    SIGNATURES.get(ty as usize).map_or(ValType::I64, |signature| signature.result)
}

fn types() -> TypeSection {
    let mut section = TypeSection::new();
    for ty in 0..=DRIVER {
        section.ty().function(parameters(ty).iter().copied(), [result(ty)]);
    }
    section
}

fn table() -> TableSection {
    let mut section = TableSection::new();
    section.table(TableType {
        element_type: RefType::FUNCREF,
        table64: false,
        minimum: IN_TABLE.into(),
        maximum: None,
        shared: false,
    });
    section
}

fn elements() -> ElementSection {
    let mut section = ElementSection::new();
    let functions: Vec<u32> = (0..IN_TABLE).collect();
    section.active(None, &ConstExpr::i32_const(0), Elements::Functions(functions.into()));
    section
}

fn memory() -> MemorySection {
    let mut section = MemorySection::new();
    section.memory(MemoryType {
        minimum: locals::PAGES,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    section
}

/// Global 0 points to the end of the stack frames in memory. Every function may change the other
/// two.
fn globals() -> GlobalSection {
    let global = |val_type, mutable| GlobalType { val_type, mutable, shared: false };
    let mut section = GlobalSection::new();
    section.global(global(ValType::I32, true), &ConstExpr::i32_const(locals::STACK));
    section.global(global(ValType::I32, true), &ConstExpr::i32_const(1));
    section.global(global(ValType::I64, true), &ConstExpr::i64_const(1));
    section
}

fn exports(run: u32) -> ExportSection {
    let mut section = ExportSection::new();
    section.export("run", ExportKind::Func, run);
    section
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_is_big_and_always_the_same() {
        let module = big_module();
        assert!(module.len() > 1_000_000);
        assert!(module == big_module());
    }
}
