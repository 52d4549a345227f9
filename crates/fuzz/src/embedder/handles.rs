//! Handles, which are used with any store: a handle of another store must be rejected.

use super::borrowed_store::{failed, resume_and_check};
use super::case::{Call, CallbackSite, HostFunctionKind, Path};
use super::design_stacks::{self, DesignStack};
use super::site::WhenDropped;
use super::world::World;
use super::{Context, Verdict};
use ropewalk::*;

/// A handle, and the number of its store.
pub struct KeptHandle {
    pub store: u64,
    pub handle: Handle,
}

/// A handle.
pub enum Handle {
    Instance(Instance),
    Func(Func),
    Typed(TypedFunc<i32, i32>),
    Memory(Memory),
    Table(Table),
    Global(Global),
    Tag(Tag),
    Extern(ExternRef),
    Owned(Owned<ExternRef>),
    Exception(Exception),
    /// A suspended continuation, and its expected result.
    Held(Continuation, i32),
    /// A new continuation.
    New(TypedContinuation<i32, i32>),
    /// A suspended stack of another design.
    Stack(DesignStack),
}

pub fn memory(store: &mut Context<'_>) -> Verdict<Memory> {
    let instance = store.data().instance.ok_or("the store has no instance")?;
    Ok(instance.get_memory(store, "memory").ok_or("no memory")?)
}

pub fn table(store: &mut Context<'_>) -> Verdict<Table> {
    let instance = store.data().instance.ok_or("the store has no instance")?;
    Ok(instance.get_table(store, "table").ok_or("no table")?)
}

pub fn global(store: &mut Context<'_>) -> Verdict<Global> {
    let instance = store.data().instance.ok_or("the store has no instance")?;
    Ok(instance.get_global(store, "kept").ok_or("no global")?)
}

/// Keeps a new handle of a store.
pub fn keep(store: &mut Context<'_>, world: &World, which: u8) -> Verdict {
    let site = store.data().site.clone();
    match make(store, which) {
        Ok(handle) => world.keep(KeptHandle { store: store.data().number, handle }),
        Err(error) => return failed(&site, "a handle", error),
    }
    Ok(())
}

fn make(store: &mut Context<'_>, which: u8) -> Result<Handle> {
    let none = || Error::msg("there is no such export");
    let instance = store.data().instance.ok_or_else(none)?;
    let site = store.data().site.clone();
    let value = || WhenDropped(site.clone(), CallbackSite::DropValue);
    Ok(match which % 12 {
        0 => Handle::Instance(instance),
        1 => Handle::Func(instance.get_func(store, "deep").ok_or_else(none)?),
        2 => Handle::Typed(instance.get_typed_func(store, "deep")?),
        3 => Handle::Memory(instance.get_memory(store, "memory").ok_or_else(none)?),
        4 => Handle::Table(instance.get_table(store, "table").ok_or_else(none)?),
        5 => Handle::Global(instance.get_global(store, "kept").ok_or_else(none)?),
        6 => Handle::Tag(instance.get_tag(store, "failure").ok_or_else(none)?),
        7 => Handle::Extern(ExternRef::new(store, value())?),
        8 => Handle::Owned(ExternRef::new(&mut *store, value())?.own(store)?),
        9 => {
            let tag = instance.get_tag(&mut *store, "failure").ok_or_else(none)?;
            Handle::Exception(Exception::new(store, tag, &[Val::I32(7)])?)
        }
        _ => {
            let deep = instance.get_typed_func(&mut *store, "deep")?;
            Handle::New(TypedContinuation::new(store, &deep)?)
        }
    })
}

/// Uses a handle, and keeps it unless the use consumes it.
pub fn use_one(store: &mut Context<'_>, world: &World, kept: KeptHandle) -> Verdict {
    let is_own = kept.store == store.data().number;
    match kept.handle {
        Handle::Held(continuation, expected) if is_own => {
            resume_and_check(store, world, continuation, Val::I32(1), expected, 1)
        }
        Handle::Held(continuation, _) => {
            refused(is_own, continuation.resume(store, &[Val::I32(1)]).is_ok())
        }
        Handle::Stack(stack) if is_own => match world.count_things() % 3 {
            0 => design_stacks::end(store, world, stack),
            _ => design_stacks::continue_and_keep(store, world, stack, CALL),
        },
        Handle::Stack(stack) => refused(is_own, stack.step(store, 0, 1).is_ok()),
        Handle::New(continuation) => refused(is_own, continuation.resume(store, 3).is_ok()),
        handle => {
            let works = works(store, &handle);
            world.keep(KeptHandle { store: kept.store, handle });
            refused(is_own, works)
        }
    }
}

/// The call that a kept stack makes.
const CALL: Call = Call { kind: HostFunctionKind::Caller, path: Path::Direct, x: 5 };

/// Checks that a handle works exactly if it belongs to the store.
fn refused(is_own: bool, works: bool) -> Verdict {
    match works && !is_own {
        true => Err("a handle of another store was accepted".to_string()),
        false => Ok(()),
    }
}

fn works(store: &mut Context<'_>, handle: &Handle) -> bool {
    match handle {
        Handle::Instance(instance) => instance.get_func(store, "deep").is_some(),
        Handle::Func(func) => func.call(store, &[Val::I32(5)], &mut [Val::I32(0)]).is_ok(),
        Handle::Typed(func) => func.call(store, 5).is_ok(),
        Handle::Memory(memory) => memory.write(store, 0, &[1]).is_ok(),
        Handle::Table(table) => table.set(store, 0, Val::ExternRef(None)).is_ok(),
        Handle::Global(global) => global.set(store, Val::ExternRef(None)).is_ok(),
        Handle::Tag(tag) => ExnRef::new(store, *tag, &[Val::I32(1)]).is_ok(),
        Handle::Extern(value) => value.data(store).is_ok(),
        Handle::Owned(value) => value.get(store).is_ok(),
        Handle::Exception(exception) => exception.values(store).is_ok(),
        Handle::Held(..) | Handle::New(_) | Handle::Stack(_) => false,
    }
}
