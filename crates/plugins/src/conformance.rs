//! Plugin `conformance`: never evict critical pods (spec/02 §3).
//!
//! It only speaks about victims. It protects every
//! pod of priority class `system-cluster-critical` or `system-node-critical` (by name of the class, not
//! by its value) and every pod in namespace `kube-system`, which the model marks
//! ([`pumice_model::Task::critical`]).

use pumice_conf::PluginSpec;
use pumice_framework::Plugin;
use pumice_framework::points;
use pumice_framework::points::{Purpose, Victims, WhyKept};
use pumice_framework::tiers::{VictimAnswer, Weight};
use pumice_model::{State, TaskIx};

use crate::entry::PluginEntry;

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "conformance",
    summary: "Protects critical pods and those of kube-system from eviction.",
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry = PluginEntry::new(SPEC, |_, _| Box::new(Conformance));

/// The plugin.
#[derive(Clone)]
pub struct Conformance;

impl Plugin for Conformance {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(self; as_victims: Victims);
}

/// Those that are not critical.
fn harmless(state: &State, candidates: &[TaskIx]) -> Vec<TaskIx> {
    let harmless = |task: &TaskIx| !state.task(*task).critical;
    candidates.iter().copied().filter(harmless).collect()
}

impl Victims for Conformance {
    fn why_kept(&self) -> Option<WhyKept> {
        Some(WhyKept::Said {
            one: "protected by conformance",
            many: "protected by conformance",
        })
    }

    fn victims(
        &self,
        state: &State,
        _purpose: Purpose,
        _preemptor: TaskIx,
        candidates: &[TaskIx],
    ) -> VictimAnswer<TaskIx> {
        VictimAnswer::new(Weight::Protection, harmless(state, candidates))
    }

    fn unprotected(&self, state: &State, candidates: &[TaskIx]) -> Option<Vec<TaskIx>> {
        Some(harmless(state, candidates))
    }

    fn never(
        &self,
        state: &State,
        _purpose: Purpose,
        _preemptor: TaskIx,
        candidate: TaskIx,
    ) -> Option<Weight> {
        state.task(candidate).critical.then_some(Weight::Protection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;

    #[test]
    fn critical_pods_are_no_victims() {
        let critical = pumice_model::object::PodObject {
            namespace: "kube-system".to_owned(),
            ..pod("critical", "1c")
        };
        let state = Cluster::default()
            .with(node("n", "8c pods=10"))
            .with(critical.on("n"))
            .with(pod("plain", "1c").on("n"))
            .with(pod("new", "1c"))
            .state();
        let all = [task(&state, "critical"), task(&state, "plain")];
        let answer = Conformance.victims(&state, Purpose::Preempt, task(&state, "new"), &all);
        assert_eq!(answer.allowed, Some(vec![task(&state, "plain")]));
        assert_eq!(answer.weight, Weight::Protection);
    }
}
