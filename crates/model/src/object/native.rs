//! The status of a PodGroup of Kubernetes itself, which has conditions and nothing else (spec/03 §B10), in the words
//! of the status that is kept of every PodGroup.

use std::sync::Arc;

use super::{GangTree, GroupCondition, GroupPhase, GroupStatus, PodResourceClaim};

/// Condition of a gang that was bound in part and never on its nodes as a whole; under this type in both kinds of
/// PodGroups.
pub const BOUND_IN_PART: &str = "BoundInPart";
/// Condition of a PodGroup that is ready.
pub const SCHEDULED: &str = "Scheduled";
/// Condition of a PodGroup that waits.
pub const UNSCHEDULABLE: &str = "Unschedulable";

/// What a PodGroup of Kubernetes itself may say and no other one.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct NativeTraits {
    /// Pods of the group are evicted all together or not at all (`spec.disruptionMode`).
    pub goes_whole: bool,
    /// Nobody is evicted for its pods (`spec.preemptionPolicy`).
    pub never_preempts: bool,
    /// `spec.priority`, which counts before its PriorityClass: admission read it there.
    pub priority: Option<i32>,
    /// Claims that its pods share who name them alike (`spec.resourceClaims`).
    pub claims: Vec<PodResourceClaim>,
    /// What it asks that this scheduler does not do, for people: its pods wait. Empty for nothing.
    pub unserved: String,
    /// Name of the CompositePodGroup that it is part of; empty for none.
    pub parent: String,
    /// What it asks of its groups, if it is a CompositePodGroup.
    pub composite: Option<CompositePolicy>,
    /// What of its PodGroups has to be placed at once, of a CompositePodGroup that stands for all of them. The state
    /// makes it; no object says so.
    #[serde(skip)]
    pub tree: Option<Arc<GangTree>>,
}

/// How a CompositePodGroup places its groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum CompositePolicy {
    /// Each by itself.
    Basic,
    /// So many at once, or none.
    Gang(i32),
}

/// What one condition of a PodGroup of Kubernetes itself is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NativeTopic {
    /// Whether it has ever been placed: `PodGroupInitiallyScheduled`, or `PodGroupScheduled` in v1alpha2.
    Placed,
    /// Whether it was bound in part: [`BOUND_IN_PART`].
    InPart,
}

/// One condition of a PodGroup of Kubernetes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeCondition {
    /// What the condition is about.
    pub topic: NativeTopic,
    /// The condition has status `True`.
    pub holds: bool,
    /// Why, in one word of those that the API names.
    pub reason: &'static str,
    /// Why, for people.
    pub message: String,
}

impl GroupStatus {
    /// The conditions with which a PodGroup of Kubernetes itself says what this status says. Once it was placed it
    /// says so for ever, as its API wants it.
    pub fn native_conditions(&self) -> Vec<NativeCondition> {
        let says = |kind: &str| {
            let mut known = self.conditions.iter();
            known.find(|one| one.kind == kind && one.status == "True")
        };
        let placed = |holds, reason, message: &str| NativeCondition {
            topic: NativeTopic::Placed,
            holds,
            reason,
            message: message.to_owned(),
        };
        let placed = match (says(SCHEDULED), says(UNSCHEDULABLE)) {
            (Some(_), _) => Some(placed(true, "Scheduled", "enough of its pods have nodes")),
            (None, Some(why)) => Some(placed(false, "Unschedulable", &why.message)),
            (None, None) => None,
        };
        let in_part = says(BOUND_IN_PART).map(|why| NativeCondition {
            topic: NativeTopic::InPart,
            holds: true,
            reason: "GangIncomplete",
            message: why.message.clone(),
        });
        placed.into_iter().chain(in_part).collect()
    }

    /// Says that the group was placed, as it does for ever.
    pub fn say_placed(&mut self) {
        if !self.says_placed() {
            let mut conditions = std::mem::take(&mut self.conditions);
            conditions.retain(|one| one.kind != SCHEDULED);
            conditions.push(GroupCondition {
                kind: SCHEDULED.to_owned(),
                status: "True".to_owned(),
                ..GroupCondition::default()
            });
            *self = Self::of_native(conditions);
        }
    }

    /// It says that the group was placed, once at least.
    pub fn says_placed(&self) -> bool {
        let mut conditions = self.conditions.iter();
        conditions.any(|one| one.kind == SCHEDULED && one.status == "True")
    }

    /// The status of a PodGroup of Kubernetes itself as its conditions tell it, under the types that
    /// [`GroupStatus::native_conditions`] knows. Its pods are there already, so it counts as admitted.
    pub fn of_native(conditions: Vec<GroupCondition>) -> Self {
        let holds = |kind: &str| {
            let mut known = conditions.iter();
            known.any(|one| one.kind == kind && one.status == "True")
        };
        let phase = match (holds(SCHEDULED), holds(BOUND_IN_PART)) {
            (_, true) => GroupPhase::Unknown,
            (true, false) => GroupPhase::Running,
            (false, false) => GroupPhase::Inqueue,
        };
        Self {
            phase,
            conditions,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(all: &[(&str, &str)]) -> GroupStatus {
        let one = |(kind, status): &(&str, &str)| GroupCondition {
            kind: (*kind).to_owned(),
            status: (*status).to_owned(),
            message: format!("about {kind}"),
            ..GroupCondition::default()
        };
        GroupStatus::of_native(all.iter().map(one).collect())
    }

    #[test]
    fn a_group_says_that_it_was_placed_for_ever_and_why_it_waits_only_before() {
        let says = |all: &[(&str, &str)]| {
            let native = told(all).native_conditions();
            let said = native
                .into_iter()
                .map(|one| (one.holds, one.reason, one.message));
            said.collect::<Vec<_>>()
        };
        let waits = (false, "Unschedulable", "about Unschedulable".to_owned());
        let placed = (
            true,
            "Scheduled",
            "enough of its pods have nodes".to_owned(),
        );
        assert_eq!(says(&[]), []);
        assert_eq!(says(&[(UNSCHEDULABLE, "True")]), [waits]);
        assert_eq!(says(&[(UNSCHEDULABLE, "False")]), []);
        let both = [(SCHEDULED, "True"), (UNSCHEDULABLE, "True")];
        assert_eq!(says(&both), std::slice::from_ref(&placed));
        let in_part = (true, "GangIncomplete", "about BoundInPart".to_owned());
        let all = [(SCHEDULED, "True"), (BOUND_IN_PART, "True")];
        assert_eq!(says(&all), [placed, in_part]);
    }

    #[test]
    fn a_gang_that_was_there_as_a_whole_is_told_from_one_that_never_was() {
        let phase = |all: &[(&str, &str)]| told(all).phase;
        assert_eq!(phase(&[]), GroupPhase::Inqueue);
        assert_eq!(phase(&[(UNSCHEDULABLE, "True")]), GroupPhase::Inqueue);
        assert_eq!(phase(&[(SCHEDULED, "True")]), GroupPhase::Running);
        let in_part = [(SCHEDULED, "True"), (BOUND_IN_PART, "True")];
        assert_eq!(phase(&in_part), GroupPhase::Unknown);
    }
}
