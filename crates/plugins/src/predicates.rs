//! Plugin `predicates`: the Kubernetes filters (spec/02 §6).
//!
//! In the order of §6.3: pod count; node unschedulable, node affinity, taints (node objects only);
//! host ports; volumes; resource claims; then inter-pod affinity and topology spread, which have modules of their own.

mod claims;
mod volumes;

use std::ops::Range;

use pumice_conf::{Arg, Arguments, PluginSpec};
use pumice_framework::points;
use pumice_framework::points::{
    BindSteps, Class, Counting, DomainFilter, DomainFilters, NodeFilter, NodeFilters, StaticClass,
    StaticPart,
};
use pumice_framework::{Barriers, Plugin, ReasonId, ReasonKind, ReasonTable};
use pumice_model::object::{HostPort, NodeObject, TaintEffect};
use pumice_model::resource::PODS;
use pumice_model::selector::{
    CORDON, node_affinity_conflicts, node_affinity_holds, tolerates, tolerates_cordon,
    tolerates_filtering,
};
use pumice_model::{LoadMoment, NodeIx, Rules, State};

use volumes::{VolumeReasons, VolumeSwitches};

use crate::entry::PluginEntry;
use crate::{columns, inter_pod_affinity, topology_spread};

const fn filter(name: &'static str, doc: &'static str) -> Arg<bool> {
    Arg::switch(name, true, doc)
}

const NODE_AFFINITY: Arg<bool> = filter(
    "predicate.NodeAffinityEnable",
    "Filter by node selector and required node affinity.",
);
const NODE_PORTS: Arg<bool> = filter("predicate.NodePortsEnable", "Filter by free host ports.");
const TAINTS: Arg<bool> = filter("predicate.TaintTolerationEnable", "Filter by taints.");
const POD_AFFINITY: Arg<bool> = filter(
    "predicate.PodAffinityEnable",
    "Filter by required inter-pod affinity and anti-affinity.",
);
const SPREAD: Arg<bool> = filter(
    "predicate.PodTopologySpreadEnable",
    "Filter by topology spread constraints with DoNotSchedule.",
);
const LIMITS: Arg<bool> = filter(
    "predicate.NodeVolumeLimitsEnable",
    "Filter by the CSI drivers of nodes and their limits.",
);
const ZONE: Arg<bool> = filter(
    "predicate.VolumeZoneEnable",
    "Filter by zone and region labels of bound volumes.",
);
const BINDING: Arg<bool> = filter(
    "predicate.VolumeBindingEnable",
    "Filter by volumes a pod has or could get, and bind its claims before the pod.",
);
const BIND_TIMEOUT_S: Arg<i64> = Arg::int(
    "volumebinding.bindTimeoutSeconds",
    600,
    "How long the claims of a pod may take to be bound, in seconds.",
)
.min(0);

const CLAIMS: Arg<bool> = filter(
    "predicate.DynamicResourceAllocationEnable",
    "Filter by resource claims, and write what they get before the pod is bound; when off, pods with \
     resource claims wait.",
);
const NO_TIMEOUT: &str =
    "Accepted without effect: the search for devices is bounded by steps, not by time.";
const NO_SCORE: &str = "Accepted without effect: Kubernetes gate StorageCapacityScoring is off.";
const NO_CACHE: &str =
    "Accepted without effect: verdicts are always shared between equal pods, exactly.";

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "predicates",
    summary: "The Kubernetes filters: taints, affinity, ports, volumes, spread, pod count.",
    args: &[
        NODE_AFFINITY.spec(),
        NODE_PORTS.spec(),
        TAINTS.spec(),
        POD_AFFINITY.spec(),
        SPREAD.spec(),
        LIMITS.spec(),
        ZONE.spec(),
        BINDING.spec(),
        CLAIMS.spec(),
        Arg::switch("predicate.CacheEnable", false, NO_CACHE).spec(),
        BIND_TIMEOUT_S.spec(),
        Arg::int("volumebinding.weight", 1, NO_SCORE).spec(),
        Arg::any("volumebinding.shape", NO_SCORE).spec(),
        Arg::int("dynamicresources.filterTimeoutSeconds", 10, NO_TIMEOUT)
            .min(0)
            .spec(),
    ],
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry = PluginEntry::new(SPEC, |conf, reasons| {
    Box::new(Predicates::new(&conf.arguments, reasons))
});

/// The plugin.
#[derive(Clone)]
pub struct Predicates {
    node_affinity: bool,
    node_ports: bool,
    taints: bool,
    pod_affinity: bool,
    spread: bool,
    volumes: VolumeSwitches,
    claims: bool,
    bind_timeout_s: i64,
    reasons: PredicateReasons,
    volume_reasons: VolumeReasons,
    claim_reasons: claims::ClaimReasons,
    affinity_reasons: inter_pod_affinity::AffinityReasons,
    spread_reasons: topology_spread::SpreadReasons,
}

/// Texts of spec/02 §6.7.
#[derive(Clone)]
struct PredicateReasons {
    pod_number: ReasonId,
    unschedulable: ReasonId,
    affinity: ReasonId,
    taint: ReasonId,
    ports: ReasonId,
}

impl PredicateReasons {
    fn new(table: &mut ReasonTable) -> Self {
        let (soft, hard) = (ReasonKind::Unschedulable, ReasonKind::Unresolvable);
        let ports = "node(s) didn't have free ports for the requested pod ports";
        Self {
            pod_number: table.intern("node(s) pod number exceeded", soft),
            unschedulable: table.intern("node(s) were unschedulable", hard),
            affinity: table.intern("node(s) didn't match Pod's node affinity/selector", hard),
            taint: table.intern("node(s) had untolerated taint(s)", hard),
            ports: table.intern(ports, soft),
        }
    }
}

impl Predicates {
    /// The plugin with its arguments.
    pub fn new(arguments: &Arguments, table: &mut ReasonTable) -> Self {
        let is_on = |filter: Arg<bool>| filter.read(arguments);
        Self {
            node_affinity: is_on(NODE_AFFINITY),
            node_ports: is_on(NODE_PORTS),
            taints: is_on(TAINTS),
            pod_affinity: is_on(POD_AFFINITY),
            spread: is_on(SPREAD),
            volumes: VolumeSwitches {
                limits: is_on(LIMITS),
                zone: is_on(ZONE),
                binding: is_on(BINDING),
            },
            claims: is_on(CLAIMS),
            bind_timeout_s: BIND_TIMEOUT_S.read(arguments),
            reasons: PredicateReasons::new(table),
            volume_reasons: VolumeReasons::new(table),
            claim_reasons: claims::ClaimReasons::new(table),
            affinity_reasons: inter_pod_affinity::AffinityReasons::new(table),
            spread_reasons: topology_spread::SpreadReasons::new(table),
        }
    }
}

impl Plugin for Predicates {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(
        self;
        as_node_filters: NodeFilters,
        as_domain_filters: DomainFilters,
        as_bind_steps: BindSteps,
    );
}

impl NodeFilters for Predicates {
    fn looks_at_claims(&self) -> bool {
        true
    }

    fn prefilter(&self, _state: &State, class: &Class) -> Option<String> {
        let required = class.rules.node_affinity.as_deref();
        if self.node_affinity && node_affinity_conflicts(required) {
            let text = "plugin NodeAffinity pre-predicates failed pod affinity terms conflict";
            return Some(text.to_owned());
        }
        let volumes = volumes::refusal(self.volumes, &class.volumes);
        volumes.or_else(|| claims::refusal(self.claims, class))
    }

    fn static_filter(
        &self,
        state: &State,
        class: StaticClass<'_>,
        _: &mut ReasonTable,
        part: &mut StaticPart,
    ) {
        let rules = class.rules;
        let goes_anywhere = rules.node_selector.is_empty() && rules.node_affinity.is_none();
        let tolerates_cordon = tolerates_cordon(&rules.tolerations);
        for (node, verdict) in state.nodes().objects().zip(&mut part.verdict) {
            let affinity_holds = || {
                let required = rules.node_affinity.as_deref();
                goes_anywhere || node_affinity_holds(&rules.node_selector, required, node)
            };
            let found = if node.unschedulable && !tolerates_cordon {
                self.reasons.unschedulable
            } else if self.node_affinity && !affinity_holds() {
                self.reasons.affinity
            } else if self.taints && !tolerates_filtering(&rules.tolerations, &node.taints) {
                self.reasons.taint
            } else {
                continue;
            };
            verdict.get_or_insert(found);
        }
    }

    fn barriers<'a>(&self, rules: &Rules, node: &'a NodeObject) -> Barriers<'a> {
        let required = rules.node_affinity.as_deref();
        let cordoned = node.unschedulable && !tolerates_cordon(&rules.tolerations);
        let taints = node.taints.iter().filter(|taint| {
            let hard = taint.effect != TaintEffect::PreferNoSchedule;
            // Kubernetes puts it on every cordoned node.
            let of_cordon = cordoned && taint.key == CORDON;
            let tolerated = rules.tolerations.iter().any(|one| tolerates(one, taint));
            self.taints && hard && !of_cordon && !tolerated
        });
        Barriers {
            cordoned,
            labels: self.node_affinity
                && !node_affinity_holds(&rules.node_selector, required, node),
            taints: taints.collect(),
        }
    }

    fn node_filters(&self, state: &State, class: &Class) -> Vec<Box<dyn NodeFilter>> {
        let mut filters: Vec<Box<dyn NodeFilter>> = vec![Box::new(PodNumber {
            reason: self.reasons.pod_number,
        })];
        if self.node_ports && !class.shape.ports.is_empty() {
            let wanted = class.shape.ports.clone();
            filters.push(Box::new(FreePorts {
                wanted,
                reason: self.reasons.ports,
            }));
        }
        filters.extend(volumes::filters(
            self.volumes,
            &self.volume_reasons,
            state,
            class,
        ));
        filters.extend(claims::filter(self.claim_reasons, class));
        filters
    }
}

impl DomainFilters for Predicates {
    fn domain_filters(
        &self,
        with: &mut Counting<'_>,
        class: &Class,
        filters: &mut Vec<Box<dyn DomainFilter>>,
    ) {
        if self.pod_affinity {
            filters.extend(inter_pod_affinity::filter(
                with,
                class,
                self.affinity_reasons,
            ));
        }
        if self.spread {
            filters.extend(topology_spread::filter(with, class, self.spread_reasons));
        }
    }
}

impl BindSteps for Predicates {
    fn volume_timeout_s(&self) -> Option<i64> {
        self.volumes.binding.then_some(self.bind_timeout_s)
    }
}

/// The node has as many pods as it may have. A node that does not say how many may have none.
struct PodNumber {
    reason: ReasonId,
}

impl NodeFilter for PodNumber {
    fn before_static(&self) -> bool {
        true
    }

    fn reject(
        &self,
        state: &State,
        range: Range<usize>,
        moment: LoadMoment,
        out: &mut [Option<ReasonId>],
    ) {
        let nodes = state.nodes();
        if moment == LoadMoment::Released && nodes.in_transit > 0 {
            for (node, out) in range.zip(out) {
                let limit = nodes.allocatable.get(PODS, NodeIx(node as u32));
                if limit <= nodes.pod_count[node] - nodes.releasing_count[node] {
                    *out = Some(self.reason);
                }
            }
            return;
        }
        for (range, out) in columns::blocks(range.start, out) {
            let limits = columns::block(&nodes.allocatable, PODS, range.clone());
            let counts = &nodes.pod_count[range];
            if columns::all(limits, counts, |limit, count| limit > count) {
                continue;
            }
            for ((limit, count), out) in limits.iter().zip(counts).zip(out) {
                if limit <= count {
                    *out = Some(self.reason);
                }
            }
        }
    }

    fn counts_released(&self) -> bool {
        true
    }

    fn is_lasting(&self) -> bool {
        true
    }
}

/// A wanted host port is taken.
struct FreePorts {
    wanted: Vec<HostPort>,
    reason: ReasonId,
}

impl NodeFilter for FreePorts {
    fn before_static(&self) -> bool {
        false
    }

    fn reject(
        &self,
        state: &State,
        range: Range<usize>,
        moment: LoadMoment,
        out: &mut [Option<ReasonId>],
    ) {
        let nodes = state.nodes();
        for (node, out) in range.zip(out) {
            let mut taken = nodes.ports(NodeIx(node as u32), moment);
            if taken.any(|taken| self.wanted.iter().any(|wanted| conflict(wanted, taken))) {
                *out = Some(self.reason);
            }
        }
    }

    fn counts_released(&self) -> bool {
        true
    }

    fn is_lasting(&self) -> bool {
        true
    }
}

/// Same protocol and port, on addresses that overlap.
fn conflict(one: &HostPort, other: &HostPort) -> bool {
    const ANY: &str = "0.0.0.0";
    (one.port, &one.protocol) == (other.port, &other.protocol)
        && (one.ip == other.ip || one.ip == ANY || other.ip == ANY)
}

#[cfg(test)]
mod tests;
