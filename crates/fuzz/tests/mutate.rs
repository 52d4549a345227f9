//! Whatever is put into the engine, nothing panics, and errors say what is wrong
//! and where.

mod seeds;

#[test]
fn mutilated_modules_and_scripts_get_an_answer() {
    seeds::try_cases("mutate", 1200, 900);
}
