//! The engine decides what a naive loop over all tasks and nodes decides, binding for binding.

mod fragmentation;

use std::collections::{BTreeMap, BTreeSet};

use pumice_conf::Config;
use pumice_engine::{Decisions, Engine};
use pumice_model::{Delta, JobIx, NodeIx, TaskStatus};
use pumice_testkit::generate::{
    claims_cluster, claims_conf_text, cluster, conf_text, evicting_conf_text, extender_conf_text,
    extender_moments, full_cluster, full_network_cluster, full_protected_cluster,
    full_timed_cluster, full_tree_cluster, full_varied_cluster, full_vendor_cluster,
    gangs_in_domains_conf_text, moments, network_cluster, network_conf_text, npu_cluster,
    npu_conf_text, numa_cluster, numa_conf_text, partitioned_cluster, protecting_conf_text,
    timed_conf_text, tree_conf_text, trees_cluster, trees_conf_text, vendor_cluster,
    vendor_conf_text, wide_cluster,
};
use pumice_testkit::naive::{self, Moment, Outcome, claims};

use crate::kubelet::Outside;
use crate::run;

/// Random small clusters and configurations.
const CASES: u64 = 2000;

/// Clusters in which NPUs decide.
const NPU_CASES: u64 = 1500;

/// Clusters in which cards of HAMi's vendors decide.
const VENDOR_CASES: u64 = 1000;

/// Clusters whose nodes tell of their CPUs.
const NUMA_CASES: u64 = 1000;

/// Clusters whose pods claim devices.
const CLAIM_CASES: u64 = 1000;

/// Others of them that told the two apart once.
const CLAIMS_FOUND: &[u64] = &[1015, 1474];

/// Clusters in which HyperNodes decide.
const NETWORK_CASES: u64 = 600;

/// Others of them that told the two apart once.
const NETWORK_FOUND: &[u64] = &[5137, 6407];

/// Clusters in which the parts of a job share racks.
const PARTS_CASES: u64 = 1000;

/// Clusters in which groups are parts of trees.
const TREES_CASES: u64 = 400;

/// Others of them that told the two apart once.
const TREES_FOUND: &[u64] = &[775, 816, 819, 829, 865];

/// Clusters in which an extender has a word.
const EXTENDER_CASES: u64 = 1000;

/// Full clusters, for whose pods others are evicted.
const EVICTING_CASES: u64 = 1000;

/// Full clusters whose queues have amounts of their own.
const TREE_CASES: u64 = 300;

/// Full clusters with parts of gangs, topology spread, and volumes.
const VARIED_CASES: u64 = 300;

/// Full clusters with HyperNodes.
const DOMAIN_CASES: u64 = 600;

/// Others of them that told the two apart once.
const DOMAIN_FOUND: &[u64] = &[4507, 6867, 9872];

/// Full clusters with pods that plugins protect.
const PROTECTED_CASES: u64 = 300;

/// Full clusters in which plugins want pods gone.
const TIMED_CASES: u64 = 600;

/// Others of them that told the two apart once.
const EVICTING_FOUND: &[u64] = &[2158, 2320];

/// Such clusters whose queues have amounts of their own.
const TREE_FOUND: &[u64] = &[315];

/// Such clusters with protected pods.
const PROTECTED_FOUND: &[u64] = &[854];

/// Random wide ones.
const WIDE_CASES: u64 = 24;

/// Bytes for what is known of classes of pods: enough, or so few that little of it can be kept.
const BUDGETS: [Option<usize>; 4] = [None, None, Some(1000), Some(100)];

/// The engine with an API server that accepts every write, but for some that give devices back, and nothing
/// else. Moments at which it runs no cycle are marked.
fn fast(config: &Config, objects: &[Delta], moments: &mut [Moment]) -> Outcome {
    let mut engine = run::engine(config, objects);
    if let Some(bytes) = BUDGETS[objects.len() % BUDGETS.len()] {
        engine.set_index_budget_bytes(bytes);
    }
    let mut outside = Outside::new(objects);
    let mut outcome = Outcome::default();
    for at in 0..moments.len() {
        let moment = &mut moments[at];
        let news = moment.news.iter().cloned();
        news.for_each(|delta| engine.apply(delta));
        let decisions = engine.cycle(moment.now_s);
        moment.is_left_out = decisions.skipped;
        note(&engine, &decisions, at as u32, &mut outcome);
        if let Some(next) = moments.get(at + 1) {
            let told = outside.carry_out(&engine, &decisions, (at as u32, next.now_s));
            told.into_iter().for_each(|delta| engine.apply(delta));
        }
    }
    describe(&engine, &mut outcome);
    outcome
}

/// The key of a job; that of a pod without PodGroup as the naive scheduler names it.
fn job_name(engine: &Engine, ix: JobIx) -> String {
    let state = engine.state();
    let job = state.job(ix);
    match job.group() {
        Some(_) => state.population().job_key(ix),
        None => {
            let pod = state.task(job.tasks[0]);
            let namespace = state.names().text(pod.namespace);
            format!("{namespace}/podgroup-{}", pod.uid)
        }
    }
}

/// What a cycle decided.
fn note(engine: &Engine, decisions: &Decisions, cycle: u32, outcome: &mut Outcome) {
    let state = engine.state();
    for one in &decisions.device_returns {
        let name = format!("{}/{}", one.namespace, one.claim);
        assert!(outcome.returns.insert((cycle, name)), "twice: {one:?}");
    }
    let node = |ix: NodeIx| state.nodes().object(ix).name.clone();
    for bind in &decisions.binds {
        let (key, devices) = (state.population().task_key(bind.task), run::devices(bind));
        if !devices.is_empty() {
            outcome.devices.insert(key.clone(), devices);
        }
        for step in &bind.claims {
            let Some(allocation) = &step.allocation else {
                continue;
            };
            let nodes = state.nodes().indices();
            let nodes = nodes.map(|node| state.nodes().object(node));
            let allowed = claims::nodes_of(allocation, nodes);
            let given = claims::lines(&claims::devices_of(allocation), allowed);
            let claim = format!("{}/{}", step.namespace, step.claim);
            let known = outcome.claims.insert(claim, given.clone());
            assert!(known.is_none_or(|known| known == given), "{step:?}");
        }
        outcome.binds.push((key, node(bind.node)));
    }
    for (task, at) in &decisions.nominations {
        outcome
            .nominations
            .push((state.population().task_key(*task), node(*at)));
    }
    for eviction in &decisions.evictions {
        let key = state.population().task_key(eviction.task);
        let by = eviction
            .by
            .map(|by| job_name(engine, by))
            .unwrap_or_default();
        outcome
            .evictions
            .push((key, eviction.reason.to_owned(), by));
    }
}

fn describe(engine: &Engine, outcome: &mut Outcome) {
    let state = engine.state();
    for (ix, task) in state
        .population()
        .tasks()
        .filter(|(_, t)| t.status == TaskStatus::Pipelined)
    {
        let node = state
            .nodes()
            .object(task.node.expect("a node"))
            .name
            .clone();
        outcome
            .pipelined
            .push((state.population().task_key(ix), node));
    }
    outcome.pipelined.sort();
    for (ix, job) in state
        .population()
        .jobs()
        .filter(|(_, job)| job.group().is_some())
    {
        let phase = job.status.phase.name();
        outcome
            .phases
            .insert(state.population().job_key(ix), phase.to_owned());
        let conditions: Vec<_> = job
            .status
            .conditions
            .iter()
            .map(|c| (c.kind.clone(), c.status.clone(), c.reason.clone()))
            .collect();
        if !conditions.is_empty() {
            outcome
                .conditions
                .insert(state.population().job_key(ix), conditions);
        }
    }
}

/// The naive outcome, without the groups it invents for bare pods.
fn slow(config: &Config, objects: &[Delta], moments: &[Moment]) -> Outcome {
    let mut outcome = naive::schedule_over(config, objects, run::DEFAULT_QUEUE, moments);
    let real: BTreeSet<String> = objects
        .iter()
        .filter_map(|delta| match delta {
            Delta::GroupApply(group) => Some(format!("{}/{}", group.namespace, group.name)),
            _ => None,
        })
        .collect();
    outcome.phases.retain(|key, _| real.contains(key));
    outcome.conditions.retain(|key, _| real.contains(key));
    outcome
}

fn check(seed: u64, objects: &[Delta], cycles: u32) -> Outcome {
    check_under(&conf_text(seed), seed, objects, cycles)
}

fn check_under(text: &str, seed: u64, objects: &[Delta], cycles: u32) -> Outcome {
    check_over(text, seed, objects, naive::seconds(cycles))
}

fn check_over(text: &str, seed: u64, objects: &[Delta], mut moments: Vec<Moment>) -> Outcome {
    let config = run::config(text);
    let fast = fast(&config, objects, &mut moments);
    let slow = slow(&config, objects, &moments);
    let times: Vec<i64> = moments.iter().map(|moment| moment.now_s).collect();
    let context = format!("seed {seed}, cycles at {times:?}, conf:\n{text}");
    assert_eq!(fast.evictions, slow.evictions, "evictions: {context}");
    assert_eq!(fast.nominations, slow.nominations, "nominations: {context}");
    assert_eq!(fast.binds, slow.binds, "binds: {context}");
    assert_eq!(fast.devices, slow.devices, "devices: {context}");
    assert_eq!(fast.claims, slow.claims, "claims: {context}");
    assert_eq!(fast.returns, slow.returns, "returns: {context}");
    assert_eq!(fast.pipelined, slow.pipelined, "pipelined: {context}");
    assert_eq!(fast.phases, slow.phases, "phases: {context}");
    assert_eq!(fast.conditions, slow.conditions, "conditions: {context}");
    fast
}

#[test]
fn one_cycle_decides_what_the_naive_loop_decides() {
    let (mut binds, mut pipelined) = (0, 0);
    let seeds = run::seeds(0, CASES);
    let cases = seeds.end - seeds.start;
    for seed in seeds {
        let outcome = check(seed, &cluster(seed), 1);
        binds += outcome.binds.len() as u64;
        pipelined += outcome.pipelined.len() as u64;
    }
    // The cases are not trivial.
    assert!(2 * binds > 5 * cases, "{binds} binds");
    assert!(pipelined > cases / 30, "{pipelined} pipelined");
}

#[test]
fn further_cycles_decide_what_the_naive_loop_decides() {
    for seed in run::seeds(CASES, CASES + CASES / 4) {
        check(seed, &cluster(seed), 3);
    }
}

#[test]
fn what_an_extender_says_counts_as_in_the_naive_loop() {
    let (mut binds, mut decided) = (0, 0);
    let seeds = run::seeds(0, EXTENDER_CASES);
    let cases = seeds.end - seeds.start;
    for seed in seeds {
        let cycles = 1 + 3 * u32::from(seed % 3 == 0);
        let objects = cluster(seed);
        let text = extender_conf_text(seed);
        let moments = extender_moments(seed, &objects, cycles);
        let outcome = check_over(&text, seed, &objects, moments);
        if seed % 4 == 0 {
            let config = run::config(&conf_text(seed));
            let other = fast(&config, &objects, &mut naive::seconds(cycles));
            decided += u64::from(other.binds != outcome.binds);
        }
        binds += outcome.binds.len() as u64;
    }
    // The cases are not trivial.
    assert!(binds > cases / 2, "{binds} binds");
    assert!(decided > cases / 10, "decided {decided} times");
}

#[test]
fn npus_are_given_out_as_by_the_naive_loop() {
    let (mut holders, mut pipelined) = (0, 0);
    let seeds = run::seeds(0, NPU_CASES);
    let cases = seeds.end - seeds.start;
    for seed in seeds {
        let cycles = 1 + u32::from(seed % 4 == 0);
        let outcome = check_under(&npu_conf_text(seed), seed, &npu_cluster(seed), cycles);
        holders += outcome.devices.len() as u64;
        pipelined += outcome.pipelined.len() as u64;
    }
    // The cases are not trivial.
    assert!(holders > cases, "{holders} pods were given devices");
    assert!(pipelined > cases / 30, "{pipelined} pipelined");
}

#[test]
fn cards_of_hamis_vendors_are_given_out_as_by_the_naive_loop() {
    let (mut holders, mut pipelined, mut split, mut sliced) = (0, 0, 0, 0);
    let seeds = run::seeds(0, VENDOR_CASES);
    let cases = seeds.end - seeds.start;
    for seed in seeds {
        let cycles = 1 + u32::from(seed % 4 == 0);
        let text = vendor_conf_text(seed);
        let outcome = check_under(&text, seed, &vendor_cluster(seed), cycles);
        holders += outcome.devices.len() as u64;
        pipelined += outcome.pipelined.len() as u64;
        let written = |name: &str| {
            let written = outcome.devices.values().flatten();
            written.filter(|(key, _)| key == name).count() as u64
        };
        split += written("hami.io/vgpu-mig-allocations");
        sliced += written("hami.io/enflame-vgpu-devices-allocated");
    }
    // The cases are not trivial.
    assert!(holders > cases, "{holders} pods were given devices");
    assert!(pipelined > cases / 60, "{pipelined} pipelined");
    assert!(split > cases / 40, "{split} pods were given MIG instances");
    assert!(sliced > cases / 40, "{sliced} pods were given slices");
}

#[test]
fn cpus_of_numa_nodes_are_given_out_as_by_the_naive_loop() {
    let (mut binds, mut decided) = (0, 0);
    let seeds = run::seeds(0, NUMA_CASES);
    let cases = seeds.end - seeds.start;
    for seed in seeds {
        let cycles = 1 + 2 * u32::from(seed % 3 == 0);
        let (text, objects) = (numa_conf_text(seed), numa_cluster(seed));
        let outcome = check_under(&text, seed, &objects, cycles);
        let without = text.replace(
            "  - name: numa-aware\n",
            "  - name: numa-aware\n    enablePredicate: false\n",
        );
        if seed % 8 == 0 && !text.contains("enablePredicate: false") {
            let config = run::config(&without);
            let other = fast(&config, &objects, &mut naive::seconds(cycles));
            decided += u64::from(other.binds != outcome.binds);
        }
        binds += outcome.binds.len() as u64;
    }
    // The cases are not trivial.
    assert!(binds > cases, "{binds} binds");
    assert!(decided > cases / 40, "decided {decided} times");
}

#[test]
fn devices_of_claims_are_given_out_as_by_the_naive_loop() {
    let (mut binds, mut served, mut limited) = (0, 0, 0);
    let (mut returned, mut served_again, mut of_groups) = (0, 0, 0);
    let seeds = run::seeds(0, CLAIM_CASES);
    let cases = seeds.end - seeds.start;
    for seed in seeds.chain(CLAIMS_FOUND.iter().copied()) {
        let cycles = 1 + 2 * u32::from(seed % 3 != 0);
        let (text, objects) = (claims_conf_text(seed), claims_cluster(seed));
        let outcome = check_under(&text, seed, &objects, cycles);
        binds += outcome.binds.len() as u64;
        served += outcome.claims.len() as u64;
        returned += outcome.returns.len() as u64;
        let given = outcome.claims.keys();
        of_groups += given.filter(|claim| is_of_group(&objects, claim)).count() as u64;
        let mut names = outcome.returns.iter().map(|(_, claim)| claim);
        served_again += u64::from(names.any(|claim| outcome.claims.contains_key(claim)));
        if seed % 6 >= 4 {
            let mut moments = naive::seconds(cycles);
            let objects = without_device_quotas(&objects);
            let other = fast(&run::config(&text), &objects, &mut moments);
            let goes_otherwise =
                (other.binds, other.evictions) != (outcome.binds, outcome.evictions);
            limited += u64::from(goes_otherwise);
        }
    }
    // The cases are not trivial.
    assert!(binds > cases, "{binds} binds");
    assert!(served > cases / 6, "{served} claims were given devices");
    assert!(returned > cases / 4, "{returned} claims gave devices back");
    assert!(
        of_groups > cases / 50,
        "{of_groups} claims of groups were given devices"
    );
    assert!(
        served_again > 0 || cases < 1000,
        "no claim got others than it gave back"
    );
    // Two of the first thousand, when this was written.
    assert!(
        limited > 0 || cases < 1000,
        "no amounts of devices decided anything"
    );
}

/// Some group has the claim with this `namespace/name` for its pods.
fn is_of_group(objects: &[Delta], claim: &str) -> bool {
    let groups = objects.iter().filter_map(|object| match object {
        Delta::GroupApply(group) => Some(group),
        _ => None,
    });
    let mut groups = groups.filter(|group| !group.native.claims.is_empty());
    let owner = objects.iter().find_map(|object| match object {
        Delta::ResourceClaimApply(known) => {
            let is_it = format!("{}/{}", known.namespace, known.name) == claim;
            is_it.then_some(&known.owner_uid)
        }
        _ => None,
    });
    groups.any(|group| {
        let mut own = group.native.claims.iter();
        let names = |name: &String| format!("{}/{name}", group.namespace) == claim;
        Some(&group.uid) == owner || own.any(|one| one.claim.as_ref().is_some_and(names))
    })
}

/// The objects with queues that say nothing of devices.
fn without_device_quotas(objects: &[Delta]) -> Vec<Delta> {
    let mut objects = objects.to_vec();
    for object in &mut objects {
        if let Delta::QueueApply(queue) = object {
            let lists = [
                &mut queue.capability,
                &mut queue.deserved,
                &mut queue.guarantee,
            ];
            for list in lists {
                list.retain(|(name, _)| !name.contains("deviceclass/"));
            }
        }
    }
    objects
}

#[test]
fn places_in_the_network_are_given_out_as_by_the_naive_loop() {
    let (mut binds, mut pipelined) = (0, 0);
    let seeds = run::seeds(0, NETWORK_CASES);
    let cases = seeds.end - seeds.start;
    for seed in seeds.chain(NETWORK_FOUND.iter().copied()) {
        let cycles = 1 + 2 * u32::from(seed % 3 == 0);
        let text = network_conf_text(seed);
        let outcome = check_under(&text, seed, &network_cluster(seed), cycles);
        binds += outcome.binds.len() as u64;
        pipelined += outcome.pipelined.len() as u64;
    }
    // The cases are not trivial.
    assert!(binds > 3 * cases, "{binds} binds");
    assert!(pipelined > cases / 30, "{pipelined} pipelined");
}

#[test]
fn parts_of_a_job_share_racks_as_by_the_naive_loop() {
    let (mut binds, mut pipelined) = (0, 0);
    let seeds = run::seeds(0, PARTS_CASES);
    let cases = seeds.end - seeds.start;
    for seed in seeds {
        let cycles = 1 + 2 * u32::from(seed % 3 == 0);
        let (text, objects) = (network_conf_text(seed), partitioned_cluster(seed));
        let outcome = check_under(&text, seed, &objects, cycles);
        binds += outcome.binds.len() as u64;
        pipelined += outcome.pipelined.len() as u64;
    }
    // The cases are not trivial.
    assert!(binds > 3 * cases, "{binds} binds");
    assert!(pipelined > cases / 30, "{pipelined} pipelined");
}

#[test]
fn trees_of_groups_are_placed_as_by_the_naive_loop() {
    let (mut binds, mut decided, mut in_part) = (0, 0, 0);
    let seeds = run::seeds(0, TREES_CASES);
    let cases = seeds.end - seeds.start;
    for seed in seeds.chain(TREES_FOUND.iter().copied()) {
        let cycles = 1 + 2 * u32::from(seed % 3 == 0);
        let (text, objects) = (trees_conf_text(seed), trees_cluster(seed));
        let outcome = check_under(&text, seed, &objects, cycles);
        if seed % 4 == 0 {
            let (config, objects) = (run::config(&text), without_parents(&objects));
            let other = fast(&config, &objects, &mut naive::seconds(cycles));
            decided += u64::from(other.binds != outcome.binds);
        }
        binds += outcome.binds.len() as u64;
        let mut conditions = outcome.conditions.values().flatten();
        in_part += u64::from(conditions.any(|(kind, _, _)| kind == "BoundInPart"));
    }
    // The cases are not trivial.
    assert!(binds > 3 * cases, "{binds} binds");
    assert!(decided > cases / 10, "decided {decided} times");
    assert!(in_part > cases / 20, "{in_part} in part");
}

/// The objects with PodGroups that are part of nothing.
fn without_parents(objects: &[Delta]) -> Vec<Delta> {
    let mut objects = objects.to_vec();
    for object in &mut objects {
        if let Delta::GroupApply(group) = object {
            group.native.parent.clear();
        }
    }
    objects
}

#[test]
fn hundreds_of_nodes_are_searched_as_by_the_naive_loop() {
    let mut binds = 0;
    let seeds = run::seeds(0, WIDE_CASES);
    let cases = seeds.end - seeds.start;
    for seed in seeds {
        let outcome = check(seed, &wide_cluster(seed), 2);
        binds += outcome.binds.len() as u64;
    }
    assert!(binds > 20 * cases, "{binds} binds");
}

#[test]
fn whom_to_evict_is_decided_as_by_the_naive_loop() {
    let (mut evictions, mut binds) = (0, 0);
    let seeds = run::seeds(0, EVICTING_CASES);
    let cases = seeds.end - seeds.start;
    for seed in seeds {
        let outcome = check_under(&evicting_conf_text(seed), seed, &full_cluster(seed), 1);
        evictions += outcome.evictions.len() as u64;
        binds += outcome.binds.len() as u64;
    }
    for seed in EVICTING_FOUND.iter().copied() {
        check_under(&evicting_conf_text(seed), seed, &full_cluster(seed), 1);
    }
    // The cases are not trivial.
    assert!(evictions > cases / 4, "{evictions} evictions");
    assert!(binds > cases / 4, "{binds} binds");
}

#[test]
fn pods_on_cards_of_hamis_vendors_go_as_by_the_naive_loop() {
    let mut evictions = 0;
    let seeds = run::seeds(0, EVICTING_CASES / 2);
    let cases = seeds.end - seeds.start;
    for seed in seeds {
        let cycles = if seed % 4 == 0 { 4 } else { 1 };
        let (text, objects) = (evicting_conf_text(seed), full_vendor_cluster(seed));
        let outcome = check_under(&text, seed, &objects, cycles);
        evictions += outcome.evictions.len() as u64;
    }
    // The cases are not trivial.
    assert!(evictions > cases / 6, "{evictions} evictions");
}

#[test]
fn queues_with_amounts_give_and_take_as_by_the_naive_loop() {
    let (mut binds, mut by_reason) = (0, BTreeMap::<String, u64>::new());
    let seeds = run::seeds(0, TREE_CASES);
    let cases = seeds.end - seeds.start;
    for seed in seeds.chain(TREE_FOUND.iter().copied()) {
        let cycles = if seed % 4 == 0 { 4 } else { 1 };
        let objects = full_tree_cluster(seed);
        let outcome = check_under(&tree_conf_text(seed), seed, &objects, cycles);
        for (_, reason, _) in outcome.evictions {
            *by_reason.entry(reason).or_default() += 1;
        }
        binds += outcome.binds.len() as u64;
    }
    // The cases are not trivial.
    assert!(binds > cases / 3, "{binds} binds");
    let enough = |reason| {
        by_reason
            .get(reason)
            .is_some_and(|number| *number > cases / 8)
    };
    assert!(enough("preempt") && enough("reclaim"), "{by_reason:?}");
    assert!(by_reason.len() == 4, "{by_reason:?}");
}

#[test]
fn whoever_is_protected_and_gangs_as_a_whole_go_as_by_the_naive_loop() {
    let mut by_reason = BTreeMap::<String, u64>::new();
    let seeds = run::seeds(0, PROTECTED_CASES);
    let cases = seeds.end - seeds.start;
    for seed in seeds.chain(PROTECTED_FOUND.iter().copied()) {
        let cycles = if seed % 4 == 0 { 4 } else { 1 };
        let objects = full_protected_cluster(seed);
        let outcome = check_under(&protecting_conf_text(seed), seed, &objects, cycles);
        for (_, reason, _) in outcome.evictions {
            *by_reason.entry(reason).or_default() += 1;
        }
    }
    // The cases are not trivial.
    let enough = by_reason.values().all(|number| *number > cases / 30);
    assert!(enough && by_reason.len() == 4, "{by_reason:?}");
}

#[test]
fn what_becomes_of_the_room_is_decided_as_by_the_naive_loop() {
    for seed in run::seeds(EVICTING_CASES, EVICTING_CASES + EVICTING_CASES / 2) {
        check_under(&evicting_conf_text(seed), seed, &full_cluster(seed), 6);
    }
}

#[test]
fn pods_that_plugins_want_gone_go_as_by_the_naive_loop() {
    let (mut by_reason, mut binds) = (BTreeMap::<String, u64>::new(), 0);
    let seeds = run::seeds(0, TIMED_CASES);
    let cases = seeds.end - seeds.start;
    for seed in seeds {
        let objects = full_timed_cluster(seed);
        let moments = moments(seed, &objects);
        let outcome = check_over(&timed_conf_text(seed), seed, &objects, moments);
        for (_, reason, _) in outcome.evictions {
            *by_reason.entry(reason).or_default() += 1;
        }
        binds += outcome.binds.len() as u64;
    }
    // The cases are not trivial.
    assert!(binds > cases / 4, "{binds} binds");
    assert!(
        by_reason.get("shuffle") > Some(&(cases / 6)),
        "{by_reason:?}"
    );
    assert!(
        by_reason.get("preempt") > Some(&(cases / 20)),
        "{by_reason:?}"
    );
}

#[test]
fn victims_of_pods_that_are_spread_and_mount_volumes_go_as_by_the_naive_loop() {
    let mut evictions = 0;
    let seeds = run::seeds(0, VARIED_CASES);
    let cases = seeds.end - seeds.start;
    for seed in seeds {
        let cycles = if seed % 4 == 0 { 4 } else { 1 };
        let objects = full_varied_cluster(seed);
        let outcome = check_under(&evicting_conf_text(seed), seed, &objects, cycles);
        evictions += outcome.evictions.len() as u64;
    }
    // The cases are not trivial.
    assert!(evictions > cases / 6, "{evictions} evictions");
}

#[test]
fn gangs_that_keep_to_a_domain_have_others_go_as_by_the_naive_loop() {
    let mut by_reason = BTreeMap::<String, u64>::new();
    let seeds = run::seeds(0, DOMAIN_CASES);
    let cases = seeds.end - seeds.start;
    for seed in seeds.chain(DOMAIN_FOUND.iter().copied()) {
        let cycles = if seed % 4 == 0 { 4 } else { 1 };
        let (text, objects) = (gangs_in_domains_conf_text(seed), full_network_cluster(seed));
        let outcome = check_under(&text, seed, &objects, cycles);
        let topology = objects.iter().filter_map(|object| match object {
            Delta::GroupApply(group) if group.wants_topology() => {
                Some(format!("{}/{}", group.namespace, group.name))
            }
            _ => None,
        });
        let that_ask: BTreeSet<String> = topology.collect();
        for (_, reason, by) in outcome.evictions {
            if that_ask.contains(&by) {
                *by_reason.entry(reason).or_default() += 1;
            }
        }
    }
    // The cases are not trivial.
    let enough = by_reason.values().all(|number| *number > cases / 40);
    assert!(enough && by_reason.len() == 2, "{by_reason:?}");
}
