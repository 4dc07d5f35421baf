//! A family of HAMi's devices, as the scheduler asks it.

use std::sync::Arc;

use crate::binding::BindProtocol;
use crate::facts::{NodeFacts, Pairs, PodFacts, too_many_init_containers, zero_count};
use crate::family::{Decoded, Family};
use crate::gauge::{Gauge, card_gauges};
use crate::ledger::{Card, LedgerEntry, NodeCards, Tags};
use crate::request::FamilyRequest;
use crate::settings::Settings;

use super::kind::CardKind;
use super::limits::CardLimits;
use super::own::HamiRequest;
use super::own::{HamiFamily, HamiRules};
use super::variant::CardVariant;
use super::{discover, held, mig, needs, protocol, slices};

/// A family of HAMi's devices with the kinds of cards that are on.
pub struct HamiDevices<F> {
    rules: Arc<HamiRules<F>>,
}

impl<F: HamiFamily> HamiDevices<F> {
    /// The family with these kinds of cards.
    pub fn new(settings: &Settings, kinds: Vec<CardKind>, own: F) -> Self {
        let rules = HamiRules {
            kinds,
            own,
            policy: settings.policy,
            protocol: BindProtocol::of(settings, protocol::LOCK),
            locks: settings.node_lock,
        };
        Self {
            rules: Arc::new(rules),
        }
    }

    fn compile(&self, pod: &PodFacts) -> Result<Option<Arc<dyn FamilyRequest>>, String> {
        let HamiRules { kinds, own, .. } = &*self.rules;
        if let Some(why) = own.refusal(pod) {
            return Err(why);
        }
        let needs = needs::needs(pod, &self.rules)?;
        let Some(first) = needs.first() else {
            return Ok(None);
        };
        let asks = needs.iter().map(|need| need.container);
        let resource = &kinds[usize::from(first.kind)].names.count;
        if let Some(why) = too_many_init_containers(pod, asks, resource) {
            return Err(why);
        }
        let mut limits = CardLimits::of(pod, kinds, self.rules.policy)?;
        F::limit(pod, kinds, &needs, &mut limits)?;
        Ok(Some(Arc::new(HamiRequest {
            limits,
            failures: F::failures(kinds, &needs),
            rules: Arc::clone(&self.rules),
            needs,
            runs: pod.containers.iter().map(|one| one.kind).collect(),
            names: pod.names.clone().into_boxed_slice(),
        })))
    }
}

impl<F: HamiFamily> Family for HamiDevices<F> {
    fn cards(&self, node: &NodeFacts) -> NodeCards {
        discover::cards(&self.rules, node)
    }

    fn request(
        &self,
        pod: &PodFacts,
        _tags: Tags,
    ) -> Option<Result<Arc<dyn FamilyRequest>, String>> {
        self.compile(pod).transpose()
    }

    fn remark(&self, pod: &PodFacts) -> Option<String> {
        let mut kinds = self.rules.kinds.iter();
        kinds.find_map(|kind| zero_count(pod, &kind.names.count, kind.names.parts()))
    }

    fn decode(&self, records: &Pairs, pod: &PodFacts, cards: &NodeCards) -> Decoded {
        match self.rules.kinds.is_empty() {
            true => Decoded::default(),
            false => held::held(&self.rules, records, pod, cards),
        }
    }

    fn ignored_resources(&self) -> Vec<String> {
        let kinds = self.rules.kinds.iter();
        kinds.flat_map(|kind| kind.names.parts()).cloned().collect()
    }

    /// How a card is shared, in the words of annotations, where its kind can be shared in several ways.
    fn mode(&self, card: &Card) -> &'static str {
        let variant = CardVariant::of(card);
        let kind = self.rules.kinds.get(usize::from(variant.kind));
        match kind.is_some_and(|kind| kind.keys.mode.is_some()) {
            true => variant.mode.name(),
            false => "",
        }
    }

    fn part_name(&self, cards: &NodeCards, entry: &LedgerEntry) -> Option<String> {
        let card = cards.cards.get(usize::from(entry.card))?;
        match entry.partition {
            Some(partition) => mig::profile_at(card, partition),
            None => {
                let kind = CardVariant::of(card).kind;
                let own = self.rules.own.part_name(usize::from(kind), &entry.held);
                own.or_else(|| slices::profile_name(card, &entry.held))
            }
        }
    }

    fn gauges(&self, cards: &NodeCards) -> Vec<Gauge> {
        card_gauges(cards, F::GAUGES)
    }
}
