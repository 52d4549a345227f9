//! An allocation of the host that fails while a guest drives it is an error or a trap, and
//! the store goes on.
//!
//! What fails is each allocation in turn, in a process of its own.

use ropewalk::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::process::Command;

/// The memory of this process, of which one piece cannot be had.
struct FailsOnce;

thread_local! {
    /// How many pieces this thread gets before one cannot be had.
    static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Whether a piece is the one that cannot be had.
fn is_refused() -> bool {
    LEFT.with(|left| match left.get() {
        usize::MAX => false,
        0 => {
            left.set(usize::MAX);
            true
        }
        count => {
            left.set(count - 1);
            false
        }
    })
}

// SAFETY: it answers what the system does, or nothing.
unsafe impl GlobalAlloc for FailsOnce {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_refused() {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: FailsOnce = FailsOnce;

/// What a guest does by which the host's structures grow. Each function ends by itself.
const GUEST: &str = r#"(module
    (import "host" "keep" (func $keep (param i32) (result externref)))
    (type $f (func))
    (type $k (cont $f))
    (type $node (struct (field (ref null $node)) (field (ref null $k))))
    (tag $yield)
    (tag $e (param i32))
    (memory 1)
    (table $t 1 externref)
    (global $nodes (mut (ref null $node)) (ref.null $node))
    (elem declare func $body)
    (func $body (suspend $yield))
    (func (export "memory") (result i32) (memory.grow (i32.const 1)))
    (func (export "table") (result i32) (table.grow $t (ref.null extern) (i32.const 100)))
    (func (export "stacks") (param $n i32)
      (local $k (ref null $k))
      (loop $more
        (block $yielded (result (ref $k))
          (resume $k (on $yield $yielded) (cont.new $k (ref.func $body)))
          (return))
        (local.set $k)
        (global.set $nodes (struct.new $node (global.get $nodes) (local.get $k)))
        (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func (export "objects") (param $n i32)
      (loop $more
        (global.set $nodes (struct.new $node (global.get $nodes) (ref.null $k)))
        (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func (export "values") (param $n i32)
      (loop $more
        (drop (table.grow $t (call $keep (local.get $n)) (i32.const 1)))
        (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func (export "exceptions") (param $n i32)
      (loop $more
        (block $caught (result i32)
          (try_table (catch $e $caught) (throw $e (i32.const 1)))
          (i32.const 0))
        (drop)
        (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func (export "forget") (param i32)
      (global.set $nodes (ref.null $node))
      (table.fill $t (i32.const 0) (ref.null extern) (table.size $t))))"#;

/// The guest's functions, to be called without an allocation.
struct Guest {
    growing: Vec<TypedFunc<(), i32>>,
    repeating: Vec<(TypedFunc<i32, ()>, i32)>,
}

impl Guest {
    fn new(store: &mut Store<()>, instance: Instance) -> Result<Guest> {
        let growing = ["memory", "table"].map(|name| instance.get_typed_func(&mut *store, name));
        let counts = [
            ("stacks", 3000),
            ("objects", 100_000),
            ("values", 3000),
            ("exceptions", 10_000),
            // So that what there was before is garbage, and is collected.
            ("forget", 0),
            ("objects", 200_000),
            ("values", 100),
            ("forget", 0),
        ];
        let repeating =
            counts.map(|(name, count)| Ok((instance.get_typed_func(&mut *store, name)?, count)));
        Ok(Guest {
            growing: growing.into_iter().collect::<Result<_>>()?,
            repeating: repeating.into_iter().collect::<Result<_>>()?,
        })
    }

    fn run(&self, store: &mut Store<()>) -> Result<()> {
        for function in &self.growing {
            function.call(&mut *store, ())?;
        }
        for (function, count) in &self.repeating {
            function.call(&mut *store, *count)?;
        }
        Ok(())
    }
}

/// Runs the guest while the allocation after so many fails; returns whether there was one.
fn with_failure(after: usize) -> bool {
    let engine = Engine::default();
    let module = Module::new(&engine, GUEST).unwrap();
    let mut store = Store::new(&engine, ());
    let keep = Func::wrap(&mut store, |mut caller: Caller<'_, ()>, _: i32| {
        ExternRef::new(&mut caller, ()).map(Some)
    });
    let instance = Instance::new(&mut store, &module, &[keep.into()]).unwrap();
    let guest = Guest::new(&mut store, instance).unwrap();
    LEFT.set(after);
    let result = guest.run(&mut store);
    let failed = LEFT.replace(usize::MAX) == usize::MAX;
    if let Err(error) = &result {
        let expected = error.is::<Trap>() || error.is::<HostError>();
        assert!(failed && expected, "{error:?}");
    }
    guest.run(&mut store).unwrap();
    failed
}

#[test]
fn an_allocation_that_fails_is_an_error() {
    const VARIABLE: &str = "ROPEWALK_ALLOCATION";
    if let Ok(after) = std::env::var(VARIABLE) {
        let failed = with_failure(after.parse().unwrap());
        std::process::exit(if failed { 10 } else { 11 });
    }
    let mut aborted = vec![];
    for after in 0.. {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "an_allocation_that_fails_is_an_error", "--nocapture"]);
        let output = command.env(VARIABLE, after.to_string()).output().unwrap();
        match output.status.code() {
            Some(10) => {}
            Some(11) => break,
            _ => aborted.push((after, String::from_utf8_lossy(&output.stderr).into_owned())),
        }
    }
    assert!(aborted.is_empty(), "{aborted:#?}");
}
