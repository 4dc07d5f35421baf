//! Plugin `reservation`: keeps places in the future for the first jobs of each queue that do not fit now, and lets
//! others run meanwhile only where they are not in the way (docs/spec/12-reservations.md).
//!
//! The plugin says how; the actions find the places ([`pumice_framework::reserved`]). Pods of different limits are
//! different classes, since one may run where another one would still be there when the place is needed.

pub mod kept;

use pumice_conf::{Arg, Arguments, FormedText, GoDuration, PluginSpec};
use pumice_framework::Plugin;
use pumice_framework::points;
use pumice_framework::points::{ClassSignature, KeepsPlaces};
use pumice_framework::reserved::ReservationSettings;
use pumice_model::run_time::RunTime;
use pumice_model::{State, TaskIx};
use pumice_units::duration::seconds_up;

use crate::entry::PluginEntry;
use crate::named_map::{self, MAP_FORM};

/// More jobs of one queue have no places kept.
const MAX_JOBS: i64 = 1_000;
/// How much later than its limit a pod may end, unless said otherwise, in seconds.
const SLACK_S: i64 = 30;
/// How often an earlier start is looked for, unless said otherwise, in seconds.
const INTERVAL_S: i64 = 30;

const JOBS: Arg<i64> = Arg::int(
    "reservation.jobs",
    1,
    "How many jobs of each queue have places kept, the first ones in their order: with 1 others may pass as long as the \
     first one starts no later (EASY backfilling), with many as long as none of them does (conservative).",
)
.min(1)
.max(MAX_JOBS);
const MIN_PODS: Arg<i64> = Arg::int(
    "reservation.minPods",
    1,
    "Jobs that need fewer pods to start have no places kept.",
)
.min(1)
.max(i32::MAX as i64);
const MIN_AGE: Arg<GoDuration> = Arg::duration(
    "reservation.minAge",
    "Jobs that have waited for less have no places kept: by default every job may.",
);
const DEFAULT_LIMIT: Arg<GoDuration> = Arg::duration(
    "reservation.defaultLimit",
    "How long a pod runs at most of which nobody says it; it ends nobody. By default such a pod is taken to stay.",
);
const SLACK: Arg<GoDuration> = Arg::duration(
    "reservation.slack",
    "How much later than its limit a pod may end, so that places are not promised to the second: 30s unless given.",
);
const INTERVAL: Arg<GoDuration> = Arg::duration(
    "reservation.interval",
    "How often an earlier start is looked for where something has changed: 30s unless given.",
);
const KEEP_IN: Arg<FormedText> = Arg::formed(
    "reservation.keepIn",
    MAP_FORM,
    "",
    "ConfigMap in which the places are kept under the key `places`, as `namespace/name`, for the process that leads next; it \
     has to be there, and is written every minute at most, and when the process ends in order. Without it a restart plans \
     anew.",
);

/// Namespace and name of the ConfigMap in which places are kept, if the arguments name one.
pub fn kept_place(arguments: &Arguments) -> Option<(String, String)> {
    named_map::place(&KEEP_IN, arguments)
}

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "reservation",
    summary: "Keeps places in the future for the first jobs of each queue that do not fit now.",
    args: &[
        JOBS.spec(),
        MIN_PODS.spec(),
        MIN_AGE.spec(),
        DEFAULT_LIMIT.spec(),
        SLACK.spec(),
        INTERVAL.spec(),
        KEEP_IN.spec(),
    ],
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry =
    PluginEntry::new(SPEC, |conf, _| Box::new(KeptPlaces::new(&conf.arguments)));

/// The plugin.
#[derive(Clone)]
pub struct KeptPlaces(ReservationSettings);

impl KeptPlaces {
    fn new(arguments: &Arguments) -> Self {
        let seconds = |argument: &Arg<GoDuration>| argument.read(arguments).map(seconds_up);
        let not_below_0 = |seconds: i64| seconds.max(0);
        Self(ReservationSettings {
            jobs_of_queue: usize::try_from(JOBS.read(arguments)).unwrap_or(1),
            min_pods: u32::try_from(MIN_PODS.read(arguments)).unwrap_or(1),
            min_age_s: seconds(&MIN_AGE).map_or(0, not_below_0),
            default_limit_s: seconds(&DEFAULT_LIMIT).filter(|limit_s| *limit_s > 0),
            slack_s: seconds(&SLACK).map_or(SLACK_S, not_below_0),
            interval_s: seconds(&INTERVAL).map_or(INTERVAL_S, not_below_0),
        })
    }
}

impl Plugin for KeptPlaces {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(self; as_keeps_places: KeepsPlaces, as_class_signature: ClassSignature);
}

impl KeepsPlaces for KeptPlaces {
    fn reservation_settings(&self) -> ReservationSettings {
        self.0
    }
}

impl ClassSignature for KeptPlaces {
    fn signature(&self, state: &State, task: TaskIx) -> String {
        let said = RunTime::of_task(state, state.task(task));
        let limit_s = self.0.latest_s(said);
        limit_s.map_or_else(String::new, |limit_s| limit_s.to_string())
    }
}
