//! Very long lists of clauses: each tag finds its clause, and a tag without a clause finds none.

use super::{check, check_in, repeat};
use ropewalk::stress;

/// A list of `count` clauses.
fn clauses(count: usize, label: impl Fn(usize) -> String) -> String {
    repeat(count, |i| format!("(on $t{i} {})", label(i)))
}

/// The positions in a list that are tested.
fn places(count: usize) -> Vec<usize> {
    let mut places = vec![0, count / 2, count - 1];
    places.dedup();
    places
}

/// Blocks around `inside`. The innermost is the label of the first clause. Each block calls `$came`
/// with the values of its clause and the number of the clause.
fn ladder(count: usize, types: &str, inside: &str) -> String {
    let open = repeat(count, |i| format!("(block $l{} (result {types})", count - 1 - i));
    let close = repeat(count, |i| format!(") (i32.const {i}) (call $came) (return)"));
    format!("{open} {inside} {close}")
}

/// A module whose tags are imported, so that only the instance knows their addresses. The last tag
/// is imported again as `$again`.
fn with_tags(count: usize, fields: &str) -> String {
    let exported = repeat(count, |i| format!("(tag (export \"{i}\"))"));
    let imported = repeat(count, |i| format!("(import \"tags\" \"{i}\" (tag $t{i}))"));
    format!(
        r#"(module $tags {exported}) (register "tags" $tags)
(module {imported} (import "tags" "{}" (tag $again)) (tag $absent)
  (global $clause (mut i32) (i32.const -1))
  (func (export "clause") (result i32) (global.get $clause) (global.set $clause (i32.const -1)))
  {fields})"#,
        count - 1
    )
}

fn resumes(count: usize) -> String {
    let body = |tag: String| format!("(func $f-{tag} (suspend ${tag}))");
    let run = |tag: String| {
        format!("(func (export \"{tag}\") (call $run (cont.new $k (ref.func $f-{tag}))))")
    };
    let tags = || places(count).into_iter().map(|i| format!("t{i}")).chain(["absent".into()]);
    let inside = format!(
        "(resume $k {} (on $again $l0) (local.get 0)) (return)",
        clauses(count, |i| format!("$l{i}"))
    );
    let fields = format!(
        "(type $f (func)) (type $k (cont $f))
         (elem declare func {})
         (func $came (param (ref $k) i32) (global.set $clause (local.get 1)))
         (func $run (param (ref $k)) {})
         {} {}",
        tags().map(|tag| format!("$f-{tag} ")).collect::<String>(),
        ladder(count, "(ref $k)", &inside),
        tags().map(body).collect::<String>(),
        tags().map(run).collect::<String>(),
    );
    let script = with_tags(count, &fields) + &tried(count);
    script + "(assert_suspension (invoke \"absent\") \"unhandled tag\")"
}

/// Assertions that each tested tag reaches its clause.
fn tried(count: usize) -> String {
    let one = |i: usize| {
        format!(
            "(assert_return (invoke \"t{i}\")) (assert_return (invoke \"clause\") (i32.const {i}))\n"
        )
    };
    places(count).into_iter().map(one).collect()
}

fn fibers(count: usize) -> String {
    let tags = || places(count).into_iter().map(|i| format!("t{i}")).chain(["absent".into()]);
    let list = || clauses(count, |i| format!("$l{i}"));
    // The fiber has a clause for every event, and sends the same event back.
    let send = |tag: String| {
        let mount = format!(
            "(fiber.mount ${tag} {} (on $again $l0) (fiber.new {})) (return)",
            list(),
            format_args!("(on $absent $never) (on ${tag} $f-{tag})"),
        );
        let mount = match tag.as_str() {
            "absent" => format!("(fiber.mount $absent {} (call $begun)) (return)", list()),
            _ => mount,
        };
        format!(
            "(func $f-{tag} (param $self fiberref) (fiber.dismount ${tag} (local.get $self)))
             (func (export \"{tag}\") {})
             (func (export \"to {tag}\")
               (block $l (fiber.mount ${tag} (on $begin $l) (call $begun))))",
            ladder(count, "", &mount)
        )
    };
    let wait = format!("(fiber.dismount $begin {} (on $again $l0) (local.get 0)) (return)", list());
    let fields = format!(
        "(tag $begin)
         (func $came (param i32) (global.set $clause (local.get 0)))
         (func $never (param $self fiberref) (unreachable))
         (func $waits (param fiberref) {})
         (func $begun (result fiberref) (local $f fiberref)
           (local.set $f (fiber.new (on $begin $ends)))
           (block $l (fiber.mount $begin (on $begin $l) (local.get $f)))
           (local.get $f))
         (func $ends (param $self fiberref)
           (call $waits (local.get $self))
           (fiber.dismount $begin (local.get $self)))
         {}",
        ladder(count, "", &wait),
        tags().map(send).collect::<String>(),
    );
    let to = tried(count).replace("invoke \"t", "invoke \"to t");
    let none = |name: &str| {
        format!(
            "(assert_return (invoke \"{name}\")) \
             (assert_return (invoke \"clause\") (i32.const -1))\n"
        )
    };
    with_tags(count, &fields) + &tried(count) + &to + &none("absent") + &none("to absent")
}

#[test]
fn every_clause_of_a_resume_is_found() {
    for count in [1, 2, 5, 6, 64, 256] {
        check(&format!("{count} clauses"), &resumes(count));
    }
}

#[test]
fn a_resume_can_have_as_many_clauses_as_the_format_allows() {
    // One more clause is for the tag that was imported again.
    check_in(&[stress::DEFAULT], "10000 clauses", &resumes(9_999));
}

#[test]
fn every_event_of_a_fiber_is_found() {
    for count in [1, 2, 5, 6, 64, 256] {
        check(&format!("{count} clauses"), &fibers(count));
    }
}
