//! Renders modules: types, imports and definitions.

use super::Writer;
use crate::designs::program::{Function, FunctionId, Program, Signature, TABLE_LENGTH, Ty};
use std::fmt::Write;

/// The text of each module.
pub fn modules(program: &Program) -> Vec<String> {
    let functions: Vec<_> = (0..program.functions.len()).map(|id| function(program, id)).collect();
    let used = Used(functions.concat());
    (0..program.modules).map(|number| module(program, number, &functions, &used)).collect()
}

/// The code of all functions. Variables that it does not name are omitted.
struct Used(String);

impl Used {
    fn names(&self, name: &str) -> bool {
        let after = self.0.match_indices(name).map(|(at, _)| &self.0[at + name.len()..]);
        after.into_iter().any(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
    }
}

fn type_text(ty: Ty) -> String {
    match ty {
        Ty::I64 => "i64".to_string(),
        Ty::V128 => "v128".to_string(),
        Ty::Any => "anyref".to_string(),
        Ty::Exn => "exnref".to_string(),
        Ty::Cont(number) => format!("(ref null $c{number})"),
        Ty::Stack(number) => format!("(ref null $s{number})"),
        Ty::Task(number) => format!("(ref null $t{number})"),
        Ty::Fiber => "fiberref".to_string(),
        Ty::Linear => "stackref".to_string(),
    }
}

/// The null or zero of a type.
fn zero(ty: Ty) -> String {
    match ty {
        Ty::I64 => "(i64.const 0)".to_string(),
        Ty::V128 => "(v128.const i64x2 0 0)".to_string(),
        Ty::Any => "(ref.null any)".to_string(),
        Ty::Exn => "(ref.null exn)".to_string(),
        Ty::Cont(number) => format!("(ref.null $c{number})"),
        Ty::Stack(number) => format!("(ref.null $s{number})"),
        Ty::Task(number) => format!("(ref.null $t{number})"),
        Ty::Fiber => "(ref.null fiber)".to_string(),
        Ty::Linear => "(ref.null stack)".to_string(),
    }
}

/// The name of the struct that wraps a reference.
pub(super) fn wrapper(ty: Ty) -> String {
    match ty {
        Ty::Cont(number) => format!("$wc{number}"),
        Ty::Stack(number) => format!("$ws{number}"),
        Ty::Task(number) => format!("$wt{number}"),
        Ty::Fiber => "$wfiber".to_string(),
        Ty::Linear => "$wlinear".to_string(),
        _ => "$wexn".to_string(),
    }
}

/// ` (param ...)` and the like.
pub(super) fn list(word: &str, types: &[Ty]) -> String {
    if types.is_empty() {
        return String::new();
    }
    let types: Vec<_> = types.iter().map(|&ty| type_text(ty)).collect();
    format!(" ({word} {})", types.join(" "))
}

pub(super) fn signature(signature: &Signature) -> String {
    format!("{}{}", list("param", &signature.params), list("result", &signature.results))
}

/// The type of a function, by name if it has one.
pub(super) fn function_type(function: &Function) -> String {
    match function.declared {
        Some(number) => format!(" (type $f{number})"),
        None => signature(&function.signature),
    }
}

fn module(program: &Program, number: usize, functions: &[String], used: &Used) -> String {
    let mut text = format!("(module $m{number}\n");
    types(program, used, &mut text);
    imports(program, number, used, &mut text);
    definitions(program, number, used, &mut text);
    helpers(&mut text);
    for id in functions_of(program, number) {
        text.push_str(&functions[id]);
    }
    elements(program, number, &mut text);
    text.push_str(")\n");
    text
}

fn functions_of(program: &Program, module: usize) -> impl Iterator<Item = FunctionId> {
    (0..program.functions.len()).filter(move |&id| program.functions[id].module == module)
}

fn types(program: &Program, used: &Used, text: &mut String) {
    let types = &program.types;
    text.push_str("  (rec\n");
    for (number, cont) in types.conts.iter().enumerate() {
        let _ = writeln!(text, "    (type $f{number} (func{}))", signature(cont));
        let _ = writeln!(text, "    (type $c{number} (cont $f{number}))");
    }
    for (number, params) in types.stacks.iter().enumerate() {
        let (last, params) = params.split_last().expect("a return stack");
        let (params, last) = (list("param", params), type_text(*last));
        let _ = writeln!(text, "    (type $s{number} (stack{params} {last}))");
    }
    for (number, task) in types.tasks.iter().enumerate() {
        let _ = writeln!(text, "    (type $t{number} (task{}))", signature(task));
    }
    text.push_str("    (type $struct (struct (field (mut i64)) (field (mut anyref))))\n");
    text.push_str("    (type $array (array (mut i64)))\n");
    for ty in types.wrapped() {
        let (name, field) = (wrapper(ty), type_text(ty));
        if !used.names(&name) {
            continue;
        }
        let _ = writeln!(text, "    (type {name} (struct (field (mut {field}))))");
    }
    text.push_str("  )\n");
}

fn imports(program: &Program, number: usize, used: &Used, text: &mut String) {
    text.push_str("  (import \"host\" \"log\" (func $log (param i64)))\n");
    text.push_str("  (import \"host\" \"enter\" (func $enter (param i32 i64 i32) (result i64)))\n");
    text.push_str("  (import \"host\" \"throw\" (func $throw (param i64)))\n");
    text.push_str("  (import \"host\" \"fail\" (func $fail))\n");
    if program.types.first_class {
        text.push_str("  (import \"host\" \"new_stack\" (func $new_stack (result stackref)))\n");
    }
    if number == 0 {
        return;
    }
    text.push_str("  (import \"m0\" \"fuel\" (global $fuel (mut i64)))\n");
    text.push_str("  (import \"m0\" \"digest\" (global $digest (mut i64)))\n");
    if used.names("$position") {
        text.push_str("  (import \"m0\" \"script\" (memory 1))\n");
        text.push_str("  (import \"m0\" \"position\" (global $position (mut i32)))\n");
    }
    text.push_str("  (import \"m0\" \"functions\" (table $functions 1 funcref))\n");
    for (global, &ty) in program.globals.iter().enumerate() {
        if !used.names(&format!("$g{global}")) {
            continue;
        }
        let ty = type_text(ty);
        let _ = writeln!(text, "  (import \"m0\" \"g{global}\" (global $g{global} (mut {ty})))");
    }
    for (table, &ty) in program.tables.iter().enumerate() {
        if !used.names(&format!("$a{table}")) {
            continue;
        }
        let ty = type_text(ty);
        let _ =
            writeln!(text, "  (import \"m0\" \"a{table}\" (table $a{table} {TABLE_LENGTH} {ty}))");
    }
    for (tag, definition) in program.tags.iter().enumerate() {
        if definition.module < number && used.names(&format!("$e{tag}")) {
            let (from, ty) = (definition.module, signature(&definition.signature));
            let _ = writeln!(text, "  (import \"m{from}\" \"e{tag}\" (tag $e{tag}{ty}))");
        }
    }
    for (tag, ty) in program.call_tags.iter().enumerate() {
        let ty = signature(ty);
        let _ = writeln!(text, "  (import \"m0\" \"ask{tag}\" (call_tag $ask{tag}{ty}))");
    }
    for (id, function) in program.functions.iter().enumerate() {
        if function.module < number && !function.rout {
            let (from, ty) = (function.module, function_type(function));
            let _ = writeln!(text, "  (import \"m{from}\" \"f{id}\" (func $fn{id}{ty}))");
        }
    }
}

fn definitions(program: &Program, number: usize, used: &Used, text: &mut String) {
    for (tag, definition) in program.tags.iter().enumerate() {
        if definition.module == number && (tag == 0 || used.names(&format!("$e{tag}"))) {
            let ty = signature(&definition.signature);
            let _ = writeln!(text, "  (tag $e{tag} (export \"e{tag}\"){ty})");
        }
    }
    if number != 0 {
        return;
    }
    text.push_str("  (global $fuel (export \"fuel\") (mut i64) (i64.const 0))\n");
    text.push_str("  (global $digest (export \"digest\") (mut i64) (i64.const 0))\n");
    if used.names("$position") {
        text.push_str("  (memory (export \"script\") 1)\n");
        text.push_str("  (global $position (export \"position\") (mut i32) (i32.const 0))\n");
    }
    let count = program.functions.len();
    let _ = writeln!(text, "  (table $functions (export \"functions\") {count} funcref)");
    for (tag, ty) in program.call_tags.iter().enumerate() {
        let ty = signature(ty);
        let _ = writeln!(text, "  (call_tag $ask{tag} (export \"ask{tag}\"){ty})");
    }
    for (global, &ty) in program.globals.iter().enumerate() {
        if !used.names(&format!("$g{global}")) {
            continue;
        }
        let (text_of, zero) = (type_text(ty), zero(ty));
        let _ =
            writeln!(text, "  (global $g{global} (export \"g{global}\") (mut {text_of}) {zero})");
    }
    for (table, &ty) in program.tables.iter().enumerate() {
        if !used.names(&format!("$a{table}")) {
            continue;
        }
        let ty = type_text(ty);
        let _ = writeln!(text, "  (table $a{table} (export \"a{table}\") {TABLE_LENGTH} {ty})");
    }
}

fn helpers(text: &mut String) {
    text.push_str(
        "  (func $number (param $object anyref) (result i64)
    (if (ref.is_null (local.get $object)) (then (return (i64.const -1))))
    (if (ref.test (ref i31) (local.get $object))
      (then (return (i64.extend_i32_s (i31.get_s (ref.cast (ref i31) (local.get $object)))))))
    (if (ref.test (ref $struct) (local.get $object))
      (then (return (struct.get $struct 0 (ref.cast (ref $struct) (local.get $object))))))
    (if (ref.test (ref $array) (local.get $object))
      (then (return (i64.add
        (array.get $array (ref.cast (ref $array) (local.get $object)) (i32.const 0))
        (i64.extend_i32_u (array.len (ref.cast (ref $array) (local.get $object))))))))
    (i64.const -2))\n",
    );
}

fn function(program: &Program, id: FunctionId) -> String {
    let mut text = String::new();
    let function = &program.functions[id];
    let params = function.signature.params.len();
    let ty = match function.declared {
        Some(number) => format!(" (type $f{number})"),
        None => String::new(),
    };
    let word = if function.rout { "rout" } else { "func" };
    let export = if function.rout { String::new() } else { format!(" (export \"f{id}\")") };
    let _ = write!(text, "  ({word} $fn{id}{export}{ty}");
    for (local, &ty) in function.locals[..params].iter().enumerate() {
        let _ = write!(text, " (param $l{local} {})", type_text(ty));
    }
    text.push_str(&list("result", &function.signature.results));
    text.push('\n');
    for (local, &ty) in function.locals.iter().enumerate().skip(params) {
        let _ = writeln!(text, "    (local $l{local} {})", type_text(ty));
    }
    let mut writer = Writer::new(program, id);
    if !function.rout {
        writer.burn();
    }
    writer.block(function.body);
    for &result in &function.results {
        let result = writer.get(result);
        writer.line(result);
    }
    text.push_str(&writer.text);
    text.push_str("  )\n");
    text
}

/// Every function is in the table at its index, for earlier modules.
fn elements(program: &Program, number: usize, text: &mut String) {
    for id in functions_of(program, number).filter(|&id| !program.functions[id].rout) {
        let _ = writeln!(text, "  (elem (table $functions) (i32.const {id}) func $fn{id})");
    }
    // Functions of earlier modules may be named by `ref.func`, too.
    let others = program.functions.iter().enumerate();
    let others = others.filter(|(_, other)| other.module < number && !other.rout);
    let names: String = others.map(|(id, _)| format!(" $fn{id}")).collect();
    if !names.is_empty() {
        let _ = writeln!(text, "  (elem declare func{names})");
    }
}
