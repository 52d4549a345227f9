//! First-class stacks that end in the middle of an operation, or with the object that owns them.

use crate::common::*;
use ropewalk::*;

/// A function recurses to a depth, on the root or on a task. There a function on a blank stack puts
/// a frame on top.
const EXTENDED: &str = r#"
    (import "host" "new_stack" (func $new (result stackref)))
    (type $w (task (param i32)))
    (event $d)
    (rout $r (block $l (try (stack.start) catch $d $l)))
    (func $on (param $x stackref) (stack.switch_drop $d (stack.extend $r $d (local.get_clear $x))))
    (func $do (block $h (try (stack.switch_call $on (call $new)) catch $d $h)))
    (func $down (param $n i32)
      (if (local.get $n)
        (then (call $down (i32.sub (local.get $n) (i32.const 1))))
        (else (call $do))))
    (func $in_task (param (ref null $w)) (param $n i32) (call $down (local.get $n)))
    (func (export "root") (param $n i32) (call $down (local.get $n)))
    (func (export "task") (param $n i32) (task.resume $w (task.new $w $in_task) (local.get $n)))"#;

#[test]
fn a_stack_that_overflows_while_it_is_extended_leaves_the_store_usable() {
    let engine = Engine::new(Config::new().max_wasm_stack(256 << 10)).unwrap();
    for name in ["task", "root"] {
        let (mut store, instance) = instantiate_in(&engine, EXTENDED);
        let deep = instance.get_typed_func::<i32, ()>(&mut store, name).unwrap();
        let (mut fits, mut overflows) = (0, 100_000);
        while overflows - fits > 1 {
            let depth = (fits + overflows) / 2;
            match deep.call(&mut store, depth) {
                Ok(()) => fits = depth,
                Err(_) => overflows = depth,
            }
        }
        // Near the end the call on top overflows, then the function that switches, then the
        // recursion. Not all stacks have the same size.
        for depth in fits - 60..fits + 60 {
            if let Err(error) = deep.call(&mut store, depth) {
                assert_eq!(trap(&error).code(), TrapCode::CallStackExhausted);
            }
            invoke::<i32, ()>(&mut store, instance, "root", 10).unwrap();
        }
        check_live(&mut store, 0);
    }
}

#[test]
fn a_backtrace_names_the_function_on_top_of_another_stack() {
    // A short and a long function are compiled differently.
    for padding in ["", &"(drop (i64.const -9223372036854775808))".repeat(10)] {
        let text = format!(
            r#"
            (import "host" "new_stack" (func $new (result stackref)))
            (event $number (param i32))
            (func $divide (param $n i32) (param $s stackref) (result i32)
              {padding}
              (drop (local.get_clear $s))
              (i32.div_u (i32.const 1) (local.get $n)))
            (func $ask (param $s stackref)
              (stack.switch_call $divide $number (i32.const 0) (local.get_clear $s)))
            (func $wait (result i32)
              (block $number (result i32)
                (try (stack.switch_call $ask (call $new)) catch $number $number)
                (unreachable)))
            (func (export "run") (result i32) (call $wait))"#
        );
        let (mut store, instance) = instantiate(&text);
        let error = call(&mut store, instance, "run", &[]).unwrap_err();
        let frames = trap(&error).backtrace().frames();
        let names: Vec<_> = frames.iter().map(|frame| frame.function_name()).collect();
        assert_eq!(names, [Some("divide"), Some("wait"), Some("run")]);
        assert!(frames[0].offset().is_some());
    }
}

#[test]
fn a_function_on_top_returns_to_a_clause_after_very_many() {
    // More clauses than 16 bits can count, in nested forms of a few thousand each.
    let events = 0..66_000;
    let declared: String = events.clone().map(|i| format!("(event $e{i})")).collect();
    let groups: Vec<String> = Vec::from_iter(events)
        .chunks(6_600)
        .map(|group| group.iter().map(|i| format!(" catch $e{i} $other")).collect())
        .collect();
    let (opened, caught) = ("(try ".repeat(groups.len()), groups.join(")"));
    let text = format!(
        r#"
        (import "host" "new_stack" (func $new (result stackref)))
        (event $number (param i32))
        {declared}
        (func $short (param $n i32) (param $s stackref) (result i32)
          (drop (local.get_clear $s)) (i32.add (local.get $n) (i32.const 1)))
        (func $sender (param $n i32) (param $s stackref)
          (stack.switch_call $short $number (local.get $n) (local.get_clear $s)))
        (func (export "go") (param $n i32) (result i32)
          (block $number (result i32)
            (block $other
              (try {opened} (stack.switch_call $sender (local.get $n) (call $new)) {caught})
                catch $number $number))
            (i32.const -1)))"#
    );
    // The clauses take more steps to compile than the default allows.
    let engine = Engine::new(Config::new().opt_level(OptLevel::None).max_steps(10_000)).unwrap();
    let (mut store, instance) = instantiate_in(&engine, &text);
    assert_eq!(invoke::<i32, i32>(&mut store, instance, "go", 41).unwrap(), 42);
}

/// Objects that own stacks. A stack that `$nest` makes waits with a second stack in a local and a
/// third in an object of its own.
const HOLDERS: &str = r#"
    (import "host" "new_stack" (func $new (result stackref)))
    (type $cell (struct (field $stack (mut stackref)))) (type $row (array (mut stackref)))
    (event $left (param stackref))
    (global $cell (mut (ref null $cell)) (ref.null $cell))
    (global $row (mut (ref null $row)) (ref.null $row))
    (func (export "make a struct") (global.set $cell (struct.new $cell (call $new))))
    (func (export "make an array")
      (global.set $row (array.new_fixed $row 3 (call $new) (ref.null stack) (call $new))))
    (func $waits (param $main stackref) (local $own stackref) (local $cell (ref null $cell))
      (local.set_cleared $own (call $new))
      (local.set $cell (struct.new $cell (call $new)))
      (block $never (result stackref)
        (try (stack.switch $left (local.get_clear $main)) catch $left $never) (unreachable))
      (struct.set_cleared $cell $stack (local.get $cell)
        (struct.get_clear $cell $stack (local.get $cell)))
      (drop))
    (func (export "nest")
      (block $left (result stackref)
        (try (stack.switch_call $waits (call $new)) catch $left $left) (unreachable))
      (global.set $cell (struct.new $cell)))
    (func (export "take from the struct") (drop (struct.get_clear $cell $stack (global.get $cell))))
    (func (export "take from the array")
      (drop (array.get_clear $row (global.get $row) (i32.const 2))))
    (func (export "ask") (result i32) (struct.is_cleared $cell $stack (global.get $cell)))
    (func (export "forget") (global.set $cell (ref.null $cell)) (global.set $row (ref.null $row)))"#;

#[test]
fn an_object_keeps_its_stacks_while_it_lives_and_frees_them_when_it_is_collected() {
    let (mut store, instance) = instantiate(HOLDERS);
    let mut live_after = |name| {
        call(&mut store, instance, name, &[]).unwrap();
        store.gc();
        store.stack_statistics().live
    };
    assert_eq!(live_after("make a struct"), 1);
    assert_eq!(live_after("ask"), 1);
    assert_eq!(live_after("make an array"), 3);
    assert_eq!(live_after("take from the array"), 2);
    assert_eq!(live_after("take from the struct"), 1);
    assert_eq!(live_after("ask"), 1);
    assert_eq!(live_after("make a struct"), 2);
    // The owner of the first stack is garbage.
    assert_eq!(live_after("make a struct"), 2);
    assert_eq!(live_after("forget"), 0);
    assert_eq!(live_after("nest"), 3);
    assert_eq!(live_after("forget"), 0);
}

#[test]
fn taking_a_stack_out_of_an_object_frees_it_at_once_when_it_is_dropped() {
    let (mut store, instance) = instantiate(HOLDERS);
    for (make, take, left) in
        [("make a struct", "take from the struct", 0), ("make an array", "take from the array", 1)]
    {
        call(&mut store, instance, make, &[]).unwrap();
        call(&mut store, instance, take, &[]).unwrap();
        assert_eq!(store.stack_statistics().live, left, "{take}");
    }
}
