//! Why nobody is evicted for a pod that waits, and on whom one waits that was promised a place (spec/07).

use pumice_model::object::PreemptableMark;

use super::cluster::*;
use super::devices::{holding, two_cards, vgpu};
use super::victims::{
    CARDS, GANGS_PROTECTED, NO_WHOLE, PREEMPT, Plans, cluster, for_gangs, ranked, runs, small,
};
use super::views::pod_view;

const RECLAIM: &str = r#"
actions: "enqueue, allocate, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: predicates
  - name: proportion
"#;

/// What the condition of a pod says of evictions.
fn told(cluster: &Cluster, pod: &str) -> String {
    let (_, message) = cluster.why(pod);
    let (_, told) = message.split_once("o evictions: ").unwrap_or_default();
    let told = told.split(" Nearest miss").next().unwrap_or_default();
    told.trim_end_matches('.').to_owned()
}

fn newcomer(cluster: Cluster, class: &str, request: &str) -> Cluster {
    cluster
        .with(ranked(class, group("new", 1)))
        .with(pod("new", request).group("new"))
}

#[test]
fn who_protects_whom_is_counted_each_pod_once() {
    // A gang of two at its minimum, one of a job that is no less important, one that is marked.
    let mut all = cluster(GANGS_PROTECTED).with(small("n1"));
    all = all.with(ranked("low", group("gang", 2)));
    for at in 0..2 {
        all = all.with(pod(&format!("gang{at}"), "1c").group("gang").on("n1"));
    }
    all = runs(all, "high", "n1", "equal", "1c");
    let marked = pod("marked", "1c")
        .group("marked")
        .on("n1")
        .preemptable(PreemptableMark::No);
    let all = all.with(ranked("low", group("marked", 0))).with(marked);
    let mut all = newcomer(all, "high", "1c");
    assert_eq!(all.plan(), [""; 0]);
    assert_eq!(
        told(&all, "new"),
        "preempt: nobody may go: 2 needed by their gangs (`enablePreemptable: false` at plugin gang would let \
         them go), 1 of equal or higher priority, 1 marked not to be preempted"
    );
}

#[test]
fn pods_that_may_go_and_would_not_do_are_told_apart() {
    let all = cluster(PREEMPT).with(small("n1")).with(small("n2"));
    let all = runs(all, "low", "n1", "a", "1c");
    let all = runs(all, "mid", "n2", "b", "1c");
    let all = runs(all, "high", "n1", "c", "2c");
    let all = runs(all, "high", "n2", "d", "2c");
    let mut all = newcomer(all, "high", "4c");
    assert_eq!(all.plan(), [""; 0]);
    assert_eq!(
        told(&all, "new"),
        "preempt: 2 pods may go, but none of the 2 nodes they are on would do without them (the others: 2 of \
         equal or higher priority)"
    );
}

#[test]
fn nobody_there_and_a_policy_are_told() {
    let alone = cluster(PREEMPT).with(small("n1"));
    let other = queue("other");
    // The node is taken by a pod of another queue.
    let alone = alone.with(other);
    let mut foreign = group("foreign", 1);
    foreign.queue = "other".to_owned();
    let alone = alone
        .with(foreign)
        .with(pod("foreign", "4c").group("foreign").on("n1"));
    let mut waits = newcomer(alone, "high", "4c");
    assert_eq!(waits.plan(), [""; 0]);
    assert_eq!(
        told(&waits, "new"),
        "preempt: nobody else runs in queue \"default\""
    );
    let never = pod("new", "4c").group("new").preempts(Some(false));
    let all = runs(cluster(PREEMPT).with(small("n1")), "low", "n1", "old", "4c");
    let mut all = all.with(ranked("high", group("new", 1))).with(never);
    assert_eq!(all.plan(), [""; 0]);
    assert_eq!(
        told(&all, "new"),
        "preempt: the pod's preemption policy is Never"
    );
}

#[test]
fn the_part_of_a_gang_that_would_have_room_is_told_and_who_would_go_for_it() {
    let mut all = cluster(PREEMPT);
    for at in 0..2 {
        let name = format!("n{at}");
        all = all.with(small(&name));
        all = runs(all, "low", &name, &format!("old{at}"), "4c");
    }
    all = all.with(ranked("high", group("new", 3)));
    for at in 0..3 {
        all = all.with(pod(&format!("new{at}"), "4c").group("new"));
    }
    assert_eq!(all.plan(), [""; 0]);
    let (_, message) = all.why("new2");
    let expected = "No evictions: preempt: 2 pods may go, but none of the 2 nodes they are on would do without \
                    them; 2 pods more of the gang would have room, which is not enough.";
    assert!(message.contains(expected), "{message}");
    let view = pod_view(&all.engine, "new2");
    assert_eq!(view.would_go, ["ns/old0", "ns/old1"]);
    assert_eq!(view.waits_on, [""; 0]);
}

#[test]
fn a_nominee_names_the_pods_it_waits_for_until_they_are_gone() {
    let all = cluster(PREEMPT).with(small("n1"));
    let all = runs(all, "low", "n1", "a", "2c");
    let all = runs(all, "low", "n1", "b", "2c");
    let mut all = newcomer(all, "high", "4c");
    assert_eq!(all.plan(), ["-a", "-b", "new (n1)"]);
    for _ in 0..2 {
        let (reason, message) = all.why("new");
        assert_eq!(reason, "Unschedulable");
        assert_eq!(
            message,
            "waits on node n1 for 2 pods that are being evicted: ns/a, ns/b"
        );
        assert_eq!(pod_view(&all.engine, "new").waits_on, ["ns/a", "ns/b"]);
        all.decide();
    }
    all.gone("a");
    assert_eq!(all.plan(), [""; 0]);
    assert_eq!(
        all.why("new").1,
        "waits on node n1 for 1 pod that is being evicted: ns/b"
    );
}

#[test]
fn a_queue_that_may_not_reclaim_says_why_and_so_do_queues_that_keep_what_they_deserve() {
    let of = |queue: &str, name: &str, min| {
        let mut group = group(name, min);
        group.queue = queue.to_owned();
        group
    };
    // Each queue deserves two of four cpus, and has them.
    let mut all = {
        let mut all = Cluster::under(RECLAIM)
            .with(small("n1"))
            .with(queue("one"))
            .with(queue("two"));
        for name in ["one", "two"] {
            let old = format!("{name}-old");
            all = all.with(of(name, &old, 1));
            all = all.with(pod(&old, "2c").group(&old).on("n1"));
        }
        all.with(of("one", "new", 1))
            .with(pod("new", "2c").group("new"))
    };
    assert_eq!(all.plan(), [""; 0]);
    assert_eq!(
        told(&all, "new"),
        "reclaim: queue \"one\" may not reclaim: queue resource quota insufficient: insufficient cpu (deserved 2 \
         of 4, used 2, asked 2)"
    );
    // A stranger has what the queue could get.
    let stranger = pod("stranger", "2c").on("n1").ours(false).group(None);
    let mut all = Cluster::under(RECLAIM)
        .with(small("n1"))
        .with(queue("one"))
        .with(queue("two"))
        .with(stranger)
        .with(of("two", "old", 0))
        .with(pod("old", "2c").group("old").on("n1"))
        .with(of("one", "new", 1))
        .with(pod("new", "2c").group("new"));
    assert_eq!(all.plan(), [""; 0]);
    assert_eq!(
        told(&all, "new"),
        "reclaim: nobody may go: 1 of queues that hold no more than they deserve"
    );
}

#[test]
fn the_switch_that_lets_gangs_go_is_named_for_each_action() {
    let all = |conf: &str, of: &str| {
        let in_queue = |name: &str, min, queue: &str| group(name, min).queue(queue);
        let mut all = cluster(conf).with(small("n1")).with(queue("other"));
        all = all.with(ranked("low", in_queue("old", 1, of)));
        all = all.with(pod("old", "4c").group("old").on("n1"));
        all = all.with(ranked("high", in_queue("new", 1, "default")));
        let mut all = all.with(pod("new", "2c").group("new"));
        assert_eq!(all.plan(), [""; 0]);
        told(&all, "new")
    };
    assert_eq!(
        all(GANGS_PROTECTED, "default"),
        "preempt: nobody may go: 1 needed by their gangs (`enablePreemptable: false` at plugin gang would let \
         them go)"
    );
    assert_eq!(
        all(RECLAIM, "other"),
        "reclaim: nobody may go: 1 needed by their gangs (`enableReclaimable: false` at plugin gang would let \
         them go)"
    );
    // And it does.
    let open = RECLAIM.replace(
        "name: gang",
        "name: gang\n    enablePreemptable: true\n    enableReclaimable: false",
    );
    let mut all = cluster(&open).with(small("n1")).with(queue("other"));
    all = all.with(group("old", 1).queue("other"));
    all = all.with(pod("old", "4c").group("old").on("n1"));
    let mut all = newcomer(all, "high", "2c");
    assert_eq!(all.plan(), ["-old", "new (n1)"]);
}

#[test]
fn pods_of_other_schedulers_that_hold_what_is_lacking_are_named_and_stay() {
    let stranger = |name: &str, node: &str| pod(name, "3c").on(node).ours(false).group(None);
    let all = cluster(PREEMPT)
        .with(small("n1"))
        .with(node("tiny", "1c 1Gi pods=9"))
        .with(stranger("s1", "n1"));
    let mut one = newcomer(all, "high", "4c");
    assert_eq!(one.plan(), [""; 0]);
    assert_eq!(
        told(&one, "new"),
        "preempt: nobody else runs in queue \"default\"; pods of other schedulers stay: ns/s1 holds 3 cpu on node \
         n1"
    );
    // The first ones are named; on a node with pods of ours these are what is told of.
    let mut all = cluster(PREEMPT);
    for at in 1..=5 {
        let name = format!("n{at}");
        all = all
            .with(small(&name))
            .with(stranger(&format!("s{at}"), &name));
    }
    let all = runs(all, "high", "n1", "equal", "1c");
    let mut all = newcomer(all, "high", "4c");
    assert_eq!(all.plan(), [""; 0]);
    assert_eq!(
        told(&all, "new"),
        "preempt: nobody may go: 1 of equal or higher priority; pods of other schedulers stay: ns/s2 holds 3 cpu on \
         node n2, ns/s3 holds 3 cpu on node n3, ns/s4 holds 3 cpu on node n4, 1 pod more"
    );
}

#[test]
fn a_job_that_has_its_minimum_is_told_that_nobody_goes_for_more() {
    for (conf, min) in [(PREEMPT, 0), (PREEMPT, 1), (RECLAIM, 0), (RECLAIM, 1)] {
        let mut all = cluster(conf).with(small("n1")).with(queue("other"));
        all = all.with(group("old", 0).queue("other"));
        all = all.with(pod("old", "3c").group("old").on("n1"));
        all = all.with(ranked("high", group("new", min)));
        all = all.with(pod("new0", "1c").group("new").on("n1"));
        let mut all = all.with(pod("new1", "1c").group("new"));
        assert_eq!(all.plan(), [""; 0]);
        assert_eq!(told(&all, "new1"), "its job has its minAvailable already");
    }
    // Without an action that evicts there is nothing to say of evictions.
    let all = Cluster::under(NO_QUEUE_PLUGIN).with(small("n1"));
    let all = all.with(group("new", 0));
    let mut all = all.with(pod("new", "5c").group("new"));
    assert_eq!(all.plan(), [""; 0]);
    assert_eq!(told(&all, "new"), "");
}

#[test]
fn a_pod_without_requests_is_told_that_reclaim_has_nothing_for_it() {
    let old = group("old", 0).queue("other");
    let all = cluster(RECLAIM)
        .with(node("n1", "4c 8Gi pods=1"))
        .with(queue("other"))
        .with(old)
        .with(pod("old", "1c").group("old").on("n1"));
    let mut all = newcomer(all, "high", "");
    assert_eq!(all.plan(), [""; 0]);
    assert_eq!(
        told(&all, "new"),
        "reclaim: queue \"default\" may not reclaim: the pod requests nothing that queues deserve"
    );
    let (_, message) = all.why("new");
    assert!(
        message.starts_with("0/1 nodes are unavailable: "),
        "{message}"
    );
}

#[test]
fn numbers_that_move_are_not_written_at_once_and_a_new_kind_of_reason_is() {
    let all = cluster(PREEMPT).with(small("n1")).with(small("n2"));
    let all = runs(all, "high", "n1", "equal1", "2c");
    let mut all = newcomer(all, "high", "4c");
    all = runs(all, "high", "n2", "equal2", "1c");
    let mut all = all.with(ranked("high", group("more", 0)));
    let mut writes = |uid: &str, mark| {
        let another = pod(uid, "1Gi").group("more").on("n1").preemptable(mark);
        all.apply(another);
        let decisions = all.decide();
        let state = all.engine.state();
        let jobs = decisions
            .groups
            .iter()
            .map(|job| state.population().job_key(*job));
        let is_told = jobs.into_iter().any(|job| job == "ns/new");
        (is_told, told(&all, "new"))
    };
    let unsaid = PreemptableMark::Unsaid;
    writes("first", unsaid);
    let (is_told, one) = writes("second", unsaid);
    assert!(!is_told, "{one}");
    let (is_told, other) = writes("third", unsaid);
    assert!(!is_told && one != other, "{one}: {other}");
    let (is_told, marked) = writes("marked", PreemptableMark::No);
    assert!(is_told, "{marked}");
}

#[test]
fn why_no_bundle_does_for_a_gang_is_told() {
    let all = |arguments: &str, min, class: &str| {
        let old = |at: usize, node| pod(&format!("old{at}"), "4c").group("old").on(node);
        let mut all = cluster(&for_gangs(arguments))
            .with(small("n1"))
            .with(small("n2"))
            .with(ranked(class, group("old", min)))
            .with(old(1, "n1"))
            .with(old(2, "n2"))
            .with(ranked("high", group("new", 3)));
        for at in 0..3 {
            all = all.with(pod(&format!("new{at}"), "4c").group("new"));
        }
        assert_eq!(all.plan(), [""; 0]);
        told(&all, "new0")
    };
    assert_eq!(
        all("", 2, "low"),
        "gangpreempt: 1 whole gang (2 pods) may go, but the gang has no room even without all of them; 2 pods \
         more of the gang would have room, which is not enough"
    );
    assert_eq!(
        all("", 1, "low"),
        "gangpreempt: 1 pod that its job can spare and 1 whole gang (2 pods) may go, but the gang has no room \
         even without all of them; 2 pods more of the gang would have room, which is not enough"
    );
    assert_eq!(
        all(NO_WHOLE, 2, "low"),
        "gangpreempt: nobody may go: 2 needed by their gangs; 1 whole gang (2 pods) might go, were \
         allowWholeBundle of the action on"
    );
    assert_eq!(
        all("", 2, "high"),
        "gangpreempt: nobody may go: 2 of equal or higher priority"
    );
}

#[test]
fn a_gang_whose_policy_is_never_is_told() {
    let never = pod("new", "4c").group("new").preempts(Some(false));
    let all = cluster(&for_gangs("")).with(small("n1"));
    let all = runs(all, "low", "n1", "old", "4c");
    let mut all = all.with(ranked("high", group("new", 1))).with(never);
    assert_eq!(all.plan(), [""; 0]);
    assert_eq!(
        told(&all, "new"),
        "gangpreempt: the pod's preemption policy is Never"
    );
}

#[test]
fn who_is_on_which_card_and_why_that_does_not_do_is_told() {
    let kept = |name: &str| {
        vgpu(name, 10_000)
            .group(name)
            .preemptable(PreemptableMark::No)
    };
    let all = cluster(CARDS)
        .with(two_cards("n1"))
        .with(ranked("low", group("a", 0)))
        .with(holding("GPU-aa,NVIDIA,12000,0:", vgpu("a", 12_000).group("a")).on("n1"))
        .with(ranked("low", group("b", 0)))
        .with(holding("GPU-aa,NVIDIA,10000,0:", kept("b")).on("n1"))
        .with(ranked("high", group("c", 0)))
        .with(holding("GPU-bb,NVIDIA,20000,0:", vgpu("c", 20_000).group("c")).on("n1"));
    let mut served = all
        .with(ranked("high", group("new", 1)))
        .with(vgpu("new", 14_000).group("new"));
    assert_eq!(served.plan(), ["-a", "new (n1)"]);
    let (_, message) = served.why("new");
    assert!(
        message.contains("being evicted: ns/a (card 0 (GPU-aa))"),
        "{message}"
    );
    let view = pod_view(&served.engine, "new");
    let frees: Vec<String> = view.frees.iter().map(ToString::to_string).collect();
    assert_eq!(
        frees,
        ["evicting ns/a on node n1 frees card 0 (GPU-aa): memory 12000"]
    );
    // Too large for either card, whoever goes.
    let mut served = served
        .with(ranked("high", group("whole", 1)))
        .with(vgpu("whole", 24_576).group("whole"));
    served.gone("a");
    served.plan();
    assert_eq!(served.plan(), [""; 0]);
    let told = told(&served, "whole");
    for part in [
        "; on node n1: ns/b on card 0 stays (marked not to be preempted); ns/new on card 0, ns/c on card 1 stay (of \
         equal or higher priority)",
        "; what is missing then: ",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}
