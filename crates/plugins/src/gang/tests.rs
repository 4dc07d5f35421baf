//! Gang tests over jobs whose tasks are in given statuses.

use super::*;
use crate::testing::*;
use pumice_model::object::{GroupObject, PodPhase, SubGroupPolicy};
use pumice_model::{NodeIx, TaskStatus};

fn gang() -> Gang {
    Gang::new(&Arguments::default())
}

/// A job from words: `running`, `allocated`, `pipelined`, `pending`, `succeeded`, `releasing`,
/// `best` (pending, without request); `role/status` gives the task a role.
fn job_of(group: GroupObject, tasks: &str) -> (State, JobIx) {
    let mut cluster = Cluster::default()
        .with(queue("default"))
        .with(node("n", "99c pods=99"))
        .with(group);
    let mut moves = Vec::new();
    for (at, word) in tasks.split_whitespace().enumerate() {
        let (role, word) = word.split_once('/').unwrap_or(("", word));
        let name = format!("t{at}");
        let request = if word == "best" { "" } else { "1c" };
        let plain = pod(&name, request)
            .group("a")
            .role(role)
            .labels(&format!("part={role}"));
        cluster = cluster.with(match word {
            "running" => plain.on("n"),
            "succeeded" => plain.on("n").phase(PodPhase::Succeeded),
            "succeeding" => plain.on("n").deleting(true),
            _ => plain,
        });
        match word {
            "allocated" => moves.push((name, TaskStatus::Allocated)),
            "pipelined" => moves.push((name, TaskStatus::Pipelined)),
            _ => {}
        }
    }
    let mut state = cluster.state();
    for (name, status) in moves {
        let task = task(&state, &name);
        state.move_task(task, status, Some(NodeIx(0)));
    }
    let job = job(&state, "a");
    (state, job)
}

fn sized(min: i32) -> GroupObject {
    group("a", min).queue("default")
}

#[test]
fn readiness_counts_placed_tasks_against_min_member() {
    // tasks, minMember: ready, pipelined, starving
    let cases = [
        (
            "running running allocated pending pending",
            3,
            true,
            true,
            false,
        ),
        (
            "running running pipelined pending pending",
            3,
            false,
            true,
            false,
        ),
        (
            "running running pending pending pending",
            3,
            false,
            false,
            true,
        ),
        ("running succeeded", 2, true, true, false),
        // A terminating pod does not count.
        ("running succeeding", 2, false, false, true),
        // A pod without request counts once it is placed.
        ("running best", 2, false, false, true),
        ("pending", 0, true, true, false),
    ];
    for (tasks, min, ready, pipelined, starving) in cases {
        let (state, job) = job_of(sized(min), tasks);
        let vote = if pipelined {
            Vote::Permit
        } else {
            Vote::Reject
        };
        assert_eq!(gang().job_ready(&state, job), ready, "{tasks}, min {min}");
        assert_eq!(
            gang().job_pipelined(&state, job),
            vote,
            "{tasks}, min {min}"
        );
        assert_eq!(
            gang().job_starving(&state, job),
            starving,
            "{tasks}, min {min}"
        );
    }
}

fn with_roles(min: i32, roles: &[(&str, i32)]) -> GroupObject {
    let roles = roles.iter().map(|(role, min)| ((*role).to_owned(), *min));
    sized(min).min_task_member(roles)
}

#[test]
fn role_minima_hold_too_unless_they_add_up_to_more_than_min_member() {
    let roles = &[("ps", 1), ("worker", 2)];
    // tasks, minMember: ready, pipelined, reason of job_valid
    let cases = [
        (
            "ps/running worker/running worker/running",
            3,
            true,
            Vote::Permit,
            None,
        ),
        (
            "worker/running worker/running worker/running",
            3,
            false,
            Vote::Reject,
            Some("NotEnoughPodsOfTask"),
        ),
        (
            "ps/pending worker/running worker/running worker/running",
            3,
            false,
            Vote::Reject,
            None,
        ),
        (
            "ps/pipelined worker/running worker/running worker/running",
            3,
            false,
            Vote::Permit,
            None,
        ),
        ("worker/running worker/running", 2, true, Vote::Permit, None),
        (
            "worker/running worker/pending",
            3,
            false,
            Vote::Reject,
            Some("NotEnoughPodsOfTask"),
        ),
    ];
    for (tasks, min, ready, pipelined, invalid) in cases {
        let (state, job) = job_of(with_roles(min, roles), tasks);
        let reason = gang()
            .job_valid(&state, job)
            .err()
            .map(|invalid| invalid.reason);
        assert_eq!(gang().job_ready(&state, job), ready, "{tasks}, min {min}");
        assert_eq!(
            gang().job_pipelined(&state, job),
            pipelined,
            "{tasks}, min {min}"
        );
        assert_eq!(reason, invalid, "{tasks}, min {min}");
    }
}

#[test]
fn a_job_with_too_few_tasks_is_not_valid_and_says_so() {
    let (state, job) = job_of(sized(3), "running pending succeeding");
    let invalid = gang().job_valid(&state, job).expect_err("2 of 3");
    assert_eq!(invalid.reason, "NotEnoughTasks");
    let message = "Not enough valid tasks for gang-scheduling, valid: 2, min: 3: make 1 more of its pods, \
                   or lower minMember";
    assert_eq!(invalid.message, message);
    let (state, job) = job_of(sized(3), "running pending succeeded");
    assert_eq!(gang().job_valid(&state, job), Ok(()));
}

#[test]
fn sub_jobs_are_counted_by_policy() {
    let policy = SubGroupPolicy {
        name: "p".to_owned(),
        match_label_keys: vec!["part".to_owned()],
        size: 2,
        min_groups: 2,
        ..SubGroupPolicy::default()
    };
    let parted = || sized(2).sub_groups([policy.clone()]);
    let cases = [
        (
            "1/running 1/running 2/running 2/running",
            true,
            Vote::Permit,
            None,
        ),
        (
            "1/running 1/running 2/running 2/pipelined",
            false,
            Vote::Permit,
            None,
        ),
        (
            "1/running 1/running 2/running 2/pending",
            false,
            Vote::Reject,
            None,
        ),
        (
            "1/running 1/running",
            false,
            Vote::Reject,
            Some("NotEnoughPodsOfTask"),
        ),
        (
            "1/running 1/running 2/pending 3/pending",
            false,
            Vote::Reject,
            Some("NotEnoughPodsOfTask"),
        ),
    ];
    for (tasks, ready, pipelined, invalid) in cases {
        let (state, job) = job_of(parted(), tasks);
        let reason = gang()
            .job_valid(&state, job)
            .err()
            .map(|invalid| invalid.reason);
        assert_eq!(gang().job_ready(&state, job), ready, "{tasks}");
        assert_eq!(gang().job_pipelined(&state, job), pipelined, "{tasks}");
        assert_eq!(reason, invalid, "{tasks}");
    }
}

#[test]
fn a_sub_job_is_ready_with_its_own_size_and_goes_last_then() {
    let policy = SubGroupPolicy {
        name: "p".to_owned(),
        match_label_keys: vec!["part".to_owned()],
        size: 2,
        ..SubGroupPolicy::default()
    };
    let group = sized(2).sub_groups([policy]);
    let (state, job) = job_of(group, "1/running 1/running 2/running 2/pipelined 3/running");
    let at = |part: &str| {
        let id = format!("ns/a/p-{part}");
        state
            .job(job)
            .sub_jobs
            .iter()
            .position(|sub| sub.id == id)
            .expect("a sub-job") as u16
    };
    for (part, ready, pipelined) in [
        ("1", true, Vote::Permit),
        ("2", false, Vote::Permit),
        ("3", false, Vote::Reject),
    ] {
        assert_eq!(gang().sub_job_ready(&state, job, at(part)), ready, "{part}");
        assert_eq!(
            gang().sub_job_pipelined(&state, job, at(part)),
            pipelined,
            "{part}"
        );
    }
    assert_eq!(
        gang().sub_job_order(&state, job, at("2"), at("1")),
        Ordering::Less
    );
    assert_eq!(
        gang().sub_job_order(&state, job, at("2"), at("3")),
        Ordering::Equal
    );
}

#[test]
fn jobs_that_are_not_ready_go_first() {
    let state = Cluster::default()
        .with(queue("default"))
        .with(node("n", "9c pods=9"))
        .with(group("ready", 1).queue("default"))
        .with(group("waiting", 1).queue("default"))
        .pods(1, "ready", pod("", "1c").on("n"))
        .pods(1, "waiting", pod("", "1c"))
        .state();
    let (ready, waiting) = (job(&state, "ready"), job(&state, "waiting"));
    assert_eq!(gang().job_order(&state, waiting, ready), Ordering::Less);
    assert_eq!(gang().job_order(&state, ready, waiting), Ordering::Greater);
    assert_eq!(gang().job_order(&state, ready, ready), Ordering::Equal);
}

#[test]
fn victims_are_the_pods_beyond_the_minimum_cheapest_first() {
    let cases = [
        (3, "running running running running", 1),
        (3, "running running running", 0),
        (1, "running running running running", 3),
        (0, "running running", 2),
        (2, "running allocated running pending", 1),
        // What is over, waits or goes holds nobody's place.
        (4, "running running running running succeeded", 0),
        (2, "running running pipelined", 0),
        (2, "running running succeeding", 0),
        // Below its minimum anyway.
        (5, "running running", 0),
    ];
    for (min, tasks, expected) in cases {
        let (state, _) = job_of(sized(min), tasks);
        let all: Vec<TaskIx> = (0..2).map(|at| task(&state, &format!("t{at}"))).collect();
        let more = (2..tasks.split_whitespace().count()).map(|at| task(&state, &format!("t{at}")));
        let live = more.filter(|ix| state.task(*ix).status == TaskStatus::Running);
        let all: Vec<TaskIx> = all.into_iter().chain(live).collect();
        for purpose in [Purpose::Preempt, Purpose::Reclaim] {
            let answer = gang().victims(&state, purpose, all[0], &all);
            let (first, _) = all.split_at(expected);
            assert_eq!(answer.allowed.as_deref(), Some(first), "{min}: {tasks}");
            assert_eq!((answer.weight, answer.orders), (Weight::Protection, false));
            let never = gang().never(&state, purpose, all[0], all[0]);
            let expected = (expected == 0).then_some(Weight::Protection);
            assert_eq!(never, expected, "{min}: {tasks}");
        }
    }
}

#[test]
fn victims_are_beyond_the_minimum_of_their_role_too() {
    let tasks = "ps/running ps/running worker/running";
    for (min, least, expected) in [
        (1, 1, "t0 t2"),
        (2, 1, "t0"),
        (2, 2, "t2"),
        (3, 2, ""),
        // More than minMember: roles are not asked.
        (1, 2, "t0 t1"),
    ] {
        let of_roles = sized(min).min_task_member([("ps".to_owned(), least)]);
        let (state, _) = job_of(of_roles, tasks);
        let all = ["t0", "t1", "t2"].map(|uid| task(&state, uid));
        for purpose in [Purpose::Preempt, Purpose::Reclaim] {
            let answer = gang().victims(&state, purpose, all[0], &all);
            let allowed = answer.allowed.expect("an opinion");
            assert_eq!(names(&state, &allowed), expected, "{min} {least}");
        }
        let left = gang().unprotected(&state, &all).expect("an opinion");
        assert_eq!(names(&state, &left), expected, "{min} {least}");
    }
}

#[test]
fn within_a_job_the_minimum_stays_whole_by_itself() {
    let (state, _) = job_of(sized(2), "running running pending");
    let all = [task(&state, "t0"), task(&state, "t1")];
    let answer = gang().victims(&state, Purpose::WithinJob, task(&state, "t2"), &all);
    assert_eq!(answer.allowed, Some(all.to_vec()));
}
