//! Exhausted limits of the operating system: nothing changes, and the error names the limit.

use crate::allocator::refuse_sizes;
use crate::common::*;
use ropewalk::*;
/// Limits the process to this many more bytes of writable memory.
fn limit_memory(more: u64) -> u64 {
    set_limit(libc::RLIMIT_DATA, ((memory("VmData:") as u64) << 10) + more)
}

#[test]
fn a_memory_that_cannot_grow_is_where_it_was() {
    alone(|| {
        let text = r#"
            (memory (export "memory") i64 1)
            (func (export "grow") (param i64) (result i64) (memory.grow (local.get 0)))
            (func (export "set") (param i64 i64) (i64.store (local.get 0) (local.get 1)))
            (func (export "get") (param i64) (result i64) (i64.load (local.get 0)))"#;
        let (mut store, instance) = instantiate(text);
        let grow = instance.get_typed_func::<i64, i64>(&mut store, "grow").unwrap();
        let set = instance.get_typed_func::<(i64, i64), ()>(&mut store, "set").unwrap();
        let get = instance.get_typed_func::<i64, i64>(&mut store, "get").unwrap();
        set.call(&mut store, (8, 7)).unwrap();
        limit_memory(256 << 20);
        // The memory has to move, and there is not enough room.
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
}

#[test]
fn a_table_that_cannot_grow_keeps_its_elements() {
    alone(|| {
        let text = r#"
            (type $f (func (result i32)))
            (table $t (export "table") 100 funcref (ref.func $seven))
            (func $seven (result i32) (i32.const 7))
            (func (export "grow") (param i32) (result i32)
              (table.grow $t (ref.func $seven) (local.get 0)))
            (func (export "call") (param i32) (result i32)
              (call_indirect $t (type $f) (local.get 0)))"#;
        let (mut store, instance) = instantiate(text);
        let grow = instance.get_typed_func::<i32, i32>(&mut store, "grow").unwrap();
        let call = instance.get_typed_func::<i32, i32>(&mut store, "call").unwrap();
        assert_eq!(call.call(&mut store, 0).unwrap(), 7);
        let grown = refuse_sizes(800..=10_000, || grow.call(&mut store, 100));
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
}

#[test]
fn a_trap_is_reported_with_fewer_stacks_where_there_is_no_memory_for_a_list_of_all() {
    alone(|| {
        let text = r#"
            (type $f (func (param i32))) (type $c (cont $f))
            (func $in (export "nest") (param $n i32)
              (if (local.get $n)
                (then (resume $c (i32.sub (local.get $n) (i32.const 1)) (cont.new $c (ref.func $in))))
                (else (unreachable))))
            (elem declare func $in)"#;
        let (mut store, instance) = instantiate(text);
        store.keep_stacks_of_failure(usize::MAX);
        let mut listed = |least: usize| {
            let failed = refuse_sizes(least..=usize::MAX, || {
                invoke::<i32, ()>(&mut store, instance, "nest", 5000)
            });
            traps(failed, TrapCode::Unreachable);
            store.take_stacks_of_failure().map(|list| list.len())
        };
        assert_eq!(listed(usize::MAX), Some(5001));
        assert_eq!(listed(100 << 10), Some(16), "a few");
        assert_eq!(listed(4 << 10), None, "no list at all");
        assert_eq!(listed(usize::MAX), Some(5001));
    });
}

// ---- which limit it was

const PAGE: usize = 4096;

/// A new mapping, if there is room.
fn map(len: usize, protection: i32) -> Option<*mut libc::c_void> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping touches no memory that exists.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, -1, 0) };
    (base != libc::MAP_FAILED).then_some(base)
}

/// Uses up the mappings of the process.
fn take_mappings() {
    let base = map(PAGE << 20, libc::PROT_NONE).unwrap();
    for page in (0..1 << 20).step_by(2) {
        // SAFETY: the pages are ours. Each page with another protection is a mapping.
        unsafe {
            let place = base.wrapping_byte_add(page * PAGE);
            if libc::mprotect(place, PAGE, libc::PROT_READ) != 0 {
                break;
            }
        }
    }
    let mut protections = [libc::PROT_NONE, libc::PROT_READ].into_iter().cycle();
    while map(PAGE, protections.next().unwrap()).is_some() {}
}

/// A store with a recursion, and another module with a memory.
fn deep_and_memory() -> (Store<()>, Instance, Module) {
    let engine = Engine::default();
    let deep = r#"(module
        (func $down (export "down") (param i32) (result i32)
          (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 0))
            (else (i32.add (i32.const 1) (call $down (i32.sub (local.get 0) (i32.const 1))))))))"#;
    let (mut store, instance) = instantiate_in(&engine, deep);
    assert_eq!(number(&mut store, instance, "down", &[1000]).unwrap(), 1000);
    // The module cannot be compiled again to need less.
    let module = without_binary(&engine, "(module (memory 1))");
    (store, instance, module)
}

/// Both fail, and say why.
#[track_caller]
fn fails_for(store: &mut Store<()>, instance: Instance, module: &Module, reason: &str) {
    if !reason.contains("contiguous") {
        let error = number(store, instance, "down", &[1_000_000]).unwrap_err();
        assert_eq!(trap(&error).code(), TrapCode::CallStackExhausted);
        assert_eq!(trap(&error).detail(), Some(reason));
        assert_eq!(number(store, instance, "down", &[1000]).unwrap(), 1000);
    }
    if !reason.contains("data") {
        fails_as(
            Instance::new(&mut *store, module, &[]),
            format!("cannot allocate a memory of 1 pages: {reason}"),
        );
    }
}

#[test]
fn a_process_without_mappings_says_so() {
    alone(|| {
        let (mut store, instance, module) = deep_and_memory();
        take_mappings();
        let most = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
        let reason = format!(
            "a process may have at most {} mappings (sysctl vm.max_map_count)",
            most.trim()
        );
        fails_for(&mut store, instance, &module, &reason);
    });
}

#[test]
fn a_process_without_address_space_says_so() {
    alone(|| {
        let (mut store, instance, module) = deep_and_memory();
        let most = limit_address_space(8 << 20);
        let reason =
            format!("the address space of this process is limited to {most} bytes (ulimit -v)");
        fails_for(&mut store, instance, &module, &reason);
    });
}

#[test]
fn a_process_without_memory_for_data_says_so() {
    alone(|| {
        let (mut store, instance, module) = deep_and_memory();
        let most = limit_memory(8 << 20);
        let reason = format!("the data of this process is limited to {most} bytes (ulimit -d)");
        fails_for(&mut store, instance, &module, &reason);
    });
}

#[test]
fn a_process_without_a_piece_of_address_space_says_so() {
    alone(|| {
        let (mut store, instance, module) = deep_and_memory();
        for bits in (32..47).rev() {
            while map(1 << bits, libc::PROT_NONE).is_some() {}
        }
        let reason = "this process has no 4328521728 contiguous bytes of address space left";
        fails_for(&mut store, instance, &module, reason);
    });
}

#[test]
fn a_heap_without_memory_says_for_which_limit() {
    let text = r#"
        (type $a (array (mut i8))) (global $kept (mut (ref null $a)) (ref.null $a))
        (func (export "keep") (param i32) (global.set $kept (array.new_default $a (local.get 0))))"#;
    let fails_for = |store: &mut Store<()>, instance, reason: &str| {
        let error = number(store, instance, "keep", &[64 << 20]).unwrap_err();
        assert_eq!(trap(&error).code(), TrapCode::OutOfMemory);
        assert_eq!(trap(&error).detail(), Some(reason));
        number(store, instance, "keep", &[1 << 10]).unwrap();
    };
    let mut small = Config::new();
    small.max_heap(1 << 20);
    let (mut store, instance) = instantiate_in(&Engine::new(&small).unwrap(), text);
    let reason = "the objects of a store may have at most 1048576 bytes (Config::max_heap)";
    fails_for(&mut store, instance, reason);
    let numbers = ArrayType::new(store.engine(), FieldType::new(ValType::I64, true)).unwrap();
    let array = ArrayRef::new(&mut store, &numbers, &vec![Val::I64(0); 200_000]);
    assert_eq!(trap(&array.unwrap_err()).detail(), Some(reason));
    let (mut store, instance) = instantiate(text);
    store.limiter(StoreLimitsBuilder::new().heap_bytes(1 << 20).build());
    fails_for(&mut store, instance, "the limiter of the store allows no more");
    alone(|| {
        let (mut store, instance) = instantiate(text);
        number(&mut store, instance, "keep", &[1 << 10]).unwrap();
        let most = limit_memory(8 << 20);
        let reason = format!("the data of this process is limited to {most} bytes (ulimit -d)");
        fails_for(&mut store, instance, &reason);
    });
}

#[test]
fn too_many_stacks_are_said_to_be_too_many_for_a_limit() {
    let text = r#"(module
        (type $f (func)) (type $c (cont $f)) (tag $yield)
        (table $kept 100 (ref null $c))
        (func $wait (suspend $yield))
        (elem declare func $wait)
        (func (export "hold") (param $n i32) (local $rest (ref null $c))
          (loop $more
            (block $h (result (ref $c))
              (resume $c (on $yield $h) (cont.new $c (ref.func $wait))) (unreachable))
            (local.set $rest)
            (table.set $kept (local.get $n) (local.get $rest))
            (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
        ;; Stacks that wait for each other cannot be parked.
        (type $g (func (param i32))) (type $d (cont $g))
        (func $nest (export "nest") (param $n i32)
          (if (local.get $n) (then (resume $d
            (i32.sub (local.get $n) (i32.const 1)) (cont.new $d (ref.func $nest)))))))"#;
    let mut few = Config::new();
    few.max_stacks(20);
    let mut small = Config::new();
    small.max_stack_memory(2 << 20);
    let limiter = StoreLimitsBuilder::new().stacks(10).build();
    for (config, limits, name, detail) in [
        (few, None, "hold", "a store may have at most 20 stacks (Config::max_stacks)"),
        (
            small,
            None,
            "nest",
            "all stacks together may have at most 2097152 bytes (Config::max_stack_memory)",
        ),
        (Config::new(), Some(limiter), "hold", "the limiter of the store allows no more"),
    ] {
        let (mut store, instance) = instantiate_in(&Engine::new(&config).unwrap(), text);
        if let Some(limits) = limits {
            store.limiter(limits);
        }
        let error = number(&mut store, instance, name, &[50]).unwrap_err();
        assert_eq!(trap(&error).code(), TrapCode::TooManyStacks);
        assert_eq!(trap(&error).detail(), Some(detail));
    }
}
