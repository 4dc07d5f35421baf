//! What is read of a workload, by the rights of the one who asks. What may not be read is noted and
//! left out.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::Resource;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob as BatchCronJob, Job as BatchJob};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Event, Pod};
use pumice_api::{CronJob, Job, JobFlow, PodGroup, keys};
use pumice_cluster::remote::{ObjectsError, path_part};
use serde_json::Value;

use super::super::user::{ClusterUser, typed, wrong};
use super::super::words::age;
use super::AccountFacts;
use super::job::since;
use super::pods::text;

/// Where the controllers have their Lease, whatever the namespace of the release.
const CONTROLLERS: (&str, &str) = ("volcano-system", "vc-controller-manager");

/// Seconds after the end of its term in which a Lease counts as held: clocks differ.
const CLOCKS_DIFFER_S: i64 = 30;

type Get = fn(&ClusterUser, &str, &str) -> Result<Option<Value>, ObjectsError>;
type List = fn(&ClusterUser, &str, &str) -> Result<Vec<Value>, ObjectsError>;

/// A kind of workload, and what it makes that owns the pods, if it does not own them itself.
struct WorkloadKind {
    name: &'static str,
    get: Get,
    makes: Option<(&'static str, List)>,
}

/// Workloads of other groups than ours, in the order in which a name is looked for.
const WORKLOADS: [WorkloadKind; 8] = [
    WorkloadKind {
        name: "Deployment",
        get: get::<Deployment>,
        makes: Some(("ReplicaSet", list::<ReplicaSet>)),
    },
    WorkloadKind {
        name: "StatefulSet",
        get: get::<StatefulSet>,
        makes: None,
    },
    WorkloadKind {
        name: "DaemonSet",
        get: get::<DaemonSet>,
        makes: None,
    },
    WorkloadKind {
        name: "ReplicaSet",
        get: get::<ReplicaSet>,
        makes: None,
    },
    WorkloadKind {
        name: "Job",
        get: get::<BatchJob>,
        makes: None,
    },
    WorkloadKind {
        name: "CronJob",
        get: get::<BatchCronJob>,
        makes: Some(("Job", list::<BatchJob>)),
    },
    WorkloadKind {
        name: "JobFlow",
        get: get::<JobFlow>,
        makes: Some(("Job", list::<Job>)),
    },
    WorkloadKind {
        name: "CronJob",
        get: get::<CronJob>,
        makes: Some(("Job", list::<Job>)),
    },
];

fn get<K: Resource>(
    user: &ClusterUser,
    namespace: &str,
    name: &str,
) -> Result<Option<Value>, ObjectsError> {
    user.try_ask(user.objects.get::<K>(namespace, name))
}

fn list<K: Resource>(
    user: &ClusterUser,
    namespace: &str,
    query: &str,
) -> Result<Vec<Value>, ObjectsError> {
    user.try_ask(user.objects.list::<K>(namespace, query))
}

/// The answer, or nothing where it may not be read or the kind is not there.
fn allowed<T: Default>(
    answer: Result<T, ObjectsError>,
    hidden: &mut Vec<String>,
) -> anyhow::Result<T> {
    match answer {
        Ok(answer) => Ok(answer),
        Err(ObjectsError::NoKind { .. }) => Ok(T::default()),
        Err(ObjectsError::NotAllowed { message, .. }) => {
            hidden.push(message);
            Ok(T::default())
        }
        Err(error) => Err(wrong(error)),
    }
}

/// The workload of a name: a Job of ours, else one of another kind, followed to what owns its pods.
pub(in crate::live) fn read(
    user: &ClusterUser,
    namespace: &str,
    name: &str,
) -> anyhow::Result<AccountFacts> {
    let mut hidden = Vec::new();
    let job = allowed(get::<Job>(user, namespace, name), &mut hidden)?;
    if let Some(job) = job {
        return read_job(user, job);
    }
    for kind in &WORKLOADS {
        // Who may read Jobs of ours need not read all other kinds.
        let mut passed_over = Vec::new();
        let found = allowed((kind.get)(user, namespace, name), &mut passed_over)?;
        let Some(top) = found else {
            continue;
        };
        let mut facts = AccountFacts {
            kind: kind.name.to_owned(),
            hidden,
            ..AccountFacts::default()
        };
        if let Some((made, list)) = kind.makes {
            let all = allowed(list(user, namespace, ""), &mut facts.hidden)?;
            let newest = newest_of(&all, text(&top["metadata"]["uid"]));
            facts.owner = newest.map(|owner| (made.to_owned(), owner.clone()));
        }
        facts.top = top;
        read_below(user, namespace, &mut facts)?;
        return Ok(facts);
    }
    Ok(AccountFacts {
        hidden,
        ..AccountFacts::default()
    })
}

/// A Job of ours, with what belongs to it.
pub(in crate::live) fn read_job(user: &ClusterUser, job: Value) -> anyhow::Result<AccountFacts> {
    let namespace = text(&job["metadata"]["namespace"]).to_owned();
    let mut facts = AccountFacts {
        kind: keys::JOB_KIND.to_owned(),
        top: job,
        silence: controllers_silent(user),
        ..AccountFacts::default()
    };
    read_below(user, &namespace, &mut facts)?;
    Ok(facts)
}

/// The Job of ours that owns a PodGroup; `None` where another owns it, or nobody. Neither answer may take longer than
/// `patience`.
pub(in crate::live) fn job_of_group(
    user: &ClusterUser,
    (namespace, group): (&str, &str),
    patience: Duration,
) -> Result<Option<Job>, ObjectsError> {
    let group = user.ask_within(patience, user.objects.get::<PodGroup>(namespace, group))?;
    let owners = group.as_ref();
    let owners = owners.and_then(|group| group["metadata"]["ownerReferences"].as_array());
    let is_job = |owner: &&Value| {
        owner["apiVersion"] == keys::BATCH_API_VERSION && owner["kind"] == keys::JOB_KIND
    };
    let Some(owner) = owners.into_iter().flatten().find(is_job) else {
        return Ok(None);
    };
    let job = user.objects.get::<Job>(namespace, text(&owner["name"]));
    let job = user.ask_within(patience, job)?;
    // Another one may have the name by now.
    let job = job.filter(|job| job["metadata"]["uid"] == owner["uid"]);
    Ok(job.and_then(|job| typed(&job).ok()))
}

/// A pod alone, if it is there.
pub(in crate::live) fn read_pod(
    user: &ClusterUser,
    namespace: &str,
    name: &str,
) -> anyhow::Result<Option<Value>> {
    user.ask(user.objects.get::<Pod>(namespace, name))
}

/// Whether the object of this UID is one of the owners.
pub(in crate::live) fn is_owned_by(object: &Value, uid: &str) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners
        .into_iter()
        .flatten()
        .any(|owner| owner["uid"] == uid)
}

/// What an owner has made last; of a Deployment the ReplicaSet that is to have pods.
fn newest_of<'a>(all: &'a [Value], owner: &str) -> Option<&'a Value> {
    let own = all.iter().filter(|object| is_owned_by(object, owner));
    own.max_by_key(|object| {
        let has_pods = object["spec"]["replicas"].as_i64().unwrap_or(1) > 0;
        let created = text(&object["metadata"]["creationTimestamp"]).to_owned();
        (has_pods, created)
    })
}

/// PodGroups, pods and events of a workload that is known.
fn read_below(user: &ClusterUser, namespace: &str, facts: &mut AccountFacts) -> anyhow::Result<()> {
    let top = text(&facts.top["metadata"]["uid"]).to_owned();
    let owner = facts.owner.as_ref().map(|(_, owner)| owner);
    let owner = owner.map(|owner| text(&owner["metadata"]["uid"]).to_owned());
    let owner = owner.unwrap_or_else(|| top.clone());
    let mut hidden = std::mem::take(&mut facts.hidden);
    // Pods of our Jobs have a label: a namespace may have thousands of others.
    let query = match facts.top["apiVersion"] == keys::BATCH_API_VERSION && facts.owner.is_none() {
        true => job_query(text(&facts.top["metadata"]["name"])),
        false => String::new(),
    };
    let mut pods = allowed(list::<Pod>(user, namespace, &query), &mut hidden)?;
    pods.retain(|pod| is_owned_by(pod, &owner));
    let mut groups = allowed(list::<PodGroup>(user, namespace, ""), &mut hidden)?;
    groups.retain(|group| is_group_of(group, &owner, &pods));
    // Of events one can do without.
    let query = format!("fieldSelector=involvedObject.uid%3D{top},type%3DWarning");
    let mut warnings = list::<Event>(user, namespace, &query).unwrap_or_default();
    let last = |event: &Value| {
        let times = ["lastTimestamp", "eventTime", "firstTimestamp"];
        let mut times = times.iter().filter_map(|field| event[*field].as_str());
        times.next().unwrap_or_default().to_owned()
    };
    warnings.sort_by_key(last);
    (facts.pods, facts.groups) = (pods, groups);
    (facts.warnings, facts.hidden) = (warnings, hidden);
    Ok(())
}

/// Selects the pods of a Job by their label.
pub(in crate::live) fn job_query(job: &str) -> String {
    format!(
        "labelSelector={}%3D{}",
        path_part(keys::JOB_NAME),
        path_part(job)
    )
}

/// The workload or one of its pods owns it, or a pod names it.
fn is_group_of(group: &Value, owner: &str, pods: &[Value]) -> bool {
    let name = text(&group["metadata"]["name"]);
    is_owned_by(group, owner)
        || pods.iter().any(|pod| {
            let metadata = &pod["metadata"];
            let named = text(&metadata["annotations"][keys::GROUP_NAME]);
            named == name || is_owned_by(group, text(&metadata["uid"]))
        })
}

/// Since when nobody holds the Lease of the controllers; `None` where somebody does, or it is not
/// known.
fn controllers_silent(user: &ClusterUser) -> Option<String> {
    let (namespace, name) = CONTROLLERS;
    let lease = get::<Lease>(user, namespace, name).ok().flatten()?;
    silence(&lease, Timestamp::now())
}

/// What a Lease says of its holder that is not there.
pub(super) fn silence(lease: &Value, now: Timestamp) -> Option<String> {
    let spec = &lease["spec"];
    let renewed: Timestamp = text(&spec["renewTime"]).parse().ok()?;
    let waited = since(renewed, now);
    let term = spec["leaseDurationSeconds"].as_i64().unwrap_or_default();
    let is_free = text(&spec["holderIdentity"]).is_empty();
    let is_over = waited > term.saturating_add(CLOCKS_DIFFER_S);
    let (namespace, name) = CONTROLLERS;
    (is_over || is_free && waited > term).then(|| {
        format!(
            "the controllers do not run: nobody has renewed their Lease {namespace}/{name} for {}; \
             kubectl -n {namespace} get pods -l app=volcano-controller",
            age(waited)
        )
    })
}
