//! The commands of `deploy/README.md`, run as they stand there: what belongs to users survives them.

mod accounts;

use std::path::Path;

use anyhow::{Context, Result, ensure};
use pumice_e2e::{Cluster, Identity, Options, eventually, programs, scratch};

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

#[test]
fn who_may_edit_a_namespace_may_write_jobs_and_pod_groups_there_and_no_queues() -> Result<()> {
    let cluster = Cluster::start(Options::default())?;
    run(&cluster, "Plain manifests", 0)?;
    for (user, role) in [("jane", "edit"), ("joe", "view")] {
        let (role, user) = (format!("--clusterrole={role}"), format!("--user={user}"));
        cluster.kubectl(&["create", "rolebinding", &user[7..], &role, &user], "")?;
    }
    eventually(LIMIT, "the page's question is answered", || {
        Ok(run(&cluster, "What users may do", 0).ok())
    })?;
    let may = |user: &str, verb: &str, what: &str| {
        let user = format!("--as={user}");
        cluster
            .kubectl(&["auth", "can-i", verb, what, &user, "-q"], "")
            .is_ok()
    };
    for what in [
        "jobs.batch.volcano.sh",
        "cronjobs.batch.volcano.sh",
        "jobflows.flow.volcano.sh",
        "jobtemplates.flow.volcano.sh",
        "commands.bus.volcano.sh",
        "podgroups.scheduling.volcano.sh",
    ] {
        assert!(
            may("jane", "delete", what) && may("joe", "list", what),
            "{what}"
        );
        assert!(!may("joe", "create", what), "{what}");
    }
    assert!(!may("jane", "create", "queues.scheduling.volcano.sh"));
    for verb in ["update", "patch", "delete"] {
        assert!(!may("jane", verb, "queues.scheduling.volcano.sh"), "{verb}");
    }
    // The role is for one namespace, and so is what it shows.
    for what in [
        "queues.scheduling.volcano.sh",
        "hypernodes.topology.volcano.sh",
    ] {
        assert!(!lists_all(&cluster, "joe", what), "{what}");
    }
    let whole = [
        "create",
        "clusterrolebinding",
        "joe",
        "--clusterrole=view",
        "--user=joe",
    ];
    cluster.kubectl(&whole, "")?;
    eventually(LIMIT, "bound in the whole cluster, view shows them", || {
        let shown = [
            "queues.scheduling.volcano.sh",
            "hypernodes.topology.volcano.sh",
        ];
        let all = shown.iter().all(|what| lists_all(&cluster, "joe", what));
        Ok(all.then_some(()))
    })?;
    Ok(())
}

/// Whether somebody sees all objects of a kind, by asking for them.
fn lists_all(cluster: &Cluster, user: &str, what: &str) -> bool {
    let user = format!("--as={user}");
    cluster.kubectl(&["get", what, "-A", &user], "").is_ok()
}

#[test]
fn the_scheduler_reads_no_secret_and_writes_neither_pods_nor_nodes() -> Result<()> {
    let cluster = Cluster::start(Options::default())?;
    run(&cluster, "Plain manifests", 0)?;
    let account = format!("--as={}", Identity::Scheduler.user());
    let may = |verb: &str, what: &str| {
        let (resource, part) = what.split_once('/').unwrap_or((what, ""));
        let part = format!("--subresource={part}");
        let question = ["auth", "can-i", verb, resource, &part, &account, "-q", "-A"];
        cluster.kubectl(&question, "").is_ok()
    };
    eventually(LIMIT, "the role is in force", || {
        Ok(may("create", "pods/binding").then_some(()))
    })?;
    for (verb, what) in [
        ("patch", "pods/status"),
        ("delete", "pods"),
        ("patch", "podgroups.scheduling.volcano.sh"),
        ("create", "queues.scheduling.volcano.sh"),
        ("patch", "persistentvolumes"),
    ] {
        assert!(may(verb, what), "{verb} {what}");
    }
    for (verbs, what) in [
        ("get list watch create update patch", "secrets"),
        ("get list watch create update patch", "configmaps"),
        ("get create update patch", "customresourcedefinitions"),
        ("create update patch", "pods"),
        ("create update patch delete", "nodes"),
        ("patch update", "nodes/status"),
        ("update patch delete", "queues.scheduling.volcano.sh"),
        ("create delete", "podgroups.scheduling.volcano.sh"),
    ] {
        for verb in verbs.split(' ') {
            assert!(!may(verb, what), "{verb} {what}");
        }
    }
    // To kubectl TYPE/NAME is one object.
    let own = |named: &str| {
        let question = [
            "auth",
            "can-i",
            "get",
            named,
            &account,
            "-q",
            "-n",
            "volcano-system",
        ];
        cluster.kubectl(&question, "").is_ok()
    };
    assert!(own("configmap/volcano-scheduler-configmap") && !own("configmap/another"));
    Ok(())
}

#[test]
fn the_controllers_may_do_what_jobs_need_and_read_no_secret() -> Result<()> {
    let cluster = Cluster::start(Options::default())?;
    run(&cluster, "Plain manifests", 0)?;
    let account = format!("--as={}", Identity::Controllers.user());
    let may = |verb: &str, what: &str| {
        let question = ["auth", "can-i", verb, what, &account, "-q", "-A"];
        cluster.kubectl(&question, "").is_ok()
    };
    eventually(LIMIT, "the role is in force", || {
        Ok(may("create", "pods").then_some(()))
    })?;
    for (verbs, what) in [
        ("list watch create patch delete", "jobs.batch.volcano.sh"),
        ("list watch delete", "commands.bus.volcano.sh"),
        ("create", "secrets"),
        ("create patch", "services"),
        ("create", "persistentvolumeclaims"),
    ] {
        for verb in verbs.split(' ') {
            assert!(may(verb, what), "{verb} {what}");
        }
    }
    for (verbs, what) in [
        ("get list watch delete update patch", "secrets"),
        ("get list delete", "configmaps"),
        ("delete", "services"),
        ("delete update", "persistentvolumeclaims"),
        ("update patch delete", "nodes"),
        ("create delete", "queues.scheduling.volcano.sh"),
        ("create", "commands.bus.volcano.sh"),
    ] {
        for verb in verbs.split(' ') {
            assert!(!may(verb, what), "{verb} {what}");
        }
    }
    Ok(())
}

#[test]
fn who_is_bound_to_the_role_of_explain_may_forward_a_port_and_no_more() -> Result<()> {
    let cluster = Cluster::start(Options::default())?;
    run(&cluster, "Plain manifests", 0)?;
    let may = |verb: &str, what: &str| {
        // To kubectl a slash is TYPE/NAME.
        let (resource, part) = what.split_once('/').unwrap_or((what, ""));
        let part = format!("--subresource={part}");
        let question = ["auth", "can-i", verb, resource, &part, "-q", "--as=jane"];
        cluster
            .kubectl(&[&question[..], &["-n", "volcano-system"]].concat(), "")
            .is_ok()
    };
    assert!(!may("create", "pods/portforward"), "not yet");
    run(&cluster, "What users may do", 1)?;
    eventually(LIMIT, "what `pumice explain` asks for is allowed", || {
        let asks = [
            ("get", "leases"),
            ("get", "pods"),
            ("list", "pods"),
            ("create", "pods/portforward"),
        ];
        Ok(asks
            .into_iter()
            .all(|(verb, what)| may(verb, what))
            .then_some(()))
    })?;
    for (verb, what) in [
        ("create", "pods/exec"),
        ("get", "secrets"),
        ("update", "leases"),
    ] {
        assert!(!may(verb, what), "{verb} {what}");
    }
    Ok(())
}
