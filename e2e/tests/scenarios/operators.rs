//! Jobs of other operators on one API server: a gang that finds its places or waits, members that are added and taken
//! away, one that fails, and one that is evicted.
//!
//! ```text
//!  config/samples/OPERATOR ──► StandIn ──► PodGroup and pods, made, changed and made anew as the operator does
//!  OPERATORS, how each acts ──┘    ▲
//!                                  └── behaviours: what is asked of the job, and what has to become of it
//! ```
//!
//! All operators work at once in one cluster, each in a namespace, a queue and a pool of nodes of its own. Every pod
//! asks for one CPU and every node of a pool has one, so that a pool's nodes are places that can be counted.

mod behaviours;
mod places;
mod stand_in;

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use pumice_e2e::{Controllers, Lab, Rest, Scheduler, Setup, each_at_once, scratch};
use serde_json::json;

use self::behaviours::{five_behaviours, runs_without_podgroups};
use self::places::NodePool;
use self::stand_in::{Knows, StandIn};

/// Who makes the pods of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    /// The operator, without help.
    Alone,
    /// Kubernetes, of a batch Job whose parallelism can be changed.
    PlainJob,
    /// Kubernetes, of an Indexed batch Job whose completions follow its parallelism.
    IndexedJob,
}

/// When pods are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Starts {
    /// All at once.
    AtOnce,
    /// All at once, when the PodGroup is admitted.
    WhenAdmitted,
    /// The leader by itself, the others when it runs.
    LeaderFirst,
}

/// What keeps a job out until there is room for all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeldBy {
    /// The PodGroup's minMember.
    MinMember,
    /// The PodGroup's minResources, at the capability of the queue.
    MinResources,
    /// Nothing: every pod counts for itself.
    Nothing,
}

/// What becomes of a job that is to be larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grows {
    /// One more pod; what the PodGroup asks for follows.
    Followed,
    /// One more pod, beyond what the PodGroup asks for.
    Beyond,
    /// One more group of pods with a PodGroup of its own.
    ByGroup,
    /// All of it is made anew: the PodGroup changes while no pod is there.
    Anew,
}

/// What a pod is called that takes the place of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NewNames {
    /// As the other was.
    Kept,
    /// As none was before.
    New,
}

/// How a member ends that another takes the place of, and what goes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    /// It fails, and is deleted.
    Failed,
    /// It fails, and stays beside the new one.
    FailedAndKept,
    /// It is evicted, as for the drain of a node.
    Evicted,
    /// It is evicted, and its group or role goes with it.
    WithAll,
}

/// An operator: its sample, and how it acts.
struct Operator {
    /// Folder of the sample.
    sample: &'static str,
    /// Beginning of the names of one job's pods in the sample.
    job: &'static str,
    /// A part of the name of the pod of which there is always one.
    leader: Option<&'static str>,
    made: Made,
    starts: Starts,
    holds: HeldBy,
    grows: Grows,
    names: NewNames,
    ends: Ends,
}

/// One whose pods are all alike and a gang by minMember.
const PLAIN: Operator = Operator {
    sample: "",
    job: "",
    leader: None,
    made: Made::Alone,
    starts: Starts::AtOnce,
    holds: HeldBy::MinMember,
    grows: Grows::Followed,
    names: NewNames::New,
    ends: Ends::Failed,
};

/// Every operator that `docs/guide/operators.md` names as tried, in the order of its table.
const OPERATORS: [Operator; 12] = [
    Operator {
        sample: "batch-job",
        job: "render-",
        made: Made::PlainJob,
        grows: Grows::Beyond,
        ends: Ends::Evicted,
        ..PLAIN
    },
    Operator {
        sample: "jobset",
        job: "fit-workers-0-",
        made: Made::IndexedJob,
        grows: Grows::Beyond,
        ends: Ends::Evicted,
        ..PLAIN
    },
    Operator {
        sample: "leaderworkerset",
        job: "vllm-0",
        grows: Grows::ByGroup,
        names: NewNames::Kept,
        ends: Ends::WithAll,
        ..PLAIN
    },
    Operator {
        sample: "kuberay",
        job: "shared-",
        leader: Some("-head"),
        ..PLAIN
    },
    Operator {
        sample: "spark-operator",
        job: "scores-",
        leader: Some("-driver"),
        starts: Starts::LeaderFirst,
        holds: HeldBy::MinResources,
        grows: Grows::Beyond,
        ..PLAIN
    },
    Operator {
        sample: "spark-submit",
        job: "clicks-",
        leader: Some("-driver"),
        starts: Starts::LeaderFirst,
        holds: HeldBy::MinResources,
        grows: Grows::Beyond,
        ..PLAIN
    },
    Operator {
        sample: "kubeflow-training-operator",
        job: "digits-",
        leader: Some("-master-"),
        starts: Starts::WhenAdmitted,
        names: NewNames::Kept,
        ..PLAIN
    },
    Operator {
        sample: "kubeflow-trainer",
        job: "bert-node-0-",
        made: Made::IndexedJob,
        grows: Grows::Anew,
        ends: Ends::Evicted,
        ..PLAIN
    },
    Operator {
        sample: "mpi-operator",
        job: "pi-",
        leader: Some("-launcher-"),
        names: NewNames::Kept,
        ends: Ends::Evicted,
        ..PLAIN
    },
    Operator {
        sample: "argo-workflows",
        job: "etl-",
        holds: HeldBy::Nothing,
        grows: Grows::Beyond,
        ends: Ends::FailedAndKept,
        ..PLAIN
    },
    Operator {
        sample: "flink",
        job: "wordcount-",
        leader: Some("-6d4f9c7b58-"),
        starts: Starts::LeaderFirst,
        holds: HeldBy::Nothing,
        grows: Grows::Beyond,
        ..PLAIN
    },
    Operator {
        sample: "kthena",
        job: "chat-0",
        grows: Grows::ByGroup,
        names: NewNames::Kept,
        ends: Ends::WithAll,
        ..PLAIN
    },
];

/// Preempt within a queue; gangs give up all they have.
const CONF: &str = r#"actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: predicates
  - name: proportion
  - name: nodeorder
"#;

/// The class of what others are evicted for.
const URGENT: &str = "urgent";

/// Makes something of every operator, all at once in one cluster.
fn for_all(attempt: impl Fn(StandIn, NodePool) -> Result<()> + Sync, knows: Knows) -> Result<()> {
    let lab = Lab::take()?;
    let class = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": URGENT}, "value": 100,
    });
    let classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
    lab.rest().create(classes, &class)?;
    NodePool::spare(lab.rest())?;
    let conf = scratch("operators")?.join("volcano-scheduler.conf");
    std::fs::write(&conf, CONF)?;
    // By its lease the scheduler knows that there is somebody who makes PodGroups.
    let leads = Setup {
        elects: true,
        ..Setup::default()
    };
    let controllers = Controllers::start(lab.cluster(), &leads)?;
    let setup = Setup {
        conf: Some(conf),
        ..Setup::default()
    };
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    let by_name: BTreeMap<&str, &Operator> =
        OPERATORS.iter().map(|one| (one.sample, one)).collect();
    let names: Vec<&str> = by_name.keys().copied().collect();
    for name in &names {
        lab.cluster().create_namespace(name)?;
    }
    let rest: &Rest = lab.rest();
    let tried = each_at_once(&names, names.len(), |name| {
        let operator = by_name.get(name).context("an operator")?;
        let pool = NodePool::new(rest.clone(), operator.sample);
        attempt(StandIn::new(rest.clone(), operator, knows)?, pool)
    });
    tried
        .map(|_| ())
        .map_err(|error| scheduler.explain(controllers.explain(error)))
}

#[test]
fn jobs_of_twelve_operators_are_gangs_grow_shrink_and_survive_failure_and_eviction() -> Result<()> {
    for_all(five_behaviours, Knows::Volcano)
}

#[test]
fn their_pods_are_placed_when_nothing_but_the_scheduler_name_is_changed() -> Result<()> {
    for_all(runs_without_podgroups, Knows::SchedulerName)
}
