//! Whom `shuffle` evicts of those that plugins name (spec/07 §10).

use pumice_conf::Enabled;
use pumice_fixtures::{BuildPod as _, Cluster, node, pod, queue};
use pumice_framework::plugins::Member;
use pumice_framework::points;
use pumice_framework::points::{Purpose, VictimTasks, Victims};
use pumice_framework::tiers::{VictimAnswer, Weight};
use pumice_framework::{Eviction, Plugin, Plugins, Session, Unobserved};
use pumice_model::object::PreemptableMark;
use pumice_model::{State, TaskIx, TaskStatus};

/// Names some pods by name, or protects them.
#[derive(Clone, Default)]
struct Named {
    goes: Vec<&'static str>,
    stays: Vec<&'static str>,
    /// At most so many of the candidates go, whoever they are.
    most: usize,
}

impl Plugin for Named {
    fn name(&self) -> &'static str {
        "named"
    }

    points!(self; as_victim_tasks: VictimTasks, as_victims: Victims);
}

fn is_among(state: &State, names: &[&str], task: TaskIx) -> bool {
    names.iter().any(|name| *name == &*state.task(task).name)
}

impl VictimTasks for Named {
    fn is_due(&self) -> bool {
        !self.goes.is_empty()
    }

    fn victim_tasks(&self, state: &State, candidates: &[TaskIx]) -> Vec<TaskIx> {
        let named = candidates.iter().copied();
        let named = named.filter(|task| is_among(state, &self.goes, *task));
        named.take(self.most).collect()
    }
}

impl Victims for Named {
    fn victims(
        &self,
        _: &State,
        _: Purpose,
        _: TaskIx,
        candidates: &[TaskIx],
    ) -> VictimAnswer<TaskIx> {
        VictimAnswer::new(Weight::Opinion, candidates.to_vec())
    }

    fn unprotected(&self, state: &State, candidates: &[TaskIx]) -> Option<Vec<TaskIx>> {
        let all = candidates.iter().copied();
        Some(
            all.filter(|task| !is_among(state, &self.stays, *task))
                .collect(),
        )
    }
}

fn naming(goes: &[&'static str], most: usize) -> Named {
    Named {
        goes: goes.to_vec(),
        stays: Vec::new(),
        most,
    }
}

fn protecting(stays: &[&'static str]) -> Named {
    Named {
        stays: stays.to_vec(),
        ..Named::default()
    }
}

/// Pods `a` to `e` on a node, `e` the youngest; `b` is marked as not preemptable, `c` is only bound.
fn cluster() -> State {
    let pods = ["a", "b", "c", "d", "e"].into_iter().enumerate();
    let pods = pods.map(|(at, name)| {
        let pod = pod(name, "1c").created_s(at as i64);
        match name {
            "b" => pod.on("n").preemptable(PreemptableMark::No),
            "c" => pod.node("n"),
            _ => pod.on("n"),
        }
    });
    let cluster = Cluster::default().with(queue("default"));
    cluster.with(node("n", "8c pods=10")).all(pods).state()
}

/// Who goes, tier by tier of plugins, in the order of the evictions.
fn shuffled(state: &mut State, tiers: Vec<Vec<Named>>) -> Vec<Eviction> {
    let member = |plugin: Named| Member::new(Box::new(plugin), &Enabled::default());
    let tiers = tiers.into_iter();
    let tiers = tiers.map(|tier| tier.into_iter().map(member).collect());
    let mut plugins = Plugins::new(tiers.collect());
    let mut session = Session::open(state, &mut plugins, false, 0, &mut Unobserved);
    pumice_actions::shuffle::run(&mut session);
    std::mem::take(&mut session.plan.evictions)
}

fn names(state: &State, evictions: &[Eviction]) -> String {
    let names = evictions.iter().map(|one| &*state.task(one.task).name);
    names.collect::<Vec<_>>().join(" ")
}

#[test]
fn running_pods_that_plugins_name_go_for_nobody_the_youngest_first() {
    let mut state = cluster();
    let evictions = shuffled(
        &mut state,
        vec![vec![naming(&["a", "b", "c", "d", "e"], 9)]],
    );
    assert_eq!(names(&state, &evictions), "e d a");
    for eviction in &evictions {
        assert_eq!((eviction.reason, eviction.by), ("shuffle", None));
        assert_eq!(eviction.from, TaskStatus::Running);
        assert_eq!(state.task(eviction.task).status, TaskStatus::Releasing);
    }
}

#[test]
fn a_tier_names_the_union_and_the_first_tier_that_names_any_decides() {
    let cases = [
        (vec![vec![naming(&["a"], 9), naming(&["d", "a"], 9)]], "d a"),
        (
            vec![
                vec![naming(&["b"], 9)],
                vec![naming(&["a"], 9)],
                vec![naming(&["d"], 9)],
            ],
            "a",
        ),
        (vec![vec![naming(&[], 9)]], ""),
    ];
    for (tiers, expected) in cases {
        let mut state = cluster();
        let evictions = shuffled(&mut state, tiers);
        assert_eq!(names(&state, &evictions), expected);
    }
}

#[test]
fn whoever_protects_a_pod_keeps_it_whatever_its_tier_and_another_is_named_instead() {
    let mut state = cluster();
    let tiers = vec![vec![naming(&["a", "d", "e"], 2)], vec![protecting(&["e"])]];
    let evictions = shuffled(&mut state, tiers);
    assert_eq!(names(&state, &evictions), "d a");
}
