//! Questions to small clusters, and whether what is planned is what then happens.

mod asking;
mod questions;
mod when;
