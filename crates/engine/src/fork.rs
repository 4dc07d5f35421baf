//! A copy of an engine, for questions: what would be decided if.

use pumice_conf::Config;
use pumice_framework::hand_memories_on;
use pumice_framework::reserved::Reservations;
use pumice_model::device::CountedTasks;
use pumice_model::{State, TaskId, TaskStatus};

use crate::engine::{Engine, tentative};
use crate::follow_up::nominations::Nominations;
use crate::follow_up::partial::PartialGangs;
use crate::memory::Remembered;

/// What an engine knows and has promised, as it was when it was asked for. It can be sent to another thread, where
/// [`Fork::wake`] makes an engine of it; the one that it was taken from goes on, and neither sees what the other does.
///
/// What only saves work is not in it: the fork finds out anew which nodes suit a class of pods, and tries all jobs.
pub struct Fork {
    pub(crate) state: State,
    kept: Vec<TaskId>,
    pub(crate) nominations: Nominations,
    pub(crate) partial: PartialGangs,
    pub(crate) remembered: Remembered,
    pub(crate) reserved: Reservations,
    counted: Option<CountedTasks>,
}

const fn is_sent<T: Send>() {}
const _: () = is_sent::<Fork>();

impl Engine {
    /// A copy for questions, at the price that [`State::fork`] has.
    pub fn fork(&mut self) -> Fork {
        Fork {
            state: self.state.fork(),
            kept: self.kept.clone(),
            nominations: self.follow_up.nominations.clone(),
            partial: self.follow_up.partial.clone(),
            reserved: self.follow_up.reserved.clone(),
            remembered: Remembered::of(self),
            counted: self.known().counted_tasks(),
        }
    }
}

impl Fork {
    /// The state, to be read.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// An engine that knows the same, under the configuration of the one it was taken from. For another one,
    /// [`Engine::reconfigure`] it.
    pub fn wake(self, config: &Config) -> Engine {
        let mut engine = Engine::new(config, "");
        engine.state = self.state;
        // No plugin knows of them yet.
        for id in self.kept {
            if let Some(task) = tentative(&engine.state, id) {
                engine.state.move_task(task, TaskStatus::Pending, None);
            }
        }
        engine.follow_up.nominations = self.nominations;
        engine.follow_up.partial = self.partial;
        engine.follow_up.reserved = self.reserved;
        hand_memories_on(
            &mut engine.plugins,
            self.remembered.plugins(),
            &engine.state,
        );
        if let Some(counted) = self.counted {
            engine.state.supplies_mut().set_counted_before(counted);
        }
        engine
    }
}
