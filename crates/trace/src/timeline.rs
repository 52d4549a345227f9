//! Who ran when, and who was whose parent: what the events mean, for all pictures.

use crate::{FunctionId, StackId, Trace, What};

/// What the events of a trace mean.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timeline {
    /// Each time that a stack ran without a break, in the order of time.
    pub runs: Vec<Run>,
    /// Each change of a parent, in the order of time.
    pub links: Vec<Link>,
    /// For each stack, the function that it began with, if an event tells.
    pub functions: Vec<Option<FunctionId>>,
    /// For each stack, what it is a copy of, if it is one.
    pub copies: Vec<Option<Copied>>,
}

/// What a stack is a copy of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Copied {
    /// The stack that was copied.
    pub origin: StackId,
    /// Whether that had run before.
    pub has_begun: bool,
}

/// A stack runs, from one event to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// Which runs.
    pub stack: StackId,
    /// The event that began it.
    pub begin: usize,
    /// The event that ended it; the number of events if none did.
    pub end: usize,
    /// The function in which the stack stopped, or the one that it began with.
    pub function: Option<FunctionId>,
}

/// From an event on, a stack has another parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// From which event on.
    pub event: usize,
    /// The stack.
    pub child: StackId,
    /// Its parent; none if it is suspended, or gone.
    pub parent: Option<StackId>,
}

impl Timeline {
    /// Reads the events of a trace.
    pub fn of(trace: &Trace) -> Timeline {
        let mut state = State::new(trace.stacks.len());
        for (event, happened) in trace.events.iter().enumerate() {
            state.event(event, happened.stack, &happened.what);
        }
        state.stop(trace.events.len());
        let functions = functions(trace);
        for run in &mut state.runs {
            let last = trace.events.get(run.end).filter(|event| event.stack == run.stack);
            let innermost = last.and_then(|event| trace.frames(event.frames).next());
            let function = innermost.map(|frame| frame.function);
            run.function = function.or(functions[run.stack.index()]);
        }
        Timeline { runs: state.runs, links: state.links, functions, copies: state.copies }
    }

    /// The name of a stack: its number and the function that it began with.
    pub fn stack_name(&self, trace: &Trace, stack: StackId) -> String {
        match self.functions.get(stack.index()).copied().flatten() {
            Some(function) => format!("{} {}", stack.0, trace.function_name(function)),
            None => stack.0.to_string(),
        }
    }
}

/// The function of each stack: the one that it was made with, or that of its outermost frame when
/// it has frames for the first time; that of a copy is that of its origin.
fn functions(trace: &Trace) -> Vec<Option<FunctionId>> {
    let mut functions: Vec<_> = trace.stacks.iter().map(|stack| stack.function).collect();
    for event in &trace.events {
        let function = &mut functions[event.stack.index()];
        if function.is_none() {
            let outermost = trace.frames(event.frames).last().map(|frame| frame.function);
            let named = |id: &FunctionId| trace.functions.get(id.index());
            let is_known = |id: &FunctionId| named(id).is_none_or(|it| !it.is_left_out());
            *function = outermost.filter(is_known);
        }
        if let What::Clone { created, origin, .. } = event.what {
            functions[created.index()] = functions[created.index()].or(functions[origin.index()]);
        }
    }
    functions
}

struct State {
    runs: Vec<Run>,
    links: Vec<Link>,
    /// What runs, and since which event.
    running: Option<(StackId, usize)>,
    /// What ran when the host was called that entered again.
    outer: Vec<Option<StackId>>,
    parents: Vec<Option<StackId>>,
    /// Of a suspended stack: the last of those that were suspended with it.
    outermost: Vec<StackId>,
    /// Whether a stack was seen to be created, and has not run since.
    is_new: Vec<bool>,
    copies: Vec<Option<Copied>>,
}

impl State {
    fn new(stacks: usize) -> State {
        let stack = |index: usize| StackId(u32::try_from(index).expect("they are numbered so"));
        State {
            runs: Vec::new(),
            links: Vec::new(),
            running: None,
            outer: Vec::new(),
            parents: vec![None; stacks],
            outermost: (0..stacks).map(stack).collect(),
            is_new: vec![false; stacks],
            copies: vec![None; stacks],
        }
    }

    fn event(&mut self, event: usize, stack: StackId, what: &What) {
        match what {
            What::Enter => {
                self.outer.push(self.running.map(|(stack, _)| stack));
                self.go_to(event, stack);
            }
            What::Leave | What::Trap { .. } | What::Throw { to: None, .. } => {
                self.was_running(event, stack);
                self.link(event, stack, None);
                self.leave(event);
            }
            What::Resume { target, .. } => {
                self.was_running(event, stack);
                self.link(event, self.outermost[target.index()], Some(stack));
                self.go_to(event, *target);
            }
            What::Suspend { to, outermost, .. } => {
                self.was_running(event, stack);
                self.suspend(event, stack, *outermost);
                self.go_to(event, *to);
            }
            What::Switch { target, outermost, .. } => {
                self.was_running(event, stack);
                let parent = self.suspend(event, stack, *outermost);
                self.link(event, self.outermost[target.index()], parent);
                self.go_to(event, *target);
            }
            What::Return { to, .. } | What::Throw { to: Some(to), .. } => {
                self.was_running(event, stack);
                self.link(event, stack, None);
                self.go_to(event, *to);
            }
            What::Drop => self.link(event, stack, None),
            What::HostCall { .. } | What::HostReturn => self.was_running(event, stack),
            What::Create { created } => self.is_new[created.index()] = true,
            What::Clone { created, origin, parent, outermost } => {
                let is_new = self.is_new[origin.index()];
                self.is_new[created.index()] = is_new;
                self.copies[created.index()] = Some(Copied { origin: *origin, has_begun: !is_new });
                self.outermost[created.index()] = *outermost;
                self.link(event, *created, *parent);
            }
            What::Collect { .. } | What::Grow { .. } | What::Park | What::Unpark => {}
        }
    }

    /// What stops here must have run. If nothing is known of it, because the oldest events were
    /// dropped or a call that waited continues, it ran since the event before.
    fn was_running(&mut self, event: usize, stack: StackId) {
        if self.running.is_none_or(|(running, _)| running != stack) {
            let since = event.saturating_sub(1);
            self.go_to(since, stack);
        }
    }

    fn go_to(&mut self, event: usize, stack: StackId) {
        self.stop(event);
        self.is_new[stack.index()] = false;
        self.running = Some((stack, event));
    }

    /// The activation ends. If it was entered from another one, that continues.
    fn leave(&mut self, event: usize) {
        self.stop(event);
        self.running = self.outer.pop().flatten().map(|stack| (stack, event));
    }

    fn stop(&mut self, event: usize) {
        if let Some((stack, begin)) = self.running.take() {
            self.runs.push(Run { stack, begin: begin.min(event), end: event, function: None });
        }
    }

    /// Suspends the stacks from one to another; returns the parent that they had.
    fn suspend(&mut self, event: usize, stack: StackId, outermost: StackId) -> Option<StackId> {
        let parent = self.parents[outermost.index()];
        self.outermost[stack.index()] = outermost;
        self.link(event, outermost, None);
        parent
    }

    fn link(&mut self, event: usize, child: StackId, parent: Option<StackId>) {
        let known = &mut self.parents[child.index()];
        if *known != parent {
            *known = parent;
            self.links.push(Link { event, child, parent });
        }
    }
}
