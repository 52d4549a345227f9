//! A sampling profiler.
//!
//! At regular times the [timer](crate::os::timer) makes functions stop at their next
//! [safepoint](crate::run::interrupt). There the runtime records the frames of the running stack,
//! its parents and extenders, and outer activations. So time on a stack counts for the stacks that
//! wait for it too. A sample that is due in the host is taken when WebAssembly runs again.
//!
//! Of a deep stack, the innermost and the outermost frames are kept, with one mark between them. So
//! time is attributed to the right callers, and samples of a recursion are equal at every depth.

use crate::observe::frame_tree::FrameTree;
use crate::stack::TopFrame;
use crate::store::Store;
use crate::store::interrupts::Reason;
use ropewalk_trace::LEFT_OUT;
use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(crate) struct Profiler {
    begun: Instant,
    interval: Duration,
    tree: FrameTree,
    /// The distinct samples: the innermost frame of each stack, the running one first.
    stacks: Vec<Vec<u32>>,
    numbers: HashMap<Vec<u32>, usize>,
    samples: Vec<Sample>,
}

/// Where a program was at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The time since the profile began.
    pub time: Duration,
    /// An index into [`Profile::stacks`].
    pub stack: usize,
}

/// Where a program has spent its time.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// The time between two samples.
    pub interval: Duration,
    /// The names of functions, with their modules.
    pub functions: Vec<String>,
    /// Call chains across stacks: indices of functions, outermost first. Of a stack with more than
    /// 128 frames, at least the outermost 60 and the innermost 60 are included, and the function
    /// `(calls left out)` stands for the others.
    pub stacks: Vec<Vec<usize>>,
    /// The samples, in the order of time.
    pub samples: Vec<Sample>,
}

impl Profile {
    /// Formats the samples as folded stacks for flame graphs: on each line, functions from the
    /// outermost to the innermost, separated by semicolons, and the number of samples.
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
    /// Starts taking samples at this interval, or stops. Discards earlier samples.
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

    /// Stops taking samples, and returns those taken so far.
    pub fn take_profile(&mut self) -> io::Result<Option<Profile>> {
        let profiler = self.observers.profiler.take::<Profiler>();
        self.set_next_sample()?;
        Ok(profiler.map(|profiler| profiler.finish(self)))
    }

    /// Makes functions stop when the next sample is due.
    pub(crate) fn set_next_sample(&mut self) -> io::Result<()> {
        let interval = self.observers.profiler.get::<Profiler>().map(|profiler| profiler.interval);
        let next = interval.and_then(|interval| Instant::now().checked_add(interval));
        self.budget.interrupts.stop_at(Reason::Sample, next)
    }

    /// Takes a sample while the running stack is in a call of the host.
    pub(crate) fn sample(&mut self) {
        let Some(mut profiler) = self.observers.profiler.take::<Profiler>() else { return };
        let mut nodes = Vec::new();
        for (_, stack) in self.nested_stacks() {
            let left = TopFrame::in_host_call(stack);
            // SAFETY: the stack was left there.
            nodes.extend(unsafe { profiler.tree.of(self, &left) });
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
            // The outermost stack, and the outermost frame on each, come first.
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
