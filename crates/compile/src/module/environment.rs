//! The data of the module and of the target that the translation of a function uses.

use super::clause_list::{ClauseList, Numbered};
use super::subtyping::{Canonical, STACK_BRAND, Subtyping};
use crate::target::Target;
use ropewalk_abi::heap::ObjectLayout;
use ropewalk_abi::module::ModuleInfo;
use ropewalk_abi::{HeapType, InstanceLayout, RefType, SubType, ValType};
use std::ops::Deref;

/// The module that a function belongs to, and the target.
pub(crate) struct Environment<'a> {
    pub info: &'a ModuleInfo,
    pub layout: &'a InstanceLayout,
    /// The layouts of objects, by type.
    pub objects: Vec<ObjectLayout>,
    pub clause_lists: &'a Numbered<ClauseList>,
    canonical: &'a Canonical,
    /// Whether functions of the module can switch stacks.
    pub can_switch: bool,
    /// Whether each type is the reserved type of first-class stacks. Empty if the module has none.
    stackrefs: Vec<bool>,
    pub has_stackrefs: bool,
    /// The work of each defined function that is bounded and need not poll for interruption on entry.
    /// Empty if functions do not poll.
    pub bounded_work: Vec<Option<usize>>,
    target: &'a Target,
}

impl<'a> Environment<'a> {
    pub fn new(
        info: &'a ModuleInfo,
        layout: &'a InstanceLayout,
        clause_lists: &'a Numbered<ClauseList>,
        canonical: &'a Canonical,
        can_switch: bool,
        target: &'a Target,
    ) -> Self {
        let layout_of = |ty: &SubType| ObjectLayout::of(&ty.composite, |ty| info.type_kind(ty));
        let subtyping = Subtyping { info, canonical };
        let is_stackref = |index| {
            let ty = RefType { nullable: true, heap: HeapType::Concrete(index) };
            subtyping.is_brand(ValType::Ref(ty), STACK_BRAND)
        };
        let stackrefs: Vec<bool> = match can_switch {
            true => (0..info.types.len() as u32).map(is_stackref).collect(),
            false => Vec::new(),
        };
        Environment {
            info,
            layout,
            objects: info.types.iter().map(layout_of).collect(),
            clause_lists,
            canonical,
            can_switch,
            has_stackrefs: stackrefs.contains(&true),
            stackrefs,
            bounded_work: Vec::new(),
            target,
        }
    }

    /// Whether stack maps list values of a type: the collector follows them, or they are functions
    /// and all pointers are listed.
    pub fn is_listed(&self, ty: ValType) -> bool {
        match self.modes.snapshots {
            true => matches!(ty, ValType::Ref(_)),
            false => self.info.is_collected(ty),
        }
    }

    /// Whether values of a type are first-class stacks.
    pub fn is_stackref(&self, ty: ValType) -> bool {
        match ty {
            ValType::Ref(RefType { heap: HeapType::Concrete(index), .. }) => {
                self.has_stackrefs && self.stackrefs[index as usize]
            }
            _ => false,
        }
    }

    /// The subtype relation of the module.
    pub fn subtyping(&self) -> Subtyping<'_> {
        Subtyping { info: self.info, canonical: self.canonical }
    }

    pub fn type_depth(&self, ty: u32) -> usize {
        let supertype = |ty: &u32| self.info.types[*ty as usize].supertype;
        std::iter::successors(supertype(&ty), supertype).count()
    }
}

impl Deref for Environment<'_> {
    type Target = Target;

    fn deref(&self) -> &Target {
        self.target
    }
}
