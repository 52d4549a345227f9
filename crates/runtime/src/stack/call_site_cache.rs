//! A cache of call sites whose frames the collector can skip.

/// For some return addresses, whether the frame there has no references and owns no stacks. Indexed
/// by a hash of the address; address zero marks an empty entry.
#[derive(Debug, Default)]
pub(crate) struct CallSiteCache(Vec<(usize, bool)>);

const ENTRIES: usize = 256;

impl CallSiteCache {
    /// Whether the frame at a call site is plain, if that is known.
    pub fn get(&self, pc: usize) -> Option<bool> {
        let (known, is_plain) = *self.0.get(CallSiteCache::place(pc))?;
        (known == pc).then_some(is_plain)
    }

    /// Adds a call site. The table is allocated on first use, because most stores never park.
    pub fn set(&mut self, pc: usize, is_plain: bool) {
        if self.0.is_empty() && self.0.try_reserve_exact(ENTRIES).is_ok() {
            self.0.resize(ENTRIES, (0, false));
        }
        if let Some(known) = self.0.get_mut(CallSiteCache::place(pc)) {
            *known = (pc, is_plain);
        }
    }

    fn place(pc: usize) -> usize {
        (pc ^ pc >> 8) % ENTRIES
    }
}
