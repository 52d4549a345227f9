//! Root stacks: those of the nested activations, and idle ones for the next.
//!
//! | list | contents |
//! | --- | --- |
//! | `by_depth` | the roots of the nested activations, outermost first, then some idle roots |
//! | `spare` | further idle roots; the first `cold` of them have no memory |
//!
//! The roots of [pending activations](super::pending_activations) are in neither list. Both lists
//! have room for all roots of the store, so an activation that is set aside, resumed or ended needs
//! no memory for its root.

use crate::stack::RootStack;
use ropewalk_abi::ControlBlock;
use std::collections::TryReserveError;

/// The number of idle roots that stay ready beside those in use.
const READY_ROOTS: usize = 8;

/// The number of spare roots that always keep their memory.
const WARM_ROOTS: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Roots {
    by_depth: Vec<RootStack>,
    /// The number of nested activations.
    depth: usize,
    spare: Vec<RootStack>,
    cold: usize,
}

impl Roots {
    #[inline]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The root of the newest activation, if there is one.
    #[inline]
    pub fn newest(&self) -> Option<*mut ControlBlock> {
        self.depth.checked_sub(1).map(|number| self.by_depth[number].block)
    }

    /// The root for the next activation, if there is one.
    #[inline]
    pub fn next(&self) -> Option<*mut ControlBlock> {
        self.by_depth.get(self.depth).map(|root| root.block)
    }

    /// Makes the next root the newest. There must be a next root.
    #[inline]
    pub fn begin(&mut self) {
        self.depth += 1;
    }

    /// Makes the newest root the next one.
    #[inline]
    pub fn end(&mut self) {
        self.depth -= 1;
    }

    /// Makes the only root in use the next one.
    #[inline]
    pub fn end_outermost(&mut self) {
        self.depth = 0;
    }

    /// The roots of the nested activations, outermost first.
    pub fn in_use(&self) -> &[RootStack] {
        &self.by_depth[..self.depth]
    }

    pub fn idle(&self) -> impl Iterator<Item = &RootStack> + Clone {
        self.by_depth[self.depth..].iter().chain(&self.spare)
    }

    /// The root with a block, unless it is spare or its activation is pending.
    pub fn with_block(&mut self, block: *mut ControlBlock) -> Option<&mut RootStack> {
        self.by_depth.iter_mut().find(|root| root.block == block)
    }

    /// The number of roots that are not spare.
    pub fn len(&self) -> usize {
        self.by_depth.len()
    }

    /// Makes room for one more root than there are, besides those of pending activations.
    pub fn make_room(&mut self, pending: usize) -> Result<(), TryReserveError> {
        let count = self.by_depth.len() + self.spare.len() + pending + 1;
        self.by_depth.try_reserve(count - self.by_depth.len())?;
        self.spare.try_reserve(count - self.spare.len())
    }

    /// Adds an idle root. There must be [room](Self::make_room).
    pub fn add(&mut self, root: RootStack) {
        self.by_depth.push(root);
    }

    pub fn take_spare(&mut self) -> Option<RootStack> {
        let root = self.spare.pop();
        self.cold = self.cold.min(self.spare.len());
        root
    }

    /// Takes out the root of the newest activation, which must end or be left next. An idle root
    /// takes its place.
    #[inline]
    pub fn take_newest(&mut self) -> RootStack {
        // The later roots are idle.
        self.by_depth.swap_remove(self.depth - 1)
    }

    /// Makes the root of a pending activation the one for the next activation.
    #[inline]
    pub fn add_next(&mut self, root: RootStack) {
        self.by_depth.push(root);
        let last = self.by_depth.len() - 1;
        if last != self.depth {
            self.by_depth.swap(self.depth, last);
            self.set_spare_roots_aside();
        }
    }

    /// Limits the number of idle roots that are ready.
    fn set_spare_roots_aside(&mut self) {
        while self.by_depth.len() > self.depth + 1 + READY_ROOTS {
            self.spare.extend(self.by_depth.pop());
        }
    }

    /// Takes the memory of half of the spare roots, when there are more of them than pending
    /// activations.
    #[inline]
    pub fn cool(&mut self, pending: usize) {
        if self.warm() > WARM_ROOTS + pending {
            self.cool_half();
        }
    }

    fn warm(&self) -> usize {
        self.spare.len() - self.cold
    }

    /// The roots that were used last are used next.
    #[cold]
    fn cool_half(&mut self) {
        let cold = self.cold + self.warm() / 2;
        self.spare[self.cold..cold].iter().for_each(RootStack::give_back);
        self.cold = cold;
    }

    /// Takes out all roots.
    pub fn take_all(&mut self) -> Vec<RootStack> {
        self.by_depth.append(&mut self.spare);
        std::mem::take(&mut self.by_depth)
    }
}
