//! With a hostile embedder, calls return the right result or fail for a reason, and stores still work.

mod common;

#[test]
fn a_hostile_embedder_does_no_harm() {
    common::try_cases("embedder", 150, 2500);
}
