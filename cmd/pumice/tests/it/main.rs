//! The real binary: what it prints and writes, and what it says when it cannot.

mod bad_input;
mod compare;
mod guide;
mod history;
mod live;
mod packing;
mod page;
mod page_text;
mod reference;
mod replay;
mod samples;
mod served;
mod traces;
