//! The search: all claims of a pod at once, on the pools that a node reaches.
//!
//! Depth first: claims in order, their requests in order, alternatives of a request in order, devices in
//! the order of pools. The first solution is taken, so where there is one it is found, and it is the same
//! every time. Within a request devices are combined, not permuted.

use std::collections::BTreeMap;

use pumice_units::quantity::Quantity;
use rustc_hash::FxHashMap;

use crate::capacity;
use crate::constraint::Constrained;
use crate::device::{CounterSet, Counters, DraDevice};
use crate::request::{ClaimSpec, DeviceCount, RequestedDevices};
use crate::selector::Match;

/// Devices one claim may have (`AllocationResultsMaxSize`).
pub const MAX_DEVICES_A_CLAIM: usize = 32;

/// Devices looked at in one search before it is given up. Kubernetes gives up after 10 s; a decision here
/// must not depend on a clock.
pub const MAX_STEPS: u64 = 50_000;

/// A claim to be served.
#[derive(Clone, Debug)]
pub struct ClaimWish<'a> {
    /// What it asks for.
    pub spec: &'a ClaimSpec,
    /// Number of the selectors of each choice of each request, for [`Books::matches`].
    pub filters: &'a [Vec<u32>],
}

/// Devices of a pool that a node reaches.
#[derive(Clone, Debug)]
pub struct PoolOffer<'a> {
    /// Number of the pool, for [`Books::used_counters`].
    pub pool: u32,
    /// Driver that the devices of the pool belong to.
    pub driver: &'a str,
    /// All slices of the newest generation are known.
    pub is_complete: bool,
    /// No two devices have the same name.
    pub is_valid: bool,
    /// Counters its devices share.
    pub counters: &'a [CounterSet],
    /// Devices, each with its number.
    pub devices: Vec<(u32, &'a DraDevice)>,
}

/// What is known of devices besides what they are.
pub trait Books {
    /// Somebody has the whole device.
    fn is_taken(&self, device: u32) -> bool;
    /// What others have of a shared device; `None` if nobody has a part.
    fn consumed(&self, device: u32) -> Option<&BTreeMap<String, Quantity>>;
    /// What devices of a pool that somebody has use of a counter set.
    fn used_counters(&self, pool: u32, set: &str) -> Option<&Counters>;
    /// Whether a device passes selectors.
    fn matches(&self, filter: u32, device: u32) -> Match;
}

/// A device for a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenDevice {
    /// Which request of the claim.
    pub request: usize,
    /// Which alternative of the request.
    pub choice: usize,
    /// Number of the device.
    pub device: u32,
    /// What it takes of a shared device; `None` for the whole device.
    pub consumed: Option<BTreeMap<String, Quantity>>,
}

/// Why claims cannot be served on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// There are not enough devices that match and are free.
    NotEnough,
    /// A request for all devices, while a pool is being updated or invalid.
    PoolInFlux,
    /// A selector fails on a device.
    SelectorFails {
        /// Number of the selectors.
        filter: u32,
        /// Number of the device.
        device: u32,
    },
    /// The search was given up.
    TooLong,
}

/// Devices for all claims, by claim; or why there are none.
///
/// # Errors
/// Why not.
pub fn allocate(
    wishes: &[ClaimWish<'_>],
    pools: &[PoolOffer<'_>],
    books: &dyn Books,
) -> Result<Vec<Vec<GivenDevice>>, Misfit> {
    let mut search = DeviceSearch {
        wishes,
        pools,
        books,
        constraints: wishes
            .iter()
            .map(|wish| wish.spec.constraints.iter().map(Constrained::new).collect())
            .collect(),
        chosen: FxHashMap::default(),
        counters: FxHashMap::default(),
        given: vec![Vec::new(); wishes.len()],
        steps: 0,
    };
    search.check_pools()?;
    match search.claim(0)? {
        true => Ok(search.given),
        false => Err(Misfit::NotEnough),
    }
}

/// What the search has chosen of one device.
#[derive(Default)]
struct ChosenDevice {
    /// Claims that have the whole device; several only for administration.
    whole: Vec<usize>,
    /// Parts of it, summed up.
    parts: u32,
    consumed: BTreeMap<String, Quantity>,
}

struct DeviceSearch<'a> {
    wishes: &'a [ClaimWish<'a>],
    pools: &'a [PoolOffer<'a>],
    books: &'a dyn Books,
    constraints: Vec<Vec<Constrained<'a>>>,
    chosen: FxHashMap<u32, ChosenDevice>,
    /// Counters that chosen devices use, by pool and set.
    counters: FxHashMap<(u32, &'a str), Counters>,
    given: Vec<Vec<GivenDevice>>,
    steps: u64,
}

/// Where the search is: a request of a claim, and what of it is done.
#[derive(Clone, Copy)]
struct SearchPlace {
    claim: usize,
    request: usize,
    choice: usize,
    /// Devices of the request that are chosen.
    done: usize,
    /// Pool and device from which on the next one is looked for.
    from: (usize, usize),
}

impl<'a> DeviceSearch<'a> {
    fn choice(&self, at: SearchPlace) -> &'a RequestedDevices {
        &self.wishes[at.claim].spec.requests[at.request].choices[at.choice]
    }

    /// Who wants all devices must see all.
    fn check_pools(&self) -> Result<(), Misfit> {
        let requests = self.wishes.iter().flat_map(|wish| &wish.spec.requests);
        let mut choices = requests.flat_map(|request| &request.choices);
        let wants_all = choices.any(|choice| choice.count == DeviceCount::All);
        match wants_all && self.pools.iter().any(|p| !p.is_complete || !p.is_valid) {
            true => Err(Misfit::PoolInFlux),
            false => Ok(()),
        }
    }

    fn claim(&mut self, claim: usize) -> Result<bool, Misfit> {
        match claim < self.wishes.len() {
            true => self.request(claim, 0),
            false => Ok(true),
        }
    }

    fn request(&mut self, claim: usize, request: usize) -> Result<bool, Misfit> {
        let Some(wanted) = self.wishes[claim].spec.requests.get(request) else {
            return self.claim(claim + 1);
        };
        for choice in 0..wanted.choices.len() {
            let at = SearchPlace {
                claim,
                request,
                choice,
                done: 0,
                from: (0, 0),
            };
            let served = match self.choice(at).count {
                DeviceCount::Exactly(count) => self.some(at, count)?,
                DeviceCount::All => {
                    let all = self.all_matching(at)?;
                    !all.is_empty() && self.all(at, &all)?
                }
            };
            if served {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether so many devices more are too many for a claim.
    fn is_too_much(&self, claim: usize, more: u64) -> bool {
        self.given[claim].len() as u64 + more > MAX_DEVICES_A_CLAIM as u64
    }

    /// The rest of a request for a number of devices.
    fn some(&mut self, at: SearchPlace, count: u64) -> Result<bool, Misfit> {
        if at.done as u64 >= count {
            return self.request(at.claim, at.request + 1);
        }
        if self.is_too_much(at.claim, count - at.done as u64) {
            return Ok(false);
        }
        let pools = self.pools;
        for (number, pool) in pools.iter().enumerate().skip(at.from.0) {
            if !pool.is_complete || !pool.is_valid {
                continue;
            }
            let first = if number == at.from.0 { at.from.1 } else { 0 };
            for device in first..pool.devices.len() {
                self.step()?;
                let free = self.is_free(at, pool, device);
                if !free || !self.passes(at, pool, device)? || !self.take(at, pool, device) {
                    continue;
                }
                let next = SearchPlace {
                    done: at.done + 1,
                    from: (number, device + 1),
                    ..at
                };
                if self.some(next, count)? {
                    return Ok(true);
                }
                self.give_back(at, pool, device);
            }
        }
        Ok(false)
    }

    /// Every device that matches: pool and place in it.
    fn all_matching(&mut self, at: SearchPlace) -> Result<Vec<(usize, usize)>, Misfit> {
        let wanted = &self.choice(at).capacity;
        let mut all = Vec::new();
        for (number, pool) in self.pools.iter().enumerate() {
            for device in 0..pool.devices.len() {
                self.step()?;
                let could = capacity::consumption(pool.devices[device].1, wanted).is_ok();
                if self.passes(at, pool, device)? && could {
                    all.push((number, device));
                }
            }
        }
        Ok(all)
    }

    /// The rest of a request for all devices.
    fn all(&mut self, at: SearchPlace, all: &[(usize, usize)]) -> Result<bool, Misfit> {
        let Some(&(number, device)) = all.get(at.done) else {
            return self.request(at.claim, at.request + 1);
        };
        if self.is_too_much(at.claim, (all.len() - at.done) as u64) {
            return Ok(false);
        }
        let pool = &self.pools[number];
        self.step()?;
        if !self.is_free(at, pool, device) || !self.take(at, pool, device) {
            return Ok(false);
        }
        let next = SearchPlace {
            done: at.done + 1,
            ..at
        };
        if self.all(next, all)? {
            return Ok(true);
        }
        self.give_back(at, pool, device);
        Ok(false)
    }

    fn step(&mut self) -> Result<(), Misfit> {
        self.steps += 1;
        match self.steps > MAX_STEPS {
            true => Err(Misfit::TooLong),
            false => Ok(()),
        }
    }

    fn passes(&self, at: SearchPlace, pool: &PoolOffer<'_>, device: usize) -> Result<bool, Misfit> {
        let (id, published) = pool.devices[device];
        if published.has_binding_conditions {
            return Ok(false);
        }
        let filter = self.wishes[at.claim].filters[at.request][at.choice];
        match self.books.matches(filter, id) {
            Match::Yes => Ok(true),
            Match::No => Ok(false),
            Match::Fails => Err(Misfit::SelectorFails { filter, device: id }),
        }
    }

    /// Nobody has it who keeps the request from it.
    fn is_free(&self, at: SearchPlace, pool: &PoolOffer<'_>, device: usize) -> bool {
        let id = pool.devices[device].0;
        let chosen = self.chosen.get(&id);
        if self.choice(at).admin_access {
            return chosen.is_none_or(|chosen| !chosen.whole.contains(&at.claim));
        }
        !self.books.is_taken(id) && chosen.is_none_or(|chosen| chosen.whole.is_empty())
    }

    /// Takes a device that is free and matches, if everything else allows it.
    fn take(&mut self, at: SearchPlace, pool: &'a PoolOffer<'a>, device: usize) -> bool {
        let (id, published) = pool.devices[device];
        let choice = self.choice(at);
        let is_part_taken = published.shared
            && (self.books.consumed(id).is_some()
                || self.chosen.get(&id).is_some_and(|chosen| chosen.parts > 0));
        let fresh = !is_part_taken && !choice.admin_access;
        if fresh && !self.has_counters(pool, published) {
            return false;
        }
        if published.repelled_by(&choice.tolerations).is_some() {
            return false;
        }
        let Ok(consumed) = capacity::consumption(published, &choice.capacity) else {
            return false;
        };
        if published.shared && !self.has_room(id, published, &consumed) {
            return false;
        }
        if !self.constrain(at, pool.driver, published) {
            return false;
        }
        let chosen = self.chosen.entry(id).or_default();
        match published.shared {
            true => {
                chosen.parts += u32::from(!choice.admin_access);
                add(&mut chosen.consumed, &consumed);
            }
            false => chosen.whole.push(at.claim),
        }
        if fresh {
            self.count(pool, published, add);
        }
        self.given[at.claim].push(GivenDevice {
            request: at.request,
            choice: at.choice,
            device: id,
            consumed: published.shared.then_some(consumed),
        });
        true
    }

    /// The inverse of [`DeviceSearch::take`], of what was taken last.
    fn give_back(&mut self, at: SearchPlace, pool: &'a PoolOffer<'a>, device: usize) {
        let (id, published) = pool.devices[device];
        let request = &self.wishes[at.claim].spec.requests[at.request];
        for constraint in &mut self.constraints[at.claim] {
            constraint.remove(request, at.choice);
        }
        let given = self.given[at.claim].pop();
        let is_admin = self.choice(at).admin_access;
        let mut is_last = true;
        if let Some(chosen) = self.chosen.get_mut(&id) {
            match given.and_then(|given| given.consumed) {
                Some(consumed) => {
                    chosen.parts -= u32::from(!is_admin);
                    subtract(&mut chosen.consumed, &consumed);
                    is_last = chosen.parts == 0 && self.books.consumed(id).is_none();
                }
                None => {
                    chosen.whole.pop();
                }
            }
        }
        if is_last && !is_admin {
            self.count(pool, published, subtract);
        }
    }

    fn constrain(&mut self, at: SearchPlace, driver: &str, device: &'a DraDevice) -> bool {
        let request = &self.wishes[at.claim].spec.requests[at.request];
        let constraints = &mut self.constraints[at.claim];
        for number in 0..constraints.len() {
            if !constraints[number].add(request, at.choice, driver, device) {
                for earlier in &mut constraints[..number] {
                    earlier.remove(request, at.choice);
                }
                return false;
            }
        }
        true
    }

    fn has_room(&self, id: u32, device: &DraDevice, more: &BTreeMap<String, Quantity>) -> bool {
        let mut taken = self.books.consumed(id).cloned().unwrap_or_default();
        if let Some(chosen) = self.chosen.get(&id) {
            add(&mut taken, &chosen.consumed);
        }
        capacity::short_of(device, &taken, more).is_none()
    }

    fn has_counters(&self, pool: &PoolOffer<'_>, device: &DraDevice) -> bool {
        let used = |set| {
            let others = self.books.used_counters(pool.pool, set);
            [others, self.counters.get(&(pool.pool, set))]
        };
        capacity::counter_lack(device, pool.counters, used).is_none()
    }

    fn count(
        &mut self,
        pool: &PoolOffer<'_>,
        device: &'a DraDevice,
        book: fn(&mut Counters, &Counters),
    ) {
        for used in &device.uses {
            let key = (pool.pool, used.set.as_str());
            book(self.counters.entry(key).or_default(), &used.counters);
        }
    }
}

fn add(sum: &mut Counters, more: &Counters) {
    for (name, amount) in more {
        let sum = sum.entry(name.clone()).or_default();
        *sum = sum.plus(*amount);
    }
}

fn subtract(sum: &mut Counters, less: &Counters) {
    for (name, amount) in less {
        let sum = sum.entry(name.clone()).or_default();
        *sum = sum.minus(*amount);
    }
}
