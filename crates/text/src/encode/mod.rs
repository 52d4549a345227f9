//! Encodes a module: its fields, a dialect, `(module binary ..)` or `(module quote ..)`.

mod shadow;

use wast::core::{Module, ModuleKind};
use wast::lexer::Lexer;
use wast::parser::{self, Parse, ParseBuffer, Parser};
use wast::token::Span;
use wast::{QuoteWat, Wat, kw};

use crate::dialect::{self, Lowered, Script, SpanMap, TypeWords};
use crate::error::{Error, Result};
use crate::explain::{self, Explained};
use crate::source_map::{SourceMap, collect, locate};
use crate::syntax::{Literals, grammar};

/// A module in the binary format, with the way back to its source, which it does not hold.
#[derive(Debug)]
pub(crate) struct EncodedModule {
    pub binary: Vec<u8>,
    /// The offset of the module in the source.
    pub module: usize,
    origin: Origin,
}

/// How an offset of the binary becomes an offset of the source.
#[derive(Debug)]
enum Origin {
    Fields(Box<SourceMap>),
    /// `(module binary "..")`
    Binary(Literals),
    /// `(module quote "..")`: its literals, their text, and the origin of the module in that text.
    Quote(Literals, Box<str>, Box<Origin>),
    /// A dialect module: the map from its standard text to the source, the standard text, the
    /// origin of the module in it, and how messages name types in terms of the source.
    Lowered(SpanMap, Box<str>, Box<Origin>, TypeWords),
}

impl EncodedModule {
    /// Encodes the only module of `source`.
    pub fn parse(source: &str) -> Result<EncodedModule> {
        if let Some(lowered) = dialect::lower(source, 0..source.len())? {
            return EncodedModule::lowered(lowered, Lexer::new);
        }
        let mut buffer = ParseBuffer::new(source)?;
        buffer.track_instr_spans(true);
        let mut file = parser::parse::<File>(&buffer)?;
        EncodedModule::quote_wat(&mut file.0, source)
    }

    pub fn script(module: &mut QuoteWat, script: &Script) -> Result<EncodedModule> {
        let span = match module {
            QuoteWat::Wat(module) => module.span(),
            QuoteWat::QuoteModule(span, _) | QuoteWat::QuoteComponent(span, _) => *span,
        };
        let source = script.source();
        match script.range(span.offset()) {
            None => EncodedModule::quote_wat(module, source),
            Some(range) => match dialect::lower(source, range)? {
                Some(lowered) => EncodedModule::lowered(lowered, lenient),
                None => EncodedModule::quote_wat(module, source),
            },
        }
    }

    fn lowered(lowered: Lowered, lexer: fn(&str) -> Lexer<'_>) -> Result<EncodedModule> {
        let in_source = |error: Error| error.moved(|offset| lowered.map.find(offset));
        let encoded = EncodedModule::text(&lowered.text, lexer).map_err(in_source)?;
        if let Some((offset, message)) = lowered.check_binary(&encoded.binary) {
            let found = encoded.find(&lowered.text, offset).unwrap_or(encoded.module);
            return Err(Error::invalid(lowered.map.find(found), message));
        }
        shadow::check(&lowered.shadow, &encoded.binary)?;
        let Lowered { text, map, module, type_words, .. } = lowered;
        let origin = Origin::Lowered(map, text.into(), Box::new(encoded.origin), type_words);
        Ok(EncodedModule { binary: encoded.binary, module, origin })
    }

    fn text(text: &str, lexer: fn(&str) -> Lexer<'_>) -> Result<EncodedModule> {
        let mut buffer = ParseBuffer::new_with_lexer(lexer(text))?;
        buffer.track_instr_spans(true);
        EncodedModule::wat(&mut parser::parse(&buffer)?, text)
    }

    pub fn standard(&self) -> Option<&str> {
        self.origin.standard()
    }

    pub fn quote_wat(module: &mut QuoteWat, source: &str) -> Result<EncodedModule> {
        match module {
            QuoteWat::Wat(module) => EncodedModule::wat(module, source),
            QuoteWat::QuoteModule(span, _) => EncodedModule::quote(span.offset(), source),
            QuoteWat::QuoteComponent(span, _) => Err(not_a_module(*span)),
        }
    }

    pub fn wat(module: &mut Wat, source: &str) -> Result<EncodedModule> {
        match module {
            Wat::Module(module) => EncodedModule::module(module, source),
            Wat::Component(component) => Err(not_a_module(component.span)),
        }
    }

    pub fn module(module: &mut Module, source: &str) -> Result<EncodedModule> {
        let binary = module.encode()?;
        let span = module.span.offset();
        let origin = match &module.kind {
            ModuleKind::Text(fields) => {
                grammar::check(fields, source)?;
                Origin::Fields(Box::new(collect(fields, source)))
            }
            ModuleKind::Binary(_) => Origin::Binary(Literals::read(source, span, b"").0),
        };
        Ok(EncodedModule { binary, module: span, origin })
    }

    /// Encodes the text of `(module quote "..")`.
    fn quote(module: usize, source: &str) -> Result<EncodedModule> {
        let (literals, contents) = Literals::read(source, module, b" ");
        let unquote =
            |error: Error| error.moved(|offset| literals.find(source, offset).unwrap_or(module));
        let text = utf8(contents).map_err(unquote)?;
        let encoded = EncodedModule::quoted(&text).map_err(unquote)?;
        let origin = Origin::Quote(literals, text.into(), Box::new(encoded.origin));
        Ok(EncodedModule { binary: encoded.binary, module, origin })
    }

    /// The lexer is lenient because the parser of the source has already rejected misleading
    /// characters.
    fn quoted(text: &str) -> Result<EncodedModule> {
        match dialect::lower(text, 0..text.len())? {
            Some(lowered) => EncodedModule::lowered(lowered, lenient),
            None => EncodedModule::text(text, lenient),
        }
    }

    /// Rewrites a validator's message about an offset of the binary in terms of the source.
    pub fn explain(&self, offset: usize, message: &str) -> Explained {
        let Explained { message, clause } = explain::explain(&self.binary, offset, message);
        let message = match self.origin.type_words() {
            Some(words) => words.in_source(message, &self.binary),
            None => message,
        };
        Explained { message, clause }
    }

    /// The offset in `source` of a byte of the binary.
    pub fn find(&self, source: &str, offset: usize) -> Option<usize> {
        self.find_clause(source, offset, None)
    }

    /// The offset in `source` of the operator at `offset`, or of one of its clauses.
    pub fn find_clause(&self, source: &str, offset: usize, clause: Option<usize>) -> Option<usize> {
        self.origin.find(source, &self.binary, offset, clause)
    }
}

impl Origin {
    fn find(
        &self,
        source: &str,
        binary: &[u8],
        offset: usize,
        clause: Option<usize>,
    ) -> Option<usize> {
        match self {
            Origin::Fields(spans) => {
                let place = locate(binary, offset as u64)?;
                spans.find(source, clause.map_or(place, |clause| place.of_clause(clause)))
            }
            Origin::Binary(literals) => literals.find(source, offset),
            Origin::Quote(literals, text, origin) => {
                literals.find(source, origin.find(text, binary, offset, clause)?)
            }
            Origin::Lowered(map, text, origin, _) => {
                origin.find(text, binary, offset, clause).map(|offset| map.find(offset))
            }
        }
    }

    fn type_words(&self) -> Option<&TypeWords> {
        match self {
            Origin::Fields(_) | Origin::Binary(_) => None,
            Origin::Quote(_, _, origin) => origin.type_words(),
            Origin::Lowered(.., words) => Some(words),
        }
    }

    fn standard(&self) -> Option<&str> {
        match self {
            Origin::Fields(_) | Origin::Binary(_) => None,
            Origin::Quote(_, _, origin) => origin.standard(),
            Origin::Lowered(_, text, ..) => Some(text),
        }
    }
}

/// A lexer that accepts characters that could mislead a reader.
fn lenient(text: &str) -> Lexer<'_> {
    let mut lexer = Lexer::new(text);
    lexer.allow_confusing_unicode(true);
    lexer
}

struct File<'a>(QuoteWat<'a>);

impl<'a> Parse<'a> for File<'a> {
    fn parse(parser: Parser<'a>) -> parser::Result<File<'a>> {
        if parser.peek2::<kw::module>()? && parser.peek3::<kw::quote>()? {
            parser.parens(|parser| parser.parse()).map(File)
        } else {
            parser.parse().map(|module| File(QuoteWat::Wat(module)))
        }
    }
}

fn utf8(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        Error::malformed(error.utf8_error().valid_up_to(), "malformed UTF-8 encoding")
    })
}

fn not_a_module(span: Span) -> Error {
    Error::malformed(span.offset(), "expected a module, found a component")
}
