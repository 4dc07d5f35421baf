//! A copy of what people may ask, so that another thread answers them.

use pumice_actions::Action;
use pumice_conf::Arguments;
use pumice_framework::{Plugins, ReasonTable, SleepTimes};
use pumice_model::State;

use crate::engine::Engine;
use crate::follow_up::FollowUp;
use crate::knowledge::Knowledge;

/// What was known of an engine at one moment. It can be sent to another thread; the engine goes on.
///
/// Unlike a [`Fork`](crate::Fork) it decides nothing, and so it has the plugins as they were, and what the last cycles
/// found out: what is told of it is what would have been told of the engine.
pub struct ViewSnapshot {
    state: State,
    plugins: Plugins,
    reasons: ReasonTable,
    actions: Vec<(&'static Action, Arguments)>,
    sleep_times: SleepTimes,
    follow_up: FollowUp,
    cycle: u64,
    now_s: i64,
    configurations: u64,
}

const fn is_sent<T: Send>() {}
const _: () = is_sent::<ViewSnapshot>();

impl ViewSnapshot {
    /// A copy, at the price that [`State::fork`] has and that of a word for each job that waits.
    pub fn of(engine: &mut Engine) -> Self {
        let state = engine.state.fork();
        let known = engine.known();
        Self {
            state,
            plugins: known.plugins.clone(),
            reasons: known.reasons.clone(),
            actions: known.actions.to_vec(),
            sleep_times: known.sleep_times.clone(),
            follow_up: known.follow_up.clone(),
            cycle: known.cycle,
            now_s: known.now_s,
            configurations: known.configurations,
        }
    }

    /// What was known.
    pub fn known(&self) -> Knowledge<'_> {
        Knowledge {
            state: &self.state,
            plugins: &self.plugins,
            reasons: &self.reasons,
            actions: &self.actions,
            sleep_times: &self.sleep_times,
            notes: &self.follow_up.notes,
            follow_up: &self.follow_up,
            cycle: self.cycle,
            now_s: self.now_s,
            configurations: self.configurations,
        }
    }
}
