//! What the pods of a group hold of partitioned cards, on all nodes together: what tells whether it
//! matters that a pod is of that group.

use pumice_devices::{Partition, Tags};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Holding;

/// A partition of some card of a family, as often as it is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HeldPartition {
    family: u8,
    partition: Partition,
    times: u32,
}

/// What groups hold, by number of the group; those that hold nothing are left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupHoldings(FxHashMap<u32, SmallVec<[HeldPartition; 2]>>);

impl GroupHoldings {
    /// Partitions that pods of a group hold, each with its family.
    pub(crate) fn held_by(
        &self,
        group: Option<u32>,
    ) -> impl Iterator<Item = (u8, Partition)> + Clone {
        let held = group.and_then(|group| self.0.get(&group));
        let held = held.into_iter().flatten();
        held.map(|held| (held.family, held.partition))
    }

    /// A pod comes to hold something.
    pub(crate) fn add(&mut self, holding: &Holding) {
        for (group, family, partition) in of_group(holding) {
            let all = self.0.entry(group).or_default();
            match all.iter_mut().find(|held| held.is(family, partition)) {
                Some(held) => held.times += 1,
                None => all.push(HeldPartition {
                    family,
                    partition,
                    times: 1,
                }),
            }
        }
    }

    /// The inverse of [`GroupHoldings::add`].
    pub(crate) fn remove(&mut self, holding: &Holding) {
        for (group, family, partition) in of_group(holding) {
            let Some(all) = self.0.get_mut(&group) else {
                debug_assert!(false, "group {group} holds nothing to give back");
                continue;
            };
            if let Some(held) = all.iter_mut().find(|held| held.is(family, partition)) {
                held.times = held.times.strict_sub(1);
            }
            all.retain(|held| held.times > 0);
            if all.is_empty() {
                self.0.remove(&group);
            }
        }
    }
}

impl HeldPartition {
    fn is(&self, family: u8, partition: Partition) -> bool {
        (self.family, self.partition) == (family, partition)
    }
}

/// The partitions of a holding; none if the pod is of no group.
fn of_group(holding: &Holding) -> impl Iterator<Item = (u32, u8, Partition)> {
    let Tags { group, .. } = holding.tags;
    let parts = group.into_iter().flat_map(|group| {
        let parts = holding.parts.iter();
        parts.map(move |(family, allocations)| (group, *family, allocations))
    });
    parts.flat_map(|(group, family, allocations)| {
        let partitions = allocations.iter().filter_map(|one| one.partition);
        partitions.map(move |partition| (group, family, partition))
    })
}
