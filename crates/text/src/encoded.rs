//! A module that was encoded, however it is written.

use wast::core::{Module, ModuleKind};
use wast::lexer::Lexer;
use wast::parser::{self, Parse, ParseBuffer, Parser};
use wast::token::Span;
use wast::{Error, QuoteWat, Wat, kw};

use crate::fields;
use crate::literal::Literals;
use crate::locate::locate;
use crate::spans::Spans;

/// A module that was encoded. It does not hold its source.
#[derive(Debug)]
pub(crate) struct Encoded {
    pub binary: Vec<u8>,
    /// Where the module stands in the source.
    pub module: usize,
    origin: Origin,
}

/// What leads from the binary to the source.
#[derive(Debug)]
enum Origin {
    /// The module consists of fields.
    Fields(Box<Spans>),
    /// `(module binary "..")`
    Binary(Literals),
    /// `(module quote "..")`, what it says, and what leads there.
    Quote(Literals, Box<str>, Box<Origin>),
}

impl Encoded {
    /// Encodes the module that `source` consists of.
    pub fn parse(source: &str) -> Result<Encoded, Error> {
        let mut buffer = ParseBuffer::new(source)?;
        buffer.track_instr_spans(true);
        let mut file = parser::parse::<File>(&buffer)?;
        Encoded::quote_wat(&mut file.0, source)
    }

    /// Encodes a module of a script.
    pub fn quote_wat(module: &mut QuoteWat, source: &str) -> Result<Encoded, Error> {
        match module {
            QuoteWat::Wat(module) => Encoded::wat(module, source),
            QuoteWat::QuoteModule(span, _) => Encoded::quote(span.offset(), source),
            QuoteWat::QuoteComponent(span, _) => Err(not_a_module(*span)),
        }
    }

    fn wat(module: &mut Wat, source: &str) -> Result<Encoded, Error> {
        match module {
            Wat::Module(module) => Encoded::module(module, source),
            Wat::Component(component) => Err(not_a_module(component.span)),
        }
    }

    /// Encodes a module that is not quoted.
    pub fn module(module: &mut Module, source: &str) -> Result<Encoded, Error> {
        let binary = module.encode()?;
        let span = module.span.offset();
        let origin = match &module.kind {
            ModuleKind::Text(fields) => Origin::Fields(Box::new(fields::spans(fields, source))),
            ModuleKind::Binary(_) => Origin::Binary(Literals::read(source, span, b"").0),
        };
        Ok(Encoded { binary, module: span, origin })
    }

    /// Encodes what `(module quote "..")` says.
    fn quote(module: usize, source: &str) -> Result<Encoded, Error> {
        let (literals, contents) = Literals::read(source, module, b" ");
        let unquote = |error: Error| {
            let offset = literals.find(source, error.span().offset()).unwrap_or(module);
            Error::new(Span::from_offset(offset), error.message())
        };
        let text = utf8(contents).map_err(unquote)?;
        let encoded = Encoded::quoted(&text).map_err(unquote)?;
        let origin = Origin::Quote(literals, text.into(), Box::new(encoded.origin));
        Ok(Encoded { binary: encoded.binary, module, origin })
    }

    /// Encodes a text that was quoted. Characters that mislead a reader of
    /// the source were found when the source was parsed.
    fn quoted(text: &str) -> Result<Encoded, Error> {
        let mut lexer = Lexer::new(text);
        lexer.allow_confusing_unicode(true);
        let mut buffer = ParseBuffer::new_with_lexer(lexer)?;
        buffer.track_instr_spans(true);
        Encoded::wat(&mut parser::parse(&buffer)?, text)
    }

    /// Where in `source` a byte of the binary comes from.
    pub fn find(&self, source: &str, offset: usize) -> Option<usize> {
        self.origin.find(source, &self.binary, offset)
    }
}

impl Origin {
    fn find(&self, source: &str, binary: &[u8], offset: usize) -> Option<usize> {
        match self {
            Origin::Fields(spans) => spans.find(source, locate(binary, offset as u64)?),
            Origin::Binary(literals) => literals.find(source, offset),
            Origin::Quote(literals, text, origin) => {
                literals.find(source, origin.find(text, binary, offset)?)
            }
        }
    }
}

/// A file with one module.
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

fn utf8(bytes: Vec<u8>) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(|error| {
        let span = Span::from_offset(error.utf8_error().valid_up_to());
        Error::new(span, "malformed UTF-8 encoding".to_string())
    })
}

fn not_a_module(span: Span) -> Error {
    Error::new(span, "expected a module, found a component".to_string())
}
