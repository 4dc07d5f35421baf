//! What a pod asks of the family, compiled.

use std::sync::Arc;

use crate::binding::{Annotation, AnnotationValue, BindProtocol, BindingAnnotations};
use crate::facts::{ContainerKind, most_at_any_time};
use crate::ledger::{Allocation, Allocations, CardSummary, LedgerTime, NodeCards, charge_peak};
use crate::part::CardPart;
use crate::request::{Failure, FamilyRequest, NearMiss, QueueAmounts};
use crate::settings::Policy;

use super::check::PodOnCards;
use super::explain::explain;
use super::kind::{CardKind, Marking, PodLookup};
use super::limits::CardLimits;
use super::needs::{CardCores, CardMemory, CardNeed};
use super::protocol;
use super::terms::ShareTerms;
use super::wire::{end_element, push_device};
use super::{place, variant::CardVariant};

/// What is the same for all pods.
pub struct VendorRules {
    /// Kinds that are on.
    pub kinds: Vec<CardKind>,
    /// Order of cards, and score.
    pub policy: Policy,
    /// How Bindings are sent to nodes with HAMi's lock.
    pub protocol: BindProtocol,
    /// Whether locks are taken.
    pub locks: bool,
}

/// What a pod asks.
pub struct CardsRequest {
    pub(super) rules: Arc<VendorRules>,
    pub(super) needs: Vec<CardNeed>,
    pub(super) limits: CardLimits,
    pub(super) failures: Arc<[Failure]>,
    /// When each container of the pod runs.
    pub(super) runs: Vec<ContainerKind>,
}

impl CardsRequest {
    pub(super) fn on_node<'a>(&'a self, cards: &'a NodeCards, view: LedgerTime) -> PodOnCards<'a> {
        PodOnCards {
            limits: &self.limits,
            cards,
            view,
        }
    }

    fn kind(&self, need: &CardNeed) -> &CardKind {
        &self.rules.kinds[usize::from(need.kind)]
    }

    /// Kinds the pod has cards of, each with its allocations in the order of containers.
    fn by_kind<'a>(&self, allocations: &'a Allocations) -> Vec<(&CardKind, Vec<&'a Allocation>)> {
        let mut all: Vec<(u16, Vec<&Allocation>)> = Vec::new();
        let mut rest = allocations.iter();
        for need in &self.needs {
            let own = rest.by_ref().take(need.count as usize);
            match all.iter_mut().find(|(of, _)| *of == need.kind) {
                Some((_, known)) => known.extend(own),
                None => all.push((need.kind, own.collect())),
            }
        }
        all.sort_by_key(|(of, _)| *of);
        let kinds = all.into_iter();
        kinds
            .map(|(of, own)| (&self.rules.kinds[usize::from(of)], own))
            .collect()
    }

    /// An element for each container.
    fn text(&self, kind: &CardKind, cards: &NodeCards, own: &[&Allocation]) -> String {
        let mut text = String::new();
        for container in 0..self.runs.len() {
            let here = own
                .iter()
                .filter(|one| usize::from(one.container) == container);
            for one in here {
                let CardPart { memory, cores, .. } = CardPart::of(&one.asked);
                let card = one.card.and_then(|at| cards.cards.get(usize::from(at)));
                let word = match card.filter(|_| kind.lists_types) {
                    Some(card) => &card.kind,
                    None => kind.word.as_str(),
                };
                push_device(&mut text, &one.id, word, memory, cores);
            }
            end_element(&mut text);
        }
        text
    }

    /// How the Binding is sent.
    fn binding(&self, service: PodLookup) -> BindingAnnotations {
        let lock = match service {
            PodLookup::Hami => self.rules.protocol.lock,
            PodLookup::OwnLock(lock) => self.rules.locks.then_some(lock),
            PodLookup::Pending => None,
            PodLookup::Kubelet => return BindingAnnotations::default(),
        };
        let BindProtocol { waits, .. } = self.rules.protocol;
        // A pod that is served already looks like the next one, whatever both hold.
        BindProtocol { waits, lock }.binding(Vec::new(), String::new())
    }

    /// Memory in MiB of a need, if it can be told without cards.
    fn expected_memory(need: &CardNeed) -> Option<i64> {
        let memory = match need.share.memory {
            CardMemory::Mib(mib) => Some(mib),
            CardMemory::Percent(_) => need.share.named.map(|named| named.most),
        };
        Some(memory?.saturating_mul(need.count.into()))
    }

    /// Cores of a need, if they can be told without cards.
    fn expected_cores(need: &CardNeed) -> Option<i64> {
        match need.share.cores {
            CardCores::All => None,
            CardCores::Units(cores) | CardCores::Percent(cores) => {
                Some(cores.saturating_mul(need.count.into()))
            }
        }
    }

    /// Memory in MiB and cores of a kind, as far as they can be told without cards.
    fn expected_of(&self, of: u16) -> (Option<i64>, Option<i64>) {
        let own = || self.needs.iter().filter(move |need| need.kind == of);
        let most = |amount: fn(&CardNeed) -> Option<i64>| {
            let amounts = own().map(|need| Some((need.runs, amount(need)?)));
            let amounts: Option<Vec<(ContainerKind, i64)>> = amounts.collect();
            amounts.map(most_at_any_time)
        };
        (most(Self::expected_memory), most(Self::expected_cores))
    }

    /// Memory in MiB and cores of a kind, of cards that are known or else as far as they can be told.
    fn amounts(&self, of: u16, picks: Option<&Allocations>) -> (Option<i64>, Option<i64>) {
        let Some(picks) = picks else {
            return self.expected_of(of);
        };
        let need_of = |one: &Allocation| {
            let mut needs = self.needs.iter();
            let found = needs.find(|need| need.container == one.container);
            found.filter(|need| need.kind == of)
        };
        let mut sum = CardPart::default();
        let mut percents = Allocations::new();
        let mut needs = self.needs.iter();
        let has_init = needs.any(|need| need.runs == ContainerKind::Init);
        for one in picks.iter().filter(|one| !one.suspect) {
            let Some(need) = need_of(one) else {
                continue;
            };
            let part = CardPart::of(&one.charged);
            sum.memory += part.memory;
            match need.share.cores {
                CardCores::Percent(percent) if !has_init => sum.cores += percent,
                CardCores::Percent(percent) => percents.push(Allocation {
                    charged: std::iter::once(percent).collect(),
                    ..one.clone()
                }),
                CardCores::All | CardCores::Units(_) => sum.cores += part.cores,
            }
        }
        charge_peak(&mut percents, |container| self.runs(container));
        sum.cores += percents.iter().map(|one| one.charged[0]).sum::<i64>();
        (Some(sum.memory), Some(sum.cores))
    }

    fn runs(&self, container: u16) -> ContainerKind {
        let kind = self.runs.get(usize::from(container));
        kind.copied().unwrap_or_default()
    }
}

impl FamilyRequest for CardsRequest {
    fn failures(&self) -> &[Failure] {
        &self.failures
    }

    fn fit(&self, cards: &NodeCards, view: LedgerTime) -> Result<f64, u8> {
        let on_node = self.on_node(cards, view);
        match on_node.place(&self.needs) {
            Some((_, score)) => Ok(score),
            None => Err(on_node.failure(&self.needs)),
        }
    }

    fn fit_summary(&self, cards: &[CardSummary]) -> Option<Option<f64>> {
        match &self.needs[..] {
            [need] if need.count == 1 && self.limits.is_plain() => {
                Some(place::summary(need, self.limits.preference.policy, cards))
            }
            _ => None,
        }
    }

    fn choose(&self, cards: &NodeCards, view: LedgerTime) -> Option<Allocations> {
        let (taken, _) = self.on_node(cards, view).place(&self.needs)?;
        let mut taken = taken.into_iter();
        let mut allocations = Allocations::new();
        for need in &self.needs {
            let terms = self.limits.terms(need.kind);
            for one in taken.by_ref().take(need.count as usize) {
                let card = usize::from(one.card);
                allocations.push(Allocation {
                    asked: one.asked.portion(),
                    partition: one.instance,
                    share: terms.map(ShareTerms::code).unwrap_or_default(),
                    ..Allocation::of(cards, card, need.container, one.part.portion())
                });
            }
        }
        charge_peak(&mut allocations, |container| self.runs(container));
        Some(allocations)
    }

    fn explain(&self, node: &str, cards: &NodeCards, view: LedgerTime) -> Option<NearMiss> {
        explain(self, node, cards, view)
    }

    fn annotations(
        &self,
        node: &str,
        cards: &NodeCards,
        allocations: &Allocations,
    ) -> BindingAnnotations {
        let mut annotations = Vec::new();
        let mut written = BindingAnnotations::default();
        let by_kind = self.by_kind(allocations);
        for (kind, own) in &by_kind {
            let text = self.text(kind, cards, own);
            if let Some(key) = &kind.keys.to_allocate {
                let value = AnnotationValue::Text(text.clone());
                annotations.push(Annotation::new(key.clone(), value));
            }
            let value = AnnotationValue::Text(text);
            annotations.push(Annotation::new(kind.keys.allocated.clone(), value));
            annotations.extend((kind.marks)(&Marking { node, cards, own }));
        }
        annotations.extend(protocol::place(node));
        if by_kind
            .iter()
            .any(|(kind, _)| kind.service == PodLookup::Hami)
        {
            annotations.extend(protocol::waits());
        }
        for (kind, _) in &by_kind {
            written.merge(self.binding(kind.service));
        }
        BindingAnnotations {
            annotations,
            ..written
        }
    }

    fn charge(&self, picks: Option<&Allocations>) -> QueueAmounts<'_> {
        let is_known = |all: &&Allocations| all.iter().all(|one| one.certain || one.suspect);
        let picks = picks.filter(is_known);
        let mut amounts = QueueAmounts::new();
        for (at, need) in self.needs.iter().enumerate() {
            if self.needs[..at].iter().any(|known| known.kind == need.kind) {
                continue;
            }
            let kind = self.kind(need);
            let (memory, cores) = self.amounts(need.kind, picks);
            let unit = kind.unit.mib();
            let memory = memory.map(|mib| mib.saturating_mul(1000).div_euclid(unit));
            let cores = cores.map(|cores| cores.saturating_mul(1000));
            for (name, milli) in [(&kind.names.memory, memory), (&kind.names.cores, cores)] {
                let milli = milli.filter(|milli| *milli > 0 && !name.is_empty());
                amounts.extend(milli.map(|milli| (name.as_str(), milli)));
            }
        }
        amounts.sort();
        amounts
    }

    fn warning(&self) -> Option<&str> {
        self.limits.preference.warning.as_deref()
    }
}

/// How cards of a kind are shared, in the words of annotations.
pub fn mode_name(rules: &VendorRules, card: &crate::ledger::Card) -> &'static str {
    let variant = CardVariant::of(card);
    let kind = rules.kinds.get(usize::from(variant.kind));
    match kind.is_some_and(|kind| kind.keys.mode.is_some()) {
        true => variant.mode.name(),
        false => "",
    }
}
