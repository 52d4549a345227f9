//! Profiles: where a program spends its time, across stacks.

use crate::common::*;
use ropewalk::*;
use std::time::Duration;

const INTERVAL: Duration = Duration::from_millis(1);

/// A continuation runs a task with a loop. The root has a loop too.
const NESTED: &str = r#"(module $m
  (import "host" "f" (func $back))
  (type $f (func)) (type $c (cont $f)) (type $t (task)) (elem declare func $outer $inner)
  (func $spin (export "spin") (local $n i32)
    (local.set $n (i32.const 50_000_000))
    (loop $l (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
  (func $inner (param (ref null $t)) (call $spin))
  (func $outer (task.resume $t (task.new $t $inner)))
  (func (export "run") (resume $c (cont.new $c (ref.func $outer))))
  (func (export "through_host") (call $back)))"#;

fn profile_of(engine: &Engine, export: &str) -> Profile {
    let back = |mut caller: Caller<'_, ()>| -> Result<()> {
        call_export::<_, _, ()>(&mut caller, "spin", ())
    };
    let (mut store, instance) = with_host(engine, NESTED, back);
    profile(&mut store, instance, export, &[])
}

/// A profile of a call. On a loaded machine, the timer may ring only after the call: then it is
/// repeated.
fn profile(store: &mut Store<()>, instance: Instance, export: &str, given: &[Val]) -> Profile {
    for _ in 0..100 {
        store.start_profile(INTERVAL).unwrap();
        call(store, instance, export, given).unwrap();
        let profile = store.take_profile().unwrap();
        if profile.to_folded().contains("m!spin") {
            return profile;
        }
    }
    panic!("no profile has a sample of the loop");
}

fn interruptible(mode: Mode) -> Engine {
    Engine::new(mode.config().interruption(true)).unwrap()
}

#[test]
fn time_is_that_of_all_stacks_that_wait() {
    for mode in [DEFAULT, MOVE, PARK, CHECK, MINIMAL_STACKS] {
        let profile = profile_of(&interruptible(mode), "run");
        let folded = profile.to_folded();
        let lines = folded.lines().map(|line| line.rsplit_once(' ').unwrap());
        let counts: Vec<(&str, usize)> =
            lines.map(|(stack, n)| (stack, n.parse().unwrap())).collect();
        let (spinning, _) = *counts.iter().max_by_key(|(_, count)| *count).unwrap();
        assert_eq!(spinning, "m!run;m!outer;m!inner;m!spin", "{}: {folded}", mode.name);
        // A slow machine can have samples of the way to the loop.
        assert!(counts.iter().all(|(stack, _)| spinning.starts_with(stack)), "{folded}");
        let total: usize = counts.iter().map(|(_, count)| count).sum();
        assert_eq!(total, profile.samples.len(), "{folded}");
        assert!(profile.samples.windows(2).all(|pair| pair[0].time <= pair[1].time));
        assert_eq!(profile.interval, INTERVAL);
    }
}

/// A loop below a recursion, on a stack of its own.
const DEEP: &str = r#"(module $m
  (type $f (func)) (type $c (cont $f))
  (global $depth (mut i32) (i32.const 0))
  (elem declare func $body)
  (func $spin (local $n i32)
    (local.set $n (i32.const 50_000_000))
    (loop $l (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
  (func $down (param i32)
    (if (local.get 0)
      (then (call $down (i32.sub (local.get 0) (i32.const 1))))
      (else (call $spin))))
  (func $body (call $down (global.get $depth)))
  (func (export "run") (param i32)
    (global.set $depth (local.get 0))
    (resume $c (cont.new $c (ref.func $body)))))"#;

#[test]
fn time_of_a_deep_recursion_is_that_of_its_callers() {
    let down = |count: usize| "m!down;".repeat(count);
    for (depth, expected) in [
        (1, format!("m!run;m!body;{}m!spin", down(2))),
        (100, format!("m!run;m!body;{}m!spin", down(101))),
        // Of each 64 frames some are the beginnings of stacks.
        (1_000, format!("m!run;m!body;{}(calls left out);{}m!spin", down(61), down(63))),
        (100_000, format!("m!run;m!body;{}(calls left out);{}m!spin", down(61), down(63))),
    ] {
        let (mut store, instance) = instantiate_in(&interruptible(DEFAULT), DEEP);
        let folded = profile(&mut store, instance, "run", &[Val::I32(depth)]).to_folded();
        let of_spin: Vec<&str> = folded.lines().filter(|line| line.contains("m!spin")).collect();
        assert_eq!(of_spin.len(), 1, "{folded}");
        assert_eq!(of_spin[0].rsplit_once(' ').unwrap().0, expected, "{depth}");
        assert!(folded.lines().all(|line| line.starts_with("m!run")), "{folded}");
    }
}

#[test]
fn calls_through_the_host_count_for_their_caller() {
    let folded = profile_of(&interruptible(DEFAULT), "through_host").to_folded();
    assert!(folded.lines().any(|line| line.starts_with("m!through_host;m!spin ")), "{folded}");
}

#[test]
fn a_profile_ends_when_it_is_taken() {
    let (mut store, instance) = with_host(&interruptible(DEFAULT), NESTED, || {});
    assert!(store.take_profile().unwrap_err().to_string().contains("no profile was started"));
    store.start_profile(INTERVAL).unwrap();
    store.take_profile().unwrap();
    call(&mut store, instance, "spin", &[]).unwrap();
    store.start_profile(INTERVAL).unwrap();
    assert!(store.take_profile().unwrap().samples.is_empty());
}

#[test]
fn a_profile_continues_after_a_trap_and_with_a_deadline() {
    let (mut store, instance) = with_host(&interruptible(DEFAULT), NESTED, || {});
    store.start_profile(INTERVAL).unwrap();
    store.set_timeout(Duration::from_millis(5)).unwrap();
    traps(call(&mut store, instance, "run", &[]), TrapCode::Interrupt);
    store.set_deadline(None).unwrap();
    // One call may be over before the timer rings.
    (0..20).for_each(|_| drop(call(&mut store, instance, "spin", &[]).unwrap()));
    let folded = store.take_profile().unwrap().to_folded();
    assert!(folded.lines().any(|line| line.starts_with("m!spin ")), "{folded}");
}

#[test]
fn a_profile_needs_functions_that_can_stop_and_some_time() {
    let mut store = Store::new(&Engine::default(), ());
    fails_with(store.start_profile(INTERVAL), "Config::interruption");
    let mut store = Store::new(&interruptible(DEFAULT), ());
    assert!(store.start_profile(Duration::ZERO).unwrap_err().to_string().contains("zero"));
}

#[test]
fn perf_is_told_where_functions_are() {
    let engine = Engine::new(Config::new().perf_map(true)).unwrap();
    Module::new(&engine, "(module $told (func $first (export \"f\") (nop)) (func (nop)))").unwrap();
    let path = format!("/tmp/perf-{}.map", std::process::id());
    let map = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let lines: Vec<Vec<&str>> = map.lines().map(|line| line.splitn(3, ' ').collect()).collect();
    let names: Vec<&str> = lines.iter().map(|line| line[2]).collect();
    assert_eq!(names, ["wasm told!first", "wasm told!<function 1>"]);
    let number = |word: &str| u64::from_str_radix(word, 16).unwrap();
    assert!(number(lines[0][0]) + number(lines[0][1]) <= number(lines[1][0]));
    assert!(lines.iter().all(|line| number(line[1]) > 0));
}

#[test]
fn the_file_for_perf_ends_when_the_last_engine_does() {
    const CLOSE: [u8; 8] = [3, 0, 0, 0, 16, 0, 0, 0];
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("jitdump");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("jit-{}.dump", std::process::id()));
    let engine = || Engine::new(Config::new().jitdump(folder.clone())).unwrap();
    let is_closed = |bytes: &[u8]| bytes[bytes.len() - 16..].starts_with(&CLOSE);
    let (first, second) = (engine(), engine());
    Module::new(&first, "(module $first (func $f (nop)))").unwrap();
    drop(first);
    assert!(!is_closed(&std::fs::read(&path).unwrap()));
    drop(second);
    let closed = std::fs::read(&path).unwrap();
    assert!(is_closed(&closed));
    // The profile continues with the next engine.
    let third = engine();
    Module::new(&third, "(module $third (func $f (nop)))").unwrap();
    drop(third);
    let bytes = std::fs::read(&path).unwrap();
    assert!(is_closed(&bytes) && bytes.starts_with(&closed[..closed.len() - 16]));
    let has = |name: &str| bytes.windows(name.len()).any(|part| part == name.as_bytes());
    assert!(has("wasm first!f") && has("wasm third!f"));
    std::fs::remove_dir_all(&folder).unwrap();
}
