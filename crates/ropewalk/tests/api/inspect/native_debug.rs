//! Backtraces of a real gdb, from the host through WebAssembly and its stacks to the host again.
//!
//! Each test starts gdb, which runs the same test as a child. Without gdb the tests print a message and pass.

use crate::common::process::{rerun, told_by_parent};
use crate::common::*;
use ropewalk::*;
use std::hint::black_box;
use std::process::Command;

/// Where gdb stops.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn the_debugger_stops_here() {
    black_box(());
}

/// Runs the current test again in gdb. Returns what gdb prints at each stop, or nothing without gdb.
fn gdb(mode: &str, at_each_stop: &[&str], stops: usize) -> Option<Vec<String>> {
    let mut gdb = Command::new("gdb");
    gdb.args(["-batch", "-nx", "-iex", "set debuginfod enabled off", "-iex", "set width 0"]);
    gdb.args(["-ex", "break the_debugger_stops_here", "-ex", "run"]);
    for _ in 0..stops {
        gdb.args(["-ex", "echo STOP\\n"]);
        for command in at_each_stop {
            gdb.args(["-ex", command]);
        }
        gdb.args(["-ex", "echo STOP\\n", "-ex", "continue"]);
    }
    let test = rerun(mode);
    gdb.arg("--args").arg(test.get_program()).args(test.get_args());
    gdb.envs(test.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = match gdb.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("gdb cannot be started, so nothing is tested: {error}");
            return None;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let parts: Vec<String> = text.split("STOP\n").map(str::to_string).collect();
    assert_eq!(parts.len(), 2 * stops + 1, "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    Some(parts.into_iter().skip(1).step_by(2).collect())
}

/// Fails unless the backtrace has these parts in this order, among others.
#[track_caller]
fn has_in_order(backtrace: &str, expected: &[&str]) {
    let mut lines = backtrace.lines();
    for part in expected {
        assert!(lines.any(|line| line.contains(part)), "no {part:?} in its place:\n{backtrace}");
    }
}

/// A continuation calls the host, which calls back: a continuation runs a task, which runs a fiber,
/// which stops. Then a stack of the bag stops.
const NESTED: &str = r#"(module $m
  (import "host" "f" (func $host (param i32)))
  (type $f (func)) (type $c (cont $f)) (type $t (task))
  (rec (type $back (stack (ref null $s))) (type $s (stack (ref null $back))))
  (tag $go) (tag $end)
  (elem declare func $outer $inner $body)
  (func $in-fiber (param $me fiberref)
    (call $host (i32.const 0))
    (fiber.dismount_release $end (local.get $me)))
  (func $inner (param (ref null $t))
    (block $done
      (fiber.mount $go (on $end $done) (fiber.new (on $go $in-fiber)))
      (unreachable)))
  (func $outer
    (task.resume $t (task.new $t $inner)))
  (func (export "back") (param i32) (result i32)
    (resume $c (cont.new $c (ref.func $outer)))
    (local.get 0))
  (func $body
    (call $host (i32.const 1)))
  (func (export "nested")
    (resume $c (cont.new $c (ref.func $body))))
  (func $in-bag (param $root (ref null $back))
    (call $host (i32.const 0))
    (switch_retire $back (local.get $root)))
  (func (export "bag")
    (drop (switch $s (stack.new $s $in-bag))))
  (func (export "float") (param f64) (result f64)
    (call $host (i32.const 0)) (local.get 0))
  (func (export "traps") (unreachable)))"#;

/// A store whose host function stops or calls back.
fn nested(mode: &str) -> (Store<()>, Instance) {
    let mut config = match mode {
        "moving" => MOVE.config(),
        _ => DEFAULT.config(),
    };
    config.native_debug(true).trace(mode == "traced");
    let engine = Engine::new(&config).unwrap();
    with_host(&engine, NESTED, |mut caller: Caller<'_, ()>, again: i32| -> Result<()> {
        match again {
            0 => the_debugger_stops_here(),
            _ => drop(call_back(&mut caller, "back", 0)?),
        }
        Ok(())
    })
}

#[test]
fn backtraces_go_through_stacks_and_activations() {
    if let Some(mode) = told_by_parent() {
        let (mut store, instance) = nested(&mode);
        call(&mut store, instance, "nested", &[]).unwrap();
        call(&mut store, instance, "bag", &[]).unwrap();
        assert_eq!(invoke::<f64, f64>(&mut store, instance, "float", 0.5).unwrap(), 0.5);
        return;
    }
    for mode in ["default", "moving", "traced"] {
        let Some(stops) = gdb(mode, &["bt"], 3) else { return };
        let host = "native_debug.rs";
        has_in_order(
            &stops[0],
            &[
                "the_debugger_stops_here",
                host,
                "wasm m!in-fiber () at <text>:8",
                "wasm m!inner () at <text>:12",
                "wasm m!outer () at <text>:15",
                "wasm m!back () at <text>:17",
                host,
                "wasm m!body () at <text>:20",
                "wasm m!nested () at <text>:22",
                host,
                "start_thread",
            ],
        );
        has_in_order(&stops[1], &["wasm m!in-bag () at <text>:24", host, "start_thread"]);
        assert!(!stops[1].contains("m!bag"), "no stack waits for it:\n{}", stops[1]);
        has_in_order(&stops[2], &["wasm m!float () at <text>:29", host, "start_thread"]);
    }
}

#[test]
fn a_trap_is_shown_where_it_happens() {
    if let Some(mode) = told_by_parent() {
        let (mut store, instance) = nested(&mode);
        traps(call(&mut store, instance, "traps", &[]), TrapCode::Unreachable);
        return;
    }
    let Some(stops) = gdb("default", &["bt"], 1) else {
        return;
    };
    let first = stops[0].lines().next().unwrap();
    assert!(first.contains("wasm m!traps () at <text>:30"), "{}", stops[0]);
    has_in_order(&stops[0], &["native_debug.rs", "start_thread"]);
}

#[test]
fn modules_that_are_dropped_are_forgotten() {
    if told_by_parent().is_some() {
        let engine = Engine::new(Config::new().native_debug(true)).unwrap();
        let kept = Module::new(&engine, "(module $kept (func $f (nop)))").unwrap();
        let dropped = Module::new(&engine, "(module $dropped (func $f (nop)))").unwrap();
        the_debugger_stops_here();
        drop(dropped);
        the_debugger_stops_here();
        drop(kept);
        return;
    }
    let functions = ["info line 'wasm kept!f'", "info line 'wasm dropped!f'"];
    let Some(stops) = gdb("default", &functions, 2) else { return };
    let knows = |stop: &str, name: &str| stop.contains(&format!("<wasm {name}!f>"));
    assert!(knows(&stops[0], "kept") && knows(&stops[0], "dropped"), "{}", stops[0]);
    assert!(knows(&stops[1], "kept") && !knows(&stops[1], "dropped"), "{}", stops[1]);
}

#[test]
fn native_debug_info_is_off_by_default() {
    if told_by_parent().is_some() {
        let module = Module::new(&Engine::default(), "(module $m (func $f (nop)))").unwrap();
        the_debugger_stops_here();
        drop(module);
        return;
    }
    let Some(stops) = gdb("default", &["info line 'wasm m!f'"], 1) else { return };
    assert!(!stops[0].contains("wasm m!f"), "{}", stops[0]);
}
