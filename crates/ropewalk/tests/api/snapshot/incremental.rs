//! Incremental snapshots: the changes since another snapshot.

use super::*;
use std::fs::File;
use std::io::{Read, Seek, Write};

/// A memory, a table, a list of objects and generators, which all change one at a time.
const SOURCE: &str = r#"
(module
  (type $f (func)) (type $c (cont $f))
  (type $list (struct (field $value (mut i32)) (field $next (ref null $list))))
  (type $array (array (mut (ref null $list)))) (tag $yield (param i32))
  (memory (export "memory") 256)
  (memory $wide (export "wide") i64 40) (table $all 0 (ref null $c))
  (table $objects 0 (ref null $list))
  (global $list (mut (ref null $list)) (ref.null $list))
  (global $array (mut (ref null $array)) (ref.null $array)) (global $steps (mut i32) (i32.const 0))
  (elem declare func $body)
  (func $body (local $i i32)
    (loop $next (suspend $yield (local.tee $i (i32.add (local.get $i) (i32.const 1)))) (br $next)))
  (func (export "fill") (memory.fill (i32.const 0) (i32.const 1) (i32.const 16000000)))
  (func (export "set") (param i32 i32) (i32.store (local.get 0) (local.get 1)))
  (func (export "get") (param i32) (result i32) (i32.load (local.get 0)))
  (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
  (func (export "set_wide") (param i64 i32) (i32.store $wide (local.get 0) (local.get 1)))
  (func (export "get_wide") (param i64) (result i32) (i32.load $wide (local.get 0)))
  (func (export "grow_wide") (param i64) (result i64) (memory.grow $wide (local.get 0)))
  (func (export "generators") (param $count i32) (local $at i32)
    (local.set $at (table.grow $all (ref.null $c) (local.get $count)))
    (loop $next
      (table.set $all (local.get $at) (cont.new $c (ref.func $body)))
      (drop (call $step (local.get $at)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $at) (table.size $all)))))
  (func $step (export "step") (param $at i32) (result i32) (local $rest (ref null $c))
    (global.set $steps (i32.add (global.get $steps) (i32.const 1)))
    (block $on (result i32 (ref $c))
      (resume $c (on $yield $on) (table.get $all (local.get $at))) (unreachable))
    (local.set $rest)
    (table.set $all (local.get $at) (local.get $rest)))
  (func (export "steps") (result i32) (global.get $steps))
  (func (export "objects") (param $count i32)
    (drop (table.grow $objects (ref.null $list) (local.get $count)))
    (global.set $array (array.new $array (ref.null $list) (local.get $count)))
    (loop $next
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (global.set $list (struct.new $list (local.get $count) (global.get $list)))
      (table.set $objects (local.get $count) (global.get $list))
      (array.set $array (global.get $array) (local.get $count) (global.get $list))
      (br_if $next (local.get $count))))
  (func (export "set_object") (param i32 i32)
    (struct.set $list $value (table.get $objects (local.get 0)) (local.get 1)))
  (func (export "replace_object") (param i32 i32)
    (array.set $array (global.get $array) (local.get 0)
      (struct.new $list (local.get 1) (ref.null $list))))
  (func (export "object") (param i32) (result i32)
    (struct.get $list $value (table.get $objects (local.get 0))))
  (func (export "in_array") (param i32) (result i32)
    (struct.get $list $value (array.get $array (global.get $array) (local.get 0)))))"#;

/// A store with its instance.
struct Case {
    module: Module,
    store: Store<()>,
    instance: Instance,
}

impl Case {
    fn new(config: &mut Config) -> Case {
        let module = Module::new(&Engine::new(config.snapshots(true)).unwrap(), SOURCE).unwrap();
        let (store, instance) = start(&module);
        Case { module, store, instance }
    }

    /// A case with much of everything.
    fn large(config: &mut Config) -> Case {
        let mut case = Case::new(config);
        case.call::<(), ()>("fill", ());
        case.call::<i32, ()>("generators", 3000);
        case.call::<i32, ()>("objects", 20_000);
        case
    }

    fn call<P: WasmParams, R: WasmResults>(&mut self, name: &str, params: P) -> R {
        let func = self.instance.get_typed_func::<P, R>(&mut self.store, name).unwrap();
        func.call(&mut self.store, params).unwrap()
    }

    fn snapshot(&mut self, options: &mut SnapshotOptions) -> Snapshot {
        self.store.snapshot(options.name_instance("main", self.instance)).unwrap()
    }

    fn since(&mut self, base: &Snapshot) -> Snapshot {
        let snapshot = self.snapshot(SnapshotOptions::new().since(base));
        assert!(snapshot.is_based());
        through_bytes(&snapshot)
    }

    fn restored(&self, snapshot: &Snapshot) -> Case {
        let linker = Linker::new(self.module.engine());
        let modules = std::slice::from_ref(&self.module);
        let restored = through_bytes(snapshot).restore(&linker, modules, ()).unwrap();
        let instance = restored.instance("main").unwrap();
        Case { module: self.module.clone(), store: restored.store, instance }
    }

    /// Changes one of each.
    fn change(&mut self, n: i32) {
        self.call::<_, ()>("set", (5_000_000 + n * 8192, n));
        self.call::<_, ()>("set_wide", (1_000_000_i64 + i64::from(n), n));
        self.call::<i32, i32>("step", 100 * n);
        self.call::<_, ()>("set_object", (1000 * n, -n));
        self.call::<_, ()>("replace_object", (1500 * n + 7, -2 * n));
    }

    /// Fails unless exactly these numbers were changed.
    fn assert_changed(&mut self, changed: &[i32]) {
        for n in 1..8 {
            let times = changed.iter().filter(|other| **other == n).count() as i32;
            let is = |value, otherwise| if times > 0 { value } else { otherwise };
            assert_eq!(self.call::<i32, i32>("get", 5_000_000 + n * 8192), is(n, 0x01010101));
            assert_eq!(self.call::<i32, i32>("object", 1000 * n), is(-n, 1000 * n));
            let at = 1500 * n + 7;
            assert_eq!(self.call::<i32, i32>("in_array", at), is(-2 * n, at));
            assert_eq!(self.call::<i32, i32>("step", 100 * n), 2 + times);
        }
    }
}

/// The kernel always notes dirty pages, notes them of large memories, or never, so that all is
/// compared.
fn configs() -> [Config; 3] {
    let [mut always, normal, mut never] = [Config::new(), Config::new(), Config::new()];
    always.stress(|stress| stress.watch_always = true);
    never.watch_written_pages(false);
    [always, normal, never]
}

fn cases() -> impl Iterator<Item = Case> {
    configs().into_iter().map(|mut config| Case::large(&mut config))
}

/// Whether the kernel can note dirty pages.
fn kernel_notes() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (6, 7)
}

#[test]
fn the_second_snapshot_has_only_the_changes() {
    for mut case in cases() {
        let first = case.snapshot(&mut SnapshotOptions::new());
        assert!(first.as_bytes().len() > 16_000_000 && !first.is_based());
        case.change(1);
        case.change(3);
        let second = case.since(&first);
        assert!(second.as_bytes().len() < 60_000, "{}", second.as_bytes().len());
        let linker = Linker::new(case.module.engine());
        let modules = std::slice::from_ref(&case.module);
        let error = second.restore(&linker, modules, ()).unwrap_err();
        assert!(matches!(error.downcast_ref(), Some(SnapshotError::NeedsBase)), "{error}");
        let error = second.on(&second).unwrap_err();
        assert!(matches!(error.downcast_ref(), Some(SnapshotError::WrongBase)), "{error}");
        case.restored(&second.on(&through_bytes(&first)).unwrap()).assert_changed(&[1, 3]);
        case.restored(&first).assert_changed(&[]);
        case.assert_changed(&[1, 3]);
    }
}

#[test]
fn each_can_be_based_on_the_one_before() {
    for mut case in cases() {
        let first = case.snapshot(&mut SnapshotOptions::new());
        let (mut last, mut whole, mut all) = (first.clone(), first.clone(), Vec::new());
        for n in 1..6 {
            case.change(n);
            last = case.since(&last);
            whole = last.on(&whole).unwrap();
            let numbers: Vec<i32> = (1..=n).collect();
            case.restored(&whole).assert_changed(&numbers);
            all.push(last.clone());
        }
        let together = all.into_iter().rev().reduce(|after, before| after.on(&before).unwrap());
        let together = through_bytes(&together.unwrap());
        assert!(together.is_based());
        case.restored(&together.on(&first).unwrap()).assert_changed(&[1, 2, 3, 4, 5]);
    }
}

#[test]
fn all_can_be_based_on_the_first() {
    for mut case in cases() {
        let first = case.snapshot(&mut SnapshotOptions::new());
        for n in 1..6 {
            case.change(n);
            let next = case.since(&first);
            assert!(next.as_bytes().len() < 150_000, "{}", next.as_bytes().len());
            let numbers: Vec<i32> = (1..=n).collect();
            case.restored(&next.on(&first).unwrap()).assert_changed(&numbers);
        }
        // A later snapshot may be based on any earlier one.
        let fifth = case.since(&first);
        case.change(6);
        let sixth = case.since(&fifth).on(&fifth.on(&first).unwrap()).unwrap();
        case.restored(&sixth).assert_changed(&[1, 2, 3, 4, 5, 6]);
        case.change(7);
        let seventh = case.since(&first).on(&first).unwrap();
        case.restored(&seventh).assert_changed(&[1, 2, 3, 4, 5, 6, 7]);
    }
}

#[test]
fn the_last_one_need_not_be_there() {
    if !kernel_notes() {
        println!("this kernel does not track dirty pages");
        return;
    }
    let mut case = Case::large(&mut Config::new());
    let mut options = SnapshotOptions::new();
    options.since_last();
    let mut written = Vec::new();
    for n in 1..5 {
        written.push(case.snapshot(&mut options).as_bytes().to_vec());
        case.change(n);
    }
    // SAFETY: the bytes come from above.
    let read = written.into_iter().map(|bytes| unsafe { Snapshot::from_bytes(bytes).unwrap() });
    let read: Vec<Snapshot> = read.collect();
    assert!(!read[0].is_based() && read[1..].iter().all(Snapshot::is_based));
    assert!(read[1..].iter().all(|next| next.as_bytes().len() < 100_000));
    let whole = read.into_iter().reduce(|base, next| next.on(&base).unwrap()).unwrap();
    case.restored(&whole).assert_changed(&[1, 2, 3]);
    let mut never = Case::large(Config::new().watch_written_pages(false));
    for _ in 0..2 {
        let mut options = SnapshotOptions::new();
        let next = never.snapshot(options.since_last());
        assert!(!next.is_based(), "the changes are unknown");
    }
}

#[test]
fn a_restored_store_is_a_base() {
    for mut case in cases() {
        let mut last = case.snapshot(&mut SnapshotOptions::new());
        let mut numbers = Vec::new();
        // Each step runs in a restored store.
        for n in 1..6 {
            let mut next = case.restored(&last);
            next.change(n);
            let since = next.since(&last);
            let is_small = since.as_bytes().len() < 60_000;
            assert!(is_small || !kernel_notes(), "{}", since.as_bytes().len());
            last = since.on(&last).unwrap();
            numbers.push(n);
            next.restored(&last).assert_changed(&numbers);
        }
        let mut restoring = Restoring::new(case.module.engine(), [case.module.clone()]);
        let restored = last.restore_by(restoring.is_base(false), ()).unwrap();
        let instance = restored.instance("main").unwrap();
        let mut case = Case { module: case.module, store: restored.store, instance };
        let again = case.since(&last).on(&last).unwrap();
        case.restored(&again).assert_changed(&numbers);
    }
}

#[test]
fn objects_that_a_collection_moved_are_found() {
    for mut case in cases() {
        let first = case.snapshot(&mut SnapshotOptions::new());
        case.change(2);
        case.store.gc();
        case.change(4);
        let second = case.since(&first);
        case.change(5);
        let third = case.since(&second);
        let second = second.on(&first).unwrap();
        case.restored(&second).assert_changed(&[2, 4]);
        case.restored(&third.on(&second).unwrap()).assert_changed(&[2, 4, 5]);
    }
}

#[test]
fn memories_that_have_grown_and_moved_are_as_they_are() {
    for mut config in configs() {
        let mut case = Case::large(config.memory_reservation(0));
        let first = case.snapshot(&mut SnapshotOptions::new());
        assert_eq!(case.call::<i32, i32>("grow", 100), 256);
        assert_eq!(case.call::<i64, i64>("grow_wide", 2000), 40);
        case.call::<_, ()>("set", (20_000_000, 77));
        case.call::<_, ()>("set_wide", (100_000_000_i64, 78));
        case.change(1);
        let second = case.since(&first);
        // New zero pages are not in the snapshot.
        assert!(second.as_bytes().len() < 1_000_000, "{}", second.as_bytes().len());
        case.call::<i32, ()>("generators", 5000);
        case.change(2);
        let third = case.since(&second);
        let whole = third.on(&second.on(&first).unwrap()).unwrap();
        let mut restored = case.restored(&whole);
        restored.assert_changed(&[1, 2]);
        assert_eq!(restored.call::<i32, i32>("get", 20_000_000), 77);
        assert_eq!(restored.call::<i64, i32>("get_wide", 100_000_000), 78);
        assert_eq!(restored.call::<i32, i32>("step", 7999), 2);
    }
}

#[test]
fn pages_that_a_system_call_wrote_are_noted() {
    let mut case = Case::large(&mut Config::new());
    let mut file: File = tempfile::tempfile().unwrap();
    file.write_all(&[9; 10_000]).unwrap();
    let first = case.snapshot(&mut SnapshotOptions::new());
    file.rewind().unwrap();
    let memory = case.instance.get_memory(&mut case.store, "memory").unwrap();
    let place = &mut memory.data_mut(&mut case.store).unwrap()[3_000_000..3_010_000];
    file.read_exact(place).unwrap();
    let whole = case.since(&first).on(&first).unwrap();
    let mut restored = case.restored(&whole);
    assert_eq!(restored.call::<i32, i32>("get", 3_000_000), 0x09090909);
    assert_eq!(restored.call::<i32, i32>("get", 3_009_996), 0x09090909);
    assert_eq!(restored.call::<i32, i32>("get", 3_010_000), 0x01010101);
}

#[test]
fn a_failed_snapshot_loses_no_change() {
    let mut case = Case::large(&mut Config::new());
    let first = case.snapshot(&mut SnapshotOptions::new());
    case.change(1);
    let func = case.instance.get_func(&mut case.store, "fill").unwrap();
    let held = Continuation::new(&mut case.store, func).unwrap();
    let error = case.store.snapshot(SnapshotOptions::new().since(&first)).unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(SnapshotError::Unnamed(1))), "{error}");
    drop(held);
    // This error is found last.
    let host = Func::wrap(&mut case.store, || {});
    let mut options = SnapshotOptions::new();
    let error = case.store.snapshot(options.name_func("host", host).since(&first)).unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(SnapshotError::HostFunction)), "{error}");
    case.change(2);
    let whole = case.since(&first).on(&first).unwrap();
    case.restored(&whole).assert_changed(&[1, 2]);
}

#[test]
fn a_snapshot_of_another_store_is_a_base_that_is_compared() {
    let mut case = Case::large(&mut Config::new());
    let mut other = Case { module: case.module.clone(), ..Case::new(&mut Config::new()) };
    other.store = Store::new(case.module.engine(), ());
    other.instance = Instance::new(&mut other.store, &case.module, &[]).unwrap();
    other.call::<(), ()>("fill", ());
    let base = other.snapshot(&mut SnapshotOptions::new());
    case.snapshot(&mut SnapshotOptions::new());
    case.change(3);
    let since = case.since(&base);
    assert!(since.as_bytes().len() < 4_000_000, "{}", since.as_bytes().len());
    case.restored(&since.on(&base).unwrap()).assert_changed(&[3]);
    // A delta itself, without the pages that it omits.
    other.call::<_, ()>("set", (400, 1));
    let based = other.since(&base);
    let since = case.since(&based);
    let whole = since.on(&based.on(&base).unwrap()).unwrap();
    case.restored(&whole).assert_changed(&[3]);
    assert_eq!(case.restored(&whole).call::<i32, i32>("get", 400), 0x01010101);
}

#[test]
fn pages_that_became_zero_are_zero() {
    for mut case in cases() {
        let first = case.snapshot(&mut SnapshotOptions::new());
        case.call::<_, ()>("set", (4_000_000, 0));
        let memory = case.instance.get_memory(&mut case.store, "memory").unwrap();
        memory.data_mut(&mut case.store).unwrap()[8_000_000..8_100_000].fill(0);
        let second = case.since(&first);
        memory.data_mut(&mut case.store).unwrap()[9_000_000..9_100_000].fill(0);
        let third = case.since(&second);
        let whole = third.on(&second.on(&first).unwrap()).unwrap();
        let mut restored = case.restored(&whole);
        for at in [4_000_000, 8_000_000, 8_050_000, 8_099_996, 9_000_000, 9_099_996] {
            assert_eq!(restored.call::<i32, i32>("get", at), 0);
        }
        assert_eq!(restored.call::<i32, i32>("get", 8_100_000), 0x01010101);
    }
}

#[test]
fn stacks_that_grow_shrink_end_and_begin_are_as_they_are() {
    let source = r#"
    (module
      (type $f (func (param i32))) (type $c (cont $f)) (type $rest (func)) (type $r (cont $rest))
      (tag $yield (param i32))
      (table $all 400 400 (ref null $r)) (elem declare func $descend)
      (func $descend (param $n i32)
        (if (local.get $n) (then (call $descend (i32.sub (local.get $n) (i32.const 1)))))
        (suspend $yield (local.get $n)))
      (func $go (export "go") (param $at i32) (result i32) (local $rest (ref null $r))
        (block $on (result i32 (ref $r))
          (resume $r (on $yield $on) (table.get $all (local.get $at)))
          (table.set $all (local.get $at) (ref.null $r))
          (return (i32.const -1)))
        (local.set $rest)
        (table.set $all (local.get $at) (local.get $rest)))
      (func (export "begin") (param $at i32) (param $depth i32)
        (table.set $all (local.get $at)
          (cont.bind $c $r (local.get $depth) (cont.new $c (ref.func $descend))))))"#;
    for mut config in configs() {
        let module = Module::new(&Engine::new(config.snapshots(true)).unwrap(), source).unwrap();
        let (store, instance) = start(&module);
        let mut case = Case { module, store, instance };
        // The depth of each generator, or none if it has ended.
        let mut depths: [Option<i32>; 400] = [None; 400];
        let (mut last, mut seed) = (case.snapshot(&mut SnapshotOptions::new()), 1_u32);
        let mut whole = last.clone();
        for round in 0..20 {
            for _ in 0..if round == 0 { 400 } else { 25 } {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let at = (seed >> 16) as usize % 400;
                depths[at] = match depths[at] {
                    None => {
                        let depth = (seed >> 8) as i32 % 40;
                        case.call::<_, ()>("begin", (at as i32, depth));
                        Some(-depth - 1)
                    }
                    // The continuation has not begun.
                    Some(depth) if depth < 0 => {
                        assert_eq!(case.call::<i32, i32>("go", at as i32), 0);
                        Some(-depth - 1)
                    }
                    Some(0) => {
                        assert_eq!(case.call::<i32, i32>("go", at as i32), -1);
                        None
                    }
                    Some(depth) => {
                        case.call::<i32, i32>("go", at as i32);
                        Some(depth - 1)
                    }
                };
            }
            last = case.since(&last);
            whole = last.on(&whole).unwrap();
            let mut restored = case.restored(&whole);
            for (at, depth) in depths.iter().enumerate() {
                let Some(depth) = depth else { continue };
                let left = if *depth < 0 { -depth } else { *depth };
                for _ in 0..left {
                    assert!(restored.call::<i32, i32>("go", at as i32) >= 0);
                }
                assert_eq!(restored.call::<i32, i32>("go", at as i32), -1, "{at} in {round}");
            }
        }
    }
}
