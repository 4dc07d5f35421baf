//! The commands of `deploy/README.md`, run as they stand there: what belongs to users survives them.

mod accounts;

use std::path::Path;

use anyhow::{Context, Result, ensure};
use pumice_e2e::{Cluster, Options, eventually, programs, scratch};

use crate::LIMIT;

const PAGE: &str = include_str!("../../../deploy/README.md");
const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Objects of users.
const OBJECTS: &str = "\
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: training}
spec: {weight: 2}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: group, namespace: default}
spec: {minMember: 1}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: job, namespace: default}
spec:
  minAvailable: 1
  tasks: [{name: t, replicas: 1, template: {spec: {containers: [{name: c, image: none}]}}}]
";

/// The n-th block of this language below a heading.
fn block(heading: &str, language: &str, number: usize) -> Result<&'static str> {
    let start = format!("## {heading}\n");
    let (_, section) = PAGE.split_once(&start).with_context(|| start.clone())?;
    let section = section.split("\n## ").next().unwrap_or_default();
    let fence = format!("```{language}\n");
    let blocks = section.split(&fence).nth(number + 1);
    let text = blocks.and_then(|text| text.split("```").next());
    text.with_context(|| format!("{heading}: {language} block {number}"))
}

fn run(cluster: &Cluster, heading: &str, number: usize) -> Result<String> {
    cluster.shell(Path::new(WORKSPACE), block(heading, "sh", number)?)
}

/// Grants what `deviceshare.NodeLockEnable` needs, as the page says.
pub fn grant_node_lock(cluster: &Cluster) -> Result<()> {
    let commands = block("Configuration", "sh", 2)?;
    ensure!(commands.contains("--resource=nodes"), "{commands}");
    cluster.shell(Path::new(WORKSPACE), commands).map(|_| ())
}

/// Grants what `deviceshare.AscendMindClusterVNPUEnable` needs, as the page says.
pub fn grant_mindcluster(cluster: &Cluster) -> Result<()> {
    let commands = block("Configuration", "sh", 3)?;
    ensure!(commands.contains("mindx-dl"), "{commands}");
    cluster.shell(Path::new(WORKSPACE), commands).map(|_| ())
}

/// Grants what `useClusterInfoManager: "false"` needs, as the page says.
pub fn grant_mindcluster_nodes(cluster: &Cluster) -> Result<()> {
    let commands = block("Configuration", "sh", 4)?;
    ensure!(commands.contains("mindcluster-nodes"), "{commands}");
    cluster.shell(Path::new(WORKSPACE), commands).map(|_| ())
}

/// Name, UID and generation of every definition.
fn definitions(cluster: &Cluster) -> Result<String> {
    let columns = "custom-columns=N:.metadata.name,U:.metadata.uid,G:.metadata.generation";
    cluster.kubectl(&["get", "crd", "-o", columns], "")
}

fn configuration(cluster: &Cluster) -> Result<String> {
    let map = ["get", "configmap", "volcano-scheduler-configmap"];
    let data = ["-n", "volcano-system", "-o", "jsonpath={.data}"];
    cluster.kubectl(&[&map[..], &data].concat(), "")
}

#[test]
fn installing_again_or_beside_definitions_of_volcano_ends_well_and_replaces_none() -> Result<()> {
    let cluster = Cluster::start(Options::default())?;
    run(&cluster, "Plain manifests", 0)?;
    // As if Volcano had brought an older set.
    cluster.kubectl(&["delete", "crd", "nodeshards.shard.volcano.sh"], "")?;
    let foreign = r#"[{"op": "remove", "path": "/spec/names/shortNames"}]"#;
    let patch = [
        "patch",
        "crd",
        "queues.scheduling.volcano.sh",
        "--type=json",
    ];
    cluster.kubectl(&[&patch[..], &["-p", foreign]].concat(), "")?;
    let before = definitions(&cluster)?;
    run(&cluster, "Plain manifests", 0)?;
    let after = definitions(&cluster)?;
    ensure!(after.contains("nodeshards.shard.volcano.sh"), "{after}");
    for line in before.lines() {
        ensure!(after.contains(line), "{line} is missing in {after}");
    }
    run(&cluster, "Plain manifests", 0).map(|_| ())
}

#[test]
fn an_upgrade_and_an_uninstallation_leave_configuration_and_objects_of_users() -> Result<()> {
    let cluster = Cluster::start(Options::default())?;
    run(&cluster, "Plain manifests", 0)?;
    let served = ["wait", "--for=condition=Established", "crd", "--all"];
    cluster.kubectl(&served, "")?;
    eventually(LIMIT, "users' objects are taken", || {
        Ok(cluster.apply(OBJECTS).is_ok().then_some(()))
    })?;
    let shipped = configuration(&cluster)?;
    let folder = scratch("configure")?;
    let conf = folder.join("volcano-scheduler.conf");
    std::fs::write(&conf, block("Configuration", "yaml", 0)?)?;
    let check = std::process::Command::new(programs::ours("pumice")?)
        .arg("check")
        .arg(&conf)
        .output()?;
    ensure!(check.status.success(), "{check:?}");
    cluster.shell(&folder, block("Configuration", "sh", 0)?)?;
    let configured = configuration(&cluster)?;
    ensure!(configured != shipped && configured.contains("VGPUEnable"));
    run(&cluster, "Upgrade", 0)?;
    // What the page of older versions said.
    let older = "kubectl apply -f deploy/install.yaml -l app=volcano-scheduler";
    cluster.shell(Path::new(WORKSPACE), older)?;
    run(&cluster, "Plain manifests", 0)?;
    // New definitions, taken on purpose.
    run(&cluster, "Upgrade", 1)?;
    ensure!(configuration(&cluster)? == configured);
    let uninstalled = run(&cluster, "Uninstall", 0)?;
    ensure!(uninstalled.contains("deployment.apps"), "{uninstalled}");
    run(&cluster, "Uninstall", 0)?;
    ensure!(configuration(&cluster)? == configured);
    for object in ["queue/training", "pg/group", "vcjob/job"] {
        cluster.kubectl(&["get", object], "")?;
    }
    Ok(())
}
