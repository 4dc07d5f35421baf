//! What plugins say about candidates, and how that becomes one answer (spec/07 §3).

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use pumice_conf::PluginConf;
use pumice_model::object::{Gates, NodeObject};
use pumice_units::duration::parse_go_duration;

use super::Purpose;
use super::budgets::within_budgets;
use super::minima::Spare;
use crate::naive::cycle::Cycle;
use crate::naive::state::{Res, Status, Task, World, add, label, sub};
use crate::naive::{capacity, hdrf, queue_share, tdm};

/// One plugin's answer.
struct Answer {
    allowed: Vec<String>,
    /// The answer of the plugin's tier is final, even if that is nobody.
    protects: bool,
    /// Who it does not name is not evicted, whatever decides.
    vetoes: bool,
    /// Two jobs, or queues, can never both be named for each other.
    orders: bool,
}

/// Those of the candidates that may go for pods that are placed together.
pub fn victims(
    cycle: &Cycle,
    purpose: Purpose,
    gang: &[&Task],
    candidates: &[String],
) -> Vec<String> {
    let Some(preemptor) = gang.first().copied() else {
        return Vec::new();
    };
    let candidates = &without_protected(cycle, purpose, preemptor, candidates)[..];
    let mut decided: Option<(Vec<String>, bool)> = None;
    let mut vetoes = Vec::new();
    for tier in &cycle.config.tiers {
        let plugins = tier.plugins.iter();
        let answers: Vec<Answer> = plugins
            .filter_map(|plugin| answer(cycle, plugin, purpose, gang, candidates))
            .collect();
        let is_final = |answer: &Answer| answer.protects || answer.vetoes || answer.orders;
        let is_final = answers.iter().any(is_final);
        let common = common(candidates, &answers);
        let ordered = answers.iter().any(|answer| answer.orders);
        if decided.is_none() && !answers.is_empty() && (is_final || !common.is_empty()) {
            decided = Some((common, ordered));
        }
        vetoes.extend(answers.into_iter().filter(|answer| answer.vetoes));
    }
    let Some((victims, ordered)) = decided else {
        return Vec::new();
    };
    let ordered = ordered || vetoes.iter().any(|veto| veto.orders);
    let mut victims = common(&victims, &vetoes);
    if !ordered {
        victims.retain(|uid| is_below(&cycle.world, purpose, preemptor, uid));
    }
    victims
}

/// The candidates without those whom a plugin of the tier that decides refuses whoever else goes, or `tdm` for
/// what they are: they count in no running totals.
fn without_protected(
    cycle: &Cycle,
    purpose: Purpose,
    preemptor: &Task,
    candidates: &[String],
) -> Vec<String> {
    let one_by_one = ["priority", "conformance", "cdp", "gang"];
    let mut kept = candidates.to_vec();
    if let Some(plugin) = cycle.plugin("tdm")
        && plugin.enabled.preemptable
        && !purpose.reclaims()
    {
        kept.retain(|uid| tdm::may_make_room(cycle, plugin, &cycle.world.tasks[uid]));
    }
    let alone = |plugin: &PluginConf, uid: &String| {
        answer(
            cycle,
            plugin,
            purpose,
            &[preemptor],
            std::slice::from_ref(uid),
        )
    };
    let mut tiers = cycle.config.tiers.iter();
    let answers = |plugin: &PluginConf| answer(cycle, plugin, purpose, &[preemptor], &[]).is_some();
    if let Some(tier) = tiers.find(|tier| tier.plugins.iter().any(answers)) {
        for plugin in &tier.plugins {
            if one_by_one.contains(&plugin.name.as_str()) {
                kept.retain(|uid| {
                    let answer = alone(plugin, uid);
                    answer.is_none_or(|answer| !answer.allowed.is_empty())
                });
            }
        }
    }
    kept
}

fn common(candidates: &[String], answers: &[Answer]) -> Vec<String> {
    let mut common = candidates.to_vec();
    common.retain(|uid| answers.iter().all(|answer| answer.allowed.contains(uid)));
    common
}

/// Where no answer puts jobs in an order: their priority does. Nobody is reclaimed from then.
fn is_below(world: &World, purpose: Purpose, preemptor: &Task, uid: &str) -> bool {
    let victim = &world.tasks[uid];
    match purpose {
        Purpose::Preempt | Purpose::GangPreempt => {
            job_priority(world, victim) < job_priority(world, preemptor)
        }
        Purpose::WithinJob => victim.pod.priority < preemptor.pod.priority,
        Purpose::Reclaim | Purpose::GangReclaim => false,
    }
}

fn job_priority(world: &World, task: &Task) -> i64 {
    let job = task.job.as_ref().and_then(|key| world.jobs.get(key));
    job.map_or(0, |job| job.priority)
}

fn answer(
    cycle: &Cycle,
    plugin: &PluginConf,
    purpose: Purpose,
    gang: &[&Task],
    candidates: &[String],
) -> Option<Answer> {
    let preemptor = gang.first().copied()?;
    let reclaims = purpose.reclaims();
    let asked = match reclaims {
        true => plugin.enabled.reclaimable,
        false => plugin.enabled.preemptable,
    };
    if !asked {
        return None;
    }
    let world = &cycle.world;
    let answer = |allowed| Answer {
        allowed,
        protects: false,
        vetoes: false,
        orders: false,
    };
    let those = |test: &dyn Fn(&Task) -> bool| -> Vec<String> {
        let uids = candidates.iter().filter(|uid| test(&world.tasks[*uid]));
        uids.cloned().collect()
    };
    if let Some(allowed) = protected_from(cycle, plugin, candidates)
        && !(plugin.name == "gang" && purpose.is_of_gangs())
    {
        let own = plugin.name == "gang" && purpose == Purpose::WithinJob;
        let for_own = |key: &str| Spare::for_own(world, key, preemptor);
        return Some(Answer {
            protects: plugin.name != "pdb",
            vetoes: plugin.name == "pdb",
            ..answer(match own {
                true => spared(world, candidates, for_own),
                false => allowed,
            })
        });
    }
    match plugin.name.as_str() {
        "priority" if !reclaims => Some(Answer {
            orders: true,
            ..answer(those(&|task| match purpose {
                Purpose::WithinJob => task.pod.priority < preemptor.pod.priority,
                _ => job_priority(world, task) < job_priority(world, preemptor),
            }))
        }),
        "drf" if matches!(purpose, Purpose::Preempt | Purpose::GangPreempt) => Some(Answer {
            orders: true,
            ..answer(with_larger_share(cycle, preemptor, candidates))
        }),
        "drf" if reclaims && plugin.enabled.hierarchy => Some(Answer {
            vetoes: true,
            orders: true,
            ..answer(of_later_queues(cycle, preemptor, candidates))
        }),
        "proportion" if reclaims => Some(Answer {
            vetoes: true,
            orders: true,
            ..answer(queue_share::proportion_gives(cycle, gang, candidates))
        }),
        "tdm" if !reclaims => Some(Answer {
            vetoes: true,
            orders: true,
            ..answer(tdm::victims(cycle, plugin, preemptor, candidates))
        }),
        "autoscaler" => kept_for_node(cycle, plugin, preemptor),
        "capacity" if reclaims => Some(Answer {
            vetoes: true,
            orders: true,
            ..answer(capacity::gives(cycle, plugin, gang, candidates))
        }),
        _ => None,
    }
}

/// Those that a plugin lets go, whose answer is the same whoever they go for.
pub fn protected_from(
    cycle: &Cycle,
    plugin: &PluginConf,
    candidates: &[String],
) -> Option<Vec<String>> {
    let world = &cycle.world;
    let those = |test: &dyn Fn(&Task) -> bool| -> Vec<String> {
        let uids = candidates.iter().filter(|uid| test(&world.tasks[*uid]));
        uids.cloned().collect()
    };
    match plugin.name.as_str() {
        "gang" => Some(spared(world, candidates, |key| Spare::of(world, key))),
        "conformance" => Some(those(&|task| !is_critical(task))),
        "cdp" => Some(those(&|task| !is_cooling(cycle, task))),
        "pdb" => Some(within_budgets(cycle, candidates)),
        _ => None,
    }
}

/// As many of the candidates of each job as it can do without.
fn spared(world: &World, candidates: &[String], of_job: impl Fn(&str) -> Spare) -> Vec<String> {
    let mut left: BTreeMap<String, Spare> = BTreeMap::new();
    let mut victims = Vec::new();
    for uid in candidates {
        let task = &world.tasks[uid];
        let Some(key) = &task.job else {
            continue;
        };
        let spare = left.entry(key.clone()).or_insert_with(|| of_job(key));
        if spare.take(task) {
            victims.push(uid.clone());
        }
    }
    victims
}

/// It got its node so short a time ago that it stays (spec/02 §18).
fn is_cooling(cycle: &Cycle, task: &Task) -> bool {
    let key = "volcano.sh/cooldown-time";
    let text = label(&task.pod.labels, key).or_else(|| label(&task.pod.annotations, key));
    let lasts_ns = text.and_then(|text| parse_go_duration(text).ok());
    let since_s = task.pod.scheduled_s.unwrap_or(task.pod.created_s);
    let ns = |seconds: i64| i128::from(seconds) * 1_000_000_000;
    lasts_ns.is_some_and(|lasts_ns| ns(since_s) + i128::from(lasts_ns) > ns(cycle.now_s))
}

/// Nobody goes for a pod while a node may come for it.
fn kept_for_node(cycle: &Cycle, plugin: &PluginConf, preemptor: &Task) -> Option<Answer> {
    node_may_come(cycle, plugin, preemptor).then_some(Answer {
        allowed: Vec::new(),
        protects: false,
        vetoes: true,
        orders: false,
    })
}

/// The first pod of its job that waited when the cycle began was made so short a time ago that a node may still come
/// (spec/17 §2).
fn node_may_come(cycle: &Cycle, plugin: &PluginConf, preemptor: &Task) -> bool {
    let delay_ns = plugin.arguments.str("autoscaler.evictionDelay");
    let delay_ns = delay_ns
        .and_then(|text| parse_go_duration(text).ok())
        .filter(|delay_ns| *delay_ns > 0);
    let waits = |task: &&Task| {
        task.job == preemptor.job
            && task.pod.gates == Gates::None
            && matches!(task.status, Status::Pending | Status::Pipelined)
    };
    let made_s = cycle.open.tasks.values().filter(waits);
    let first_s = made_s.map(|task| task.pod.created_s).min();
    let ns = |seconds: i64| i128::from(seconds) * 1_000_000_000;
    first_s
        .zip(delay_ns)
        .is_some_and(|(first_s, delay_ns)| ns(first_s) + i128::from(delay_ns) > ns(cycle.now_s))
}

fn is_critical(task: &Task) -> bool {
    let classes = ["system-cluster-critical", "system-node-critical"];
    classes.contains(&task.pod.priority_class.as_str()) || task.pod.namespace == "kube-system"
}

/// Tolerance of shares.
const SAME_SHARE: f64 = 1e-6;

/// Those whose job has, without them, no smaller share than the preemptor's job has with it.
fn with_larger_share(cycle: &Cycle, preemptor: &Task, candidates: &[String]) -> Vec<String> {
    let world = &cycle.world;
    let Some(own) = &preemptor.job else {
        return Vec::new();
    };
    let share = |amounts: &Res| hdrf::share_of(&world.total, amounts);
    let mut mine = world.allocated(own, true);
    add(&mut mine, &preemptor.charged());
    let mine = share(&mine);
    let mut rest: BTreeMap<String, Res> = BTreeMap::new();
    let mut victims = Vec::new();
    for uid in candidates {
        let task = &world.tasks[uid];
        let Some(key) = &task.job else {
            continue;
        };
        let rest = rest
            .entry(key.clone())
            .or_insert_with(|| world.allocated(key, true));
        sub(rest, &task.charged());
        let theirs = share(rest);
        if mine < theirs || (mine - theirs).abs() <= SAME_SHARE {
            victims.push(uid.clone());
        }
    }
    victims
}

/// Those whose queue, without them, comes after that of the preemptor with it in the queue tree.
fn of_later_queues(cycle: &Cycle, preemptor: &Task, candidates: &[String]) -> Vec<String> {
    let mut world = cycle.world.clone();
    if let Some(task) = world.tasks.get_mut(&preemptor.pod.uid) {
        task.status = Status::Allocated;
    }
    let mut rest = cycle.with_world(world);
    let queue_of = |uid: &String| {
        let key = cycle.world.tasks[uid].job.as_ref();
        key.map(|key| cycle.world.jobs[key].queue.clone())
    };
    let own = queue_of(&preemptor.pod.uid);
    let mut victims = Vec::new();
    for uid in candidates {
        evict(&mut rest.world, uid);
        if let (Some(own), Some(theirs)) = (&own, queue_of(uid))
            && hdrf::compare_queues(&rest, own, &theirs) == Ordering::Less
        {
            victims.push(uid.clone());
        }
    }
    victims
}

/// Point *reclaimer* for pods of one job that are placed together: all agree, and somebody is there to ask.
/// The resources of which the queue has what it deserves, for which nobody goes.
pub fn may_reclaim(cycle: &Cycle, tasks: &[&Task]) -> Option<BTreeSet<String>> {
    let job = tasks.first()?.job.as_ref();
    let job = job.and_then(|key| cycle.world.jobs.get(key))?;
    let nothing = BTreeSet::new();
    let plugins = cycle.plugins();
    let answers: Vec<Option<BTreeSet<String>>> = plugins
        .filter(|plugin| plugin.enabled.preemptive)
        .filter_map(|plugin| match plugin.name.as_str() {
            "proportion" => {
                let may = queue_share::proportion_may_reclaim(cycle, &job.queue, tasks);
                Some(may.then(|| nothing.clone()))
            }
            "capacity" => Some(capacity::may_reclaim(cycle, plugin, &job.queue, tasks)),
            "drf" if plugin.enabled.hierarchy => {
                Some(queue_share::is_open(cycle, &job.queue).then(|| nothing.clone()))
            }
            _ => None,
        })
        .collect();
    if answers.is_empty() {
        return None;
    }
    let over: Option<Vec<BTreeSet<String>>> = answers.into_iter().collect();
    over.map(|over| over.into_iter().flatten().collect())
}

/// The node has what the task asks of these resources without anybody going.
pub fn are_idle(cycle: &Cycle, task: &Task, over: &BTreeSet<String>, node: &NodeObject) -> bool {
    let (request, idle) = (task.request(), cycle.world.future_idle(node));
    let amount = |amounts: &Res, name: &String| amounts.get(name).copied().unwrap_or(0);
    over.iter()
        .all(|name| amount(&idle, name) >= amount(&request, name))
}

/// The task is being released, or never was placed.
pub fn evict(world: &mut World, uid: &str) {
    if let Some(task) = world.tasks.get_mut(uid) {
        task.status = Status::Releasing;
    }
}
