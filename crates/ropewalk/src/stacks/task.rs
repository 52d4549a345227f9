//! Tasks that the host resumes.

use crate::reference::{ContRef, Owned};
use crate::stacks::cont_type::ContType;
use crate::stacks::host_switch::{Enter, Finish, HostSwitch};
use crate::stacks::shared_handle::shared_handle;
use crate::stacks::transfer::{self, load, results_of};
use crate::store::{AsContext, AsContextMut, StoreContextMut};
use crate::value::val::Val;
use crate::value::wasm_values::{WasmParams, WasmResults, fit};
use anyhow::{Result, ensure};
use ropewalk_abi::FuncType;
use ropewalk_abi::stack::StackKind;
use ropewalk_runtime::Store as RuntimeStore;
use ropewalk_runtime::host::switch;
use std::marker::PhantomData;

shared_handle! {
    /// A task, which the host can resume.
    ///
    /// A task begins in code of the module that makes it. The host gets it as the result of a
    /// typed call:
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (type $counter (task (param i32) (result i32)))
    ///       (func $count (param $me (ref null $counter)) (param $step i32) (result i32)
    ///         (local $sum i32)
    ///         (loop $more
    ///           (local.set $sum (i32.add (local.get $sum) (local.get $step)))
    ///           (local.set $step (task.suspend $counter (local.get $me) (local.get $sum)))
    ///           (br_if $more (local.get $step)))
    ///         (i32.const -1))
    ///       (func (export "new") (result (ref $counter)) (task.new $counter $count)))
    /// "#)?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// let new = instance.get_typed_func::<(), Task>(&mut store, "new")?;
    /// let counter = new.call(&mut store, ())?.typed::<i32, i32>(&store)?;
    /// assert_eq!(counter.resume(&mut store, 5)?, TaskResumed::Suspended(5));
    /// assert_eq!(counter.resume(&mut store, 7)?, TaskResumed::Suspended(12));
    /// assert_eq!(counter.resume(&mut store, 0)?, TaskResumed::Finished(-1));
    /// assert!(counter.resume(&mut store, 0).is_err()); // It is moribund.
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// A task has an identity. References of WebAssembly may name the same task, and resume it
    /// too. The collector frees it when nothing names it, and [`release`](Task::release) frees
    /// it at once.
    Task: StackKind::Task, "a task";
}

/// The result of resuming a task: the values from the task, or from one that has taken its
/// place. [`Task`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskResumed<R = Vec<Val>> {
    /// The task that was resumed can be resumed again: it has suspended, or another task has
    /// taken its place by `task.switchto`.
    Suspended(R),
    /// The task that was resumed is moribund: it has returned or retired.
    Finished(R),
}

impl Task {
    /// The types of the values that it is resumed with, and that it suspends or ends with.
    pub fn ty(&self, store: impl AsContext) -> Result<FuncType> {
        let runtime = store.as_context().runtime();
        Ok(self.word_and_type(runtime)?.1.func_type(runtime.types()))
    }

    /// The word of the task, and its type, which the engine of the store knows.
    pub(super) fn word_and_type(&self, runtime: &RuntimeStore) -> Result<(u64, ContType)> {
        let word = self.word(runtime)?;
        Ok((word, ContType::known(runtime.types(), self.0.detail())?))
    }

    /// This task, to be resumed with Rust's types.
    pub fn typed<Params: WasmParams, Results: WasmResults>(
        self,
        store: impl AsContext,
    ) -> Result<TypedTask<Params, Results>> {
        let runtime = store.as_context().runtime();
        let found = self.word_and_type(runtime)?.1.func_type(runtime.types());
        let checked = fit::<Params, Results>(runtime.types(), "task", &found)?;
        Ok(TypedTask { task: self, checked, _types: PhantomData })
    }

    /// Resumes it, as `task.resume` does: it must be suspended. The host is its parent until it
    /// suspends or ends.
    ///
    /// An exception that it does not catch, a trap, or an error of a host function is the
    /// error, and makes it moribund. The host handles no tags: if the task suspends as a
    /// continuation, that traps.
    pub fn resume(&self, mut store: impl AsContextMut, arguments: &[Val]) -> Result<TaskResumed> {
        let mut store = store.as_context_mut();
        self.resumption(&mut store, arguments)?.run(&mut store)
    }

    /// Resumes it in a future, which waits for pending host calls.
    pub async fn resume_async(
        &self,
        mut store: impl AsContextMut<Data: Send>,
        arguments: &[Val],
    ) -> Result<TaskResumed> {
        let mut store = store.as_context_mut();
        self.resumption(&mut store, arguments)?.run_async(&mut store).await
    }

    fn resumption<T>(
        &self,
        store: &mut StoreContextMut<'_, T>,
        arguments: &[Val],
    ) -> Result<HostSwitch<(), impl Enter<()> + use<T>, impl Finish<(), T, TaskResumed> + use<T>>>
    {
        let runtime = &mut *store.0.runtime;
        let (word, ty) = self.word_and_type(runtime)?;
        transfer::put_values(runtime, &ty.params.types(runtime.types()), arguments)?;
        // SAFETY: the values have the types of the task.
        Ok(unsafe { resumption(word, ty, results_of) })
    }
}

/// Resumes a task with the values in the transfer area. `results` reads what it gives.
///
/// # Safety
///
/// The values must have the types of the task.
unsafe fn resumption<T, R, F>(
    word: u64,
    ty: ContType,
    results: F,
) -> HostSwitch<(), impl Enter<()> + use<T, R, F>, impl Finish<(), T, TaskResumed<R>> + use<T, R, F>>
where
    F: FnOnce(&mut StoreContextMut<'_, T>, ContType) -> R,
{
    let enter = move |(): &(), runtime, poller| {
        // SAFETY: the caller's promise.
        unsafe { switch::resume_task(runtime, word, poller) }
    };
    let finish = move |(), store: &mut StoreContextMut<'_, T>, ended: Result<()>| {
        ended?;
        let is_alive = store.0.runtime.is_alive(word);
        let results = results(store, ty);
        Ok(if is_alive { TaskResumed::Suspended(results) } else { TaskResumed::Finished(results) })
    };
    // SAFETY: the caller's promise.
    unsafe { HostSwitch::new((), enter, finish) }
}

/// A task with Rust's types, checked once. [`Task`] has an example.
pub struct TypedTask<Params, Results> {
    task: Task,
    /// Whether the types of the arguments must be checked at each resumption.
    checked: bool,
    _types: PhantomData<fn(Params) -> Results>,
}

opaque_debug!(impl<Params, Results> TypedTask<Params, Results>);

impl<Params, Results> Clone for TypedTask<Params, Results> {
    fn clone(&self) -> Self {
        TypedTask { task: self.task.clone(), checked: self.checked, _types: PhantomData }
    }
}

impl<Params: WasmParams, Results: WasmResults> TypedTask<Params, Results> {
    /// This task without Rust's types.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// Resumes it, as [`Task::resume`].
    pub fn resume(
        &self,
        mut store: impl AsContextMut,
        params: Params,
    ) -> Result<TaskResumed<Results>> {
        let mut store = store.as_context_mut();
        self.resumption(&mut store, params)?.run(&mut store)
    }

    /// Resumes it in a future, which waits for pending host calls.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<()> {
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (import "host" "price" (func $price (param i32) (result i32)))
    ///       (type $t (task (param i32) (result i32)))
    ///       (func $sum (param $me (ref null $t)) (param $item i32) (result i32)
    ///         (i32.add (call $price (local.get $item))
    ///           (call $price (task.suspend $t (local.get $me) (i32.const 0)))))
    ///       (func (export "new") (result (ref $t)) (task.new $t $sum)))
    /// "#)?;
    /// let mut linker = Linker::new(&engine);
    /// linker.func_wrap_async("host", "price", |_: Caller<'_, ()>, (item,): (i32,)| {
    ///     Box::new(async move {
    ///         tokio::task::yield_now().await;
    ///         item * 100
    ///     })
    /// })?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = linker.instantiate(&mut store, &module)?;
    /// let new = instance.get_typed_func::<(), Task>(&mut store, "new")?;
    /// let sum = new.call(&mut store, ())?.typed::<i32, i32>(&store)?;
    /// assert_eq!(sum.resume_async(&mut store, 2).await?, TaskResumed::Suspended(0));
    /// assert_eq!(sum.resume_async(&mut store, 3).await?, TaskResumed::Finished(500));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn resume_async(
        &self,
        mut store: impl AsContextMut<Data: Send>,
        params: Params,
    ) -> Result<TaskResumed<Results>> {
        let mut store = store.as_context_mut();
        self.resumption(&mut store, params)?.run_async(&mut store).await
    }

    #[allow(clippy::type_complexity, reason = "the closures have no names")]
    fn resumption<T>(
        &self,
        store: &mut StoreContextMut<'_, T>,
        params: Params,
    ) -> Result<
        HostSwitch<
            (),
            impl Enter<()> + use<T, Params, Results>,
            impl Finish<(), T, TaskResumed<Results>> + use<T, Params, Results>,
        >,
    > {
        let runtime = &mut *store.0.runtime;
        let (word, ty) = self.task.word_and_type(runtime)?;
        transfer::put(runtime, params, self.checked.then_some(ty.params))?;
        let results = |store: &mut StoreContextMut<'_, T>, ty: ContType| load(store, ty.results);
        // SAFETY: the types were checked when this was made.
        Ok(unsafe { resumption(word, ty, results) })
    }
}
