//! Ascend NPUs, as MindCluster virtualises them (spec/05 §2); those of HAMi are in `hami::ascend`.

pub mod mindcluster;

#[cfg(test)]
mod tests;
