//! Plugin `fragmentation`: prefers nodes, and cards within them, after which most of what is left is of use to
//! the tasks this cluster gets (docs/spec/10-fragmentation.md).
//!
//! ```text
//!  arrivals ──► Census: classes of tasks, each with a mass that halves with time ┐
//!  the argument fragmentation.mix, or a ConfigMap ───────────────────────────────┴► weigh ──► DeviceMix
//!                                                                                               │ the state keeps it
//!  scores of nodes: how much more would be wasted ◄── pumice_devices::mix ◄─────────────────────┤
//!  domains, for all that a gang gets there ◄────────────────────────────────────────────────────┤
//!  cards, with deviceshare.SchedulePolicy: fragmentation ◄──────────────────────────────────────┘
//! ```
//!
//! The mix is weighed when a cycle opens, and only once enough has changed: what is known of classes of
//! tasks on nodes follows from it and is found anew then.

mod asked_class;
mod belief;
mod census;
mod kept;
mod left_out;
mod rest;
mod score;
mod source;
#[cfg(test)]
mod tests;
mod weigh;
mod written;

use std::sync::Arc;

use pumice_conf::{Arg, Arguments, FormedText, GoDuration, PluginSpec, TextForm, Texts};
use pumice_devices::{DeviceMix, Policy};
use pumice_framework::points;
use pumice_framework::points::{KeepsMix, LeftOutTasks, NodeScore, NodeScores, NodesRest};
use pumice_framework::{Class, CycleInfo, Plugin, PluginMemory, Step};
use pumice_model::State;
use pumice_model::device::CountedTasks;

use crate::entry::PluginEntry;
use crate::named_map::{self, MAP_FORM};
pub use kept::kept_mix_fault;
use score::AddedWaste;
use source::MixSource;
pub use written::mix_text_faults;

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
    "What tasks of this cluster ask, in place of what is seen of them: how often such a task comes, what it asks, and \
     after `on` labels of the nodes it may use, as `30 cpu=8 memory=32Gi volcano.sh/vgpu-number=1 on gpu=A100`.",
);
const CLASS: TextForm = TextForm {
    phrase: "a list of classes of tasks",
    example: "30 cpu=8 memory=32Gi volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=8000",
    fault: written::fault,
};
const MIX_MAP: Arg<FormedText> = Arg::formed(
    "fragmentation.configMap",
    MAP_FORM,
    "",
    "ConfigMap that has the mix under its key `mix`, a class a line, as `namespace/name`; it is followed. \
     `fragmentation.mix` goes before it.",
);
const MIX_STANDS: Arg<bool> = Arg::switch(
    "fragmentation.mixStands",
    false,
    "Let the mix that is written count whatever tasks ask. Without it what they are seen to ask counts instead, once 32 \
     came, and a fourth of all that came lately, that are not as it says.",
);
const KEEP_IN: Arg<FormedText> = Arg::formed(
    "fragmentation.keepIn",
    MAP_FORM,
    "",
    "ConfigMap in which what tasks were seen to ask is kept under the key `counted`, as `namespace/name`, for the process \
     that leads next; it has to be there, and is written every ten minutes at most, and when the process ends in order. \
     Without it what is seen is forgotten at a restart but for the pods that are there.",
);
const POOLS: Arg<Texts> = Arg::texts(
    "fragmentation.poolLabels",
    "Keys of labels of nodes; the first that a node has names the pool that its cards are told under. Without it \
     the group of plugin nodegroup, then the labels of pools that cloud providers and Karpenter set.",
);
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

/// Namespace and name of the ConfigMap that the arguments name, unless they have the mix themselves.
pub fn map_place(arguments: &Arguments) -> Option<(String, String)> {
    if MIX
        .read(arguments)
        .is_some_and(|written| !written.is_empty())
    {
        return None;
    }
    named_map::place(&MIX_MAP, arguments)
}

/// Namespace and name of the ConfigMap in which is kept what was counted, if the arguments name one.
pub fn counted_place(arguments: &Arguments) -> Option<(String, String)> {
    named_map::place(&KEEP_IN, arguments)
}

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "fragmentation",
    summary: "Leaves free what the tasks of this cluster can use.",
    args: &[
        WEIGHT.spec(),
        MIX.spec(),
        MIX_MAP.spec(),
        MIX_STANDS.spec(),
        KEEP_IN.spec(),
        POOLS.spec(),
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

/// Labels that name the pool of a node, where the configuration names none.
const POOL_LABELS: [&str; 9] = [
    "volcano.sh/nodegroup-name",
    "karpenter.sh/nodepool",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "alibabacloud.com/nodepool-id",
    "tke.cloud.tencent.com/nodepool-id",
    "cce.cloud.com/cce-nodepool",
    "doks.digitalocean.com/node-pool",
];

/// The plugin.
#[derive(Clone)]
pub struct Fragmentation {
    weight: i64,
    scarcity: bool,
    source: MixSource,
    pool_labels: Vec<String>,
    mix: Option<Arc<DeviceMix>>,
    left_out: Vec<LeftOutTasks>,
    /// Epochs of nodes and device families that the mix was made for.
    made_for: Option<(u64, u64)>,
    /// Tasks with cards that were placed since, those aside whose placement was undone.
    placed: u64,
    /// As many make another mix due.
    due_after: u64,
}

impl Fragmentation {
    /// The plugin with its arguments.
    pub fn new(arguments: &Arguments) -> Self {
        let written = MIX.read(arguments).unwrap_or_default();
        let half_life_ns = HALF_LIFE.read(arguments).unwrap_or(HALF_LIFE_NS);
        let max_classes = CLASSES.read(arguments) as usize;
        let pool_labels = POOLS.read(arguments).unwrap_or_default();
        Self {
            weight: WEIGHT.read(arguments),
            scarcity: SCARCITY.read(arguments),
            source: MixSource::new(
                (&written, map_place(arguments), MIX_STANDS.read(arguments)),
                half_life_ns / 1_000_000_000,
                max_classes,
            ),
            pool_labels: match pool_labels.is_empty() {
                true => POOL_LABELS.map(str::to_owned).into(),
                false => pool_labels,
            },
            mix: None,
            left_out: Vec::new(),
            made_for: None,
            placed: 0,
            due_after: 0,
        }
    }

    fn is_due(&self, state: &State) -> bool {
        let is_outdated = self.made_for != Some(epochs(state));
        is_outdated || self.source.is_other() || (self.scarcity && self.placed >= self.due_after)
    }

    fn renew(&mut self, state: &State, now_s: i64) {
        let classes = self.source.take(state, now_s);
        let policy = state.supplies().devices().families().settings().policy;
        let chooses_cards = policy == Policy::Fragmentation;
        let (weighed, taken) = weigh::weigh(state, &classes, (chooses_cards, self.scarcity));
        self.due_after = weigh::moves_until_due(state);
        self.left_out = left_out::left_out(state, &classes, &taken);
        self.mix = Some(Arc::new(weighed));
        self.made_for = Some(epochs(state));
        self.placed = 0;
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
        self.source.follow(state, cycle);
        if self.is_due(state) {
            self.renew(state, cycle.now_s);
        }
    }

    fn keep(&self, _: &State) -> Option<PluginMemory> {
        // The tasks that were counted.
        Some(PluginMemory {
            in_part: true,
            ..PluginMemory::default()
        })
    }

    fn observe(&mut self, state: &State, step: Step) {
        let has_cards = |task| u64::from(state.task(task).holding.is_some());
        match step {
            Step::Placed(task) => self.placed += has_cards(task),
            // What is only tried changes nothing: a gang that is never whole must not bring a mix each time.
            Step::Leaving(task) => self.placed = self.placed.saturating_sub(has_cards(task)),
            Step::Evicting(_) | Step::Restored(_) | Step::Admitted(_) => {}
        }
    }

    points!(self;
        as_node_scores: NodeScores if self.weight != 0,
        as_nodes_rest: NodesRest if self.weight != 0,
        as_task_mix: KeepsMix,
    );
}

impl KeepsMix for Fragmentation {
    fn mix(&self) -> Option<&Arc<DeviceMix>> {
        self.mix.as_ref()
    }

    fn origin(&self) -> &str {
        self.source.origin()
    }

    fn is_written(&self) -> bool {
        self.source.is_written()
    }

    fn doubt(&self) -> Option<&str> {
        self.source.doubt()
    }

    fn left_out(&self) -> &[LeftOutTasks] {
        &self.left_out
    }

    fn counted(&self, state: &State) -> Option<CountedTasks> {
        self.source.counted(state)
    }

    fn last_counted(&self) -> u64 {
        self.source.seen().last_counted()
    }

    fn text_to_keep(&self, state: &State) -> String {
        let kept = self.source.kept(state);
        kept.map_or_else(String::new, |kept| kept.short_text())
    }

    fn pool_labels(&self) -> &[String] {
        &self.pool_labels
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
