//! JSON for the viewers of Chrome and Perfetto.

use crate::common;
use serde_json::Value;

fn events(trace: &ropewalk_trace::Trace) -> Vec<Value> {
    let mut json = Vec::new();
    trace.write_chrome(&mut json).unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    json["traceEvents"].as_array().unwrap().clone()
}

fn of_phase(events: &[Value], phase: &str) -> Vec<Value> {
    events.iter().filter(|event| event["ph"] == phase).cloned().collect()
}

#[test]
fn each_stack_is_a_track_with_its_name() {
    let events = events(&common::everything());
    let names = of_phase(&events, "M");
    let names: Vec<_> = names.iter().filter(|event| event["name"] == "thread_name").collect();
    let names: Vec<_> = names.iter().map(|event| event["args"]["name"].as_str().unwrap()).collect();
    let expected =
        ["0 main (root)", "1 outer (continuation)", "2 inner (task)", "3 peer (bag of stacks)"];
    assert_eq!(names, expected);
}

#[test]
fn slices_of_all_tracks_follow_each_other() {
    let slices = of_phase(&events(&common::everything()), "X");
    let mut end = 0.0;
    for slice in &slices {
        let begin = slice["ts"].as_f64().unwrap();
        assert!(begin >= end - 1e-9, "{slice} begins before {end}");
        end = begin + slice["dur"].as_f64().unwrap();
    }
    assert_eq!(slices.len(), 11);
    assert_eq!(slices[2]["name"], "inner");
    assert_eq!(slices[2]["args"]["until"], "demo.wat:20:7");
}

/// A flow starts inside the old slice and ends at the start of the new one.
#[test]
fn each_switch_is_a_flow_between_two_slices() {
    let events = events(&common::everything());
    let slices = of_phase(&events, "X");
    let inside = |event: &Value| {
        slices.iter().any(|slice| {
            let (ts, begin) = (event["ts"].as_f64().unwrap(), slice["ts"].as_f64().unwrap());
            slice["tid"] == event["tid"]
                && begin <= ts
                && ts < begin + slice["dur"].as_f64().unwrap()
        })
    };
    let (begins, ends) = (of_phase(&events, "s"), of_phase(&events, "f"));
    assert_eq!(begins.len(), 8);
    for (begin, end) in begins.iter().zip(&ends) {
        assert_eq!(begin["id"], end["id"]);
        assert!(inside(begin) && inside(end), "{begin} to {end}");
    }
    let suspend = begins.iter().find(|event| event["cat"] == "suspend").unwrap();
    assert_eq!(suspend["name"], "ask");
    assert_eq!(suspend["args"]["tag"], "ask");
    assert_eq!(suspend["args"]["values"], "1 2");
}

#[test]
fn a_call_of_the_host_is_a_slice_inside_of_the_stack() {
    let events = events(&common::everything());
    let (begin, end) = (of_phase(&events, "B"), of_phase(&events, "E"));
    assert_eq!((begin.len(), end.len()), (1, 1));
    assert_eq!(begin[0]["name"], "log");
    assert_eq!(begin[0]["tid"], end[0]["tid"]);
}

#[test]
fn a_copy_names_its_original() {
    let events = events(&common::copies());
    let copies: Vec<_> = events.iter().filter(|event| event["cat"] == "clone").collect();
    let names: Vec<_> =
        copies.iter().map(|event| (&event["args"]["stack"], &event["args"]["copy of"])).collect();
    assert_eq!(names[0], (&Value::from("3 outer"), &Value::from("1 outer")));
    assert_eq!(names[1], (&Value::from("4 inner"), &Value::from("2 inner")));
    assert!(copies.iter().all(|event| event["ph"] == "i"), "nothing else runs: {copies:?}");
}
