//! The local variables of a generated function, and the targets of its pointers.

use wasm_encoder::ValType;

/// Pages of the memory: one each for integers, f64 and f32. They never overlap, so no integer is
/// read from the bits of a NaN.
pub const PAGES: u64 = 3;
/// Offsets of the pages with floats.
pub const F64_PAGE: u64 = 0x1_0000;
pub const F32_PAGE: u64 = 0x2_0000;
/// A pointer masked with this is a multiple of 8 in the lower half of a page.
pub const POINTER: i32 = 0x7ff8;
/// The limit of offsets from a pointer.
pub const REACH: u32 = 0x800;
/// The end of the stack frames in memory.
pub const STACK: i32 = 0x7000;
/// The maximum nesting of loops.
pub const LOOPS: u32 = 2;

/// The number of variables of each type, besides the parameters.
const OF_EACH: u32 = 4;
const NUMBERS: [ValType; 4] = [ValType::I32, ValType::I64, ValType::F32, ValType::F64];
const POINTERS: u32 = 3;

/// The names of the variables.
pub struct Locals {
    parameters: &'static [ValType],
}

impl Locals {
    pub fn new(parameters: &'static [ValType]) -> Self {
        Self { parameters }
    }

    /// The declarations: numbers, pointers, counters of loops.
    pub fn declarations(&self) -> Vec<(u32, ValType)> {
        let mut declared: Vec<_> = NUMBERS.iter().map(|&ty| (OF_EACH, ty)).collect();
        declared.push((POINTERS + LOOPS, ValType::I32));
        declared
    }

    /// All variables of a type that can have any value.
    pub fn numbers(&self, ty: ValType) -> Vec<u32> {
        let own = (0..).zip(self.parameters).filter(|(_, parameter)| **parameter == ty);
        let first = self.first_number(ty);
        own.map(|(local, _)| local).chain(first..first + OF_EACH).collect()
    }

    /// Variables that always have a valid address. The first is the frame.
    pub fn pointers(&self) -> Vec<u32> {
        let first = self.after_numbers();
        (first..first + POINTERS).collect()
    }

    /// The counter of a loop at this nesting depth.
    pub fn counter(&self, depth: u32) -> u32 {
        self.after_numbers() + POINTERS + depth
    }

    fn first_number(&self, ty: ValType) -> u32 {
        let place = NUMBERS.iter().position(|number| *number == ty).unwrap_or_default();
        self.parameters.len() as u32 + OF_EACH * place as u32
    }

    fn after_numbers(&self) -> u32 {
        self.parameters.len() as u32 + OF_EACH * NUMBERS.len() as u32
    }
}
