//! What job plugins make once a Job (spec/03 C3.7): its objects, before the first pods, and the
//! hosts they list, before pods that come later. What was made stands in
//! `status.controlledResources`, because these objects are not followed. Whose an object is that was
//! there already an empty patch asks; a Secret is never asked, since who may patch it can read it.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use pumice_api::job::JobStatus;
use serde_json::{Map, Value};

use super::look::JobLook;
use super::obstacles::TAKEN;
use super::{plugins, task_name};
use crate::runtime::{ApiVerb, ApiWrite, ManagedKind, ManagedRef, ObjectEvent};

/// Key in `status.controlledResources` of the replicas the lists of hosts are made for.
const HOSTS: &str = "plugin-hosts";

/// What an earlier Job of the same name has left behind is gone after this time. What is there then
/// is somebody else's, which is left alone, and that is told.
const OLD: SignedDuration = SignedDuration::from_secs(10);

/// How often it is looked whether it is gone.
const PAUSE: SignedDuration = SignedDuration::from_secs(1);

/// Whether an object of somebody else may go, so that it is worth trying again.
#[derive(Clone, Copy)]
enum Tries {
    Now,
    Later,
    Over,
}

/// How writes for plugins have ended.
#[derive(Debug, Default)]
pub(super) struct PluginWrites {
    made: BTreeSet<ManagedRef>,
    /// There already: whose they are is to be asked.
    found: BTreeSet<ManagedRef>,
    /// Not of the Job, when it was asked last.
    foreign: BTreeSet<ManagedRef>,
    /// Not all of it was made just now, for the hosts of now.
    is_older: bool,
    /// To be told of as somebody else's.
    untold: Vec<ManagedRef>,
    /// When what is not of the Job may be gone.
    pub retry_at: Option<Timestamp>,
    /// Hosts in what was made.
    made_for: Option<String>,
    refreshed: BTreeSet<ManagedRef>,
    refreshed_for: String,
}

impl PluginWrites {
    /// A write was done, or has found what it was to make, or nothing to change.
    pub fn note(&mut self, write: &ApiWrite, was_done: bool) {
        if !is_of_plugins(write.of.kind) {
            return;
        }
        let of = write.of.clone();
        let is_creation = matches!(
            write.verb,
            ApiVerb::Create(_) | ApiVerb::CreateWithSshKeys(_)
        );
        let was_asked_for = !is_creation && self.found.remove(&of);
        self.is_older |= was_asked_for;
        match (is_creation, was_asked_for, was_done) {
            (true, _, true) | (_, true, true) => self.made.insert(of),
            (true, _, false) if !may_be_asked(&of) => self.foreign.insert(of),
            (true, _, false) => self.found.insert(of),
            (_, true, false) => self.foreign.insert(of),
            (_, false, _) => self.refreshed.insert(of),
        };
    }

    /// What has to be written so that an object is there; nothing if it is, or is somebody else's
    /// for good.
    fn next(&mut self, write: ApiWrite, look: &JobLook<'_>, tries: Tries) -> Option<ApiWrite> {
        let of = &write.of;
        if self.made.contains(of) {
            return None;
        }
        if self.found.contains(of) {
            let of = of.clone();
            return Some(ApiWrite::merge_owned(
                look.uid(),
                of,
                Value::Object(Map::new()),
            ));
        }
        match tries {
            Tries::Over if self.foreign.contains(of) => {
                self.untold.push(write.of);
                None
            }
            Tries::Later if self.foreign.contains(of) => {
                let next = look.now.checked_add(PAUSE).ok();
                self.retry_at = self.retry_at.or(next);
                None
            }
            _ => Some(write),
        }
    }

    /// Whether what is not of the Job is tried again.
    fn tries(&mut self, look: &JobLook<'_>) -> Tries {
        let created = look.raw.metadata.creation_timestamp.as_ref();
        let age = created.map_or(OLD, |created| look.now.duration_since(created.0));
        if age >= OLD {
            self.retry_at = None;
            return Tries::Over;
        }
        if self.retry_at.is_some_and(|at| at <= look.now) {
            self.retry_at = None;
            return Tries::Now;
        }
        Tries::Later
    }

    /// Whose objects were found in the place of the Job's, once.
    pub fn tell(&mut self, look: &JobLook<'_>) -> Vec<ObjectEvent> {
        let told = std::mem::take(&mut self.untold);
        if told.is_empty() {
            return Vec::new();
        }
        let (asked, unasked): (Vec<_>, Vec<_>) = told.into_iter().partition(may_be_asked);
        let names = |told: &[ManagedRef]| {
            let told: Vec<String> = told.iter().map(ToString::to_string).collect();
            told.join(", ")
        };
        let asked = (!asked.is_empty()).then(|| {
            format!(
                "not of this Job, but there already: {}; it is left as it is and the pods use it; \
                 delete it and make the Job anew, or give the Job another name",
                names(&asked)
            )
        });
        let unasked = (!unasked.is_empty()).then(|| {
            format!(
                "there already: {}; the controllers may not read whose it is, it is left as it is \
                 and the pods use it; if it is not of this Job, delete it and make the Job anew, or \
                 give the Job another name",
                names(&unasked)
            )
        });
        let messages = asked.into_iter().chain(unasked);
        messages
            .map(|message| look.event(true, TAKEN, message))
            .collect()
    }
}

/// Whether a patch may ask whose an object is.
fn may_be_asked(of: &ManagedRef) -> bool {
    of.kind != ManagedKind::Secret
}

fn is_of_plugins(kind: ManagedKind) -> bool {
    matches!(
        kind,
        ManagedKind::ConfigMap
            | ManagedKind::Secret
            | ManagedKind::Service
            | ManagedKind::NetworkPolicy
    )
}

/// What is to be written before pods are made; what is there is recorded in `status`.
pub(super) fn writes(
    look: &JobLook<'_>,
    known: &mut PluginWrites,
    status: &mut JobStatus,
) -> Vec<ApiWrite> {
    let tries = known.tries(look);
    let hosts = hosts(look);
    let mut writes = Vec::new();
    let mut is_new = false;
    let is_recorded = |key: &String| status.controlled_resources.contains_key(key);
    let wanted = match plugins::recorded(&look.job).all(|key| is_recorded(&key)) {
        true => Vec::new(),
        false => plugins::objects(&look.job),
    };
    for (key, wanted) in wanted {
        if status.controlled_resources.contains_key(&key) {
            continue;
        }
        let missing = wanted.into_iter();
        let missing: Vec<ApiWrite> = missing
            .filter_map(|write| known.next(write, look, tries))
            .collect();
        if missing.is_empty() && known.retry_at.is_none() {
            is_new = true;
            let name = key.trim_start_matches("plugin-").to_owned();
            status.controlled_resources.insert(key, name);
        }
        writes.extend(missing);
    }
    if !writes.is_empty() || known.retry_at.is_some() {
        known.made_for.get_or_insert(hosts);
        return writes;
    }
    let is_up_to_date = status.controlled_resources.get(HOSTS) == Some(&hosts);
    if is_up_to_date || !plugins::follows_replicas(&look.job) {
        return writes;
    }
    let is_made_for = is_new && !known.is_older && known.made_for.as_ref() == Some(&hosts);
    if known.refreshed_for != hosts {
        known.refreshed.clear();
        known.refreshed_for.clone_from(&hosts);
    }
    if !is_made_for {
        let open = plugins::refresh(&look.job).into_iter();
        writes.extend(open.filter(|write| !known.refreshed.contains(&write.of)));
    }
    if writes.is_empty() {
        status.controlled_resources.insert(HOSTS.to_owned(), hosts);
    }
    writes
}

/// Everything is made and recorded that pods need.
pub(super) fn is_complete(look: &JobLook<'_>) -> bool {
    let recorded = &look.raw.status.controlled_resources;
    let mut keys = plugins::recorded(&look.job);
    let has_hosts =
        || recorded.get(HOSTS) == Some(&hosts(look)) || !plugins::follows_replicas(&look.job);
    keys.all(|key| recorded.contains_key(&key)) && has_hosts()
}

/// Something was recorded that is not yet written.
pub(super) fn is_recorded_anew(look: &JobLook<'_>, status: &JobStatus) -> bool {
    let known = &look.raw.status.controlled_resources;
    let mut new = status.controlled_resources.iter();
    new.any(|(key, value)| key.starts_with("plugin-") && known.get(key) != Some(value))
}

/// The replicas that lists of hosts follow from.
fn hosts(look: &JobLook<'_>) -> String {
    let tasks = look.job.spec.tasks.iter();
    let counts: Vec<String> = tasks
        .map(|task| format!("{}={}", task_name(task), task.replicas))
        .collect();
    counts.join(",")
}
