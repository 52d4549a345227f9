//! Fibers that the host mounts.

use super::*;

const FIBERS: &str = r#"(module
    (import "host" "wait" (func $wait (param i32) (result i32)))
    (tag $go (export "go") (param i32)) (tag $stop (export "stop")) (tag $fail (export "fail"))
    (tag $cheap (export "cheap") (param i64)) (tag $sum (export "sum") (param i32))
    (tag $end (export "end") (param i32 i32)) (global $fiber (mut fiberref) (ref.null fiber))
    ;; Tries a cheap event before a general one.
    (func $run (param $me fiberref) (param $x i32) (result i32 i32) (local $all i32)
      (loop $more
        (local.set $all (i32.add (local.get $all) (call $wait (local.get $x))))
        (block $went (result i32)
          (block $stopped
            (block $failed
              (fiber.dismount $cheap (on $go $went) (on $stop $stopped) (on $fail $failed)
                (i64.extend_i32_s (local.get $all)) (local.get $me))
              (fiber.dismount $sum (on $go $went) (on $stop $stopped) (on $fail $failed)
                (local.get $all) (local.get $me))
              (unreachable))
            (throw $go (i32.const 77)))
          (return (local.get $all) (i32.const 1)))
        (local.set $x) (br $more))
      (unreachable))
    (func (export "new") (result fiberref)
      (global.set $fiber (fiber.new $end (on $go $run)))
      (global.get $fiber))
    (func (export "forget") (global.set $fiber (ref.null fiber)))
    ;; The fiber switches to another one, which dismounts in its place.
    (func $other (param $me fiberref) (param $x i32)
      (fiber.dismount $sum (i32.add (local.get $x) (i32.const 50)) (local.get $me)))
    (func $switches (param $me fiberref) (param $x i32)
      (fiber.switch $go (local.get $x) (local.get $me) (fiber.new (on $go $other))))
    (func (export "switching") (result fiberref) (fiber.new (on $go $switches))))"#;

#[test]
fn the_host_mounts_a_fiber_with_events() {
    for (mut store, instance) in all_engines().iter().map(|engine| with_ready(engine, FIBERS)) {
        let [go, stop, cheap, sum, end] =
            ["go", "stop", "cheap", "sum", "end"].map(|name| tag(&mut store, instance, name));
        let fiber: Option<Fiber> = get(&mut store, instance, "new");
        let fiber = fiber.unwrap();
        let refused = fiber.mount(&mut store, stop, &[], &[sum]).unwrap();
        assert!(matches!(refused, Mounted::NotHandled));
        // The host expects both events, or only the second.
        let (came, values) = event(fiber.mount(&mut store, go, &[Val::I32(3)], &[end, cheap, sum]));
        assert_eq!((came, values[0].i64()), (cheap, Some(3)));
        let (came, values) = event(fiber.mount(&mut store, go, &[Val::I32(4)], &[end, sum]));
        assert_eq!((came, i32s(&values)), (sum, vec![7]));
        store.gc();
        assert_eq!(frames(&fiber.backtrace(&store).unwrap()), ["run"]);
        let (came, values) = event(fiber.mount(&mut store, stop, &[], &[end]));
        assert_eq!((came, i32s(&values)), (end, vec![7, 1]));
        assert!(fiber.is_moribund(&store).unwrap());
        traps(fiber.mount(&mut store, go, &[Val::I32(0)], &[]), TrapCode::FiberMoribund);
        check_live(&mut store, 0);
    }
}

#[test]
fn a_fiber_that_fails_in_the_hands_of_the_host_is_moribund() {
    for (mut store, instance) in all_engines().iter().map(|engine| with_ready(engine, FIBERS)) {
        let [go, stop, fail, sum] =
            ["go", "stop", "fail", "sum"].map(|name| tag(&mut store, instance, name));
        for (event, expected) in [(stop, Some(TrapCode::UnhandledReturn)), (fail, None)] {
            let fiber: Option<Fiber> = get(&mut store, instance, "new");
            let fiber = fiber.unwrap();
            fiber.mount(&mut store, go, &[Val::I32(3)], &[sum]).unwrap();
            let error = fiber.mount(&mut store, event, &[], &[sum]).unwrap_err();
            match expected {
                Some(code) => assert_eq!(trap(&error).code(), code),
                None => {
                    let exception = error.downcast_ref::<Exception>().expect("it was thrown");
                    assert_eq!(exception.tag(&mut store).unwrap(), go);
                }
            }
            assert!(fiber.is_moribund(&store).unwrap());
        }
        // The host expects none of its events, so it continues.
        let fiber: Option<Fiber> = get(&mut store, instance, "new");
        traps(fiber.unwrap().mount(&mut store, go, &[Val::I32(3)], &[]), TrapCode::Unreachable);
        call(&mut store, instance, "forget", &[]).unwrap();
        check_live(&mut store, 0);
    }
}

#[test]
fn a_fiber_that_takes_the_place_of_another_dismounts_to_the_host() {
    for (mut store, instance) in all_engines().iter().map(|engine| with_ready(engine, FIBERS)) {
        let [go, sum] = ["go", "sum"].map(|name| tag(&mut store, instance, name));
        let fiber: Option<Fiber> = get(&mut store, instance, "switching");
        let fiber = fiber.unwrap();
        let (came, values) = event(fiber.mount(&mut store, go, &[Val::I32(3)], &[sum]));
        assert_eq!((came, i32s(&values)), (sum, vec![53]));
        assert!(fiber.is_suspended(&store).unwrap());
        fiber.release(&mut store).unwrap();
        check_live(&mut store, 0);
    }
}

#[test]
fn a_fiber_waits_for_host_functions() {
    for (mut store, instance) in all_engines().iter().map(|engine| waiting(engine, FIBERS)) {
        let [go, sum] = ["go", "sum"].map(|name| tag(&mut store, instance, name));
        let fiber: Option<Fiber> = get(&mut store, instance, "new");
        let fiber = fiber.unwrap();
        for (x, all) in [(3, 3), (5, 8)] {
            let (mounted, polls) =
                count_polls(fiber.mount_async(&mut store, go, &[Val::I32(x)], &[sum]));
            let (came, values) = event(mounted);
            assert_eq!((came, i32s(&values), polls), (sum, vec![all], 2));
        }
    }
}

#[test]
fn an_event_of_the_wrong_shape_is_refused() {
    let (mut store, instance) = with_ready(&Engine::default(), FIBERS);
    let [go, sum] = ["go", "sum"].map(|name| tag(&mut store, instance, name));
    let fiber: Option<Fiber> = get(&mut store, instance, "new");
    let fiber = fiber.unwrap();
    assert!(fiber.mount(&mut store, go, &[], &[sum]).is_err());
    assert!(fiber.mount(&mut store, go, &[Val::F32(0)], &[sum]).is_err());
    let suspends = Tag::new(&mut store, TagType { ty: FuncType::new([], [ValType::I32]) }).unwrap();
    fails_because(
        fiber.mount(&mut store, suspends, &[], &[sum]),
        "the tag of an event has no results",
    );
    let mut other = Store::new(store.engine(), ());
    let foreign = Tag::with_params(&mut other, []).unwrap();
    assert!(fiber.mount(&mut store, foreign, &[], &[sum]).is_err());
    assert!(fiber.mount(&mut store, go, &[Val::I32(1)], &[foreign]).is_err());
    assert!(matches!(
        fiber.mount(&mut store, go, &[Val::I32(1)], &[sum]).unwrap(),
        Mounted::Event { .. }
    ));
}
