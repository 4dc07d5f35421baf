//! What the place of jobs in their queues is made of, where that is a weighted sum (docs/spec/14-multifactor.md).

use std::fmt;

use pumice_framework::points::FACTOR_PARTS;
use pumice_framework::{job_factors, orders_by_factors};
use pumice_model::JobIx;
use serde::{Deserialize, Serialize};

use super::MAX_ROWS;
use super::pages::Pages;
use super::place::waiting_in_order;

/// What the place of a job is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobFactorsView {
    /// All together, in thousandths.
    pub total_milli: i64,
    /// Those that have a weight.
    pub factors: Vec<FactorView>,
}

/// One factor of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FactorView {
    /// Name of the factor, as the configuration has it.
    pub name: String,
    /// Weight of the factor.
    pub weight: i64,
    /// The factor from 0 to 1, in parts of one: billionths.
    pub parts: u64,
    /// Weight times factor, in thousandths.
    pub weighted_milli: i64,
}

/// One job that waits, in the table of all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobFactorsRow {
    /// Name of the queue.
    pub queue: String,
    /// Place in the queue; 1 is tried first.
    pub position: usize,
    /// `namespace/name`.
    pub job: String,
    /// What the place is made of.
    #[serde(flatten)]
    pub made_of: JobFactorsView,
}

/// Jobs that wait, each with what its place is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FactorsView {
    /// The first jobs of each queue, in their order.
    pub jobs: Vec<JobFactorsRow>,
    /// Jobs that wait and are not told.
    pub not_told: usize,
}

/// A number of thousandths, with as many decimals as it has, two at most.
pub fn in_hundredths(milli: i64) -> String {
    let hundredths = (milli + 5) / 10;
    let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl fmt::Display for JobFactorsView {
    /// As people are told it, in one line.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&in_hundredths(self.total_milli))?;
        for (at, factor) in self.factors.iter().enumerate() {
            let between = if at == 0 { " = " } else { " + " };
            let (weighted, name) = (in_hundredths(factor.weighted_milli), &factor.name);
            let share = factor.parts as f64 / FACTOR_PARTS as f64;
            write!(
                out,
                "{between}{weighted} {name} ({} × {share:.3})",
                factor.weight
            )?;
        }
        Ok(())
    }
}

/// What the place of a job is made of, if a plugin orders by factors.
fn made_of(pages: &Pages<'_>, job: JobIx) -> Option<JobFactorsView> {
    let factors = job_factors(pages.plugins, pages.state, job)?;
    let factors = factors.into_iter().map(|factor| {
        let parts = i128::from(factor.parts) * i128::from(factor.weight) * 1_000;
        FactorView {
            name: factor.name.to_owned(),
            weight: factor.weight,
            parts: factor.parts,
            weighted_milli: i64::try_from(parts / i128::from(FACTOR_PARTS)).unwrap_or(i64::MAX),
        }
    });
    let factors: Vec<FactorView> = factors.collect();
    let weighted = factors.iter().map(|factor| factor.weighted_milli);
    Some(JobFactorsView {
        total_milli: weighted.sum(),
        factors,
    })
}

/// What the place of a job is made of that waits.
pub(super) fn factors_of_waiting(pages: &Pages<'_>, job: JobIx) -> Option<JobFactorsView> {
    let waits = pages.state.population().is_waiting(job);
    made_of(pages, job).filter(|_| waits)
}

/// Jobs that wait with what their places are made of, if a plugin orders by factors.
pub(super) fn factors_view(pages: &Pages<'_>) -> Option<FactorsView> {
    if !orders_by_factors(pages.plugins) {
        return None;
    }
    let mut view = FactorsView::default();
    for (queue, jobs, waiting) in waiting_in_order(pages, MAX_ROWS) {
        let name = &pages.state.queue(queue).object.name;
        view.not_told += waiting - jobs.len();
        for (at, job) in jobs.into_iter().enumerate() {
            view.jobs.push(JobFactorsRow {
                queue: name.clone(),
                position: at + 1,
                job: pages.state.population().job_key(job),
                made_of: made_of(pages, job)?,
            });
        }
    }
    Some(view)
}
