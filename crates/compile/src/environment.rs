//! What translating a function needs to know about its module and machine.

use crate::target::Target;
use ropewalk_abi::heap::ObjectLayout;
use ropewalk_abi::module::ModuleInfo;
use ropewalk_abi::{InstanceLayout, SubType};
use std::ops::Deref;

/// The module that a function belongs to, and the machine it is compiled for.
pub(crate) struct Environment<'a> {
    pub info: &'a ModuleInfo,
    pub layout: &'a InstanceLayout,
    /// The layout of the objects that each type describes.
    pub objects: Vec<ObjectLayout>,
    target: &'a Target,
}

impl<'a> Environment<'a> {
    pub fn new(info: &'a ModuleInfo, layout: &'a InstanceLayout, target: &'a Target) -> Self {
        let layout_of = |ty: &SubType| ObjectLayout::of(&ty.composite, |ty| info.type_kind(ty));
        let objects = info.types.iter().map(layout_of).collect();
        Environment { info, layout, objects, target }
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
