//! Times and durations as traces write them.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use pumice_units::duration::parse_go_duration;

use crate::problem::RowFault;

/// Seconds: a number of them, `2020-06-09 18:41:01` (read as UTC), or the same with an offset.
pub fn time_s(name: &str, text: &str) -> Result<i64, RowFault> {
    // From the year -9999 to 9999.
    const MAX_TIME_S: f64 = 2.5e11;
    if let Ok(number) = text.parse::<f64>()
        && number.abs() < MAX_TIME_S
    {
        return Ok(number.floor() as i64);
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time.as_second());
    }
    let civil = text.parse::<DateTime>();
    let zoned = civil.and_then(|time| time.to_zoned(TimeZone::UTC));
    zoned.map(|time| time.timestamp().as_second()).map_err(|_| {
        let message = format!("{name} is {text:?}, which is no time");
        let help = "write seconds, or a time like 2026-01-31 12:00:00 or 2026-01-31T12:00:00Z";
        RowFault::new(message, help)
    })
}

/// How long a job runs from one time to another; at least a second.
pub fn between_s((from, from_s): (&str, i64), (to, to_s): (&str, i64)) -> Result<i64, RowFault> {
    if to_s < from_s {
        let message = format!(
            "time runs backwards: {to} is {} s before {from}",
            from_s - to_s
        );
        return Err(RowFault::new(
            message,
            "correct the times, or remove the row",
        ));
    }
    Ok((to_s - from_s).max(1))
}

/// A duration that was told in seconds, in whole ones and at least one.
pub fn lasting_s(seconds: f64) -> i64 {
    (seconds.ceil() as i64).max(1)
}

/// Seconds of a duration as Go writes it: `720h`, `1h30m`.
///
/// # Errors
/// What is wrong with the text.
pub fn duration_s(text: &str) -> Result<i64, String> {
    let nanos = parse_go_duration(text).map_err(|error| error.to_string())?;
    match nanos {
        ..=0 => Err("it has to be longer than nothing".to_owned()),
        nanos => Ok(nanos.div_euclid(1_000_000_000)),
    }
}
