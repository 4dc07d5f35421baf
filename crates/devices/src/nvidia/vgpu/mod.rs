//! Family vGPU: parts of NVIDIA cards, shared by HAMi-core, by MPS or by MIG, handed out by
//! volcano-vgpu-device-plugin (spec/04 §4–§13, R5–R29).
//!
//! ```text
//!  register ──► register::decode ──► cards          limits of containers ──► containers::needs ┐
//!                                      │            annotations ──► limits::Limits ─────────┤
//!                                      ▼                                                    ▼
//!  fit, choose:  check (one card) ◄── place (best card, in turn) ◄── search ◄────── request::VgpuRequest
//!                                      │                                                    │
//!  held ◄── allocation::decode ◄── annotations of the pod ◄── allocation::encode ◄── marks ─┘
//! ```
//!
//! Invariants: what is written can be read back to exactly what was charged; no card gives more
//! memory, cores, slots or instances than it has to pods placed here; `choose` takes exactly what
//! `fit` has scored.

mod allocation;
mod check;
mod config;
mod containers;
mod explain;
mod failure;
mod gauges;
mod held;
mod limits;
mod partitions;
mod place;
mod register;
mod request;
mod search;
mod sharing;
mod summary;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::config::{DeviceConfig, SectionSpec};
use crate::facts::{NodeFacts, Pairs, PodFacts, too_many_init_containers, zero_count};
use crate::family::{Decoded, Family, FamilySpec};
use crate::gauge::{Gauge, card_gauges};
use crate::ledger::{Card, LedgerEntry, LedgerTime, NodeCards, Tags};
use crate::nvidia::config::NvidiaConfig;
use crate::nvidia::indices::{INDEX, UNHEALTHY};
use crate::nvidia::type_list;
use crate::nvidia::vgpu::config::VgpuConfig;
use crate::nvidia::vgpu::failure::NoVgpuCards;
use crate::nvidia::vgpu::partitions::{InUse, PartitionTable};
use crate::nvidia::vgpu::request::VgpuRequest;
use crate::nvidia::vgpu::sharing::{MODES, Sharing};
use crate::part::DIMENSIONS;
use crate::request::{Failure, FamilyRequest};
use crate::settings::Settings;
use crate::text::Bounded;

/// The family.
pub const SPEC: FamilySpec = FamilySpec {
    name: "vgpu",
    node_annotations: &[register::REGISTER, UNHEALTHY],
    asks: &[
        limits::MODE,
        limits::GROUP_POLICY,
        INDEX,
        type_list::USE_TYPES,
        type_list::REFUSE_TYPES,
        limits::USE_UUID,
        limits::NO_UUID,
        limits::USE_UUID_ALIAS,
        limits::NO_UUID_ALIAS,
    ],
    labels: &[],
    named: &[],
    records: &[held::IDS],
    later: &[],
    protocols: &[request::PROTOCOL],
    dimensions: DIMENSIONS,
    gauges: gauges::GAUGES,
    sections: &[SectionSpec::of::<NvidiaConfig>()],
    reports: None,
    make: |settings: &Settings, config: &DeviceConfig| Box::new(Vgpu::new(settings, config)),
};

struct Vgpu {
    config: Arc<VgpuConfig>,
    failures: [Arc<[Failure]>; MODES + 1],
}

impl Vgpu {
    fn new(settings: &Settings, config: &DeviceConfig) -> Self {
        let config = VgpuConfig::new(settings, config);
        Self {
            failures: failure::lists(&config),
            config: Arc::new(config),
        }
    }

    fn add_cards(
        &self,
        cards: &mut NodeCards,
        entries: &[register::RegisteredCard],
        node: &NodeFacts,
        problems: &mut Bounded,
    ) {
        for entry in entries {
            register::add(cards, entry, &self.config);
        }
        if let Some(list) = node.annotation(UNHEALTHY) {
            register::mark_unhealthy(&mut cards.cards, list, problems);
        }
        let closed = |card: &&Card| Sharing::of(card) == Sharing::Mig(None);
        for card in cards.cards.iter().filter(closed) {
            let why = card.unusable.as_deref().unwrap_or_default();
            problems.tell(|| format!("{}: card {}: {why}", register::REGISTER, card.id));
        }
    }

    /// The partitions of a card in MIG mode.
    fn table(&self, cards: &NodeCards, card: usize) -> Option<&PartitionTable> {
        match Sharing::of(cards.cards.get(card)?) {
            Sharing::Mig(Some(at)) => self.config.tables.get(usize::from(at)),
            Sharing::Mig(None) | Sharing::HamiCore | Sharing::Mps => None,
        }
    }

    /// A resource of the family that a pod asks, under its configured or its usual name.
    fn asked<'a>(&self, pod: &'a PodFacts) -> Option<&'a str> {
        let usual = NvidiaConfig::default();
        let names = [
            &self.config.nvidia.count_name,
            &self.config.nvidia.memory_name,
            &self.config.nvidia.core_name,
            &self.config.nvidia.percentage_name,
            &usual.count_name,
            &usual.memory_name,
            &usual.core_name,
            &usual.percentage_name,
        ];
        let amounts = pod
            .containers
            .iter()
            .flat_map(|container| &container.amounts);
        let mut asked = amounts.filter(|(name, milli)| *milli > 0 && names.contains(&name));
        asked.next().map(|(name, _)| name.as_str())
    }

    fn refusal(&self, resource: &str) -> String {
        format!("the pod asks {resource}, but {}", self.config.off())
    }
}

impl Family for Vgpu {
    fn cards(&self, node: &NodeFacts) -> NodeCards {
        let mut found = NodeCards::new(DIMENSIONS);
        let Some(text) = node.annotation(register::REGISTER) else {
            found.absent = NoVgpuCards::NotRegistered.code();
            return found;
        };
        if !self.config.enabled {
            found.absent = NoVgpuCards::Off.code();
            return found;
        }
        let mut problems = Bounded::default();
        let entries = register::decode(text, &mut problems);
        if entries.is_empty() {
            found.absent = NoVgpuCards::Unreadable.code();
        } else if node
            .allocatable_milli(&self.config.nvidia.count_name)
            .unwrap_or(0)
            <= 0
        {
            found.absent = NoVgpuCards::NothingAllocatable.code();
        } else {
            self.add_cards(&mut found, &entries, node, &mut problems);
        }
        found.problems = problems.into_texts("more problems");
        found
    }

    fn request(
        &self,
        pod: &PodFacts,
        tags: Tags,
    ) -> Option<Result<Arc<dyn FamilyRequest>, String>> {
        let asked = self.asked(pod);
        if !self.config.enabled {
            return asked.map(|resource| Err(self.refusal(resource)));
        }
        let needs = match containers::needs(&pod.containers, &self.config) {
            Ok(needs) if needs.is_empty() => return None,
            Ok(needs) => needs,
            Err(why) => return Some(Err(why)),
        };
        let asks = needs.iter().map(|need| need.container);
        if let Some(why) = too_many_init_containers(pod, asks, &self.config.nvidia.count_name) {
            return Some(Err(why));
        }
        let request = VgpuRequest::new(&self.config, &self.failures, needs, pod, tags);
        Some(request.map(|request| Arc::new(request) as Arc<dyn FamilyRequest>))
    }

    fn remark(&self, pod: &PodFacts) -> Option<String> {
        let names = &self.config.nvidia;
        let parts = [&names.memory_name, &names.percentage_name, &names.core_name];
        zero_count(pod, &names.count_name, parts.into_iter())
    }

    fn decode(&self, records: &Pairs, pod: &PodFacts, cards: &NodeCards) -> Decoded {
        held::held(&self.config, records, pod, cards)
    }

    fn depends_on_group(&self, pod: &PodFacts) -> bool {
        pod.annotation(limits::GROUP_POLICY) == Some(limits::SPREAD)
    }

    fn ignored_resources(&self) -> Vec<String> {
        vec![self.config.nvidia.percentage_name.clone()]
    }

    fn mode(&self, card: &Card) -> &'static str {
        Sharing::of(card).mode().name()
    }

    fn part_name(&self, cards: &NodeCards, entry: &LedgerEntry) -> Option<String> {
        let table = self.table(cards, usize::from(entry.card))?;
        let partition = entry.partition?;
        let group = table.group_name(partition)?;
        Some(format!("{group}-{}", partition.position))
    }

    /// Instances of the group that is in use; before one is in use, any group may still be taken.
    fn free_parts(&self, cards: &NodeCards, card: usize) -> Vec<(String, i64)> {
        let Some(table) = self.table(cards, card) else {
            return Vec::new();
        };
        let in_use: InUse = cards.partitions(card, LedgerTime::Now).collect();
        let factor = self.config.factor;
        let free = table.free(&in_use).into_iter();
        free.map(|(name, mib)| (name, mib / factor)).collect()
    }

    fn gauges(&self, cards: &NodeCards) -> Vec<Gauge> {
        card_gauges(cards, gauges::GAUGES)
    }
}
