//! Every step of a transaction has an exact inverse: whatever was placed, left waiting or evicted since
//! a checkpoint, after the undo the books are what they were.

use proptest::prelude::*;
use pumice_fixtures::{BuildPod as _, Cluster, node, pod};
use pumice_framework::{Choice, Plugins, Session, Unobserved};
use pumice_model::{JobIx, NodeIx, State, TaskIx, TaskStatus};

const NODES: u32 = 3;
const PODS: u32 = 8;

/// Three nodes; half of the pods run on them, the others wait.
fn cluster() -> State {
    let nodes = (0..NODES).map(|at| node(&format!("n{at}"), "64c 64Gi pods=1"));
    let pods = (0..PODS).map(|at| {
        let pod = pod(&format!("p{at}"), &format!("cpu={} 1Mi", 1000 + at));
        match at % 2 == 0 {
            true => pod.on(&format!("n{}", at % NODES)),
            false => pod,
        }
    });
    Cluster::default().all(nodes).all(pods).state()
}

/// Everything the steps change.
fn books(state: &State) -> Vec<String> {
    let nodes = state.nodes();
    let of_node = |node: NodeIx| {
        let columns = [&nodes.idle, &nodes.used, &nodes.releasing, &nodes.pipelined];
        let rows = columns.map(|column| {
            let row = column.row(node);
            let real: Vec<_> = row.iter().filter(|(_, amount)| *amount != 0).collect();
            real
        });
        let mut there = nodes.tasks(node).to_vec();
        there.sort_unstable();
        format!("{rows:?} {there:?} {:?}", nodes.pod_count[node.at()])
    };
    let mut books: Vec<String> = nodes.indices().map(of_node).collect();
    for (_, task) in state.population().tasks() {
        books.push(format!("{:?} {:?} {:?}", task.uid, task.status, task.node));
    }
    for (_, job) in state.population().jobs() {
        let real = |amounts: &pumice_model::ResVec| -> Vec<_> {
            amounts.iter().filter(|(_, amount)| *amount != 0).collect()
        };
        let sums = (real(&job.allocated), real(&job.pipelined), real(&job.total));
        let counts = (&job.by_status, job.releasing_on_node);
        books.push(format!("{sums:?} {counts:?}"));
    }
    books
}

/// A step, if the task can take it.
fn step(session: &mut Session, (kind, task, node): (u8, u32, u32)) {
    let (task, node) = (TaskIx(task), NodeIx(node));
    let status = session.state.task(task).status;
    let choice = Choice {
        node,
        idle: kind == 0,
        takes: session.state.choose_placement(task, node, kind == 1),
    };
    match (kind, status) {
        (0, TaskStatus::Pending) => session.allocate(task, choice),
        (1, TaskStatus::Pending) => session.pipeline(task, choice),
        (2, TaskStatus::Running) => session.evict(task, "preempt", JobIx(0)),
        _ => {}
    }
}

proptest! {
    #[test]
    fn undo_is_the_exact_inverse_of_every_step(
        first in prop::collection::vec((0u8..3, 0..PODS, 0..NODES), 0..10),
        second in prop::collection::vec((0u8..3, 0..PODS, 0..NODES), 0..20),
    ) {
        let mut state = cluster();
        let empty = books(&state);
        let mut plugins = Plugins::default();
        let mut session = Session::open(&mut state, &mut plugins, false, 0, &mut Unobserved);
        let start = session.checkpoint();
        first.into_iter().for_each(|what| step(&mut session, what));
        let (middle, before) = (session.checkpoint(), books(session.state));
        second.into_iter().for_each(|what| step(&mut session, what));
        session.undo_to(middle);
        prop_assert_eq!(books(session.state), before);
        session.undo_to(start);
        prop_assert_eq!(books(session.state), empty);
        prop_assert!(session.plan.is_empty());
    }
}

#[test]
fn a_commit_makes_one_plan_of_binds_evictions_and_nominations() {
    let mut state = cluster();
    let mut plugins = Plugins::default();
    let mut session = Session::open(&mut state, &mut plugins, false, 0, &mut Unobserved);
    let start = session.checkpoint();
    step(&mut session, (2, 0, 0));
    step(&mut session, (1, 1, 0));
    step(&mut session, (0, 3, 1));
    session.commit_evictions_from(start, true);
    let plan = &session.plan;
    let binds: Vec<_> = plan
        .binds
        .iter()
        .map(|bind| (bind.task, bind.node))
        .collect();
    assert_eq!(binds, [(TaskIx(3), NodeIx(1))]);
    let evicted: Vec<_> = plan.evictions.iter().map(|e| (e.task, e.from)).collect();
    assert_eq!(evicted, [(TaskIx(0), TaskStatus::Running)]);
    assert_eq!(plan.nominations, [(TaskIx(1), NodeIx(0))]);
    let victim = session.state.task(TaskIx(0));
    assert_eq!(
        (victim.status, victim.node),
        (TaskStatus::Releasing, Some(NodeIx(0)))
    );
}

#[test]
fn of_a_job_that_is_not_ready_nobody_is_bound_and_all_are_nominated() {
    let mut state = cluster();
    let mut plugins = Plugins::default();
    let mut session = Session::open(&mut state, &mut plugins, false, 0, &mut Unobserved);
    let start = session.checkpoint();
    step(&mut session, (2, 0, 0));
    step(&mut session, (1, 1, 0));
    step(&mut session, (0, 3, 1));
    session.commit_evictions_from(start, false);
    assert!(session.plan.binds.is_empty());
    let all = [(TaskIx(1), NodeIx(0)), (TaskIx(3), NodeIx(1))];
    assert_eq!(session.plan.nominations, all);
    assert_eq!(session.kept, [TaskIx(1), TaskIx(3)]);
}

#[test]
fn nobody_is_evicted_by_what_is_only_kept() {
    let mut state = cluster();
    let mut plugins = Plugins::default();
    let mut session = Session::open(&mut state, &mut plugins, false, 0, &mut Unobserved);
    let start = session.checkpoint();
    step(&mut session, (2, 0, 0));
    step(&mut session, (1, 1, 0));
    session.keep_from(start);
    assert_eq!(session.state.task(TaskIx(0)).status, TaskStatus::Running);
    assert_eq!(session.kept, [TaskIx(1)]);
    assert!(session.plan.is_empty());
}
