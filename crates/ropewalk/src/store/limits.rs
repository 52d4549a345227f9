//! Limiters of stores.

use crate::store::{Store, StoreContextMut};
use anyhow::{Result, bail};
use ropewalk_runtime::embedder::guarded;
use ropewalk_runtime::{Answers, ResourceLimiter, ResourceLimiterAsync};
use std::panic::resume_unwind;
use std::sync::Arc;

impl<T> Store<T> {
    /// Sets the limiter, which decides from now on how much this store may have. It replaces the
    /// previous limiter.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// # fn main() -> Result<()> {
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (memory 1)
    ///     (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
    /// "#)?;
    /// let mut store = Store::new(&engine, ());
    /// store.limiter(StoreLimitsBuilder::new().memory_size(1 << 20).instances(1).build());
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// let grow = instance.get_typed_func::<i32, i32>(&mut store, "grow")?;
    /// assert_eq!(grow.call(&mut store, 16)?, -1);
    /// assert_eq!(grow.call(&mut store, 15)?, 1);
    /// let error = Instance::new(&mut store, &module, &[]).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "the limiter of the store refuses 2 instances: at most 1 are allowed"
    /// );
    /// # Ok(()) }
    /// ```
    pub fn limiter(&mut self, limiter: impl ResourceLimiter + 'static) {
        self.inner.runtime.set_limiter(Box::new(limiter));
    }

    /// Sets an async limiter, which can wait for a decision if the call can wait.
    ///
    /// A budget of pages that stores share: a store waits until another store gives pages back.
    ///
    ///
    /// ```
    /// use ropewalk::*;
    /// use std::sync::Arc;
    /// use tokio::sync::Semaphore;
    ///
    /// const PAGE: usize = 1 << 16;
    /// struct Budget(Arc<Semaphore>);
    ///
    /// impl ResourceLimiterAsync for Budget {
    ///     fn memory_growing(
    ///         &self,
    ///         current: usize,
    ///         desired: usize,
    ///         _maximum: Option<usize>,
    ///     ) -> Answer<'_, Result<bool>> {
    ///         Box::pin(async move {
    ///             let pages = (desired - current) / PAGE;
    ///             self.0.acquire_many(pages as u32).await?.forget();
    ///             Ok(true)
    ///         })
    ///     }
    ///
    ///     fn memory_grow_failed(&self, current: usize, desired: usize) {
    ///         self.0.add_permits((desired - current) / PAGE);
    ///     }
    ///
    ///     fn table_growing(
    ///         &self,
    ///         _current: usize,
    ///         desired: usize,
    ///         _maximum: Option<usize>,
    ///     ) -> Answer<'_, Result<bool>> {
    ///         Box::pin(async move { Ok(desired < 1000) })
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (memory 1)
    ///     (func (export "grow") (result i32) (memory.grow (i32.const 2)))
    /// "#)?;
    /// let budget = Arc::new(Semaphore::new(2));
    /// let mut store = Store::new(&engine, ());
    /// store.limiter_async(Budget(budget.clone()));
    /// let instance = Instance::new_async(&mut store, &module, &[]).await?;
    /// let grow = instance.get_typed_func::<(), i32>(&mut store, "grow")?;
    /// // One page is left.
    /// let error = grow.call(&mut store, ()).unwrap_err();
    /// assert!(error.to_string().contains("the limiter of the store has not decided yet"));
    /// let (grown, ()) = tokio::join!(grow.call_async(&mut store, ()), async {
    ///     tokio::task::yield_now().await;
    ///     budget.add_permits(1);
    /// });
    /// assert_eq!(grown?, 1);
    /// # Ok(()) }
    /// ```
    pub fn limiter_async(&mut self, limiter: impl ResourceLimiterAsync + 'static) {
        self.inner.runtime.set_limiter_async(Arc::new(limiter));
    }
}

impl<T> StoreContextMut<'_, T> {
    /// Runs work after an async limiter has decided about it.
    pub(crate) fn with_answers<R>(
        &mut self,
        answers: Answers,
        work: impl FnOnce(&mut StoreContextMut<'_, T>) -> R,
    ) -> R {
        self.0.runtime.expect_answers(answers);
        let result = guarded(|| work(self));
        self.0.runtime.forget_answers();
        match result {
            Ok(result) => result,
            Err(panic) => resume_unwind(panic),
        }
    }
}

/// Builds [`StoreLimits`]. By default only the limits of [`Config`](crate::Config) apply.
/// [`Store::limiter`] has an example.
#[derive(Clone, Debug, Default)]
pub struct StoreLimitsBuilder(StoreLimits);

macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        /// Fixed limits, made by a [`StoreLimitsBuilder`]. Stores with the same limits have copies:
        ///
        /// ```
        /// use ropewalk::*;
        ///
        /// let limits: StoreLimits = StoreLimitsBuilder::new().stacks(100).build();
        /// let engine = Engine::default();
        /// let stores = [(); 3].map(|()| {
        ///     let mut store = Store::new(&engine, ());
        ///     store.limiter(limits.clone());
        ///     store
        /// });
        /// assert_eq!(stores.len(), 3);
        /// ```
        #[derive(Clone, Debug)]
        pub struct StoreLimits {
            $($name: usize,)*
            /// How many bytes all memories have now.
            memory_in_use: usize,
            fails_to_grow: bool,
        }

        impl Default for StoreLimits {
            fn default() -> Self {
                $(let $name = usize::MAX;)*
                StoreLimits { $($name,)* memory_in_use: 0, fails_to_grow: false }
            }
        }

        impl StoreLimitsBuilder {
            $(
                $(#[$doc])*
                pub fn $name(mut self, limit: usize) -> Self {
                    self.0.$name = limit;
                    self
                }
            )*
        }
    };
}

limits! {
    /// How many bytes each linear memory may have.
    memory_size;
    /// How many bytes all linear memories may have together.
    total_memory_size;
    /// How many elements each table may have.
    table_elements;
    /// How many stacks there may be, roots excluded.
    stacks;
    /// How many bytes these stacks may have together, counted as
    /// [`Config::max_stack_memory`](crate::Config::max_stack_memory) does.
    stack_bytes;
    /// How many bytes the objects of the heap may take.
    heap_bytes;
    /// How many host values there may be, uncollected ones included.
    host_values;
    /// How many references the host may own ([`Owned`](crate::Owned)).
    handles;
    /// How many instances there may be.
    instances;
    /// How many linear memories there may be.
    memories;
    /// How many tables there may be.
    tables;
}

impl StoreLimitsBuilder {
    /// No limits yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a refused growth of a memory or table ends the call with an error, instead of
    /// returning -1.
    pub fn trap_on_grow_failure(mut self, fail: bool) -> Self {
        self.0.fails_to_grow = fail;
        self
    }

    /// The limits.
    pub fn build(self) -> StoreLimits {
        self.0
    }
}

impl StoreLimits {
    fn decision(&self, may: bool, what: &str, desired: usize) -> Result<bool> {
        if !may && self.fails_to_grow {
            bail!("{what} may not grow to {desired}");
        }
        Ok(may)
    }
}

impl ResourceLimiter for StoreLimits {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool> {
        let in_use = self.memory_in_use.saturating_add(desired - current);
        let fits = desired <= self.memory_size && in_use <= self.total_memory_size;
        let may = fits && maximum.is_none_or(|maximum| desired <= maximum);
        if may {
            self.memory_in_use = in_use;
        }
        self.decision(may, "the bytes of a memory", desired)
    }

    fn memory_grow_failed(&mut self, current: usize, desired: usize) {
        self.memory_in_use = self.memory_in_use.saturating_sub(desired - current);
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool> {
        let most = self.table_elements.min(maximum.unwrap_or(usize::MAX));
        self.decision(desired <= most, "the elements of a table", desired)
    }

    fn stacks_growing(&mut self, _current: usize, desired: usize, bytes: usize) -> bool {
        desired <= self.stacks && bytes <= self.stack_bytes
    }

    fn stack_growing(&mut self, _current: usize, _desired: usize, bytes: usize) -> bool {
        bytes <= self.stack_bytes
    }

    fn heap_growing(&mut self, _current: usize, desired: usize) -> bool {
        desired <= self.heap_bytes
    }

    fn host_values_growing(&mut self, _current: usize, desired: usize) -> bool {
        desired <= self.host_values
    }

    fn handles_growing(&mut self, _current: usize, desired: usize) -> bool {
        desired <= self.handles
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn memories(&self) -> usize {
        self.memories
    }

    fn tables(&self) -> usize {
        self.tables
    }
}
