//! Durations and points in time, with Go's texts for them (spec/09 §3). Nothing here asks for the time.

use std::cmp::Ordering;

use cel::common::traits::{Adder, Comparer, Subtractor, Zeroer};
use cel::common::types::{CelInt, CelString, Type};
use cel::common::value::{CowVal, Val};
use cel::{DeclarationError, Env, ExecutionError};
use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, date};

use super::failure::failed;
use super::values::value;

static DURATION: Type = Type::new_unspecified_type("google.protobuf.Duration");
static TIMESTAMP: Type = Type::new_unspecified_type("google.protobuf.Timestamp");

/// The least and the greatest point in time.
const FIRST: DateTime = date(1, 1, 1).at(0, 0, 0, 0);
const LAST: DateTime = DateTime::MAX;
const EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);

/// A duration, of at most as many nanoseconds as `i64` has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DurationValue {
    nanoseconds: i64,
}

/// A point in time in the years 1 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimestampValue {
    utc: DateTime,
    /// Seconds to the east of UTC that it was written with, which `string()` keeps.
    east_s: i32,
}

value! { DurationValue, DURATION,
    fn equals(&self, other: &dyn Val) -> bool {
        other.downcast_ref::<Self>() == Some(self)
    }

    fn as_adder<'b, 'v>(&'b self) -> Option<&'b (dyn Adder + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn as_subtractor<'b, 'v>(&'b self) -> Option<&'b (dyn Subtractor + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn as_comparer(&self) -> Option<&dyn Comparer> {
        Some(self)
    }

    fn as_zeroer(&self) -> Option<&dyn Zeroer> {
        Some(self)
    }
}

value! { TimestampValue, TIMESTAMP,
    fn equals(&self, other: &dyn Val) -> bool {
        other.downcast_ref::<Self>().is_some_and(|other| other.utc == self.utc)
    }

    fn as_adder<'b, 'v>(&'b self) -> Option<&'b (dyn Adder + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn as_subtractor<'b, 'v>(&'b self) -> Option<&'b (dyn Subtractor + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn as_comparer(&self) -> Option<&dyn Comparer> {
        Some(self)
    }
}

impl DurationValue {
    fn of(nanoseconds: i128) -> Option<Self> {
        let nanoseconds = i64::try_from(nanoseconds).ok()?;
        Some(Self { nanoseconds })
    }

    /// Reads numbers with units, `1h30m` or `-1.5s`; `None` if it is no such text or too long.
    fn parse(text: &str) -> Option<Self> {
        let (sign, text) = match text.strip_prefix('-') {
            Some(text) => (-1, text),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        if text == "0" {
            return Self::of(0);
        }
        let (mut rest, mut sum) = (text, 0_i128);
        while !rest.is_empty() || text.is_empty() {
            let (number, behind) = rest.split_at(rest.find(|c| !is_of_number(c))?);
            let (unit, behind) = behind.split_at(behind.find(is_of_number).unwrap_or(behind.len()));
            sum = sum.checked_add(nanoseconds(number, unit)?)?;
            rest = behind;
        }
        Self::of(sign * sum)
    }
}

fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || c == '.'
}

/// Nanoseconds of a number with a unit; digits that are too small to count are passed over.
fn nanoseconds(number: &str, unit: &str) -> Option<i128> {
    /// More digits of a fraction than any unit has of nanoseconds.
    const DIGITS: usize = 18;
    let unit = match unit {
        "ns" => 1,
        // The sign for micro, and the Greek letter.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60 * 1_000_000_000,
        "h" => 3600 * 1_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || whole.len() + fraction.len() == 0 {
        return None;
    }
    let fraction = &fraction[..fraction.len().min(DIGITS)];
    let read = |digits: &str| match digits {
        "" => Some(0),
        digits => digits.parse::<u64>().ok().map(i128::from),
    };
    let part = read(fraction)? * unit / 10_i128.pow(fraction.len() as u32);
    Some(read(whole)? * unit + part)
}

impl Adder for DurationValue {
    fn add<'b, 'v>(&'b self, other: &(dyn Val + 'v)) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        if let Some(time) = other.downcast_ref::<TimestampValue>() {
            return answer("+", time.moved(i128::from(self.nanoseconds)));
        }
        match other.downcast_ref::<Self>() {
            Some(other) => {
                let sum = i128::from(self.nanoseconds) + i128::from(other.nanoseconds);
                answer("+", Self::of(sum))
            }
            None => Err(no_overload("+", self, other)),
        }
    }
}

impl Subtractor for DurationValue {
    fn sub<'b, 'v>(&'b self, other: &(dyn Val + 'v)) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        match other.downcast_ref::<Self>() {
            Some(other) => {
                let rest = i128::from(self.nanoseconds) - i128::from(other.nanoseconds);
                answer("-", Self::of(rest))
            }
            None => Err(no_overload("-", self, other)),
        }
    }
}

impl Comparer for DurationValue {
    fn compare(&self, other: &dyn Val) -> Result<Ordering, ExecutionError> {
        let known = other.downcast_ref::<Self>();
        let order = known.map(|known| self.nanoseconds.cmp(&known.nanoseconds));
        order.ok_or_else(|| no_overload("compare", self, other))
    }
}

impl Zeroer for DurationValue {
    fn is_zero_value(&self) -> bool {
        self.nanoseconds == 0
    }
}

impl TimestampValue {
    fn of(utc: DateTime, east_s: i32) -> Option<Self> {
        (FIRST..=LAST)
            .contains(&utc)
            .then_some(Self { utc, east_s })
    }

    /// Reads a time of RFC 3339; `None` if it is none.
    fn parse(text: &str) -> Option<Self> {
        let (local, rest) = text.split_at_checked("0000-00-00T00:00:00".len())?;
        let local: DateTime = local
            .parse()
            .ok()
            .filter(|_| is_like(local, "0000-00-00T00:00:00") && !local.ends_with("60"))?;
        let (digits, zone) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?),
            None => ("0", rest),
        };
        if digits.is_empty() {
            return None;
        }
        let kept = &digits[..digits.len().min(9)];
        let nanoseconds: i64 = format!("{kept:0<9}").parse().ok()?;
        let east_s = if zone == "Z" { 0 } else { east_s(zone)? };
        let more = SignedDuration::from_nanos(nanoseconds);
        let utc = local.checked_add(more - SignedDuration::from_secs(i64::from(east_s)));
        Self::of(utc.ok()?, east_s)
    }

    fn moved(self, nanoseconds: i128) -> Option<Self> {
        let by = SignedDuration::try_from_nanos_i128(nanoseconds)?;
        Self::of(self.utc.checked_add(by).ok()?, self.east_s)
    }

    fn seconds(self) -> i64 {
        let since = self.utc.duration_since(EPOCH);
        since.as_secs() - i64::from(since.subsec_nanos() < 0)
    }

    /// The calendar and clock in UTC.
    pub fn utc(self) -> DateTime {
        self.utc
    }

    /// The calendar and clock in a zone that lies so many seconds to the east of UTC.
    pub fn at(self, east_s: i32) -> Option<DateTime> {
        let east = SignedDuration::from_secs(i64::from(east_s));
        self.utc.checked_add(east).ok()
    }
}

/// Whether a text has digits where a pattern has zeros, and is like it elsewhere.
fn is_like(text: &str, pattern: &str) -> bool {
    let mut both = text.bytes().zip(pattern.bytes());
    text.len() == pattern.len()
        && both.all(|(b, like)| match like {
            b'0' => b.is_ascii_digit(),
            like => b == like,
        })
}

/// Seconds to the east that `+01:30` says.
fn east_s(zone: &str) -> Option<i32> {
    let digits = zone.strip_prefix(['+', '-'])?;
    let (hours, minutes) = digits
        .split_once(':')
        .filter(|_| is_like(digits, "00:00"))?;
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    let seconds = hours * 3600 + minutes * 60;
    let is_fine = hours <= 24 && minutes <= 60;
    is_fine.then_some(if zone.starts_with('-') {
        -seconds
    } else {
        seconds
    })
}

impl Adder for TimestampValue {
    fn add<'b, 'v>(&'b self, other: &(dyn Val + 'v)) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        match other.downcast_ref::<DurationValue>() {
            Some(other) => answer("+", self.moved(i128::from(other.nanoseconds))),
            None => Err(no_overload("+", self, other)),
        }
    }
}

impl Subtractor for TimestampValue {
    fn sub<'b, 'v>(&'b self, other: &(dyn Val + 'v)) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        if let Some(other) = other.downcast_ref::<DurationValue>() {
            return answer("-", self.moved(-i128::from(other.nanoseconds)));
        }
        match other.downcast_ref::<Self>() {
            Some(other) => {
                let between = self.utc.duration_since(other.utc);
                answer("-", DurationValue::of(between.as_nanos()))
            }
            None => Err(no_overload("-", self, other)),
        }
    }
}

impl Comparer for TimestampValue {
    fn compare(&self, other: &dyn Val) -> Result<Ordering, ExecutionError> {
        let known = other.downcast_ref::<Self>();
        let order = known.map(|known| self.utc.cmp(&known.utc));
        order.ok_or_else(|| no_overload("compare", self, other))
    }
}

fn answer<'b, 'v>(
    operator: &str,
    found: Option<impl Val + 'v>,
) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let found = found.map(|found| CowVal::owned(found));
    found.ok_or_else(|| failed(operator, "the result is out of range".to_owned()))
}

fn no_overload(operator: &str, one: &dyn Val, other: &dyn Val) -> ExecutionError {
    let (one, other) = (one.get_type().name(), other.get_type().name());
    failed(operator, format!("{one} and {other} do not go together"))
}

/// Whether a text is a date, `2021-01-01`.
pub fn is_date(text: &str) -> bool {
    is_like(text, "0000-00-00") && text.parse::<Date>().is_ok()
}

/// Whether a text is a date, `T`, and a time of day with the distance to UTC; letters may be small, and
/// what a second `T` divides off does not matter.
pub fn is_date_time(text: &str) -> bool {
    let mut parts = text.split(['T', 't']);
    let (date, time) = (parts.next().unwrap_or_default(), parts.next());
    let clock_and_rest = time.and_then(|time| time.split_at_checked("00:00:00".len()));
    let Some((clock, rest)) = clock_and_rest else {
        return false;
    };
    let is_clock = is_like(clock, "00:00:00") && clock < "24" && &clock[3..] < "60";
    let fraction = rest.strip_prefix(|c: char| !"zZ+-".contains(c));
    let zone = match fraction {
        Some(digits) => digits.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => rest,
    };
    let has_digits = fraction.is_none_or(|digits| digits.len() > zone.len());
    let is_zone = ["Z", "z"].contains(&zone) || is_like(zone, "+00:00") || is_like(zone, "-00:00");
    is_date(date) && is_clock && &clock[6..] < "60" && has_digits && is_zone
}

/// The text of a duration or a time; `None` of another value.
pub fn text_of(value: &dyn Val) -> Option<CelString<'static>> {
    let duration = value.downcast_ref().map(duration_text);
    duration.or_else(|| value.downcast_ref().map(timestamp_text))
}

/// Declares `duration`, `timestamp` and their functions, but for those of [`super::clock`].
pub fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_type(DURATION.to_owned())?;
    env.add_type(TIMESTAMP.to_owned())?;
    cel::add_overload!(env, fn duration_of: (CelString) -> Result<DurationValue>,
        name = "duration", id = "string_to_duration")?;
    cel::add_overload!(env, fn same_duration: (DurationValue) -> DurationValue,
        name = "duration", id = "duration_to_duration")?;
    cel::add_overload!(env, fn duration_text: (DurationValue) -> CelString,
        name = "string", id = "duration_to_string")?;
    cel::add_overload!(env, fn duration_number: (DurationValue) -> CelInt,
        name = "int", id = "duration_to_int64")?;
    cel::add_overload!(env, fn timestamp_of: (CelString) -> Result<TimestampValue>,
        name = "timestamp", id = "string_to_timestamp")?;
    cel::add_overload!(env, fn timestamp_of_seconds: (CelInt) -> Result<TimestampValue>,
        name = "timestamp", id = "int64_to_timestamp")?;
    cel::add_overload!(env, fn same_timestamp: (TimestampValue) -> TimestampValue,
        name = "timestamp", id = "timestamp_to_timestamp")?;
    cel::add_overload!(env, fn timestamp_text: (TimestampValue) -> CelString,
        name = "string", id = "timestamp_to_string")?;
    cel::add_overload!(env, fn timestamp_number: (TimestampValue) -> CelInt,
        name = "int", id = "timestamp_to_int64")?;
    cel::add_member_overload!(env, fn whole_hours: (DurationValue) -> CelInt,
        name = "getHours", id = "duration_to_hours")?;
    cel::add_member_overload!(env, fn whole_minutes: (DurationValue) -> CelInt,
        name = "getMinutes", id = "duration_to_minutes")?;
    cel::add_member_overload!(env, fn whole_seconds: (DurationValue) -> CelInt,
        name = "getSeconds", id = "duration_to_seconds")?;
    cel::add_member_overload!(env, fn whole_milliseconds: (DurationValue) -> CelInt,
        name = "getMilliseconds", id = "duration_to_milliseconds")?;
    Ok(())
}

fn duration_of(text: &CelString<'_>) -> Result<DurationValue, ExecutionError> {
    let read = DurationValue::parse(text.inner());
    read.ok_or_else(|| failed("duration", format!("{:?} is no duration", text.inner())))
}

fn same_duration(one: &DurationValue) -> DurationValue {
    *one
}

/// Seconds, `5400s` or `1.5s`.
fn duration_text(one: &DurationValue) -> CelString<'static> {
    let seconds = SignedDuration::from_nanos(one.nanoseconds).as_secs_f64();
    CelString::from(format!("{seconds}s"))
}

/// Nanoseconds.
fn duration_number(one: &DurationValue) -> CelInt {
    CelInt::from(one.nanoseconds)
}

fn whole_hours(one: &DurationValue) -> CelInt {
    CelInt::from(one.nanoseconds / 3_600_000_000_000)
}

fn whole_minutes(one: &DurationValue) -> CelInt {
    CelInt::from(one.nanoseconds / 60_000_000_000)
}

fn whole_seconds(one: &DurationValue) -> CelInt {
    CelInt::from(one.nanoseconds / 1_000_000_000)
}

fn whole_milliseconds(one: &DurationValue) -> CelInt {
    CelInt::from(one.nanoseconds / 1_000_000)
}

fn timestamp_of(text: &CelString<'_>) -> Result<TimestampValue, ExecutionError> {
    let read = TimestampValue::parse(text.inner());
    read.ok_or_else(|| failed("timestamp", format!("{:?} is no time", text.inner())))
}

/// A time by its seconds since 1970.
fn timestamp_of_seconds(seconds: &CelInt) -> Result<TimestampValue, ExecutionError> {
    let since = SignedDuration::from_secs(*seconds.inner());
    let utc = EPOCH.checked_add(since).ok();
    let read = utc.and_then(|utc| TimestampValue::of(utc, 0));
    read.ok_or_else(|| failed("timestamp", format!("{} is out of range", seconds.inner())))
}

fn same_timestamp(one: &TimestampValue) -> TimestampValue {
    *one
}

/// RFC 3339 with the distance to UTC it was written with, and no digits of a second that are 0.
fn timestamp_text(one: &TimestampValue) -> CelString<'static> {
    let local = one.at(one.east_s).unwrap_or(one.utc);
    let zone = match one.east_s / 60 {
        0 => "Z".to_owned(),
        east => {
            let sign = if east < 0 { '-' } else { '+' };
            let minutes = east.unsigned_abs();
            format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
        }
    };
    CelString::from(format!("{local}{zone}"))
}

/// Seconds since 1970.
fn timestamp_number(one: &TimestampValue) -> CelInt {
    CelInt::from(one.seconds())
}
