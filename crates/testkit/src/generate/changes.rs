//! A cluster to which things happen: random steps, each as the deltas an API server would send.

mod claims;
mod npus;
mod storage;
mod trees;

use std::collections::BTreeMap;

use pumice_model::delta::Delta;
use pumice_model::object::{
    Gates, GroupObject, GroupStatus, HyperNodeObject, NamespaceObject, NodeObject, Pairs,
    PodObject, PodPhase, QueueObject, QueueState,
};

use super::nodes::{APPS, NAMESPACES};
use super::rng::Rng;
use super::{
    Theme, device_quotas, groups, mindcluster, network, nodes, nodes_of, numa, objects, pairs,
    pods, pods_of,
};
use crate::naive::successor;

/// The objects of a cluster, by kind and name, and what may happen to them.
pub struct Changing {
    rng: Rng,
    theme: Theme,
    objects: BTreeMap<(Kind, String), Delta>,
    /// How many names were given out.
    named: usize,
    /// The largest version of a claim.
    version: u64,
}

/// Kinds in no particular order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Node,
    Pod,
    Group,
    Queue,
    Class,
    Namespace,
    Workload,
    Volume,
    Claim,
    StorageClass,
    CsiNode,
    CsiDriver,
    Capacity,
    Attachment,
    Budget,
    NamespaceQuota,
    HyperNode,
    Numatopology,
    ResourceClaim,
    Slice,
    DeviceClass,
    TaintRule,
    /// What a ConfigMap tells of a node.
    Report,
    /// A ConfigMap with the device configuration.
    DeviceConfig,
    /// The one controller that makes PodGroups.
    GroupController,
    /// What was measured of a node, which is there.
    Usage,
}

fn identity(object: &Delta) -> Option<(Kind, String)> {
    Some(match object {
        Delta::NodeApply(node) => (Kind::Node, node.name.clone()),
        Delta::PodApply(pod) => (Kind::Pod, format!("{}/{}", pod.namespace, pod.name)),
        Delta::GroupApply(group) => (Kind::Group, format!("{}/{}", group.namespace, group.name)),
        Delta::QueueApply(queue) => (Kind::Queue, queue.name.clone()),
        Delta::PriorityClassApply(class) => (Kind::Class, class.name.clone()),
        Delta::NamespaceApply(namespace) => (Kind::Namespace, namespace.name.clone()),
        Delta::WorkloadApply(w) => (
            Kind::Workload,
            format!("{}/{}/{}", w.kind, w.namespace, w.name),
        ),
        Delta::PvApply(volume) => (Kind::Volume, volume.name.clone()),
        Delta::PvcApply(claim) => (Kind::Claim, format!("{}/{}", claim.namespace, claim.name)),
        Delta::StorageClassApply(class) => (Kind::StorageClass, class.name.clone()),
        Delta::CsiNodeApply(node) => (Kind::CsiNode, node.name.clone()),
        Delta::CsiDriverApply(driver) => (Kind::CsiDriver, driver.name.clone()),
        Delta::CsiCapacityApply(c) => (Kind::Capacity, format!("{}/{}", c.namespace, c.name)),
        Delta::AttachmentApply(attachment) => (Kind::Attachment, attachment.name.clone()),
        Delta::BudgetApply(b) => (Kind::Budget, format!("{}/{}", b.namespace, b.name)),
        Delta::QuotaApply(q) => (Kind::NamespaceQuota, format!("{}/{}", q.namespace, q.name)),
        Delta::HyperNodeApply(object) => (Kind::HyperNode, object.name.clone()),
        Delta::NumatopologyApply(object) => (Kind::Numatopology, object.node.clone()),
        Delta::ResourceClaimApply(c) => {
            (Kind::ResourceClaim, format!("{}/{}", c.namespace, c.name))
        }
        Delta::SliceApply(slice) => (Kind::Slice, slice.name.clone()),
        Delta::DeviceClassApply(class) => (Kind::DeviceClass, class.name.clone()),
        Delta::TaintRuleApply(rule) => (Kind::TaintRule, rule.name.clone()),
        Delta::NodeReport { node, topic, .. } => (Kind::Report, format!("{topic} of {node}")),
        Delta::DeviceConfig {
            namespace, name, ..
        } => (Kind::DeviceConfig, format!("{namespace}/{name}")),
        Delta::GroupController(Some(_)) => (Kind::GroupController, String::new()),
        Delta::NodeUsage { node, .. } => (Kind::Usage, node.clone()),
        _ => return None,
    })
}

/// The delta that takes an object away.
fn deletion(object: &Delta) -> Option<Delta> {
    Some(match object.clone() {
        Delta::NodeApply(node) => Delta::NodeDelete(node.name),
        Delta::PodApply(pod) => Delta::PodDelete(pod.uid),
        Delta::GroupApply(group) => Delta::GroupDelete(group.namespace, group.name),
        Delta::QueueApply(queue) => Delta::QueueDelete(queue.name),
        Delta::PriorityClassApply(class) => Delta::PriorityClassDelete(class.name),
        Delta::NamespaceApply(namespace) => Delta::NamespaceDelete(namespace.name),
        Delta::WorkloadApply(w) => Delta::WorkloadDelete(w.kind, w.namespace, w.name),
        Delta::PvApply(volume) => Delta::PvDelete(volume.name),
        Delta::PvcApply(claim) => Delta::PvcDelete(claim.namespace, claim.name),
        Delta::StorageClassApply(class) => Delta::StorageClassDelete(class.name),
        Delta::CsiNodeApply(node) => Delta::CsiNodeDelete(node.name),
        Delta::CsiDriverApply(driver) => Delta::CsiDriverDelete(driver.name),
        Delta::CsiCapacityApply(c) => Delta::CsiCapacityDelete(c.namespace, c.name),
        Delta::AttachmentApply(attachment) => Delta::AttachmentDelete(attachment.name),
        Delta::BudgetApply(budget) => Delta::BudgetDelete(budget.namespace, budget.name),
        Delta::QuotaApply(quota) => Delta::QuotaDelete(quota.namespace, quota.name),
        Delta::HyperNodeApply(object) => Delta::HyperNodeDelete(object.name),
        Delta::NumatopologyApply(object) => Delta::NumatopologyDelete(object.node),
        Delta::ResourceClaimApply(c) => Delta::ResourceClaimDelete(c.namespace, c.name),
        Delta::SliceApply(slice) => Delta::SliceDelete(slice.name),
        Delta::DeviceClassApply(class) => Delta::DeviceClassDelete(class.name),
        Delta::TaintRuleApply(rule) => Delta::TaintRuleDelete(rule.name),
        Delta::NodeReport { node, topic, .. } => Delta::NodeReport {
            node,
            topic,
            text: None,
        },
        Delta::DeviceConfig {
            namespace, name, ..
        } => Delta::DeviceConfig {
            namespace,
            name,
            text: None,
        },
        Delta::NodeUsage { node, .. } => Delta::NodeUsage { node, usage: None },
        _ => return None,
    })
}

impl Changing {
    /// A small cluster, like [`super::cluster`]. All its pods are in groups, or wait for theirs:
    /// whether a pod without one was admitted is written nowhere, so it is not part of the objects.
    #[must_use]
    pub fn small(seed: u64) -> Self {
        let mut rng = Rng::new(seed, 5);
        let theme = Theme::new(&mut rng);
        Self::new(rng, theme)
    }

    /// A small one, like [`super::npu_cluster`].
    #[must_use]
    pub fn npus(seed: u64) -> Self {
        let mut rng = Rng::new(seed, 25);
        let theme = Theme::of_npus(&mut rng);
        Self::new(rng, theme)
    }

    /// A small one, like [`super::network_cluster`].
    #[must_use]
    pub fn network(seed: u64) -> Self {
        let mut rng = Rng::new(seed, 31);
        let theme = Theme::of_network(&mut rng);
        Self::new(rng, theme)
    }

    /// A small one, like [`super::numa_cluster`].
    #[must_use]
    pub fn numas(seed: u64) -> Self {
        let mut rng = Rng::new(seed, 52);
        let theme = Theme {
            numa: true,
            ..Theme::new(&mut rng)
        };
        let mut all = objects(&mut rng, &theme);
        numa::furnish(&mut rng, &mut all);
        Self::of(rng, theme, all)
    }

    /// A small one, like [`super::claims_cluster`].
    #[must_use]
    pub fn claims(seed: u64) -> Self {
        let mut rng = Rng::new(seed, 61);
        let theme = Theme {
            claims: true,
            ..Theme::new(&mut rng)
        };
        let mut all = objects(&mut rng, &theme);
        super::claims::furnish(&mut rng, &mut all);
        if seed % 4 < 2 {
            super::left_claims::leave(&mut rng, &mut all);
        }
        super::group_claims::share(&mut Rng::new(seed, 67), &mut all);
        Self::of(rng, theme, all)
    }

    /// A small one, like [`super::trees_cluster`].
    #[must_use]
    pub fn trees(seed: u64) -> Self {
        let mut rng = Rng::new(seed, 96);
        let theme = Theme::of_trees(&mut rng);
        Self::new(rng, theme)
    }

    /// A wide one, like [`super::wide_cluster`].
    #[must_use]
    pub fn wide(seed: u64) -> Self {
        let mut rng = Rng::new(seed, 6);
        let theme = Theme::wide(&mut rng);
        Self::new(rng, theme)
    }

    /// One that is full, like [`super::full_cluster`] or, one time in two, [`super::full_tree_cluster`].
    #[must_use]
    pub fn full(seed: u64) -> Self {
        let mut rng = Rng::new(seed, 40);
        let all = match seed % 2 {
            0 => super::full_cluster(seed),
            _ => super::full_tree_cluster(seed),
        };
        let theme = Theme {
            volumes: false,
            ..Theme::new(&mut rng)
        };
        Self::of(rng, theme, all)
    }

    /// One that is full, like [`super::full_network_cluster`].
    #[must_use]
    pub fn full_network(seed: u64) -> Self {
        let mut rng = Rng::new(seed, 64);
        let theme = Theme {
            volumes: false,
            network: true,
            ..Theme::new(&mut rng)
        };
        Self::of(rng, theme, super::full_network_cluster(seed))
    }

    fn new(mut rng: Rng, theme: Theme) -> Self {
        let all = objects(&mut rng, &theme);
        Self::of(rng, theme, all)
    }

    fn of(rng: Rng, theme: Theme, all: Vec<Delta>) -> Self {
        let all = all.into_iter();
        let kept = all.filter(|object| match object {
            Delta::PodApply(pod) => !pod.ours || pod.group.is_some() || pod.controlled,
            _ => true,
        });
        let alive = Delta::GroupController(Some("ns/controller".to_owned()));
        let kept = kept.chain([alive]);
        let objects = kept.filter_map(|object| Some((identity(&object)?, object)));
        Self {
            objects: objects.collect(),
            rng,
            theme,
            named: 0,
            version: 1,
        }
    }

    /// Every object as it is now.
    pub fn objects(&self) -> Vec<Delta> {
        self.objects.values().cloned().collect()
    }

    /// The pod `namespace/name` as it is now.
    pub fn pod(&self, name: &str) -> Option<Delta> {
        self.objects.get(&(Kind::Pod, name.to_owned())).cloned()
    }

    /// Pods claim devices.
    pub fn has_claims(&self) -> bool {
        self.theme.claims
    }

    /// UID of the pod `namespace/name`.
    pub fn uid(&self, name: &str) -> Option<String> {
        self.pod_object(name).map(|pod| pod.uid)
    }

    /// The pod `namespace/name` was bound to a node, with these annotations on its devices.
    pub fn bind(&mut self, pod: &str, node: &str, records: Pairs) -> Option<Delta> {
        self.write(pod, |pod| {
            pod.node = Some(node.to_owned());
            pod.records = records;
        })
    }

    /// The pod `namespace/name` is gone, if it is still the one with that UID, and its controller makes another.
    pub fn leave(&mut self, pod: &str, uid: &str, now_s: i64) -> Vec<Delta> {
        let known = self.pod_object(pod).filter(|pod| pod.uid == uid);
        let Some(gone) = known else {
            return Vec::new();
        };
        let mut deltas = self.remove(Kind::Pod, pod);
        let next = successor(&gone, now_s).map(|pod| Delta::PodApply(Box::new(pod)));
        deltas.extend(next.map(|next| self.put(next)));
        deltas
    }

    /// What changes of the pod `namespace/name` is written.
    pub fn write(&mut self, pod: &str, change: impl FnOnce(&mut PodObject)) -> Option<Delta> {
        let mut pod = self.pod_object(pod)?;
        change(&mut pod);
        Some(self.put(Delta::PodApply(Box::new(pod))))
    }

    /// The status of the PodGroup `namespace/name` was written.
    pub fn set_status(&mut self, group: &str, status: GroupStatus) -> Option<Delta> {
        let known = self.objects.get(&(Kind::Group, group.to_owned()))?;
        let Delta::GroupApply(group) = known else {
            return None;
        };
        let mut group = group.clone();
        group.status = match group.is_native {
            true => pumice_fixtures::kept_natively(&status),
            false => status,
        };
        Some(self.put(Delta::GroupApply(group)))
    }

    /// An object was written by others.
    pub fn tell(&mut self, object: &Delta) {
        if let Delta::ResourceClaimApply(claim) = object {
            self.version = self.version.max(claim.version);
        }
        self.keep(object.clone());
    }

    /// Something happens; what is told about it.
    pub fn step(&mut self) -> Vec<Delta> {
        if let Some(told) = self.change_usage() {
            return told;
        }
        if self.theme.mindcluster && self.rng.one_in(3) {
            return match self.rng.below(3) {
                0 => self.change_report(),
                _ => self.serve(),
            };
        }
        if self.theme.network && self.rng.one_in(4) {
            return self.change_network();
        }
        if self.theme.numa && self.rng.one_in(3) {
            return self.change_cpus();
        }
        if self.theme.claims && self.rng.one_in(2) {
            return self.change_claims();
        }
        if self.theme.trees && self.rng.one_in(3) {
            return self.change_trees();
        }
        match self.rng.below(if self.theme.volumes { 26 } else { 22 }) {
            0..=6 => self.change_pod(),
            7 | 8 => self.new_gang(),
            9..=11 => self.change_node(),
            12 => self.new_node(),
            13 => self.change_group(),
            14 => self.change_queue(),
            15 => self.new_queue(),
            16 => self.change_namespace(),
            17 => self.new_surroundings(),
            18 => self.new_bound_pod(),
            19 => self.join_group(),
            20 => self.restart_group_controller(),
            22..=25 => self.change_storage(),
            _ => self.delete_any(),
        }
    }

    /// Something happens, but only pods and PodGroups come, change and go; what is told about it.
    pub fn calm_step(&mut self) -> Vec<Delta> {
        if let Some(told) = self.change_usage() {
            return told;
        }
        if self.theme.mindcluster && self.rng.one_in(4) {
            return self.serve();
        }
        if self.theme.numa && self.rng.one_in(3) {
            return self.change_cpus();
        }
        if self.theme.claims && self.rng.one_in(2) {
            return self.change_claims();
        }
        if self.theme.trees && self.rng.one_in(3) {
            return self.change_trees();
        }
        match self.rng.below(12) {
            0..=3 => self.change_pod(),
            4 | 5 => self.new_gang(),
            6 => self.change_group(),
            7 => self.new_bound_pod(),
            8 => self.join_group(),
            9 => self.delete(Kind::Group),
            _ => self.delete(Kind::Pod),
        }
    }

    /// A node tells of its CPUs, or not any more, or a pod asks for others.
    fn change_cpus(&mut self) -> Vec<Delta> {
        match self.rng.below(5) {
            0 => self.delete(Kind::Numatopology),
            1 | 2 => {
                let request = numa::request(&mut self.rng).map(Box::new);
                let pod = self.any(Kind::Pod);
                let told = pod.and_then(|pod| self.write(&pod, |pod| pod.cpus = request));
                told.into_iter().collect()
            }
            _ => {
                let (node, pods) = (self.any(Kind::Node), self.pods());
                let pods: Vec<&PodObject> = pods.iter().collect();
                let told = node.map(|node| numa::numatopology(&mut self.rng, &node, &pods));
                let told = told.map(|told| Delta::NumatopologyApply(Box::new(told)));
                told.map(|told| self.put(told)).into_iter().collect()
            }
        }
    }

    /// A HyperNode comes, changes or goes.
    fn change_network(&mut self) -> Vec<Delta> {
        if self.rng.one_in(4) {
            return self.delete(Kind::HyperNode);
        }
        let known = self.objects.values().filter_map(|object| match object {
            Delta::HyperNodeApply(object) => Some(HyperNodeObject::clone(object)),
            _ => None,
        });
        let (known, nodes): (Vec<_>, _) = (known.collect(), self.nodes());
        let changed = network::changed(&mut self.rng, &nodes, &known).into_iter();
        let told = changed.map(|object| Delta::HyperNodeApply(Box::new(object)));
        told.map(|delta| self.put(delta)).collect()
    }

    fn put(&mut self, mut object: Delta) -> Delta {
        if let Delta::ResourceClaimApply(claim) = &mut object {
            self.version += 1;
            claim.version = self.version;
        }
        self.keep(object)
    }

    fn keep(&mut self, object: Delta) -> Delta {
        if let Some(identity) = identity(&object) {
            self.objects.insert(identity, object.clone());
        }
        object
    }

    fn remove(&mut self, kind: Kind, name: &str) -> Vec<Delta> {
        if kind == Kind::Node {
            // It takes along what was measured of it.
            self.objects.remove(&(Kind::Usage, name.to_owned()));
        }
        let object = self.objects.remove(&(kind, name.to_owned()));
        object.as_ref().and_then(deletion).into_iter().collect()
    }

    /// The name of some object of a kind.
    fn any(&mut self, kind: Kind) -> Option<String> {
        let names: Vec<&String> = self
            .objects
            .keys()
            .filter(|(other, _)| *other == kind)
            .map(|(_, name)| name)
            .collect();
        (!names.is_empty()).then(|| self.rng.pick(&names).clone())
    }

    fn pod_object(&self, name: &str) -> Option<PodObject> {
        match self.pod(name)? {
            Delta::PodApply(pod) => Some(*pod),
            _ => None,
        }
    }

    fn nodes(&self) -> Vec<NodeObject> {
        nodes_of(self.objects.values())
    }

    fn pods(&self) -> Vec<PodObject> {
        pods_of(self.objects.values())
    }

    fn queue_names(&self) -> Vec<String> {
        let queues = self.objects.keys().filter(|(kind, _)| *kind == Kind::Queue);
        queues.map(|(_, name)| name.clone()).collect()
    }

    fn change_pod(&mut self) -> Vec<Delta> {
        let Some(name) = self.any(Kind::Pod) else {
            return Vec::new();
        };
        let Some(mut pod) = self.pod_object(&name) else {
            return Vec::new();
        };
        match self.rng.below(9) {
            0 | 1 => return self.remove(Kind::Pod, &name),
            2 => {
                pod.deleting = true;
                pods::is_to_end(&self.rng, &mut pod);
            }
            3 if pod.node.is_some() => {
                pod.phase =
                    self.rng
                        .pick(&[PodPhase::Running, PodPhase::Succeeded, PodPhase::Failed]);
            }
            4 => {
                pod.labels.retain(|(key, _)| key != "app");
                pod.labels
                    .push(("app".to_owned(), self.rng.pick(APPS).to_owned()));
                pod.labels.sort();
            }
            8 => pod.annotations.clear(),
            5 => pod.gates = self.rng.pick(&[Gates::None, Gates::None, Gates::Foreign]),
            6 if pod.node.is_none() => {
                // Made anew by its controller under the same name.
                let mut deltas = self.remove(Kind::Pod, &name);
                pods::name_uids(&mut self.rng, std::slice::from_mut(&mut pod));
                (pod.deleting, pod.ends_by_s) = (false, None);
                deltas.push(self.put(Delta::PodApply(Box::new(pod))));
                return deltas;
            }
            _ if pod.node.is_some() => pod.phase = PodPhase::Running,
            _ => {
                pod.priority = self.rng.pick(&[0, 1, 5]);
                pod.priority_class = self.rng.pick(&["", "low", "high"]).to_owned();
            }
        }
        vec![self.put(Delta::PodApply(Box::new(pod)))]
    }

    fn new_gang(&mut self) -> Vec<Delta> {
        self.named += 1;
        let queues = self.queue_names();
        let mut group = groups::group(&mut self.rng, &self.theme, 100 + self.named, &queues);
        network::ask(&mut self.rng, &self.theme, &mut group);
        let (nodes, mut all) = (self.nodes(), self.pods());
        if nodes.is_empty() {
            return Vec::new();
        }
        let known = all.len();
        pods::members(&mut self.rng, &self.theme, &nodes, &mut group, &mut all);
        let mut new = all.split_off(known);
        pods::name_uids(&mut self.rng, &mut new);
        self.plant(&mut group, &mut new);
        if self.rng.one_in(3) {
            // They are told later which group they belong to.
            let waiting = new.iter_mut().filter(|pod| pod.node.is_none());
            waiting.for_each(|pod| (pod.group, pod.controlled) = (None, true));
        }
        super::npus::ask(&mut self.rng, &self.theme, &nodes, &mut new);
        mindcluster::ask(&mut self.rng, &self.theme, &nodes, &mut new);
        let mut deltas = super::storage::furnish(&mut self.rng, &self.theme, &mut new);
        if self.theme.claims {
            let known: Vec<Delta> = self.objects.values().cloned().collect();
            deltas.extend(super::claims::claim(&mut self.rng, &known, new.iter_mut()));
        }
        deltas.push(Delta::GroupApply(Box::new(group)));
        deltas.extend(new.into_iter().map(|pod| Delta::PodApply(Box::new(pod))));
        self.rng.shuffle(&mut deltas);
        deltas.into_iter().map(|delta| self.put(delta)).collect()
    }

    /// Pods without group are made members of one.
    fn join_group(&mut self) -> Vec<Delta> {
        let Some(Delta::GroupApply(group)) = self
            .any(Kind::Group)
            .and_then(|name| self.objects.get(&(Kind::Group, name)).cloned())
        else {
            return Vec::new();
        };
        if group.native.composite.is_some() {
            return Vec::new();
        }
        let alone = |pod: &PodObject| pod.ours && pod.group.is_none();
        let mut pods = self.pods();
        pods.retain(|pod| alone(pod) && pod.namespace == group.namespace);
        let most = self.rng.between(1, 5);
        let joining = pods.into_iter().take(most).map(|mut pod| {
            pod.group = Some(group.name.clone());
            self.put(Delta::PodApply(Box::new(pod)))
        });
        joining.collect()
    }

    /// The controller that makes PodGroups is away for a moment.
    fn restart_group_controller(&mut self) -> Vec<Delta> {
        let alive = self.objects.get(&(Kind::GroupController, String::new()));
        let back = alive.into_iter().cloned();
        [Delta::GroupController(None)]
            .into_iter()
            .chain(back)
            .collect()
    }

    /// A pod of another scheduler appears, on a node.
    /// Now and then: some nodes are measured, or one is not any more.
    fn change_usage(&mut self) -> Option<Vec<Delta>> {
        // A source of its own: everything else is the same with and without it.
        let mut own = Rng::new(self.rng.clone().next(), 43);
        if !own.one_in(8) {
            return None;
        }
        self.rng.next();
        if own.one_in(5) {
            return Some(self.delete(Kind::Usage));
        }
        let nodes = self.nodes();
        let nodes = nodes
            .into_iter()
            .map(|node| Delta::NodeApply(Box::new(node)));
        let measured = super::usage(&mut own, &nodes.collect::<Vec<_>>());
        Some(measured.into_iter().map(|usage| self.put(usage)).collect())
    }

    fn new_bound_pod(&mut self) -> Vec<Delta> {
        self.named += 1;
        let (nodes, known) = (self.nodes(), self.pods());
        if nodes.is_empty() {
            return Vec::new();
        }
        let namespace = pods::any_namespace(&mut self.rng);
        let mut pod = pods::template(&mut self.rng, &self.theme, namespace);
        pod.name = format!("foreign{}", self.named);
        pod.ours = false;
        pods::settle(&mut self.rng, &nodes, &known, &mut pod, true);
        let alone = std::slice::from_mut(&mut pod);
        super::npus::ask(&mut self.rng, &self.theme, &nodes, alone);
        mindcluster::ask(&mut self.rng, &self.theme, &nodes, alone);
        pods::name_uids(&mut self.rng, std::slice::from_mut(&mut pod));
        vec![self.put(Delta::PodApply(Box::new(pod)))]
    }

    fn change_node(&mut self) -> Vec<Delta> {
        let Some(name) = self.any(Kind::Node) else {
            return Vec::new();
        };
        let nodes = self.nodes();
        let Some(mut node) = nodes.into_iter().find(|node| node.name == name) else {
            return Vec::new();
        };
        let fresh = nodes::node(&mut self.rng, &self.theme, 0, 4);
        match self.rng.below(if self.theme.has_npus() { 11 } else { 7 }) {
            0 | 1 => node.unschedulable = !node.unschedulable,
            7 => node.device_annotations.clear(),
            8..=10 => return self.other_npus(node),
            2 => {
                let zone = self.rng.pick(&["z0", "z1", "z2", "z3"]);
                node.labels.retain(|(key, _)| key != "zone");
                node.labels.extend(pairs(&[("zone", zone)]));
                node.labels.sort();
            }
            3 => node.taints = nodes::taints(&mut self.rng, &self.theme),
            4 => node.allocatable = fresh.allocatable,
            5 => node.images = fresh.images,
            _ => return self.remove(Kind::Node, &name),
        }
        vec![self.put(Delta::NodeApply(Box::new(node)))]
    }

    /// A node joins, somewhere in the order of names; perhaps one that was there before.
    fn new_node(&mut self) -> Vec<Delta> {
        let index = self.rng.below(if self.theme.is_wide() { 500 } else { 14 });
        let mut node = nodes::node(&mut self.rng, &self.theme, index, 4);
        if self.rng.one_in(2) {
            self.named += 1;
            node.name = format!("{}x{}", node.name, self.named);
        }
        let mut deltas = self.give_npus(&mut node);
        deltas.extend(super::storage::on_node(&mut self.rng, &self.theme, &node));
        deltas.push(Delta::NodeApply(Box::new(node)));
        deltas.into_iter().map(|delta| self.put(delta)).collect()
    }

    fn change_group(&mut self) -> Vec<Delta> {
        let Some(name) = self.any(Kind::Group) else {
            return Vec::new();
        };
        let queues = self.queue_names();
        let Some(Delta::GroupApply(group)) = self.objects.get(&(Kind::Group, name.clone())) else {
            return Vec::new();
        };
        let mut group = GroupObject::clone(group);
        let mut other = groups::group(&mut self.rng, &self.theme, 0, &queues);
        network::ask(&mut self.rng, &self.theme, &mut other);
        if !group.is_native && self.theme.network && self.rng.one_in(4) {
            group.topology = other.topology;
            return vec![self.put(Delta::GroupApply(Box::new(group)))];
        }
        match self.rng.below(8) {
            0 => group.queue = other.queue,
            1 if group.native.composite.is_some() => return Vec::new(),
            1 => group.min_member = other.min_member.max(i32::from(group.is_native)),
            2 => group.priority_class = other.priority_class,
            3..6 if group.is_native => return Vec::new(),
            3 => group.min_task_member = other.min_task_member,
            4 => group.sub_groups = other.sub_groups,
            5 => group.min_resources = None,
            6 => group.annotations = other.annotations,
            _ => return self.remove(Kind::Group, &name),
        }
        vec![self.put(Delta::GroupApply(Box::new(group)))]
    }

    fn change_queue(&mut self) -> Vec<Delta> {
        let Some(name) = self.any(Kind::Queue) else {
            return Vec::new();
        };
        let Some(Delta::QueueApply(queue)) = self.objects.get(&(Kind::Queue, name.clone())) else {
            return Vec::new();
        };
        let mut queue = QueueObject::clone(queue);
        let place = self.rng.pick(groups::PLACES);
        let other = groups::queue(&mut self.rng, &self.theme, &name, &place);
        match self.rng.below(7) {
            0 | 1 => queue.weight = self.rng.pick(&[1, 2, 3, 5]),
            2 => queue.priority = self.rng.pick(&[0, 5]),
            3 if self.theme.claims => device_quotas::write_on(&mut self.rng, &mut queue),
            3 => (queue.capability, queue.guarantee) = (other.capability, other.guarantee),
            4 => queue.state = self.rng.pick(&[QueueState::Open, QueueState::Closed]),
            5 => {
                queue.affinity = other.affinity;
                queue.parent = other.parent;
                queue.group_limits = other.group_limits;
                queue.hierarchy = other.hierarchy;
                queue.hierarchy_weights = other.hierarchy_weights;
            }
            _ if name == "default" || name == "root" => return Vec::new(),
            _ => return self.remove(Kind::Queue, &name),
        }
        vec![self.put(Delta::QueueApply(Box::new(queue)))]
    }

    fn new_queue(&mut self) -> Vec<Delta> {
        let name = self.rng.pick(&["q1", "q2", "q3", "absent", "aq"]);
        let place = self.rng.pick(groups::PLACES);
        let queue = groups::queue(&mut self.rng, &self.theme, name, &place);
        vec![self.put(Delta::QueueApply(Box::new(queue)))]
    }

    fn change_namespace(&mut self) -> Vec<Delta> {
        let name = self.rng.pick(NAMESPACES);
        if self.rng.one_in(3) {
            return self.remove(Kind::Namespace, name);
        }
        let team = self.rng.pick(&["x", "y"]);
        let namespace = NamespaceObject {
            name: name.to_owned(),
            labels: pairs(&[("team", team)]),
        };
        vec![self.put(Delta::NamespaceApply(namespace))]
    }

    /// Some of the priority classes, services and workloads are written anew.
    fn new_surroundings(&mut self) -> Vec<Delta> {
        let mut all = nodes::surroundings(&mut self.rng, &self.theme);
        all.retain(|_| self.rng.one_in(4));
        all.into_iter().map(|delta| self.put(delta)).collect()
    }

    fn delete_any(&mut self) -> Vec<Delta> {
        let kinds = [
            Kind::Class,
            Kind::Workload,
            Kind::Pod,
            Kind::Group,
            Kind::Budget,
            Kind::NamespaceQuota,
        ];
        let kind = self.rng.pick(&kinds);
        self.delete(kind)
    }

    fn delete(&mut self, kind: Kind) -> Vec<Delta> {
        match self.any(kind) {
            Some(name) => self.remove(kind, &name),
            None => Vec::new(),
        }
    }
}
