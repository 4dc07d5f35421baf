//! Makes what is generated from wire types, and holds it to them. For tests alone.

pub mod tracer;
