//! Modules: text and binaries, compiled files, linking, and modules that ask for too much.

mod bombs;
mod dwarf;
mod examples;
mod file_cache;
mod hostile;
mod lazy_checks;
mod linking;
mod memory_images;
mod precompiled;
