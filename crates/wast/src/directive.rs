//! The directives of a script: those that the parser knows, and the others of the official grammar.

use std::ops::Range;
use wast::parser::{Cursor, Parse, Parser, Peek, Result};
use wast::token::Id;
use wast::{WastDirective, WastExecute, Wat};

mod kw {
    wast::custom_keyword!(assert_trap);
    wast::custom_keyword!(assert_unlinkable);
    wast::custom_keyword!(get);
    wast::custom_keyword!(input);
    wast::custom_keyword!(instance);
    wast::custom_keyword!(module);
    wast::custom_keyword!(output);
    wast::custom_keyword!(script);
}

/// A directive, and its range in the source without its parentheses.
pub(crate) struct Directive<'a> {
    pub kind: DirectiveKind<'a>,
    pub range: Range<usize>,
}

pub(crate) enum DirectiveKind<'a> {
    Known(WastDirective<'a>),
    /// `(get $x "global")`
    Get(WastExecute<'a>),
    /// `(assert_trap (module instance $x $definition) "message")`
    AssertInstanceTraps {
        definition: Option<Id<'a>>,
        message: &'a str,
    },
    /// `(assert_unlinkable (module instance $x $definition) "message")`
    AssertInstanceUnlinkable {
        definition: Option<Id<'a>>,
        message: &'a str,
    },
    /// `(script $x ..)`: runs directives, and names them.
    Script {
        name: Option<Id<'a>>,
        directives: Vec<Directive<'a>>,
        text: Range<usize>,
    },
    /// `(input $x "file")`: runs a script, or defines the module in a file.
    Input {
        name: Option<Id<'a>>,
        file: &'a str,
    },
    /// `(output $x "file")`: writes a script or a module.
    Output {
        name: Option<Id<'a>>,
        file: Option<&'a str>,
    },
}

/// The directives of a script. A script that is only a module may omit `(module ..)`.
pub(crate) struct Directives<'a>(pub Vec<Directive<'a>>);

/// The maximum depth of scripts in scripts.
const MAX_DEPTH: usize = 100;

/// The annotations that the parser of modules knows.
const ANNOTATIONS: [&str; 5] =
    ["custom", "producers", "name", "dylink.0", "metadata.code.branch_hint"];

impl<'a> Parse<'a> for Directives<'a> {
    fn parse(parser: Parser<'a>) -> Result<Self> {
        let _registered = ANNOTATIONS.map(|annotation| parser.register_annotation(annotation));
        if parser.peek2::<DirectiveWord>()? {
            return Ok(Directives(list(parser)?));
        }
        let start = parser.cur_span().offset();
        let module = wast::QuoteWat::Wat(parser.parse::<Wat>()?);
        let kind = DirectiveKind::Known(WastDirective::Module(module));
        Ok(Directives(vec![Directive { kind, range: start..parser.cur_span().offset() }]))
    }
}

/// The directives up to the end of a list.
fn list<'a>(parser: Parser<'a>) -> Result<Vec<Directive<'a>>> {
    let mut directives = Vec::new();
    while !parser.is_empty() {
        directives.push(parser.parens(Directive::parse)?);
    }
    Ok(directives)
}

impl<'a> Parse<'a> for Directive<'a> {
    fn parse(parser: Parser<'a>) -> Result<Self> {
        let start = parser.cur_span().offset();
        let kind = kind(parser)?;
        Ok(Directive { kind, range: start..parser.cur_span().offset() })
    }
}

fn kind<'a>(parser: Parser<'a>) -> Result<DirectiveKind<'a>> {
    if parser.peek::<kw::get>()? {
        return Ok(DirectiveKind::Get(parser.parse()?));
    }
    if parser.peek::<AssertInstance>()? {
        return assert_instance(parser);
    }
    if parser.peek::<kw::script>()? {
        parser.parse::<kw::script>()?;
        if parser.parens_depth() > MAX_DEPTH {
            return Err(parser.error("scripts are nested too deeply"));
        }
        let name = parser.parse()?;
        let start = parser.cur_span().offset();
        let directives = list(parser)?;
        let text = start..parser.cur_span().offset();
        return Ok(DirectiveKind::Script { name, directives, text });
    }
    if parser.peek::<kw::input>()? {
        parser.parse::<kw::input>()?;
        return Ok(DirectiveKind::Input { name: parser.parse()?, file: parser.parse()? });
    }
    if parser.peek::<kw::output>()? {
        parser.parse::<kw::output>()?;
        return Ok(DirectiveKind::Output { name: parser.parse()?, file: parser.parse()? });
    }
    Ok(DirectiveKind::Known(parser.parse()?))
}

fn assert_instance<'a>(parser: Parser<'a>) -> Result<DirectiveKind<'a>> {
    let traps = parser.peek::<kw::assert_trap>()?;
    match traps {
        true => parser.parse::<kw::assert_trap>().map(drop)?,
        false => parser.parse::<kw::assert_unlinkable>().map(drop)?,
    }
    let definition = parser.parens(|parser| {
        parser.parse::<kw::module>()?;
        parser.parse::<kw::instance>()?;
        // The instance has a name only if it exists.
        parser.parse::<Option<Id>>()?;
        parser.parse()
    })?;
    let message = parser.parse()?;
    Ok(match traps {
        true => DirectiveKind::AssertInstanceTraps { definition, message },
        false => DirectiveKind::AssertInstanceUnlinkable { definition, message },
    })
}

/// The word of a directive.
struct DirectiveWord;

impl Peek for DirectiveWord {
    fn peek(cursor: Cursor<'_>) -> Result<bool> {
        let word = cursor.keyword()?.map_or("", |(word, _)| word);
        Ok(word.starts_with("assert_")
            || ["module", "component", "register", "invoke", "get"].contains(&word)
            || ["script", "input", "output", "thread", "wait"].contains(&word))
    }

    fn display() -> &'static str {
        "a directive"
    }
}

/// An assertion about `(module instance ..)`.
struct AssertInstance;

impl Peek for AssertInstance {
    fn peek(cursor: Cursor<'_>) -> Result<bool> {
        let Some(("assert_trap" | "assert_unlinkable", cursor)) = cursor.keyword()? else {
            return Ok(false);
        };
        let Some(cursor) = cursor.lparen()? else { return Ok(false) };
        let Some(("module", cursor)) = cursor.keyword()? else { return Ok(false) };
        Ok(matches!(cursor.keyword()?, Some(("instance", _))))
    }

    fn display() -> &'static str {
        "an assertion about an instance"
    }
}
