//! Suspensions by host functions.

use crate::reference::ContRef;
use crate::stacks::bag::types_of;
use crate::stacks::fiber::Fiber;
use crate::stacks::first_class::{check_event, event_word};
use crate::stacks::task::Task;
use crate::stacks::transfer;
use crate::store::AsContextMut;
use crate::value::tag::Tag;
use crate::value::val::Val;
use anyhow::{Context, Result, bail, ensure};
use ropewalk_abi::builtin::Outcome;
use ropewalk_abi::{FuncType, HeapType, LeftCall, ValType};
use ropewalk_runtime::Store as RuntimeStore;
use std::fmt;

/// The error that a host function returns to suspend its caller, as if the call were an
/// instruction. The caller gets the values that it is continued with as the results of the function.
///
/// | design | constructor | instruction |
/// | --- | --- | --- |
/// | typed continuations | [`new`](Suspension::new) | `suspend` |
/// | tasks | [`of_task`](Suspension::of_task) | `task.suspend` |
/// | fibers | [`of_fiber`](Suspension::of_fiber) | `fiber.dismount` |
/// | bag of stacks | [`switch_to`](Suspension::switch_to) | `switch` |
/// | first-class stacks | [`send_to`](Suspension::send_to) | `stack.switch` |
///
/// The values that the caller can be continued with must fit as results of the function. If not, or
/// if a value has another type than is expected, the call ends with an error. If the instruction
/// would trap, the call ends with that trap.
///
/// With a tag, the handler of the tag, a `resume` in WebAssembly or the host, gets the rest of the
/// computation:
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
#[derive(Debug)]
pub struct Suspension(Instruction);

/// The instruction that the call of a host function acts as.
#[derive(Debug)]
enum Instruction {
    Suspend { tag: Tag, values: Vec<Val> },
    SuspendTask { task: Task, values: Vec<Val> },
    Dismount { fiber: Fiber, event: Tag, values: Vec<Val>, on: Tag },
    Switch { stack: ContRef, values: Vec<Val> },
    Send { stack: ContRef, event: Tag, values: Vec<Val> },
}

impl Suspension {
    /// A suspension with a tag and its values. Without a handler of the tag, the call traps.
    pub fn new(tag: Tag, values: &[Val]) -> Suspension {
        Suspension(Instruction::Suspend { tag, values: values.to_vec() })
    }

    /// The suspension of a task, which must be running: the one that has called the function, or an
    /// ancestor of it. Its parent gets the values. When the task is resumed, the function returns.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (type $t (task (param i32) (result i32)))
    ///       (import "host" "fetch" (func $fetch (param (ref null $t) i32) (result i32)))
    ///       (func $body (param $me (ref null $t)) (param $page i32) (result i32)
    ///         (i32.add (call $fetch (local.get $me) (local.get $page))
    ///           (call $fetch (local.get $me) (i32.add (local.get $page) (i32.const 1)))))
    ///       (func (export "new") (result (ref $t)) (task.new $t $body)))
    /// "#)?;
    /// let mut linker = Linker::new(&engine);
    /// linker.func_wrap("host", "fetch", |task: Option<Task>, page: i32| -> Result<i32> {
    ///     Err(Suspension::of_task(&task.unwrap(), &[page.into()]).into())
    /// })?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = linker.instantiate(&mut store, &module)?;
    /// let new = instance.get_typed_func::<(), Task>(&mut store, "new")?;
    /// let task = new.call(&mut store, ())?.typed::<i32, i32>(&store)?;
    ///
    /// // The task waits for two pages. The host resumes it with their contents.
    /// assert_eq!(task.resume(&mut store, 7)?, TaskResumed::Suspended(7));
    /// assert_eq!(task.resume(&mut store, 100)?, TaskResumed::Suspended(8));
    /// assert_eq!(task.resume(&mut store, 20)?, TaskResumed::Finished(120));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn of_task(task: &Task, values: &[Val]) -> Suspension {
        Suspension(Instruction::SuspendTask { task: task.clone(), values: values.to_vec() })
    }

    /// The dismounting of a fiber, which must be running: the one that has called the function, or
    /// an ancestor of it. Its control parent gets the event. When the fiber is continued with the
    /// event `on`, the function returns the values of that event. No other event continues it.
    ///
    /// If the control parent does not expect the event, the call ends with an error.
    /// [`Fiber::can_dismount`] asks.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (import "host" "fetch" (func $fetch (param fiberref i32) (result i32)))
    ///       (tag $start (export "start") (param i32))
    ///       (tag $end (export "end") (param i32))
    ///       (func $body (param $me fiberref) (param $page i32) (result i32)
    ///         (i32.mul (call $fetch (local.get $me) (local.get $page)) (i32.const 2)))
    ///       (func (export "new") (result fiberref) (fiber.new $end (on $start $body))))
    /// "#)?;
    /// let mut store = Store::new(&engine, ());
    /// let [wants, fetched] = [(); 2].map(|()| Tag::with_params(&mut store, [ValType::I32]).unwrap());
    /// let mut linker = Linker::new(&engine);
    /// linker.func_wrap("host", "fetch", move |fiber: Option<Fiber>, page: i32| -> Result<i32> {
    ///     Err(Suspension::of_fiber(&fiber.unwrap(), wants, &[page.into()], fetched).into())
    /// })?;
    /// let instance = linker.instantiate(&mut store, &module)?;
    /// let [start, end] = ["start", "end"].map(|name| instance.get_tag(&mut store, name).unwrap());
    /// let new = instance.get_typed_func::<(), Option<Fiber>>(&mut store, "new")?;
    /// let fiber = new.call(&mut store, ())?.unwrap();
    /// let on = [wants, end];
    /// let mounted = fiber.mount(&mut store, start, &[Val::I32(7)], &on)?;
    /// assert!(matches!(mounted, Mounted::Event { tag, values } if tag == wants && values[0].i32() == Some(7)));
    /// let mounted = fiber.mount(&mut store, fetched, &[Val::I32(50)], &on)?;
    /// assert!(matches!(mounted, Mounted::Event { tag, values } if tag == end && values[0].i32() == Some(100)));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn of_fiber(fiber: &Fiber, event: Tag, values: &[Val], on: Tag) -> Suspension {
        let (fiber, values) = (fiber.clone(), values.to_vec());
        Suspension(Instruction::Dismount { fiber, event, values, on })
    }

    /// A switch to a stack of a bag. The values are all but the last one, which is the stack that
    /// is left: everything from the caller of the function to its base. A switch to that stack makes
    /// the function return.
    ///
    /// The stack may be the root of the running call, as for a switch by WebAssembly.
    /// [`BagStack::into_ref`](crate::BagStack::into_ref) makes a reference from a handle.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (rec
    ///         (type $ping (stack (param i32) (ref null $pong)))
    ///         (type $pong (stack (param i32) (ref null $ping))))
    ///       (import "host" "swap"
    ///         (func $swap (param (ref $ping) i32) (result i32 (ref null $ping))))
    ///       (func $double (param $x i32) (param $back (ref null $pong))
    ///         (switch_retire $pong (i32.mul (local.get $x) (i32.const 2)) (local.get $back)))
    ///       (func (export "run") (param i32) (result i32)
    ///         (call $swap (stack.new $ping $double) (local.get 0))
    ///         (drop)))
    /// "#)?;
    /// let mut linker = Linker::new(&engine);
    /// let Some(ExternType::Func(ty)) = module.imports().next().map(|import| import.ty().clone())
    /// else {
    ///     unreachable!()
    /// };
    /// linker.func_new("host", "swap", ty, |_, values, _| {
    ///     let [Val::ContRef(Some(stack)), x] = values else { unreachable!() };
    ///     Err(Suspension::switch_to(*stack, &[*x]).into())
    /// })?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = linker.instantiate(&mut store, &module)?;
    /// let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
    /// assert_eq!(run.call(&mut store, 21)?, 42);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn switch_to(stack: ContRef, values: &[Val]) -> Suspension {
        Suspension(Instruction::Switch { stack, values: values.to_vec() })
    }

    /// An event for a first-class stack. The values are all but the last one, which is the stack
    /// that is left: everything from the caller of the function to its base.
    ///
    /// The function never returns: an event that is sent to the stack that is left is thrown by the
    /// call, as an exception.
    ///
    /// The stack may be the root of the running call. It is used up, and the function must not
    /// return it to WebAssembly.
    ///
    /// Fails if the last value of the event is not a stack.
    pub fn send_to(
        mut store: impl AsContextMut,
        stack: ContRef,
        event: Tag,
        values: &[Val],
    ) -> Result<Suspension> {
        let mut store = store.as_context_mut();
        stack.handle.word(&store.0.runtime, HeapType::Cont)?;
        check_event(&mut store, event)?;
        Ok(Suspension(Instruction::Send { stack, event, values: values.to_vec() }))
    }

    /// Suspends the caller of a host function of a type.
    pub(crate) fn begin(self, runtime: &mut RuntimeStore, ty: &FuncType) -> Result<Outcome> {
        let call = LeftCall::of(ty);
        match self.0 {
            Instruction::Suspend { tag, values } => {
                let def = tag.in_store(runtime)?;
                let tag_type = tag.ty_in(runtime)?;
                check_results(runtime, ty, tag_type.ty.results(), || {
                    format!("a {tag_type}: the results of the tag")
                })?;
                put(runtime, tag_type.ty.params(), &values)?;
                Ok(runtime.suspend_call(def, call))
            }
            Instruction::SuspendTask { task, values } => {
                let (word, task_type) = task.word_and_type(runtime)?;
                let received = task_type.params.types(runtime.types());
                check_results(runtime, ty, &received, || {
                    "the task: the values that it is resumed with".to_string()
                })?;
                let sent = task_type.results.types(runtime.types());
                put(runtime, &sent, &values)?;
                Ok(runtime.suspend_task(word, call))
            }
            Instruction::Dismount { fiber, event, values, on } => {
                let word = fiber.word(runtime)?;
                let (event_def, on_def) = (event.in_store(runtime)?, on.in_store(runtime)?);
                let (sent, received) = (event_type(runtime, event)?, event_type(runtime, on)?);
                check_results(runtime, ty, received.params(), || {
                    format!("an event of the type {received}: the values of the event")
                })?;
                put(runtime, sent.params(), &values)?;
                // SAFETY: both tags belong to the store.
                let left = unsafe { runtime.dismount_fiber(word, event_def, on_def, call) };
                left.context("the control parent of the fiber does not expect the event")
            }
            Instruction::Switch { stack, values } => {
                let word = stack.handle.word(runtime, HeapType::Cont)?;
                let [sent, received] = types_of(runtime, stack.heap)?;
                check_results(runtime, ty, &received, || {
                    "a switch to the stack: the values that come back".to_string()
                })?;
                runtime.with_embedder(|runtime| runtime.make_room_for_block(word))?;
                put(runtime, &sent[..sent.len() - 1], &values)?;
                Ok(runtime.switch_call(word, values.len(), call))
            }
            Instruction::Send { stack, event, values } => {
                let reference = stack.handle.word(runtime, HeapType::Cont)?;
                let (sent, word) = event_word(runtime, event)?;
                runtime.with_embedder(|runtime| runtime.make_room_for_block(reference))?;
                put(runtime, &sent[..sent.len() - 1], &values)?;
                Ok(runtime.send_call(reference, word, call))
            }
        }
    }
}

fn put(runtime: &mut RuntimeStore, types: &[ValType], values: &[Val]) -> Result<()> {
    transfer::put_values(runtime, types, values).context("in the values of a suspension")
}

/// The type of a tag that is an event.
pub(super) fn event_type(runtime: &RuntimeStore, event: Tag) -> Result<FuncType> {
    let ty = event.ty_in(runtime)?;
    ensure!(ty.ty.results().is_empty(), "the tag of an event has no results: {ty}");
    Ok(ty.ty)
}

/// Fails unless values of these types can be the results of a host function.
fn check_results(
    runtime: &RuntimeStore,
    ty: &FuncType,
    received: &[ValType],
    what: impl FnOnce() -> String,
) -> Result<()> {
    let expected = ty.results();
    let fits = received.len() == expected.len()
        && received.iter().zip(expected).all(|(a, b)| runtime.types().is_subtype(*a, *b));
    if !fits {
        bail!("a host function of type {ty} cannot suspend with {} would be its results", what());
    }
    Ok(())
}

impl fmt::Display for Suspension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a suspension, which only a host function can return")
    }
}

impl std::error::Error for Suspension {}
