//! Derives from the events which stack ran when, and the parents of stacks.

use crate::{EventKind, FunctionId, StackId, Trace};

/// The runs of stacks, and the links between them, derived from a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timeline {
    /// Each uninterrupted run of a stack, in the order of time.
    pub runs: Vec<Run>,
    /// Each change of a parent, in the order of time.
    pub links: Vec<Link>,
    /// For each stack, its first function, if an event tells.
    pub functions: Vec<Option<FunctionId>>,
    /// For each stack, its origin if it is a copy.
    pub copies: Vec<Option<Copied>>,
}

/// The origin of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Copied {
    /// The stack that was copied.
    pub origin: StackId,
    /// Whether the origin had run before.
    pub has_begun: bool,
}

/// A run of a stack, from one event to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The stack that runs.
    pub stack: StackId,
    /// The event that starts the run.
    pub begin: usize,
    /// The event that ends the run, or the number of events if none does.
    pub end: usize,
    /// The function in which the stack stopped, or its first function.
    pub function: Option<FunctionId>,
}

/// A change of a stack's parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The event that changes it.
    pub event: usize,
    /// The stack whose parent changes.
    pub child: StackId,
    /// Its new parent; `None` if it is suspended or gone.
    pub parent: Option<StackId>,
}

impl Timeline {
    /// Derives the timeline of a trace.
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

    /// The name of a stack: its number and first function.
    pub fn stack_name(&self, trace: &Trace, stack: StackId) -> String {
        match self.functions.get(stack.index()).copied().flatten() {
            Some(function) => format!("{} {}", stack.0, trace.function_name(function)),
            None => stack.0.to_string(),
        }
    }
}

/// The first function of each stack: the function it was created with, or the outermost function
/// when it first has frames. A copy has the function of its origin.
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
        if let EventKind::Clone { created, origin, .. } = event.what {
            functions[created.index()] = functions[created.index()].or(functions[origin.index()]);
        }
    }
    functions
}

struct State {
    runs: Vec<Run>,
    links: Vec<Link>,
    /// The running stack, and the event that started its run.
    running: Option<(StackId, usize)>,
    /// The stacks that called the host, for each nested activation.
    outer: Vec<Option<StackId>>,
    parents: Vec<Option<StackId>>,
    /// For a suspended stack, the outermost stack that was suspended with it.
    outermost: Vec<StackId>,
    /// Whether the trace has the creation of a stack that has not run since.
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

    fn event(&mut self, event: usize, stack: StackId, what: &EventKind) {
        match what {
            EventKind::Enter => {
                self.outer.push(self.running.map(|(stack, _)| stack));
                self.go_to(event, stack);
            }
            EventKind::Leave | EventKind::Trap { .. } | EventKind::Throw { to: None, .. } => {
                self.was_running(event, stack);
                self.link(event, stack, None);
                self.leave(event);
            }
            EventKind::Resume { target, .. } => {
                self.was_running(event, stack);
                self.link(event, self.outermost[target.index()], Some(stack));
                self.go_to(event, *target);
            }
            EventKind::Suspend { to, outermost, .. } => {
                self.was_running(event, stack);
                self.suspend(event, stack, *outermost);
                self.go_to(event, *to);
            }
            EventKind::Switch { target, outermost, .. } => {
                self.was_running(event, stack);
                let parent = self.suspend(event, stack, *outermost);
                self.link(event, self.outermost[target.index()], parent);
                self.go_to(event, *target);
            }
            EventKind::Return { to, .. } | EventKind::Throw { to: Some(to), .. } => {
                self.was_running(event, stack);
                self.link(event, stack, None);
                self.go_to(event, *to);
            }
            EventKind::Retire { to, .. } => {
                self.was_running(event, stack);
                let parent = self.parents[stack.index()];
                self.link(event, stack, None);
                // `fiber.switch_release` hands its parent on.
                if parent.is_some_and(|parent| !self.runs_below(parent, *to)) {
                    self.link(event, self.outermost[to.index()], parent);
                }
                self.go_to(event, *to);
            }
            EventKind::Drop => self.link(event, stack, None),
            EventKind::HostCall { .. } | EventKind::HostReturn | EventKind::Refuse { .. } => {
                self.was_running(event, stack);
            }
            EventKind::Create { created } => self.is_new[created.index()] = true,
            EventKind::Clone { created, origin, parent, outermost } => {
                let is_new = self.is_new[origin.index()];
                self.is_new[created.index()] = is_new;
                self.copies[created.index()] = Some(Copied { origin: *origin, has_begun: !is_new });
                self.outermost[created.index()] = *outermost;
                self.link(event, *created, *parent);
            }
            EventKind::Collect { .. }
            | EventKind::Grow { .. }
            | EventKind::Park
            | EventKind::Unpark => {}
        }
    }

    /// Whether a stack is another or below it.
    fn runs_below(&self, stack: StackId, above: StackId) -> bool {
        let mut chain = std::iter::successors(Some(stack), |stack| self.parents[stack.index()]);
        chain.any(|stack| stack == above)
    }

    /// Records the run of a stack that stops. If its start is unknown, because the oldest events
    /// were dropped or a pending call continues, it started at the previous event.
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

    /// Ends an activation. The stack that entered it, if any, continues.
    fn leave(&mut self, event: usize) {
        self.stop(event);
        self.running = self.outer.pop().flatten().map(|stack| (stack, event));
    }

    fn stop(&mut self, event: usize) {
        if let Some((stack, begin)) = self.running.take() {
            self.runs.push(Run { stack, begin: begin.min(event), end: event, function: None });
        }
    }

    /// Suspends the stacks from `stack` to `outermost`, and returns the old parent of `outermost`.
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
