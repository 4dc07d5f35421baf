//! Where a pod may and should go.

use k8s_openapi::api::core::v1::{
    Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodAffinity,
    PodAffinityTerm, PodAntiAffinity, PreferredSchedulingTerm, Toleration,
    TopologySpreadConstraint, WeightedPodAffinityTerm,
};

use super::message::messages;

messages! {
    Toleration {
        1 => key,
        2 => operator,
        3 => value,
        4 => effect,
    }
    Affinity {
        1 => node_affinity,
        2 => pod_affinity,
        3 => pod_anti_affinity,
    }
    NodeAffinity {
        1 => required_during_scheduling_ignored_during_execution,
        2 => preferred_during_scheduling_ignored_during_execution,
    }
    NodeSelector {
        1 => node_selector_terms,
    }
    NodeSelectorTerm {
        1 => match_expressions,
        2 => match_fields,
    }
    NodeSelectorRequirement {
        1 => key,
        2 => operator,
        3 => values,
    }
    PreferredSchedulingTerm {
        1 => weight,
        2 => preference,
    }
    PodAffinity {
        1 => required_during_scheduling_ignored_during_execution,
        2 => preferred_during_scheduling_ignored_during_execution,
    }
    PodAntiAffinity {
        1 => required_during_scheduling_ignored_during_execution,
        2 => preferred_during_scheduling_ignored_during_execution,
    }
    PodAffinityTerm {
        1 => label_selector,
        2 => namespaces,
        3 => topology_key,
        4 => namespace_selector,
        5 => match_label_keys,
        6 => mismatch_label_keys,
    }
    WeightedPodAffinityTerm {
        1 => weight,
        2 => pod_affinity_term,
    }
    TopologySpreadConstraint {
        1 => max_skew,
        2 => topology_key,
        3 => when_unsatisfiable,
        4 => label_selector,
        5 => min_domains,
        6 => node_affinity_policy,
        7 => node_taints_policy,
        8 => match_label_keys,
    }
}
