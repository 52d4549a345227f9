//! A profiler of WebAssembly: where the program is, at regular times.
//!
//! The [timer](crate::os::timer) has functions stop at their next
//! [check point](crate::run::interrupt), as it does when a time slice has passed. There the
//! runtime notes the frames of the running stack, then those of its parents, of whoever
//! extends them, and of outer activations, and the function goes on. So time on a stack is
//! also time of those that wait for it. What runs in the host has no check points: a sample
//! that falls there is taken when WebAssembly runs again.
//!
//! Of a deep stack the innermost and the outermost frames are kept, so that time is that of the
//! right callers, and a mark that does not say how many are between them: so samples of a
//! recursion are the same however deep it is.

use crate::observe::frame_tree::FrameTree;
use crate::stack::TopFrame;
use crate::store::Store;
use crate::store::interrupts::Reason;
use ropewalk_trace::LEFT_OUT;
use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

/// Samples that are being taken.
#[derive(Debug)]
pub(crate) struct Profiler {
    begun: Instant,
    interval: Duration,
    tree: FrameTree,
    /// The frames of a sample: the innermost frame on each stack, the running one first.
    stacks: Vec<Vec<u32>>,
    numbers: HashMap<Vec<u32>, usize>,
    samples: Vec<Sample>,
}

/// Where a program was at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When, since the profile began.
    pub time: Duration,
    /// Which of [`Profile::stacks`] it was.
    pub stack: usize,
}

/// Where a program has spent its time.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// How long it was from one sample to the next, if nothing came in between.
    pub interval: Duration,
    /// Functions, with their modules.
    pub functions: Vec<String>,
    /// Calls within calls: functions, by their numbers, the outermost first, across stacks. Of
    /// a stack with more than 128 frames at least the outermost 60 are there and the innermost
    /// 60, and one function, `(calls left out)`, for all between them.
    pub stacks: Vec<Vec<usize>>,
    /// The samples, in the order of time.
    pub samples: Vec<Sample>,
}

impl Profile {
    /// As folded stacks, which tools that draw flame graphs read: on each line functions from
    /// the outermost to the innermost, separated by semicolons, and how many samples there
    /// were.
    pub fn to_folded(&self) -> String {
        let mut counts = vec![0_u64; self.stacks.len()];
        self.samples.iter().for_each(|sample| counts[sample.stack] += 1);
        let line = |(stack, count): (&Vec<usize>, &u64)| {
            let name = |number: &usize| self.functions[*number].replace(';', ":");
            format!("{} {count}\n", stack.iter().map(name).collect::<Vec<_>>().join(";"))
        };
        let mut lines: Vec<String> = self.stacks.iter().zip(&counts).map(line).collect();
        lines.sort();
        lines.concat()
    }
}

impl Store {
    /// Takes a sample at each such time from now on, or none any more. What was sampled
    /// before is forgotten.
    pub fn set_profile(&mut self, interval: Option<Duration>) -> io::Result<()> {
        self.observers.profiler.set(interval.map(|interval| {
            Box::new(Profiler {
                begun: Instant::now(),
                interval,
                tree: FrameTree::with_outermost(),
                stacks: Vec::new(),
                numbers: HashMap::new(),
                samples: Vec::new(),
            })
        }));
        self.set_next_sample()
    }

    /// What was sampled so far; nothing more is.
    pub fn take_profile(&mut self) -> io::Result<Option<Profile>> {
        let profiler = self.observers.profiler.take::<Profiler>();
        self.set_next_sample()?;
        Ok(profiler.map(|profiler| profiler.finish(self)))
    }

    /// When the next sample is to be taken.
    pub(crate) fn next_sample(&self) -> Option<Instant> {
        Instant::now().checked_add(self.observers.profiler.get::<Profiler>()?.interval)
    }

    /// Lets functions stop when the next sample is to be taken, if one is.
    pub(crate) fn set_next_sample(&mut self) -> io::Result<()> {
        self.budget.interrupts.stop_at(Reason::Sample, self.next_sample())
    }

    /// Takes a sample: the running stack is in a call of the host.
    pub(crate) fn sample(&mut self) {
        let Some(mut profiler) = self.observers.profiler.take::<Profiler>() else { return };
        let mut nodes = Vec::new();
        // SAFETY: the running stack is alive.
        let newest = unsafe { &*self.context().stack };
        for innermost in std::iter::once(newest).chain(self.outer_stacks()) {
            for stack in self.with_extender(innermost) {
                let left = TopFrame::in_host_call(stack);
                // SAFETY: it was left there.
                nodes.extend(unsafe { profiler.tree.of(self, &left) });
            }
        }
        profiler.add(nodes);
        self.observers.profiler.set(Some(profiler));
    }
}

impl Profiler {
    fn add(&mut self, nodes: Vec<u32>) {
        let stacks = &mut self.stacks;
        let stack = *self.numbers.entry(nodes).or_insert_with_key(|nodes| {
            stacks.push(nodes.clone());
            stacks.len() - 1
        });
        self.samples.push(Sample { time: self.begun.elapsed(), stack });
    }

    fn finish(self, store: &Store) -> Profile {
        let Profiler { interval, tree, samples, .. } = self;
        let (mut functions, mut numbers) = (Vec::new(), HashMap::new());
        let function_of = tree.nodes.iter().map(|node| {
            *numbers.entry((node.code, node.function)).or_insert_with(|| {
                functions.push(match node.is_left_out() {
                    true => LEFT_OUT.to_string(),
                    false => store.function_text(node.code, node.function),
                });
                functions.len() - 1
            })
        });
        let function_of: Vec<usize> = function_of.collect();
        let stack = |nodes: &Vec<u32>| {
            // The outermost stack, and the outermost frame on each, comes first.
            let mut functions = Vec::new();
            for innermost in nodes {
                let caller = |node: &u32| tree.nodes[*node as usize].caller;
                let frames = std::iter::successors(Some(*innermost), caller);
                functions.extend(frames.map(|node| function_of[node as usize]));
            }
            functions.reverse();
            functions
        };
        let stacks = self.stacks.iter().map(stack).collect();
        Profile { interval, functions, stacks, samples }
    }
}
