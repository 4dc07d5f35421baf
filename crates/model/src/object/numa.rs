//! What a node tells of its CPUs, and what pods ask of them (spec/02 §22).

/// Which CPUs of a node the kubelet lets a container have (`TopologyManagerPolicy`).
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub enum TopologyPolicy {
    /// Any.
    #[default]
    None,
    /// Those of as few NUMA nodes as can be.
    BestEffort,
    /// Those of the fewest NUMA nodes that could hold them on an empty node, or none.
    Restricted,
    /// Those of one NUMA node, or none.
    SingleNumaNode,
}

impl TopologyPolicy {
    /// By the word of the kubelet's configuration; `None` for a word that is none of them.
    pub fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "" | "none" => Self::None,
            "best-effort" => Self::BestEffort,
            "restricted" => Self::Restricted,
            "single-numa-node" => Self::SingleNumaNode,
            _ => return None,
        })
    }

    /// The word of the kubelet's configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::BestEffort => "best-effort",
            Self::Restricted => "restricted",
            Self::SingleNumaNode => "single-numa-node",
        }
    }
}

/// Where a CPU is. Cores have numbers of their own in every socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CpuPlace {
    /// Number of the CPU, less than [`MAX_CPU`].
    pub cpu: u32,
    /// NUMA node.
    pub numa: u32,
    /// Number of the socket.
    pub socket: u32,
    /// Number of the core within its socket.
    pub core: u32,
}

/// CPUs have numbers below this.
pub const MAX_CPU: u32 = 4096;

/// A node has at most so many NUMA nodes.
pub const MAX_NUMA_NODES: usize = 64;

/// A pod to which the kubelet has given its CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct AssignedPod {
    /// UID; empty where it is not told.
    pub uid: String,
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub name: String,
}

/// The Numatopology of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct NumatopologyObject {
    /// Name of the node.
    pub node: String,
    /// The kubelet gives containers CPUs of their own: `CPUManagerPolicy` is `static`.
    pub gives_cpus: bool,
    /// `TopologyManagerPolicy`; one that does not exist is none.
    pub policy: TopologyPolicy,
    /// All CPUs, by number, each once.
    pub cpus: Vec<CpuPlace>,
    /// Numbers of those that no container has, sorted, each once.
    pub free: Vec<u32>,
    /// How many CPUs the kubelet keeps for itself.
    pub reserved: u32,
    /// Pods whose CPUs are not free any more.
    pub assigned: Vec<AssignedPod>,
    /// When all this was last told, seconds since the epoch; `None`: not known.
    pub written_s: Option<i64>,
}

/// What the annotation of a pod asks of the policy of its node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum AskedPolicy {
    /// Nothing.
    #[default]
    Any,
    /// To be this one.
    Only(TopologyPolicy),
    /// To be one that does not exist.
    Unknown(String),
}

/// CPUs of its own of an init container.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct InitCpus {
    /// How many; 0 where it asks for parts of one.
    pub cpus: u32,
    /// It is a sidecar, and keeps them; others leave theirs to the containers after them.
    pub stays: bool,
}

/// What a pod that counts as Guaranteed asks of CPUs; none for other pods.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct CpuRequest {
    /// Policy that the pod's annotation asks for.
    pub policy: AskedPolicy,
    /// Init containers of the pod, in order: they get theirs first.
    pub init: Vec<InitCpus>,
    /// For each container in order, how many CPUs of its own it gets; 0 where it asks for parts of one.
    pub containers: Vec<u32>,
}

impl CpuRequest {
    /// Some container gets CPUs of its own.
    pub fn takes_cpus(&self) -> bool {
        let init = self.init.iter().map(|init| init.cpus);
        init.chain(self.containers.iter().copied())
            .any(|cpus| cpus > 0)
    }

    /// CPUs it has once its init containers have ended.
    pub fn lasting_cpus(&self) -> u32 {
        let stays = self.init.iter().filter(|init| init.stays);
        let cpus = stays.map(|init| init.cpus);
        cpus.chain(self.containers.iter().copied())
            .fold(0, u32::saturating_add)
    }
}
