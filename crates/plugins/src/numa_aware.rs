//! Plugin `numa-aware`: pods that get CPUs for themselves go where the policy of the node lets them have some,
//! and rather where these are of few NUMA nodes (spec/02 §22).
//!
//! What is free on a node and which CPUs a pod would get there is told by the state ([`pumice_model::numa`]);
//! here that becomes a verdict and a score.

use std::cmp::Reverse;
use std::ops::Range;

use pumice_conf::{Arg, Arguments, PluginSpec};
use pumice_devices::NearMiss;
use pumice_framework::points;
use pumice_framework::points::{
    CandidateScore, CandidateScores, Class, ClassSignature, CountedCluster, Counting, NodeFilter,
    NodeFilters,
};
use pumice_framework::{Plugin, ReasonId, ReasonKind, ReasonTable, SetId};
use pumice_model::numa::{NodeCpus, UnservedContainer};
use pumice_model::object::{AskedPolicy, CpuRequest, InitCpus, TopologyPolicy};
use pumice_model::{LoadMoment, NodeIx, Nodes, State, TaskIx};

use crate::entry::PluginEntry;

const WEIGHT: Arg<i64> = Arg::int("weight", 1, "Weight of the score.");

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "numa-aware",
    summary: "Aligns cpus with NUMA nodes.",
    args: &[WEIGHT.spec()],
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry = PluginEntry::new(SPEC, |conf, reasons| {
    Box::new(NumaAware::new(&conf.arguments, reasons))
});

/// The plugin.
#[derive(Clone)]
pub struct NumaAware {
    weight: i64,
    reasons: NumaReasons,
}

/// Why a node does not do.
#[derive(Clone, Copy)]
struct NumaReasons {
    untold: ReasonId,
    shares: ReasonId,
    other_policy: ReasonId,
    full: ReasonId,
    unaligned: ReasonId,
    /// Nothing else.
    only_unaligned: SetId,
}

impl NumaAware {
    fn new(arguments: &Arguments, reasons: &mut ReasonTable) -> Self {
        let mut hard = |text: &str| reasons.intern(text, ReasonKind::Unresolvable);
        let unaligned = hard("containers cannot be assigned by numa");
        Self {
            weight: WEIGHT.read(arguments),
            reasons: NumaReasons {
                untold: hard("numa info is empty"),
                shares: hard("the cpu manager policy of the node is not static"),
                other_policy: hard("the topology manager policy of the node is another"),
                full: hard("no cpu of the node is free for a container alone"),
                unaligned,
                only_unaligned: reasons.set(&[unaligned]),
            },
        }
    }
}

impl Plugin for NumaAware {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(
        self;
        as_class_signature: ClassSignature,
        as_node_filters: NodeFilters,
        as_candidate_scores: CandidateScores if self.weight != 0,
    );
}

impl ClassSignature for NumaAware {
    /// The policy that is asked for, and the CPUs of each container.
    fn signature(&self, state: &State, task: TaskIx) -> String {
        let request = state.task(task).cpus.as_deref();
        request.map(written).unwrap_or_default()
    }
}

fn written(request: &CpuRequest) -> String {
    let policy = match &request.policy {
        AskedPolicy::Any => "",
        AskedPolicy::Only(policy) => policy.name(),
        AskedPolicy::Unknown(name) => name,
    };
    let init = request.init.iter().map(|init| {
        let kind = if init.stays { SIDECAR } else { PLAIN_INIT };
        format!("{kind}{}", init.cpus)
    });
    let cpus = init.chain(request.containers.iter().map(u32::to_string));
    format!("{}|{policy}", cpus.collect::<Vec<_>>().join(" "))
}

/// Before the CPUs of a sidecar in a signature.
const SIDECAR: char = 's';

/// Before those of another init container.
const PLAIN_INIT: char = 'i';

fn init_of(word: &str) -> Option<InitCpus> {
    let cpus = word.strip_prefix([SIDECAR, PLAIN_INIT])?.parse().ok()?;
    let stays = word.starts_with(SIDECAR);
    Some(InitCpus { cpus, stays })
}

/// The inverse of [`written`]; none for a class without.
fn request_of(class: &Class) -> Option<CpuRequest> {
    let text = class.signature.of(SPEC.name);
    let (cpus, policy) = text.split_once('|')?;
    Some(CpuRequest {
        policy: match policy {
            "" => AskedPolicy::Any,
            name => TopologyPolicy::by_name(name)
                .map_or_else(|| AskedPolicy::Unknown(name.to_owned()), AskedPolicy::Only),
        },
        init: cpus.split(' ').filter_map(init_of).collect(),
        containers: cpus.split(' ').flat_map(str::parse).collect(),
    })
}

impl NodeFilters for NumaAware {
    fn prefilter(&self, _: &State, class: &Class) -> Option<String> {
        match request_of(class)?.policy {
            AskedPolicy::Unknown(name) => Some(format!(
                "{name:?} is no policy for NUMA nodes; write none, best-effort, restricted or \
                 single-numa-node in annotation volcano.sh/numa-topology-policy"
            )),
            _ => None,
        }
    }

    fn node_filters(&self, _: &State, class: &Class) -> Vec<Box<dyn NodeFilter>> {
        let filter = |request| NumaFilter {
            request,
            reasons: self.reasons,
        };
        let filter = request_of(class).map(filter).into_iter();
        filter
            .map(|it| Box::new(it) as Box<dyn NodeFilter>)
            .collect()
    }
}

/// The filter of one class.
struct NumaFilter {
    request: CpuRequest,
    reasons: NumaReasons,
}

impl NumaFilter {
    /// What is against a node (spec/02 §22.3).
    fn refusal(&self, node: Option<&NodeCpus>) -> Option<ReasonId> {
        let reasons = &self.reasons;
        let Some(node) = node else {
            return self.asked().map(|_| reasons.untold);
        };
        if let Some(policy) = self.asked() {
            let object = node.object();
            if !object.gives_cpus {
                return Some(reasons.shares);
            }
            if object.policy != policy {
                return Some(reasons.other_policy);
            }
            if node.free().is_empty() {
                return Some(reasons.full);
            }
        } else if !node.aligns() {
            return None;
        }
        let aligned = node.layout().align(&self.request, node.free());
        aligned.is_none().then_some(reasons.unaligned)
    }

    /// What the first container without CPUs lacks.
    fn lack(&self, container: &UnservedContainer) -> String {
        let (kind, all) = match container.is_init {
            true => ("init container", self.request.init.len()),
            false => ("container", self.request.containers.len()),
        };
        let of = match all {
            1 => String::new(),
            all => format!(" {} of {all}", container.at + 1),
        };
        let within = match container.numa_nodes {
            None => String::new(),
            Some(1) => " of one NUMA node".to_owned(),
            Some(most) => format!(" of {most} NUMA nodes"),
        };
        let free: Vec<String> = container.free.iter().map(u32::to_string).collect();
        format!(
            "{kind}{of} asks {} cpus{within}, free by NUMA node: {}",
            container.cpus,
            free.join(", ")
        )
    }

    fn asked(&self) -> Option<TopologyPolicy> {
        match self.request.policy {
            AskedPolicy::Only(policy) => Some(policy),
            _ => None,
        }
    }
}

/// Free CPUs that nobody can have because their place is not told.
fn unplaced(node: &NodeCpus) -> String {
    let free = &node.object().free;
    match free.len() - node.layout().set(free).len() as usize {
        0 => String::new(),
        more => {
            format!("; {more} more in spec.numares of its Numatopology are not in spec.cpuDetail")
        }
    }
}

/// CPUs that the NUMA nodes with the most free ones lack.
fn missing(container: &UnservedContainer) -> i64 {
    let mut free = container.free.clone();
    free.sort_unstable_by_key(|free| Reverse(*free));
    let most = container.numa_nodes.unwrap_or(free.len());
    let there: u32 = free.iter().take(most).sum();
    i64::from(container.cpus) - i64::from(there)
}

impl NodeFilter for NumaFilter {
    fn before_static(&self) -> bool {
        false
    }

    /// CPUs of pods that are being released are taken until the node tells that they are free.
    fn reject(
        &self,
        state: &State,
        range: Range<usize>,
        _: LoadMoment,
        out: &mut [Option<ReasonId>],
    ) {
        for (at, out) in range.zip(out) {
            let refusal = self.refusal(state.nodes().cpus(NodeIx(at as u32)));
            *out = refusal.or(*out);
        }
    }

    fn is_explained(&self, set: SetId) -> bool {
        set == self.reasons.only_unaligned
    }

    fn explain(&self, nodes: &Nodes, node: NodeIx) -> Option<NearMiss> {
        let cpus = nodes.cpus(node)?;
        let container = cpus.layout().unserved(&self.request, cpus.free())?;
        let name = &nodes.object(node).name;
        Some(NearMiss {
            text: format!("node {name}: {}{}", self.lack(&container), unplaced(cpus)),
            distance: (1, missing(&container)),
        })
    }

    fn is_lasting(&self) -> bool {
        true
    }
}

impl CandidateScores for NumaAware {
    fn candidate_scores(
        &self,
        with: &mut Counting<'_>,
        class: &Class,
        scores: &mut Vec<Box<dyn CandidateScore>>,
    ) {
        let Some(request) = request_of(class) else {
            return;
        };
        if matches!(request.policy, AskedPolicy::Only(_)) {
            scores.push(Box::new(FewNumaNodes {
                spans: vec![None; with.state().nodes().len()],
                request,
                weight: self.weight,
            }));
        }
    }
}

/// The fewer NUMA nodes a pod would be on, the better (spec/02 §22.5).
struct FewNumaNodes {
    request: CpuRequest,
    weight: i64,
    /// Number of NUMA nodes by node, where it is known.
    spans: Vec<Option<u16>>,
}

impl CandidateScore for FewNumaNodes {
    fn catch_up(&mut self, _: CountedCluster<'_>, touched: &[NodeIx]) {
        touched.iter().for_each(|node| self.spans[node.at()] = None);
    }

    fn add(
        &mut self,
        CountedCluster { state, .. }: CountedCluster<'_>,
        candidates: &[u32],
        scores: &mut [i64],
    ) {
        let mut largest = 0;
        for node in candidates {
            let span = self.spans[*node as usize].get_or_insert_with(|| {
                let Some(node) = state.nodes().cpus(NodeIx(*node)) else {
                    return 0;
                };
                let cpus = node.layout().align(&self.request, node.free());
                cpus.map_or(0, |cpus| node.layout().count_numa_nodes(&cpus) as u16)
            });
            largest = largest.max(i64::from(*span));
        }
        for (score, node) in scores.iter_mut().zip(candidates) {
            let span = i64::from(self.spans[*node as usize].unwrap_or(0));
            let part = if largest == 0 {
                0
            } else {
                100 * span / largest
            };
            *score += self.weight * (100 - part);
        }
    }

    fn sums(&self) -> usize {
        1
    }
}

#[cfg(test)]
mod tests;
