//! A slot of a store for the data of a higher layer.

use std::any::Any;

/// A place for data whose type only a higher layer knows.
#[derive(Default)]
pub(crate) struct Slot(Option<Box<dyn Any + Send + Sync>>);

impl Slot {
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.as_ref()?.downcast_ref()
    }

    pub fn get_mut<T: Any>(&mut self) -> Option<&mut T> {
        self.0.as_mut()?.downcast_mut()
    }

    pub fn take<T: Any>(&mut self) -> Option<Box<T>> {
        self.0.take().and_then(|data| data.downcast().ok())
    }

    pub fn set<T: Any + Send + Sync>(&mut self, data: Option<Box<T>>) {
        self.0 = data.map(|data| data as Box<dyn Any + Send + Sync>);
    }
}
