//! Misused reserved imports are rejected or trap as documented, alike in every mode.

mod common;

#[test]
fn misused_imports_do_no_harm() {
    common::try_cases("imports", 40, 4000);
}
