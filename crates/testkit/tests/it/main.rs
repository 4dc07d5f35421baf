//! Fast code against plain code on random clusters, and the repository against its own rules.

mod deploy;
mod fast_equals_naive;
mod fuzz_corpora;
mod incremental_equals_fresh;
mod kubelet;
mod network_domains;
mod past_use;
mod plans_come_true;
mod plans_that_evict;
mod promises;
mod run;
mod starts_come_true;
mod workspace;
