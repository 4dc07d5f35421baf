//! What is known of the cluster.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use pumice_api::{
    Command, CronJob, HyperNode, Job, JobFlow, JobTemplate, PodGroup, ProvisioningRequest, Queue,
    keys,
};

use super::command_guard::CommandGuard;
use super::kind::{ManagedKind, ManagedRef};
use super::observed::{Observed, TrackedPod, TrackedWorkload};
use super::owners::controller_of;

type Names = BTreeSet<String>;

/// UIDs of objects that went, kept to know late answers about them.
const MAX_GONE: usize = 4_096;

/// An object, and when it was told last.
#[derive(Debug)]
struct Kept {
    object: Observed,
    told: u64,
}

/// Every object that is known, with the indexes controllers ask by.
#[derive(Debug, Default)]
pub struct ObjectCache {
    objects: HashMap<ManagedRef, Kept>,
    /// How many objects were told so far.
    told: u64,
    /// How many when a list of the kind began.
    listing: BTreeMap<ManagedKind, u64>,
    /// Kinds of which a list was answered.
    listed: BTreeSet<ManagedKind>,
    by_kind: BTreeMap<ManagedKind, BTreeSet<(String, String)>>,
    pods_of_jobs: HashMap<(String, String), Names>,
    groups_of_queues: HashMap<String, BTreeSet<(String, String)>>,
    /// By UID of the owner that controls them.
    jobs_of_owners: HashMap<String, BTreeSet<(String, String)>>,
    /// By namespace and name of the template.
    jobs_of_templates: HashMap<(String, String), Names>,
    gone: BTreeSet<String>,
    gone_in_order: std::collections::VecDeque<String>,
}

impl ObjectCache {
    /// Takes in an object; what it was before. `None` if what is known is as new, or if it is known
    /// to be gone: then nothing changes.
    pub fn apply(&mut self, object: Observed) -> Option<Option<Observed>> {
        let of = object.reference();
        if self.gone.contains(object.uid()) {
            return None;
        }
        self.told += 1;
        let told = self.told;
        if let Some(Kept { object: known, .. }) = self.objects.get(&of) {
            let is_same = known.uid() == object.uid();
            if is_same && object.version() <= known.version() && object.version() != 0 {
                return None;
            }
        }
        let before = self.take(&of);
        self.index(&of, &object, true);
        self.objects.insert(of, Kept { object, told });
        Some(before)
    }

    /// A list of a kind is about to be asked for.
    pub fn list_begins(&mut self, kind: ManagedKind) {
        self.listing.insert(kind, self.told);
    }

    /// A list of a kind was answered, be it empty.
    pub fn list_ends(&mut self, kind: ManagedKind) {
        self.listed.insert(kind);
    }

    /// Whether objects of a kind are told: its list was answered, or some are known.
    pub fn is_followed(&self, kind: ManagedKind) -> bool {
        self.listed.contains(&kind) || self.all(kind).next().is_some()
    }

    /// Objects of a kind that are known since before its list began, and not in it.
    pub fn missing(&self, kind: ManagedKind, there: &BTreeSet<ManagedRef>) -> Vec<ManagedRef> {
        let began = self.listing.get(&kind).copied().unwrap_or(u64::MAX);
        let known = self.objects.iter().filter(|(of, _)| of.kind == kind);
        let old = known.filter(|(_, kept)| kept.told <= began);
        let mut missing: Vec<ManagedRef> = old
            .filter(|(of, _)| !there.contains(of))
            .map(|(of, _)| of.clone())
            .collect();
        missing.sort();
        missing
    }

    /// Takes out an object. With a UID only that one; what it was.
    pub fn remove(&mut self, of: &ManagedRef, uid: &str) -> Option<Observed> {
        if !uid.is_empty() {
            self.bury(uid);
            if self.get(of).is_some_and(|known| known.uid() != uid) {
                return None;
            }
        }
        self.take(of)
    }

    fn bury(&mut self, uid: &str) {
        if self.gone.insert(uid.to_owned()) {
            self.gone_in_order.push_back(uid.to_owned());
        }
        while self.gone_in_order.len() > MAX_GONE {
            if let Some(oldest) = self.gone_in_order.pop_front() {
                self.gone.remove(&oldest);
            }
        }
    }

    fn take(&mut self, of: &ManagedRef) -> Option<Observed> {
        let object = self.objects.remove(of)?.object;
        self.index(of, &object, false);
        Some(object)
    }

    fn index(&mut self, of: &ManagedRef, object: &Observed, is_there: bool) {
        let name = (of.namespace.clone(), of.name.clone());
        match object {
            Observed::Pod(pod) => {
                // Pods are many: they are found by their Job, or by name.
                if let Some(member) = &pod.member {
                    let job = (of.namespace.clone(), member.job.to_string());
                    enter(&mut self.pods_of_jobs, job, of.name.clone(), is_there);
                }
                if pod.lone.is_none() {
                    return;
                }
            }
            Observed::Job(job) => {
                if let Some(owner) = controller_of(&job.metadata) {
                    let owner = owner.uid.clone();
                    enter(&mut self.jobs_of_owners, owner, name.clone(), is_there);
                }
                if let Some(template) = template_of(job) {
                    let template = (of.namespace.clone(), template.to_owned());
                    let job = of.name.clone();
                    enter(&mut self.jobs_of_templates, template, job, is_there);
                }
            }
            Observed::PodGroup(group) => {
                let queue = queue_of(group).to_owned();
                enter(&mut self.groups_of_queues, queue, name.clone(), is_there);
            }
            _ => {}
        }
        let names = self.by_kind.entry(of.kind).or_default();
        match is_there {
            true => names.insert(name),
            false => names.remove(&name),
        };
    }

    /// An object.
    pub fn get(&self, of: &ManagedRef) -> Option<&Observed> {
        self.objects.get(of).map(|kept| &kept.object)
    }

    /// All objects of a kind, in order of namespace and name. Of pods only those without PodGroup.
    pub fn all(&self, kind: ManagedKind) -> impl Iterator<Item = &Observed> + Clone {
        let names = self.by_kind.get(&kind).into_iter().flatten();
        names.filter_map(move |(namespace, name)| self.get(&ManagedRef::new(kind, namespace, name)))
    }

    /// Number of objects of every kind that has some.
    pub fn counts(&self) -> BTreeMap<ManagedKind, usize> {
        let mut counts = BTreeMap::new();
        for of in self.objects.keys() {
            *counts.entry(of.kind).or_default() += 1;
        }
        counts
    }

    /// The Job of this name, if it is there.
    pub fn job(&self, namespace: &str, name: &str) -> Option<&Job> {
        match self.get(&ManagedRef::new(ManagedKind::Job, namespace, name))? {
            Observed::Job(job) => Some(job),
            _ => None,
        }
    }

    /// What is known of the pod of this name, if it is there.
    pub fn pod(&self, namespace: &str, name: &str) -> Option<&TrackedPod> {
        self.get(&ManagedRef::new(ManagedKind::Pod, namespace, name))?
            .as_pod()
    }

    /// Pods that say they belong to a Job of this name, by name. Their owner may be an earlier Job.
    pub fn pods_of_job(&self, namespace: &str, job: &str) -> impl Iterator<Item = &TrackedPod> {
        let key = (namespace.to_owned(), job.to_owned());
        let names = self.pods_of_jobs.get(&key).into_iter().flatten();
        let namespace = key.0;
        names.filter_map(move |name| self.pod(&namespace, name))
    }

    /// The PodGroup of this name, if it is there.
    pub fn pod_group(&self, namespace: &str, name: &str) -> Option<&PodGroup> {
        self.get(&ManagedRef::new(ManagedKind::PodGroup, namespace, name))?
            .as_pod_group()
    }

    /// PodGroups of a queue, in order of namespace and name.
    pub fn groups_of_queue(&self, queue: &str) -> impl Iterator<Item = &PodGroup> {
        let names = self.groups_of_queues.get(queue).into_iter().flatten();
        names.filter_map(|(namespace, name)| self.pod_group(namespace, name))
    }

    /// The Queue of this name, if it is there.
    pub fn queue(&self, name: &str) -> Option<&Queue> {
        self.get(&ManagedRef::global(ManagedKind::Queue, name))?
            .as_queue()
    }

    /// All Queues, by name.
    pub fn queues(&self) -> impl Iterator<Item = &Queue> + Clone {
        self.all(ManagedKind::Queue).filter_map(Observed::as_queue)
    }

    /// The Command of this name, if it is there.
    pub fn command(&self, namespace: &str, name: &str) -> Option<&Command> {
        match self.get(&ManagedRef::new(ManagedKind::Command, namespace, name))? {
            Observed::Command(command) => Some(command),
            _ => None,
        }
    }

    /// The CronJob of this name, if it is there.
    pub fn cron_job(&self, namespace: &str, name: &str) -> Option<&CronJob> {
        match self.get(&ManagedRef::new(ManagedKind::CronJob, namespace, name))? {
            Observed::CronJob(cron_job) => Some(cron_job),
            _ => None,
        }
    }

    /// The JobFlow of this name, if it is there.
    pub fn job_flow(&self, namespace: &str, name: &str) -> Option<&JobFlow> {
        match self.get(&ManagedRef::new(ManagedKind::JobFlow, namespace, name))? {
            Observed::JobFlow(flow) => Some(flow),
            _ => None,
        }
    }

    /// The ProvisioningRequest of this name, if it is there.
    pub fn provisioning_request(
        &self,
        namespace: &str,
        name: &str,
    ) -> Option<&ProvisioningRequest> {
        match self.get(&ManagedRef::new(
            ManagedKind::ProvisioningRequest,
            namespace,
            name,
        ))? {
            Observed::ProvisioningRequest(request) => Some(request),
            _ => None,
        }
    }

    /// The JobTemplate of this name, if it is there.
    pub fn job_template(&self, namespace: &str, name: &str) -> Option<&JobTemplate> {
        match self.get(&ManagedRef::new(ManagedKind::JobTemplate, namespace, name))? {
            Observed::JobTemplate(template) => Some(template),
            _ => None,
        }
    }

    /// The HyperNode of this name, if it is there.
    pub fn hyper_node(&self, name: &str) -> Option<&HyperNode> {
        match self.get(&ManagedRef::global(ManagedKind::HyperNode, name))? {
            Observed::HyperNode(hyper_node) => Some(hyper_node),
            _ => None,
        }
    }

    /// Jobs that the object of this UID controls, by namespace and name.
    pub fn jobs_of_owner(&self, uid: &str) -> impl Iterator<Item = &Job> {
        let names = self.jobs_of_owners.get(uid).into_iter().flatten();
        names.filter_map(|(namespace, name)| self.job(namespace, name))
    }

    /// Jobs that were made from a JobTemplate of this name, by name.
    pub fn jobs_of_template(&self, namespace: &str, name: &str) -> impl Iterator<Item = &Job> {
        let key = (namespace.to_owned(), name.to_owned());
        let names = self.jobs_of_templates.get(&key).into_iter().flatten();
        names.filter_map(move |name| self.job(&key.0, name))
    }

    /// A workload that owns pods.
    pub fn workload(
        &self,
        kind: ManagedKind,
        namespace: &str,
        name: &str,
    ) -> Option<&TrackedWorkload> {
        match self.get(&ManagedRef::new(kind, namespace, name))? {
            Observed::Workload(workload) => Some(workload),
            _ => None,
        }
    }

    /// What is read of a policy of the API server, or of the binding of one.
    pub fn guard(&self, kind: ManagedKind, name: &str) -> Option<&CommandGuard> {
        match self.get(&ManagedRef::global(kind, name))? {
            Observed::Guard(_, guard) => Some(guard),
            _ => None,
        }
    }

    /// Value of a priority class, 0 for one that does not exist.
    pub fn priority(&self, class: &str) -> i32 {
        match self.get(&ManagedRef::global(ManagedKind::PriorityClass, class)) {
            Some(Observed::PriorityClass(class)) => class.value,
            _ => 0,
        }
    }
}

/// Name of the JobTemplate in the Job's namespace that a Job was made from. A namespace has no dot,
/// the name of a template may have some.
pub fn template_of(job: &Job) -> Option<&str> {
    let meta = &job.metadata;
    let maps = [&meta.annotations, &meta.labels];
    let mut values = maps
        .into_iter()
        .filter_map(|map| map.as_ref()?.get(keys::CREATED_BY_JOB_TEMPLATE));
    let (namespace, name) = values.next()?.split_once('.')?;
    (Some(namespace) == meta.namespace.as_deref()).then_some(name)
}

/// Queue of a PodGroup.
pub fn queue_of(group: &PodGroup) -> &str {
    match group.spec.queue.as_str() {
        "" => keys::DEFAULT_QUEUE,
        queue => queue,
    }
}

fn enter<K, V>(index: &mut HashMap<K, BTreeSet<V>>, key: K, value: V, is_there: bool)
where
    K: std::hash::Hash + Eq + Clone,
    V: Ord,
{
    if is_there {
        index.entry(key).or_default().insert(value);
        return;
    }
    if let Some(values) = index.get_mut(&key) {
        values.remove(&value);
        if values.is_empty() {
            index.remove(&key);
        }
    }
}
