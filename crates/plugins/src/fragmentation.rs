//! Plugin `fragmentation`: prefers nodes, and cards within them, after which most of what is left is of use to
//! the tasks this cluster gets (docs/spec/10-fragmentation.md).
//!
//! ```text
//!  arrivals ──► Census: classes of tasks, each with a mass that halves with time ┐
//!  the argument fragmentation.mix ───────────────────────────────────────────────┴► weigh ──► DeviceMix
//!                                                                                               │ the state keeps it
//!  scores of nodes: how much more would be wasted ◄── pumice_devices::mix ◄─────────────────────┤
//!  cards, with deviceshare.SchedulePolicy: fragmentation ◄──────────────────────────────────────┘
//! ```
//!
//! The mix is weighed when a cycle opens, and only once enough has changed: what is known of classes of
//! tasks on nodes follows from it and is found anew then.

mod census;
mod score;
#[cfg(test)]
mod tests;
mod weigh;
mod written;

use std::sync::Arc;

use pumice_conf::{Arg, Arguments, GoDuration, PluginSpec, TextForm, Texts};
use pumice_devices::{DeviceMix, Policy};
use pumice_framework::points;
use pumice_framework::points::{KeepsMix, NodeScore, NodeScores};
use pumice_framework::{Class, CycleInfo, Plugin, Step};
use pumice_model::State;

use crate::entry::PluginEntry;
use census::{Census, CountedClass};
use score::AddedWaste;

/// Largest weight that is used, so that sums of scores stay exact.
const MAX_WEIGHT: i64 = 1_000;
/// Most classes of which each costs a look at every card of a node that is scored.
const MAX_CLASSES: i64 = 512;
/// How long a task counts half, in nanoseconds: a week.
const HALF_LIFE_NS: i64 = 7 * 24 * 3600 * 1_000_000_000;

const WEIGHT: Arg<i64> = Arg::int(
    "fragmentation.weight",
    1,
    "Points for every thousandth of a card that a placement makes useless; 0 switches the score off.",
)
.min(0)
.max(MAX_WEIGHT);
const MIX: Arg<Texts> = Arg::formed_texts(
    "fragmentation.mix",
    CLASS,
    "What tasks of this cluster ask instead of what is seen of them: how often such a task comes, what it asks, and \
     after `on` labels of the nodes it may use, as `30 cpu=8 memory=32Gi volcano.sh/vgpu-number=1 on gpu=A100`.",
);
const CLASS: TextForm = TextForm {
    phrase: "a list of classes of tasks",
    example: "30 cpu=8 memory=32Gi volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=8000",
    fault: written::fault,
};
const HALF_LIFE: Arg<GoDuration> = Arg::duration(
    "fragmentation.halfLife",
    "How long ago a task came that counts half as much as one that comes now: a week unless given.",
);
const CLASSES: Arg<i64> = Arg::int(
    "fragmentation.maxClasses",
    128,
    "Most classes that are told apart; rarer ones count as the one that is most alike.",
)
.min(1)
.max(MAX_CLASSES);
const SCARCITY: Arg<bool> = Arg::switch(
    "fragmentation.scarcity",
    true,
    "Let classes count more the less of the free cards they can use.",
);

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "fragmentation",
    summary: "Leaves free what the tasks of this cluster can use.",
    args: &[
        WEIGHT.spec(),
        MIX.spec(),
        HALF_LIFE.spec(),
        CLASSES.spec(),
        SCARCITY.spec(),
    ],
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry = PluginEntry::new(SPEC, |conf, _| {
    Box::new(Fragmentation::new(&conf.arguments))
});

/// Where the classes come from.
enum MixSource {
    /// They are written in the configuration.
    Written(Vec<CountedClass>),
    /// From tasks that came.
    Seen(Census),
}

/// The plugin.
pub struct Fragmentation {
    weight: i64,
    max_classes: usize,
    scarcity: bool,
    source: MixSource,
    mix: Option<Arc<DeviceMix>>,
    /// Epochs of nodes and device families that the mix was made for.
    made_for: Option<(u64, u64)>,
    /// Tasks with cards that were placed or taken back since.
    moved: u64,
    /// As many such moves make another mix due.
    due_after: u64,
}

impl Fragmentation {
    /// The plugin with its arguments.
    pub fn new(arguments: &Arguments) -> Self {
        let written = MIX.read(arguments).unwrap_or_default();
        let written: Vec<CountedClass> = written
            .iter()
            .filter_map(|text| written::read(text).ok())
            .collect();
        let half_life_ns = HALF_LIFE.read(arguments).unwrap_or(HALF_LIFE_NS);
        Self {
            weight: WEIGHT.read(arguments),
            max_classes: CLASSES.read(arguments) as usize,
            scarcity: SCARCITY.read(arguments),
            source: match written.is_empty() {
                true => MixSource::Seen(Census::new(half_life_ns / 1_000_000_000)),
                false => MixSource::Written(written),
            },
            mix: None,
            made_for: None,
            moved: 0,
            due_after: 0,
        }
    }

    fn is_due(&self, state: &State) -> bool {
        let is_outdated = self.made_for != Some(epochs(state));
        let is_other_mix = match &self.source {
            MixSource::Written(_) => false,
            MixSource::Seen(census) => census.is_other(),
        };
        is_outdated || is_other_mix || (self.scarcity && self.moved >= self.due_after)
    }

    fn renew(&mut self, state: &State, now_s: i64) {
        let classes = match &mut self.source {
            MixSource::Written(classes) => classes.clone(),
            MixSource::Seen(census) => {
                let counts = |asked: &census::AskedClass| weigh::counts(state, asked);
                census.take(now_s, self.max_classes, counts)
            }
        };
        let policy = state.supplies().devices().families().settings().policy;
        let chooses_cards = policy == Policy::Fragmentation;
        let weighed = weigh::weigh(state, &classes, (chooses_cards, self.scarcity));
        self.due_after = weigh::moves_until_due(state);
        self.mix = Some(Arc::new(weighed));
        self.made_for = Some(epochs(state));
        self.moved = 0;
    }
}

fn epochs(state: &State) -> (u64, u64) {
    let families = state.supplies().devices().families_epoch();
    (state.nodes().static_epoch(), families)
}

impl Plugin for Fragmentation {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn open(&mut self, state: &State, cycle: &CycleInfo) {
        if let MixSource::Seen(census) = &mut self.source {
            census.count(state, cycle);
        }
        if self.is_due(state) {
            self.renew(state, cycle.now_s);
        }
    }

    fn observe(&mut self, state: &State, step: Step) {
        let (Step::Placed(task) | Step::Leaving(task)) = step else {
            return;
        };
        self.moved += u64::from(state.task(task).holding.is_some());
    }

    points!(self;
        as_node_scores: NodeScores if self.weight != 0,
        as_task_mix: KeepsMix,
    );
}

impl KeepsMix for Fragmentation {
    fn mix(&self) -> Option<&Arc<DeviceMix>> {
        self.mix.as_ref()
    }
}

impl NodeScores for Fragmentation {
    fn node_scores(&self, _state: &State, class: &Class) -> Vec<Box<dyn NodeScore>> {
        match &self.mix {
            Some(mix) if !mix.classes().is_empty() => {
                vec![Box::new(AddedWaste::new(mix, class, self.weight))]
            }
            _ => Vec::new(),
        }
    }
}
