//! The numbers of types.
//!
//! Equal types have equal numbers throughout an engine, so that generated code
//! compares types by comparing numbers.

use ropewalk_abi::FuncType;
use std::collections::HashMap;
use std::sync::{Arc, RwLock};

/// All types that modules of an engine use.
#[derive(Debug, Default)]
pub struct TypeRegistry {
    inner: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    numbers: HashMap<Arc<FuncType>, u32>,
    types: Vec<Arc<FuncType>>,
}

impl TypeRegistry {
    /// The number of a type, which gets one if it has none.
    pub fn register(&self, ty: &FuncType) -> u32 {
        if let Some(&number) = self.inner.read().expect("never poisoned").numbers.get(ty) {
            return number;
        }
        let mut inner = self.inner.write().expect("never poisoned");
        if let Some(&number) = inner.numbers.get(ty) {
            return number;
        }
        let number = u32::try_from(inner.types.len()).expect("fewer types than bytes");
        let ty = Arc::new(ty.clone());
        inner.types.push(ty.clone());
        inner.numbers.insert(ty, number);
        number
    }

    /// The type with a number that [`register`](Self::register) gave.
    pub fn get(&self, number: u32) -> Arc<FuncType> {
        self.inner.read().expect("never poisoned").types[number as usize].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_abi::ValType;

    #[test]
    fn equal_types_have_equal_numbers() {
        let registry = TypeRegistry::default();
        let a = FuncType::new([ValType::I32], []);
        let b = FuncType::new([], [ValType::I32]);
        assert_eq!(registry.register(&a), registry.register(&a.clone()));
        assert_ne!(registry.register(&a), registry.register(&b));
        assert_eq!(*registry.get(registry.register(&b)), b);
    }
}
