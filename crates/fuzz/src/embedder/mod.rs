//! An embedder without `unsafe` that means harm.
//!
//! Wherever the engine calls code of the embedder, that code does something at random: it panics,
//! enters the same store or another one, exchanges stores, drops what it has, moves to another
//! thread, forgets futures. Whatever it does, a call returns what the program computes, or fails
//! if it had a reason to, and afterwards every store works.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `case` | a case: turns, the acts in them, and the deeds of callbacks |
//! | `modes` | the engines |
//! | `module` | the module that runs, and what its functions return |
//! | `world` | what all callbacks of a case share: stores, deeds that are due, handles |
//! | `site` | what a callback does when it is called |
//! | `host` | host functions |
//! | `callbacks` | limiters, hooks, wakers, values and errors with code of their own |
//! | `act` | what is done with a store that was borrowed |
//! | `own` | what is done with a store that is owned |
//! | `things` | handles, used with any store |
//! | `settle` | whether a store works |
//! | `run` | a whole case |

mod borrowed_store;
mod callbacks;
mod case;
mod final_check;
mod handles;
mod host;
mod modes;
mod module;
mod owned_store;
mod run;
mod site;
mod world;

use crate::CaseTarget;
use case::Case;

/// What is wrong, if anything is.
type Verdict<T = ()> = Result<T, String>;

/// A borrowed store of a case.
type Context<'a> = ropewalk::StoreContextMut<'a, world::Data>;

pub(crate) const TARGET: CaseTarget<Case> = CaseTarget {
    name: "embedder",
    make: |u| u.arbitrary(),
    check: run::check,
    render: |case| format!("{case:#?}"),
};
