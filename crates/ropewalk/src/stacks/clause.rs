//! The clauses of the host: which tags it handles when it continues a stack.

use crate::misuse::WrongType;
use crate::stacks::cont_type::ContType;
use crate::value::tag::Tag;
use anyhow::Result;
use ropewalk_abi::FuncType;
use ropewalk_abi::clauses::List;
use ropewalk_abi::stack::{ClauseKind, EVERY_TAG, handler_word};
use ropewalk_runtime::Store as RuntimeStore;

/// A tag that the host handles when it resumes a continuation.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"(module
///     (tag $ask (export "ask") (result i32))
///     (func (export "body") (result i32) (suspend $ask)))"#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let ask = instance.get_tag(&mut store, "ask").unwrap();
/// let body = instance.get_func(&mut store, "body").unwrap();
///
/// // Without a clause for the tag, suspending traps.
/// let continuation = Continuation::new(&mut store, body)?;
/// assert!(continuation.resume_with(&mut store, &[], &[]).is_err());
/// // With one, the host gets the suspension.
/// let continuation = Continuation::new(&mut store, body)?;
/// let resumed = continuation.resume_with(&mut store, &[Clause::On(ask)], &[])?;
/// assert!(matches!(resumed, Resumed::Suspended { tag, .. } if tag == ask));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clause {
    /// `(on $tag $label)`: a suspension with the tag comes back to the host.
    On(Tag),
    /// A suspension with any tag comes back to the host, unless another clause handles it.
    OnAny,
    /// `(on $tag switch)`: a `switch` with the tag goes to another continuation, which replaces the
    /// one that was resumed. The tag must have no parameters, and the results of the continuation.
    OnSwitch(Tag),
}

impl Clause {
    pub(crate) fn word(self, runtime: &RuntimeStore, ty: ContType) -> Result<u64> {
        let word = |tag: Tag, kind| Ok(handler_word(tag.in_store(runtime)?.addr().get(), kind));
        match self {
            Clause::On(tag) => word(tag, ClauseKind::Suspend),
            Clause::OnAny => Ok(EVERY_TAG),
            Clause::OnSwitch(tag) => {
                // The replacement returns the results of the tag. The host relies on getting the
                // results of the continuation.
                let found = tag.ty_in(runtime)?;
                let results = ty.results.types(runtime.types());
                let fits = found.ty.params().is_empty() && *found.ty.results() == *results;
                if !fits {
                    let expected = FuncType::new([], results.iter().copied());
                    return Err(WrongType::new("tag", expected, found.ty).into());
                }
                word(tag, ClauseKind::Switch)
            }
        }
    }
}

/// The clauses of a host that handles these tags, all of one kind.
pub(crate) fn handlers(
    runtime: &RuntimeStore,
    tags: &[Tag],
    kind: ClauseKind,
) -> Result<List<Vec<u64>>> {
    let word = |tag: &Tag| Ok(handler_word(tag.in_store(runtime)?.addr().get(), kind));
    let clauses: Vec<_> = tags.iter().map(word).collect::<Result<_>>()?;
    Ok(List::new(&clauses))
}
