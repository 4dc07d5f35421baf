//! Does nothing: only for a package with a build script cargo looks at features of its build.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
