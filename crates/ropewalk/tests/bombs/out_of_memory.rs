//! Compiling in a process that has little memory: an error, and no abort.

use crate::kinds::KINDS;
use ropewalk::{Engine, Module};
use std::process::Command;

/// What the child is told by: how many mebibytes it has.
const MEBIBYTES: &str = "BOMBS_MEBIBYTES";

/// What the child says.
const FAILED: &str = "failed for want of memory";
const COMPILED: &str = "was compiled";

#[test]
fn a_compilation_without_memory_fails() {
    if let Ok(mebibytes) = std::env::var(MEBIBYTES) {
        return compile_with(mebibytes.parse().unwrap());
    }
    let said: Vec<String> = [64, 128, 256, 512, 1024, 4096].map(run_with).to_vec();
    assert!(said[0].contains(FAILED), "{said:?}");
    assert!(said[5].contains(COMPILED), "{said:?}");
}

/// Runs this test in a child.
fn run_with(mebibytes: u64) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "out_of_memory::a_compilation_without_memory_fails", "--nocapture"]);
    let output = child.env(MEBIBYTES, mebibytes.to_string()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{mebibytes} MiB: {}: {said}{complaint}", output.status);
    said
}

/// Compiles a function that takes hundreds of mebibytes in a process that may allocate as
/// many more as are given.
fn compile_with(mebibytes: u64) {
    let source = KINDS.iter().find(|(name, _)| *name == "loads and stores").unwrap().1(40_000);
    let binary = ropewalk_text::Text::parse(&source).unwrap().binary().to_vec();
    drop(source);
    let engine = Engine::default();
    // Threads of the compiler have stacks and heaps of their own, which are there now.
    Module::new(&engine, "(module (func) (func) (func) (func))").unwrap();
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = pages.split_whitespace().next().unwrap().parse().unwrap();
    let most = pages * 4096 + (mebibytes << 20);
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: it reads the limit.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
    match Module::from_binary(&engine, &binary) {
        Ok(_) => println!("{COMPILED}"),
        Err(error) => {
            assert!(error.to_string().contains("there is not enough memory to compile"), "{error}");
            println!("{FAILED}");
        }
    }
}
