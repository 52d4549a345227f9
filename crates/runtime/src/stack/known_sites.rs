//! Which call sites leave frames that the collector can skip.

/// What is known of places in code where stacks were left: whether the frame there
/// has references or owns stacks. By a part of the address; zero is none.
#[derive(Debug, Default)]
pub(crate) struct KnownSites(Vec<(usize, bool)>);

const KNOWN_SITES: usize = 256;

impl KnownSites {
    /// Whether a place is known to be plain, or not.
    pub fn get(&self, pc: usize) -> Option<bool> {
        let (known, is_plain) = *self.0.get(KnownSites::place(pc))?;
        (known == pc).then_some(is_plain)
    }

    /// Remembers a place, if there is memory for the list: most stores never park.
    pub fn set(&mut self, pc: usize, is_plain: bool) {
        if self.0.is_empty() && self.0.try_reserve_exact(KNOWN_SITES).is_ok() {
            self.0.resize(KNOWN_SITES, (0, false));
        }
        if let Some(known) = self.0.get_mut(KnownSites::place(pc)) {
            *known = (pc, is_plain);
        }
    }

    fn place(pc: usize) -> usize {
        (pc ^ pc >> 8) % KNOWN_SITES
    }
}
