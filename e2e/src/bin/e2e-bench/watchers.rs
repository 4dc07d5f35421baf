//! What people who look at the page cost a running scheduler, and how soon they see a change.

use std::io::BufRead as _;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use pumice_e2e::{Cluster, Scheduler, Setup, Ui};
use serde_json::Value;

use crate::load::{PODS, pod};
use crate::report::{Latency, PageFigures};

/// Pages that are looked at, each by one.
const LOOKED_AT: [&str; 10] = [
    "/",
    "/queues",
    "/queues/default",
    "/jobs",
    "/jobs?show=waiting",
    "/jobs?search=running-1",
    "/nodes",
    "/nodes?by=cards",
    "/nodes/n-0",
    "/decisions",
];

/// How long they look.
const LOOKED_FOR: Duration = Duration::from_secs(30);

/// Seconds since counting began, and of these the deciding thread's answers.
struct Answered {
    since: f64,
    answers: f64,
    longest_ms: f64,
}

fn answered(scheduler: &Scheduler) -> Result<Answered> {
    let page: Value = serde_json::from_str(&scheduler.get("/debug/diag")?.1)?;
    let rows = page["thread"].as_array().context("rows")?;
    let row = rows.iter().find(|row| row["name"] == "answers");
    let row = row.context("the row of answers")?;
    let number = |value: &Value| value.as_f64().context("a number");
    Ok(Answered {
        since: number(&page["seconds"])?,
        answers: number(&row["seconds"])?,
        longest_ms: number(&row["longestMs"])?,
    })
}

/// Ten who look, and changes that one of them sees.
pub fn figures(cluster: &Cluster, samples: usize, flags: &[String]) -> Result<PageFigures> {
    eprintln!("measuring the page");
    let setup = Setup {
        flags: flags.to_vec(),
        ..Setup::default()
    };
    let scheduler = Scheduler::start(cluster, &setup)?;
    let ui = Ui::start(["--server", &scheduler.url()])?;
    let mut watchers = Vec::new();
    for page in LOOKED_AT {
        let mut changes = ui.changes(page)?;
        watchers.push(std::thread::spawn(move || {
            // Whoever does not read is not told any more.
            let mut line = String::new();
            while matches!(changes.read_line(&mut line), Ok(1..)) {
                line.clear();
            }
        }));
    }
    let before = answered(&scheduler)?;
    std::thread::sleep(LOOKED_FOR);
    let after = answered(&scheduler)?;
    let seen = (0..samples)
        .map(|nth| seen(cluster, &ui, nth))
        .collect::<Result<_>>()?;
    drop(ui);
    for watcher in watchers {
        ensure!(watcher.join().is_ok(), "a watcher has panicked");
    }
    Ok(PageFigures {
        of_thread: (after.answers - before.answers) / (after.since - before.since),
        longest_ms: after.longest_ms,
        seen: Latency::of(seen),
    })
}

/// Milliseconds from the creation of a pod that waits until the list of those that wait has it.
fn seen(cluster: &Cluster, ui: &Ui, nth: usize) -> Result<f64> {
    let name = format!("waits-{nth}");
    let mut changes = ui.changes(&format!("/jobs?search={name}"))?;
    let mut waits = pod(&name, None);
    waits["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "4000".into();
    let since = Instant::now();
    cluster.rest().create(PODS, &waits)?;
    let mut line = String::new();
    // The name alone stands in the search too.
    while !line.contains(&format!("default/{name}")) {
        line.clear();
        ensure!(changes.read_line(&mut line)? > 0, "the stream has ended");
    }
    Ok(since.elapsed().as_secs_f64() * 1000.0)
}
