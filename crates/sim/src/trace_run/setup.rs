//! Before the first job comes: what the engine is told of the cluster, and what jobs are to it.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use pumice_conf::Config;
use pumice_devices::binding::Sequences;
use pumice_engine::{Engine, let_numbers_stay};
use pumice_model::Delta;
use pumice_model::object::{GroupObject, NodeObject, PodObject, PriorityClassObject, QueueObject};
use pumice_traces::{TraceJob, WHOLE_CARD};

use super::books::{JobOwner, TraceBooks};
use super::carry_out::LIMIT;
use super::drive::{Drive, OtherPod, TraceRunSettings};
use super::figures::{MAX_NAMED, TraceOutcome};
use super::ground::{TraceGround, cards_milli};
use super::objects::{self, JobMaker};
use super::promises::PromiseBook;
use crate::task_mix;

/// Parts of the time from the first to the last job that comes.
const PARTS: i64 = 200;

/// Most users that are told apart.
const MAX_USERS: usize = 4096;

/// The name of a queue of a trace that is called as the root of all queues is.
const ROOT: &str = "root";

impl<'a> Drive<'a> {
    /// An engine that knows the cluster, and no job yet.
    pub(super) fn new(
        config: &Config,
        ground: &TraceGround,
        jobs: &'a [TraceJob],
        settings: &TraceRunSettings,
        remarks: &mut Vec<String>,
    ) -> Self {
        let (deltas, card_resource) = ground.first(config, settings);
        let mut engine = Engine::new(config, &settings.default_queue);
        engine.set_full_check_interval_s(Some(i64::MAX));
        let_numbers_stay(&mut engine);
        task_mix::tell(config, &ground.mix_maps, &mut engine);
        let told = tell_ground(&mut engine, deltas, &card_resource);
        let mut weights = told.weights;
        let (queues, queue_of) =
            queues_of(jobs, ground, settings, &mut weights, &mut engine, remarks);
        let (users, user_of) = users_of(jobs, remarks);
        let owners = queue_of.into_iter().zip(user_of);
        let owners: Vec<JobOwner> = owners
            .map(|(queue, user)| JobOwner { queue, user })
            .collect();
        let priorities: BTreeSet<i32> = jobs.iter().map(|job| job.priority).collect();
        for priority in priorities.into_iter().filter(|priority| *priority != 0) {
            engine.apply(Delta::PriorityClassApply(PriorityClassObject {
                name: objects::class_name(priority),
                value: priority,
                ..PriorityClassObject::default()
            }));
        }
        // Nodes have their numbers from now on.
        engine.stand_by();
        let settings = (settings, (queues.len(), users.len()));
        let (maker, books) = surveyed(&engine, jobs, settings, card_resource, remarks);
        let start_s = jobs.first().map_or(0, |job| job.submit_s);
        let mut drive = Self {
            engine,
            jobs,
            maker,
            outcomes: vec![TraceOutcome::default(); jobs.len()],
            owners,
            queues,
            users,
            live: BTreeMap::new(),
            other_groups: told.groups,
            other_pods: BTreeMap::new(),
            events: BinaryHeap::new(),
            arrived: 0,
            books,
            sequences: Sequences::default(),
            promises: PromiseBook::default(),
            keeps_mix: config.plugin("fragmentation").is_some(),
            keeps_limits: config.plugin(LIMIT).is_some(),
            learns: config.plugin("runtimeestimate").is_some(),
            leaving: Vec::new(),
            next_look_s: start_s,
            cycles: 0,
            evictions: 0,
            ended_by_limit: 0,
            others_evicted: 0,
            lost_milli_s: 0,
            running: 0,
        };
        for pod in told.pods.values() {
            drive.occupy_other(start_s, pod, 1);
        }
        drive.other_pods = told.pods;
        if ground.left_out > 0 {
            remarks.push(format!("{} pods and Jobs of the manifests have no node yet and take no part: the trace brings the work", ground.left_out));
        }
        drive
    }
}

/// What the engine was told that a run has to remember.
struct ToldGround {
    /// Weights of queues.
    weights: BTreeMap<String, i64>,
    groups: BTreeMap<String, GroupObject>,
    pods: BTreeMap<String, OtherPod>,
}

fn tell_ground(engine: &mut Engine, deltas: Vec<Delta>, card_resource: &str) -> ToldGround {
    let mut told = ToldGround {
        weights: BTreeMap::new(),
        groups: BTreeMap::new(),
        pods: BTreeMap::new(),
    };
    for delta in deltas {
        match &delta {
            Delta::QueueApply(queue) => {
                told.weights.insert(queue.name.clone(), queue.weight.max(1));
            }
            Delta::GroupApply(group) => {
                let key = format!("{}/{}", group.namespace, group.name);
                told.groups.insert(key, (**group).clone());
            }
            Delta::PodApply(pod) => {
                told.pods
                    .insert(pod.uid.clone(), other_pod(pod, card_resource));
            }
            _ => {}
        }
        engine.apply(delta);
    }
    told
}

fn other_pod(pod: &PodObject, card_resource: &str) -> OtherPod {
    let of = |name: &str| {
        let amounts = pod.request.iter().filter(|(known, _)| known == name);
        amounts.map(|(_, amount)| *amount).sum()
    };
    OtherPod {
        node: pod.node.clone().unwrap_or_default(),
        cpu_milli: of("cpu"),
        cards_milli: of(card_resource),
    }
}

/// The queues, and the one of each job. A trace brings its own, unless manifests have some: then jobs of others go to the
/// default one.
fn queues_of(
    jobs: &[TraceJob],
    ground: &TraceGround,
    settings: &TraceRunSettings,
    weights: &mut BTreeMap<String, i64>,
    engine: &mut Engine,
    remarks: &mut Vec<String>,
) -> (Vec<(String, i64)>, Vec<u32>) {
    let own = |name: &&String| *name != ROOT && **name != settings.default_queue;
    let are_given = ground.queues.iter().any(|name| own(&name));
    let (mut numbers, mut queues, mut queue_of) = (BTreeMap::new(), Vec::new(), Vec::new());
    let (mut strange, mut first) = (0, BTreeSet::new());
    for job in jobs {
        let named = match job.queue.as_str() {
            "" => settings.default_queue.clone(),
            ROOT => format!("{ROOT}-of-trace"),
            name => name.to_owned(),
        };
        let is_strange = are_given && !weights.contains_key(&named);
        if is_strange {
            strange += 1;
            first.insert(named.clone());
        }
        let name = if is_strange {
            settings.default_queue.clone()
        } else {
            named
        };
        let number = *numbers.entry(name.clone()).or_insert_with(|| {
            let weight = weights.get(&name).copied().unwrap_or(1);
            queues.push((name, weight));
            queues.len() as u32 - 1
        });
        queue_of.push(number);
    }
    let roots = [ROOT, settings.default_queue.as_str()].into_iter();
    let needed = queues.iter().map(|(name, _)| name.as_str()).chain(roots);
    for name in needed.collect::<BTreeSet<&str>>() {
        if !weights.contains_key(name) {
            engine.apply(Delta::QueueApply(Box::new(QueueObject {
                name: name.to_owned(),
                weight: 1,
                reclaimable: name != ROOT,
                ..QueueObject::default()
            })));
        }
    }
    if strange > 0 {
        let names: Vec<String> = first.into_iter().take(MAX_NAMED).collect();
        remarks.push(format!("{strange} jobs are of queues that the manifests do not have ({}, …) and go to queue {}", names.join(", "), settings.default_queue));
    }
    (queues, queue_of)
}

/// The users, in the order in which they come, and the one of each job; nobody where the trace tells none.
fn users_of(jobs: &[TraceJob], remarks: &mut Vec<String>) -> (Vec<String>, Vec<Option<u32>>) {
    let (mut numbers, mut users, mut others) = (BTreeMap::new(), Vec::new(), BTreeSet::new());
    let mut number_of = |name: &str| {
        if let Some(number) = numbers.get(name) {
            return *number;
        }
        if users.len() >= MAX_USERS {
            others.insert(name.to_owned());
            return MAX_USERS as u32;
        }
        let number = users.len() as u32;
        numbers.insert(name.to_owned(), number);
        users.push(name.to_owned());
        number
    };
    let user_of = |job: &TraceJob| (!job.user.is_empty()).then(|| number_of(&job.user));
    let user_of: Vec<Option<u32>> = jobs.iter().map(user_of).collect();
    if !others.is_empty() {
        let others = others.len();
        remarks.push(format!(
            "the trace has {others} users more than {MAX_USERS}: figures of users are without them"
        ));
    }
    (users, user_of)
}

/// What the nodes have, how jobs are told to the engine, and what of their wishes cannot count.
fn surveyed(
    engine: &Engine,
    jobs: &[TraceJob],
    (settings, accounts): (&TraceRunSettings, (usize, usize)),
    card_resource: String,
    remarks: &mut Vec<String>,
) -> (JobMaker, TraceBooks) {
    let nodes = engine.state().nodes();
    let cpu_of = |node: &NodeObject| -> i64 {
        let cpu = node.allocatable.iter().filter(|(name, _)| name == "cpu");
        cpu.map(|(_, amount)| *amount).sum()
    };
    let (mut cards, mut all_cpu_milli, mut largest, mut has_label) = (Vec::new(), 0, 0, false);
    for node in nodes.objects() {
        let counts = !node.unschedulable;
        cards.push(if counts {
            cards_milli(node, &card_resource)
        } else {
            0
        });
        all_cpu_milli += if counts { cpu_of(node) } else { 0 };
        largest = largest.max(cpu_of(node));
        has_label |= node
            .labels
            .iter()
            .any(|(key, _)| *key == settings.model_label);
    }
    let maker = JobMaker {
        card_resource,
        model_label: has_label.then(|| settings.model_label.clone()),
        processors: u32::try_from(largest / 1000).unwrap_or(u32::MAX),
    };
    let roles = || jobs.iter().flat_map(|job| &job.roles);
    let wishes = roles().filter(|role| !role.models.is_empty()).count();
    if wishes > 0 && !has_label {
        remarks.push(format!(
            "{wishes} jobs name models of cards, and no node has the label {}: they run on any",
            settings.model_label
        ));
    }
    let shares = roles()
        .filter(|role| role.cards_milli > 0 && role.cards_milli < WHOLE_CARD)
        .count();
    if shares > 0 && !maker.shares() {
        remarks.push(format!("{shares} jobs ask for a share of a card and get a whole one: the configuration does not share cards (deviceshare.VGPUEnable)"));
    }
    let first_s = jobs.first().map_or(0, |job| job.submit_s);
    let last_s = jobs.last().map_or(0, |job| job.submit_s);
    let width_s = ((last_s - first_s) / PARTS).max(1);
    let books = TraceBooks::new((first_s, width_s), accounts, all_cpu_milli, &cards);
    (maker, books)
}
