//! Random programs, inputs and uses for the engine, and what they must do.
//!
//! A [`Target`] makes a case out of random bytes, tries it, and says what is
//! wrong. The same bytes always make the same case, so a finding is a seed;
//! fewer bytes make a smaller case, so minimising is leaving bytes out.

#![forbid(unsafe_code)]

pub mod api;
pub mod child;
pub mod designs;
pub mod drive;
pub mod embedder;
pub mod finding;
pub mod imports;
pub mod minimise;
pub mod mutate;
pub mod oracle;
pub mod seeds;
pub mod smith;

/// One thing to try: a generator, and the oracle for what it makes.
pub trait Target: Sync {
    /// The name under which it is found.
    fn name(&self) -> &'static str;

    /// Makes a case out of random bytes and tries it; says what is wrong, if
    /// anything is.
    fn check(&self, entropy: &[u8]) -> Result<(), String>;

    /// The case as text, for whoever wants to read it or make a test of it.
    fn render(&self, entropy: &[u8]) -> String;
}

/// What a host function that failed said, without where it was called.
pub(crate) fn message(error: &ropewalk::Error) -> String {
    match error.downcast_ref::<ropewalk::HostError>() {
        Some(error) => error.message().to_string(),
        None => error.root_cause().to_string(),
    }
}

/// Every target.
pub fn targets() -> Vec<Box<dyn Target>> {
    let mut targets = designs::targets();
    targets.push(Box::new(api::Api));
    targets.push(Box::new(embedder::Embedder));
    targets.push(Box::new(imports::Imports));
    targets.push(Box::new(mutate::Mutate));
    targets.push(Box::new(smith::Smith));
    targets
}
