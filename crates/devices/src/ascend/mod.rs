//! NPUs of Huawei Ascend (spec/05).

pub mod mindcluster;
