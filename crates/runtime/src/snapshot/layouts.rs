//! The places of references in objects, by type: a million objects have few types.

use crate::heap::Object;
use crate::inspect::address_map::AddressMap;
use crate::store::Store;
use anyhow::Result;
use ropewalk_abi::heap::ARRAY_ELEMENTS;
use ropewalk_abi::{CompositeType, StorageType, TypeInfo, TypeKind, ValType};
use std::ops::Range;
use std::ptr;
use std::rc::Rc;

pub(super) const WORD: usize = size_of::<u64>();

/// The places for each type so far.
#[derive(Default)]
pub(super) struct Layouts(AddressMap<*const TypeInfo, Rc<References>>);

/// The places of all references, including functions.
pub(super) enum References {
    /// At these offsets.
    At(Box<[usize]>),
    /// In every element of an array.
    Elements,
}

impl Layouts {
    /// The places of references in objects of a type.
    pub fn of(&mut self, store: &Store, ty: &TypeInfo) -> Rc<References> {
        let layout = self.0.entry(ptr::from_ref(ty));
        layout.or_insert_with(|| Rc::new(References::new(store, ty))).clone()
    }
}

impl References {
    fn new(store: &Store, ty: &TypeInfo) -> References {
        if ty.kind == TypeKind::Extern {
            return References::At(Box::default());
        }
        let registered = store.options.types.get(ty.id);
        let is_reference =
            |storage: &StorageType| matches!(storage, StorageType::Val(ValType::Ref(_)));
        let offsets = registered.layout().offsets.iter().map(|offset| *offset as usize);
        match &registered.ty().composite {
            CompositeType::Struct(ty) => {
                let fields = ty.fields.iter().zip(offsets);
                let references = fields.filter(|(field, _)| is_reference(&field.storage));
                References::At(references.map(|(_, at)| at).collect())
            }
            CompositeType::Func(ty) => {
                let values = ty.params().iter().zip(offsets);
                let references = values.filter(|(ty, _)| matches!(ty, ValType::Ref(_)));
                References::At(references.map(|(_, at)| at).collect())
            }
            CompositeType::Array(array) if is_reference(&array.element.storage) => {
                References::Elements
            }
            _ => References::At(Box::default()),
        }
    }

    /// Calls a function with the place of each reference in a part of an object.
    pub fn visit(
        &self,
        object: Object,
        within: &Range<usize>,
        mut visit: impl FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        match self {
            References::At(places) => {
                places.iter().filter(|at| within.contains(at)).try_for_each(|at| visit(*at))
            }
            References::Elements => {
                let first = ARRAY_ELEMENTS as usize;
                let end = first + object.len() as usize * WORD;
                let start = first.max(within.start.next_multiple_of(WORD));
                (start..end.min(within.end)).step_by(WORD).try_for_each(visit)
            }
        }
    }
}
