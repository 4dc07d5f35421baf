//! Conditions of PodGroups and CompositePodGroups below the root of a tree: their pods are of the job of that root
//! (spec/03 §B11).

use pumice_engine::Decisions;
use pumice_model::object::{
    COMPOSITE_GROUP, GroupCondition, GroupObject, GroupStatus, SCHEDULED, UNSCHEDULABLE,
};
use pumice_model::write::Write;
use pumice_model::{JobIx, State, TreeMember, parts_within};

/// What parts of trees say otherwise than they should after what was decided of their roots. The words are few, so
/// each is written a few times in its life; one whose write fails is told with the next change.
pub(crate) fn told_within(state: &State, decisions: &Decisions) -> Vec<Write> {
    let jobs = decisions.trees.iter();
    jobs.flat_map(|ix| told_of(state, *ix)).collect()
}

fn told_of(state: &State, ix: JobIx) -> Vec<Write> {
    let job = state.job(ix);
    let root = job.name.strip_prefix(COMPOSITE_GROUP).unwrap_or(&job.name);
    let told = parts_within(state, ix).into_iter().filter_map(
        |TreeMember { object, was_placed }| {
            let (kind, message) = match (was_placed, job.status.says_placed()) {
                (true, _) => (SCHEDULED, String::new()),
                (false, true) => (
                    UNSCHEDULABLE,
                    format!(
                        "CompositePodGroup {root} is placed without it: its pods say why they wait"
                    ),
                ),
                (false, false) => (
                    UNSCHEDULABLE,
                    format!(
                        "part of CompositePodGroup {root}, whose condition says why that waits"
                    ),
                ),
            };
            status_of(object, kind, message)
        },
    );
    told.collect()
}

/// The status with that condition, if a part does not say so already.
fn status_of(group: &GroupObject, kind: &str, message: String) -> Option<Write> {
    let condition = GroupCondition {
        kind: kind.to_owned(),
        status: "True".to_owned(),
        message,
        ..GroupCondition::default()
    };
    let status = GroupStatus::of_native(vec![condition]);
    let says_so = group.status.native_conditions() == status.native_conditions();
    (!says_so).then(|| Write::GroupStatus {
        namespace: group.namespace.clone(),
        name: group.name.clone(),
        uid: group.uid.clone(),
        status,
        urgent: false,
    })
}
