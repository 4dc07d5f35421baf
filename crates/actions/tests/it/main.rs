//! Actions, the kernel and transactions from outside, each against a rule written plainly.

mod kernel;
mod shuffle;
mod transaction;
