//! `pumice history`: what became of jobs, as `sacct` tells it, and what that sums up to, as `sreport` does.
//!
//! ```text
//!  arguments ─► HistoryAsked ─► /debug/history, page by page ─► rows ─► HistorySheet: columns and cells ─┬─ CSV
//!                                                                 │                                     └─ Parquet
//!                                                                 └─► table, one job in lines, JSON
//! ```

mod ask;
mod csv;
mod parquet;
mod sheet;
mod table;
mod times;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use pumice_history::{HistoryRow, SummaryKey, SummaryRow};

use super::scheduler::SchedulerPlace;
use super::user::wrong;
use ask::{HistoryAsked, HistoryTold};
use sheet::HistorySheet;

/// How history is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum HistoryFormat {
    /// For people
    Table,
    /// For accountants: a line a job, times as RFC 3339
    Csv,
    /// For scripts: stable keys
    Json,
    /// For accountants: one table of typed columns
    Parquet,
}

/// What sums are made by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SumBy {
    Queue,
    User,
    Namespace,
    /// By UTC
    Day,
}

/// Which jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StateAsked {
    All,
    Waiting,
    Running,
    Ended,
}

/// Arguments of `pumice history`.
#[derive(Args)]
pub struct HistoryArguments {
    /// A job: a PodGroup, or a pod without one, as NAME or NAMESPACE/NAME
    #[arg(value_name = "JOB")]
    job: Option<String>,
    /// Begin of the time: 2026-11-01 (UTC), RFC 3339, or so long ago: 36h, 7d
    #[arg(long, default_value = "1d", value_name = "TIME")]
    from: String,
    /// End of the time, written likewise; default: now
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// Jobs of this namespace; default: of all, and of a JOB the one of the context
    #[arg(long, short, value_name = "NAME")]
    namespace: Option<String>,
    /// Jobs of this queue
    #[arg(long, short, value_name = "NAME")]
    queue: Option<String>,
    /// Jobs whose PodGroups name this user (pumice.sh/user)
    #[arg(long, short, value_name = "NAME")]
    user: Option<String>,
    /// Jobs that are so
    #[arg(long, value_enum, default_value = "all")]
    state: StateAsked,
    /// Sums by these, with commas between, in place of jobs
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "KEY",
        conflicts_with = "job"
    )]
    by: Vec<SumBy>,
    /// Output format
    #[arg(long, short, value_enum, default_value = "table")]
    output: HistoryFormat,
    /// Write to this file, which must not exist yet
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    place: SchedulerPlace,
}

/// Asks and prints.
pub fn run(arguments: &HistoryArguments) -> anyhow::Result<ExitCode> {
    if arguments.output == HistoryFormat::Parquet && arguments.file.is_none() {
        return Err(wrong(
            "-o parquet is for files\n  = help: add --file FILE".to_owned(),
        ));
    }
    let now = jiff::Timestamp::now();
    let from_s = times::second(&arguments.from, now, "--from")?;
    let to_s = match &arguments.to {
        Some(to) => times::second(to, now, "--to")?,
        None => now.as_second().saturating_add(1),
    };
    if from_s >= to_s {
        return Err(wrong(format!(
            "--from {} is not before --to {}",
            arguments.from,
            arguments.to.as_deref().unwrap_or("now")
        )));
    }
    let scheduler = arguments.place.open()?;
    let (namespace, name) = match arguments.job.as_deref().map(|job| job.split_once('/')) {
        Some(Some((namespace, name))) => (namespace.to_owned(), name.to_owned()),
        Some(None) => {
            let namespace = arguments.namespace.as_deref();
            let namespace = namespace.unwrap_or(scheduler.namespace()).to_owned();
            (namespace, arguments.job.clone().unwrap_or_default())
        }
        None => (
            arguments.namespace.clone().unwrap_or_default(),
            String::new(),
        ),
    };
    let asked = HistoryAsked {
        from_s,
        to_s,
        namespace,
        name,
        queue: arguments.queue.clone().unwrap_or_default(),
        user: arguments.user.clone().unwrap_or_default(),
        shown: match arguments.state {
            StateAsked::All => "all",
            StateAsked::Waiting => "waiting",
            StateAsked::Running => "running",
            StateAsked::Ended => "ended",
        },
        by: arguments.by.iter().map(key).collect(),
    };
    let told = ask::all(&scheduler, &asked)?;
    told.notes()
        .iter()
        .for_each(|note| anstream::eprintln!("note: {note}"));
    write(arguments, &asked, &told)?;
    Ok(ExitCode::SUCCESS)
}

fn key(by: &SumBy) -> SummaryKey {
    match by {
        SumBy::Queue => SummaryKey::Queue,
        SumBy::User => SummaryKey::User,
        SumBy::Namespace => SummaryKey::Namespace,
        SumBy::Day => SummaryKey::Day,
    }
}

fn write(
    arguments: &HistoryArguments,
    asked: &HistoryAsked,
    told: &HistoryTold,
) -> anyhow::Result<()> {
    let Some(path) = &arguments.file else {
        let mut out = anstream::stdout().lock();
        return print(arguments, asked, told, &mut out);
    };
    let made = File::options().write(true).create_new(true).open(path);
    let file = made.map_err(|error| wrong(format!("{}: {error}", path.display())))?;
    let mut out = BufWriter::new(file);
    print(arguments, asked, told, &mut out)?;
    out.flush().with_context(|| path.display().to_string())
}

fn print(
    arguments: &HistoryArguments,
    asked: &HistoryAsked,
    told: &HistoryTold,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    match arguments.output {
        HistoryFormat::Json => {
            json(out, asked, told)?;
            Ok(())
        }
        HistoryFormat::Csv => csv::write(out, &sheet_of(asked, told)),
        HistoryFormat::Parquet => parquet::write(out, &sheet_of(asked, told)),
        HistoryFormat::Table if !asked.by.is_empty() => table::sums(out, &asked.by, &told.sums),
        HistoryFormat::Table if arguments.job.is_some() => table::jobs(out, &told.rows),
        HistoryFormat::Table => table::rows(out, &told.rows),
    }
}

fn sheet_of(asked: &HistoryAsked, told: &HistoryTold) -> HistorySheet {
    match asked.by.is_empty() {
        true => HistorySheet::of_rows(&told.rows),
        false => HistorySheet::of_sums(&asked.by, &told.sums),
    }
}

/// What scripts read.
#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct HistoryDocument<'a> {
    from: String,
    to: String,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    by: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jobs: Option<&'a [HistoryRow]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sums: Option<&'a [SummaryRow]>,
}

fn json(out: &mut dyn Write, asked: &HistoryAsked, told: &HistoryTold) -> std::io::Result<()> {
    let has_sums = !asked.by.is_empty();
    let document = HistoryDocument {
        from: times::written(asked.from_s),
        to: times::written(asked.to_s),
        by: asked.by.iter().map(|key| key.name()).collect(),
        jobs: (!has_sums).then_some(&told.rows),
        sums: has_sums.then_some(&told.sums),
    };
    serde_json::to_writer_pretty(&mut *out, &document).map_err(std::io::Error::from)?;
    writeln!(out)
}

#[cfg(test)]
mod tests;
