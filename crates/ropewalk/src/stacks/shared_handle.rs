//! Handles of tasks and fibers. They share their stack with WebAssembly: a reference names the
//! same task or fiber for life.

/// Defines the handle of a kind of stacks.
macro_rules! shared_handle {
    ($(#[$doc:meta])* $name:ident: $kind:path, $what:literal;) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name(Owned<ContRef>);

        impl $name {
            #[doc = concat!("The handle for a reference, which must name ", $what, ".")]
            pub fn from_ref(mut store: impl AsContextMut, reference: ContRef) -> Result<$name> {
                let found = reference.design(&store)?;
                ensure!(found == $kind, "expected {}, found a reference of {found:?}", $what);
                let mut store = store.as_context_mut();
                Ok($name(crate::reference::Reference::own(reference, &mut store)?))
            }

            pub(crate) fn from_word(
                runtime: &mut RuntimeStore,
                word: u64,
                ty: ropewalk_abi::ValType,
            ) -> $name {
                let heap = crate::stacks::shared_handle::heap_of(ty);
                $name(Owned::new(runtime, word, heap))
            }

            pub(crate) fn owned(&self) -> &Owned<ContRef> {
                &self.0
            }

            pub(crate) fn word(&self, runtime: &RuntimeStore) -> Result<u64> {
                self.0.word(runtime)
            }

            pub(crate) fn word_of(
                &self,
                runtime: &RuntimeStore,
                expected: ropewalk_abi::RefType,
            ) -> Result<u64> {
                let word = self.word(runtime)?;
                crate::reference::check_fits(runtime, word, self.0.detail(), expected)?;
                Ok(word)
            }

            /// A reference to it, for WebAssembly.
            pub fn reference(&self, store: impl AsContextMut) -> Result<ContRef> {
                self.0.get(store)
            }

            /// Whether it can be continued: it is suspended, or has not begun.
            pub fn is_suspended(&self, store: impl AsContext) -> Result<bool> {
                let runtime = store.as_context().runtime();
                Ok(runtime.is_suspended(self.word(runtime)?))
            }

            /// Whether it has ended.
            pub fn is_moribund(&self, store: impl AsContext) -> Result<bool> {
                let runtime = store.as_context().runtime();
                Ok(!runtime.is_alive(self.word(runtime)?))
            }

            /// Where it is suspended. Empty if it is not suspended or has not begun.
            pub fn backtrace(&self, store: impl AsContext) -> Result<ropewalk_runtime::Backtrace> {
                let runtime = store.as_context().runtime();
                let word = self.word(runtime)?;
                let is_suspended = runtime.is_suspended(word);
                Ok(is_suspended.then(|| runtime.held_backtrace(word)).unwrap_or_default())
            }

            /// How many bytes of its stacks are in use. Zero if it is not suspended.
            pub fn bytes(&self, store: impl AsContext) -> Result<usize> {
                let runtime = store.as_context().runtime();
                let word = self.word(runtime)?;
                Ok(if runtime.is_suspended(word) { runtime.held_bytes(word) } else { 0 })
            }

            /// Frees its stacks, and all that are suspended together with it. It must be
            /// suspended, and is moribund afterwards.
            pub fn release(&self, mut store: impl AsContextMut) -> Result<()> {
                let runtime = &mut *store.as_context_mut().0.runtime;
                let word = self.word(runtime)?;
                Ok(runtime.release(word).map_err(ropewalk_runtime::Trap::from_code)?)
            }
        }
    };
}

pub(crate) use shared_handle;

pub(crate) fn heap_of(ty: ropewalk_abi::ValType) -> ropewalk_abi::HeapType {
    match ty {
        ropewalk_abi::ValType::Ref(ty) => ty.heap,
        other => unreachable!("a reference, not {other}"),
    }
}
