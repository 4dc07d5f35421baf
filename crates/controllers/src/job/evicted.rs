//! Pods that go although the Job wants them: told on the Job, since nobody finds the events of a pod
//! that is gone.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::gone::GonePod;
use super::look::{JobLook, JobPod, PodStanding, job_of_group};
use crate::runtime::{Disruption, ManagedRef};

/// Event and `status.state.reason`.
pub(super) const REASON: &str = "PodEvicted";

/// What goes within this time is told together.
const TOGETHER: SignedDuration = SignedDuration::from_secs(1);

/// Pods named in one message.
const MAX_NAMED: usize = 5;

/// Pods of a Job that went, and whether that was told.
#[derive(Debug, Default)]
pub(super) struct EvictedPods {
    /// Told, and still there or only just gone.
    told: BTreeSet<String>,
    /// By UID, or by name where nobody has seen the pod.
    untold: BTreeMap<String, EvictedPod>,
    /// When those are told.
    due: Option<Timestamp>,
}

#[derive(Debug)]
struct EvictedPod {
    name: String,
    how: String,
    at: Timestamp,
}

impl EvictedPods {
    /// Takes in what a look finds: pods on their way out, and those that are gone.
    pub fn note(&mut self, look: &JobLook<'_>, gone: &[GonePod]) {
        let version = look.raw.status.version;
        if !self.told.is_empty() {
            let there = look.pods.iter().map(|pod| &*pod.pod.uid);
            let known: BTreeSet<&str> = there.chain(gone.iter().map(|pod| &*pod.uid)).collect();
            self.told.retain(|uid| known.contains(uid.as_str()));
        }
        let is_evicted = |pod: &&JobPod<'_>| {
            pod.pod.deleted.is_some()
                && pod.standing == PodStanding::Wanted
                && pod.member.version >= version
        };
        for pod in look.pods.iter().filter(is_evicted) {
            let disruption = pod.pod.disruption.as_deref();
            self.add(look, (&pod.pod.uid, &pod.pod.name), disruption);
        }
        for pod in gone.iter().filter(|pod| pod.at.is_none()) {
            let key = match pod.uid.as_str() {
                "" => pod.name.as_str(),
                uid => uid,
            };
            self.add(look, (key, &pod.name), pod.disruption.as_ref());
        }
    }

    fn add(
        &mut self,
        look: &JobLook<'_>,
        (key, name): (&str, &str),
        disruption: Option<&Disruption>,
    ) {
        if self.told.contains(key) || self.untold.contains_key(key) {
            return;
        }
        let pod = EvictedPod {
            name: name.to_owned(),
            how: how(look, disruption),
            at: disruption.and_then(|one| one.at).unwrap_or(look.now),
        };
        self.untold.insert(key.to_owned(), pod);
        let due = look.now.checked_add(TOGETHER).unwrap_or(look.now);
        self.due.get_or_insert(due);
    }

    /// When there is something to tell.
    pub fn due(&self) -> Option<Timestamp> {
        self.due
    }

    /// What is to be told now; `at_once`: also what would be told later.
    pub fn tell(&mut self, now: Timestamp, at_once: bool) -> Vec<String> {
        if self.due.is_none_or(|due| due > now && !at_once) {
            return Vec::new();
        }
        self.due = None;
        let mut together: BTreeMap<String, (Timestamp, Vec<String>)> = BTreeMap::new();
        for (key, pod) in std::mem::take(&mut self.untold) {
            self.told.insert(key);
            let (at, names) = together.entry(pod.how).or_insert((pod.at, Vec::new()));
            *at = pod.at.min(*at);
            names.push(pod.name);
        }
        let told = together.into_iter().map(|(how, (at, mut names))| {
            names.sort_unstable();
            let at = Timestamp::from_second(at.as_second()).unwrap_or(at);
            match names.as_slice() {
                [name] => format!("pod {name} was {how}, at {at}"),
                names => format!("{} were {how}, at {at}", several(names)),
            }
        });
        told.collect()
    }
}

/// `4 pods (a, b, c, d)`.
fn several(names: &[String]) -> String {
    let named = names[..names.len().min(MAX_NAMED)].join(", ");
    match names.len() > MAX_NAMED {
        true => format!("{} pods ({named}, …)", names.len()),
        false => format!("{} pods ({named})", names.len()),
    }
}

/// What was done with a pod, to stand behind `was`.
pub(super) fn how(look: &JobLook<'_>, disruption: Option<&Disruption>) -> String {
    let Some(disruption) = disruption else {
        return "deleted by somebody else".to_owned();
    };
    let words = disruption.in_words();
    // Users know Jobs, not the PodGroups that are made for them.
    let group = words.rsplit_once(" for PodGroup ").map(|(_, group)| group);
    let name = group.and_then(|group| group.split_once('/'));
    let group = name.and_then(|(namespace, name)| look.cache.pod_group(namespace, name));
    let job = group.and_then(job_of_group);
    let is_of_job = |job: &ManagedRef| {
        let is_named_so = name.is_some_and(|(_, name)| *name == job.name);
        look.cache.job(&job.namespace, &job.name).is_some() && !is_named_so
    };
    match job.filter(is_of_job) {
        Some(job) => format!("{words} of Job {}/{}", job.namespace, job.name),
        None => words,
    }
}
