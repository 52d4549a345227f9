//! Descriptions of values in the text format, with the contents of objects.

use crate::code::LoadedModule;
use crate::code::types::RegisteredType;
use crate::heap::{ObjectType, slot_type};
use crate::store::Store;
use ropewalk_abi::stack::{StackKind, is_stack};
use ropewalk_abi::{CompositeType, RawVal, RefType, StorageType, ValType};

/// How many values of an object are shown, and how many bytes of a string.
const MOST_VALUES: usize = 24;
const MOST_BYTES: u32 = 200;

/// The deepest level of nested objects that is shown.
const DEEPEST: usize = 4;

impl Store {
    /// Describes a value in the text format, with the contents of structs and arrays.
    ///
    /// # Safety
    ///
    /// The value must be of the store, and of the type.
    pub unsafe fn describe_value(&self, ty: ValType, value: &RawVal) -> String {
        let mut printer = Printer { store: self, text: String::new(), left: MOST_VALUES, depth: 0 };
        printer.value(ty, value);
        printer.text
    }

    /// The first module with names for the fields of a type, and its index there.
    fn module_with_names(&self, ty: &RegisteredType) -> Option<(&LoadedModule, u32)> {
        let place = |module: &LoadedModule| {
            let types = module.info.field_names.iter().map(|(ty, ..)| *ty);
            let is_that = |index: &u32| module.type_ids.get(*index as usize) == Some(&ty.id());
            types.into_iter().find(is_that)
        };
        self.objects.modules().find_map(|module| Some((module, place(module)?)))
    }
}

struct Printer<'a> {
    store: &'a Store,
    text: String,
    /// How many more values are shown.
    left: usize,
    /// The nesting level.
    depth: usize,
}

impl Printer<'_> {
    fn value(&mut self, ty: ValType, value: &RawVal) {
        self.left = self.left.saturating_sub(1);
        self.text += &match ty {
            ValType::I32 => format!("(i32.const {})", value.u32() as i32),
            ValType::I64 => format!("(i64.const {})", value.u64() as i64),
            ValType::F32 => format!("(f32.const {})", f32::from_bits(value.u32())),
            ValType::F64 => format!("(f64.const {})", f64::from_bits(value.u64())),
            ValType::V128 => {
                let bits = value.u128();
                let lanes = [0, 32, 64, 96].map(|lane| format!("{:#010x}", (bits >> lane) as u32));
                format!("(v128.const i32x4 {})", lanes.join(" "))
            }
            ValType::Ref(ty) => return self.reference(ty, value.u64()),
        }
    }

    fn reference(&mut self, ty: RefType, reference: u64) {
        let word = match reference {
            0 => "null",
            _ if self.store.types().is_func(ty.heap) => "func",
            _ if is_stack(reference) => StackKind::of(reference).map_or("cont", stack_word),
            _ => return self.object(reference),
        };
        self.text += &format!("(ref.{word})");
    }

    fn object(&mut self, reference: u64) {
        // SAFETY: it is a reference of the store, and not to a function.
        match unsafe { self.store.object_type(reference) } {
            // The lowest bit marks an `i31`.
            None => self.text += &format!("(ref.i31 {})", reference as u32 as i32 >> 1),
            Some(ObjectType::Extern) => self.text += "(ref.extern)",
            Some(ObjectType::Exception(_)) => self.text += "(ref.exn)",
            Some(ObjectType::Struct(ty)) => {
                let CompositeType::Struct(fields) = &ty.ty().composite else { unreachable!() };
                let len = fields.fields.len() as u32;
                self.text += "(struct";
                self.slots(reference, &ty, len);
            }
            Some(ObjectType::Array(ty, len)) => {
                self.text += "(array";
                match self.string(reference, &ty, len) {
                    Some(string) => self.text += &format!(" {string})"),
                    None => self.slots(reference, &ty, len),
                }
            }
        }
    }

    /// Describes the fields of a struct, or the elements of an array.
    fn slots(&mut self, reference: u64, ty: &RegisteredType, len: u32) {
        let mut shown = 0;
        let named = self.store.module_with_names(ty);
        self.depth += 1;
        while shown < len && self.left > 0 && self.depth <= DEEPEST {
            // SAFETY: it is a reference of the store, to an object with this slot.
            let value = unsafe { self.store.read_slot(reference, shown) };
            self.text += " ";
            if let Some(name) = named.and_then(|(module, ty)| module.info.field_name(ty, shown)) {
                self.text += &format!("${} ", name.replace(char::is_control, "?"));
            }
            match slot_type(ty, shown).storage {
                StorageType::I8 | StorageType::I16 => self.value(ValType::I32, &value),
                StorageType::Val(ty) => self.value(ty, &value),
            }
            shown += 1;
        }
        self.depth -= 1;
        self.text += &match len - shown {
            0 => ")".to_string(),
            more if shown == 0 => format!(" of {more} values)"),
            more => format!(" and {more} more)"),
        };
    }

    /// An array of bytes as a string, if it is text.
    fn string(&self, reference: u64, ty: &RegisteredType, len: u32) -> Option<String> {
        if len == 0 || slot_type(ty, 0).storage != StorageType::I8 {
            return None;
        }
        // SAFETY: it is a reference of the store, to an array of that length.
        let byte = |index| unsafe { self.store.read_slot(reference, index) }.u32() as u8;
        let bytes: Vec<u8> = (0..len.min(MOST_BYTES)).map(byte).collect();
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) => text,
            // The last character may be truncated.
            Err(error) if len > MOST_BYTES && error.error_len().is_none() => {
                std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()?
            }
            Err(_) => return None,
        };
        let is_text = !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t' | '\r'));
        let more = if len > MOST_BYTES { "..." } else { "" };
        is_text.then(|| format!("{text:?}{more}"))
    }
}

/// What the text format calls a stack.
pub(crate) fn stack_word(kind: StackKind) -> &'static str {
    match kind {
        StackKind::Bag | StackKind::FirstClass => "stack",
        StackKind::Task => "task",
        StackKind::Fiber => "fiber",
        StackKind::Continuation => "cont",
    }
}
