//! The five designs of stack switching, as the host sees and uses them.

mod bag;
mod clone;
mod continuations;
mod fibers;
mod first_class;
mod first_class_freeing;
mod from_host;
mod grounds;
mod host_continuations;
mod leaving;
mod limits;
mod permissions;
mod reserved_imports;
mod single_reserved_imports;
mod stack_handles;
mod tasks;
mod wrong_design;
