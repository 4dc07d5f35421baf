//! Schedules, by what `robfig/cron` and Kubernetes say of them.

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use pumice_controllers::cron_job::CronSchedule;

fn time(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

fn zone(name: &str) -> TimeZone {
    TimeZoneDatabase::bundled().get(name).expect("a zone")
}

fn parse(text: &str) -> CronSchedule {
    CronSchedule::parse(text).expect(text)
}

/// The runs after a time, as written in UTC.
fn runs(schedule: &str, after: &str, zone: &TimeZone, count: usize) -> Vec<String> {
    let schedule = parse(schedule);
    let next = |after: &Timestamp| schedule.next_after(Timestamp::UNIX_EPOCH, *after, zone);
    let runs = std::iter::successors(next(&time(after)), next);
    runs.take(count).map(|run| run.to_string()).collect()
}

/// Schedule, time, next run: mostly the table of `spec_test.go` of robfig/cron.
const NEXT: &str = "\
0/15 * * * *             | 2012-07-09T14:45:00Z | 2012-07-09T15:00:00Z
0/15 * * * *             | 2012-07-09T14:59:59Z | 2012-07-09T15:00:00Z
20-35/15 * * * *         | 2012-07-09T15:45:00Z | 2012-07-09T16:20:00Z
*/15 * * * *             | 2012-07-09T23:46:00Z | 2012-07-10T00:00:00Z
20-35/15 * * * *         | 2012-07-09T23:45:00Z | 2012-07-10T00:20:00Z
0 0 9 Apr-Oct ?          | 2012-07-09T23:35:00Z | 2012-08-09T00:00:00Z
0 0 */5 Apr,Aug,Oct Mon  | 2012-07-09T23:35:00Z | 2012-08-01T00:00:00Z
0 0 */5 Oct Mon          | 2012-07-09T23:35:00Z | 2012-10-01T00:00:00Z
0 0 * Feb Mon            | 2012-07-09T23:35:00Z | 2013-02-04T00:00:00Z
0 0 * feb mon/2          | 2012-07-09T23:35:00Z | 2013-02-01T00:00:00Z
0 0 29 Feb ?             | 2012-07-09T23:35:00Z | 2016-02-29T00:00:00Z
30 8 1,15 * Sun          | 2012-07-01T08:30:00Z | 2012-07-08T08:30:00Z
30 8 1,15 * *            | 2012-07-01T08:30:00Z | 2012-07-15T08:30:00Z
30 8 * * Sun             | 2012-07-01T08:30:00Z | 2012-07-08T08:30:00Z
@hourly                  | 2012-07-09T14:45:00Z | 2012-07-09T15:00:00Z
@daily                   | 2012-07-09T14:45:00Z | 2012-07-10T00:00:00Z
@midnight                | 2012-07-09T14:45:00Z | 2012-07-10T00:00:00Z
@weekly                  | 2012-07-09T14:45:00Z | 2012-07-15T00:00:00Z
@monthly                 | 2012-07-09T14:45:00Z | 2012-08-01T00:00:00Z
@yearly                  | 2012-07-09T14:45:00Z | 2013-01-01T00:00:00Z
@annually                | 2012-07-09T14:45:00Z | 2013-01-01T00:00:00Z
@every 90m               | 1970-01-01T01:00:00Z | 1970-01-01T01:30:00Z
@every 90m               | 1970-01-01T01:30:00Z | 1970-01-01T03:00:00Z";

#[test]
fn the_next_run_is_the_one_robfig_cron_names() {
    for line in NEXT.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [schedule, after, expected] = cells[..] else {
            unreachable!("{line}");
        };
        let found = runs(schedule, after, &TimeZone::UTC, 1);
        assert_eq!(found, [expected], "{schedule} after {after}");
    }
}

#[test]
fn a_day_of_month_and_a_day_of_week_are_either_but_a_star_is_both() {
    // 2026-01-13 is a Tuesday.
    let cases = [
        ("0 0 13 * Fri", ["2026-01-02", "2026-01-09", "2026-01-13"]),
        ("0 0 13 * *", ["2026-01-13", "2026-02-13", "2026-03-13"]),
        ("0 0 ? * Fri", ["2026-01-02", "2026-01-09", "2026-01-16"]),
        // Only a bare star says nothing.
        ("0 0 */10 * Fri", ["2026-01-02", "2026-01-09", "2026-01-11"]),
    ];
    for (schedule, days) in cases {
        let found = runs(schedule, "2026-01-01T00:00:00Z", &TimeZone::UTC, 3);
        assert_eq!(
            found,
            days.map(|day| format!("{day}T00:00:00Z")),
            "{schedule}"
        );
    }
}

#[test]
fn a_time_that_a_day_does_not_have_is_left_out_and_one_it_has_twice_is_taken_twice() {
    let berlin = zone("Europe/Berlin");
    // 2026-03-29: 02:00 becomes 03:00.
    let spring = runs("30 2 * * *", "2026-03-28T00:00:00Z", &berlin, 2);
    assert_eq!(spring, ["2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z"]);
    // 2026-10-25: 03:00 becomes 02:00.
    let autumn = runs("30 2 * * *", "2026-10-24T12:00:00Z", &berlin, 3);
    assert_eq!(
        autumn,
        [
            "2026-10-25T00:30:00Z",
            "2026-10-25T01:30:00Z",
            "2026-10-26T01:30:00Z"
        ]
    );
    let hours = runs("0 * * * *", "2026-03-29T00:30:00Z", &berlin, 2);
    assert_eq!(hours, ["2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"]);
    let midnight = runs("0 0 * * *", "2026-03-28T12:00:00Z", &berlin, 2);
    assert_eq!(midnight, ["2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"]);
}

#[test]
fn half_hour_zones_are_kept() {
    let found = runs(
        "15 9 * * *",
        "2026-01-01T00:00:00Z",
        &zone("Asia/Kolkata"),
        1,
    );
    assert_eq!(found, ["2026-01-01T03:45:00Z"]);
}

#[test]
fn a_day_that_never_comes_is_no_run() {
    let schedule = parse("0 0 30 2 *");
    let at = time("2026-01-01T00:00:00Z");
    assert_eq!(schedule.next_after(at, at, &TimeZone::UTC), None);
    let until = time("2026-06-01T00:00:00Z");
    assert_eq!(schedule.last_until(at, at, until, &TimeZone::UTC), None);
}

#[test]
fn the_last_run_of_a_span_is_the_last_of_those_that_follow_each_other() {
    let schedules = [
        "*/7 3-5 * * *",
        "0 0 1,15 * Mon",
        "@hourly",
        "@every 77m",
        "30 2 * * *",
    ];
    let zones = [
        TimeZone::UTC,
        zone("Europe/Berlin"),
        zone("America/New_York"),
    ];
    let after = time("2026-03-07T01:02:03Z");
    for text in schedules {
        let schedule = parse(text);
        for zone in &zones {
            let next = |at: &Timestamp| schedule.next_after(after, *at, zone);
            for hours in [1_i64, 5, 24, 24 * 24] {
                let until = after + jiff::SignedDuration::from_hours(hours);
                let all = std::iter::successors(next(&after), next);
                let expected = all.take_while(|run| *run <= until).last();
                let found = schedule.last_until(after, after, until, zone);
                assert_eq!(found, expected, "{text} in {zone:?}, {hours} h");
            }
        }
    }
}

#[test]
fn what_is_wrong_with_a_schedule_is_said() {
    let cases = [
        ("", "it has 0 fields instead of 5"),
        ("* * * *", "it has 4 fields instead of 5"),
        ("0 * * * * *", "it has 6 fields instead of 5"),
        ("60 * * * *", "minute \"60\": 60 is not between 0 and 59"),
        ("* 24 * * *", "24 is not between 0 and 23"),
        ("* * 0 * *", "0 is not between 1 and 31"),
        ("* * * 13 *", "13 is not between 1 and 12"),
        ("* * * * 7", "day of week \"7\": 7 is not between 0 and 6"),
        ("* * * * monday", "\"monday\" is not a number"),
        ("5-1 * * * *", "\"5-1\" ends before it begins"),
        ("*/0 * * * *", "\"0\" is not a step"),
        ("*/x * * * *", "\"x\" is not a step"),
        (", * * * *", "there is no number"),
        ("-1 * * * *", "\"\" is not a number"),
        ("1-2-3 * * * *", "\"2-3\" is not a number"),
        ("@noon", "@noon is not known; use @hourly"),
        ("@every 10s", "is too often; write one minute or more"),
        ("@every soon", "there is no number where one must stand"),
    ];
    for (text, expected) in cases {
        let problem = CronSchedule::parse(text).expect_err(text);
        assert!(problem.contains(expected), "{text}: {problem}");
    }
}
