//! Registration of generated code with native debuggers, so that their backtraces show it.
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
//! Each piece of code gets an [object file](object) in memory, which is [registered](registration):
//! names, source lines, and unwind tables. All functions have a frame pointer, and so have the
//! stubs, where stacks change. Stubs are unwound by an [expression](crate::arch::unwind) that the
//! debugger evaluates: it reads the records of the [listed stores](crate::store::debugger_list).
//! Generated code and stubs are the same without a debugger.

mod lines;
pub(crate) mod object;
pub(crate) mod registration;

use crate::arch::unwind::{self, StoreRecords};
use crate::code::perf_map;
use crate::code::{CodeMemory, LoadedModule};
use crate::store::Store;
use crate::store::debugger_list::{self, Node};
use crate::store::running::{Activation, Running};
use object::Symbol;
use registration::Registration;
use ropewalk_abi::code::FunctionCode;
use std::mem::offset_of;
use std::ops::Range;
use std::sync::OnceLock;

impl LoadedModule {
    /// Registers its code with debuggers.
    pub fn register_with_debuggers(&mut self) {
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
    /// Registers parts of code that belong to no module, sorted by their place.
    pub fn register_with_debuggers(&mut self, name: &str, parts: &[Range<usize>]) {
        let name = name.to_string();
        let symbol =
            |part: &Range<usize>| Symbol { name: name.clone(), start: part.start, len: part.len() };
        self.register(parts.iter().map(symbol).collect(), Vec::new());
    }

    fn register(&mut self, functions: Vec<Symbol>, lines: object::Sections) {
        register_stubs();
        let ranges: Vec<_> = functions.iter().map(|f| f.start..f.start + f.len).collect();
        let mut sections =
            vec![(".eh_frame", unwind::frames_of(self.start(), self.bytes(), &ranges))];
        sections.extend(lines);
        let object = object::write(self.start(), self.len(), &functions, &sections);
        self.registration = Some(Box::new(Registration::new(object)));
    }
}

/// Where debuggers find the activations of all stores.
fn records() -> StoreRecords {
    StoreRecords {
        first: (&raw const debugger_list::FIRST) as usize,
        node_context: offset_of!(Node, context),
        node_next: offset_of!(Node, next),
        newest: offset_of!(Store, running) + Running::NEWEST,
        outer: offset_of!(Activation, outer),
        outer_stack: offset_of!(Activation, outer_stack),
        outer_sp: offset_of!(Activation, outer_sp),
    }
}

/// Registers the stubs, once.
fn register_stubs() {
    static STUBS: OnceLock<Registration> = OnceLock::new();
    STUBS.get_or_init(|| {
        // The file must be about some address; the names of the stubs are known already.
        let place = (&raw const STUBS) as usize;
        Registration::new(object::write(
            place,
            1,
            &[],
            &[(".eh_frame", unwind::frames_of_stubs(records()))],
        ))
    });
}
