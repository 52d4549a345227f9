//! Fibers that host functions dismount.

use super::*;

const FIBERS: &str = r#"(module
    (type $s (struct (field i32))) (type $f (func (param i32) (result i32))) (type $k (cont $f))
    (import "host" "wants" (tag $wants (param i32)))
    (import "host" "got" (tag $got (param i32)))
    (import "host" "fetch" (func $fetch (param fiberref i32) (result i32)))
    (tag $start (export "start") (param i32))
    (tag $end (export "end") (param i32))
    (tag $other (export "other"))
    (global $outer (mut fiberref) (ref.null fiber))
    (elem declare func $inside)

    ;; The sum of two numbers that it fetches, in an object.
    (func $two (param $me fiberref) (param $x i32) (result i32) (local $first (ref $s))
      (local.set $first (struct.new $s (call $fetch (local.get $me) (local.get $x))))
      (i32.add (struct.get $s 0 (local.get $first))
        (call $fetch (local.get $me) (i32.add (local.get $x) (i32.const 1)))))
    (func (export "two") (result fiberref) (fiber.new $end (on $start $two)))

    ;; The parent is code of the module: it gives ten times what the fiber wants.
    (func (export "in webassembly") (result i32) (local $fiber fiberref) (local $x i32)
      (local.set $fiber (fiber.new $end (on $start $two)))
      (block $ended (result i32)
        (block $wanted (result i32)
          (fiber.mount $start (on $end $ended) (on $wants $wanted)
            (i32.const 4) (local.get $fiber))
          (unreachable))
        (local.set $x)
        (loop $more
          (block $again (result i32)
            (fiber.mount $got (on $end $ended) (on $wants $again)
              (i32.mul (local.get $x) (i32.const 10)) (local.get $fiber))
            (unreachable))
          (local.set $x)
          (br $more))
        (unreachable)))

    ;; A continuation in a fiber in a fiber dismounts the outer one.
    (func $inside (param $x i32) (result i32) (call $fetch (global.get $outer) (local.get $x)))
    (func $inner (param $me fiberref) (param $x i32) (result i32)
      (resume $k (local.get $x) (cont.new $k (ref.func $inside))))
    (func $nested (param $me fiberref) (param $x i32) (result i32)
      (global.set $outer (local.get $me))
      (block $ended (result i32)
        (fiber.mount $start (on $end $ended) (local.get $x) (fiber.new $end (on $start $inner)))
        (unreachable)))
    (func (export "nested") (result fiberref) (fiber.new $end (on $start $nested)))
    (func (export "on the root") (param fiberref) (result i32)
      (call $fetch (local.get 0) (i32.const 1)))

    ;; Only the event that the call waits for continues it.
    (func (export "try other") (param fiberref) (result i32)
      (fiber.mount $other (local.get 0)) (i32.const 1)))"#;

struct Setup {
    store: Store<()>,
    instance: Instance,
    wants: Tag,
    got: Tag,
    start: Tag,
    end: Tag,
}

fn setup(engine: &Engine) -> Setup {
    setup_with(engine, |_, _, _| ())
}

/// May define `fetch` otherwise.
fn setup_with(engine: &Engine, define: impl FnOnce(&mut Linker<()>, Tag, Tag)) -> Setup {
    let mut store = Store::new(engine, ());
    let [wants, got] = [(); 2].map(|()| Tag::with_params(&mut store, [ValType::I32]).unwrap());
    let mut linker = Linker::new(engine);
    linker.allow_shadowing(true);
    linker.define(&mut store, "host", "wants", wants).unwrap();
    linker.define(&mut store, "host", "got", got).unwrap();
    linker.host("fetch", move |fiber: Option<Fiber>, x: i32| -> Result<i32> {
        let fiber = fiber.ok_or_else(|| Error::msg("null"))?;
        Err(Suspension::of_fiber(&fiber, wants, &[x.into()], got).into())
    });
    define(&mut linker, wants, got);
    let module = Module::new(engine, FIBERS).unwrap();
    let instance = linker.instantiate(&mut store, &module).unwrap();
    let [start, end] = ["start", "end"].map(|name| tag(&mut store, instance, name));
    Setup { store, instance, wants, got, start, end }
}

impl Setup {
    fn make(&mut self, name: &str) -> Fiber {
        get::<Option<Fiber>>(&mut self.store, self.instance, name).unwrap()
    }

    /// The event that comes back, and its number.
    fn mount(&mut self, fiber: &Fiber, event: Tag, x: i32) -> (Tag, i32) {
        let on = [self.wants, self.end];
        match fiber.mount(&mut self.store, event, &[Val::I32(x)], &on).unwrap() {
            Mounted::Event { tag, values } => (tag, values[0].i32().unwrap()),
            Mounted::NotHandled => panic!("it is handled"),
        }
    }
}

#[test]
fn a_host_function_dismounts_the_fiber_that_called_it() {
    for mut setup in traced_too().iter().map(setup) {
        let (start, got) = (setup.start, setup.got);
        let fiber = setup.make("two");
        assert_eq!(setup.mount(&fiber, start, 3), (setup.wants, 3));
        disturb(&mut setup.store);
        assert!(fiber.is_suspended(&setup.store).unwrap());
        assert_eq!(frames(&fiber.backtrace(&setup.store).unwrap()), ["two"]);
        // No other event continues it.
        let on = [setup.wants, setup.end];
        for other in [setup.start, setup.wants] {
            let mounted = fiber.mount(&mut setup.store, other, &[Val::I32(1)], &on).unwrap();
            assert!(matches!(mounted, Mounted::NotHandled));
        }
        assert_eq!(setup.mount(&fiber, got, 50), (setup.wants, 4));
        disturb(&mut setup.store);
        let store = &mut setup.store;
        let tried =
            invoke::<Option<Fiber>, i32>(store, setup.instance, "try other", Some(fiber.clone()));
        assert_eq!(tried.unwrap(), 1);
        assert_eq!(setup.mount(&fiber, got, 6), (setup.end, 56));
        assert!(fiber.is_moribund(&setup.store).unwrap());
        assert_eq!(call_i32(&mut setup.store, setup.instance, "in webassembly"), 90);
        let fiber = setup.make("two");
        assert_eq!(setup.mount(&fiber, start, 3), (setup.wants, 3));
        fiber.release(&mut setup.store).unwrap();
        check_live(&mut setup.store, 0);
    }
}

#[test]
fn an_ancestor_is_dismounted_with_everything_inside() {
    for mut setup in traced_too().iter().map(setup) {
        let (start, got) = (setup.start, setup.got);
        let fiber = setup.make("nested");
        assert_eq!(setup.mount(&fiber, start, 3), (setup.wants, 3));
        assert_eq!(setup.store.stack_statistics().live, 3);
        disturb(&mut setup.store);
        assert_eq!(setup.mount(&fiber, got, 8), (setup.end, 8));
        check_live(&mut setup.store, 0);
    }
}

#[test]
fn an_event_that_the_parent_does_not_expect_ends_the_call() {
    for mut setup in traced_too().iter().map(setup) {
        let fiber = setup.make("two");
        let on = [setup.end];
        let mounted = fiber.mount(&mut setup.store, setup.start, &[Val::I32(1)], &on);
        fails_because(mounted, "the control parent of the fiber does not expect the event");
        assert!(fiber.is_moribund(&setup.store).unwrap());
        check_live(&mut setup.store, 0);
    }
}

#[test]
fn a_host_function_can_ask_whether_the_parent_expects_an_event() {
    for engine in traced_too() {
        let mut setup = setup_with(&engine, |linker, wants, got| {
            linker.host(
                "fetch",
                move |caller: Caller<'_, ()>, fiber: Option<Fiber>, x: i32| -> Result<i32> {
                    let fiber = fiber.unwrap();
                    assert!(!fiber.can_dismount(&caller, got)?);
                    match fiber.can_dismount(&caller, wants)? {
                        true => Err(Suspension::of_fiber(&fiber, wants, &[x.into()], got).into()),
                        false => Ok(1000),
                    }
                },
            );
        });
        let fiber = setup.make("two");
        assert!(!fiber.can_dismount(&setup.store, setup.wants).unwrap());
        let (start, got) = (setup.start, setup.got);
        assert_eq!(setup.mount(&fiber, start, 3), (setup.wants, 3));
        let on = [setup.end];
        let mounted = fiber.mount(&mut setup.store, got, &[Val::I32(1)], &on).unwrap();
        let Mounted::Event { tag, values } = mounted else { panic!("it is handled") };
        assert_eq!((tag, i32s(&values)), (setup.end, vec![1001]));
    }
}

#[test]
fn a_fiber_that_does_not_run_is_refused() {
    for mut setup in traced_too().iter().map(setup) {
        let fiber = setup.make("two");
        let on_root = |setup: &mut Setup, fiber: Option<Fiber>| {
            invoke::<Option<Fiber>, i32>(&mut setup.store, setup.instance, "on the root", fiber)
        };
        traps(on_root(&mut setup, Some(fiber.clone())), TrapCode::FiberNotRunning);
        let start = setup.start;
        assert_eq!(setup.mount(&fiber, start, 3), (setup.wants, 3));
        traps(on_root(&mut setup, Some(fiber.clone())), TrapCode::FiberNotRunning);
        fiber.release(&mut setup.store).unwrap();
        traps(on_root(&mut setup, Some(fiber)), TrapCode::FiberNotRunning);
        fails_with(on_root(&mut setup, None), "null");
        check_live(&mut setup.store, 0);
    }
}

#[test]
fn events_of_other_types_are_refused() {
    for engine in traced_too() {
        for (way, part) in [
            (0, "the values of the event would be its results"),
            (1, "in the values of a suspension"),
            (2, "the tag of an event has no results"),
        ] {
            let mut setup = setup_with(&engine, |linker, wants, got| {
                linker.host(
                    "fetch",
                    move |mut caller: Caller<'_, ()>,
                          fiber: Option<Fiber>,
                          _: i32|
                          -> Result<i32> {
                        let wide = Tag::with_params(&mut caller, [ValType::I64])?;
                        let ty = TagType { ty: FuncType::new([], [ValType::I32]) };
                        let no_event = Tag::new(&mut caller, ty)?;
                        let fiber = fiber.unwrap();
                        let one = [Val::I32(1)];
                        Err(match way {
                            0 => Suspension::of_fiber(&fiber, wants, &one, wide).into(),
                            1 => Suspension::of_fiber(&fiber, wants, &[], got).into(),
                            _ => Suspension::of_fiber(&fiber, no_event, &[], got).into(),
                        })
                    },
                );
            });
            let fiber = setup.make("two");
            let on = [setup.wants, setup.end];
            fails_because(fiber.mount(&mut setup.store, setup.start, &[Val::I32(1)], &on), part);
            check_live(&mut setup.store, 0);
        }
    }
}

#[test]
fn an_async_host_function_dismounts_a_fiber_after_it_has_waited() {
    for engine in traced_too() {
        let mut setup = setup_with(&engine, |linker, wants, got| {
            linker.host_async(
                "fetch",
                move |_: Caller<'_, ()>, (fiber, x): (Option<Fiber>, i32)| {
                    Box::new(async move {
                        After(2).await;
                        let fiber = fiber.unwrap();
                        let left = Suspension::of_fiber(&fiber, wants, &[x.into()], got);
                        Result::<i32>::Err(left.into())
                    })
                },
            );
        });
        for (name, sum) in [("two", None), ("nested", Some(50))] {
            let fiber = setup.make(name);
            let on = [setup.wants, setup.end];
            let mut event = setup.start;
            let mut all = Vec::new();
            for x in [3, 50, 6] {
                let x = [Val::I32(x)];
                let mounted = block_on(fiber.mount_async(&mut setup.store, event, &x, &on));
                let Mounted::Event { tag, values } = mounted.unwrap() else { panic!("handled") };
                all.push(values[0].i32().unwrap());
                if tag == setup.end {
                    break;
                }
                event = setup.got;
                disturb(&mut setup.store);
            }
            match sum {
                None => assert_eq!(all, [3, 4, 56]),
                Some(sum) => assert_eq!(all, [3, sum]),
            }
        }
        check_live(&mut setup.store, 0);
    }
}
