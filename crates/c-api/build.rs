//! Sets the name under which programs load the shared library.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libropewalk.so.0");
}
