//! What translating a function needs to know about its module and machine.

use crate::design::thunk::Thunk;
use crate::design::{Canonical, Operations, STACK_BRAND, Subtyping};
use crate::handlers::{ClauseList, Numbered, has_continuations};
use crate::target::Target;
use ropewalk_abi::heap::ObjectLayout;
use ropewalk_abi::module::ModuleInfo;
use ropewalk_abi::{HeapType, InstanceLayout, RefType, SubType, ValType};
use std::ops::Deref;

/// What is known of the reserved imports of a module.
pub(crate) struct Reserved {
    pub operations: Operations,
    /// The numbers of its clause lists.
    pub lists: Numbered<ClauseList>,
    pub thunks: Numbered<Thunk>,
    pub canonical: Canonical,
}

/// The module that a function belongs to, and the machine it is compiled for.
pub(crate) struct Environment<'a> {
    pub info: &'a ModuleInfo,
    pub layout: &'a InstanceLayout,
    /// The layout of the objects that each type describes.
    pub objects: Vec<ObjectLayout>,
    /// The reserved imports.
    pub operations: Operations,
    /// The numbers of the clause lists.
    pub lists: Numbered<ClauseList>,
    /// Where the stacks of reserved imports begin.
    pub thunks: Numbered<Thunk>,
    /// Whether it has continuation types.
    pub has_continuations: bool,
    /// Which of its types are equal.
    pub canonical: Canonical,
    /// Which of its types are the reserved one of first-class stacks.
    stackrefs: Vec<bool>,
    /// Whether any is.
    pub has_stackrefs: bool,
    /// For each defined function how much it does, if that is so [little](crate::brief) that it
    /// need not look whether it is to stop when it begins. Empty if nobody asks.
    pub brief: Vec<Option<usize>>,
    target: &'a Target,
}

impl<'a> Environment<'a> {
    pub fn new(
        info: &'a ModuleInfo,
        layout: &'a InstanceLayout,
        reserved: Reserved,
        target: &'a Target,
    ) -> Self {
        let Reserved { operations, lists, thunks, canonical } = reserved;
        let layout_of = |ty: &SubType| ObjectLayout::of(&ty.composite, |ty| info.type_kind(ty));
        let objects = info.types.iter().map(layout_of).collect();
        let subtyping = Subtyping { info, canonical: &canonical };
        let is_stackref = |index| {
            let ty = RefType { nullable: true, heap: HeapType::Concrete(index) };
            subtyping.is_brand(ValType::Ref(ty), STACK_BRAND)
        };
        let stackrefs: Vec<bool> = match has_continuations(info) {
            true => (0..info.types.len() as u32).map(is_stackref).collect(),
            false => Vec::new(),
        };
        let has_stackrefs = stackrefs.contains(&true);
        let has_continuations = has_continuations(info);
        Environment {
            info,
            layout,
            objects,
            operations,
            lists,
            thunks,
            has_continuations,
            canonical,
            stackrefs,
            has_stackrefs,
            brief: Vec::new(),
            target,
        }
    }

    /// Whether values of a type are listed at the calls during which they are needed: the
    /// collector follows them, or they are functions and all pointers are listed.
    pub fn is_listed(&self, ty: ValType) -> bool {
        match self.snapshots {
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

    /// How the module's types relate.
    pub fn subtyping(&self) -> Subtyping<'_> {
        Subtyping { info: self.info, canonical: &self.canonical }
    }

    /// How many supertypes a type has.
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
