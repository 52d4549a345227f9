//! Draws a still picture of a small program, for papers and documents.
//!
//! Events are at equal distances in their order, so the same program always gives the same picture.
//! Events of the engine itself, such as collections and growth, are omitted.

use std::fmt::Write as _;

use crate::page::escaped;
use crate::{Event, EventKind, Run, StackId, Timeline, Trace};

/// The maximum number of drawn events.
const SHOWN: usize = 200;
const LEFT: usize = 132;
/// Heights in pixels: of a lane, of the box of a run, and above the first lane.
const LANE: usize = 62;
const BOX: usize = 24;
const TOP: usize = 8;
/// The approximate width of a letter, in tenths of a pixel.
const LETTER: usize = 62;

/// Colors of functions, in the order of their first run.
const COLORS: [&str; 8] =
    ["#a9c9f5", "#f6cf9b", "#b5dfb8", "#eab8d6", "#d3c4f2", "#f1e08c", "#a5dfdb", "#f3b9ad"];

const STYLE: &str = "\
text{font:11px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:#1d1f24}\
.soft{fill:#646a76}.name{font-weight:600}.run text,.run{fill:#15171b}.bad{stroke:#b3261e;fill:none}\
line,path{stroke:#4a5060;fill:none}.life{stroke:#b9bec8}.new{stroke-dasharray:2 3}\
.head{fill:#4a5060;stroke:none}\
@media(prefers-color-scheme:dark){text{fill:#e6e8ec}.soft{fill:#9aa1ae}\
line,path{stroke:#aab1bf}.life{stroke:#4a505c}.head{fill:#aab1bf;stroke:none}.bad{stroke:#ff8a80}}";

impl Trace {
    /// Draws a still picture of the program's events in order. A long trace is cut at its
    /// beginning.
    pub fn svg(&self) -> String {
        let mut events = Vec::new();
        for (index, event) in self.events.iter().enumerate() {
            if is_of_the_program(&event.what) {
                events.push(index);
            }
        }
        let hidden = events.len().saturating_sub(SHOWN);
        events.truncate(SHOWN);
        Drawing::new(self, events).draw(hidden)
    }
}

/// Whether the event is the program's, not the engine's own.
fn is_of_the_program(what: &EventKind) -> bool {
    !matches!(
        what,
        EventKind::Collect { .. } | EventKind::Grow { .. } | EventKind::Park | EventKind::Unpark
    )
}

struct Drawing<'a> {
    trace: &'a Trace,
    /// The drawn events.
    events: Vec<usize>,
    /// The stacks of these events. Each has a lane.
    stacks: Vec<StackId>,
    /// The distance between two events, in pixels.
    column: usize,
    svg: String,
}

impl<'a> Drawing<'a> {
    fn new(trace: &'a Trace, events: Vec<usize>) -> Drawing<'a> {
        let happened = || events.iter().map(|index| &trace.events[*index]);
        let concerned = happened()
            .flat_map(|event| [Some(event.stack), event.what.target(), event.what.origin()]);
        let mut stacks: Vec<StackId> = concerned.flatten().collect();
        stacks.sort();
        stacks.dedup();
        let arrows = happened().filter(|event| event.what.target().is_some());
        let longest = arrows.map(|event| width(&label(trace, event))).max().unwrap_or(0);
        let column = (longest + 12).clamp(40, 130);
        Drawing { trace, events, stacks, column, svg: String::new() }
    }

    fn draw(mut self, hidden: usize) -> String {
        let width = LEFT + self.column * self.events.len() + if hidden > 0 { 130 } else { 16 };
        let height = (TOP + LANE * self.stacks.len() + 12).saturating_sub(LANE - BOX);
        self.put(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>",
            escaped(&self.trace.name),
        ));
        let timeline = Timeline::of(self.trace);
        self.lanes(&timeline);
        for run in &timeline.runs {
            self.run(run);
        }
        for index in self.events.clone() {
            self.event(index);
        }
        if hidden > 0 {
            let x = LEFT + self.column * self.events.len();
            self.put(format_args!(
                "<text class=\"soft\" x=\"{x}\" y=\"24\">and {hidden} more events</text>"
            ));
        }
        self.svg + "</svg>\n"
    }

    /// Draws the names of the lanes, and the lifetimes of stacks.
    fn lanes(&mut self, timeline: &Timeline) {
        for stack in self.stacks.clone() {
            let (y, shown) = (self.y(stack), &self.trace.stacks[stack.index()]);
            let function = timeline.functions[stack.index()];
            let function = function.map_or("", |f| self.trace.function_name(f));
            let name =
                if function.is_empty() { format!("stack {}", stack.0) } else { cut(function) };
            let (name, design) = (escaped(&name), shown.design.name());
            self.put(format_args!(
                "<text class=\"name\" x=\"8\" y=\"{}\">{name}</text>\
                 <text class=\"soft\" x=\"8\" y=\"{}\">{design} {}</text>",
                y - 2,
                y + 11,
                stack.0,
            ));
            let (begin, end) = self.life(stack);
            self.put(format_args!(
                "<line class=\"life\" x1=\"{begin}\" y1=\"{y}\" x2=\"{end}\" y2=\"{y}\"/>"
            ));
        }
    }

    /// The first and last pixel of a stack's lifetime.
    fn life(&self, stack: StackId) -> (usize, usize) {
        let event = |index: &usize| &self.trace.events[*index];
        let concerns = |index: &&usize| {
            event(index).stack == stack || event(index).what.target() == Some(stack)
        };
        let ends = |index: &&usize| {
            let what = &event(index).what;
            event(index).stack == stack
                && matches!(
                    what,
                    EventKind::Return { .. }
                        | EventKind::Retire { .. }
                        | EventKind::Throw { .. }
                        | EventKind::Drop
                )
        };
        let begin = self.events.iter().find(concerns).map_or(LEFT, |index| self.x(*index));
        let last = self.events.iter().rev().find(ends).or(self.events.last());
        (begin, last.map_or(LEFT, |index| self.x(*index)))
    }

    fn run(&mut self, run: &Run) {
        let Some(begin) = self.events.first() else { return };
        if run.end < *begin || self.events.last().is_none_or(|last| run.begin >= *last) {
            return;
        }
        let (x, end) = (self.x(run.begin), self.x(run.end));
        let function = run.function;
        let color = function.map_or("#d5d8dd", |function| COLORS[function.index() % COLORS.len()]);
        let (y, wide) = (self.y(run.stack) - BOX / 2, end.saturating_sub(x).max(2));
        self.put(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{BOX}\" rx=\"4\" fill=\"{color}\"/>"
        ));
        let name = function.map_or("", |function| self.trace.function_name(function));
        if width(name) + 10 < wide {
            let (x, y, name) = (x + 6, y + BOX / 2 + 4, escaped(name));
            self.put(format_args!("<g class=\"run\"><text x=\"{x}\" y=\"{y}\">{name}</text></g>"));
        }
    }

    fn event(&mut self, index: usize) {
        let event = &self.trace.events[index];
        // A copy comes from its origin.
        let from = event.what.origin().unwrap_or(event.stack);
        let (x, y, label) = (self.x(index), self.y(from), label(self.trace, event));
        match (&event.what, event.what.target()) {
            (what, Some(target)) if target != from => {
                self.arrow(
                    x,
                    y,
                    self.y(target),
                    if what.is_switch() { "" } else { " class=\"new\"" },
                );
                self.text(x + 4, if self.y(target) > y { y + 34 } else { y - 25 }, &label);
            }
            (EventKind::Drop, _) => self.cross(x, y, ""),
            (EventKind::Trap { .. } | EventKind::Throw { .. }, _) => {
                self.cross(x, y, " class=\"bad\"");
                self.text(x + 8, y + 4, &label);
            }
            (EventKind::HostCall { .. }, _) => self.text(x + 4, y + 24, &label),
            _ => {}
        }
    }

    fn arrow(&mut self, x: usize, from: usize, to: usize, class: &str) {
        let (tip, back) = if to > from { (to, to - 7) } else { (to, to + 7) };
        self.put(format_args!(
            "<line{class} x1=\"{x}\" y1=\"{from}\" x2=\"{x}\" y2=\"{back}\"/>\
             <path class=\"head\" d=\"M{x} {tip}L{} {back}L{} {back}Z\"/>",
            x - 4,
            x + 4,
        ));
    }

    fn cross(&mut self, x: usize, y: usize, class: &str) {
        let (left, right, above, below) = (x - 4, x + 4, y - 4, y + 4);
        self.put(format_args!(
            "<path{class} d=\"M{left} {above}L{right} {below}M{right} {above}L{left} {below}\"/>"
        ));
    }

    fn text(&mut self, x: usize, y: usize, text: &str) {
        if !text.is_empty() {
            let text = escaped(text);
            self.put(format_args!("<text x=\"{x}\" y=\"{y}\">{text}</text>"));
        }
    }

    fn put(&mut self, line: std::fmt::Arguments) {
        writeln!(self.svg, "{line}").expect("a string takes everything");
    }

    /// The position of an event. An omitted event has the position of the next drawn one.
    fn x(&self, index: usize) -> usize {
        let place = self.events.partition_point(|shown| *shown < index);
        LEFT + self.column * place.min(self.events.len().saturating_sub(1)) + self.column / 2
    }

    /// The middle of a lane.
    fn y(&self, stack: StackId) -> usize {
        TOP + BOX / 2 + LANE * self.stacks.partition_point(|shown| *shown < stack)
    }
}

/// The text beside an event.
fn label(trace: &Trace, event: &Event) -> String {
    let what = &event.what;
    let name = match what {
        EventKind::Create { .. } => "new",
        EventKind::HostCall { function } => trace.function_name(*function),
        EventKind::Trap { message } => message,
        EventKind::Enter | EventKind::Leave | EventKind::Drop | EventKind::HostReturn => "",
        _ => what.tag().map_or(what.word(), |tag| trace.tag_name(tag)),
    };
    cut([name, what.values()].join(" ").trim())
}

/// A text of at most twenty letters.
fn cut(text: &str) -> String {
    match text.char_indices().nth(20) {
        Some((end, _)) => text[..end].to_owned() + "…",
        None => text.to_owned(),
    }
}

/// About how many pixels a text takes.
fn width(text: &str) -> usize {
    text.chars().count() * LETTER / 10
}
