//! A file each: what the columns of a format mean.

pub mod alibaba_2020;
pub mod alibaba_2023;
pub mod helios;
pub mod philly;
pub mod pumice;
pub mod swf;
