//! Which nodes a pod may run on: the Kubernetes filters of plugin `predicates` (spec/02 §6.8).

use pumice_conf::PluginConf;
use pumice_model::object::{
    HostPort, NodeObject, NodeOp, NodeTerm, PodObject, Taint, TaintEffect, Toleration, TolerationOp,
};

use super::cycle::Cycle;
use super::state::{Task, World, get, label, to_res};
use super::{affinity, claims, spread, volumes};

/// The filters of one task over the world as it is now.
pub struct Filters<'a> {
    world: &'a World,
    pod: &'a PodObject,
    /// The plugin, where it is there and switched on.
    plugin: Option<&'a PluginConf>,
    company: affinity::Company,
    spread: spread::Counts,
}

impl<'a> Filters<'a> {
    /// Looks at all pods there are.
    pub fn new(cycle: &'a Cycle, task: &'a Task) -> Self {
        Self::over(cycle, &cycle.world, task)
    }

    /// Looks at the pods that are still there once others are released, who are gone for every filter
    /// (spec/07 §5).
    pub fn later(cycle: &'a Cycle, later: &'a World, task: &'a Task) -> Self {
        Self::over(cycle, later, task)
    }

    fn over(cycle: &'a Cycle, world: &'a World, task: &'a Task) -> Self {
        let plugin = cycle.plugin("predicates");
        Self {
            world,
            pod: &task.pod,
            plugin: plugin.filter(|plugin| plugin.enabled.predicate),
            company: affinity::Company::of(world, &task.pod),
            spread: spread::Counts::of(world, &task.pod),
        }
    }

    /// Every filter lets the task onto the node. Resources are not looked at.
    pub fn pass(&self, node: &NodeObject) -> bool {
        let Some(plugin) = self.plugin else {
            return true;
        };
        let on = |name: &str| {
            let name = format!("predicate.{name}Enable");
            plugin.arguments.bool(&name).unwrap_or(true)
        };
        let pod = self.pod;
        let present = self.world.tasks_on(&node.name);
        let slots = get(&to_res(&node.allocatable), "pods");
        let ports = || present.iter().flat_map(|other| &other.pod.host_ports);
        slots > present.len() as i64
            && is_schedulable(pod, node)
            && (!on("NodeAffinity") || (!terms_conflict(pod) && matches_required(pod, node)))
            && (!on("TaintToleration") || tolerates_filtering_taints(pod, node))
            && (!on("NodePorts")
                || !pod
                    .host_ports
                    .iter()
                    .any(|want| ports().any(|p| clash(want, p))))
            && volumes::pass(self.world, plugin, pod, node)
            && claims::pass(self.world, plugin, pod, node)
            && (!on("PodAffinity") || self.company.lets(self.world, pod, node))
            && (!on("PodTopologySpread") || self.spread.let_onto(pod, node))
    }
}

/// Not cordoned, or the pod tolerates that.
pub fn is_schedulable(pod: &PodObject, node: &NodeObject) -> bool {
    let cordon = Taint {
        key: "node.kubernetes.io/unschedulable".to_owned(),
        value: String::new(),
        effect: TaintEffect::NoSchedule,
    };
    !node.unschedulable || pod.tolerations.iter().any(|t| tolerates(t, &cordon))
}

/// The toleration matches the taint.
pub fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let effect = toleration
        .effect
        .is_none_or(|effect| effect == taint.effect);
    let key = toleration.key.is_empty() || toleration.key == taint.key;
    effect
        && key
        && match toleration.operator {
            TolerationOp::Equal => toleration.value == taint.value,
            TolerationOp::Exists => true,
            TolerationOp::Never => false,
        }
}

/// Every NoSchedule and NoExecute taint of the node is tolerated.
pub fn tolerates_filtering_taints(pod: &PodObject, node: &NodeObject) -> bool {
    let mut taints = node.taints.iter();
    taints.all(|taint| {
        taint.effect == TaintEffect::PreferNoSchedule
            || pod.tolerations.iter().any(|t| tolerates(t, taint))
    })
}

/// nodeSelector and required node affinity hold.
pub fn matches_required(pod: &PodObject, node: &NodeObject) -> bool {
    let mut selector = pod.node_selector.iter();
    selector.all(|(key, value)| label(&node.labels, key) == Some(value))
        && pod
            .node_affinity
            .as_ref()
            .is_none_or(|terms| terms.iter().any(|term| matches_term(term, node)))
}

/// The node affinity term holds; an empty or broken one never does.
pub fn matches_term(term: &NodeTerm, node: &NodeObject) -> bool {
    let empty = term.expressions.is_empty() && term.fields.is_empty();
    !term.broken
        && !empty
        && term
            .expressions
            .iter()
            .all(|expression| matches_op(&expression.op, label(&node.labels, &expression.key)))
        && term
            .fields
            .iter()
            .all(|(is, name)| *is == (node.name == *name))
}

fn matches_op(op: &NodeOp, value: Option<&str>) -> bool {
    let number = value.and_then(|value| value.parse::<i64>().ok());
    match op {
        NodeOp::In(values) => value.is_some_and(|v| values.iter().any(|x| x == v)),
        NodeOp::NotIn(values) => !value.is_some_and(|v| values.iter().any(|x| x == v)),
        NodeOp::Exists => value.is_some(),
        NodeOp::DoesNotExist => value.is_none(),
        NodeOp::Gt(bound) => number.is_some_and(|number| number > *bound),
        NodeOp::Lt(bound) => number.is_some_and(|number| number < *bound),
    }
}

/// Every required term asks for node names, and no term can be met by one name. It says no
/// earlier than the terms themselves would; the answer is the same.
pub fn terms_conflict(pod: &PodObject) -> bool {
    let impossible = |term: &NodeTerm| {
        let mut names = term.fields.iter().filter(|(is, _)| *is);
        match names.next() {
            Some(first) => names.any(|other| other != first),
            None => false,
        }
    };
    let terms = pod.node_affinity.as_deref().unwrap_or_default();
    !terms.is_empty() && terms.iter().all(impossible)
}

/// Two host ports exclude each other on one node.
pub fn clash(left: &HostPort, right: &HostPort) -> bool {
    let any = |port: &HostPort| port.ip == "0.0.0.0";
    left.protocol == right.protocol
        && left.port == right.port
        && (any(left) || any(right) || left.ip == right.ip)
}
