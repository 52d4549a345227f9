//! Reads a dialect module: its words and lists, names, types and instructions.

mod instruction;
mod name;
mod tree;
mod types;
mod word;

pub(crate) use instruction::{Instruction, numeric};
pub(crate) use name::{Name, Names};
pub(crate) use tree::{Node, Nodes, Tree};
pub(crate) use types::{
    HeapType, Signature, TypeWords, ValKind, ValType, abbreviated_heap_type, counted,
    list_of_types, mismatch, no_type, row,
};
pub(crate) use word::{Word, WordPlace, Words};
