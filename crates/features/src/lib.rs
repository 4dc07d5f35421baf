//! No code: which features packages have that several others bring in.
//!
//! Cargo gives a package the features that all crates of one build ask for. So that a build of one
//! crate, of README's first command and of all tests compile the same packages, and so each of them
//! once, what differs between them is asked for here, below all crates.
