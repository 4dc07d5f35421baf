//! Fuzz targets of what reads texts that anybody may write; `fuzz/run` runs them.

pub mod decoders;
