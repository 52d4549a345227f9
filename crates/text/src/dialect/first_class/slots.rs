//! Instructions on locals, globals and tables.

use super::super::instruction::Instruction;
use super::super::module::Slot;
use super::function::Function;
use super::locals::check_stackref;
use crate::fault::{Fault, Result};

impl<'a> Function<'_, 'a, '_> {
    /// `local.get`, `local.set`, `local.tee` of a local that is kept elsewhere.
    pub(super) fn local(&mut self, instruction: &mut Instruction<'a>, part: usize) {
        let tree = self.lowering.tree;
        let at = instruction.at(tree);
        let Some(local) = self.locals.find(tree.text(instruction.next)).cloned() else { return };
        let Some(place) = self.place(&local, part) else { return };
        instruction.next += 1;
        let get = format!("struct.get {}", place.field);
        if instruction.word == "local.get" {
            return match local.is_non_null() && !local.is_param {
                true => self.lowering.emit(instruction, &place.get(), Some("ref.as_non_null")),
                false => self.lowering.emit(instruction, &place.object, Some(&get)),
            };
        }
        let ty = self.lowering.ty(local.ty);
        let value = self.temporary(&ty, part, at);
        let set = place.set(&format!("(local.get {value})"));
        match instruction.word {
            "local.set" => {
                let set = format!("(local.set {value}) {} (local.get {value})", place.object);
                let last = format!("struct.set {}", place.field);
                self.lowering.emit(instruction, &set, Some(&last));
            }
            _ => {
                let last = format!("local.get {value}");
                let set = format!("(local.set {value}) {set}");
                self.lowering.emit(instruction, &set, Some(&last));
            }
        }
    }

    /// `local.get_clear` and `local.set_cleared`.
    pub(super) fn linear_local(
        &mut self,
        instruction: &mut Instruction<'a>,
        part: usize,
    ) -> Result<()> {
        let tree = self.lowering.tree;
        let (at, index_at) = (instruction.at(tree), tree.start(instruction.next));
        let index = instruction.index(tree, "a local")?;
        let local = self.locals.stackref(index, index_at, instruction.word)?.clone();
        let (stackref, null) = self.stackref();
        let (code, last) = match (instruction.word, self.place(&local, part)) {
            ("local.get_clear", None) => {
                (format!("(local.get {index}) {null}"), format!("local.set {index}"))
            }
            ("local.get_clear", Some(place)) => (
                format!("{} {} {null}", place.get(), place.object),
                format!("struct.set {}", place.field),
            ),
            (_, None) => {
                let check = self.check_cleared(&format!("(local.get {index})"), at);
                (check, format!("local.set {index}"))
            }
            (_, Some(place)) => {
                let value = self.temporary(&stackref, part, at);
                let check = self.check_cleared(&place.get(), at);
                let set = place.set(&format!("(local.get {value})"));
                (format!("(local.set {value}) {check} {set} {null}"), format!("local.set {value}"))
            }
        };
        self.lowering.emit(instruction, &code, Some(&last));
        Ok(())
    }

    /// `global.get_clear` and `global.set_cleared`.
    pub(super) fn global(&mut self, instruction: &mut Instruction<'a>) -> Result<()> {
        let tree = self.lowering.tree;
        let (at, index_at) = (instruction.at(tree), tree.start(instruction.next));
        let index = instruction.index(tree, "a global")?;
        let global = self.lowering.module.globals.index(index, index_at, "global")?;
        check_slot(global, index, index_at, instruction.word)?;
        let (_, null) = self.stackref();
        let get = format!("(global.get {index})");
        let code = match instruction.word {
            "global.get_clear" => format!("{get} {null}"),
            _ => self.check_cleared(&get, at),
        };
        self.lowering.emit(instruction, &code, Some(&format!("global.set {index}")));
        Ok(())
    }

    /// `table.get_clear` and `table.set_cleared`.
    pub(super) fn table(&mut self, instruction: &mut Instruction<'a>, part: usize) -> Result<()> {
        let tree = self.lowering.tree;
        let at = instruction.at(tree);
        let (index, index_at) = instruction.table(tree)?;
        let table = self.lowering.module.tables.index(index, index_at, "table")?;
        check_slot(table, index, index_at, instruction.word)?;
        let (stackref, null) = self.stackref();
        let i = self.temporary(if table.is_64 { "i64" } else { "i32" }, part, at);
        if instruction.word == "table.get_clear" {
            let code = format!("(local.tee {i}) (table.get {index}) (local.get {i}) {null}");
            self.lowering.emit(instruction, &code, Some(&format!("table.set {index}")));
            return Ok(());
        }
        let value = self.temporary(&stackref, part, at);
        let check = self.check_cleared(&format!("(table.get {index} (local.get {i}))"), at);
        let set = format!("(table.set {index} (local.get {i}) (local.get {value}))");
        let code = format!("(local.set {value}) (local.set {i}) {check} {set} {null}");
        self.lowering.emit(instruction, &code, Some(&format!("local.set {value}")));
        Ok(())
    }

    /// Traps unless what is in a slot is null.
    fn check_cleared(&mut self, slot: &str, at: usize) -> String {
        let (stackref, _) = self.stackref();
        let primitive = self.primitive("check_cleared", &format!(" (param {stackref})"), at);
        format!("(call {primitive} {slot})")
    }
}

fn check_slot(slot: &Slot<'_>, text: &str, at: usize, word: &str) -> Result<()> {
    match slot.ty {
        Some(ty) => check_stackref(ty, text, at, word),
        None => Err(Fault::invalid(at, format!("type mismatch: `{word}` works on a stackref"))),
    }
}
