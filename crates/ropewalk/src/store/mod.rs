//! Stores, which own instances and the host's data, and borrowed stores.

pub(crate) mod future_memory;
pub(crate) mod limits;

use crate::engine::{Engine, check_stack_size};
use crate::misuse::WrongStore;
use crate::store::future_memory::FutureMemory;
use anyhow::Result;
use ropewalk_runtime::{StackStatistics, Store as RuntimeStore, StoreId};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// Owns instances, everything that they are made of, and data of the host.
///
/// A store can be sent to another thread between calls.
///
/// ```
/// use ropewalk::*;
///
/// let mut store = Store::new(&Engine::default(), vec!["the host's data"]);
/// let note = Func::wrap(&mut store, |mut caller: Caller<'_, Vec<&str>>| {
///     caller.data_mut().push("noted");
/// });
/// note.call(&mut store, &[], &mut [])?;
/// let mut store = std::thread::spawn(move || {
///     note.call(&mut store, &[], &mut []).unwrap();
///     store
/// })
/// .join()
/// .unwrap();
/// assert_eq!(store.into_data(), ["the host's data", "noted", "noted"]);
/// # Ok::<(), Error>(())
/// ```
///
/// Its host functions rely on the exact type of the data, lifetimes included. So a store whose data
/// lives long cannot be used as one whose data lives shorter:
///
/// ```
/// # use ropewalk::Store;
/// fn same<'a>(store: Store<&'a str>) -> Store<&'a str> {
///     store
/// }
/// ```
///
/// ```compile_fail
/// # use ropewalk::Store;
/// fn shorter<'a>(store: Store<&'static str>) -> Store<&'a str> {
///     store
/// }
/// ```
#[derive(Debug)]
pub struct Store<T> {
    /// Boxed, since host functions have its address.
    pub(crate) inner: Box<StoreInner<T>>,
}

#[derive(Debug)]
pub(crate) struct StoreInner<T> {
    pub runtime: Box<RuntimeStore>,
    pub future_memory: FutureMemory,
    engine: Engine,
    data: T,
    _exactly: Exactly<T>,
}

/// Makes a type invariant in `T`. A host function both reads and sets the data, and its type is
/// erased, so `T` must not change its lifetimes.
pub(crate) type Exactly<T> = PhantomData<fn(T) -> T>;

impl<T> Store<T> {
    /// A new store of an engine.
    pub fn new(engine: &Engine, data: T) -> Store<T> {
        let runtime = ropewalk_runtime::new_store(engine.store_options());
        let engine = engine.clone();
        Store {
            inner: Box::new(StoreInner {
                runtime,
                future_memory: FutureMemory::default(),
                engine,
                data,
                _exactly: PhantomData,
            }),
        }
    }

    /// Its engine.
    pub fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// The host's data.
    pub fn data(&self) -> &T {
        &self.inner.data
    }

    /// The host's data, mutably.
    pub fn data_mut(&mut self) -> &mut T {
        &mut self.inner.data
    }

    /// How many stacks the store has, and how much memory they take.
    pub fn stack_statistics(&self) -> StackStatistics {
        self.inner.runtime.stack_statistics()
    }

    /// Limits how many bytes a stack of this store may have from now on, in place of
    /// [`Config::max_wasm_stack`](crate::Config::max_wasm_stack). A stack always has its initial
    /// size, and a larger stack keeps its memory.
    pub fn set_max_wasm_stack(&mut self, bytes: usize) -> Result<()> {
        check_stack_size(bytes)?;
        self.inner.runtime.set_max_stack(bytes);
        Ok(())
    }

    /// Parks all suspended stacks, of all designs: their frames are packed into compact memory
    /// until they continue, and their own memory is freed. Returns how many were parked.
    ///
    /// A store with many idle stacks parks them by itself. A host can use this when nothing will
    /// run for a while.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let source = r#"(module
    ///     (type $f (func (result i32))) (type $c (cont $f)) (tag $wait)
    ///     (func $body (result i32) (suspend $wait) (i32.const 7))
    ///     (elem declare func $body)
    ///     (global $kept (mut (ref null $c)) (ref.null $c))
    ///     (func (export "begin")
    ///       (block $on (result (ref $c))
    ///         (resume $c (on $wait $on) (cont.new $c (ref.func $body))) (return (drop)))
    ///       (global.set $kept))
    ///     (func (export "end") (result i32) (resume $c (global.get $kept))))"#;
    /// let module = Module::new(&Engine::default(), source)?;
    /// let mut store = Store::new(module.engine(), ());
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// instance.get_typed_func::<(), ()>(&mut store, "begin")?.call(&mut store, ())?;
    /// assert_eq!(store.park_idle(), 1);
    /// assert_eq!(store.stack_statistics().parked, 1);
    /// let end = instance.get_typed_func::<(), i32>(&mut store, "end")?;
    /// assert_eq!(end.call(&mut store, ())?, 7);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn park_idle(&mut self) -> usize {
        self.inner.runtime.park_idle()
    }

    /// How many calls wait for pending host calls.
    pub fn pending_calls(&self) -> usize {
        self.inner.runtime.running.count_pending()
    }

    /// Collects garbage.
    pub fn gc(&mut self) {
        self.inner.runtime.gc();
    }

    /// The number of garbage collections so far.
    pub fn collections(&self) -> u64 {
        self.inner.runtime.collections()
    }

    /// How many bytes the objects of the heap take, garbage included.
    pub fn heap_used(&self) -> usize {
        self.inner.runtime.heap_used()
    }

    /// The host's data, without the store.
    pub fn into_data(self) -> T {
        self.inner.data
    }
}

impl<T: Default> Default for Store<T> {
    fn default() -> Self {
        Store::new(&Engine::default(), T::default())
    }
}

/// A borrowed store.
///
/// ```
/// use ropewalk::*;
///
/// let store = Store::new(&Engine::default(), 5);
/// let borrowed: StoreContext<'_, i32> = store.as_context();
/// assert_eq!(*borrowed.data(), 5);
/// ```
#[derive(Debug)]
pub struct StoreContext<'a, T>(pub(crate) &'a StoreInner<T>);

/// A mutably borrowed store.
///
/// ```
/// use ropewalk::*;
///
/// fn count(mut store: StoreContextMut<'_, i32>) {
///     *store.data_mut() += 1;
/// }
///
/// let mut store = Store::new(&Engine::default(), 5);
/// count(store.as_context_mut());
/// assert_eq!(*store.data(), 6);
/// ```
#[derive(Debug)]
pub struct StoreContextMut<'a, T>(pub(crate) &'a mut StoreInner<T>);

/// A type that a store can be borrowed from: a [`Store`], a [`Caller`](crate::Caller), a
/// [`RootScope`](crate::RootScope), or a reference to one of them.
///
/// ```
/// use ropewalk::*;
///
/// fn pages(store: impl AsContext, memory: Memory) -> Result<u64> {
///     memory.size(&store)
/// }
///
/// let mut store = Store::new(&Engine::default(), ());
/// let memory = Memory::new(&mut store, MemoryType::new(3, None))?;
/// assert_eq!(pages(&store, memory)?, 3);
/// # Ok::<(), Error>(())
/// ```
///
/// Other crates cannot implement it. Such a type could return another store each time, while the
/// engine relies on getting the same one:
///
/// ```compile_fail
/// # use ropewalk::*;
/// struct Either(Store<()>, Store<()>);
///
/// impl AsContext for Either {
///     type Data = ();
///
///     fn as_context(&self) -> StoreContext<'_, ()> {
///         self.0.as_context()
///     }
/// }
/// ```
pub trait AsContext: sealed::Sealed {
    /// The host's data in the store.
    type Data;

    /// Borrows the store.
    fn as_context(&self) -> StoreContext<'_, Self::Data>;
}

/// A type that a store can be borrowed mutably from.
///
/// ```
/// use ropewalk::*;
///
/// /// Calls a function from a host function or from outside.
/// fn twice(mut store: impl AsContextMut, func: &TypedFunc<i32, i32>, x: i32) -> Result<i32> {
///     let y = func.call(&mut store, x)?;
///     func.call(&mut store, y)
/// }
///
/// let mut store = Store::new(&Engine::default(), ());
/// let double = Func::wrap(&mut store, |x: i32| x * 2).typed(&store)?;
/// assert_eq!(twice(&mut store, &double, 5)?, 20);
/// # Ok::<(), Error>(())
/// ```
pub trait AsContextMut: AsContext {
    /// Borrows the store mutably.
    fn as_context_mut(&mut self) -> StoreContextMut<'_, Self::Data>;
}

mod sealed {
    /// Only this crate implements it, since each call must borrow the same store.
    pub trait Sealed {}

    impl<C: Sealed + ?Sized> Sealed for &C {}
    impl<C: Sealed + ?Sized> Sealed for &mut C {}
    impl<T> Sealed for super::Store<T> {}
    impl<T> Sealed for super::StoreContext<'_, T> {}
    impl<T> Sealed for super::StoreContextMut<'_, T> {}
    impl<T> Sealed for crate::Caller<'_, T> {}
    impl<C: super::AsContextMut> Sealed for crate::RootScope<C> {}
}

impl<T> AsContext for Store<T> {
    type Data = T;

    fn as_context(&self) -> StoreContext<'_, T> {
        StoreContext(&self.inner)
    }
}

impl<T> AsContextMut for Store<T> {
    fn as_context_mut(&mut self) -> StoreContextMut<'_, T> {
        StoreContextMut(&mut self.inner)
    }
}

impl<T> AsContext for StoreContext<'_, T> {
    type Data = T;

    fn as_context(&self) -> StoreContext<'_, T> {
        StoreContext(self.0)
    }
}

impl<T> AsContext for StoreContextMut<'_, T> {
    type Data = T;

    fn as_context(&self) -> StoreContext<'_, T> {
        StoreContext(self.0)
    }
}

impl<T> AsContextMut for StoreContextMut<'_, T> {
    fn as_context_mut(&mut self) -> StoreContextMut<'_, T> {
        StoreContextMut(self.0)
    }
}

impl<C: AsContext> AsContext for &C {
    type Data = C::Data;

    fn as_context(&self) -> StoreContext<'_, C::Data> {
        C::as_context(self)
    }
}

impl<C: AsContext> AsContext for &mut C {
    type Data = C::Data;

    fn as_context(&self) -> StoreContext<'_, C::Data> {
        C::as_context(self)
    }
}

impl<C: AsContextMut> AsContextMut for &mut C {
    fn as_context_mut(&mut self) -> StoreContextMut<'_, C::Data> {
        C::as_context_mut(self)
    }
}

impl<'a, T> StoreContext<'a, T> {
    /// The engine of the store.
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// The host's data.
    pub fn data(&self) -> &'a T {
        &self.0.data
    }

    pub(crate) fn runtime(&self) -> &'a RuntimeStore {
        &self.0.runtime
    }
}

impl<'a, T> StoreContextMut<'a, T> {
    /// The engine of the store.
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// The host's data.
    pub fn data(&self) -> &T {
        &self.0.data
    }

    /// The host's data, mutably.
    pub fn data_mut(&mut self) -> &mut T {
        &mut self.0.data
    }

    /// Collects garbage.
    pub fn gc(&mut self) {
        self.0.runtime.gc();
    }

    /// As [`Store::park_idle`]. Stacks that wait for the host to return are not parked.
    pub fn park_idle(&mut self) -> usize {
        self.0.runtime.park_idle()
    }

    pub(crate) fn into_parts(self) -> (&'a mut RuntimeStore, &'a mut T) {
        (&mut self.0.runtime, &mut self.0.data)
    }

    /// Prepares the store for entering WebAssembly: host functions find it through the result.
    #[inline]
    pub(crate) fn enter(&mut self) -> NonNull<RuntimeStore> {
        let owner = ptr::from_mut(&mut *self.0);
        self.0.runtime.set_owner(owner.cast());
        // The pointer is derived from the owner's, like the pointers that host functions get, so
        // that none invalidates another.
        // SAFETY: `owner` was just made from a reference.
        unsafe { NonNull::from(&mut *(*owner).runtime) }
    }
}

/// Fails unless a value that belongs to store `id` is used with that store.
#[inline]
pub(crate) fn check(
    runtime: &RuntimeStore,
    id: StoreId,
    kind: &'static str,
) -> Result<(), WrongStore> {
    if runtime.id() == id { Ok(()) } else { Err(WrongStore(kind)) }
}
