//! What all emitted code shares: that of functions, of thunks and of trampolines.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`record`] | the records of `abi`, field by field |
//! | [`transfer`] | putting values into the transfer area, and taking them out |
//! | [`carry`] | values that travel in registers when stacks are switched |
//! | [`same_image`] | referring to other code of the same image |

pub(crate) mod carry;
pub(crate) mod record;
pub(crate) mod same_image;
pub(crate) mod transfer;
