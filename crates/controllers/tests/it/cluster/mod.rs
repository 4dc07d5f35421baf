//! A cluster in memory: a small API server, kubelets, and a world that runs controllers against them.
#![allow(clippy::panic)]

mod alone;
mod kubelet;
mod server;
mod world;

pub use alone::Alone;
pub use kubelet::Dice;
pub use server::{ApiServer, merge, refusal, seconds};
pub use world::World;
