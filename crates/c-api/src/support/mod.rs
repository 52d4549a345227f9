//! What all functions of the interface share: the boundary to C, errors, vectors, strings.

pub(crate) mod boundary;
pub(crate) mod c_string;
pub(crate) mod error;
pub(crate) mod host_info;
pub(crate) mod owned;
pub(crate) mod vector;
