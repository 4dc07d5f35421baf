//! The figures of the controllers: Jobs become pods.
//!
//! Pods are created by the thousand without a scheduler: this program admits the PodGroups, so that
//! nothing else takes processor time. Latency and writes are those of the whole: scheduler,
//! controllers, kubelets.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use futures::StreamExt;
use http::Method;
use jiff::Timestamp;
use pumice_api::Job;
use pumice_controllers::job;
use pumice_e2e::{
    Cluster, Controllers, Identity, Kubelet, Rest, Scheduler, Setup, eventually, run,
};
use serde_json::{Value, json};

use crate::audit::{Audit, Entry, rate_of};
use crate::load::PODS;
use crate::report::Latency;
use crate::report_jobs::{JobFigures, KnownFigures, MakingFigures};
use crate::{Arguments, Part, cpu};

/// Pods of each large Job.
const WIDTH: usize = 100;

/// Large Jobs that are made one after the other to count writes.
const COUNTED: usize = 5;

/// Pods of each finished Job.
const FINISHED_PODS: usize = 5;

/// Numbers of requests in flight that are tried for the limit, with so many pods.
const TRIED: [usize; 5] = [8, 16, 32, 64, 128];
const TRY_PODS: usize = 600;

/// Requests in flight while objects are prepared.
const AT_ONCE: usize = 32;

/// How long nothing may happen while something is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// After so long without a write nothing more follows.
const QUIET: Duration = Duration::from_secs(4);

/// Pause between two Jobs whose latency is measured: without writes, as long.
const BETWEEN: Duration = Duration::from_millis(1200);

/// How long idle controllers are watched.
const IDLE: Duration = Duration::from_secs(30);

const JOBS: &str = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs";
const GROUPS: &str = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups";
const QUEUES: &str = "/apis/scheduling.volcano.sh/v1beta1/queues";

/// All figures that are wanted.
pub fn figures(cluster: &Cluster, arguments: &Arguments) -> Result<JobFigures> {
    let queue = json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
        "metadata": {"name": "default"}, "spec": {"weight": 1},
    });
    cluster.rest().create(QUEUES, &queue)?;
    let setup = Setup {
        flags: arguments.flags.clone(),
        ..Setup::default()
    };
    let mut figures = JobFigures::default();
    if arguments.wants(Part::Jobs) {
        figures.raw_at_once = best_at_once(cluster)?;
        for _ in 0..arguments.rounds {
            let before = raw(cluster, figures.raw_at_once, arguments.pods)?;
            let made = making(cluster, &setup, arguments.pods.div_ceil(WIDTH))?;
            let after = raw(cluster, figures.raw_at_once, arguments.pods)?;
            // The better one: what else the machine does is not to flatter the controllers.
            let raw = [before, after]
                .into_iter()
                .max_by(|a, b| a.0.total_cmp(&b.0));
            let (raw_per_s, raw_cpu_ms) = raw.unwrap_or(before);
            figures.making.push(MakingFigures {
                raw_per_s,
                raw_cpu_ms,
                ..made
            });
        }
    }
    if arguments.wants(Part::JobLatency) {
        whole(cluster, arguments, &setup, &mut figures)?;
    }
    if arguments.wants(Part::KnownJobs) {
        figures.known = Some(known(cluster, arguments, &setup)?);
    }
    Ok(figures)
}

/// A Job of one task, as a user writes it.
fn object(name: &str, replicas: usize) -> Value {
    json!({
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "minAvailable": replicas, "schedulerName": "volcano", "queue": "default",
            "tasks": [{
                "name": "worker", "replicas": replicas,
                "template": {"spec": {
                    "restartPolicy": "Never",
                    "terminationGracePeriodSeconds": 0,
                    "containers": [{
                        "name": "main", "image": "example.com/none",
                        "command": ["sleep", "infinity"],
                        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
                    }],
                }},
            }],
        },
    })
}

/// The pods the controllers make of a Job.
fn pods_of(object: &Value) -> Result<Vec<Value>> {
    let mut job: Job = serde_json::from_value(object.clone())?;
    job::defaults(&mut job);
    let group = job::pod_group_name(&job);
    let as_value = |pod| {
        let mut pod = serde_json::to_value(pod)?;
        if let Some(meta) = pod["metadata"].as_object_mut() {
            meta.remove("creationTimestamp");
        }
        Ok(pod)
    };
    job::pods(&job, &group).into_iter().map(as_value).collect()
}

/// Creates pods such as the controllers make; pods per second, and milliseconds of processor each.
fn raw(cluster: &Cluster, at_once: usize, count: usize) -> Result<(f64, f64)> {
    let mut job = object("raw", count);
    job["metadata"]["uid"] = json!("00000000-0000-0000-0000-000000000000");
    let mut pods = pods_of(&job)?;
    pods.truncate(count);
    let rest = Rest::new(cluster.client(Identity::Controllers)?);
    let mut audit = Audit::follow(cluster);
    let before = cpu::seconds()?;
    rest.create_all(PODS, pods, at_once)?;
    let entries = audit.until(count, PATIENCE, Entry::is_pod)?;
    let used = cpu::seconds()? - before;
    clear(cluster)?;
    let per_s = rate_of(&entries, Entry::is_pod).context("more than one pod")?;
    Ok((per_s, 1000.0 * used / float(count)))
}

fn best_at_once(cluster: &Cluster) -> Result<usize> {
    eprintln!("measuring how many pods the API server takes");
    let mut best = (0, 0.0);
    for at_once in TRIED {
        let (rate, _) = raw(cluster, at_once, TRY_PODS)?;
        if rate > best.1 {
            best = (at_once, rate);
        }
    }
    Ok(best.0)
}

/// Large Jobs whose PodGroups are admitted all at once.
fn making(cluster: &Cluster, setup: &Setup, jobs: usize) -> Result<MakingFigures> {
    eprintln!("measuring how fast {jobs} Jobs of {WIDTH} pods get them");
    let rest = cluster.rest();
    let controllers = Controllers::start(cluster, setup)?;
    let mut audit = Audit::follow(cluster);
    let objects = (0..jobs).map(|n| object(&format!("wide-{n}"), WIDTH));
    rest.create_all(JOBS, objects.collect(), AT_ONCE)?;
    let mut entries = audit.until_quiet(QUIET, PATIENCE)?;
    let before = cpu::seconds()?;
    run(async {
        let groups = rest.send(Method::GET, GROUPS, None).await?;
        let admit = |group: &Value| {
            let name = group["metadata"]["name"].as_str().unwrap_or_default();
            let path = format!("{GROUPS}/{name}");
            let patch = json!({"status": {"phase": "Inqueue"}});
            async move { rest.send(Method::PATCH, &path, Some(&patch)).await }
        };
        let groups = groups["items"].as_array().context("PodGroups")?;
        let mut done = futures::stream::iter(groups.iter().map(admit)).buffer_unordered(AT_ONCE);
        while let Some(result) = done.next().await {
            result?;
        }
        anyhow::Ok(())
    })?;
    let count = jobs * WIDTH;
    let made = audit.until(count, PATIENCE, Entry::is_pod);
    let made = made.map_err(|error| controllers.explain(error))?;
    let used = cpu::seconds()? - before;
    let per_s = rate_of(&made, Entry::is_pod).context("more than one pod")?;
    entries.extend(made);
    entries.extend(audit.until_quiet(QUIET, PATIENCE)?);
    let usage = controllers.usage()?;
    drop(controllers);
    clear(cluster)?;
    Ok(MakingFigures {
        per_s,
        cpu_ms: 1000.0 * used / float(count),
        own_cpu_ms: 1000.0 * usage.cpu_seconds / float(count),
        peak_rss_bytes: usage.peak_rss_bytes,
        ..MakingFigures::default()
    })
}

/// Scheduler, controllers and kubelets together.
fn whole(
    cluster: &Cluster,
    arguments: &Arguments,
    setup: &Setup,
    figures: &mut JobFigures,
) -> Result<()> {
    let _kubelet = Kubelet::start(cluster.client(Identity::Admin)?);
    let scheduler = Scheduler::start(cluster, &Setup::default())?;
    let controllers = Controllers::start(cluster, setup)?;
    let mut audit = Audit::follow(cluster);
    audit.until_quiet(QUIET, PATIENCE)?;
    let measured = writes(cluster, &mut audit)
        .and_then(|writes| Ok((writes, one_by_one(cluster, arguments.samples, &mut audit)?)));
    let measured = measured.map_err(|error| controllers.explain(scheduler.explain(error)));
    let (writes, latency) = measured?;
    figures.writes = writes;
    figures.latency = Some(latency);
    drop((controllers, scheduler));
    clear(cluster)
}

/// Writes of the controllers for each large Job until it runs, and what follows from that.
fn writes(cluster: &Cluster, audit: &mut Audit) -> Result<BTreeMap<String, f64>> {
    eprintln!("counting writes of Jobs of {WIDTH} pods");
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for n in 0..COUNTED {
        let name = format!("counted-{n}");
        cluster.rest().create(JOBS, &object(&name, WIDTH))?;
        let path = format!("{JOBS}/{name}");
        eventually(PATIENCE, "the Job runs", || {
            let job = cluster.rest().get(&path)?;
            Ok((job["status"]["running"] == WIDTH).then_some(()))
        })?;
        let entries = audit.until_quiet(QUIET, PATIENCE)?;
        let own = entries
            .iter()
            .filter(|entry| entry.is_of_controllers && !entry.is_lease());
        for entry in own {
            *counts.entry(entry.what.clone()).or_default() += 1;
        }
    }
    let each = |(what, count)| (what, float(count) / float(COUNTED));
    Ok(counts.into_iter().map(each).collect())
}

/// One Job of one pod at a time, from the moment it is sent to the API server.
fn one_by_one(cluster: &Cluster, samples: usize, audit: &mut Audit) -> Result<Latency> {
    eprintln!("measuring latency, one Job of one pod at a time");
    let mut times = Vec::new();
    for n in 0..samples {
        audit.until_quiet(BETWEEN, PATIENCE)?;
        let sent = Timestamp::now();
        cluster
            .rest()
            .create(JOBS, &object(&format!("single-{n}"), 1))?;
        let entries = audit.until_bound(1, PATIENCE)?;
        let bind = entries
            .iter()
            .find(|entry| entry.is_bind())
            .context("a bind")?;
        times.push(1000.0 * bind.at.duration_since(sent).as_secs_f64());
    }
    Ok(Latency::of(times))
}

/// Finished Jobs with their pods, and controllers that have nothing to do with them.
fn known(cluster: &Cluster, arguments: &Arguments, setup: &Setup) -> Result<KnownFigures> {
    let count = arguments.finished_jobs;
    eprintln!("creating {count} finished Jobs of {FINISHED_PODS} pods");
    let rest = cluster.rest();
    run(async {
        let one = |n: usize| finished(rest, n, arguments.nodes);
        let mut done = futures::stream::iter((0..count).map(one)).buffer_unordered(AT_ONCE);
        while let Some(result) = done.next().await {
            result?;
        }
        anyhow::Ok(())
    })?;
    eprintln!("watching idle controllers");
    let start = Instant::now();
    let mut audit = Audit::follow(cluster);
    let controllers = Controllers::start(cluster, setup)?;
    let start_s = start.elapsed().as_secs_f64();
    let first_writes = audit.until_quiet(QUIET * 2, PATIENCE)?.len();
    let before = controllers.usage()?;
    std::thread::sleep(IDLE);
    let after = controllers.usage()?;
    let used = after.cpu_seconds - before.cpu_seconds;
    let writes = audit.read()?;
    Ok(KnownFigures {
        jobs: count,
        pods: count * FINISHED_PODS,
        start_s,
        first_writes,
        writes: writes.iter().filter(|entry| !entry.is_lease()).count(),
        cpu_percent: 100.0 * used / IDLE.as_secs_f64(),
        rss_bytes: after.rss_bytes,
        peak_rss_bytes: after.peak_rss_bytes,
    })
}

/// One Job that has completed, as controllers and kubelets leave it behind.
async fn finished(rest: &Rest, n: usize, nodes: usize) -> Result<()> {
    let name = format!("finished-{n}");
    let wanted = object(&name, FINISHED_PODS);
    let job = rest.send(Method::POST, JOBS, Some(&wanted)).await?;
    let now = "2026-01-01T10:00:00Z";
    let status = json!({
        "state": {"phase": "Completed", "lastTransitionTime": now},
        "minAvailable": FINISHED_PODS,
        "succeeded": FINISHED_PODS,
        "taskStatusCount": {"worker": {"phase": {"Succeeded": FINISHED_PODS}}},
        "conditions": (["Pending", "Running", "Completed"]
            .map(|phase| json!({"status": phase, "lastTransitionTime": now}))),
        "runningDuration": "1m0s",
    });
    let path = format!("{JOBS}/{name}/status");
    rest.send(Method::PATCH, &path, Some(&json!({ "status": status })))
        .await?;
    for (at, mut pod) in pods_of(&job)?.into_iter().enumerate() {
        pod["spec"]["nodeName"] = json!(format!("n-{}", (n + at) % nodes));
        rest.send(Method::POST, PODS, Some(&pod)).await?;
        let ended = json!({"exitCode": 0, "finishedAt": now, "reason": "Completed"});
        let container = json!({
            "name": "main", "image": "example.com/none", "imageID": "", "ready": false,
            "restartCount": 0, "state": {"terminated": ended},
        });
        let status = json!({
            "phase": "Succeeded", "startTime": now, "containerStatuses": [container],
        });
        let path = format!("{PODS}/{name}-worker-{at}/status");
        rest.send(Method::PATCH, &path, Some(&json!({ "status": status })))
            .await?;
    }
    Ok(())
}

/// Removes all Jobs, PodGroups and pods.
fn clear(cluster: &Cluster) -> Result<()> {
    for collection in [JOBS, GROUPS, PODS] {
        cluster.rest().delete_now(collection)?;
    }
    eventually(PATIENCE, "everything is removed", || {
        Ok(cluster.rest().list(PODS)?.is_empty().then_some(()))
    })
}

fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
