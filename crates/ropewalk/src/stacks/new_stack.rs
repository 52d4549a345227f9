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
        let mut store = store.as_context_mut();
        let engine = store.engine().clone();
        let name = if ground.is_some() { "with_ground" } else { NEW_STACK };
        let make = exported(&engine, &mut store.0.runtime, name)?;
        let ground = ground.map(|ground| Val::FuncRef(Some(ground)));
        let mut made = [Val::ContRef(None)];
        make.call(&mut store, ground.as_slice(), &mut made)?;
        match made {
            [Val::ContRef(Some(stack))] => Ok(stack),
            other => unreachable!("a stack is a continuation to the host: {other:?}"),
        }
    }
}
