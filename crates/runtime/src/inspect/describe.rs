//! Descriptions of types, tags and exceptions for error messages.

use crate::code::types::TypeRegistry;
use crate::heap::ObjectType;
use crate::report::names::in_line;
use crate::store::Store;
use ropewalk_abi::stack::{is_stack, tag_of_handler};
use ropewalk_abi::{
    CompositeType, ExternType, FuncType, GlobalType, HeapType, RawVal, RefType, TagDef, ValType,
};

/// How many values are shown; a tag can have a thousand.
const SHOWN: usize = 8;

impl TypeRegistry {
    /// Describes a type, with defined types written out: `(ref null (struct (field i32)))`.
    pub fn describe(&self, ty: ValType) -> String {
        match ty {
            ValType::Ref(RefType { nullable, heap: HeapType::Concrete(number) }) => {
                match (self.heap_word(number), nullable) {
                    (None, _) => ty.to_string(),
                    (Some(word), true) if word == "fiber" => "fiberref".to_string(),
                    (Some(word), true) if word == "stack" => "stackref".to_string(),
                    (Some(word), true) => format!("(ref null {word})"),
                    (Some(word), false) => format!("(ref {word})"),
                }
            }
            other => other.to_string(),
        }
    }

    /// Describes a defined type: the structure, or the name of a design's type.
    fn heap_word(&self, number: u32) -> Option<String> {
        let ty = self.try_get(number)?;
        let CompositeType::Cont(function) = &ty.ty().composite else {
            return Some(ty.ty().composite.to_string());
        };
        let HeapType::Concrete(function) = *function else { return None };
        let body = self.try_get(function)?;
        let body = body.ty().composite.as_func()?;
        let own = ValType::Ref(RefType { nullable: true, heap: HeapType::Concrete(number) });
        let takes_only_itself = body.params().iter().all(|param| *param == own);
        Some(match body.params().len() {
            // The types of fibers and first-class stacks come before their functions.
            1 if takes_only_itself && number < function => "fiber".to_string(),
            2 if takes_only_itself && number < function => "stack".to_string(),
            _ => format!("(cont {body})"),
        })
    }

    /// Describes the type of an item, with defined types written out.
    pub fn describe_extern(&self, ty: &ExternType) -> String {
        match ty {
            ExternType::Func(ty) => format!("function {}", self.describe_func(ty)),
            ExternType::Global(GlobalType { content, mutable: true }) => {
                format!("global (mut {})", self.describe(*content))
            }
            ExternType::Global(ty) => format!("global {}", self.describe(ty.content)),
            other => other.to_string(),
        }
    }

    /// Describes a function type, with defined types written out.
    pub fn describe_func(&self, ty: &FuncType) -> String {
        let list = |types: &[ValType]| {
            types.iter().map(|ty| self.describe(*ty)).collect::<Vec<_>>().join(" ")
        };
        format!("[{}] -> [{}]", list(ty.params()), list(ty.results()))
    }
}

impl Store {
    /// The most specific known type of a reference; for null, the given one.
    ///
    /// # Safety
    ///
    /// The reference must be of the store, and be a function if and only if the type is.
    pub unsafe fn type_of(&self, reference: u64, of_null: RefType) -> RefType {
        let heap = match reference {
            0 => return RefType { nullable: true, ..of_null },
            // SAFETY: the caller says that it is a function; types live as long as the engine.
            _ if self.options.types.is_func(of_null.heap) => HeapType::Concrete(unsafe {
                (*(*(reference as *const ropewalk_abi::FuncRef)).ty).id
            }),
            _ if is_stack(reference) => HeapType::Cont,
            // SAFETY: the caller says that it is not a function.
            _ => match unsafe { self.object_type(reference) } {
                None => HeapType::I31,
                Some(ObjectType::Extern) => HeapType::Extern,
                Some(ObjectType::Exception(_)) => HeapType::Exn,
                Some(ObjectType::Struct(ty) | ObjectType::Array(ty, _)) => {
                    // SAFETY: types live as long as the engine.
                    HeapType::Concrete(unsafe { (*ty.info()).id })
                }
            },
        };
        RefType { nullable: false, heap }
    }

    /// The name of the tag in an event word.
    pub(crate) fn event_title(&self, word: u64) -> String {
        self.tag_title(tag_of_handler(word) as *const TagDef)
    }

    /// Describes a tag and its values: `$yield with (i32.const 7)`.
    pub(crate) fn describe_tag(
        &self,
        tag: *const TagDef,
        value: impl Fn(&Store, usize) -> RawVal,
    ) -> String {
        // SAFETY: tags live as long as the store, and types as long as the engine.
        let ty = unsafe { (*(*tag).ty).id };
        let ty = self.options.types.get(ty);
        let params = ty.ty().composite.as_func().expect("tags have function types").params();
        let mut text = self.tag_title(tag);
        for (slot, ty) in params.iter().take(SHOWN).enumerate() {
            text += if slot == 0 { " with " } else { " " };
            // SAFETY: the values of a tag have its types.
            text += &unsafe { self.describe_value(*ty, &value(self, slot)) };
        }
        if params.len() > SHOWN {
            text += &format!(" and {} more values", params.len() - SHOWN);
        }
        text
    }

    /// Describes the tag and the values of an exception.
    pub(crate) fn describe_exception(&self, exception: u64) -> String {
        // SAFETY: the reference is an exception of the store, which is never null.
        match unsafe { self.object_type(exception) } {
            // SAFETY: an exception has a value for each parameter of its tag.
            Some(ObjectType::Exception(tag)) => self.describe_tag(tag, |store, slot| unsafe {
                store.read_slot(exception, slot as u32)
            }),
            _ => unreachable!("only exceptions are thrown"),
        }
    }

    /// The name of a tag, such as `$yield`, or its index in its module.
    /// The name of a tag, or else its index.
    pub(crate) fn tag_title(&self, tag: *const TagDef) -> String {
        match self.find_tag(tag.addr()) {
            Some((_, Some(name))) => format!("${}", in_line(name)),
            Some((index, None)) => format!("number {index}"),
            None => "a tag of the host".to_string(),
        }
    }
}
