//! Amounts of claimed devices on queues.

use pumice_model::Delta;
use pumice_model::object::{Amounts, QueueObject};

use super::rng::Rng;

const NAMES: &[(&str, &[i64])] = &[
    ("deviceclass/gpu", &[0, 1, 2, 3, 5]),
    ("deviceclass/any", &[1, 2, 4]),
    ("deviceclass/whole", &[0, 1, 2]),
    ("deviceclass/shared", &[1, 2, 3]),
    ("memory.deviceclass/shared", &[1, 2, 4, 8]),
    ("memory.deviceclass/gpu", &[2, 4, 8]),
    ("deviceclass/missing", &[0, 1]),
];

/// Some queues limit devices, deserve some or are guaranteed some.
pub(super) fn limit(rng: &mut Rng, all: &mut [Delta]) {
    for object in all {
        if let Delta::QueueApply(queue) = object {
            write_on(rng, queue);
        }
    }
}

/// Other amounts of devices, the rest as it is.
pub(super) fn write_on(rng: &mut Rng, queue: &mut QueueObject) {
    let lists = [
        (&mut queue.capability, 2),
        (&mut queue.deserved, 2),
        (&mut queue.guarantee, 5),
    ];
    for (list, odds) in lists {
        list.retain(|(name, _)| !name.contains("deviceclass/"));
        if rng.one_in(odds) {
            add(rng, list);
        }
        list.sort();
    }
}

fn add(rng: &mut Rng, list: &mut Amounts) {
    for _ in 0..rng.between(1, 2) {
        let (name, amounts) = rng.pick(NAMES);
        if list.iter().all(|(known, _)| known != name) {
            list.push((name.to_owned(), rng.pick(amounts)));
        }
    }
}
