//! Traps: their codes and backtraces, and the store after them.

use crate::common::*;
use ropewalk::*;

const TRAPS: &str = r#"
(module $traps
  (type $t (func)) (type $u (func (param i32)))
  (table $table 2 2 funcref)
  (table $grows 1 funcref) (memory 1) (elem (table $table) (i32.const 0) func $nop)
  (func $nop)
  (func (export "unreachable") unreachable)
  (func (export "load") (drop (i32.load (i32.const 65533))))
  (func (export "store") (i64.store8 offset=65535 (i32.const 1) (i64.const 0)))
  (func (export "large offset") (drop (i32.load offset=0xffffffff (i32.const 0xffffffff))))
  (func (export "table.get") (drop (table.get $grows (i32.const 1))))
  (func (export "undefined") (call_indirect $table (type $t) (i32.const 2)))
  (func (export "uninitialized") (call_indirect $table (type $t) (i32.const 1)))
  (func (export "mismatch") (call_indirect $table (type $u) (i32.const 0) (i32.const 0)))
  (func (export "divide") (drop (i32.div_s (i32.const 1) (global.get $zero))))
  (func (export "remainder") (drop (i64.rem_u (i64.const 1) (i64.const 0))))
  (func (export "overflow") (drop (i32.div_s (i32.const 0x80000000) (i32.sub (global.get $zero) (i32.const 1)))))
  (func (export "truncate NaN") (drop (i32.trunc_f32_s (f32.const nan))))
  (func (export "truncate large") (drop (i64.trunc_f64_u (f64.const 1e300))))
  (func $forever (export "recursion") (call $forever))
  (func (export "memory.fill") (memory.fill (i32.const 0) (i32.const 0) (i32.const 65537)))
  (func (export "table.copy") (table.copy $table $table (i32.const 1) (i32.const 0) (i32.const 2)))
  (func (export "fine") (result i32) (i32.const 42))
  (global $zero (mut i32) (i32.const 0)))
"#;

#[test]
fn every_trap_has_its_code_and_leaves_the_store_usable() {
    use TrapCode::*;
    let expected = [
        ("unreachable", Unreachable),
        ("load", MemoryOutOfBounds),
        ("store", MemoryOutOfBounds),
        ("large offset", MemoryOutOfBounds),
        ("table.get", TableOutOfBounds),
        ("undefined", UndefinedElement),
        ("uninitialized", UninitializedElement),
        ("mismatch", IndirectCallTypeMismatch),
        ("divide", IntegerDivideByZero),
        ("remainder", IntegerDivideByZero),
        ("overflow", IntegerOverflow),
        ("truncate NaN", InvalidConversionToInteger),
        ("truncate large", IntegerOverflow),
        ("recursion", CallStackExhausted),
        ("memory.fill", MemoryOutOfBounds),
        ("table.copy", TableOutOfBounds),
    ];
    for (mut store, instance) in instances(TRAPS) {
        for (name, code) in expected {
            for _ in 0..3 {
                let error = call(&mut store, instance, name, &[]).unwrap_err();
                assert_eq!(trap(&error).code(), code, "{name}");
                assert_eq!(
                    trap(&error).backtrace().frames()[0].function_name(),
                    Some(match name {
                        "recursion" => "forever",
                        name => name,
                    })
                );
                assert_eq!(number(&mut store, instance, "fine", &[]).unwrap(), 42);
            }
        }
    }
}

#[test]
fn backtraces_name_functions_and_offsets() {
    let text = r#"(module $m
        (func $inner unreachable)
        (func $middle (call $inner))
        (func $outer (export "outer") (nop) (call $middle)))"#;
    let (mut store, instance) = instantiate(text);
    let error = call(&mut store, instance, "outer", &[]).unwrap_err();
    assert_eq!(frames(trap(&error).backtrace()), ["inner", "middle", "outer"]);
    let frames = trap(&error).backtrace().frames();
    assert_eq!(frames[0].module_name(), Some("m"));
    assert_eq!(frames.iter().map(Frame::function_index).collect::<Vec<_>>(), [0, 1, 2]);
    let offsets: Vec<u32> = frames.iter().map(|f| f.offset().unwrap()).collect();
    assert!(offsets.is_sorted(), "{offsets:?}");
    let shown = error.to_string();
    assert!(shown.starts_with("wasm trap: unreachable\nwasm backtrace:\n   0:"), "{shown}");
    assert!(shown.contains("m!inner") && shown.contains("m!outer"), "{shown}");
}

#[test]
fn the_offset_of_a_frame_is_that_of_its_instruction() {
    let text = "(module (func (export \"f\") (nop) (nop) (unreachable)))";
    let binary = ropewalk_text::Text::parse(text).unwrap().binary().to_vec();
    let unreachable = binary.iter().rposition(|b| *b == 0x00).unwrap();
    let (mut store, instance) = instantiate(text);
    let error = call(&mut store, instance, "f", &[]).unwrap_err();
    assert_eq!(trap(&error).backtrace().frames()[0].offset(), Some(unreachable as u32));
}

#[test]
fn a_frame_of_a_text_knows_its_line_and_column() {
    let text =
        "(module\r\n  (func (export \"f\")\n\t(call $e) (; é漢 ;) unreachable)\n  (func $e nop))";
    let (mut store, instance) = instantiate(text);
    let error = call(&mut store, instance, "f", &[]).unwrap_err();
    let frame = &trap(&error).backtrace().frames()[0];
    assert_eq!((frame.file(), frame.line(), frame.column()), (None, Some(3), Some(21)));
    assert_eq!(frame.to_string(), "<text>:3:21: <module>!f");

    let path = std::env::temp_dir().join(format!("ropewalk-traps-{}.wat", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let engine = Engine::default();
    let module = Module::from_file(&engine, &path);
    std::fs::remove_file(&path).unwrap();
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module.unwrap(), &[]).unwrap();
    let error = call(&mut store, instance, "f", &[]).unwrap_err();
    let frame = &trap(&error).backtrace().frames()[0];
    let file = path.to_str().unwrap();
    assert_eq!((frame.file(), frame.line(), frame.column()), (Some(file), Some(3), Some(21)));
}

#[test]
fn a_frame_of_a_binary_has_no_line() {
    let text = "(module (func (export \"f\") unreachable))";
    let engine = Engine::default();
    let binary = ropewalk_text::Text::parse(text).unwrap();
    let (mut store, instance) = instantiate_in(&engine, binary.binary());
    let error = call(&mut store, instance, "f", &[]).unwrap_err();
    let frame = &trap(&error).backtrace().frames()[0];
    assert_eq!((frame.file(), frame.line(), frame.column()), (None, None, None));
    assert_eq!(frame.to_string(), format!("{:#8x}: <module>!f", frame.offset().unwrap()));
}

/// Every frame of every kind of stack has a source position, whatever moves or is collected.
#[test]
fn frames_of_all_designs_have_places_in_their_texts() {
    let text = r#"(module
  (type $body (func)) (type $k (cont $body)) (type $c (stack (ref null $c)))
  (type $t (task (param i32) (result i32)))
  (import "host" "new_stack" (func $new (result stackref)))
  (event $back) (tag $start)
  (func (export "run") (drop (switch $c (stack.new $c $in-bag))))
  (func $in-bag (param (ref null $c))
    (block $b
      (try (stack.switch_call $first-class (call $new)) catch $back $b)))
  (func $first-class (param stackref) (drop (task.resume $t (task.new $t $in-task) (i32.const 1))))
  (func $in-task (param (ref null $t)) (param i32) (result i32)
    (fiber.mount $start (fiber.new (on $start $in-fiber)))
    (i32.const 0))
  (func $in-fiber (param fiberref) (resume $k (cont.new $k (ref.func $in-continuation))))
  (elem declare func $in-continuation)
  (func $in-continuation (unreachable)))"#;
    for (mut store, instance) in instances(text) {
        let error = call(&mut store, instance, "run", &[]).unwrap_err();
        let frames = trap(&error).backtrace().frames();
        let shown: Vec<String> = frames.iter().map(Frame::to_string).collect();
        let expected = [
            "<text>:16:27: <module>!in-continuation",
            "<text>:14:37: <module>!in-fiber",
            "<text>:12:6: <module>!in-task",
            "<text>:10:46: <module>!first-class",
        ];
        assert_eq!(shown, expected);
    }
}

/// The first line of the error of `run`, in every mode.
#[track_caller]
fn check_message(text: &str, message: &str) {
    for (mut store, instance) in instances(text) {
        let error = call(&mut store, instance, "run", &[]).unwrap_err();
        assert_eq!(error.to_string().lines().next(), Some(message));
    }
}

#[test]
fn an_unhandled_tag_says_which_and_its_values() {
    check_message(
        r#"(module
          (type $s (struct)) (type $f (func)) (type $k (cont $f))
          (tag $yield (param i32 i64 f32 f64 v128 (ref $s) (ref null $f) externref))
          (func $body
            (suspend $yield (i32.const -7) (i64.const 2) (f32.const 0.5) (f64.const -0)
              (v128.const i32x4 1 2 3 4) (struct.new $s) (ref.func $body) (ref.null extern)))
          (elem declare func $body)
          (func (export "run") (resume $k (cont.new $k (ref.func $body)))))"#,
        "wasm trap: unhandled tag: $yield with (i32.const -7) (i64.const 2) (f32.const 0.5) \
         (f64.const -0) (v128.const i32x4 0x00000001 0x00000002 0x00000003 0x00000004) \
         (struct) (ref.func) (ref.null)",
    );
    check_message(
        r#"(module (tag) (func (export "run") (suspend 0)))"#,
        "wasm trap: unhandled tag: number 0",
    );
    let text = r#"(module
          (rec (type $f (func (param (ref null $k)))) (type $k (cont $f)))
          (tag $to)
          (func $body (type $f) (param (ref null $k)))
          (elem declare func $body)
          (func (export "run") (drop (switch $k $to (cont.new $k (ref.func $body))))))"#;
    check_message(text, "wasm trap: unhandled tag: $to");
    let values = " i32".repeat(10);
    let zeroes = "(i32.const 3)".repeat(10);
    check_message(
        &format!("(module (tag $t (param{values})) (func (export \"run\") (suspend $t {zeroes})))"),
        "wasm trap: unhandled tag: $t with (i32.const 3) (i32.const 3) (i32.const 3) (i32.const 3) \
         (i32.const 3) (i32.const 3) (i32.const 3) (i32.const 3) and 2 more values",
    );
}

#[test]
fn a_function_that_must_not_return_is_in_the_backtrace() {
    let designs = [
        (
            "(type $s (stack (ref null $s)))
             (func $worker (param (ref null $s)))
             (func (export \"run\") (drop (switch $s (stack.new $s $worker))))",
            "wasm trap: coroutine function returned",
        ),
        (
            "(tag $go)
             (func $worker (param fiberref))
             (func (export \"run\") (fiber.mount $go (fiber.new (on $go $worker))))",
            "wasm trap: fiber function returned",
        ),
        (
            "(tag $go) (tag $done)
             (func $worker (param fiberref))
             (func (export \"run\") (fiber.mount $go (fiber.new $done (on $go $worker))))",
            "wasm trap: unhandled return event: $done",
        ),
        (
            "(import \"host\" \"new_stack\" (func $new_stack (result stackref)))
             (func $worker (param stackref))
             (func (export \"run\") (stack.switch_call $worker (call $new_stack)))",
            "wasm trap: function returned to a suspended stack",
        ),
        (
            "(import \"host\" \"new_stack\" (func $new_stack (result stackref)))
             (event $go (param stackref))
             (rout $worker (drop (block $go (result stackref)
               (try (stack.start) catch $go $go) (unreachable))))
             (func (export \"run\") (stack.switch $go (stack.extend $worker (call $new_stack))))",
            "wasm trap: rout returned",
        ),
    ];
    for (text, message) in designs {
        let text = format!("(module {text})");
        check_message(&text, message);
        for (mut store, instance) in instances(&text) {
            let error = call(&mut store, instance, "run", &[]).unwrap_err();
            let frames = trap(&error).backtrace().frames();
            assert_eq!(frames[0].function_name(), Some("worker"), "{message}");
        }
    }
}

#[test]
fn an_event_or_a_call_of_a_stack_without_receiver_is_named() {
    let import = "(import \"host\" \"new_stack\" (func $new_stack (result stackref)))";
    check_message(
        &format!(
            "(module {import} (event $go (param i32 stackref))
               (func (export \"run\") (stack.switch $go (i32.const 1) (call $new_stack))))"
        ),
        "wasm trap: event reached the ground of a stack: $go",
    );
    check_message(
        &format!(
            "(module {import} (event $sent (param stackref))
               (func $returns (param stackref) (result stackref) (local.get_clear 0))
               (func (export \"run\") (stack.switch_call $returns $sent (call $new_stack))))"
        ),
        "wasm trap: event reached the ground of a stack: $sent",
    );
    check_message(
        "(module (call_tag $ask (param i32) (result i32))
           (func (export \"run\") (result i32) (call_stack $ask (i32.const 1))))",
        "wasm trap: no answer on the stack: $ask",
    );
}

#[test]
fn the_trap_of_a_tag_has_its_detail_apart() {
    let text = r#"(module (tag $t (param i32)) (func (export "run") (suspend $t (i32.const 1))))"#;
    let (mut store, instance) = instantiate(text);
    let error = call(&mut store, instance, "run", &[]).unwrap_err();
    assert_eq!(trap(&error).detail(), Some("$t with (i32.const 1)"));
    assert_eq!(trap(&error).code(), TrapCode::UnhandledTag);
}

/// Checks the first lines of the errors of exports, where `host f` calls the export `inside`.
fn check_around_host(text: &str, expected: [(&str, &str); 2]) {
    let host = |mut caller: Caller<'_, ()>, _: i32| -> Result<()> {
        call_export::<_, _, ()>(&mut caller, "inside", ())
    };
    for (mut store, instance) in instances_with_host(text, host) {
        for (name, message) in expected {
            let error = call(&mut store, instance, name, &[]).unwrap_err();
            assert_eq!(error.to_string().lines().next(), Some(message));
        }
    }
}

#[test]
fn an_unhandled_tag_says_if_the_host_stood_in_between() {
    let text = r#"(module
      (import "host" "f" (func $host (param i32)))
      (type $body (func)) (type $k (cont $body)) (tag $yield (param i32)) (tag $other)
      (func $body (call $host (i32.const 0)))
      (elem declare func $body)
      (func (export "inside") (suspend $yield (i32.const 7)))
      (func (export "run")
        (block $on (result i32 (ref $k))
          (block $off (result (ref $k))
            (resume $k (on $other $off) (on $yield $on) (cont.new $k (ref.func $body)))
            (return))
          (return))
        (return))
      (func (export "without") (call $host (i32.const 0))))"#;
    let plain = "wasm trap: unhandled tag: $yield with (i32.const 7)";
    let crosses = "its clause is outside of a host call, and a suspension cannot cross a host call";
    // Without: no handler has a clause.
    check_around_host(text, [("run", &format!("{plain}; {crosses}")), ("without", plain)]);
}

#[test]
fn an_exception_that_nothing_catches_says_its_tag_and_values_in_all_designs() {
    let tag = "(tag $e (param i32))";
    let throws = "(throw $e (i32.const 5))";
    let uncaught = "uncaught exception: $e with (i32.const 5)";
    check_message(&format!("(module {tag} (func (export \"run\") {throws}))"), uncaught);
    check_message(
        &format!(
            "(module {tag} (type $f (func)) (type $k (cont $f)) (func $f {throws})
               (elem declare func $f)
               (func (export \"run\") (resume $k (cont.new $k (ref.func $f)))))"
        ),
        uncaught,
    );
    check_message(
        &format!(
            "(module {tag} (type $t (task (param i32) (result i32)))
               (func $f (param (ref null $t)) (param i32) (result i32) {throws})
               (func (export \"run\")
                 (drop (task.resume $t (task.new $t $f) (i32.const 1)))))"
        ),
        uncaught,
    );
    check_message(
        &format!(
            "(module {tag} (tag $start) (func $f (param fiberref) {throws})
               (func (export \"run\") (fiber.mount $start (fiber.new (on $start $f)))))"
        ),
        uncaught,
    );
    check_message(
        &format!(
            "(module {tag} (type $c (stack (ref null $c))) (func $f (param (ref null $c)) {throws})
               (func (export \"run\") (drop (switch $c (stack.new $c $f)))))"
        ),
        "wasm trap: exception escaped a coroutine: $e with (i32.const 5)",
    );
    check_message(
        &format!(
            "(module (import \"host\" \"new_stack\" (func $new (result stackref))) {tag}
               (func $f (param stackref) {throws})
               (func (export \"run\") (stack.switch_call $f (call $new))))"
        ),
        "wasm trap: uncaught exception on a stack: $e with (i32.const 5)",
    );
}

#[test]
fn an_overflow_in_a_prologue_does_not_lose_the_caller() {
    let text = r#"(module
        (func $a (param i64) (call $b (local.get 0)))
        (func $b (param i64) (call $a (local.get 0)))
        (func (export "run") (call $a (i64.const 1))))"#;
    // Different sizes make the overflow hit different instructions.
    for pages in 4..12 {
        let engine = Engine::new(Config::new().max_wasm_stack(pages * 4096)).unwrap();
        let (mut store, instance) = instantiate_in(&engine, text);
        let error = call(&mut store, instance, "run", &[]).unwrap_err();
        let names = frames(trap(&error).backtrace());
        for pair in names.windows(2) {
            assert_ne!(pair[0], pair[1], "a and b alternate: {names:?}");
        }
    }
}

const NESTED: &str = r#"(module
    (import "host" "reenter" (func $reenter (param i32)))
    (func $down (export "down") (param i32)
      (if (i32.eqz (local.get 0)) (then unreachable))
      (call $reenter (i32.sub (local.get 0) (i32.const 1)))))"#;

#[test]
fn backtraces_go_through_nested_host_calls() {
    for mut linker in engines().iter().map(Linker::new) {
        linker.host("reenter", |mut caller: Caller<'_, ()>, n: i32| -> Result<()> {
            call_export::<_, _, ()>(&mut caller, "down", n)
        });
        let (mut store, instance) = link(&linker, (), NESTED);
        let error = call(&mut store, instance, "down", &[Val::I32(3)]).unwrap_err();
        assert_eq!(trap(&error).code(), TrapCode::Unreachable);
        assert_eq!(names(&error), ["down"; 4]);
    }
}

#[test]
fn a_long_backtrace_is_cut() {
    let (mut store, instance) = instantiate(TRAPS);
    let error = call(&mut store, instance, "recursion", &[]).unwrap_err();
    let backtrace = trap(&error).backtrace();
    assert!(backtrace.omitted() > 1000);
    assert!(backtrace.to_string().lines().count() < 100);
    // Also the innermost frame, whose function had only begun.
    assert!(backtrace.frames().iter().all(|frame| frame.line().is_some()), "{backtrace}");
}

/// The backtrace of a deep recursion counts all frames and shows the outermost.
#[test]
fn a_recursion_is_folded_with_its_number_and_its_callers() {
    let text = r#"(module $m
      (type $f (func)) (type $c (cont $f))
      (global $left (mut i32) (i32.const 0))
      (elem declare func $nest)
      (func $down (param i32)
        (if (i32.eqz (local.get 0)) (then (unreachable)))
        (call $down (i32.sub (local.get 0) (i32.const 1))))
      (func $even (param i32)
        (if (i32.eqz (local.get 0)) (then (unreachable)))
        (call $odd (i32.sub (local.get 0) (i32.const 1))))
      (func $odd (param i32) (call $even (i32.sub (local.get 0) (i32.const 1))))
      (func $nest
        (if (i32.eqz (global.get $left)) (then (unreachable)))
        (global.set $left (i32.sub (global.get $left) (i32.const 1)))
        (resume $c (cont.new $c (ref.func $nest))))
      (func $caller (param i32) (call $down (local.get 0)))
      (func (export "alone") (param i32) (call $caller (local.get 0)))
      (func (export "pair") (param i32) (call $even (local.get 0)))
      (func (export "stacks") (param i32) (global.set $left (local.get 0)) (call $nest)))"#;
    let (mut store, instance) = instantiate(text);
    let mut check = |export: &str, depth: i32, count: usize, expected: &[&str]| {
        let error = call(&mut store, instance, export, &[Val::I32(depth)]).unwrap_err();
        let backtrace = trap(&error).backtrace();
        assert_eq!(backtrace.frames().len() + backtrace.omitted(), count, "{backtrace}");
        let text = backtrace.to_string();
        // The lines without source positions.
        let lines = text.lines().map(|line| match line.split_once(": <text>:") {
            Some((number, rest)) => format!("{number} {}", rest.rsplit(' ').next().unwrap()),
            None => line.to_string(),
        });
        let lines: Vec<String> = lines.map(|line| line.trim().to_string()).collect();
        assert_eq!(lines[1..], *expected, "{text}");
    };
    for depth in [61, 62, 100, 2000, 100_000] {
        let same = format!("... the same frame {} more times", depth - 1);
        let outer = [format!("{} m!caller", depth + 1), format!("{} m!alone", depth + 2)];
        let expected = ["0 m!down", "1 m!down", &same, &outer[0], &outer[1]];
        check("alone", depth, depth as usize + 3, &expected);
        let depth = depth / 2 * 2;
        let same = format!("... the same 2 frames {} more times", depth / 2 - 1);
        let outer = format!("{} m!pair", depth + 1);
        let expected = ["0 m!even", "1 m!odd", "2 m!even", &same, &outer];
        check("pair", depth, depth as usize + 2, &expected);
    }
    for depth in [20, 2000] {
        let same = format!("... the same frame {} more times", depth - 1);
        let outer = format!("{} m!stacks", depth + 1);
        let by = "-- resumed by resume";
        check("stacks", depth, depth as usize + 2, &["0 m!nest", by, "1 m!nest", &same, &outer]);
    }
}

#[test]
fn active_segments_that_do_not_fit_trap() {
    let engine = Engine::default();
    for (text, expected) in [
        ("(module (memory 1) (data (i32.const 65536) \"x\"))", TrapCode::MemoryOutOfBounds),
        (
            "(module (table 1 funcref) (elem (i32.const 1) $f) (func $f))",
            TrapCode::TableOutOfBounds,
        ),
    ] {
        let module = Module::new(&engine, text).unwrap();
        let mut store = Store::new(&engine, ());
        assert_eq!(code(Instance::new(&mut store, &module, &[])), expected, "{text}");
    }
}

#[test]
fn a_start_function_that_traps_fails_the_instantiation() {
    let engine = Engine::default();
    let module = Module::new(&engine, "(module (func $s unreachable) (start $s))").unwrap();
    let mut store = Store::new(&engine, ());
    traps(Instance::new(&mut store, &module, &[]), TrapCode::Unreachable);
}

#[test]
fn traps_work_on_any_thread() {
    let (mut store, instance) = instantiate_in(&Engine::default(), TRAPS);
    for _ in 0..4 {
        store = std::thread::spawn(move || {
            traps(call(&mut store, instance, "load", &[]), TrapCode::MemoryOutOfBounds);
            traps(call(&mut store, instance, "recursion", &[]), TrapCode::CallStackExhausted);
            store
        })
        .join()
        .unwrap();
    }
}

/// A frame tells the offset of its instruction, and its instance if the module has only one.
#[test]
fn a_frame_knows_its_place_in_its_function_and_its_instance() {
    let engine = Engine::default();
    let text = r#"(module
        (func $inner (local i32) (nop) (unreachable))
        (func (export "run") (nop) (nop) (call $inner)))"#;
    let module = Module::new(&engine, text).unwrap();
    let mut store = Store::new(&engine, ());
    let frames = |store: &mut Store<()>, instance| {
        let error = call(store, instance, "run", &[]).unwrap_err();
        trap(&error).backtrace().frames().to_vec()
    };
    let first = Instance::new(&mut store, &module, &[]).unwrap();
    let of_first = frames(&mut store, first);
    // A declaration of one local takes three bytes, of none one.
    let places: Vec<_> = of_first.iter().map(|frame| frame.function_offset()).collect();
    assert_eq!(places, [Some(3 + 1), Some(1 + 2)]);
    let instances = |store: &Store<()>, frames: &[Frame]| {
        frames.iter().map(|frame| Instance::of_frame(store, frame)).collect::<Vec<_>>()
    };
    assert_eq!(instances(&store, &of_first), [Some(first); 2]);
    // Another store has its own instance and does not know the first.
    let mut other = Store::new(&engine, ());
    let second = Instance::new(&mut other, &module, &[]).unwrap();
    let of_second = frames(&mut other, second);
    assert_eq!(instances(&other, &of_second), [Some(second); 2]);
    assert_eq!(instances(&other, &of_first), [None; 2]);
    // Of two instances in one store the frame cannot tell which it was. Earlier frames still can.
    Instance::new(&mut store, &module, &[]).unwrap();
    let of_both = frames(&mut store, first);
    assert_eq!(instances(&store, &of_both), [None; 2]);
    assert_eq!(instances(&store, &of_first), [Some(first); 2]);
}
