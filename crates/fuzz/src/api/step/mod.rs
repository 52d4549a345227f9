//! Performs an operation, and compares its result with the model.

mod misuse;
mod object;
mod place;
mod value;
mod verify;

use super::call;
use super::model::Model;
use super::module;
use super::operation::{Operation, Operations};
use misuse::{do_wrong, use_foreign, use_handles};
pub use object::DROPPED;
use object::{new_array, new_exception, new_extern, new_func, new_node, set_field};
use place::{
    grow_memory, grow_table, new_global, new_memory, new_table, set_global, set_table, write_memory,
};
use ropewalk::{AsContextMut, Module, Result, RootScope, StoreContextMut};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
pub use value::{compare, make, value};
pub use verify::verify;

/// A store, as such, in a scope, or in a host function.
pub type Context<'a> = StoreContextMut<'a, Model>;

pub type Verdict<T = ()> = std::result::Result<T, String>;

/// Performs a sequence of operations.
pub fn steps(store: &mut Context<'_>, operations: &Operations) -> Verdict {
    for operation in &operations.0 {
        let before = store.data().position();
        let result = catch_unwind(AssertUnwindSafe(|| step(store, operation)));
        // A collection before the operation may drop a host value that panics.
        let result = result.or_else(|panic| match panic.downcast_ref() {
            Some(&DROPPED) => Ok(Ok(())),
            _ => Err(panic),
        });
        store.data_mut().go_back(before);
        result
            .unwrap_or_else(|panic| resume_unwind(panic))
            .map_err(|wrong| format!("{wrong}\nin {operation:?}"))?;
        if let Some(wrong) = store.data_mut().wrong.take() {
            return Err(wrong);
        }
    }
    Ok(())
}

fn step(store: &mut Context<'_>, operation: &Operation) -> Verdict {
    match operation {
        Operation::NewGlobal { kind, mutable, value } => new_global(store, *kind, *mutable, *value),
        Operation::SetGlobal(which, value) => set_global(store, *which, *value),
        Operation::NewTable { kind, size, maximum, value } => {
            new_table(store, *kind, *size, *maximum, *value)
        }
        Operation::SetTable(which, index, value) => set_table(store, *which, *index, *value),
        Operation::GrowTable(which, by, value) => grow_table(store, *which, *by, *value),
        Operation::NewMemory { pages, maximum } => new_memory(store, *pages, *maximum),
        Operation::WriteMemory(which, at, byte) => write_memory(store, *which, *at, *byte),
        Operation::GrowMemory(which, by) => grow_memory(store, *which, *by),
        Operation::NewNode(any, external, func) => new_node(store, [*any, *external, *func]),
        Operation::NewArray(elements) => new_array(store, elements),
        Operation::SetField(which, slot, value) => set_field(store, *which, *slot, *value),
        Operation::NewExtern(extra) => new_extern(store, *extra),
        Operation::NewException(number, value) => new_exception(store, *number, *value),
        Operation::Forget(which) => {
            if let Some(index) = chosen(*which, store.data().objects.len()) {
                store.data_mut().objects[index].owned = None;
            }
            Ok(())
        }
        Operation::NewFunc => new_func(store),
        Operation::Instantiate { right } => call::instantiate(store, *right),
        Operation::Foreign(thing, how) => use_foreign(store, *thing, *how),
        Operation::UseHandles => use_handles(store),
        Operation::Wrong(which) => do_wrong(store, *which),
        Operation::Scope(operations) => in_scope(store, operations),
        Operation::Call(called) => call::call(store, called),
        Operation::Verify => verify(store),
    }
}

/// Chooses one of `count` items by a number.
pub fn chosen(choice: u8, count: usize) -> Option<usize> {
    (choice as usize).checked_rem(count)
}

/// Checks that an operation failed exactly if it should.
pub fn outcome<T>(result: Result<T>, should_work: bool, what: &str) -> Verdict<Option<T>> {
    match (result, should_work) {
        (Ok(value), true) => Ok(Some(value)),
        (Err(_), false) => Ok(None),
        (Ok(_), false) => Err(format!("{what} should have failed")),
        (Err(error), true) => Err(format!("{what} failed: {error:?}")),
    }
}

fn in_scope(store: &mut Context<'_>, operations: &Operations) -> Verdict {
    let scopes = store.data_mut().begin_scope();
    let result = {
        let mut scope = RootScope::new(&mut *store);
        steps(&mut scope.as_context_mut(), operations)
    };
    store.data_mut().scopes.truncate(scopes);
    result
}

pub fn module(store: &Context<'_>) -> Verdict<Module> {
    module::compiled(store.engine()).map_err(|error| format!("does not compile: {error:?}"))
}
