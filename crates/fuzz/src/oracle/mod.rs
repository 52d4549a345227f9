//! What cases are judged by: the engine in other modes, and other engines.

pub mod modes;
