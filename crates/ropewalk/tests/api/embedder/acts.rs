//! What the embedder's code does where the engine calls it.

use ropewalk::*;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What the embedder's code does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Nothing.
    Returns,
    Panics,
    /// Panics with a value that panics when it is dropped.
    PanicsWithABomb,
    /// Runs WebAssembly of another store that grows, switches, collects and traps.
    EntersAnotherStore,
    /// The same on another thread, and waits for it.
    EntersAnotherStoreOnAnotherThread,
    /// Interrupts the running call.
    Interrupts,
    /// Uses much of the current stack.
    UsesTheStack,
}

pub const ACTS: [Act; 7] = [
    Act::Returns,
    Act::Panics,
    Act::PanicsWithABomb,
    Act::EntersAnotherStore,
    Act::EntersAnotherStoreOnAnotherThread,
    Act::Interrupts,
    Act::UsesTheStack,
];

/// The message of the panic.
pub const PANIC: &str = "the embedder panics";

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("the value of a panic panics when it is dropped");
        }
    }
}

/// Does its act each time it is called, until it is stopped.
#[derive(Clone)]
pub struct Actor(Arc<State>);

struct State {
    act: Act,
    is_armed: AtomicBool,
    count: AtomicUsize,
    interrupts: InterruptHandle,
    other: Mutex<Other>,
}

/// A store that the embedder enters.
struct Other {
    store: Store<()>,
    busy: TypedFunc<i32, i32>,
    fault: TypedFunc<(), i32>,
}

impl fmt::Debug for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("something of the embedder's")
    }
}

impl Other {
    fn new(module: &Module) -> Other {
        let engine = module.engine();
        let mut linker = Linker::new(engine);
        linker.define_unknown_imports_as_traps(module).unwrap();
        let mut store = Store::new(engine, ());
        store.set_fuel(u64::MAX / 2).unwrap();
        let instance = linker.instantiate(&mut store, module).unwrap();
        let busy = instance.get_typed_func(&mut store, "busy").unwrap();
        let fault = instance.get_typed_func(&mut store, "fault").unwrap();
        Other { store, busy, fault }
    }

    fn enter(&mut self) {
        assert_eq!(self.busy.call(&mut self.store, 30).unwrap(), 30);
        let error = self.fault.call(&mut self.store, ()).unwrap_err();
        assert_eq!(super::trap(&error).code(), TrapCode::MemoryOutOfBounds);
    }
}

impl Actor {
    pub fn new(module: &Module, act: Act, interrupts: InterruptHandle) -> Actor {
        Actor(Arc::new(State {
            act,
            is_armed: AtomicBool::new(false),
            count: AtomicUsize::new(0),
            interrupts,
            other: Mutex::new(Other::new(module)),
        }))
    }

    /// Starts doing the act.
    pub fn start(&self) {
        self.0.is_armed.store(true, Ordering::SeqCst);
    }

    /// Stops doing the act.
    pub fn stop(&self) {
        self.0.is_armed.store(false, Ordering::SeqCst);
    }

    /// How often the act was done.
    pub fn count(&self) -> usize {
        self.0.count.load(Ordering::SeqCst)
    }

    /// Does the act.
    pub fn act(&self) {
        // A second panic during a panic ends any process.
        if !self.0.is_armed.load(Ordering::SeqCst) || std::thread::panicking() {
            return;
        }
        self.0.count.fetch_add(1, Ordering::SeqCst);
        match self.0.act {
            Act::Returns => {}
            Act::Panics => std::panic::panic_any(PANIC),
            Act::PanicsWithABomb => std::panic::panic_any(Bomb),
            Act::EntersAnotherStore => self.enter(),
            Act::EntersAnotherStoreOnAnotherThread => {
                std::thread::scope(|scope| scope.spawn(|| self.enter()).join().unwrap());
            }
            Act::Interrupts => self.0.interrupts.interrupt(),
            Act::UsesTheStack => assert_eq!(uses_the_stack(200), 200),
        }
    }

    fn enter(&self) {
        // This takes long, and some callees are called very often. A callee may be called while it
        // is in the other store.
        if self.count() <= 3
            && let Ok(mut other) = self.0.other.try_lock()
        {
            other.enter();
        }
    }
}

/// Uses a kilobyte for each call.
fn uses_the_stack(depth: usize) -> usize {
    let bytes = std::hint::black_box([depth as u8; 1 << 10]);
    match depth {
        0 => 0,
        _ => 1 + uses_the_stack(depth - 1) + usize::from(bytes[0] != depth as u8),
    }
}

/// Acts when it is dropped.
#[derive(Debug)]
pub struct WhenDropped(pub Actor);

impl Drop for WhenDropped {
    fn drop(&mut self) {
        self.0.act();
    }
}

/// Acts when it is printed.
#[derive(Debug)]
pub struct WhenPrinted(pub Actor);

impl fmt::Display for WhenPrinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.act();
        f.write_str("an error of the host")
    }
}

impl std::error::Error for WhenPrinted {}
