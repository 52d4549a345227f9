//! Telling native debuggers of code that is made at run time, so that their backtraces go
//! through it.
//!
//! ```text
//!   host function                         host's stack
//!   stub that called it                   host's stack, and the one that it was called from
//!   functions of WebAssembly              a stack of the store
//!   stub in which that stack begins       that stack, and its parent's
//!   functions of WebAssembly              the parent
//!   stub that entered WebAssembly         the parent, and the host's stack
//!   host                                  host's stack
//! ```
//!
//! Each piece of code gets an [object file](object) in memory, which a debugger is
//! [told of](interface): names, source lines, and how its frames are left. All functions have a
//! frame pointer, so that is simple. The stubs, where stacks change, have one too. How their
//! frames are left is an [expression](crate::arch::unwind) which the debugger evaluates: it looks
//! in the records of the [stores](stores) that the debugger is to know. So nothing in them changes
//! for it.

pub(crate) mod interface;
mod lines;
pub(crate) mod object;
pub(crate) mod stores;

use crate::arch::unwind;
use crate::code::perf_map;
use crate::code::{CodeMemory, LoadedModule};
use interface::Told;
use object::Symbol;
use ropewalk_abi::code::FunctionCode;
use std::ops::Range;
use std::sync::OnceLock;

/// Code that debuggers are told of, until this is dropped.
#[derive(Debug)]
pub(crate) struct Registration(#[allow(dead_code, reason = "kept for when it is dropped")] Told);

impl LoadedModule {
    /// Tells debuggers of its code.
    pub fn tell_debuggers(&mut self) {
        let functions = self.code.tables().functions;
        let symbol = |code: &FunctionCode| Symbol {
            name: perf_map::name_of(self, code),
            start: code.start as usize,
            len: (code.end - code.start) as usize,
        };
        let symbols = functions.iter().map(symbol).collect();
        self.code.register(symbols, lines::of(self));
    }
}

impl CodeMemory {
    /// Tells debuggers of code that belongs to no module, in some parts by their order.
    pub fn tell_debuggers(&mut self, name: &str, parts: &[Range<usize>]) {
        let name = name.to_string();
        let symbol =
            |part: &Range<usize>| Symbol { name: name.clone(), start: part.start, len: part.len() };
        self.register(parts.iter().map(symbol).collect(), Vec::new());
    }

    fn register(&mut self, functions: Vec<Symbol>, lines: object::Sections) {
        tell_of_stubs();
        let mut sections = vec![(".eh_frame", unwind::frames_of(self, &functions))];
        sections.extend(lines);
        let object = object::write(self.start(), self.len(), &functions, &sections);
        self.registration = Some(Registration(Told::new(object)));
    }
}

/// Tells debuggers of the stubs, once.
fn tell_of_stubs() {
    static TOLD: OnceLock<Told> = OnceLock::new();
    TOLD.get_or_init(|| {
        // The file has to be about something; the names of the stubs are known already.
        let place = (&raw const TOLD) as usize;
        Told::new(object::write(place, 1, &[], &[(".eh_frame", unwind::frames_of_stubs())]))
    });
}
