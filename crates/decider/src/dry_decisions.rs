//! Decisions of a dry run: taken for true until the other scheduler had time to follow them.

use std::collections::VecDeque;

use pumice_engine::{Decisions, Engine};
use pumice_model::Delta;

use crate::object_refs::pod_ref;

/// Seconds after which a dry run forgets a decision that the other scheduler has not followed.
const DRY_RUN_HOLDS_S: i64 = 60;

/// Oldest first: second of the decision, and what takes it back.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct DryDecisions(VecDeque<(i64, Delta)>);

impl DryDecisions {
    /// What a cycle decided, instead of writing it.
    pub fn note(&mut self, decisions: &Decisions, engine: &Engine, now_s: i64) {
        let uid = |task| pod_ref(engine, task).uid;
        let binds = decisions.binds.iter().map(|bind| uid(bind.task));
        let binds = binds.map(|uid| Delta::BindTakenBack { uid });
        let returns = decisions.device_returns.iter().cloned();
        let returns = returns.map(Delta::DevicesKept);
        let evictions = decisions
            .evictions
            .iter()
            .map(|eviction| uid(eviction.task));
        let evictions = evictions.map(|uid| Delta::EvictTakenBack { uid });
        let all = binds.chain(returns).chain(evictions);
        self.0.extend(all.map(|taken_back| (now_s, taken_back)));
    }

    /// When the first of them is to be forgotten.
    pub fn due_s(&self) -> Option<i64> {
        self.0.front().map(|(at_s, _)| at_s + DRY_RUN_HOLDS_S)
    }

    /// What takes back those that were not followed in time.
    pub fn take(&mut self, now_s: i64) -> Vec<Delta> {
        let mut over = Vec::new();
        while self.due_s().is_some_and(|due_s| due_s <= now_s) {
            over.extend(self.0.pop_front().map(|(_, taken_back)| taken_back));
        }
        over
    }
}
