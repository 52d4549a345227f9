//! The small module that creates first-class stacks for the host. An engine compiles it on first
//! use.

use crate::engine::Engine;
use crate::module::Module;
use anyhow::{Context, Result};
use ropewalk_abi::module::Import;
use ropewalk_runtime::LoadedModule;
use std::sync::Arc;

/// The names under which modules import the function that gives a stack.
const HOST: &str = "host";
pub(crate) const NEW_STACK: &str = "new_stack";

/// The small module. If a stack has a ground, it catches what arrives there, and passes it to the
/// function of the ground. The runtime throws the exception of a trap only where it is caught by its
/// tag. If the function returns from a trap, the exception is thrown on.
const STACKS: &str = r#"
(module $host
  (type $ground (func (param exnref)))
  (import "ropewalk:first-class" "new_stack" (func $blank (result stackref)))
  (rout $grounded (param $ground (ref null $ground))
    (block $arrived (result exnref)
      (try_table (catch_all_ref $arrived) (stack.start))
      (unreachable))
    (call_ref $ground (local.get $ground)))
  (type $trap-ground (func (param exnref externref)))
  (tag $trap (export "trap") (param externref))
  (rout $for-traps (param $ground (ref null $trap-ground)) (local $error externref)
    (block $trapped (result externref)
      (block $arrived (result exnref)
        (try_table (catch $trap $trapped) (catch_all_ref $arrived) (stack.start))
        (unreachable))
      (call_ref $trap-ground (ref.null extern) (local.get $ground))
      (unreachable))
    (local.set $error)
    (call_ref $trap-ground (ref.null exn) (local.get $error) (local.get $ground))
    (throw $trap (local.get $error)))
  (func (export "new_stack") (result stackref) (call $blank))
  (func (export "with_ground") (param $ground (ref null $ground)) (result stackref)
    (stack.extend $grounded (local.get $ground) (call $blank)))
  (func (export "for_traps") (param $ground (ref null $trap-ground)) (result stackref)
    (stack.extend $for-traps (local.get $ground) (call $blank))))
"#;

pub(crate) fn compile(engine: &Engine) -> Result<Arc<LoadedModule>> {
    let module = Module::for_engine(engine, STACKS).context("cannot make first-class stacks")?;
    Ok(module.loaded().clone())
}

pub(crate) fn is_new_stack(import: &Import) -> bool {
    import.module == HOST && import.name == NEW_STACK
}
