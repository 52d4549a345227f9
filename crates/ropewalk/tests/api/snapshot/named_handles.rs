//! The host's handles of every kind in snapshots, by name.

use super::*;

const SOURCE: &str = r#"
(module
  (import "host" "new_stack" (func $new (result stackref)))
  (type $t (taskref (i32) (i32)))
  (func $task-body (param $me (ref null $t)) (param $n i32) (result i32)
    (loop $again
      (local.set $n (i32.add (local.get $n) (task.suspend $t (local.get $me) (local.get $n))))
      (br $again))
    (unreachable))
  (func (export "task") (result (ref $t)) (task.new $t $task-body))

  (tag $go (export "go") (param i32)) (tag $yield (export "yield") (param i32))
  (tag $return (export "return"))
  (func $fiber-body (param $this fiberref) (param $n i32)
    (loop $again
      (block $next (result i32)
        (fiber.dismount $yield (on $go $next) (local.get $n) (local.get $this))
        (unreachable))
      (local.set $n (i32.add (local.get $n))) (br $again)))
  (func (export "fiber") (result fiberref) (fiber.new $return (on $go $fiber-body)))

  (rec (type $to-host (stack (param i32) (ref null $to-body)))
       (type $to-body (stack (param i32) (ref null $to-host))))
  (func $bag-body (param $n i32) (param $host (ref null $to-host)) (local $add i32)
    (loop $again
      (switch $to-host (local.get $n) (local.get $host)) (local.set $host) (local.set $add)
      (local.set $n (i32.add (local.get $n) (local.get $add))) (br $again)))
  (func (export "bag") (result (ref $to-body)) (stack.new $to-body $bag-body))

  (event $number (export "number") (param i32 stackref))
  (func $serve (param $n i32) (param $back stackref)
    (loop $again
      (block $got (result i32 stackref)
        (try
          (stack.switch $number (i32.mul (local.get $n) (i32.const 2)) (local.get_clear $back))
          catch $number $got)
        (unreachable))
      (local.set_cleared $back) (local.set $n) (br $again)))
  (rout $doubles
    (block $got (result i32 stackref) (try (stack.start) catch $number $got) (unreachable))
    (call $serve) (unreachable))
  (func (export "first-class") (result stackref) (stack.extend $doubles (call $new)))

  (type $pair (struct (field (mut i32)) (field (ref null $pair))))
  (func (export "pair") (result (ref $pair))
    (struct.new $pair (i32.const 3) (struct.new $pair (i32.const 4) (ref.null $pair))))
  (func (export "array") (result (ref $bytes)) (array.new $bytes (i32.const 7) (i32.const 100)))
  (type $bytes (array (mut i8)))
  (func (export "i31") (result (ref i31)) (ref.i31 (i32.const 5)))
  (func $hidden (param i32) (result i32) (i32.mul (local.get 0) (i32.const 3)))
  (elem declare func $hidden)
  (func (export "function") (result funcref) (ref.func $hidden)))"#;

struct Host {
    module: Module,
    store: Store<()>,
    instance: Instance,
}

impl Host {
    fn new() -> Host {
        let module = Module::new(&engine(), SOURCE).unwrap();
        let (store, instance) = start_with(&Linker::new(module.engine()), (), &module);
        Host { module, store, instance }
    }

    fn call<R: WasmResults>(&mut self, name: &str) -> R {
        call(&mut self.store, self.instance, name)
    }

    /// Takes a snapshot with names, and restores it.
    fn restored(&mut self, name: impl FnOnce(&mut SnapshotOptions)) -> Restored<()> {
        let mut options = SnapshotOptions::new();
        name(options.name_instance("main", self.instance));
        let snapshot = through_bytes(&self.store.snapshot(&options).unwrap());
        let linker = Linker::new(self.module.engine());
        snapshot.restore(&linker, std::slice::from_ref(&self.module), ()).unwrap()
    }
}

#[test]
fn a_task_is_found_by_its_name_and_continues() {
    let mut host = Host::new();
    let task = host.call::<Task>("task");
    let expected = TaskResumed::Suspended(vec![Val::I32(5)]);
    assert_eq!(
        format!("{:?}", task.resume(&mut host.store, &[Val::I32(5)]).unwrap()),
        format!("{expected:?}")
    );
    let mut restored = host.restored(|options| {
        options.name_task("it", &task);
    });
    fails_with(restored.fiber("it"), "expected a fiber");
    let again = restored.task("it").unwrap();
    let TaskResumed::Suspended(values) =
        again.resume(&mut restored.store, &[Val::I32(10)]).unwrap()
    else {
        panic!("it suspends")
    };
    assert_eq!(values[0].i32(), Some(15));
    // All names of the task give the same task.
    let other = restored.task("it").unwrap();
    other.release(&mut restored.store).unwrap();
    assert!(again.is_moribund(&restored.store).unwrap());
    assert!(task.is_suspended(&host.store).unwrap());
}

#[test]
fn a_fiber_is_found_by_its_name_and_continues() {
    let mut host = Host::new();
    let fiber = host.call::<Option<Fiber>>("fiber").unwrap();
    let mounted = |store: &mut Store<()>, fiber: &Fiber, main: Instance, n: i32| {
        let [go, yields] = ["go", "yield"].map(|name| main.get_tag(&mut *store, name).unwrap());
        match fiber.mount(&mut *store, go, &[Val::I32(n)], &[yields]).unwrap() {
            Mounted::Event { values, .. } => values[0].i32().unwrap(),
            Mounted::NotHandled => panic!("it handles it"),
        }
    };
    assert_eq!(mounted(&mut host.store, &fiber, host.instance, 5), 5);
    let mut restored = host.restored(|options| {
        options.name_fiber("it", &fiber);
    });
    let again = restored.fiber("it").unwrap();
    let main = restored.instance("main").unwrap();
    assert_eq!(mounted(&mut restored.store, &again, main, 10), 15);
    assert_eq!(mounted(&mut restored.store, &again, main, 10), 25);
    assert_eq!(mounted(&mut host.store, &fiber, host.instance, 1), 6);
}

#[test]
fn a_stack_of_the_bag_is_found_by_its_name_and_continues() {
    let mut host = Host::new();
    let stack = host.call::<BagStack>("bag");
    let Switched { values, from } = stack.switch(&mut host.store, &[Val::I32(5)]).unwrap();
    assert_eq!(values[0].i32(), Some(5));
    let stack = from.unwrap();
    let error = host.store.snapshot(&SnapshotOptions::new()).unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(SnapshotError::Unnamed(1))), "{error}");
    let mut restored = host.restored(|options| {
        options.name_bag_stack("it", &stack);
    });
    let error = restored.continuation("it").unwrap_err().to_string();
    assert_eq!(error, "the snapshot has no continuation named \"it\"");
    let again = restored.bag_stack("it").unwrap();
    assert!(restored.bag_stack("it").is_err(), "it can be taken once");
    let Switched { values, from } = again.switch(&mut restored.store, &[Val::I32(10)]).unwrap();
    assert_eq!(values[0].i32(), Some(15));
    drop(from);
    check_live(&mut restored.store, 0);
    // A dropped stack needs no name.
    drop(stack);
    host.store.snapshot(&SnapshotOptions::new()).unwrap();
}

#[test]
fn a_first_class_stack_is_found_by_its_name_and_continues() {
    let mut host = Host::new();
    let stack = host.call::<Option<FirstClassStack>>("first-class").unwrap();
    let doubled = |store: &mut Store<()>, main: Instance, stack: FirstClassStack, n: i32| {
        let number = main.get_tag(&mut *store, "number").unwrap();
        let Arrived { values, from, .. } =
            stack.switch(&mut *store, number, &[Val::I32(n)]).unwrap();
        (values[0].i32().unwrap(), from.unwrap())
    };
    let (value, stack) = doubled(&mut host.store, host.instance, stack, 4);
    assert_eq!(value, 8);
    let mut restored = host.restored(|options| {
        options.name_first_class_stack("it", &stack);
    });
    let again = restored.first_class_stack("it").unwrap();
    let main = restored.instance("main").unwrap();
    let (value, again) = doubled(&mut restored.store, main, again, 21);
    assert_eq!(value, 42);
    let (value, _) = doubled(&mut restored.store, main, again, 50);
    assert_eq!(value, 100);
}

#[test]
fn references_of_every_kind_are_found_by_their_names() {
    let mut host = Host::new();
    let pair = host.call::<Owned<StructRef>>("pair");
    let array = host.call::<Owned<ArrayRef>>("array");
    let number = host.call::<Owned<AnyRef>>("i31");
    let value = ExternRef::new(&mut host.store, String::from("of the host")).unwrap();
    let value = value.own(&mut host.store).unwrap();
    let function = host.call::<Option<Func>>("function").unwrap();
    let mut options = SnapshotOptions::new();
    options
        .name_reference("pair", &pair)
        .name_reference("array", &array)
        .name_reference("number", &number)
        .name_reference("value", &value)
        .name_func("function", function)
        .write_host_values(|value| Ok(value.downcast_ref::<String>().unwrap().clone().into()));
    // Names refer to the objects at the time of the snapshot, even if they moved.
    host.store.gc();
    let reference = pair.get(&mut host.store).unwrap();
    reference.set_field(&mut host.store, 0, Val::I32(33)).unwrap();
    let snapshot = through_bytes(&host.store.snapshot(&options).unwrap());
    let mut restoring = Restoring::new(host.module.engine(), [host.module.clone()]);
    restoring.functions(&Linker::new(host.module.engine())).unwrap();
    restoring.read_host_values(|bytes| Ok(Box::new(String::from_utf8(bytes.to_vec())?)));
    let mut restored = snapshot.restore_by(&restoring, ()).unwrap();

    let again = restored.reference::<StructRef>("pair").unwrap();
    let store = &mut restored.store;
    store.gc();
    let again = again.get(&mut *store).unwrap();
    assert_eq!(again.field(&mut *store, 0).unwrap().i32(), Some(33));
    let array = restored.reference::<ArrayRef>("array").unwrap();
    let array = array.get(&mut restored.store).unwrap();
    assert_eq!(array.len(&restored.store).unwrap(), 100);
    let number = restored.reference::<AnyRef>("number").unwrap();
    let number = number.get(&mut restored.store).unwrap();
    assert_eq!(number.as_i31(&restored.store).unwrap(), Some(5));
    let value = restored.reference::<ExternRef>("value").unwrap();
    let value = value.get(&mut restored.store).unwrap();
    let value = value.data(&restored.store).unwrap();
    assert_eq!(value.downcast_ref::<String>().unwrap(), "of the host");
    let function = restored.func("function").unwrap();
    let function = function.typed::<i32, i32>(&restored.store).unwrap();
    assert_eq!(function.call(&mut restored.store, 14).unwrap(), 42);

    assert!(restored.reference::<ArrayRef>("pair").is_err(), "it is of another kind");
    assert!(restored.reference::<StructRef>("function").is_err() && restored.func("pair").is_err());
}

#[test]
fn names_of_another_store_and_functions_of_the_host_are_refused() {
    let mut host = Host::new();
    let pair = host.call::<Owned<StructRef>>("pair");
    let mut other = Store::new(host.module.engine(), ());
    let error = other.snapshot(SnapshotOptions::new().name_reference("it", &pair)).unwrap_err();
    assert!(error.downcast_ref::<WrongStore>().is_some(), "{error}");
    let function = Func::wrap(&mut host.store, || 1);
    let error = host.store.snapshot(SnapshotOptions::new().name_func("it", function)).unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(SnapshotError::HostFunction)), "{error}");
    let error = other.snapshot(SnapshotOptions::new().name_func("it", function)).unwrap_err();
    assert!(error.downcast_ref::<WrongStore>().is_some(), "{error}");
}
