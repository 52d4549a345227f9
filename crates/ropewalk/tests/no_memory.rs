//! What cannot be had for want of memory changes nothing.
//!
//! The limits are those of a process, so each of these tests runs itself again as a
//! child.

mod common;
use common::*;
use ropewalk::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The memory of this process, of which pieces of some sizes cannot be had.
struct Refusing;

/// From which size on, and up to which.
static REFUSED: [AtomicUsize; 2] = [AtomicUsize::new(usize::MAX), AtomicUsize::new(0)];

// SAFETY: it answers what the system does, or nothing.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let [least, most] = REFUSED.each_ref().map(|size| size.load(Ordering::Relaxed));
        if (least..=most).contains(&layout.size()) {
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
static ALLOCATOR: Refusing = Refusing;

/// Lets the process have only so many more bytes of memory that can be written.
fn limit_memory(more: u64) {
    let most = ((memory("VmData:") as u64) << 10) + more;
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: the limit is one.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_DATA, &limit) }, 0);
}

#[test]
fn a_memory_that_cannot_grow_is_where_it_was() {
    let output = child("a_memory_that_cannot_grow_is_where_it_was", || {
        let (mut store, instance) = instantiate(
            r#"
            (memory (export "memory") i64 1)
            (func (export "grow") (param i64) (result i64) (memory.grow (local.get 0)))
            (func (export "set") (param i64 i64) (i64.store (local.get 0) (local.get 1)))
            (func (export "get") (param i64) (result i64) (i64.load (local.get 0)))"#,
        );
        let grow = instance.get_typed_func::<i64, i64>(&mut store, "grow").unwrap();
        let set = instance.get_typed_func::<(i64, i64), ()>(&mut store, "set").unwrap();
        let get = instance.get_typed_func::<i64, i64>(&mut store, "get").unwrap();
        set.call(&mut store, (8, 7)).unwrap();
        limit_memory(256 << 20);
        // So much that it has to move, and more than there is.
        assert_eq!(grow.call(&mut store, 3 << 14).unwrap(), -1);
        assert_eq!(get.call(&mut store, 8).unwrap(), 7);
        set.call(&mut store, (16, 9)).unwrap();
        let memory = instance.get_memory(&mut store, "memory").unwrap();
        assert_eq!(memory.data(&store).unwrap().len(), 1 << 16);
        assert_eq!(
            memory.data(&store).unwrap()[8..24],
            [[7, 9].map(u64::to_le_bytes)].concat().concat()
        );
        assert_eq!(
            trap(&get.call(&mut store, 1 << 16).unwrap_err()).code(),
            TrapCode::MemoryOutOfBounds
        );
        assert_eq!(grow.call(&mut store, 1).unwrap(), 1);
        assert_eq!(get.call(&mut store, 16).unwrap(), 9);
        assert_eq!(get.call(&mut store, 1 << 16).unwrap(), 0);
    });
    succeeds(&output);
}

#[test]
fn a_table_that_cannot_grow_keeps_its_elements() {
    let output = child("a_table_that_cannot_grow_keeps_its_elements", || {
        let (mut store, instance) = instantiate(
            r#"
            (type $f (func (result i32)))
            (table $t (export "table") 100 funcref (ref.func $seven))
            (func $seven (result i32) (i32.const 7))
            (func (export "grow") (param i32) (result i32)
              (table.grow $t (ref.func $seven) (local.get 0)))
            (func (export "call") (param i32) (result i32)
              (call_indirect $t (type $f) (local.get 0)))"#,
        );
        let grow = instance.get_typed_func::<i32, i32>(&mut store, "grow").unwrap();
        let call = instance.get_typed_func::<i32, i32>(&mut store, "call").unwrap();
        assert_eq!(call.call(&mut store, 0).unwrap(), 7);
        REFUSED[1].store(10_000, Ordering::Relaxed);
        REFUSED[0].store(800, Ordering::Relaxed);
        let grown = grow.call(&mut store, 100);
        REFUSED[0].store(usize::MAX, Ordering::Relaxed);
        assert_eq!(grown.unwrap(), -1);
        let table = instance.get_table(&mut store, "table").unwrap();
        for index in 0..100 {
            assert_eq!(call.call(&mut store, index).unwrap(), 7);
            let element = table.get(&mut store, index as u64).unwrap();
            assert!(matches!(element, Val::FuncRef(Some(_))));
        }
        assert_eq!(grow.call(&mut store, 100).unwrap(), 100);
        assert_eq!(call.call(&mut store, 199).unwrap(), 7);
    });
    succeeds(&output);
}
