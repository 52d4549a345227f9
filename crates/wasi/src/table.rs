//! The table of a program's descriptors.

use crate::descriptor::Descriptor;
use crate::errno::{Errno, Result};
use std::collections::BTreeSet;

/// How many descriptors a program may have, whatever the host would allow.
pub(crate) const MOST: usize = 1 << 20;

/// Descriptors by their numbers. A new one gets the lowest number that is free, as
/// programs for POSIX expect.
pub(crate) struct Table {
    descriptors: Vec<Option<Descriptor>>,
    free: BTreeSet<usize>,
    /// How many the program may have when it opens another.
    most: usize,
}

impl Default for Table {
    fn default() -> Self {
        Table { descriptors: Vec::new(), free: BTreeSet::new(), most: MOST }
    }
}

impl Table {
    /// Limits how many descriptors there may be. Those that are open stay open.
    pub(crate) fn limit(&mut self, most: usize) {
        self.most = most.min(MOST);
    }

    /// Fails if there is no room for another descriptor.
    pub(crate) fn check_room(&self) -> Result {
        match self.descriptors.len() - self.free.len() < self.most {
            true => Ok(()),
            false => Err(Errno::MFILE.into()),
        }
    }

    pub(crate) fn insert(&mut self, descriptor: Descriptor) -> Result<u32> {
        self.check_room()?;
        let number = match self.free.pop_first() {
            Some(number) => number,
            None => {
                self.descriptors.push(None);
                self.descriptors.len() - 1
            }
        };
        self.descriptors[number] = Some(descriptor);
        Ok(number as u32)
    }

    pub(crate) fn get(&self, fd: i32) -> Result<&Descriptor> {
        let descriptor = self.descriptors.get(fd as u32 as usize);
        Ok(descriptor.and_then(Option::as_ref).ok_or(Errno::BADF)?)
    }

    pub(crate) fn get_mut(&mut self, fd: i32) -> Result<&mut Descriptor> {
        let descriptor = self.descriptors.get_mut(fd as u32 as usize);
        Ok(descriptor.and_then(Option::as_mut).ok_or(Errno::BADF)?)
    }

    pub(crate) fn remove(&mut self, fd: i32) -> Result<Descriptor> {
        let place = self.descriptors.get_mut(fd as u32 as usize).ok_or(Errno::BADF)?;
        let descriptor = place.take().ok_or(Errno::BADF)?;
        self.free.insert(fd as u32 as usize);
        Ok(descriptor)
    }

    /// All that are open, with their numbers, which rise.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Descriptor)> {
        let places = self.descriptors.iter().enumerate();
        places.filter_map(|(number, place)| Some((number as u32, place.as_ref()?)))
    }

    /// Puts a descriptor at a number that is higher than all that are open.
    pub(crate) fn put(&mut self, number: u32, descriptor: Descriptor) {
        let number = number as usize;
        debug_assert!((self.descriptors.len()..MOST).contains(&number));
        self.free.extend(self.descriptors.len()..number);
        self.descriptors.resize_with(number, || None);
        self.descriptors.push(Some(descriptor));
    }

    /// Moves a descriptor to the number of another, which is closed.
    pub(crate) fn renumber(&mut self, from: i32, to: i32) -> Result {
        self.get(to)?;
        self.get(from)?;
        if from != to {
            let descriptor = self.remove(from)?;
            *self.get_mut(to)? = descriptor;
        }
        Ok(())
    }
}
