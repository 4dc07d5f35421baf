//! A plan for people: first what becomes of it, then where, who goes, what is otherwise, and what would help.

use std::io::Write;

use pumice_plan::{JobPlan, PlanOutcome, PlanView};

use crate::columns::columns;
use crate::live::words::{BAD, GOOD, HEAD, line, lines};

pub fn table(out: &mut dyn Write, view: &PlanView) -> anyhow::Result<()> {
    let (colour, word) = match view.outcome {
        PlanOutcome::Runs if view.jobs.is_empty() => (GOOD, "no job is asked about"),
        PlanOutcome::Runs => (GOOD, "it runs"),
        PlanOutcome::Evicts => (BAD, "others go"),
        PlanOutcome::Waits => (BAD, "it waits"),
    };
    let going = match view.evicted.len() {
        0 => String::new(),
        1 => "; 1 pod is evicted".to_owned(),
        count => format!("; {count} pods are evicted"),
    };
    writeln!(
        out,
        "{colour}{word}{colour:#}{going}; nothing of this was done"
    )?;
    for job in &view.jobs {
        job_lines(out, job)?;
    }
    if !view.evicted.is_empty() {
        writeln!(out, "\n{HEAD}EVICTED{HEAD:#}")?;
        let rows = view.evicted.iter().map(|one| {
            [
                one.pod.clone(),
                one.node.clone(),
                one.action.clone(),
                one.by.clone().unwrap_or_else(|| "-".to_owned()),
            ]
        });
        columns(out, ["POD", "NODE", "BY", "FOR"], rows.collect())?;
    }
    let others = view.others.iter().filter(|one| one.then != "evicted");
    let rows: Vec<[String; 3]> = others
        .map(|one| [one.pod.clone(), one.without.clone(), one.then.clone()])
        .collect();
    if !rows.is_empty() {
        writeln!(out, "\n{HEAD}OTHERWISE THAN WITHOUT IT{HEAD:#}")?;
        columns(out, ["POD", "WITHOUT", "THEN"], rows)?;
    }
    if !view.remedies.is_empty() {
        writeln!(out, "\n{HEAD}TRIED, AND ENOUGH ALONE{HEAD:#}")?;
        for remedy in &view.remedies {
            writeln!(out, "  {remedy}")?;
        }
    }
    if view.not_told > 0 {
        writeln!(out, "\n… and {} more rows", view.not_told)?;
    }
    if view.is_cut {
        writeln!(
            out,
            "\nThe plan was broken off at its bound: more might happen; see --plan-time of the scheduler"
        )?;
    }
    Ok(())
}

fn job_lines(out: &mut dyn Write, job: &JobPlan) -> anyhow::Result<()> {
    let state = match job.outcome {
        PlanOutcome::Runs => "runs",
        PlanOutcome::Evicts => "runs, others go for it",
        PlanOutcome::Waits => "waits",
    };
    writeln!(
        out,
        "\n{HEAD}{}{HEAD:#} in queue {}: {state}, {} of {} pods that it needs have a place",
        job.job, job.queue, job.ready, job.needed
    )?;
    if let Some(message) = &job.message {
        line(out, "reason", message)?;
    }
    lines(out, "changes", &job.changes)?;
    let has_cards = job.pods.iter().any(|pod| !pod.cards.is_empty());
    match has_cards {
        true => {
            let rows = job
                .pods
                .iter()
                .map(|pod| [pod.pod.clone(), pod.node.clone(), pod.cards.join(", ")]);
            columns(out, ["POD", "NODE", "CARDS"], rows.collect())
        }
        false if job.pods.is_empty() => Ok(()),
        false => {
            let rows = job
                .pods
                .iter()
                .map(|pod| [pod.pod.clone(), pod.node.clone()]);
            columns(out, ["POD", "NODE"], rows.collect())
        }
    }
}
