//! Test scripts: ours, generated ones, and the official suites, in all stress modes.

mod checker;
mod generated;
mod official_suites;
mod runner;
#[path = "../../../ropewalk/tests/sample/mod.rs"]
mod sample;
mod scripts;
mod stack_switching;
