//! What a configuration may name: every plugin and action of Volcano, and whether it is built here.
//!
//! The specs of built plugins stand in their modules.

use pumice_conf::{ActionSpec, ArgKind, ArgSpec, PluginSpec, Registry};

use crate::{
    binpack, conformance, deviceshare, drf, gang, nodeorder, overcommit, predicates, priority,
    proportion,
};

/// The static list against which configurations are checked.
pub static REGISTRY: Registry = Registry {
    plugins: PLUGINS,
    actions: ACTIONS,
};

const PLUGINS: &[PluginSpec] = &[
    priority::SPEC,
    gang::SPEC,
    conformance::SPEC,
    overcommit::SPEC,
    drf::SPEC,
    predicates::SPEC,
    proportion::SPEC,
    nodeorder::SPEC,
    binpack::SPEC,
    deviceshare::SPEC,
    not_built(
        "capacity",
        "Divides the cluster among queues by their deserved amounts.",
    ),
    not_built(
        "pdb",
        "Protects pods covered by a PodDisruptionBudget from eviction.",
    ),
    not_built(
        "resourcequota",
        "Admits jobs only within the ResourceQuota of their namespace.",
    ),
    not_built(
        "sla",
        "Moves jobs forward that have waited longer than their SLA.",
    ),
    not_built("tdm", "Shares revocable nodes by time of day."),
    not_built("nodegroup", "Ties queues to groups of nodes."),
    not_built("numa-aware", "Aligns cpus with NUMA nodes."),
    not_built(
        "task-topology",
        "Places tasks of a job near to or far from each other.",
    ),
    not_built(
        "network-topology-aware",
        "Places jobs within the network topology.",
    ),
    not_built(
        "resource-strategy-fit",
        "Scores nodes by a strategy per resource.",
    ),
    not_built("usage", "Scores and filters nodes by their measured usage."),
    not_built(
        "rescheduling",
        "Evicts pods so that they are placed better.",
    ),
    not_built(
        "cdp",
        "Protects pods from eviction for a time after their start.",
    ),
    not_built("extender", "Asks an HTTP service."),
];

const ERROR_CACHE: ArgSpec = arg(
    "predicateErrorCacheEnable",
    ArgKind::Bool,
    "true",
    "Accepted without effect: filter verdicts are always shared between equal pods, exactly.",
);

const GANG_EVICTION: &[ArgSpec] = &[
    arg_from(
        1.0,
        arg(
            "maxDomains",
            ArgKind::Int,
            "8",
            "Most topology domains looked at.",
        ),
    ),
    arg(
        "allowWholeBundle",
        ArgKind::Bool,
        "true",
        "Whether whole gangs may be evicted.",
    ),
];

const ACTIONS: &[ActionSpec] = &[
    ActionSpec {
        name: "enqueue",
        summary: "Admits jobs: lets PodGroups leave phase Pending.",
        args: &[],
        built: true,
    },
    ActionSpec {
        name: "allocate",
        summary: "Places the pods of admitted jobs, gang by gang.",
        args: &[ERROR_CACHE],
        built: true,
    },
    ActionSpec {
        name: "backfill",
        summary: "Places pods that request no resources.",
        args: &[ERROR_CACHE],
        built: true,
    },
    ActionSpec {
        name: "preempt",
        summary: "Evicts pods of lower priority in the same queue.",
        args: &[
            ERROR_CACHE,
            arg(
                "enableTopologyAwarePreemption",
                ArgKind::Bool,
                "false",
                "Simulates evictions.",
            ),
            arg(
                "topologyAwarePreemptWorkerNum",
                ArgKind::Int,
                "16",
                "Parallel simulations.",
            ),
            arg(
                "minCandidateNodesPercentage",
                ArgKind::Int,
                "10",
                "Fewest nodes, in percent.",
            ),
            arg(
                "minCandidateNodesAbsolute",
                ArgKind::Int,
                "1",
                "Fewest nodes.",
            ),
            arg(
                "maxCandidateNodesAbsolute",
                ArgKind::Int,
                "100",
                "Most nodes.",
            ),
        ],
        built: false,
    },
    ActionSpec {
        name: "reclaim",
        summary: "Evicts pods of queues that have more than they deserve.",
        args: &[ERROR_CACHE],
        built: false,
    },
    ActionSpec {
        name: "shuffle",
        summary: "Evicts the pods that plugins such as rescheduling name.",
        args: &[],
        built: false,
    },
    ActionSpec {
        name: "gangpreempt",
        summary: "Preempts for whole gangs.",
        args: GANG_EVICTION,
        built: false,
    },
    ActionSpec {
        name: "gangreclaim",
        summary: "Reclaims for whole gangs.",
        args: GANG_EVICTION,
        built: false,
    },
];

/// An argument without limits.
pub(crate) const fn arg(
    name: &'static str,
    kind: ArgKind,
    default: &'static str,
    doc: &'static str,
) -> ArgSpec {
    ArgSpec {
        name,
        kind,
        default,
        min: None,
        max: None,
        doc,
    }
}

/// An argument with a smallest sensible value.
pub(crate) const fn arg_from(min: f64, spec: ArgSpec) -> ArgSpec {
    ArgSpec {
        min: Some(min),
        ..spec
    }
}

const fn not_built(name: &'static str, summary: &'static str) -> PluginSpec {
    PluginSpec {
        name,
        summary,
        args: &[],
        rules: &[],
        built: false,
    }
}
