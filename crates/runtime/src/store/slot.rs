//! Data of layers above that belongs to a store.

use std::any::Any;

/// A place in a store for data of a layer above, which alone knows its type.
#[derive(Default)]
pub(crate) struct Slot(Option<Box<dyn Any + Send + Sync>>);

impl Slot {
    /// Whether there is no data.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The data.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.as_ref()?.downcast_ref()
    }

    /// The data, to change it.
    pub fn get_mut<T: Any>(&mut self) -> Option<&mut T> {
        self.0.as_mut()?.downcast_mut()
    }

    /// Takes the data out.
    pub fn take<T: Any>(&mut self) -> Option<Box<T>> {
        self.0.take().and_then(|data| data.downcast().ok())
    }

    /// Replaces the data.
    pub fn set<T: Any + Send + Sync>(&mut self, data: Option<Box<T>>) {
        self.0 = data.map(|data| data as Box<dyn Any + Send + Sync>);
    }
}
