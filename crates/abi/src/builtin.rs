//! The functions of the runtime that generated code calls.
//!
//! Each takes the calling instance's context and up to four words, runs on the
//! host's stack, and answers an [`Outcome`].

/// What a builtin or host function tells the stub that called it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Outcome {
    /// Zero to go on; anything else ends the activation, whose trap or panic
    /// then stands in the store.
    pub ended: u64,
    /// The result of a builtin that has one.
    pub value: u64,
}

impl Outcome {
    /// Ends the activation.
    pub const END: Outcome = Outcome { ended: 1, value: 0 };

    /// Goes on with a result.
    pub fn go_on(value: u64) -> Outcome {
        Outcome { ended: 0, value }
    }
}

macro_rules! builtins {
    ($($(#[$doc:meta])* $name:ident($($param:ident),*) $(-> $result:ident)?;)*) => {
        /// A function of the runtime.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        #[expect(non_camel_case_types, reason = "the names of the runtime's functions")]
        pub enum Builtin {
            $($(#[$doc])* $name,)*
        }

        impl Builtin {
            /// Every builtin, in the order of the store's table.
            pub const ALL: &'static [Builtin] = &[$(Builtin::$name,)*];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// How many words it takes after the instance's context.
            pub fn params(self) -> usize {
                match self {
                    $(Builtin::$name => <[&str]>::len(&[$(stringify!($param)),*]),)*
                }
            }
        }

        /// Calls the macro `$callback` with the name and parameter names of
        /// each builtin.
        #[macro_export]
        macro_rules! for_each_builtin {
            ($callback:ident) => {
                $callback! { $($name($($param),*);)* }
            };
        }
    };
}

// Two 32-bit indices that belong together travel as one word: `a << 32 | b`.
builtins! {
    /// Grows a memory; the old size in pages, or -1.
    memory_grow(memory, pages) -> size;
    /// Copies between memories, which are `to << 32 | from`.
    memory_copy(memories, to, from, len);
    /// Fills a part of a memory.
    memory_fill(memory, to, byte, len);
    /// Copies from a data segment: `memory << 32 | segment`.
    memory_init(memory_and_segment, to, from, len);
    /// Drops a data segment.
    data_drop(segment);
    /// Grows a table; the old size, or -1.
    table_grow(table, init, delta) -> size;
    /// Copies between tables, which are `to << 32 | from`.
    table_copy(tables, to, from, len);
    /// Fills a part of a table.
    table_fill(table, to, value, len);
    /// Copies from an element segment: `table << 32 | segment`.
    table_init(table_and_segment, to, from, len);
    /// Drops an element segment.
    elem_drop(segment);
}

/// The shape in which builtins stand in the store's table. Each really takes
/// as many words as [`Builtin::params`] says.
pub type BuiltinPointer = *const ();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_index_the_table() {
        for (i, &builtin) in Builtin::ALL.iter().enumerate() {
            assert_eq!(builtin as usize, i);
            assert!(builtin.params() <= 4);
        }
    }
}
