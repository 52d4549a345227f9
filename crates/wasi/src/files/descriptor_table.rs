//! The table of a program's descriptors.

use crate::abi::errno::Errno;
use crate::failure::Result;
use crate::files::descriptor::Descriptor;
use std::collections::BTreeSet;

/// The maximum number of descriptors of a program, even if the host allows more.
pub(crate) const MAX_DESCRIPTORS: usize = 1 << 20;

/// Descriptors by number. A new descriptor gets the lowest free number, as in POSIX.
pub(crate) struct DescriptorTable {
    descriptors: Vec<Option<Descriptor>>,
    free: BTreeSet<usize>,
    max: usize,
}

impl Default for DescriptorTable {
    fn default() -> Self {
        DescriptorTable { descriptors: Vec::new(), free: BTreeSet::new(), max: MAX_DESCRIPTORS }
    }
}

impl DescriptorTable {
    /// Limits the number of descriptors. Open descriptors stay open.
    pub(crate) fn limit(&mut self, max: usize) {
        self.max = max.min(MAX_DESCRIPTORS);
    }

    /// Fails if the table is full.
    pub(crate) fn check_room(&self) -> Result {
        match self.descriptors.len() - self.free.len() < self.max {
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

    /// The open descriptors, in the order of their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Descriptor)> {
        let places = self.descriptors.iter().enumerate();
        places.filter_map(|(number, place)| Some((number as u32, place.as_ref()?)))
    }

    /// Inserts a descriptor with a number that is higher than all others.
    pub(crate) fn put(&mut self, number: u32, descriptor: Descriptor) {
        let number = number as usize;
        debug_assert!((self.descriptors.len()..MAX_DESCRIPTORS).contains(&number));
        self.free.extend(self.descriptors.len()..number);
        self.descriptors.resize_with(number, || None);
        self.descriptors.push(Some(descriptor));
    }

    /// Replaces the descriptor `to` by `from`.
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
