//! Builtins: the functions of the runtime that generated code calls.
//!
//! Each takes the context of the calling instance and up to four words, runs on the host's stack,
//! and returns an [`Outcome`].

/// What a builtin or host function returns to the stub that called it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Outcome {
    /// How to continue: one of the constants below.
    pub ended: u64,
    /// The result of a builtin, or the exception that is thrown.
    pub value: u64,
}

/// Continues after the call.
pub const CONTINUE: u64 = 0;
/// Ends the activation. The store has the reason.
pub const END: u64 = 1;
/// Continues with an exception at the handler that the control block names.
pub const CATCH: u64 = 2;
/// Suspends the call. When the stack continues, it continues after the call, with its results.
/// Until then the stack in the store's [`Passage`](crate::Passage) runs, or if there is none,
/// control leaves the activation.
pub const SUSPEND: u64 = 3;

impl Outcome {
    /// Ends the activation.
    pub const END: Outcome = Outcome { ended: END, value: 0 };

    /// Suspends the call until the stack continues.
    pub const SUSPEND: Outcome = Outcome { ended: SUSPEND, value: 0 };

    /// Continues with a result.
    pub fn returned(value: u64) -> Outcome {
        Outcome { ended: CONTINUE, value }
    }

    /// Continues at a handler with an exception.
    pub fn catch(exception: u64) -> Outcome {
        Outcome { ended: CATCH, value: exception }
    }
}

/// The most words that a builtin takes after the instance's context.
pub const MAX_BUILTIN_PARAMS: usize = 4;

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
            /// The number of builtins.
            pub const COUNT: usize = Self::ALL.len();

            /// The words that it takes after the instance's context.
            pub fn params(self) -> usize {
                match self {
                    $(Builtin::$name => <[&str]>::len(&[$(stringify!($param)),*]),)*
                }
            }
        }

        impl Builtin {
            /// Whether the links between stacks may be inconsistent when generated code calls it.
            pub const fn is_halfway(self) -> bool {
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
                        | trace_refuse
                )
            }

            /// Whether it may be suspended before it has changed anything, and repeated later.
            /// These builtins ask the limiter of a store. At their calls, no register holds a value
            /// that other code may change, and at most the first place of the transfer area is in
            /// use.
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

            /// Whether its result is a pointer of the engine, and not a value of the program.
            pub const fn returns_pointer(self) -> bool {
                use Builtin::*;
                matches!(self, new_stack | make_room | prepare | renew_free | extension_end)
            }

            /// Whether no rout can be before its start when the builtin returns: routs call none of
            /// these before their start.
            pub const fn ends_beginning(self) -> bool {
                use Builtin::*;
                matches!(self, check_stacks | throw | resume_throw | find_clause | walk_begin)
            }
        }

        /// Calls the macro `$callback` with the name and the parameter names of each builtin.
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
    /// Fills a range of a memory.
    memory_fill(memory, to, byte, len);
    /// Copies from a data segment: `memory << 32 | segment`.
    memory_init(memory_and_segment, to, from, len);
    /// Drops a data segment.
    data_drop(segment);
    /// Grows a table; the old size, or -1.
    table_grow(table, init, delta) -> size;
    /// Copies between tables, which are `to << 32 | from`.
    table_copy(tables, to, from, len);
    /// Fills a range of a table.
    table_fill(table, to, value, len);
    /// Copies from an element segment: `table << 32 | segment`.
    table_init(table_and_segment, to, from, len);
    /// Drops an element segment.
    elem_drop(segment);
    /// Allocates an object of a type and of this many bytes, and collects if necessary. Everything
    /// but its header is zero.
    heap_allocate(ty, size) -> object;
    /// A new array of zeros.
    array_new_default(ty, len) -> array;
    /// A new array of copies of the first value in the transfer area.
    array_new(ty, len) -> array;
    /// A new array with elements from a data segment: `type << 32 | segment`.
    array_new_data(type_and_segment, from, len) -> array;
    /// A new array with elements from an element segment: `type << 32 | segment`.
    array_new_elem(type_and_segment, from, len) -> array;
    /// Fills elements, `to << 32 | len`, with the first value in the transfer area.
    array_fill(array, to_and_len);
    /// Copies elements. The source is `from_index << 32 | len`.
    array_copy(to, to_index, from, from_index_and_len);
    /// Copies from a data segment the elements `from << 32 | len`.
    array_init_data(segment, array, to, from_and_len);
    /// Copies from an element segment the elements `from << 32 | len`.
    array_init_elem(segment, array, to, from_and_len);
    /// Throws an exception.
    throw(exception);
    /// Makes a free stack, because the free list is empty.
    new_stack() -> block;
    /// Makes room on a free stack for this many bytes; returns the stack pointer below them.
    make_room(block, size) -> sp;
    /// Traps, because a reference to a stack is not valid.
    invalid_stack(reference, kind);
    /// Uses up a reference of the last generation, while arguments of a type are in the transfer
    /// area. Returns the block, which is a new one.
    prepare(reference, ty, count) -> block;
    /// Binds arguments in the transfer area, `kind << 32 | count`, to a stack that is parked, has
    /// no room, or is of the last generation. Returns the new reference.
    bind(reference, ty, kind_and_count) -> reference;
    /// Searches for the clause of a tag. Returns its number, and puts the outermost stack that is
    /// captured in the store.
    find_clause(handler_word) -> clause;
    /// Continues a stack with an exception.
    resume_throw(reference, exception, handlers);
    /// Moves a suspended stack to other memory. A stress mode does that before every switch to it.
    move_stack(block);
    /// Unparks a parked stack that will continue, and the stacks outside of it that were suspended
    /// with it.
    unpark(block);
    /// Parks all suspended stacks. A stress mode does that after every switch.
    park_stacks();
    /// Checks the control blocks of all stacks. A stress mode does that after every switch.
    check_stacks();
    /// Copies what a reference of a kind names; returns the reference to the copy.
    copy_stack(reference, kind) -> reference;
    /// Records a new stack in the trace.
    trace_create(block);
    /// Records a switch in the trace: its values in the transfer area, a word with their
    /// [classes](crate::trace), and perhaps a tag.
    trace_switch(block, values, tag);
    /// Records in the trace that a stack has no clause for an event.
    trace_refuse(block, tag);
    /// Gives the first free stack, whose generations are used up, another block; returns that.
    renew_free() -> block;
    /// Switches to a stack of the bag with an exception. Sets its value at an offset to the stack
    /// that is left.
    switch_throw(reference, exception, offset);
    /// Traps, because the reference to a fiber to suspend is not valid.
    fiber_not_running(reference);
    /// Frees the running stack and its parents up to and including another.
    release_running(block);
    /// Frees a suspended stack and the stacks that are suspended with it.
    release_suspended(block);
    /// Frees a fiber without a parent, unless it has ended.
    release_fiber(reference);
    /// Delivers an event, with values in the transfer area, to a stack as an exception. The running
    /// stack is suspended or freed: [`LEAVE_SUSPENDED`] or [`LEAVE_FREED`].
    event_throw(reference, event_word, leaving);
    /// Throws an event, with values in the transfer area, at the frame below the thunk that calls
    /// this.
    event_return(event_word);
    /// Ends the activation with a trap, because the function at an address has returned. Names the
    /// return event, if there is one.
    function_returned(trap, function, event_word);
    /// Ends an extension. Returns the stack that has extended the running one, and puts the base in
    /// the store.
    extension_end() -> block;
    /// Frees a first-class stack, unless the reference is null or used up.
    drop_stack(reference);
    /// Makes a reference in an exception stale; returns a new one.
    deliver_stack(reference) -> reference;
    /// Frees the running stack and throws an exception where another is suspended. With null,
    /// throws it here.
    redirect(exception, reference);
    /// Removes the newest marks until this many are left.
    leave_to(level);
    /// Leaves a mark: a function answers a call tag.
    enter_answer(tag, function, env);
    /// Leaves a mark: walks continue in the stack in a box.
    enter_redirect(boxed);
    /// Leaves a mark: walks continue in the stack that one function returns, and another takes it
    /// back.
    enter_redirect_to(function, taker, env);
    /// Begins a walk for a call tag, and continues it. Returns its number among the marks, shifted
    /// by [`WALK_FLAGS`], and the flags.
    walk_begin(tag) -> number_and_flags;
    /// Continues a walk. Returns whether generated code must call a function for the next stack;
    /// otherwise the answer is found.
    walk_on(tag, number) -> asks;
    /// Sets the stack in which a walk continues.
    walk_target(number, reference);
    /// Undoes a walk step by step. Returns whether generated code must call a function that takes a
    /// stack back; otherwise the walk is undone.
    walk_back(number) -> gives;
}

/// The shift of a walk's number, which makes room for the flags.
pub const WALK_FLAGS: u32 = 2;
/// Generated code must call a function for the next stack.
pub const WALK_ASKS: u64 = 1;
/// The walk has found its answer, and has taken no stack on the way.
pub const WALK_IS_DIRECT: u64 = 2;

/// The stack that an event leaves is suspended.
pub const LEAVE_SUSPENDED: u64 = 0;
/// The stack that an event leaves is freed.
pub const LEAVE_FREED: u64 = 1;

/// The type of builtins in the store's table. Each takes the number of words that
/// [`Builtin::params`] returns.
pub type BuiltinPointer = *const ();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_index_the_table() {
        for (i, &builtin) in Builtin::ALL.iter().enumerate() {
            assert_eq!(builtin as usize, i);
            assert!(builtin.params() <= MAX_BUILTIN_PARAMS);
        }
    }
}
