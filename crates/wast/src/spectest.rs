//! The host module `spectest` that the scripts of the specification import.

use ropewalk::{
    Global, GlobalType, Linker, Memory, MemoryType, RefType, Result, Store, Table, TableType, Val,
    ValType,
};

const MODULE: &str = "spectest";

/// Defines the module for the instances of one script.
pub(crate) fn define(linker: &mut Linker<()>, store: &mut Store<()>) -> Result<()> {
    functions(linker)?;
    globals(linker, store)?;
    tables(linker, store)?;
    memory(linker, store)
}

/// Defines the functions, which print nothing, since no script observes it.
pub(crate) fn functions(linker: &mut Linker<()>) -> Result<()> {
    linker.func_wrap(MODULE, "print", || {})?;
    linker.func_wrap(MODULE, "print_i32", |_: i32| {})?;
    linker.func_wrap(MODULE, "print_i64", |_: i64| {})?;
    linker.func_wrap(MODULE, "print_f32", |_: f32| {})?;
    linker.func_wrap(MODULE, "print_f64", |_: f64| {})?;
    linker.func_wrap(MODULE, "print_i32_f32", |_: i32, _: f32| {})?;
    linker.func_wrap(MODULE, "print_f64_f64", |_: f64, _: f64| {})?;
    Ok(())
}

fn globals(linker: &mut Linker<()>, store: &mut Store<()>) -> Result<()> {
    let globals = [
        ("global_i32", ValType::I32, Val::I32(666)),
        ("global_i64", ValType::I64, Val::I64(666)),
        ("global_f32", ValType::F32, Val::F32(666.6f32.to_bits())),
        ("global_f64", ValType::F64, Val::F64(666.6f64.to_bits())),
    ];
    for (name, content, value) in globals {
        let global = Global::new(&mut *store, GlobalType { content, mutable: false }, value)?;
        linker.define(&mut *store, MODULE, name, global)?;
    }
    Ok(())
}

fn tables(linker: &mut Linker<()>, store: &mut Store<()>) -> Result<()> {
    for (name, table64) in [("table", false), ("table64", true)] {
        let ty = TableType { table64, element: RefType::FUNCREF, minimum: 10, maximum: Some(20) };
        let table = Table::new(&mut *store, ty, Val::FuncRef(None))?;
        linker.define(&mut *store, MODULE, name, table)?;
    }
    Ok(())
}

fn memory(linker: &mut Linker<()>, store: &mut Store<()>) -> Result<()> {
    let ty = MemoryType { memory64: false, minimum: 1, maximum: Some(2) };
    let memory = Memory::new(&mut *store, ty)?;
    linker.define(&mut *store, MODULE, "memory", memory)?;
    Ok(())
}
