//! The locals of a function, and where they are stored.
//!
//! A closure takes an *environment*, a struct with the locals that it shares with its function. The
//! function stores them there too. A local that `stack.redirect` names is stored in a *box*, a
//! struct of its own, to which the environment refers.

use std::collections::HashMap;

use crate::dialect::definitions::{Header, number};
use crate::dialect::lower::Lowering;
use crate::dialect::source::{HeapType, Name, Node, Tree, ValKind, ValType, list_of_types};
use crate::error::{Error, Result};

use super::is_stackref;
use super::shape::{Block, BlockKind, Shape, StepKind};

/// The locals of a function, parameters first.
#[derive(Debug, Default)]
pub(super) struct Locals<'a> {
    pub all: Vec<Local<'a>>,
    named: HashMap<String, usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Local<'a> {
    /// Its name or index.
    pub index: String,
    pub ty: ValType<'a>,
    pub is_param: bool,
    /// Whether a closure uses it, or `stack.redirect` names it.
    pub is_captured: bool,
    pub is_boxed: bool,
    /// The index of its field in the environment, if it has one.
    pub field: usize,
    /// Whether an instruction may store a stack in it.
    pub is_set: bool,
    /// The local that refers to its box.
    pub box_local: String,
}

impl<'a> Locals<'a> {
    /// Reads the parameters and locals of a function.
    pub fn read(lowering: &Lowering<'a, '_>, list: Node) -> Result<Locals<'a>> {
        let tree = lowering.tree;
        let header = Header::read(tree, list)?;
        let mut locals = Locals::default();
        let is_param = |node: &Node| tree.head(*node) == Some("param");
        let params: Vec<Node> = tree.between(list + 2, header.next).filter(is_param).collect();
        for &param in &params {
            locals.add(tree, param, true)?;
        }
        if params.is_empty() {
            for &ty in &lowering.module.signature(&header.item)?.params {
                locals.push(None, ty, true);
            }
        }
        for local in header.locals(tree, list) {
            locals.add(tree, local, false)?;
        }
        Ok(locals)
    }

    /// `(param $x t)`, `(local t*)`.
    fn add(&mut self, tree: &Tree<'a>, list: Node, is_param: bool) -> Result<()> {
        let name = Name::read(tree, list + 2);
        let types = list_of_types(tree, list)?;
        types.into_iter().for_each(|ty| self.push(name, ty, is_param));
        Ok(())
    }

    fn push(&mut self, name: Option<Name<'a>>, ty: ValType<'a>, is_param: bool) {
        let number = self.all.len();
        if let Some(name) = name {
            self.named.entry(name.key().into_owned()).or_insert(number);
        }
        let index = name.map_or_else(|| number.to_string(), |name| name.text.to_string());
        self.all.push(Local {
            index,
            ty,
            is_param,
            is_captured: false,
            is_boxed: false,
            field: 0,
            is_set: is_param,
            box_local: String::new(),
        });
    }

    fn number(&self, text: &str) -> Option<usize> {
        match text.starts_with('$') {
            true => self.named.get(&*Name { text, at: 0 }.key()).copied(),
            false => number(text).filter(|&number| number < self.all.len()),
        }
    }

    /// The local with this name or index.
    pub fn find(&self, text: &str) -> Option<&Local<'a>> {
        self.number(text).map(|number| &self.all[number])
    }

    /// The local with this name or index, or an error.
    pub fn get(&self, text: &str, at: usize) -> Result<&Local<'a>> {
        self.find(text).ok_or_else(|| {
            let message = format!("unknown local: there is no local `{text}`");
            Error { offset: at, message, invalid: !text.starts_with('$') }
        })
    }

    /// The local with this name or index, which must hold a stackref.
    pub fn stackref(&self, text: &str, at: usize, word: &str) -> Result<&Local<'a>> {
        let local = self.get(text, at)?;
        if is_stackref(local.ty) {
            return Ok(local);
        }
        let message =
            format!("type mismatch: `{word}` works on a stackref, but `{text}` has another type");
        Err(Error::invalid(at, message))
    }

    /// Decides where the locals are stored.
    pub fn survey(&mut self, tree: &Tree<'a>, shape: &Shape<'a>) {
        for step in &shape.steps {
            let (index, word) = match step.what {
                StepKind::Instruction(instruction) if instruction.word.starts_with("local.") => {
                    (tree.text(instruction.keyword + 1), instruction.word)
                }
                StepKind::Open(block) => match &shape.blocks[block] {
                    Block { kind: BlockKind::Redirect, index: Some(index), .. } => (index.text, ""),
                    _ => continue,
                },
                _ => continue,
            };
            let Some(number) = self.number(index) else { continue };
            let local = &mut self.all[number];
            local.is_boxed |= word.is_empty();
            local.is_captured |= step.part != 0;
            local.is_set |= word == "local.set_cleared";
        }
        let captured = self.all.iter_mut().filter(|local| local.is_captured);
        captured.enumerate().for_each(|(field, local)| local.field = field);
    }
}

impl<'a> Local<'a> {
    pub fn is_non_null(&self) -> bool {
        match self.ty.kind {
            ValKind::Word(_) => false,
            ValKind::Ref { nullable, .. } => !nullable,
            ValKind::Verbatim(text) => !text.contains("null"),
        }
    }

    /// The type of its field in an environment. A local without a default is nullable there, and
    /// null before it is set.
    pub fn field_type(&self, lowering: &Lowering<'a, '_>) -> String {
        match self.ty.kind {
            ValKind::Ref { nullable: false, heap } if !self.is_param => {
                let kind = ValKind::Ref { nullable: true, heap };
                lowering.ty(ValType { kind, ..self.ty })
            }
            _ => lowering.ty(self.ty),
        }
    }

    /// The initial value of its field in an environment.
    pub fn first_value(&self, lowering: &Lowering<'a, '_>) -> String {
        match self.ty.kind {
            ValKind::Ref { nullable: false, heap } if !self.is_param => match heap {
                HeapType::Type(name) => format!("(ref.null {})", name.text),
                HeapType::Word(word, _) => format!("(ref.null {})", lowering.heap_word(word)),
            },
            _ => format!("(local.get {})", self.index),
        }
    }
}
