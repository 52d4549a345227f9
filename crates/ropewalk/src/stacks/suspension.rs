//! Suspensions by host functions.

use crate::stacks::transfer;
use crate::value::tag::Tag;
use crate::value::val::Val;
use anyhow::{Context, Result, ensure};
use ropewalk_abi::builtin::Outcome;
use ropewalk_abi::{FuncType, LeftCall};
use ropewalk_runtime::Store as RuntimeStore;
use std::fmt;

/// The error that a host function returns to suspend its caller with a tag, as if the call were a
/// `suspend`. The caller gets the values that it is resumed with as the results of the function.
///
/// The handler of the tag, a `resume` in WebAssembly or the host, gets the rest of the computation.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (import "host" "read" (func $read (param i32) (result i32)))
///       (func (export "run") (result i32)
///         (i32.add (call $read (i32.const 1)) (call $read (i32.const 2)))))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let reads = Tag::new(&mut store, TagType {
///     ty: FuncType::new([ValType::I32], [ValType::I32]),
/// })?;
/// let mut linker = Linker::new(&engine);
/// linker.func_wrap("host", "read", move |file: i32| -> Result<i32> {
///     Err(Suspension::new(reads, &[file.into()]).into())
/// })?;
/// let instance = linker.instantiate(&mut store, &module)?;
/// let run = instance.get_func(&mut store, "run").unwrap();
///
/// let mut rest = Continuation::new(&mut store, run)?;
/// let mut answer = vec![];
/// let result = loop {
///     match rest.resume(&mut store, &answer)? {
///         Resumed::Returned(results) => break results[0].i32(),
///         Resumed::Suspended { values, continuation, .. } => {
///             answer = vec![Val::I32(values[0].i32().unwrap() * 100)];
///             rest = continuation;
///         }
///     }
/// };
/// assert_eq!(result, Some(300));
/// # Ok::<(), Error>(())
/// ```
///
/// The results of the tag must fit as results of the function. Without a handler of the tag, the
/// program traps.
#[derive(Clone, Debug)]
pub struct Suspension {
    tag: Tag,
    values: Vec<Val>,
}

impl Suspension {
    /// A suspension with a tag and its values.
    pub fn new(tag: Tag, values: &[Val]) -> Suspension {
        Suspension { tag, values: values.to_vec() }
    }

    pub(crate) fn begin(&self, runtime: &mut RuntimeStore, ty: &FuncType) -> Result<Outcome> {
        let tag = self.tag.in_store(runtime)?;
        let tag_type = self.tag.ty_in(runtime)?;
        let (found, expected) = (tag_type.ty.results(), ty.results());
        let fits = found.len() == expected.len()
            && found.iter().zip(expected).all(|(a, b)| runtime.types().is_subtype(*a, *b));
        ensure!(
            fits,
            "a host function of type {ty} cannot suspend with a {tag_type}: \
             the results of the tag would be its results"
        );
        let params = tag_type.ty.params();
        let put = transfer::put_values(runtime, params, &self.values);
        put.context("in the values of a suspension")?;
        Ok(runtime.suspend_call(tag, LeftCall::of(ty)))
    }
}

impl fmt::Display for Suspension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a suspension, which only a host function can return")
    }
}

impl std::error::Error for Suspension {}
