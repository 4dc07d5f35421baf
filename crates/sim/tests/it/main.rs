//! Simulations from manifests to the report, as a user of the library runs them.

mod compatibility;
mod no_input_panics;
mod numa;
mod run;
mod storage;
mod tenants;
mod workloads;
