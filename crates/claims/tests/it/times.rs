//! Durations and points in time in expressions.

use super::functions::{all_fail, all_hold};

#[test]
fn durations_are_read_and_counted() {
    all_hold(&[
        r#"duration("1h30m") == duration("90m") && duration("-1.5h") == duration("-5400s")"#,
        r#"duration("0") == duration("0s") && duration("1us") == duration("1µs")"#,
        r#"duration("1h") > duration("1m") && duration("1h") + duration("1m") == duration("61m")"#,
        r#"duration("1h") - duration("1m") == duration("59m")"#,
        r#"duration("90m").getHours() == 1 && duration("90m").getMinutes() == 90"#,
        r#"duration("1.5s").getSeconds() == 1 && duration("1.5s").getMilliseconds() == 1500"#,
        r#"string(duration("1h30m")) == "5400s" && string(duration("1.5s")) == "1.5s""#,
        r#"int(duration("1s")) == 1000000000 && duration(duration("1s")) == duration("1s")"#,
        r#"type(duration("1s")) == google.protobuf.Duration"#,
        r#"!optional.ofNonZeroValue(duration("0")).hasValue()"#,
        r#""%s".format([duration("90s")]) == "90s""#,
    ]);
    all_fail(&[
        (
            r#"duration("1x") == duration("1s")"#,
            "duration",
            "no duration",
        ),
        (
            r#"duration("1s ") == duration("1s")"#,
            "duration",
            "no duration",
        ),
        (
            r#"duration("") == duration("1s")"#,
            "duration",
            "no duration",
        ),
        (
            r#"duration("3000000h") == duration("1s")"#,
            "duration",
            "no duration",
        ),
        (
            r#"duration("2540400h") + duration("2540400h") > duration("1s")"#,
            "+",
            "out of range",
        ),
        (r#"duration("1h") + 1 == duration("1h")"#, "+", "int"),
        (r#"duration("1h") > 1"#, "Duration", "int"),
    ]);
}

#[test]
fn times_are_read_moved_and_shown() {
    all_hold(&[
        r#"timestamp("2023-01-01T00:00:00Z") < timestamp("2023-01-02T00:00:00Z")"#,
        r#"timestamp("2023-01-01T02:00:00+02:00") == timestamp("2023-01-01T00:00:00Z")"#,
        r#"timestamp(1) == timestamp("1970-01-01T00:00:01Z")"#,
        r#"timestamp("2023-01-01T00:00:00Z") + duration("24h") == timestamp("2023-01-02T00:00:00Z")"#,
        r#"duration("24h") + timestamp("2023-01-01T00:00:00Z") == timestamp("2023-01-02T00:00:00Z")"#,
        r#"timestamp("2023-01-10T12:00:00Z") - duration("12h") == timestamp("2023-01-10T00:00:00Z")"#,
        r#"timestamp("2023-01-10T12:00:00Z") - timestamp("2023-01-10T00:00:00Z") == duration("12h")"#,
        r#"timestamp("9999-12-31T23:59:59.999999999Z") > timestamp("0001-01-01T00:00:00Z")"#,
        r#"string(timestamp("2023-01-01T00:00:00.120-01:30")) == "2023-01-01T00:00:00.12-01:30""#,
        r#"string(timestamp(0)) == "1970-01-01T00:00:00Z""#,
        r#"int(timestamp("1970-01-01T00:00:01Z")) == 1"#,
        r#"int(timestamp("1969-12-31T23:59:59.5Z")) == -1"#,
        r#"type(timestamp(timestamp(0))) == google.protobuf.Timestamp"#,
        r#""%s".format([timestamp(0)]) == "1970-01-01T00:00:00Z""#,
    ]);
    all_fail(&[
        (
            r#"timestamp("2023-01-01") > timestamp(0)"#,
            "timestamp",
            "no time",
        ),
        (
            r#"timestamp("2023-01-01T00:00:00") > timestamp(0)"#,
            "timestamp",
            "no time",
        ),
        (
            r#"timestamp("2023-01-01T00:00:60Z") > timestamp(0)"#,
            "timestamp",
            "no time",
        ),
        (
            r#"timestamp("2023-02-29T00:00:00Z") > timestamp(0)"#,
            "timestamp",
            "no time",
        ),
        (
            "timestamp(253402300800) > timestamp(0)",
            "timestamp",
            "out of range",
        ),
        (
            r#"timestamp("9999-12-31T23:59:59Z") + duration("1s") > timestamp(0)"#,
            "+",
            "out of range",
        ),
        (
            r#"timestamp("9999-01-01T00:00:00Z") - timestamp(0) > duration("0")"#,
            "-",
            "out of range",
        ),
    ]);
}

#[test]
fn calendar_and_clock_are_shown_in_a_zone() {
    for (part, in_utc, in_berlin) in [
        ("getFullYear", 2023, 2024),
        ("getMonth", 11, 0),
        ("getDayOfYear", 364, 0),
        ("getDayOfMonth", 30, 0),
        ("getDate", 31, 1),
        ("getDayOfWeek", 0, 1),
        ("getHours", 23, 0),
        ("getMinutes", 30, 30),
        ("getSeconds", 4, 4),
        ("getMilliseconds", 56, 56),
    ] {
        let time = r#"timestamp("2023-12-31T23:30:04.056Z")"#;
        all_hold(&[
            &format!("{time}.{part}() == {in_utc}"),
            &format!(r#"{time}.{part}("") == {in_utc}"#),
            &format!(r#"{time}.{part}("Europe/Berlin") == {in_berlin}"#),
            &format!(r#"{time}.{part}("+01:00") == {in_berlin}"#),
        ]);
    }
    all_hold(&[
        r#"timestamp(0).getMinutes("-01:30") == 30 && timestamp(0).getHours("-01:30") == 22"#,
    ]);
    all_fail(&[
        (
            r#"timestamp(0).getHours("Nowhere/City") == 1"#,
            "getHours",
            "no time zone",
        ),
        (
            r#"timestamp(0).getHours("a:b") == 1"#,
            "getHours",
            "no time zone",
        ),
    ]);
}
