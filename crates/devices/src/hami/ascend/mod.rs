//! Ascend NPUs, whole or in parts, handed out by the ascend-device-plugin of HAMi (spec/05 §3, P-1…P-18).
//!
//! A type of chips is a [`CardKind`], and what its pods ask, get and hold is read, judged and written as for
//! the cards of all vendors. Their own are: the types and their templates in the device configuration
//! ([`chips`], [`register`]), what a pod asks of them ([`share`]), what is counted besides ([`part`],
//! [`check`]), the choice ([`place`]), and what the container runtime is told.
//!
//! One family for all types of chips: which there are says the device configuration.
//!
//! Invariants: what is written can be read back to exactly what was charged; no chip gives more
//! memory, cores, AI cores, AI CPUs or slots than it has to pods placed here.

mod check;
mod chips;
mod failure;
mod gauges;
mod part;
mod place;
mod register;
mod share;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::binding::{Annotation, AnnotationValue};
use crate::config::{DeviceConfig, SectionSpec};
use crate::facts::{ContainerFacts, ContainerKind, PodFacts};
use crate::family::FamilySpec;
use crate::gauge::GaugeSpec;
use crate::ledger::{Allocation, Dimension, Portion, UNLIMITED};
use crate::part::CardPart;
use crate::request::Failure;
use crate::settings::Settings;
use crate::text::grouped;

use super::card_check::CardCheck;
use super::devices::HamiDevices;
use super::kind::{CardKind, Marking};
use super::limits::CardLimits;
use super::own::HamiRequest;
use super::own::{HamiFamily, PodOnDevices, TakenBy};
use super::preference::{NODE_POLICY, POLICY, WEIGHTS};
use super::protocol;
use super::registered_card::HamiCard;

use chips::{ChipType, VnpuConfig};
use part::{ChipPart, DIMENSIONS};
use place::ChipPicks;
use share::{ChipNeed, ChipShare};

/// How resources of Ascend chips begin, in any spelling of case.
const ASCEND: &str = "huawei.com/ascend";
/// Percent of a chip.
const ALL_CORES: i64 = 100;

/// The family.
pub const SPEC: FamilySpec = FamilySpec {
    name: "ascend-hami",
    node_annotations: &["hami.io/node-register-*", register::SOFT],
    asks: &[
        share::MODE,
        "hami.io/use-*-uuid",
        "hami.io/no-use-*-uuid",
        POLICY,
        NODE_POLICY,
        WEIGHTS,
    ],
    labels: &[],
    named: &[],
    records: &["hami.io/*-devices-allocated"],
    later: &[],
    protocols: &[protocol::PROTOCOL],
    dimensions: DIMENSIONS,
    gauges: gauges::GAUGES,
    sections: &[SectionSpec::of::<VnpuConfig>()],
    reports: None,
    make: |settings: &Settings, config: &DeviceConfig| {
        let own = AscendChips::new(settings, config);
        let kinds = match own.enabled {
            true => register::kinds(&own.config),
            false => Vec::new(),
        };
        Box::new(HamiDevices::new(settings, kinds, own))
    },
};

/// The chips of Ascend.
pub struct AscendChips {
    config: Arc<VnpuConfig>,
    /// The plugin is configured at all.
    configured: bool,
    enabled: bool,
}

/// A node, seen by a pod that asks chips.
type PodOnChips<'a> = PodOnDevices<'a, AscendChips>;

/// A chip that a container of the pod has got.
#[derive(Clone, Copy)]
pub struct TakenChip {
    card: u16,
    /// When the container runs.
    runs: ContainerKind,
}

impl AscendChips {
    fn new(settings: &Settings, config: &DeviceConfig) -> Self {
        Self {
            config: config.section(),
            configured: settings.configured,
            enabled: settings.configured && settings.ascend_hami,
        }
    }

    fn chip(&self, of: u16) -> &ChipType {
        &self.config.types[usize::from(of)]
    }

    fn knows(&self, name: &str) -> bool {
        let mut types = self.config.types.iter();
        types.any(|chip| chip.names.all().any(|known| known == name))
    }
}

impl HamiFamily for AscendChips {
    type Share = ChipShare;
    type Taken = TakenChip;

    const NOUN: &'static str = "chip";
    const DIMENSIONS: &'static [Dimension] = DIMENSIONS;
    const GAUGES: &'static [GaugeSpec] = gauges::GAUGES;
    const LISTS_ALL_CONTAINERS: bool = false;
    const MAX_CORES: i64 = ALL_CORES;
    const LATER: u8 = failure::LATER;
    const STAMP: Option<&'static str> = Some("predicate-time");

    fn card(
        &self,
        (of, _): (usize, &CardKind),
        card: &HamiCard,
        _is_cordoned: bool,
    ) -> (Option<&'static str>, Portion) {
        let or_unlimited = |amount| if amount > 0 { amount } else { UNLIMITED };
        let chip = &self.config.types[of];
        let all = ChipPart {
            memory: card.memory,
            sharers: card.slots,
            cores: ALL_CORES,
            ai_cores: or_unlimited(chip.ai_cores),
            ai_cpus: or_unlimited(chip.ai_cpus),
            soft: UNLIMITED,
        };
        ((!card.healthy).then_some("unhealthy"), all.portion())
    }

    /// The template that has as much memory: by it the chip was split, unless hami-core limits the container.
    fn part_name(&self, kind: usize, held: &[i64]) -> Option<String> {
        let part = ChipPart::of(held);
        let chip = self.config.types.get(kind).filter(|_| part.soft == 0)?;
        let mut templates = chip.templates.iter();
        let found = templates.find(|one| one.memory == part.memory)?;
        Some(found.name.clone())
    }

    /// An NPU handed out as a bare number would be refused by its device plugin, or be any one.
    fn refusal(&self, pod: &PodFacts) -> Option<String> {
        let containers = pod.containers.iter();
        let amounts = containers.flat_map(|container| &container.amounts);
        let mut asked = amounts.filter(|(name, milli)| *milli > 0 && !name.is_empty());
        let is_ascend = |name: &str| {
            let start = name.get(..ASCEND.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(ASCEND))
        };
        let (name, _) = asked.find(|(name, _)| match self.enabled {
            true => is_ascend(name) && !self.knows(name),
            false => is_ascend(name) || self.knows(name),
        })?;
        Some(match (self.enabled, self.configured) {
            (true, _) => {
                let types = self.config.types.iter();
                let known: Vec<&str> = types.map(|chip| chip.names.count.as_str()).collect();
                format!(
                    "the pod asks {name}, which no type of chips in the device configuration has; \
                     there are {}, each with -memory",
                    known.join(", ")
                )
            }
            (false, true) => format!(
                "the pod asks {name}, but NPUs of HAMi are off: set the argument \
                 deviceshare.AscendHAMiVNPUEnable: true of plugin deviceshare"
            ),
            (false, false) => format!(
                "the pod asks {name}, but plugin deviceshare is not configured: add it with the \
                 argument deviceshare.AscendHAMiVNPUEnable: true"
            ),
        })
    }

    fn ask(
        &self,
        pod: &PodFacts,
        container: &ContainerFacts,
        (of, _): (usize, &CardKind),
    ) -> Result<Option<(u32, ChipShare)>, String> {
        let is_soft = share::is_soft(pod)?;
        share::ask(container, &self.config.types[of], is_soft)
    }

    fn ask_at_most(&self, pod: &PodFacts, _kind: &CardKind) -> ChipShare {
        match share::is_soft(pod) {
            Ok(true) => ChipShare::Soft {
                memory: None,
                cores: 0,
            },
            Ok(false) | Err(_) => ChipShare::Whole,
        }
    }

    /// What cards of other vendors may be kept from counts for no NPU, as in HAMi.
    fn limit(
        _pod: &PodFacts,
        _kinds: &[CardKind],
        _needs: &[ChipNeed],
        limits: &mut CardLimits,
    ) -> Result<(), String> {
        let found = &mut limits.preference;
        if found.idle_only || found.linked {
            (found.idle_only, found.linked) = (false, false);
            let told =
                format!("annotation {POLICY}: mutex and topology-aware do not count for NPUs");
            let all: Vec<String> = found.warning.take().into_iter().chain([told]).collect();
            found.warning = Some(all.join("; "));
        }
        Ok(())
    }

    fn failures(_kinds: &[CardKind], _needs: &[ChipNeed]) -> Arc<[Failure]> {
        failure::list()
    }

    fn failure_of(
        on_node: &PodOnChips,
        need: &ChipNeed,
        _is_alone: bool,
        check: Option<CardCheck>,
    ) -> u8 {
        match check {
            Some(check) => check as u8,
            None if on_node.chip(need).pairs => CardCheck::Pair as u8,
            None => failure::TOO_FEW,
        }
    }

    fn part(on_node: &PodOnChips, need: &ChipNeed, at: usize) -> Portion {
        on_node.part(need, at).portion()
    }

    fn part_as_told(&self, need: &ChipNeed, memory: i64, _cores: i64) -> Portion {
        check::part(self.chip(need.kind), need.share, memory).portion()
    }

    fn admits(
        on_node: &PodOnChips,
        need: &ChipNeed,
        at: usize,
        own: &[TakenChip],
    ) -> Result<TakenChip, CardCheck> {
        let card = at as u16;
        if beside(own).contains(&card) {
            return Err(CardCheck::Beside);
        }
        on_node.admits(need, at)?;
        Ok(TakenChip {
            card,
            runs: need.runs,
        })
    }

    fn place(on_node: &PodOnChips, needs: &[ChipNeed]) -> Option<(TakenBy<Self>, f64)> {
        let (picks, score) = on_node.place(needs)?;
        let mut picks = picks.into_iter();
        let own = |need: &ChipNeed| taken(need, picks.by_ref().take(need.count as usize));
        Some((needs.iter().flat_map(own).collect(), score))
    }

    fn best(on_node: &PodOnChips, need: &ChipNeed, own: &[TakenChip]) -> Option<TakenBy<Self>> {
        let found = on_node.best(need, &beside(own))?;
        Some(taken(need, found.into_iter()))
    }

    fn allocation(on_node: &PodOnChips, need: &ChipNeed, taken: TakenChip) -> Allocation {
        let card = usize::from(taken.card);
        let part = on_node.part(need, card).portion();
        Allocation::of(on_node.cards, card, need.container, part)
    }

    fn why(
        on_node: &PodOnChips,
        need: &ChipNeed,
        at: usize,
        _own: &[TakenChip],
        check: CardCheck,
    ) -> String {
        let part = on_node.part(need, at);
        let all = ChipPart::capacity(on_node.cards, at);
        let used = ChipPart::used(on_node.cards, at, on_node.view);
        let of = |what: &str, asked: i64, free: i64| {
            let (asked, free) = (grouped(asked), grouped(free.max(0)));
            format!("{asked} {what} asked, {free} free")
        };
        match check {
            CardCheck::Beside => "another container of the pod has it".to_owned(),
            CardCheck::Mixed if used.soft > 0 => "shared by hami-core".to_owned(),
            CardCheck::Mixed => "split by templates".to_owned(),
            CardCheck::AiCores => of("AI cores", part.ai_cores, all.ai_cores - used.ai_cores),
            CardCheck::AiCpus => of("AI CPUs", part.ai_cpus, all.ai_cpus - used.ai_cpus),
            CardCheck::Pair => "its pair is not free".to_owned(),
            _ => format!(
                "{} MiB asked, {} MiB in all",
                grouped(part.memory),
                grouped(all.memory)
            ),
        }
    }

    fn absence(kind: &CardKind) -> String {
        format!(
            "no {} in the node annotation {}: is ascend-device-plugin running on it, and the node \
             labelled ascend=on?",
            kind.word, kind.source
        )
    }

    /// `huawei.com/<type>`, for the container runtime: JSON, `[{"UUID":…,"temp":…}, …]` (spec/05 §3.8).
    fn marks(pod: &HamiRequest<Self>, of: u16, has: &Marking) -> Vec<Annotation> {
        let chip = pod.rules.own.chip(of);
        let chips = has.own.iter().map(|one| {
            let is_it = |need: &&ChipNeed| (need.container, need.kind) == (one.container, of);
            let share = pod.needs.iter().find(is_it).map(|need| need.share);
            runtime(chip, share.unwrap_or(ChipShare::Whole), one)
        });
        let text = format!("[{}]", chips.collect::<Vec<_>>().join(","));
        let key = format!("huawei.com/{}", chip.word);
        vec![Annotation::new(key, AnnotationValue::Text(text))]
    }
}

/// Chips that others of the pod have: one serves one container at a time.
fn beside(own: &[TakenChip]) -> ChipPicks {
    let lasting = own.iter().filter(|one| one.runs != ContainerKind::Init);
    lasting.map(|one| one.card).collect()
}

/// Chips of a container, with when that runs.
fn taken(need: &ChipNeed, chips: impl Iterator<Item = u16>) -> TakenBy<AscendChips> {
    let runs = need.runs;
    chips.map(|card| TakenChip { card, runs }).collect()
}

/// What the runtime is told of one chip. Identities are such that nothing needs escaping.
fn runtime(chip: &ChipType, share: ChipShare, has: &Allocation) -> String {
    let mut fields = vec![format!("\"UUID\":\"{}\"", has.id)];
    match share {
        ChipShare::Whole => {}
        ChipShare::Template(at) => {
            let name = &chip.templates[usize::from(at)].name;
            fields.push(format!("\"temp\":\"{name}\""));
        }
        ChipShare::Soft { .. } => {
            let CardPart { memory, cores, .. } = CardPart::of(&has.asked);
            let amounts = [("memory", memory), ("core", cores)];
            let amounts = amounts.iter().filter(|(_, amount)| *amount > 0);
            fields.extend(amounts.map(|(key, amount)| format!("\"{key}\":{amount}")));
        }
    }
    format!("{{{}}}", fields.join(","))
}
