//! Budgets and what is left of them (examples of spec/02 §11).

use super::*;
use crate::testing::*;
use pumice_model::Delta;
use pumice_model::object::{BudgetObject, Requirement, Selector, SelectorOp};

fn of_app(app: &str) -> Option<Selector> {
    Some(Selector {
        requirements: vec![Requirement {
            key: "app".to_owned(),
            op: SelectorOp::In(vec![app.to_owned()]),
        }],
    })
}

fn budget(name: &str, selector: Option<Selector>, allowed: i32) -> BudgetObject {
    BudgetObject {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        selector,
        allowed,
        ..BudgetObject::default()
    }
}

/// Pods `a0`, `a1`, `a2` of app a, `b0` of app b in the same namespace, `plain` without labels, and `far`
/// of app a in another namespace.
fn cluster(budgets: Vec<BudgetObject>) -> State {
    let labelled = |name: &str, labels: &str| pod(name, "1c").on("n").labels(labels);
    let mut state = Cluster::default()
        .with(queue("default"))
        .with(node("n", "99c pods=99"))
        .with(labelled("a0", "app=a"))
        .with(labelled("a1", "app=a"))
        .with(labelled("a2", "app=a"))
        .with(labelled("b0", "app=b"))
        .with(labelled("plain", ""))
        .with(labelled("far", "app=a").namespace("elsewhere"))
        .with(pod("new", "1c"))
        .state();
    budgets
        .into_iter()
        .for_each(|budget| tell(&mut state, budget));
    state
}

fn tell(state: &mut State, budget: BudgetObject) {
    state.apply(budget.delta());
    state.seal();
}

fn ask(plugin: &Pdb, state: &State, candidates: &str) -> String {
    let all: Vec<TaskIx> = candidates
        .split(' ')
        .map(|name| task(state, name))
        .collect();
    let answer = plugin.victims(state, Purpose::Preempt, task(state, "new"), &all);
    assert_eq!(answer.weight, Weight::Veto);
    names(state, &answer.allowed.expect("an answer"))
}

fn open_at(plugin: &mut Pdb, state: &State, now_s: i64) {
    plugin.open(
        state,
        &CycleInfo {
            now_s,
            ..CycleInfo::default()
        },
    );
}

const ALL: &str = "a0 a1 a2 b0 plain far";

#[test]
fn pods_go_as_far_as_every_budget_that_selects_them_allows() {
    let everything = Some(Selector::default());
    let gone = |mut budget: BudgetObject, pod: &str| {
        budget.disrupted = vec![pod.to_owned()];
        budget
    };
    let cases = [
        (vec![], "a0 a1 a2 b0 plain far"),
        (vec![budget("x", of_app("a"), 1)], "a0 b0 plain far"),
        (vec![budget("x", of_app("a"), 2)], "a0 a1 b0 plain far"),
        (vec![budget("x", of_app("a"), 0)], "b0 plain far"),
        (vec![budget("x", of_app("a"), -1)], "b0 plain far"),
        // Selects nobody; selects everybody in its namespace.
        (vec![budget("x", None, 0)], "a0 a1 a2 b0 plain far"),
        (vec![budget("x", of_app("c"), 0)], "a0 a1 a2 b0 plain far"),
        (vec![budget("x", everything.clone(), 0)], "far"),
        (vec![budget("x", everything.clone(), 4)], "a0 a1 a2 b0 far"),
        // Counted by the API server already.
        (
            vec![gone(budget("x", of_app("a"), 0), "a1")],
            "a1 b0 plain far",
        ),
        // Who may not go takes nothing of the other budget.
        (
            vec![
                budget("x", everything.clone(), 2),
                budget("y", of_app("a"), 0),
            ],
            "b0 plain far",
        ),
        (
            vec![budget("x", everything, 2), budget("y", of_app("a"), 1)],
            "a0 b0 far",
        ),
    ];
    for (budgets, expected) in cases {
        let what = format!("{budgets:?}");
        let state = cluster(budgets);
        assert_eq!(ask(&Pdb::default(), &state, ALL), expected, "{what}");
    }
}

#[test]
fn evictions_of_a_transaction_count_until_they_are_undone() {
    let mut state = cluster(vec![budget("x", of_app("a"), 2)]);
    let mut plugin = Pdb::default();
    open_at(&mut plugin, &state, 0);
    let victim = task(&state, "a0");
    plugin.observe(&state, Step::Evicting(victim));
    state.evict(victim);
    assert_eq!(ask(&plugin, &state, "a1 a2"), "a1");
    state.restore(victim, TaskStatus::Running);
    plugin.observe(&state, Step::Restored(victim));
    assert_eq!(ask(&plugin, &state, "a1 a2"), "a1 a2");
    assert_eq!(plugin.wake_at_s(), None);
}

/// `a0` was evicted in a cycle at 0 s.
fn after_an_eviction() -> (State, Pdb) {
    let mut state = cluster(vec![budget("x", of_app("a"), 2)]);
    let mut plugin = Pdb::default();
    open_at(&mut plugin, &state, 0);
    let victim = task(&state, "a0");
    plugin.observe(&state, Step::Evicting(victim));
    state.evict(victim);
    state.decide_eviction(victim, TaskStatus::Running);
    open_at(&mut plugin, &state, 1);
    assert_eq!(ask(&plugin, &state, "a1 a2"), "a1");
    (state, plugin)
}

fn delete(state: &mut State, name: &str) {
    let old = pod(name, "1c").on("n").labels("app=a").deleting(true);
    state.apply(old.delta());
    state.seal();
}

#[test]
fn an_eviction_counts_until_the_budget_changes_after_its_pod_was_seen_to_go() {
    let (mut state, mut plugin) = after_an_eviction();
    // A change before that is about something else.
    let mut changed = budget("x", of_app("a"), 2);
    changed.healthy = 3;
    tell(&mut state, changed.clone());
    open_at(&mut plugin, &state, 2);
    assert_eq!(ask(&plugin, &state, "a1 a2"), "a1");
    delete(&mut state, "a0");
    open_at(&mut plugin, &state, 3);
    assert_eq!(ask(&plugin, &state, "a1 a2"), "a1");
    changed.allowed = 1;
    changed.healthy = 2;
    tell(&mut state, changed);
    open_at(&mut plugin, &state, 4);
    assert_eq!(
        ask(&plugin, &state, "a1 a2"),
        "a1",
        "counted once, by the status"
    );
    assert_eq!(plugin.wake_at_s(), None);
}

#[test]
fn an_eviction_that_the_api_server_has_counted_is_not_counted_again() {
    let (mut state, plugin) = after_an_eviction();
    let mut changed = budget("x", of_app("a"), 1);
    changed.disrupted = vec!["a0".to_owned()];
    tell(&mut state, changed);
    assert_eq!(ask(&plugin, &state, "a1 a2"), "a1");
}

#[test]
fn an_eviction_that_is_refused_or_never_shown_is_forgotten() {
    let (mut state, mut plugin) = after_an_eviction();
    state.apply(Delta::EvictFailed {
        uid: "a0".to_owned(),
        message: "no".to_owned(),
        at_s: 1,
    });
    state.seal();
    open_at(&mut plugin, &state, 2);
    assert_eq!(ask(&plugin, &state, "a1 a2"), "a1 a2");

    let (mut state, mut plugin) = after_an_eviction();
    delete(&mut state, "a0");
    open_at(&mut plugin, &state, 119);
    assert_eq!(plugin.wake_at_s(), Some(120));
    assert_eq!(ask(&plugin, &state, "a1 a2"), "a1");
    open_at(&mut plugin, &state, 120);
    assert_eq!(ask(&plugin, &state, "a1 a2"), "a1 a2");
    assert_eq!(plugin.wake_at_s(), None);

    let (mut state, mut plugin) = after_an_eviction();
    state.apply(Delta::BudgetDelete("ns".to_owned(), "x".to_owned()));
    state.seal();
    open_at(&mut plugin, &state, 2);
    assert_eq!(plugin.wake_at_s(), None);
}
