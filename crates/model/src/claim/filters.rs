//! Selectors of requests, and what they say of every device: once per expression and device.

use pumice_claims::{DeviceSelector, Match};
use rustc_hash::FxHashMap;

use super::inventory::Inventory;

/// Filters beyond which those that nobody uses any more are forgotten.
const MAX_FILTERS: usize = 4096;

/// Selectors of a class and of a request, in the order they are asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FilterKey {
    /// Class.
    pub class: String,
    /// Its expressions.
    pub of_class: Vec<String>,
    /// Those of the request.
    pub of_request: Vec<String>,
}

struct DeviceFilter {
    key: FilterKey,
    /// What it says of each device, by number; `None` where it was not asked.
    answers: Vec<Option<Match>>,
    /// Why it fails on a device.
    failures: FxHashMap<u32, String>,
}

/// All filters that needs have named.
#[derive(Default)]
pub struct DeviceFilters {
    filters: Vec<DeviceFilter>,
    index: FxHashMap<FilterKey, u32>,
    compiled: FxHashMap<String, Result<DeviceSelector, String>>,
    /// So many filters, the first, were asked about every device but those that changed.
    asked: usize,
    /// Devices that are others since.
    changed: Vec<u32>,
}

impl DeviceFilters {
    /// Number of a filter.
    pub fn intern(&mut self, key: FilterKey) -> u32 {
        if let Some(&number) = self.index.get(&key) {
            return number;
        }
        let number = self.filters.len() as u32;
        self.filters.push(DeviceFilter {
            key: key.clone(),
            answers: Vec::new(),
            failures: FxHashMap::default(),
        });
        self.index.insert(key, number);
        number
    }

    /// There are so many that they are to be named anew.
    pub fn are_too_many(&self) -> bool {
        self.filters.len() > MAX_FILTERS
    }

    /// What a filter says of a device; of one that nobody publishes nothing good.
    pub fn matches(&self, filter: u32, device: u32) -> Match {
        let answers = &self.filters[filter as usize].answers;
        let answer = answers.get(device as usize).copied().flatten();
        answer.unwrap_or(Match::No)
    }

    /// Why a filter fails on a device.
    pub fn failure(&self, filter: u32, device: u32) -> Option<&str> {
        let failures = &self.filters[filter as usize].failures;
        failures.get(&device).map(String::as_str)
    }

    /// A device is new, or another one now.
    pub fn forget_device(&mut self, device: u32) {
        self.changed.push(device);
        for filter in &mut self.filters {
            if let Some(answer) = filter.answers.get_mut(device as usize) {
                *answer = None;
                filter.failures.remove(&device);
            }
        }
    }

    /// Asks every filter about every device it was not asked about.
    pub fn refresh(&mut self, inventory: &Inventory) {
        let changed = std::mem::take(&mut self.changed);
        let known = std::mem::replace(&mut self.asked, self.filters.len());
        if !changed.is_empty() {
            (0..known).for_each(|at| self.ask(at, inventory, changed.iter().copied()));
        }
        for at in known..self.filters.len() {
            self.ask(at, inventory, 0..inventory.device_count() as u32);
        }
    }

    fn ask(&mut self, at: usize, inventory: &Inventory, devices: impl Iterator<Item = u32>) {
        let key = self.filters[at].key.clone();
        for text in key.of_class.iter().chain(&key.of_request) {
            if !self.compiled.contains_key(text) {
                let made = DeviceSelector::compile(text).map_err(|error| error.to_string());
                self.compiled.insert(text.clone(), made);
            }
        }
        let filter = &mut self.filters[at];
        filter.answers.resize(inventory.device_count(), None);
        for number in devices {
            let Some((device, published)) = inventory.published(number) else {
                continue;
            };
            let said = ask_all(&self.compiled, &key, &device.driver, published);
            filter.answers[number as usize] = Some(match said {
                Ok(true) => Match::Yes,
                Ok(false) => Match::No,
                Err(text) => {
                    filter.failures.insert(number, text);
                    Match::Fails
                }
            });
        }
    }
}

/// Whether all expressions hold, in order, up to the first that does not.
fn ask_all(
    compiled: &FxHashMap<String, Result<DeviceSelector, String>>,
    key: &FilterKey,
    driver: &str,
    device: &pumice_claims::DraDevice,
) -> Result<bool, String> {
    let class = &key.class;
    let of_class = key.of_class.iter().enumerate();
    let of_class = of_class.map(|(at, text)| (format!("class {class}: selector #{at}"), text));
    let of_request = key.of_request.iter().enumerate();
    let of_request = of_request.map(|(at, text)| (format!("selector #{at}"), text));
    for (place, text) in of_class.chain(of_request) {
        let Some(selector) = compiled.get(text) else {
            continue;
        };
        let say = |error: &dyn std::fmt::Display| format!("{place}: {error}");
        let selector = selector.as_ref().map_err(|error| say(error))?;
        if !selector
            .holds(driver, device)
            .map_err(|error| say(&error))?
        {
            return Ok(false);
        }
    }
    Ok(true)
}
