//! Growth of stacks: at every instruction, in every design, up to their limits.
//!
//! Stacks return memory that they do not need anymore.

use crate::common::*;
use ropewalk::*;
use std::time::{Duration, Instant};

/// A recursion on a root, and in a continuation.
const DEEP: &str = r#"(module
    (type $f (func (param i32) (result i32))) (type $c (cont $f))
    (func $down (export "root") (type $f)
      (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 0))
        (else (i32.add (i32.const 1) (call $down (i32.sub (local.get 0) (i32.const 1)))))))
    (elem declare func $down)
    (func (export "continuation") (type $f)
      (resume $c (local.get 0) (cont.new $c (ref.func $down)))))"#;

const MILLION: i32 = 1_000_000;

/// Stacks that grow to the default limit, from the usual size, from minimal size, and while their
/// records are checked.
fn large_stacks() -> [Config; 3] {
    let mut checked = Config::new();
    checked.stress(|stress| stress.check_stacks = true);
    [Config::new(), MINIMAL_STACKS.config(), checked]
}

#[test]
fn a_million_calls_deep_runs_on_a_root_and_in_a_continuation() {
    for config in large_stacks() {
        let (mut store, instance) = instantiate_in(&Engine::new(&config).unwrap(), DEEP);
        for name in ["root", "continuation", "root", "continuation"] {
            assert_eq!(number(&mut store, instance, name, &[MILLION]).unwrap(), MILLION);
        }
        let statistics = store.stack_statistics();
        assert!((4..100).contains(&statistics.growths), "{config:?}: {statistics:?}");
    }
}

/// Programs in which a stack of a design recurses to the depth of the argument, waits there if it
/// can, and returns the depth.
const OTHER_DESIGNS: [&str; 4] = [
    r#"(module
    (type $c (stack (param i32) (ref null $c)))
    (global $from (mut (ref null $c)) (ref.null $c))
    (func $down (param $n i32) (result i32)
      (if (i32.eqz (local.get $n)) (then (return (call $switches))))
      (i32.add (i32.const 1) (call $down (i32.sub (local.get $n) (i32.const 1)))))
    (func $switches (result i32) (switch $c (i32.const 0) (global.get $from)) (global.set $from))
    (func $deep (param $n i32) (param $from (ref null $c))
      (global.set $from (local.get $from))
      (local.set $n (call $down (local.get $n)))
      (switch_retire $c (local.get $n) (global.get $from)))
    (func (export "deep") (param i32) (result i32) (local $rest (ref null $c))
      (switch $c (local.get 0) (stack.new $c $deep)) (local.set $rest) (drop)
      (switch $c (i32.const 0) (local.get $rest)) (drop)))"#,
    r#"(module
    (type $t (task (param i32) (result i32)))
    (func $down (param $me (ref null $t)) (param $n i32) (result i32)
      (if (i32.eqz (local.get $n))
        (then (return (task.suspend $t (local.get $me) (i32.const 0)))))
      (i32.add (i32.const 1) (call $down (local.get $me) (i32.sub (local.get $n) (i32.const 1)))))
    (func (export "deep") (param i32) (result i32) (local $deep (ref null $t))
      (local.set $deep (task.new $t $down))
      (drop (task.resume $t (local.get $deep) (local.get 0)))
      (task.resume $t (local.get $deep) (i32.const 0))))"#,
    r#"(module
    (tag $go) (tag $up (param i32)) (tag $done (param i32))
    (func $down (param $n i32) (param $self fiberref) (result i32)
      (if (i32.eqz (local.get $n))
        (then
          (block $go
            (fiber.dismount $up (on $go $go) (i32.const 1) (local.get $self)) (unreachable))
          (return (i32.const 0))))
      (i32.add (i32.const 1) (call $down (i32.sub (local.get $n) (i32.const 1)) (local.get $self))))
    (func (export "deep") (param $n i32) (result i32) (local $f fiberref)
      (local.set $f (fiber.new $done (on $go $down) (local.get $n)))
      (block $up (result i32) (fiber.mount $go (on $up $up) (local.get $f)) (unreachable))
      (drop)
      (block $done (result i32) (fiber.mount $go (on $done $done) (local.get $f)) (unreachable))))"#,
    r#"(module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $depth (param i32))
    (func $down (param $n i32) (result i32)
      (if (result i32) (local.get $n)
        (then (i32.add (i32.const 1) (call $down (i32.sub (local.get $n) (i32.const 1)))))
        (else (i32.const 0))))
    (func $deep (param $n i32) (param $main stackref)
      (stack.switch_drop $depth (call $down (local.get $n)) (local.get_clear $main)))
    (func (export "deep") (param $n i32) (result i32)
      (block $depth (result i32)
        (try (stack.switch_call $deep (local.get $n) (call $new)) catch $depth $depth)
        (unreachable))))"#,
];

#[test]
fn stacks_of_every_design_grow() {
    for config in large_stacks() {
        let engine = Engine::new(&config).unwrap();
        for text in OTHER_DESIGNS {
            let (mut store, instance) = instantiate_in(&engine, text);
            for depth in [10, 300_000, 10, 1000] {
                assert_eq!(number(&mut store, instance, "deep", &[depth]).unwrap(), depth);
            }
            assert!(store.stack_statistics().growths > 0);
        }
    }
}

/// Recurses to a depth on a stack with minimal room, and there does something. Frames are small, so
/// this comes near the end in many ways.
fn at_depth(what: &str, fields: &str) -> String {
    format!(
        r#"(module
        (type $f (func (param i32) (result i32))) (type $c (cont $f))
        (type $g (func)) (type $k (cont $g)) (type $i (func (result i32))) (type $ki (cont $i))
        {fields}
        (tag $yield) (tag $e (param i32))
        (func $down (type $f)
          (if (result i32) (i32.eqz (local.get 0)) (then {what})
            (else (i32.add (i32.const 1) (call $down (i32.sub (local.get 0) (i32.const 1)))))))
        (elem declare func $down)
        (func (export "root") (type $f) (call $down (local.get 0)))
        (func (export "continuation") (type $f) (local $rest (ref null $ki)) (local $result i32)
          (block $h (result (ref $ki))
            (return (resume $c (on $yield $h) (local.get 0) (cont.new $c (ref.func $down)))))
          (local.set $rest)
          (loop $again
            (block $h (result (ref $ki)) (return (resume $ki (on $yield $h) (local.get $rest))))
            (local.set $rest) (br $again))
          (unreachable)))"#
    )
}

/// Runs a program at every depth at which it may need more room for the first time.
fn grows_at_every_depth(text: &str, names: &[&str], expected: i32) {
    for (mode, step) in [(DEFAULT, 1), (CHECK, 7)] {
        let engine = Engine::new(mode.apply(&mut MINIMAL_STACKS.config())).unwrap();
        for name in names {
            let mut growths = 0;
            for depth in (0..600).step_by(step) {
                let (mut store, instance) = instantiate_in(&engine, text);
                let found = number(&mut store, instance, name, &[depth]);
                assert_eq!(found.unwrap(), depth + expected, "{name} at {depth}");
                growths += store.stack_statistics().growths;
            }
            assert!(growths > 0, "{name}");
        }
    }
}

#[test]
fn a_call_finds_room() {
    let text = at_depth("(call $leaf)", "(func $leaf (result i32) (i32.const 7))");
    grows_at_every_depth(&text, &["root", "continuation"], 7);
}

#[test]
fn a_tail_call_with_more_arguments_finds_room() {
    let params = "i64 ".repeat(40);
    let arguments: String = (0..40).map(|i| format!("(i64.const {i})")).collect();
    let sum: String = (1..40).map(|i| format!("(i64.add (local.get {i}) ")).collect();
    let closed = ")".repeat(39);
    let fields = format!(
        "(func $wide (param {params}) (result i32)
           (i32.wrap_i64 {sum} (local.get 0) {closed}))
         (func $tail (result i32) (return_call $wide {arguments}))"
    );
    grows_at_every_depth(&at_depth("(call $tail)", &fields), &["root", "continuation"], 780);
}

#[test]
fn a_large_frame_finds_room() {
    let locals: String = (0..700).map(|i| format!("(local $v{i} v128)")).collect();
    let sets: String =
        (0..700).map(|i| format!("(local.set $v{i} (v128.load (i32.const {})))", i * 16)).collect();
    let stores: String =
        (0..700).map(|i| format!("(v128.store (i32.const 16) (local.get $v{i}))")).collect();
    let fields = format!(
        "(memory 1) (func $nop)
         (func $large (result i32) {locals} {sets} (call $nop) {stores} (i32.const 9))"
    );
    grows_at_every_depth(&at_depth("(call $large)", &fields), &["root", "continuation"], 9);
}

#[test]
fn a_suspension_finds_room() {
    grows_at_every_depth(&at_depth("(suspend $yield) (i32.const 3)", ""), &["continuation"], 3);
    let fields = "(func $twice (result i32) (suspend $yield) (suspend $yield) (i32.const 4))";
    grows_at_every_depth(&at_depth("(call $twice)", fields), &["continuation"], 4);
}

#[test]
fn a_new_stack_and_its_calls_find_room() {
    let fields =
        "(func $child (result i32) (suspend $yield) (i32.const 5)) (elem declare func $child)
      (func $resumes (result i32)
        (local $rest (ref null $ki))
        (block $h (result (ref $ki))
          (return (resume $ki (on $yield $h) (cont.new $ki (ref.func $child)))))
        (local.set $rest)
        (resume $ki (local.get $rest)))";
    grows_at_every_depth(&at_depth("(call $resumes)", fields), &["root", "continuation"], 5);
}

#[test]
fn an_exception_and_its_handler_find_room() {
    let fields = "(func $throws (throw $e (i32.const 6)))
      (func $catches (result i32)
        (block $h (result i32) (try_table (catch $e $h) (call $throws)) (unreachable)))";
    grows_at_every_depth(&at_depth("(call $catches)", fields), &["root", "continuation"], 6);
}

#[test]
fn references_in_frames_move_along() {
    let fields = "(type $box (struct (field i32)))
      (func $boxed (param $n i32) (result i32)
        (local $a (ref null $box)) (local $b (ref null $box))
        (local.set $a (struct.new $box (local.get $n)))
        (local.set $b (struct.new $box (i32.const 1)))
        (if (local.get $n)
          (then (drop (call $boxed (i32.sub (local.get $n) (i32.const 1))))))
        (i32.add (struct.get $box 0 (local.get $a)) (struct.get $box 0 (local.get $b))))";
    let text = at_depth("(call $boxed (i32.const 200))", fields);
    grows_at_every_depth(&text, &["root", "continuation"], 201);
    let engine = Engine::new(MINIMAL_STACKS.apply(&mut COLLECT.config())).unwrap();
    let (mut store, instance) = instantiate_in(&engine, &text);
    assert_eq!(number(&mut store, instance, "continuation", &[10]).unwrap(), 211);
}

/// Values of each type in registers survive growth.
#[test]
fn registers_keep_their_values() {
    let fields = r#"
      (func $many (param $n i32) (param $a i64) (param $b f64) (param $c f32) (param $d v128)
        (result i32)
        (if (local.get $n) (then
          (return (call $many (i32.sub (local.get $n) (i32.const 1))
            (i64.add (local.get $a) (i64.const 1)) (f64.add (local.get $b) (f64.const 0.5))
            (f32.add (local.get $c) (f32.const 0.25))
            (i32x4.add (local.get $d) (v128.const i32x4 1 2 3 4))))))
        (i32.add
          (i32.add (i32.wrap_i64 (local.get $a)) (i32.trunc_f64_s (local.get $b)))
          (i32.add (i32.trunc_f32_s (local.get $c)) (i32x4.extract_lane 3 (local.get $d)))))"#;
    let what = "(call $many (i32.const 100) (i64.const 1) (f64.const 1) (f32.const 1)
        (v128.const i32x4 0 0 0 1))";
    grows_at_every_depth(&at_depth(what, fields), &["root", "continuation"], 580 - 1);
}

#[test]
fn a_host_function_finds_the_stack_that_called_it() {
    let text = at_depth(
        "(call $host (local.get 0) (i64.const 3) (f64.const 2) (i32.const 1) (i64.const 4) (i64.const 5))",
        "(import \"host\" \"f\" (func $host (param i32 i64 f64 i32 i64 i64) (result i32)))",
    );
    let engine = Engine::new(&MINIMAL_STACKS.config()).unwrap();
    for name in ["root", "continuation"] {
        for depth in 0..300 {
            let host = |a: i32, b: i64, c: f64, d: i32, e: i64, f: i64| {
                a + b as i32 + c as i32 + d + e as i32 + f as i32
            };
            let (mut store, instance) = with_host(&engine, &text, host);
            assert_eq!(number(&mut store, instance, name, &[depth]).unwrap(), depth + 15);
        }
    }
}

#[test]
fn entering_again_grows_root_after_root() {
    let text = r#"(module
        (import "host" "f" (func $host (param i32) (result i32)))
        (func $down (export "down") (param i32) (result i32)
          (if (result i32) (i32.eqz (i32.rem_u (local.get 0) (i32.const 1000)))
            (then (call $host (local.get 0)))
            (else (i32.add (i32.const 1) (call $down (i32.sub (local.get 0) (i32.const 1))))))))"#;
    let engine = Engine::new(&MINIMAL_STACKS.config()).unwrap();
    let (mut store, instance) =
        with_host(&engine, text, |mut caller: Caller<'_, ()>, n: i32| match n {
            0 => Ok(0),
            n => call_back(&mut caller, "down", n - 1).map(|found| found + 1),
        });
    assert_eq!(number(&mut store, instance, "down", &[20_999]).unwrap(), 20_999);
    assert!(store.stack_statistics().growths > 20);
}

#[test]
fn bound_values_find_room() {
    const COUNT: usize = 500;
    let params = "i64 ".repeat(COUNT);
    let all: String = (0..COUNT).map(|i| format!("(i64.const {i})")).collect();
    let sum: String = (1..COUNT).map(|i| format!("(i64.add (local.get {i}) ")).collect();
    let closed = ")".repeat(COUNT - 1);
    let text = format!(
        r#"(module
        (type $f (func (param {params}) (result i64))) (type $c (cont $f))
        (type $g (func (result i64))) (type $k (cont $g))
        (func $sum (type $f) {sum} (local.get 0) {closed})
        (elem declare func $sum)
        (func (export "run") (result i64)
          (resume $k (cont.bind $c $k {all} (cont.new $c (ref.func $sum))))))"#
    );
    for mode in [DEFAULT, MINIMAL_STACKS, CHECK, GENERATIONS_LEFT[0]] {
        let engine = Engine::new(mode.apply(&mut MINIMAL_STACKS.config())).unwrap();
        let (mut store, instance) = instantiate_in(&engine, &text);
        assert_eq!(
            invoke::<(), i64>(&mut store, instance, "run", ()).unwrap(),
            (COUNT * (COUNT - 1) / 2) as i64
        );
    }
    let engine = Engine::new(
        Config::new()
            .stress(|stress| stress.minimal_stacks = true)
            .stress(|stress| stress.fail_to_grow = true)
            .stack_size(4096),
    )
    .unwrap();
    let (mut store, instance) = instantiate_in(&engine, &text);
    traps(invoke::<(), i64>(&mut store, instance, "run", ()), TrapCode::CallStackExhausted);
}

#[test]
fn parents_that_wait_stay_where_they_are_and_grow_in_their_turn() {
    // Each continuation recurses, makes another at the bottom, and then recurses deeper.
    let text = r#"(module
        (type $f (func (param i32 i32) (result i32))) (type $c (cont $f))
        (func $body (type $f)
          (if (local.get 1) (then
            (return (i32.add (i32.const 1)
              (call $body (local.get 0) (i32.sub (local.get 1) (i32.const 1)))))))
          (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 0))
            (else (i32.add
              (resume $c (i32.sub (local.get 0) (i32.const 1)) (i32.const 3000)
                (cont.new $c (ref.func $body)))
              (call $body (i32.const 0) (i32.const 20000))))))
        (elem declare func $body)
        (func (export "run") (param i32) (result i32) (call $body (local.get 0) (i32.const 100))))"#;
    for config in large_stacks() {
        let (mut store, instance) = instantiate_in(&Engine::new(&config).unwrap(), text);
        let found = number(&mut store, instance, "run", &[20]).unwrap();
        assert_eq!(found, 100 + 20 * (3000 + 20000));
    }
}

/// A task with arguments. Its thunk finds them even if the stack has moved.
const TASK: &str = r#"(module
    (type $t (task))
    (func $down (param i32) (result i32)
      (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 0))
        (else (i32.add (i32.const 1) (call $down (i32.sub (local.get 0) (i32.const 1)))))))
    (global $found (mut i64) (i64.const 0))
    (func $task (param (ref null $t)) (param $n i32) PARAMS
      (global.set $found (i64.add SUM (i64.extend_i32_u (call $down (local.get $n))))))
    (func (export "task") (param $n i32) (result i64)
      (task.resume $t (task.new $t $task (local.get $n) ARGUMENTS))
      (global.get $found)))"#;

#[test]
fn tasks_find_the_arguments_that_they_were_made_with() {
    for count in [0, 1, 3, 30, 63, 64, 100, 300, 900] {
        let params: String = (0..count).map(|i| format!("(param $p{i} i64)")).collect();
        let arguments: String = (0..count).map(|i| format!("(i64.const {i})")).collect();
        let sum = (0..count).fold("(i64.const 0)".to_string(), |sum, i| {
            format!("(i64.add (local.get $p{i}) {sum})")
        });
        let text =
            TASK.replace("PARAMS", &params).replace("ARGUMENTS", &arguments).replace("SUM", &sum);
        for mode in [DEFAULT, MINIMAL_STACKS, SINGLE_PASS, CHECK] {
            let engine = Engine::new(mode.apply(&mut MINIMAL_STACKS.config())).unwrap();
            let (mut store, instance) = instantiate_in(&engine, &text);
            for depth in [0, 1, 50, 500, 20_000] {
                let expected = i64::from(depth) + count * (count - 1) / 2;
                assert_eq!(
                    invoke::<i32, i64>(&mut store, instance, "task", depth).unwrap(),
                    expected,
                    "{count} {depth}"
                );
            }
        }
    }
}

// ---- the kernel

/// Makes the kernel refuse guard regions, as one before Linux 6.13 does.
fn refuse_guard_regions() {
    const MADVISE: u32 = libc::SYS_madvise as u32;
    let filter =
        |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let is_equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let result = libc::BPF_RET | libc::BPF_K;
    let mut program = [
        filter(load, 0, 0, 0),           // the number of the call
        filter(is_equal, 0, 4, MADVISE), // else it is allowed
        filter(load, 0, 0, 32),          // its third argument
        filter(is_equal, 1, 0, 102),
        filter(is_equal, 0, 1, 103),
        filter(result, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EINVAL as u32),
        filter(result, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the filter program is valid and affects only this process.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program), 0);
        let page = libc::mmap(
            std::ptr::null_mut(),
            4096,
            libc::PROT_READ,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        assert_eq!(libc::madvise(page, 4096, 102), -1, "it is refused");
    }
}

#[test]
fn stacks_grow_and_shrink_where_the_kernel_has_no_guard_regions() {
    alone(|| {
        refuse_guard_regions();
        for config in large_stacks() {
            let (mut store, instance) = instantiate_in(&Engine::new(&config).unwrap(), DEEP);
            for depth in [10, MILLION, 10, 10, 10, 100_000, 10, MILLION, 1000, 10, 10] {
                for name in ["root", "continuation"] {
                    assert_eq!(number(&mut store, instance, name, &[depth]).unwrap(), depth);
                }
            }
            traps(
                number(&mut store, instance, "continuation", &[1 << 30]),
                TrapCode::CallStackExhausted,
            );
        }
    });
}

// ---- limits

#[test]
fn a_stack_is_exhausted_at_its_limit_and_the_store_is_usable() {
    for (limit, deep) in [(1 << 20, 5_000), (4 << 20, 50_000), (8 << 20, 100_000)] {
        let engine = Engine::new(Config::new().max_wasm_stack(limit)).unwrap();
        let (mut store, instance) = instantiate_in(&engine, DEEP);
        for name in ["root", "continuation", "root", "continuation"] {
            assert_eq!(number(&mut store, instance, name, &[deep]).unwrap(), deep);
            let error = number(&mut store, instance, name, &[MILLION]).unwrap_err();
            assert_eq!(trap(&error).code(), TrapCode::CallStackExhausted);
            let detail = format!("a stack may have at most {limit} bytes (Config::max_wasm_stack)");
            assert_eq!(trap(&error).detail(), Some(detail.as_str()));
            assert!(trap(&error).backtrace().omitted() > deep as usize);
        }
    }
}

#[test]
fn a_stack_that_cannot_grow_is_exhausted_and_the_store_is_usable() {
    let engine = Engine::new(Config::new().stress(|stress| stress.fail_to_grow = true)).unwrap();
    let (mut store, instance) = instantiate_in(&engine, DEEP);
    for name in ["root", "continuation", "root", "continuation"] {
        traps(number(&mut store, instance, name, &[100_000]), TrapCode::CallStackExhausted);
        assert_eq!(number(&mut store, instance, name, &[1000]).unwrap(), 1000);
    }
    assert_eq!(store.stack_statistics().growths, 0);
}

#[test]
fn the_sum_of_stacks_is_limited() {
    // Continuations that wait at a depth, so that they keep their memory.
    let text = r#"(module
        (type $f (func (param i32))) (type $c (cont $f)) (type $g (func)) (type $k (cont $g))
        (tag $yield) (table $kept 100 (ref null $k))
        (func $down (type $f)
          (if (i32.eqz (local.get 0)) (then (suspend $yield))
            (else (call $down (i32.sub (local.get 0) (i32.const 1))))))
        (elem declare func $down)
        (func (export "hold") (param $i i32) (param $depth i32) (local $rest (ref null $k))
          (block $h (result (ref $k))
            (resume $c (on $yield $h) (local.get $depth) (cont.new $c (ref.func $down)))
            (return))
          (local.set $rest)
          (table.set $kept (local.get $i) (local.get $rest)))
        (func (export "end") (param $i i32)
          (resume $k (table.get $kept (local.get $i)))
          (table.set $kept (local.get $i) (ref.null $k))))"#;
    let mut config = Config::new();
    config.max_stack_memory(64 << 20).stack_pool(1);
    let (mut store, instance) = instantiate_in(&Engine::new(&config).unwrap(), text);
    let mut held = 0;
    let error = loop {
        match number(&mut store, instance, "hold", &[held, 100_000]) {
            Ok(_) => held += 1,
            Err(error) => break error,
        }
        assert!(held < 64, "they have a megabyte each, or more");
    };
    assert!(held >= 2, "{held}");
    assert_eq!(trap(&error).code(), TrapCode::CallStackExhausted);
    let detail = "all stacks together may have at most 67108864 bytes (Config::max_stack_memory)";
    assert_eq!(trap(&error).detail(), Some(detail));
    // Continuations that end make room again.
    for i in 0..held {
        number(&mut store, instance, "end", &[i]).unwrap();
    }
    for _ in 0..3 {
        store.gc();
    }
    for i in 0..held {
        number(&mut store, instance, "hold", &[i, 100_000]).unwrap();
    }
}

#[test]
fn a_store_and_a_continuation_of_the_host_can_have_limits_of_their_own() {
    let (mut store, instance) = instantiate(DEEP);
    let deep = |store: &mut Store<()>, depth: i32, limit: Option<usize>| {
        let down = instance.get_func(&mut *store, "root").unwrap();
        let continuation = Continuation::new(&mut *store, down)?;
        if let Some(bytes) = limit {
            continuation.set_max_stack(&mut *store, bytes)?;
        }
        match continuation.resume(&mut *store, &[Val::I32(depth)])? {
            Resumed::Returned(values) => Ok(values[0].i32().unwrap()),
            Resumed::Suspended { .. } => panic!("it does not suspend"),
        }
    };
    let exhausted = |found: Result<i32>| {
        assert_eq!(trap(&found.unwrap_err()).code(), TrapCode::CallStackExhausted);
    };
    for _ in 0..3 {
        assert_eq!(deep(&mut store, MILLION, None).unwrap(), MILLION);
        exhausted(deep(&mut store, MILLION, Some(4 << 20)));
        // The next computation on this stack has no limit of its own.
        assert_eq!(deep(&mut store, MILLION, None).unwrap(), MILLION);
    }
    store.set_max_wasm_stack(2 << 20).unwrap();
    for _ in 0..3 {
        assert_eq!(number(&mut store, instance, "root", &[10_000]).unwrap(), 10_000);
        exhausted(number(&mut store, instance, "root", &[MILLION]));
        exhausted(deep(&mut store, MILLION, None));
        assert_eq!(deep(&mut store, MILLION, Some(64 << 20)).unwrap(), MILLION);
        exhausted(number(&mut store, instance, "continuation", &[MILLION]));
    }
    store.set_max_wasm_stack(128 << 20).unwrap();
    assert_eq!(number(&mut store, instance, "root", &[2 * MILLION]).unwrap(), 2 * MILLION);
    fails_with(store.set_max_wasm_stack(usize::MAX), "a stack has at most 68719476736 bytes");
}

/// Functions that recurse. `pauses` runs another stack that pauses too, and then recurses to a
/// depth.
const PAUSES: &str = r#"(module
    (type $f (func (param i32) (result i32))) (type $c (cont $f))
    (type $g (func)) (type $k (cont $g)) (tag $pause)
    (func $down (export "root") (type $f)
      (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 0))
        (else (i32.add (i32.const 1) (call $down (i32.sub (local.get 0) (i32.const 1)))))))
    (func $inner (suspend $pause))
    (elem declare func $down $inner)
    (func (export "pauses") (type $f)
      (resume $k (cont.new $k (ref.func $inner)))
      (suspend $pause)
      (call $down (local.get 0)))
    (func (export "resume") (param (ref null $c) i32) (result i32)
      (resume $c (local.get 1) (local.get 0)))
    (func (export "continuation") (type $f)
      (resume $c (local.get 0) (cont.new $c (ref.func $down)))))"#;

const SMALL: usize = 256 << 10;

/// The default, while stacks are checked, and where stacks get new blocks.
fn engines_that_limit() -> [Engine; 3] {
    let checked = Engine::new(Config::new().stress(|stress| stress.check_stacks = true)).unwrap();
    [Engine::default(), checked, few_generations(3).remove(0)]
}

fn suspended(resumed: Result<Resumed>) -> Continuation {
    match resumed.unwrap() {
        Resumed::Suspended { continuation, .. } => continuation,
        Resumed::Returned(_) => panic!("it suspends"),
    }
}

/// Fails unless a computation without a limit of its own can recurse, on any free stack.
#[track_caller]
fn has_no_limit(store: &mut Store<()>, instance: Instance) {
    assert_eq!(number(store, instance, "continuation", &[MILLION]).unwrap(), MILLION);
}

#[test]
fn a_limit_does_not_stay_with_the_memory_of_a_stack_that_the_host_gave_away() {
    for engine in engines_that_limit() {
        let (mut store, instance) = instantiate_in(&engine, PAUSES);
        let [down, resume] = ["root", "resume"].map(|n| instance.get_func(&mut store, n).unwrap());
        for _ in 0..3 {
            let given = Continuation::new(&mut store, down).unwrap();
            given.set_max_stack(&mut store, SMALL).unwrap();
            let given = given.into_ref(&mut store).unwrap();
            let mut results = [Val::I32(0)];
            resume.call(&mut store, &[given.into(), Val::I32(MILLION)], &mut results).unwrap();
            assert_eq!(results[0].i32(), Some(MILLION));
            has_no_limit(&mut store, instance);
        }
    }
}

#[test]
fn a_limit_holds_for_all_stacks_of_a_continuation_and_no_others() {
    for engine in engines_that_limit() {
        let (mut store, instance) = instantiate_in(&engine, PAUSES);
        let pauses = instance.get_func(&mut store, "pauses").unwrap();
        for copies in [false, true] {
            let new = Continuation::new(&mut store, pauses).unwrap();
            let both = suspended(new.resume(&mut store, &[Val::I32(MILLION)]));
            both.set_max_stack(&mut store, SMALL).unwrap();
            let copy = copies.then(|| both.try_clone(&mut store).unwrap());
            let outer = suspended(both.resume(&mut store, &[]));
            // The inner stack has ended and is reused.
            has_no_limit(&mut store, instance);
            let exhausted = outer.resume(&mut store, &[]);
            traps(exhausted, TrapCode::CallStackExhausted);
            has_no_limit(&mut store, instance);
            if let Some(copy) = copy {
                let outer = suspended(copy.resume(&mut store, &[]));
                has_no_limit(&mut store, instance);
                traps(outer.resume(&mut store, &[]), TrapCode::CallStackExhausted);
            }
        }
        // A dropped continuation leaves no limit either.
        let new = Continuation::new(&mut store, pauses).unwrap();
        let both = suspended(new.resume(&mut store, &[Val::I32(MILLION)]));
        both.set_max_stack(&mut store, SMALL).unwrap();
        drop(both);
        for _ in 0..2 {
            has_no_limit(&mut store, instance);
            store.gc();
        }
    }
}

#[test]
fn the_limit_of_a_store_is_not_that_of_the_next_one() {
    let engine = Engine::default();
    for _ in 0..3 {
        let (mut small, instance) = instantiate_in(&engine, DEEP);
        small.set_max_wasm_stack(SMALL).unwrap();
        for name in ["root", "continuation"] {
            traps(number(&mut small, instance, name, &[MILLION]), TrapCode::CallStackExhausted);
        }
        drop(small);
        // It reuses the other store's table of stacks and its root.
        let (mut large, instance) = instantiate_in(&engine, DEEP);
        for name in ["root", "continuation"] {
            assert_eq!(number(&mut large, instance, name, &[MILLION]).unwrap(), MILLION);
        }
    }
}

// ---- memory goes back

#[test]
fn memory_goes_back_when_a_stack_has_not_needed_it_for_a_while() {
    alone(|| {
        let (mut store, instance) = instantiate(DEEP);
        let before = memory("VmRSS:") << 10;
        for name in ["root", "continuation"] {
            number(&mut store, instance, name, &[MILLION]).unwrap();
        }
        assert!((memory("VmRSS:") << 10) > before + (12 << 20), "a deep stack takes memory");
        for _ in 0..4 {
            number(&mut store, instance, "root", &[10]).unwrap();
        }
        assert!(
            (memory("VmRSS:") << 10) < before + (6 << 20),
            "{} {before}",
            (memory("VmRSS:") << 10)
        );
        assert!(store.stack_statistics().committed_bytes < 1 << 20);
        // The same within one call, by collections.
        let text = r#"(module
            (type $f (func (param i32) (result i32))) (type $c (cont $f))
            (type $box (struct (field i64)))
            (import "host" "f" (func $look))
            (func $down (type $f)
              (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 0))
                (else (i32.add (i32.const 1) (call $down (i32.sub (local.get 0) (i32.const 1)))))))
            (elem declare func $down)
            (func $collect (local $n i32)
              (local.set $n (i32.const 1000000))
              (loop $more
                (drop (struct.new $box (i64.const 1)))
                (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
            (func (export "run") (param i32) (result i32)
              (drop (call $down (local.get 0)))
              (drop (resume $c (local.get 0) (cont.new $c (ref.func $down))))
              (call $collect) (call $look)
              (call $down (i32.const 1))))"#;
        let look = move || {
            assert!(
                (memory("VmRSS:") << 10) < before + (12 << 20),
                "{} {before}",
                (memory("VmRSS:") << 10)
            )
        };
        let (mut store, instance) = with_host(&Engine::default(), text, look);
        assert_eq!(number(&mut store, instance, "run", &[MILLION]).unwrap(), 1);
        assert!(store.collections() > 3);
    });
}

/// Has this many continuations wait at this depth, and then ends them.
fn many_wait_in_the_depth(count: usize, depth: i32) {
    let text = r#"(module
        (tag $yield)
        (func $down (export "down") (param i32) (result i32)
          (if (i32.eqz (local.get 0)) (then (suspend $yield) (return (i32.const 0))))
          (i32.add (i32.const 1) (call $down (i32.sub (local.get 0) (i32.const 1))))))"#;
    let (mut store, instance) = instantiate(text);
    let down = instance.get_func(&mut store, "down").unwrap();
    let mut waiting = Vec::new();
    for _ in 0..count {
        let continuation = Continuation::new(&mut store, down).unwrap();
        match continuation.resume(&mut store, &[Val::I32(depth)]).unwrap() {
            Resumed::Suspended { continuation, .. } => waiting.push(continuation),
            Resumed::Returned(_) => panic!("it suspends"),
        }
    }
    let needed: usize = waiting.iter().map(|one| one.bytes(&store).unwrap()).sum();
    let statistics = store.stack_statistics();
    println!("{count} continuations {depth} deep need {needed} bytes: {statistics:?}");
    assert!(needed > 16 * count * depth as usize);
    // Each stack may use two partial pages more, and some stacks wait in the pool.
    let most = needed + (2 * count + 2 * statistics.pooled) * 4096;
    assert!(statistics.committed_bytes <= most, "{needed}: {statistics:?}");
    for continuation in waiting {
        match continuation.resume(&mut store, &[]).unwrap() {
            Resumed::Returned(values) => assert_eq!(values[0].i32(), Some(depth)),
            Resumed::Suspended { .. } => panic!("it suspends once"),
        }
    }
}

#[test]
fn many_continuations_in_the_depth_take_the_memory_that_their_frames_need() {
    many_wait_in_the_depth(50, 30_000);
}

#[test]
#[ignore = "takes some gigabytes of memory"]
fn a_thousand_continuations_each_a_hundred_thousand_deep() {
    many_wait_in_the_depth(1000, 100_000);
}

// ---- what walks over deep stacks is quick

#[test]
fn exceptions_traps_and_collections_in_the_depth_are_quick() {
    let text = r#"(module
        (type $box (struct (field (ref null $box)))) (tag $e (param i32))
        (global $kept (mut (ref null $box)) (ref.null $box))
        (func $down (param $n i32) (param $what i32) (result i32)
          (if (local.get $n) (then
            (return (i32.add (i32.const 1)
              (call $down (i32.sub (local.get $n) (i32.const 1)) (local.get $what))))))
          (if (i32.eq (local.get $what) (i32.const 1)) (then (throw $e (i32.const 5))))
          (if (i32.eq (local.get $what) (i32.const 2)) (then (unreachable)))
          (if (i32.eq (local.get $what) (i32.const 3)) (then
            (local.set $n (i32.const 1000000))
            (loop $l
              (global.set $kept (struct.new $box (ref.null $box)))
              (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))
          (i32.const 0))
        (func (export "run") (param i32 i32) (result i32)
          (block $h (result i32)
            (try_table (result i32) (catch $e $h) (call $down (local.get 0) (local.get 1))))))"#;
    let (mut store, instance) = instantiate(text);
    number(&mut store, instance, "run", &[MILLION, 0]).unwrap();
    for what in [1, 2, 3] {
        let begin = Instant::now();
        let found = number(&mut store, instance, "run", &[MILLION, what]);
        let time = begin.elapsed();
        match what {
            1 => assert_eq!(found.unwrap(), 5),
            2 => {
                let error = found.unwrap_err();
                assert_eq!(trap(&error).code(), TrapCode::Unreachable);
                let backtrace = trap(&error).backtrace();
                let frames = backtrace.frames();
                assert_eq!(backtrace.omitted() + frames.len(), MILLION as usize + 2);
                assert_eq!(frames.last().unwrap().function_name(), Some("run"));
            }
            _ => assert_eq!(found.unwrap(), MILLION),
        }
        println!("{what}: {time:?}");
        assert!(time < Duration::from_secs(8), "{what}: {time:?}");
    }
}
