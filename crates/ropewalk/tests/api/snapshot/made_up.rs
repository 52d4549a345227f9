//! Modified snapshots with a correct checksum: an error or a restored store, but no panic and no
//! huge allocation. The test does not run what it restores.

use super::*;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// The size of the header, and the position of the checksum in it.
const HEADER: usize = 56;
const CHECKSUM: std::ops::Range<usize> = 16..24;

const SOURCE: &str = r#"
(module
  (import "host" "f" (func $f (param i32) (result i32)))
  (import "env" "memory" (memory 1)) (import "env" "table" (table 2 funcref))
  (import "env" "global" (global $g i32))
  (type $pair (struct (field i32) (field (ref null $pair)))) (type $numbers (array (mut i64)))
  (type $run (func (param i32) (result i32))) (type $k (cont $run))
  (tag $yield (param i32) (result i32)) (tag $error (param i32 externref))
  (global $pairs (mut (ref null $pair)) (ref.null $pair))
  (global $array (mut (ref null $numbers)) (ref.null $numbers))
  (global $k (mut (ref null $k)) (ref.null $k))
  (table $refs 3 funcref) (elem (table $refs) (i32.const 1) func $body)
  (func $body (param i32) (result i32)
    (i32.add (suspend $yield (local.get 0)) (call $f (local.get 0))))
  (func (export "run") (param i32) (result i32)
    (global.set $pairs (struct.new $pair (i32.const 1) (global.get $pairs)))
    (global.set $array (array.new $numbers (i64.const 7) (i32.const 5)))
    (block $on (result i32 (ref $k))
      (resume $k (on $yield $on) (local.get 0) (cont.new $k (ref.func $body))) (return))
    (global.set $k)
    (call $f)))"#;

const ENVIRONMENT: &str = r#"
(module
  (memory (export "memory") 1) (table (export "table") 2 funcref)
  (global (export "global") i32 (i32.const 3)))"#;

/// A snapshot of a busy store, taken while a host function runs.
fn written() -> (Linker<Option<Snapshot>>, [Module; 2], Snapshot) {
    let engine = engine();
    let modules = [ENVIRONMENT, SOURCE].map(|source| Module::new(&engine, source).unwrap());
    let mut linker = Linker::new(&engine);
    linker.host("f", |mut caller: Caller<'_, Option<Snapshot>>, n: i32| -> Result<i32> {
        *caller.data_mut() = Some(caller.snapshot(&SnapshotOptions::new())?);
        Ok(n)
    });
    let mut store = Store::new(&engine, None);
    let environment = linker.instantiate(&mut store, &modules[0]).unwrap();
    for name in ["memory", "table", "global"] {
        let item = environment.get_export(&mut store, name).unwrap();
        linker.define(&mut store, "env", name, item).unwrap();
    }
    let instance = linker.instantiate(&mut store, &modules[1]).unwrap();
    invoke::<i32, i32>(&mut store, instance, "run", 3).unwrap();
    let snapshot = store.into_data().unwrap();
    (linker, modules, snapshot)
}

fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let content = xxh3_128(&bytes[HEADER..]).to_le_bytes();
    let checksum = xxh3_64(&[&bytes[24..HEADER], &content[..]].concat());
    bytes[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

#[test]
fn bytes_that_were_changed_are_an_error_and_no_panic() {
    let (linker, modules, snapshot) = written();
    let bytes = snapshot.as_bytes();
    assert!(bytes == with_checksum(bytes.to_vec()));
    // The first section has the settings. Changed settings do not match.
    let settings = u64::from_le_bytes(bytes[HEADER + 8..HEADER + 16].try_into().unwrap());
    let begin = HEADER + 48 + settings as usize;
    let mut refused = 0;
    for at in (begin..bytes.len()).step_by(5) {
        for change in [1 << (at % 8), 0xff] {
            let mut bytes = bytes.to_vec();
            bytes[at] ^= change;
            // SAFETY: the test runs nothing of the restored store.
            let read = unsafe { Snapshot::from_bytes(with_checksum(bytes)) };
            let restored = read.and_then(|read| read.restore(&linker, &modules, None));
            refused += u32::from(restored.is_err());
        }
    }
    assert!(refused > 50, "{refused} are refused");
}
