//! Checks rules of the grammar that the parser does not check: balanced blocks, no import after a
//! tag, at most one `start`.
//!
//! A validator would find these in the binary and call the module invalid, but the text is
//! malformed.

use wast::core::{
    Data, DataKind, Elem, ElemKind, ElemPayload, Expression, Func, FuncKind, Global, GlobalKind,
    Instruction, ModuleField, Table, TableKind,
};
use wast::token::Span;

use crate::error::{Error, Result};
use crate::syntax::field_parts;

pub(crate) fn check(fields: &[ModuleField], text: &str) -> Result<()> {
    fields.iter().try_for_each(|field| match field {
        ModuleField::Func(function) => check_function(function, text),
        ModuleField::Table(table) => check_table(table),
        ModuleField::Global(global) => check_global(global),
        ModuleField::Elem(segment) => check_element(segment),
        ModuleField::Data(segment) => check_data(segment),
        _ => Ok(()),
    })?;
    check_imports(fields)?;
    check_start(fields)
}

/// Imports come before all definitions, since they have the first indices. The parser checks this
/// for everything but tags.
fn check_imports(fields: &[ModuleField]) -> Result<()> {
    let defines = |field: &ModuleField| matches!(field, ModuleField::Tag(_));
    let after = fields.iter().skip_while(|field| !defines(field));
    let mut imports = after.filter_map(|field| match field {
        ModuleField::Import(import) => Some(import.span.offset()),
        _ => None,
    });
    match imports.next() {
        None => Ok(()),
        Some(import) => Err(Error::malformed(import, "import after tag")),
    }
}

fn check_start(fields: &[ModuleField]) -> Result<()> {
    let mut starts = fields.iter().filter_map(|field| match field {
        ModuleField::Start(function) => Some(function.span().offset()),
        _ => None,
    });
    match starts.nth(1) {
        None => Ok(()),
        Some(second) => {
            let message = "unexpected second `start`: a module has at most one";
            Err(Error::malformed(second, message))
        }
    }
}

fn check_function(function: &Func, text: &str) -> Result<()> {
    let FuncKind::Inline { expression, .. } = &function.kind else { return Ok(()) };
    let field = function.span.offset();
    check_expression(expression, field, || field_parts::closing(text, field).unwrap_or(field))
}

fn check_table(table: &Table) -> Result<()> {
    match &table.kind {
        TableKind::Normal { init_expr: Some(init), .. } => check_constant(init, table.span),
        _ => Ok(()),
    }
}

fn check_global(global: &Global) -> Result<()> {
    match &global.kind {
        GlobalKind::Inline(init) => check_constant(init, global.span),
        GlobalKind::Import(_) => Ok(()),
    }
}

fn check_element(segment: &Elem) -> Result<()> {
    if let ElemKind::Active { offset, .. } = &segment.kind {
        check_constant(offset, segment.span)?;
    }
    match &segment.payload {
        ElemPayload::Indices(_) => Ok(()),
        ElemPayload::Exprs { exprs, .. } => {
            exprs.iter().try_for_each(|expression| check_constant(expression, segment.span))
        }
    }
}

fn check_data(segment: &Data) -> Result<()> {
    match &segment.kind {
        DataKind::Active { offset, .. } => check_constant(offset, segment.span),
        DataKind::Passive => Ok(()),
    }
}

fn check_constant(expression: &Expression, field: Span) -> Result<()> {
    check_expression(expression, field.offset(), || field.offset())
}

/// A construct that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenBlock {
    Block,
    If,
    /// The `try` of the legacy exception proposal, which has `catch` and `delegate`.
    Try,
}

/// Checks that blocks are balanced in an expression of a field; `end` finds the end of the
/// expression.
fn check_expression(
    expression: &Expression,
    field: usize,
    end: impl FnOnce() -> usize,
) -> Result<()> {
    let mut open = Vec::new();
    let spans = expression.instr_spans.as_deref().unwrap_or_default();
    for (number, instruction) in expression.instrs.iter().enumerate() {
        if let Err(word) = step(instruction, &mut open) {
            let at = spans.get(number).map_or(field, Span::offset);
            return Err(Error::malformed(at, format!("unexpected `{word}`")));
        }
    }
    match open.is_empty() {
        true => Ok(()),
        false => Err(Error::malformed(end(), "expected `end`: a block is not closed")),
    }
}

/// Updates the open constructs, or returns the word that is misplaced.
fn step(instruction: &Instruction, open: &mut Vec<OpenBlock>) -> Result<(), &'static str> {
    let mut leave = |what: OpenBlock, word| open.pop().filter(|&found| found == what).ok_or(word);
    let next = match instruction {
        Instruction::block(_) | Instruction::loop_(_) | Instruction::try_table(_) => {
            OpenBlock::Block
        }
        Instruction::if_(_) => OpenBlock::If,
        Instruction::else_(_) => leave(OpenBlock::If, "else").map(|_| OpenBlock::Block)?,
        Instruction::try_(_) => OpenBlock::Try,
        Instruction::catch(_) => leave(OpenBlock::Try, "catch")?,
        Instruction::catch_all => leave(OpenBlock::Try, "catch_all").map(|_| OpenBlock::Block)?,
        Instruction::delegate(_) => return leave(OpenBlock::Try, "delegate").map(drop),
        Instruction::end(_) => return open.pop().map(drop).ok_or("end"),
        _ => return Ok(()),
    };
    open.push(next);
    Ok(())
}
