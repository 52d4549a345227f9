//! Compiled modules as bytes and as files, and the cache.

use super::folder;
use crate::common::*;
use ropewalk::*;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

/// A module with everything that a compiled file has beside code.
const FURNISHED: &str = r#"
(module $furnished
  (type $list (struct (field (mut i32)) (field (ref null $list)))) (type $body (func))
  (type $generator (cont $body))
  (import "host" "log" (func $log (param i32)))
  (tag $yield (param i32))
  (memory (export "memory") 1) (data (i32.const 8) "precompiled") (data $passive "later")
  (table (export "table") 4 funcref) (elem (i32.const 1) $squares)
  (global $sum (export "sum") (mut i64) (i64.const 40))
  (func $squares (export "squares") (local $i i32)
    (loop $next
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (suspend $yield (i32.mul (local.get $i) (local.get $i))) (br $next)))
  (func (export "run") (param $count i32) (result i32)
    (local $generator (ref null $generator)) (local $sum i32)
    (local.set $generator (cont.new $generator (ref.func $squares)))
    (loop $more
      (block $yielded (result i32 (ref $generator))
        (resume $generator (on $yield $yielded) (local.get $generator)) (unreachable))
      (local.set $generator)
      (local.set $sum (i32.add (local.get $sum)))
      (br_if $more (local.tee $count (i32.sub (local.get $count) (i32.const 1)))))
    (call $log (local.get $sum))
    (local.get $sum))
  (func (export "caught") (result i32)
    (block $caught (result i32)
      (try_table (catch $yield $caught) (throw $yield (i32.const 7))) (unreachable)))
  (func (export "head") (result i32)
    (struct.get $list 0 (struct.new $list (i32.const 5) (ref.null $list))))
  (func (export "init") (memory.init $passive (i32.const 0) (i32.const 0) (i32.const 5)))
  (func (export "trap") (unreachable)))
"#;

/// Uses all of it.
fn use_it(engine: &Engine, module: &Module) {
    let mut linker = Linker::new(engine);
    linker.host("log", |mut caller: Caller<'_, Vec<i32>>, value: i32| {
        caller.data_mut().push(value);
    });
    let (mut store, instance) = start_with(&linker, Vec::new(), module);
    assert_eq!(invoke::<i32, i32>(&mut store, instance, "run", 10).unwrap(), 385);
    assert_eq!(store.data(), &[385]);
    for (name, expected) in [("caught", 7), ("head", 5)] {
        assert_eq!(invoke::<(), i32>(&mut store, instance, name, ()).unwrap(), expected);
    }
    let memory = instance.get_memory(&mut store, "memory").unwrap();
    assert_eq!(&memory.data(&store).unwrap()[8..19], b"precompiled");
    instance.get_typed_func::<(), ()>(&mut store, "init").unwrap().call(&mut store, ()).unwrap();
    assert_eq!(&memory.data(&store).unwrap()[..5], b"later");
    let trap = instance.get_typed_func::<(), ()>(&mut store, "trap").unwrap();
    let error = trap.call(&mut store, ()).unwrap_err();
    let trap = error.downcast_ref::<Trap>().unwrap();
    assert_eq!(trap.backtrace().frames()[0].to_string(), "<text>:31:26: furnished!trap");
}

#[test]
fn a_deserialized_module_works_like_the_original() {
    let engine = Engine::default();
    let module = Module::new(&engine, FURNISHED).unwrap();
    use_it(&engine, &module);
    let bytes = module.serialize().unwrap();
    for engine in [engine, Engine::default()] {
        // SAFETY: the engine just made the bytes.
        let again = unsafe { Module::deserialize(&engine, &bytes).unwrap() };
        use_it(&engine, &again);
        assert_eq!(again.serialize().unwrap(), bytes);
    }
}

#[test]
fn a_module_made_of_a_file_outlives_the_file() {
    let engine = Engine::default();
    let file = folder("file").join("furnished.cwasm");
    fs::write(&file, engine.precompile_module(FURNISHED.as_bytes()).unwrap()).unwrap();
    // SAFETY: the engine just made the file.
    let module = unsafe { Module::deserialize_file(&engine, &file).unwrap() };
    fs::remove_file(&file).unwrap();
    use_it(&engine, &module);
}

/// Functions whose types need every kind of trampoline: many values, vectors, calls from and to the
/// host, continuations.
const MANY_TYPES: &str = r#"
(module
  (type $many (func (param i32 i64 f32 f64 i32 i64) (result i32 i64)))
  (type $vector (func (param v128) (result v128))) (type $continuation (cont $many))
  (import "host" "many" (func $many (type $many)))
  (import "host" "vector" (func $vector (type $vector)))
  (func (export "many") (type $many)
    (call $many (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4)
      (local.get 5)))
  (func (export "vector") (type $vector) (call $vector (local.get 0)))
  (func $inside (type $many) (i32.trunc_f32_s (local.get 2)) (i64.trunc_f64_s (local.get 3)))
  (elem declare func $inside)
  (func (export "continued") (type $many)
    (resume $continuation (local.get 0) (local.get 1) (local.get 2) (local.get 3)
      (local.get 4) (local.get 5) (cont.new $continuation (ref.func $inside)))))
"#;

/// Calls all of them, without Rust types.
fn call_many_types(engine: &Engine, module: &Module) {
    let mut linker = Linker::new(engine);
    for import in module.imports() {
        let ExternType::Func(ty) = import.ty().clone() else { panic!() };
        let count = ty.results().len();
        linker.host_new(import.name(), ty, move |_: Caller<'_, ()>, arguments, results| {
            results.clone_from_slice(&arguments[..count]);
            Ok(())
        });
    }
    let (mut store, instance) = start_with(&linker, (), module);
    let mut call = |name, arguments: &[Val]| {
        let function = instance.get_func(&mut store, name).unwrap();
        let mut results = vec![Val::I32(0); function.ty(&store).unwrap().results().len()];
        function.call(&mut store, arguments, &mut results).unwrap();
        format!("{results:?}")
    };
    let many = [
        Val::I32(1),
        Val::I64(2),
        Val::F32(3f32.to_bits()),
        Val::F64(4f64.to_bits()),
        Val::I32(5),
        Val::I64(6),
    ];
    assert_eq!(call("many", &many), format!("{:?}", [Val::I32(1), Val::I64(2)]));
    assert_eq!(call("continued", &many), format!("{:?}", [Val::I32(3), Val::I64(4)]));
    let vector = [Val::V128(0x0102_0304_0506)];
    assert_eq!(call("vector", &vector), format!("{vector:?}"));
}

#[test]
fn a_module_out_of_a_file_needs_no_compiler() {
    let engine = Engine::default();
    let bytes = engine.precompile_module(MANY_TYPES.as_bytes()).unwrap();
    let furnished = engine.precompile_module(FURNISHED.as_bytes()).unwrap();
    assert!(engine.compiled_trampolines() > 0);
    let file = folder("no-compiler").join("many.cwasm");
    fs::write(&file, &bytes).unwrap();
    let engine = Engine::default();
    // SAFETY: the engine just made the bytes and the file.
    let modules = unsafe {
        [
            Module::deserialize(&engine, &bytes).unwrap(),
            Module::deserialize_file(&engine, &file).unwrap(),
        ]
    };
    // Another engine takes them from the file.
    let other = Engine::default();
    // SAFETY: as above.
    let mapped = unsafe { Module::deserialize_file(&other, &file).unwrap() };
    call_many_types(&other, &mapped);
    for module in &modules {
        call_many_types(&engine, module);
    }
    // SAFETY: as above.
    let furnished = unsafe { Module::deserialize(&engine, &furnished).unwrap() };
    use_it(&engine, &furnished);
    assert_eq!((engine.compiled_trampolines(), other.compiled_trampolines()), (0, 0));
}

/// Trampolines of a dropped module stay, since other modules may use them.
#[test]
fn trampolines_outlive_the_module_that_brought_them() {
    let engine = Engine::default();
    let bytes = Engine::default().precompile_module(MANY_TYPES.as_bytes()).unwrap();
    // SAFETY: the engine just made the bytes.
    drop(unsafe { Module::deserialize(&engine, &bytes).unwrap() });
    let module = Module::new(&engine, MANY_TYPES).unwrap();
    call_many_types(&engine, &module);
    assert_eq!(engine.compiled_trampolines(), 0);
    // Serializing compiles none either.
    assert!(module.serialize().unwrap() == bytes);
    assert_eq!(engine.compiled_trampolines(), 0);
}

#[test]
fn compiling_twice_gives_the_same_bytes() {
    let once = Engine::default().precompile_module(FURNISHED.as_bytes()).unwrap();
    let twice = Engine::default().precompile_module(FURNISHED.as_bytes()).unwrap();
    assert!(once == twice);
}

#[test]
fn a_module_of_another_setting_is_refused_and_the_error_says_which() {
    let bytes = Engine::default().precompile_module(b"(func)").unwrap();
    let refused = |config: &mut Config| {
        let engine = Engine::new(config).unwrap();
        // SAFETY: the engine just made the bytes.
        format!("{:#}", unsafe { Module::deserialize(&engine, &bytes).unwrap_err() })
    };
    let error = refused(Config::new().stress(|stress| stress.move_stacks = true));
    assert!(error.contains("move_stacks = false"), "{error}");
    assert!(error.contains("move_stacks = true: compile it again"), "{error}");
    let error = refused(Config::new().opt_level(OptLevel::None));
    assert!(error.contains("opt_level = speed"), "{error}");
    let error = refused(Config::new().wasm_features(WasmFeatures::SIMD, false));
    assert!(error.contains("features of the language"), "{error}");
}

#[test]
fn bytes_that_are_no_compiled_module_are_refused() {
    let engine = Engine::default();
    // SAFETY: the engine refuses these bytes.
    let refused = |bytes: &[u8]| unsafe { Module::deserialize(&engine, bytes) }.unwrap_err();
    for bytes in [&b""[..], b"\0asm\x01\0\0\0", b"(module)"] {
        assert_eq!(refused(bytes).to_string(), "it is not a precompiled module");
    }
    let mut bytes = engine.precompile_module(b"(func)").unwrap();
    bytes[8] = 77;
    let error = refused(&bytes).to_string();
    assert_eq!(error, "it was made by another version of Ropewalk (format 77, expected 3)");
    let short = refused(&bytes[..40]).to_string();
    assert_eq!(short, "it is damaged: it is too short");
    fails_with(Module::new(&engine, &bytes), "found a precompiled module");
}

#[test]
fn the_cache_finds_compiled_modules_and_replaces_damaged_ones() {
    let folder = folder("cache");
    let files = || {
        let entries = fs::read_dir(&folder).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    let cached = |config: &mut Config| {
        let cache = Cache::open(&folder).unwrap();
        Engine::new(config.cache(cache)).unwrap()
    };
    let engine = cached(&mut Config::new());
    use_it(&engine, &Module::new(&engine, FURNISHED).unwrap());
    let [first] = &files()[..] else { panic!("{:?}", files()) };
    let before = fs::read(first).unwrap();
    use_it(&engine, &Module::new(&engine, FURNISHED).unwrap());
    assert_eq!(files().len(), 1);
    // Other settings make another cache entry.
    Module::new(&cached(Config::new().opt_level(OptLevel::None)), FURNISHED).unwrap();
    assert_eq!(files().len(), 2);
    // A byte of the settings, and the first byte of the code, which has pages of its own.
    for at in [600, 8200] {
        let mut damaged = before.clone();
        damaged[at] ^= 0x10;
        fs::write(first, damaged).unwrap();
        use_it(&engine, &Module::new(&engine, FURNISHED).unwrap());
        assert!(fs::read(first).unwrap() == before);
    }
    // Invalid modules are not cached, and fail each time.
    for _ in 0..2 {
        assert!(Module::new(&engine, "(func (result i32))").is_err());
    }
    assert_eq!(files().len(), 2);
}

/// Texts and binaries are hashed in pieces. Errors of texts show the file.
#[test]
fn a_file_is_found_in_the_cache_as_its_bytes_are() {
    let folder = folder("cached-files");
    let cache = Cache::open(folder.join("cache")).unwrap();
    let engine = Engine::new(Config::new().cache(cache)).unwrap();
    let long = format!("(module (memory 20) (data (i32.const 0) \"{}\"))", "x".repeat(700_000));
    let modules = [
        FURNISHED.as_bytes().to_vec(),
        ropewalk_text::Text::parse(&long).unwrap().binary().to_vec(),
    ];
    for (i, bytes) in modules.iter().enumerate() {
        let path = folder.join(format!("{i}.wasm"));
        assert!(Module::from_cache(&engine, &path).is_none());
        fs::write(&path, bytes).unwrap();
        assert!(Module::from_cache(&engine, &path).is_none());
        Module::from_named(&engine, bytes, &path.display().to_string()).unwrap();
        assert!(Module::from_cache(&engine, &path).is_some());
        let count = || fs::read_dir(folder.join("cache")).unwrap().count();
        let before = count();
        Module::from_file(&engine, &path).unwrap();
        assert_eq!(count(), before);
        fs::write(&path, [bytes, &b"  "[..]].concat()).unwrap();
        assert!(Module::from_cache(&engine, &path).is_none());
    }
    assert!(Module::from_cache(&Engine::default(), folder.join("0.wasm")).is_none());
}

#[test]
fn the_cache_stays_within_its_limit() {
    let folder = folder("small-cache");
    let size = Engine::default().precompile_module(b"(func)").unwrap().len() as u64;
    let cache = Cache::open(&folder).unwrap().max_bytes(3 * size + size / 2);
    let engine = Engine::new(Config::new().cache(cache)).unwrap();
    for i in 0..8 {
        Module::new(&engine, format!("(func) ;; {i}")).unwrap();
        let entries = fs::read_dir(&folder).unwrap();
        let total: u64 = entries.map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
        assert!(total <= 3 * size + size / 2, "{total} bytes after {i}");
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
}

#[test]
fn a_folder_writable_by_other_users_is_no_cache() {
    let folder = folder("open-cache");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    let error = Cache::open(&folder).unwrap_err().to_string();
    assert!(error.ends_with("other users may write to it"), "{error}");
}

#[test]
fn many_threads_use_one_cache() {
    let folder = folder("shared-cache");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let cache = Cache::open(&folder).unwrap();
                let engine = Engine::new(Config::new().cache(cache)).unwrap();
                for _ in 0..3 {
                    use_it(&engine, &Module::new(&engine, FURNISHED).unwrap());
                }
            });
        }
    });
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn a_module_with_other_settings_is_compiled_again_and_cached() {
    let folder = folder("anew");
    let files = || fs::read_dir(&folder).unwrap().count();
    // A module without a memory, and one with everything that a file has beside code.
    for (number, text) in ["(func (export \"f\") unreachable)", FURNISHED].iter().enumerate() {
        let bytes = Engine::default().precompile_module(text.as_bytes()).unwrap();
        let compiled = std::sync::atomic::AtomicUsize::new(0);
        let anew = || {
            let cache = Cache::open(&folder).unwrap();
            let engine = Engine::new(Config::new().interruption(true).cache(cache)).unwrap();
            let watch = |_| {
                compiled.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                std::ops::ControlFlow::Continue(())
            };
            // SAFETY: the engine just made the bytes.
            unsafe { Module::deserialize_or_compile(&engine, &bytes, watch) }.unwrap()
        };
        let module = anew();
        let functions = compiled.load(std::sync::atomic::Ordering::Relaxed);
        assert!(functions > 0);
        let again = anew();
        assert_eq!(compiled.load(std::sync::atomic::Ordering::Relaxed), functions, "it is found");
        assert_eq!(files(), number + 1);
        let other = Engine::new(Config::new().interruption(true)).unwrap();
        let expected = Module::new(&other, text).unwrap();
        for module in [module, again] {
            assert_eq!(module.exports().len(), expected.exports().len());
            assert!(module.serialize().unwrap() == expected.serialize().unwrap());
        }
    }
}

#[test]
fn a_damaged_binary_is_not_compiled_again() {
    let mut bytes = Engine::default().precompile_module(b"(func (export \"f\"))").unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    let engine = Engine::new(Config::new().interruption(true)).unwrap();
    let watch = |_| std::ops::ControlFlow::Continue(());
    // SAFETY: the engine refuses these bytes.
    fails_with(unsafe { Module::deserialize_or_compile(&engine, &bytes, watch) }, "it is damaged");
}
