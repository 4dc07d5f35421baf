//! Plugin `network-topology-aware`: which domain of the network is better, and which node in it
//! (spec/08 §6). That jobs stay within a domain is the actions' business.

mod fill;
mod others;
mod unit;

use pumice_conf::{Arg, Arguments, FormedText, PluginSpec, Text, TextForm};
use pumice_framework::Plugin;
use pumice_framework::points;
use pumice_framework::points::{
    CandidateScore, CandidateScores, Class, ClassSignature, Counting, DomainScore, NetworkSettings,
};
use pumice_model::{DomainIx, ResVec, State, TaskIx};

use crate::entry::PluginEntry;
use crate::resource_weights::{ResourceWeights, WeightArgs};
use others::FillOfDomains;
use unit::Nearness;

const WEIGHT: Arg<i64> = Arg::int("weight", 1, "Weight of every score of the plugin.")
    .min(0)
    .or_default();
const WEIGHT_CPU: Arg<i64> = Arg::int(
    "hypernode.binpack.cpu",
    1,
    "Weight of cpu in how full a domain is; 0 ignores it.",
)
.min(0)
.or_default();
const WEIGHT_MEMORY: Arg<i64> = Arg::int(
    "hypernode.binpack.memory",
    1,
    "Weight of memory in how full a domain is; 0 ignores it.",
)
.min(0)
.or_default();
const LISTED: Arg<Text> = Arg::text(
    "hypernode.binpack.resources",
    "",
    "Further resources that count, separated by commas.",
);
const WEIGHT_LISTED: Arg<i64> = Arg::int(
    "hypernode.binpack.resources.*",
    1,
    "Weight of a listed resource.",
)
.min(0)
.or_default();
const OTHERS: Arg<bool> = Arg::switch(
    "hypernode.binpack.normal-pod.enable",
    true,
    "Pods that ask for no place in the network get scores too, by how full the domains of a node are.",
);
const FADING: Arg<f64> = Arg::float(
    "hypernode.binpack.normal-pod.fading",
    0.8,
    "Weight of a tier for such pods, relative to the tier below; 0 counts the first tier alone.",
)
.min_or_default(0.0);
const MAX_DOMAINS: Arg<i64> = Arg::int(
    "hypernode.gradient.evict.max-hypernodes",
    8,
    "At most so many domains are looked at when others are evicted for a gang that asks for one.",
)
.min(1)
.or_default();
const LABELS: Arg<FormedText> = Arg::formed(
    "hypernode.labels",
    TextForm {
        phrase: "keys of labels, separated by commas",
        example: "example.com/rack,topology.kubernetes.io/zone",
        fault: labels_fault,
    },
    "",
    "Keys of node labels, separated by commas, the lowest tier first, that make domains as long as there are \
     no HyperNodes: each value of the first is one of tier 1, each of the second of tier 2. Ours; Volcano \
     does not know it.",
);
const WEIGHTS: WeightArgs = WeightArgs {
    cpu: WEIGHT_CPU,
    memory: WEIGHT_MEMORY,
    listed: LISTED,
    of_listed: WEIGHT_LISTED,
};

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "network-topology-aware",
    summary: "Prefers network domains that end up fuller, and nodes close to the rest of their job.",
    args: &[
        WEIGHT.spec(),
        WEIGHT_CPU.spec(),
        WEIGHT_MEMORY.spec(),
        LISTED.spec(),
        WEIGHT_LISTED.spec(),
        OTHERS.spec(),
        FADING.spec(),
        MAX_DOMAINS.spec(),
        LABELS.spec(),
    ],
    listed: &[WEIGHTS.spec()],
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry = PluginEntry::new(SPEC, |conf, _| {
    Box::new(NetworkTopologyAware::new(&conf.arguments))
});

/// The plugin.
#[derive(Clone)]
pub struct NetworkTopologyAware {
    weight: i64,
    fill: ResourceWeights,
    /// Weight of a tier relative to the one below, for pods that ask for nothing; `None`: no scores.
    fading: Option<f64>,
    /// `hypernode.gradient.evict.max-hypernodes`.
    most_for_evictions: usize,
    /// `hypernode.labels`.
    labels: Vec<String>,
}

impl NetworkTopologyAware {
    /// The plugin with its arguments.
    pub fn new(arguments: &Arguments) -> Self {
        Self {
            weight: WEIGHT.read(arguments),
            fill: ResourceWeights::read(arguments, &WEIGHTS),
            fading: OTHERS.read(arguments).then(|| FADING.read(arguments)),
            labels: keys(LABELS.read(arguments)),
            most_for_evictions: usize::try_from(MAX_DOMAINS.read(arguments)).unwrap_or(1),
        }
    }
}

/// An entry that no label can have as its key.
fn labels_fault(text: &str) -> Option<String> {
    let is_of_key = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let mut entries = text.split(',').map(str::trim);
    let odd = entries.find(|key| !key.chars().all(is_of_key))?;
    Some(format!("has `{odd}`, which no label can have as its key"))
}

/// Keys separated by commas, in their order, each once.
fn keys(text: &str) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for key in text.split(',').map(str::trim) {
        if !key.is_empty() && !keys.iter().any(|known| known == key) {
            keys.push(key.to_owned());
        }
    }
    keys
}

impl Plugin for NetworkTopologyAware {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(
        self;
        as_domain_score: DomainScore if self.weight != 0,
        as_network_settings: NetworkSettings,
        as_class_signature: ClassSignature if self.weight != 0,
        as_candidate_scores: CandidateScores if self.weight != 0,
    );
}

impl DomainScore for NetworkTopologyAware {
    fn domain_score(&self, state: &State, domain: DomainIx, asked: &ResVec) -> f64 {
        let nodes = state.nodes();
        let parts = self.fill.parts(state, asked);
        let members = state.ground().network().nodes(domain);
        let sum = |column: Option<&[i64]>| -> i64 {
            let amounts = column.map(|column| members.iter().map(|node| column[node.at()]));
            amounts.map_or(0, |amounts| amounts.fold(0, i64::saturating_add))
        };
        let parts = parts.iter().map(|part| {
            let used = sum(nodes.used.column(part.resource));
            (*part, used, sum(nodes.total.column(part.resource)))
        });
        fill::fill(parts) * 100.0 * self.weight as f64
    }
}

impl NetworkSettings for NetworkTopologyAware {
    fn most_for_evictions(&self) -> usize {
        self.most_for_evictions
    }

    fn labels(&self) -> &[String] {
        &self.labels
    }
}

impl ClassSignature for NetworkTopologyAware {
    fn signature(&self, state: &State, task: TaskIx) -> String {
        unit::that_asks(state, task).map_or(String::new(), unit::to_text)
    }
}

impl CandidateScores for NetworkTopologyAware {
    fn candidate_scores(
        &self,
        with: &mut Counting<'_>,
        class: &Class,
        scores: &mut Vec<Box<dyn CandidateScore>>,
    ) {
        let state = with.state();
        if !state.ground().network().has_domains() {
            return;
        }
        if let Some(unit) = unit::of_text(class.signature.of(SPEC.name)) {
            scores.push(Box::new(Nearness::new(state, unit, self.weight)));
            return;
        }
        let parts = self.fill.parts(state, &class.shape.request);
        if let Some(fading) = self.fading {
            let score = FillOfDomains::new(state, parts, fading, self.weight);
            scores.push(Box::new(score));
        }
    }
}

#[cfg(test)]
mod tests;
