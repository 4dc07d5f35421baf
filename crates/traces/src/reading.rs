//! A whole trace, in the format that is named or that its text shows.

use crate::format::TraceFormat;
use crate::formats;
use crate::intake::{TraceIntake, TraceReading};
use crate::problem::TraceProblem;

/// Reads a trace; in this format, or in the one its text shows.
///
/// # Errors
/// The text is of no format, lacks a column, or has no row that can be used.
pub fn read_trace(
    file: &str,
    text: &str,
    format: Option<TraceFormat>,
) -> Result<TraceReading, TraceProblem> {
    let shown = TraceFormat::of(file, text);
    let format = match format {
        Some(format) => format,
        None => shown?,
    };
    let mut intake = TraceIntake::new(file);
    match format {
        TraceFormat::Pumice => formats::pumice::read(text, &mut intake)?,
        TraceFormat::Alibaba2020 => formats::alibaba_2020::read(text, &mut intake)?,
        TraceFormat::Alibaba2023 => formats::alibaba_2023::read(text, &mut intake)?,
        TraceFormat::Philly => formats::philly::read(text, &mut intake)?,
        TraceFormat::Helios | TraceFormat::Acme => formats::helios::read(text, &mut intake)?,
        TraceFormat::Swf => formats::swf::read(text, &mut intake),
    }
    intake.finish(format)
}
