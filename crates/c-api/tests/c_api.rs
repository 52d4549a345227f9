//! Tests of the installed libraries, found by pkg-config, linked to programs in C and C++.

mod vectors;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

const EXAMPLES: &[&str] = &[
    "hello",
    "callbacks",
    "traps",
    "memory",
    "globals_and_tables",
    "references",
    "serialize",
    "wasi",
    "generator",
    "stacks",
    "threads",
];

#[derive(Clone, Copy)]
enum Library {
    Shared,
    Static,
}

/// The folder of this crate.
fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of this test, which contains the libraries.
fn built() -> PathBuf {
    let test = std::env::current_exe().expect("this test is a file");
    test.parent().expect("in a folder").to_path_buf()
}

/// The folder where the script has installed everything, once for all tests.
fn installed() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-api");
        let mut install = Command::new(here().join("install.sh"));
        install.arg("--prefix").arg(&prefix).arg("--from").arg(built()).arg("--strip");
        succeeds(&mut install);
        prefix
    })
}

fn succeeds(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?} ended with {}:\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

fn is_there(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: there is no {tool}");
    }
    found
}

/// The flags of pkg-config, or the same flags if it is not installed.
fn flags(library: Library) -> Vec<String> {
    let libraries = installed().join("lib");
    let mut command = Command::new("pkg-config");
    command.env("PKG_CONFIG_PATH", libraries.join("pkgconfig"));
    command.args(["--cflags", "--libs"]).arg("ropewalk");
    if let Library::Static = library {
        command.arg("--static");
    }
    let text = match command.output() {
        Ok(output) if output.status.success() => String::from_utf8(output.stdout).unwrap(),
        Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
        Err(_) => format!(
            "-I{} -L{} -lropewalk -lgcc_s -lutil -lrt -lpthread -lm -ldl -lc",
            installed().join("include").display(),
            libraries.display()
        ),
    };
    let text = match library {
        Library::Shared => format!("{text} -Wl,-rpath,{}", libraries.display()),
        Library::Static => text.replace("-lropewalk", "-l:libropewalk.a"),
    };
    text.split_whitespace().map(str::to_string).collect()
}

/// Builds a program with a compiler, links it to a library, and runs it.
fn run(compiler: &str, options: &[&str], source: &Path, library: Library) -> Output {
    let kind = match library {
        Library::Shared => "shared",
        Library::Static => "static",
    };
    let stem = source.file_stem().unwrap().to_str().unwrap();
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{stem}-{kind}"));
    let mut command = Command::new(compiler);
    command.args(options).args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-g"]);
    command.arg("-o").arg(&program).arg(source).args(flags(library)).arg("-lpthread");
    succeeds(&mut command);
    succeeds(&mut Command::new(program))
}

fn check_examples(library: Library) {
    for name in EXAMPLES {
        let file = here().join("examples").join(name);
        let output = run("cc", &["-std=c11"], &file.with_extension("c"), library);
        let expected = fs::read(file.with_extension("out")).unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&expected),
            "{name}"
        );
    }
}

#[test]
fn examples_run_with_the_shared_library() {
    check_examples(Library::Shared);
}

#[test]
fn examples_run_with_the_static_library() {
    check_examples(Library::Static);
}

#[test]
fn each_example_is_run() {
    let files = fs::read_dir(here().join("examples")).unwrap();
    let sources = files.map(|file| file.unwrap().path());
    let sources = sources.filter(|path| path.extension().is_some_and(|it| it == "c"));
    let found: BTreeSet<_> =
        sources.map(|path| path.file_stem().unwrap().to_str().unwrap().to_string()).collect();
    assert_eq!(found, EXAMPLES.iter().map(|name| name.to_string()).collect());
}

#[test]
fn the_program_of_the_documentation_works() {
    let page = fs::read_to_string(here().join("../../docs/C_API.md")).unwrap();
    let (_, program) = page.split_once("```c\n").expect("a program");
    let (program, text) = program.split_once("```").expect("its end");
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documentation.c");
    fs::write(&source, program).unwrap();
    let output = run("cc", &["-std=c11"], &source, Library::Shared);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "42\n");
    assert!(text.trim_start().starts_with("prints `42`"));
}

#[test]
fn created_and_deleted_objects_leave_nothing() {
    let output = run("cc", &["-std=gnu11"], &here().join("tests/c/ownership.c"), Library::Shared);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "nothing is left\n");
}

#[test]
fn misuse_is_an_error() {
    let output = run("cc", &["-std=c11"], &here().join("tests/c/misuse.c"), Library::Shared);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0 failures\n");
}

#[test]
fn each_family_of_functions_works() {
    let output = run("cc", &["-std=c11"], &here().join("tests/c/families.c"), Library::Shared);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0 failures\n");
}

#[test]
fn settings_limits_and_copies_work() {
    let output = run("cc", &["-std=c11"], &here().join("tests/c/features.c"), Library::Shared);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0 failures\n");
}

#[test]
fn the_headers_are_cplusplus() {
    if is_there("c++") {
        let source = here().join("tests/c/cplusplus.cpp");
        let output = run("c++", &["-std=c++11"], &source, Library::Shared);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "42\n");
    }
}

#[test]
fn python_embeds_the_shared_library() {
    if is_there("python3") {
        let mut python = Command::new("python3");
        python.arg(here().join("tests/embed.py")).arg(installed().join("lib/libropewalk.so"));
        let output = succeeds(&mut python);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "42\n");
    }
}

/// The functions that the headers declare, after preprocessing.
fn declared() -> BTreeSet<String> {
    let mut compiler = Command::new("cc");
    compiler.args(["-E", "-P"]).arg("-I").arg(here().join("include"));
    let output = succeeds(compiler.arg(here().join("include/ropewalk.h")));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut names = BTreeSet::new();
    for statement in text.split([';', '{', '}']) {
        let statement = statement.trim();
        let is_inline = statement.starts_with("static") || statement.contains("return ");
        let Some((before, _)) = statement.split_once('(') else { continue };
        let Some(name) = before.split([' ', '*', '\n']).next_back() else { continue };
        let is_ours = name.starts_with("wasm_") || name.starts_with("ropewalk_");
        let is_declaration = before.trim_end().len() > name.len();
        if is_ours && !is_inline && is_declaration && !statement.contains('=') {
            names.insert(name.to_string());
        }
    }
    names
}

/// The functions that the shared library exports.
fn defined() -> BTreeSet<String> {
    let mut nm = Command::new("nm");
    let output =
        succeeds(nm.arg("-D").arg("--defined-only").arg(installed().join("lib/libropewalk.so")));
    let text = String::from_utf8(output.stdout).unwrap();
    let names = text.lines().filter_map(|line| line.split_whitespace().next_back());
    let ours = names.filter(|name| name.starts_with("wasm_") || name.starts_with("ropewalk_"));
    ours.map(str::to_string).collect()
}

#[test]
fn the_headers_declare_exactly_the_exported_functions() {
    if !is_there("nm") {
        return;
    }
    let (declared, defined) = (declared(), defined());
    let missing: Vec<_> = declared.difference(&defined).collect();
    let undeclared: Vec<_> = defined.difference(&declared).collect();
    assert!(declared.len() > 300, "{}", declared.len());
    assert!(missing.is_empty(), "the library has no {missing:?}");
    assert!(undeclared.is_empty(), "the headers do not declare {undeclared:?}");
}

#[test]
fn every_function_refuses_invalid_vectors() {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("vectors.c");
    let program = vectors::program(&here().join("include"));
    fs::write(&source, program).unwrap();
    let include = format!("-I{}", here().join("tests/c").display());
    let output = run("cc", &["-std=c11", &include], &source, Library::Shared);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0 failures\n");
}

/// The functions of the library that a program calls, also by macros and inline functions.
fn called_by(source: &Path) -> BTreeSet<String> {
    let stem = source.file_stem().unwrap().to_str().unwrap();
    let object = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("called-by-{stem}.o"));
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-c", "-I"]).arg(here().join("include"));
    succeeds(compiler.arg("-o").arg(&object).arg(source));
    let output = succeeds(Command::new("nm").arg("--undefined-only").arg(&object));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .filter_map(|line| line.split_whitespace().next_back())
        .map(str::to_string)
        .collect()
}

/// Functions without parameters cannot be misused.
const NOTHING_TO_MISUSE: [&str; 4] =
    ["wasm_config_new", "wasm_engine_new", "ropewalk_wasi_new", "ropewalk_last_error"];

#[test]
fn every_function_is_used_by_a_test_and_misused_by_one() {
    if !is_there("nm") {
        return;
    }
    let test = |name: &str| here().join("tests/c").join(name).with_extension("c");
    let misused = called_by(&test("misuse"));
    let mut used = called_by(&test("families"));
    used.extend(called_by(&test("features")));
    for name in EXAMPLES {
        used.extend(called_by(&here().join("examples").join(name).with_extension("c")));
    }
    let declared = declared();
    let unused: Vec<_> = declared.difference(&used).collect();
    assert!(unused.is_empty(), "neither tests nor examples use {unused:?}");
    let not_misused = declared.difference(&misused);
    let not_misused: Vec<_> =
        not_misused.filter(|name| !NOTHING_TO_MISUSE.contains(&name.as_str())).collect();
    assert!(not_misused.is_empty(), "misuse.c does not misuse {not_misused:?}");
}

/// Programs use the library only by its symbols.
#[allow(unused_imports, reason = "the library must be built with this test")]
use ropewalk_c as _;
