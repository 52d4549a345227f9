//! Modules that are nothing but a reserved import: the engine compiles or rejects each of them.

use ropewalk::{Engine, Module, Store};

/// The reference of reserved imports, whose tables have a row for each.
const REFERENCE: &str = include_str!("../../../../../docs/INTRINSICS.md");

const TYPES: [&str; 8] =
    ["i32", "i64", "f64", "v128", "funcref", "externref", "anyref", "(ref null $f)"];

/// The module and the name of each reserved import that the reference lists.
fn documented() -> Vec<(&'static str, &'static str)> {
    let mut found = Vec::new();
    let mut module = None;
    for line in REFERENCE.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            module = heading.split('`').find(|part| part.starts_with("ropewalk:"));
        } else if let (Some(module), Some(row)) = (module, line.strip_prefix("| `")) {
            found.push((module, row.split('`').next().unwrap()));
        }
    }
    found
}

/// No type, one type, and pairs that begin with a number.
fn lists() -> impl Iterator<Item = String> + Clone {
    let pairs = TYPES.iter().map(|ty| format!("i32 {ty}"));
    TYPES.iter().map(|ty| ty.to_string()).chain(pairs).chain([String::new()])
}

#[test]
fn a_reserved_import_in_an_otherwise_empty_module_compiles_or_is_refused() {
    let names = documented();
    assert!(names.len() >= 40, "{names:?}");
    let engine = Engine::default();
    for (module, name) in names {
        for params in lists() {
            for results in lists() {
                let import = format!(
                    r#"(type $f (func))
                       (import "{module}" "{name}" (func $op (param {params}) (result {results})))"#
                );
                check(&engine, &import);
                check(&engine, &format!("{import} (func (unreachable) (call $op) (unreachable))"));
            }
        }
    }
    check(&engine, r#"(import "ropewalk:first-class" "start" (func $op)) (func (call $op))"#);
}

/// Compiles a module and instantiates it, unless the engine rejects it with a reason.
fn check(engine: &Engine, source: &str) {
    match Module::new(engine, source) {
        Ok(module) => {
            let mut store = Store::new(engine, ());
            ropewalk::Instance::new(&mut store, &module, &[]).unwrap();
        }
        Err(error) => {
            let message = error.to_string();
            assert!(!message.contains("there is no reserved import"), "{source}: {message}");
        }
    }
}
