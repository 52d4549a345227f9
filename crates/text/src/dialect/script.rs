//! The dialect modules of a script.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use wast::QuoteWat;

use crate::dialect::source::{Node, Tree, Words};
use crate::error::{Error, TextError};
use crate::syntax::Literals;

use super::{is_dialect, may_have_dialects};

/// A script (`.wast`) whose modules may use dialects.
///
/// The parser of scripts does not know the dialects. It gets a copy of the script, of the same
/// length, in which the fields of dialect modules are blank, so all its positions are those of the
/// script. Where it finds a module, [`Text::from_script`](crate::Text::from_script) reads the
/// original. If a script has unreadable parts, the parser reports the first one.
///
/// ```
/// use ropewalk_text::{Script, Text};
/// use wast::parser::{self, ParseBuffer};
/// use wast::{Wast, WastDirective};
///
/// let script = Script::new(
///     "(module (type $c (stack (ref null $c))) (func (param (ref $c)) (switch_retire $c (local.get 0))))",
/// );
/// let buffer = ParseBuffer::new(script.text())?;
/// let mut directives = parser::parse::<Wast>(&buffer)?.directives;
/// let WastDirective::Module(module) = &mut directives[0] else { panic!() };
/// let text = Text::from_script(module, &script)?;
/// assert!(text.lowered().unwrap().contains("switch_retire"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Script {
    source: Arc<str>,
    text: Arc<str>,
    /// The ranges of the dialect modules, by the offset of their keyword `module`.
    modules: HashMap<usize, Range<usize>>,
}

impl Script {
    /// Finds the dialect modules of a script.
    pub fn new(source: impl Into<Arc<str>>) -> Script {
        let source = source.into();
        let (modules, blank) = find(&source);
        let text = if blank.is_empty() { Arc::clone(&source) } else { blanked(&source, &blank) };
        Script { source, text, modules }
    }

    /// The original script.
    pub fn source(&self) -> &Arc<str> {
        &self.source
    }

    /// The script with blank dialect modules, for the parser of scripts.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a module of the script uses a dialect, in its fields or in what
    /// it quotes.
    pub fn is_dialect(&self, module: &QuoteWat<'_>) -> bool {
        match module {
            QuoteWat::Wat(module) => self.modules.contains_key(&module.span().offset()),
            QuoteWat::QuoteModule(span, _) => {
                let (_, contents) = Literals::read(&self.source, span.offset(), b" ");
                is_dialect(&String::from_utf8_lossy(&contents))
            }
            QuoteWat::QuoteComponent(..) => false,
        }
    }

    /// The error that the parser of scripts reports for [`Script::text`].
    ///
    /// ```
    /// use ropewalk_text::Script;
    /// use wast::Wast;
    /// use wast::parser::{self, ParseBuffer};
    ///
    /// let script = Script::new("(module)\n(assert_retrn)");
    /// let buffer = ParseBuffer::new(script.text())?;
    /// let error = parser::parse::<Wast>(&buffer).err().unwrap();
    /// assert_eq!(script.error(&error).position().unwrap().to_string(), "2:2");
    /// # Ok::<(), wast::Error>(())
    /// ```
    pub fn error(&self, error: &wast::Error) -> TextError {
        TextError::new(&self.source, Error::malformed(error.span().offset(), error.message()))
    }

    /// The range of the dialect module whose keyword is at the offset `module`.
    pub(crate) fn range(&self, module: usize) -> Option<Range<usize>> {
        self.modules.get(&module).cloned()
    }
}

/// The dialect modules by the offsets of their keywords, and the ranges to blank.
fn find(source: &str) -> (HashMap<usize, Range<usize>>, Vec<Range<usize>>) {
    let mut modules = HashMap::new();
    let mut blank = Vec::new();
    if !may_have_dialects(source) {
        return (modules, blank);
    }
    // Unreadable parts stay, so that the parser of scripts reports them.
    let tree = Tree::parse(source, 0..source.len());
    for module in outer_modules(&tree) {
        if Words::new(&tree, Some(module)).are_there() {
            modules.insert(tree.start(module + 1), tree.start(module)..tree.end(module));
            blank.push(fields(&tree, module));
        }
    }
    (modules, blank)
}

/// The outermost `(module ..)` lists, however deep in directives: a `(thread ..)` has directives of
/// its own.
fn outer_modules(tree: &Tree<'_>) -> Vec<Node> {
    let mut modules = Vec::new();
    let mut node = 0;
    while node < tree.len() {
        node = match tree.head(node) {
            Some("module") => {
                modules.push(node);
                tree.last(node) + 1
            }
            Some("component") => tree.last(node) + 1,
            _ => node + 1,
        };
    }
    modules
}

/// The fields of a module, after `(module definition? $x?`, as far as they can
/// be read.
fn fields(tree: &Tree<'_>, module: Node) -> Range<usize> {
    let is_start = |node: &Node| match tree.word(*node) {
        Some(word) => word == "module" || word == "definition",
        None => tree.is_name(*node),
    };
    let first = tree.children(module).find(|node| !is_start(node));
    let end = tree.start(tree.last(module)).min(tree.readable());
    first.map_or(end, |first| tree.start(first).min(end))..end
}

/// A copy of a text with blank parts. Line endings stay.
fn blanked(source: &str, parts: &[Range<usize>]) -> Arc<str> {
    let mut text = String::with_capacity(source.len());
    let mut next = 0;
    for part in parts {
        text.push_str(&source[next..part.start]);
        let blank = |byte| if byte == b'\n' || byte == b'\r' { byte as char } else { ' ' };
        text.extend(source[part.clone()].bytes().map(blank));
        next = part.end;
    }
    text.push_str(&source[next..]);
    text.into()
}
