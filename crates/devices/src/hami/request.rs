//! What a pod asks of the family, compiled.

use smallvec::SmallVec;

use crate::binding::{Annotation, AnnotationValue, BindProtocol, BindingAnnotations};
use crate::facts::ContainerKind;
use crate::ledger::{Allocation, Allocations, CardSummary, LedgerTime, NodeCards, charge_peak};
use crate::part::CardPart;
use crate::request::{Failure, FamilyRequest, NearMiss, QueueAmounts};

use super::explain::explain;
use super::kind::{CardKind, Marking, PodLookup};
use super::own::{HamiFamily, HamiRequest, NeedOf, PodOnDevices};
use super::protocol;
use super::wire::{end_element, push_device};

impl<F: HamiFamily> HamiRequest<F> {
    pub(super) fn on_node<'a>(
        &'a self,
        cards: &'a NodeCards,
        view: LedgerTime,
    ) -> PodOnDevices<'a, F> {
        PodOnDevices {
            rules: &self.rules,
            limits: &self.limits,
            cards,
            view,
        }
    }

    pub(super) fn kind(&self, need: &NeedOf<F>) -> &CardKind {
        &self.rules.kinds[usize::from(need.kind)]
    }

    /// Kinds the pod has cards of, each with its allocations in the order of containers.
    fn by_kind<'a>(&self, allocations: &'a Allocations) -> ByKind<'a> {
        let mut all = ByKind::new();
        let mut rest = allocations.iter();
        for need in &self.needs {
            let own = rest.by_ref().take(need.count as usize);
            match all.iter_mut().find(|(of, _)| *of == need.kind) {
                Some((_, known)) => known.extend(own),
                None => all.push((need.kind, own.collect())),
            }
        }
        all.sort_by_key(|(of, _)| *of);
        all
    }

    /// The list of cards, an element for each container.
    fn text(&self, kind: &CardKind, cards: &NodeCards, own: &[&Allocation]) -> String {
        let mut text = String::new();
        for container in 0..self.runs.len() {
            let mut here = own
                .iter()
                .filter(|one| usize::from(one.container) == container)
                .peekable();
            if here.peek().is_none() && !F::LISTS_ALL_CONTAINERS {
                continue;
            }
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

    /// The name of a container; where that is not known, as HAMi names such a one.
    pub(super) fn name(&self, container: u16) -> String {
        let mut names = self.names.iter();
        let found = names.find(|(at, _)| *at == container);
        found.map_or_else(
            || format!("container-{container}"),
            |(_, name)| name.clone(),
        )
    }

    /// The first need of those for most cards.
    fn largest(&self) -> Option<&NeedOf<F>> {
        self.needs
            .iter()
            .min_by_key(|need| std::cmp::Reverse(need.count))
    }

    /// When a container runs.
    pub(super) fn runs(&self, container: u16) -> ContainerKind {
        let kind = self.runs.get(usize::from(container));
        kind.copied().unwrap_or_default()
    }
}

/// Allocations by place of their kind.
type ByKind<'a> = SmallVec<[(u16, SmallVec<[&'a Allocation; 4]>); 1]>;

/// Annotations of a Binding that pods have nearly always at most.
const USUAL_ANNOTATIONS: usize = 12;

impl<F: HamiFamily> FamilyRequest for HamiRequest<F> {
    fn failures(&self) -> &[Failure] {
        &self.failures
    }

    fn fit(&self, cards: &NodeCards, view: LedgerTime) -> Result<f64, u8> {
        let on_node = self.on_node(cards, view);
        match F::place(&on_node, &self.needs) {
            Some((_, score)) => Ok(score),
            None => Err(on_node.failure(&self.needs)),
        }
    }

    fn fit_summary(&self, cards: &[CardSummary]) -> Option<Option<f64>> {
        F::fit_summary(self, cards)
    }

    fn has_preference(&self) -> bool {
        let preference = &self.limits.preference;
        !preference.is_plain() || preference.policy != self.rules.policy
    }

    fn cards_at_once(&self) -> u32 {
        self.largest().map_or(1, |need| need.count)
    }

    fn piece(&self, cards: &NodeCards, at: usize, view: LedgerTime) -> Option<Allocation> {
        let (need, on_node) = (self.largest()?, self.on_node(cards, view));
        let taken = F::admits(&on_node, need, at, &[]).ok()?;
        Some(F::allocation(&on_node, need, taken))
    }

    fn choose(&self, cards: &NodeCards, view: LedgerTime) -> Option<Allocations> {
        let on_node = self.on_node(cards, view);
        let (taken, _) = F::place(&on_node, &self.needs)?;
        let mut taken = taken.into_iter();
        let mut allocations = Allocations::new();
        for need in &self.needs {
            let own = taken.by_ref().take(need.count as usize);
            allocations.extend(own.map(|one| F::allocation(&on_node, need, one)));
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
        let mut annotations = Vec::with_capacity(USUAL_ANNOTATIONS);
        let mut written = BindingAnnotations::default();
        let by_kind = self.by_kind(allocations);
        for (of, own) in &by_kind {
            let kind = &self.rules.kinds[usize::from(*of)];
            let text = self.text(kind, cards, own);
            if let Some(key) = &kind.keys.to_allocate {
                let value = AnnotationValue::Text(text.clone());
                annotations.push(Annotation::new(key.clone(), value));
            }
            let value = AnnotationValue::Text(text);
            annotations.push(Annotation::new(kind.keys.allocated.clone(), value));
            let marking = Marking { node, cards, own };
            annotations.extend(F::marks(self, *of, &marking));
        }
        let stamp = |key| Annotation::new(key, AnnotationValue::Seconds);
        annotations.extend(F::STAMP.map(stamp));
        annotations.extend(protocol::place(node));
        let services = by_kind
            .iter()
            .map(|(of, _)| self.rules.kinds[usize::from(*of)].service);
        if services.clone().any(|service| service == PodLookup::Hami) {
            annotations.extend(protocol::waits());
        }
        for service in services {
            written.merge(self.binding(service));
        }
        BindingAnnotations {
            annotations,
            ..written
        }
    }

    fn charge(&self, picks: Option<&Allocations>) -> QueueAmounts<'_> {
        F::charge(self, picks)
    }

    fn warning(&self) -> Option<&str> {
        self.limits.preference.warning.as_deref()
    }
}
