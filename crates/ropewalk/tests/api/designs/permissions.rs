//! `Config::designs`: an engine refuses modules that use other designs.

use ropewalk::{Config, Designs, Engine, Module, Result};

/// A module of each design that has no word of another.
const MODULES: [(Designs, &str); 8] = [
    (Designs::CONTINUATIONS, "(module (tag $t)\n  (func (suspend $t)))"),
    (
        Designs::CONTINUATIONS,
        "(module (type $f (func)) (type $k (cont $f))
           (func (param (ref null $k)) (drop (cont.clone $k (local.get 0)))))",
    ),
    (
        Designs::CONTINUATIONS,
        "(module (type $f (func)) (type $k (cont $f))
           (func (param (ref null $k)) (resume $k (local.get 0))))",
    ),
    (
        Designs::BAG,
        "(module (type $s (stack (ref null $s)))
           (func (param (ref null $s)) (drop (switch $s (local.get 0)))))",
    ),
    (
        Designs::TASKS,
        "(module (type $t (task)) (func (param (ref null $t)) (task.resume $t (local.get 0))))",
    ),
    (Designs::FIBERS, "(module (tag $e) (func (param fiberref) (fiber.mount $e (local.get 0))))"),
    (
        Designs::FIRST_CLASS,
        "(module (event $e (param stackref))
           (func (param stackref) (stack.switch $e (local.get_clear 0))))",
    ),
    (Designs::FIRST_CLASS, "(module (func (param anyref) (local.set_cleared 0 (ref.null any))))"),
];

fn engine(designs: Designs) -> Engine {
    Engine::new(Config::new().designs(designs)).unwrap()
}

fn compile(designs: Designs, module: &str) -> Result<Module> {
    Module::new(&engine(designs), module)
}

#[test]
fn each_design_alone_is_enough_for_its_modules() {
    for (design, module) in MODULES {
        compile(design, module).unwrap_or_else(|error| panic!("{module}: {error:?}"));
        Module::validate(&engine(design), module).unwrap();
    }
}

#[test]
fn a_module_of_a_design_that_is_off_is_refused_by_name() {
    for (design, module) in MODULES {
        let off = Designs::all().difference(design);
        let name = design.iter_names().next().unwrap().0;
        let expected = format!("is not allowed: Config::designs lacks Designs::{name}");
        let validated = Module::validate(&engine(off), module).unwrap_err().to_string();
        let compiled = compile(off, module).unwrap_err().to_string();
        assert!(compiled.contains(&expected), "{module}: {compiled}");
        assert_eq!(validated, compiled);
    }
}

#[test]
fn the_refused_instruction_is_named_with_its_line() {
    let error = compile(Designs::TASKS, MODULES[0].1).unwrap_err().to_string();
    assert!(error.contains("`suspend` is not allowed") && error.contains("--> 2:10"), "{error}");
}

#[test]
fn a_standard_module_needs_no_design() {
    compile(Designs::empty(), "(module (tag $t) (func (throw $t)))").unwrap();
}

/// Otherwise, a file would bring in what the engine refuses.
#[test]
fn a_precompiled_module_is_for_engines_with_the_same_designs() {
    let bytes = compile(Designs::all(), MODULES[0].1).unwrap().serialize().unwrap();
    // SAFETY: the bytes are those of a module that this version has compiled.
    let load = |designs| unsafe { Module::deserialize(&engine(designs), &bytes) };
    let error = load(Designs::TASKS).unwrap_err().to_string();
    assert!(error.contains("designs"), "{error}");
    load(Designs::all()).unwrap();
}

/// Stacks without ground come from a module of the engine itself.
#[test]
fn the_host_creates_first_class_stacks_whatever_modules_may_use() {
    let engine = engine(Designs::empty());
    let mut store = ropewalk::Store::new(&engine, ());
    ropewalk::FirstClassStack::new(&mut store, None).unwrap();
}
