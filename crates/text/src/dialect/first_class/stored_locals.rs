//! Lowers standard instructions on locals that are stored in a struct.

use super::function::Function;
use crate::dialect::source::Instruction;

impl<'a> Function<'_, 'a, '_> {
    /// `local.get`, `local.set` and `local.tee` of a local that is stored in a struct.
    pub(super) fn local(&mut self, instruction: &mut Instruction<'a>, part: usize) {
        let tree = self.lowering.tree;
        let at = instruction.at(tree);
        let Some(local) = self.locals.find(tree.text(instruction.next)).cloned() else { return };
        let Some(place) = self.stored_local(&local, part) else { return };
        instruction.next += 1;
        let get = format!("struct.get {}", place.field);
        if instruction.word == "local.get" {
            return match local.is_non_null() && !local.is_param {
                true => self.lowering.emit(instruction, &place.get(), Some("ref.as_non_null")),
                false => self.lowering.emit(instruction, &place.object, Some(&get)),
            };
        }
        let ty = self.lowering.ty(local.ty);
        let value = self.temporary("value", &ty, part, at);
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
}
