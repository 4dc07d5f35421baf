//! YAML text to a tree in which every value knows its place.
//!
//! ```text
//! text ─► tree::documents ─► Node (place, style, tag) ─► scalar::resolve ─► null, bool, int, float, text
//!                              └─► Origin ─► Excerpt: line, column and the line of text, for messages
//! ```
//!
//! A deserializer gives values and one error; whoever reads what people wrote needs the place of
//! every key, all problems in one pass, and scalars as YAML 1.1 types them, which is what Go
//! programs read. A [`tree::Budget`] bounds what a text may become. [`TextOrigin`] leads from a text
//! that is a scalar of another file (a configuration inside a ConfigMap) to the place in that file.

mod origin;

pub mod node;
pub mod scalar;
pub mod tree;

pub use origin::{Excerpt, TextOrigin};

#[cfg(test)]
mod tests;
