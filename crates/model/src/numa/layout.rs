//! Which CPUs a container gets (spec/02 §22.3, §22.4).

use std::cmp::Reverse;

use super::CpuSet;
use crate::object::{CpuRequest, NumatopologyObject, TopologyPolicy};

/// Where the CPUs of a node are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuLayout {
    policy: TopologyPolicy,
    /// CPUs of each NUMA node, by its number.
    numa_nodes: Vec<CpuSet>,
    /// By their numbers.
    sockets: Vec<Socket>,
    /// Numbers of the CPUs.
    numbers: Vec<u32>,
}

/// The first container of a pod that gets no CPUs of its own on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnservedContainer {
    /// Index of the container among those of the pod, or among its init containers.
    pub at: usize,
    /// It is an init container.
    pub is_init: bool,
    /// CPUs it asks for.
    pub cpus: u32,
    /// Most NUMA nodes they may be of; none: of any.
    pub numa_nodes: Option<usize>,
    /// What the containers before it leave, CPUs of each NUMA node by its number.
    pub free: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Socket {
    cpus: CpuSet,
    /// CPUs of each core, by its number.
    cores: Vec<CpuSet>,
}

impl CpuLayout {
    /// The CPUs of a node.
    pub fn new(object: &NumatopologyObject) -> Self {
        let cpus = || object.cpus.iter().enumerate();
        let sorted = |numbers: Vec<u32>| {
            let mut numbers = numbers;
            numbers.sort_unstable();
            numbers.dedup();
            numbers
        };
        let numas = sorted(object.cpus.iter().map(|place| place.numa).collect());
        let sockets = sorted(object.cpus.iter().map(|place| place.socket).collect());
        let of_numa = |numa: &u32| {
            let there = cpus().filter(|(_, place)| place.numa == *numa);
            there.map(|(at, _)| at).collect()
        };
        let of_socket = |socket: &u32| {
            let there = || cpus().filter(|(_, place)| place.socket == *socket);
            let cores = sorted(there().map(|(_, place)| place.core).collect());
            let core = |core: &u32| {
                let cpus = there().filter(|(_, place)| place.core == *core);
                cpus.map(|(at, _)| at).collect()
            };
            Socket {
                cpus: there().map(|(at, _)| at).collect(),
                cores: cores.iter().map(core).collect(),
            }
        };
        Self {
            policy: object.policy,
            numa_nodes: numas.iter().map(of_numa).collect(),
            sockets: sockets.iter().map(of_socket).collect(),
            numbers: object.cpus.iter().map(|place| place.cpu).collect(),
        }
    }

    /// The set of CPUs with these numbers; numbers of no CPU are passed over.
    pub fn set(&self, numbers: &[u32]) -> CpuSet {
        let at = numbers.iter().map(|cpu| self.numbers.binary_search(cpu));
        at.flatten().collect()
    }

    /// Numbers of the CPUs of a set.
    pub fn numbers(&self, set: &CpuSet) -> Vec<u32> {
        set.iter().map(|at| self.numbers[at]).collect()
    }

    /// Number of NUMA nodes of which a set has CPUs.
    pub fn count_numa_nodes(&self, set: &CpuSet) -> usize {
        let nodes = self.numa_nodes.iter();
        nodes.filter(|node| node.count_in(set) > 0).count()
    }

    /// The CPUs that the containers of a pod get of the free ones; `None` where the policy of the node or
    /// a lack of CPUs lets one of them have none.
    pub fn align(&self, request: &CpuRequest, free: &CpuSet) -> Option<CpuSet> {
        self.align_in_turn(request, free).ok()
    }

    /// Who keeps a pod from the node; `None` if all its containers get CPUs.
    pub fn unserved(&self, request: &CpuRequest, free: &CpuSet) -> Option<UnservedContainer> {
        let (turn, free) = self.align_in_turn(request, free).err()?;
        let ContainerTurn {
            at, is_init, cpus, ..
        } = turn;
        let numa_nodes = match self.policy {
            TopologyPolicy::None | TopologyPolicy::BestEffort => None,
            TopologyPolicy::Restricted => Some(self.least_numa_nodes(cpus)),
            TopologyPolicy::SingleNumaNode => Some(1),
        };
        Some(UnservedContainer {
            at,
            is_init,
            cpus,
            numa_nodes,
            free: self.counts(&free),
        })
    }

    /// The CPUs that the containers get, or the first one that gets none and what is free for it.
    fn align_in_turn(
        &self,
        request: &CpuRequest,
        free: &CpuSet,
    ) -> Result<CpuSet, (ContainerTurn, CpuSet)> {
        let mut pod = PodInTurn::new(free);
        for turn in turns(request) {
            match self.align_container(turn.cpus, &pod.available, &pod.left) {
                Some(own) => pod.give(turn, &own),
                None => return Err((turn, pod.available)),
            }
        }
        Ok(pod.given)
    }

    /// The CPUs that the containers have of a pod that is on the node: where the policy forbids it, it
    /// has some all the same.
    pub fn take(&self, request: &CpuRequest, free: &CpuSet) -> CpuSet {
        let mut pod = PodInTurn::new(free);
        for turn in turns(request) {
            let aligned = self.align_container(turn.cpus, &pod.available, &pod.left);
            let own = aligned.unwrap_or_else(|| self.pick(&pod.available, turn.cpus));
            pod.give(turn, &own);
        }
        pod.given
    }

    /// The CPUs of a container among the free ones; of the NUMA nodes it is kept to are all that have
    /// CPUs which init containers have left.
    fn align_container(&self, cpus: u32, free: &CpuSet, left: &CpuSet) -> Option<CpuSet> {
        if cpus > free.len() {
            return None;
        }
        let (nodes, is_least) = self.narrowest(cpus, free, left);
        let is_one = nodes.len() == 1;
        let admits = match self.policy {
            TopologyPolicy::None | TopologyPolicy::BestEffort => true,
            TopologyPolicy::Restricted => is_least,
            TopologyPolicy::SingleNumaNode => is_least && is_one,
        };
        if !admits {
            return None;
        }
        let mut near = CpuSet::default();
        nodes.iter().for_each(|at| near.add(&self.numa_nodes[*at]));
        let mut given = self.pick(&free.and(&near), cpus);
        let mut rest = free.clone();
        rest.remove(&given);
        given.add(&self.pick(&rest, cpus - given.len()));
        Some(given)
    }

    /// The NUMA nodes a container is kept to, and whether they are as few as could be on an empty node.
    fn narrowest(&self, cpus: u32, free: &CpuSet, left: &CpuSet) -> (Vec<usize>, bool) {
        let (free, least) = (self.counts(free), self.least_numa_nodes(cpus));
        let left = self.counts(left);
        let nodes = left.iter().zip(&free).map(|(left, free)| NumaNode {
            free: *free,
            must: *left > 0,
        });
        let nodes: Vec<NumaNode> = nodes.collect();
        let mut counts = least..=free.len();
        let found = counts.find_map(|count| Some((lowest_nodes(&nodes, count, cpus)?, count)));
        match found {
            Some((nodes, count)) => (nodes, count == least),
            None => ((0..free.len()).collect(), false),
        }
    }

    /// CPUs of a set on each NUMA node.
    fn counts(&self, set: &CpuSet) -> Vec<u32> {
        let nodes = self.numa_nodes.iter();
        nodes.map(|node| node.count_in(set)).collect()
    }

    /// The smallest number of NUMA nodes that have so many CPUs; all of them where there are fewer.
    fn least_numa_nodes(&self, cpus: u32) -> usize {
        let mut sizes: Vec<u32> = self.numa_nodes.iter().map(CpuSet::len).collect();
        sizes.sort_unstable_by_key(|size| Reverse(*size));
        let mut sum = 0;
        let least = sizes.iter().take_while(|size| {
            let lacks = sum < cpus;
            sum += **size;
            lacks
        });
        least.count()
    }

    /// Chooses among CPUs that may be had: whole sockets first, then whole cores, then single ones, so that
    /// little is cut up. Fewer than wanted only if there are no more.
    pub fn pick(&self, available: &CpuSet, wanted: u32) -> CpuSet {
        let mut pick = Pick {
            left: available.clone(),
            wanted,
            taken: CpuSet::default(),
        };
        for socket in &self.sockets {
            pick.take_whole(&socket.cpus);
        }
        if pick.wanted > 0 {
            let mut sockets: Vec<&Socket> = self.sockets.iter().collect();
            sockets.sort_by_cached_key(|socket| {
                let cores = socket.cores.iter();
                cores.filter(|core| core.is_within(&pick.left)).count()
            });
            for core in sockets.iter().flat_map(|socket| &socket.cores) {
                pick.take_whole(core);
            }
        }
        if pick.wanted > 0 {
            let sockets = self.sockets.iter();
            let cores = sockets.flat_map(|socket| socket.cores.iter().map(move |c| (socket, c)));
            let mut cores: Vec<_> = cores.filter(|(_, c)| c.count_in(&pick.left) > 0).collect();
            cores.sort_by_cached_key(|(socket, core)| {
                let taken = socket.cpus.count_in(&pick.taken);
                let free = socket.cpus.count_in(&pick.left);
                (Reverse(taken), free, core.count_in(&pick.left))
            });
            for cpu in cores.iter().flat_map(|(_, core)| core.iter()) {
                pick.take_whole(&CpuSet::from_iter([cpu]));
            }
        }
        pick.taken
    }
}

struct Pick {
    left: CpuSet,
    wanted: u32,
    taken: CpuSet,
}

impl Pick {
    /// Takes CPUs if all of them may be had and are wanted.
    fn take_whole(&mut self, cpus: &CpuSet) {
        let count = cpus.len();
        if count <= self.wanted && cpus.is_within(&self.left) {
            self.left.remove(cpus);
            self.taken.add(cpus);
            self.wanted -= count;
        }
    }
}

/// A NUMA node that a container may be kept to.
#[derive(Clone, Copy)]
struct NumaNode {
    /// Free CPUs.
    free: u32,
    /// It is one of them in any case.
    must: bool,
}

/// The set of `count` NUMA nodes whose largest node is lowest, then the second largest, and so on, in
/// descending order: of all sets with enough free CPUs, and with all that must be among them.
fn lowest_nodes(nodes: &[NumaNode], count: usize, cpus: u32) -> Option<Vec<usize>> {
    let (mut below, mut lacking) = (nodes.len(), cpus);
    let mut chosen = Vec::with_capacity(count);
    for others in (0..count).rev() {
        let fits = |top: &usize| {
            let is_passed_over = nodes[top + 1..below].iter().any(|node| node.must);
            let mut rest = nodes[..*top].to_vec();
            rest.sort_unstable_by_key(|node| Reverse((node.must, node.free)));
            let lacks_room = rest.iter().skip(others).any(|node| node.must);
            let most: u32 = rest.iter().take(others).map(|node| node.free).sum();
            !is_passed_over && !lacks_room && nodes[*top].free + most >= lacking
        };
        let top = (others..below).find(fits)?;
        chosen.push(top);
        lacking = lacking.saturating_sub(nodes[top].free);
        below = top;
    }
    Some(chosen)
}

/// A container that gets CPUs of its own.
#[derive(Clone, Copy)]
struct ContainerTurn {
    /// Index of the container among the containers, or among the init containers.
    at: usize,
    is_init: bool,
    cpus: u32,
    /// It keeps them.
    stays: bool,
}

/// The containers of a pod that get CPUs of their own, in the order in which the kubelet sees to them: init
/// containers, sidecars among them, then the others.
fn turns(request: &CpuRequest) -> impl Iterator<Item = ContainerTurn> {
    let init = request.init.iter().enumerate();
    let init = init.map(|(at, init)| ContainerTurn {
        at,
        is_init: true,
        cpus: init.cpus,
        stays: init.stays,
    });
    let others = request.containers.iter().enumerate();
    let others = others.map(|(at, cpus)| ContainerTurn {
        at,
        is_init: false,
        cpus: *cpus,
        stays: true,
    });
    init.chain(others).filter(|turn| turn.cpus > 0)
}

/// A pod of which some containers have got their CPUs.
struct PodInTurn {
    given: CpuSet,
    /// What the next container may have.
    available: CpuSet,
    /// What init containers have had and nobody after them yet.
    left: CpuSet,
}

impl PodInTurn {
    fn new(free: &CpuSet) -> Self {
        Self {
            given: CpuSet::default(),
            available: free.clone(),
            left: CpuSet::default(),
        }
    }

    fn give(&mut self, turn: ContainerTurn, own: &CpuSet) {
        self.given.add(own);
        match turn.stays {
            true => {
                self.available.remove(own);
                self.left.remove(own);
            }
            false => self.left.add(own),
        }
    }
}
