//! Definitions for imports that a linker does not know.

use crate::items::export::Extern;
use crate::items::global::Global;
use crate::items::linker::Linker;
use crate::items::memory::Memory;
use crate::items::table::Table;
use crate::module::stacks_module::is_new_stack;
use crate::module::{ImportType, Module};
use crate::store::AsContextMut;
use crate::value::tag::Tag;
use crate::value::val::Val;
use anyhow::Result;
use ropewalk_abi::{ExternType, ValType};
use ropewalk_runtime::LinkError;

impl<T: 'static> Linker<T> {
    /// Defines each undefined function that a module imports, as one that fails with a
    /// [`LinkError`] when it is called.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (import "env" "rarely_needed" (func $rare (param i32) (result i32)))
    ///       (func (export "plain") (result i32) (i32.const 1))
    ///       (func (export "rare") (result i32) (call $rare (i32.const 1))))
    /// "#)?;
    /// let mut linker = Linker::new(&engine);
    /// linker.define_unknown_imports_as_traps(&module)?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = linker.instantiate(&mut store, &module)?;
    /// let plain = instance.get_typed_func::<(), i32>(&mut store, "plain")?;
    /// assert_eq!(plain.call(&mut store, ())?, 1);
    /// let rare = instance.get_typed_func::<(), i32>(&mut store, "rare")?;
    /// let error = rare.call(&mut store, ()).unwrap_err();
    /// assert_eq!(error.downcast_ref::<LinkError>().unwrap().name, "rarely_needed");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// Memories, tables, globals and tags stay undefined.
    pub fn define_unknown_imports_as_traps(&mut self, module: &Module) -> Result<&mut Self> {
        self.check_module(module)?;
        for import in self.unknown(module) {
            let error = unknown(&import);
            if let ExternType::Func(ty) = import.ty() {
                let ty = ty.clone();
                self.func_new(import.module(), import.name(), ty, move |_, _, _| {
                    Err(error.clone().into())
                })?;
            }
        }
        Ok(self)
    }

    /// Defines all undefined imports of a module: functions that return zeros and nulls, memories
    /// and tables of the minimum size, globals that are zero or null, and new tags.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (import "env" "f" (func $f (param i32) (result i32)))
    ///       (import "env" "memory" (memory 1))
    ///       (func (export "run") (result i32)
    ///         (i32.add (call $f (i32.const 5)) (memory.size))))
    /// "#)?;
    /// let mut store = Store::new(&engine, ());
    /// let mut linker = Linker::new(&engine);
    /// linker.define_unknown_imports_as_default_values(&mut store, &module)?;
    /// let instance = linker.instantiate(&mut store, &module)?;
    /// assert_eq!(instance.get_typed_func::<(), i32>(&mut store, "run")?.call(&mut store, ())?, 1);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// Fails if that needs a value of a reference type that is not nullable.
    pub fn define_unknown_imports_as_default_values(
        &mut self,
        mut store: impl AsContextMut<Data = T>,
        module: &Module,
    ) -> Result<&mut Self> {
        self.check_store(&store.as_context_mut())?;
        self.check_module(module)?;
        for import in self.unknown(module) {
            let (from, name) = (import.module(), import.name());
            if let ExternType::Func(ty) = import.ty() {
                ty.results().iter().try_for_each(|ty| default(*ty, &import).map(|_| ()))?;
                self.func_new(from, name, ty.clone(), |_, _, _| Ok(()))?;
            } else {
                let item = default_item(&mut store, &import)?;
                self.define(&mut store, from, name, item)?;
            }
        }
        Ok(self)
    }

    fn unknown<'a>(&self, module: &'a Module) -> Vec<ImportType<'a>> {
        let imports = module.imports().zip(&module.loaded().info.imports);
        let unknown = imports.filter(|(import, item)| {
            !is_new_stack(item) && !self.knows(import.module(), import.name())
        });
        let mut unknown: Vec<_> = unknown.map(|(import, _)| import).collect();
        // A module may import the same name twice. Both imports get the same definition.
        let key = |import: &ImportType<'a>| (import.module(), import.name());
        unknown.sort_by_key(key);
        unknown.dedup_by_key(|import| key(import));
        unknown
    }
}

fn unknown(import: &ImportType<'_>) -> LinkError {
    LinkError::missing(import.module(), import.name(), import.ty().clone())
}

/// The default value of a type, for an import.
fn default(ty: ValType, import: &ImportType<'_>) -> Result<Val> {
    match ty {
        ValType::Ref(ty) if !ty.nullable => Err(unknown(import).into()),
        ty => Ok(Val::default_for(ty)),
    }
}

/// An item of the minimum size.
fn default_item(mut store: impl AsContextMut, import: &ImportType<'_>) -> Result<Extern> {
    Ok(match import.ty().clone() {
        ExternType::Func(_) => unreachable!("functions are defined without a store"),
        ExternType::Memory(ty) => Memory::new(&mut store, ty)?.into(),
        ExternType::Table(ty) => {
            Table::new(&mut store, ty, default(ValType::Ref(ty.element), import)?)?.into()
        }
        ExternType::Global(ty) => Global::new(&mut store, ty, default(ty.content, import)?)?.into(),
        ExternType::Tag(ty) => Tag::new(&mut store, ty)?.into(),
    })
}
