//! What a pod asks of the family, compiled.

use std::rc::Rc;

use crate::cards::{Brief, NodeCards, Pick, Picks, Tags, View};
use crate::demand::{Failure, Miss, Want};
use crate::facts::{Amounts, PodFacts};
use crate::indices::INDEX;
use crate::marks::{Guard, Mark, MarkValue, Marks, Protocol};
use crate::vgpu::allocation::{Device, encode, layout, mig_id};
use crate::vgpu::brief;
use crate::vgpu::check::{Room, Take, Takes};
use crate::vgpu::explain::explain;
use crate::vgpu::failure::Stop;
use crate::vgpu::held::IDS;
use crate::vgpu::limits::Limits;
use crate::vgpu::plan::{MODES, Plan};
use crate::vgpu::request::{Memory, Need};
use crate::vgpu::search::search;

/// Pod annotation: node it is bound to.
const NODE: &str = "volcano.sh/vgpu-node";
/// Pod annotation: its turn.
const TIME: &str = "volcano.sh/vgpu-time";
/// Pod annotation: what the plugin has yet to hand out.
const TO_ALLOCATE: &str = "volcano.sh/devices-to-allocate";
/// Pod annotation: how far the plugin is.
const PHASE: &str = "volcano.sh/bind-phase";
const BUSY: &str = "allocating";
/// How far the plugin is (spec/04 §13.3).
pub const PROTOCOL: Protocol = Protocol {
    bound_key: PHASE,
    phase_key: PHASE,
    busy: &[Some(BUSY)],
    turn_key: Some(TIME),
    cleanup: &[(TO_ALLOCATE, ""), (TIME, NO_TURN)],
};
/// Pod annotation: when it was bound.
const BIND_TIME: &str = "volcano.sh/bind-time";
/// Node annotation that is the lock.
const LOCK: &str = "hamivgpu";
/// The last of all turns.
const NO_TURN: &str = "18446744073709551615";

const SEVERAL: &str = "several containers ask vGPU: volcano-vgpu-device-plugin v1.12.0 and later \
                       serve only pods with one such container; put the vGPU into one container";

const NO_COUNT: &str = "the container asks memory of a vGPU and no number: kubelet does not call the \
                        device plugin for it, and it starts without GPU; add the number, 1";

/// What a pod asks.
pub struct VgpuWant {
    pub(super) plan: Rc<Plan>,
    pub(super) needs: Vec<Need>,
    pub(super) limits: Limits,
    tags: Tags,
    /// Some container asks memory without a number of cards.
    lacks_count: bool,
    /// Container behind each element of the allocation.
    layout: Vec<Option<u16>>,
    failures: Rc<[Failure]>,
}

impl VgpuWant {
    /// Compiles what a pod asks. `lists` are those of [`super::failure::lists`].
    ///
    /// # Errors
    /// Why it can be placed nowhere.
    pub fn new(
        plan: &Rc<Plan>,
        lists: &[Rc<[Failure]>; MODES + 1],
        needs: Vec<Need>,
        pod: &PodFacts,
        tags: Tags,
    ) -> Result<Self, String> {
        let limits = Limits::read(pod)?;
        let most = needs.iter().map(|need| need.count).max().unwrap_or(0);
        if !limits.indices.is_empty() && limits.indices.len() < most as usize {
            return Err(format!(
                "annotation {INDEX} names {} GPUs, but a container asks {most}: name at least as \
                 many",
                limits.indices.len()
            ));
        }
        let failures = &lists[limits.mode.map_or(0, |mode| usize::from(mode) + 1)];
        let failures = Rc::clone(failures);
        Ok(Self {
            layout: layout(&needs, &pod.containers)?,
            lacks_count: needs.iter().any(|need| {
                let container = &pod.containers[usize::from(need.container)];
                container.milli(&plan.nvidia.count_name).is_none()
            }),
            plan: Rc::clone(plan),
            needs,
            limits,
            tags,
            failures,
        })
    }

    pub(super) fn room<'a>(&'a self, cards: &'a NodeCards, view: View) -> Room<'a> {
        Room {
            plan: &self.plan,
            limits: &self.limits,
            tags: self.tags,
            cards,
            view,
        }
    }

    /// Cards and score for pods with more than one card.
    pub(super) fn plan_cards(&self, cards: &NodeCards, view: View) -> Result<(Takes, f64), Stop> {
        if cards.cards.is_empty() {
            return Err(Stop::Absent(cards.absent));
        }
        let room = self.room(cards, view);
        let mut takes = Takes::new();
        match room.place_all(&self.needs, &mut takes) {
            Ok(score) => Ok((takes, score)),
            Err(stop) => search(room, &self.needs).ok_or(stop),
        }
    }

    /// The only container and its only card, which most pods have.
    fn one(&self) -> Option<&Need> {
        match self.needs.as_slice() {
            [need] if need.count == 1 => Some(need),
            _ => None,
        }
    }

    fn score(&self, cards: &NodeCards, view: View) -> Result<f64, Stop> {
        match self.one() {
            Some(need) if !cards.cards.is_empty() => {
                let (_, score) = self.room(cards, view).place_one(need, &[])?;
                Ok(score)
            }
            _ => self.plan_cards(cards, view).map(|(_, score)| score),
        }
    }

    /// The allocation as text.
    fn allocation(&self, cards: &NodeCards, picks: &Picks) -> String {
        let device = |pick: &Pick| Device {
            id: self.id(cards, pick),
            memory: u32::try_from(pick.memory).unwrap_or(0),
            cores: pick.cores,
        };
        let element = |container: &Option<u16>| -> Vec<Device> {
            let own = picks
                .iter()
                .filter(|pick| Some(pick.container) == *container);
            own.map(device).collect()
        };
        let elements: Vec<Vec<Device>> = self.layout.iter().map(element).collect();
        encode(&elements)
    }

    fn id(&self, cards: &NodeCards, pick: &Pick) -> String {
        let partition = || {
            let card = cards.cards.get(usize::from(pick.card?))?;
            let table = self.plan.tables.get(usize::from(card.geometry?))?;
            mig_id(&pick.id, table, pick.unit?)
        };
        partition().unwrap_or_else(|| pick.id.to_string())
    }

    /// Memory of all cards before they are known, in milli-units.
    fn expected_memory(&self) -> Option<i64> {
        let memory = |need: &Need| match need.memory {
            Memory::Units(units) => Some(units.saturating_mul(i64::from(need.count))),
            Memory::Percent(_) => None,
        };
        let all: Option<Vec<i64>> = self.needs.iter().map(memory).collect();
        Some(milli(all?))
    }
}

fn milli(amounts: impl IntoIterator<Item = i64>) -> i64 {
    let sum = amounts.into_iter().fold(0i64, i64::saturating_add);
    sum.saturating_mul(1000)
}

impl Want for VgpuWant {
    fn failures(&self) -> &[Failure] {
        &self.failures
    }

    fn fit(&self, cards: &NodeCards, view: View) -> Result<f64, u8> {
        self.score(cards, view).map_err(Stop::index)
    }

    fn fit_brief(&self, cards: &[Brief]) -> Option<Option<f64>> {
        let need = self.one()?;
        let anybody = self.limits.takes_any_card() && self.tags.rules == 0;
        anybody.then(|| brief::place(need, self.limits.mode, self.plan.policy, cards))
    }

    fn choose(&self, cards: &NodeCards, view: View) -> Option<Picks> {
        let (takes, _) = self.plan_cards(cards, view).ok()?;
        let pick = |take: &Take| Pick {
            container: take.container,
            card: Some(take.card),
            id: Rc::clone(&cards.cards[usize::from(take.card)].id),
            unit: take.unit,
            memory: take.memory,
            charged: take.charged,
            cores: take.cores,
            slots: 1,
            certain: true,
        };
        Some(takes.iter().map(pick).collect())
    }

    fn explain(&self, node: &str, cards: &NodeCards, view: View) -> Option<Miss> {
        explain(self, node, cards, view)
    }

    fn marks(&self, node: &str, cards: &NodeCards, picks: &Picks) -> Marks {
        let allocation = self.allocation(cards, picks);
        let text = |text: &str| MarkValue::Text(text.to_owned());
        let annotations = [
            (NODE, text(node)),
            (TIME, MarkValue::Turn),
            (IDS, text(&allocation)),
            (TO_ALLOCATE, text(&allocation)),
            (PHASE, text(BUSY)),
            (BIND_TIME, MarkValue::Seconds),
        ];
        Marks {
            annotations: annotations.map(|(key, value)| Mark { key, value }).into(),
            guard: Some(Guard {
                waits: self.plan.guard,
                // Plugins before v1.12.0 do not compare the number of devices: any two pods of a
                // node may be taken for one another.
                kind: 0,
                content: allocation,
            }),
            lock: self.plan.node_lock.then_some(LOCK),
        }
    }

    fn charge(&self, picks: Option<&Picks>) -> Amounts {
        let known = picks.filter(|picks| picks.iter().all(|pick| pick.certain));
        let (memory, cores) = match known {
            Some(picks) => (
                Some(milli(picks.iter().map(|pick| pick.memory))),
                milli(picks.iter().map(|pick| i64::from(pick.cores))),
            ),
            None => {
                let cores = |need: &Need| i64::from(need.cores).saturating_mul(need.count.into());
                (self.expected_memory(), milli(self.needs.iter().map(cores)))
            }
        };
        let mut amounts = Amounts::new();
        amounts.extend(memory.map(|memory| (self.plan.nvidia.memory_name.clone(), memory)));
        if cores > 0 {
            amounts.push((self.plan.nvidia.core_name.clone(), cores));
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
