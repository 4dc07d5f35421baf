//! What plugins keep in ConfigMaps for whoever leads next, by what it is.

use pumice_conf::Config;
use pumice_framework::Session;
use pumice_framework::points::{EstimatesRunTimes, KeepsMix, KeepsUse};
use pumice_framework::reserved::{Reservations, StandingPlaces};
use pumice_framework::{run_time_estimator, use_keeper};
use pumice_model::KeptTopic;
use pumice_plugins::reservation::kept as places;
use pumice_plugins::runtimeestimate::kept as run_times;

use crate::knowledge::Knowledge;
use crate::task_mix::kept_mix_fault;

/// Namespace and name of the ConfigMap in which a configuration keeps it, if it does.
pub fn kept_place(topic: KeptTopic, config: &Config) -> Option<(String, String)> {
    match topic {
        KeptTopic::Tasks => pumice_plugins::counted_place(config),
        KeptTopic::Use => pumice_plugins::kept_use_place(config),
        KeptTopic::Places => pumice_plugins::kept_reservations_place(config),
        KeptTopic::RunTimes => pumice_plugins::kept_run_times_place(config),
    }
}

/// Why a text that is not empty says nothing under a configuration, if it does not.
pub fn kept_fault(topic: KeptTopic, text: &str, config: &Config) -> Option<String> {
    match topic {
        KeptTopic::Tasks => kept_mix_fault(text),
        KeptTopic::Use => pumice_plugins::kept_use_fault(text, config),
        KeptTopic::Places => places::fault(text),
        KeptTopic::RunTimes => run_times::fault(text),
    }
}

impl Knowledge<'_> {
    /// A number that is another one once there is something new to be kept; 0 or `None` where nothing is.
    pub fn last_kept(&self, topic: KeptTopic) -> Option<u64> {
        match topic {
            KeptTopic::Tasks => self.plugins.task_mix().map(KeepsMix::last_counted),
            KeptTopic::Use => {
                let keeper = use_keeper(self.plugins)?;
                Some(keeper.last_used_s().max(0).unsigned_abs())
            }
            KeptTopic::Places => Some(self.follow_up.reserved.version()),
            KeptTopic::RunTimes => run_time_estimator(self.plugins).map(EstimatesRunTimes::learned),
        }
    }

    /// The text that another process can begin with; empty where nothing is known, or before a cycle has taken in what was
    /// kept before.
    pub fn text_to_keep(&self, topic: KeptTopic) -> String {
        let text = match topic {
            KeptTopic::Tasks => {
                let keeper = self.plugins.task_mix();
                keeper.map(|keeper| keeper.text_to_keep(self.state))
            }
            KeptTopic::Use => use_keeper(self.plugins).map(KeepsUse::use_to_keep),
            KeptTopic::Places => {
                let (reserved, before) = (
                    &self.follow_up.reserved,
                    self.state.supplies().kept_before(KeptTopic::Places),
                );
                let is_taken_in = reserved.told() == before.epoch;
                is_taken_in.then(|| places::text(self.state, reserved))
            }
            KeptTopic::RunTimes => {
                let before = self.state.supplies().kept_before(topic);
                let estimator = run_time_estimator(self.plugins);
                let estimator = estimator.filter(|known| known.begun_with() == before.epoch);
                estimator.map(EstimatesRunTimes::run_times_to_keep)
            }
        };
        text.unwrap_or_default()
    }
}

/// What was kept for jobs before is theirs in this cycle; what another process kept, in place of it.
pub(crate) fn open_reservations(session: &mut Session, reserved: Reservations) {
    session.open_reservations(reserved);
    let before = session.state.supplies().kept_before(KeptTopic::Places);
    if session.reserved.settings().is_none() || !session.reserved.takes_told(before.epoch) {
        return;
    }
    let told = StandingPlaces {
        all: places::read(before.text.as_deref().unwrap_or_default(), session.state),
        has_changed: true,
        ..StandingPlaces::default()
    };
    let nodes_epoch = session.state.nodes().static_epoch();
    session.reserved.go_on_with(told, nodes_epoch);
}
