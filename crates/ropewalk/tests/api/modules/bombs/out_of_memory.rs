//! Compiling in a process with little memory: an error, not an abort.

use crate::common::limit_address_space;
use crate::common::process::{rerun, told_by_parent};
use ropewalk::{Engine, Module};

/// The output of the child.
const FAILED: &str = "failed for want of memory";
const COMPILED: &str = "was compiled";

#[test]
fn a_compilation_without_memory_fails() {
    if let Some(mebibytes) = told_by_parent() {
        return compile_with(mebibytes.parse().unwrap());
    }
    let said: Vec<String> = [64, 128, 256, 512, 1024, 4096].map(run_with).to_vec();
    assert!(said[0].contains(FAILED), "{said:?}");
    assert!(said[5].contains(COMPILED), "{said:?}");
}

/// Runs this test in a child.
fn run_with(mebibytes: u64) -> String {
    let output = rerun(&mebibytes.to_string()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{mebibytes} MiB: {}: {said}{complaint}", output.status);
    said
}

/// Waits until all other threads of this process sleep. A thread that still starts may need memory.
fn wait_for_idle_threads() {
    let is_awake = |task: std::io::Result<std::fs::DirEntry>| {
        let stat = std::fs::read_to_string(task.unwrap().path().join("stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.starts_with('R')
    };
    // This thread is awake.
    let awake = || std::fs::read_dir("/proc/self/task").unwrap().map(is_awake).filter(|it| *it);
    while awake().count() > 1 {
        std::thread::yield_now();
    }
}

/// Compiles a function that takes hundreds of mebibytes, in a process that may map only this many
/// more.
fn compile_with(mebibytes: u64) {
    let source = super::source("loads and stores", 40_000);
    let binary = ropewalk_text::Text::parse(&source).unwrap().binary().to_vec();
    drop(source);
    let engine = Engine::default();
    // This starts the compiler's threads, which have stacks and heaps of their own.
    Module::new(&engine, "(module (func) (func) (func) (func))").unwrap();
    wait_for_idle_threads();
    limit_address_space(mebibytes << 20);
    match Module::from_binary(&engine, &binary) {
        Ok(_) => println!("{COMPILED}"),
        Err(error) => {
            assert!(error.to_string().contains("there is not enough memory to compile"), "{error}");
            println!("{FAILED}");
        }
    }
}
