//! How fast the scheduler is on a real API server, against what that API server can take.
//!
//! ```text
//!  nodes ─► raw limit: bare Bindings, best concurrency ─► the scheduler with the same pods
//!                                                         idle: writes, CPU
//!                                                         latency: one pod at a time, under load
//!                                                         restart, failover
//! ```
//!
//! Times come from the API server's audit log of the scheduler's identity, so that measuring costs
//! no requests; the raw limit is measured with the same identity and the same log. Beside each rate
//! stands the processor time of a bind, control plane included: its shares are steadier than those
//! of rates on a machine with other work.
//!
//! Exit codes: 0 measured, 1 not or not all.

mod audit;
mod cpu;
mod encodings;
mod jobs;
mod load;
mod measure;
mod plans;
mod policies;
mod raw;
mod report;
mod report_jobs;
mod watchers;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use pumice_e2e::{Cluster, NodeShape, Options, create_nodes};

use crate::report::Report;
use crate::report_jobs::JobFigures;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Table,
    /// For scripts: stable keys
    Json,
}

/// What can be measured besides the limit of the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Bind rate, writes per pod, CPU and memory
    Throughput,
    /// Writes and CPU while nothing changes
    Idle,
    /// From creation to bind, one pod at a time and under load
    Latency,
    /// From the start of a process to its first bind
    Restart,
    /// From the start of `pumice plan` for a gang of 100 to its end, and how long decisions are held up by it
    Plan,
    /// What ten who look at the page cost the deciding thread, and how soon a change is on it
    Page,
    /// From the expiry of a lease to the standby's first bind
    Failover,
    /// With --controllers: pods per second of Jobs of 100 pods, against what the API server takes
    Jobs,
    /// With --controllers: writes of Jobs of 100 pods, and from a Job of one pod to its bind
    JobLatency,
    /// With --controllers: memory, CPU and writes while nothing happens to many finished Jobs
    KnownJobs,
}

impl Part {
    fn is_of_controllers(self) -> bool {
        matches!(self, Self::Jobs | Self::JobLatency | Self::KnownJobs)
    }
}

/// Measures pumice-scheduler, or pumice-controllers, on a kube-apiserver and etcd started for it on
/// loopback.
#[derive(Debug, Parser)]
struct Arguments {
    /// Nodes of the cluster
    #[arg(long, default_value_t = 1000)]
    nodes: usize,
    /// Pods to bind in each throughput measurement
    #[arg(long, default_value_t = 3000)]
    pods: usize,
    /// Pods per PodGroup
    #[arg(long, default_value_t = 20)]
    gang: usize,
    /// PodGroups of Kubernetes itself in throughput measurements
    #[arg(long)]
    native_groups: bool,
    /// Pods that run before the scheduler starts
    #[arg(long, default_value_t = 0)]
    running: usize,
    /// Pods created one at a time to measure latency
    #[arg(long, default_value_t = 200)]
    samples: usize,
    /// Pods per second while latency under load is measured, for ten seconds
    #[arg(long, default_value_t = 100)]
    load: u32,
    /// Throughput measurements, each between two of the API server's limit
    #[arg(long, default_value_t = 1)]
    rounds: usize,
    /// What to measure (default: everything)
    #[arg(long, value_enum, value_delimiter = ',')]
    parts: Vec<Part>,
    /// Measure the controllers instead of the scheduler
    #[arg(long)]
    controllers: bool,
    /// Measure what the policies of admission cost a write instead, with --samples writes of each kind in half a round
    #[arg(long)]
    policies: bool,
    /// With --policies: queues that there are, none below another
    #[arg(long, default_value_t = 0)]
    queues: usize,
    /// Measure what JSON and protobuf cost the API server instead
    #[arg(long)]
    encodings: bool,
    /// Finished Jobs of five pods each that idle controllers know
    #[arg(long, default_value_t = 10_000)]
    finished_jobs: usize,
    /// Only the limit of the API server
    #[arg(long)]
    raw_only: bool,
    /// Further flag of what is measured (repeat for several)
    #[arg(long = "flag", allow_hyphen_values = true)]
    flags: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    output: Format,
}

impl Arguments {
    fn wants(&self, part: Part) -> bool {
        let is_meant = part.is_of_controllers() == self.controllers;
        is_meant && (self.parts.is_empty() || self.parts.contains(&part))
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.policies {
        return match policies::table(arguments.rounds, arguments.samples, arguments.queues) {
            Ok(table) => {
                print!("{table}");
                ExitCode::SUCCESS
            }
            Err(error) => failed(&error),
        };
    }
    if arguments.encodings {
        return match bench_encodings(&arguments) {
            Ok(table) => {
                print!("{table}");
                ExitCode::SUCCESS
            }
            Err(error) => failed(&error),
        };
    }
    if arguments.controllers {
        return match bench_controllers(&arguments) {
            Ok(figures) => {
                match arguments.output {
                    Format::Table => print!("{}", figures.table()),
                    Format::Json => println!("{}", figures.json()),
                }
                ExitCode::SUCCESS
            }
            Err(error) => failed(&error),
        };
    }
    match bench(&arguments) {
        Ok(report) => {
            match arguments.output {
                Format::Table => print!("{}", report.table()),
                Format::Json => println!("{}", report.json()),
            }
            for problem in &report.problems {
                eprintln!("error: not measured: {problem}");
            }
            match report.problems.is_empty() {
                true => ExitCode::SUCCESS,
                false => ExitCode::FAILURE,
            }
        }
        Err(error) => failed(&error),
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}

/// A control plane with nodes.
fn start(arguments: &Arguments) -> Result<Cluster> {
    eprintln!("starting etcd and kube-apiserver");
    let cluster = Cluster::start(Options {
        without_controllers: true,
        ..Options::default()
    })?;
    cluster.install()?;
    eprintln!("creating {} nodes", arguments.nodes);
    create_nodes(cluster.rest(), "n", arguments.nodes, &NodeShape::default())?;
    Ok(cluster)
}

fn bench_controllers(arguments: &Arguments) -> Result<JobFigures> {
    let cluster = start(arguments)?;
    jobs::figures(&cluster, arguments)
}

fn bench_encodings(arguments: &Arguments) -> Result<String> {
    let cluster = start_with_pods(arguments)?;
    encodings::table(&cluster, arguments)
}

/// A control plane with nodes, and the pods that run on them.
fn start_with_pods(arguments: &Arguments) -> Result<Cluster> {
    let cluster = start(arguments)?;
    if arguments.running > 0 {
        eprintln!("creating {} pods that run", arguments.running);
        load::running_pods(cluster.rest(), arguments.running, arguments.nodes)?;
    }
    Ok(cluster)
}

fn bench(arguments: &Arguments) -> Result<Report> {
    let cluster = start_with_pods(arguments)?;
    let mut report = Report {
        nodes: arguments.nodes,
        pods: arguments.pods,
        gang: arguments.gang,
        running: arguments.running,
        ..Report::default()
    };
    if arguments.raw_only || arguments.wants(Part::Throughput) {
        raw::limit(&cluster, arguments, &mut report)?;
        raw::again(&cluster, arguments, &mut report)?;
    }
    if !arguments.raw_only {
        measure::scheduler(&cluster, arguments, &mut report)?;
    }
    Ok(report)
}
