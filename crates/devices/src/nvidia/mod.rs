//! NVIDIA cards: the families that hand them out, and what they have in common.

pub mod config;
pub mod gpushare;
mod indices;
pub mod product;
pub mod type_list;
pub mod vgpu;
