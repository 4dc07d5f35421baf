//! Classes that are not in the mix, and why.

use pumice_devices::Tags;
use pumice_framework::points::LeftOutTasks;
use pumice_model::State;

use super::asked_class::{AskedClass, CountedClass};
use super::weigh::offered;
use super::written;

/// Those of some classes that did not come into the mix, of which it is said of each whether it did.
pub(super) fn left_out(
    state: &State,
    classes: &[CountedClass],
    taken: &[bool],
) -> Vec<LeftOutTasks> {
    let all = classes.iter().zip(taken);
    let left_out = all.filter(|(_, is_taken)| !**is_taken);
    left_out
        .map(|(class, _)| LeftOutTasks {
            asks: written::text(&class.asked),
            why: why(state, &class.asked),
        })
        .collect()
}

fn why(state: &State, asked: &AskedClass) -> String {
    let families = state.supplies().devices().families();
    let demand = families.demand(&asked.facts, Tags::default());
    match demand.parts.len() {
        0 => {
            return "asks cards of no kind that is shared here: see the switches of deviceshare"
                .to_owned();
        }
        1 => {}
        _ => return "asks cards of several kinds".to_owned(),
    }
    let ignored = families.ignored_resources();
    let mut counted = asked.amounts.iter();
    let unknown = counted.find(|(name, amount)| {
        *amount > 0 && !ignored.contains(name) && offered(state, name).is_none()
    });
    match unknown {
        Some((name, _)) => format!("no node has {name}"),
        None => {
            "no node lets such tasks in: look at its labels, affinity and tolerations".to_owned()
        }
    }
}
