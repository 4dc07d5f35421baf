//! Classes that are not in the mix, and why.

use pumice_devices::{DeviceMix, Tags};
use pumice_framework::points::LeftOutTasks;
use pumice_model::State;

use super::census::{AskedClass, CountedClass};
use super::written;

/// Those of some classes that did not come into the mix that was made of them.
pub(super) fn left_out(
    state: &State,
    classes: &[CountedClass],
    mix: &DeviceMix,
) -> Vec<LeftOutTasks> {
    // They are in the mix in the order in which they were given.
    let mut taken = mix.classes().iter().peekable();
    let mut out = Vec::new();
    for class in classes {
        let asks = written::text(&class.asked);
        match taken.next_if(|known| known.text() == asks) {
            Some(_) => {}
            None => out.push(LeftOutTasks {
                why: why(state, &class.asked),
                asks,
            }),
        }
    }
    out
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
        *amount > 0 && !ignored.contains(name) && state.resources().get(name).is_none()
    });
    match unknown {
        Some((name, _)) => format!("no node has {name}"),
        None => {
            "no node lets such tasks in: look at its labels, affinity and tolerations".to_owned()
        }
    }
}
