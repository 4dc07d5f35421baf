//! The scheduler's figures.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use jiff::Timestamp;
use pumice_e2e::{Cluster, Scheduler, Setup, eventually};

use crate::audit::{Audit, Entry, rate};
use crate::load::{self, PODS};
use crate::plans;
use crate::report::{Idle, Latency, Report, Round, Throughput};
use crate::watchers;
use crate::{Arguments, Part, cpu, raw};

/// How long the log may bring nothing while pods wait.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// After so long without a write the statuses are written.
const QUIET: Duration = Duration::from_secs(5);

/// How long the idle scheduler is watched.
const IDLE: Duration = Duration::from_secs(20);

/// How long pods keep coming while latency under load is measured.
const LOAD_SECONDS: u32 = 10;

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/volcano-system/leases/volcano";

/// Seconds of the default lease.
const LEASE_SECONDS: f64 = 15.0;

/// All measurements that are wanted, one after the other.
pub fn scheduler(cluster: &Cluster, arguments: &Arguments, report: &mut Report) -> Result<()> {
    let setup = Setup {
        flags: arguments.flags.clone(),
        ..Setup::default()
    };
    if arguments.wants(Part::Throughput) {
        rounds(cluster, arguments, &setup, report)?;
    }
    let scheduler = Scheduler::start(cluster, &setup)?;
    if arguments.wants(Part::Idle) {
        idle(cluster, &scheduler, report)?;
    }
    if arguments.wants(Part::Latency) {
        report.latency_idle = Some(one_by_one(cluster, arguments.samples)?);
        if arguments.load > 0 {
            report.latency_load = Some(under_load(cluster, arguments.load)?);
        }
    }
    // The figures so far are worth more than a clean end.
    let mut note = |part: &str, result: Result<Option<f64>>| match result {
        Ok(seconds) => seconds,
        Err(error) => {
            report.problems.push(format!("{part}: {error:#}"));
            None
        }
    };
    let restarted = arguments.wants(Part::Restart);
    let restart = restarted.then(|| restart(cluster, scheduler, &setup));
    let restart = note("restart", restart.transpose());
    let failed_over = arguments.wants(Part::Failover);
    let failover = failed_over.then(|| failover(cluster, arguments));
    let failover = note("failover", failover.transpose());
    if arguments.wants(Part::Plan) {
        match plans::figures(cluster, arguments.samples, &arguments.flags) {
            Ok(figures) => report.plan = Some(figures),
            Err(error) => report.problems.push(format!("plan: {error:#}")),
        }
    }
    if arguments.wants(Part::Page) {
        match watchers::figures(cluster, arguments.samples, &arguments.flags) {
            Ok(figures) => report.page = Some(figures),
            Err(error) => report.problems.push(format!("page: {error:#}")),
        }
    }
    report.restart_to_first_bind_s = restart;
    report.failover_after_expiry_s = failover;
    load::clear(cluster.rest())
}

/// Throughput, each time between two measurements of the API server's limit, so that whatever else
/// the machine does meets both.
fn rounds(
    cluster: &Cluster,
    arguments: &Arguments,
    setup: &Setup,
    report: &mut Report,
) -> Result<()> {
    let mut silent = setup.clone();
    silent.flags.push("--events=false".to_owned());
    for _ in 0..arguments.rounds {
        let without_events = throughput(cluster, arguments, &silent)?;
        load::clear(cluster.rest())?;
        let with_events = throughput(cluster, arguments, setup)?;
        load::clear(cluster.rest())?;
        report.rounds.push(Round {
            without_events,
            with_events,
        });
        raw::again(cluster, arguments, report)?;
    }
    Ok(())
}

/// Binds pods that were all made beforehand, with a scheduler that ends afterwards.
fn throughput(cluster: &Cluster, arguments: &Arguments, setup: &Setup) -> Result<Throughput> {
    eprintln!("measuring throughput");
    let shape = (arguments.gang, arguments.native_groups);
    load::gangs(cluster.rest(), "load", arguments.pods, shape)?;
    let mut audit = Audit::follow(cluster);
    let before = cpu::seconds()?;
    let start = Instant::now();
    let scheduler = Scheduler::launch(cluster, setup)?;
    let bound = audit.until_bound(arguments.pods, PATIENCE);
    let mut entries = bound.map_err(|error| scheduler.explain(error))?;
    let start_to_all_bound_s = start.elapsed().as_secs_f64();
    let total_cpu_s = cpu::seconds()? - before;
    let usage = scheduler.usage()?;
    let binds_per_s = rate(&entries).context("more than one bind")?;
    entries.extend(audit.until_quiet(QUIET, PATIENCE)?);
    let mut writes = BTreeMap::new();
    for entry in entries.iter().filter(|entry| !entry.is_lease()) {
        *writes.entry(entry.what.clone()).or_default() += 1;
    }
    Ok(Throughput {
        binds_per_s,
        start_to_all_bound_s,
        writes,
        cpu_s: usage.cpu_seconds,
        total_cpu_s,
        rss_bytes: usage.rss_bytes,
        peak_rss_bytes: usage.peak_rss_bytes,
    })
}

/// Nothing changes: what is written, and what it costs.
fn idle(cluster: &Cluster, scheduler: &Scheduler, report: &mut Report) -> Result<()> {
    eprintln!("watching the idle scheduler");
    Audit::follow(cluster).until_quiet(QUIET, PATIENCE)?;
    let mut audit = Audit::follow(cluster);
    let before = scheduler.usage()?;
    std::thread::sleep(IDLE);
    let after = scheduler.usage()?;
    let used = after.cpu_seconds - before.cpu_seconds;
    let writes = audit.read()?;
    report.idle = Some(Idle {
        cpu_percent: 100.0 * used / IDLE.as_secs_f64(),
        writes: writes.iter().filter(|entry| !entry.is_lease()).count(),
        rss_bytes: after.rss_bytes,
        peak_rss_bytes: after.peak_rss_bytes,
    });
    Ok(())
}

/// Creates a pod and gives the time at which the API server had answered.
fn create(cluster: &Cluster, name: &str) -> Result<Timestamp> {
    cluster.rest().create(PODS, &load::pod(name, None))?;
    Ok(Timestamp::now())
}

/// Times from creation to bind, in milliseconds. A bind may be complete before the answer to the
/// creation is read, which counts as 0.
fn latencies(created: &BTreeMap<String, Timestamp>, entries: &[Entry]) -> Latency {
    let time = |entry: &Entry| {
        let since = entry.at.duration_since(*created.get(&entry.name)?);
        Some((since.as_secs_f64() * 1000.0).max(0.0))
    };
    let binds = entries.iter().filter(|entry| entry.is_bind());
    Latency::of(binds.filter_map(time).collect())
}

/// One pod at a time in a cluster where nothing else happens.
fn one_by_one(cluster: &Cluster, samples: usize) -> Result<Latency> {
    eprintln!("measuring latency, one pod at a time");
    let mut created = BTreeMap::new();
    let mut entries = Vec::new();
    let mut audit = Audit::follow(cluster);
    for n in 0..samples {
        let name = format!("single-{n}");
        created.insert(name.clone(), create(cluster, &name)?);
        entries.extend(audit.until_bound(1, PATIENCE)?);
        // The writes that follow a bind are not to meet the next pod.
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(latencies(&created, &entries))
}

/// Pods at a steady rate.
fn under_load(cluster: &Cluster, per_second: u32) -> Result<Latency> {
    eprintln!("measuring latency at {per_second} pods per second");
    let mut created = BTreeMap::new();
    let mut audit = Audit::follow(cluster);
    let start = Instant::now();
    let total = per_second * LOAD_SECONDS;
    for n in 0..total {
        let due = Duration::from_secs_f64(f64::from(n) / f64::from(per_second));
        std::thread::sleep(due.saturating_sub(start.elapsed()));
        let name = format!("steady-{n}");
        created.insert(name.clone(), create(cluster, &name)?);
    }
    let entries = audit.until_bound(usize::try_from(total)?, PATIENCE)?;
    Ok(latencies(&created, &entries))
}

/// Time from the start of a new process to its first bind.
fn restart(cluster: &Cluster, mut scheduler: Scheduler, setup: &Setup) -> Result<f64> {
    eprintln!("measuring a restart");
    scheduler.process().kill();
    create(cluster, "after-restart")?;
    let mut audit = Audit::follow(cluster);
    let start = Timestamp::now();
    let scheduler = Scheduler::launch(cluster, setup)?;
    let bound = audit.until_bound(1, PATIENCE);
    let entries = bound.map_err(|error| scheduler.explain(error))?;
    let first = entries
        .iter()
        .find(|entry| entry.is_bind())
        .context("a bind")?;
    Ok(first.at.duration_since(start).as_secs_f64())
}

/// Time from the expiry of a killed leader's lease to the first bind of the standby.
fn failover(cluster: &Cluster, arguments: &Arguments) -> Result<f64> {
    eprintln!("measuring a failover");
    let setup = Setup {
        elects: true,
        flags: arguments.flags.clone(),
        ..Setup::default()
    };
    let mut leader = Scheduler::launch(cluster, &setup)?;
    eventually(PATIENCE, "a leader is elected", || {
        let lease = cluster.rest().get(LEASE)?;
        let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default();
        Ok((!holder.is_empty()).then_some(()))
    })?;
    let standby = Scheduler::start(cluster, &setup)?;
    leader.process().kill();
    let lease = cluster.rest().get(LEASE)?;
    let renewed: Timestamp = lease["spec"]["renewTime"]
        .as_str()
        .context("the lease was renewed")?
        .parse()?;
    create(cluster, "after-failover")?;
    let mut audit = Audit::follow(cluster);
    let bound = audit.until_bound(1, PATIENCE);
    let entries = bound.map_err(|error| standby.explain(error))?;
    let first = entries
        .iter()
        .find(|entry| entry.is_bind())
        .context("a bind")?;
    let since_renewal = first.at.duration_since(renewed).as_secs_f64();
    Ok(since_renewal - LEASE_SECONDS)
}
