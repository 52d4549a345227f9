//! Lists of the stacks of a store, and core dumps.

use crate::inspect::core_dump;
use crate::store::{Store, StoreContext};
use anyhow::Result;
use ropewalk_runtime::StackList;

impl<T> Store<T> {
    /// Lists all stacks in use: state, design, which stack waits for it, backtrace, and memory. The
    /// list prints as a tree, and [as JSON](StackList::to_json).
    ///
    /// In a host function, use `caller.as_context().stacks()`. Fails only without memory for the
    /// list, or if the records of stacks contradict each other, which is a bug in the engine.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let module = Module::new(&Engine::default(), r#"
    ///     (module $m
    ///       (type $f (func)) (type $c (cont $f)) (tag $wait)
    ///       (global $kept (mut (ref null $c)) (ref.null $c))
    ///       (func $body (suspend $wait))
    ///       (elem declare func $body)
    ///       (func (export "begin")
    ///         (block $on (result (ref $c))
    ///           (resume $c (on $wait $on) (cont.new $c (ref.func $body)))
    ///           (return))
    ///         (global.set $kept)))"#)?;
    /// let mut store = Store::new(module.engine(), ());
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// instance.get_typed_func::<(), ()>(&mut store, "begin")?.call(&mut store, ())?;
    /// let stacks = store.stacks()?;
    /// let stack = stacks.iter().next().unwrap();
    /// assert_eq!((stack.kind, stack.life), (Some(StackKind::Continuation), Life::Suspended));
    /// assert_eq!(stack.backtrace.frames()[0].function_name(), Some("body"));
    /// assert!(stacks.is_stuck());
    /// assert!(stacks.waits().to_string().contains("(func $body (suspend $wait))"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn stacks(&self) -> Result<StackList> {
        self.inner.runtime.list_stacks()
    }

    /// Lists the stacks whenever a call fails, before they are freed, and keeps the
    /// [last list](Self::take_stacks_of_failure). It has at most `most` running stacks and stacks that
    /// wait for these, the innermost and the outermost, and at most as many others.
    /// [`StackList::omitted`] says how many it leaves out. It has fewer without memory. The default
    /// of 0 turns this off.
    pub fn keep_stacks_of_failure(&mut self, most: usize) {
        self.inner.runtime.set_keep_stacks(most);
    }

    /// Takes the list of the stacks when the last call failed, by a trap, an exception or an error
    /// of a host function, if it was [kept](Self::keep_stacks_of_failure). For nested calls it is
    /// the list of the innermost call.
    pub fn take_stacks_of_failure(&mut self) -> Option<StackList> {
        self.inner.runtime.take_kept_stacks()
    }

    /// A core dump of a program of this name, in the [format of the WebAssembly tool
    /// conventions][format]. It has the frames of these stacks, and the current memories and
    /// globals.
    ///
    /// Each stack is a thread of the dump. Running stacks come first. Locals are not in it. Globals
    /// that are references are null.
    ///
    /// [format]: https://github.com/WebAssembly/tool-conventions/blob/main/Coredump.md
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let source = r#"(module (memory 1) (func (export "run") (unreachable)))"#;
    /// let module = Module::new(&Engine::default(), source)?;
    /// let mut store = Store::new(module.engine(), ());
    /// store.keep_stacks_of_failure(100);
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
    /// assert!(run.call(&mut store, ()).is_err());
    /// let stacks = store.take_stacks_of_failure().unwrap();
    /// let dump = store.core_dump("a program", &stacks);
    /// assert!(dump.starts_with(b"\0asm"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn core_dump(&self, program: &str, stacks: &StackList) -> Vec<u8> {
        core_dump::write(&self.inner.runtime, program, stacks)
    }
}

impl<T> StoreContext<'_, T> {
    /// As [`Store::stacks`].
    pub fn stacks(&self) -> Result<StackList> {
        self.runtime().list_stacks()
    }

    /// As [`Store::core_dump`].
    pub fn core_dump(&self, program: &str, stacks: &StackList) -> Vec<u8> {
        core_dump::write(self.runtime(), program, stacks)
    }
}
