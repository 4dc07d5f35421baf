//! What the state sums of a small cluster, both as texts.

use expect_test::{Expect, expect};
use pumice_fixtures::Cluster;
use pumice_model::State;
use pumice_model::resource::{CPU, display_amount};

/// The cpu that nodes have free, now and once what goes is gone, that queues have, wait for and reserve, and how many
/// pods of jobs have a place.
fn check(cluster: &str, expect: &Expect) {
    expect.assert_eq(&sums(&Cluster::of(cluster).state()));
}

fn sums(state: &State) -> String {
    let cpu = |amount| display_amount("cpu", amount);
    let (nodes, population) = (state.nodes(), state.population());
    let by_node = nodes.indices().map(|ix| {
        let (idle, later) = (nodes.idle.get(CPU, ix), nodes.future_idle(CPU, ix));
        let name = &nodes.object(ix).name;
        format!("node {name}: {} free, then {}", cpu(idle), cpu(later))
    });
    let by_job = population.jobs().map(|(ix, job)| {
        let (ready, waiting) = (job.ready(), job.waiting());
        let key = population.job_key(ix);
        format!(
            "job {key}: {ready} ready, {waiting} pipelined, needs {}",
            job.min_available
        )
    });
    let names = ["default", "a", "b"];
    let known = names
        .iter()
        .filter_map(|name| population.queue_by_name(name));
    let by_queue = known.map(|ix| {
        let queue = state.queue(ix);
        format!(
            "queue {}: {} allocated, {} pending, {} reserved",
            queue.object.name,
            cpu(queue.allocated.get(CPU)),
            cpu(queue.pending.get(CPU)),
            cpu(queue.reserved.get(CPU)),
        )
    });
    let lines = by_node.chain(by_job).chain(by_queue);
    lines.map(|line| line + "\n").collect()
}

#[test]
fn nodes_queues_and_jobs_sum_the_pods_that_stand_somewhere() {
    check(
        "queue a
         node  n1 4c pods=9
         node  n2 2c pods=9
         group g min:2 queue:a
         pod   p 1c group:g on:n1
         pod   q 2c group:g bound:n2
         pod   w 500m group:g",
        &expect![[r#"
            node n1: 3 free, then 3
            node n2: 0 free, then 0
            job ns/g: 2 ready, 0 pipelined, needs 2
            queue default: 0 allocated, 0 pending, 0 reserved
            queue a: 3 allocated, 500m pending, 0 reserved
        "#]],
    );
}

#[test]
fn what_names_no_queue_is_in_the_default_one_and_what_no_group_is_a_job_alone() {
    check(
        "node  n1 4c pods=9
         group g
         pod   p 1c group:g on:n1
         pod   alone 1c on:n1",
        &expect![[r#"
            node n1: 2 free, then 2
            job ns/g: 1 ready, 0 pipelined, needs 1
            job ns/alone: 1 ready, 0 pipelined, needs 1
            queue default: 2 allocated, 0 pending, 0 reserved
        "#]],
    );
}

#[test]
fn a_pod_on_a_node_that_nobody_knows_counts_for_its_job_and_queue() {
    check(
        "node  n1 4c pods=9
         group g
         pod   p 1c group:g on:elsewhere",
        &expect![[r#"
            node n1: 4 free, then 4
            job ns/g: 1 ready, 0 pipelined, needs 1
            queue default: 1 allocated, 0 pending, 0 reserved
        "#]],
    );
}

#[test]
fn an_admitted_group_reserves_what_it_needs_until_its_pods_have_it() {
    check(
        "queue a
         queue b
         node  n1 4c pods=9
         group g queue:a needs:3c
         pod   p 1c group:g on:n1
         group h queue:b needs:2c waiting",
        &expect![[r#"
            node n1: 3 free, then 3
            job ns/g: 1 ready, 0 pipelined, needs 1
            job ns/h: 0 ready, 0 pipelined, needs 1
            queue default: 0 allocated, 0 pending, 0 reserved
            queue a: 1 allocated, 0 pending, 2 reserved
            queue b: 0 allocated, 0 pending, 0 reserved
        "#]],
    );
}

#[test]
fn a_node_that_is_over_full_has_less_than_nothing() {
    check(
        "node  n1 1c pods=9
         group g
         pod   p*3 1c group:g on:n1",
        &expect![[r#"
            node n1: -2 free, then -2
            job ns/g: 3 ready, 0 pipelined, needs 1
            queue default: 3 allocated, 0 pending, 0 reserved
        "#]],
    );
}
