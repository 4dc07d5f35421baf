//! Actions, the kernel and transactions from outside, each against a rule written plainly.

mod check;
mod evicting;
mod kernel;
mod placing;
mod shuffle;
mod transaction;
