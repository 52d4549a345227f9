//! Instructions on *places*: locals, globals, elements of tables, fields of structs and elements of
//! arrays that hold a nullable reference.
//!
//! `get_clear` moves a reference out of a place and leaves null. `set_cleared` fills an empty
//! place, and traps if it is full. `is_cleared` tests whether it is empty. Only these instructions
//! work on a `stackref`; they also work on all other nullable references.

use super::function::Function;
use super::is_stackref;
use crate::dialect::definitions::{Module, Slot, TypeKind};
use crate::dialect::source::{Instruction, Name, ValType};
use crate::error::{Error, Result};

pub(crate) fn is_place_word(word: &str) -> bool {
    let verb = word.split_once('.').map_or("", |(_, verb)| verb);
    matches!(verb, "get_clear" | "set_cleared" | "is_cleared") || word == "table.grow_cleared"
}

/// A place, and the standard instructions that read and write it.
struct ReferencePlace<'a> {
    ty: ValType<'a>,
    null: String,
    /// The instructions, `table.get $t` and `table.set $t`.
    get: String,
    set: String,
    /// The operands that select the place: their purpose and their types.
    operands: Vec<(&'static str, String)>,
    /// The object that contains it, with a leading space, if it is not an operand.
    object: String,
}

impl<'a> Function<'_, 'a, '_> {
    /// Lowers an instruction on a place.
    pub(super) fn on_place(
        &mut self,
        instruction: &mut Instruction<'a>,
        part: usize,
    ) -> Result<()> {
        let (sort, action) = instruction.word.split_once('.').unwrap_or_default();
        if action == "grow_cleared" {
            return self.grow_cleared(instruction, part);
        }
        let place = match sort {
            "local" => self.local_place(instruction, part),
            "global" => self.global_place(instruction),
            "table" => self.table_place(instruction),
            "struct" => self.field_place(instruction),
            _ => self.element_place(instruction),
        }?;
        match action {
            "get_clear" => self.get_clear(instruction, &place, part),
            "set_cleared" => self.set_cleared(instruction, &place, part),
            _ => self.is_cleared(instruction, &place),
        }
        Ok(())
    }

    fn get_clear(
        &mut self,
        instruction: &Instruction<'a>,
        place: &ReferencePlace<'a>,
        part: usize,
    ) {
        let ReferencePlace { null, get, set, object, .. } = place;
        let operands = self.put_aside(place, instruction, part);
        let (keep, again) = (keep(&operands), again(&operands));
        let code = format!("{keep}({get}{object}){object}{again} {null}");
        self.lowering.emit(instruction, &code, Some(set));
    }

    /// If the place has operands below the value, the value is stored in a local first.
    fn set_cleared(
        &mut self,
        instruction: &Instruction<'a>,
        place: &ReferencePlace<'a>,
        part: usize,
    ) {
        let ReferencePlace { null, get, set, object, .. } = place;
        let at = instruction.at(self.lowering.tree);
        let ty = self.lowering.ty(place.ty);
        let check = self.primitive("check_cleared", &format!(" (param {ty})"), at);
        if place.operands.is_empty() && object.is_empty() {
            let check = format!("(call {check} ({get}))");
            return self.lowering.emit(instruction, &check, Some(set));
        }
        let value = self.temporary("value", &ty, part, at);
        let operands = self.put_aside(place, instruction, part);
        let again = again(&operands);
        let code = format!(
            "(local.set {value}) {}(call {check} ({get}{object}{again})) \
             ({set}{object}{again} (local.get {value})) {null}",
            aside(&operands)
        );
        self.lowering.emit(instruction, &code, Some(&format!("local.set {value}")));
    }

    /// `ref.is_null` would consume the stack, and so free it.
    fn is_cleared(&mut self, instruction: &Instruction<'a>, place: &ReferencePlace<'a>) {
        let at = instruction.at(self.lowering.tree);
        let ask = match is_stackref(place.ty) {
            false => "ref.is_null".to_string(),
            true => {
                let ty = format!(" (param {}) (result i32)", self.lowering.ty(place.ty));
                format!("call {}", self.primitive("is_cleared", &ty, at))
            }
        };
        let read = format!("({}{})", place.get, place.object);
        self.lowering.emit(instruction, &read, Some(&ask));
    }

    /// `table.grow_cleared $x`.
    fn grow_cleared(&mut self, instruction: &mut Instruction<'a>, part: usize) -> Result<()> {
        let tree = self.lowering.tree;
        let (index, at) = instruction.table(tree)?;
        let table = *self.lowering.module.tables.index(index, at, "table")?;
        let place = self.place(instruction, table, &format!("an element of `{index}`"), at)?;
        let n = self.temporary("index", index_type(table), part, instruction.at(tree));
        let code = format!("(local.set {n}) {} (local.get {n})", place.null);
        self.lowering.emit(instruction, &code, Some(&format!("table.grow {index}")));
        Ok(())
    }

    /// Temporary locals for the operands that select a place.
    fn put_aside(
        &mut self,
        place: &ReferencePlace<'a>,
        instruction: &Instruction<'a>,
        part: usize,
    ) -> Vec<String> {
        let at = instruction.at(self.lowering.tree);
        place.operands.iter().map(|(what, ty)| self.temporary(what, ty, part, at)).collect()
    }

    fn local_place(
        &mut self,
        instruction: &mut Instruction<'a>,
        part: usize,
    ) -> Result<ReferencePlace<'a>> {
        let tree = self.lowering.tree;
        let at = tree.start(instruction.next);
        let index = instruction.index(tree, "a local")?;
        let local = self.locals.get(index, at)?.clone();
        let slot = Slot { ty: Some(local.ty), is_mutable: true, is_64: false };
        let place = self.place(instruction, slot, &format!("`{index}`"), at)?;
        Ok(match self.stored_local(&local, part) {
            None => place.reached_by("local", index),
            Some(kept) => ReferencePlace {
                object: format!(" {}", kept.object),
                ..place.reached_by("struct", &kept.field)
            },
        })
    }

    fn global_place(&mut self, instruction: &mut Instruction<'a>) -> Result<ReferencePlace<'a>> {
        let tree = self.lowering.tree;
        let at = tree.start(instruction.next);
        let index = instruction.index(tree, "a global")?;
        let global = *self.lowering.module.globals.index(index, at, "global")?;
        let place = self.place(instruction, global, &format!("`{index}`"), at)?;
        Ok(place.reached_by("global", index))
    }

    fn table_place(&mut self, instruction: &mut Instruction<'a>) -> Result<ReferencePlace<'a>> {
        let (index, at) = instruction.table(self.lowering.tree)?;
        let table = *self.lowering.module.tables.index(index, at, "table")?;
        let place = self.place(instruction, table, &format!("an element of `{index}`"), at)?;
        let operands = vec![("index", index_type(table).to_string())];
        Ok(ReferencePlace { operands, ..place.reached_by("table", index) })
    }

    fn field_place(&mut self, instruction: &mut Instruction<'a>) -> Result<ReferencePlace<'a>> {
        let tree = self.lowering.tree;
        let name = instruction.name(tree, "a struct type")?;
        let TypeKind::Struct(fields) = &self.lowering.module.ty(name)?.kind else {
            return Err(no_such_type(self.lowering.module, name, "a struct type"));
        };
        let at = tree.start(instruction.next);
        let index = instruction.index(tree, "a field")?;
        let field = *fields.index(index, at, "field")?;
        let place = self.place(instruction, field, &format!("the field `{index}`"), at)?;
        let operands = vec![object(name)];
        Ok(ReferencePlace {
            operands,
            ..place.reached_by("struct", &format!("{} {index}", name.text))
        })
    }

    fn element_place(&mut self, instruction: &mut Instruction<'a>) -> Result<ReferencePlace<'a>> {
        let name = instruction.name(self.lowering.tree, "an array type")?;
        let TypeKind::Array(element) = self.lowering.module.ty(name)?.kind else {
            return Err(no_such_type(self.lowering.module, name, "an array type"));
        };
        let what = format!("an element of `{}`", name.text);
        let place = self.place(instruction, element, &what, name.at)?;
        let operands = vec![object(name), ("index", "i32".to_string())];
        Ok(ReferencePlace { operands, ..place.reached_by("array", name.text) })
    }

    /// Checks that an instruction can use a place; `what` describes it in errors.
    fn place(
        &self,
        instruction: &Instruction<'a>,
        slot: Slot<'a>,
        what: &str,
        at: usize,
    ) -> Result<ReferencePlace<'a>> {
        let word = instruction.word;
        let Some(ty) = slot.ty else {
            let message = format!("type mismatch: `{word}` works on a nullable reference");
            return Err(Error::invalid(at, message));
        };
        let Some(null) = self.lowering.null(ty) else {
            let message = format!(
                "type mismatch: `{word}` works on a nullable reference, but {what} is of type \
                 `{ty}`"
            );
            return Err(Error::invalid(at, message));
        };
        if !slot.is_mutable && !word.ends_with(".is_cleared") {
            let sort = match word.split_once('.') {
                Some(("struct", _)) => "field",
                Some((sort, _)) => sort,
                None => "",
            };
            let message =
                format!("immutable {sort}: `{word}` writes to {what}, which is not `mut`");
            return Err(Error::invalid(at, message));
        }
        let (get, set, object) = (String::new(), String::new(), String::new());
        Ok(ReferencePlace { ty, null, get, set, operands: Vec::new(), object })
    }
}

impl ReferencePlace<'_> {
    /// Sets the instructions of a sort, with these immediates, as those of the place.
    fn reached_by(self, sort: &str, immediates: &str) -> Self {
        let instruction = |action| format!("{sort}.{action} {immediates}");
        ReferencePlace { get: instruction("get"), set: instruction("set"), ..self }
    }
}

fn object(ty: Name<'_>) -> (&'static str, String) {
    ("object", format!("(ref null {})", ty.text))
}

fn index_type(table: Slot<'_>) -> &'static str {
    if table.is_64 { "i64" } else { "i32" }
}

/// Pops operands into locals, the last one first.
fn aside(operands: &[String]) -> String {
    operands.iter().rev().map(|operand| format!("(local.set {operand}) ")).collect()
}

/// Pushes operands from locals.
fn again(operands: &[String]) -> String {
    operands.iter().map(|operand| format!(" (local.get {operand})")).collect()
}

/// Copies operands into locals.
fn keep(operands: &[String]) -> String {
    match operands {
        [] => String::new(),
        [first, rest @ ..] => {
            let again = again(rest);
            format!("{}(local.tee {first}){again} ", aside(rest))
        }
    }
}

/// The error for a type of the wrong sort.
fn no_such_type(module: &Module<'_>, name: Name<'_>, expected: &str) -> Error {
    let found = module.ty(name).map_or("no type", |ty| ty.kind.describe());
    let message = format!("type mismatch: expected {expected}, but `{}` is {found}", name.text);
    Error::invalid(name.at, message)
}
