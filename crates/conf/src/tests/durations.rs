//! Durations as Go writes them.

use crate::parse_go_duration;

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
