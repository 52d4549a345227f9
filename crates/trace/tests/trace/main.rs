//! Traces: their files, what they mean, and their views.

mod common;

mod browser;
mod chrome;
mod file;
mod svg;
mod timeline;
