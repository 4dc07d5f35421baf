//! A small API server in memory, and a world that runs controllers against it: for every test of a
//! controller. Used as `#[path = "../common/mod.rs"] mod common;`.
#![allow(dead_code, unused_imports, clippy::panic)]

mod kubelet;
mod server;
mod world;

pub use kubelet::Dice;
pub use server::{ApiServer, merge, refusal, seconds};
pub use world::World;
