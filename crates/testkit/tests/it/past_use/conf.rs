//! Configurations with past use and limits of run times, as a text and as they are meant.

use pumice_fixtures::Dice;

use super::plain::{Measure, Plain};

/// Who counts as a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Users {
    None,
    Namespace,
    Said,
}

/// A configuration, the lists for it, and who counts as a user.
pub fn conf(dice: &mut Dice) -> (String, Plain, Users) {
    let (text, measure) = match dice.below(3) {
        0 => ("dominant", Measure::Dominant),
        1 => ("cpu=1000", Measure::Weights([1000.0, 0.0])),
        _ => ("cpu=1000,memory=10.5", Measure::Weights([1000.0, 10.5])),
    };
    let (name, users) = [
        ("none", Users::None),
        ("namespace", Users::Namespace),
        ("said", Users::Said),
    ][dice.below(3) as usize];
    let half_life_s = [60, 600, 7200, 604_800][dice.below(4) as usize];
    let interval_s = [1, 10, 60, 600][dice.below(4) as usize];
    let grace_s = [None, Some(0), Some(30)][dice.below(3) as usize];
    let limits = grace_s.map_or(String::new(), |grace_s| {
        format!(", {{name: runtimelimit, arguments: {{runtimelimit.grace: {grace_s}s}}}}")
    });
    let text = format!(
        "actions: \"enqueue, allocate\"\n\
         tiers:\n\
         - plugins: [{{name: gang}}, {{name: fairshare, arguments: {{fairshare.measure: \"{text}\", \
         fairshare.users: {name}, fairshare.halfLife: {half_life_s}s, fairshare.interval: {interval_s}s}}}}]\n\
         - plugins: [{{name: predicates}}{limits}]\n"
    );
    let plain = Plain::new(measure, [half_life_s, interval_s], grace_s);
    (text, plain, users)
}
