//! Memory images: from the second instance on, memories share their initial data until they write.

use crate::common::*;
use ropewalk::*;
use std::fmt::Write;

const KIBI: usize = 1 << 10;

/// A data segment whose bytes depend on their address.
fn segment(memory: &str, at: usize, len: usize, seed: usize) -> String {
    let mut text = format!("(data (memory {memory}) (i32.const {at}) \"");
    for i in 0..len {
        write!(text, "\\{:02x}", byte(i, seed)).unwrap();
    }
    text + "\")"
}

fn byte(i: usize, seed: usize) -> u8 {
    ((i * 7 + i / 256 + seed) % 255 + 1) as u8
}

/// Whether a memory has the bytes of such a segment.
fn has_segment(data: &[u8], at: usize, len: usize, seed: usize) -> bool {
    data[at..at + len].iter().enumerate().all(|(i, found)| *found == byte(i, seed))
}

/// Several instances of a module, each in a store of its own.
fn instances(engine: &Engine, text: &str, count: usize) -> Vec<(Store<()>, Instance)> {
    let module = Module::new(engine, text).unwrap();
    instances_of(&module, count)
}

fn instances_of(module: &Module, count: usize) -> Vec<(Store<()>, Instance)> {
    let instance = |_| start(module);
    (0..count).map(instance).collect()
}

/// Every kind of memory: full reservations, small ones, and memories that move.
fn engines_of_all_memories() -> [Engine; 3] {
    let small = |bytes| Engine::new(Config::new().memory_reservation(bytes)).unwrap();
    [Engine::default(), small(0), small(1 << 20)]
}

fn data<'a>(store: &'a mut Store<()>, instance: Instance, name: &str) -> &'a mut [u8] {
    instance.get_memory(&mut *store, name).unwrap().data_mut(store).unwrap()
}

const GROW: &str = "(func (export \"grow\") (param i32) (result i32) (memory.grow (local.get 0)))
    (func (export \"load\") (param i32) (result i32) (i32.load8_u (local.get 0)))
    (func (export \"store\") (param i32 i32) (i32.store8 (local.get 0) (local.get 1)))";

#[test]
fn every_instance_begins_with_the_data_and_sees_no_writes_of_others() {
    for engine in engines_of_all_memories() {
        // Segments that do not begin at a page, with a hole between them.
        let (a, b) = (segment("0", 5000, 100 * KIBI, 1), segment("0", 130_001, 10, 2));
        let text = format!("(memory (export \"m\") 4 100) {GROW} {a} {b}");
        let mut all = instances(&engine, &text, 4);
        for round in 0..2 {
            for (store, instance) in &mut all {
                let bytes = data(store, *instance, "m");
                assert_eq!(bytes.len(), 4 << 16);
                assert!(bytes[..5000 - round * 10].iter().all(|byte| *byte == 0));
                assert!(has_segment(bytes, 5000 + 10, 100, 1 + 7 * 10));
                assert!(has_segment(bytes, 130_001, 10, 2));
                assert!(bytes[130_011..].iter().all(|byte| *byte == 0));
                number(store, *instance, "store", &[4990, 77]).unwrap();
                number(store, *instance, "store", &[5000, 78]).unwrap();
                bytes_written(data(store, *instance, "m"));
            }
        }
    }
}

/// The bytes that a round of the test above writes.
fn bytes_written(bytes: &mut [u8]) {
    assert_eq!((bytes[4990], bytes[5000]), (77, 78));
    // All other bytes are unchanged.
    assert!(has_segment(&bytes[5001..], 0, 100, 1 + 7));
}

#[test]
fn a_memory_with_data_grows_and_faults_at_its_end() {
    for engine in engines_of_all_memories() {
        // Up to the last byte.
        let len = 2 * (64 * KIBI);
        let text = format!("(memory (export \"m\") 2) {GROW} {}", segment("0", 0, len, 3));
        for (mut store, instance) in instances(&engine, &text, 3) {
            traps(number(&mut store, instance, "load", &[len as i32]), TrapCode::MemoryOutOfBounds);
            assert_eq!(number(&mut store, instance, "grow", &[20]).unwrap(), 2);
            let bytes = data(&mut store, instance, "m");
            assert!(has_segment(bytes, 0, len, 3));
            assert!(bytes[len..].iter().all(|byte| *byte == 0));
            number(&mut store, instance, "store", &[len as i32, 9]).unwrap();
            assert_eq!(number(&mut store, instance, "load", &[len as i32]).unwrap(), 9);
            traps(number(&mut store, instance, "load", &[22 << 16]), TrapCode::MemoryOutOfBounds);
        }
    }
}

/// Segments overlap, in their order. Others are passive, for another memory, or small.
#[test]
fn segments_of_all_kinds_are_as_if_they_were_copied() {
    for engine in engines_of_all_memories() {
        let segments = [
            segment("$a", 0, 80 * KIBI, 1),
            segment("$b", 10, 20, 2),
            segment("$a", 40 * KIBI, 20 * KIBI, 3),
            segment("$c", 65_536, 65 * KIBI, 4),
        ];
        let text = format!(
            "(memory $a (export \"a\") 2) (memory $b (export \"b\") 1) (memory $c (export \"c\") 3)
             (data $passive \"passive\") {}
             (func (export \"init\") (param i32)
               (memory.init $a $passive (local.get 0) (i32.const 0) (i32.const 7)))
             (func (export \"active\") (memory.init $a 1 (i32.const 0) (i32.const 0) (i32.const 1)))",
            segments.join(" ")
        );
        for (mut store, instance) in instances(&engine, &text, 3) {
            let a = data(&mut store, instance, "a");
            assert!(has_segment(a, 0, 40 * KIBI, 1));
            assert!(has_segment(a, 40 * KIBI, 20 * KIBI, 3));
            assert_eq!(a[60 * KIBI], byte(60 * KIBI, 1));
            assert!(has_segment(data(&mut store, instance, "b"), 10, 20, 2));
            let c = data(&mut store, instance, "c");
            assert!(c[..65_536].iter().all(|byte| *byte == 0));
            assert!(has_segment(c, 65_536, 65 * KIBI, 4));
            number(&mut store, instance, "init", &[100]).unwrap();
            assert_eq!(&data(&mut store, instance, "a")[100..107], b"passive");
            // An active segment is dropped.
            traps(number(&mut store, instance, "active", &[]), TrapCode::MemoryOutOfBounds);
        }
    }
}

/// The segments before one that traps are written, as the specification says.
#[test]
fn segments_copied_before_a_trap_stay_and_no_others() {
    let engine = Engine::default();
    let text = format!(
        "(import \"\" \"m\" (memory $m 1))
         (table (import \"\" \"t\") 1 funcref) (memory $own 2) (elem (i32.const 0) func $load)
         (func $load (param i32) (result i32) (i32.load8_u $own (local.get 0)))
         {} (data (memory $m) (i32.const 65536) \"x\") {}",
        segment("$own", 0, 66 * KIBI, 5),
        segment("$own", 100_000, 10, 6)
    );
    let module = Module::new(&engine, &text).unwrap();
    for _ in 0..3 {
        let mut store = Store::new(&engine, ());
        let ty = MemoryType { memory64: false, minimum: 1, maximum: None };
        let memory = Memory::new(&mut store, ty).unwrap();
        let element = RefType { nullable: true, heap: HeapType::Func };
        let ty = TableType { table64: false, element, minimum: 1, maximum: None };
        let table = Table::new(&mut store, ty, Val::FuncRef(None)).unwrap();
        let imports = [memory.into(), table.into()];
        traps(Instance::new(&mut store, &module, &imports), TrapCode::MemoryOutOfBounds);
        let Val::FuncRef(Some(load)) = table.get(&mut store, 0).unwrap() else { panic!() };
        let load = load.typed::<i32, i32>(&store).unwrap();
        assert_eq!(load.call(&mut store, 9).unwrap(), i32::from(byte(9, 5)));
        assert_eq!(load.call(&mut store, 100_000).unwrap(), 0);
    }
}

/// Memories that reuse address space begin with zeros.
#[test]
fn a_memory_that_was_refused_leaves_nothing() {
    let engine = Engine::default();
    let text = format!("(memory (export \"m\") 3) {}", segment("0", 4096, 65 * KIBI, 7));
    let with_data = Module::new(&engine, &text).unwrap();
    let empty = Module::new(&engine, "(memory (export \"m\") 4)").unwrap();
    for _ in 0..5 {
        let mut all = instances_of(&with_data, 20);
        for (store, instance) in &mut all {
            let bytes = data(store, *instance, "m");
            assert!(has_segment(bytes, 4096, 65 * KIBI, 7));
            bytes.fill(1);
        }
        drop(all);
        for (mut store, instance) in instances_of(&empty, 20) {
            assert!(data(&mut store, instance, "m").iter().all(|byte| *byte == 0));
        }
    }
}

/// A module from bytes, and one from a file that is removed at once.
fn out_of_files(engine: &Engine, text: &str, name: &str) -> [Module; 2] {
    let bytes = Module::new(engine, text).unwrap().serialize().unwrap();
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, &bytes).unwrap();
    // SAFETY: the engine just made the bytes.
    let modules = unsafe {
        [
            Module::deserialize(engine, &bytes).unwrap(),
            Module::deserialize_file(engine, &path).unwrap(),
        ]
    };
    std::fs::remove_file(path).unwrap();
    for module in &modules {
        assert!(module.serialize().unwrap() == bytes);
    }
    modules
}

#[test]
fn a_module_out_of_a_file_shares_its_data_too() {
    for engine in engines_of_all_memories() {
        // Overlapping segments, one in a memory of its own, and a passive one.
        let text = format!(
            "(memory (export \"m\") 4) (memory (export \"n\") 3) (data $passive \"passive\")
             (func (export \"init\") (param i32)
               (memory.init $passive (local.get 0) (i32.const 0) (i32.const 7)))
             {GROW} {} {} {} {}",
            segment("0", 1, 130 * KIBI, 8),
            segment("0", 100, 10, 9),
            segment("1", 3, 5, 10),
            segment("1", 8192, 80 * KIBI, 11),
        );
        for module in out_of_files(&engine, &text, "shared.cwasm") {
            for (mut store, instance) in instances_of(&module, 4) {
                let m = data(&mut store, instance, "m");
                assert_eq!(m[0], 0);
                assert!(has_segment(m, 1, 99, 8) && has_segment(m, 100, 10, 9));
                assert_eq!(m[110], byte(109, 8));
                assert_eq!(m[130 * KIBI], byte(130 * KIBI - 1, 8));
                assert!(m[130 * KIBI + 1..].iter().all(|byte| *byte == 0));
                m.fill(9);
                let n = data(&mut store, instance, "n");
                assert!(has_segment(n, 3, 5, 10) && has_segment(n, 8192, 80 * KIBI, 11));
                assert!(n[..3].iter().chain(&n[8..8192]).all(|byte| *byte == 0));
                n.fill(9);
                number(&mut store, instance, "init", &[50]).unwrap();
                assert_eq!(&data(&mut store, instance, "m")[49..58], b"\x09passive\x09");
                assert_eq!(number(&mut store, instance, "grow", &[1]).unwrap(), 4);
                assert!(data(&mut store, instance, "m")[4 << 16..].iter().all(|byte| *byte == 0));
            }
        }
    }
}

/// Even the first instance of a module from a file has no pages of its own.
#[test]
fn the_first_instance_of_a_module_out_of_a_file_copies_no_data() {
    const DATA: usize = 32 << 20;
    alone(|| {
        let engine = Engine::default();
        let bytes =
            [b"(memory (export \"m\") 600) (data (i32.const 0) \"", &[b'x'; DATA][..], b"\")"];
        let bytes = engine.precompile_module(&bytes.concat()).unwrap();
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("first.cwasm");
        std::fs::write(&path, &bytes).unwrap();
        drop(bytes);
        // SAFETY: the engine just made the file.
        let module = unsafe { Module::deserialize_file(&engine, &path) }.unwrap();
        std::fs::remove_file(path).unwrap();
        let before = memory("RssAnon:") * KIBI;
        let mut all = instances_of(&module, 1);
        let after = memory("RssAnon:") * KIBI;
        assert!(after.saturating_sub(before) < DATA / 16, "{before} {after}");
        let (store, instance) = &mut all[0];
        assert!(data(store, *instance, "m")[..DATA].iter().all(|byte| *byte == b'x'));
    });
}

/// Instances share the pages that they do not touch.
#[test]
fn instances_share_the_memory_of_their_data() {
    alone(|| {
        const DATA: usize = 4 << 20;
        let engine = Engine::default();
        let text = format!("(memory (export \"m\") 80) {}", segment("0", 0, DATA, 9));
        let module = Module::new(&engine, &text).unwrap();
        let _first = instances_of(&module, 2);
        let before = memory("RssAnon:") * KIBI;
        let all = instances_of(&module, 20);
        let after = memory("RssAnon:") * KIBI;
        assert!(after.saturating_sub(before) < 20 * DATA / 4, "{before} {after}");
        drop(all);
    });
}
