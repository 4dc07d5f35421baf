//! What claimed devices count for queues (spec/09 §7): so many of a class, and so much of their capacities,
//! as resources with names of their own.
//!
//! A claim that is the pod's own counts for it. One that several pods may name counts once a queue, whoever
//! of it uses it: as long as one of them has a place, and as what the most certain of these places is.

use std::sync::Arc;

use pumice_claims::{DeviceCount, MAX_DEVICES_A_CLAIM, RequestedDevices};
use rustc_hash::FxHashMap;

use crate::ix::{QueueIx, TaskIx};
use crate::object::{ClaimAllocation, ResourceClaimObject};
use crate::resource::{MAX_AMOUNT, ResIx, ResVec, ResourceNames, device_capacity, device_count};

use super::{DeviceStock, HeldCounts, ResourceClaimIx, ResourceClaims, ResourceNeed};

pub(super) type ChargedAmounts = Vec<(ResIx, i64)>;

/// What the claims of a pod count for its queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ClaimCharge {
    /// Claims that are its own, together.
    own: ChargedAmounts,
    /// Claims that others may name as well.
    shared: Vec<(ResourceClaimIx, ChargedAmounts)>,
}

/// As what the place of a pod counts; what is first counts where pods share a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DeviceHold {
    Allocated,
    Pipelined,
    /// The pod is being evicted, which may be refused.
    InDoubt,
}

/// Devices that pods of a queue have by claims.
#[derive(Clone, Debug, Default)]
pub struct ClaimedDevices {
    /// Devices of pods in an allocated status.
    pub allocated: ResVec,
    /// Devices of pipelined pods, beyond `allocated`.
    pub pipelined: ResVec,
    /// Devices of pods whose eviction may be refused, beyond both.
    pub in_doubt: ResVec,
}

impl ClaimedDevices {
    fn shift(&mut self, hold: DeviceHold, amounts: &[(ResIx, i64)], by: i64) {
        let sums = match hold {
            DeviceHold::Allocated => &mut self.allocated,
            DeviceHold::Pipelined => &mut self.pipelined,
            DeviceHold::InDoubt => &mut self.in_doubt,
        };
        for (resource, amount) in amounts {
            sums.shift(*resource, amount.wrapping_mul(by));
        }
    }
}

/// A claim in a queue whose pods share it.
#[derive(Clone, Debug, Default)]
struct SharedClaim {
    amounts: ChargedAmounts,
    /// Pods that have a place, by what it counts as.
    users: [u32; 3],
}

impl SharedClaim {
    fn hold(&self) -> Option<DeviceHold> {
        let all = [
            DeviceHold::Allocated,
            DeviceHold::Pipelined,
            DeviceHold::InDoubt,
        ];
        let mut used = all.into_iter();
        used.find(|hold| self.users[*hold as usize] > 0)
    }
}

/// For which queue a pod is counted, as what, and with which need.
#[derive(Clone)]
struct CountedClaims {
    queue: QueueIx,
    hold: DeviceHold,
    need: Arc<ResourceNeed>,
}

/// Who is counted where. Claims are read, and never changed.
#[derive(Clone, Default)]
pub(crate) struct ClaimCounts {
    counted: FxHashMap<TaskIx, CountedClaims>,
    shared: FxHashMap<(QueueIx, ResourceClaimIx), SharedClaim>,
    /// What groups hold.
    pub(super) held: HeldCounts,
}

impl ClaimCharge {
    /// Claims that others may name as well, with what they count.
    pub(super) fn shared(&self) -> &[(ResourceClaimIx, ChargedAmounts)] {
        &self.shared
    }

    /// Adds what it counts to a sum in which each claim that others may name counts once: `counted` are those that are in
    /// it.
    pub(crate) fn add_once(&self, counted: &mut Vec<ResourceClaimIx>, to: &mut ResVec) {
        let mut add = |amounts: &ChargedAmounts| {
            let amounts = amounts.iter();
            amounts.for_each(|(resource, amount)| to.shift(*resource, *amount));
        };
        add(&self.own);
        for (claim, amounts) in &self.shared {
            if !counted.contains(claim) {
                counted.push(*claim);
                add(amounts);
            }
        }
    }

    /// Adds what a claim counts; of what it only asks for, what there is: whoever makes claims may write any
    /// name.
    pub(super) fn add(
        &mut self,
        claim: Option<ResourceClaimIx>,
        object: &ResourceClaimObject,
        has: Option<&ClaimAllocation>,
        stock: &DeviceStock,
        names: &mut ResourceNames,
    ) {
        let mut sums: FxHashMap<String, i64> = FxHashMap::default();
        match has {
            Some(allocation) => of_allocation(object, allocation, &mut sums),
            None => of_spec(object, stock, &mut sums),
        }
        let mut named: Vec<_> = sums.into_iter().filter(|(_, sum)| *sum > 0).collect();
        named.sort_unstable();
        let amounts = named
            .iter()
            .map(|(name, amount)| (names.intern(name), *amount));
        let amounts: ChargedAmounts = amounts.collect();
        match claim {
            _ if amounts.is_empty() => {}
            Some(claim) if self.shared.iter().any(|(known, _)| *known == claim) => {}
            Some(claim) => self.shared.push((claim, amounts)),
            None => {
                for (resource, amount) in amounts {
                    match self.own.iter_mut().find(|(known, _)| *known == resource) {
                        Some((_, sum)) => *sum = sum.saturating_add(amount).min(MAX_AMOUNT),
                        None => self.own.push((resource, amount)),
                    }
                }
            }
        }
    }
}

fn add(sums: &mut FxHashMap<String, i64>, name: String, amount: i64) {
    let sum = sums.entry(name).or_default();
    *sum = sum.saturating_add(amount).min(MAX_AMOUNT);
}

/// What is certain of a claim without devices: of alternatives nothing, of all devices that there is one.
fn of_spec(object: &ResourceClaimObject, stock: &DeviceStock, sums: &mut FxHashMap<String, i64>) {
    for request in &object.spec.requests {
        let [choice] = request.choices.as_slice() else {
            continue;
        };
        if choice.admin_access || !stock.has_class(&choice.class) {
            continue;
        }
        let count = match choice.count {
            // A claim never gets more, whatever is written.
            DeviceCount::Exactly(count) => count.min(MAX_DEVICES_A_CLAIM as u64) as i64,
            DeviceCount::All => 1,
        };
        add(sums, device_count(&choice.class), count);
        let capacities = choice.capacity.iter();
        let known = capacities.filter(|(name, _)| stock.has_capacity(name));
        for (name, amount) in known {
            let amount = amount.whole_ceil().saturating_mul(count);
            add(sums, device_capacity(name, &choice.class), amount);
        }
    }
}

/// Each device counts; of a shared one what is taken of it, of a whole one what was asked.
fn of_allocation(
    object: &ResourceClaimObject,
    allocation: &ClaimAllocation,
    sums: &mut FxHashMap<String, i64>,
) {
    for device in &allocation.devices.devices {
        let Some(choice) = choice_of(object, &device.request) else {
            continue;
        };
        if device.admin_access {
            continue;
        }
        add(sums, device_count(&choice.class), 1);
        let taken = device.share.as_ref().map(|(_, consumed)| consumed);
        for (name, amount) in taken.unwrap_or(&choice.capacity) {
            let name = device_capacity(name, &choice.class);
            add(sums, name, amount.whole_ceil());
        }
    }
}

/// The request or alternative with a name of results.
fn choice_of<'a>(object: &'a ResourceClaimObject, name: &str) -> Option<&'a RequestedDevices> {
    let (request, alternative) = name.split_once('/').unwrap_or((name, ""));
    let mut requests = object.spec.requests.iter();
    let request = requests.find(|known| known.name == request)?;
    let mut choices = request.choices.iter();
    choices.find(|choice| choice.name == alternative)
}

impl ClaimCounts {
    /// Whether a pod would count something else than it is counted with.
    pub(crate) fn is_counted_otherwise(&self, task: TaskIx, need: &ResourceNeed) -> bool {
        let counted = self.counted.get(&task);
        counted.is_some_and(|counted| counted.need.charge != need.charge)
    }

    /// These pods, and all that are counted and share a claim with one of them.
    pub(crate) fn counted_with(&self, tasks: &[TaskIx], claims: &ResourceClaims) -> Vec<TaskIx> {
        let mut all = tasks.to_vec();
        for task in tasks {
            let before = self.counted.get(task).map(|counted| &counted.need);
            let needs = before.into_iter().chain(claims.resolved(*task));
            for (claim, _) in needs.flat_map(|need| &need.charge.shared) {
                let users = claims.claims[claim.at()].users.iter();
                all.extend(users.filter(|user| self.counted.contains_key(user)));
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Pods that are counted.
    pub(crate) fn counted(&self) -> Vec<TaskIx> {
        let mut all: Vec<TaskIx> = self.counted.keys().copied().collect();
        all.sort_unstable();
        all
    }

    /// Counts the claims of a pod for its queue.
    pub(crate) fn count(
        &mut self,
        task: TaskIx,
        queue: QueueIx,
        hold: DeviceHold,
        need: &Arc<ResourceNeed>,
        sums: &mut ClaimedDevices,
    ) {
        sums.shift(hold, &need.charge.own, 1);
        for (claim, amounts) in &need.charge.shared {
            self.share(queue, *claim, hold, amounts, sums);
        }
        let need = Arc::clone(need);
        let counted = CountedClaims { queue, hold, need };
        self.counted.insert(task, counted);
    }

    /// One more has a claim, that counts so much by now.
    pub(super) fn share(
        &mut self,
        queue: QueueIx,
        claim: ResourceClaimIx,
        hold: DeviceHold,
        amounts: &ChargedAmounts,
        sums: &mut ClaimedDevices,
    ) {
        let shared = self.shared.entry((queue, claim)).or_default();
        if let Some(before) = shared.hold() {
            sums.shift(before, &shared.amounts, -1);
        }
        shared.amounts.clone_from(amounts);
        shared.users[hold as usize] += 1;
        if let Some(now) = shared.hold() {
            sums.shift(now, &shared.amounts, 1);
        }
    }

    /// The inverse of [`ClaimCounts::share`].
    pub(super) fn unshare(
        &mut self,
        queue: QueueIx,
        claim: ResourceClaimIx,
        hold: DeviceHold,
        sums: &mut ClaimedDevices,
    ) {
        let Some(shared) = self.shared.get_mut(&(queue, claim)) else {
            return;
        };
        if let Some(before) = shared.hold() {
            sums.shift(before, &shared.amounts, -1);
        }
        let users = &mut shared.users[hold as usize];
        *users = users.strict_sub(1);
        match shared.hold() {
            Some(now) => sums.shift(now, &shared.amounts, 1),
            None => {
                self.shared.remove(&(queue, claim));
            }
        }
    }

    /// For which queue a pod is counted, if it is.
    pub(crate) fn counted_for(&self, task: TaskIx) -> Option<QueueIx> {
        self.counted.get(&task).map(|counted| counted.queue)
    }

    /// The inverse of [`ClaimCounts::count`].
    pub(crate) fn uncount(&mut self, task: TaskIx, sums: &mut ClaimedDevices) {
        let Some(counted) = self.counted.remove(&task) else {
            return;
        };
        let CountedClaims { queue, hold, need } = counted;
        sums.shift(hold, &need.charge.own, -1);
        for (claim, _) in &need.charge.shared {
            self.unshare(queue, *claim, hold, sums);
        }
    }

    /// Adds what a queue has more because of the claims of a pod, or would have: what others of it have that
    /// are placed does not count twice.
    pub(crate) fn add_charge(
        &self,
        task: TaskIx,
        need: &ResourceNeed,
        queue: Option<QueueIx>,
        to: &mut ResVec,
    ) {
        need.charge
            .own
            .iter()
            .for_each(|(resource, amount)| to.shift(*resource, *amount));
        for (claim, amounts) in &need.charge.shared {
            if self.others(task, queue, *claim)[..2] == [0, 0] {
                amounts
                    .iter()
                    .for_each(|(resource, amount)| to.shift(*resource, *amount));
            }
        }
    }

    /// What of that only pods have that are being evicted, and may stay.
    pub(crate) fn charge_in_doubt(
        &self,
        task: TaskIx,
        need: &ResourceNeed,
        queue: QueueIx,
    ) -> ResVec {
        let mut sum = ResVec::default();
        for (claim, amounts) in &need.charge.shared {
            let [allocated, pipelined, in_doubt] = self.others(task, Some(queue), *claim);
            if allocated == 0 && pipelined == 0 && in_doubt > 0 {
                amounts
                    .iter()
                    .for_each(|(resource, amount)| sum.shift(*resource, *amount));
            }
        }
        sum
    }

    /// Other pods of a queue that use a claim and are counted.
    fn others(&self, task: TaskIx, queue: Option<QueueIx>, claim: ResourceClaimIx) -> [u32; 3] {
        let shared = queue.and_then(|queue| self.shared.get(&(queue, claim)));
        let mut users = shared.map_or([0; 3], |shared| shared.users);
        if let Some(own) = self.counted.get(&task)
            && Some(own.queue) == queue
            && own
                .need
                .charge
                .shared
                .iter()
                .any(|(known, _)| *known == claim)
        {
            users[own.hold as usize] = users[own.hold as usize].saturating_sub(1);
        }
        users
    }
}
