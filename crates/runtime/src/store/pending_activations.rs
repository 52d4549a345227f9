//! Activations that were set aside while a host call is pending.

use crate::stack::RootStack;
use ropewalk_abi::clauses::List;
use ropewalk_abi::{ControlBlock, HostContext, RawVal, TrapCode};
use std::cell::UnsafeCell;
use std::sync::Arc;

/// The number of an activation that was set aside in a pending host call.
#[derive(Clone, Copy, Debug)]
pub struct ActivationNumber(pub(crate) u32);

/// The reason for a pending call, recorded for [snapshots](crate::snapshot).
#[derive(Debug, Default)]
pub enum PendingCause {
    /// Unknown, or a limiter that has not decided. No snapshot can contain it.
    #[default]
    Unknown,
    /// The activation yielded at a safepoint.
    Turn,
    /// A host function.
    Host {
        /// The context of the function, which lives as long as the store.
        context: *const HostContext,
        /// The arguments, unless one is a reference, which could move.
        arguments: Option<Box<[RawVal]>>,
    },
}

/// An activation that was set aside while its host call is pending.
#[derive(Debug)]
pub(crate) struct PendingActivation {
    pub root: RootStack,
    /// The stack that called the host, and its base.
    pub stack: *mut ControlBlock,
    pub base: *mut ControlBlock,
    pub cause: PendingCause,
    /// Keeps alive what the root refers to, in case the caller does not.
    pub _caller: Option<Arc<CallerPlaces>>,
}

/// The pending activations of a store, by number. Taking one out needs no memory.
#[derive(Debug, Default)]
pub(crate) struct PendingActivations {
    by_number: Vec<Option<PendingActivation>>,
    /// The numbers without an activation, with room for all numbers.
    free: Vec<usize>,
}

impl PendingActivations {
    #[inline]
    pub fn count(&self) -> usize {
        self.by_number.len() - self.free.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &PendingActivation> {
        self.by_number.iter().flatten()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut PendingActivation> {
        self.by_number.iter_mut().flatten()
    }

    pub fn get(&self, ActivationNumber(number): ActivationNumber) -> Option<&PendingActivation> {
        self.by_number[number as usize].as_ref()
    }

    /// Makes room for one more.
    #[inline]
    pub fn make_room(&mut self) -> Result<(), TrapCode> {
        if !self.free.is_empty() {
            // There was one more before.
            return Ok(());
        }
        let count = self.by_number.len() + 1;
        let room = self.by_number.try_reserve(1);
        let room = room.and_then(|()| self.free.try_reserve(count - self.free.len()));
        room.map_err(|_| TrapCode::OutOfMemory)
    }

    /// Adds an activation. There must be [room](Self::make_room).
    #[inline]
    pub fn add(&mut self, activation: PendingActivation) -> ActivationNumber {
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.by_number.push(None);
                self.by_number.len() - 1
            }
        };
        self.by_number[number] = Some(activation);
        // There are fewer blocks than that.
        ActivationNumber(number as u32)
    }

    /// Takes out the activation with a number.
    #[inline]
    pub fn take(&mut self, number: usize) -> PendingActivation {
        let activation = self.by_number[number].take().expect("it is pending");
        self.free.push(number);
        activation
    }

    /// Takes out all roots.
    pub fn take_all_roots(&mut self) -> impl Iterator<Item = RootStack> {
        self.by_number.drain(..).flatten().map(|pending| pending.root)
    }
}

/// What the root of a restored activation refers to, instead of the original caller's memory. The
/// activation and its new caller share it, so it stays even if the caller drops it.
#[derive(Debug)]
pub struct CallerPlaces {
    /// The array with the results, if they are not in a register. Its address is on the stack.
    pub(crate) values: Option<Box<[UnsafeCell<RawVal>]>>,
    /// The clauses with which the host resumed a continuation.
    pub(crate) clauses: Option<List<Vec<u64>>>,
}

// SAFETY: the activation writes there, and the store's owner reads it after the end.
unsafe impl Send for CallerPlaces {}
// SAFETY: as above.
unsafe impl Sync for CallerPlaces {}

impl CallerPlaces {
    /// The results, if they are not in a register.
    ///
    /// # Safety
    ///
    /// The activation must have ended.
    pub unsafe fn values(&self) -> Option<&[RawVal]> {
        let values = self.values.as_deref()?;
        // SAFETY: the activation no longer writes there, and a cell has the layout of its contents.
        Some(unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) })
    }

    /// The clauses of the host, if it resumed a continuation.
    pub fn clauses(&self) -> &[u64] {
        self.clauses.as_ref().map_or(&[], List::clauses)
    }
}
