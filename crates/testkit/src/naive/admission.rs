//! With what a PodGroup was admitted, as its status tells it.

use pumice_model::object::{GroupCondition, GroupPhase};
use pumice_model::resource::{Unit, unit_of};
use pumice_units::quantity::{self, Quantity};

use super::queue_share::minimum;
use super::state::{Job, Res, set_condition};

const ADMITTED: &str = "Admitted";

/// Lets a job out of Pending, and tells with what.
pub fn admit(job: &mut Job) {
    job.group.status.phase = GroupPhase::Inqueue;
    job.admitted = Some(minimum(job));
    forget(job);
    if job.group.name.starts_with("podgroup-") {
        return;
    }
    let condition = GroupCondition {
        kind: ADMITTED.to_owned(),
        status: "True".to_owned(),
        reason: "MinResources".to_owned(),
        ..GroupCondition::default()
    };
    set_condition(&mut job.group.status.conditions, condition);
}

/// It waits.
pub fn forget(job: &mut Job) {
    let conditions = &mut job.group.status.conditions;
    conditions.retain(|condition| condition.kind != ADMITTED);
}

/// What is told, if it can be read.
pub fn told(job: &Job) -> Option<Res> {
    let mut conditions = job.group.status.conditions.iter();
    let condition = conditions.find(|known| known.kind == ADMITTED)?;
    if condition.message == "nothing" {
        return Some(Res::new());
    }
    let amounts = condition.message.split(", ").map(|one| {
        let (name, text) = one.split_once('=')?;
        let amount: Quantity = quantity::parse(text).ok()?;
        match unit_of(name)? {
            Unit::Milli => Some((name.to_owned(), amount.milli_ceil())),
            Unit::Whole => Some((name.to_owned(), amount.whole_ceil())),
        }
    });
    amounts.collect()
}
