//! The types of structs and arrays.

use crate::engine::{Engine, check_type};
use crate::store::StoreContextMut;
use anyhow::{Result, ensure};
use ropewalk_abi::{
    ArrayType as Array, CompositeType, FieldType, HeapType, RefType, StorageType,
    StructType as Struct, TypeKind, ValType,
};
use ropewalk_runtime::RegisteredType;
use std::fmt;
use std::sync::Arc;

/// A struct type of an engine.
///
/// Types are equal if their definitions are equal. The types of functions and globals lead to the
/// types that a module defines:
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (type $point (struct (field i32) (field (mut i32))))
///       (func (export "sum") (param $p (ref $point)) (result i32)
///         (i32.add
///           (struct.get $point 0 (local.get $p))
///           (struct.get $point 1 (local.get $p)))))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let sum = instance.get_typed_func::<StructRef, i32>(&mut store, "sum")?;
///
/// let point = StructType::of(&engine, sum.func().ty(&store)?.params()[0]).unwrap();
/// assert_eq!(point.to_string(), "(struct (field i32) (field (mut i32)))");
/// let p = StructRef::new(&mut store, &point, &[Val::I32(3), Val::I32(4)])?;
/// p.set_field(&mut store, 1, Val::I32(39))?;
/// assert_eq!(sum.call(&mut store, p)?, 42);
///
/// let fields = [
///     FieldType { storage: StorageType::Val(ValType::I32), mutable: false },
///     FieldType { storage: StorageType::Val(ValType::I32), mutable: true },
/// ];
/// assert_eq!(StructType::new(&engine, fields)?, point);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct StructType(Defined);

/// An array type of an engine.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let bytes = ArrayType::new(&engine, FieldType { storage: StorageType::I8, mutable: true })?;
/// assert_eq!(bytes.to_string(), "(array (mut i8))");
/// let mut store = Store::new(&engine, ());
/// let array = ArrayRef::new(&mut store, &bytes, &[Val::I32(1), Val::I32(255)])?;
/// assert_eq!(array.ty(&store)?, bytes);
/// assert_eq!(array.get(&mut store, 1)?.i32(), Some(255));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct ArrayType(Defined);

/// A defined type, of a module or of the host.
#[derive(Clone)]
struct Defined {
    engine: Engine,
    ty: Arc<RegisteredType>,
}

const MAX_FIELDS: usize = 10_000;

impl StructType {
    /// The final type of structs with these fields.
    pub fn new(engine: &Engine, fields: impl IntoIterator<Item = FieldType>) -> Result<StructType> {
        let fields: Box<[FieldType]> = fields.into_iter().collect();
        ensure!(
            fields.len() <= MAX_FIELDS,
            "a struct has at most {MAX_FIELDS} fields, found {}",
            fields.len()
        );
        fields.iter().try_for_each(|field| check_field(engine, field))?;
        let composite = CompositeType::Struct(Struct { fields });
        Ok(StructType(Defined::new(engine, composite)))
    }

    /// The struct type that a reference type names, if it names one.
    pub fn of(engine: &Engine, ty: ValType) -> Option<StructType> {
        Defined::of(engine, ty, TypeKind::Struct).map(StructType)
    }

    /// Its fields.
    pub fn fields(&self) -> &[FieldType] {
        match &self.0.ty.ty().composite {
            CompositeType::Struct(ty) => &ty.fields,
            _ => unreachable!("a struct type"),
        }
    }
}

impl ArrayType {
    /// The final type of arrays with such elements.
    pub fn new(engine: &Engine, element: FieldType) -> Result<ArrayType> {
        check_field(engine, &element)?;
        Ok(ArrayType(Defined::new(engine, CompositeType::Array(Array { element }))))
    }

    /// The array type that a reference type names, if it names one.
    pub fn of(engine: &Engine, ty: ValType) -> Option<ArrayType> {
        Defined::of(engine, ty, TypeKind::Array).map(ArrayType)
    }

    /// Its elements.
    pub fn element(&self) -> FieldType {
        match &self.0.ty.ty().composite {
            CompositeType::Array(ty) => ty.element,
            _ => unreachable!("an array type"),
        }
    }
}

macro_rules! defined {
    ($($name:ident)*) => {
        $(
            impl $name {
                pub(crate) fn of_object(engine: &Engine, ty: Arc<RegisteredType>) -> $name {
                    $name(Defined { engine: engine.clone(), ty })
                }

                /// The type that it is declared to be a subtype of.
                pub fn supertype(&self) -> Option<$name> {
                    self.0.supertype().map($name)
                }

                /// The engine that it belongs to.
                pub fn engine(&self) -> &Engine {
                    &self.0.engine
                }

                /// The type of references to such objects, nullable or not.
                pub fn reference(&self, nullable: bool) -> RefType {
                    RefType { nullable, heap: self.0.heap_type() }
                }

                /// Whether it is equal to the other type, or a subtype of it.
                pub fn matches(&self, other: &$name) -> bool {
                    self.0.matches(&other.0)
                }

                /// Fails unless it belongs to the engine of the store.
                pub(crate) fn in_store<T>(
                    &self,
                    store: &StoreContextMut<'_, T>,
                ) -> Result<&Arc<RegisteredType>> {
                    self.0.engine.check("type", store.engine(), "store")?;
                    Ok(&self.0.ty)
                }
            }

            impl PartialEq for $name {
                fn eq(&self, other: &$name) -> bool {
                    Arc::ptr_eq(&self.0.ty, &other.0.ty)
                }
            }

            impl Eq for $name {}

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    fmt::Display::fmt(&self.0.ty.ty().composite, f)
                }
            }

            impl fmt::Debug for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    fmt::Display::fmt(self, f)
                }
            }

            impl From<&$name> for HeapType {
                fn from(ty: &$name) -> HeapType {
                    ty.0.heap_type()
                }
            }
        )*
    };
}

defined! { StructType ArrayType }

impl Defined {
    fn new(engine: &Engine, composite: CompositeType) -> Defined {
        let number = engine.types().register(composite);
        Defined { engine: engine.clone(), ty: engine.types().get(number) }
    }

    fn of(engine: &Engine, ty: ValType, kind: TypeKind) -> Option<Defined> {
        let ValType::Ref(RefType { heap: HeapType::Concrete(number), .. }) = ty else {
            return None;
        };
        let ty = engine.types().try_get(number)?;
        let is_one = ty.ty().composite.kind() == kind;
        is_one.then(|| Defined { engine: engine.clone(), ty })
    }

    fn heap_type(&self) -> HeapType {
        // SAFETY: types live as long as the engine.
        HeapType::Concrete(unsafe { (*self.ty.info()).id })
    }

    fn supertype(&self) -> Option<Defined> {
        let ty = self.engine.types().get(self.ty.ty().supertype?);
        Some(Defined { engine: self.engine.clone(), ty })
    }

    fn matches(&self, other: &Defined) -> bool {
        // SAFETY: types live as long as their engines.
        Engine::same(&self.engine, &other.engine)
            && unsafe {
                ropewalk_runtime::code::types::is_subtype(&*self.ty.info(), &*other.ty.info())
            }
    }
}

fn check_field(engine: &Engine, field: &FieldType) -> Result<()> {
    match field.storage {
        StorageType::Val(ty) => check_type(engine.types(), ty),
        StorageType::I8 | StorageType::I16 => Ok(()),
    }
}
