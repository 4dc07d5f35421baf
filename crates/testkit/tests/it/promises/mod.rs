//! Places that are kept for jobs that wait (spec/12): a cycle is that of a plain list of events.

mod by_hand;
mod plain;
