//! Checks the positions of operators.

use ropewalk_text::{Position, Text};
use wasmparser::{
    ConstExpr, Data, DataKind, Element, ElementItems, ElementKind, Operator, OperatorsReader,
    Parser, Payload, Table, TableInit,
};

/// Checks about `limit` operators of a module, evenly chosen, and returns their number.
#[track_caller]
pub fn check_operators(text: &Text, source: &str, limit: usize) -> usize {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let operators = operators(text.binary());
    let stride = operators.len() / limit + 1;
    for (name, offset) in operators.iter().step_by(stride) {
        let position = text.position(*offset).expect("a position");
        let word = word_at(&source, position);
        assert!(stands_for(word, name), "{}", text.error_at(*offset, &format!("no {name}")));
    }
    operators.len().div_ceil(stride)
}

fn stands_for(word: &str, name: &str) -> bool {
    match name {
        // Or the closing parenthesis of a folded block or of the function.
        "end" => word == "end" || word == ")",
        "typed_select" | "typed_select_multi" => word == "select",
        _ => is_keyword(word, name) || is_sugar(word, name),
    }
}

/// `ref.test` and `ref.cast` are two operators each.
fn is_keyword(word: &str, name: &str) -> bool {
    let word = word.replace('.', "_");
    ["", "_nullable", "_non_null"].iter().any(|end| name.strip_suffix(end) == Some(&word))
}

/// Whether a word stands for an implicit operator: the offset of inline data or elements, or a
/// function index in an element segment.
fn is_sugar(word: &str, name: &str) -> bool {
    match name {
        "i32_const" | "i64_const" => word == "data" || word == "table",
        "ref_func" => word.starts_with('$') || word.parse::<u32>().is_ok(),
        _ => false,
    }
}

/// The keyword, or the parenthesis, at a position.
fn word_at(source: &str, position: Position) -> &str {
    let line = source.split('\n').nth(position.line - 1).expect("a line");
    let (start, first) = line.char_indices().nth(position.column - 1).expect("a column");
    let rest = &line[start..];
    match rest.find(|c: char| c.is_whitespace() || "();\"".contains(c)) {
        Some(0) => &rest[..first.len_utf8()],
        Some(end) => &rest[..end],
        None => rest,
    }
}

/// Names and offsets of operators.
type Operators = Vec<(&'static str, usize)>;

fn operators(binary: &[u8]) -> Operators {
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(binary) {
        match payload.unwrap() {
            Payload::CodeSectionEntry(body) => {
                read(body.get_operators_reader().unwrap(), &mut found)
            }
            Payload::GlobalSection(globals) => {
                globals
                    .into_iter()
                    .for_each(|global| constant(&global.unwrap().init_expr, &mut found));
            }
            Payload::TableSection(tables) => {
                tables.into_iter().for_each(|entry| table(entry.unwrap(), &mut found));
            }
            Payload::ElementSection(segments) => {
                segments.into_iter().for_each(|segment| element(segment.unwrap(), &mut found));
            }
            Payload::DataSection(segments) => {
                segments.into_iter().for_each(|segment| data(segment.unwrap(), &mut found));
            }
            _ => {}
        }
    }
    found
}

fn table(table: Table, found: &mut Operators) {
    if let TableInit::Expr(init) = table.init {
        constant(&init, found);
    }
}

fn element(segment: Element, found: &mut Operators) {
    if let ElementKind::Active { offset_expr, .. } = segment.kind {
        constant(&offset_expr, found);
    }
    if let ElementItems::Expressions(_, items) = segment.items {
        items.into_iter().for_each(|item| constant(&item.unwrap(), found));
    }
}

fn data(segment: Data, found: &mut Operators) {
    if let DataKind::Active { offset_expr, .. } = segment.kind {
        constant(&offset_expr, found);
    }
}

/// The operators of a constant expression, without its `end`, which has no keyword.
fn constant(expression: &ConstExpr, found: &mut Operators) {
    read(expression.get_operators_reader(), found);
    found.pop();
}

fn read(mut operators: OperatorsReader, found: &mut Operators) {
    while !operators.eof() {
        let (operator, offset) = operators.read_with_offset().unwrap();
        found.push((name(&operator), offset as usize));
    }
}

macro_rules! define_name {
    ($(@$proposal:ident $operator:ident $({ $($argument:ident: $type:ty),* })? => $visit:ident ($($annotation:tt)*))*) => {
        /// The name of an operator: `i32_add` for `i32.add`.
        fn name(operator: &Operator) -> &'static str {
            let visit = match operator {
                $(Operator::$operator { .. } => stringify!($visit),)*
                _ => panic!("an unknown operator"),
            };
            visit.strip_prefix("visit_").unwrap_or(visit)
        }
    };
}

wasmparser::for_each_operator!(define_name);
