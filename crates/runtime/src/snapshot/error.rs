//! Why a store cannot be written down, or what was written cannot be read.

use super::sections::FORMAT;

/// Why a store cannot be written down, or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// Code was not compiled for it.
    #[error("the engine does not compile for snapshots (Config::snapshots)")]
    Disabled,
    /// The engine has panicked.
    #[error("the store cannot be used any more, so it cannot be written down")]
    Poisoned,
    /// There is a host function outside of the one that asks.
    /// Which function has called it, if that has a name.
    #[error(
        "a host function outside of this one{} has called WebAssembly, and functions of the host \
         cannot be written down; take the snapshot in a function that is called from the \
         outermost call", .0.as_ref().map(|name| format!(", which {name:?} has called,")).unwrap_or_default()
    )]
    Nested(Option<String>),
    /// The host has continued what runs, which is no continuation: a task, a fiber or a stack.
    #[error(
        "the host has continued {0} and waits for it; take the snapshot when it has come back, \
         or in a call of a function or of a continuation (Func::call, Continuation::resume)"
    )]
    Resumed(&'static str),
    /// Calls wait for a limiter.
    #[error(
        "{0} calls wait for the limiter of the store, whose futures cannot be written down; take \
         the snapshot when it has decided"
    )]
    Limiter(usize),
    /// The host holds something that has no name.
    #[error(
        "the host holds {0} continuations or stacks without a name in the snapshot, so they \
         would be lost (SnapshotOptions::name_continuation, name_bag_stack, \
         name_first_class_stack)"
    )]
    Unnamed(usize),
    /// The host does not hold any more what has a name.
    #[error(
        "the host does not hold the {what} any more that it has named {name:?}: it was resumed, \
         freed or given away since then; name what there is when the snapshot is taken"
    )]
    Gone {
        /// What has the name.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The host has two names for what it can have only once.
    #[error(
        "what the host has named {name:?} has the name {before:?} already, and the host can hold \
         it only once; give it one name"
    )]
    NamedTwice {
        /// The second name.
        name: String,
        /// The first one.
        before: String,
    },
    /// A host function is a value, and not found by its import.
    #[error(
        "a function of the host is in a table, a global, an object or a frame, and no import \
         names it: only functions that are imported are found again"
    )]
    HostFunction,
    /// A value of the host cannot be written.
    #[error("a value of the host cannot be written down: {0}")]
    HostValue(String),
    /// A type that no module has.
    #[error("an object or function has a type of the host that no module of the store defines")]
    ForeignType,
    /// A stack is too deep.
    #[error("stack {0} has {1} bytes of frames, and a snapshot has room for 4294967295 of each")]
    DeepStack(usize, usize),
    /// There is something that is not known.
    #[error("this is a bug of the engine: {0} at {1:#x} is not known")]
    Unknown(&'static str, usize),
    /// It is no snapshot.
    #[error("these bytes are no snapshot")]
    Other,
    /// Another version.
    #[error(
        "the snapshot was taken by another version of Ropewalk (format {0}, expected {FORMAT})"
    )]
    Format(u32),
    /// Bytes are missing or differ.
    #[error("the snapshot is damaged: {0}")]
    Damaged(&'static str),
    /// It needs another.
    #[error("the snapshot has only what has changed since another, which is needed too")]
    NeedsBase,
    /// It needs another than this.
    #[error("the snapshot is based on another one than this")]
    WrongBase,
    /// What differs.
    #[error("the snapshot was taken with another setting: {name} was {was}, and is {is}")]
    Setting {
        /// The setting.
        name: String,
        /// What it was.
        was: String,
        /// What it is now.
        is: String,
    },
    /// A module is not at hand.
    #[error(
        "the snapshot needs a module{} that is not among those given: compiled from the same \
         binary, by the same version with the same settings", .0.as_ref().map(|name| format!(" named {name:?}")).unwrap_or_default()
    )]
    MissingModule(Option<String>),
    /// A host function is not at hand.
    #[error(
        "the snapshot needs the host function {module:?} {name:?}, which the linker does not define"
    )]
    MissingImport {
        /// The module that is imported from.
        module: String,
        /// The name there.
        name: String,
    },
    /// There is nothing of that name.
    #[error("the snapshot has no {what} named {name:?}")]
    NoSuchName {
        /// What was asked for.
        what: &'static str,
        /// Its name.
        name: String,
    },
}
