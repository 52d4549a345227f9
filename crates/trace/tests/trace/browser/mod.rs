//! The page, in a real browser: Debian's packages `chromium` and `chromium-driver`.

use crate::common;
mod driver;

use std::sync::{Mutex, PoisonError};

use driver::Browser;
use ropewalk_trace::Trace;
use serde_json::json;

/// The Enter key, in the protocol of the driver.
const ENTER: &str = "\u{e007}";
/// The right arrow key.
const RIGHT: &str = "\u{e014}";
/// The down arrow key.
const DOWN: &str = "\u{e015}";

/// Runs a test on the page of a trace, if this machine has a browser. Only one browser runs at a
/// time, since browsers are large.
fn with_page(trace: &Trace, attempt: impl FnOnce(&mut Browser)) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(mut browser) = Browser::start() {
        browser.open(&trace.page());
        attempt(&mut browser);
        assert_eq!(browser.complaints(), [""; 0]);
    }
}

/// The point of an event on its lane, `before` pixels to its left.
fn place(browser: &mut Browser, event: usize, before: f64) -> (f64, f64) {
    let place = browser.run(&format!(
        "const frame = page.lanes.getBoundingClientRect();
         return [frame.x + page.view.toPixel(page.view.x[{event}]),
                 frame.y + page.view.laneTop(page.model.stack[{event}]) + LANE / 2]"
    ));
    (place[0].as_f64().unwrap() - before, place[1].as_f64().unwrap())
}

fn selected(browser: &mut Browser) -> i64 {
    browser.run("return page.selected").as_i64().unwrap()
}

#[test]
fn the_page_needs_no_network_and_names_its_contents() {
    with_page(&common::everything(), |browser| {
        assert_eq!(browser.text("h1"), "everything.wat");
        assert_eq!(browser.text("#facts"), "24 events · 4 stacks · 2.3 µs");
        assert_eq!(browser.text("#warning"), "The oldest 3 events were dropped by a limit.");
        let requests = browser.run("return performance.getEntriesByType('resource').length");
        assert_eq!(requests, 0);
    });
}

#[test]
fn a_name_with_signs_of_html_is_text() {
    let name = "<script>document.title = 'bad'</script>&amp;{{data}}".to_owned();
    with_page(&Trace { name: name.clone(), ..common::everything() }, |browser| {
        assert_eq!(browser.text("h1"), name);
    });
}

#[test]
fn a_trace_without_events_is_a_page() {
    with_page(&Trace::default(), |browser| {
        assert_eq!(browser.text("#facts"), "0 events · 0 stacks · 0 ns");
        browser.keys(".+0/");
    });
}

#[test]
fn a_click_shows_the_backtrace_across_stacks() {
    with_page(&common::everything(), |browser| {
        // A point in the first run of the innermost stack, which ends with event 8.
        let (x, y) = place(browser, 8, 30.0);
        browser.click(x, y);
        assert_eq!(selected(browser), 8);
        assert_eq!(browser.text("#event h2"), "suspend ask 1 2");
        let headings = browser
            .run("return [...document.querySelectorAll('#event h3')].map((h) => h.innerText)");
        assert_eq!(headings, json!(["on 2 inner", "resumed by 1 outer", "resumed by 0 main"]));
        let places = browser
            .run("return [...document.querySelectorAll('#event .place')].map((p) => p.innerText)");
        assert_eq!(places, json!(["demo.wat:20:7", "demo.wat:10:7", "demo.wat:4:7"]));
        assert_eq!(browser.text("#event pre"), "(suspend $yield (local.get $i)) ;; line 20");
    });
}

/// The depth, the name and the state of each item of the tree.
const TREE: &str = "return [...document.querySelectorAll('#tree li')].map((item) => {
    let depth = 0;
    for (let up = item; up; up = up.parentElement.closest('li')) depth++;
    return [depth, item.querySelector('button').innerText, item.querySelector('.state').innerText];
})";

#[test]
fn the_tree_has_each_stack_under_its_parent() {
    with_page(&common::everything(), |browser| {
        browser.run("page.select(5)");
        browser.keys("2");
        assert_eq!(browser.text("#tree h2"), "3 stacks at 500 ns");
        let expected = json!([
            [1, "0 main", "waiting · root"],
            [2, "1 outer", "waiting · continuation"],
            [3, "2 inner", "running · task"],
        ]);
        assert_eq!(browser.run(TREE), expected);
        // Both are suspended together, and one stays above the other.
        browser.run("page.select(8)");
        let expected = json!([
            [1, "0 main", "running · root"],
            [1, "1 outer", "suspended · continuation"],
            [2, "2 inner", "suspended · task"],
        ]);
        assert_eq!(browser.run(TREE), expected);
    });
}

#[test]
fn everything_can_be_done_with_the_keyboard() {
    with_page(&common::everything(), |browser| {
        browser.keys(".");
        assert_eq!(selected(browser), 0);
        browser.keys("...");
        assert_eq!(selected(browser), 3);
        assert_eq!(browser.text("#status"), "grow to 65536 bytes, on stack 1 outer, event 4");
        browser.keys("]");
        assert_eq!(selected(browser), 4, "the next event of the same stack");
        browser.keys("[,");
        assert_eq!(selected(browser), 2);
        browser.keys(DOWN);
        assert_eq!(selected(browser), 3, "the first event of the stack below");
        browser.keys(&format!("/inner{ENTER}"));
        assert_eq!(selected(browser), 4, "the creation of the stack that is searched for");
        assert_eq!(browser.text("#found"), "12 events");
        browser.keys("\u{e00c}++");
        let span = "return page.view.to - page.view.from";
        let narrow = browser.run(span).as_f64().unwrap();
        let from = browser.run("return page.view.from").as_f64().unwrap();
        browser.keys(RIGHT);
        assert!(browser.run("return page.view.from").as_f64().unwrap() > from);
        browser.keys("0");
        assert!(browser.run(span).as_f64().unwrap() > 3.0 * narrow);
        browser.keys("co3");
        assert_eq!(
            browser.run("return [page.colors.by, page.view.axis]"),
            json!(["design", "order"])
        );
        assert_eq!(browser.run("return document.getElementById('totals').hidden"), false);
        browser.keys("?");
        assert_eq!(browser.run("return document.getElementById('keys').open"), true);
        browser.keys("\u{e00c}");
        assert_eq!(browser.run("return document.getElementById('keys').open"), false);
    });
}

#[test]
fn wheel_and_buttons_move_and_zoom() {
    with_page(&common::generators(80, 2000), |browser| {
        let (x, y) = place(browser, 1, -100.0);
        browser.wheel(x, y, 200);
        assert_eq!(browser.run("return page.view.top"), 200);
        let zooms =
            "document.getElementById('zoom-in').click(); return page.view.to - page.view.from";
        let first = browser.run(zooms).as_f64().unwrap();
        assert!(browser.run(zooms).as_f64().unwrap() < 0.6 * first);
    });
}

#[test]
fn totals_count_runs() {
    with_page(&common::everything(), |browser| {
        let rows = |table: &str| {
            format!(
                "return [...document.querySelectorAll('#totals-{table} tbody tr')].map((row) =>
                [...row.cells].map((cell) => cell.textContent).join(' '))"
            )
        };
        let functions = json!(["main 5 1 µs", "inner 3 600 ns", "outer 2 400 ns", "peer 1 100 ns"]);
        assert_eq!(browser.run(&rows("functions")), functions);
        assert_eq!(browser.run(&rows("tags")), json!(["ask 4"]));
        browser.run("document.querySelector('#totals-functions th button').click()");
        let functions = browser.run(&rows("functions"));
        assert_eq!(functions[0], "inner 3 600 ns", "by name");
    });
}

#[test]
fn light_and_dark_are_followed_at_once() {
    with_page(&common::everything(), |browser| {
        // The corner of the timeline, which is empty.
        let corner = "page.painter.paint(page.selected);
            const copy = document.createElement('canvas').getContext('2d');
            copy.drawImage(page.lanes, 3 - page.lanes.width, 3 - page.lanes.height);
            return copy.getImageData(0, 0, 1, 1).data[0]";
        browser.prefer("light");
        browser.wait_for(|browser| browser.run(corner).as_i64().unwrap() > 230);
        browser.prefer("dark");
        browser.wait_for(|browser| browser.run(corner).as_i64().unwrap() < 40);
    });
}

#[test]
fn it_prints_and_is_as_before() {
    with_page(&common::everything(), |browser| {
        browser.prefer("dark");
        browser.wait_for(|browser| browser.run("return page.colors.ink") == "#e6e8ec");
        browser.run("page.select(8)");
        let size =
            "return [page.lanes.width, page.lanes.height, document.documentElement.className]";
        let before = browser.run(size);
        browser.run(
            "addEventListener('afterprint', () => (window.printed = 1));
            addEventListener('beforeprint', () => (window.ink = page.colors.ink))",
        );
        // The start of a PDF, in base64.
        assert!(browser.print().starts_with("JVBERi0"));
        assert_eq!(browser.run("return [window.printed, window.ink]"), json!([1, "#000"]));
        assert_eq!(browser.run(size), before);
    });
}

#[test]
fn a_hundred_thousand_events_are_drawn_together() {
    let trace = common::generators(40, 100_000);
    let size = trace.page().len();
    assert!(size < 2_000_000, "the page has {size} bytes");
    with_page(&trace, |browser| {
        let ready = browser.run("return Number(document.documentElement.dataset.ready)");
        let frame = browser.run(
            "const begin = performance.now();
             for (let i = 0; i < 20; i++) (page.view.zoom(i < 10 ? 0.7 : 1 / 0.7), page.painter.paint(-1));
             return (performance.now() - begin) / 20",
        );
        println!("{size} bytes, ready after {ready} ms, {frame} ms for each frame");
        assert!(frame.as_f64().unwrap() < 250.0, "{frame} ms for each frame");
        // The number of boxes depends on the width of a lane, not on its number of runs.
        let fills = browser.run(
            "let fills = 0;
             const ctx = page.lanes.getContext('2d');
             const fillRect = ctx.fillRect;
             ctx.fillRect = (...box) => (fills++, fillRect.apply(ctx, box));
             page.view.fit();
             page.painter.paint(-1);
             delete ctx.fillRect;
             return fills",
        );
        let fills = fills.as_u64().unwrap();
        assert!((1000..40_000).contains(&fills), "{fills} boxes");
    });
}

/// Each stack resumes the next one, and the last one yields.
#[test]
fn a_chain_of_ten_thousand_stacks_can_be_looked_at() {
    let mut recorder = common::Recorder::new("chain");
    let body = recorder.function("body");
    let frames = Some(recorder.frame(None, body, 3));
    let mut stack = recorder.stack(ropewalk_trace::Design::Root, body);
    recorder.event(0, stack, None, ropewalk_trace::EventKind::Enter);
    for _ in 0..10_000 {
        let target = recorder.stack(ropewalk_trace::Design::Continuation, body);
        let what = ropewalk_trace::EventKind::Create { created: target };
        recorder.event(9, stack, frames, what);
        let what = ropewalk_trace::EventKind::Resume { target, tag: None, values: String::new() };
        recorder.event(9, stack, frames, what);
        stack = target;
    }
    with_page(&recorder.trace, |browser| {
        browser.run("page.select(page.model.count - 1)");
        assert_eq!(browser.text("#event > p"), "and 9\u{202f}800 more stacks");
        browser.keys("2");
        assert_eq!(browser.text("#tree h2"), "10\u{202f}001 stacks at 180 µs");
        let items = browser.run("return document.querySelectorAll('#tree li').length");
        assert_eq!(items, 100);
    });
}

#[test]
fn a_copy_of_suspended_stacks_is_suspended_under_its_own_parent() {
    with_page(&common::copies(), |browser| {
        browser.run("page.select(11)");
        let expected = json!([
            [1, "0 main", "running · root"],
            [1, "1 outer", "suspended · continuation"],
            [2, "2 inner", "suspended · continuation"],
            [1, "3 outer", "suspended · continuation"],
            [2, "4 inner", "suspended · continuation"],
            [1, "5 inner", "new · continuation"],
            [1, "6 inner", "new · continuation"],
        ]);
        assert_eq!(browser.run(TREE), expected);
        browser.run("page.select(7)");
        assert_eq!(browser.run(TREE)[4], json!([2, "4 inner", "suspended · continuation"]));
        assert_eq!(browser.text("#event h2"), "clone of 2");
        let facts = "return [...document.querySelectorAll('#event dt')].map((fact) => [fact.innerText, fact.nextSibling.innerText])";
        let facts = browser.run(facts);
        assert!(facts.as_array().unwrap().contains(&json!(["copy of", "2 inner"])), "{facts}");
        // The outer copy has not run, and shows the frames of its origin.
        browser.run("page.select(9)");
        let places = browser
            .run("return [...document.querySelectorAll('#event .place')].map((p) => p.innerText)");
        assert_eq!(places, json!(["demo.wat:20:7", "demo.wat:10:7", "demo.wat:4:7"]));
    });
}
