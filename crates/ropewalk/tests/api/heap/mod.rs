//! The garbage-collected heap, and references that the host holds.

mod collector;
mod references;
