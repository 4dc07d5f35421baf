//! What the calendar and the clock show of a point in time, in UTC or in a time zone (spec/09 §3).

use cel::common::types::{CelInt, CelString};
use cel::{DeclarationError, Env, ExecutionError};
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZoneDatabase};

use super::failure::failed;
use super::times::TimestampValue;

/// A zone by its name, or its distance to UTC as in `-08:00`.
fn local(function: &str, one: &TimestampValue, zone: &str) -> Result<DateTime, ExecutionError> {
    let unknown = || failed(function, format!("{zone:?} is no time zone"));
    let east_s = match zone.split_once(':') {
        Some((hours, minutes)) => {
            let (Ok(whole), Ok(minutes)) = (hours.parse::<i16>(), minutes.parse::<i16>()) else {
                return Err(unknown());
            };
            let sign = if hours.starts_with('-') { -1 } else { 1 };
            i32::from(whole) * 3600 + sign * i32::from(minutes) * 60
        }
        None if zone.is_empty() => 0,
        None => {
            // Not the machine's zones: every replica decides alike.
            let zones = TimeZoneDatabase::bundled();
            let zone = zones.get(zone).map_err(|_| unknown())?;
            let at = Offset::UTC.to_timestamp(one.utc());
            let at = at.map_err(|error| failed(function, error.to_string()))?;
            zone.to_offset(at).seconds()
        }
    };
    one.at(east_s)
        .ok_or_else(|| failed(function, "the time is out of range".to_owned()))
}

/// Declares one part, without and with a zone.
macro_rules! part {
    ($env:ident, $name:literal, $id:literal, $part:expr) => {{
        fn in_utc(one: &TimestampValue) -> CelInt {
            let part: fn(DateTime) -> i64 = $part;
            CelInt::from(part(one.utc()))
        }
        fn in_zone(one: &TimestampValue, zone: &CelString<'_>) -> Result<CelInt, ExecutionError> {
            let part: fn(DateTime) -> i64 = $part;
            local($name, one, zone.inner()).map(|local| CelInt::from(part(local)))
        }
        cel::add_member_overload!($env, fn in_utc: (TimestampValue) -> CelInt,
            name = $name, id = concat!("timestamp_to_", $id))?;
        cel::add_member_overload!($env, fn in_zone: (TimestampValue, CelString) -> Result<CelInt>,
            name = $name, id = concat!("timestamp_to_", $id, "_with_tz"))?;
    }};
}

/// Declares `getFullYear` to `getMilliseconds` of a point in time; months and days count from 0, but for
/// `getDate`.
pub fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    part!(env, "getFullYear", "year", |at| at.year().into());
    part!(env, "getMonth", "month", |at| i64::from(at.month()) - 1);
    part!(env, "getDayOfYear", "day_of_year", |at| {
        i64::from(at.day_of_year()) - 1
    });
    part!(env, "getDayOfMonth", "day_of_month", |at| {
        i64::from(at.day()) - 1
    });
    part!(env, "getDate", "day_of_month_1_based", |at| at.day().into());
    part!(env, "getDayOfWeek", "day_of_week", |at| {
        at.weekday().to_sunday_zero_offset().into()
    });
    part!(env, "getHours", "hours", |at| at.hour().into());
    part!(env, "getMinutes", "minutes", |at| at.minute().into());
    part!(env, "getSeconds", "seconds", |at| at.second().into());
    part!(env, "getMilliseconds", "milliseconds", |at| {
        at.millisecond().into()
    });
    Ok(())
}
