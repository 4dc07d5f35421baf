//! What has to be booked in several parts at once. Each kind of books has the parts it needs and no other.

mod answers;
mod cards;
mod charges;
mod cpus;
mod held_cards;
mod supplies;

use pumice_devices::Settings;

use super::State;
use super::population::{Accounts, JobBooks};
use crate::claim::ClaimReturn;
use crate::ix::{JobIx, TaskIx};

pub use answers::AnswerBooks;
pub use charges::Charges;
pub use held_cards::HeldCards;

pub(super) use cards::{CardBooks, device_facts_differ};
pub(super) use cpus::{CpuBooks, choose_cpus};
pub(super) use supplies::SupplyBooks;

impl State {
    /// What tasks hold of the cards of their nodes.
    pub fn held_cards(&self) -> HeldCards<'_> {
        HeldCards {
            population: &self.population,
            nodes: self.ground.nodes(),
            devices: self.supplies.devices(),
        }
    }

    /// What tasks count for their queues.
    #[inline]
    pub fn charges(&self) -> Charges<'_> {
        Charges {
            population: &self.population,
            shapes: self.ground.shapes(),
            nodes: self.ground.nodes(),
            supplies: &self.supplies,
        }
    }
    /// Takes the device settings of a configuration. Everything that follows from them is made anew
    /// from node objects and annotations; tasks keep what they hold.
    pub fn set_device_settings(&mut self, settings: Settings) {
        let remade = CardBooks::of(self).set_settings(settings);
        self.follow_devices(remade);
    }

    /// Devices are read otherwise than before: who minds may count other resources.
    pub(super) fn follow_devices(&mut self, minds: Option<Vec<TaskIx>>) {
        let Some(tasks) = minds else { return };
        let left_out = self.supplies.devices().families().ignored_resources();
        if self.ground.leave_out(left_out) {
            let jobs: Vec<JobIx> = self.population.jobs().map(|(ix, _)| ix).collect();
            self.count_anew(&tasks, &jobs);
        }
    }

    /// Notes what the owner of a task should know of its devices although it can be placed.
    pub fn note_device_warnings(&mut self, ix: TaskIx) {
        CardBooks::of(self).note_device_warnings(ix);
    }

    /// Has pods that fit nowhere give back devices that keep them from nodes, one claim each.
    pub fn return_devices(&mut self, tasks: &[TaskIx]) -> Vec<ClaimReturn> {
        let (claims, nodes) = (self.supplies.resource_claims_mut(), self.ground.nodes());
        let returns = tasks.iter();
        let returns = returns.filter_map(|ix| claims.return_devices(*ix, nodes));
        returns.collect()
    }

    /// What an extender said, and whom it concerns.
    pub fn answer_books(&mut self) -> AnswerBooks<'_> {
        AnswerBooks {
            population: &mut self.population,
            answers: self.supplies.extender_answers_mut(),
            journal: &mut self.journal,
        }
    }
}

impl<'a> Accounts<'a> {
    /// Sums of the jobs and queues of a state, to be kept.
    #[inline]
    pub fn of(state: &'a mut State) -> Self {
        Self {
            population: &mut state.population,
            shapes: state.ground.shapes(),
            devices: state.supplies.devices(),
            journal: &mut state.journal,
        }
    }
}

impl<'a> JobBooks<'a> {
    /// Jobs of a state and their queues, to be kept.
    #[inline]
    pub fn of(state: &'a mut State) -> Self {
        let (claims, counts) = state.supplies.counted_mut();
        Self {
            population: &mut state.population,
            claims,
            counts,
            journal: &mut state.journal,
        }
    }
}

impl<'a> SupplyBooks<'a> {
    /// Volumes and resource claims of a state, to be kept.
    #[inline]
    pub fn of(state: &'a mut State) -> Self {
        let (nodes, resources) = state.ground.for_supplies();
        let (volumes, claims, counts) = state.supplies.claimed_mut();
        Self {
            population: &mut state.population,
            volumes,
            claims,
            counts,
            nodes,
            resources,
            journal: &mut state.journal,
        }
    }
}

impl<'a> CardBooks<'a> {
    /// Cards of a state and who holds them, to be kept.
    #[inline]
    pub fn of(state: &'a mut State) -> Self {
        let (nodes, shapes, resources) = state.ground.for_cards();
        Self {
            population: &mut state.population,
            nodes,
            shapes,
            devices: state.supplies.devices_mut(),
            resources,
            journal: &mut state.journal,
        }
    }
}

impl<'a> CpuBooks<'a> {
    /// CPUs of a state and who gets them, to be kept.
    #[inline]
    pub fn of(state: &'a mut State) -> Self {
        Self {
            population: &state.population,
            nodes: state.ground.nodes_mut(),
            cpus: state.supplies.cpus_mut(),
            journal: &mut state.journal,
        }
    }
}
