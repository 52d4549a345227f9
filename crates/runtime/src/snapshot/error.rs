//! Errors of taking and restoring snapshots.

use super::format::FORMAT;

/// Why a snapshot cannot be taken or restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The code was compiled without support for snapshots.
    #[error("the engine compiles without support for snapshots; enable Config::snapshots")]
    Disabled,
    /// The store is poisoned.
    #[error("the store is unusable, so no snapshot can be taken")]
    Poisoned,
    /// There is an outer host function. Contains the name of the function that called it.
    #[error(
        "an outer host function{} has called WebAssembly and cannot be saved; take the snapshot \
         while no other host function is running", .0.as_ref().map(|name| format!(", called by {name:?},")).unwrap_or_default()
    )]
    Nested(Option<String>),
    /// The host resumed the running stack, and it is not a continuation.
    #[error(
        "the host has resumed {0} and waits for it; take the snapshot after it has returned, or \
         in a call of a function or of a continuation (Func::call, Continuation::resume)"
    )]
    Resumed(&'static str),
    /// Calls wait for a limiter.
    #[error(
        "{0} calls wait for the limiter of the store, whose futures cannot be saved; take the \
         snapshot after it has decided"
    )]
    Limiter(usize),
    /// The host holds stacks without names.
    #[error(
        "the host holds {0} continuations or stacks that have no name in the snapshot, so they \
         would be lost (SnapshotOptions::name_continuation, name_bag_stack, \
         name_first_class_stack)"
    )]
    Unnamed(usize),
    /// The host no longer holds a named stack.
    #[error(
        "the host no longer holds the {what} named {name:?}: it was resumed, freed or passed to \
         WebAssembly; name only stacks that the host holds when the snapshot is taken"
    )]
    Gone {
        /// The kind of the handle, such as a continuation.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The host gave two names to one continuation or stack.
    #[error("{before:?} and {name:?} name the same continuation or stack; use one name")]
    NamedTwice {
        /// The second name.
        name: String,
        /// The first name.
        before: String,
    },
    /// A host function is a value, and no import identifies it.
    #[error(
        "a host function is in a table, a global, an object or a frame, and no import names it: only \
         imported host functions can be restored"
    )]
    HostFunction,
    /// A host value cannot be saved.
    #[error("a host value cannot be saved: {0}")]
    HostValue(String),
    /// No module has the type.
    #[error("an object or function has a type of the host, which no module of the store defines")]
    ForeignType,
    /// A stack is too deep.
    #[error(
        "stack {0} has {1} bytes of frames; a snapshot can contain at most 4294967295 of each stack"
    )]
    DeepStack(usize, usize),
    /// An address is unknown.
    #[error("this is a bug in the engine: {0} at {1:#x} is unknown")]
    Unknown(&'static str, usize),
    /// The bytes are not a snapshot.
    #[error("these bytes are not a snapshot")]
    Other,
    /// Another version took the snapshot.
    #[error(
        "the snapshot was taken by another version of Ropewalk (format {0}, expected {FORMAT})"
    )]
    Format(u32),
    /// The snapshot is truncated or changed.
    #[error("the snapshot is damaged: {0}")]
    Damaged(&'static str),
    /// The snapshot is incremental, and its base is missing.
    #[error("the snapshot is incremental: it needs the snapshot that it is based on")]
    NeedsBase,
    /// The snapshot has another base.
    #[error("the snapshot is incremental, and its base is another snapshot")]
    WrongBase,
    /// A setting differs.
    #[error("the snapshot was taken with another setting: {name} was {was}, and is {is}")]
    Setting {
        /// The setting.
        name: String,
        /// Its value in the snapshot.
        was: String,
        /// Its current value.
        is: String,
    },
    /// A module is missing.
    #[error(
        "the snapshot needs a module{} that was not given: compiled from the same binary, by the \
         same version and with the same settings", .0.as_ref().map(|name| format!(" named {name:?}")).unwrap_or_default()
    )]
    MissingModule(Option<String>),
    /// A host function is missing.
    #[error(
        "the snapshot needs the host function {module:?} {name:?}, which the linker does not define"
    )]
    MissingImport {
        /// The module of the import.
        module: String,
        /// The name of the import.
        name: String,
    },
    /// The snapshot does not contain the name.
    #[error("the snapshot has no {what} named {name:?}")]
    NoSuchName {
        /// The kind of the named object.
        what: &'static str,
        /// The name.
        name: String,
    },
}
