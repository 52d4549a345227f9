//! Handles, which are used with any store: one of another store is refused.

use super::act::{failed, go_on};
use super::case::{Call, Kind, Path, Place};
use super::design_stacks::{self, DesignStack};
use super::site::WhenDropped;
use super::world::World;
use super::{Context, Verdict};
use ropewalk::*;

/// A handle, and the number of its store.
pub struct Kept {
    pub store: u64,
    pub thing: Thing,
}

/// A handle.
pub enum Thing {
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
    /// A continuation that has been resumed, and what it will return.
    Held(Continuation, i32),
    /// One that has not begun.
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

/// Keeps something of a store.
pub fn keep(store: &mut Context<'_>, world: &World, which: u8) -> Verdict {
    let site = store.data().site.clone();
    match make(store, which) {
        Ok(thing) => world.keep(Kept { store: store.data().number, thing }),
        Err(error) => return failed(&site, "a handle", error),
    }
    Ok(())
}

fn make(store: &mut Context<'_>, which: u8) -> Result<Thing> {
    let none = || Error::msg("there is no such export");
    let instance = store.data().instance.ok_or_else(none)?;
    let site = store.data().site.clone();
    let value = || WhenDropped(site.clone(), Place::DropValue);
    Ok(match which % 12 {
        0 => Thing::Instance(instance),
        1 => Thing::Func(instance.get_func(store, "deep").ok_or_else(none)?),
        2 => Thing::Typed(instance.get_typed_func(store, "deep")?),
        3 => Thing::Memory(instance.get_memory(store, "memory").ok_or_else(none)?),
        4 => Thing::Table(instance.get_table(store, "table").ok_or_else(none)?),
        5 => Thing::Global(instance.get_global(store, "kept").ok_or_else(none)?),
        6 => Thing::Tag(instance.get_tag(store, "failure").ok_or_else(none)?),
        7 => Thing::Extern(ExternRef::new(store, value())?),
        8 => Thing::Owned(ExternRef::new(&mut *store, value())?.own(store)?),
        9 => {
            let tag = instance.get_tag(&mut *store, "failure").ok_or_else(none)?;
            Thing::Exception(Exception::new(store, tag, &[Val::I32(7)])?)
        }
        _ => {
            let deep = instance.get_typed_func(&mut *store, "deep")?;
            Thing::New(TypedContinuation::new(store, &deep)?)
        }
    })
}

/// Uses a handle, and keeps it again unless that uses it up.
pub fn use_one(store: &mut Context<'_>, world: &World, kept: Kept) -> Verdict {
    let is_own = kept.store == store.data().number;
    match kept.thing {
        Thing::Held(continuation, expected) if is_own => {
            go_on(store, world, continuation, Val::I32(1), expected, 1)
        }
        Thing::Held(continuation, _) => {
            refused(is_own, continuation.resume(store, &[Val::I32(1)]).is_ok())
        }
        Thing::Stack(stack) if is_own => match world.count_things() % 3 {
            0 => design_stacks::end(store, world, stack),
            _ => design_stacks::continue_and_keep(store, world, stack, CALL),
        },
        Thing::Stack(stack) => refused(is_own, stack.step(store, 0, 1).is_ok()),
        Thing::New(continuation) => refused(is_own, continuation.resume(store, 3).is_ok()),
        thing => {
            let works = works(store, &thing);
            world.keep(Kept { store: kept.store, thing });
            refused(is_own, works)
        }
    }
}

/// The call that a kept stack makes.
const CALL: Call = Call { kind: Kind::Caller, path: Path::Direct, x: 5 };

/// Something of another store must be refused.
fn refused(is_own: bool, works: bool) -> Verdict {
    match works && !is_own {
        true => Err("something of another store was accepted".to_string()),
        false => Ok(()),
    }
}

/// Whether a handle can be used.
fn works(store: &mut Context<'_>, thing: &Thing) -> bool {
    match thing {
        Thing::Instance(instance) => instance.get_func(store, "deep").is_some(),
        Thing::Func(func) => func.call(store, &[Val::I32(5)], &mut [Val::I32(0)]).is_ok(),
        Thing::Typed(func) => func.call(store, 5).is_ok(),
        Thing::Memory(memory) => memory.write(store, 0, &[1]).is_ok(),
        Thing::Table(table) => table.set(store, 0, Val::ExternRef(None)).is_ok(),
        Thing::Global(global) => global.set(store, Val::ExternRef(None)).is_ok(),
        Thing::Tag(tag) => ExnRef::new(store, *tag, &[Val::I32(1)]).is_ok(),
        Thing::Extern(value) => value.data(store).is_ok(),
        Thing::Owned(value) => value.get(store).is_ok(),
        Thing::Exception(exception) => exception.values(store).is_ok(),
        Thing::Held(..) | Thing::New(_) | Thing::Stack(_) => false,
    }
}
