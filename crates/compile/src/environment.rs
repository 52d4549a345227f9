//! What translating a function needs to know about its module and machine.

use crate::target::Target;
use ropewalk_abi::InstanceLayout;
use ropewalk_abi::module::ModuleInfo;
use std::ops::Deref;

/// The module that a function belongs to, and the machine it is compiled for.
pub(crate) struct Environment<'a> {
    pub info: &'a ModuleInfo,
    pub layout: &'a InstanceLayout,
    target: &'a Target,
}

impl<'a> Environment<'a> {
    pub fn new(info: &'a ModuleInfo, layout: &'a InstanceLayout, target: &'a Target) -> Self {
        Environment { info, layout, target }
    }
}

impl Deref for Environment<'_> {
    type Target = Target;

    fn deref(&self) -> &Target {
        self.target
    }
}
