//! Compilation bombs: modules that cost the compiler far more than their length suggests.
//!
//! Each is compiled in time and memory near its size, or refused by a limit that can be set. Times
//! are processor times, so that they do not depend on other processes, and are compared with an
//! ordinary function. Tests that measure run in a process of their own.

mod kinds;
mod out_of_memory;
mod pairs;
mod products;
mod template;

use crate::common::{alone, instantiate_in, invoke};
use crate::sample::sample;
use kinds::KINDS;
use ropewalk::{Config, Engine, Instance, Linker, Module, ModuleError, Store, Trap, TrapCode};
use std::fs;
use std::sync::LazyLock;

/// The processor time of this process in seconds.
fn processor_time() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields = stat.rsplit(')').next().unwrap().split_whitespace().skip(11).take(2);
    fields.map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

/// The resident memory of this process in mebibytes.
fn memory() -> usize {
    crate::common::memory("VmRSS:") / 1024
}

/// The source of a kind for a size.
fn source(kind: &str, size: usize) -> String {
    let found = KINDS.iter().find(|(name, _)| name == kind);
    kinds::source(&found.unwrap_or_else(|| panic!("no {kind}")).1, size)
}

/// Compiles and instantiates a module, or returns the error.
fn outcome(engine: &Engine, source: &str) -> Result<(), String> {
    let module = Module::new(engine, source).map_err(|error| message(&error))?;
    let mut store = Store::new(engine, ());
    match Linker::<()>::new(engine).instantiate(&mut store, &module) {
        Err(error) if !error.to_string().contains("unknown import") => Err(error.to_string()),
        _ => Ok(()),
    }
}

/// The message of a module error, without the position.
fn message(error: &ropewalk::Error) -> String {
    let error = error.downcast_ref::<ModuleError>().expect("an error of a module");
    error.message().to_string()
}

/// How many seconds an ordinary function of 12,000 instructions takes to compile.
fn ordinary() -> f64 {
    static SECONDS: LazyLock<f64> = LazyLock::new(|| {
        let source = source("adds", 12_000);
        let start = processor_time();
        outcome(&Engine::default(), &source).unwrap();
        (processor_time() - start).max(0.1)
    });
    *SECONDS
}

#[test]
fn every_kind_is_handled_at_a_small_size() {
    let engine = Engine::default();
    for (name, template) in &*KINDS {
        if let Err(error) = outcome(&engine, &kinds::source(template, 60)) {
            panic!("{name}: {error}");
        }
    }
}

/// Kinds, each with a size that would take minutes if time were the square of it.
const LARGE: &[(&str, usize)] = &[
    ("catches times calls", 400),
    ("nested catches times calls", 1000),
    ("nested calls in try_tables", 1000),
    ("clauses times resumes", 12_000),
    ("long clause list", 8000),
    ("long clause lists", 12_000),
    ("task.new", 5000),
    ("fiber.new", 2500),
    ("suspend", 4000),
    ("resume_throw", 4000),
    ("stack.switch", 500),
    ("casts", 8000),
    ("struct.new", 8000),
    ("throws", 6000),
    ("nested blocks", 20_000),
    ("nested ifs", 10_000),
    ("functions with types of their own", 40_000),
    ("recursive groups", 40_000),
    ("long recursive group", 40_000),
    ("exports", 40_000),
    ("long element segment of expressions", 100_000),
    ("dialect types", 5000),
    ("answers", 2000),
];

#[test]
fn no_large_module_takes_the_square_of_its_size() {
    alone(|| {
        let engine = Engine::default();
        let most = 15.0 * ordinary();
        for (kind, size) in sample(LARGE, 6) {
            let source = source(kind, *size);
            let start = processor_time();
            let outcome = outcome(&engine, &source);
            let time = processor_time() - start;
            println!("{kind} {size}: {time:.2} s of {most:.2} s");
            assert_eq!(outcome, Ok(()), "{kind}");
            assert!(time < most, "{kind}: {time:.2} s, {most:.2} s would be much");
        }
    });
}

/// The message that refuses an excessive module. The refusal is quick.
fn refusal(kind: &str, size: usize) -> String {
    let engine = Engine::default();
    let source = source(kind, size);
    let start = processor_time();
    let error = outcome(&engine, &source).unwrap_err();
    let time = processor_time() - start;
    assert!(time < 5.0 * ordinary(), "{kind}: {time:.2} s");
    error
}

#[test]
fn too_much_work_is_refused() {
    alone(|| {
        assert_eq!(
            refusal("results times calls", 3000),
            "the module is too large: function 1 needs 1034000 or more units of work: values that \
         calls and branches pass, edges to handlers, switches between stacks; at most 1032012 are \
         allowed for 8003 bytes of code (Config::max_work)"
        );
        assert!(refusal("catches times calls", 1500).contains("(Config::max_work)"));
        let functions = "(func (local i32 i32) (call $f) unreachable)".repeat(1200);
        let results = " i32".repeat(1000);
        let source = format!("(module (func $f (result {results}) unreachable) {functions})");
        let error = outcome(&Engine::default(), &source).unwrap_err();
        assert_eq!(
            error,
            "the module is too large: its functions together need 1201200 or more units of work: \
         values that calls and branches pass, edges to handlers, switches between stacks; at most \
         1134448 are allowed for 8403 bytes of code (Config::max_work)"
        );
        assert!(refusal("br_table with operands", 12_000).contains("(Config::max_work)"));
    });
}

#[test]
fn references_that_are_needed_during_many_calls_are_refused() {
    alone(|| {
        assert_eq!(
            refusal("operands live over calls", 12_000),
            "the module is too large: compiling function 2 takes 5760000000 or more steps, 5760000000 \
         of them for references that are needed during calls; at most 448002000 are allowed for \
         48002 bytes of code (Config::max_steps)"
        );
        assert!(refusal("references live over calls", 12_000).contains("function 3"));
        assert!(refusal("references set and live over calls", 12_000).contains("function 3"));
    });
}

#[test]
fn many_locals_in_many_blocks_are_kept_in_memory() {
    assert_eq!(outcome(&Engine::default(), &source("locals in loops", 12_000)), Ok(()));
}

#[test]
fn deep_nesting_is_refused() {
    alone(|| {
        assert_eq!(
            refusal("nested blocks", 20_001),
            "the module is too large: function 1 nests 20001 blocks; at most 20000 are allowed \
         (Config::max_nesting)"
        );
    });
}

#[test]
fn errors_of_limits_have_positions() {
    let mut config = Config::new();
    config.max_nesting(3);
    let engine = Engine::new(&config).unwrap();
    let source =
        "(module\n  (func)\n  (func $deep (local i32)\n    (block (block (block (block))))))";
    let error = Module::new(&engine, source).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the module is too large: function 1 nests 4 blocks; at most 3 are allowed \
         (Config::max_nesting)\n  --> 3:4\n   |\n 3 |   (func $deep (local i32)\n   |    ^"
    );
    // Limits that are found later have a position too.
    config.max_steps(0).max_backtracking(1);
    let engine = Engine::new(&config).unwrap();
    for kind in ["operands live over calls", "references live over calls"] {
        let error = Module::new(&engine, self::source(kind, 6000)).map(drop).unwrap_err();
        let error = error.downcast_ref::<ModuleError>().unwrap();
        assert!(error.message().starts_with("the module is too large: "), "{error}");
        assert!(error.position().is_some(), "{error}");
    }
}

#[test]
fn a_function_has_not_too_many_switches() {
    alone(|| {
        for kind in ["suspend", "stack switch", "stack.switch", "stack.switch_call"] {
            let error = refusal(kind, 10_000);
            assert!(error.starts_with("the module is too large: function "), "{error}");
            let counted = "has 5001 or more instructions that switch between stacks; at most 5000 are \
                       allowed (Config::max_switches)";
            assert!(error.contains(counted), "{kind}: {error}");
        }
    });
}

#[test]
fn limits_can_be_set() {
    let compile = |set: fn(&mut Config) -> &mut Config, kind: &str, size: usize| {
        let mut config = Config::new();
        set(&mut config);
        outcome(&Engine::new(&config).unwrap(), &source(kind, size))
    };
    let fails = |set: fn(&mut Config) -> &mut Config, kind, size, setting: &str| {
        let error = compile(set, kind, size).unwrap_err();
        assert!(error.contains(setting), "{error}");
        compile(|c| c, kind, size).unwrap();
    };
    fails(|c| c.max_nesting(10), "nested blocks", 11, "(Config::max_nesting)");
    fails(|c| c.max_switches(10), "suspend", 11, "(Config::max_switches)");
    fails(|c| c.max_steps(0), "operands live over calls", 3170, "(Config::max_steps)");
    fails(|c| c.max_compile_memory(0), "adds", 60_000, "(Config::max_compile_memory)");
    assert!(compile(|c| c.max_work(0), "results times calls", 1000).is_err());
    compile(|c| c.max_nesting(30_000), "nested blocks", 25_000).unwrap();
}

#[test]
fn other_ways_to_compile_change_no_result() {
    let source = "(module
      (tag $e (param i32))
      (func $f (param i32) (result i32)
        (if (i32.and (local.get 0) (i32.const 1)) (then (throw $e (local.get 0))))
        (i32.mul (local.get 0) (i32.const 3)))
      (func (export \"run\") (param i32) (result i32) (local $sum i32)
        (loop $again
          (local.set $sum (i32.add (local.get $sum)
            (block $caught (result i32)
              (try_table (result i32) (catch $e $caught) (call $f (local.get 0))))))
          (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
        (local.get $sum)))";
    let run = |config: &Config| {
        let (mut store, instance) = instantiate_in(&Engine::new(config).unwrap(), source);
        invoke::<i32, i32>(&mut store, instance, "run", 1000).unwrap()
    };
    assert_eq!(run(&Config::new()), run(Config::new().max_backtracking(0)));
    assert_eq!(run(&Config::new()), run(Config::new().max_local_blocks(0)));
}

// ---- memory

/// Stacks that wait for others cannot be parked, so they count with their whole size.
#[test]
fn the_memory_of_stacks_is_limited() {
    let mut config = Config::new();
    config.stack_size(64 << 10).max_stack_memory((10 * 64 + 63) << 10);
    let engine = Engine::new(&config).unwrap();
    let source = "(module (type $f (func (param i32))) (type $c (cont $f))
      (func $nest (export \"nest\") (type $f)
        (if (local.get 0) (then (resume $c
          (i32.sub (local.get 0) (i32.const 1)) (cont.new $c (ref.func $nest))))))
      (elem declare func $nest))";
    let (mut store, instance) = instantiate_in(&engine, source);
    let nest = instance.get_typed_func::<i32, ()>(&mut store, "nest").unwrap();
    for _ in 0..2 {
        nest.call(&mut store, 10).unwrap();
        let error = nest.call(&mut store, 11).unwrap_err();
        assert_eq!(error.downcast_ref::<Trap>().unwrap().code(), TrapCode::TooManyStacks);
    }
}

#[test]
fn unwritten_tables_take_no_memory() {
    alone(|| {
        // Whatever memory the machine has.
        let engine = Engine::new(Config::new().max_total_table_elements(u64::MAX)).unwrap();
        let tables = "(table 10000000 anyref)".repeat(100);
        let module = Module::new(&engine, format!("(module {tables})")).unwrap();
        let mut store = Store::new(&engine, ());
        let before = memory();
        Instance::new(&mut store, &module, &[]).unwrap();
        assert!(memory() - before < 64, "{} MiB", memory() - before);
        drop(store);
        // A collection visits them.
        let module = Module::new(&engine, "(module (table 10000000 anyref))").unwrap();
        let mut store = Store::new(&engine, ());
        Instance::new(&mut store, &module, &[]).unwrap();
        store.gc();
        assert!(memory() - before < 64, "{} MiB", memory() - before);
    });
}

#[test]
fn elements_are_kept_when_a_large_table_grows() {
    let engine = Engine::default();
    let source = "(module (table $t (export \"t\") 5000 i31ref (ref.i31 (i32.const 7)))
      (func (export \"grow\") (param i32) (result i32)
        (table.grow $t (ref.i31 (i32.const 9)) (local.get 0)))
      (func (export \"get\") (param i32) (result i32)
        (i31.get_s (table.get $t (local.get 0)))))";
    let (mut store, instance) = instantiate_in(&engine, source);
    let grow = instance.get_typed_func::<i32, i32>(&mut store, "grow").unwrap();
    assert_eq!(grow.call(&mut store, 100_000).unwrap(), 5000);
    assert_eq!(grow.call(&mut store, 1_000_000).unwrap(), 105_000);
    store.gc();
    for (index, value) in [(0, 7), (4999, 7), (5000, 9), (104_999, 9), (1_104_999, 9)] {
        assert_eq!(
            invoke::<i32, i32>(&mut store, instance, "get", index).unwrap(),
            value,
            "{index}"
        );
    }
    assert_eq!(grow.call(&mut store, 10_000_000).unwrap(), -1);
    assert_eq!(instance.get_table(&mut store, "t").unwrap().size(&store).unwrap(), 1_105_000);
}

#[test]
fn tables_are_limited() {
    let fails = |config: &Config, source: &str| {
        let engine = Engine::new(config).unwrap();
        outcome(&engine, source).unwrap_err()
    };
    assert_eq!(
        fails(&Config::new(), "(module (table 10000001 funcref))"),
        "a table of 10000001 elements: at most 10000000 are allowed (Config::max_table_elements)"
    );
    let full = "(table 5000000 (ref func) (ref.func $f))".repeat(5);
    assert_eq!(
        fails(&Config::new(), &format!("(module {full} (func $f))")),
        "tables that begin with 25000000 elements that are not null: at most 20000000 are allowed \
         (Config::max_filled_elements)"
    );
    let small = |source| fails(Config::new().max_table_elements(9).max_filled_elements(3), source);
    assert!(small("(module (table 10 funcref))").contains("at most 9"));
    assert!(small("(module (table 4 (ref func) (ref.func $f)) (func $f))").contains("at most 3"));
}

#[test]
fn unwritten_large_arrays_take_no_memory() {
    alone(|| {
        let engine = Engine::default();
        let source = "(module (type $a (array (mut i64)))
      (global $kept (mut (ref null $a)) (ref.null $a))
      (func (export \"make\") (param i32)
        (global.set $kept (array.new_default $a (local.get 0)))
        (array.set $a (global.get $kept) (i32.const 77_000_000) (i64.const 5)))
      (func (export \"get\") (param i32) (result i64)
        (array.get $a (global.get $kept) (local.get 0))))";
        let (mut store, instance) = instantiate_in(&engine, source);
        let before = memory();
        invoke::<i32, ()>(&mut store, instance, "make", 100_000_000).unwrap();
        for _ in 0..2 {
            assert!(memory() - before < 64, "{} MiB", memory() - before);
            let at = |index, store: &mut Store<()>| {
                invoke::<i32, i64>(store, instance, "get", index).unwrap()
            };
            let [left, there, right] =
                [76_999_999, 77_000_000, 77_000_001].map(|i| at(i, &mut store));
            assert_eq!([left, there, right], [0, 5, 0]);
            store.gc();
        }
    });
}

/// Reused memory is zeroed.
#[test]
fn new_arrays_are_zero_in_reused_memory() {
    let engine = Engine::default();
    let source = "(module (type $a (array (mut i64)))
      (func (export \"run\") (param $len i32) (result i64)
        (local $a (ref $a)) (local $i i32) (local $found i64)
        (local.set $a (array.new_default $a (local.get $len)))
        (loop $next
          (local.set $found (i64.or (local.get $found)
            (array.get $a (local.get $a) (local.get $i))))
          (array.set $a (local.get $a) (local.get $i) (i64.const -1))
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br_if $next (i32.lt_u (local.get $i) (local.get $len))))
        (local.get $found)))";
    let (mut store, instance) = instantiate_in(&engine, source);
    for round in 0..200 {
        let len = 1 + round * 7919 % 40_000;
        assert_eq!(
            invoke::<i32, i64>(&mut store, instance, "run", len).unwrap(),
            0,
            "round {round}"
        );
    }
    assert!(store.collections() > 3);
}
