//! Linear memories that reserve less address space than an index can reach.

use crate::common::*;
use ropewalk::*;

const RESERVATIONS: [u64; 4] = [0, 1 << 16, 1 << 20, 4 << 30];

fn engine_with(reservation: u64) -> Engine {
    Engine::new(Config::new().memory_reservation(reservation)).unwrap()
}

/// Accesses with offsets of all sizes.
fn accesses() -> String {
    let offsets = [0_u32, 8, 65_528, 65_529, 100_000, 40_000_000, 1 << 31, u32::MAX - 7, u32::MAX];
    let functions = offsets.iter().enumerate().map(|(i, offset)| {
        format!(
            "(func (export \"load {i}\") (param i32) (result i32)
               (i32.load offset={offset} (local.get 0)))
             (func (export \"store {i}\") (param i32) (result i32)
               (i64.store offset={offset} (local.get 0) (i64.const 5)) (i32.const 1))"
        )
    });
    let functions: String = functions.collect();
    format!(
        "(module (memory (export \"memory\") 1 40) {functions}
           (func (export \"grow\") (param i32) (result i32) (memory.grow (local.get 0)))
           (func (export \"fill\") (param i32 i32) (result i32)
             (memory.fill (local.get 0) (i32.const 1) (local.get 1)) (i32.const 1))
           (func (export \"copy\") (param i32 i32) (result i32)
             (memory.copy (local.get 0) (local.get 1) (i32.const 9)) (i32.const 1)))"
    )
}

/// The result of a call, or its trap.
fn outcome(result: Result<i32>) -> Result<i32, TrapCode> {
    result.map_err(|error| error.downcast_ref::<Trap>().unwrap().code())
}

#[test]
fn accesses_are_the_same_with_any_reservation() {
    let text = accesses();
    let indices = [0, 1, 65_524, 65_528, 65_529, 65_532, 65_535, 65_536, 131_064, i32::MAX, -8, -1];
    let all = RESERVATIONS.map(|reservation| {
        let (mut store, instance) = instantiate_in(&engine_with(reservation), &text);
        let mut outcomes = Vec::new();
        for pages in [0, 1, 3, 36] {
            outcomes.push(outcome(number(&mut store, instance, "grow", &[pages])));
            for i in 0..9 {
                for (kind, index) in ["store", "load"].iter().flat_map(|k| indices.map(|i| (k, i)))
                {
                    let name = format!("{kind} {i}");
                    outcomes.push(outcome(number(&mut store, instance, &name, &[index])));
                }
            }
            for (a, b) in indices.iter().flat_map(|a| indices.map(|b| (*a, b))) {
                for name in ["fill", "copy"] {
                    outcomes.push(outcome(number(&mut store, instance, name, &[a, b])));
                }
            }
        }
        outcomes
    });
    assert!(all[0].contains(&Err(TrapCode::MemoryOutOfBounds)));
    assert!(all.iter().all(|outcomes| *outcomes == all[3]));
}

#[test]
fn a_memory_that_moves_is_the_same_memory_for_all() {
    for reservation in RESERVATIONS {
        let engine = engine_with(reservation);
        let (mut store, first) = instantiate_in(&engine, accesses());
        let memory = first.get_memory(&mut store, "memory").unwrap();
        let second = "(module (import \"\" \"\" (memory 1)) (func (export \"get\") (param i32)
          (result i32) (i32.load (local.get 0))))";
        let second = Module::new(&engine, second).unwrap();
        let second = Instance::new(&mut store, &second, &[memory.into()]).unwrap();
        let mut size = 1 << 16;
        for pages in [1, 2, 30] {
            number(&mut store, first, "store 0", &[size - 8]).unwrap();
            memory.grow(&mut store, pages).unwrap();
            assert_eq!(number(&mut store, second, "get", &[size - 8]).unwrap(), 5);
            size += (pages as i32) << 16;
            memory.data_mut(&mut store).unwrap()[size as usize - 4] = 7;
            assert_eq!(number(&mut store, second, "get", &[size - 4]).unwrap(), 7);
            traps(number(&mut store, second, "get", &[size]), TrapCode::MemoryOutOfBounds);
        }
    }
}

#[test]
fn more_memories_fit_into_little_address_space() {
    alone(|| {
        // The second module cannot be compiled again.
        let modules = [0, 4 << 30].map(|reservation| {
            let engine = engine_with(reservation);
            match reservation {
                0 => Module::new(&engine, "(memory 1)").unwrap(),
                _ => without_binary(&engine, "(memory 1)"),
            }
        });
        limit_address_space(8 << 30);
        let counts = modules.map(|module| {
            let mut store = Store::new(module.engine(), ());
            (0..100).take_while(|_| Instance::new(&mut store, &module, &[]).is_ok()).count()
        });
        assert_eq!(counts, [100, 1]);
    });
}
