//! What the places of jobs that wait are made of, as `queue list --priority` shows it.

use std::io::Write;
use std::process::ExitCode;

use pumice_engine::view::{FactorsView, QueuesView, in_hundredths};

use crate::columns::columns;
use crate::live::scheduler::SchedulerPlace;
use crate::live::user::{ClusterConnection, wrong};
use crate::live::words::print;
use crate::output::OutputFormat;

/// Asks the scheduler and prints what it says.
pub fn list(connection: &ClusterConnection, output: OutputFormat) -> anyhow::Result<ExitCode> {
    let scheduler = SchedulerPlace::of(connection).open()?;
    let known: QueuesView = scheduler.get_known(&["queues"])?;
    let view = known.factors.ok_or_else(|| {
        wrong(
            "jobs are not ordered by factors\n  = help: name the plugin multifactor in the scheduler's configuration".to_owned(),
        )
    })?;
    print(&view, output, |out, view| table(out, view))?;
    Ok(ExitCode::SUCCESS)
}

/// Names of factors, in the order of columns.
const FACTORS: [&str; 6] = ["age", "size", "priority", "use", "user", "queue"];

/// One line a job: all together, then what each factor adds.
pub fn table(out: &mut dyn Write, view: &FactorsView) -> anyhow::Result<()> {
    let rows = view.jobs.iter().map(|row| {
        let made_of = &row.made_of;
        let added = FACTORS.map(|name| {
            let factor = made_of.factors.iter().find(|factor| factor.name == name);
            factor.map_or("-".to_owned(), |factor| {
                in_hundredths(factor.weighted_milli)
            })
        });
        let [age, size, priority, past_use, user, queue] = added;
        [
            row.queue.clone(),
            row.position.to_string(),
            row.job.clone(),
            in_hundredths(made_of.total_milli),
            age,
            size,
            priority,
            past_use,
            user,
            queue,
        ]
    });
    let head = [
        "QUEUE", "PLACE", "JOB", "SUM", "AGE", "SIZE", "PRIORITY", "USE", "USER", "OF QUEUE",
    ];
    columns(out, head, rows.collect())?;
    if view.not_told > 0 {
        writeln!(out, "… and {} more jobs", view.not_told)?;
    }
    Ok(())
}
