//! Any sequence of API calls keeps values intact, and misuse is an error.

mod common;

#[test]
fn stores_keep_their_values_and_reject_foreign_items() {
    common::try_cases("api", 2000, 2500);
}
