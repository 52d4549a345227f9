//! Programs that mix all designs do what the model predicts, in every mode.

mod common;

#[test]
fn programs_do_what_the_model_says_in_every_mode() {
    common::try_seeds("designs", 0..60);
}

#[test]
fn programs_do_what_the_model_says_at_the_last_generations() {
    common::try_seeds("generations", 0..100);
}
