//! Items that modules import and export.

use crate::items::global::Global;
use crate::items::memory::Memory;
use crate::items::table::Table;
use crate::store::AsContext;
use crate::value::func::Func;
use crate::value::tag::Tag;
use anyhow::Result;
use ropewalk_abi::ExternType;
use ropewalk_runtime::{ImportValue, Store as RuntimeStore};

/// A function, table, memory, global or tag of a store.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module (memory (export "memory") 1) (func (export "run")))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let exports = instance.exports(&mut store)?;
/// let kinds: Vec<_> = exports.iter().map(|(name, item)| (&name[..], item.kind())).collect();
/// assert_eq!(kinds, [("memory", "memory"), ("run", "function")]);
/// assert!(exports[0].1.into_func().is_none());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Extern {
    /// A function.
    Func(Func),
    /// A table.
    Table(Table),
    /// A memory.
    Memory(Memory),
    /// A global.
    Global(Global),
    /// A tag.
    Tag(Tag),
}

impl Extern {
    /// What it is: `"function"`, `"table"`, `"memory"`, `"global"` or `"tag"`.
    pub fn kind(&self) -> &'static str {
        match self {
            Extern::Func(_) => "function",
            Extern::Table(_) => "table",
            Extern::Memory(_) => "memory",
            Extern::Global(_) => "global",
            Extern::Tag(_) => "tag",
        }
    }

    /// Its type.
    pub fn ty(&self, store: impl AsContext) -> Result<ExternType> {
        Ok(match self {
            Extern::Func(func) => ExternType::Func(func.ty(store)?),
            Extern::Table(table) => ExternType::Table(table.ty(store)?),
            Extern::Memory(memory) => ExternType::Memory(memory.ty(store)?),
            Extern::Global(global) => ExternType::Global(global.ty(store)?),
            Extern::Tag(tag) => ExternType::Tag(tag.ty(store)?),
        })
    }

    pub(crate) fn import(&self, runtime: &RuntimeStore) -> Result<ImportValue> {
        Ok(match self {
            Extern::Func(func) => ImportValue::Func(func.in_store(runtime)?),
            Extern::Table(table) => ImportValue::Table(table.in_store(runtime)?),
            Extern::Memory(memory) => ImportValue::Memory(memory.in_store(runtime)?),
            Extern::Global(global) => ImportValue::Global(global.in_store(runtime)?),
            Extern::Tag(tag) => ImportValue::Tag(tag.in_store(runtime)?),
        })
    }
}

macro_rules! kinds {
    ($($variant:ident: $into:ident, $what:literal;)*) => {
        impl Extern {
            $(
                #[doc = concat!("The ", $what, ", if it is one.")]
                pub fn $into(self) -> Option<$variant> {
                    if let Extern::$variant(item) = self { Some(item) } else { None }
                }
            )*
        }

        $(
            impl From<$variant> for Extern {
                fn from(item: $variant) -> Extern {
                    Extern::$variant(item)
                }
            }
        )*
    };
}

kinds! {
    Func: into_func, "function";
    Table: into_table, "table";
    Memory: into_memory, "memory";
    Global: into_global, "global";
    Tag: into_tag, "tag";
}
