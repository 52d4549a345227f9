//! `ropewalk trace`.

use std::fs;
use std::path::Path;
use std::process::Command;

use ropewalk_trace::{Design, Event, EventKind, Function, FunctionId, Stack, StackId, Trace};

use crate::process::{file, root, ropewalk};

/// A trace of two stacks, as the bytes of a file.
fn bytes() -> Vec<u8> {
    let stack = |design, function| Stack { design, function: Some(FunctionId(function)) };
    let event = |time, stack, what| Event { time, stack: StackId(stack), frames: None, what };
    let function = |name: &str| Function { module: String::new(), name: name.to_owned() };
    let values = String::new();
    let mut bytes = Vec::new();
    let trace = Trace {
        name: "two.wat".to_owned(),
        functions: vec![function("main"), function("body")],
        stacks: vec![stack(Design::Root, 0), stack(Design::Task, 1)],
        events: vec![
            event(0, 0, EventKind::Enter),
            event(10, 0, EventKind::Create { created: StackId(1) }),
            event(
                20,
                0,
                EventKind::Resume { target: StackId(1), tag: None, values: values.clone() },
            ),
            event(30, 1, EventKind::Return { to: StackId(0), tag: None, values }),
            event(40, 0, EventKind::Leave),
        ],
        ..Trace::default()
    };
    trace.write(&mut bytes).unwrap();
    bytes
}

#[test]
fn the_extension_selects_the_format() {
    let trace = file("trace-formats.rwtrace", bytes());
    for (extension, begins) in [("html", "<!doctype html>"), ("json", "{\""), ("svg", "<svg ")] {
        let output = file(&format!("trace-formats.{extension}"), "");
        ropewalk(&["trace", &trace, "-o", &output]).prints("");
        assert!(fs::read_to_string(&output).unwrap().starts_with(begins), "{extension}");
    }
}

#[test]
fn an_option_selects_the_format() {
    let trace = file("trace-options.rwtrace", bytes());
    let json = ropewalk(&["trace", "--json", &trace]);
    assert_eq!(json.code, Some(0), "{json:?}");
    assert!(json.stdout.contains("\"name\":\"1 body (task)\""), "{json:?}");
    let svg = ropewalk(&["trace", &trace, "--svg"]);
    assert!(svg.stdout.contains(">body</text>"), "{svg:?}");
    let output = file("trace-options.txt", "");
    ropewalk(&["trace", &trace, "--svg", "-o", &output]).prints("");
    assert_eq!(fs::read_to_string(&output).unwrap(), svg.stdout);
}

#[test]
fn by_default_the_page_is_next_to_the_trace() {
    let trace = file("trace-beside.rwtrace", bytes());
    let outcome = ropewalk(&["trace", &trace]);
    let page = trace.replace(".rwtrace", ".html");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), ""));
    assert_eq!(outcome.stderr, format!("wrote {page}\n"));
    assert!(fs::read_to_string(page).unwrap().contains("<title>two.wat – stacks</title>"));
}

#[test]
fn an_unknown_format_is_an_error() {
    let trace = file("trace-unknown.rwtrace", bytes());
    let output = file("trace-unknown.png", "");
    let says = "error: unknown format: expected an output name that ends in .html, .json \
                or .svg, or one of the options --json and --svg\n";
    ropewalk(&["trace", &trace, "-o", &output]).fails(1, &[says]);
    ropewalk(&["trace", &trace, "--json", "--svg"]).fails(1, &["cannot be used with"]);
}

#[test]
fn a_truncated_trace_is_shown_with_a_warning() {
    let mut bytes = bytes();
    bytes.truncate(bytes.len() - 15);
    let trace = file("trace-cut.rwtrace", bytes);
    let outcome = ropewalk(&["trace", "--svg", &trace]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let warning = format!("warning: {trace} is truncated: showing its 4 complete events\n");
    assert_eq!(outcome.stderr, warning);
    assert!(outcome.stdout.ends_with("</svg>\n"));
}

#[test]
fn other_files_are_errors() {
    let module = file("trace-module.wat", "(module)");
    let says = "trace-module.wat: this is not a trace: expected a file that `ropewalk run --trace` \
                wrote\n";
    ropewalk(&["trace", &module]).fails(1, &["error: ", says]);
    let mut bytes = bytes();
    bytes[40] ^= 1;
    let damaged = file("trace-damaged.rwtrace", bytes);
    ropewalk(&["trace", &damaged]).fails(1, &["this trace is damaged at byte "]);
    ropewalk(&["trace", "no-such.rwtrace"]).fails(1, &["cannot read no-such.rwtrace"]);
}

/// `docs/pictures/make.sh` draws real runs.
#[test]
fn the_pictures_of_the_designs_are_up_to_date() {
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pictures");
    fs::create_dir_all(&made).unwrap();
    let pictures = root().join("docs/pictures");
    let mut command = Command::new(pictures.join("make.sh"));
    command.arg(&made).env("ROPEWALK", env!("CARGO_BIN_EXE_ropewalk"));
    let status = command.env_remove("HOME").env_remove("XDG_CACHE_HOME").status().unwrap();
    assert!(status.success(), "{status}");
    for design in ["continuations", "bag", "tasks", "fibers", "first-class"] {
        let name = format!("{design}.svg");
        let [expected, found] =
            [&pictures, &made].map(|folder| fs::read(folder.join(&name)).unwrap());
        assert!(expected == found, "{name} is not up to date: run docs/pictures/make.sh");
    }
}
