//! Acts as an operator does for one job: looks at what is there, and makes, changes and deletes what is not as wanted.

mod groups;
mod objects;
mod workloads;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use http::Method;
use pumice_e2e::samples::written;
use pumice_e2e::{Rest, eventually, is_status};
use serde_json::{Value, json};

use self::groups::{numbered, scope};
use self::objects::{lives, name_of, number_of, settle_in, stem_of};
use super::places::{POOL, is_member, path};
use super::{Ends, Grows, HeldBy, Made, NewNames, Operator, Starts};
use crate::LONG;

const GROUP_NAME: &str = "scheduling.k8s.io/group-name";
const QUEUE_NAME: &str = "scheduling.volcano.sh/queue-name";
const MIN_MEMBER: &str = "scheduling.volcano.sh/group-min-member";

/// Version of PodGroups.
const SCHEDULING: &str = "scheduling.volcano.sh/v1beta1";

/// Beginning of the names of PodGroups that the PodGroup controller makes.
pub(super) const OF_CONTROLLER: &str = "podgroup-";

/// A pod of the job as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MemberSeen {
    pub(super) uid: String,
    pub(super) node: Option<String>,
    pub(super) runs: bool,
}

/// Pods of a job by name, without those that have failed or are going.
pub(super) type Members = BTreeMap<String, MemberSeen>;

/// What the operator or its user knows of gangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Knows {
    /// PodGroups and annotations are written.
    Volcano,
    /// Pods have another schedulerName, and the annotation of a queue.
    SchedulerName,
}

/// An operator with one job.
pub(super) struct StandIn {
    rest: Rest,
    pub(super) operator: &'static Operator,
    knows: Knows,
    /// The PodGroup, if the operator writes it.
    group: Option<Value>,
    /// Pods as the operator writes them: leaders, and the others.
    leaders: Vec<Value>,
    workers: Vec<Value>,
    /// How many of the others there are to be, and how many groups of all.
    wanted: usize,
    groups: usize,
    /// How many pods that are no leaders were made so far.
    named: usize,
    /// Groups and roles that were there as a whole.
    whole: BTreeSet<String>,
}

impl StandIn {
    /// An operator whose user has just made the job of its sample.
    pub(super) fn new(rest: Rest, operator: &'static Operator, knows: Knows) -> Result<Self> {
        let sample = written(operator.sample)?;
        let name = |object: &Value| {
            object["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let pods = sample.iter().filter(|object| object["kind"] == "Pod");
        let mut pods: Vec<Value> = pods
            .filter(|pod| name(pod).starts_with(operator.job))
            .cloned()
            .collect();
        let of =
            pods.last().context("pods of the job")?["metadata"]["annotations"][GROUP_NAME].clone();
        let group = sample
            .iter()
            .find(|object| object["kind"] == "PodGroup" && object["metadata"]["name"] == of);
        let group = group.context("the PodGroup of the job")?;
        let is_written = !name(group).starts_with(OF_CONTROLLER) && knows == Knows::Volcano;
        for pod in &mut pods {
            settle_in(pod, operator.sample, is_written);
        }
        let is_leader = |pod: &Value| operator.leader.is_some_and(|part| name(pod).contains(part));
        let (leaders, workers): (Vec<Value>, Vec<Value>) = pods.into_iter().partition(is_leader);
        ensure!(
            workers.len() > 1,
            "{}: {} workers",
            operator.sample,
            workers.len()
        );
        Ok(Self {
            rest,
            operator,
            knows,
            group: is_written.then(|| group.clone()),
            wanted: workers.len(),
            named: 0,
            leaders,
            workers,
            groups: 1,
            whole: BTreeSet::new(),
        })
    }

    /// How many pods the job has when all are there.
    pub(super) fn size(&self) -> usize {
        self.groups * (self.leaders.len() + self.wanted)
    }

    /// How many pods the job gains when it grows.
    pub(super) fn step(&self) -> usize {
        match self.operator.grows {
            Grows::ByGroup => self.workers.len(),
            _ => 1,
        }
    }

    /// The user asks for more.
    pub(super) fn grow(&mut self) -> Result<()> {
        match self.operator.grows {
            Grows::ByGroup => self.groups += 1,
            Grows::Anew => {
                self.suspend()?;
                self.wanted += 1;
            }
            _ => self.wanted += 1,
        }
        Ok(())
    }

    /// The user asks for less.
    pub(super) fn shrink(&mut self) -> Result<()> {
        match self.operator.grows {
            Grows::ByGroup => {
                self.groups -= 1;
                let gone = self.of_group(self.groups);
                for pod in gone {
                    self.delete_pod(&name_of(&pod))?;
                    self.whole.remove(&scope(&pod));
                }
                let group = self.group_object(self.groups)?;
                self.rest
                    .delete_now(&format!("{}/{}", self.groups_path(), name_of(&group)))?;
            }
            Grows::Anew => {
                self.suspend()?;
                self.wanted -= 1;
            }
            _ => self.wanted -= 1,
        }
        Ok(())
    }

    /// Acts until the pods are as they should be.
    pub(super) fn until(
        &mut self,
        what: &str,
        is_so: impl Fn(&Members) -> bool,
    ) -> Result<Members> {
        eventually(LONG, what, || {
            self.act()?;
            let seen = self.members()?;
            ensure!(is_so(&seen), "there are {seen:?}");
            Ok(Some(seen))
        })
    }

    /// Names of the PodGroups that pods name, each with its minMember.
    pub(super) fn named_groups(&self) -> Result<BTreeMap<String, i64>> {
        let mut named = BTreeMap::new();
        for pod in self.pods()?.iter().filter(|pod| lives(pod)) {
            let name = &pod["metadata"]["annotations"][GROUP_NAME];
            let name = name
                .as_str()
                .with_context(|| format!("{}: no PodGroup", name_of(pod)))?;
            let group = self.rest.get(&format!("{}/{name}", self.groups_path()))?;
            let minimum = group["spec"]["minMember"].as_i64().unwrap_or_default();
            named.insert(name.to_owned(), minimum);
        }
        Ok(named)
    }

    /// The pods that count.
    pub(super) fn members(&self) -> Result<Members> {
        let living = self.pods()?.into_iter().filter(lives);
        let seen = living.map(|pod| {
            let member = MemberSeen {
                uid: pod["metadata"]["uid"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
                node: pod["spec"]["nodeName"].as_str().map(str::to_owned),
                runs: pod["status"]["phase"] == "Running",
            };
            (name_of(&pod), member)
        });
        Ok(seen.collect())
    }

    /// A member that is no leader: the last by name.
    pub(super) fn a_worker(&self, seen: &Members) -> Result<String> {
        let mut names = seen.keys().rev();
        let found = names.find(|name| self.is_worker_name(name));
        found.cloned().context("a worker")
    }

    /// Whether this is the name of a pod of which there can be more.
    fn is_worker_name(&self, name: &str) -> bool {
        let stem = self.workers.first().map(|pod| stem_of(&name_of(pod)));
        let is_alike = || stem.is_some_and(|stem| name.starts_with(&stem));
        let leader = self.operator.leader;
        leader.is_none_or(|part| !name.contains(part) && is_alike())
    }

    /// Names of the pods that are made anew when this one is.
    pub(super) fn renewed_with(&self, name: &str) -> BTreeSet<String> {
        if self.operator.ends != Ends::WithAll {
            return [name.to_owned()].into();
        }
        let all = || (0..self.groups).flat_map(|number| self.of_group(number));
        let of = all()
            .find(|pod| name_of(pod) == name)
            .map(|pod| scope(&pod));
        let same = all().filter(|pod| Some(scope(pod)) == of);
        same.map(|pod| name_of(&pod)).collect()
    }

    fn pods(&self) -> Result<Vec<Value>> {
        let mut pods = self.rest.list(&self.pods_path())?;
        pods.retain(is_member);
        Ok(pods)
    }

    /// Looks once, and does what is to be done.
    pub(super) fn act(&mut self) -> Result<()> {
        if self.operator.grows == Grows::ByGroup {
            return self.act_by_group();
        }
        self.keep_group(0)?;
        let waits = self.operator.starts == Starts::WhenAdmitted && self.group.is_some();
        if waits && !self.is_admitted()? {
            return Ok(());
        }
        let pods = self.pods()?;
        if !self.keep_leaders(&pods)? {
            return Ok(());
        }
        match self.operator.made {
            Made::Alone => self.keep_workers(&pods),
            Made::PlainJob | Made::IndexedJob => self.keep_job(),
        }
    }

    /// Makes the PodGroup of a group of pods, or replaces its spec by what is wanted now.
    fn keep_group(&self, number: usize) -> Result<()> {
        if self.group.is_none() {
            return Ok(());
        }
        let wanted = self.group_object(number)?;
        let is_owned = wanted["metadata"]["ownerReferences"] != json!([]);
        if self.operator.grows == Grows::ByGroup && !is_owned {
            // The leader, whose PodGroup goes with it, is not there.
            return Ok(());
        }
        let path = format!("{}/{}", self.groups_path(), name_of(&wanted));
        let mut there = match self.rest.get(&path) {
            Err(error) if is_status(&error, 404) => {
                self.rest.create(&self.groups_path(), &wanted)?;
                return Ok(());
            }
            other => other?,
        };
        // spark-submit makes the driver the owner of a PodGroup that was there before.
        let lacks_owner = there["metadata"]["ownerReferences"].is_null() && is_owned;
        let is_followed = matches!(self.operator.grows, Grows::Followed | Grows::Anew);
        let differs = there["spec"]["minMember"] != wanted["spec"]["minMember"];
        if !(lacks_owner || is_followed && differs) {
            return Ok(());
        }
        there["metadata"]["ownerReferences"] = wanted["metadata"]["ownerReferences"].clone();
        if is_followed {
            there["spec"] = wanted["spec"].clone();
        }
        match self.rest.call(Method::PUT, &path, Some(&there)) {
            // The scheduler was faster: the operator looks again.
            Err(error) if is_status(&error, 409) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// The PodGroup as it is wanted, for one of the groups.
    fn group_object(&self, number: usize) -> Result<Value> {
        let mut group = numbered(
            self.group.as_ref().context("a PodGroup")?,
            self.operator,
            number,
        );
        let size = match self.operator.grows {
            Grows::ByGroup => self.workers.len(),
            Grows::Beyond => self.leaders.len() + self.workers.len(),
            Grows::Followed | Grows::Anew => self.size(),
        };
        let spec = &mut group["spec"];
        if self.operator.holds == HeldBy::MinMember {
            spec["minMember"] = json!(size);
        }
        spec["minResources"] = json!({"cpu": size.to_string(), "memory": format!("{size}Gi")});
        spec["queue"] = json!(self.operator.sample);
        self.own(&mut group)?;
        Ok(group)
    }

    fn is_admitted(&self) -> Result<bool> {
        let name = name_of(self.group.as_ref().context("a PodGroup")?);
        let group = self.rest.get(&format!("{}/{name}", self.groups_path()))?;
        let phase = group["status"]["phase"].as_str().unwrap_or_default();
        Ok(!matches!(phase, "" | "Pending"))
    }

    /// Makes the leaders that are missing; says whether the others may be made.
    fn keep_leaders(&self, pods: &[Value]) -> Result<bool> {
        for leader in &self.leaders {
            if leader["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet" {
                self.keep_deployment(leader)?;
            } else if !pods.iter().any(|pod| name_of(pod) == name_of(leader)) {
                self.create_pod(leader)?;
            }
        }
        let runs = |pod: &&Value| lives(pod) && pod["status"]["phase"] == "Running";
        let running = pods
            .iter()
            .filter(|pod| self.is_led_by(pod))
            .filter(runs)
            .count();
        Ok(self.operator.starts != Starts::LeaderFirst || running >= self.leaders.len())
    }

    /// Makes and deletes pods until there are as many as wanted.
    fn keep_workers(&mut self, pods: &[Value]) -> Result<()> {
        let stem = stem_of(&name_of(self.workers.first().context("a worker")?));
        let is_worker = |pod: &&Value| self.is_worker_name(&name_of(pod));
        let workers: Vec<&Value> = pods.iter().filter(is_worker).collect();
        if self.operator.ends == Ends::Failed {
            for pod in workers
                .iter()
                .filter(|pod| pod["status"]["phase"] == "Failed")
            {
                self.delete_pod(&name_of(pod))?;
            }
        }
        let mut living: Vec<String> = workers
            .iter()
            .filter(|pod| lives(pod))
            .map(|pod| name_of(pod))
            .collect();
        living.sort_by_key(|name| number_of(name));
        while living.len() > self.wanted {
            let last = living.pop().context("a pod")?;
            self.delete_pod(&last)?;
        }
        match self.operator.names {
            NewNames::Kept => {
                for at in 0..self.wanted {
                    let name = format!("{stem}{at}");
                    if !workers.iter().any(|pod| name_of(pod) == name) {
                        self.create_pod(&self.worker(&name)?)?;
                    }
                }
            }
            NewNames::New => {
                for _ in living.len()..self.wanted {
                    let name = match self.workers.get(self.named) {
                        Some(first) => name_of(first),
                        None => format!("{stem}{}", self.named + 1),
                    };
                    self.named += 1;
                    self.create_pod(&self.worker(&name)?)?;
                }
            }
        }
        Ok(())
    }

    fn is_led_by(&self, pod: &Value) -> bool {
        let is_manager = pod["metadata"]["labels"]["component"] == "jobmanager";
        let part = self.operator.leader;
        is_manager || part.is_some_and(|part| name_of(pod).contains(part))
    }

    fn worker(&self, name: &str) -> Result<Value> {
        let mut pod = self.workers.last().context("a worker")?.clone();
        pod["metadata"]["name"] = json!(name);
        Ok(pod)
    }

    fn create_pod(&self, pod: &Value) -> Result<()> {
        let mut pod = pod.clone();
        self.own(&mut pod)?;
        self.rest.create(&self.pods_path(), &pod).map(|_| ())
    }

    fn delete_pod(&self, name: &str) -> Result<()> {
        self.rest
            .delete_now(&format!("{}/{name}", self.pods_path()))
    }

    /// Names owners as they are in this cluster. Kubernetes deletes what is owned by an object of its own kinds that
    /// is not there, so such an owner is left out; of the operators' kinds it knows nothing.
    fn own(&self, object: &mut Value) -> Result<()> {
        let Value::Array(owners) = object["metadata"]["ownerReferences"].take() else {
            return Ok(());
        };
        let mut kept = Vec::new();
        for mut owner in owners {
            let (api, plural) = match owner["kind"].as_str() {
                Some("Pod") => ("", "pods"),
                Some("Deployment") => ("apps/v1", "deployments"),
                Some("Job" | "ReplicaSet" | "StatefulSet") => continue,
                _ => {
                    kept.push(owner);
                    continue;
                }
            };
            let path = path(api, self.operator.sample, plural);
            let name = owner["name"].as_str().unwrap_or_default();
            if let Ok(there) = self.rest.get(&format!("{path}/{name}")) {
                owner["uid"] = there["metadata"]["uid"].clone();
                kept.push(owner);
            }
        }
        object["metadata"]["ownerReferences"] = json!(kept);
        Ok(())
    }

    fn pods_path(&self) -> String {
        path("", self.operator.sample, "pods")
    }

    fn groups_path(&self) -> String {
        path(SCHEDULING, self.operator.sample, "podgroups")
    }
}
