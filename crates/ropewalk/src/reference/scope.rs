//! The lifetime of references: scopes, and owned references.

use super::{Handle, Inside, Reference, check_kind, fits};
use crate::misuse::{ScopeEnded, WrongType};
use crate::store::{self, AsContext, AsContextMut, StoreContext, StoreContextMut};
use crate::value::type_check::checked;
use crate::value::wasm_ty::{WasmTy, nullable};
use anyhow::Result;
use ropewalk_abi::{HeapType, RawVal, RefType, ValType};
use ropewalk_runtime::{OwnedRoot, Store as RuntimeStore, StoreId};

/// A reference that lasts until it is dropped.
///
/// [`own`](Reference::own) makes it from a reference. Typed functions can take and return it:
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (type $list (struct (field i32) (field (ref null $list))))
///       (func (export "cons") (param i32 (ref null $list)) (result (ref $list))
///         (struct.new $list (local.get 0) (local.get 1))))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let cons = instance.get_typed_func::<(i32, Option<Owned<StructRef>>), Owned<StructRef>>(
///     &mut store,
///     "cons",
/// )?;
/// let mut list = None;
/// for i in 0..100_000 {
///     list = Some(cons.call(&mut store, (i, list))?);
/// }
/// let first = list.unwrap().get(&mut store)?;
/// assert_eq!(first.field(&mut store, 0)?.i32(), Some(99_999));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Owned<R: Reference> {
    store: StoreId,
    /// `None` if there was no memory for it. Then it behaves as if its scope had ended.
    root: Option<OwnedRoot>,
    detail: R::Detail,
}

impl<R: Reference> Owned<R> {
    pub(crate) fn new(runtime: &mut RuntimeStore, word: u64, detail: R::Detail) -> Owned<R> {
        Owned { store: runtime.id(), root: runtime.own(word), detail }
    }

    pub(crate) fn from_root(store: StoreId, root: OwnedRoot, detail: R::Detail) -> Owned<R> {
        Owned { store, root: Some(root), detail }
    }

    /// The reference, for the current scope.
    pub fn get(&self, mut store: impl AsContextMut) -> Result<R> {
        let runtime = &mut store.as_context_mut().0.runtime;
        let word = self.word(runtime)?;
        Ok(R::from_handle(Handle::new(runtime, word), self.detail, Inside(())))
    }

    /// A reference of a restored store, whose type is known.
    pub(crate) fn restored(
        runtime: &RuntimeStore,
        root: OwnedRoot,
        heap: HeapType,
    ) -> Result<Owned<R>> {
        check_kind(runtime, runtime.owned(&root), R::KIND)?;
        Ok(Owned::from_root(runtime.id(), root, R::detail_of(heap, Inside(()))))
    }

    /// The store, the root that keeps it, and its known type. `None` if there was no memory for
    /// it.
    pub(crate) fn parts(&self) -> Option<(StoreId, OwnedRoot, HeapType)> {
        let heap = R::known_type(&self.detail, Inside(())).unwrap_or(R::KIND);
        Some((self.store, self.root.clone()?, heap))
    }

    pub(crate) fn detail(&self) -> R::Detail {
        self.detail
    }

    pub(crate) fn word(&self, runtime: &RuntimeStore) -> Result<u64> {
        store::check(runtime, self.store, "reference")?;
        let word = runtime.owned(self.root.as_ref().ok_or(ScopeEnded)?);
        check_kind(runtime, word, R::KIND)?;
        Ok(word)
    }
}

// SAFETY: a reference of that type refers to a value of that kind.
unsafe impl<R: Reference> WasmTy for Owned<R> {
    fn ty() -> ValType {
        ValType::Ref(RefType { nullable: false, heap: R::KIND })
    }

    fn to_raw(self, runtime: &RuntimeStore) -> Result<RawVal> {
        Ok(RawVal::from_u64(self.word(runtime)?))
    }

    const MAY_BE_CHECKED: bool = true;

    unsafe fn to_raw_of(self, runtime: &RuntimeStore, ty: ValType) -> Result<RawVal> {
        let raw = RawVal::from_u64(self.word(runtime)?);
        let ValType::Ref(expected) = ty else { unreachable!("a reference") };
        if let Some(heap) = R::known_type(&self.detail, Inside(())) {
            if fits(runtime, raw.u64(), heap, expected) {
                return Ok(raw);
            }
            let found = ValType::Ref(RefType { nullable: false, heap });
            let describe = |ty| runtime.types().describe(ty);
            return Err(WrongType::new("value", describe(ty), describe(found)).into());
        }
        // SAFETY: neither is a function.
        unsafe { checked(runtime, raw, ty) }
    }

    unsafe fn from_raw(runtime: &mut RuntimeStore, raw: &RawVal) -> Self {
        Owned::new(runtime, raw.u64(), R::detail_of(R::KIND, Inside(())))
    }

    const NEEDS_TYPE: bool = R::NEEDS_TYPE;

    unsafe fn from_raw_of(runtime: &mut RuntimeStore, raw: &RawVal, ty: ValType) -> Self {
        let ValType::Ref(ty) = ty else { unreachable!("a reference") };
        Owned::new(runtime, raw.u64(), R::detail_of(ty.heap, Inside(())))
    }
}

nullable! {
    impl<R: Reference> Option<Owned<R>>;
}

/// A scope of references. References that are made in it end with it.
///
/// How long a reference lasts:
///
/// | made | lasts until |
/// | --- | --- |
/// | in a host function, as its parameters are | the function returns |
/// | in a `RootScope` | the scope ends |
/// | outside of both | ten thousand newer ones were made outside of both |
/// | as an [`Owned`] | the `Owned` is dropped |
///
/// After that, using it is the error [`ScopeEnded`](crate::ScopeEnded). So a program that does not
/// own references never accumulates them.
///
/// ```
/// use ropewalk::*;
///
/// let mut store = Store::new(&Engine::default(), ());
/// let reference = {
///     let mut scope = RootScope::new(&mut store);
///     ExternRef::new(&mut scope, "a value")?
/// };
/// assert!(reference.data(&store).is_err());
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct RootScope<C: AsContextMut> {
    store: C,
    begin: usize,
}

impl<C: AsContextMut> RootScope<C> {
    /// Begins a scope.
    pub fn new(mut store: C) -> RootScope<C> {
        let begin = store.as_context_mut().0.runtime.open_scope();
        RootScope { store, begin }
    }
}

impl<C: AsContextMut> Drop for RootScope<C> {
    fn drop(&mut self) {
        self.store.as_context_mut().0.runtime.close_scope(self.begin);
    }
}

impl<C: AsContextMut> AsContext for RootScope<C> {
    type Data = C::Data;

    fn as_context(&self) -> StoreContext<'_, C::Data> {
        self.store.as_context()
    }
}

impl<C: AsContextMut> AsContextMut for RootScope<C> {
    fn as_context_mut(&mut self) -> StoreContextMut<'_, C::Data> {
        self.store.as_context_mut()
    }
}
