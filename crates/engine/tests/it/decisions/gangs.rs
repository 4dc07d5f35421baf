//! What a gang is and which of its tasks are tried.

use pumice_model::Delta;
use pumice_model::object::{
    GroupPhase, PodObject, PodPhase, PriorityClassObject, Requirement, Selector, SelectorOp,
    SubGroupPolicy,
};

use super::cluster::*;

fn class(name: &str, value: i32) -> Delta {
    Delta::PriorityClassApply(PriorityClassObject {
        name: name.to_owned(),
        value,
        ..PriorityClassObject::default()
    })
}

#[test]
fn best_effort_members_count_when_they_are_placed() {
    for (slots, expected) in [(3, vec!["p0 n1", "p1 n1", "p2 n1"]), (2, vec![])] {
        let mut cluster = Cluster::new()
            .with(node("n1", &format!("8c 8Gi pods={slots}")))
            .with(group("g", 3))
            .with(pod("p0", "1c").group("g"))
            .with(pod("p1", "1c").group("g"))
            .with(pod("p2", "").group("g"));
        assert_eq!(cluster.cycle(), expected, "{slots} slots");
    }
}

#[test]
fn best_effort_members_that_wait_leave_their_job_among_the_first() {
    // With them counted, `old` would be ready, and gang puts jobs first that are not.
    let old = group("old", 1);
    let young = group("young", 1).created_s(1);
    let mut cluster = Cluster::new()
        .with(node("n1", "1c 8Gi pods=9"))
        .with(old)
        .with(young)
        .with(pod("o-nothing", "").group("old"))
        .with(pod("o-cpu", "1c").group("old"))
        .with(pod("y-cpu", "1c").group("young"));
    assert_eq!(cluster.cycle(), ["o-cpu n1", "o-nothing n1"]);
}

#[test]
fn a_policy_without_label_keys_makes_one_group_of_all_pods_it_selects() {
    for (cores, binds) in [(1, 0), (2, 2)] {
        let policy = SubGroupPolicy {
            name: "all".to_owned(),
            size: 2,
            min_groups: 1,
            ..SubGroupPolicy::default()
        };
        let grouped = group("g", 1).sub_groups([policy]);
        let mut cluster = Cluster::new()
            .with(node("n1", &format!("{cores}c 8Gi pods=9")))
            .with(grouped)
            .with(pod("p0", "1c").group("g"))
            .with(pod("p1", "1c").group("g"));
        assert_eq!(cluster.cycle().len(), binds, "{cores} cores");
    }
}

/// A cluster with room for all, a gang of `st=0 st=0 st=1 st=1` and one pod without that label.
fn in_stages(size: i32, min_groups: i32) -> Cluster {
    let policy = SubGroupPolicy {
        name: "stage".to_owned(),
        match_label_keys: vec!["example.com/stage".to_owned()],
        size,
        min_groups,
        ..SubGroupPolicy::default()
    };
    let grouped = group("g", 4).sub_groups([policy]);
    let mut cluster = Cluster::new()
        .with(node("n1", "9c 9Gi pods=9"))
        .with(grouped);
    for (name, stage) in [("p0", "0"), ("p1", "0"), ("p2", "1"), ("p3", "1")] {
        let pod = pod(name, "1c").labels(&[("example.com/stage", stage)]);
        cluster = cluster.with(pod.group("g"));
    }
    cluster.with(pod("p4", "1c").group("g"))
}

#[test]
fn too_few_complete_sub_groups_are_told_with_what_they_lack_and_which_label_pods_lack() {
    let start = "Not enough valid subGroups of each task for gang-scheduling, policy stage:";
    let unlabelled = "1 pod has no label example.com/stage";
    for (size, min_groups, told) in [
        (
            3,
            2,
            format!(
                "{start} 0 of 2 sub-groups are complete; sub-group ns/g/stage-0 has 2 of 3 pods; \
                 {unlabelled}"
            ),
        ),
        (
            2,
            5,
            format!("{start} 2 of 5 sub-groups are complete; {unlabelled}"),
        ),
    ] {
        let mut cluster = in_stages(size, min_groups);
        assert!(cluster.cycle().is_empty());
        assert_eq!(cluster.why("p0"), ("GangIncomplete", told.clone()));
        let condition = cluster.condition("g", "Unschedulable").expect("told");
        assert_eq!(
            (condition.reason.as_str(), condition.message),
            ("NotEnoughPodsOfTask", told)
        );
    }
    assert_eq!(in_stages(2, 2).cycle().len(), 5);
}

#[test]
fn a_policy_whose_label_no_pod_has_is_told_on_the_pod_group() {
    // Pods with each label, the minimum of the gang, and whether it is told.
    let cases: [(&[&str], i32, bool); 4] = [
        (&["step", "step"], 2, true),
        (&["step", "stage"], 2, false),
        // More pods are to come.
        (&["step", "step"], 3, false),
        // The policy selects nobody.
        (&["other"], 1, false),
    ];
    for (labels, min, expected) in cases {
        let policy = SubGroupPolicy {
            name: "stages".to_owned(),
            selector: Some(Selector {
                requirements: vec![Requirement {
                    key: "other".to_owned(),
                    op: SelectorOp::DoesNotExist,
                }],
            }),
            match_label_keys: vec!["stage".to_owned()],
            size: 1,
            ..SubGroupPolicy::default()
        };
        let grouped = group("g", min).sub_groups([policy]);
        let mut cluster = Cluster::new()
            .with(node("n1", "9c 9Gi pods=9"))
            .with(grouped);
        for (at, label) in labels.iter().enumerate() {
            let pod = pod(&format!("p{at}"), "1c").labels(&[(label, "0")]);
            cluster = cluster.with(pod.group("g"));
        }
        cluster.engine.cycle(0);
        let events = cluster.engine.reports(0).events.into_iter();
        let told: Vec<String> = events
            .filter(|event| event.reason == "SubGroupLabelMissing")
            .map(|event| event.message)
            .collect();
        let start =
            "sub-group policy stages has no sub-groups: pods that it selects have no label stage";
        assert_eq!(told.len(), usize::from(expected), "{labels:?} {told:?}");
        assert!(told.iter().all(|text| text.starts_with(start)), "{told:?}");
    }
}

#[test]
fn pods_of_a_sub_group_that_has_too_few_do_not_read_that_they_have_room() {
    let mut cluster = in_stages(3, 0);
    assert!(cluster.cycle().is_empty());
    let told = "sub-group ns/g/stage-0 has 2 of 3 pods";
    let (reason, message) = cluster.why("p1");
    assert_eq!(reason, "GangIncomplete");
    assert!(message.starts_with(told), "{message}");
    let condition = cluster.condition("g", "Unschedulable").expect("told");
    let text = condition.message;
    assert!(
        text.starts_with("3/5 tasks in gang unschedulable"),
        "{text}"
    );
    assert!(
        text.contains(&format!("Origin reason is p0: {told}")),
        "{text}"
    );
}

#[test]
fn after_one_task_found_no_node_others_of_its_role_are_not_tried() {
    let of_role = |name: &str, role: &str, request: &str| {
        let pod = pod(name, request).role(role);
        pod.group("g")
    };
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("n1", "4c 8Gi pods=9"))
        .with(group("g", 1))
        .with(of_role("w0", "100%d", "9c"))
        .with(of_role("w1", "100%d", "1c"))
        .with(of_role("x", "other", "1c"));
    assert_eq!(cluster.cycle(), ["x n1"]);
    let message = "Task w1 with role spec 100%d has already predicated failed, skip";
    assert_eq!(cluster.why("w1"), ("Unschedulable", message.to_owned()));
}

#[test]
fn a_gang_of_best_effort_pods_is_bound_whole_or_not_at_all() {
    for (slots, binds) in [(3, 3), (2, 0)] {
        let mut cluster = Cluster::new()
            .with(node("n1", &format!("8c 8Gi pods={slots}")))
            .with(group("g", 3));
        for name in ["p0", "p1", "p2"] {
            cluster = cluster.with(pod(name, "").group("g"));
        }
        assert_eq!(cluster.cycle().len(), binds, "{slots} slots");
    }
}

#[test]
fn tasks_go_by_the_number_in_their_name_and_others_by_age_between_them() {
    let mut cluster = Cluster::new()
        .with(node("n1", "9c 8Gi pods=9"))
        .with(group("g", 1));
    for (name, created_s) in [("plain", 0), ("g-w-10", 1), ("g-w-2", 2), ("older-w", -1)] {
        let task = pod(name, "1c").created_s(created_s);
        cluster = cluster.with(task.group("g"));
    }
    assert_eq!(
        cluster.cycle(),
        ["older-w n1", "plain n1", "g-w-2 n1", "g-w-10 n1"]
    );
}

#[test]
fn a_launcher_that_is_no_younger_than_its_workers_is_not_left_out() {
    for (created_s, expected) in [
        (0, ["mpi-launcher n1", "mpi-worker-0 n1", "mpi-worker-1 n1"]),
        (5, ["mpi-launcher n1", "mpi-worker-0 n1", "mpi-worker-1 n1"]),
        (6, ["mpi-worker-0 n1", "mpi-worker-1 n1", "mpi-worker-2 n1"]),
    ] {
        let mut cluster = Cluster::new()
            .with(node("n1", "3c 8Gi pods=9"))
            .with(group("mpi", 3));
        for at in 0..4 {
            let worker = pod(&format!("mpi-worker-{at}"), "1c").created_s(5);
            cluster = cluster.with(worker.group("mpi"));
        }
        let launcher = pod("mpi-launcher", "1c").created_s(created_s);
        let mut cluster = cluster.with(launcher.group("mpi"));
        assert_eq!(cluster.cycle(), expected, "{created_s}");
    }
}

#[test]
fn a_gang_bound_in_part_is_completed_before_everything_else() {
    let mut cluster = Cluster::new()
        .with(class("urgent", 1000))
        .with(node("n1", "3c 8Gi pods=9"))
        .with(group("old", 2))
        .with(group("urgent", 1).priority_class("urgent"))
        .with(pod("o0", "2c").group("old").on("n1"))
        .with(pod("o1", "1c").group("old"))
        .with(pod("u0", "1c").group("urgent"));
    assert_eq!(cluster.cycle(), ["o1 n1"]);
}

#[test]
fn gangs_bound_in_part_are_told_with_the_time_they_were_first_seen() {
    let mut cluster = Cluster::new()
        .with(node("n1", "2c 8Gi pods=9"))
        .with(group("g", 2))
        .with(pod("p0", "2c").group("g").on("n1"))
        .with(pod("p1", "2c").group("g"));
    let partial = |cluster: &Cluster| -> Vec<(String, i64)> {
        let all = cluster.engine.partial_gangs().into_iter();
        all.map(|(ix, since_s)| (cluster.engine.state().population().job_key(ix), since_s))
            .collect()
    };
    cluster.engine.cycle(10);
    cluster.apply(pod("unrelated", "9c"));
    cluster.engine.cycle(20);
    assert_eq!(partial(&cluster), [("ns/g".to_owned(), 10)]);
    cluster.apply(node("n2", "2c 8Gi pods=9"));
    cluster.engine.cycle(30);
    assert_eq!(partial(&cluster), []);
}

/// Seconds a gang may be partial in these tests.
const DEADLINE_S: i64 = 300;

/// Applies `steps` one by one, with a cycle after each; whether gang `g` of three, which is partial
/// then, is given up after the deadline.
fn is_given_up(phase: GroupPhase, steps: &[Vec<Delta>]) -> bool {
    let mut gang = group("g", 3);
    gang.status.phase = phase;
    let mut cluster = Cluster::new().with(node("n1", "2c 8Gi pods=9")).with(gang);
    cluster.engine.set_partial_gang_deadline(DEADLINE_S);
    for step in steps {
        for delta in step {
            cluster.apply(delta.clone());
        }
        cluster.engine.cycle(10);
    }
    let partial = cluster.engine.partial_gangs();
    assert_eq!(partial.len(), 1, "{partial:?}");
    assert!(cluster.engine.give_up_gangs(9 + DEADLINE_S).is_empty());
    !cluster.engine.give_up_gangs(10 + DEADLINE_S).is_empty()
}

#[test]
fn a_partial_gang_is_given_up_unless_all_its_pods_were_on_nodes_once() {
    let applied = |pod: PodObject| pod.replaced().group("g").delta();
    let waits = |names: &[&str]| -> Vec<Delta> {
        let pods = names.iter().map(|name| pod(name, "1c"));
        pods.map(applied).collect()
    };
    let runs = |names: &[&str]| -> Vec<Delta> {
        let pods = names.iter().map(|name| pod(name, "1c").on("n1"));
        pods.map(applied).collect()
    };
    let gone = |names: &[&str]| -> Vec<Delta> {
        let uids = names.iter().map(|name| pod(name, "").uid);
        uids.map(Delta::PodDelete).collect()
    };
    let found = [runs(&["a"]), waits(&["b", "c"])].concat();
    let again = vec![applied(pod("d", "1c"))];
    let cases = [
        // One runs, the others never got a node: the phase is Unknown by then.
        (
            GroupPhase::Inqueue,
            vec![waits(&["a", "b", "c"]), runs(&["a"]), again.clone()],
            true,
        ),
        // All ran, two are gone.
        (
            GroupPhase::Inqueue,
            vec![runs(&["a", "b", "c"]), gone(&["b", "c"]), again.clone()],
            false,
        ),
        // All ran, all are gone: it starts over.
        (
            GroupPhase::Inqueue,
            vec![runs(&["a", "b", "c"]), gone(&["a", "b", "c"]), runs(&["d"])],
            true,
        ),
        // Found so at the start: the phase the API server has decides.
        (
            GroupPhase::Inqueue,
            vec![found.clone(), again.clone()],
            true,
        ),
        (GroupPhase::Unknown, vec![found, again], false),
    ];
    for (at, (phase, steps, expected)) in cases.into_iter().enumerate() {
        assert_eq!(is_given_up(phase, &steps), expected, "case {at}");
    }
}

/// A scheduler that starts anew and finds the objects as they are.
fn restarted(cluster: &Cluster) -> Cluster {
    let mut next = Cluster::new();
    next.engine.set_partial_gang_deadline(DEADLINE_S);
    for delta in cluster.engine.state().dump() {
        next.apply(delta);
    }
    next
}

#[test]
fn after_a_restart_a_gang_bound_in_part_is_told_from_one_that_ran_by_a_condition() {
    let member = |pod: PodObject| pod.replaced().group("g").delta();
    let all = ["a", "b", "c"];
    let waits = all.map(|name| member(pod(name, "1c")));
    let all_run = all.map(|name| member(pod(name, "1c").on("n1")));
    let one_runs = [
        member(pod("a", "1c").on("n1")),
        member(pod("b", "1c")),
        member(pod("c", "1c")),
    ];
    let lost = ["b", "c"].map(|name| Delta::PodDelete(pod(name, "").uid));
    for (steps, in_part) in [
        (vec![waits.to_vec(), one_runs.to_vec()], true),
        (vec![all_run.to_vec(), lost.to_vec()], false),
    ] {
        let mut cluster = Cluster::new()
            .with(node("n1", "2c 8Gi pods=9"))
            .with(group("g", 3));
        for step in [steps, vec![vec![member(pod("d", "1c"))]]].concat() {
            step.into_iter().for_each(|delta| cluster.apply(delta));
            cluster.engine.cycle(10);
        }
        for _ in 0..2 {
            assert_eq!(cluster.phase("g"), GroupPhase::Unknown);
            assert_eq!(cluster.condition("g", "BoundInPart").is_some(), in_part);
            cluster = restarted(&cluster);
            cluster.engine.cycle(20);
        }
        let given_up = cluster.engine.give_up_gangs(20 + DEADLINE_S);
        assert_eq!(!given_up.is_empty(), in_part);
        // Once it is complete nothing is left of that.
        all_run.iter().for_each(|pod| cluster.apply(pod.clone()));
        cluster.engine.cycle(400);
        assert_eq!(cluster.condition("g", "BoundInPart"), None);
    }
}

/// The pods of gang `g` of three, bound alone before the PodGroup came, in the order in which a
/// PodGroup controller and two watches may tell it.
fn late_group(steps: &[Delta]) -> Cluster {
    let mut cluster = Cluster::new().with(node("n1", "2c 8Gi pods=9"));
    cluster.engine.set_partial_gang_deadline(DEADLINE_S);
    for name in ["a", "b"] {
        cluster.apply(pod(name, "1c").replaced());
    }
    assert_eq!(cluster.cycle().len(), 2, "nobody makes PodGroups");
    for step in steps {
        cluster.apply(step.clone());
        cluster.engine.cycle(10);
    }
    cluster
}

#[test]
fn a_gang_whose_podgroup_came_after_the_bindings_is_never_given_up() {
    let grouped = |pod: PodObject| pod.replaced().group("g").delta();
    let mut bound = ["a", "b"].map(|name| grouped(pod(name, "1c").on("n1")));
    let comes = group("g", 3).created_s(5).delta();
    let waits = grouped(pod("c", "1c"));
    let [a, b] = bound.clone();
    for steps in [
        [comes.clone(), a.clone(), b.clone(), waits.clone()],
        [a, comes.clone(), b, waits.clone()],
    ] {
        let mut cluster = late_group(&steps);
        assert_eq!(cluster.engine.partial_gangs().len(), 1);
        assert_eq!(cluster.engine.give_up_gangs(i64::MAX), []);
    }
    // Nor by a scheduler that finds it so at its start.
    let mut cluster = Cluster::new().with(node("n1", "2c 8Gi pods=9"));
    cluster.engine.set_partial_gang_deadline(DEADLINE_S);
    bound.reverse();
    for delta in [comes, waits].into_iter().chain(bound) {
        cluster.apply(delta);
    }
    cluster.engine.cycle(10);
    assert_eq!(cluster.engine.partial_gangs().len(), 1);
    assert_eq!(cluster.engine.give_up_gangs(i64::MAX), []);
}

#[test]
fn giving_up_takes_twice_as_long_each_time_and_says_what_would_help() {
    let mut cluster = Cluster::new()
        .with(node("n1", "2c 8Gi pods=9"))
        .with(group("g", 3));
    cluster.engine.set_partial_gang_deadline(DEADLINE_S);
    let mut now_s = 10;
    for (round, wait_s) in [(0, 300), (1, 600), (2, 1200)] {
        let name = |which: &str| format!("{which}-{round}");
        for which in ["a", "b"] {
            let waiting = pod(&name(which), "1c").replaced().group("g");
            cluster.apply(waiting.clone());
            cluster.engine.cycle(now_s);
            cluster.apply(waiting.on("n1"));
        }
        let waiting = pod(&name("c"), "9c").replaced().group("g");
        cluster.apply(waiting);
        cluster.engine.cycle(now_s);
        assert_eq!(cluster.engine.give_up_gangs(now_s + wait_s - 1), []);
        let wake_s = cluster.engine.wake_at_s();
        assert!(
            wake_s.is_some_and(|at_s| at_s <= now_s + wait_s),
            "{wake_s:?}"
        );
        now_s += wait_s;
        let given_up = cluster.engine.give_up_gangs(now_s);
        let victims = given_up[0].victims.iter();
        let victims: Vec<String> = victims
            .map(|ix| cluster.engine.state().task(*ix).name.to_string())
            .collect();
        assert_eq!(victims, [name("a"), name("b")]);
        let text = &given_up[0].message;
        let waited = format!(
            "2 of the 3 pods it needs (minMember) could be bound within {wait_s} s; 2 bound pods are deleted"
        );
        assert!(text.starts_with(&waited), "{text}");
        let helps = "What would help: room for cpu 9, pods 1 more, or minMember 2 in the PodGroup";
        assert!(text.contains(helps), "{text}");
        let why = format!("c-{round} waits: ");
        assert!(text.contains(&why), "{text}");
        assert!(
            text.ends_with(&format!("it is given up after {} s", 2 * wait_s)),
            "{text}"
        );
        assert_eq!(cluster.engine.give_up_gangs(now_s), [], "told once");
        for which in ["a", "b", "c"] {
            cluster.apply(Delta::PodDelete(name(which)));
        }
        now_s += 50;
        cluster.engine.cycle(now_s);
    }
}

#[test]
fn a_member_told_to_a_node_that_does_not_exist_is_nobody_to_follow_until_it_runs_or_the_node_appears()
 {
    let gang = |phase: PodPhase| {
        let first = pod("first", "1c").on("lost").phase(phase);
        Cluster::new()
            .with(node("n1", "4c 8Gi pods=9"))
            .with(group("g", 2))
            .with(first.group("g"))
            .with(pod("second", "1c").group("g"))
    };
    let mut cluster = gang(PodPhase::Pending);
    assert_eq!(cluster.cycle().len(), 0);
    let (_, why) = cluster.why("second");
    assert!(why.contains("valid: 1, min: 2"), "{why}");
    cluster = cluster.with(node("lost", "1c 8Gi pods=9"));
    assert_eq!(cluster.cycle(), ["second n1"]);
    // One that runs is there, whatever became of the Node object.
    assert_eq!(gang(PodPhase::Running).cycle(), ["second n1"]);
}
