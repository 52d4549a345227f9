//! A large amount of state in a store beside the program. The host knows it, and little of it
//! changes between two snapshots.
//!
//! Each part adds up numbers: places of a memory, objects, continuations in a table, and a named
//! stack of each design.

use crate::designs::engine::Host;
use crate::seeds::Random;
use anyhow::{Context, Result, bail, ensure};
use ropewalk::{
    BagStack, Continuation, Fiber, FirstClassStack, Instance, Mounted, Restored, Resumed,
    SnapshotOptions, StoreContextMut, Tag, Task, TaskResumed, Val,
};
use std::collections::BTreeMap;

pub const SOURCE: &str = include_str!("ballast.wat");

/// The parts of the ballast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum BallastKind {
    Memory,
    Objects,
    Elements,
    Continuations,
    Continuation,
    Task,
    Fiber,
    BagStack,
    FirstClassStack,
}

use BallastKind as K;

/// All parts. The host holds the only reference to each of the last ones, and that reference
/// changes.
const KINDS: [BallastKind; 9] = [
    K::Memory,
    K::Objects,
    K::Elements,
    K::Continuations,
    K::Task,
    K::Fiber,
    K::Continuation,
    K::BagStack,
    K::FirstClassStack,
];

/// The number of parts that the host does not hold.
const NOT_HELD: usize = 6;

/// The minimum number of places of each part.
const PLACES: u64 = 9000;

/// The number of continuations that are started together.
const MANY: u64 = 600;

/// The expected sums.
pub type Sums = BTreeMap<(u8, usize), i64>;

/// The host's side of the ballast.
pub struct Ballast {
    instance: Instance,
    /// The sum of each used place.
    pub sums: Sums,
    continuation: Option<Continuation>,
    task: Task,
    fiber: Fiber,
    bag_stack: Option<BagStack>,
    first_class_stack: Option<FirstClassStack>,
}

/// A store with ballast.
type Beside<'a> = StoreContextMut<'a, Host>;

impl Ballast {
    /// Creates the ballast of a new store.
    pub fn new(store: &mut Beside<'_>, instance: Instance) -> Result<Ballast> {
        let sum = instance.get_func(&mut *store, "sum").context("no function")?;
        let continuation = Some(Continuation::new(&mut *store, sum)?);
        let task = instance.get_typed_func::<(), Task>(&mut *store, "new_task")?;
        let task = task.call(&mut *store, ())?;
        let fiber = instance.get_typed_func::<(), Option<Fiber>>(&mut *store, "new_fiber")?;
        let fiber = fiber.call(&mut *store, ())?.context("no fiber")?;
        let stack = instance.get_typed_func::<(), BagStack>(&mut *store, "new_bag_stack")?;
        let bag_stack = Some(stack.call(&mut *store, ())?);
        let name = "new_first_class_stack";
        let stack = instance.get_typed_func::<(), Option<FirstClassStack>>(&mut *store, name)?;
        let first_class_stack = stack.call(&mut *store, ())?;
        let sums = Sums::default();
        Ok(Ballast { instance, sums, continuation, task, fiber, bag_stack, first_class_stack })
    }

    /// The ballast of a restored store, with the sums at the time of the snapshot.
    pub fn restored(restored: &mut Restored<Host>, sums: Sums) -> Result<Ballast> {
        Ok(Ballast {
            instance: restored.instance("ballast")?,
            sums,
            continuation: Some(restored.continuation("continuation")?),
            task: restored.task("task")?,
            fiber: restored.fiber("fiber")?,
            bag_stack: Some(restored.bag_stack("bag stack")?),
            first_class_stack: Some(restored.first_class_stack("first-class stack")?),
        })
    }

    /// Names the host's references in a snapshot.
    pub fn name(&self, options: &mut SnapshotOptions) {
        options.name_instance("ballast", self.instance);
        options.name_task("task", &self.task).name_fiber("fiber", &self.fiber);
        if let Some(continuation) = &self.continuation {
            options.name_continuation("continuation", continuation);
        }
        if let Some(stack) = &self.bag_stack {
            options.name_bag_stack("bag stack", stack);
        }
        if let Some(stack) = &self.first_class_stack {
            options.name_first_class_stack("first-class stack", stack);
        }
    }

    /// Makes a random change. Returns whether the host's references changed.
    pub fn change(&mut self, store: &mut Beside<'_>, random: &mut Random) -> Result<bool> {
        let kinds = if random.below(4) == 0 { KINDS.len() } else { NOT_HELD };
        let kind = KINDS[random.below(kinds as u64) as usize];
        // Growth changes no sum.
        let more = match random.below(32) {
            0 => Some("grow_memory"),
            1 => Some("grow_table"),
            2 => Some("begin_many"),
            _ => None,
        };
        if let Some(more) = more {
            let more = self.instance.get_typed_func::<(), ()>(&mut *store, more)?;
            more.call(&mut *store, ())?;
        }
        // Used places are often used again.
        let places = [20, MANY, PLACES][random.below(3) as usize];
        let (at, number) = (random.below(places) as usize, random.below(1000) as i64);
        self.add(store, kind, at, number)?;
        Ok(KINDS[NOT_HELD..].contains(&kind))
    }

    /// Compares all used places, and some unused ones, with the expected sums.
    pub fn check(&mut self, store: &mut Beside<'_>, random: &mut Random) -> Result<()> {
        for (kind, at) in self.sums.keys().copied().collect::<Vec<_>>() {
            self.add(store, KINDS[usize::from(kind)], at, 0)?;
        }
        for kind in KINDS {
            self.add(store, kind, random.below(PLACES) as usize, 0)?;
        }
        Ok(())
    }

    /// Adds a number to a place, and checks the sum.
    fn add(
        &mut self,
        store: &mut Beside<'_>,
        kind: BallastKind,
        at: usize,
        number: i64,
    ) -> Result<()> {
        // These have one place.
        let at = if matches!(kind, K::Memory | K::Objects | K::Elements | K::Continuations) {
            at
        } else {
            0
        };
        let found = self.added(store, kind, at, number);
        let found = found.with_context(|| format!("the ballast has failed: {kind:?} {at}"))?;
        let index = KINDS.iter().position(|known| *known == kind).unwrap_or_default();
        let sum = self.sums.entry((index as u8, at)).or_default();
        *sum += number;
        ensure!(*sum == found, "the ballast has {found}, not {sum}: {kind:?} {at}");
        Ok(())
    }

    fn added(
        &mut self,
        store: &mut Beside<'_>,
        kind: BallastKind,
        at: usize,
        number: i64,
    ) -> Result<i64> {
        match kind {
            K::Memory => self.call(store, "memory", at, number),
            K::Objects => self.call(store, "objects", at, number),
            K::Elements => self.call(store, "elements", at, number),
            K::Continuations => self.call(store, "continuations", at, number),
            K::Continuation => self.resume(store, number),
            K::Task => match self.task.resume(store, &[Val::I64(number)])? {
                TaskResumed::Suspended(values) => sum(&values),
                TaskResumed::Finished(_) => bail!("the task has ended"),
            },
            K::Fiber => self.mount(store, number),
            K::BagStack => {
                let stack = self.bag_stack.take().context("no stack")?;
                let switched = stack.switch(store, &[Val::I64(number)])?;
                self.bag_stack = switched.from;
                sum(&switched.values)
            }
            K::FirstClassStack => {
                let stack = self.first_class_stack.take().context("no stack")?;
                let event = self.tag(store, "number")?;
                let arrived = stack.switch(store, event, &[Val::I64(number)])?;
                self.first_class_stack = arrived.from;
                sum(&arrived.values)
            }
        }
    }

    fn call(&self, store: &mut Beside<'_>, name: &str, at: usize, number: i64) -> Result<i64> {
        let func = self.instance.get_typed_func::<(i32, i64), i64>(&mut *store, name)?;
        func.call(store, (at as i32, number))
    }

    fn resume(&mut self, store: &mut Beside<'_>, number: i64) -> Result<i64> {
        let rest = self.continuation.take().context("no continuation")?;
        match rest.resume(store, &[Val::I64(number)])? {
            Resumed::Suspended { values, continuation, .. } => {
                self.continuation = Some(continuation);
                sum(&values)
            }
            Resumed::Returned(_) => bail!("the continuation has returned"),
        }
    }

    fn mount(&self, store: &mut Beside<'_>, number: i64) -> Result<i64> {
        let [go, told] = [self.tag(store, "go")?, self.tag(store, "told")?];
        match self.fiber.mount(store, go, &[Val::I64(number)], &[told])? {
            Mounted::Event { values, .. } => sum(&values),
            Mounted::NotHandled => bail!("the fiber does not expect its event"),
        }
    }

    fn tag(&self, store: &mut Beside<'_>, name: &str) -> Result<Tag> {
        self.instance.get_tag(store, name).with_context(|| format!("no tag {name}"))
    }
}

fn sum(values: &[Val]) -> Result<i64> {
    values.first().and_then(Val::i64).context("no number")
}
