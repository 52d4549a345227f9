//! Misuse of the reserved imports is refused, or traps as documented, in every
//! mode alike, and leaves the store usable.

mod seeds;

#[test]
fn misused_imports_harm_nobody() {
    seeds::try_cases("imports", 40, 4000);
}
