//! New first-class stacks: `"host" "new_stack"`, and stacks with a ground of the embedder.
//!
//! Functions of a small module make them. An engine compiles the module on first use, and each
//! store has its own instance.

use crate::Val;
use crate::engine::Engine;
use crate::items::instance::instantiate_error;
use crate::module::Module;
use crate::module::stacks_module::{NEW_STACK, is_new_stack};
use crate::reference::ContRef;
use crate::store::{AsContextMut, StoreContextMut};
use crate::value::func::Func;
use anyhow::{Context, Result};
use ropewalk_abi::ValType;
use ropewalk_abi::module::{Import, Item};
use ropewalk_runtime::run::link;
use ropewalk_runtime::{ImportValue, LoadedModule, Store as RuntimeStore};

/// The engine's own definition of an import, if it has one.
pub(crate) fn default_import(
    engine: &Engine,
    runtime: &mut RuntimeStore,
    module: &LoadedModule,
    import: &Import,
) -> Result<Option<ImportValue>> {
    let Item::Func(function) = import.item else { return Ok(None) };
    let ty = module.info.func_type(module.info.functions[function as usize]);
    if !is_new_stack(import) || !ty.params().is_empty() || ty.results().len() != 1 {
        return Ok(None);
    }
    let new_stack = exported(engine, runtime, NEW_STACK)?;
    let id = module.type_ids[module.info.functions[function as usize] as usize];
    let fits = new_stack.type_id(runtime)? == id;
    Ok(fits.then_some(ImportValue::Func(new_stack.in_store(runtime)?)))
}

/// Adds the engine's own definitions to a list of imports, if no others are missing.
pub(crate) fn add_defaults(
    engine: &Engine,
    runtime: &mut RuntimeStore,
    module: &Module,
    imports: &mut Vec<ImportValue>,
) -> Result<()> {
    let all = &module.loaded().info.imports;
    let missing = all.iter().filter(|import| is_new_stack(import)).count();
    if imports.len() + missing != all.len() {
        return Ok(());
    }
    for (place, import) in all.iter().enumerate().filter(|(_, import)| is_new_stack(import)) {
        match default_import(engine, runtime, module.loaded(), import)? {
            Some(default) => imports.insert(place, default),
            None => return Err(link::missing(module.loaded(), import).into()),
        }
    }
    Ok(())
}

/// A function of the small module's instance.
fn exported(engine: &Engine, runtime: &mut RuntimeStore, name: &str) -> Result<Func> {
    let module = engine.stacks_module()?;
    let index = match runtime.objects.stacks_instance() {
        Some(index) => index,
        None => {
            let index = runtime.with_embedder(|runtime| runtime.instantiate(&module, &[]));
            index.map_err(instantiate_error)?
        }
    };
    runtime.objects.set_stacks_instance(Some(index));
    let export = module.info.exports.iter().find(|export| export.name == name);
    let Item::Func(function) = export.expect("it is exported").item else {
        unreachable!("it exports functions");
    };
    Ok(Func::from_ref(runtime, runtime.objects.instance(index).func_ref(function)))
}

pub(crate) fn stackref<T>(store: &mut StoreContextMut<'_, T>) -> Result<ValType> {
    let engine = store.engine().clone();
    let runtime = &mut *store.0.runtime;
    let make = exported(&engine, runtime, NEW_STACK)?;
    let ty = runtime.types().func_type(make.type_id(runtime)?);
    ty.results().first().copied().context("it returns a stack")
}

impl ContRef {
    /// A new first-class stack (`stackref`), for host functions that give modules their stacks.
    ///
    /// `ground` is a function of the type `[exnref] -> []`, which runs on the stack with each
    /// exception that arrives at its ground. It may switch to another stack, and must not return.
    /// Without it the stack is blank: an exception that arrives there traps.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// # fn main() -> Result<()> {
    /// let module = Module::new(&Engine::default(), r#"
    ///     (module
    ///       (import "host" "new_stack" (func $new (result stackref)))
    ///       (func (export "two") (drop (call $new)) (drop (call $new))))
    /// "#)?;
    /// let mut store = Store::new(module.engine(), 0);
    /// let mut linker = Linker::new(module.engine());
    /// let Some(ExternType::Func(ty)) = module.imports().next().map(|import| import.ty().clone())
    /// else {
    ///     unreachable!()
    /// };
    /// linker.func_new("host", "new_stack", ty, |mut caller, _, results| {
    ///     *caller.data_mut() += 1;
    ///     results[0] = Val::ContRef(Some(ContRef::new_stack(&mut caller, None)?));
    ///     Ok(())
    /// })?;
    /// let instance = linker.instantiate(&mut store, &module)?;
    /// instance.get_typed_func::<(), ()>(&mut store, "two")?.call(&mut store, ())?;
    /// assert_eq!(*store.data(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails at the limit of stacks.
    pub fn new_stack(mut store: impl AsContextMut, ground: Option<Func>) -> Result<ContRef> {
        let name = if ground.is_some() { "with_ground" } else { NEW_STACK };
        make(&mut store.as_context_mut(), name, ground)
    }

    /// A new first-class stack (`stackref`) whose ground also gets traps.
    ///
    /// `ground` is a function of the type `[exnref externref] -> []`. With an exception, it is called
    /// as the ground of [`new_stack`](ContRef::new_stack), and the second argument is null. After a
    /// trap on the stack, or an error of a host function, the first argument is null. The second one
    /// is a host value of the type [`StackTrap`](crate::StackTrap). The frames of the stack are gone
    /// by then, and so are the stacks that ran on top of it: continuations, tasks and fibers.
    ///
    /// The function decides what happens. If it returns, the call into WebAssembly ends with the
    /// trap, as without a ground. Or it switches to another stack, which continues. A function of the
    /// host switches by returning a [`Suspension`](crate::Suspension). Interruption and a lack of
    /// fuel always end the call. If fuel is counted, how much the function that has trapped has used
    /// may not be known. Then all fuel up to the next interval of
    /// [`fuel_async_yield_interval`](crate::Store::fuel_async_yield_interval) counts as used.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// # fn main() -> Result<()> {
    /// // Each thread is a stack. A trap in one is reported, and the others continue.
    /// let module = Module::new(&Engine::default(), r#"
    ///     (module
    ///       (import "host" "new_stack" (func $new (result stackref)))
    ///       (event $next (export "next") (param stackref))
    ///       (global $scheduler (mut stackref) (ref.null stack))
    ///       (rout $thread (local $scheduler stackref)
    ///         (block $begin (result stackref) (try (stack.start) catch $next $begin) (unreachable))
    ///         (global.set_cleared $scheduler)
    ///         (unreachable)) ;; a trap
    ///       (func (export "scheduler") (result stackref) (global.get_clear $scheduler))
    ///       (func (export "run") (result i32)
    ///         (block $back (result stackref)
    ///           (try (stack.switch $next (stack.extend $thread (call $new))) catch $next $back)
    ///           (unreachable))
    ///         (drop)
    ///         (i32.const 42)))
    /// "#)?;
    /// let mut linker = Linker::new(module.engine());
    /// let Some(ExternType::Func(ty)) = module.imports().next().map(|import| import.ty().clone())
    /// else {
    ///     unreachable!()
    /// };
    /// linker.func_new("host", "new_stack", ty, |mut caller, _, results| {
    ///     let scheduler = caller.get_export("scheduler").and_then(Extern::into_func).unwrap();
    ///     let next = caller.get_export("next").and_then(Extern::into_tag).unwrap();
    ///     let ground = move |mut caller: Caller<'_, Vec<String>>,
    ///                        _exception: Option<ExnRef>,
    ///                        trap: Option<ExternRef>|
    ///           -> Result<()> {
    ///         let trap = trap.expect("no exceptions arrive").data(&caller)?;
    ///         let trap: &StackTrap = trap.downcast_ref().unwrap();
    ///         let message = trap.error().unwrap().to_string();
    ///         caller.data_mut().push(message);
    ///         let scheduler = scheduler.typed::<(), Option<ContRef>>(&caller)?;
    ///         let scheduler = scheduler.call(&mut caller, ())?.expect("it waits");
    ///         Err(Suspension::send_to(&mut caller, scheduler, next, &[])?.into())
    ///     };
    ///     let ground = Func::wrap(&mut caller, ground);
    ///     results[0] = Val::ContRef(Some(ContRef::new_stack_for_traps(&mut caller, ground)?));
    ///     Ok(())
    /// })?;
    /// let mut store = Store::new(module.engine(), Vec::new());
    /// let instance = linker.instantiate(&mut store, &module)?;
    /// let run = instance.get_typed_func::<(), i32>(&mut store, "run")?;
    /// assert_eq!(run.call(&mut store, ())?, 42);
    /// assert!(store.data()[0].starts_with("wasm trap: unreachable"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails at the limit of stacks.
    pub fn new_stack_for_traps(mut store: impl AsContextMut, ground: Func) -> Result<ContRef> {
        make(&mut store.as_context_mut(), "for_traps", Some(ground))
    }
}

fn make<T>(
    store: &mut StoreContextMut<'_, T>,
    name: &str,
    ground: Option<Func>,
) -> Result<ContRef> {
    let engine = store.engine().clone();
    let make = exported(&engine, &mut store.0.runtime, name)?;
    let ground = ground.map(|ground| Val::FuncRef(Some(ground)));
    let mut made = [Val::ContRef(None)];
    make.call(store, ground.as_slice(), &mut made)?;
    match made {
        [Val::ContRef(Some(stack))] => Ok(stack),
        other => unreachable!("a stack is a continuation to the host: {other:?}"),
    }
}
