//! Open files: descriptors, directories, streams in memory, and opening paths.

pub(crate) mod descriptor;
pub(crate) mod descriptor_table;
pub(crate) mod directory;
pub(crate) mod file_times;
pub(crate) mod open;
pub(crate) mod origin;
pub(crate) mod pipe;
