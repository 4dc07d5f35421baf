//! Amounts as Kubernetes and Go write them: [`quantity`] (`500m`, `1.5Gi`) and [`duration`]
//! (`1h30m`), as exact numbers.
//!
//! This is the ground floor: it depends on no crate of Pumice and on no type of Kubernetes, so that
//! the pure core does not wait for these to be compiled.

pub mod duration;
pub mod quantity;
