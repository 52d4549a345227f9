//! The garbage-collected heap, and references in the host's hands.

mod collector;
mod references;
