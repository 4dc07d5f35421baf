//! The samples of `config/samples`, as a real API server takes them: without what it sets itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

/// Folder with a folder for each sample.
const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../config/samples");

/// Fields that only the server sets.
const SERVER_SIDE: [&str; 7] = [
    "uid",
    "resourceVersion",
    "generation",
    "managedFields",
    "creationTimestamp",
    "deletionTimestamp",
    "ownerReferences",
];

/// A sample: objects, configuration, and where `pumice simulate` binds which pod.
pub struct Sample {
    /// Name of its folder.
    pub name: String,
    /// Objects ready to be created, the oldest first; those of equal age together, as written.
    pub generations: Vec<Vec<Value>>,
    /// Status of objects that the API server takes in a second step only.
    pub statuses: Vec<Value>,
    /// `namespace/name` of pods that are being deleted.
    pub leaving: Vec<String>,
    /// The scheduler's configuration, if it has one.
    pub conf: Option<String>,
    /// Node by `namespace/name` of pod.
    pub binds: BTreeMap<String, String>,
    /// Somebody is evicted for somebody else, and made anew by whoever made it.
    pub evicts: bool,
    /// A ResourceQuota has a say. What it says is in use no controller of the lab keeps up to date.
    pub has_quota: bool,
    /// What is measured of nodes has a say, which nobody in the lab measures.
    pub is_measured: bool,
    /// Resource claims are made from templates, which no controller of the lab does.
    pub has_claim_templates: bool,
}

/// Names of all samples of objects. Those whose jobs come from a trace are left out: nothing of it is an object.
///
/// # Errors
/// When the folder cannot be read.
pub fn names() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(SAMPLES).context("read config/samples")? {
        let entry = entry?;
        if !entry.path().join("trace.csv").exists() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Pods and PodGroups of a sample as they are written, with what only a server would set.
///
/// # Errors
/// When there is no such sample, or it is no YAML.
pub fn written(name: &str) -> Result<Vec<Value>> {
    let mut objects = Vec::new();
    let folder = PathBuf::from(SAMPLES).join(name);
    read_objects(&folder.join("workload.yaml"), &mut objects)?;
    Ok(objects)
}

impl Sample {
    /// Reads a sample.
    ///
    /// # Errors
    /// When a file is missing or no YAML.
    pub fn read(name: &str) -> Result<Self> {
        let folder = PathBuf::from(SAMPLES).join(name);
        let mut objects = Vec::new();
        for file in ["cluster.yaml", "workload.yaml"] {
            let path = folder.join(file);
            if path.exists() {
                read_objects(&path, &mut objects)?;
            }
        }
        let conf = match fs::read_to_string(folder.join("volcano-scheduler.conf")) {
            Ok(text) => Some(text),
            Err(_) => objects.iter().find_map(mounted_conf),
        };
        let key = |object: &Value| {
            let namespace = object["metadata"]["namespace"]
                .as_str()
                .unwrap_or("default");
            format!(
                "{namespace}/{}",
                object["metadata"]["name"].as_str().unwrap_or_default()
            )
        };
        let has_any = |kind: &str| objects.iter().any(|object| object["kind"] == kind);
        let (has_quota, is_measured) = (has_any("ResourceQuota"), has_any("NodeMetrics"));
        let has_claim_templates = has_any("ResourceClaimTemplate");
        let is_leaving = |object: &&Value| !object["metadata"]["deletionTimestamp"].is_null();
        let leaving = objects.iter().filter(is_leaving).map(key).collect();
        objects.retain(is_created);
        let has_state =
            |object: &Value| object["kind"] == "Queue" && !object["status"]["state"].is_null();
        let mut statuses: Vec<Value> = objects.iter().filter(|o| has_state(o)).cloned().collect();
        statuses.iter_mut().for_each(prepare);
        let report = report(&folder)?;
        let evictions = report["evictions"].as_array();
        Ok(Self {
            name: name.to_owned(),
            generations: generations(objects),
            statuses,
            leaving,
            conf,
            binds: binds(&report)?,
            evicts: evictions.is_some_and(|all| !all.is_empty()),
            has_quota,
            is_measured,
            has_claim_templates,
        })
    }
}

/// Objects by age, ready to be created. Only pods, PodGroups and Jobs have an age that counts; one
/// without a time is older than all others.
fn generations(objects: Vec<Value>) -> Vec<Vec<Value>> {
    let mut by_age: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for mut object in objects {
        // The pods of a Job must be there before its controller looks for them.
        let has_age = matches!(object["kind"].as_str(), Some("Pod" | "PodGroup" | "Job"))
            && object["metadata"]["labels"]["volcano.sh/job-name"].is_null();
        let time = object["metadata"]["creationTimestamp"].as_str();
        let age = time.filter(|_| has_age).unwrap_or_default().to_owned();
        prepare(&mut object);
        by_age.entry(age).or_default().push(object);
    }
    by_age.into_values().collect()
}

/// Takes away what only the server sets. Nothing else is changed: a user applies it as it is.
fn prepare(object: &mut Value) {
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    if let Value::Object(metadata) = &mut object["metadata"] {
        for field in SERVER_SIDE {
            metadata.remove(field);
        }
        if !is_cluster_wide(&kind) {
            metadata.entry("namespace").or_insert(json!("default"));
        }
    }
    if kind == "PersistentVolume"
        && let Value::Object(spec) = &mut object["spec"]
    {
        // It names the claim by a UID the server does not give; the claim names the volume too.
        spec.remove("claimRef");
    }
}

fn is_cluster_wide(kind: &str) -> bool {
    matches!(
        kind,
        "Node"
            | "Queue"
            | "PriorityClass"
            | "Namespace"
            | "PersistentVolume"
            | "StorageClass"
            | "CSINode"
            | "CSIDriver"
            | "VolumeAttachment"
    )
}

/// What the API server makes itself, or would not take.
fn is_created(object: &Value) -> bool {
    match object["kind"].as_str().unwrap_or_default() {
        // The scheduler's own configuration is a file here.
        "ConfigMap" => object["data"]["volcano-scheduler.conf"].is_null(),
        kind => !matches!(kind, "Event" | "Service" | "Lease" | "NodeMetrics"),
    }
}

fn read_objects(path: &Path, objects: &mut Vec<Value>) -> Result<()> {
    let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    for document in serde_yaml::Deserializer::from_str(&text) {
        let object = Value::deserialize(document).with_context(|| path.display().to_string())?;
        match object {
            Value::Null => {}
            Value::Object(mut list) if list.get("kind") == Some(&json!("List")) => {
                if let Some(Value::Array(items)) = list.remove("items") {
                    objects.extend(items);
                }
            }
            object => objects.push(object),
        }
    }
    Ok(())
}

fn mounted_conf(object: &Value) -> Option<String> {
    let text = object["data"]["volcano-scheduler.conf"].as_str()?;
    Some(text.to_owned())
}

/// What `pumice simulate --output json` prints for the sample.
fn report(folder: &Path) -> Result<Value> {
    let path = folder.join("expected-json.txt");
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    Ok(serde_json::from_str(&text)?)
}

/// Node by pod.
fn binds(report: &Value) -> Result<BTreeMap<String, String>> {
    let binds = report["binds"].as_array().context("binds of the report")?;
    let bind = |bind: &Value| {
        Some((
            bind["pod"].as_str()?.to_owned(),
            bind["node"].as_str()?.to_owned(),
        ))
    };
    Ok(binds.iter().filter_map(bind).collect())
}
