//! Devices for claims: expressions, and the search against an enumeration.

mod enumeration;
mod functions;
mod selectors;
mod times;
