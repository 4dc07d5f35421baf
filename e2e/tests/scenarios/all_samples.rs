//! Every sample of `config/samples`, created with kubectl: the scheduler binds what `pumice simulate` prints for it, and
//! its pods and nodes mean the same in both encodings.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use pumice_e2e::samples::{Sample, names};
use pumice_e2e::{
    ConfigMount, Controllers, DevicePlugins, Lab, LabGuard, PluginSetup, Scheduler, Setup,
    each_at_once, eventually, is_status, scratch,
};
use serde_json::{Value, json};

use crate::controllers::make_queue;
use crate::deploying::grant_mindcluster;
use crate::encodings::all_mean_the_same;
use crate::{LIMIT, QUIET};

/// Shows a single cycle of the simulator; its continuation is the sample `pipelining-then-bound`.
const ONE_CYCLE: &str = "pipelining";

/// Say how long their jobs have waited, or since when their pods run, which a server does not let itself be told: there
/// all are new.
const TIMES_DECIDE: [&str; 5] = [
    "fairshare",
    "multifactor",
    "reservation",
    "runtimelimit",
    "sla",
];

/// Samples where the order of objects of equal age decides who gets which node, and whose: pods whose
/// `namespace/name` begins so. A cluster orders them by random UIDs, so of these only who is bound is compared.
const ORDER_DECIDES: [(&str, &str); 12] = [
    ("cpu-jobs", ""),
    ("gpu-sharing-spread", ""),
    ("kubeflow-trainer", ""),
    ("kubeflow-training-operator", ""),
    ("kuberay", ""),
    ("mpi-operator", ""),
    ("native-gang", "default/close-"),
    ("roles", ""),
    ("spark-operator", ""),
    ("spark-submit", ""),
    ("task-topology", "default/scattered-"),
    ("volumes-on-demand", ""),
];

const JOBS: &str = "/apis/batch.volcano.sh/v1alpha1/jobs";

/// The configuration the scheduler has without a file, as far as it admits Jobs.
const BUILT_IN: &str = include_str!("../../../config/volcano-scheduler.conf");

/// Other scenarios run beside them.
pub(crate) const SAMPLES_AT_ONCE: usize = 3;

type Binds = BTreeMap<String, String>;

/// Whether these are the binds of the sample, as far as they can be foretold.
fn are_expected(sample: &Sample, binds: &Binds) -> bool {
    let is_open = |pod: &str| {
        let mut all = ORDER_DECIDES.iter();
        all.any(|(name, prefix)| *name == sample.name && pod.starts_with(prefix))
    };
    let mut pairs = binds.iter().zip(&sample.binds);
    binds.len() == sample.binds.len()
        && pairs.all(|((pod, node), (expected, expected_node))| {
            pod == expected && (node == expected_node || is_open(pod))
        })
}

#[test]
fn every_sample_is_taken_and_bound_as_simulated_if_that_can_be_foretold() -> Result<()> {
    let tried = each_at_once(&names()?, SAMPLES_AT_ONCE, |name| {
        let sample = Sample::read(name)?;
        let nobody_acts = sample.is_measured || sample.has_claim_templates;
        let times_decide = name == ONE_CYCLE || TIMES_DECIDE.contains(&name);
        // Pods that are made anew after an eviction have other names; `evictions` has such scenarios.
        if sample.evicts || sample.has_quota || nobody_acts || times_decide {
            let lab = Lab::take()?;
            lab.kubelet().pause();
            lab.create_sample_at_once(&sample)?;
            Ok((0, all_mean_the_same(&lab)?))
        } else {
            Ok((1, is_bound_as_simulated(&sample)?))
        }
    })?;
    let bound: usize = tried.iter().map(|(bound, _)| bound).sum();
    assert!(bound > 10, "{bound} samples");
    let compared: usize = tried.iter().map(|(_, compared)| compared).sum();
    assert!(compared > 300, "{compared} objects");
    Ok(())
}

/// How many pods and nodes were compared in both encodings after all was bound.
fn is_bound_as_simulated(sample: &Sample) -> Result<usize> {
    let lab = Lab::take()?;
    if !sample.leaving.is_empty() {
        lab.kubelet().pause();
    }
    let plugins = DevicePlugins::start(&lab, PluginSetup::default())?;
    let is_default =
        |object: &Value| object["kind"] == "Queue" && object["metadata"]["name"] == "default";
    if !sample.generations.iter().flatten().any(is_default) {
        make_queue(&lab)?;
    }
    // Before there are objects: PodGroups are as old as what they are made for.
    let _controllers = Controllers::start(lab.cluster(), &Setup::default())?;
    lab.create_sample(sample, || all_are_grouped(&lab))?;
    if sample.name == "npu-mindcluster" {
        grant_mindcluster(lab.cluster())?;
    }
    let before = lab.bound("")?;
    let mut setup = Setup::default();
    if let Some(text) = &sample.conf {
        setup.conf = Some(ConfigMount::new(&scratch("sample")?, text)?.file());
    }
    admit(&lab, sample)?;
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    if !sample.leaving.is_empty() {
        std::thread::sleep(QUIET);
        ensure!(
            fresh(&lab, &before)?.is_empty(),
            "bound beside a pod that is leaving"
        );
        // Pods that are being deleted among them, which are gone soon.
        all_mean_the_same(&lab)?;
        lab.kubelet().resume();
    }
    let what = format!("the binds are {:?}", sample.binds);
    scheduler.eventually(LIMIT, &what, || {
        provision(&lab)?;
        let binds = fresh(&lab, &before)?;
        ensure!(are_expected(sample, &binds), "the binds are {binds:?}");
        Ok(Some(()))
    })?;
    std::thread::sleep(QUIET);
    ensure!(
        are_expected(sample, &fresh(&lab, &before)?),
        "more was bound later"
    );
    let strayed = plugins.strayed();
    ensure!(strayed.is_empty(), "not their own cards: {strayed:?}");
    all_mean_the_same(&lab)
}

/// Every Job and every pod that names no PodGroup has got one from the controllers.
fn all_are_grouped(lab: &LabGuard) -> Result<()> {
    eventually(LIMIT, "what has no PodGroup gets one", || {
        let groups = lab
            .rest()
            .list("/apis/scheduling.volcano.sh/v1beta1/podgroups")?;
        for job in lab.rest().list(JOBS)? {
            let meta = &job["metadata"];
            let mut owners = groups
                .iter()
                .map(|group| &group["metadata"]["ownerReferences"]);
            ensure!(
                owners.any(|all| all[0]["uid"] == meta["uid"]),
                "not {}",
                meta["name"]
            );
        }
        for pod in lab.rest().list("/api/v1/pods")? {
            let meta = &pod["metadata"];
            let is_ours = pod["spec"]["schedulerName"] == "volcano";
            let group = &meta["annotations"]["scheduling.k8s.io/group-name"];
            let is_grouped = group.is_string() || pod["spec"]["schedulingGroup"].is_object();
            ensure!(!is_ours || is_grouped, "not {}", meta["name"]);
        }
        Ok(Some(()))
    })
}

/// Does what a CSI provisioner does: a volume for every claim that has its node.
pub(crate) fn provision(lab: &LabGuard) -> Result<()> {
    for claim in lab.rest().list("/api/v1/persistentvolumeclaims")? {
        let (metadata, spec) = (&claim["metadata"], &claim["spec"]);
        let node = &metadata["annotations"]["volume.kubernetes.io/selected-node"];
        let (Some(node), None) = (node.as_str(), spec["volumeName"].as_str()) else {
            continue;
        };
        let uid = metadata["uid"].as_str().context("a UID")?;
        let node = lab.rest().get(&format!("/api/v1/nodes/{node}"))?;
        let zone = &node["metadata"]["labels"]["topology.kubernetes.io/zone"];
        let place = json!({
            "key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone],
        });
        let volume = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": format!("pvc-{uid}")},
            "spec": {
                "accessModes": spec["accessModes"],
                "capacity": spec["resources"]["requests"],
                "storageClassName": spec["storageClassName"],
                "persistentVolumeReclaimPolicy": "Retain",
                "csi": {"driver": "disk.example.com", "volumeHandle": uid},
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": metadata["namespace"],
                    "name": metadata["name"],
                    "uid": uid,
                },
                "nodeAffinity": {
                    "required": {"nodeSelectorTerms": [{"matchExpressions": [place]}]},
                },
            },
        });
        let made = lab.rest().create("/api/v1/persistentvolumes", &volume);
        if let Err(error) = made
            && !is_status(&error, 409)
        {
            return Err(error);
        }
    }
    Ok(())
}

/// Has Jobs admitted and their pods made, so that the scheduler that is to place them finds all of them
/// at once, as in the simulator.
fn admit(lab: &LabGuard, sample: &Sample) -> Result<()> {
    let text = sample.conf.as_deref().unwrap_or(BUILT_IN);
    let lines = text
        .lines()
        .map(|line| match line.trim_start().starts_with("actions:") {
            true => "actions: \"enqueue\"",
            false => line,
        });
    let text = lines.collect::<Vec<_>>().join("\n");
    let setup = Setup {
        conf: Some(ConfigMount::new(&scratch("admission")?, &text)?.file()),
        ..Setup::default()
    };
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    let jobs = lab.rest().list(JOBS)?;
    scheduler.eventually(LIMIT, "every Job was looked at", || {
        for job in lab.rest().list(JOBS)? {
            let phase = job["status"]["state"]["phase"].as_str();
            ensure!(phase.is_some(), "not {}", job["metadata"]["name"]);
        }
        Ok(Some(()))
    })?;
    if jobs.is_empty() {
        return Ok(());
    }
    let mut last = usize::MAX;
    eventually(LIMIT, "no more pods are made", || {
        let pods = lab.rest().list("/api/v1/pods")?.len();
        let is_settled = pods == last;
        last = pods;
        std::thread::sleep(QUIET / 2);
        Ok(is_settled.then_some(()))
    })
}

/// Pods bound since.
fn fresh(lab: &LabGuard, before: &Binds) -> Result<Binds> {
    let mut bound = lab.bound("")?;
    bound.retain(|pod, _| !before.contains_key(pod));
    Ok(bound)
}
