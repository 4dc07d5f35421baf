//! The families there are, and the set of them that a configuration makes.

use crate::ascend::mindcluster;
use crate::binding::PluginProtocol;
use crate::config::DeviceConfig;
use crate::facts::{NodeFacts, NodeReport, Pairs, PodFacts};
use crate::family::{Decoded, Family, FamilySpec, RepeatSpec, ReportPlace};
use crate::gauge::Gauge;
use crate::hami;
use crate::ledger::{Card, LedgerEntry, NodeCards, Tags};
use crate::node::NodeDevices;
use crate::nvidia::{gpushare, product, vgpu};
use crate::request::DeviceRequest;
use crate::settings::Settings;

/// All families, in the order they are asked (spec/04 §3.3).
pub static FAMILIES: &[FamilySpec] = &[
    gpushare::SPEC,
    vgpu::SPEC,
    product::SPEC,
    mindcluster::SPEC,
    hami::ascend::SPEC,
    hami::SPEC,
];

/// The families of a configuration.
pub struct Devices {
    settings: Settings,
    config: DeviceConfig,
    families: Vec<Box<dyn Family>>,
}

impl Default for Devices {
    fn default() -> Self {
        Self::new(Settings::default(), DeviceConfig::default())
    }
}

impl Devices {
    /// All families with these settings and this device configuration.
    pub fn new(settings: Settings, config: DeviceConfig) -> Self {
        let make = |spec: &FamilySpec| (spec.make)(&settings, &config);
        Self {
            families: FAMILIES.iter().map(make).collect(),
            settings,
            config,
        }
    }

    /// Settings that the families were made with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The device configuration.
    pub fn config(&self) -> &DeviceConfig {
        &self.config
    }

    /// The cards of a node, idle.
    pub fn cards(&self, node: &NodeFacts) -> NodeDevices {
        NodeDevices::new(self.families.iter().map(|f| f.cards(node)).collect())
    }

    /// Compiles what a pod asks.
    pub fn demand(&self, pod: &PodFacts, tags: Tags) -> DeviceRequest {
        let mut demand = DeviceRequest::default();
        if pod.containers.is_empty() {
            return demand;
        }
        for (at, family) in self.families.iter().enumerate() {
            match family.request(pod, tags) {
                Some(Ok(request)) => demand.parts.push((at as u8, request)),
                Some(Err(refusal)) => {
                    demand.refusal.get_or_insert(refusal);
                }
                None => demand.remarks.extend(family.remark(pod)),
            }
        }
        demand
    }

    /// Whether it matters to which group a pod belongs that asks this.
    pub fn depends_on_group(&self, pod: &PodFacts) -> bool {
        self.families
            .iter()
            .any(|family| family.depends_on_group(pod))
    }

    /// What a placed pod holds of a family.
    pub fn decode(
        &self,
        family: u8,
        records: &Pairs,
        pod: &PodFacts,
        cards: &NodeCards,
    ) -> Decoded {
        self.families[usize::from(family)].decode(records, pod, cards)
    }

    /// Resources that are not counted on nodes or in queues, sorted.
    pub fn ignored_resources(&self) -> Vec<String> {
        let all = self.families.iter().map(|f| f.ignored_resources());
        let mut names: Vec<String> = all.flatten().filter(|name| !name.is_empty()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Whether nothing was told yet of the cards of a family on a node.
    pub fn is_untold(&self, family: u8, cards: &NodeCards) -> bool {
        self.families[usize::from(family)].is_untold(cards)
    }

    /// Whether ConfigMaps tell of the devices of a family.
    pub fn reads_reports(&self, family: u8) -> bool {
        FAMILIES[usize::from(family)].reports.is_some()
    }

    /// Name of a family.
    pub fn name(&self, family: u8) -> &'static str {
        FAMILIES[usize::from(family)].name
    }

    /// How a card of a family is shared.
    pub fn mode(&self, family: u8, card: &Card) -> &'static str {
        self.families[usize::from(family)].mode(card)
    }

    /// What the part of a card is called that somebody holds ([`Family::part_name`]).
    pub fn part_name(&self, family: u8, cards: &NodeCards, entry: &LedgerEntry) -> Option<String> {
        self.families[usize::from(family)].part_name(cards, entry)
    }

    /// Parts of a card that nobody holds ([`Family::free_parts`]).
    pub fn free_parts(&self, family: u8, cards: &NodeCards, card: usize) -> Vec<(String, i64)> {
        self.families[usize::from(family)].free_parts(cards, card)
    }

    /// Gauges of a node.
    pub fn gauges(&self, node: &NodeDevices) -> Vec<Gauge> {
        let of = |(at, cards): (u8, &NodeCards)| self.families[usize::from(at)].gauges(cards);
        node.families().flat_map(of).collect()
    }
}

/// Reads the text of `device-config.yaml`, with the sections of all families.
///
/// # Errors
/// Every problem of the text, each with its place and what to do.
pub fn read_config(text: &str) -> Result<DeviceConfig, Vec<String>> {
    let sections = FAMILIES.iter().flat_map(|spec| spec.sections);
    let config = DeviceConfig::parse(text, sections.copied())?;
    let problems = hami::shared_names(&config);
    match problems.is_empty() {
        true => Ok(config),
        false => Err(problems),
    }
}

/// Whether one of the keys of a [`FamilySpec`] is this one.
fn names(keys: &[&str], key: &str) -> bool {
    keys.iter().any(|known| match known.split_once('*') {
        Some((start, end)) => {
            key.len() > start.len() + end.len() && key.starts_with(start) && key.ends_with(end)
        }
        None => *known == key,
    })
}

/// Whether some family reads this annotation of a node.
pub fn reads_of_node(key: &str) -> bool {
    let mut all = FAMILIES.iter();
    all.any(|spec| names(spec.node_annotations, key))
}

/// Whether some family reads this annotation when it places a pod.
pub fn asks(key: &str) -> bool {
    FAMILIES.iter().any(|spec| names(spec.asks, key))
}

/// Whether some family reads this label of a pod when it places it.
pub fn reads_label(key: &str) -> bool {
    FAMILIES.iter().any(|spec| spec.labels.contains(&key))
}

/// Whether some family writes down by name which containers ask this resource.
pub fn is_named(resource: &str) -> bool {
    FAMILIES.iter().any(|spec| names(spec.named, resource))
}

/// What a ConfigMap tells of nodes, as all families read it.
///
/// # Errors
/// What is wrong with the whole of it.
pub fn node_reports(
    namespace: &str,
    name: &str,
    data: &[(String, String)],
) -> Result<Vec<NodeReport>, String> {
    let mut reports = Vec::new();
    for spec in FAMILIES.iter().filter_map(|spec| spec.reports.as_ref()) {
        reports.extend((spec.read)(namespace, name, data)?);
    }
    Ok(reports)
}

/// How a report is repeated; `None` if silence says nothing of it.
pub fn repeated(topic: &str) -> Option<&'static RepeatSpec> {
    let specs = FAMILIES.iter().filter_map(|spec| spec.reports.as_ref());
    let mut repeated = specs.filter_map(|spec| spec.repeated.as_ref());
    repeated.find(|spec| spec.topic == topic)
}

/// The ConfigMaps about nodes to follow with these settings.
pub fn report_places(settings: &Settings) -> Vec<ReportPlace> {
    let specs = FAMILIES.iter().filter_map(|spec| spec.reports.as_ref());
    specs.flat_map(|spec| (spec.places)(settings)).collect()
}

/// Whether this annotation tells what a placed pod holds.
pub fn records(key: &str) -> bool {
    FAMILIES.iter().any(|spec| names(spec.records, key))
}

/// Whether this annotation, one of those that tell what a pod holds, is written by a device plugin after the pod was
/// bound.
pub fn goes_on(key: &str) -> bool {
    FAMILIES.iter().any(|spec| names(spec.later, key))
}

/// How device plugins tell how far they are.
pub fn protocols() -> impl Iterator<Item = &'static PluginProtocol> {
    FAMILIES.iter().flat_map(|spec| spec.protocols)
}

/// Whether a device plugin tells by this annotation of a pod how far it is.
pub fn follows(key: &str) -> bool {
    protocols().any(|protocol| protocol.names(key))
}
