//! The stubs: assembly between the host's stack and the stacks of WebAssembly. The
//! [folder's head](super) has the pictures.

#[macro_use]
mod sequences;
mod call_host;
mod deliver;
mod enter;
mod pause;
mod stack_ends;

pub use call_host::host_words;
pub(crate) use call_host::{call_builtin, call_host, call_host_watched};
pub(crate) use deliver::{deliver, deliver_checked};
pub(crate) use enter::{
    begin_words, begin_words_for_float, come_back, continue_call, end_restored,
    end_restored_for_float, enter, enter_landing, enter_stack, enter_words, enter_words_for_float,
    leave,
};
pub(crate) use pause::{continue_paused, go_back, make_room, pause};
pub(crate) use stack_ends::{
    finish, finish_traced, finish_with, finish_with_traced, ground, start, unpark,
};

use ropewalk_abi::builtin::{CATCH, END, Outcome, SUSPEND};
use ropewalk_abi::{HostContext, InstanceHeader};
use std::mem::offset_of;

// The stubs test `rax` for a nonzero `ended` and take `value` from `rdx`.
const _: () = assert!(END < CATCH && CATCH < SUSPEND);
const _: () = assert!(offset_of!(Outcome, ended) == 0 && offset_of!(Outcome, value) == 8);
// The stubs load the store from the first word of any context.
const _: () = assert!(offset_of!(InstanceHeader, store) == 0);
const _: () = assert!(offset_of!(HostContext, store) == 0);
