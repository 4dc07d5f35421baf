//! Counters of who stands where, kept by whoever searches: those that follow say what new ones would.

use std::collections::BTreeMap;

use pumice_fixtures::*;
use pumice_model::object::{PodObject, SelectorOp};
use pumice_model::topology::{CountTable, PodCounters, Pull, Query};
use pumice_model::{CounterIx, Delta, State, TaskStatus};

const NODES: u64 = 6;
const APPS: [&str; 3] = ["a", "b", "c"];
const KEYS: [&str; 2] = ["zone", "host"];
const PODS: u64 = 24;

/// Numbers of a counter by node, and of them those that leave.
type Numbers = (BTreeMap<u32, i64>, BTreeMap<u32, i64>);

fn cluster() -> State {
    let mut state = State::new("default");
    for at in 0..NODES {
        state.apply(node(&format!("n{at}"), "64c pods=99").delta());
    }
    state.seal();
    state
}

/// A pod that carries some terms, or none.
fn any_pod(name: &str, dice: &mut Dice) -> PodObject {
    let app = APPS[dice.below(3) as usize];
    let mut pod = pod(name, "1c").app(app);
    let term =
        |dice: &mut Dice| pods_of(APPS[dice.below(3) as usize], KEYS[dice.below(2) as usize]);
    match dice.below(4) {
        0 => pod.anti_affinity = vec![term(dice)],
        1 => pod.preferred_affinity = vec![(1 + dice.below(3) as i32, term(dice))],
        2 => pod.preferred_anti_affinity = vec![(1, term(dice)), (2, term(dice))],
        _ => {}
    }
    if dice.below(2) == 0 {
        pod = pod.on(&format!("n{}", dice.below(NODES)));
    }
    pod
}

/// What happens next: a pod comes, goes, is placed, taken back, evicted, or restored.
fn step(state: &mut State, dice: &mut Dice) {
    let name = format!("p{}", dice.below(PODS));
    let Some(ix) = state.population().task_by_uid(&name) else {
        state.apply(any_pod(&name, dice).delta());
        state.seal();
        return;
    };
    let node = state.nodes().indices().nth(dice.below(NODES) as usize);
    match (state.task(ix).status, dice.below(3)) {
        (_, 0) => {
            state.apply(Delta::PodDelete(name));
            state.seal();
        }
        (TaskStatus::Pending, _) => {
            let node = node.expect("a node");
            let choice = state.choose_placement(ix, node, false);
            state.place(ix, TaskStatus::Allocated, node, choice);
        }
        (TaskStatus::Allocated, _) => state.move_task(ix, TaskStatus::Pending, None),
        (TaskStatus::Releasing, _) => state.restore(ix, TaskStatus::Running),
        _ => state.evict(ix),
    }
}

fn numbers(counters: &PodCounters, counter: CounterIx) -> Numbers {
    let sorted = |table: &CountTable| table.iter().collect();
    let leaving = counters.releasing(counter).map(sorted).unwrap_or_default();
    (sorted(counters.counts(counter)), leaving)
}

/// What counters say of everything that can be asked.
fn answers(state: &State, counters: &mut PodCounters) -> BTreeMap<String, Numbers> {
    let (topology, names) = (state.ground().topology(), state.names());
    counters.follow(topology, names);
    let mut found = BTreeMap::new();
    for app in APPS {
        let spread = Query::Spread {
            namespace: "ns".to_owned(),
            selectors: vec![selector("app", SelectorOp::In(vec![app.to_owned()]))],
        };
        let terms = Query::Terms(vec![pods_of(app, "zone")]);
        for (what, query) in [("spread", spread), ("terms", terms)] {
            let counter = counters.counter(topology, names, query);
            found.insert(format!("{what} {app}"), numbers(counters, counter));
        }
    }
    for (_, task) in state.population().tasks() {
        let rules = state.ground().shapes().get(task.shape).rules;
        for pull in [Pull::Barred, Pull::Preferred] {
            for (key, counter) in counters.own(topology, names, (rules, pull)) {
                let what = format!("own {} {pull:?} {key}", task.name);
                found.insert(what, numbers(counters, counter));
            }
            for (key, counter) in counters.carried(topology, names, (task.appearance, pull)) {
                let what = format!("against {} {pull:?} {key}", task.name);
                found.insert(what, numbers(counters, counter));
            }
        }
    }
    // A term that nobody placed carries may have no counter yet.
    found.retain(|_, (now, leaving)| !(now.is_empty() && leaving.is_empty()));
    found
}

#[test]
fn counters_that_follow_say_what_new_ones_would() {
    for seed in 0..40 {
        let (mut state, mut dice) = (cluster(), Dice(seed));
        let (mut kept, mut begun) = (PodCounters::default(), 0);
        for _ in 0..60 {
            for _ in 0..=dice.below(6) {
                step(&mut state, &mut dice);
            }
            let epoch = kept.epoch();
            let after = answers(&state, &mut kept);
            assert_eq!(
                after,
                answers(&state, &mut PodCounters::default()),
                "seed {seed}"
            );
            begun += u32::from(kept.epoch() != epoch);
        }
        assert!(begun < 60, "seed {seed}: they were made anew each time");
    }
}

#[test]
fn what_a_sweep_makes_meaningless_is_not_kept() {
    let mut state = cluster();
    let carries = pod("q", "1c")
        .app("b")
        .anti_affinity([pods_of("a", "zone")]);
    state.apply(carries.delta());
    state.seal();
    let mut kept = PodCounters::default();
    answers(&state, &mut kept);
    assert!(!kept.is_empty());
    state.forget_unused();
    kept.follow(state.ground().topology(), state.names());
    assert!(kept.is_empty());
}

#[test]
fn a_copy_of_the_cluster_is_counted_on_its_own() {
    let mut state = cluster();
    state.apply(pod("p", "1c").app("a").on("n1").delta());
    state.apply(
        pod("q", "1c")
            .app("b")
            .anti_affinity([pods_of("a", "zone")])
            .delta(),
    );
    state.seal();
    let (mut kept, mut of_copy) = (PodCounters::default(), PodCounters::default());
    let before = answers(&state, &mut kept);
    let mut copy = state.fork();
    copy.apply(Delta::PodDelete("p".to_owned()));
    copy.seal();
    assert_ne!(answers(&copy, &mut of_copy), before);
    assert_eq!(answers(&state, &mut kept), before);
    // Who follows one state, and then the copy of it, begins anew or is right.
    assert_eq!(answers(&copy, &mut kept), answers(&copy, &mut of_copy));
}
