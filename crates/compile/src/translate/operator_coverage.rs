//! Checks at compile time that every operator has a translation, or belongs to a disabled proposal.
//!
//! If a new version of wasmparser has an operator of a new proposal, or another operator of a
//! translated one, this file does not compile. Translate the operator, or disable the proposal in
//! the engine's features.

/// The translated proposals, each with its number of operators.
const TRANSLATED: [(&str, usize); 13] = [
    ("mvp", 172),
    ("sign_extension", 5),
    ("gc", 32),
    ("saturating_float_to_int", 8),
    ("bulk_memory", 7),
    ("reference_types", 10),
    ("tail_call", 2),
    ("simd", 236),
    ("relaxed_simd", 20),
    ("exceptions", 3),
    ("function_references", 5),
    ("stack_switching", 7),
    ("wide_arithmetic", 4),
];

/// The proposals that the engine's features disable.
const REFUSED: [&str; 6] = [
    "acquire_release_atomics",
    "custom_descriptors",
    "memory_control",
    "threads",
    "legacy_exceptions",
    "shared_everything_threads",
];

macro_rules! proposals {
    ($(@$proposal:ident $op:ident $({ $($payload:tt)* })? => $visit:ident ($($ann:tt)*))*) => {
        const PROPOSALS: &[&str] = &[$(stringify!($proposal)),*];
    };
}

wasmparser::for_each_operator!(proposals);

const _: () = {
    let mut i = 0;
    while i < PROPOSALS.len() {
        assert!(is_known(PROPOSALS[i]), "an operator belongs to a proposal that is not listed");
        i += 1;
    }
    let mut i = 0;
    while i < TRANSLATED.len() {
        let (proposal, count) = TRANSLATED[i];
        assert!(operators_of(proposal) == count, "a translated proposal has a new operator");
        i += 1;
    }
};

const fn is_known(proposal: &str) -> bool {
    let mut i = 0;
    while i < REFUSED.len() {
        if is_same(REFUSED[i], proposal) {
            return true;
        }
        i += 1;
    }
    let mut i = 0;
    while i < TRANSLATED.len() {
        if is_same(TRANSLATED[i].0, proposal) {
            return true;
        }
        i += 1;
    }
    false
}

const fn operators_of(proposal: &str) -> usize {
    let (mut count, mut i) = (0, 0);
    while i < PROPOSALS.len() {
        count += is_same(PROPOSALS[i], proposal) as usize;
        i += 1;
    }
    count
}

const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}
