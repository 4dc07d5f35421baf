//! A copy of an engine, for questions: what would be decided if.

use pumice_conf::Config;
use pumice_model::{State, TaskIx, TaskStatus};

use crate::nominations::Nominations;
use crate::partial::PartialGangs;
use crate::{Engine, is_tentative};

/// What an engine knows and has promised, as it was when it was asked for. It can be sent to another thread, where
/// [`Fork::wake`] makes an engine of it; the one that it was taken from goes on, and neither sees what the other does.
///
/// What only saves work is not in it: the fork finds out anew which nodes suit a class of pods, and tries all jobs.
pub struct Fork {
    state: State,
    kept: Vec<TaskIx>,
    nominations: Nominations,
    partial: PartialGangs,
}

const fn is_sent<T: Send>() {}
const _: () = is_sent::<Fork>();

impl Engine {
    /// A copy for questions, at the price that [`State::fork`] has.
    pub fn fork(&mut self) -> Fork {
        Fork {
            state: self.state.fork(),
            kept: self.kept.clone(),
            nominations: self.nominations.clone(),
            partial: self.partial.clone(),
        }
    }
}

impl Fork {
    /// An engine that knows the same, under the configuration of the one it was taken from. For another one,
    /// [`Engine::reconfigure`] it.
    pub fn wake(self, config: &Config) -> Engine {
        let mut engine = Engine::new(config, "");
        engine.state = self.state;
        // No plugin knows of them yet.
        for task in self.kept {
            if is_tentative(&engine.state, task) {
                engine.state.move_task(task, TaskStatus::Pending, None);
            }
        }
        engine.nominations = self.nominations;
        engine.partial = self.partial;
        engine
    }
}
