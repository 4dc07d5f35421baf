//! The series of queues (spec/01 §8).

use std::collections::{BTreeMap, BTreeSet};

use prometheus::{Gauge, GaugeVec};

use super::reference::Families;

/// Queues that may have series at a time.
pub const MAX_QUEUES: usize = 10_000;

/// Resources besides CPU and memory that one queue may have series of.
pub const MAX_SCALARS: usize = 128;

/// An amount of each resource.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ResourceAmounts<'a> {
    /// CPU in thousandths of a core.
    pub milli_cpu: f64,
    /// Memory in bytes.
    pub memory_bytes: f64,
    /// The other resources by name, in thousandths of their unit.
    pub scalars: &'a [(&'a str, f64)],
}

/// What is known of one queue; `None` where the plugin that knows it is not in use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueNumbers<'a> {
    /// What its tasks hold.
    pub allocated: Option<ResourceAmounts<'a>>,
    /// What its tasks hold or ask for.
    pub request: Option<ResourceAmounts<'a>>,
    /// What it deserves.
    pub deserved: Option<ResourceAmounts<'a>>,
    /// Most that the queue may hold (`volcano_queue_capacity_*`).
    pub capability: Option<ResourceAmounts<'a>>,
    /// Most that the queue may hold beside the guarantees of others (`volcano_queue_real_capacity_*`).
    pub real_capability: Option<ResourceAmounts<'a>>,
    /// What its admitted jobs will ask for.
    pub inqueue: Option<ResourceAmounts<'a>>,
    /// Largest ratio of allocated to deserved.
    pub share: Option<f64>,
    /// Share of the cluster that the queue deserves, relative to its siblings.
    pub weight: Option<f64>,
    /// Whether it uses what it deserves or more.
    pub overused: Option<bool>,
    /// What it used lately, in units times hours.
    pub past_use_hours: Option<f64>,
}

/// The three families of one kind of amount.
struct Triple<'a> {
    cpu: &'a GaugeVec,
    memory: &'a GaugeVec,
    scalar: &'a GaugeVec,
}

impl Families {
    fn amounts(&self) -> [Triple<'_>; 6] {
        let triple = |cpu, memory, scalar| Triple {
            cpu,
            memory,
            scalar,
        };
        [
            triple(
                &self.allocated_cpu,
                &self.allocated_memory,
                &self.allocated_scalar,
            ),
            triple(
                &self.request_cpu,
                &self.request_memory,
                &self.request_scalar,
            ),
            triple(
                &self.deserved_cpu,
                &self.deserved_memory,
                &self.deserved_scalar,
            ),
            triple(
                &self.capacity_cpu,
                &self.capacity_memory,
                &self.capacity_scalar,
            ),
            triple(
                &self.real_capacity_cpu,
                &self.real_capacity_memory,
                &self.real_capacity_scalar,
            ),
            triple(
                &self.inqueue_cpu,
                &self.inqueue_memory,
                &self.inqueue_scalar,
            ),
        ]
    }

    fn plain(&self) -> [&GaugeVec; 4] {
        [
            &self.queue_share,
            &self.queue_weight,
            &self.queue_overused,
            &self.queue_past_use,
        ]
    }
}

/// The series of one kind of amount of one queue, kept so that an update needs no lookup.
struct AmountSeries {
    cpu: Gauge,
    memory: Gauge,
    scalars: BTreeMap<String, Gauge>,
}

#[derive(Default)]
struct QueueSeries {
    amounts: [Option<AmountSeries>; 6],
    plain: [Option<Gauge>; 4],
}

/// The series of all queues.
#[derive(Default)]
pub(super) struct Queues {
    known: BTreeMap<String, QueueSeries>,
}

impl Queues {
    /// Sets the numbers of a queue and returns how many of them were refused.
    pub(super) fn set(
        &mut self,
        families: &Families,
        name: &str,
        numbers: &QueueNumbers<'_>,
    ) -> usize {
        if !self.known.contains_key(name) {
            if self.known.len() >= MAX_QUEUES {
                return 1;
            }
            self.known.insert(name.to_owned(), QueueSeries::default());
        }
        let Some(series) = self.known.get_mut(name) else {
            return 0;
        };
        let amounts = [
            numbers.allocated,
            numbers.request,
            numbers.deserved,
            numbers.capability,
            numbers.real_capability,
            numbers.inqueue,
        ];
        let mut refused = 0;
        for ((triple, series), amount) in families
            .amounts()
            .iter()
            .zip(&mut series.amounts)
            .zip(amounts)
        {
            if let Some(amount) = amount {
                let series = series.get_or_insert_with(|| AmountSeries::new(triple, name));
                refused += series.set(triple, name, &amount);
            }
        }
        let overused = numbers.overused.map(|over| f64::from(u8::from(over)));
        let plain = [
            numbers.share,
            numbers.weight,
            overused,
            numbers.past_use_hours,
        ];
        for ((family, series), value) in families.plain().iter().zip(&mut series.plain).zip(plain) {
            if let Some(value) = value {
                let gauge = series.get_or_insert_with(|| family.with_label_values(&[name]));
                gauge.set(value);
            }
        }
        refused
    }

    /// Removes the series of a queue.
    pub(super) fn forget(&mut self, families: &Families, name: &str) {
        let Some(series) = self.known.remove(name) else {
            return;
        };
        // A series that does not exist is not there any more either way.
        for (triple, series) in families.amounts().iter().zip(series.amounts) {
            if let Some(series) = series {
                let _ = triple.cpu.remove_label_values(&[name]);
                let _ = triple.memory.remove_label_values(&[name]);
                for resource in series.scalars.keys() {
                    let _ = triple.scalar.remove_label_values(&[name, resource]);
                }
            }
        }
        for family in families.plain() {
            let _ = family.remove_label_values(&[name]);
        }
    }
}

impl AmountSeries {
    fn new(triple: &Triple<'_>, name: &str) -> Self {
        Self {
            cpu: triple.cpu.with_label_values(&[name]),
            memory: triple.memory.with_label_values(&[name]),
            scalars: BTreeMap::new(),
        }
    }

    /// Sets the amounts; resources that are not among them become 0.
    fn set(&mut self, triple: &Triple<'_>, name: &str, amount: &ResourceAmounts<'_>) -> usize {
        self.cpu.set(amount.milli_cpu);
        self.memory.set(amount.memory_bytes);
        let given: BTreeSet<&str> = amount.scalars.iter().map(|(name, _)| *name).collect();
        for (resource, gauge) in &self.scalars {
            if !given.contains(resource.as_str()) {
                gauge.set(0.0);
            }
        }
        let mut refused = 0;
        for &(resource, value) in amount.scalars {
            if let Some(gauge) = self.scalars.get(resource) {
                gauge.set(value);
            } else if self.scalars.len() < MAX_SCALARS {
                let gauge = triple.scalar.with_label_values(&[name, resource]);
                gauge.set(value);
                self.scalars.insert(resource.to_owned(), gauge);
            } else {
                refused += 1;
            }
        }
        refused
    }
}
