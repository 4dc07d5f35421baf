//! When a job is to start whose places are kept (docs/spec/12-reservations.md).

use std::fmt;

use pumice_framework::reserved::{JobReservation, MovedBy};
use pumice_model::JobIx;
use serde::{Deserialize, Serialize};

use super::estimates::guessed_from;
use super::pages::Pages;
use super::shape::Time;
use crate::knowledge::Knowledge;

/// Most nodes that are named.
const MAX_NODES: usize = 20;

/// When a job is to start, at the latest, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedStart {
    /// When it starts if everybody ends as was said.
    pub at: Option<Time>,
    /// Job, as `namespace/name`, whose end it waits for last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// How many jobs like that one its end is guessed from; 0 where its owner says it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub guessed_from: usize,
    /// The first of the nodes that are kept for it.
    pub nodes: Vec<String>,
    /// Nodes that are kept for it and not told.
    #[serde(default)]
    pub not_told: usize,
    /// When that was planned.
    pub since: Option<Time>,
    /// What was planned before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Time>,
    /// Why that is not so any more: a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<String>,
}

impl fmt::Display for PlannedStart {
    /// As people are told it, in one line.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |time: &Option<Time>| time.as_ref().map_or("soon".to_owned(), |at| at.0.clone());
        write!(out, "starts {} if all end as they say", time(&self.at))?;
        if let Some(job) = &self.after {
            write!(out, ", after {job}")?;
        }
        match self.guessed_from {
            0 => {}
            1 => out.write_str(" (a guess, from 1 job like it)")?,
            jobs => write!(out, " (a guess, from {jobs} jobs like it)")?,
        }
        write!(out, ", on {}", self.nodes.join(", "))?;
        if self.not_told > 0 {
            write!(out, " and {} more", self.not_told)?;
        }
        match &self.moved {
            Some(why) => write!(
                out,
                "; planned before for {}, but {why}",
                time(&self.before)
            ),
            None => Ok(()),
        }
    }
}

/// Jobs for which places are kept, and when each is to start, seconds since the epoch.
pub fn planned_starts(known: Knowledge<'_>) -> impl Iterator<Item = (JobIx, i64)> {
    let all = known.follow_up.reserved.all().iter();
    let find = move |job| known.state.population().known_job(job);
    all.filter_map(move |one| Some((find(one.job)?, one.start_s)))
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Pages<'_> {
    /// When a job is to start, if places are kept for it.
    pub(crate) fn planned_start(&self, ix: JobIx) -> Option<PlannedStart> {
        let id = self.state.population().job_id(ix);
        let kept = self.follow_up.reserved.of(id)?;
        let mut nodes: Vec<String> = self.names_of_nodes(kept);
        let not_told = nodes.len().saturating_sub(MAX_NODES);
        nodes.truncate(MAX_NODES);
        Some(PlannedStart {
            at: Time::of(kept.start_s),
            after: kept.after.as_deref().map(str::to_owned),
            guessed_from: kept
                .after
                .as_deref()
                .map_or(0, |job| guessed_from(**self, job)),
            nodes,
            not_told,
            since: Time::of(kept.promised_s),
            before: kept.moved.and_then(|moved| Time::of(moved.from_s)),
            moved: kept.moved.map(|moved| why_moved(moved.why).to_owned()),
        })
    }

    /// Each once, by name.
    fn names_of_nodes(&self, kept: &JobReservation) -> Vec<String> {
        let nodes = kept.pods.iter().map(|(_, node)| *node);
        let mut names: Vec<String> = nodes
            .map(|node| self.state.nodes().object(node).name.to_string())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

fn why_moved(why: MovedBy) -> &'static str {
    match why {
        MovedBy::Room => "there is room earlier: something ended before its time, or came",
        MovedBy::Overrun => {
            "that moment passed and there was no room: something runs longer than was said"
        }
        MovedBy::PlacesTaken => {
            "its places are not free by then any more: somebody who goes first took some, or what a node or \
             pod says of itself changed"
        }
        MovedBy::Nodes => "the nodes of the cluster have changed",
    }
}
