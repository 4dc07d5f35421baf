//! How much of a device's capacity a request takes (consumable capacity).

use std::collections::BTreeMap;

use pumice_units::quantity::Quantity;

use crate::device::{CapacityPolicy, CounterSet, Counters, DeviceCapacity, DraDevice};

type CapacityAmounts = BTreeMap<String, Quantity>;

/// Why a device cannot give a request what it needs of a capacity, even if nobody else has any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapacityLack<'a> {
    /// The device does not have it.
    Absent {
        /// Name of the capacity.
        name: &'a str,
    },
    /// Less than nothing is asked.
    Negative {
        /// Name of the capacity.
        name: &'a str,
        /// What is asked.
        asked: Quantity,
    },
    /// More is needed than there is, or than one request may have.
    Beyond {
        /// Name of the capacity.
        name: &'a str,
        /// What is needed: what is asked, rounded up.
        needed: Quantity,
        /// The most that a request may have.
        most: Quantity,
    },
    /// The policy has no such amount.
    NotAllowed {
        /// Name of the capacity.
        name: &'a str,
        /// What is needed.
        needed: Quantity,
    },
}

/// What a request takes of each capacity of a device.
///
/// # Errors
/// The device cannot give it even if nobody else has any.
pub fn consumption<'a>(
    device: &'a DraDevice,
    wanted: &'a CapacityAmounts,
) -> Result<CapacityAmounts, CapacityLack<'a>> {
    for (name, asked) in wanted {
        let asked = *asked;
        if !device.capacity.contains_key(name) {
            return Err(CapacityLack::Absent { name });
        }
        if asked.is_negative() {
            return Err(CapacityLack::Negative { name, asked });
        }
    }
    let mut taken = CapacityAmounts::new();
    for (name, capacity) in &device.capacity {
        let needed = amount(capacity, wanted.get(name).copied());
        let most = most(capacity);
        if needed > capacity.value || violates(capacity.policy.as_ref(), needed) {
            return Err(match needed > most {
                true => CapacityLack::Beyond { name, needed, most },
                false => CapacityLack::NotAllowed { name, needed },
            });
        }
        taken.insert(name.clone(), needed);
    }
    Ok(taken)
}

/// The first capacity of which a device has less left than a request takes, besides what is taken already.
pub fn short_of<'a>(
    device: &'a DraDevice,
    taken: &CapacityAmounts,
    more: &CapacityAmounts,
) -> Option<&'a str> {
    let short = device.capacity.iter().find(|(name, capacity)| {
        let taken = taken.get(*name).copied().unwrap_or_default();
        taken.plus(more.get(*name).copied().unwrap_or_default()) > capacity.value
    });
    short.map(|(name, _)| name.as_str())
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

/// The most of a capacity that a request may have.
fn most(capacity: &DeviceCapacity) -> Quantity {
    let policy = capacity.policy.as_ref();
    let range = policy.and_then(|policy| policy.range.as_ref());
    let most = match range {
        Some(range) => range.max,
        None => policy.and_then(|policy| policy.values.last().copied()),
    };
    most.map_or(capacity.value, |most| most.min(capacity.value))
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
