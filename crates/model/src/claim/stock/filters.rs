//! Selectors of requests, and what they say of every device: once per expression and device.
//!
//! ```text
//!  a need names a filter ─► intern ──────┐
//!  a device is new, or another one ──────┴► ask: so many steps at a time, namespaces by turns
//!                                             └─► claims whose filters are answered now, or are not any
//!                                                 more: the needs of their pods are resolved again
//! ```
//!
//! A pod waits until all of its filters are answered, so what an expression costs is a matter of those alone
//! who wrote it.

use std::collections::BTreeSet;
use std::sync::Arc;

use pumice_claims::Match;
use rustc_hash::{FxHashMap, FxHashSet};

use super::compiled::{CompiledSelectors, FilterAnswer};
use super::inventory::Inventory;
use crate::claim::ResourceClaimIx;

/// Filters beyond which those that nobody uses any more are forgotten.
const MAX_FILTERS: usize = 4096;

/// Steps of expressions that are taken at a time where work is limited: some milliseconds.
const STEPS_AT_A_TIME: u64 = 100_000;

/// Steps that a namespace may take before another one has its turn.
const STEPS_A_TURN: u64 = 10_000;

/// Different texts that are kept of why a filter fails on devices.
const MAX_FAILURES: usize = 16;

/// Selectors of a class and of a request, in the order they are asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FilterKey {
    /// Name of the DeviceClass.
    pub class: String,
    /// Expressions of the selectors of the class.
    pub of_class: Vec<String>,
    /// Those of the request.
    pub of_request: Vec<String>,
}

#[derive(Clone)]
struct DeviceFilter {
    key: Arc<FilterKey>,
    /// Namespace of the claim that named the filter first.
    namespace: String,
    /// Claims that have named it, of which some may not any more.
    claims: FxHashSet<ResourceClaimIx>,
    /// What it says of each device, by number, up to the first that it was never asked about; `None` where it
    /// is to be asked again.
    answers: Vec<Option<Match>>,
    /// Devices that it is to be asked about again.
    again: Vec<u32>,
    /// A device of which some expressions hold already, and from which on it is still to be asked.
    resume: Option<(u32, usize)>,
    /// Those who asked last were told that all devices are answered.
    is_answered: bool,
    failures: Failures,
}

impl DeviceFilter {
    fn next_device(&mut self, all: usize) -> Option<u32> {
        self.again.pop().or_else(|| {
            let next = self.answers.len();
            (next < all).then(|| {
                self.answers.push(None);
                next as u32
            })
        })
    }

    fn has_answered(&self, all: usize) -> bool {
        self.again.is_empty() && self.answers.len() >= all
    }
}

/// Why a filter fails on devices: few texts, of many devices the same.
#[derive(Clone, Default)]
struct Failures {
    texts: Vec<String>,
    of_device: FxHashMap<u32, usize>,
}

impl Failures {
    fn note(&mut self, device: u32, text: String) {
        let known = self.texts.iter().position(|known| *known == text);
        let at = known.unwrap_or(self.texts.len());
        if at == MAX_FAILURES {
            return;
        }
        if known.is_none() {
            self.texts.push(text);
        }
        self.of_device.insert(device, at);
    }

    fn of(&self, device: u32) -> Option<&str> {
        let at = self.of_device.get(&device)?;
        Some(&self.texts[*at])
    }
}

/// All filters that needs have named.
#[derive(Clone)]
pub struct DeviceFilters {
    filters: Vec<DeviceFilter>,
    index: FxHashMap<Arc<FilterKey>, u32>,
    compiled: CompiledSelectors,
    /// Filters that may have to be asked.
    pending: BTreeSet<u32>,
    /// Steps each namespace took since there was something to be asked.
    spent: FxHashMap<String, u64>,
    /// Steps all of them took since the start.
    steps: u64,
    /// Steps at a time, if these are limited.
    limit: Option<u64>,
    /// So many are too many.
    most: usize,
}

impl Default for DeviceFilters {
    fn default() -> Self {
        Self {
            filters: Vec::new(),
            index: FxHashMap::default(),
            compiled: CompiledSelectors::default(),
            pending: BTreeSet::new(),
            spent: FxHashMap::default(),
            steps: 0,
            limit: None,
            most: MAX_FILTERS,
        }
    }
}

impl DeviceFilters {
    /// Whether steps at a time are limited. Without a limit nobody ever waits for answers.
    pub fn limit(&mut self, is_limited: bool) {
        self.limit = is_limited.then_some(STEPS_AT_A_TIME);
    }

    /// Steps at a time, which are not limited any more.
    pub fn take_limit(&mut self) -> Option<u64> {
        self.limit.take()
    }

    /// Whether somebody waits for answers, since steps are limited.
    pub fn are_awaited(&self) -> bool {
        self.limit.is_some() && self.is_asking()
    }

    /// Number of a filter that a claim names.
    pub fn intern(&mut self, key: FilterKey, namespace: &str, claim: ResourceClaimIx) -> u32 {
        let number = self.index.get(&key).copied();
        let number = number.unwrap_or_else(|| self.add(key, namespace));
        self.filters[number as usize].claims.insert(claim);
        number
    }

    fn add(&mut self, key: FilterKey, namespace: &str) -> u32 {
        let (number, key) = (self.filters.len() as u32, Arc::new(key));
        self.filters.push(DeviceFilter {
            key: Arc::clone(&key),
            namespace: namespace.to_owned(),
            claims: FxHashSet::default(),
            answers: Vec::new(),
            again: Vec::new(),
            resume: None,
            is_answered: false,
            failures: Failures::default(),
        });
        self.index.insert(key, number);
        self.pending.insert(number);
        number
    }

    /// There are so many that they are to be named anew.
    pub fn are_too_many(&self) -> bool {
        self.filters.len() > self.most
    }

    /// Forgets all of them: those that are in use are named anew.
    pub fn forget(&mut self) {
        *self = Self {
            steps: self.steps,
            limit: self.limit,
            most: self.most,
            ..Self::default()
        };
    }

    /// All that are in use are named: so many again are kept.
    pub fn all_are_named(&mut self) {
        self.most = MAX_FILTERS.max(2 * self.filters.len());
    }

    /// Whether a filter has been asked about every device.
    pub fn is_answered(&self, filter: u32) -> bool {
        self.filters[filter as usize].is_answered
    }

    /// Whether some are still to be asked.
    pub fn is_asking(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Steps that filters took since the start, and how many still have some to take.
    pub fn work(&self) -> (u64, usize) {
        (self.steps, self.pending.len())
    }

    /// What a filter says of a device; of one that nobody publishes nothing good.
    pub fn matches(&self, filter: u32, device: u32) -> Match {
        let answers = &self.filters[filter as usize].answers;
        let answer = answers.get(device as usize).copied().flatten();
        answer.unwrap_or(Match::No)
    }

    /// Why a filter fails on a device, if that is kept.
    pub fn failure(&self, filter: u32, device: u32) -> Option<&str> {
        self.filters[filter as usize].failures.of(device)
    }

    /// Devices are new, or others now.
    pub fn forget_devices(&mut self, devices: &[u32]) {
        for filter in &mut self.filters {
            for device in devices {
                let answer = filter.answers.get_mut(*device as usize);
                if answer.is_some_and(|answer| answer.take().is_some()) {
                    filter.again.push(*device);
                    filter.failures.of_device.remove(device);
                }
                filter.resume.take_if(|(asked, _)| asked == device);
            }
        }
        if !devices.is_empty() {
            self.pending = (0..self.filters.len() as u32).collect();
        }
    }

    /// Asks filters about devices they were not asked about, as far as steps go. Claims one of whose filters
    /// is answered now and was not, or the other way round.
    pub fn ask(&mut self, inventory: &Inventory) -> Vec<ResourceClaimIx> {
        let were_pending: Vec<u32> = self.pending.iter().copied().collect();
        let mut left = self.limit.unwrap_or(u64::MAX);
        while left > 0 {
            let Some(number) = self.whose_turn() else {
                break;
            };
            let turn = self.limit.map_or(u64::MAX, |_| left.min(STEPS_A_TURN));
            let spent = self.take_turn(number, inventory, turn);
            self.steps = self.steps.saturating_add(spent);
            left = left.saturating_sub(spent);
        }
        if self.pending.is_empty() {
            self.spent.clear();
        }
        let mut claims = Vec::new();
        for number in were_pending {
            let filter = &mut self.filters[number as usize];
            let is_answered = !self.pending.contains(&number);
            if std::mem::replace(&mut filter.is_answered, is_answered) != is_answered {
                claims.extend(filter.claims.iter().copied());
            }
        }
        claims
    }

    /// The first of the namespace that took least.
    fn whose_turn(&self) -> Option<u32> {
        if self.limit.is_none() {
            return self.pending.first().copied();
        }
        let taken = |number: &u32| {
            let namespace = &self.filters[*number as usize].namespace;
            self.spent.get(namespace).copied().unwrap_or(0)
        };
        let turns = self.pending.iter().copied();
        turns.min_by_key(|number| (taken(number), *number))
    }

    /// Asks one filter about devices until it took so many steps; how many it took.
    fn take_turn(&mut self, number: u32, inventory: &Inventory, most: u64) -> u64 {
        let all = inventory.device_count();
        let filter = &mut self.filters[number as usize];
        let mut spent: u64 = 0;
        while spent < most {
            let Some(device) = filter.next_device(all) else {
                break;
            };
            spent += 1;
            let Some((key, published)) = inventory.published(device) else {
                filter.answers[device as usize] = Some(Match::No);
                continue;
            };
            let from = filter.resume.take().filter(|(at, _)| *at == device);
            let from = from.map_or(0, |(_, from)| from);
            let asked = (key.driver.as_str(), published);
            let (said, steps) = self.compiled.ask(&filter.key, asked, from, most);
            spent = spent.saturating_add(steps);
            let said = match said {
                FilterAnswer::Holds(true) => Match::Yes,
                FilterAnswer::Holds(false) => Match::No,
                FilterAnswer::Fails(text) => {
                    filter.failures.note(device, text);
                    Match::Fails
                }
                FilterAnswer::Unfinished(next) => {
                    filter.resume = Some((device, next));
                    filter.again.push(device);
                    break;
                }
            };
            filter.answers[device as usize] = Some(said);
        }
        if filter.has_answered(all) {
            self.pending.remove(&number);
        }
        if self.limit.is_some() {
            let taken = self.spent.entry(filter.namespace.clone()).or_insert(0);
            *taken = taken.saturating_add(spent);
        }
        spent
    }
}
