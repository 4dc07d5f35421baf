//! The real binary.

mod start;
