//! What a script can refer to by name, or as the latest.

use std::collections::HashMap;

use anyhow::Context;
use ropewalk::Result;
use wast::token::Id;

/// The modules or instances of a script: the latest, and those with a name.
pub(crate) struct Named<T> {
    kind: &'static str,
    latest: Option<T>,
    named: HashMap<String, T>,
}

impl<T: Clone> Named<T> {
    pub(crate) fn new(kind: &'static str) -> Self {
        Named { kind, latest: None, named: HashMap::new() }
    }

    pub(crate) fn insert(&mut self, name: Option<Id>, item: T) {
        if let Some(name) = name {
            self.named.insert(name.name().to_owned(), item.clone());
        }
        self.latest = Some(item);
    }

    /// Makes sure that, if the next one fails, nothing runs on the one before.
    pub(crate) fn forget(&mut self, name: Option<Id>) {
        self.latest = None;
        if let Some(name) = name {
            self.named.remove(name.name());
        }
    }

    /// Replaces each by another.
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
