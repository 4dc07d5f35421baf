//! Records as they are asked for.

use std::collections::BTreeSet;

use crate::book::{HistoryBook, JobDoing, JobSight};
use crate::query::{HistoryQuery, ShownJobs};
use crate::record::JobRecord;
use crate::row::HistoryRow;
use crate::spans::UseSpans;
use crate::summary::{DaySum, SummaryKey, UseSummary};

/// A job in a namespace that holds a GPU, or none.
fn look<'a>(namespace: &'a str, queue: &'a str, gpus: u64) -> JobSight<'a> {
    let doing = match gpus {
        0 => JobDoing::Waits {
            reason: "no-node",
            text: "no room",
        },
        _ => JobDoing::Runs,
    };
    JobSight {
        uid: namespace,
        namespace,
        name: "train",
        queue,
        user: "",
        created_s: 0,
        doing,
        needs: 1,
        pods: usize::from(gpus > 0),
        nodes: BTreeSet::new(),
        held: vec![("cpu", 2_000 * gpus), ("nvidia.com/gpu", 1_000 * gpus)],
        arrivals: Vec::new(),
    }
}

fn between(from_s: i64, until_s: i64) -> HistoryQuery {
    HistoryQuery {
        from_s,
        until_s,
        ..HistoryQuery::default()
    }
}

/// Two jobs of two namespaces: one GPU from 100 on for a day, four from 500 on for 7,200 s.
fn records() -> Vec<JobRecord> {
    let mut book = HistoryBook::default();
    for (at_s, namespace, queue, gpus) in [
        (0, "one", "red", 0),
        (0, "two", "blue", 0),
        (100, "one", "red", 1),
        (500, "two", "blue", 4),
        (7_700, "two", "blue", 0),
        (86_500, "one", "red", 0),
    ] {
        book.look(namespace, &look(namespace, queue, gpus), at_s);
    }
    book.gone("one");
    book.gone("two");
    book.end_pass(86_500);
    book.take().ended
}

#[test]
fn the_hours_of_a_row_are_those_of_the_time_that_is_asked_for() {
    let records = records();
    let hours = |from_s, until_s| -> Vec<f64> {
        let query = between(from_s, until_s);
        let rows = records.iter().map(|record| HistoryRow::of(record, &query));
        rows.map(|row| (row.card_hours * 3600.0).round()).collect()
    };
    assert_eq!(hours(0, 100_000), [86_400.0, 28_800.0]);
    assert_eq!(hours(0, 1_000), [900.0, 2_000.0]);
    assert_eq!(hours(7_000, 8_000), [1_000.0, 2_800.0]);
    assert_eq!(hours(90_000, 100_000), [0.0, 0.0]);
    let row = HistoryRow::of(&records[1], &between(0, 100_000));
    assert_eq!(row.hours["cpu"].round(), 16.0);
    assert_eq!((row.held_s, row.waited_s), (7_200, 500 + 78_800));
}

#[test]
fn sums_by_anything_are_those_of_the_rows() {
    let records = records();
    let sum = |by: &[SummaryKey], query: &HistoryQuery| -> Vec<(String, u64, f64)> {
        let mut summary = UseSummary::new(by.to_vec(), query.clone());
        records.iter().for_each(|record| summary.add(record));
        let rows = summary.rows().into_iter();
        rows.map(|row| {
            (
                row.keys.join("/"),
                row.jobs,
                (row.card_hours * 3600.0).round(),
            )
        })
        .collect()
    };
    let named = |rows: &[(&str, u64, f64)]| -> Vec<(String, u64, f64)> {
        let rows = rows.iter();
        rows.map(|(name, jobs, cards)| ((*name).to_owned(), *jobs, *cards))
            .collect()
    };
    let all = between(0, 100_000);
    assert_eq!(
        sum(&[SummaryKey::Queue], &all),
        named(&[("blue", 1, 28_800.0), ("red", 1, 86_400.0)])
    );
    assert_eq!(
        sum(&[SummaryKey::Day, SummaryKey::Namespace], &all),
        named(&[
            ("1970-01-01/one", 1, 86_300.0),
            ("1970-01-01/two", 1, 28_800.0),
            ("1970-01-02/one", 1, 100.0),
            ("1970-01-02/two", 0, 0.0),
        ])
    );
    let red = HistoryQuery {
        queue: "red".to_owned(),
        ..between(0, 1_000)
    };
    assert_eq!(sum(&[SummaryKey::User], &red), named(&[("", 1, 900.0)]));
}

#[test]
fn what_is_kept_of_days_adds_up_to_the_records_that_are_not_kept() {
    let by = vec![SummaryKey::Namespace];
    let all = between(0, 200_000);
    let mut whole = UseSummary::new(by.clone(), all.clone());
    let mut kept = UseSummary::new(by, all);
    for record in records() {
        whole.add(&record);
        for (day, sum) in DaySum::of(&record, i64::MIN, i64::MAX) {
            kept.add_day(day, (&record.namespace, &record.queue, ""), &sum);
        }
    }
    assert_eq!(kept.rows(), whole.rows());
}

#[test]
fn only_what_is_asked_for_is_shown() {
    let records = records();
    let taken = |query: HistoryQuery| {
        let taken = records.iter().filter(|record| query.takes(record));
        taken.map(|record| &*record.namespace).collect::<Vec<_>>()
    };
    assert_eq!(taken(between(0, 10)), ["one", "two"]);
    assert_eq!(taken(between(86_501, 90_000)), [""; 0]);
    let two = HistoryQuery {
        namespace: "two".to_owned(),
        shown: ShownJobs::Ended,
        ..between(0, 10)
    };
    assert_eq!(taken(two.clone()), ["two"]);
    let shown = ShownJobs::Running;
    assert_eq!(taken(HistoryQuery { shown, ..two }), [""; 0]);
}

/// Amounts change without end: what is kept stays small, and the sum exact.
#[test]
fn spans_are_few_and_their_sum_is_exact() {
    let mut spans = UseSpans::default();
    let (mut at_s, mut plain) = (0, 0);
    for step in 0..10_000_i64 {
        let held = 1_000 + step.unsigned_abs() * 7 % 5_000;
        spans.set_held(&[("nvidia.com/gpu", held)]);
        let next_s = at_s + 1 + step * 13 % 600;
        spans.advance(at_s, next_s);
        plain += u128::from(held) * u128::from(at_s.abs_diff(next_s));
        at_s = next_s;
    }
    assert!(spans.spans().len() <= 64, "{}", spans.spans().len());
    let sums: Vec<(&str, u128)> = spans.within(0, at_s).collect();
    assert_eq!(sums, [("nvidia.com/gpu", plain)]);
}

#[test]
fn a_job_is_asked_for_by_the_name_of_its_group_or_of_the_job_that_the_group_is_of() {
    let record = JobRecord {
        name: "train-7-0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f".into(),
        ..JobRecord::default()
    };
    let takes = |name: &str| {
        let name = name.to_owned();
        let asked = HistoryQuery {
            name,
            ..between(0, 10)
        };
        asked.takes(&record)
    };
    assert!(takes("") && takes("train-7") && takes(&record.name));
    assert!(!takes("train") && !takes("train-7-0a1b2c3d"));
}
