//! Moments as people write them.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::live::user::wrong;

/// Seconds of a day.
const DAY_S: i64 = 24 * 3600;

/// A moment: a day, RFC 3339, or so long before now; seconds since the epoch.
pub(super) fn second(text: &str, now: Timestamp, flag: &str) -> anyhow::Result<i64> {
    let said = || {
        wrong(format!(
            "{flag} {text}: this is no time\n  = help: write a day such as 2026-11-01, RFC 3339, or how long ago: 36h, 7d"
        ))
    };
    if let Some(days) = text
        .strip_suffix('d')
        .and_then(|days| days.parse::<u32>().ok())
    {
        return Ok(now.as_second().saturating_sub(i64::from(days) * DAY_S));
    }
    if let Ok(date) = text.parse::<Date>()
        && text.len() == "2026-11-01".len()
    {
        let at = date.to_zoned(TimeZone::UTC).map_err(|_| said())?;
        return Ok(at.timestamp().as_second());
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at.as_second());
    }
    let nanos = pumice_units::duration::parse_go_duration(text).map_err(|_| said())?;
    let ago = SignedDuration::from_nanos(nanos);
    let at = now.checked_sub(ago).map_err(|_| said())?;
    match nanos < 0 {
        true => Err(said()),
        false => Ok(at.as_second()),
    }
}

/// As RFC 3339 writes it.
pub(super) fn written(at_s: i64) -> String {
    Timestamp::from_second(at_s).map_or_else(|_| String::new(), |at| at.to_string())
}
