//! What becomes of a plan that evicts, by an action that evicts whoever runs for whoever waits.

use pumice_conf::ActionSpec;
use pumice_engine::Action;
use pumice_model::TaskIx;
use pumice_model::object::{BudgetObject, Selector};
use pumice_model::run_time::RUN_TIME_LIMIT;

use super::*;

static TAKE_OVER: Action = Action {
    spec: ActionSpec {
        name: "take-over",
        summary: "Evicts a running pod for a waiting one.",
        args: &[],
    },
    run: |session, kernel, _| {
        let one = |status: TaskStatus| {
            let mut tasks = session.state.population().tasks();
            tasks
                .find(|(ix, task)| {
                    task.status == status
                        && session.state.population().holds().spared(*ix).is_none()
                })
                .map(|(ix, _)| ix)
        };
        let (victim, preemptor) = (one(TaskStatus::Running), one(TaskStatus::Pending));
        let (Some(victim), Some(preemptor)) = (victim, preemptor) else {
            return;
        };
        let start = session.checkpoint();
        let node = session.state.task(victim).node.expect("it runs");
        let by = session.state.task(preemptor).job.expect("a job");
        session.evict(victim, "preempt", by);
        match kernel.fits(session.state, session.plugins, preemptor, node) {
            Ok(choice) => {
                session.place(preemptor, choice);
                session.commit_evictions_from(start, true);
            }
            Err(_) => session.undo_to(start),
        }
    },
};

/// A full node, its pod `old`, and a pod `new` that takes it over.
fn bench(dry_run: bool) -> Bench {
    let mut bench = Bench::with(dry_run, [queue(), node("n1", 1000), gang(1)]);
    bench.apply(runs(true, member("old")));
    bench.apply(member("new").delta());
    bench.decider.engine_mut().add_action(&TAKE_OVER);
    bench
}

fn task(bench: &Bench, uid: &str) -> TaskIx {
    let state = bench.decider.engine().state();
    state.population().task_by_uid(uid).expect("known")
}

fn status(bench: &Bench, uid: &str) -> TaskStatus {
    let ix = task(bench, uid);
    bench.decider.engine().state().task(ix).status
}

fn evict_failed() -> Outcome {
    Outcome::EvictFailed {
        pod: PodRef {
            namespace: "ns".to_owned(),
            name: "old".to_owned(),
            uid: "old".to_owned(),
        },
        message: "a budget says no".to_owned(),
    }
}

#[test]
fn a_plan_that_evicts_is_written_and_who_waits_for_it_is_nominated() {
    let mut bench = bench(false);
    let first = bench.at(100);
    let eviction = first.iter().find_map(|write| match write {
        Write::Evict {
            pod, reason, group, ..
        } => Some((pod, reason, group)),
        _ => None,
    });
    let (pod, reason, group) = eviction.expect("an eviction");
    assert_eq!((pod.uid.as_str(), reason.as_str()), ("old", "preempt"));
    assert_eq!(group.as_ref().map(|group| group.name.as_str()), Some("g"));
    assert_eq!(status(&bench, "old"), TaskStatus::Releasing);
    assert_eq!(status(&bench, "new"), TaskStatus::Pipelined);
    // Who waits comes first, so that a scheduler after this one knows whose the room is.
    let to_n1 = ("new".to_owned(), Some("n1".to_owned()));
    assert_eq!(nominated(&first), [to_n1]);
    let at = |is: fn(&Write) -> bool| first.iter().position(is).expect("written");
    assert!(
        at(|write| matches!(write, Write::Nominate { .. }))
            < at(|write| matches!(write, Write::Evict { .. }))
    );
    // Nothing is evicted twice.
    assert!(evicted(&bench.at(103)).is_empty());
}

/// Pods that were nominated, or not any more.
fn nominated(writes: &[Write]) -> Vec<(String, Option<String>)> {
    let of = |write: &Write| match write {
        Write::Nominate { pod, node } => Some((pod.uid.clone(), node.clone())),
        _ => None,
    };
    writes.iter().filter_map(of).collect()
}

#[test]
fn victim_and_preemptor_are_told_of_each_other() {
    let mut bench = bench(false);
    let first = bench.at(100);
    let told: Vec<(&str, &str)> = first
        .iter()
        .filter_map(|write| match write {
            Write::Event {
                about,
                reason,
                message,
                ..
            } if reason == "Preempting" => Some((about.kind.as_str(), message.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(
        told,
        [
            ("PodGroup", "preempt evicts pod ns/old on n1 for pod ns/new"),
            (
                "Pod",
                "preempt evicts pod ns/old on n1; the pod waits for node n1"
            ),
        ]
    );
    let beneficiary = first.iter().find_map(|write| match write {
        Write::Evict { beneficiary, .. } => beneficiary.as_ref(),
        _ => None,
    });
    let beneficiary = beneficiary.map(ToString::to_string);
    assert_eq!(beneficiary.as_deref(), Some("PodGroup ns/g"));
}

#[test]
fn a_nomination_that_could_not_be_written_is_written_again_as_long_as_it_stands() {
    let mut bench = bench(false);
    bench.at(100);
    let failed = |uid: &str| Outcome::NominationFailed {
        pod: PodRef {
            namespace: "ns".to_owned(),
            name: uid.to_owned(),
            uid: uid.to_owned(),
        },
    };
    bench.hears(failed("new"));
    bench.hears(failed("gone"));
    assert!(nominated(&bench.at(159)).is_empty());
    let to_n1 = ("new".to_owned(), Some("n1".to_owned()));
    assert_eq!(nominated(&bench.at(160)), [to_n1]);
    assert!(nominated(&bench.at(221)).is_empty());
}

#[test]
fn a_pod_that_does_not_show_its_eviction_yet_is_on_its_way_out_all_the_same() {
    let mut bench = bench(false);
    bench.at(100);
    let relabelled = member("old").labels(vec![("a".to_owned(), "b".to_owned())]);
    bench.apply(runs(true, relabelled));
    assert_eq!(status(&bench, "old"), TaskStatus::Releasing);
    assert!(evicted(&bench.at(101)).is_empty());
    // A dump says so too.
    let dump = bench.decider.engine().state().dump();
    let mut other = Bench::new([]);
    other.decider.apply(dump);
    assert_eq!(status(&other, "old"), TaskStatus::Releasing);
    other.hears(evict_failed());
    assert_eq!(status(&other, "old"), TaskStatus::Running);
}

#[test]
fn an_eviction_that_fails_is_taken_back_exactly() {
    let mut bench = bench(false);
    // The cluster but for statuses, which tell of the cycle in between.
    let objects = |bench: &Bench| {
        let mut all = bench.decider.engine().state().dump();
        all.retain(|delta| !matches!(delta, Delta::GroupApply(_) | Delta::PodSpared { .. }));
        all
    };
    let before = objects(&bench);
    let books = |bench: &Bench| {
        let state = bench.decider.engine().state();
        let (node, job) = (
            state.nodes().find("n1").expect("known"),
            state.task(task(bench, "old")).job,
        );
        let job = state.job(job.expect("a job"));
        (
            state.nodes().idle.row(node),
            state.nodes().future_idle(pumice_model::resource::CPU, node),
            (job.allocated.clone(), job.by_status),
        )
    };
    bench.decider.engine_mut().stand_by();
    let (idle, future, job) = books(&bench);
    bench.at(100);
    bench.hears(evict_failed());
    assert!(bench.decider.changed, "it is decided anew");
    // The placement that counted on it ends with its cycle.
    bench.decider.engine_mut().stand_by();
    assert_eq!(books(&bench), (idle, future, job));
    assert_eq!(status(&bench, "old"), TaskStatus::Running);
    assert_eq!(status(&bench, "new"), TaskStatus::Pending);
    assert_eq!(objects(&bench), before);
    // What is heard twice, or of a pod that is gone, changes nothing.
    bench.hears(evict_failed());
    bench.apply(Delta::PodDelete("old".to_owned()));
    bench.hears(evict_failed());
}

#[test]
fn a_pod_whose_eviction_failed_is_no_candidate_for_a_second_then_for_two() {
    let mut bench = bench(false);
    let spared = |bench: &Bench| {
        let hold = bench
            .decider
            .engine()
            .state()
            .population()
            .holds()
            .spared(task(bench, "old"));
        hold.map(|hold| (hold.until_s, hold.message.to_string()))
    };
    let why = || "a budget says no".to_owned();
    assert_eq!(evicted(&bench.at(100)), ["old"]);
    bench.hears(evict_failed());
    assert_eq!(spared(&bench), Some((101, why())));
    // A dump says so too.
    let mut other = Bench::new([]);
    other.decider.apply(bench.decider.engine().state().dump());
    assert_eq!(spared(&other), spared(&bench));
    assert!(evicted(&bench.at(100)).is_empty());
    assert_eq!(bench.decider.engine().wake_at_s(), Some(101));
    assert_eq!(evicted(&bench.at(101)), ["old"], "nothing else happened");
    bench.hears(evict_failed());
    assert_eq!(spared(&bench), Some((103, why())));
    assert!(evicted(&bench.at(102)).is_empty());
    // One that is going by itself starts over.
    bench.apply(runs(true, member("old").deleting(true)));
    bench.apply(Delta::PodDelete("old".to_owned()));
    bench.apply(runs(true, member("old")));
    assert_eq!(spared(&bench), None);
}

#[test]
fn a_dry_run_evicts_nobody_and_takes_it_back_after_a_while() {
    let mut bench = bench(true);
    assert!(bench.at(100).is_empty());
    assert_eq!(status(&bench, "old"), TaskStatus::Releasing);
    bench.decider.engine_mut().reconfigure(&config());
    bench.at(161);
    assert_eq!(status(&bench, "old"), TaskStatus::Running);
}

#[test]
fn whose_time_is_over_goes_whatever_budgets_say() {
    let budget = BudgetObject {
        namespace: "ns".to_owned(),
        name: "all".to_owned(),
        selector: Some(Selector::default()),
        ..BudgetObject::default()
    };
    let guarded = |writes: Vec<Write>| {
        let of = |write| match write {
            Write::Evict {
                reason,
                guarded_by_budget,
                ..
            } => Some((reason, guarded_by_budget)),
            _ => None,
        };
        writes.into_iter().filter_map(of).collect::<Vec<_>>()
    };
    let mut bench = bench(false);
    bench.apply(Delta::BudgetApply(Box::new(budget.clone())));
    assert_eq!(guarded(bench.at(100)), [("preempt".to_owned(), true)]);
    let limit = (RUN_TIME_LIMIT.to_owned(), "100s".to_owned());
    let limited = member("old").annotations(vec![limit]);
    let limited = runs(true, limited.scheduled_s(Some(100)));
    let mut bench = Bench::new([queue(), node("n1", 1000), gang(1), limited]);
    bench.apply(Delta::BudgetApply(Box::new(budget)));
    let conf = "actions: allocate\ntiers: [{plugins: [{name: gang}, {name: runtimelimit}]}]\n";
    let conf = pumice_conf::parse(conf, &pumice_engine::REGISTRY);
    bench
        .decider
        .configure(&conf.config.expect("a configuration"));
    assert_eq!(guarded(bench.at(229)), []);
    assert_eq!(guarded(bench.at(230)), [("runtimelimit".to_owned(), false)]);
}
