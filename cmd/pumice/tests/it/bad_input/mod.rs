//! Bad input through the real binary: the message names place and remedy, and whatever is not
//! broken is scheduled all the same.

mod configuration;
mod flags;
mod jobs;
mod large;
mod objects;
mod odd;
mod refused;
mod run;
mod sources;
mod victims;
