//! Operations that must fail.

use super::object::maker;
use super::value::compare_again;
use super::{Context, Verdict};
use crate::api::model::*;
use ropewalk::*;

/// Uses an item of another store here.
pub fn use_foreign(store: &mut Context<'_>, which: u8, how: u8) -> Verdict {
    let Some(thing) = store.data().borrowed(which) else { return Ok(()) };
    let worked = match thing {
        Item::Value(value) => match value {
            Val::AnyRef(Some(found)) => match how % 3 {
                0 => found.as_i31(&*store).is_ok(),
                1 => found.as_struct(&*store).is_ok(),
                _ => found.own(&mut *store).is_ok(),
            },
            Val::ExternRef(Some(found)) => found.data(store).is_ok(),
            Val::ExnRef(Some(found)) => found.values(&mut *store).is_ok(),
            Val::FuncRef(Some(found)) => found.ty(&*store).is_ok(),
            _ => false,
        },
        Item::Global(global) => match how % 3 {
            0 => global.get(&mut *store).is_ok(),
            1 => global.set(&mut *store, Val::I32(1)).is_ok(),
            _ => global.ty(&*store).is_ok(),
        },
        Item::Table(table) => match how % 3 {
            0 => table.get(&mut *store, 0).is_ok(),
            1 => table.grow(&mut *store, 1, Val::AnyRef(None)).is_ok(),
            _ => table.size(&*store).is_ok(),
        },
        Item::Memory(memory) => match how % 3 {
            0 => memory.data(store).is_ok(),
            1 => memory.grow(&mut *store, 1).is_ok(),
            _ => memory.write(&mut *store, 0, &[1]).is_ok(),
        },
        Item::Func(func) => match how % 2 {
            0 => func.call(&mut *store, &[], &mut [Val::I32(0)]).is_ok(),
            _ => func.typed::<(), i32>(&*store).is_ok(),
        },
        Item::Tag(tag) => ExnRef::new(&mut *store, tag, &[Val::I32(1), Val::AnyRef(None)]).is_ok(),
        Item::Instance(instance) => match how % 2 {
            0 => instance.get_func(&mut *store, "wrapped").is_some(),
            _ => instance.exports(&mut *store).is_ok(),
        },
    };
    match worked {
        true => Err("an item of another store was accepted".to_string()),
        false => Ok(()),
    }
}

/// Uses all handles. Those whose scope is open must have their expected values.
pub fn use_handles(store: &mut Context<'_>) -> Verdict {
    let handles = store.data().handles.clone();
    for handle in handles {
        let is_live = store.data().scopes.contains(&handle.scope);
        let works = match handle.value {
            Val::AnyRef(Some(found)) => found.as_i31(&*store).is_ok(),
            Val::ExternRef(Some(found)) => found.data(store).is_ok(),
            Val::ExnRef(Some(found)) => found.tag(&*store).is_ok(),
            _ => continue,
        };
        match (is_live, works) {
            (true, true) => compare_again(store, handle.value, handle.expected)?,
            (false, false) => {}
            (true, false) => return Err("a reference ended before its scope".to_string()),
            (false, true) => return Err("a reference outlived its scope".to_string()),
        }
    }
    Ok(())
}

/// Misuse that fails in every state.
pub fn do_wrong(store: &mut Context<'_>, which: u8) -> Verdict {
    let instance = store.data().instances.first().copied();
    let Some(instance) = instance else { return Ok(()) };
    let func = |store: &mut Context<'_>, name: &str| instance.get_func(store, name);
    let worked = match which % 12 {
        0 => instance.get_func(&mut *store, "memory").is_some(),
        1 => instance.get_memory(&mut *store, "nothing").is_some(),
        2 => instance.get_typed_func::<(), i32>(&mut *store, "i32").is_ok(),
        3 => instance.get_typed_func::<i64, i32>(&mut *store, "i32").is_ok(),
        4 => instance.get_typed_func::<i32, i64>(&mut *store, "i32").is_ok(),
        5 => match func(store, "i32") {
            Some(func) => func.call(&mut *store, &[Val::I64(1)], &mut [Val::I32(0)]).is_ok(),
            None => true,
        },
        6 => match func(store, "i32") {
            Some(func) => func.call(&mut *store, &[], &mut [Val::I32(0)]).is_ok(),
            None => true,
        },
        7 => match func(store, "i32") {
            Some(func) => func.call(&mut *store, &[Val::I32(1)], &mut []).is_ok(),
            None => true,
        },
        8 => {
            let empty = StructType::new(&Engine::default(), []).map_err(|e| e.to_string())?;
            StructRef::new(&mut *store, &empty, &[]).is_ok()
        }
        9 => match maker(store, "node") {
            Some((_, ty)) => ArrayType::of(store.engine(), ty).is_some(),
            None => true,
        },
        10 => {
            let element = RefType { nullable: true, heap: HeapType::Concrete(u32::MAX) };
            let ty = GlobalType { content: ValType::Ref(element), mutable: true };
            Global::new(&mut *store, ty, Val::AnyRef(None)).is_ok()
        }
        _ => Module::new(store.engine(), "(module (func (result i32)))").is_ok(),
    };
    match worked {
        true => Err("misuse was accepted".to_string()),
        false => Ok(()),
    }
}
