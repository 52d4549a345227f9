//! Names the shared library as it is installed, for programs that are linked to it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libropewalk.so.0");
}
