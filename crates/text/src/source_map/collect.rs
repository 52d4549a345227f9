//! Collects the source map of a parsed module.
//!
//! The fields are those of an encoded module. The parser has moved the imports and exports inside
//! other fields beside them, and has added types that were not declared. So each field is an item
//! of a section, in the order of the binary.

use std::collections::HashMap;

use wast::core::{
    Data, DataKind, Elem, ElemKind, ElemPayload, Expression, Func, FuncKind, Global, GlobalKind,
    Handle, ImportItems, Imports, Instruction, ItemKind, ModuleField, Rec, ResumeTable, Table,
    TableKind, TagType, Type, TypeUse,
};
use wast::token::{Index, Span};

use super::SourceMap;
use super::location::Section;
use crate::syntax::field_parts;

/// The source map of the fields of an encoded module in `text`.
pub(crate) fn collect(fields: &[ModuleField], text: &str) -> SourceMap {
    let first_uses = FirstUses::of(fields);
    let mut gather = Gather { text, first_uses, types: 0, spans: SourceMap::default() };
    fields.iter().for_each(|field| gather.field(field));
    gather.spans
}

struct Gather<'a> {
    text: &'a str,
    first_uses: FirstUses,
    /// The number of types so far.
    types: u32,
    spans: SourceMap,
}

impl Gather<'_> {
    fn field(&mut self, field: &ModuleField) {
        match field {
            ModuleField::Type(ty) => self.ty(ty),
            ModuleField::Rec(group) => self.rec(group),
            ModuleField::Import(imports) => self.imports(imports),
            ModuleField::Func(function) => self.function(function),
            ModuleField::Table(table) => self.table(table),
            ModuleField::Memory(memory) => self.item(Section::Memory, memory.span),
            ModuleField::Global(global) => self.global(global),
            ModuleField::Export(export) => self.item(Section::Export, export.span),
            ModuleField::Start(function) => self.item(Section::Start, function.span()),
            ModuleField::Elem(segment) => self.element(segment),
            ModuleField::Data(segment) => self.data(segment),
            ModuleField::Tag(tag) => self.item(Section::Tag, tag.span),
            ModuleField::Custom(_) => {}
        }
    }

    fn item(&mut self, section: Section, span: Span) {
        self.spans.push(section, offset(span), []);
    }

    fn ty(&mut self, ty: &Type) {
        let span = match offset(ty.span) {
            UNDECLARED => self.first_uses.of_type(self.types),
            span => span,
        };
        self.types += 1;
        self.spans.push(Section::Type, span, []);
    }

    fn rec(&mut self, group: &Rec) {
        self.types += group.types.len() as u32;
        let types = group.types.iter().map(|ty| offset(ty.span));
        self.spans.push(Section::Type, offset(group.span), types);
    }

    fn imports(&mut self, imports: &Imports) {
        let items: Vec<Span> = match &imports.items {
            ImportItems::Single { .. } => Vec::new(),
            ImportItems::Group1 { items, .. } => items.iter().map(|item| item.span).collect(),
            ImportItems::Group2 { items, .. } => items.iter().map(|item| item.span).collect(),
        };
        self.spans.push(Section::Import, offset(imports.span), items.into_iter().map(offset));
    }

    fn function(&mut self, function: &Func) {
        let span = offset(function.span);
        self.spans.push(Section::Function, span, []);
        if let FuncKind::Inline { expression, .. } = &function.kind {
            self.spans.push(Section::Code, span, instructions(expression, || span));
            for (step, instruction) in expression.instrs.iter().enumerate() {
                let clauses = clauses(instruction);
                if !clauses.is_empty() {
                    self.spans.push_clauses(Section::Code, step, clauses);
                }
            }
        }
    }

    fn table(&mut self, table: &Table) {
        let span = offset(table.span);
        let init = match &table.kind {
            TableKind::Normal { init_expr: Some(init), .. } => constant(init, || span),
            _ => Vec::new(),
        };
        self.spans.push(Section::Table, span, init);
    }

    fn global(&mut self, global: &Global) {
        let span = offset(global.span);
        let init = match &global.kind {
            GlobalKind::Inline(init) => constant(init, || span),
            GlobalKind::Import(_) => Vec::new(),
        };
        self.spans.push(Section::Global, span, init);
    }

    fn element(&mut self, segment: &Elem) {
        let span = offset(segment.span);
        let mut steps = match &segment.kind {
            ElemKind::Active { offset, .. } => constant(offset, || span),
            ElemKind::Passive | ElemKind::Declared => Vec::new(),
        };
        match &segment.payload {
            ElemPayload::Indices(indices) => {
                steps.extend(indices.iter().map(|index| offset(index.span())));
            }
            ElemPayload::Exprs { exprs, .. } => {
                steps.extend(exprs.iter().flat_map(|expression| constant(expression, || span)));
            }
        }
        self.spans.push(Section::Element, span, steps);
    }

    fn data(&mut self, segment: &Data) {
        let span = offset(segment.span);
        // The parser tracks no instruction of an offset without the word `offset`.
        let untracked = || match field_parts::data_offset(self.text, span as usize) {
            Some(instruction) => instruction as u32,
            None => span,
        };
        let steps = match &segment.kind {
            DataKind::Active { offset, .. } => constant(offset, untracked),
            DataKind::Passive => Vec::new(),
        };
        self.spans.push(Section::Data, span, steps);
    }
}

/// The steps of a constant expression. An error at its `end`, where a wrong type is found, belongs
/// to the instruction that makes the value.
fn constant(expression: &Expression, untracked: impl Fn() -> u32) -> Vec<u32> {
    let mut steps = instructions(expression, &untracked);
    steps.push(steps.last().copied().unwrap_or_else(untracked));
    steps
}

/// The offsets of the instructions of an expression, without its `end`.
fn instructions(expression: &Expression, untracked: impl Fn() -> u32) -> Vec<u32> {
    let tracked = expression.instr_spans.as_deref().unwrap_or_default();
    let span = |(n, instruction): (usize, &Instruction)| match (tracked.get(n), instruction) {
        (Some(&span), _) => offset(span),
        // A function index in an element segment that has expressions.
        (None, Instruction::ref_func(function)) => offset(function.span()),
        (None, _) => untracked(),
    };
    expression.instrs.iter().enumerate().map(span).collect()
}

/// The offsets of the clauses of an instruction: their labels, or else their tags.
fn clauses(instruction: &Instruction) -> Vec<u32> {
    let handlers = |table: &ResumeTable| {
        let handlers = table.handlers.iter().map(|handle| match handle {
            Handle::OnLabel { label, .. } => offset(label.span()),
            Handle::OnSwitch { tag } => offset(tag.span()),
        });
        handlers.collect()
    };
    match instruction {
        Instruction::try_table(block) => {
            block.catches.iter().map(|catch| offset(catch.label.span())).collect()
        }
        Instruction::resume(resume) => handlers(&resume.table),
        Instruction::resume_throw(resume) => handlers(&resume.table),
        Instruction::resume_throw_ref(resume) => handlers(&resume.table),
        _ => Vec::new(),
    }
}

/// The offset that the parser gives to a type that is not declared. A declared type has at least a
/// parenthesis before it.
const UNDECLARED: u32 = 0;

/// The offset of the first use of each type, for types that are not declared.
struct FirstUses {
    spans: HashMap<u32, u32>,
}

impl FirstUses {
    fn of(fields: &[ModuleField]) -> FirstUses {
        let mut uses = FirstUses { spans: HashMap::new() };
        fields.iter().for_each(|field| uses.field(field));
        uses
    }

    fn of_type(&self, ty: u32) -> u32 {
        self.spans.get(&ty).copied().unwrap_or(UNDECLARED)
    }

    fn field(&mut self, field: &ModuleField) {
        match field {
            ModuleField::Import(imports) => self.imports(imports),
            ModuleField::Func(function) => self.function(function),
            ModuleField::Tag(tag) => {
                let TagType::Exception(ty) = &tag.ty;
                self.type_use(ty, offset(tag.span));
            }
            _ => {}
        }
    }

    fn imports(&mut self, imports: &Imports) {
        for item in imports.item_sigs() {
            if let ItemKind::Func(ty)
            | ItemKind::FuncExact(ty)
            | ItemKind::Tag(TagType::Exception(ty)) = &item.kind
            {
                self.type_use(ty, offset(imports.span));
            }
        }
    }

    fn function(&mut self, function: &Func) {
        let span = offset(function.span);
        self.type_use(&function.ty, span);
        if let FuncKind::Inline { expression, .. } = &function.kind {
            for (instruction, span) in
                expression.instrs.iter().zip(instructions(expression, || span))
            {
                self.instruction(instruction, span);
            }
        }
    }

    fn instruction(&mut self, instruction: &Instruction, span: u32) {
        match instruction {
            Instruction::block(block) | Instruction::loop_(block) | Instruction::if_(block) => {
                self.type_use(&block.ty, span);
            }
            Instruction::try_table(block) => self.type_use(&block.block.ty, span),
            Instruction::call_indirect(call) | Instruction::return_call_indirect(call) => {
                self.type_use(&call.ty, span);
            }
            _ => {}
        }
    }

    fn type_use<T>(&mut self, ty: &TypeUse<T>, span: u32) {
        if let Some(Index::Num(number, _)) = ty.index {
            self.spans.entry(number).or_insert(span);
        }
    }
}

/// The offset of a span. No text is larger than four bytes can express.
fn offset(span: Span) -> u32 {
    span.offset() as u32
}
