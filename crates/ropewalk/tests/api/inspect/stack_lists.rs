//! `Store::stacks` in every design, reports of who waits for whom, and core dumps.

use crate::common::designs::DESIGNS;
use crate::common::*;
use ropewalk::*;
use std::sync::{Arc, Mutex};
use wasmparser::{CoreDumpStackSection, KnownCustom, Parser, Payload};

/// Runs `sum` of a program. Returns the list of stacks at its call of the host.
fn stacks_in_host_call(engine: &Engine, program: &str) -> StackList {
    let seen = Arc::new(Mutex::new(None));
    let look = {
        let seen = seen.clone();
        move |caller: Caller<'_, ()>| -> Result<()> {
            *seen.lock().unwrap() = Some(caller.as_context().stacks()?);
            Ok(())
        }
    };
    let (mut store, instance) = with_host(engine, program, look);
    assert_eq!(number(&mut store, instance, "sum", &[4]).unwrap(), 30);
    seen.lock().unwrap().take().expect("the host was called")
}

fn of_life(stacks: &StackList, life: Life) -> Vec<&StackInfo> {
    stacks.iter().filter(|stack| stack.life == life).collect()
}

/// A module in which `begin` makes a continuation and keeps it suspended.
const KEEPS: &str = r#"(module $m
  (type $f (func)) (type $c (cont $f)) (tag $wait (param i32)) (tag $nobody)
  (global $kept (mut (ref null $c)) (ref.null $c))
  (memory 2) (data (i32.const 70000) "in memory") (global $number (mut i64) (i64.const 77))
  (func $inner (suspend $wait (i32.const 5)))
  (func $body (call $inner))
  (func $alone (suspend $nobody))
  (elem declare func $body $alone)
  (func (export "begin")
    (block $on (result i32 (ref $c))
      (resume $c (on $wait $on) (cont.new $c (ref.func $body))) (return))
    (global.set $kept) (drop))
  (func $fail (export "fail") (resume $c (cont.new $c (ref.func $alone))))
  (func (export "trap") (unreachable)))"#;

fn kept(engine: &Engine) -> (Store<()>, Instance) {
    let (mut store, instance) = instantiate_in(engine, KEEPS);
    call(&mut store, instance, "begin", &[]).unwrap();
    (store, instance)
}

#[test]
fn each_design_lists_a_running_root_and_a_suspended_generator() {
    for (kind, program) in DESIGNS {
        for stacks in engines().iter().map(|engine| stacks_in_host_call(engine, program)) {
            let [root] = of_life(&stacks, Life::Running)[..] else { panic!("{kind:?}: {stacks}") };
            assert_eq!((root.kind, root.parent_number()), (None, None), "{kind:?}");
            assert_eq!(frames(&root.backtrace), ["sum"]);
            assert_eq!(root.function.as_ref().unwrap().function_name(), Some("sum"));
            let suspended = of_life(&stacks, Life::Suspended);
            let [generator] = suspended[..] else { panic!("{kind:?}: {stacks}") };
            assert_eq!((generator.kind, generator.parent_number()), (Some(kind), None));
            assert_eq!(frames(&generator.backtrace)[0], "squares", "{kind:?}");
            assert!(0 < generator.used_bytes && generator.used_bytes <= generator.size_bytes);
            let expected = match kind {
                StackKind::Fiber | StackKind::FirstClass => vec!["next".to_string()],
                _ => Vec::new(),
            };
            assert_eq!(generator.events, expected, "{kind:?}");
            assert_eq!(stacks.len(), 2, "{kind:?}: {stacks}");
            assert!(!stacks.is_stuck());
        }
    }
}

#[test]
fn a_parked_stack_says_where_it_is() {
    for (kind, program) in DESIGNS {
        let look = |mut caller: Caller<'_, ()>| -> Result<()> {
            caller.as_context_mut().park_idle();
            let stacks = caller.as_context().stacks()?;
            let parked = of_life(&stacks, Life::Parked);
            assert_eq!(parked.len(), 1, "{stacks}");
            assert_eq!(frames(&parked[0].backtrace)[0], "squares");
            assert!(parked[0].used_bytes <= parked[0].size_bytes);
            Ok(())
        };
        let (mut store, instance) = with_host(&Engine::default(), program, look);
        assert_eq!(number(&mut store, instance, "sum", &[4]).unwrap(), 30, "{kind:?}");
    }
}

#[test]
fn parents_and_the_host_in_between_are_told() {
    let module = r#"(module $m
      (import "host" "f" (func $f (param i32) (result i32)))
      (type $t (func (param i32) (result i32))) (type $c (cont $t))
      (type $r (func (result i32))) (type $k (cont $r)) (tag $yield) (elem declare func $body)
      (func $body (param i32) (result i32) (call $f (local.get 0)))
      (func (export "run") (param i32) (result i32)
        (block $on (result (ref $k))
          (return (resume $c (on $yield $on) (local.get 0) (cont.new $c (ref.func $body)))))
        (unreachable)))"#;
    let f = |mut caller: Caller<'_, ()>, depth: i32| -> Result<i32> {
        if depth > 0 {
            return call_back(&mut caller, "run", depth - 1);
        }
        let stacks = caller.as_context().stacks()?;
        assert_eq!(of_life(&stacks, Life::Running).len(), 2, "{stacks}");
        let is_inner = |stack: &&StackInfo| {
            stack.parent_number().is_some_and(|root| stacks.get(root).unwrap().parent.is_some())
        };
        let inner = of_life(&stacks, Life::Running).into_iter().find(is_inner).unwrap();
        let (root, boundary) = inner.parent.clone().unwrap();
        assert_eq!(boundary.to_string(), "resumed by resume (on $yield)");
        let (outer, boundary) = stacks.get(root).unwrap().parent.clone().unwrap();
        assert_eq!(boundary, Boundary::Host);
        assert_eq!(stacks.get(outer).unwrap().life, Life::Running);
        let text = stacks.waits().to_string();
        assert!(text.contains("in a call of the host"), "{text}");
        Ok(stacks.len() as i32)
    };
    let (mut store, instance) = with_host(&Engine::default(), module, f);
    assert_eq!(number(&mut store, instance, "run", &[1]).unwrap(), 4);
}

#[test]
fn a_stack_with_bound_arguments_says_where_it_is() {
    let module = r#"(module $m
      (type $f1 (func (param i32))) (type $c1 (cont $f1))
      (type $f (func)) (type $c (cont $f)) (tag $wait (result i32))
      (global $kept (mut (ref null $c)) (ref.null $c))
      (func $body (drop (suspend $wait)))
      (elem declare func $body)
      (func $keep (param (ref $c1))
        (global.set $kept (cont.bind $c1 $c (i32.const 3) (local.get 0))))
      (func (export "run")
        (block $on (result (ref $c1))
          (resume $c (on $wait $on) (cont.new $c (ref.func $body))) (return))
        (call $keep)))"#;
    let (mut store, instance) = instantiate(module);
    call(&mut store, instance, "run", &[]).unwrap();
    let stacks = store.stacks().unwrap();
    assert_eq!(frames(&stacks.iter().next().unwrap().backtrace), ["body"], "{stacks}");
}

#[test]
fn a_new_stack_knows_its_function() {
    let text = r#"(module (type $f (func)) (type $c (cont $f))
          (global $kept (mut (ref null $c)) (ref.null $c))
          (func $body) (elem declare func $body)
          (func (export "run") (global.set $kept (cont.new $c (ref.func $body)))))"#;
    let (mut store, instance) = instantiate(text);
    call(&mut store, instance, "run", &[]).unwrap();
    let stacks = store.stacks().unwrap();
    let stack = stacks.iter().next().unwrap();
    assert_eq!(stack.life, Life::New);
    assert_eq!(stack.function.as_ref().unwrap().function_name(), Some("body"));
    assert!(stacks.waits().to_string().contains("(continuation of <module>!body) has not begun"));
}

#[test]
fn the_dump_is_a_tree_as_text_and_a_list_as_json() {
    let (store, _) = kept(&Engine::default());
    let stacks = store.stacks().unwrap();
    let number = stacks.iter().next().unwrap().number;
    let StackInfo { used_bytes, size_bytes, .. } = stacks.iter().next().unwrap();
    assert_eq!(
        stacks.to_string(),
        format!(
            "1 stack\n\
             stack {number}: continuation, suspended  m!body  {used_bytes} of {size_bytes} bytes\n   \
             0: <text>:5:17: m!inner\n   1: <text>:6:16: m!body"
        )
    );
    let json = stacks.to_json();
    for part in
        ["\"state\": \"suspended\"", "\"name\": \"inner\"", "\"line\": 6", "\"parent\": null"]
    {
        assert!(json.contains(part), "{part} is missing in {json}");
    }
}

#[test]
fn an_idle_store_says_where_each_stack_waits() {
    let (store, _) = kept(&Engine::default());
    let stacks = store.stacks().unwrap();
    assert!(stacks.is_stuck());
    let number = stacks.iter().next().unwrap().number;
    assert_eq!(
        stacks.waits().to_string(),
        format!(
            "nothing runs, and these stacks wait:\n  \
             stack {number} (continuation of m!body) is suspended\n    \
             at <text>:5:17: m!inner\n       \
             (func $inner (suspend $wait (i32.const 5)))"
        )
    );
}

#[test]
fn the_stacks_of_a_failed_call_are_kept_if_asked_for() {
    for (mut store, instance) in engines().iter().map(kept) {
        call(&mut store, instance, "fail", &[]).unwrap_err();
        assert!(store.take_stacks_of_failure().is_none());
        store.keep_stacks_of_failure(10);
        traps(call(&mut store, instance, "fail", &[]), TrapCode::UnhandledTag);
        let stacks = store.take_stacks_of_failure().unwrap();
        assert_eq!(stacks.len(), 3, "{stacks}");
        let running = of_life(&stacks, Life::Running);
        assert_eq!(frames(&running[0].backtrace), ["alone"]);
        let waiting = of_life(&stacks, Life::Waiting);
        assert_eq!(running[0].parent_number(), Some(waiting[0].number));
        assert_eq!(frames(&waiting[0].backtrace), ["fail"]);
        // After a fault the stack itself has no record of its position.
        call(&mut store, instance, "trap", &[]).unwrap_err();
        let stacks = store.take_stacks_of_failure().unwrap();
        assert_eq!(frames(&of_life(&stacks, Life::Running)[0].backtrace), ["trap"]);
        assert!(store.take_stacks_of_failure().is_none());
    }
}

#[test]
fn of_very_many_stacks_as_many_are_kept_as_asked_for() {
    let (mut store, instance) = kept(&Engine::default());
    for _ in 0..20 {
        call(&mut store, instance, "begin", &[]).unwrap();
    }
    store.keep_stacks_of_failure(4);
    call(&mut store, instance, "fail", &[]).unwrap_err();
    let stacks = store.take_stacks_of_failure().unwrap();
    assert_eq!((stacks.len(), stacks.omitted()), (6, 17));
    assert!(stacks.to_string().ends_with("\n... and 17 more"));
}

/// A module whose `nest` has a number of stacks wait for each other, and then traps.
const NESTS: &str = r#"(module $m
  (type $f (func (param i32))) (type $c (cont $f))
  (func $in (export "nest") (param $n i32)
    (if (local.get $n)
      (then (resume $c (i32.sub (local.get $n) (i32.const 1)) (cont.new $c (ref.func $in))))
      (else (unreachable))))
  (elem declare func $in))"#;

#[test]
fn of_a_long_chain_of_stacks_the_innermost_and_the_outermost_are_kept() {
    for (mut store, instance) in instances(NESTS) {
        for (waiting, most, listed) in [(3, 4, 4), (4, 4, 4), (5, 5, 5), (300, 5, 5), (300, 1, 1)] {
            store.keep_stacks_of_failure(most);
            number(&mut store, instance, "nest", &[waiting]).unwrap_err();
            let stacks = store.take_stacks_of_failure().unwrap();
            let all = waiting as usize + 1;
            assert_eq!((stacks.len(), stacks.omitted()), (listed, all - listed), "{stacks}");
            assert_eq!(of_life(&stacks, Life::Running).len(), 1);
            assert_eq!(stacks.iter().any(|stack| stack.kind.is_none()), listed > 1);
            // The report has each stack, though it omits the parents of some.
            let text = stacks.to_string();
            assert_eq!(text.matches("\nstack ").count() + text.matches("  stack ").count(), listed);
            let more = format!("\n... and {} more", all - listed);
            assert_eq!(text.ends_with(&more), all > listed, "{text}");
        }
    }
}

#[test]
fn reports_are_short_for_long_names_and_many_stacks() {
    let name = "long".repeat(50_000);
    let tags: String = (0..500).map(|i| format!("(tag ${name}{i}) ")).collect();
    let clauses: String = (0..500).map(|i| format!("(on ${name}{i} $on) ")).collect();
    let text = format!(
        r#"(module ${name} (type $f (func)) (type $c (cont $f)) {tags}
          (func $"{name}" (unreachable))
          (elem declare func $"{name}")
          (func (export "run")
            (block $on (result (ref $c))
              (resume $c {clauses} (cont.new $c (ref.func $"{name}"))) (return))
            (drop)))"#
    );
    let (mut store, instance) = instantiate(&text);
    store.keep_stacks_of_failure(10);
    let error = call(&mut store, instance, "run", &[]).unwrap_err();
    let boundary = trap(&error).backtrace().frames()[1].boundary();
    let Some(Boundary::Resume { tags, tags_omitted, .. }) = boundary else {
        panic!("{boundary:?}")
    };
    assert_eq!((tags.len(), *tags_omitted), (32, 468));
    let stacks = store.take_stacks_of_failure().unwrap();
    for text in [error.to_string(), stacks.to_string(), stacks.to_json()] {
        assert!(text.len() < 300_000, "{}", text.len());
    }
    assert!(error.to_string().contains(" (on 468 more)"));
}

/// The contents of a core dump.
#[derive(Default)]
struct Dump {
    program: String,
    modules: Vec<String>,
    instances: usize,
    /// The name, and for each frame the index of its function and the offset in it.
    stacks: Vec<(String, Vec<(u32, u32)>)>,
    memory: Vec<u8>,
    globals: usize,
}

fn read(bytes: &[u8]) -> Dump {
    let mut dump = Dump::default();
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.unwrap() {
            Payload::CustomSection(section) => match section.as_known() {
                KnownCustom::CoreDump(core) => dump.program = core.name.to_string(),
                KnownCustom::CoreDumpModules(core) => {
                    dump.modules = core.modules.iter().map(|name| name.to_string()).collect();
                }
                KnownCustom::CoreDumpInstances(core) => dump.instances = core.instances.len(),
                KnownCustom::CoreDumpStack(core) => dump.stacks.push(frames_of(core)),
                _ => panic!("an unknown section {}", section.name()),
            },
            Payload::MemorySection(memories) => {
                let pages: u64 = memories.into_iter().map(|ty| ty.unwrap().initial).sum();
                dump.memory = vec![0; pages as usize * 65536];
            }
            Payload::GlobalSection(globals) => dump.globals = globals.count() as usize,
            Payload::DataSection(segments) => {
                for segment in segments {
                    let segment = segment.unwrap();
                    let wasmparser::DataKind::Active { offset_expr, .. } = segment.kind else {
                        panic!("a passive segment")
                    };
                    let at = match offset_expr.get_operators_reader().read().unwrap() {
                        wasmparser::Operator::I32Const { value } => value as usize,
                        other => panic!("{other:?}"),
                    };
                    dump.memory[at..at + segment.data.len()].copy_from_slice(segment.data);
                }
            }
            _ => {}
        }
    }
    dump
}

fn frames_of(stack: CoreDumpStackSection<'_>) -> (String, Vec<(u32, u32)>) {
    let frames = stack.frames.iter().map(|frame| (frame.funcidx, frame.codeoffset));
    (stack.name.to_string(), frames.collect())
}

#[test]
fn a_core_dump_has_all_stacks_memories_and_globals() {
    let (mut store, instance) = kept(&Engine::default());
    store.keep_stacks_of_failure(usize::MAX);
    call(&mut store, instance, "fail", &[]).unwrap_err();
    let stacks = store.take_stacks_of_failure().unwrap();
    let bytes = store.core_dump("a program", &stacks);
    wasmparser::Validator::new_with_features(wasmparser::WasmFeatures::all())
        .validate_all(&bytes)
        .expect("a dump is a module");
    let dump = read(&bytes);
    assert_eq!(dump.program, "a program");
    assert_eq!((dump.modules, dump.instances, dump.globals), (vec!["m".to_string()], 1, 2));
    assert_eq!(dump.memory.len(), 2 * 65536);
    assert_eq!(&dump.memory[70000..70009], b"in memory");
    let life = |name: &str| name.split(", ").last().unwrap().to_string();
    let lives: Vec<_> = dump.stacks.iter().map(|(name, _)| life(name)).collect();
    assert_eq!(lives, ["running", "waiting", "suspended"], "running stacks come first");
    // A body begins with one byte, the number of groups of locals: none. `suspend` is the first
    // instruction of $alone, and follows `i32.const 5` in $inner.
    assert_eq!(dump.stacks[0].1, [(2, 1)]);
    assert_eq!(dump.stacks[2].1, [(0, 3), (1, 1)]);
}
