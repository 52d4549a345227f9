//! Whatever an embedder does without `unsafe`, calls return what they should, or fail for a reason,
//! and stores work afterwards.

mod seeds;

#[test]
fn a_hostile_embedder_harms_nobody() {
    seeds::try_cases("embedder", 150, 2500);
}
