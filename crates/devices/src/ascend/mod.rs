//! Ascend NPUs, by the software that virtualises them (spec/05).

pub mod hami;
pub mod mindcluster;

#[cfg(test)]
mod tests;
