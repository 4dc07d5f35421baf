//! Pods and nodes mean the same in both encodings in which the API server sends them.
//!
//! `UPDATE_EXPECT=1 cargo test -p pumice-e2e encodings` keeps the pod and the node with all fields that are read, as
//! the API server wrote them, for the tests of the watch.

use std::fmt::Debug;
use std::fs;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use pumice_e2e::{Lab, LabGuard, Rest, eventually};
use pumice_ingest::Options;
use pumice_wire::protobuf::{ProtobufObject, envelope};
use serde_json::{Value, json};

use crate::{LIMIT, PODS};

/// Where the tests of the watch find what is kept.
const KEPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/cluster/src/watch/decode"
);

/// A pod and a node with every field that is read.
const FULL_POD: &str = include_str!("encodings/pod.json");
const FULL_POD_STATUS: &str = include_str!("encodings/pod-status.json");
const FULL_NODE: &str = include_str!("encodings/node.json");

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[test]
fn a_pod_and_a_node_with_everything_mean_the_same_in_both_encodings() -> Result<()> {
    let lab = Lab::take()?;
    lab.kubelet().pause();
    let rest = lab.rest();
    rest.create("/api/v1/nodes", &serde_json::from_str(FULL_NODE)?)?;
    let mut pod: Value = serde_json::from_str(FULL_POD)?;
    // A pod whose owners are gone is soon gone too.
    for owner in pod["metadata"]["ownerReferences"]
        .as_array_mut()
        .context("owners")?
    {
        let made = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": owner["name"]},
        });
        owner["uid"] = rest.create(CONFIG_MAPS, &made)?["metadata"]["uid"].take();
    }
    rest.create(PODS, &pod)?;
    let path = format!("{PODS}/full");
    rest.patch(
        &format!("{path}/status"),
        &serde_json::from_str(FULL_POD_STATUS)?,
    )?;
    let node = versions(rest, "/api/v1/nodes/full")?;
    keep("node", &node)?;
    same(&node, pumice_ingest::node)?;
    let waiting = versions(rest, &path)?;
    keep("pod", &waiting)?;
    same(&waiting, meaning)?;
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "full"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "full"},
    });
    rest.create(&format!("{path}/binding"), &binding)?;
    same(&versions(rest, &path)?, meaning)?;
    rest.call(http::Method::DELETE, &path, None)?;
    let leaving = versions(rest, &path)?;
    ensure!(
        leaving.0["metadata"]["deletionTimestamp"].is_string(),
        "{}",
        leaving.0
    );
    same(&leaving, meaning)?;
    lab.kubelet().resume();
    for name in ["other", "own"] {
        rest.delete_now(&format!("{CONFIG_MAPS}/{name}"))?;
    }
    Ok(())
}

/// Compares both encodings of all pods and nodes as they are now; how many there are.
pub(crate) fn all_mean_the_same(lab: &LabGuard) -> Result<usize> {
    let pods = lab.rest().list("/api/v1/pods")?;
    for pod in &pods {
        let text = |field: &str| pod["metadata"][field].as_str().unwrap_or_default();
        let (namespace, name) = (text("namespace"), text("name"));
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
        same(&versions(lab.rest(), &path)?, meaning)?;
    }
    let nodes = lab.rest().list("/api/v1/nodes")?;
    for node in &nodes {
        let name = node["metadata"]["name"].as_str().unwrap_or_default();
        let path = format!("/api/v1/nodes/{name}");
        same(&versions(lab.rest(), &path)?, pumice_ingest::node)?;
    }
    Ok(pods.len() + nodes.len())
}

/// What a pod means, with all of its annotations.
fn meaning(pod: &Pod) -> impl Debug + PartialEq + use<> {
    let annotations = pod.metadata.annotations.iter().flatten();
    let options = Options {
        // A list of what plugins read lives as long as the process.
        annotations: annotations.map(|(key, _)| &*key.clone().leak()).collect(),
        ..Options::default()
    };
    pumice_ingest::pod(pod, &options)
}

/// One version of an object in both encodings.
type Versions = (Value, Vec<u8>);

fn versions(rest: &Rest, path: &str) -> Result<Versions> {
    eventually(
        LIMIT,
        "an object does not change between two requests",
        || {
            let json = rest.get(path)?;
            let bytes = rest.get_protobuf(path)?;
            let version = json["metadata"]["resourceVersion"]
                .as_str()
                .context("a version")?;
            let named = pumice_wire::protobuf::name_of(envelope(&bytes)?)?;
            Ok((named.version == version).then_some((json, bytes)))
        },
    )
}

fn same<K: ProtobufObject, T: Debug + PartialEq>(
    (json, bytes): &Versions,
    meaning: impl Fn(&K) -> T,
) -> Result<()> {
    let from_json = K::read(json.to_string().as_bytes());
    let from_json = from_json.map_err(|problem| anyhow::anyhow!("{}", problem.message))?;
    let from_protobuf = K::read_protobuf(envelope(bytes)?)?;
    let (one, other) = (meaning(&from_json), meaning(&from_protobuf));
    ensure!(one == other, "{json}\nJSON: {one:#?}\nprotobuf: {other:#?}");
    Ok(())
}

fn keep(kind: &str, (json, bytes): &Versions) -> Result<()> {
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let mut json = json.clone();
        // The longest part, which nobody reads.
        json["metadata"]["managedFields"].take();
        fs::create_dir_all(KEPT)?;
        fs::write(
            format!("{KEPT}/{kind}.json"),
            serde_json::to_string_pretty(&json)? + "\n",
        )?;
        fs::write(format!("{KEPT}/{kind}.pb"), bytes)?;
    }
    Ok(())
}
