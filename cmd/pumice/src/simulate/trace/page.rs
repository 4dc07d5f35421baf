//! Figures of a trace as one page: tables and curves, without scripts, fonts or anything else from elsewhere.

use std::fmt::Write;

use pumice_sim::trace_run::TraceFigures;
use pumice_sim::trace_run::figures::TraceCurves;

use super::TraceReport;
use super::rows::{figure_rows, lasting};
use crate::chart::{Chart, NamedCurve, escaped};

const STYLE: &str = "body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222;background:#fff}\
table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .8em;border-bottom:1px solid #ddd;text-align:right}\
td:first-child,th:first-child{text-align:left}svg{width:100%;height:auto}code{font-size:13px}";

/// Height of a picture's field.
const HEIGHT: f64 = 200.0;

/// Seconds of an hour, and of a day.
const HOUR_S: f64 = 3600.0;
const DAY_S: f64 = 86_400.0;

/// A picture that all configurations share: one curve each.
struct SharedPicture {
    title: &'static str,
    up: &'static str,
    /// The largest value, where that is the same for every trace.
    most: Option<f64>,
    of: fn(&TraceCurves) -> &[f64],
}

const PICTURES: [SharedPicture; 6] = [
    SharedPicture {
        title: "Jobs that wait",
        up: "jobs",
        most: None,
        of: |curves| &curves.waiting,
    },
    SharedPicture {
        title: "Cards in use",
        up: "% of all cards",
        most: Some(100.0),
        of: |curves| &curves.cards_percent,
    },
    SharedPicture {
        title: "Cores in use",
        up: "% of all cores",
        most: Some(100.0),
        of: |curves| &curves.cpu_percent,
    },
    SharedPicture {
        title: "Cards free on nodes of which others are in use",
        up: "% of all cards",
        most: Some(100.0),
        of: |curves| &curves.scattered_percent,
    },
    SharedPicture {
        title: "Cards free and of use to no task",
        up: "% of all cards",
        most: Some(100.0),
        of: |curves| &curves.useless_percent,
    },
    SharedPicture {
        title: "Fairness: how evenly queues came to what was due to them (Jain's index)",
        up: "1: all alike",
        most: Some(1.0),
        of: |curves| &curves.fairness,
    },
];

/// The page.
pub fn html(report: &TraceReport) -> String {
    let trace = &report.trace;
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{0}</title>\n<style>{STYLE}</style>\n\
         </head>\n<body>\n<h1>{0}</h1>\n",
        escaped(&trace.file)
    );
    let _ = writeln!(
        text,
        "<p>{} jobs ({}), {} rows left out.",
        trace.jobs, trace.format, trace.left_out
    );
    if let Some(run) = report.runs.first() {
        let cards = run.cards.map_or(0.0, |cards| cards.capacity);
        let _ = writeln!(
            text,
            "{} nodes, {} cores, {cards} cards.</p>",
            run.nodes, run.cpu.capacity
        );
    }
    let heads: Vec<String> = report
        .runs
        .iter()
        .map(|run| escaped(&run.configuration))
        .collect();
    let _ = writeln!(
        text,
        "<table>\n<tr><th></th><th>{}</th></tr>",
        heads.join("</th><th>")
    );
    for row in figure_rows() {
        let cells = report.runs.iter().map(|run| escaped(&(row.of)(run)));
        let cells: Vec<String> = cells.collect();
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td>{}</td></tr>",
            escaped(row.name.trim()),
            cells.join("</td><td>")
        );
    }
    text.push_str("</table>\n");
    for picture in &PICTURES {
        shared(&mut text, picture, &report.runs);
    }
    for run in &report.runs {
        of_run(&mut text, run);
    }
    text.push_str("</body>\n</html>\n");
    text
}

/// Seconds of the unit of the time axis, and its name.
fn unit(longest_s: f64) -> (f64, &'static str) {
    match longest_s > 3.0 * DAY_S {
        true => (DAY_S, "days"),
        false => (HOUR_S, "hours"),
    }
}

/// Points in the middle of the parts of a curve; what is below 0 is not known.
fn points(curves: &TraceCurves, values: &[f64], unit_s: f64) -> Vec<(f64, f64)> {
    let part_s = curves.part_seconds as f64;
    let all = values
        .iter()
        .enumerate()
        .filter(|(_, value)| **value >= 0.0);
    all.map(|(at, value)| ((at as f64 + 0.5) * part_s / unit_s, *value))
        .collect()
}

fn longest_s(runs: &[TraceFigures]) -> f64 {
    let longest = runs.iter().map(|run| run.makespan_seconds).max();
    longest.unwrap_or(0).max(1) as f64
}

fn drawn(
    text: &mut String,
    title: &str,
    (up, most, longest_s): (&str, Option<f64>, f64),
    curves: &[NamedCurve],
) {
    let (unit_s, unit) = unit(longest_s);
    let values = curves.iter().flat_map(|curve| &curve.points);
    let largest = values.map(|(_, value)| *value).fold(0.0, f64::max);
    let most = most.unwrap_or_else(|| rounded_up(largest));
    let lines: Vec<f64> = (0..=4).map(|part| most * f64::from(part) / 4.0).collect();
    let chart = Chart {
        right: unit,
        up,
        most: (longest_s / unit_s, most),
        lines: &lines,
        height: HEIGHT,
        curves,
    };
    let _ = write!(text, "<h2>{}</h2>\n{}", escaped(title), chart.svg());
}

/// A number that four lines divide well: 4, 8, 20, 40, 80, 200 …
fn rounded_up(number: f64) -> f64 {
    let mut step = 4.0;
    loop {
        for factor in [1.0, 2.0, 5.0] {
            if step * factor >= number {
                return step * factor;
            }
        }
        step *= 10.0;
    }
}

fn shared(text: &mut String, picture: &SharedPicture, runs: &[TraceFigures]) {
    let longest_s = longest_s(runs);
    let (unit_s, _) = unit(longest_s);
    let curves = runs.iter().map(|run| NamedCurve {
        name: run.configuration.clone(),
        points: points(&run.curves, (picture.of)(&run.curves), unit_s),
    });
    let curves: Vec<NamedCurve> = curves.filter(|curve| !curve.points.is_empty()).collect();
    if !curves.is_empty() {
        drawn(
            text,
            picture.title,
            (picture.up, picture.most, longest_s),
            &curves,
        );
    }
}

fn of_run(text: &mut String, run: &TraceFigures) {
    let longest_s = longest_s(std::slice::from_ref(run));
    let (unit_s, _) = unit(longest_s);
    let curves = run.curves.queues.iter().map(|queue| NamedCurve {
        name: queue.name.clone(),
        points: points(&run.curves, &queue.percent, unit_s),
    });
    let up = if run.cards.is_some() {
        "% of all cards"
    } else {
        "% of all cores"
    };
    let title = format!("Queues under {}", run.configuration);
    drawn(
        text,
        &title,
        (up, Some(100.0), longest_s),
        &curves.collect::<Vec<NamedCurve>>(),
    );
    let _ = writeln!(
        text,
        "<table>\n<tr><th>Queue</th><th>jobs</th><th>ended</th><th>hours</th><th>share</th><th>of what was due</th><th>wait, mean</th><th>p99</th></tr>"
    );
    for queue in &run.queues {
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{:.1}</td><td>{:.1} %</td><td>{:.1} %</td><td>{}</td><td>{}</td></tr>",
            escaped(&queue.name),
            queue.jobs,
            queue.ended,
            queue.hours,
            queue.share_percent,
            queue.of_due_percent,
            lasting(queue.wait_seconds.mean),
            lasting(queue.wait_seconds.p99)
        );
    }
    text.push_str("</table>\n<table>\n<tr><th>A job asks</th><th>jobs</th><th>ended</th><th>wait, mean</th><th>p99</th><th>slowdown</th></tr>\n");
    for size in &run.sizes {
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.1}</td></tr>",
            size.size,
            size.jobs,
            size.ended,
            lasting(size.wait_seconds.mean),
            lasting(size.wait_seconds.p99),
            size.slowdown.mean
        );
    }
    text.push_str("</table>\n");
    for line in &run.never_started {
        let first = escaped(&line.first.join(", "));
        let _ = writeln!(
            text,
            "<p>{} never started ({first}): <code>{}</code></p>",
            line.jobs,
            escaped(&line.reason)
        );
    }
    for remark in &run.remarks {
        let _ = writeln!(text, "<p>{}</p>", escaped(remark));
    }
}
