//! Tasks, fibers, stacks of the bag and first-class stacks that the embedder continues. On each
//! of them a host function is called.

use super::borrowed_store::{drive, failed, returned, words};
use super::case::{Call, Design, Manner};
use super::handles::{Handle, KeptHandle};
use super::world::World;
use super::{Context, Verdict};
use ropewalk::*;
use std::sync::Arc;

/// The functions that run on these stacks. Each calls the host function of a kind, gives its
/// result to the embedder, and ends when it gets the kind [`END`].
pub const SOURCE: &str = r#"
  (type $task (task (param i32 i32) (result i32)))
  (rec
    (type $ping (stack (param i32 i32) (ref null $pong)))
    (type $pong (stack (param i32) (ref null $ping))))
  (tag $go (export "go") (param i32 i32))
  (tag $gave (export "gave") (param i32))
  (event $ask (export "ask") (param i32 i32 stackref))
  (event $told (export "told") (param i32 stackref))
  (event $last (export "last") (param i32))

  (func $on_task (param $me (ref null $task)) (param $kind i32) (param $x i32) (result i32)
    (loop $more
      (task.suspend $task (local.get $me) (call $host (local.get $kind) (local.get $x)))
      (local.set $x) (local.set $kind)
      (br_if $more (i32.ne (local.get $kind) (i32.const -1))))
    (local.get $x))
  (func (export "task") (result (ref $task)) (task.new $task $on_task))

  (func $on_fiber (param $me fiberref) (param $kind i32) (param $x i32) (result i32)
    (loop $more
      (block $went (result i32 i32)
        (fiber.dismount $gave (on $go $went)
          (call $host (local.get $kind) (local.get $x)) (local.get $me))
        (unreachable))
      (local.set $x) (local.set $kind)
      (br_if $more (i32.ne (local.get $kind) (i32.const -1))))
    (local.get $x))
  (func (export "fiber") (result fiberref) (fiber.new $gave (on $go $on_fiber)))

  (func $on_bag (param $kind i32) (param $x i32) (param $back (ref null $pong))
    (loop $more
      (switch $pong (call $host (local.get $kind) (local.get $x)) (local.get $back))
      (local.set $back) (local.set $x) (local.set $kind)
      (br_if $more (i32.ne (local.get $kind) (i32.const -1))))
    (switch_retire $pong (local.get $x) (local.get $back)))
  (func (export "bag") (result (ref $ping)) (stack.new $ping $on_bag))

  (rout $on_first_class (local $back stackref) (local $kind i32) (local $x i32)
    (block $asked (result i32 i32 stackref)
      (try (stack.start) catch $ask $asked)
      (unreachable))
    (local.set_cleared $back)
    (local.set $x) (local.set $kind)
    (loop $more
      (block $again (result i32 i32 stackref)
        (try
          (stack.switch $told (call $host (local.get $kind) (local.get $x))
            (local.get_clear $back))
          catch $ask $again)
        (unreachable))
      (local.set_cleared $back)
      (local.set $x) (local.set $kind)
      (br_if $more (i32.ne (local.get $kind) (i32.const -1))))
    (stack.switch_drop $last (local.get $x) (local.get_clear $back)))
  (func (export "first-class") (result stackref)
    (stack.extend $on_first_class (call $new_stack)))
"#;

/// Instead of a kind of host function: the function must return what it gets.
const END: i32 = -1;

/// A stack that can be continued.
pub enum DesignStack {
    Task(Task),
    Fiber(Fiber),
    Bag(BagStack),
    FirstClass(FirstClassStack),
}

/// The value that came back, and the stack unless it has ended.
type Step = (Option<i32>, Option<DesignStack>);

/// Makes a stack, makes a call on it, and keeps it.
pub fn begin(store: &mut Context<'_>, world: &World, design: Design, call: Call) -> Verdict {
    let site = store.data().site.clone();
    match make(store, design) {
        Ok(stack) => continue_and_keep(store, world, stack, call),
        Err(error) => failed(&site, "a stack", error),
    }
}

/// Makes a call on a stack of this store, and keeps the stack.
pub fn continue_and_keep(
    store: &mut Context<'_>,
    world: &World,
    stack: DesignStack,
    call: Call,
) -> Verdict {
    let (_, kind, x) = words(call);
    let step = stack.step(store, kind, x);
    judge(store, world, step, x + 1, true)
}

/// The same in a future.
pub fn poll(
    store: &mut Context<'_>,
    world: &Arc<World>,
    design: Design,
    call: Call,
    manner: Manner,
) -> Verdict {
    let site = store.data().site.clone();
    let stack = match make(store, design) {
        Ok(stack) => stack,
        Err(error) => return failed(&site, "a stack", error),
    };
    let (_, kind, x) = words(call);
    let context = store.as_context_mut();
    let step = drive(&site, Box::pin(stack.step_async(context, kind, x)), manner);
    step.map_or(Ok(()), |step| judge(store, world, step, x + 1, true))
}

/// Lets a stack of this store end.
pub fn end(store: &mut Context<'_>, world: &World, stack: DesignStack) -> Verdict {
    let step = stack.step(store, END, 31);
    judge(store, world, step, 31, false)
}

/// Makes a stack, makes a call on it, and lets it end. Nothing is kept.
pub fn whole_life(store: &mut Context<'_>, design: Design, call: Call) -> Verdict {
    let (_, kind, x) = words(call);
    let lived = make(store, design)
        .and_then(|stack| stack.step(store, kind, x))
        .and_then(|(value, stack)| Ok((value, some(stack)?.step(store, END, 31)?)));
    match lived {
        Ok((value, (last, None))) if (value, last) == (Some(x + 1), Some(31)) => Ok(()),
        Ok((value, (last, stack))) => {
            Err(format!("a stack gave {value:?} and {last:?}; alive: {}", stack.is_some()))
        }
        Err(error) => failed(&store.data().site.clone(), "a stack", error),
    }
}

/// The value of a step must be the expected one, and a stack must be alive until it has ended.
fn judge(
    store: &mut Context<'_>,
    world: &World,
    step: Result<Step>,
    expected: i32,
    is_alive: bool,
) -> Verdict {
    let site = store.data().site.clone();
    let (value, stack) = match step {
        Ok(step) => step,
        Err(error) => return failed(&site, "a stack", error),
    };
    if stack.is_some() != is_alive {
        return Err(format!("a stack is alive: {}, expected {is_alive}", stack.is_some()));
    }
    if let Some(stack) = stack {
        world.keep(KeptHandle { store: store.data().number, handle: Handle::Stack(stack) });
    }
    returned(&site, "a stack", Ok(value), Some(expected), Some(expected))
}

fn make(store: &mut Context<'_>, design: Design) -> Result<DesignStack> {
    Ok(match design {
        Design::Task => DesignStack::Task(export(store, "task")?),
        Design::Fiber => DesignStack::Fiber(some(export(store, "fiber")?)?),
        Design::Bag => DesignStack::Bag(export(store, "bag")?),
        Design::FirstClass => DesignStack::FirstClass(some(export(store, "first-class")?)?),
    })
}

/// What an exported function returns.
fn export<R: WasmResults>(store: &mut Context<'_>, name: &str) -> Result<R> {
    let instance = some(store.data().instance)?;
    instance.get_typed_func::<(), R>(&mut *store, name)?.call(store, ())
}

fn some<T>(option: Option<T>) -> Result<T> {
    option.ok_or_else(|| Error::msg("there is none"))
}

fn tags<const N: usize>(store: &mut Context<'_>, names: [&str; N]) -> Result<[Tag; N]> {
    let instance = some(store.data().instance)?;
    let tags: Option<Vec<_>> =
        names.iter().map(|name| instance.get_tag(&mut *store, name)).collect();
    Ok(some(tags)?.try_into().expect("there are as many tags as names"))
}

fn first(values: &[Val]) -> Option<i32> {
    values.first().and_then(Val::i32)
}

impl DesignStack {
    /// Continues the stack. Fails if it belongs to another store.
    pub fn step(self, store: &mut Context<'_>, kind: i32, x: i32) -> Result<Step> {
        let given = [Val::I32(kind), Val::I32(x)];
        match self {
            DesignStack::Task(task) => {
                let resumed = task.resume(store, &given)?;
                Ok(of_task(task, resumed))
            }
            DesignStack::Fiber(fiber) => {
                let [go, gave] = tags(store, ["go", "gave"])?;
                let mounted = fiber.mount(&mut *store, go, &given, &[gave])?;
                of_fiber(store, fiber, mounted)
            }
            DesignStack::Bag(stack) => Ok(of_bag(stack.switch(store, &given)?)),
            DesignStack::FirstClass(stack) => {
                let [ask] = tags(store, ["ask"])?;
                Ok(of_first_class(stack.switch(store, ask, &given)?))
            }
        }
    }

    async fn step_async(self, mut store: Context<'_>, kind: i32, x: i32) -> Result<Step> {
        let given = [Val::I32(kind), Val::I32(x)];
        let store = &mut store;
        match self {
            DesignStack::Task(task) => {
                let resumed = task.resume_async(store, &given).await?;
                Ok(of_task(task, resumed))
            }
            DesignStack::Fiber(fiber) => {
                let [go, gave] = tags(store, ["go", "gave"])?;
                let mounted = fiber.mount_async(&mut *store, go, &given, &[gave]).await?;
                of_fiber(store, fiber, mounted)
            }
            DesignStack::Bag(stack) => Ok(of_bag(stack.switch_async(store, &given).await?)),
            DesignStack::FirstClass(stack) => {
                let [ask] = tags(store, ["ask"])?;
                Ok(of_first_class(stack.switch_async(store, ask, &given).await?))
            }
        }
    }
}

fn of_task(task: Task, resumed: TaskResumed) -> Step {
    match resumed {
        TaskResumed::Suspended(values) => (first(&values), Some(DesignStack::Task(task))),
        TaskResumed::Finished(values) => (first(&values), None),
    }
}

fn of_fiber(store: &mut Context<'_>, fiber: Fiber, mounted: Mounted) -> Result<Step> {
    let Mounted::Event { values, .. } = mounted else { return Ok((None, None)) };
    let is_alive = !fiber.is_moribund(store)?;
    Ok((first(&values), is_alive.then_some(DesignStack::Fiber(fiber))))
}

fn of_bag(switched: Switched) -> Step {
    (first(&switched.values), switched.from.map(DesignStack::Bag))
}

fn of_first_class(arrived: Arrived) -> Step {
    (first(&arrived.values), arrived.from.map(DesignStack::FirstClass))
}
