//! The chain of frame pointers of a stack, which all walks follow.

/// Iterates over the links of a stack, newest first: their addresses and the return addresses.
pub(crate) struct Links {
    fp: usize,
    distance: usize,
}

impl Links {
    /// The links of a stack from `fp` on. The stack lies `distance` bytes from where they say.
    ///
    /// # Safety
    ///
    /// The stack must have been left there, and stay unchanged while this is used.
    pub unsafe fn new(fp: usize, distance: usize) -> Links {
        Links { fp, distance }
    }

    /// Whether no link is left.
    pub fn is_at_end(&self) -> bool {
        self.fp == 0
    }
}

impl Iterator for Links {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let fp = self.fp;
        if fp == 0 {
            return None;
        }
        // SAFETY: `fp` is a link, so a saved frame pointer and a return address are there.
        let (next, pc) = unsafe { (*(fp as *const usize), *((fp + 8) as *const usize)) };
        self.fp = if next == 0 { 0 } else { next.wrapping_add(self.distance) };
        Some((fp, pc))
    }
}
