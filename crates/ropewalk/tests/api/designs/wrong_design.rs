//! References of one design in operations of another, in a lowered module where their types are the
//! same.
//!
//! The operation traps, and the reference stays usable.

use crate::common::*;
use ropewalk::*;

/// A module in which one type, `$x`, serves several designs: continuations, stacks and tasks with
/// this many parameters of their own type, and `rest`. `new <design>` makes a reference. Each other
/// export uses the kept one.
fn mixed(brand: &str, received: usize, imports: &str, rest: &str) -> String {
    let x = "(ref null $x) ".repeat(received);
    let others = "(ref null $x) ".repeat(received - 1);
    let nulls = "(ref.null $x) ".repeat(received);
    let other_nulls = "(ref.null $x) ".repeat(received - 1);
    format!(
        r#"(module
  (import "ropewalk:stack" "new" (func $stack.new (param (ref null $f)) (result (ref $x))))
  (import "ropewalk:stack" "switch" (func $stack.switch (param {x}) (result {x})))
  (import "ropewalk:stack" "switch_retire" (func $stack.switch_retire (param {x})))
  (import "ropewalk:stack" "bind" (func $stack.bind (param (ref null $x)) (result (ref $x))))
  (import "ropewalk:stack" "switch_throw"
    (func $stack.switch_throw (param (ref null $x)) (result {x})))
  (import "ropewalk:stack" "return_switch" (func $stack.return_switch (param {x}) (result {x})))
  (import "ropewalk:stack" "return_switch_throw"
    (func $stack.return_switch_throw (param (ref null $x)) (result {x})))
  (import "ropewalk:task" "new" (func $task.new (param (ref $g)) (result (ref $x))))
  (import "ropewalk:task" "resume" (func $task.resume (param (ref null $x) {x})))
  (import "ropewalk:task" "suspend" (func $task.suspend (param (ref null $x)) (result {x})))
  (import "ropewalk:task" "switchto"
    (func $task.switchto (param (ref null $x) (ref null $x) {x}) (result {x})))
  (import "ropewalk:task" "retire" (func $task.retire (param (ref null $x))))
  (import "ropewalk:task" "release" (func $task.release (param (ref null $x))))
  {imports}
  {brand}
  (type $v (func)) (type $g (func (param (ref null $x) {x}))) (tag $none)
  (tag $left (param (ref null $x))) (global $kept (mut (ref null $x)) (ref.null $x))
  (elem declare func $body $back $task $switches)

  (func $body (type $f))
  (func $back (type $f) (call $stack.switch_retire {other_nulls}(local.get {last})) unreachable)
  (func $task (type $g))
  (func $then (param {x}))

  (func (export "new continuation") (global.set $kept (cont.new $x (ref.func $body))))
  (func (export "new bag") (global.set $kept (call $stack.new (ref.func $back))))
  (func (export "new task") (global.set $kept (call $task.new (ref.func $task))))

  (func (export "continuation: resume") (resume $x {nulls} (global.get $kept)))
  (func (export "continuation: resume_throw") (resume_throw $x $none (global.get $kept)))
  (func (export "continuation: resume_throw_ref")
    (block $h (result exnref) (try_table (catch_all_ref $h) (throw $none)) unreachable)
    (resume_throw_ref $x (global.get $kept)))
  (func (export "continuation: cont.bind") (drop (cont.bind $x $x (global.get $kept))))
  (func $switches (type $f) (switch $x $none {other_nulls}(global.get $kept)) {drops})
  (func (export "continuation: switch")
    (resume $x (on $none switch) {nulls} (cont.new $x (ref.func $switches))))

  (func (export "bag: switch") (call $stack.switch {other_nulls}(global.get $kept)) {drops})
  (func (export "bag: bind") (drop (call $stack.bind (global.get $kept))))
  (func (export "bag: switch_retire")
    (call $stack.switch_retire {other_nulls}(global.get $kept)) unreachable)
  (func (export "bag: return_switch")
    (call $stack.return_switch {other_nulls}(global.get $kept)) (return_call $then))
  (func (export "bag: switch_throw")
    (block $sent (result (ref null $x)) (global.get $kept)
      (try_table (param (ref null $x)) (result {x}) (catch $left $sent)
        (call $stack.switch_throw)) {drops} (return))
    unreachable)
  (func (export "bag: return_switch_throw")
    (block $sent (result (ref null $x)) (global.get $kept)
      (try_table (param (ref null $x)) (result {x}) (catch $left $sent)
        (call $stack.return_switch_throw)) (return_call $then))
    unreachable)

  (func (export "task: resume") (call $task.resume (global.get $kept) {nulls}))
  (func (export "task: suspend") (call $task.suspend (global.get $kept)) {drops})
  (func (export "task: retire") (call $task.retire (global.get $kept)) unreachable)
  (func (export "task: release") (call $task.release (global.get $kept)))
  (func (export "task: switchto from")
    (call $task.switchto (global.get $kept) (call $task.new (ref.func $task)) {nulls}) {drops})
  (func (export "task: switchto") (call $task.resume (call $task.new (ref.func $goes)) {nulls}))
  (elem declare func $goes)
  (func $goes (param $me (ref null $x)) (param {others}(ref null $x))
    (call $task.switchto (local.get $me) (global.get $kept) {nulls}) {drops})
  {rest})"#,
        last = received - 1,
        drops = "drop ".repeat(received),
    )
}

/// The type of fibers, and fibers.
fn with_fibers() -> String {
    let imports = r#"
  (import "ropewalk:fiber" "new" (func $fiber.new (param (ref $fiberbody)) (result (ref $x))))
  (import "ropewalk:fiber" "mount" (func $fiber.mount (param (ref null $x))))
  (import "ropewalk:fiber" "switch" (func $fiber.switch (param (ref null $x) (ref null $x))))
  (import "ropewalk:fiber" "dismount" (func $fiber.dismount (param (ref null $x))))
  (import "ropewalk:fiber" "release" (func $fiber.release (param (ref null $x))))
  (import "ropewalk:fiber" "dismount_release" (func $fiber.dismount_release (param (ref null $x))))
  (import "ropewalk:fiber" "switch_release"
    (func $fiber.switch_release (param (ref null $x) (ref null $x))))"#;
    let one = "(try_table (param (ref null $x)) (catch $none $sent)";
    let two = "(try_table (param (ref null $x) (ref null $x)) (catch $none $sent)";
    let rest = format!(
        r#"
  (type $fiberbody (func (param (ref null $x))))
  (elem declare func $fiberbody $fiberswitches $fiberswitches_release)
  (func $fiberbody (type $fiberbody) (block $sent (local.get 0) {one} (call $fiber.dismount))))
  (func $make (export "new fiber")
    (global.set $kept
      (block $made (result (ref $x))
        (block $sent
          (try_table (result (ref $x)) (catch $none $sent) (ref.func $fiberbody) (call $fiber.new))
          (br $made))
        unreachable)))
  (func (export "fiber: mount")
    (block $dismounted
      (block $sent (global.get $kept)
        (try_table (param (ref null $x)) (catch $none $sent) (catch $none $dismounted)
          (call $fiber.mount)))
      unreachable))
  (func (export "fiber: switch from")
    (block $sent (global.get $kept) (global.get $kept) {two} (call $fiber.switch))))
  (func (export "fiber: switch_release from")
    (block $sent (global.get $kept) (global.get $kept) {two} (call $fiber.switch_release))))
  (func (export "fiber: dismount") (block $sent (global.get $kept) {one} (call $fiber.dismount))))
  (func (export "fiber: dismount_release")
    (block $sent (global.get $kept) {one} (call $fiber.dismount_release))))
  (func (export "fiber: release") (call $fiber.release (global.get $kept)))
  (func $fiberswitches (type $fiberbody)
    (block $sent (local.get 0) (global.get $kept) {two} (call $fiber.switch))))
  (func $fiberswitches_release (type $fiberbody)
    (block $sent (local.get 0) (global.get $kept) {two} (call $fiber.switch_release))))
  (func (export "fiber: switch")
    (block $sent
      (block $made (result (ref $x))
        (block $sent
          (try_table (result (ref $x)) (catch $none $sent)
            (ref.func $fiberswitches) (call $fiber.new))
          (br $made))
        unreachable)
      {one} (call $fiber.mount))))
  (func (export "fiber: switch_release")
    (block $sent
      (block $made (result (ref $x))
        (block $sent
          (try_table (result (ref $x)) (catch $none $sent)
            (ref.func $fiberswitches_release) (call $fiber.new))
          (br $made))
        unreachable)
      {one} (call $fiber.mount))))"#
    );
    let brand = "(rec (type $x (cont $f)) (type $f (func (param (ref null $x)))))";
    mixed(brand, 1, imports, &rest)
}

/// The type of first-class stacks, and such stacks.
fn with_first_class_stacks() -> String {
    let imports = r#"
  (import "host" "new_stack" (func $new_stack (result (ref null $x))))
  (import "ropewalk:first-class" "switch" (func $switch (param (ref null $x))))
  (import "ropewalk:first-class" "switch_drop" (func $switch_drop (param (ref null $x))))
  (import "ropewalk:first-class" "switch_call"
    (func $switch_call (param (ref null $x) (ref $takes))))
  (import "ropewalk:first-class" "switch_call_trap"
    (func $switch_call_trap (param (ref null $x) (ref $takes))))
  (import "ropewalk:first-class" "extend"
    (func $extend (param (ref null $x) (ref $v)) (result (ref null $x))))
  (import "ropewalk:first-class" "extend_trap"
    (func $extend_trap (param (ref null $x) (ref $v)) (result (ref null $x))))
  (import "ropewalk:first-class" "start" (func $start))
  (import "ropewalk:first-class" "redirect" (func $redirect (param exnref (ref null $x))))
  (import "ropewalk:first-class" "level" (func $level (result i32)))
  (import "ropewalk:first-class" "enter_redirect" (func $enter_redirect (param (ref $box))))
  (import "ropewalk:first-class" "call_stack" (func $call_stack))"#;
    let rest = r#"
  (type $takes (func (param (ref null $x)))) (type $box (struct (field (mut (ref null $x)))))
  (tag $ct (param (ref null $v))) (elem declare func $takes $rout)
  (func $takes (type $takes))
  (func $rout (type $v) (call $start) unreachable)
  (func (export "new first-class stack") (global.set $kept (call $new_stack)))
  (func (export "first-class stack: switch")
    (block $sent (result (ref null $x)) (global.get $kept)
      (try_table (param (ref null $x)) (catch $left $sent) (call $switch)) unreachable)
    unreachable)
  (func (export "first-class stack: switch_drop")
    (block $sent (global.get $kept)
      (try_table (param (ref null $x)) (catch $none $sent) (call $switch_drop)) unreachable)
    unreachable)
  (func (export "first-class stack: switch_call")
    (block $sent (global.get $kept)
      (try_table (param (ref null $x)) (catch $none $sent) (ref.func $takes) (call $switch_call))
      unreachable)
    unreachable)
  (func (export "first-class stack: switch_call_trap")
    (call $switch_call_trap (global.get $kept) (ref.func $takes)) unreachable)
  (func (export "first-class stack: extend")
    (block $sent (global.get $kept)
      (try_table (param (ref null $x)) (result (ref null $x)) (catch $none $sent)
        (ref.func $rout) (call $extend))
      (global.set $kept) (return))
    unreachable)
  (func (export "first-class stack: extend_trap")
    (global.set $kept (call $extend_trap (global.get $kept) (ref.func $rout))))
  (func (export "first-class stack: redirect")
    (block $h (result exnref) (try_table (catch_all_ref $h) (throw $none)) unreachable)
    (call $redirect (global.get $kept)) unreachable)
  (func (export "first-class stack: a walk")
    (call $enter_redirect (struct.new $box (global.get $kept)))
    (block $sent (result (ref null $v)) (try_table (catch $ct $sent) (call $call_stack)) (return))
    unreachable)
  (func (export "drop") (drop (global.get $kept)))
  (func (export "is null") (drop (ref.is_null (global.get $kept))))"#;
    let brand = "(rec (type $x (cont $f)) \
                 (type $f (func (param (ref null $x) (ref null $x)))))";
    mixed(brand, 2, imports, rest)
}

/// Gives a reference of each design to the operations of all others, then to one of its own, which
/// works.
fn check_mixed(source: &str, own: &[(&str, &str)]) {
    for (mut store, instance) in instances(source) {
        let exports = instance.exports(&mut store).unwrap();
        let names: Vec<String> = exports.into_iter().map(|(name, _)| name).collect();
        for (design, good) in own {
            call(&mut store, instance, &format!("new {design}"), &[]).unwrap();
            let others = names
                .iter()
                .filter(|name| name.split_once(": ").is_some_and(|(other, _)| other != *design));
            for name in others {
                let error = call(&mut store, instance, name, &[]).err();
                let error = error.unwrap_or_else(|| panic!("{name} takes a {design}"));
                assert_eq!(trap(&error).code(), TrapCode::OtherDesign, "{name} of a {design}");
            }
            // These do nothing with references of other designs.
            for name in names.iter().filter(|name| matches!(&***name, "drop" | "is null")) {
                if *design != "first-class stack" {
                    call(&mut store, instance, name, &[]).unwrap();
                }
            }
            let found = call(&mut store, instance, good, &[]);
            assert!(found.is_ok(), "{good}: {found:?}");
        }
    }
}

#[test]
fn references_of_another_design_trap() {
    check_mixed(
        &with_fibers(),
        &[
            ("continuation", "continuation: resume"),
            ("bag", "bag: switch"),
            ("task", "task: resume"),
            ("fiber", "fiber: mount"),
        ],
    );
    check_mixed(
        &with_first_class_stacks(),
        &[
            ("continuation", "continuation: resume"),
            ("bag", "bag: switch"),
            ("task", "task: resume"),
            ("first-class stack", "first-class stack: extend"),
        ],
    );
}
