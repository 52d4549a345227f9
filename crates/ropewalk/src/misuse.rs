//! Errors of wrong use of the API. Each kind of misuse has a type, for `downcast_ref`.

use ropewalk_abi::ValType;
use std::fmt;
use std::ops::Range;
use thiserror::Error;

/// A value was used with a store that it does not belong to.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let (mut mine, mut other) = (Store::new(&engine, ()), Store::new(&engine, ()));
/// let memory = Memory::new(&mut mine, MemoryType::new(1, None))?;
/// let error = memory.size(&other).unwrap_err();
/// assert_eq!(error.downcast_ref::<WrongStore>().unwrap().what(), "memory");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a {0} was used with a store that it does not belong to")]
pub struct WrongStore(pub(crate) &'static str);

impl WrongStore {
    /// What was used: a `"function"`, a `"memory"`, a `"reference"`, and so on.
    pub fn what(&self) -> &'static str {
        self.0
    }
}

/// Two things that belong to different engines were used together.
///
/// ```
/// use ropewalk::*;
///
/// let module = Module::new(&Engine::default(), "(module)")?;
/// let mut store = Store::new(&Engine::default(), ());
/// let error = Instance::new(&mut store, &module, &[]).unwrap_err();
/// assert!(error.is::<WrongEngine>());
/// assert_eq!(error.to_string(), "the module and the store belong to different engines");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the {0} and the {1} belong to different engines")]
pub struct WrongEngine(pub(crate) &'static str, pub(crate) &'static str);

/// A type refers to a defined type that the engine does not know, such as one of another engine.
///
/// ```
/// use ropewalk::*;
///
/// let [mine, other] = [(); 2].map(|()| Engine::default());
/// let point = StructType::new(&other, [FieldType::new(ValType::F64, true); 2])?;
/// let ty = FuncType::new([point.reference(true).into()], []);
/// let error = Func::new(Store::new(&mine, ()), ty, |_, _, _| Ok(())).unwrap_err();
/// assert_eq!(error.downcast_ref::<UnknownType>().unwrap().ty(), point.reference(true).into());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the engine does not know the type {0}: it must come from the same engine")]
pub struct UnknownType(pub(crate) ValType);

impl UnknownType {
    /// The type.
    pub fn ty(&self) -> ValType {
        self.0
    }
}

/// Something has another type than expected.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"(module (func (export "half") (param f64) (result f64)
///     (f64.mul (local.get 0) (f64.const 0.5))))"#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
///
/// let half = instance.get_func(&mut store, "half").unwrap();
/// let error = half.call(&mut store, &[Val::I32(3)], &mut [Val::I32(0)]).unwrap_err();
/// let wrong = error.downcast_ref::<WrongType>().unwrap();
/// assert_eq!((wrong.what(), wrong.expected(), wrong.found()), ("value", "f64", "i32"));
///
/// let error = instance.get_typed_func::<i32, f64>(&mut store, "half").unwrap_err();
/// let wrong = error.downcast_ref::<WrongType>().unwrap();
/// assert_eq!((wrong.what(), wrong.found()), ("function", "[f64] -> [f64]"));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("expected {} {what} of type {expected}, found one of type {found}", article(what))]
pub struct WrongType {
    what: &'static str,
    expected: String,
    found: String,
}

impl WrongType {
    #[cold]
    pub(crate) fn new(
        what: &'static str,
        expected: impl ToString,
        found: impl ToString,
    ) -> WrongType {
        WrongType { what, expected: expected.to_string(), found: found.to_string() }
    }

    /// What has another type: a `"value"`, a `"function"`, a `"tag"`, and so on.
    pub fn what(&self) -> &'static str {
        self.what
    }

    /// The expected type.
    pub fn expected(&self) -> &str {
        &self.expected
    }

    /// The type that was found.
    pub fn found(&self) -> &str {
        &self.found
    }
}

fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

/// An instance has no export of a name.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"(module (func (export "run")) (memory (export "memory") 1))"#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let error = instance.get_typed_func::<(), ()>(&mut store, "rum").unwrap_err();
/// let missing = error.downcast_ref::<NoSuchExport>().unwrap();
/// assert_eq!((missing.name(), missing.exports()), ("rum", &["run".into(), "memory".into()][..]));
/// assert_eq!(error.to_string(), r#"there is no export "rum": there are "run", "memory""#);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSuchExport {
    name: String,
    exports: Vec<String>,
}

impl NoSuchExport {
    #[cold]
    pub(crate) fn new(name: &str, exports: impl Iterator<Item = String>) -> NoSuchExport {
        NoSuchExport { name: name.to_string(), exports: exports.collect() }
    }

    /// The requested name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the exports, in order.
    pub fn exports(&self) -> &[String] {
        &self.exports
    }
}

/// How many names a message lists.
const LISTED: usize = 20;

impl fmt::Display for NoSuchExport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no export {:?}: there ", self.name)?;
        let mut names = self.exports.iter();
        match names.next() {
            None => return f.write_str("are no exports"),
            Some(first) => write!(f, "are {first:?}")?,
        }
        names.by_ref().take(LISTED - 1).try_for_each(|name| write!(f, ", {name:?}"))?;
        match names.len() {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl std::error::Error for NoSuchExport {}

/// An export is of another kind than expected, such as a memory instead of a function.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"(module (memory (export "run") 1))"#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let error = instance.get_typed_func::<(), ()>(&mut store, "run").unwrap_err();
/// let wrong = error.downcast_ref::<WrongExport>().unwrap();
/// assert_eq!((wrong.expected(), wrong.found()), ("function", "memory"));
/// assert_eq!(error.to_string(), r#"the export "run" is a memory, not a function"#);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the export {name:?} is a {found}, not a {expected}")]
pub struct WrongExport {
    pub(crate) name: String,
    pub(crate) expected: &'static str,
    pub(crate) found: &'static str,
}

impl WrongExport {
    /// The name of the export.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The expected kind: a `"function"`, a `"memory"`, and so on.
    pub fn expected(&self) -> &'static str {
        self.expected
    }

    /// The kind that was found: a `"function"`, a `"memory"`, and so on.
    pub fn found(&self) -> &'static str {
        self.found
    }
}

/// There are more or fewer of something than expected.
///
/// ```
/// use ropewalk::*;
///
/// let mut store = Store::new(&Engine::default(), ());
/// let double = Func::wrap(&mut store, |x: i32| x * 2);
/// let error = double.call(&mut store, &[], &mut [Val::I32(0)]).unwrap_err();
/// let wrong = error.downcast_ref::<WrongCount>().unwrap();
/// assert_eq!((wrong.expected(), wrong.found()), (1, 0));
/// assert_eq!(error.to_string(), "expected 1 argument, found 0");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected {expected} {}, found {found}", if *expected == 1 { what.0 } else { what.1 })]
pub struct WrongCount {
    /// The singular and the plural.
    what: (&'static str, &'static str),
    expected: usize,
    found: usize,
}

impl WrongCount {
    /// Fails unless the numbers are equal. `what` is a singular and a plural.
    pub(crate) fn check(
        what: (&'static str, &'static str),
        expected: usize,
        found: usize,
    ) -> Result<(), WrongCount> {
        if expected == found { Ok(()) } else { Err(WrongCount { what, expected, found }) }
    }

    /// The expected number.
    pub fn expected(&self) -> usize {
        self.expected
    }

    /// The number that was found.
    pub fn found(&self) -> usize {
        self.found
    }
}

/// An index is beyond the end of a memory, a table, an array or a struct.
///
/// ```
/// use ropewalk::*;
///
/// let mut store = Store::new(&Engine::default(), ());
/// let memory = Memory::new(&mut store, MemoryType::new(1, None))?;
/// let error = memory.write(&mut store, 65_534, b"abc").unwrap_err();
/// assert_eq!(error.downcast_ref::<OutOfBounds>().unwrap().size(), 65_536);
/// assert_eq!(error.to_string(), "3 bytes at offset 65534 exceed the memory's 65536 bytes");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfBounds {
    what: Bounded,
    index: u64,
    /// How many are read or written, from the index on.
    count: u64,
    size: u64,
}

/// What an index was used with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bounded {
    Memory,
    Table,
    Array,
    Struct,
}

impl OutOfBounds {
    /// Fails unless there is an element at the index.
    pub(crate) fn check(what: Bounded, index: u64, size: u64) -> Result<(), OutOfBounds> {
        OutOfBounds::range(what, index, 1, size).map(drop)
    }

    /// The range of `count` elements at the index. Fails unless they are there.
    pub(crate) fn range(
        what: Bounded,
        index: u64,
        count: u64,
        size: u64,
    ) -> Result<Range<usize>, OutOfBounds> {
        match index.checked_add(count).filter(|end| *end <= size) {
            Some(end) => Ok(index as usize..end as usize),
            None => Err(OutOfBounds { what, index, count, size }),
        }
    }

    /// The index, or the offset in a memory.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// How many bytes, elements or fields there are.
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl fmt::Display for OutOfBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutOfBounds { what, index, count, size } = self;
        match what {
            Bounded::Memory => {
                write!(f, "{count} bytes at offset {index} exceed the memory's {size} bytes")
            }
            Bounded::Table if *count != 1 => {
                write!(f, "{count} elements at index {index} exceed the table's {size} elements")
            }
            Bounded::Table => write!(f, "index {index} is beyond the table's {size} elements"),
            Bounded::Array => write!(f, "index {index} is beyond the array's {size} elements"),
            Bounded::Struct => write!(f, "field {index} is beyond the struct's {size} fields"),
        }
    }
}

impl std::error::Error for OutOfBounds {}

/// An attempt to set an immutable global, field of a struct, or element of an array.
///
/// ```
/// use ropewalk::*;
///
/// let mut store = Store::new(&Engine::default(), ());
/// let ty = GlobalType::new(ValType::I32, false);
/// let global = Global::new(&mut store, ty, Val::I32(1))?;
/// assert!(global.set(&mut store, Val::I32(2)).unwrap_err().is::<Immutable>());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an immutable {0} cannot be set")]
pub struct Immutable(pub(crate) &'static str);

/// A reference was used after its scope had ended.
///
/// [`RootScope`](crate::RootScope) says how long references last.
///
/// ```
/// use ropewalk::*;
///
/// let mut store = Store::new(&Engine::default(), ());
/// let reference = {
///     let mut scope = RootScope::new(&mut store);
///     ExternRef::new(&mut scope, 5)?
/// };
/// assert!(reference.data(&store).unwrap_err().is::<ScopeEnded>());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a reference was used after its scope had ended: keep it with `own`, or in a `RootScope`")]
pub struct ScopeEnded;

/// A name was defined twice in a [`Linker`](crate::Linker).
///
/// ```
/// use ropewalk::*;
///
/// let mut linker = Linker::<()>::new(&Engine::default());
/// linker.func_wrap("host", "f", || {})?;
/// let error = linker.func_wrap("host", "f", || {}).unwrap_err();
/// assert_eq!(error.downcast_ref::<DefinedTwice>().unwrap().name(), "f");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{module:?} {name:?} is defined twice: allow that with `Linker::allow_shadowing`")]
pub struct DefinedTwice {
    pub(crate) module: String,
    pub(crate) name: String,
}

impl DefinedTwice {
    /// The module of the name.
    pub fn module(&self) -> &str {
        &self.module
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }
}
