//! The wire types from outside.

mod wire;
