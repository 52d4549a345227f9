//! Still pictures, which are the same for the same events.

use crate::common;
use ropewalk_trace::{EventKind, Trace};

#[test]
fn times_and_events_of_the_engine_do_not_matter() {
    let trace = common::everything();
    let mut other = trace.clone();
    for event in &mut other.events {
        event.time = event.time * 7 + 3;
    }
    other
        .events
        .retain(|event| !matches!(event.what, EventKind::Collect { .. } | EventKind::Grow { .. }));
    other.events.retain(|event| !matches!(event.what, EventKind::Park | EventKind::Unpark));
    assert_eq!(other.svg(), trace.svg());
}

#[test]
fn each_switch_has_an_arrow_and_its_label() {
    let svg = common::everything().svg();
    assert_eq!(svg.matches("class=\"head\"").count(), 11, "{svg}");
    assert_eq!(svg.matches("class=\"new\"").count(), 3);
    for label in ["ask 1 2", "resume 1 2", "return 7", "new", "log", "wasm trap: unreachab…"] {
        assert!(svg.contains(&format!(">{label}</text>")), "{label}: {svg}");
    }
}

#[test]
fn names_are_escaped() {
    let name = "a<b>&\"c\"\u{1}".to_owned();
    let svg = Trace { name, ..common::generators(5, 60) }.svg();
    assert!(svg.contains("<title>a&lt;b&gt;&amp;&quot;c&quot;\u{fffd}</title>"));
    assert!(svg.contains("walk &lt;tree&gt; &amp; &quot;lea"), "{svg}");
}

#[test]
fn of_a_long_trace_the_beginning_is_shown() {
    let svg = common::generators(3, 1000).svg();
    assert!(svg.contains("and 796 more events"), "{}", &svg[svg.len() - 300..]);
    assert!(svg.len() < 100_000);
}

#[test]
fn an_empty_trace_is_a_picture() {
    assert!(Trace::default().svg().ends_with("</svg>\n"));
}

#[test]
fn a_dotted_arrow_goes_from_a_stack_to_its_copy() {
    let svg = common::copies().svg();
    // The middles of the lanes of the second stack and of its copy, the fifth.
    let (from, to) = (8 + 12 + 62 * 2, 8 + 12 + 62 * 4);
    let arrows: Vec<&str> = svg.lines().filter(|line| line.contains("class=\"new\"")).collect();
    let is_it = |line: &&&str| {
        line.contains(&format!("y1=\"{from}\"")) && line.contains(&format!("y2=\"{}\"", to - 7))
    };
    assert_eq!(arrows.iter().filter(is_it).count(), 1, "{svg}");
    assert_eq!(svg.matches(">clone</text>").count(), 3);
}
