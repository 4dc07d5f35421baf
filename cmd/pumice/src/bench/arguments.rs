//! What each benchmark is told on the command line, and which cluster that means.
//!
//! Benchmarks and the clusters made for them import from here, so that neither imports the list of
//! benchmarks (`bench.rs`).

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Rules every pending pod carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PodRule {
    /// No rule besides what the pod requests
    #[default]
    None,
    /// Required anti-affinity of a job's pods, by host
    AntiAffinity,
    /// Hard topology spread of a job's pods, by host
    SpreadHost,
    /// Hard topology spread of a job's pods, by zone
    SpreadZone,
    /// Required anti-affinity by host, `--terms` of them, each on a label of the pod's own
    OwnAntiAffinity,
    /// Preferred anti-affinity by host, likewise
    OwnPreferred,
}

/// Shared devices on the nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum BenchDevices {
    /// Nodes without shared devices
    #[default]
    None,
    /// Eight cards a node, shared as vGPUs; every pending pod asks for one
    Vgpu,
    /// Eight 910B3 chips a node, shared as HAMi does; every pending pod asks for a quarter of one
    HamiNpu,
    /// Eight 310P chips a node, shared as MindCluster does; every pending pod asks for an AI core
    MindclusterNpu,
    /// Eight GPUs a node under HAMi's own plugin; every pending pod asks for a part of one
    Nvidia,
    /// Eight GPUs a node under HAMi's own plugin, linked as a cube; every pending pod takes the best linked ones
    NvidiaLinked,
    /// Eight DCUs a node, as the other vendors of HAMi; every pending pod asks for a part of one
    Hygon,
    /// Eight MLUs a node
    Cambricon,
    /// Eight MR-V100 a node
    Iluvatar,
    /// Eight GPUs of Moore Threads a node
    Mthreads,
    /// Eight whole GPUs a node
    Metax,
    /// Eight XPUs a node; every pending pod asks for a quarter of one
    Kunlun,
    /// Eight Neuron devices a node; every pending pod asks for one of the two cores of one
    Neuron,
    /// Eight GCUs a node; every pending pod asks for one of the six slices of one
    Enflame,
}

/// Arguments of `pumice bench placement`.
#[derive(Args, Clone)]
pub struct PlacementArguments {
    /// Nodes (three sizes, chosen by the seed; three zones)
    #[arg(long, default_value_t = 1000)]
    pub nodes: usize,
    /// Pending jobs
    #[arg(long, default_value_t = 1000)]
    pub jobs: usize,
    /// Pods per job, all needed to start
    #[arg(long, default_value_t = 100)]
    pub gang: usize,
    /// Different pods; pod n is of class n modulo this, so classes are interleaved
    #[arg(long, default_value_t = 1)]
    pub classes: usize,
    /// Queues, used in turn
    #[arg(long, default_value_t = 1)]
    pub queues: usize,
    /// Pods that run already
    #[arg(long, default_value_t = 0)]
    pub running: usize,
    /// Pods per running job; 0: they belong to another scheduler and to no job
    #[arg(long, default_value_t = 0)]
    pub running_gang: usize,
    /// Rules of the pending pods
    #[arg(long, value_enum, default_value = "none")]
    pub rule: PodRule,
    /// Terms per pod, for the rules with several
    #[arg(long, default_value_t = 100)]
    pub terms: usize,
    /// Pods without rules that come after all others, each alone
    #[arg(long, default_value_t = 0)]
    pub plain: usize,
    /// Shared devices
    #[arg(long, value_enum, default_value = "none")]
    pub devices: BenchDevices,
    /// Cards of which each pending pod asks a part; of vgpu, nvidia and nvidia-linked
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(i64).range(1..=8))]
    pub cards: i64,
    /// Tiers of HyperNodes (the first of 16 nodes each, each further one of 16 of the tier below); every
    /// pending job keeps to one of the highest
    #[arg(long, default_value_t = 0)]
    pub topology: usize,
    /// The PodGroups of pending jobs are those of Kubernetes itself
    #[arg(long)]
    pub native_groups: bool,
    /// Units of work a job may take of a cycle; 0: no limit
    #[arg(long, default_value_t = 0)]
    pub job_work_limit: u64,
    /// Configuration; default: the built-in one, with deviceshare where there are devices
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Seed of the node sizes
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    pub output: Output,
}

/// Arguments of `pumice bench scale`.
#[derive(Args)]
pub struct ScaleArguments {
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    pub output: Output,
}

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people
    Table,
    /// For scripts
    Json,
}

/// Arguments of `pumice bench wake`.
#[derive(Args, Clone)]
pub struct WakeArguments {
    /// Nodes, all of them full
    #[arg(long, default_value_t = 1000)]
    pub nodes: usize,
    /// Jobs that wait
    #[arg(long, default_value_t = 5000)]
    pub jobs: usize,
    /// Pods that wait, evenly over the jobs, each job all or nothing
    #[arg(long, default_value_t = 100_000)]
    pub pods: usize,
    /// Different pods; with as many as jobs no two jobs are alike
    #[arg(long, default_value_t = 1)]
    pub classes: usize,
    /// Queues, used in turn
    #[arg(long, default_value_t = 1)]
    pub queues: usize,
    /// The jobs are not admitted yet, instead of admitted and without room
    #[arg(long)]
    pub pending: bool,
    /// Tiers of HyperNodes (the first of 16 nodes each, each further one of 16 of the tier below); every job keeps
    /// to one of the highest, which have room for all of its pods but one
    #[arg(long, default_value_t = 0)]
    pub topology: usize,
    /// Nobody sleeps: all jobs are tried in every cycle
    #[arg(long)]
    pub all: bool,
    /// Changes of each kind
    #[arg(long, default_value_t = 200)]
    pub changes: usize,
    /// Configuration; default: the built-in one
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    pub output: Output,
}

/// Arguments of `pumice bench queues`.
#[derive(Args, Clone)]
pub struct QueueTreeArguments {
    /// How many nodes the cluster has
    #[arg(long, default_value_t = 1000)]
    pub nodes: usize,
    /// Queues, `root` aside
    #[arg(long, default_value_t = 1000)]
    pub queues: usize,
    /// Queues right below each queue
    #[arg(long, default_value_t = 3)]
    pub children: usize,
    /// Pods that run, ten a job, evenly over the queues that have none below them
    #[arg(long, default_value_t = 100_000)]
    pub pods: usize,
    /// Changes of each kind
    #[arg(long, default_value_t = 200)]
    pub changes: usize,
    /// Configuration; default: Volcano's usual tiers with capacity and enableHierarchy
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    pub output: Output,
}

/// Whom others are evicted for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum EvictFor {
    /// A job of higher priority in the same queue.
    Priority,
    /// Another queue.
    Queue,
}

/// Arguments of `pumice bench preempt` and `pumice bench reclaim`.
#[derive(Args, Clone)]
pub struct EvictArguments {
    /// Nodes, all of them full: 16 pods each
    #[arg(long, default_value_t = 1000)]
    pub nodes: usize,
    /// Jobs that wait
    #[arg(long, default_value_t = 50)]
    pub jobs: usize,
    /// Pods per job, all needed to start
    #[arg(long, default_value_t = 100)]
    pub gang: usize,
    /// Different pods; pod n is of class n modulo this
    #[arg(long, default_value_t = 1)]
    pub classes: usize,
    /// Nobody may be evicted: all are of the same priority, or their queue has what it deserves
    #[arg(long)]
    pub nobody: bool,
    /// Configuration; default: Volcano's usual tiers, with gangs not protected from preemption
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    pub output: Output,
}

/// Arguments of `pumice bench fork`.
#[derive(Args, Clone)]
pub struct ForkArguments {
    /// Forks to take, one right after the other
    #[arg(long, default_value_t = 20)]
    pub forks: usize,
    #[command(flatten)]
    pub cluster: PlacementArguments,
}

/// Which tasks of a trace come, and how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TaskMix {
    /// As the trace has them
    #[default]
    Trace,
    /// Half of the GPUs are asked by tasks with several whole ones
    Several,
    /// Tasks with GPUs ask for a share of one
    Shares,
    /// A fourth of the tasks ask for no GPU
    CpuHeavy,
}

/// Arguments of `pumice bench packing`.
#[derive(Args, Clone)]
pub struct PackingArguments {
    /// Nodes, as CSV with the columns `sn`, `cpu_milli`, `memory_mib`, `gpu` and `model`
    #[arg(long, value_name = "FILE")]
    pub nodes: PathBuf,
    /// Tasks, as CSV with the columns `cpu_milli`, `memory_mib`, `num_gpu` and `gpu_milli`, with `gpu_spec`
    /// where models are required, and for `--departures` with `creation_time` and `deletion_time`
    #[arg(long, value_name = "FILE")]
    pub pods: PathBuf,
    /// Which tasks come
    #[arg(long, value_enum, default_value = "trace")]
    pub tasks: TaskMix,
    /// Configurations to compare; default: the one documented for shared GPUs
    #[arg(long, value_name = "FILE")]
    pub config: Vec<PathBuf>,
    /// Times the tasks are drawn
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub draws: u32,
    /// Seed of the first draw
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// What plugin `fragmentation` is told that tasks ask, in all of these configurations that have it: a class a line,
    /// as in a ConfigMap of `fragmentation.configMap`
    #[arg(long, value_name = "FILE")]
    pub mix: Option<PathBuf>,
    /// Arrived GPU demand at which a draw ends, in percent of all GPUs; default: 130, with departures 800
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub until: Option<u32>,
    /// Tasks come at random and last as long as in the trace, in a cluster that has run for long; what finds no place
    /// is rejected. Counts the second half
    #[arg(long)]
    pub departures: bool,
    /// With departures: GPU time that is asked, in percent of what there is
    #[arg(long, default_value_t = 100, requires = "departures", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub load: u32,
    /// Writes the curves as a picture
    #[arg(long, value_name = "FILE", conflicts_with = "departures")]
    pub svg: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    pub output: Output,
}

/// Arguments of `pumice bench trace`.
#[derive(Args, Clone)]
pub struct TraceBenchArguments {
    /// How many jobs come
    #[arg(long, default_value_t = 100_000)]
    pub jobs: usize,
    /// How many nodes the cluster has
    #[arg(long, default_value_t = 1000)]
    pub nodes: usize,
    /// Cards of a node, each with 16 cores and 128 GiB beside it
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(i64).range(1..=64))]
    pub cards: i64,
    /// What jobs ask for of all cards, in percent
    #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub load: u32,
    /// Queues, of which the first have more jobs than the last
    #[arg(long, default_value_t = 10)]
    pub queues: usize,
    /// What chance begins with
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Configuration; default: the built-in one
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Writes the trace, for `pumice simulate --trace`, and does nothing else
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    pub output: Output,
}
