//! Programs that mix all designs do what the model predicts after their stores are restored from snapshots.

mod common;

#[test]
fn programs_resume_from_their_snapshots() {
    common::try_seeds("snapshots", 0..25);
}

#[test]
fn scripted_programs_resume_from_their_snapshots() {
    common::try_seeds("scripted-snapshots", 0..15);
}
