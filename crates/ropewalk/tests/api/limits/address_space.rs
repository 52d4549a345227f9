//! Little address space: memories reserve less, and modules are compiled again for them.

use crate::common::*;
use ropewalk::*;

const GIB: u64 = 1 << 30;

const PROGRAM: &str = r#"(module
    (memory (export "memory") 1 1000) (data (i32.const 100) "data")
    (func (export "load") (param i32) (result i32) (i32.load8_u (local.get 0)))
    (func (export "far") (param i32) (result i32) (i32.load offset=0xfffffff0 (local.get 0)))
    (func (export "store") (param i32) (i32.store8 (local.get 0) (i32.const 5)))
    (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0))))"#;

fn instantiate_again(module: &Module) -> Result<(Store<()>, Instance)> {
    let mut store = Store::new(module.engine(), ());
    let instance = Instance::new(&mut store, module, &[])?;
    Ok((store, instance))
}

/// Fails unless the program works.
fn check_program(store: &mut Store<()>, instance: Instance) {
    let mut run = |name, argument| number(store, instance, name, &[argument]);
    assert_eq!(run("load", 100).unwrap(), i32::from(b'd'));
    let out = TrapCode::MemoryOutOfBounds;
    for index in [65_536, 70_000, 2_000_000, i32::MAX, -1] {
        assert_eq!(code(run("load", index)), out);
        assert_eq!(code(run("store", index)), out);
    }
    assert_eq!(code(run("far", 0)), out);
    assert_eq!(code(run("far", -1)), out);
    assert_eq!(run("grow", 1).unwrap(), 1);
    run("store", 70_000).unwrap();
    assert_eq!(run("grow", 98).unwrap(), 2);
    assert_eq!(run("load", 70_000).unwrap(), 5);
    assert_eq!(run("load", 100).unwrap(), i32::from(b'd'));
    assert_eq!(code(run("load", 100 << 16)), out);
    assert_eq!(run("grow", 1000).unwrap(), -1);
}

#[test]
fn many_stores_fit_into_little_address_space() {
    alone(|| {
        let module = Module::new(&Engine::default(), PROGRAM).unwrap();
        limit_address_space(12 * GIB);
        let mut all: Vec<_> = (0..30).map(|_| instantiate_again(&module).unwrap()).collect();
        for (store, instance) in &mut all {
            check_program(store, *instance);
            // The instance has the same module.
            assert!(Module::same(&instance.module(&*store).unwrap(), &module));
            let export = module.get_export_index("load").unwrap();
            assert!(instance.get_module_export(store, &export).is_some());
        }
        // Freed address space is reused.
        drop(all);
        check_again(&module);
    });
}

fn check_again(module: &Module) {
    for _ in 0..10 {
        let (mut store, instance) = instantiate_again(module).unwrap();
        check_program(&mut store, instance);
    }
}

/// A module imports a small memory of another module or of the host.
#[test]
fn a_small_memory_can_be_imported() {
    alone(|| {
        let engine = Engine::default();
        let owner = Module::new(&engine, PROGRAM).unwrap();
        let user = Module::new(
            &engine,
            "(import \"\" \"memory\" (memory 1))
             (func (export \"load\") (param i32) (result i32) (i32.load8_u (local.get 0)))",
        );
        let user = user.unwrap();
        limit_address_space(9 * GIB);
        let mut kept = vec![];
        for i in 0..12 {
            let mut store = Store::new(&engine, ());
            let memory = match i % 2 {
                0 => {
                    let owner = Instance::new(&mut store, &owner, &[]).unwrap();
                    owner.get_memory(&mut store, "memory").unwrap()
                }
                _ => {
                    let ty = MemoryType { memory64: false, minimum: 1, maximum: None };
                    Memory::new(&mut store, ty).unwrap()
                }
            };
            memory.write(&mut store, 100, b"d").unwrap();
            let user = Instance::new(&mut store, &user, &[memory.into()]).unwrap();
            let load = |store: &mut Store<()>, at| number(store, user, "load", &[at]);
            assert_eq!(load(&mut store, 100).unwrap(), i32::from(b'd'));
            traps(load(&mut store, 65_536), TrapCode::MemoryOutOfBounds);
            traps(load(&mut store, -1), TrapCode::MemoryOutOfBounds);
            memory.grow(&mut store, 99).unwrap();
            assert_eq!(load(&mut store, 100 * 65_536 - 1).unwrap(), 0);
            traps(load(&mut store, 100 << 16), TrapCode::MemoryOutOfBounds);
            kept.push(store);
        }
    });
}

/// The file of a compiled module has its binary, which is compiled again.
#[test]
fn a_precompiled_module_is_compiled_again() {
    alone(|| {
        let engine = Engine::default();
        let bytes = engine.precompile_module(PROGRAM.as_bytes()).unwrap();
        // SAFETY: the engine just made the bytes.
        let module = unsafe { Module::deserialize(&engine, &bytes) }.unwrap();
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("again.cwasm");
        std::fs::write(&path, &bytes).unwrap();
        // SAFETY: as above.
        let in_file = unsafe { Module::deserialize_file(&engine, &path) }.unwrap();
        std::fs::remove_file(path).unwrap();
        limit_address_space(12 * GIB);
        let mut all = vec![];
        for _ in 0..10 {
            all.push((&module, instantiate_again(&module).unwrap()));
            all.push((&in_file, instantiate_again(&in_file).unwrap()));
        }
        for (module, (store, instance)) in &mut all {
            check_program(store, *instance);
            assert!(Module::same(&instance.module(&*store).unwrap(), module));
        }
    });
}

/// The binary is read only when it is needed. A damaged binary is not compiled.
#[test]
fn a_precompiled_module_without_its_binary_says_which_limit_it_was() {
    alone(|| {
        let engine = Engine::default();
        let module = without_binary(&engine, PROGRAM);
        let user = without_binary(&engine, "(import \"\" \"m\" (memory 1))");
        limit_address_space(3 * GIB);
        let error = instantiate_again(&module).unwrap_err().to_string();
        let begins = "cannot allocate a memory of 1 pages: the address space of this process";
        assert!(error.starts_with(begins), "{error}");
        assert!(error.ends_with("bytes (ulimit -v)"), "{error}");
        let mut store = Store::new(&engine, ());
        let ty = MemoryType { memory64: false, minimum: 1, maximum: None };
        let memory = Memory::new(&mut store, ty).unwrap();
        fails_with(
            Instance::new(&mut store, &user, &[memory.into()]),
            "cannot be compiled again to use less",
        );
    });
}

/// Many memories leave address space for others, so the limit of mappings comes first.
#[test]
fn tens_of_thousands_of_memories_leave_address_space() {
    alone(|| {
        let module = Module::new(&Engine::default(), PROGRAM).unwrap();
        let mut all = vec![];
        let error = loop {
            match instantiate_again(&module) {
                Ok(made) => all.push(made),
                Err(error) => break error.to_string(),
            }
            if all.len() > 40_000 {
                return;
            }
        };
        assert!(error.contains("mappings (sysctl vm.max_map_count)"), "{} {error}", all.len());
        // The last memories work too.
        all.drain(..1000);
        for (store, instance) in all.iter_mut().rev().take(20) {
            check_program(store, *instance);
        }
    });
}
