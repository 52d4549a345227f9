//! The reference of the designs, `docs/reference/`: its examples run, and it is complete.
//!
//! The `wast` blocks between two headings form one script. A line of a script has the number that
//! it has in the page.

use ropewalk::{Config, Engine, Error, Module, TrapCode};
use ropewalk_text::{Script, Text, dialect_instructions};
use ropewalk_wast::WastRunner;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use wast::parser::{self, ParseBuffer};
use wast::{Wast, WastDirective};

/// The limit on stacks of the examples. An example reaches it.
const MAX_STACKS: usize = 10_000;

/// Traps of no design: those of other instructions, of limits, and of bugs.
const OTHER_TRAPS: [TrapCode; 22] = [
    TrapCode::Unreachable,
    TrapCode::MemoryOutOfBounds,
    TrapCode::TableOutOfBounds,
    TrapCode::UndefinedElement,
    TrapCode::UninitializedElement,
    TrapCode::IndirectCallTypeMismatch,
    TrapCode::IntegerDivideByZero,
    TrapCode::IntegerOverflow,
    TrapCode::InvalidConversionToInteger,
    TrapCode::NullReference,
    TrapCode::NullFunctionReference,
    TrapCode::NullStructReference,
    TrapCode::NullArrayReference,
    TrapCode::NullI31Reference,
    TrapCode::NullExceptionReference,
    TrapCode::ArrayOutOfBounds,
    TrapCode::CastFailure,
    TrapCode::OutOfMemory,
    TrapCode::MistypedTransfer,
    TrapCode::Interrupt,
    TrapCode::OutOfFuel,
    TrapCode::DamagedCode,
];

/// The trap without an example, since scripts have no host function that calls back. The test
/// `a_switch_does_not_cross_a_host_frame` of the API shows it.
const NOT_IN_SCRIPTS: TrapCode = TrapCode::AcrossHostFrame;

/// A page of the reference.
struct Page {
    name: String,
    text: String,
}

/// The part of a page from a heading to the next.
struct Section<'p> {
    page: &'p Page,
    heading: &'p str,
    /// The lines outside of code blocks.
    prose: Vec<&'p str>,
    /// The lines of `wast` blocks, each after as many line ends as in the page.
    script: String,
}

impl Page {
    fn all() -> Vec<Page> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
        let entries = fs::read_dir(folder).expect("the folder exists");
        let paths = entries.map(|entry| entry.expect("the folder can be read").path());
        let page = |path: &Path| Page {
            name: path.file_name().expect("a page has a name").to_string_lossy().into_owned(),
            text: fs::read_to_string(path).expect("a page is text"),
        };
        let mut pages: Vec<Page> = paths.map(|path| page(&path)).collect();
        pages.sort_by(|a, b| a.name.cmp(&b.name));
        pages
    }

    fn title(&self) -> &str {
        self.text.lines().next().unwrap_or_default().trim_start_matches("# ")
    }

    fn sections(&self) -> Vec<Section<'_>> {
        let mut sections = Vec::new();
        // The language of the code block around a line.
        let mut language = None;
        for (number, line) in self.text.lines().enumerate() {
            let fence = line.strip_prefix("```");
            if fence.is_none() && language.is_none() && line.starts_with('#') {
                let (page, heading) = (self, line.trim_start_matches('#').trim());
                let script = "\n".repeat(number);
                sections.push(Section { page, heading, prose: Vec::new(), script });
            }
            let Some(section) = sections.last_mut() else { continue };
            match (fence, language) {
                (Some(_), Some(_)) => language = None,
                (Some(name), None) => language = Some(name),
                (None, Some("wast")) => section.script.push_str(line),
                (None, Some(_)) => {}
                (None, None) => section.prose.push(line),
            }
            section.script.push('\n');
        }
        assert_eq!(language, None, "{}: the last code block does not end", self.name);
        sections
    }
}

impl Section<'_> {
    fn has_script(&self) -> bool {
        !self.script.trim().is_empty()
    }

    /// The instructions that the heading names.
    fn instructions(&self) -> impl Iterator<Item = &str> {
        self.heading.split('`').skip(1).step_by(2)
    }

    /// Whether an example uses a keyword.
    fn uses(&self, keyword: &str) -> bool {
        let is_end = |c: char| c.is_whitespace() || matches!(c, '(' | ')');
        self.script.split(is_end).any(|word| word == keyword)
    }

    /// Whether an example asserts a trap.
    fn asserts(&self, trap: TrapCode) -> bool {
        self.script.contains(&format!("\"{trap}\")"))
    }

    /// The traps in the section's table of traps.
    fn traps(&self) -> impl Iterator<Item = TrapCode> {
        let messages =
            self.prose.iter().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let trap = |message| TrapCode::ALL.iter().copied().find(|trap| trap.message() == message);
        messages.filter_map(trap)
    }

    fn describe(&self) -> String {
        format!("{}, \"{}\"", self.page.name, self.heading)
    }
}

/// Checks every section. `check` returns what is wrong.
fn check_sections(mut check: impl FnMut(&Section<'_>) -> Vec<String>) {
    let pages = Page::all();
    let sections = pages.iter().flat_map(Page::sections);
    let found: Vec<String> = sections.flat_map(|section| check(&section)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Checks every section with examples.
fn check_scripts(mut check: impl FnMut(&Section<'_>) -> Vec<String>) {
    check_sections(|section| if section.has_script() { check(section) } else { Vec::new() });
}

#[test]
fn its_examples_pass() {
    let engine = Engine::new(Config::new().max_stacks(MAX_STACKS)).expect("a configuration");
    let runner = WastRunner::new(&engine);
    let mut passed = 0;
    check_scripts(|section| {
        let report = runner.run_script(&section.page.name, &section.script);
        passed += report.passed;
        let heading = section.heading;
        report.failures.iter().map(|failure| format!("in \"{heading}\": {failure}")).collect()
    });
    assert!(passed > 0, "the reference has no examples");
}

/// Scripts do not compare these messages, since each tool has its own.
#[test]
fn messages_of_rejected_modules_are_those_of_the_engine() {
    let engine = Engine::default();
    let mut compared = 0;
    check_scripts(|section| {
        let source = Script::new(section.script.as_str());
        let buffer = ParseBuffer::new(source.text()).expect("a script");
        let script = parser::parse::<Wast>(&buffer).expect("a script");
        let rejected = script.directives.into_iter().filter_map(|directive| match directive {
            WastDirective::AssertInvalid { module, message, .. }
            | WastDirective::AssertMalformed { module, message, .. } => Some((module, message)),
            _ => None,
        });
        let wrong = rejected.filter_map(|(mut module, message)| {
            compared += 1;
            let text = Text::from_script(&mut module, &source).map_err(Error::from);
            let module = text.and_then(|text| Ok(Module::from_text(&engine, text, None)?));
            let found = format!("{:#}", module.err()?);
            let what = section.describe();
            (!found.contains(message)).then(|| format!("{what}: expected {message}: {found}"))
        });
        wrong.collect()
    });
    assert!(compared > 0, "the reference rejects nothing");
}

/// The instructions, each with the name of its design: those of the dialects, and those of the
/// standard's proposal.
fn instructions() -> BTreeSet<(String, String)> {
    macro_rules! of_stack_switching {
        ($(@$proposal:ident $op:ident $({ $($field:ident: $ty:ty),* })? => $visit:ident ($($ann:tt)*))*) => {
            [$((stringify!($proposal), stringify!($visit))),*]
        };
    }
    let operators = wasmparser::for_each_operator!(of_stack_switching);
    let standard = operators.into_iter().filter(|(proposal, _)| *proposal == "stack_switching");
    let name = |visit: &str| {
        let name = visit.trim_start_matches("visit_");
        match name.strip_prefix("cont_") {
            Some(rest) => format!("cont.{rest}"),
            None => name.to_string(),
        }
    };
    let standard = standard.map(|(_, visit)| ("typed continuations".to_string(), name(visit)));
    let dialects = dialect_instructions().map(|(design, word)| (design.into(), word.into()));
    standard.chain(dialects).collect()
}

#[test]
fn every_instruction_has_a_heading_and_an_example() {
    let mut missing = instructions();
    assert!(missing.len() > 50, "only {} instructions were found", missing.len());
    check_sections(|section| {
        let design = section.page.title().to_lowercase();
        let named = section.instructions().map(|name| (design.clone(), name.to_string()));
        let found = named.filter(|named| missing.remove(named) && !section.uses(&named.1));
        let found =
            found.map(|(_, name)| format!("{}: no example uses `{name}`", section.describe()));
        found.collect()
    });
    assert!(missing.is_empty(), "the pages of these designs have no headings for {missing:?}");
}

#[test]
fn every_trap_of_a_design_is_shown() {
    let mut missing: Vec<TrapCode> = TrapCode::ALL.to_vec();
    missing.retain(|trap| !OTHER_TRAPS.contains(trap));
    check_sections(|section| {
        let traps: Vec<TrapCode> = section.traps().collect();
        missing.retain(|trap| !traps.contains(trap));
        let is_shown = |trap| trap == NOT_IN_SCRIPTS || section.asserts(trap);
        let unseen = traps.into_iter().filter(|&trap| !is_shown(trap));
        let found =
            unseen.map(|trap| format!("{}: no example traps with `{trap}`", section.describe()));
        found.collect()
    });
    assert!(missing.is_empty(), "the reference has no tables with {missing:?}");
}

#[test]
fn a_line_of_a_script_has_its_number_in_the_page() {
    let text = "# Top\n\n```wast\n(module)\n```\n\n## `nop`\n\n| `unreachable` | x |\n```wast\n\
                (module (func (export \"f\") nop unreachable))\n```\nand\n```wast\n(invoke \"f\")\n\
                ```\n```text\n# no heading\n```\n";
    let page = Page { name: "page.md".to_string(), text: text.to_string() };
    let sections = page.sections();
    let [top, nop] = &sections[..] else { panic!("{} sections", sections.len()) };
    assert_eq!((top.heading, top.script.trim()), ("Top", "(module)"));
    assert!(nop.uses("nop") && !nop.uses("no") && !nop.asserts(TrapCode::Unreachable));
    assert_eq!(nop.instructions().collect::<Vec<_>>(), ["nop"]);
    assert_eq!(nop.traps().collect::<Vec<_>>(), [TrapCode::Unreachable]);
    let report = WastRunner::new(&Engine::default()).run_script("page.md", &nop.script);
    let lines: Vec<_> = report.failures.iter().map(|failure| failure.line).collect();
    assert_eq!((report.passed, lines), (1, vec![15]));
}
