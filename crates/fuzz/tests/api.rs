//! Whatever a host does with the interface, values stay what they are and
//! misuse is an error.

mod seeds;

#[test]
fn stores_hold_what_they_are_given_and_refuse_what_is_not_theirs() {
    seeds::try_cases("api", 2000, 2500);
}
