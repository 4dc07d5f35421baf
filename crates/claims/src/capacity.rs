//! How much of a device's capacity a request takes (consumable capacity).

use std::collections::BTreeMap;

use pumice_api::quantity::Quantity;

use crate::device::{CapacityPolicy, CounterSet, Counters, DeviceCapacity, DraDevice};

type CapacityAmounts = BTreeMap<String, Quantity>;

/// What a request takes of each capacity of a device; `None` if the device cannot give it even if nobody
/// else has any.
pub fn consumption(device: &DraDevice, wanted: &CapacityAmounts) -> Option<CapacityAmounts> {
    if wanted
        .keys()
        .any(|name| !device.capacity.contains_key(name))
    {
        return None;
    }
    let mut taken = CapacityAmounts::new();
    for (name, capacity) in &device.capacity {
        let amount = amount(capacity, wanted.get(name).copied());
        if amount > capacity.value || violates(capacity.policy.as_ref(), amount) {
            return None;
        }
        taken.insert(name.clone(), amount);
    }
    Some(taken)
}

/// Whether a device has room for what a request takes, besides what is taken already.
pub fn has_room(device: &DraDevice, taken: &CapacityAmounts, more: &CapacityAmounts) -> bool {
    device.capacity.iter().all(|(name, capacity)| {
        let taken = taken.get(name).copied().unwrap_or_default();
        taken.plus(more.get(name).copied().unwrap_or_default()) <= capacity.value
    })
}

/// A counter that keeps a device of its pool from being given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterLack<'a> {
    /// The pool does not have it.
    Absent {
        /// Name of the set.
        set: &'a str,
        /// Name of the counter; empty where the device names none of the set.
        name: &'a str,
    },
    /// Too little of it is left.
    Short {
        /// Name of the set.
        set: &'a str,
        /// Name of the counter.
        name: &'a str,
        /// What the device uses.
        needed: Quantity,
        /// What is left.
        left: Quantity,
    },
}

/// The first counter of which a device that nobody has would need more than is left; `used` is what others
/// use of a set.
pub fn counter_lack<'d, 'c>(
    device: &'d DraDevice,
    sets: &[CounterSet],
    used: impl Fn(&'d str) -> [Option<&'c Counters>; 2],
) -> Option<CounterLack<'d>> {
    device.uses.iter().find_map(|uses| {
        let set = uses.set.as_str();
        let Some(there) = sets.iter().find(|known| known.name == set) else {
            let name = uses.counters.keys().next().map_or("", String::as_str);
            return Some(CounterLack::Absent { set, name });
        };
        let used = used(set);
        uses.counters.iter().find_map(|(name, needed)| {
            let Some(all) = there.counters.get(name) else {
                return Some(CounterLack::Absent { set, name });
            };
            let amounts = used.iter().flatten().filter_map(|used| used.get(name));
            let taken = amounts.fold(Quantity::default(), |sum, more| sum.plus(*more));
            (taken.plus(*needed) > *all).then(|| CounterLack::Short {
                set,
                name,
                needed: *needed,
                left: all.minus(taken),
            })
        })
    })
}

/// What is asked for, rounded up to what the policy allows; without a word its default, else everything.
fn amount(capacity: &DeviceCapacity, wanted: Option<Quantity>) -> Quantity {
    let policy = capacity.policy.as_ref();
    let Some(wanted) = wanted else {
        let default = policy.and_then(|policy| policy.default);
        return default.unwrap_or(capacity.value);
    };
    policy.map_or(wanted, |policy| rounded(policy, wanted))
}

/// The least amount that the policy allows and that is enough; the same amount if none is.
fn rounded(policy: &CapacityPolicy, wanted: Quantity) -> Quantity {
    if let Some(range) = &policy.range {
        if wanted < range.min {
            return range.min;
        }
        let Some(step) = range.step.filter(|step| *step > Quantity::default()) else {
            return wanted;
        };
        let steps = wanted.minus(range.min).steps_of(step);
        return range.min.plus(step.times(steps));
    }
    let mut values = policy.values.iter();
    values
        .find(|value| **value >= wanted)
        .copied()
        .unwrap_or(wanted)
}

fn violates(policy: Option<&CapacityPolicy>, amount: Quantity) -> bool {
    let Some(policy) = policy else { return false };
    if policy.default == Some(amount) {
        return false;
    }
    if let Some(range) = &policy.range {
        return range.max.is_some_and(|max| amount > max) || rounded(policy, amount) != amount;
    }
    !policy.values.is_empty() && !policy.values.contains(&amount)
}
