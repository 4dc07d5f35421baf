//! The commonest mistakes: labels no node has, taints, cordons, claims that do not exist, requests that no
//! node can serve. Each is named with the nearest that exists, and what is advised is tried: done, it helps.

use pumice_model::object::{
    ClaimObject, NodeObject, NodeOp, NodeRequirement, NodeTerm, PodClaim, Taint, TaintEffect,
    Toleration, TolerationOp,
};
use pumice_model::{Delta, TaskStatus};

use super::cluster::*;
use super::views::pod_view;

fn labelled(name: &str, allocatable: &str, labels: &[(&str, &str)]) -> NodeObject {
    node(name, allocatable).labels(labels)
}

fn taint(key: &str, value: &str) -> Taint {
    Taint {
        key: key.to_owned(),
        value: value.to_owned(),
        effect: TaintEffect::NoSchedule,
    }
}

/// The reason of the pod, and what would have to change.
fn told(cluster: &mut Cluster) -> (String, Vec<String>) {
    cluster.cycle();
    let view = pod_view(&cluster.engine, "p");
    (view.message.expect("it waits"), view.changes)
}

fn is_placed(cluster: &mut Cluster) -> bool {
    cluster.cycle();
    let task = cluster
        .engine
        .state()
        .population()
        .task_by_uid("p")
        .expect("a pod");
    cluster.engine.state().task(task).status != TaskStatus::Pending
}

#[test]
fn a_label_no_node_has_is_named_with_the_nearest_that_some_node_has() {
    let affinity = |key: &str, op| NodeTerm {
        expressions: vec![NodeRequirement {
            key: key.to_owned(),
            op,
        }],
        ..NodeTerm::default()
    };
    let with_affinity = |term| pod("p", "1c").node_affinity(Some(vec![term]));
    let any_of = |values: &[&str]| NodeOp::In(values.iter().map(|v| (*v).to_owned()).collect());
    let cases = [
        (
            pod("p", "1c").node_selector(&[("gpu-typ", "a100")]),
            "No node has label gpu-typ=a100, did you mean \"gpu-type\"?",
            "the pod has to ask for gpu-type instead of gpu-typ, or a node to get label gpu-typ=a100",
        ),
        (
            pod("p", "1c").node_selector(&[("gpu-type", "a1O0")]),
            "No node has label gpu-type=a1O0, did you mean \"gpu-type=a100\"?",
            "the pod has to ask for gpu-type=a100 instead of gpu-type=a1O0, or a node to get label \
             gpu-type=a1O0",
        ),
        (
            pod("p", "1c").node_selector(&[("gpu-type", "unheard-of")]),
            "No node has label gpu-type=unheard-of (there is gpu-type=a100, gpu-type=v100).",
            "a node has to get label gpu-type=unheard-of, or the pod to ask for what some node has",
        ),
        (
            pod("p", "1c").node_selector(&[("gpu-type", "a100"), ("zone", "west")]),
            "No node has label gpu-type=a100 and label zone=west.",
            "a node has to get label gpu-type=a100 and label zone=west, or the pod to ask for what some \
             node has",
        ),
        (
            with_affinity(affinity("zone", any_of(&["wst", "south"]))),
            "No node has label zone in (wst, south), did you mean \"zone=west\"?",
            "the pod has to ask for zone=west instead of zone=wst, or a node to get label zone in (wst, \
             south)",
        ),
        (
            with_affinity(affinity("gpu-memory", NodeOp::Gt(4))),
            "No node has label gpu-memory above 4.",
            "a node has to get label gpu-memory above 4, or the pod to ask for what some node has",
        ),
    ];
    for (pod, reason, change) in cases {
        let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
            .with(labelled(
                "n1",
                "4c 8Gi pods=9",
                &[("gpu-type", "a100"), ("zone", "east")],
            ))
            .with(labelled(
                "n2",
                "4c 8Gi pods=9",
                &[("gpu-type", "v100"), ("zone", "west")],
            ))
            .with(pod);
        let (message, changes) = told(&mut cluster);
        let expected = format!(
            "0/2 nodes are unavailable: 2 node(s) didn't match Pod's node affinity/selector. {reason}"
        );
        assert_eq!(message, expected);
        assert_eq!(changes, [change], "{reason}");
    }
}

#[test]
fn of_what_a_pod_asks_of_labels_the_first_is_named() {
    let many: Vec<String> = (0..1000).map(|at| format!("v{at:03}")).collect();
    let values = pod("p", "1c").node_affinity(Some(vec![NodeTerm {
        expressions: vec![NodeRequirement {
            key: "zone".to_owned(),
            op: NodeOp::In(many),
        }],
        ..NodeTerm::default()
    }]));
    // Each is on some node, and no node has all.
    let keys: Vec<String> = (0..9).map(|at| format!("k{at}")).collect();
    let asked: Vec<(&str, &str)> = keys.iter().map(|key| (key.as_str(), "yes")).collect();
    let labels = pod("p", "1c").node_selector(&*asked);
    for (pod, told_at_last) in [
        (
            values,
            "No node has label zone in (v000, v001, v002, v003, v004, v005, v006, v007, 992 more) (there is \
             zone=east).",
        ),
        (
            labels,
            "No node has label k0=yes and label k1=yes and label k2=yes and label k3=yes and label k4=yes and \
             label k5=yes and label k6=yes and label k7=yes and 1 more.",
        ),
    ] {
        let (first, rest) = asked.split_at(4);
        let first: Vec<(&str, &str)> = first.iter().copied().chain([("zone", "east")]).collect();
        let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
            .with(labelled("n1", "4c 8Gi pods=9", &first))
            .with(labelled("n2", "4c 8Gi pods=9", rest))
            .with(pod);
        let (message, _) = told(&mut cluster);
        assert!(message.ends_with(told_at_last), "{message}");
    }
}

#[test]
fn a_cordon_and_a_taint_are_named_with_their_nodes_and_removed_they_are_gone() {
    let cordoned = node("n1", "4c 8Gi pods=9")
        .unschedulable(true)
        .taints([taint("node.kubernetes.io/unschedulable", "")]);
    let tainted = |name: &str| node(name, "4c 8Gi pods=9").taints([taint("dedicated", "ml")]);
    // It would not do without its taint either.
    let small = node("n4", "1c 8Gi pods=9").taints([taint("small", "")]);
    let lost = node("n5", "4c 8Gi pods=9").taints([taint("node.kubernetes.io/not-ready", "")]);
    let cluster = || {
        Cluster::under(NO_QUEUE_PLUGIN)
            .with(cordoned.clone())
            .with(tainted("n2"))
            .with(tainted("n3"))
            .with(small.clone())
            .with(lost.clone())
            .with(pod("p", "2c"))
    };
    let (message, changes) = told(&mut cluster());
    let reasons = "Node n1 is cordoned. Nodes n2, n3 have taint dedicated=ml:NoSchedule, which the pod does not \
                   tolerate. Node n5 has taint node.kubernetes.io/not-ready:NoSchedule, which the pod does \
                   not tolerate.";
    assert!(message.ends_with(reasons), "{message}");
    assert_eq!(
        changes,
        [
            "node n1 has to be uncordoned (kubectl uncordon n1)",
            "the pod has to tolerate taint dedicated=ml:NoSchedule, or it be taken from nodes n2, n3",
            "node n5 has to be well again: Kubernetes takes taint node.kubernetes.io/not-ready:NoSchedule back \
             by itself then",
        ]
    );
    let uncordoned = node("n1", "4c 8Gi pods=9");
    let untainted = node("n3", "4c 8Gi pods=9");
    for mended in [uncordoned, untainted] {
        let mut cluster = cluster();
        cluster.apply(mended);
        assert!(is_placed(&mut cluster));
    }
    let tolerant = pod("p", "2c").tolerations([Toleration {
        key: "dedicated".to_owned(),
        operator: TolerationOp::Equal,
        value: "ml".to_owned(),
        effect: Some(TaintEffect::NoSchedule),
    }]);
    assert!(is_placed(&mut cluster().with(tolerant)));
}

#[test]
fn what_is_asked_too_much_is_told_of_the_nodes_the_pod_may_use() {
    let cluster = |request: &str| {
        Cluster::under(NO_QUEUE_PLUGIN)
            .with(labelled("n8", "8c 8Gi pods=9", &[("pool", "a")]))
            .with(node("n16", "16c 8Gi pods=9"))
            .with(pod("busy", "1c").on("n8"))
            .with(pod("p", request).node_selector(&[("pool", "a")]))
    };
    let (message, changes) = told(&mut cluster("9c"));
    assert!(
        message.ends_with("Nearest miss: node n8: cpu short by 1 (9 asked, 8 in all)."),
        "{message}"
    );
    assert_eq!(
        changes,
        [
            "the pod has to ask less, or a larger node that it may use to come: it asks 9 cpu, and the largest \
             node that it may use, n8, has 8 in all",
            "the pod's node selector or affinity has to allow node n16, which could serve it",
        ]
    );
    let mut labelled = cluster("9c").with(labelled("n16", "16c 8Gi pods=9", &[("pool", "a")]));
    assert!(is_placed(&mut labelled));
    let (_, changes) = told(&mut cluster("8c"));
    assert_eq!(
        changes,
        ["1 cpu more would have to be free on node n8, which comes nearest"]
    );
    let mut freed = cluster("8c");
    freed.apply(Delta::PodDelete("busy".to_owned()));
    assert!(is_placed(&mut freed));
}

#[test]
fn a_busy_node_and_one_with_room_behind_a_taint_are_both_told() {
    let tainted = node("idle", "4c 8Gi pods=9").taints([taint("dedicated", "")]);
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("busy", "4c 8Gi pods=9"))
        .with(tainted)
        .with(pod("runs", "4c").on("busy"))
        .with(pod("p", "2c"));
    let (message, changes) = told(&mut cluster);
    assert!(message.contains("Nearest miss: node busy"), "{message}");
    assert_eq!(
        changes,
        [
            "2 cpu more would have to be free on node busy, which comes nearest",
            "the pod has to tolerate taint dedicated:NoSchedule, or it be taken from node idle",
        ]
    );
}

#[test]
fn a_claim_that_does_not_exist_is_named_with_the_nearest_that_does() {
    let mounting = pod("p", "1c").claims([PodClaim {
        name: "dta".to_owned(),
        ephemeral: false,
    }]);
    let exists = ClaimObject {
        namespace: "ns".to_owned(),
        name: "data".to_owned(),
        ..ClaimObject::default()
    };
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("n1", "4c 8Gi pods=9"))
        .with(mounting);
    cluster.apply(exists);
    let (message, changes) = told(&mut cluster);
    assert!(
        message.contains("persistentvolumeclaim \"dta\" not found"),
        "{message}"
    );
    assert_eq!(
        changes,
        [
            "PersistentVolumeClaim dta has to be created in namespace ns, or another one be named, did you \
          mean data?"
        ]
    );
}
