//! Traces of stacks in every design.

use crate::common::designs::DESIGNS;
use crate::common::*;
use ropewalk::traces::{Design, Event, EventKind, FramesId, StackId, Trace};
use ropewalk::*;
use std::sync::{Arc, Mutex};

/// The stress modes that record the same events, except parking, growing and collecting.
const MODES: [Mode; 7] = [DEFAULT, MOVE, COLLECT, COLLECT_AND_MOVE, PARK, CHECK, MINIMAL_STACKS];

fn traced(mode: Mode) -> Engine {
    Engine::new(mode.config().trace(true)).unwrap()
}

/// Runs `sum` of a program that calls the host at the end.
fn trace_of_sum(engine: &Engine, program: &str, count: i32) -> Trace {
    let (mut store, instance) = with_host(engine, program, || {});
    store.take_trace().unwrap();
    let squares: i32 = (1..=count).map(|i| i * i).sum();
    assert_eq!(number(&mut store, instance, "sum", &[count]).unwrap(), squares);
    store.take_trace().unwrap()
}

/// An event in words: the stack, what happened, and to whom. Stacks are named by their order.
fn words(trace: &Trace) -> Vec<String> {
    let mut seen: Vec<StackId> = Vec::new();
    let mut name = |id: StackId| {
        let place = seen.iter().position(|other| *other == id).unwrap_or_else(|| {
            seen.push(id);
            seen.len() - 1
        });
        char::from(b'A' + place as u8).to_string()
    };
    let tag = |tag: Option<traces::TagId>| {
        tag.map_or(String::new(), |tag| format!(" ${}", trace.tags[tag.index()].name))
    };
    let is_shown = |event: &&Event| {
        let what = &event.what;
        !matches!(
            what,
            EventKind::Park
                | EventKind::Unpark
                | EventKind::Grow { .. }
                | EventKind::Collect { .. }
        )
    };
    let word = |event: &Event| {
        let stack = name(event.stack);
        let what = match &event.what {
            EventKind::Enter => "enter".to_string(),
            EventKind::Leave => "leave".to_string(),
            EventKind::Create { created } => format!("create {}", name(*created)),
            EventKind::Clone { created, origin, parent, outermost } => {
                let parent = parent.map_or("nothing".to_string(), &mut name);
                let (outermost, origin) = (name(*outermost), name(*origin));
                format!("clone {origin} as {} on {parent} up to {outermost}", name(*created))
            }
            EventKind::Resume { target, tag: t, values } => {
                format!("resume {}{} ({values})", name(*target), tag(*t))
            }
            EventKind::Suspend { to, outermost, tag: t, values } => {
                format!("suspend {} to {}{} ({values})", name(*outermost), name(*to), tag(*t))
            }
            EventKind::Switch { target, outermost, tag: t, values } => {
                format!("switch {} to {}{} ({values})", name(*outermost), name(*target), tag(*t))
            }
            EventKind::Return { to, tag: t, values } => {
                format!("return to {}{} ({values})", name(*to), tag(*t))
            }
            EventKind::Retire { to, tag: t, values } => {
                format!("retire to {}{} ({values})", name(*to), tag(*t))
            }
            EventKind::Refuse { by, tag: t } => format!("refused by {}{}", name(*by), tag(*t)),
            EventKind::Throw { to, tag: t } => {
                format!("throw to {}{}", to.map_or("host".to_string(), &mut name), tag(*t))
            }
            EventKind::Trap { message } => format!("trap: {message}"),
            EventKind::Drop => "drop".to_string(),
            EventKind::HostCall { function } => {
                let function = &trace.functions[function.index()];
                format!("call {} {}", function.module, function.name)
            }
            EventKind::HostReturn => "host returns".to_string(),
            _ => unreachable!("not shown"),
        };
        format!("{stack}: {what}")
    };
    trace.events.iter().filter(is_shown).map(word).collect()
}

/// The names of the functions at an event, the innermost first.
fn functions(trace: &Trace, frames: Option<FramesId>) -> Vec<&str> {
    let name = |frame: &traces::Frame| trace.functions[frame.function.index()].name.as_str();
    trace.frames(frames).map(name).collect()
}

fn runs(module: &str, export: &str) -> Trace {
    runs_in(&traced(DEFAULT), module, export).0
}

/// Runs an export, which may fail, and returns the trace.
fn runs_in(engine: &Engine, module: &str, export: &str) -> (Trace, Result<Vec<Val>>) {
    let (mut store, instance) = instantiate_in(engine, module);
    store.take_trace().unwrap();
    let result = call(&mut store, instance, export, &[]);
    (store.take_trace().unwrap(), result)
}

#[test]
fn a_generator_is_recorded_in_each_design_and_mode() {
    for (kind, program) in DESIGNS {
        let (begin, step) = match kind {
            StackKind::Continuation => ("", "A: resume B (), B: suspend B to A $yield (N)"),
            StackKind::Fiber => ("", "A: resume B $next (), B: suspend B to A $yield (N)"),
            StackKind::Bag => ("", "A: switch A to B (stack), B: switch B to A (N stack)"),
            StackKind::Task => ("", "A: resume B (), B: suspend B to A (N)"),
            StackKind::FirstClass => (
                "A: resume B (), B: suspend B to A (), ",
                "A: switch A to B $next (stack), B: switch B to A $yield (N stack)",
            ),
        };
        let [one, four] = ["1", "4"].map(|value| step.replace('N', value));
        let end = match kind {
            StackKind::Continuation | StackKind::Bag => "A: leave",
            _ => "B: drop, A: leave",
        };
        let expected = format!(
            "A: enter, A: create B, {begin}{one}, {four}, A: call host f, A: host returns, {end}"
        );
        for mode in MODES {
            let trace = trace_of_sum(&traced(mode), program, 2);
            let is_new_stack = |word: &&String| !word.contains("new_stack");
            let words: Vec<String> = words(&trace).iter().filter(is_new_stack).cloned().collect();
            assert_eq!(words.join(", "), expected, "{kind:?}, {}", mode.name);
            assert_eq!(trace.dropped, 0);
        }
    }
}

#[test]
fn events_have_frames_positions_and_times_in_order() {
    for mode in MODES {
        let (_, program) = DESIGNS[0];
        let trace = trace_of_sum(&traced(mode), program, 3);
        let of = |wanted: fn(&EventKind) -> bool| {
            trace.events.iter().find(|event| wanted(&event.what)).expect("it has happened")
        };
        let resume = of(|what| matches!(what, EventKind::Resume { .. }));
        assert_eq!(functions(&trace, resume.frames), ["sum"]);
        let suspend = of(|what| matches!(what, EventKind::Suspend { .. }));
        assert_eq!(functions(&trace, suspend.frames), ["squares"]);
        let frame = trace.frames(suspend.frames).next().unwrap();
        let position = &trace.positions[frame.position.unwrap().index()];
        assert_eq!((position.line, position.column), (7, 8), "{}", mode.name);
        assert!(position.source.contains("(suspend $yield"), "{}", position.source);
        assert!(trace.events.windows(2).all(|pair| pair[0].time <= pair[1].time));
        let generator = &trace.stacks[suspend.stack.index()];
        assert_eq!(generator.design, Design::Continuation);
        let function = &trace.functions[generator.function.unwrap().index()];
        assert_eq!((&*function.module, &*function.name), ("m", "squares"));
    }
}

/// Nested continuations, a `switch`, a value of each kind, and returns.
const NESTED: &str = r#"(module $m
  (type $f (func)) (type $c (cont $f))
  (rec (type $fs (func (param (ref null $cs)))) (type $cs (cont $fs)))
  (tag $far (param i64 f64 funcref) (result i32))
  (type $fr (func (param i32))) (type $cr (cont $fr)) (tag $sw)
  (elem declare func $inner $outer $one $two)
  (func $inner (drop (suspend $far (i64.const -5) (f64.const 1.5) (ref.func $inner))))
  (func $outer (resume $c (cont.new $c (ref.func $inner))))
  (func (export "far") (local $k (ref null $cr))
    (block $on (result i64 f64 funcref (ref $cr))
      (resume $c (on $far $on) (cont.new $c (ref.func $outer))) (unreachable))
    (local.set $k) (drop) (drop) (drop)
    (resume $cr (i32.const 9) (local.get $k)))
  (func $one (type $fs) (switch $cs $sw (cont.new $cs (ref.func $two))) (drop))
  (func $two (type $fs))
  (func (export "switches")
    (resume $cs (on $sw switch) (ref.null $cs) (cont.new $cs (ref.func $one)))))"#;

#[test]
fn omitted_frames_of_a_deep_stack_are_marked() {
    let module = r#"(module
        (import "host" "f" (func $f))
        (func $down (param i32)
          (if (local.get 0)
            (then (call $down (i32.sub (local.get 0) (i32.const 1))))
            (else (call $f))))
        (func (export "run") (call $down (i32.const 100)) (call $down (i32.const 3))))"#;
    let (mut store, instance) = with_host(&traced(DEFAULT), module, || {});
    store.take_trace().unwrap();
    call(&mut store, instance, "run", &[]).unwrap();
    let trace = store.take_trace().unwrap();
    let calls =
        trace.events.iter().filter(|event| matches!(event.what, EventKind::HostCall { .. }));
    let calls: Vec<_> = calls.map(|event| functions(&trace, event.frames)).collect();
    let [deep, shallow] = &calls[..] else { panic!("two calls: {calls:?}") };
    assert_eq!(deep.last(), Some(&"(calls left out)"));
    assert!(deep.len() > 60 && deep[..deep.len() - 1].iter().all(|name| *name == "down"));
    assert_eq!(shallow[..], ["down", "down", "down", "down", "run"]);
    let root = trace.events[0].stack;
    assert!(traces::Timeline::of(&trace).stack_name(&trace, root).ends_with(" run"));
}

#[test]
fn stacks_suspended_together_are_told_by_the_outermost() {
    for mode in MODES {
        let (trace, result) = runs_in(&traced(mode), NESTED, "far");
        result.unwrap();
        assert_eq!(
            words(&trace),
            [
                "A: enter",
                "A: create B",
                "A: resume B ()",
                "B: create C",
                "B: resume C ()",
                "C: suspend B to A $far (-5 1.5 func)",
                "A: resume C (9)",
                "C: return to B ()",
                "B: return to A ()",
                "A: leave",
            ],
            "{}",
            mode.name
        );
    }
}

#[test]
fn a_switch_of_continuations_tells_which_takes_the_place_of_which() {
    let trace = runs(NESTED, "switches");
    assert_eq!(
        words(&trace),
        [
            "A: enter",
            "A: create B",
            "A: resume B (null)",
            "B: create C",
            "B: switch B to C $sw (cont)",
            "C: return to A ()",
            "A: leave",
        ]
    );
}

#[test]
fn exceptions_that_cross_stacks_are_recorded_for_each_that_they_leave() {
    let module = r#"(module
      (type $f (func)) (type $c (cont $f)) (tag $e) (tag $y)
      (elem declare func $inner $outer $waits)
      (func $inner (throw $e))
      (func $outer (resume $c (cont.new $c (ref.func $inner))))
      (func (export "caught")
        (block $h (try_table (catch $e $h) (resume $c (cont.new $c (ref.func $outer))))))
      (func (export "uncaught") (throw $e))
      (func $waits (suspend $y))
      (func (export "thrown_at") (local $k (ref null $c))
        (block $on (result (ref $c))
          (resume $c (on $y $on) (cont.new $c (ref.func $waits))) (unreachable))
        (local.set $k)
        (block $h (try_table (catch $e $h) (resume_throw $c $e (local.get $k))))))"#;
    for mode in MODES {
        let engine = traced(mode);
        let (trace, result) = runs_in(&engine, module, "caught");
        result.unwrap();
        assert_eq!(
            words(&trace)[5..],
            ["C: throw to B $e", "B: throw to A $e", "A: leave"],
            "{}",
            mode.name
        );
        let (trace, result) = runs_in(&engine, module, "uncaught");
        assert!(result.unwrap_err().is::<Exception>());
        assert_eq!(words(&trace), ["A: enter", "A: throw to host $e", "A: leave"]);
        let (trace, result) = runs_in(&engine, module, "thrown_at");
        result.unwrap();
        assert_eq!(
            words(&trace)[4..],
            ["A: resume B ()", "B: throw to A $e", "A: leave"],
            "{}",
            mode.name
        );
    }
}

#[test]
fn a_trap_is_recorded_with_its_position_and_the_stacks_that_end() {
    let module = r#"(module
      (type $f (func)) (type $c (cont $f)) (tag $nobody) (elem declare func $body $waits)
      (func $body (unreachable))
      (func $waits (suspend $nobody))
      (func (export "fault") (resume $c (cont.new $c (ref.func $body))))
      (func (export "unhandled") (resume $c (cont.new $c (ref.func $waits)))))"#;
    for mode in MODES {
        for (export, message, function) in
            [("fault", "unreachable", "body"), ("unhandled", "unhandled tag", "waits")]
        {
            let (trace, result) = runs_in(&traced(mode), module, export);
            result.unwrap_err();
            assert_eq!(
                words(&trace)[3..],
                [format!("B: trap: {message}"), "B: drop".to_string(), "A: leave".to_string()]
            );
            let is_trap = |event: &&Event| matches!(event.what, EventKind::Trap { .. });
            let trap = trace.events.iter().find(is_trap).unwrap();
            assert_eq!(functions(&trace, trap.frames), [function], "{}", mode.name);
        }
    }
}

#[test]
fn tasks_and_fibers_switch_retire_and_return() {
    let module = r#"(module
      (type $t (task (result i32)))
      (func $ends (param (ref null $t)) (result i32) (i32.const 4))
      (func $retires (param $me (ref null $t)) (result i32)
        (task.retire $t (local.get $me) (i32.const 5)))
      (func $switches (param $me (ref null $t)) (result i32)
        (task.switchto $t $t (local.get $me) (task.new $t $ends)) (unreachable))
      (func (export "ends") (result i32) (task.resume $t (task.new $t $ends)))
      (func (export "retires") (result i32) (task.resume $t (task.new $t $retires)))
      (func (export "switches") (result i32) (task.resume $t (task.new $t $switches))))"#;
    let last = |export| words(&runs(module, export))[3..].to_vec();
    assert_eq!(last("ends"), ["B: return to A (4)", "A: leave"]);
    assert_eq!(last("retires"), ["B: retire to A (5)", "A: leave"]);
    assert_eq!(
        last("switches"),
        ["B: create C", "B: switch B to C ()", "C: return to A (4)", "A: leave"]
    );
    let module = r#"(module
      (tag $go) (tag $done (param i32))
      (func $ends (param fiberref) (result i32) (i32.const 6))
      (func (export "run") (result i32)
        (block $l (result i32)
          (fiber.mount $go (on $done $l) (fiber.new $done (on $go $ends))) (unreachable))))"#;
    assert_eq!(words(&runs(module, "run"))[3..], ["B: return to A $done (6)", "A: leave"]);
    let module = r#"(module
      (tag $go (param i32)) (tag $other) (tag $done (param i32))
      (func $returns (param fiberref i32) (result i32) (local.get 1))
      (func $leaves (param $me fiberref) (param i32) (result i32)
        (fiber.dismount_release $other (local.get $me))
        (fiber.switch_release $go (i32.const 5) (local.get $me) (fiber.new $done (on $go $returns)))
        (unreachable))
      (func (export "run") (result i32) (local $f fiberref)
        (local.set $f (fiber.new $done (on $go $leaves)))
        (fiber.mount $other (local.get $f))
        (block $l (result i32)
          (fiber.mount $go (on $done $l) (i32.const 7) (local.get $f))
          (unreachable))))"#;
    assert_eq!(
        words(&runs(module, "run"))[2..],
        [
            "A: refused by B $other",
            "A: resume B $go (7)",
            "B: refused by A $other",
            "B: create C",
            "B: retire to C $go (5)",
            "C: return to A $done (5)",
            "A: leave",
        ]
    );
}

#[test]
fn collections_growth_and_parking_are_recorded() {
    let module = r#"(module
      (type $f (func)) (type $c (cont $f)) (tag $y)
      (global $kept (mut (ref null $c)) (ref.null $c))
      (elem declare func $body $deep)
      (func $body (suspend $y))
      (func (export "keep")
        (block $on (result (ref $c))
          (resume $c (on $y $on) (cont.new $c (ref.func $body))) (return))
        (global.set $kept))
      (func (export "continue") (resume $c (global.get $kept)))
      (func $recurse (param i32)
        (if (local.get 0) (then (call $recurse (i32.sub (local.get 0) (i32.const 1)))
          (drop (i32.const 1)))))
      (func $deep (call $recurse (i32.const 20000)))
      (func (export "grow") (resume $c (cont.new $c (ref.func $deep)))))"#;
    let (mut store, instance) = instantiate_in(&traced(DEFAULT), module);
    for _ in 0..2 {
        call(&mut store, instance, "keep", &[]).unwrap();
    }
    store.gc();
    store.park_idle();
    call(&mut store, instance, "continue", &[]).unwrap();
    call(&mut store, instance, "grow", &[]).unwrap();
    let trace = store.take_trace().unwrap();
    let count = |wanted: fn(&EventKind) -> bool| {
        trace.events.iter().filter(|event| wanted(&event.what)).count()
    };
    assert_eq!(count(|what| matches!(what, EventKind::Collect { stacks_freed: 1, .. })), 1);
    assert_eq!(count(|what| matches!(what, EventKind::Drop)), 1);
    assert_eq!(count(|what| matches!(what, EventKind::Park)), 1);
    assert_eq!(count(|what| matches!(what, EventKind::Unpark)), 1);
    assert!(count(|what| matches!(what, EventKind::Grow { bytes } if *bytes > 112 << 10)) > 0);
}

#[test]
fn a_copy_is_a_stack_of_its_own() {
    let module = r#"(module
        (type $f (func)) (type $k (cont $f)) (tag $yield) (elem declare func $body)
        (func $body (suspend $yield))
        (func (export "run") (local $first (ref null $k)) (local $second (ref null $k))
          (block $yielded (result (ref $k))
            (resume $k (on $yield $yielded) (cont.new $k (ref.func $body))) (unreachable))
          (local.set $first)
          (local.set $second (cont.clone $k (local.get $first)))
          (resume $k (local.get $second))
          (resume $k (local.get $first))))"#;
    let expected = [
        "A: enter",
        "A: create B",
        "A: resume B ()",
        "B: suspend B to A $yield ()",
        "A: clone B as C on nothing up to C",
        "A: resume C ()",
        "C: return to A ()",
        "A: resume B ()",
        "B: return to A ()",
        "A: leave",
    ];
    for mode in MODES {
        let (trace, result) = runs_in(&traced(mode), module, "run");
        result.unwrap();
        assert_eq!(words(&trace), expected);
    }
}

#[test]
fn copies_of_a_chain_are_linked_as_their_origins_are() {
    let module = r#"(module
        (type $f (func)) (type $k (cont $f)) (tag $yield) (elem declare func $inner $outer)
        (func $inner (suspend $yield) (suspend $yield))
        (func $outer (resume $k (cont.new $k (ref.func $inner))))
        (func (export "run") (local $first (ref null $k)) (local $second (ref null $k))
          (block $yielded (result (ref $k))
            (resume $k (on $yield $yielded) (cont.new $k (ref.func $outer))) (unreachable))
          (local.set $first)
          (local.set $second (cont.clone $k (local.get $first)))
          (block $again (result (ref $k))
            (resume $k (on $yield $again) (local.get $second)) (unreachable))
          (local.set $second)
          (resume $k (local.get $second))))"#;
    // In the copy, E runs on D.
    let expected = [
        "A: enter",
        "A: create B",
        "A: resume B ()",
        "B: create C",
        "B: resume C ()",
        "C: suspend B to A $yield ()",
        "A: clone B as D on nothing up to D",
        "A: clone C as E on D up to D",
        "A: resume E ()",
        "E: suspend D to A $yield ()",
        "A: resume E ()",
        "E: return to D ()",
        "D: return to A ()",
        "A: leave",
    ];
    for mode in MODES {
        let (trace, result) = runs_in(&traced(mode), module, "run");
        result.unwrap();
        let words: Vec<String> =
            words(&trace).into_iter().filter(|word| !word.ends_with("drop")).collect();
        assert_eq!(words, expected);
    }
}

#[test]
fn the_oldest_events_are_dropped_and_counted() {
    let (_, program) = DESIGNS[0];
    let (mut store, instance) = with_host(&traced(DEFAULT), program, || {});
    store.set_trace_limit(10).unwrap();
    number(&mut store, instance, "sum", &[100]).unwrap();
    let trace = store.take_trace().unwrap();
    assert_eq!((trace.events.len(), trace.dropped), (10, 205 - 10));
    assert_eq!(trace.events.last().unwrap().what, EventKind::Leave);
    assert_eq!(store.take_trace().unwrap().dropped, 0);
    store.set_trace_limit(0).unwrap();
    number(&mut store, instance, "sum", &[1]).unwrap();
    let trace = store.take_trace().unwrap();
    assert_eq!((trace.events.len(), trace.dropped), (0, 7));
}

#[test]
fn a_stack_keeps_its_number_and_no_other_gets_it() {
    let (_, program) = DESIGNS[2];
    for mode in MODES.into_iter().chain(GENERATIONS_LEFT) {
        let (mut store, instance) = with_host(&traced(mode), program, || {});
        let mut created = Vec::new();
        for _ in 0..5 {
            number(&mut store, instance, "sum", &[3]).unwrap();
            let trace = store.take_trace().unwrap();
            for event in &trace.events {
                if let EventKind::Create { created: stack } = event.what {
                    assert_eq!(trace.stacks[stack.index()].design, Design::Task);
                    created.push(stack);
                }
            }
            let dropped = trace.events.iter().rfind(|event| event.what == EventKind::Drop);
            assert_eq!(dropped.map(|event| event.stack), created.last().copied());
        }
        assert_eq!(created.len(), 5);
        created.dedup();
        assert_eq!(created.len(), 5, "{}", mode.name);
    }
}

#[test]
fn a_listener_hears_of_each_event_and_its_panic_continues_in_the_caller() {
    let (_, program) = DESIGNS[0];
    let (mut store, instance) = with_host(&traced(DEFAULT), program, || {});
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = heard.clone();
    store.on_stack_event(move |event| hears.lock().unwrap().push(event.clone())).unwrap();
    number(&mut store, instance, "sum", &[3]).unwrap();
    assert_eq!(*heard.lock().unwrap(), store.take_trace().unwrap().events);
    store
        .on_stack_event(|event| {
            if let EventKind::Suspend { .. } = event.what {
                panic!("the listener panics");
            }
        })
        .unwrap();
    let run = std::panic::AssertUnwindSafe(|| number(&mut store, instance, "sum", &[3]));
    let panic = std::panic::catch_unwind(run).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the listener panics"));
}

#[test]
fn stacks_that_the_host_continues_are_recorded() {
    let module = r#"(module
      (type $f (func (result i32))) (type $c (cont $f)) (tag $y (export "y") (param i32))
      (func (export "body") (result i32) (suspend $y (i32.const 3)) (i32.const 4)))"#;
    let (mut store, instance) = instantiate_in(&traced(DEFAULT), module);
    let body = instance.get_func(&mut store, "body").unwrap();
    let tag = instance.get_tag(&mut store, "y").unwrap();
    store.take_trace().unwrap();
    let continuation = Continuation::new(&mut store, body).unwrap();
    let (.., continuation) = suspended(continuation.resume_on(&mut store, &[tag], &[]));
    continuation.resume(&mut store, &[]).unwrap();
    let trace = store.take_trace().unwrap();
    assert_eq!(
        words(&trace),
        [
            "A: create B",
            "C: enter",
            "C: resume B ()",
            "B: suspend B to C $y (3)",
            "C: leave",
            "C: enter",
            "C: resume B ()",
            "B: return to C (4)",
            "C: leave",
        ]
    );
}

#[test]
fn a_store_that_is_not_traced_says_so() {
    let mut store = Store::new(&Engine::default(), ());
    let errors = [
        store.take_trace().err(),
        store.set_trace_limit(1).err(),
        store.on_stack_event(|_| ()).err(),
    ];
    for error in errors {
        assert!(error.unwrap().to_string().contains("Config::trace"));
    }
}

#[test]
fn a_module_that_was_compiled_without_tracing_is_refused_where_stacks_are_traced() {
    let plain = Module::new(&Engine::default(), "(module)").unwrap().serialize().unwrap();
    // SAFETY: the bytes are a serialized module.
    fails_with(unsafe { Module::deserialize(&traced(DEFAULT), &plain) }, "trace");
}

// ---- streams

/// Shared bytes. Writing can be slow and fail.
#[derive(Clone, Default)]
struct Shared {
    bytes: Arc<Mutex<Vec<u8>>>,
    pause: std::time::Duration,
    fails_after: Option<usize>,
}

impl Shared {
    fn read(&self) -> traces::Reading {
        Trace::read(&self.bytes.lock().unwrap()).unwrap()
    }
}

impl std::io::Write for Shared {
    fn write(&mut self, part: &[u8]) -> std::io::Result<usize> {
        std::thread::sleep(self.pause);
        let mut bytes = self.bytes.lock().unwrap();
        if self.fails_after.is_some_and(|most| bytes.len() > most) {
            return Err(std::io::Error::other("the disk is full"));
        }
        bytes.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Runs `sum` of a program with a streamed trace. Returns the number of dropped events.
fn stream_sum(program: &str, count: i32, to: &Shared, when: WhenBehind) -> Result<u64> {
    let (mut store, instance) = with_host(&traced(DEFAULT), program, || {});
    store.take_trace()?;
    store.stream_trace(to.clone(), "sum", when)?;
    number(&mut store, instance, "sum", &[count])?;
    assert!(store.take_trace()?.events.is_empty(), "they are not kept");
    store.finish_trace()
}

#[test]
fn a_streamed_trace_equals_a_kept_one() {
    const COUNT: i32 = 3_000; // some parts
    for (kind, program) in DESIGNS {
        let stream = Shared::default();
        assert_eq!(stream_sum(program, COUNT, &stream, WhenBehind::Wait).unwrap(), 0);
        let Trace { name, dropped, .. } = &stream.read().trace;
        assert_eq!((name.as_str(), *dropped), ("sum", 0));
        assert!(stream.read().is_whole);
        let streamed = stream.read().trace;
        let mut kept = {
            let (mut store, instance) = with_host(&traced(DEFAULT), program, || {});
            store.take_trace().unwrap();
            number(&mut store, instance, "sum", &[COUNT]).unwrap();
            store.take_trace().unwrap()
        };
        assert!(streamed.events.len() > 2 * COUNT as usize, "{kind:?}");
        assert!(streamed.events.is_sorted_by_key(|event| event.time));
        for (kept, streamed) in kept.events.iter_mut().zip(&streamed.events) {
            kept.time = streamed.time;
            // Host functions have other indices there.
            if let (
                EventKind::HostCall { function },
                EventKind::HostCall { function: streamed_function },
            ) = (&mut kept.what, &streamed.what)
            {
                assert_eq!(streamed.stack, kept.stack);
                *function = *streamed_function;
            }
        }
        assert_eq!(kept.events, streamed.events, "{kind:?}");
        let stacks = |trace: &Trace| -> Vec<(Design, Option<String>)> {
            let name =
                |stack: &traces::Stack| Some(trace.functions[stack.function?.index()].name.clone());
            trace.stacks.iter().map(|stack| (stack.design, name(stack))).collect()
        };
        assert_eq!(stacks(&kept), stacks(&streamed), "{kind:?}");
        assert_eq!(kept.tags, streamed.tags, "{kind:?}");
        let call = |event: &Event| match event.what {
            EventKind::HostCall { function } => Some(function),
            _ => None,
        };
        let function = streamed.events.iter().find_map(call).expect("it calls the host");
        let function = &streamed.functions[function.index()];
        assert_eq!((function.module.as_str(), function.name.as_str()), ("host", "f"));
        let last = streamed.events.iter().rev().find(|event| event.frames.is_some()).unwrap();
        assert_eq!(functions(&streamed, last.frames), ["sum"]);
    }
}

#[test]
fn a_program_waits_for_a_slow_file_or_drops_events_and_counts_them() {
    const COUNT: i32 = 200_000;
    let program = DESIGNS[0].1;
    let slow = || Shared { pause: std::time::Duration::from_micros(300), ..Shared::default() };
    let (waits, drops) = (slow(), slow());
    assert_eq!(stream_sum(program, COUNT, &waits, WhenBehind::Wait).unwrap(), 0);
    let all = waits.read().trace.events.len() as u64;
    assert!(all >= 2 * COUNT as u64);
    let drops = Shared { pause: std::time::Duration::from_millis(20), ..drops };
    let dropped = stream_sum(program, COUNT, &drops, WhenBehind::Drop).unwrap();
    let reading = drops.read();
    assert!(dropped > 0 && reading.is_whole);
    assert_eq!(reading.trace.dropped, dropped);
    assert_eq!(reading.trace.events.len() as u64 + dropped, all);
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_at_the_end() {
    let full = Shared { fails_after: Some(100), ..Shared::default() };
    fails_with(stream_sum(DESIGNS[0].1, 100_000, &full, WhenBehind::Wait), "the disk is full");
    let mut store = Store::new(&traced(DEFAULT), ());
    assert!(store.finish_trace().unwrap_err().to_string().contains("no trace is streamed"));
    let mut store = Store::new(&Engine::default(), ());
    fails_with(store.stream_trace(Vec::new(), "", WhenBehind::Wait), "Config::trace");
}

#[test]
fn a_stream_ends_with_its_store_and_continues_after_a_trap() {
    let stream = Shared::default();
    let module = r#"(module $m (func (export "traps") (unreachable)))"#;
    let (mut store, instance) = instantiate_in(&traced(DEFAULT), module);
    store.stream_trace(stream.clone(), "m", WhenBehind::Wait).unwrap();
    for _ in 0..2 {
        traps(call(&mut store, instance, "traps", &[]), TrapCode::Unreachable);
    }
    drop(store);
    let reading = stream.read();
    assert!(reading.is_whole);
    let traps = words(&reading.trace).iter().filter(|word| word.contains("trap: ")).count();
    assert_eq!(traps, 2);
}

// ---- stacks at an event

/// The design and the function of the stack that runs after an event, if one does.
fn running_after(trace: &Trace, event: &Event) -> Option<(Design, Option<String>)> {
    let stack = match &event.what {
        EventKind::Resume { target, .. } | EventKind::Switch { target, .. } => *target,
        EventKind::Suspend { to, .. }
        | EventKind::Return { to, .. }
        | EventKind::Retire { to, .. } => *to,
        // A call that begins has no stack yet.
        EventKind::Enter | EventKind::Leave => return None,
        _ => event.stack,
    };
    let traces::Stack { design, function } = trace.stacks[stack.index()];
    Some((design, function.map(|function| trace.functions[function.index()].name.clone())))
}

fn design_of(kind: Option<StackKind>) -> Design {
    match kind {
        None => Design::Root,
        Some(StackKind::Continuation) => Design::Continuation,
        Some(StackKind::Bag) => Design::Bag,
        Some(StackKind::Task) => Design::Task,
        Some(StackKind::Fiber) => Design::Fiber,
        Some(StackKind::FirstClass) => Design::FirstClass,
    }
}

/// The stacks at the event with this number in a run of `sum`.
fn stacks_at(engine: &Engine, program: &str, number_of_event: u64) -> StackList {
    let (mut store, instance) = with_host(engine, program, || {});
    let kept = Arc::new(Mutex::new(None));
    let keep = kept.clone();
    let then = move |stacks: Result<StackList>| *keep.lock().unwrap() = Some(stacks.unwrap());
    store.take_trace().unwrap();
    store.at_stack_event(number_of_event, then).unwrap();
    number(&mut store, instance, "sum", &[3]).unwrap();
    let kept = kept.lock().unwrap().take();
    kept.expect("the event has happened")
}

#[test]
fn all_stacks_can_be_seen_at_every_event() {
    for mode in [DEFAULT, MOVE, CHECK, PARK] {
        let engine = traced(mode);
        for (kind, program) in DESIGNS {
            let trace = trace_of_sum(&engine, program, 3);
            for (i, event) in trace.events.iter().enumerate() {
                let stacks = stacks_at(&engine, program, i as u64 + 1);
                let runs = |stack: &&StackInfo| stack.life == Life::Running;
                let running: Vec<&StackInfo> = stacks.iter().filter(runs).collect();
                let what = format!("{kind:?}, {}, event {}: {event:?}\n{stacks}", mode.name, i + 1);
                // The engine's own actions are reported at the next other event.
                if let EventKind::Drop
                | EventKind::Grow { .. }
                | EventKind::Park
                | EventKind::Unpark = event.what
                {
                    continue;
                }
                let Some((design, function)) = running_after(&trace, event) else {
                    assert!(running.is_empty(), "{what}");
                    continue;
                };
                let [running] = running[..] else { panic!("one stack runs at {what}") };
                assert_eq!(design_of(running.kind), design, "{what}");
                let name = running.function.as_ref().and_then(|frame| frame.function_name());
                if let Some(function) = function {
                    assert_eq!(name, Some(function.as_str()), "{what}");
                }
                // A stack that was resumed for the first time has a function too. Only an entered
                // root and an extended first-class stack may be blank.
                let may_be_blank = matches!(design, Design::Root | Design::FirstClass);
                assert!(name.is_some() || may_be_blank, "{what}");
            }
        }
    }
}

#[test]
fn the_same_event_has_the_same_stacks_each_time() {
    let engine = traced(DEFAULT);
    for (_, program) in DESIGNS {
        let [first, second] = [(); 2].map(|()| stacks_at(&engine, program, 6).to_string());
        assert_eq!(first, second);
    }
    let mut store = Store::new(&engine, ());
    assert!(store.at_stack_event(0, |_| {}).is_err());
}

/// A stack that was left at a fault has no record of its position.
#[test]
fn a_fault_is_an_event_at_which_all_stacks_can_be_listed() {
    let text = r#"(module (memory 1)
        (type $f (func (result i32))) (type $c (cont $f))
        (func $faults (export "faults") (result i32) (i32.load (i32.const -1)))
        (func (export "resumes") (result i32) (resume $c (cont.new $c (ref.func $faults)))))"#;
    for mode in [DEFAULT, MINIMAL_STACKS, PARK, CHECK] {
        let engine = Engine::new(mode.config().trace(true)).unwrap();
        // The events: the host calls, a stack is made, it is resumed, and the trap.
        for (name, number) in [("faults", 2), ("resumes", 4)] {
            let (mut store, instance) = instantiate_in(&engine, text);
            let told = Arc::new(Mutex::new(None));
            let tell = told.clone();
            store
                .at_stack_event(number, move |stacks| *tell.lock().unwrap() = Some(stacks.unwrap()))
                .unwrap();
            traps(call(&mut store, instance, name, &[]), TrapCode::MemoryOutOfBounds);
            let stacks = told.lock().unwrap().take().expect("it is told of the trap");
            let running = stacks.iter().find(|stack| stack.life == Life::Running).unwrap();
            assert_eq!(frames(&running.backtrace)[0], "faults", "{}, {name}", mode.name);
        }
    }
}
