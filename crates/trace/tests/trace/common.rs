//! Made-up traces with every kind of event.

use ropewalk_trace::*;

/// Builds a trace event by event, as a recorder does.
#[derive(Default)]
pub struct Recorder {
    pub trace: Trace,
    time: u64,
}

impl Recorder {
    pub fn new(name: &str) -> Recorder {
        let trace = Trace { name: name.to_owned(), ..Trace::default() };
        Recorder { trace, time: 0 }
    }

    pub fn function(&mut self, name: &str) -> FunctionId {
        let id = FunctionId(self.trace.functions.len() as u32);
        self.trace.functions.push(Function { module: "demo".into(), name: name.into() });
        id
    }

    pub fn tag(&mut self, name: &str) -> TagId {
        self.trace.tags.push(Tag { name: name.into() });
        TagId(self.trace.tags.len() as u32 - 1)
    }

    pub fn stack(&mut self, design: Design, function: FunctionId) -> StackId {
        self.trace.stacks.push(Stack { design, function: Some(function) });
        StackId(self.trace.stacks.len() as u32 - 1)
    }

    pub fn frame(&mut self, caller: Option<FramesId>, function: FunctionId, line: u32) -> FramesId {
        self.trace.positions.push(Position {
            file: "demo.wat".into(),
            line,
            column: 7,
            offset: line * 10,
            source: format!("      (suspend $yield (local.get $i)) ;; line {line}"),
        });
        let position = Some(PositionId(self.trace.positions.len() as u32 - 1));
        self.trace.frames.push(Frame { caller, function, position });
        FramesId(self.trace.frames.len() as u32 - 1)
    }

    pub fn event(&mut self, after: u64, stack: StackId, frames: Option<FramesId>, what: EventKind) {
        self.time += after;
        self.trace.events.push(Event { time: self.time, stack, frames, what });
    }
}

/// The root resumes some generators in turn, and each yields.
pub fn generators(generators: u32, events: usize) -> Trace {
    let mut recorder = Recorder::new("generators.wat");
    let main = recorder.function("main");
    let host = recorder.function("print");
    let bodies = ["numbers", "squares", "primes", "words", "walk <tree> & \"leaves\""];
    let bodies: Vec<_> = bodies.iter().map(|name| recorder.function(name)).collect();
    let tags = [recorder.tag("yield"), recorder.tag("done")];
    let root = recorder.stack(Design::Root, main);
    let in_main = recorder.frame(None, main, 40);
    let at: Vec<_> =
        (0..).zip(&bodies).map(|(i, body)| recorder.frame(None, *body, 10 + i)).collect();
    let deep: Vec<_> = (0..)
        .zip(&bodies)
        .map(|(i, body)| recorder.frame(Some(at[i as usize]), *body, 20 + i))
        .collect();
    recorder.event(0, root, None, EventKind::Enter);
    let mut stacks = Vec::new();
    for index in 0..generators as usize {
        let design = Design::ALL[1 + index % 5];
        let created = recorder.stack(design, bodies[index % bodies.len()]);
        recorder.event(90, root, Some(in_main), EventKind::Create { created });
        stacks.push(created);
    }
    let mut random = 12345u64;
    while recorder.trace.events.len() + 6 < events {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let which = (random >> 33) as usize % stacks.len();
        let (target, body) = (stacks[which], which % bodies.len());
        let values = (random >> 50).to_string();
        recorder.event(
            120 + (random >> 54),
            root,
            Some(in_main),
            EventKind::Resume { target, tag: None, values },
        );
        if which == 1 {
            recorder.event(40, target, Some(deep[body]), EventKind::HostCall { function: host });
            recorder.event(400, target, Some(deep[body]), EventKind::HostReturn);
        }
        let tag = Some(tags[which % 2]);
        let (after, values) = (200 + (random >> 53), (random >> 58).to_string());
        let suspend = EventKind::Suspend { to: root, outermost: target, tag, values };
        recorder.event(after, target, Some(deep[body]), suspend);
    }
    recorder.event(
        500,
        root,
        Some(in_main),
        EventKind::Collect { nanoseconds: 400, stacks_freed: 1 },
    );
    recorder.event(10, stacks[0], None, EventKind::Drop);
    recorder.event(300, root, Some(in_main), EventKind::Leave);
    recorder.trace
}

/// One event of each kind except copies, with nested stacks that are suspended and resumed
/// together.
pub fn everything() -> Trace {
    let mut recorder = Recorder::new("everything.wat");
    let functions = ["main", "outer", "inner", "peer", "log"].map(|name| recorder.function(name));
    let [main, outer, inner, peer, log] = functions;
    let tag = Some(recorder.tag("ask"));
    let root = recorder.stack(Design::Root, main);
    let first = recorder.stack(Design::Continuation, outer);
    let second = recorder.stack(Design::Task, inner);
    let third = recorder.stack(Design::Bag, peer);
    let [in_main, in_outer, in_inner, in_peer] = [(main, 4), (outer, 10), (inner, 20), (peer, 30)]
        .map(|(function, line)| Some(recorder.frame(None, function, line)));
    let values = || "1 2".to_owned();
    let mut event = |stack, frames, what| recorder.event(100, stack, frames, what);
    event(root, None, EventKind::Enter);
    event(root, in_main, EventKind::Create { created: first });
    event(root, in_main, EventKind::Resume { target: first, tag: None, values: values() });
    event(first, in_outer, EventKind::Grow { bytes: 65536 });
    event(first, in_outer, EventKind::Create { created: second });
    event(first, in_outer, EventKind::Resume { target: second, tag: None, values: String::new() });
    event(second, in_inner, EventKind::HostCall { function: log });
    event(second, in_inner, EventKind::HostReturn);
    event(
        second,
        in_inner,
        EventKind::Suspend { to: root, outermost: first, tag, values: values() },
    );
    event(second, in_inner, EventKind::Park);
    event(second, in_inner, EventKind::Unpark);
    event(root, in_main, EventKind::Resume { target: second, tag: None, values: values() });
    event(second, in_inner, EventKind::Create { created: third });
    event(
        second,
        in_inner,
        EventKind::Switch { target: third, outermost: second, tag, values: values() },
    );
    event(
        third,
        in_peer,
        EventKind::Switch { target: second, outermost: third, tag: None, values: String::new() },
    );
    event(second, in_inner, EventKind::Throw { to: Some(first), tag });
    event(first, in_outer, EventKind::Return { to: root, tag: None, values: "7".into() });
    event(root, in_main, EventKind::Collect { nanoseconds: 90, stacks_freed: 1 });
    event(third, None, EventKind::Drop);
    event(root, in_main, EventKind::Trap { message: "wasm trap: unreachable".into() });
    event(root, None, EventKind::Enter);
    event(root, in_main, EventKind::Throw { to: None, tag });
    event(root, None, EventKind::Enter);
    event(root, None, EventKind::Leave);
    recorder.trace.dropped = 3;
    recorder.trace
}

/// Two stacks are suspended together and copied, and the copies are resumed and suspended. A new
/// stack is copied too.
pub fn copies() -> Trace {
    let mut recorder = Recorder::new("copies.wat");
    let functions = ["main", "outer", "inner"].map(|name| recorder.function(name));
    let [main, outer, inner] = functions;
    let tag = Some(recorder.tag("ask"));
    let root = recorder.stack(Design::Root, main);
    let first = recorder.stack(Design::Continuation, outer);
    let second = recorder.stack(Design::Continuation, inner);
    let outer_copy = recorder.stack(Design::Continuation, outer);
    let inner_copy = recorder.stack(Design::Continuation, inner);
    let unused = recorder.stack(Design::Continuation, inner);
    let unused_copy = recorder.stack(Design::Continuation, inner);
    recorder.trace.stacks[inner_copy.index()].function = None;
    let [in_main, in_outer, in_inner] = [(main, 4), (outer, 10), (inner, 20)]
        .map(|(function, line)| Some(recorder.frame(None, function, line)));
    let values = String::new;
    let mut event = |stack, frames, what| recorder.event(100, stack, frames, what);
    event(root, None, EventKind::Enter);
    event(root, in_main, EventKind::Create { created: first });
    event(root, in_main, EventKind::Resume { target: first, tag: None, values: values() });
    event(first, in_outer, EventKind::Create { created: second });
    event(first, in_outer, EventKind::Resume { target: second, tag: None, values: values() });
    event(
        second,
        in_inner,
        EventKind::Suspend { to: root, outermost: first, tag, values: values() },
    );
    let outermost = outer_copy;
    let copy = |created, origin, parent| EventKind::Clone { created, origin, parent, outermost };
    event(root, in_main, copy(outer_copy, first, None));
    event(root, in_main, copy(inner_copy, second, Some(outer_copy)));
    event(root, in_main, EventKind::Resume { target: inner_copy, tag: None, values: values() });
    let suspend = EventKind::Suspend { to: root, outermost: outer_copy, tag, values: values() };
    event(inner_copy, in_inner, suspend);
    event(root, in_main, EventKind::Create { created: unused });
    let (created, outermost) = (unused_copy, unused_copy);
    event(root, in_main, EventKind::Clone { created, origin: unused, parent: None, outermost });
    event(root, None, EventKind::Leave);
    recorder.trace
}
