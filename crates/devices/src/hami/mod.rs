//! HAMi's vendors: cards of many makers, whole or in parts, handed out by device plugins that HAMi
//! knows (spec/04 §23).
//!
//! ```text
//!  vendors ──► kind::CardKind ─┬─► discover ──► cards     limits of containers ──► needs::needs ┐
//!  (names from config)         │                  │       annotations ──► limits::CardLimits ───┤
//!                              │                  ▼                                             ▼
//!  fit, choose:      check (one card) ◄── place (best cards, in turn) ◄────── request::CardsRequest
//!                              │                                                                │
//!  held ◄── wire ◄── annotations of the pod ◄── wire, CardKind::marks ◄── annotations ──────────┘
//! ```
//!
//! One family for all vendors; which are on says an argument. A vendor is what it calls things and
//! the few rules that are its own (`kind::CardKind`), in a module of `vendors`.
//!
//! Invariants: what is written can be read back to exactly what was charged; no card gives more
//! memory, cores or slots than it has to pods placed here; without a vendor nothing is read, judged
//! or written.

mod check;
mod config;
mod explain;
mod failure;
mod gauges;
mod held;
pub(crate) mod holding;
pub(crate) mod json;
mod kind;
mod limits;
mod links;
mod mig;
mod needs;
pub(crate) mod order;
mod pairs;
mod place;
pub(crate) mod preference;
pub(crate) mod protocol;
mod ratings;
pub(crate) mod register;
mod request;
mod sgpu;
mod terms;
pub(crate) mod uuid_lists;
mod variant;
mod vendors;
pub(crate) mod wire;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::binding::BindProtocol;
use crate::config::DeviceConfig;
use crate::facts::{
    MilliAmounts, NodeFacts, Pairs, PodFacts, too_many_init_containers, zero_count,
};
use crate::family::{Decoded, Family, FamilySpec};
use crate::gauge::Gauge;
use crate::ledger::{Card, NodeCards, Tags};
use crate::part::{CardPart, DIMENSIONS};
use crate::request::FamilyRequest;
use crate::settings::Settings;
use crate::text::{Bounded, clip};

pub use vendors::shared_names;

use kind::{CardKind, OwnRules};
use limits::CardLimits;
use register::{CORDON, HamiCard};
use request::{CardsRequest, VendorRules};
use terms::SgpuLimits;
use variant::{CardMode, CardVariant};

/// The family.
pub const SPEC: FamilySpec = FamilySpec {
    name: "hami",
    node_annotations: vendors::NODE_ANNOTATIONS,
    asks: vendors::ASKS,
    labels: &[],
    records: &["hami.io/*-devices-allocated", vendors::INSTANCES],
    later: &[],
    protocols: vendors::PROTOCOLS,
    dimensions: DIMENSIONS,
    gauges: gauges::GAUGES,
    sections: vendors::SECTIONS,
    reports: None,
    make: |settings: &Settings, config: &DeviceConfig| Box::new(Hami::new(settings, config)),
};

/// Names of all vendors, as the argument has them.
pub fn vendor_names() -> impl Iterator<Item = &'static str> {
    vendors::VENDORS.iter().map(|vendor| vendor.name)
}

/// Whether NVIDIA's cards are handed out by HAMi's plugin.
pub fn shares_gpus(settings: &Settings) -> bool {
    let mut named = settings.hami_vendors.iter();
    named.any(|name| name.trim().eq_ignore_ascii_case(vendors::NVIDIA))
}

struct Hami {
    rules: Arc<VendorRules>,
}

impl Hami {
    fn new(settings: &Settings, config: &DeviceConfig) -> Self {
        let on = settings.configured.then_some(&settings.hami_vendors);
        let named = on.into_iter().flatten();
        let mut known = FxHashSet::default();
        let vendors = named.filter_map(|name| vendors::vendor(name));
        let vendors = vendors.filter(|vendor| known.insert(vendor.name));
        let rules = VendorRules {
            kinds: vendors
                .flat_map(|vendor| (vendor.kinds)(settings, config))
                .collect(),
            policy: settings.policy,
            protocol: BindProtocol::of(settings, protocol::LOCK),
            locks: settings.node_lock,
        };
        Self {
            rules: Arc::new(rules),
        }
    }

    /// Adds the cards of a kind.
    fn add(
        &self,
        (of, kind): (usize, &CardKind),
        node: &NodeFacts,
        cards: &mut NodeCards,
        problems: &mut Bounded,
    ) {
        let mut found = (kind.discover)(kind, node, problems);
        let name = &kind.names.count;
        if !found.is_empty() && node.allocatable_milli(name).unwrap_or(0) <= 0 {
            let source = &kind.source;
            problems.tell(|| format!("{source}: not used, as the node has no {name} allocatable"));
            return;
        }
        found.sort_by_key(|card| card.index);
        if kind.rules == OwnRules::Rated && !found.is_empty() {
            cards.ratings = ratings::read(of as u16, node, problems);
        }
        let cordoned = node.annotation(CORDON).unwrap_or_default();
        for (at, card) in found.iter().enumerate() {
            if let Some(first) = cards.find(&card.id) {
                let is_alike = found[..at].iter().any(|one| one.is_alike(card));
                let (source, id) = (&kind.source, clip(&card.id));
                let what = match is_alike {
                    true => "counts once",
                    false => "nobody gets it, as what is told of it differs",
                };
                problems.tell(|| format!("{source}: card {id} is listed twice: {what}"));
                if !is_alike {
                    let why = "listed twice with different amounts: restart the device plugin";
                    cards.cards[first].unusable.get_or_insert(why.into());
                }
                continue;
            }
            let is_cordoned = cordoned.split(',').any(|id| id.trim() == card.id);
            let unusable = why_unusable(kind, card, is_cordoned);
            add_card(cards, of as u16, card, unusable);
        }
        if kind.rules == OwnRules::Paired && !found.is_empty() {
            pairs::read(cards, node, problems);
        }
    }

    /// Memory and cores of the cards that are given out, which a node seldom tells itself.
    fn offered(&self, node: &NodeFacts, cards: &NodeCards) -> MilliAmounts {
        let mut offered = MilliAmounts::new();
        for (of, kind) in self.rules.kinds.iter().enumerate() {
            let mut all = CardPart::default();
            for (at, card) in cards.cards.iter().enumerate() {
                if usize::from(CardVariant::of(card).kind) == of && card.is_usable() {
                    let part = CardPart::capacity(cards, at);
                    all.memory += part.memory;
                    all.cores += match kind.cores_in_percent {
                        true => kind.cores,
                        false => part.cores,
                    };
                }
            }
            let memory = all.memory.saturating_mul(1000) / kind.unit.mib();
            for (name, milli) in [
                (&kind.names.memory, memory),
                (&kind.names.cores, all.cores * 1000),
            ] {
                if milli > 0 && !name.is_empty() && node.allocatable_milli(name).is_none() {
                    offered.push((name.clone(), milli));
                }
            }
        }
        offered
    }

    fn compile(&self, pod: &PodFacts) -> Result<Option<Arc<dyn FamilyRequest>>, String> {
        let kinds = &self.rules.kinds;
        let needs = needs::needs(pod, kinds)?;
        if needs.is_empty() {
            return Ok(None);
        }
        let asks = needs.iter().map(|need| need.container);
        let resource = &kinds[usize::from(needs[0].kind)].names.count;
        if let Some(why) = too_many_init_containers(pod, asks, resource) {
            return Err(why);
        }
        let mut limits = CardLimits::of(pod, kinds, self.rules.policy)?;
        limits.sgpu = SgpuLimits::of(pod, kinds, &needs)?;
        Ok(Some(Arc::new(CardsRequest {
            limits,
            failures: failure::list(&needs, kinds),
            rules: Arc::clone(&self.rules),
            needs,
            runs: pod.containers.iter().map(|one| one.kind).collect(),
        })))
    }
}

/// Why nobody gets a card, if that is so.
fn why_unusable(kind: &CardKind, card: &HamiCard, is_cordoned: bool) -> Option<&'static str> {
    let is_split = CardMode::named(&card.mode) == CardMode::Mig;
    let known = ["", "hami-core", "mps", "mig"];
    if !card.healthy {
        Some("unhealthy")
    } else if is_cordoned {
        Some("cordoned by hami.io/device-cordon")
    } else if card.memory == 0 && !kind.by_slots {
        Some("without memory in its register: restart the device plugin")
    } else if kind.keys.mode.is_some() && !known.contains(&&*card.mode) {
        Some("in a mode that is not known: use hami-core, mps or mig")
    } else if is_split && kind.keys.instances.is_none() {
        Some("in MIG mode, which its device plugin cannot hand out")
    } else if is_split && card.splits.is_empty() {
        Some(
            "in MIG mode without migProfiles in its register: update HAMi's device plugin, or use \
             hami-core or mps",
        )
    } else {
        None
    }
}

fn add_card(cards: &mut NodeCards, kind: u16, card: &HamiCard, unusable: Option<&'static str>) {
    let mode = CardMode::named(&card.mode);
    let variant = CardVariant { kind, mode };
    let all = CardPart {
        memory: card.memory,
        sharers: card.slots,
        cores: card.cores,
    };
    let card = Card {
        id: Arc::from(card.id.as_str()),
        kind: Arc::from(card.kind.as_str()),
        unusable: unusable.map(Box::from),
        index: card.index,
        variant: variant.code(),
        numa: card.numa,
        splits: match mode {
            CardMode::Mig => card.splits.clone().into_boxed_slice(),
            CardMode::HamiCore | CardMode::Mps => Box::default(),
        },
        // What a summary says of cores is in percent, and of what the node tells nothing.
        is_plain: card.cores == 100 && mode != CardMode::Mig && cards.ratings.is_empty(),
        details: card.details,
    };
    cards.add(card, &all.row());
}

impl Family for Hami {
    fn cards(&self, node: &NodeFacts) -> NodeCards {
        let mut cards = NodeCards::new(DIMENSIONS);
        let mut problems = Bounded::default();
        for kind in self.rules.kinds.iter().enumerate() {
            self.add(kind, node, &mut cards, &mut problems);
        }
        cards.problems = problems.into_texts("more problems");
        cards.offered = self.offered(node, &cards);
        cards
    }

    fn request(
        &self,
        pod: &PodFacts,
        _tags: Tags,
    ) -> Option<Result<Arc<dyn FamilyRequest>, String>> {
        match self.rules.kinds.is_empty() {
            true => None,
            false => self.compile(pod).transpose(),
        }
    }

    fn remark(&self, pod: &PodFacts) -> Option<String> {
        let mut kinds = self.rules.kinds.iter();
        kinds.find_map(|kind| zero_count(pod, &kind.names.count, kind.names.parts()))
    }

    fn decode(&self, records: &Pairs, pod: &PodFacts, cards: &NodeCards) -> Decoded {
        match self.rules.kinds.is_empty() {
            true => Decoded::default(),
            false => held::held(&self.rules.kinds, records, pod, cards),
        }
    }

    fn ignored_resources(&self) -> Vec<String> {
        let kinds = self.rules.kinds.iter();
        kinds.flat_map(|kind| kind.names.parts()).cloned().collect()
    }

    fn mode(&self, card: &Card) -> &'static str {
        request::mode_name(&self.rules, card)
    }

    fn gauges(&self, cards: &NodeCards) -> Vec<Gauge> {
        gauges::gauges(cards)
    }
}
