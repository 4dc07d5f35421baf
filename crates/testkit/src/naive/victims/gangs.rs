//! Gangs as a whole (spec/07 §8): all waiting pods of a job are placed at once, and of other jobs go what
//! they have beyond their minimum, or all of them.

mod domains;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::answers::{evict, may_reclaim, victims};
use super::candidates::{self, Price, is_starving, preemptors};
use super::sets::{queue_takes, within_limits};
use super::{Purpose, actions};
use crate::naive::cycle::Cycle;
use crate::naive::network::DomainNodes;
use crate::naive::place::{Reach, place_in};
use crate::naive::state::{Status, SubJob, World};
use crate::naive::{gates, order};

/// What pods cost that go.
type Cost = (usize, Vec<Price>);

/// Pods that go together.
struct Bundle {
    /// It takes a gang below its minimum.
    whole: bool,
    cost: Cost,
    name: String,
    uids: Vec<String>,
}

/// What would be decided for a gang.
struct GangPlan {
    /// The world in which those went and all of its pods found places.
    world: World,
    /// UIDs of those that go, with what they were before.
    evicted: Vec<(String, Status)>,
    cost: Cost,
}

/// One turn of a job.
pub fn turn(cycle: &mut Cycle, purpose: Purpose, job: &str) {
    let mut waiting = preemptors(&cycle.world, job);
    let mut tasks = Vec::new();
    while let Some(uid) = order::take_first_task(cycle, &mut waiting) {
        tasks.push(uid);
    }
    let may_all = tasks.iter().all(|uid| {
        let task = &cycle.world.tasks[uid];
        !candidates::never_preempts(&cycle.world, task)
            && (purpose != Purpose::GangReclaim || may_reclaim(cycle, task))
    });
    if tasks.is_empty() || !may_all || !is_starving(cycle, job) {
        return;
    }
    let bundles = bundles(cycle, purpose, job, &tasks[0]);
    let plan = match cycle.world.jobs[job].group.wants_topology() {
        true => domains::plan(cycle, job, &tasks, &bundles),
        false => {
            let all: Vec<&Bundle> = bundles.iter().collect();
            fewest(cycle, job, &all, |tried| {
                tasks.iter().all(|uid| place_one(tried, uid, None))
            })
        }
    };
    let Some(GangPlan { world, evicted, .. }) = plan else {
        return;
    };
    if !evicted.is_empty() {
        let mut placed = tasks;
        placed.sort_by_key(|uid| world.tasks[uid].placed);
        cycle.world = world;
        actions::decide(cycle, purpose, job, actions::Plan { placed, evicted });
    }
}

/// Of the bundles as many as are needed are taken from the front, as if more never did worse, and of these, from the last one on, each is
/// left out without which the gang is placed all the same.
fn fewest(
    cycle: &Cycle,
    job: &str,
    bundles: &[&Bundle],
    place_all: impl Fn(&mut Cycle) -> bool,
) -> Option<GangPlan> {
    let try_with = |chosen: &[&Bundle]| -> Option<World> {
        let mut tried = super::sets::with_world(cycle, cycle.world.clone());
        for uid in chosen.iter().flat_map(|bundle| &bundle.uids) {
            evict(&mut tried.world, uid);
        }
        let is_placed = place_all(&mut tried);
        let holds = gates::job_ready(&tried, job) || gates::job_pipelined(&tried, job);
        (is_placed && holds).then_some(tried.world)
    };
    try_with(bundles)?;
    let (mut too_few, mut enough) = (0, bundles.len());
    while too_few + 1 < enough {
        let middle = (too_few + enough) / 2;
        match try_with(&bundles[..middle]) {
            Some(_) => enough = middle,
            None => too_few = middle,
        }
    }
    let mut chosen = bundles[..enough].to_vec();
    for at in (0..chosen.len()).rev() {
        let mut without = chosen.clone();
        without.remove(at);
        if try_with(&without).is_some() {
            chosen = without;
        }
    }
    let mut evicted: Vec<(String, Status)> = Vec::new();
    for uid in chosen.iter().flat_map(|bundle| &bundle.uids) {
        if !evicted.iter().any(|(other, _)| other == uid) {
            evicted.push((uid.clone(), cycle.world.tasks[uid].status));
        }
    }
    let uids: Vec<String> = evicted.iter().map(|(uid, _)| uid.clone()).collect();
    Some(GangPlan {
        world: try_with(&chosen)?,
        cost: cost(cycle, job, &uids),
        evicted,
    })
}

/// Places one pod, of a domain or anywhere, if its queue takes it and the limits hold.
fn place_one(tried: &mut Cycle, uid: &str, domain: Option<&DomainNodes>) -> bool {
    let task = tried.world.tasks[uid].clone();
    queue_takes(tried, &task)
        && place_in(tried, uid, Reach::Future, domain)
        && within_limits(tried, uid)
}

/// Number, then prices from the dearest pod down.
fn cost(cycle: &Cycle, job: &str, uids: &[String]) -> Cost {
    let price = |uid: &String| candidates::price(cycle, job, &cycle.world.tasks[uid]);
    let mut prices: Vec<Price> = uids.iter().map(price).collect();
    prices.sort_by_key(|price| Reverse(*price));
    (uids.len(), prices)
}

/// What could go for the job, in the order in which it does.
fn bundles(cycle: &Cycle, purpose: Purpose, job: &str, first: &str) -> Vec<Bundle> {
    let world = &cycle.world;
    let preemptor = &world.tasks[first];
    let mut candidates: Vec<(Price, String, String)> = Vec::new();
    for node in world.nodes.keys() {
        for uid in candidates::on_node(cycle, purpose, preemptor, node) {
            let task = &world.tasks[&uid];
            candidates.push((candidates::price(cycle, job, task), task.name(), uid));
        }
    }
    candidates.sort();
    let uids: Vec<String> = candidates.into_iter().map(|(_, _, uid)| uid).collect();
    let victims = victims(cycle, purpose, preemptor, &uids);
    let mut by_job: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for uid in victims {
        if let Some(key) = &world.tasks[&uid].job {
            by_job.entry(key).or_default().push(uid);
        }
    }
    let mut bundles = Vec::new();
    for (other, victims) in by_job {
        bundles.extend(of_job(cycle, purpose, (job, other), victims));
    }
    bundles.sort_by(|l, r| {
        let key = |bundle: &Bundle| (bundle.whole, bundle.cost.clone(), bundle.name.clone());
        key(l).cmp(&key(r))
    });
    bundles
}

/// The bundles of one job, of whose pods these may go, cheapest first.
fn of_job(
    cycle: &Cycle,
    purpose: Purpose,
    (job, other): (&str, &str),
    victims: Vec<String>,
) -> Vec<Bundle> {
    let world = &cycle.world;
    let bundle = |whole: bool, uids: Vec<String>| {
        let names: BTreeSet<String> = uids.iter().map(|uid| world.tasks[uid].name()).collect();
        Bundle {
            whole,
            cost: cost(cycle, job, &uids),
            name: names.first().cloned().unwrap_or_default(),
            uids,
        }
    };
    let tasks = world.tasks_of(other);
    let live = tasks
        .iter()
        .filter(|task| world.gang_status(task).is_allocated());
    let live: Vec<_> = live.collect();
    let group = &world.jobs[other].group;
    let min = i64::from(group.min_member);
    let number = live.len() as i64;
    if number < min {
        return vec![bundle(false, victims)];
    }
    let mut spare = number - min;
    let mut spare_of_role: BTreeMap<&str, i64> = BTreeMap::new();
    for (role, min) in &group.min_task_member {
        let of_role = live.iter().filter(|task| task.pod.role == *role).count() as i64;
        spare_of_role.insert(role, of_role - i64::from(*min));
    }
    // Sub-groups that run whole.
    let mut spare_of_group: BTreeMap<&SubJob, i64> = BTreeMap::new();
    for sub_job in live.iter().map(|task| &task.sub_job) {
        let number = live.iter().filter(|task| task.sub_job == *sub_job).count() as i64;
        let min = gates::sub_job_min(&world.jobs[other], sub_job);
        if sub_job.policy.is_some() && number >= min {
            spare_of_group.insert(sub_job, number - min);
        }
    }
    let mut bundles = Vec::new();
    for uid in &victims {
        let task = &world.tasks[uid];
        let role = spare_of_role.get_mut(task.pod.role.as_str());
        let group = spare_of_group.get_mut(&task.sub_job);
        let has_more = |left: &Option<&mut i64>| left.as_ref().is_none_or(|left| **left > 0);
        if spare > 0 && has_more(&role) && has_more(&group) {
            spare -= 1;
            for left in role.into_iter().chain(group) {
                *left -= 1;
            }
            bundles.push(bundle(false, vec![uid.clone()]));
        }
    }
    let configured = cycle.config.configuration(purpose.action());
    let allows = configured.and_then(|arguments| arguments.bool("allowWholeBundle"));
    let all_are_safe = bundles.len() == victims.len();
    if allows.unwrap_or(true) && victims.len() as i64 == number && !all_are_safe {
        bundles.push(bundle(true, victims));
    }
    bundles
}
