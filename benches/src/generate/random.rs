//! Pseudorandom numbers from a fixed seed.

/// A generator (Marsaglia's xorshift).
pub struct Random(u64);

impl Random {
    /// The start of the sequence.
    pub fn new() -> Self {
        Self(0x0072_6f70_6577_616c)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 32) as u32) % bound
    }

    /// One of these.
    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u32) as usize]
    }

    /// A number as in programs: mostly small, rarely large.
    pub fn constant(&mut self) -> i32 {
        match self.below(8) {
            0 => self.below(u32::MAX) as i32,
            1 => -(self.below(64) as i32),
            2 => 1 << self.below(31),
            _ => self.below(256) as i32,
        }
    }
}
