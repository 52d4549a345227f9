//! No mutated input makes the engine panic, and errors have messages and positions.

mod common;

#[test]
fn mutated_modules_and_scripts_are_handled() {
    common::try_cases("mutate", 1200, 900);
}
