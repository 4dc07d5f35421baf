//! Memory follows the population, not the history.

use pumice_fixtures::{ToDelta as _, node, selector};
use pumice_model::object::{
    PodObject, PodTerm, PreemptableMark, SelectorOp, SpreadConstraint, Unsatisfiable,
    WorkloadObject,
};
use pumice_model::state::Footprint;
use pumice_model::{Delta, State};

/// Pods that come and go, and how many there are at a time.
const PODS: usize = 200_000;
const AT_A_TIME: usize = 1_000;

/// A pod of which nothing was seen before: names, labels, terms, keys, amounts.
fn unique(number: usize) -> PodObject {
    let text = |what: &str| format!("{what}-{number}");
    let own = selector(&text("key"), SelectorOp::In(vec![text("value")]));
    let mut pod = PodObject {
        namespace: text("ns"),
        name: text("pod"),
        uid: text("uid"),
        ours: true,
        node: number.is_multiple_of(2).then(|| "n1".to_owned()),
        group: number.is_multiple_of(3).then(|| text("group")),
        queue: Some(text("queue")),
        role: text("role"),
        priority_class: text("class"),
        preemptable: [
            PreemptableMark::Unsaid,
            PreemptableMark::Yes,
            PreemptableMark::No,
            PreemptableMark::Unreadable,
        ][number % 4],
        preempts: [None, Some(false), Some(true)][number % 3],
        scheduled_s: number.is_multiple_of(2).then_some(number as i64),
        nominated_node: number.is_multiple_of(5).then(|| "n1".to_owned()),
        labels: vec![(text("key"), text("value"))],
        owners: vec![("ReplicaSet".to_owned(), text("set"))],
        request: vec![("cpu".to_owned(), 1 + number as i64)],
        node_selector: vec![(text("only"), text("here"))],
        ..PodObject::default()
    };
    match number % 4 {
        0 => pod.anti_affinity.push(PodTerm {
            namespaces: vec![text("ns")],
            namespace_selector: None,
            selector: Some(own),
            topology_key: text("topology"),
        }),
        1 => pod.spread.push(SpreadConstraint {
            max_skew: 1,
            topology_key: text("topology"),
            when: Unsatisfiable::DoNotSchedule,
            selector: Some(own),
            min_domains: 1,
            honor_affinity: true,
            honor_taints: false,
        }),
        _ => {}
    }
    pod
}

fn with_a_node() -> State {
    let mut state = State::new("default");
    state.apply(node("n1", "").delta());
    state.seal();
    state
}

/// Largest values of everything, entry by entry.
fn largest(l: Footprint, r: Footprint) -> Footprint {
    Footprint {
        tasks: l.tasks.max(r.tasks),
        jobs: l.jobs.max(r.jobs),
        names: l.names.max(r.names),
        shapes: l.shapes.max(r.shapes),
        rules: l.rules.max(r.rules),
        appearances: l.appearances.max(r.appearances),
        terms: l.terms.max(r.terms),
        label_keys: l.label_keys.max(r.label_keys),
    }
}

#[test]
fn what_pods_bring_goes_with_them() {
    let mut state = with_a_node();
    let mut most = Footprint::default();
    for first in (0..PODS).step_by(AT_A_TIME) {
        let numbers = first..first + AT_A_TIME;
        for number in numbers.clone() {
            state.apply(unique(number).delta());
        }
        state.seal();
        most = largest(most, state.footprint());
        for number in numbers {
            state.apply(Delta::PodDelete(format!("uid-{number}")));
        }
        state.seal();
    }
    let spare_names = 10_000;
    assert!(most.names <= 3 * (13 * AT_A_TIME + spare_names), "{most:?}");
    for (what, kept, limit) in [
        ("tasks", most.tasks, AT_A_TIME),
        ("jobs", most.jobs, AT_A_TIME),
        ("shapes", most.shapes, AT_A_TIME),
        ("rules", most.rules, AT_A_TIME),
        ("appearances", most.appearances, 2 * AT_A_TIME + 4096),
        ("terms", most.terms, 3 * AT_A_TIME + 2048),
        ("label keys", most.label_keys, 6 * AT_A_TIME),
    ] {
        assert!(kept <= limit, "{what}: {kept} > {limit}");
    }
    state.forget_unused();
    let empty = with_a_node().footprint();
    let rest = state.footprint();
    assert_eq!((rest.tasks, rest.jobs), (0, 0));
    assert_eq!((rest.terms, rest.label_keys), (0, 0), "{rest:?}");
    // `n1` is a name while a pod is lost on it; queue names of jobs are gone with them.
    assert!(rest.names <= empty.names + 1, "{rest:?}");
}

#[test]
fn what_is_in_use_is_not_forgotten() {
    let mut state = with_a_node();
    let workload = WorkloadObject {
        kind: "Service".to_owned(),
        namespace: "ns-4".to_owned(),
        name: "web".to_owned(),
        selector: Some(selector(
            "key-4",
            SelectorOp::In(vec!["value-4".to_owned()]),
        )),
        controller: None,
    };
    state.apply(Delta::WorkloadApply(workload));
    (0..20).for_each(|number| {
        state.apply(unique(number).delta());
    });
    state.seal();
    let before = (state.dump(), state.footprint());
    state.forget_unused();
    assert_eq!(state.dump(), before.0);
    let (after, before) = (state.footprint(), before.1);
    assert_eq!(
        (after.terms, after.label_keys),
        (before.terms, before.label_keys)
    );
    (5..20).for_each(|number| {
        state.apply(Delta::PodDelete(format!("uid-{number}")));
    });
    state.forget_unused();
    // New names take the room of old ones, and the dump tells what is.
    (100..140).for_each(|number| {
        state.apply(unique(number).delta());
    });
    state.seal();
    let mut fresh = with_a_node();
    state.dump().into_iter().for_each(|delta| {
        fresh.apply(delta);
    });
    fresh.seal();
    assert_eq!(fresh.dump(), state.dump());
    assert_eq!(fresh.footprint().terms, state.footprint().terms);
}

/// The sweep of names lists by hand who holds symbols: a field that is forgotten there would turn into
/// another word one day.
#[test]
fn every_field_that_holds_a_symbol_is_known_to_the_sweep() {
    let sources = [
        include_str!("../../src/task.rs"),
        include_str!("../../src/job.rs"),
        include_str!("../../src/queue.rs"),
        include_str!("../../src/node.rs"),
        include_str!("../../src/state/population/mod.rs"),
        include_str!("../../src/state/population/queues.rs"),
    ];
    let sweep = include_str!("../../src/state/population/sweep.rs");
    let mut fields = Vec::new();
    for source in sources {
        let structs = source.split("struct ").skip(1);
        let bodies = structs.filter_map(|text| text.split_once("{\n")?.1.split_once("\n}"));
        for line in bodies.flat_map(|(body, _)| body.lines()) {
            let line = line.trim();
            let Some((name, kind)) = line.split_once(": ") else {
                continue;
            };
            let holds = kind
                .split(|c: char| !c.is_alphanumeric())
                .any(|word| word == "Sym");
            if holds && !line.starts_with("//") {
                fields.push(name.rsplit(' ').next().unwrap_or(name).to_owned());
            }
        }
    }
    assert!(fields.len() >= 10, "{fields:?}");
    let forgotten = |field: &&String| {
        let named = sweep.match_indices(field.as_str()).any(|(at, _)| {
            let rest = &sweep[at + field.len()..];
            sweep[..at].ends_with('.')
                && !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        });
        !named
    };
    let forgotten: Vec<_> = fields.iter().filter(forgotten).collect();
    assert!(
        forgotten.is_empty(),
        "not in Population::sweep_names: {forgotten:?}"
    );
}
