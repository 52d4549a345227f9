//! Writes the page for browsers, with everything in one file.
//!
//! The folder `page` has its parts: a template, a style sheet, and scripts of one idea each. The
//! trace is embedded as JSON with one column per field, deflated, in base64.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::{Design, EventKind, StackId, Timeline, Trace};

const TEMPLATE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/style.css");

/// The scripts, each after the ones that it needs.
const SCRIPTS: [&str; 7] = [
    include_str!("page/data.js"),
    include_str!("page/view.js"),
    include_str!("page/color.js"),
    include_str!("page/paint.js"),
    include_str!("page/panel.js"),
    include_str!("page/search.js"),
    include_str!("page/main.js"),
];

/// The compression level. Higher levels take much longer and save little.
const LEVEL: u8 = 6;

impl Trace {
    /// A page that shows the trace: one file, which needs no network.
    pub fn page(&self) -> String {
        let json = self.columns().to_string();
        let data = miniz_oxide::deflate::compress_to_vec_zlib(json.as_bytes(), LEVEL);
        let parts = HashMap::from([
            ("title", escaped(&self.name)),
            ("style", STYLE.to_owned()),
            ("data", STANDARD.encode(data)),
            ("script", SCRIPTS.join("\n")),
        ]);
        fill(TEMPLATE, &parts)
    }

    /// The trace in the form that the scripts read. -1 means none.
    fn columns(&self) -> Value {
        let Timeline { runs, links, functions, copies } = Timeline::of(self);
        let parents = links.iter().map(|link| optional(link.parent.map(|parent| parent.0)));
        let (words, what) = self.distinct(|what| what.word().to_owned());
        let (notes, note) = self.distinct(|what| self.note(what));
        json!({
            "name": self.name,
            "dropped": self.dropped,
            "duration": self.duration().saturating_sub(self.begin()),
            "functions": column(&self.functions, |function| function.name.as_str().into()),
            "tags": column(&self.tags, |tag| tag.name.as_str().into()),
            "designs": Design::ALL.map(Design::name),
            "words": words,
            "stacks": {
                "design": column(&self.stacks, |stack| (stack.design as u8).into()),
                "function": column(&functions, |function| optional(function.map(|f| f.0))),
                "origin": column(&copies, |copy| optional(copy.map(|copy| copy.origin.0))),
                "begun": column(&copies, |copy| copy.is_some_and(|copy| copy.has_begun).into()),
            },
            "positions": {
                "place": column(&self.positions, |position| position.place().into()),
                "source": column(&self.positions, |position| position.source.as_str().into()),
            },
            "frames": {
                "caller": column(&self.frames, |frame| optional(frame.caller.map(|caller| caller.0))),
                "function": column(&self.frames, |frame| frame.function.0.into()),
                "position": column(&self.frames, |frame| optional(frame.position.map(|p| p.0))),
            },
            "runs": {
                "stack": column(&runs, |run| run.stack.0.into()),
                "begin": column(&runs, |run| run.begin.into()),
                "end": column(&runs, |run| run.end.into()),
                "function": column(&runs, |run| optional(run.function.map(|f| f.0))),
            },
            "links": {
                "event": column(&links, |link| link.event.into()),
                "child": column(&links, |link| link.child.0.into()),
                "parent": Value::Array(parents.collect()),
            },
            "events": self.event_columns(what, note),
            "notes": notes,
        })
    }

    /// The time of the first event, from which the page counts.
    fn begin(&self) -> u64 {
        self.events.first().map_or(0, |event| event.time)
    }

    fn event_columns(&self, what: Vec<usize>, note: Vec<usize>) -> Value {
        let mut before = self.begin();
        let since = |event: &crate::Event| {
            let since = event.time.saturating_sub(before);
            before += since;
            since.into()
        };
        let tag = |tag: crate::TagId| tag.0;
        json!({
            "time": column(&self.events, since),
            "stack": column(&self.events, |event| event.stack.0.into()),
            "frames": column(&self.events, |event| optional(event.frames.map(|frames| frames.0))),
            "what": what,
            "target": column(&self.events, |event| optional(event.what.target().map(|StackId(id)| id))),
            "tag": column(&self.events, |event| optional(event.what.tag().map(tag))),
            "note": note,
        })
    }

    /// The note of an event: its values, message or size.
    fn note(&self, what: &EventKind) -> String {
        match what {
            EventKind::Trap { message } => message.clone(),
            EventKind::Grow { bytes } => format!("to {bytes} bytes"),
            EventKind::HostCall { function } => self.function_name(*function).to_owned(),
            EventKind::Collect { nanoseconds, stacks_freed } => {
                format!("{nanoseconds} ns, {stacks_freed} stacks freed")
            }
            // The event's function name is that of the copy.
            EventKind::Clone { origin, .. } => format!("of {}", origin.0),
            what => what.values().to_owned(),
        }
    }

    /// The distinct texts of all events, and the number of the text of each event.
    fn distinct(&self, text: impl Fn(&EventKind) -> String) -> (Vec<String>, Vec<usize>) {
        let (mut texts, mut known) = (Vec::new(), HashMap::new());
        let numbers = self.events.iter().map(|event| {
            *known.entry(text(&event.what)).or_insert_with_key(|text| {
                texts.push(text.clone());
                texts.len() - 1
            })
        });
        let numbers = numbers.collect();
        (texts, numbers)
    }
}

fn column<T>(items: &[T], value: impl FnMut(&T) -> Value) -> Value {
    Value::Array(items.iter().map(value).collect())
}

fn optional(number: Option<u32>) -> Value {
    number.map_or_else(|| (-1).into(), Value::from)
}

/// Escapes a text for HTML.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // HTML and XML do not allow control characters.
            letter if letter.is_control() => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// Replaces each `{{name}}` in a template, once. Replacements are not expanded again.
fn fill(template: &str, parts: &HashMap<&str, String>) -> String {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").expect("the template closes what it opens");
        filled.push_str(before);
        filled.push_str(&parts[name]);
        rest = after;
    }
    filled + rest
}
