//! Who used how much lately, as `queue list --use` shows it.

use std::io::Write;
use std::process::ExitCode;

use pumice_engine::view::{PastUseView, QueuesView};

use crate::columns::columns;
use crate::live::scheduler::SchedulerPlace;
use crate::live::user::{ClusterConnection, wrong};
use crate::live::words::print;
use crate::output::OutputFormat;

/// Asks the scheduler and prints what it says.
pub fn list(connection: &ClusterConnection, output: OutputFormat) -> anyhow::Result<ExitCode> {
    let scheduler = SchedulerPlace::of(connection).open()?;
    let known: QueuesView = scheduler.get_known(&["queues"])?;
    let view = known.past_use.ok_or_else(|| {
        wrong(
            "nobody keeps what was used\n  = help: name the plugin fairshare in the scheduler's configuration".to_owned(),
        )
    })?;
    print(&view, output, |out, view| table(out, view))?;
    Ok(ExitCode::SUCCESS)
}

/// Queues, then users.
pub fn table(out: &mut dyn Write, view: &PastUseView) -> anyhow::Result<()> {
    let days = view.half_life_seconds as f64 / 86_400.0;
    writeln!(
        out,
        "Hours {} ({}); what was used {days:.1} days ago counts half.\n",
        view.unit, view.measure
    )?;
    let hours = |hours: f64| format!("{hours:.2}");
    let rows = view.queues.iter().map(|row| {
        let for_weight = row.used_hours / row.weight.max(1) as f64;
        [
            row.queue.clone(),
            row.weight.to_string(),
            hours(row.used_hours),
            hours(for_weight),
            hours(row.now),
        ]
    });
    let head = ["QUEUE", "WEIGHT", "USED", "USED/WEIGHT", "NOW"];
    columns(out, head, rows.collect())?;
    if view.users.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let rows = view.users.iter().map(|row| {
        [
            row.queue.clone(),
            row.name().to_owned(),
            hours(row.used_hours),
            hours(row.now),
        ]
    });
    columns(out, ["QUEUE", "USER", "USED", "NOW"], rows.collect())?;
    if view.users_not_told > 0 {
        writeln!(out, "… and {} more users", view.users_not_told)?;
    }
    Ok(())
}
