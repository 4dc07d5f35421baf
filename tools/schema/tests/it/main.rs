//! What is generated is what the types say. `UPDATE_EXPECT=1` writes it.

mod definitions;
mod fields;
