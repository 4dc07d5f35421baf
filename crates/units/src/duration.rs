//! Go durations: `1h30m`, `500ms`, `-1.5h` (Go package `time`, `ParseDuration`).

use thiserror::Error;

/// Why a text is not a Go duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DurationError {
    /// No number where one must stand.
    #[error("there is no number where one must stand")]
    Invalid,
    /// A number without its unit.
    #[error("the unit is missing")]
    MissingUnit,
    /// A unit other than `ns us µs ms s m h`.
    #[error("the unit is not one of ns, us, ms, s, m, h")]
    UnknownUnit,
    /// More than 64 signed bits of nanoseconds (about 292 years).
    #[error("the duration is too long")]
    TooLong,
}

/// Nanoseconds of a second.
const SECOND: i64 = 1_000_000_000;

/// Nanoseconds as whole seconds, parts of one counted up.
pub fn seconds_up(nanos: i64) -> i64 {
    nanos.div_euclid(SECOND) + i64::from(nanos.rem_euclid(SECOND) > 0)
}

/// A Go duration in nanoseconds.
///
/// # Errors
/// [`DurationError`] with the part that is wrong.
pub fn parse_go_duration(text: &str) -> Result<i64, DurationError> {
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(DurationError::Invalid);
    }
    let mut total: u128 = 0;
    while !rest.is_empty() {
        let (nanos, tail) = parse_part(rest)?;
        total = total.saturating_add(nanos);
        rest = tail;
    }
    let magnitude = u64::try_from(total).map_err(|_| DurationError::TooLong)?;
    let signed = if negative {
        0i64.checked_sub_unsigned(magnitude)
    } else {
        i64::try_from(magnitude).ok()
    };
    signed.ok_or(DurationError::TooLong)
}

/// One number with its unit, in nanoseconds, and the text behind it.
fn parse_part(text: &str) -> Result<(u128, &str), DurationError> {
    let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let number_end = text.find(|letter| !is_number(letter)).unwrap_or(text.len());
    let (number, tail) = text.split_at(number_end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(DurationError::Invalid);
    }
    let unit_end = tail.find(is_number).unwrap_or(tail.len());
    let (unit, rest) = tail.split_at(unit_end);
    let unit_nanos: u128 = match unit {
        "" => return Err(DurationError::MissingUnit),
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return Err(DurationError::UnknownUnit),
    };
    // 20 digits exceed 64 bits already; more of them must not overflow here.
    let whole: u128 = match whole.trim_start_matches('0') {
        "" => 0,
        digits if digits.len() <= 20 => digits.parse().map_err(|_| DurationError::Invalid)?,
        _ => return Err(DurationError::TooLong),
    };
    Ok((
        whole * unit_nanos + fraction_nanos(fraction, unit_nanos),
        rest,
    ))
}

/// Nanoseconds of the digits behind the point, rounded down; digits below 1 ns do not count.
fn fraction_nanos(digits: &str, unit_nanos: u128) -> u128 {
    let mut scale: u128 = 1;
    let mut value: u128 = 0;
    for byte in digits.bytes().take(18) {
        value = value * 10 + u128::from(byte - b'0');
        scale *= 10;
    }
    value * unit_nanos / scale
}

#[cfg(test)]
mod tests {
    use super::{parse_go_duration, seconds_up};

    #[test]
    fn parts_of_a_second_count_as_one_upwards() {
        let nanos = [0, 1, 1_000_000_000, 1_500_000_000, -1_500_000_000];
        assert_eq!(nanos.map(seconds_up), [0, 1, 1, 2, -1]);
    }

    #[test]
    fn go_durations_are_read_to_the_nanosecond() {
        let table = [
            ("0", Some(0)),
            ("30s", Some(30_000_000_000)),
            ("1h30m", Some(5_400_000_000_000)),
            ("-1.5h", Some(-5_400_000_000_000)),
            ("+5us", Some(5_000)),
            ("5µs", Some(5_000)),
            (".5s", Some(500_000_000)),
            ("1.s", Some(1_000_000_000)),
            ("0.3ns", Some(0)),
            ("9223372036854775807ns", Some(i64::MAX)),
            ("-9223372036854775808ns", Some(i64::MIN)),
            ("9223372036854775808ns", None),
            ("99999999999999999999999h", None),
            ("", None),
            ("-", None),
            ("30", None),
            ("s", None),
            (".s", None),
            ("1..5s", None),
            ("1d", None),
            ("1h 30m", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse_go_duration(text).ok(), expected, "{text:?}");
        }
    }
}
