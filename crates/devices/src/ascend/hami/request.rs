//! What a pod asks of the family, compiled.

use std::sync::Arc;

use crate::binding::{Annotation, AnnotationValue, BindProtocol, BindingAnnotations};
use crate::facts::ContainerKind;
use crate::hami::protocol::{self, allocated, to_allocate};
use crate::ledger::{Allocation, Allocations, LedgerTime, NodeCards, charge_peak};
use crate::request::{Failure, FamilyRequest, NearMiss};
use crate::settings::Policy;

use super::allocation::{ChipGrant, devices_text, runtime_text};
use super::check::{ChipCheck, PodOnChips};
use super::chips::VnpuConfig;
use super::explain::explain;
use super::failure::LATER;
use super::limits::ChipLimits;
use super::needs::ChipRequest;
use super::part::ChipPart;

/// Pod annotation: when its chips were chosen.
const TIME: &str = "predicate-time";
/// What is the same for all pods.
#[derive(Debug)]
pub struct ChipRules {
    /// Types of chips.
    pub config: Arc<VnpuConfig>,
    /// Order of chips, and score.
    pub policy: Policy,
    /// How Bindings are sent.
    pub protocol: BindProtocol,
    /// All failures.
    pub failures: Arc<[Failure]>,
}

/// What a pod asks.
pub struct ChipsRequest {
    pub(super) rules: Arc<ChipRules>,
    pub(super) needs: Vec<ChipRequest>,
    pub(super) limits: ChipLimits,
}

impl ChipsRequest {
    pub(super) fn on_node<'a>(&'a self, cards: &'a NodeCards, view: LedgerTime) -> PodOnChips<'a> {
        PodOnChips {
            config: &self.rules.config,
            limits: &self.limits,
            cards,
            view,
        }
    }

    /// Index of the failure on a node where the pod does not fit.
    #[cold]
    pub(super) fn failure(&self, cards: &NodeCards, view: LedgerTime) -> u8 {
        let idle = self.on_node(cards, view).at(LedgerTime::Idle);
        if idle.place(&self.needs).is_some() {
            return LATER;
        }
        let alone = |need: &&ChipRequest| idle.best(need, &[]).is_none();
        let failing = self.needs.iter().find(alone).or(self.needs.last());
        let mut last = ChipCheck::Type;
        for at in 0..cards.cards.len() {
            let Some(need) = failing else { break };
            let passed = idle.allows(need, at);
            last = last.max(passed.err().unwrap_or(ChipCheck::Slots));
        }
        let pairs = |need: &ChipRequest| self.rules.config.types[usize::from(need.of)].pairs;
        match last {
            ChipCheck::Slots if failing.is_some_and(pairs) => ChipCheck::Pair as u8,
            last => last as u8,
        }
    }

    /// Chips of each type, in the order of the types: the devices of every container that has some.
    fn by_type(&self, allocations: &Allocations) -> Vec<(u16, Vec<Vec<ChipGrant>>)> {
        let mut all: Vec<(u16, Vec<Vec<ChipGrant>>)> = Vec::new();
        let mut rest = allocations.iter();
        for need in &self.needs {
            let own = rest.by_ref().take(need.count as usize);
            let devices = own.map(|one| self.device(need, one)).collect();
            match all.iter_mut().find(|(of, _)| *of == need.of) {
                Some((_, elements)) => elements.push(devices),
                None => all.push((need.of, vec![devices])),
            }
        }
        all.sort_by_key(|(of, _)| *of);
        all
    }

    fn device(&self, need: &ChipRequest, allocation: &Allocation) -> ChipGrant {
        let asked = ChipPart::of(&allocation.asked);
        ChipGrant {
            id: allocation.id.to_string(),
            memory: asked.memory,
            cores: asked.cores,
            share: need.share,
        }
    }
}

impl FamilyRequest for ChipsRequest {
    fn failures(&self) -> &[Failure] {
        &self.rules.failures
    }

    fn fit(&self, cards: &NodeCards, view: LedgerTime) -> Result<f64, u8> {
        let placed = self.on_node(cards, view).place(&self.needs);
        match placed {
            Some((_, score)) => Ok(score),
            None => Err(self.failure(cards, view)),
        }
    }

    fn choose(&self, cards: &NodeCards, view: LedgerTime) -> Option<Allocations> {
        let on_node = self.on_node(cards, view);
        let (picks, _) = on_node.place(&self.needs)?;
        let mut picks = picks.into_iter();
        let mut allocations = Allocations::new();
        for need in &self.needs {
            for card in picks.by_ref().take(need.count as usize) {
                let card = usize::from(card);
                let part = on_node.part(need, card).portion();
                allocations.push(Allocation::of(cards, card, need.container, part));
            }
        }
        charge_peak(&mut allocations, |container| {
            let mut needs = self.needs.iter();
            let need = needs.find(|need| need.container == container);
            need.map_or(ContainerKind::default(), |need| need.runs)
        });
        Some(allocations)
    }

    fn explain(&self, node: &str, cards: &NodeCards, view: LedgerTime) -> Option<NearMiss> {
        explain(self, node, cards, view)
    }

    fn annotations(
        &self,
        node: &str,
        _cards: &NodeCards,
        allocations: &Allocations,
    ) -> BindingAnnotations {
        let text = |text: &str| AnnotationValue::Text(text.to_owned());
        let mut annotations = Vec::new();
        for (of, elements) in self.by_type(allocations) {
            let chip = &self.rules.config.types[usize::from(of)];
            let word = &chip.word;
            let devices = devices_text(word, &elements);
            for key in [to_allocate(word), allocated(word)] {
                annotations.push(Annotation::new(key, text(&devices)));
            }
            let runtime = AnnotationValue::Text(runtime_text(chip, &elements));
            annotations.push(Annotation::new(format!("huawei.com/{word}"), runtime));
        }
        annotations.push(Annotation::new(TIME, AnnotationValue::Seconds));
        annotations.extend(protocol::place(node));
        annotations.extend(protocol::waits());
        // A pod that is served already looks like the next one, whatever both hold.
        self.rules.protocol.binding(annotations, String::new())
    }

    fn warning(&self) -> Option<&str> {
        self.limits.preference.warning.as_deref()
    }
}
