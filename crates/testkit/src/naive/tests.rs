//! The worked examples of the specification.

pub mod builders;
mod capacity;
mod cycles;
mod gang_and_queues;
mod gangs_by_measure;
mod node_filters;
mod node_scores;
mod together;
