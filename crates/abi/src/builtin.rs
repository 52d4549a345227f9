//! The functions of the runtime that generated code calls.
//!
//! Each takes the calling instance's context and up to four words, runs on the
//! host's stack, and returns an [`Outcome`].

/// What a builtin or host function tells the stub that called it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Outcome {
    /// How to continue: one of the constants.
    pub ended: u64,
    /// The result of a builtin that has one, or the exception that is thrown.
    pub value: u64,
}

/// Continues after the call.
pub const GO_ON: u64 = 0;
/// Ends the activation; why, stands in the store.
pub const END: u64 = 1;
/// Continues at the handler that the control block names, with an exception.
pub const CATCH: u64 = 2;
/// Leaves the call: the stack continues after it when somebody continues the stack,
/// with the results of the call. What runs until then, the store's
/// [`Passage`](crate::Passage) says; if that is nothing, the activation is left.
pub const SUSPEND: u64 = 3;

impl Outcome {
    /// Ends the activation.
    pub const END: Outcome = Outcome { ended: END, value: 0 };

    /// Leaves the call until somebody continues the stack.
    pub const SUSPEND: Outcome = Outcome { ended: SUSPEND, value: 0 };

    /// Continues with a result.
    pub fn returned(value: u64) -> Outcome {
        Outcome { ended: GO_ON, value }
    }

    /// Continues at a handler with an exception.
    pub fn catch(exception: u64) -> Outcome {
        Outcome { ended: CATCH, value: exception }
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

        impl Builtin {
            /// Whether the links between stacks are half changed when generated
            /// code calls it.
            pub const fn is_half_way(self) -> bool {
                use Builtin::*;
                matches!(
                    self,
                    move_stack
                        | unpark
                        | prepare
                        | release_running
                        | extension_end
                        | trace_create
                        | trace_switch
                )
            }

            /// Whether it can be left, and done again later, before it has changed anything:
            /// those that ask the limiter of a store, where nothing that others may change
            /// is in registers, and at most the first value in the transfer area.
            pub const fn can_wait(self) -> bool {
                use Builtin::*;
                matches!(
                    self,
                    memory_grow
                        | table_grow
                        | new_stack
                        | heap_allocate
                        | array_new_default
                        | array_new
                        | array_new_data
                        | array_new_elem
                )
            }

            /// Whether its result is an address that the engine works with, and no value
            /// of the program.
            pub const fn returns_pointer(self) -> bool {
                use Builtin::*;
                matches!(self, new_stack | make_room | prepare | renew_free | extension_end)
            }

            /// Whether no rout is beginning any more when it has ended: routs do
            /// nothing of the kind before their start.
            pub const fn ends_beginning(self) -> bool {
                use Builtin::*;
                matches!(self, check_stacks | throw | resume_throw | find_clause | walk_begin)
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
    /// Makes room for an object of a type and of this many bytes, collecting if
    /// need be; returns where it is. Everything but its header is zero.
    heap_allocate(ty, size) -> object;
    /// A new array full of zeroes.
    array_new_default(ty, len) -> array;
    /// A new array full of what the transfer area begins with.
    array_new(ty, len) -> array;
    /// A new array with elements from a data segment: `type << 32 | segment`.
    array_new_data(type_and_segment, from, len) -> array;
    /// A new array with elements from an element segment: `type << 32 | segment`.
    array_new_elem(type_and_segment, from, len) -> array;
    /// Fills elements, `to << 32 | len`, with what the transfer area begins with.
    array_fill(array, to_and_len);
    /// Copies elements; those to copy are `from_index << 32 | len`.
    array_copy(to, to_index, from, from_index_and_len);
    /// Copies from a data segment the elements `from << 32 | len`.
    array_init_data(segment, array, to, from_and_len);
    /// Copies from an element segment the elements `from << 32 | len`.
    array_init_elem(segment, array, to, from_and_len);
    /// Throws an exception.
    throw(exception);
    /// Makes a new stack ready, because there was none.
    new_stack() -> block;
    /// Makes room on a free stack for this many bytes, since there was none; returns
    /// its stack pointer below them.
    make_room(block, size) -> sp;
    /// Traps, because a reference to a stack was not valid.
    invalid_stack(reference, kind);
    /// Uses up a reference whose generation is the last, while as many arguments of
    /// a type are in the transfer area; returns the block, which is another one.
    prepare(reference, ty, count) -> block;
    /// Binds arguments of the transfer area to a stack, `kind << 32 | count`, if it is
    /// parked, has no room, or its generation is the last; returns the new reference.
    bind(reference, ty, kind_and_count) -> reference;
    /// Searches for the clause of a tag: returns its number, and
    /// leaves the outermost stack in the store.
    find_clause(handler_word) -> clause;
    /// Continues a stack with an exception: a reference, an exception and the
    /// handlers.
    resume_throw(reference, exception, handlers);
    /// Moves a stack that does not run to other memory; a stress mode does that
    /// before every switch to it.
    move_stack(block);
    /// Unparks a stack that is about to be continued and is parked, and those outside
    /// of it that were suspended with it.
    unpark(block);
    /// Parks all stacks that are suspended; a stress mode does that after every switch.
    park_stacks();
    /// Checks the records of all stacks; a stress mode does that after every
    /// switch.
    check_stacks();
    /// Copies what a reference of a kind names; returns the reference to the copy.
    copy_stack(reference, kind) -> reference;
    /// Records that a stack was made, where that is traced.
    trace_create(block);
    /// Records that another stack is about to be continued, where that is traced: with values
    /// in the transfer area, whose [classes](crate::trace) a word says, and perhaps with a tag.
    trace_switch(block, values, tag);
    /// Gives the first of the free stacks, whose generations are used up,
    /// another block; returns it.
    renew_free() -> block;
    /// Switches to a stack of the bag with an exception, whose value at an offset is
    /// to be the stack that is left.
    switch_throw(reference, exception, offset);
    /// Traps, because the reference to a fiber to suspend was not valid.
    fiber_not_running(reference);
    /// Frees the running stack and its parents up to and with another.
    release_running(block);
    /// Frees a suspended stack and what is suspended with it.
    release_suspended(block);
    /// Frees a fiber without a parent, unless it has ended.
    release_fiber(reference);
    /// Delivers an event, whose values are in the transfer area, to a stack as
    /// an exception; what becomes of the running one is
    /// [`LEAVE_SUSPENDED`] or [`LEAVE_FREED`].
    event_throw(reference, event_word, leaving);
    /// Throws an event, whose values are in the transfer area, at the frame
    /// below the thunk that calls this.
    event_return(event_word);
    /// Ends an extension: returns the stack that has extended the running one,
    /// and leaves the base in the store.
    extension_end() -> block;
    /// Frees a stack of the first-class design, unless it is null or used.
    drop_stack(reference);
    /// Makes the reference in an exception stale; returns a new one.
    deliver_stack(reference) -> reference;
    /// Frees the running stack and throws an exception where another is
    /// suspended; with null, throws it here.
    redirect(exception, reference);
    /// Removes the newest marks until this many are left.
    leave_to(level);
    /// Leaves a mark: a function returns a call tag.
    enter_answer(tag, function, env);
    /// Leaves a mark: walks continue in the stack in a box.
    enter_redirect(boxed);
    /// Leaves a mark: walks continue in the stack that a function tells, which is
    /// handed back to another.
    enter_redirect_to(function, taker, env);
    /// Begins a walk for a call tag, and walks on: returns its number among the
    /// marks, shifted by [`WALK_FLAGS`], and the flags.
    walk_begin(tag) -> number_and_flags;
    /// Walks on: returns whether a function is to be called that tells where
    /// to continue, or else the answer is found.
    walk_on(tag, number) -> asks;
    /// Tells where a walk continues.
    walk_target(number, reference);
    /// Undoes a walk step by step: returns whether a function is to be called
    /// that takes a stack back, or else all is done.
    walk_back(number) -> gives;
}

/// How far the number of a walk is shifted to make room for flags.
pub const WALK_FLAGS: u32 = 2;
/// The walk must ask a function where to continue.
pub const WALK_ASKS: u64 = 1;
/// The walk has found its answer and taken nothing on the way.
pub const WALK_IS_DIRECT: u64 = 2;

/// What becomes of the running stack when an event leaves it: it is suspended.
pub const LEAVE_SUSPENDED: u64 = 0;
/// It is freed.
pub const LEAVE_FREED: u64 = 1;

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
