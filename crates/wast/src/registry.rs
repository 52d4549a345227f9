//! The modules or instances that a script refers to by name, or as the latest.

use std::collections::HashMap;

use anyhow::Context;
use ropewalk::Result;
use wast::token::Id;

/// The latest item, and the items with names.
pub(crate) struct Registry<T> {
    kind: &'static str,
    latest: Option<T>,
    named: HashMap<String, T>,
}

impl<T: Clone> Registry<T> {
    pub(crate) fn new(kind: &'static str) -> Self {
        Registry { kind, latest: None, named: HashMap::new() }
    }

    pub(crate) fn insert(&mut self, name: Option<Id>, item: T) {
        if let Some(name) = name {
            self.named.insert(name.name().to_owned(), item.clone());
        }
        self.latest = Some(item);
    }

    /// Gives the latest item a name, if there is one.
    pub(crate) fn rename_latest(&mut self, name: Option<Id>) {
        if let (Some(latest), Some(name)) = (&self.latest, name) {
            self.named.insert(name.name().to_owned(), latest.clone());
        }
    }

    /// Removes the item that the next one replaces, so that nothing uses it if the next one fails.
    pub(crate) fn forget(&mut self, name: Option<Id>) {
        self.latest = None;
        if let Some(name) = name {
            self.named.remove(name.name());
        }
    }

    pub(crate) fn replace(&mut self, with: impl Fn(&T) -> T) {
        self.latest.iter_mut().chain(self.named.values_mut()).for_each(|item| *item = with(item));
    }

    pub(crate) fn get(&self, name: Option<Id>) -> Result<T> {
        match name {
            None => self.latest.clone().with_context(|| format!("there is no {}", self.kind)),
            Some(name) => self
                .named
                .get(name.name())
                .cloned()
                .with_context(|| format!("there is no {} ${}", self.kind, name.name())),
        }
    }
}
