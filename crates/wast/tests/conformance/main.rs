//! Test scripts: ours, generated ones, those of the reference, and the official suites, in all
//! stress modes.

mod checker;
mod directives;
mod generated;
mod official_suites;
mod reference;
mod runner;
#[path = "../../../ropewalk/tests/sample/mod.rs"]
mod sample;
mod scripts;
mod stack_switching;
