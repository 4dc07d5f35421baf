//! What a pod asks of the family, compiled.

use std::borrow::Cow;
use std::sync::Arc;

use smallvec::smallvec;

use crate::binding::{
    Annotation, AnnotationValue, BindingAnnotations, PluginProtocol, UntilStarted,
};
use crate::facts::{ContainerKind, PodFacts, most_at_any_time};
use crate::ledger::{
    Allocation, Allocations, CardSummary, LedgerTime, NodeCards, PlainAsk, Tags, charge_peak,
};
use crate::nvidia::indices::INDEX;
use crate::nvidia::vgpu::allocation::{Device, encode, layout, mig_id};
use crate::nvidia::vgpu::check::{Candidates, CardCandidate, PodOnNode};
use crate::nvidia::vgpu::config::VgpuConfig;
use crate::nvidia::vgpu::containers::{ContainerRequest, Memory};
use crate::nvidia::vgpu::explain::explain;
use crate::nvidia::vgpu::failure::{NoVgpuCards, Stop};
use crate::nvidia::vgpu::held::IDS;
use crate::nvidia::vgpu::limits::AnnotationLimits;
use crate::nvidia::vgpu::search::search;
use crate::nvidia::vgpu::sharing::{MODES, Sharing};
use crate::nvidia::vgpu::summary;
use crate::part::CardPart;
use crate::request::{Failure, FamilyRequest, NearMiss, QueueAmounts, chosen_of};

/// Pod annotation: node it is bound to.
const NODE: &str = "volcano.sh/vgpu-node";
/// Pod annotation: its sequence number.
const TIME: &str = "volcano.sh/vgpu-time";
/// Pod annotation: what the plugin has yet to hand out.
const TO_ALLOCATE: &str = "volcano.sh/devices-to-allocate";
/// Pod annotation: how far the plugin is.
const PHASE: &str = "volcano.sh/bind-phase";
const BUSY: &str = "allocating";
/// How far the plugin is (spec/04 §13.3).
pub const PROTOCOL: PluginProtocol = PluginProtocol {
    plugin: "volcano-vgpu-device-plugin",
    bound_key: PHASE,
    phase_key: PHASE,
    busy: &[Some(BUSY)],
    busy_until_started: UntilStarted::Answered(&[]),
    sequence_key: Some(TIME),
    cleanup: &[(TO_ALLOCATE, ""), (TIME, LAST_SEQUENCE)],
};
/// Pod annotation: when it was bound.
const BIND_TIME: &str = "volcano.sh/bind-time";
/// The last of all sequence numbers.
const LAST_SEQUENCE: &str = "18446744073709551615";

const SEVERAL: &str = "several containers ask vGPU: volcano-vgpu-device-plugin v1.12.0 and later \
                       serve only pods with one such container; put the vGPU into one container";

const NO_COUNT: &str = "the container asks memory of a vGPU and no number: kubelet does not call the \
                        device plugin for it, and it starts without GPU; add the number, 1";

/// What a pod asks.
pub struct VgpuRequest {
    pub(super) config: Arc<VgpuConfig>,
    pub(super) needs: Vec<ContainerRequest>,
    pub(super) limits: AnnotationLimits,
    tags: Tags,
    /// What the only container asks, where any card may do of which a summary tells so.
    plain: Option<PlainAsk>,
    /// Some container asks memory without a number of cards.
    lacks_count: bool,
    /// Container behind each element of the allocation.
    layout: Vec<Option<u16>>,
    failures: Arc<[Failure]>,
}

impl VgpuRequest {
    /// Compiles what a pod asks. `lists` are those of [`super::failure::lists`].
    ///
    /// # Errors
    /// Why it can be placed nowhere.
    pub fn new(
        config: &Arc<VgpuConfig>,
        lists: &[Arc<[Failure]>; MODES + 1],
        needs: Vec<ContainerRequest>,
        pod: &PodFacts,
        tags: Tags,
    ) -> Result<Self, String> {
        let limits = AnnotationLimits::read(pod)?;
        let most = needs.iter().map(|need| need.count).max().unwrap_or(0);
        if !limits.indices.is_empty() && limits.indices.len() < most as usize {
            return Err(format!(
                "annotation {INDEX} names {} GPUs, but a container asks {most}: name at least as \
                 many",
                limits.indices.len()
            ));
        }
        let failures = &lists[limits.mode.map_or(0, |mode| mode.at() + 1)];
        let failures = Arc::clone(failures);
        let anybody = limits.takes_any_card() && tags.rules == 0;
        let plain = match needs.as_slice() {
            [need] if anybody => Some(summary::ask(need, limits.mode)),
            _ => None,
        };
        Ok(Self {
            plain,
            layout: layout(&needs, &pod.containers)?,
            lacks_count: needs.iter().any(|need| {
                let container = &pod.containers[usize::from(need.container)];
                container.milli(&config.nvidia.count_name).is_none()
            }),
            config: Arc::clone(config),
            needs,
            limits,
            tags,
            failures,
        })
    }

    pub(super) fn on_node<'a>(&'a self, cards: &'a NodeCards, view: LedgerTime) -> PodOnNode<'a> {
        PodOnNode {
            config: &self.config,
            limits: &self.limits,
            tags: self.tags,
            cards,
            view,
        }
    }

    /// Cards and score for pods with more than one card.
    pub(super) fn choose_cards(
        &self,
        cards: &NodeCards,
        view: LedgerTime,
    ) -> Result<(Candidates, f64), Stop> {
        if cards.cards.is_empty() {
            return Err(Stop::Absent(NoVgpuCards::of(cards)));
        }
        let on_node = self.on_node(cards, view);
        let is_init = |need: &&ContainerRequest| need.runs == ContainerKind::Init;
        if !self.needs.iter().any(|need| is_init(&need)) {
            return together(on_node, &self.needs);
        }
        let needs = self.needs.iter();
        let lasting: Vec<ContainerRequest> = needs.filter(|need| !is_init(need)).copied().collect();
        let (mut candidates, mut score) = together(on_node, &lasting)?;
        let of_others = candidates.clone();
        for init in self.needs.iter().filter(is_init) {
            // It ends before those start that do not run already; a partition is never had by two.
            let is_beside = |one: &&CardCandidate| {
                let kind = lasting.iter().find(|need| need.container == one.container);
                let kind = kind.map_or(ContainerKind::Regular, |need| need.runs);
                kind.runs_beside_init(one.container, init.container) || one.partition.is_some()
            };
            let mut own: Candidates = of_others.iter().filter(is_beside).copied().collect();
            let before = own.len();
            let worth = on_node.place(init, &mut own)?;
            if lasting.is_empty() {
                score += worth;
            }
            candidates.extend_from_slice(&own[before..]);
        }
        Ok((candidates, score))
    }

    /// The only container and its only card, which most pods have.
    fn one(&self) -> Option<&ContainerRequest> {
        match self.needs.as_slice() {
            [need] if need.count == 1 => Some(need),
            _ => None,
        }
    }

    /// The first container of those that ask most cards.
    fn largest(&self) -> Option<&ContainerRequest> {
        self.needs
            .iter()
            .min_by_key(|need| std::cmp::Reverse(need.count))
    }

    fn score(&self, cards: &NodeCards, view: LedgerTime) -> Result<f64, Stop> {
        match self.one() {
            Some(need) if !cards.cards.is_empty() => {
                let (_, score) = self.on_node(cards, view).place_one(need, &[])?;
                Ok(score)
            }
            _ => self.choose_cards(cards, view).map(|(_, score)| score),
        }
    }

    /// The allocation as text.
    fn allocation(&self, cards: &NodeCards, allocations: &Allocations) -> String {
        let element = |container: &Option<u16>| {
            let container = *container;
            let own = allocations
                .iter()
                .filter(move |allocation| Some(allocation.container) == container);
            own.map(|allocation| self.device(cards, allocation))
        };
        encode(self.layout.iter().map(element))
    }

    fn device<'a>(&self, cards: &NodeCards, allocation: &'a Allocation) -> Device<'a> {
        let partition = || {
            let card = cards.cards.get(usize::from(allocation.card?))?;
            let Sharing::Mig(Some(table)) = Sharing::of(card) else {
                return None;
            };
            let table = self.config.tables.get(usize::from(table))?;
            mig_id(&allocation.id, table, allocation.partition?)
        };
        let asked = CardPart::of(&allocation.asked);
        Device {
            id: partition().map_or(Cow::Borrowed(&allocation.id), Cow::Owned),
            memory: u32::try_from(asked.memory).unwrap_or(0),
            cores: u32::try_from(asked.cores).unwrap_or(0),
        }
    }

    /// What a pod has, with what was asked of it at any time.
    fn asked_at_most<'a>(&self, all: &'a Allocations) -> Cow<'a, Allocations> {
        let is_plain = |need: &ContainerRequest| need.runs != ContainerKind::Init;
        if self.needs.iter().all(is_plain) && all.iter().all(|one| !one.suspect) {
            return Cow::Borrowed(all);
        }
        let own = all.iter().filter(|one| !one.suspect);
        let mut asked: Allocations = own
            .map(|one| Allocation {
                charged: one.asked.clone(),
                ..one.clone()
            })
            .collect();
        charge_peak(&mut asked, |container| self.runs(container));
        for one in &mut asked {
            one.asked = one.charged.clone();
        }
        Cow::Owned(asked)
    }

    fn runs(&self, container: u16) -> ContainerKind {
        let mut needs = self.needs.iter();
        let need = needs.find(|need| need.container == container);
        need.map_or(ContainerKind::default(), |need| need.runs)
    }

    /// Memory of all cards before they are known, in milli-units.
    fn expected_memory(&self) -> Option<i64> {
        let memory = |need: &ContainerRequest| match need.memory {
            Memory::Units(units) => Some(units.saturating_mul(i64::from(need.count))),
            Memory::Percent(_) => None,
        };
        let all: Option<Vec<i64>> = self.needs.iter().map(memory).collect();
        Some(milli([self.most_at_any_time(&all?)]))
    }

    /// The most that all requests together take at any time, given an amount for each request.
    fn most_at_any_time(&self, amounts: &[i64]) -> i64 {
        let own = self.needs.iter().zip(amounts);
        most_at_any_time(own.map(|(need, amount)| (need.runs, *amount)))
    }
}

/// Cards and score for containers that run at the same time.
fn together(on_node: PodOnNode, needs: &[ContainerRequest]) -> Result<(Candidates, f64), Stop> {
    let mut candidates = Candidates::new();
    match on_node.place_all(needs, &mut candidates) {
        Ok(score) => Ok((candidates, score)),
        Err(stop) => search(on_node, needs).ok_or(stop),
    }
}

fn milli(amounts: impl IntoIterator<Item = i64>) -> i64 {
    let sum = amounts.into_iter().fold(0i64, i64::saturating_add);
    sum.saturating_mul(1000)
}

impl FamilyRequest for VgpuRequest {
    fn failures(&self) -> &[Failure] {
        &self.failures
    }

    fn fit(&self, cards: &NodeCards, view: LedgerTime) -> Result<f64, u8> {
        self.score(cards, view).map_err(Stop::index)
    }

    fn fit_summary(&self, cards: &[CardSummary]) -> Option<Option<f64>> {
        let ask = self.plain.as_ref().filter(|ask| ask.cards == 1)?;
        Some(summary::place(ask, self.config.policy, cards))
    }

    fn cards_at_once(&self) -> u32 {
        self.largest().map_or(1, |need| need.count)
    }

    fn piece(&self, cards: &NodeCards, at: usize, view: LedgerTime) -> Option<Allocation> {
        let (need, on_node) = (self.largest()?, self.on_node(cards, view));
        on_node.allows(need, at).ok()?;
        let candidate = on_node.admits(need, at, &[], None).ok()?;
        Some(candidate.allocation(Arc::clone(&cards.cards[at].id)))
    }

    fn choose_of(
        &self,
        cards: &NodeCards,
        some: &[usize],
        view: LedgerTime,
    ) -> Option<Allocations> {
        match (some, self.one()) {
            ([at], Some(_)) => Some(smallvec![self.piece(cards, *at, view)?]),
            _ => chosen_of(self, cards, some, view),
        }
    }

    fn plain(&self) -> Option<PlainAsk> {
        self.plain
    }

    fn choose(&self, cards: &NodeCards, view: LedgerTime) -> Option<Allocations> {
        let allocation = |candidate: &CardCandidate| {
            let card = &cards.cards[usize::from(candidate.card)];
            candidate.allocation(Arc::clone(&card.id))
        };
        if let Some(need) = self.one()
            && !cards.cards.is_empty()
        {
            let (candidate, _) = self.on_node(cards, view).place_one(need, &[]).ok()?;
            return Some(smallvec![allocation(&candidate)]);
        }
        let (candidates, _) = self.choose_cards(cards, view).ok()?;
        let mut allocations: Allocations = candidates.iter().map(allocation).collect();
        charge_peak(&mut allocations, |container| self.runs(container));
        Some(allocations)
    }

    fn explain(&self, node: &str, cards: &NodeCards, view: LedgerTime) -> Option<NearMiss> {
        let stop = self.choose_cards(cards, view).err()?;
        let failure = &self.failures[usize::from(stop.index())];
        let on_node = self.on_node(cards, view);
        explain(&on_node, &self.needs, (stop, failure), node)
    }

    fn annotations(
        &self,
        node: &str,
        cards: &NodeCards,
        allocations: &Allocations,
    ) -> BindingAnnotations {
        let allocation = self.allocation(cards, allocations);
        let text = |text: &str| AnnotationValue::Text(text.to_owned());
        let annotations = [
            (NODE, text(node)),
            (TIME, AnnotationValue::Sequence),
            (IDS, text(&allocation)),
            (TO_ALLOCATE, text(&allocation)),
            (PHASE, text(BUSY)),
            (BIND_TIME, AnnotationValue::Seconds),
        ];
        let annotations = annotations.map(|(key, value)| Annotation::new(key, value));
        // Plugins before v1.12.0 do not even compare the number of devices.
        let protocol = self.config.protocol;
        protocol.binding(annotations.into(), allocation)
    }

    fn charge(&self, allocations: Option<&Allocations>) -> QueueAmounts<'_> {
        let is_known = |all: &&Allocations| all.iter().all(|one| one.certain || one.suspect);
        let (memory, cores) = match allocations.filter(is_known) {
            Some(all) => {
                let all = self.asked_at_most(all);
                let parts = || all.iter().map(|one| CardPart::of(&one.asked));
                (
                    Some(milli(parts().map(|part| part.memory))),
                    milli(parts().map(|part| part.cores)),
                )
            }
            None => {
                let cores = |need: &ContainerRequest| need.cores.saturating_mul(need.count.into());
                let cores: Vec<i64> = self.needs.iter().map(cores).collect();
                (
                    self.expected_memory(),
                    milli([self.most_at_any_time(&cores)]),
                )
            }
        };
        let names = &self.config.nvidia;
        let mut amounts = QueueAmounts::new();
        amounts.extend(memory.map(|memory| (names.memory_name.as_str(), memory)));
        if cores > 0 {
            amounts.push((names.core_name.as_str(), cores));
        }
        amounts.sort();
        amounts
    }

    fn warning(&self) -> Option<&str> {
        match self.needs.len() {
            2.. => Some(SEVERAL),
            _ if self.lacks_count => Some(NO_COUNT),
            _ => None,
        }
    }
}
