//! The runs and parents that a timeline derives.

use crate::common;
use ropewalk_trace::{StackId, Timeline, Trace};

/// The runs of a trace, as `stack begin-end`.
fn runs(trace: &Trace) -> String {
    let runs = Timeline::of(trace).runs;
    let runs = runs.iter().map(|run| format!("{}:{}-{}", run.stack.0, run.begin, run.end));
    runs.collect::<Vec<_>>().join(" ")
}

/// The parents at the end of each event that changes one, as `event:child<parent`.
fn links(trace: &Trace) -> String {
    let parent =
        |parent: Option<StackId>| parent.map_or("-".to_owned(), |stack| stack.0.to_string());
    let links = Timeline::of(trace).links;
    let links =
        links.iter().map(|link| format!("{}:{}<{}", link.event, link.child.0, parent(link.parent)));
    links.collect::<Vec<_>>().join(" ")
}

#[test]
fn one_stack_runs_at_a_time() {
    assert_eq!(
        runs(&common::everything()),
        "0:0-2 1:2-5 2:5-8 0:8-11 2:11-13 3:13-14 2:14-15 1:15-16 0:16-19 0:20-21 0:22-23"
    );
}

#[test]
fn stacks_that_are_suspended_together_stay_linked() {
    // The second stack is resumed at event 11; the first, its parent, gets the root as parent.
    assert_eq!(
        links(&common::everything()),
        "2:1<0 5:2<1 8:1<- 11:1<0 13:2<- 13:3<1 14:3<- 14:2<1 15:2<- 16:1<-"
    );
}

#[test]
fn the_stack_before_the_oldest_event_is_known_from_it() {
    let mut trace = common::everything();
    trace.events.drain(..8);
    assert!(runs(&trace).starts_with("2:0-0 0:0-3 2:3-5"), "{}", runs(&trace));
}

#[test]
fn a_call_from_the_host_inside_of_another_goes_back_to_it() {
    let mut recorder = common::Recorder::new("nested");
    let main = recorder.function("main");
    let [outer, inner] = [0; 2].map(|_| recorder.stack(ropewalk_trace::Design::Root, main));
    use ropewalk_trace::EventKind::*;
    recorder.event(0, outer, None, Enter);
    recorder.event(1, outer, None, HostCall { function: main });
    recorder.event(1, inner, None, Enter);
    recorder.event(1, inner, None, Leave);
    recorder.event(1, outer, None, HostReturn);
    recorder.event(1, outer, None, Leave);
    assert_eq!(runs(&recorder.trace), "0:0-2 1:2-3 0:3-5");
}

#[test]
fn a_stack_is_named_after_its_outermost_frame() {
    let mut recorder = common::Recorder::new("names");
    let [main, helper] = ["main", "helper"].map(|name| recorder.function(name));
    let root = recorder.stack(ropewalk_trace::Design::Root, main);
    recorder.trace.stacks[0].function = None;
    let outer = recorder.frame(None, main, 1);
    let inner = recorder.frame(Some(outer), helper, 2);
    use ropewalk_trace::EventKind::*;
    recorder.event(0, root, None, Enter);
    recorder.event(1, root, Some(inner), Grow { bytes: 1 });
    recorder.event(1, root, None, Leave);
    let timeline = Timeline::of(&recorder.trace);
    assert_eq!(timeline.stack_name(&recorder.trace, root), "0 main");
    assert_eq!(timeline.runs[0].function, Some(main), "where it stops is not known");
}

#[test]
fn a_stack_is_not_named_after_calls_that_are_left_out() {
    let mut recorder = common::Recorder::new("names");
    let main = recorder.function("main");
    let helper = recorder.function("helper");
    recorder.trace.functions.push(ropewalk_trace::Function {
        module: String::new(),
        name: ropewalk_trace::LEFT_OUT.to_owned(),
    });
    let root = recorder.stack(ropewalk_trace::Design::Root, main);
    recorder.trace.stacks[0].function = None;
    let left_out = recorder.frame(None, ropewalk_trace::FunctionId(2), 0);
    let deep = recorder.frame(Some(left_out), helper, 2);
    let shallow = recorder.frame(None, main, 1);
    use ropewalk_trace::EventKind::*;
    recorder.event(0, root, None, Enter);
    recorder.event(1, root, Some(deep), Grow { bytes: 1 });
    let name = |trace: &Trace| Timeline::of(trace).stack_name(trace, root);
    assert_eq!(name(&recorder.trace), "0");
    recorder.event(1, root, Some(shallow), Grow { bytes: 1 });
    assert_eq!(name(&recorder.trace), "0 main");
}

#[test]
fn copies_hang_together_as_their_origins_do() {
    // The inner copy's parent is the outer copy, which gets the root as parent when the inner one
    // is resumed.
    let expected = "2:1<0 4:2<1 5:1<- 7:4<3 8:3<0 9:3<-";
    assert_eq!(links(&common::copies()), expected);
}

#[test]
fn a_copy_is_as_far_as_its_origin_was() {
    let trace = common::copies();
    let timeline = Timeline::of(&trace);
    let copies =
        timeline.copies.iter().map(|copy| copy.map(|copy| (copy.origin.0, copy.has_begun)));
    let expected = [None, None, None, Some((1, true)), Some((2, true)), None, Some((5, false))];
    assert_eq!(copies.collect::<Vec<_>>(), expected);
    assert_eq!(timeline.stack_name(&trace, StackId(4)), "4 inner", "the function of its origin");
}
