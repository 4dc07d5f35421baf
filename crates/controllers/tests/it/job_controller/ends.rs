//! How Jobs without policies end, in what order their tasks start, and what becomes of a pod that is
//! deleted.

use super::every_policy::{retries, two_tasks, uids};
use super::*;

/// How the pods of a task end: well, badly, or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PodEnd {
    Good,
    Bad,
    None,
}

#[test]
fn jobs_end_as_their_pods_and_minimums_say() {
    use PodEnd::{Bad, Good, None};
    // Fields of the spec, what tasks `a` (two pods) and `b` (one) do, the phase it ends in, and how many
    // pods have succeeded and failed by then.
    let table = [
        (json!({}), [Good, Good], "Completed", Some([3, 0])),
        (json!({}), [Good, Bad], "Failed", Some([2, 1])),
        // A minimum of the Job below those of its tasks counts pods of any task.
        (
            json!({"minAvailable": 2}),
            [Good, Bad],
            "Completed",
            Option::None,
        ),
        (
            json!({"minAvailable": 2}),
            [Bad, Good],
            "Failed",
            Some([1, 2]),
        ),
        (
            json!({"minSuccess": 2}),
            [Good, None],
            "Completed",
            Option::None,
        ),
        (
            json!({"minSuccess": 3}),
            [Good, Bad],
            "Failed",
            Option::None,
        ),
        (json!({}), [Good, None], "Running", Option::None),
    ];
    for (fields, ends, phase, counts) in table {
        let mut world = world();
        let mut spec = two_tasks();
        for (key, value) in fields.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        let job = run(&mut world, spec);
        for (prefix, end) in ["j-a-", "j-b-"].into_iter().zip(ends) {
            let of_it = pods(&world).into_iter();
            for name in of_it.filter(|name| name.starts_with(prefix)) {
                match end {
                    Good => world.server.end_pod(&pod(&name), 0),
                    Bad => world.server.end_pod(&pod(&name), 1),
                    None => {}
                }
            }
        }
        carry_on(&mut world);
        let case = format!("{fields} {ends:?}");
        let ended = status(&world, &job);
        assert_eq!(ended["state"]["phase"], phase, "{case}: {ended}");
        assert_eq!(retries(&ended), 0, "{case}: {ended}");
        // What they ended with stays.
        world.pass_seconds(3);
        let later = status(&world, &job);
        assert_eq!(later["state"]["phase"], phase, "{case}: {later}");
        if let Some(counts) = counts {
            let count = |key: &str| later[key].as_i64().unwrap_or(0);
            assert_eq!(
                [count("succeeded"), count("failed")],
                counts,
                "{case}: {later}"
            );
        }
    }
}

#[test]
fn a_task_waits_until_those_it_depends_on_are_on_nodes() {
    let mut world = world();
    let mut a = task("a", 2);
    a["minAvailable"] = json!(1);
    let mut b = task("b", 1);
    b["dependsOn"] = json!({"name": ["a"], "iteration": "all"});
    b["minAvailable"] = json!(0);
    let job = apply(&mut world, json!({"minAvailable": 1, "tasks": [a, b]}));
    world.pass_seconds(1);
    world.server.admit_groups();
    world.pass_seconds(10);
    assert_eq!(
        pods(&world),
        ["j-a-0", "j-a-1"],
        "not ready before it is on a node"
    );
    world.server.start_pods();
    world.pass_seconds(2);
    assert_eq!(pods(&world), ["j-a-0", "j-a-1", "j-b-0"]);
    world.server.start_pods();
    world.pass_seconds(2);
    assert_eq!(status(&world, &job)["running"], 3);
}

#[test]
fn a_pod_that_a_user_deletes_comes_again_without_a_policy() {
    let mut world = world();
    let job = run(
        &mut world,
        json!({"minAvailable": 2, "tasks": [task("worker", 2)]}),
    );
    assert_eq!(phase(&world, &job), "Running");
    let before = uids(&world);
    world.server.delete(&pod("j-worker-1"), "", false);
    carry_on(&mut world);
    let now = uids(&world);
    assert_eq!(now.len(), 2);
    assert_eq!(now.get("j-worker-0"), before.get("j-worker-0"));
    assert_ne!(
        now.get("j-worker-1"),
        before.get("j-worker-1"),
        "it is a new one"
    );
    let healed = status(&world, &job);
    assert_eq!(healed["running"], 2);
    assert_eq!(retries(&healed), 0);
    world.server.end_pods();
    carry_on(&mut world);
    assert_eq!(phase(&world, &job), "Completed");
}
