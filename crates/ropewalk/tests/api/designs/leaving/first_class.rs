//! Host functions that send an event to a first-class stack.

use super::*;

const FIRST_CLASS: &str = r#"(module
    (import "host" "send" (func $send (param stackref i32) (result i32)))
    (import "host" "new_stack" (func $new-stack (result stackref)))
    (type $f (func (param i32) (result i32))) (type $k (cont $f)) (type $s (struct (field i32)))
    (event $ask (export "ask") (param i32 stackref))
    (event $told (export "told") (param i32 stackref))
    (elem declare func $inside)

    ;; Tells ten times what it is asked; -1: on top of the stack that has asked, a function tells;
    ;; -2: drops the stack that has asked, and traps.
    (func $on-top (param $x i32) (param $from stackref) (result i32 stackref)
      (local.get $x) (local.get_clear $from))
    (rout $tens (local $back stackref) (local $x i32)
      (block $asked (result i32 stackref)
        (try (stack.start) catch $ask $asked) (unreachable))
      (local.set_cleared $back) (local.set $x)
      (loop $more
        (block $again (result i32 stackref)
          (try
            (if (i32.eq (local.get $x) (i32.const -1))
              (then (stack.switch_call $on-top $told (i32.const 5) (local.get_clear $back))))
            (if (i32.eq (local.get $x) (i32.const -2))
              (then (drop (local.get_clear $back)) (unreachable)))
            (if (i32.eq (local.get $x) (i32.const -3))
              (then (stack.switch_call $send-on-top $told
                (i32.const 6) (call $new-tens) (local.get_clear $back))))
            (stack.switch $told (i32.mul (local.get $x) (i32.const 10))
              (local.get_clear $back))
            catch $ask $again)
          (unreachable))
        (local.set_cleared $back) (local.set $x) (br $more)))
    (func $new-tens (export "new") (result stackref) (stack.extend $tens (call $new-stack)))
    ;; A host function is called on top of a stack that was left in a host function.
    (func $send-on-top (param $x i32) (param $other stackref) (param $from stackref)
      (result i32 stackref)
      (block $back (result i32 stackref)
        (try
          (drop (call $send (local.get_clear $other) (local.get $x)))
          catch $told $back)
        (unreachable))
      (drop)
      (local.get_clear $from))

    ;; What a stack tells for x, by way of the host.
    (func $one (param $stack stackref) (param $x i32) (result i32 stackref)
      (local $mine (ref $s))
      (local.set $mine (struct.new $s (i32.const 1)))
      (block $back (result i32 stackref)
        (try
          (drop (call $send (local.get_clear $stack) (local.get $x)))
          catch $told $back)
        (unreachable))
      (local.set_cleared $stack)
      (i32.add (struct.get $s 0 (local.get $mine)))
      (local.get_clear $stack))
    (func $run (export "run") (param $x i32) (result i32)
      (local $stack stackref) (local $sum i32)
      (local.set_cleared $stack (call $new-tens))
      (loop $more
        (call $one (local.get_clear $stack) (local.get $x))
        (local.set_cleared $stack)
        (local.set $sum (i32.add (local.get $sum)))
        (local.set $x (i32.sub (local.get $x) (i32.const 1)))
        (br_if $more (local.get $x)))
      (local.get $sum))
    (func (export "one") (param $x i32) (result i32)
      (call $one (call $new-tens) (local.get $x)) (drop))
    (func $inside (param i32) (result i32) (call $run (local.get 0)))
    (rout $deep (local $back stackref) (local $x i32)
      (block $asked (result i32 stackref)
        (try (stack.start) catch $ask $asked) (unreachable))
      (local.set_cleared $back) (local.set $x)
      (stack.switch $told (resume $k (local.get $x) (cont.new $k (ref.func $inside)))
        (local.get_clear $back)))
    (func (export "deep") (param $x i32) (result i32)
      (block $back (result i32 stackref)
        (try
          (stack.switch $ask (local.get $x) (stack.extend $deep (call $new-stack)))
          catch $told $back)
        (unreachable))
      (drop))
    (func (export "blank") (result i32) (call $send (call $new-stack) (i32.const 1)))
    (func (export "uncaught") (result i32) (call $send (call $new-tens) (i32.const 1)))
    (func (export "null") (result i32) (call $send (ref.null stack) (i32.const 1)))

    ;; A rout is put on top of a stack that was left in a host function.
    (event $go (param stackref))
    (rout $above (result i32 stackref)
      (block $went (result stackref) (try (stack.start) catch $go $went) (unreachable))
      (drop)
      (i32.const 44) (ref.null stack))
    (rout $extends (local $back stackref)
      (block $asked (result i32 stackref)
        (try (stack.start) catch $ask $asked) (unreachable))
      (local.set_cleared $back) (drop)
      (local.set_cleared $back (stack.extend $above $told (local.get_clear $back)))
      (stack.switch $go (local.get_clear $back)))
    (func (export "extended") (result i32)
      (block $back (result i32 stackref)
        (try
          (drop (call $send (stack.extend $extends (call $new-stack)) (i32.const 1)))
          catch $told $back)
        (unreachable))
      (drop)))"#;

fn send(caller: &mut Caller<'_, ()>, stack: Option<ContRef>, event: Tag, x: i32) -> Result<i32> {
    let stack = stack.ok_or_else(|| Error::msg("null"))?;
    Err(Suspension::send_to(caller, stack, event, &[Val::I32(x)])?.into())
}

fn ask(caller: &mut Caller<'_, ()>) -> Tag {
    caller.get_export("ask").and_then(Extern::into_tag).expect("exported")
}

fn setup(engine: &Engine) -> (Store<()>, Instance) {
    let mut linker = Linker::new(engine);
    linker.host(
        "send",
        |mut caller: Caller<'_, ()>, stack: Option<ContRef>, x: i32| -> Result<i32> {
            let ask = ask(&mut caller);
            send(&mut caller, stack, ask, x)
        },
    );
    link(&linker, (), FIRST_CLASS)
}

#[test]
fn a_host_function_sends_an_event_and_throws_the_answer() {
    for (mut store, instance) in traced_too().iter().map(setup) {
        // 31 + 21 + 11
        assert_eq!(number(&mut store, instance, "run", &[3]).unwrap(), 63);
        assert_eq!(number(&mut store, instance, "deep", &[3]).unwrap(), 63);
        check_live(&mut store, 0);
    }
}

#[test]
fn functions_and_routs_run_on_top_of_a_call_that_was_left() {
    for (mut store, instance) in traced_too().iter().map(setup) {
        assert_eq!(number(&mut store, instance, "one", &[-1]).unwrap(), 6);
        assert_eq!(number(&mut store, instance, "one", &[-3]).unwrap(), 61);
        assert_eq!(call_i32(&mut store, instance, "extended"), 44);
        check_live(&mut store, 0);
    }
}

#[test]
fn an_event_that_nothing_handles_traps() {
    for (mut store, instance) in traced_too().iter().map(setup) {
        traps(number(&mut store, instance, "blank", &[]), TrapCode::EventReachedGround);
        traps(number(&mut store, instance, "one", &[-2]), TrapCode::Unreachable);
        fails_with(number(&mut store, instance, "null", &[]), "null");
        // The answer reaches the host.
        let error = number(&mut store, instance, "uncaught", &[]).unwrap_err();
        let exception = error.downcast_ref::<Exception>().expect("an exception");
        let told = tag(&mut store, instance, "told");
        assert_eq!(exception.tag(&mut RootScope::new(&mut store)).unwrap(), told);
        drop(error);
        store.gc();
        assert_eq!(number(&mut store, instance, "run", &[2]).unwrap(), 32);
        check_live(&mut store, 0);
    }
}

#[test]
fn other_tags_and_values_are_refused() {
    for engine in traced_too() {
        for (way, part) in [
            (0, "expected an event whose last value is a stack"),
            (1, "in the values of a suspension"),
        ] {
            let mut linker = Linker::new(&engine);
            linker.host(
                "send",
                move |mut caller: Caller<'_, ()>, stack: Option<ContRef>, _: i32| -> Result<i32> {
                    if way == 0 {
                        let other = Tag::with_params(&mut caller, [ValType::I32])?;
                        return send(&mut caller, stack, other, 1);
                    }
                    let ask = ask(&mut caller);
                    Err(Suspension::send_to(&mut caller, stack.unwrap(), ask, &[])?.into())
                },
            );
            let (mut store, instance) = link(&linker, (), FIRST_CLASS);
            let result = number(&mut store, instance, "run", &[1]);
            match way {
                0 => fails_with(result, part),
                _ => fails_because(result, part),
            }
            check_live(&mut store, 0);
        }
    }
}

#[test]
fn an_async_host_function_sends_after_it_has_waited() {
    for engine in traced_too() {
        let mut linker = Linker::new(&engine);
        linker.host_async(
            "send",
            |mut caller: Caller<'_, ()>, (stack, x): (Option<ContRef>, i32)| {
                Box::new(async move {
                    After(1).await;
                    let ask = ask(&mut caller);
                    send(&mut caller, stack, ask, x)
                })
            },
        );
        let (mut store, instance) = link(&linker, (), FIRST_CLASS);
        for name in ["run", "deep"] {
            let run = instance.get_typed_func::<i32, i32>(&mut store, name).unwrap();
            assert_eq!(block_on(run.call_async(&mut store, 3)).unwrap(), 63);
        }
        check_live(&mut store, 0);
    }
}
