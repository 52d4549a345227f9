//! Programs that mix all designs do what the model says while their stores are written down and
//! read again.

mod common;

#[test]
fn programs_go_on_from_their_snapshots_as_the_model_says() {
    common::try_seeds("snapshots", 0..25);
}

#[test]
fn puppets_go_on_from_their_snapshots_as_the_model_says() {
    common::try_seeds("snapshot-puppets", 0..15);
}
