//! When the jobs of queues start, a line each, as `squeue --start` has it: for `pumice when --queue` and
//! `pumice queue list --start`.

use std::io::Write;
use std::process::ExitCode;

use pumice_plan::{JobStart, StartsView, WhenAbout, WhenRequest, WhenView};

use super::scheduler::Scheduler;
use super::words::age;
use crate::columns::columns;

/// Ends with that where nobody can say when a job starts.
const UNKNOWN: u8 = 3;

/// What the scheduler says.
pub fn ask(scheduler: &Scheduler, when: WhenAbout) -> anyhow::Result<StartsView> {
    let question = serde_json::to_string(&WhenRequest { when })?;
    scheduler.post(&["plan"], &question)
}

/// 0 where a start is known of each job, else 3.
pub fn exit_code(all: &StartsView) -> ExitCode {
    let is_known = |view: &WhenView| view.has_started || view.expected.is_some();
    match all.jobs.iter().all(is_known) {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(UNKNOWN),
    }
}

/// A line a job, those first that start first.
pub fn table(out: &mut dyn Write, all: &StartsView) -> anyhow::Result<()> {
    if all.jobs.is_empty() {
        writeln!(out, "no job waits")?;
        return Ok(());
    }
    let dash = || "-".to_owned();
    let at = |start: Option<&JobStart>| {
        let at = start.and_then(|start| start.at.as_ref());
        at.map_or_else(dash, |at| at.0.clone())
    };
    let rows = all.jobs.iter().map(|view| {
        let expected = view.expected.as_ref();
        let after = expected.and_then(|start| start.after.first());
        [
            view.job.clone(),
            view.queue.clone(),
            at(expected),
            expected.map_or_else(dash, |start| age(start.in_s)),
            at(view.latest.as_ref()),
            after.map_or_else(dash, |one| one.job.clone()),
        ]
    });
    let heads = ["JOB", "QUEUE", "STARTS", "IN", "AT THE LATEST", "AFTER"];
    columns(out, heads, rows.collect())?;
    if all.not_told > 0 {
        writeln!(out, "… and {} more jobs", all.not_told)?;
    }
    let stay = all.jobs.first().and_then(taken_to_stay);
    if let Some(stay) = stay {
        writeln!(out, "{stay}")?;
    }
    Ok(())
}

/// Pods of which nobody knows when they end.
pub fn taken_to_stay(view: &WhenView) -> Option<String> {
    let count = |count: usize, one: &str, several: &str| match count {
        0 => None,
        1 => Some(format!("1 pod on a node {one}")),
        _ => Some(format!("{count} pods on nodes {several}")),
    };
    let silent = count(view.unknown, "tells no run time", "tell no run time");
    let late = count(
        view.overrun,
        "runs longer than was said",
        "run longer than was said",
    );
    let stay: Vec<String> = silent.into_iter().chain(late).collect();
    (!stay.is_empty()).then(|| format!("{}: taken to stay", stay.join(", ")))
}

#[cfg(test)]
mod tests {
    use pumice_engine::view::Time;

    use super::*;

    fn text(all: &StartsView) -> Vec<String> {
        let mut out = Vec::new();
        table(&mut out, all).expect("printed");
        let text = String::from_utf8(out).expect("UTF-8");
        let joined = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        text.lines().map(joined).collect()
    }

    fn waits(job: &str, queue: &str, in_s: Option<i64>) -> WhenView {
        let start = |in_s| JobStart {
            at: Time::of(in_s),
            in_s,
            ..JobStart::default()
        };
        WhenView {
            job: job.to_owned(),
            queue: queue.to_owned(),
            expected: in_s.map(start),
            unknown: 2,
            ..WhenView::default()
        }
    }

    #[test]
    fn jobs_have_a_line_each_with_their_queue_and_a_dash_where_nobody_can_say() {
        let all = StartsView {
            jobs: vec![
                waits("team/a", "blue", Some(600)),
                waits("ns/b", "red", None),
            ],
            not_told: 3,
        };
        assert_eq!(
            text(&all),
            [
                "JOB QUEUE STARTS IN AT THE LATEST AFTER",
                "team/a blue 1970-01-01T00:10:00Z 10m - -",
                "ns/b red - - - -",
                "… and 3 more jobs",
                "2 pods on nodes tell no run time: taken to stay",
            ]
        );
        assert_eq!(text(&StartsView::default()), ["no job waits"]);
    }

    #[test]
    fn a_start_that_nobody_knows_shows_in_the_exit_code() {
        let all = |in_s| StartsView {
            jobs: vec![waits("ns/a", "q", Some(1)), waits("ns/b", "q", in_s)],
            not_told: 0,
        };
        let told = [Some(2), None].map(|in_s| format!("{:?}", exit_code(&all(in_s))));
        let expected = [ExitCode::SUCCESS, ExitCode::from(3)].map(|code| format!("{code:?}"));
        assert_eq!(told, expected);
    }
}
