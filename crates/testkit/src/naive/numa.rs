//! Plugin `numa-aware` (spec/02 §22).

use std::collections::{BTreeMap, BTreeSet};

use pumice_conf::PluginConf;
use pumice_model::object::{
    AskedPolicy, CpuPlace, CpuRequest, NodeObject, NumatopologyObject, PodPhase, TopologyPolicy,
};

use super::cycle::Cycle;
use super::state::{Task, World};

/// Numbers of CPUs of one node.
pub type Cpus = BTreeSet<u32>;

/// The node gives this pod CPUs and does not tell yet which.
fn expects(object: &NumatopologyObject, task: &Task) -> bool {
    let request = task.pod.cpus.as_ref();
    let asks = request.is_some_and(|request| !in_turn(request).is_empty());
    let told = object.assigned.iter().any(|pod| {
        if pod.uid.is_empty() {
            (&pod.namespace, &pod.name) == (&task.pod.namespace, &task.pod.name)
        } else {
            pod.uid == task.pod.uid
        }
    });
    asks && !told && object.gives_cpus && object.policy != TopologyPolicy::None
}

/// How many CPUs each container wants for itself, in the order in which they get some, and whether it keeps
/// them.
fn in_turn(request: &CpuRequest) -> Vec<(usize, bool)> {
    let init = request.init.iter().map(|init| (init.cpus, init.stays));
    let all = init.chain(request.containers.iter().map(|cpus| (*cpus, true)));
    all.filter(|(cpus, _)| *cpus > 0)
        .map(|(cpus, stays)| (cpus as usize, stays))
        .collect()
}

/// How many CPUs that are neither free nor kept back are whose nobody says.
fn given_untold(object: &NumatopologyObject) -> usize {
    if !object.assigned.is_empty() {
        return 0;
    }
    let all: Cpus = object.cpus.iter().map(|place| place.cpu).collect();
    let reserved = pick(object, &all, object.reserved as usize);
    let is_given = |cpu: &&u32| !object.free.contains(cpu) && !reserved.contains(cpu);
    all.iter().filter(is_given).count()
}

/// What the kubelet could give out if nobody were expected to have anything.
fn unassigned(object: &NumatopologyObject) -> Cpus {
    let all: Cpus = object.cpus.iter().map(|place| place.cpu).collect();
    let reserved = pick(object, &all, object.reserved as usize);
    let free = object.free.iter().copied();
    free.filter(|cpu| all.contains(cpu) && !reserved.contains(cpu))
        .collect()
}

fn free(world: &World, node: &str) -> Cpus {
    let mut free = unassigned(&world.numatopologies[node]);
    for task in world.tasks_on(node) {
        free.retain(|cpu| !task.cpus.contains(cpu));
    }
    free
}

/// Before a cycle the expected CPUs follow from the objects, the oldest pod first.
pub fn settle(world: &mut World) {
    world.tasks.values_mut().for_each(|task| task.cpus.clear());
    for (node, object) in world.numatopologies.clone() {
        let there = world.tasks_on(&node).into_iter();
        let mut there: Vec<(i64, String)> = there
            .filter(|task| expects(&object, task))
            .map(|task| (task.pod.created_s, task.pod.uid.clone()))
            .collect();
        there.sort();
        let (mut free, mut given) = (unassigned(&object), given_untold(&object));
        for (_, uid) in there {
            let Some(task) = world.tasks.get_mut(&uid) else {
                continue;
            };
            let request = task.pod.cpus.as_ref().expect("it asks");
            let kept = in_turn(request).into_iter().filter(|(_, stays)| *stays);
            let has: usize = kept.map(|(cpus, _)| cpus).sum();
            let is_older = match (object.written_s, task.pod.scheduled_s, task.pod.created_s) {
                (None, _, _) | (_, None, 0) => true,
                (Some(written_s), Some(since_s), _) | (Some(written_s), None, since_s) => {
                    since_s < written_s
                }
            };
            if task.pod.phase == PodPhase::Running && is_older && has <= given {
                given -= has;
                continue;
            }
            task.cpus = taken(&object, request, &free);
            free.retain(|cpu| !task.cpus.contains(cpu));
        }
    }
}

/// What the task would have on the node.
pub fn choose(world: &World, task: &Task, node: &str) -> Cpus {
    match (world.numatopologies.get(node), &task.pod.cpus) {
        (Some(object), Some(request))
            if expects(object, task) && world.nodes.contains_key(node) =>
        {
            taken(object, request, &free(world, node))
        }
        _ => Cpus::new(),
    }
}

/// The plugin, where it is there and its filter is on, lets the pod onto the node.
pub fn pass(cycle: &Cycle, task: &Task, node: &NodeObject) -> bool {
    let plugin = cycle.plugin("numa-aware");
    let is_on = plugin.is_some_and(|plugin| plugin.enabled.predicate);
    let Some(request) = task.pod.cpus.as_ref().filter(|_| is_on) else {
        return true;
    };
    let object = cycle.world.numatopologies.get(&node.name);
    match (&request.policy, object) {
        (AskedPolicy::Unknown(_), _) | (AskedPolicy::Only(_), None) => false,
        (AskedPolicy::Any, None) => true,
        (AskedPolicy::Any, Some(object))
            if !object.gives_cpus || object.policy == TopologyPolicy::None =>
        {
            true
        }
        (AskedPolicy::Only(policy), Some(object))
            if !object.gives_cpus || object.policy != *policy =>
        {
            false
        }
        (asked, Some(object)) => {
            let free = free(&cycle.world, &node.name);
            let is_full = free.is_empty() && *asked != AskedPolicy::Any;
            !is_full && aligned(object, request, &free).is_some()
        }
    }
}

/// Scores of the candidates.
pub fn scores(cycle: &Cycle, plugin: &PluginConf, task: &Task, nodes: &[&NodeObject]) -> Vec<i64> {
    let Some(request) = &task.pod.cpus else {
        return vec![0; nodes.len()];
    };
    if !matches!(request.policy, AskedPolicy::Only(_)) {
        return vec![0; nodes.len()];
    }
    let spans = nodes.iter().map(|node| {
        let object = cycle.world.numatopologies.get(&node.name)?;
        let cpus = aligned(object, request, &free(&cycle.world, &node.name))?;
        let numas = cpus.iter().map(|cpu| place(object, *cpu).numa);
        Some(numas.collect::<BTreeSet<u32>>().len() as i64)
    });
    let spans: Vec<i64> = spans.map(Option::unwrap_or_default).collect();
    let largest = spans.iter().copied().max().unwrap_or(0);
    let weight = plugin.arguments.int("weight").unwrap_or(1);
    let score = |span: &i64| {
        weight
            * (100
                - if largest == 0 {
                    0
                } else {
                    100 * span / largest
                })
    };
    spans.iter().map(score).collect()
}

fn place(object: &NumatopologyObject, cpu: u32) -> CpuPlace {
    let found = object.cpus.iter().find(|place| place.cpu == cpu);
    *found.expect("a CPU of the node")
}

/// Container by container; none where one of them is refused.
fn aligned(object: &NumatopologyObject, request: &CpuRequest, free: &Cpus) -> Option<Cpus> {
    serve(object, request, free, |_, _| None)
}

/// Each container has what nobody before it has kept; who leaves its CPUs to those after it binds them to their
/// NUMA nodes until they are taken. `refused`: what a container has that may not have any.
fn serve(
    object: &NumatopologyObject,
    request: &CpuRequest,
    free: &Cpus,
    refused: impl Fn(&Cpus, usize) -> Option<Cpus>,
) -> Option<Cpus> {
    let (mut all, mut kept, mut left) = (Cpus::new(), Cpus::new(), Cpus::new());
    for (wanted, stays) in in_turn(request) {
        let available: Cpus = free.difference(&kept).copied().collect();
        let own = container(object, wanted, &available, &left);
        let own = own.or_else(|| refused(&available, wanted))?;
        all.extend(&own);
        if stays {
            left.retain(|cpu| !own.contains(cpu));
            kept.extend(own);
        } else {
            left.extend(own);
        }
    }
    Some(all)
}

/// The CPUs that are taken from `free`, where a refused container has some CPUs all the same.
fn taken(object: &NumatopologyObject, request: &CpuRequest, free: &Cpus) -> Cpus {
    let any = |available: &Cpus, wanted| Some(pick(object, available, wanted));
    serve(object, request, free, any).unwrap_or_default()
}

/// One container, by all sets of NUMA nodes that have all that was left to it.
fn container(object: &NumatopologyObject, wanted: usize, free: &Cpus, left: &Cpus) -> Option<Cpus> {
    if wanted > free.len() {
        return None;
    }
    let numas: BTreeSet<u32> = object.cpus.iter().map(|place| place.numa).collect();
    let numas: Vec<u32> = numas.into_iter().collect();
    let has = |mask: u32, cpu: u32| {
        let numa = place(object, cpu).numa;
        (0..numas.len()).any(|at| mask >> at & 1 == 1 && numas[at] == numa)
    };
    let all_of = |mask: u32| object.cpus.iter().filter(|p| has(mask, p.cpu)).count();
    let free_of = |mask: u32| free.iter().filter(|cpu| has(mask, **cpu)).count();
    let every = (1_u32 << numas.len()) - 1;
    let large = (1..=every).filter(|mask| all_of(*mask) >= wanted);
    let least = large.map(u32::count_ones).min();
    let mut best = (every, false);
    let has_left = |mask: u32| left.iter().all(|cpu| has(mask, *cpu));
    for mask in (1..=every).filter(|mask| free_of(*mask) >= wanted && has_left(*mask)) {
        let preferred = Some(mask.count_ones()) == least;
        let single = object.policy == TopologyPolicy::SingleNumaNode;
        if single && !(preferred && mask.count_ones() == 1) {
            continue;
        }
        let narrower = (mask.count_ones(), mask) < (best.0.count_ones(), best.0);
        if (preferred && !best.1) || (preferred == best.1 && narrower) {
            best = (mask, preferred);
        }
    }
    let strict = [TopologyPolicy::Restricted, TopologyPolicy::SingleNumaNode];
    if strict.contains(&object.policy) && !best.1 {
        return None;
    }
    let inside: Cpus = free
        .iter()
        .copied()
        .filter(|cpu| has(best.0, *cpu))
        .collect();
    let mut own = pick(object, &inside, wanted);
    let rest: Cpus = free.difference(&own).copied().collect();
    own.extend(pick(object, &rest, wanted - own.len()));
    Some(own)
}

/// Whole sockets, then whole cores, then single CPUs.
fn pick(object: &NumatopologyObject, available: &Cpus, wanted: usize) -> Cpus {
    let mut sockets: BTreeMap<u32, Cpus> = BTreeMap::new();
    let mut cores: BTreeMap<(u32, u32), Cpus> = BTreeMap::new();
    for place in &object.cpus {
        sockets.entry(place.socket).or_default().insert(place.cpu);
        let core = cores.entry((place.socket, place.core)).or_default();
        core.insert(place.cpu);
    }
    let mut own = Cpus::new();
    let is_free = |own: &Cpus, cpus: &Cpus| cpus.is_subset(available) && cpus.is_disjoint(own);
    let left = |own: &Cpus, cpus: &Cpus| {
        let left = cpus.iter().filter(|cpu| available.contains(cpu));
        left.filter(|cpu| !own.contains(cpu)).count()
    };
    for cpus in sockets.values() {
        if is_free(&own, cpus) && own.len() + cpus.len() <= wanted {
            own.extend(cpus);
        }
    }
    let of = |socket: u32| cores.iter().filter(move |((s, _), _)| *s == socket);
    let mut order: Vec<(usize, u32)> = sockets
        .keys()
        .map(|socket| {
            let free = of(*socket).filter(|(_, cpus)| is_free(&own, cpus));
            (free.count(), *socket)
        })
        .collect();
    order.sort_unstable();
    for (_, socket) in order {
        for (_, cpus) in of(socket) {
            if is_free(&own, cpus) && own.len() + cpus.len() <= wanted {
                own.extend(cpus);
            }
        }
    }
    let mut order: Vec<_> = cores
        .iter()
        .map(|((socket, core), cpus)| {
            let of_socket = &sockets[socket];
            let taken = of_socket.intersection(&own).count();
            let rank = (usize::MAX - taken, left(&own, of_socket), left(&own, cpus));
            (rank, *socket, *core)
        })
        .collect();
    order.sort_unstable();
    for (_, socket, core) in order {
        for cpu in &cores[&(socket, core)] {
            if available.contains(cpu) && own.len() < wanted {
                own.insert(*cpu);
            }
        }
    }
    own
}
