//! Target `embedder`: a hostile embedder without `unsafe`.
//!
//! Wherever the engine calls code of the embedder, that code acts at random. It panics, enters the
//! same or another store, swaps stores, drops what it has, moves to another thread, or forgets
//! futures. A call must still return what the program computes, or fail for a reason, and every
//! store must work afterwards.
//!
//! | file | contents |
//! | --- | --- |
//! | `case` | cases: turns, the actions in them, and the acts of callbacks |
//! | `modes` | the engines |
//! | `module` | the module that runs, and the results of its functions |
//! | `world` | the state that callbacks share: stores, due acts, handles |
//! | `site` | performs the acts of callbacks |
//! | `host` | host functions |
//! | `callbacks` | limiters, hooks, and wakers, values and errors whose methods are callbacks |
//! | `borrowed_store` | actions on a borrowed store |
//! | `design_stacks` | tasks, fibers, stacks of the bag and first-class stacks |
//! | `owned_store` | actions on an owned store |
//! | `handles` | handles, used with any store |
//! | `final_check` | checks that a store still works |
//! | `run` | runs a case |

mod borrowed_store;
mod callbacks;
mod case;
mod design_stacks;
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

/// An error describes the problem.
type Verdict<T = ()> = Result<T, String>;

/// A borrowed store of a case.
type Context<'a> = ropewalk::StoreContextMut<'a, world::Data>;

pub(crate) const TARGET: CaseTarget<Case> = CaseTarget {
    name: "embedder",
    make: |u| u.arbitrary(),
    check: run::check,
    render: |case| format!("{case:#?}"),
};
