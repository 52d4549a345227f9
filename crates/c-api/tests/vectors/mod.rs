//! Generates a C program that passes invalid vectors to every function of the headers that takes
//! one: null with a size, and a size beyond the address space.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A function of the headers.
struct Function {
    result: String,
    name: String,
    parameters: Vec<Parameter>,
}

struct Parameter {
    /// The type without `const` and `own`, and without stars.
    ty: String,
    stars: usize,
    name: String,
    is_own: bool,
    is_array: bool,
}

impl Parameter {
    fn of(text: &str) -> Parameter {
        let spaced = text.replace('*', " * ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let mut names = words.iter().filter(|word| !matches!(**word, "*" | "const" | "own"));
        let ty = names.next().expect("a type").to_string();
        let name = names.next().unwrap_or(&"").to_string();
        Parameter {
            ty,
            stars: words.iter().filter(|word| **word == "*").count(),
            is_own: words.contains(&"own"),
            is_array: name.ends_with("[]"),
            name,
        }
    }

    /// Whether the function stores a result there.
    fn is_out(&self) -> bool {
        self.stars == 2 && !self.is_array || self.name.starts_with("out")
    }

    fn is_vector(&self) -> bool {
        self.ty.ends_with("_vec_t") && !self.is_out()
    }

    /// A valid argument.
    fn good(&self, function: &str) -> String {
        let Parameter { ty, .. } = self;
        if self.is_array {
            return "NULL".into();
        }
        if ty == "wasm_trap_t" && self.is_out() {
            return "&trap".into();
        }
        if ty == "ropewalk_resumed_t" {
            return "&resumed".into();
        }
        if ty == "ropewalk_switched_t" {
            return "&switched".into();
        }
        if self.is_out() || ty.ends_with("_vec_t") {
            let stars = "*".repeat(self.stars - 1);
            return format!("&({ty}{stars}){{0}}");
        }
        let good = match (&**ty, self.is_own) {
            ("size_t", _) => "0",
            ("wasm_engine_t", false) => "engine",
            ("wasm_store_t", false) => "store",
            ("wasm_module_t", false) => "module",
            ("wasm_func_t", false) => "func",
            ("wasm_tag_t", false) => "tag",
            ("ropewalk_wasi_t", false) => "wasi",
            ("wasm_externtype_t", true) => "externtype()",
            ("ropewalk_continuation_t", true) => "continuation()",
            // Vectors are checked first.
            ("ropewalk_task_t" | "ropewalk_fiber_t" | "wasm_ref_t", false) => "NULL",
            ("ropewalk_bag_stack_t" | "ropewalk_first_class_stack_t", true) => "NULL",
            other => panic!("{function}: this test has nothing of the type {other:?}"),
        };
        good.into()
    }
}

/// The functions that the headers declare.
fn functions(include: &Path) -> Vec<Function> {
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("include-with-own");
    fs::create_dir_all(&copy).unwrap();
    for name in ["wasm.h", "ropewalk.h"] {
        let text = fs::read_to_string(include.join(name)).unwrap();
        fs::write(copy.join(name), text.replace("#define own\n", "")).unwrap();
    }
    let output = Command::new("cc").args(["-E", "-P"]).arg(copy.join("ropewalk.h")).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let statements = text.split([';', '{', '}']).map(str::trim);
    let declared = statements.filter(|text| {
        !text.starts_with("static") && !text.starts_with("typedef") && !text.contains("return ")
    });
    declared.filter_map(function).collect()
}

fn function(statement: &str) -> Option<Function> {
    let (before, rest) = statement.split_once('(')?;
    let parameters = rest.strip_suffix(')')?;
    let name = before.split([' ', '*', '\n']).next_back()?;
    let is_ours = name.starts_with("wasm_") || name.starts_with("ropewalk_");
    // No function with a vector also has a function pointer.
    if !is_ours || parameters.contains('(') || parameters == "void" {
        return None;
    }
    let result = before.strip_suffix(name)?.replace("own", "").replace("const", "");
    Some(Function {
        result: result.split_whitespace().collect(),
        name: name.to_string(),
        parameters: parameters.split(',').map(Parameter::of).collect(),
    })
}

/// The beginning of the program, with objects for other parameters.
const BEGINNING: &str = r#"
#include "expect.h"

static wasm_engine_t* engine;
static wasm_store_t* store;
static wasm_module_t* module;
static wasm_func_t* func;
static wasm_tag_t* tag;
static ropewalk_wasi_t* wasi;
static wasm_trap_t* trap;
static ropewalk_resumed_t resumed;
static ropewalk_switched_t switched;
static void* elements[8];

static own ropewalk_continuation_t* continuation(void) {
  ropewalk_continuation_t* made;
  ropewalk_error_delete(ropewalk_continuation_new(func, &made));
  return made;
}

static own wasm_externtype_t* externtype(void) {
  return wasm_functype_as_externtype(wasm_functype_new_0_0());
}

static own wasm_trap_t* nothing(const wasm_val_vec_t* args, own wasm_val_vec_t* results) {
  (void)args, (void)results;
  return NULL;
}

static void begin(void) {
  engine = wasm_engine_new();
  store = wasm_store_new(engine);
  wasm_byte_vec_t text;
  wasm_name_new_from_string(&text, "(module)");
  ropewalk_error_delete(ropewalk_module_new(engine, &text, &module));
  wasm_byte_vec_delete(&text);
  wasm_functype_t* type = wasm_functype_new_0_0();
  func = wasm_func_new(store, type, nothing);
  wasm_tagtype_t* tag_type = wasm_tagtype_new(type);
  tag = wasm_tag_new(store, tag_type);
  wasm_tagtype_delete(tag_type);
  wasm_valtype_vec_t none = WASM_EMPTY_VEC;
  wasm_externtype_t* any = externtype();
  wasi = ropewalk_wasi_new();
  expect("objects", engine && store && module && func && tag && wasi && any && !none.size);
  wasm_externtype_delete(any);
  ropewalk_error_delete(ropewalk_last_error());
}

/* Expects an error, a trap or a last error about elements. */
static void refused(const char* what, own ropewalk_error_t* error, own wasm_trap_t* found) {
  bool says = false;
  wasm_message_t message;
  wasm_trap_t* traps[] = {found, trap, resumed.trap, switched.trap};
  for (size_t i = 0; i < 4; i++) {
    if (!traps[i]) continue;
    wasm_trap_message(traps[i], &message);
    says |= strstr(message.data, "elements") != NULL;
    wasm_byte_vec_delete(&message);
  }
  ropewalk_error_t* errors[] = {error, ropewalk_last_error()};
  for (size_t i = 0; i < 2; i++) {
    if (!errors[i]) continue;
    ropewalk_error_message(errors[i], &message);
    says |= strstr(message.data, "elements") != NULL;
    wasm_byte_vec_delete(&message);
    ropewalk_error_delete(errors[i]);
  }
  expect(what, says);
  wasm_trap_delete(found);
  wasm_trap_delete(trap);
  trap = NULL;
  ropewalk_resumed_delete(&resumed);
  ropewalk_switched_delete(&switched);
}

"#;

/// Generates the program.
pub fn program(include: &Path) -> String {
    let mut text = BEGINNING.to_string();
    let (mut calls, mut functions_with_vectors) = (String::new(), 0);
    for function in functions(include) {
        let bad = (0..function.parameters.len()).filter(|i| {
            let parameter = &function.parameters[*i];
            parameter.is_vector() || parameter.is_array
        });
        let bad: Vec<usize> = bad.collect();
        functions_with_vectors += usize::from(!bad.is_empty());
        for parameter in bad {
            for (size, data) in [("5", "NULL"), ("SIZE_MAX", "(void*)elements")] {
                calls.push_str(&call(&function, parameter, size, data));
            }
        }
    }
    assert!(functions_with_vectors > 50, "the headers were not parsed");
    writeln!(text, "int main(void) {{\n  begin();\n{calls}").unwrap();
    text + "  printf(\"%d failures\\n\", failures);\n  return 0;\n}\n"
}

/// A call with an invalid vector or array.
fn call(function: &Function, bad: usize, size: &str, data: &str) -> String {
    let Function { result, name, parameters } = function;
    let arguments = parameters.iter().enumerate().map(|(i, parameter)| match parameter {
        _ if i == bad && parameter.is_array => data.into(),
        _ if i + 1 == bad && parameters[bad].is_array => size.into(),
        _ if i == bad => "&bad".into(),
        other => other.good(name),
    });
    let arguments: Vec<String> = arguments.collect();
    let call = format!("{name}({})", arguments.join(", "));
    let what = format!("\"{name}, parameter {bad}: {{{size}, {data}}}\"");
    let declared = match parameters[bad].is_array {
        true => String::new(),
        false => format!("{} bad = {{{size}, {data}}};", parameters[bad].ty),
    };
    let ended = match &**result {
        _ if name.ends_with("_vec_delete") => {
            format!("{call}; expect({what}, !bad.size && !bad.data);")
        }
        "ropewalk_error_t*" => format!("refused({what}, {call}, NULL);"),
        "wasm_trap_t*" => format!("refused({what}, NULL, {call});"),
        "void" => format!("{call}; refused({what}, NULL, NULL);"),
        _ => format!("expect({what}, !{call}); refused({what}, NULL, NULL);"),
    };
    format!("  {{ {declared} {ended} }}\n")
}
