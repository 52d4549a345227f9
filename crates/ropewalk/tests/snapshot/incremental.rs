//! Snapshots of what has changed since another.

use super::*;

#[test]
fn the_second_has_only_the_pages_that_changed() {
    let source = r#"
    (module
      (memory (export "memory") 256)
      (func (export "begin") (memory.fill (i32.const 0) (i32.const 1) (i32.const 16000000)))
      (func (export "set") (param i32 i32) (i32.store (local.get 0) (local.get 1)))
      (func (export "get") (param i32) (result i32) (i32.load (local.get 0))))"#;
    let module = Module::new(&engine(), source).unwrap();
    let mut store = Store::new(module.engine(), ());
    let instance = Instance::new(&mut store, &module, &[]).unwrap();
    call::<()>(&mut store, instance, "begin");
    let first = snapshot(&mut store, instance);
    assert!(first.as_bytes().len() > 16_000_000 && !first.is_based());
    let set = instance.get_typed_func::<(i32, i32), ()>(&mut store, "set").unwrap();
    for at in [0, 5_000_000, 15_999_000, 16_500_000] {
        set.call(&mut store, (at, at + 7)).unwrap();
    }
    let mut options = SnapshotOptions::new();
    let second = store.snapshot(options.name_instance("main", instance).since(&first)).unwrap();
    assert!(second.is_based() && second.as_bytes().len() < 6 * 4096, "{}", second.as_bytes().len());
    let linker = Linker::new(module.engine());
    let error = second.restore(&linker, std::slice::from_ref(&module), ()).unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(SnapshotError::NeedsBase)), "{error}");
    let whole = through_bytes(&second).on(&through_bytes(&first)).unwrap();
    let mut restored = whole.restore(&linker, &[module], ()).unwrap();
    let same = restored.instance("main").unwrap();
    let get = same.get_typed_func::<i32, i32>(&mut restored.store, "get").unwrap();
    for at in [0, 5_000_000, 15_999_000, 16_500_000] {
        assert_eq!(get.call(&mut restored.store, at).unwrap(), at + 7);
    }
    assert_eq!(get.call(&mut restored.store, 1_000_000).unwrap(), 0x01010101);
    let error = second.on(&second).unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(SnapshotError::NeedsBase)), "{error}");
}
