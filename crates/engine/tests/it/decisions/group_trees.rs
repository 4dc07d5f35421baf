//! Trees of PodGroups of Kubernetes itself (spec/03 §B11).

use pumice_model::object::{
    COMPOSITE_GROUP, CompositePolicy, GroupObject, GroupStatus, HighestTier, NATIVE_GROUP,
    NativeTraits, NodeObject, PodPhase, TopologyRequest,
};
use pumice_model::{Delta, TaskIx};

use super::cluster::*;

/// A CompositePodGroup that needs so many of its groups at once; 0: policy basic.
pub(super) fn composite(name: &str, needs: i32, parent: &str) -> GroupObject {
    let policy = match needs {
        0 => CompositePolicy::Basic,
        needs => CompositePolicy::Gang(needs),
    };
    GroupObject {
        is_native: true,
        native: NativeTraits {
            parent: parent.to_owned(),
            composite: Some(policy),
            ..NativeTraits::default()
        },
        ..group(&format!("{COMPOSITE_GROUP}{name}"), 1)
    }
}

pub(super) fn within(name: &str, min_count: i32, parent: &str) -> GroupObject {
    GroupObject {
        is_native: true,
        native: NativeTraits {
            parent: parent.to_owned(),
            ..NativeTraits::default()
        },
        ..group(&format!("{NATIVE_GROUP}{name}"), min_count)
    }
}

/// So many pods `<group>-<number>` of a core each.
fn pods(cluster: Cluster, group: &str, count: usize) -> Cluster {
    (0..count).fold(cluster, |cluster, at| {
        let pod = pod(&format!("{group}-{at}"), "1c");
        cluster.with(pod.group(format!("{NATIVE_GROUP}{group}")))
    })
}

fn one_node(cores: u32) -> Cluster {
    Cluster::new().with(cores_node("n", cores))
}

pub(super) fn cores_node(name: &str, cores: u32) -> NodeObject {
    node(name, &format!("{cores}c 99Gi pods=99"))
}

/// Names of pods that a cycle binds.
fn bound(cluster: &mut Cluster) -> Vec<String> {
    let bound = cluster.cycle();
    let names = bound.iter().filter_map(|bind| bind.split(' ').next());
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort();
    names
}

fn says(cluster: &Cluster, pod: &str, parts: &[&str]) {
    let (_, text) = cluster.why(pod);
    for part in parts {
        assert!(text.contains(part), "{pod}: {text}");
    }
}

#[test]
fn a_gang_of_gangs_is_bound_with_as_many_whole_groups_as_it_needs_or_not_at_all() {
    let cluster = one_node(3)
        .with(composite("all", 2, ""))
        .with(within("a", 2, "all"))
        .with(within("b", 2, "all"));
    let mut cluster = pods(pods(cluster, "a", 2), "b", 2);
    assert_eq!(bound(&mut cluster), [""; 0], "room for one group");
    cluster.apply(cores_node("n", 4));
    assert_eq!(bound(&mut cluster), ["a-0", "a-1", "b-0", "b-1"]);
}

#[test]
fn more_groups_than_are_needed_come_each_as_a_whole() {
    let cluster = one_node(5)
        .with(composite("all", 1, ""))
        .with(within("a", 2, "all"))
        .with(within("b", 2, "all"))
        .with(within("c", 2, "all"));
    let mut cluster = pods(pods(pods(cluster, "a", 2), "b", 2), "c", 2);
    assert_eq!(bound(&mut cluster), ["a-0", "a-1", "b-0", "b-1"]);
    assert_eq!(bound(&mut cluster), [""; 0], "one of c has room");
    cluster.apply(cores_node("n", 6));
    assert_eq!(bound(&mut cluster), ["c-0", "c-1"]);
}

#[test]
fn small_groups_go_first_and_what_leaves_no_room_for_the_others_is_left_out() {
    let cluster = one_node(4)
        .with(composite("all", 2, ""))
        .with(within("a", 3, "all"))
        .with(within("b", 2, "all"))
        .with(within("c", 2, "all"));
    let mut cluster = pods(pods(pods(cluster, "a", 3), "b", 2), "c", 2);
    assert_eq!(bound(&mut cluster), ["b-0", "b-1", "c-0", "c-1"]);
    // Of a there is one pod, which takes all that there is.
    let cluster = one_node(4)
        .with(composite("all", 2, ""))
        .with(within("a", 1, "all"))
        .with(within("b", 2, "all"))
        .with(within("c", 2, "all"))
        .with(pod("a-0", "4c").group("scheduling.k8s.io/a"));
    let mut cluster = pods(pods(cluster, "b", 2), "c", 2);
    assert_eq!(bound(&mut cluster), ["b-0", "b-1", "c-0", "c-1"]);
}

/// Left: two groups of two; right: within one more, a group of one and one of two.
fn four_levels(cores: u32) -> Cluster {
    let cluster = one_node(cores)
        .with(composite("all", 1, ""))
        .with(composite("left", 2, "all"))
        .with(composite("right", 1, "all"))
        .with(composite("deep", 2, "right"))
        .with(within("a", 2, "left"))
        .with(within("b", 2, "left"))
        .with(within("c", 1, "deep"))
        .with(within("d", 2, "deep"));
    let cluster = pods(pods(cluster, "a", 2), "b", 2);
    pods(pods(cluster, "c", 1), "d", 2)
}

#[test]
fn of_four_levels_each_part_is_there_as_a_whole_or_not_at_all() {
    let mut cluster = four_levels(2);
    assert_eq!(bound(&mut cluster), [""; 0], "three are needed at least");
    cluster.apply(cores_node("n", 6));
    assert_eq!(bound(&mut cluster), ["c-0", "d-0", "d-1"]);
    cluster.apply(cores_node("n", 7));
    assert_eq!(bound(&mut cluster), ["a-0", "a-1", "b-0", "b-1"]);
}

#[test]
fn groups_of_a_basic_composite_are_each_by_itself_with_a_gang_below() {
    let cluster = one_node(3)
        .with(composite("all", 0, "").queue("default"))
        .with(composite("gang", 2, "all"))
        .with(within("a", 2, "all"))
        .with(within("b", 1, "gang"))
        .with(within("c", 1, "gang"));
    let mut cluster = pods(pods(pods(cluster, "a", 2), "b", 1), "c", 1);
    assert_eq!(bound(&mut cluster), ["b-0", "c-0"], "no room for a");
    cluster.apply(cores_node("n", 4));
    assert_eq!(bound(&mut cluster), ["a-0", "a-1"]);
}

#[test]
fn whatever_comes_first_pods_are_of_the_tree_once_all_is_there() {
    let objects: Vec<Delta> = vec![
        composite("all", 2, "").delta(),
        within("a", 1, "all").delta(),
        within("b", 1, "all").delta(),
        pod("a-0", "1c").group("scheduling.k8s.io/a").delta(),
        pod("b-0", "1c").group("scheduling.k8s.io/b").delta(),
    ];
    let orders: [[usize; 5]; 4] = [
        [0, 1, 2, 3, 4],
        [4, 3, 2, 1, 0],
        [3, 1, 4, 0, 2],
        [1, 3, 0, 4, 2],
    ];
    for between in [false, true] {
        for order in orders {
            let mut cluster = one_node(9);
            for (nth, at) in order.into_iter().enumerate() {
                cluster.apply(objects[at].clone());
                if between && nth < 4 {
                    assert_eq!(bound(&mut cluster), [""; 0], "{order:?}, {nth}");
                }
            }
            assert_eq!(bound(&mut cluster), ["a-0", "b-0"], "{order:?}");
        }
    }
}

#[test]
fn a_parent_that_is_missing_a_circle_and_too_many_levels_are_told_and_waited_for() {
    let mut cluster = pods(one_node(9).with(within("a", 1, "all")), "a", 1);
    assert_eq!(bound(&mut cluster), [""; 0]);
    says(
        &cluster,
        "a-0",
        &[
            "names CompositePodGroup all as its parent, which is not there: create it",
            "v1alpha3",
        ],
    );
    let told = cluster.condition("scheduling.k8s.io/a", "Unschedulable");
    assert!(told.is_some_and(|told| told.message.contains("CompositePodGroup all")));
    cluster.apply(composite("all", 1, "up"));
    cluster.apply(composite("up", 1, "all"));
    assert_eq!(bound(&mut cluster), [""; 0]);
    says(
        &cluster,
        "a-0",
        &["CompositePodGroup all is part of itself", "one of all, up"],
    );
    cluster.apply(composite("up", 1, "further"));
    cluster.apply(composite("further", 1, "top"));
    cluster.apply(composite("top", 0, ""));
    assert_eq!(bound(&mut cluster), [""; 0]);
    says(
        &cluster,
        "a-0",
        &[
            "below 4 CompositePodGroups (all, up, further, top)",
            "4 levels",
        ],
    );
    cluster.apply(composite("up", 1, "top"));
    assert_eq!(bound(&mut cluster), ["a-0"]);
}

#[test]
fn too_few_groups_and_groups_with_too_few_pods_are_told_with_numbers() {
    let cluster = one_node(9)
        .with(composite("all", 3, ""))
        .with(within("a", 1, "all"))
        .with(within("b", 2, "all"));
    let mut cluster = pods(pods(cluster, "a", 1), "b", 1);
    assert_eq!(bound(&mut cluster), [""; 0]);
    let root = format!("{COMPOSITE_GROUP}all");
    let told = |cluster: &Cluster| {
        let told = cluster.condition(&root, "Unschedulable");
        told.expect("a condition").message
    };
    let text = told(&cluster);
    assert!(
        text.contains("CompositePodGroup all needs 3 of its groups at once, and has 2 at all"),
        "{text}"
    );
    says(&cluster, "a-0", &["lower its minGroupCount"]);
    cluster.apply(composite("all", 2, ""));
    assert_eq!(bound(&mut cluster), [""; 0]);
    let text = told(&cluster);
    assert!(
        text.contains("1 of 2 have the pods that they need; PodGroup b has 1 of 2 pods"),
        "{text}"
    );
    let mut cluster = pods(cluster, "b", 2);
    assert_eq!(bound(&mut cluster), ["a-0", "b-0", "b-1"]);
}

#[test]
fn a_parent_that_goes_takes_nobody_away_and_whoever_waits_is_told() {
    let cluster = one_node(9)
        .with(composite("all", 2, ""))
        .with(within("a", 1, "all"))
        .with(within("b", 1, "all"));
    let mut cluster = pods(pods(cluster, "a", 1), "b", 1);
    assert_eq!(bound(&mut cluster), ["a-0", "b-0"]);
    let root = format!("{COMPOSITE_GROUP}all");
    cluster.apply(Delta::GroupDelete("ns".to_owned(), root.clone()));
    let mut cluster = cluster.with(pod("a-1", "1c").group("scheduling.k8s.io/a"));
    let decisions = cluster.decide();
    assert!(decisions.binds.is_empty() && decisions.evictions.is_empty());
    says(
        &cluster,
        "a-1",
        &["names CompositePodGroup all as its parent, which is not there"],
    );
    assert!(
        cluster
            .engine
            .state()
            .population()
            .job_by_key("ns", &root)
            .is_none()
    );
    cluster.apply(composite("all", 2, ""));
    assert_eq!(bound(&mut cluster), ["a-1"]);
    // A group that goes: its pods wait for it, and the gang goes on.
    let group = "scheduling.k8s.io/b".to_owned();
    cluster.apply(Delta::GroupDelete("ns".to_owned(), group));
    let mut cluster = cluster.with(pod("b-1", "1c").group("scheduling.k8s.io/b"));
    assert_eq!(bound(&mut cluster), [""; 0]);
    says(
        &cluster,
        "b-1",
        &["PodGroup ns/b of scheduling.k8s.io", "not found"],
    );
    cluster.apply(within("b", 1, "all"));
    assert_eq!(bound(&mut cluster), ["b-1"]);
}

fn in_rack(name: &str, cores: u32, rack: &str) -> NodeObject {
    cores_node(name, cores).labels(pairs(&[("rack", rack)]))
}

pub(super) fn racked(group: GroupObject) -> GroupObject {
    GroupObject {
        topology: Some(TopologyRequest::Hard(HighestTier::Label("rack".to_owned()))),
        ..group
    }
}

#[test]
fn a_tree_may_keep_to_one_value_of_a_label_and_so_may_each_of_its_groups() {
    let two = |root: GroupObject, group: fn(GroupObject) -> GroupObject| {
        let cluster = Cluster::new()
            .with(in_rack("x1", 2, "x"))
            .with(in_rack("y1", 1, "y"))
            .with(in_rack("y2", 1, "y"))
            .with(root)
            .with(group(within("a", 2, "all")))
            .with(group(within("b", 2, "all")));
        pods(pods(cluster, "a", 2), "b", 2)
    };
    let mut whole = two(racked(composite("all", 2, "")), |group| group);
    assert_eq!(bound(&mut whole), [""; 0], "two in each rack");
    whole.apply(in_rack("y1", 3, "y"));
    assert_eq!(bound(&mut whole).len(), 4);
    let mut each = two(composite("all", 2, ""), racked);
    let places = each.cycle();
    let of = |group: &str| {
        let mine = places.iter().filter(|bind| bind.starts_with(group));
        let racks = mine.map(|bind| bind.split(' ').nth(1).map(|node| node[..1].to_owned()));
        racks.collect::<std::collections::BTreeSet<_>>().len()
    };
    assert_eq!((places.len(), of("a"), of("b")), (4, 1, 1), "{places:?}");
}

#[test]
fn a_dump_has_the_objects_of_a_tree_and_makes_the_same_cluster() {
    let cluster = four_levels(3).with(within("lost", 1, "gone"));
    let mut cluster = pods(cluster, "lost", 1);
    assert_eq!(bound(&mut cluster), ["c-0", "d-0", "d-1"]);
    cluster.decide();
    let told = cluster.engine.state().dump();
    let is_tree =
        |delta: &&Delta| matches!(delta, Delta::GroupApply(group) if group.native.tree.is_some());
    assert_eq!(told.iter().filter(is_tree).count(), 0);
    let mut again = Cluster::new();
    told.iter().for_each(|delta| again.apply(delta.clone()));
    assert!(again.decide().binds.is_empty());
    assert_eq!(again.engine.state().dump(), told);
    says(&again, "lost-0", &["CompositePodGroup gone as its parent"]);
    again.apply(cores_node("n", 7));
    assert_eq!(bound(&mut again), ["a-0", "a-1", "b-0", "b-1"]);
}

#[test]
fn as_many_pods_as_would_do_but_of_the_wrong_groups_are_a_gang_bound_in_part_and_given_up() {
    let mut cluster = one_node(4)
        .with(composite("all", 2, ""))
        .with(within("a", 1, "all"))
        .with(within("b", 1, "all"))
        .with(within("c", 3, "all"));
    cluster.engine.set_partial_gang_deadline(100);
    cluster.engine.cycle(10);
    for at in 0..2 {
        let pod = pod(&format!("c-{at}"), "1c").group(format!("{NATIVE_GROUP}c"));
        cluster.apply(pod.controlled(true).on("n"));
    }
    let decided = cluster.engine.cycle(10);
    let root = decided.trees.first().expect("a tree");
    let status = &cluster.engine.state().job(*root).status;
    assert!(!status.says_placed(), "{status:?}");
    assert_eq!(cluster.engine.give_up_gangs(109), []);
    let given_up = cluster.engine.give_up_gangs(110);
    assert_eq!((given_up.len(), given_up[0].victims.len()), (1, 2));
    let expected = "2 pods, which are not all of the groups that it needs, could be bound within 100 s; 2 bound pods are \
                    deleted so that others can use the place and the gang starts over as a whole. What would help: the \
                    pods that its groups lack";
    assert_eq!(given_up[0].message.split(". Should").next(), Some(expected));
}

/// A tree of which one pod of three is bound, told in this order, and what comes then.
fn in_part(told: &[Delta]) -> Cluster {
    let mut cluster = one_node(1);
    cluster.engine.set_partial_gang_deadline(100);
    told.iter().for_each(|delta| cluster.apply(delta.clone()));
    cluster.engine.cycle(10);
    cluster
}

#[test]
fn a_tree_that_was_bound_in_part_is_given_up_whoever_finds_it_so_and_after_its_api_was_away() {
    let pod = |name: &str| pod(name, "1c").group(format!("{NATIVE_GROUP}a"));
    let bound = pod("a-0").controlled(true).on("n").delta();
    let group = within("a", 3, "all").delta();
    let told = [
        composite("all", 1, "").delta(),
        group.clone(),
        bound.clone(),
    ];
    let mut found = in_part(&told);
    assert_eq!(found.engine.give_up_gangs(110).len(), 1);
    let (mut away, gone) = (in_part(&told), |name: String| {
        Delta::GroupDelete("ns".to_owned(), name)
    });
    away.apply(gone(format!("{NATIVE_GROUP}a")));
    away.apply(gone(format!("{COMPOSITE_GROUP}all")));
    away.engine.cycle(20);
    away.apply(composite("all", 1, ""));
    away.engine.cycle(25);
    away.apply(group);
    away.engine.cycle(30);
    assert_eq!(away.engine.give_up_gangs(129), []);
    assert_eq!(away.engine.give_up_gangs(130).len(), 1);
    // Of two groups one is not there any more, and the other has the one pod that it needs.
    let group = within("a", 1, "all").delta();
    let mut alone = in_part(&[composite("all", 2, "").delta(), group, told[2].clone()]);
    assert_eq!(alone.engine.give_up_gangs(110).len(), 1);
    // Who was bound as a group of its own has come to the gang later.
    let mut basic = told;
    basic[0] = composite("all", 0, "").delta();
    let mut came = in_part(&basic);
    came.apply(composite("all", 1, ""));
    came.engine.cycle(20);
    assert_eq!(came.engine.give_up_gangs(200), []);
}

/// A tree that needs one of two PodGroups: of `a` the one pod that it needs is bound, of `b` so many of three.
fn beside_a_whole_group(of_b: usize, status: GroupStatus) -> Cluster {
    let second = GroupObject {
        status,
        ..within("b", 3, "all")
    };
    let bound = |group: &str, at: usize| {
        let pod = pod(&format!("{group}-{at}"), "1c").group(format!("{NATIVE_GROUP}{group}"));
        pod.controlled(true).on("n").delta()
    };
    let pods = (0..of_b).map(|at| bound("b", at));
    let told = [
        composite("all", 1, "").delta(),
        within("a", 1, "all").delta(),
        second.delta(),
        bound("a", 0),
    ];
    let waits = pod("b-9", "90c").group(format!("{NATIVE_GROUP}b"));
    let told: Vec<Delta> = told
        .into_iter()
        .chain(pods)
        .chain([waits.delta()])
        .collect();
    in_part(&told)
}

#[test]
fn a_part_that_was_bound_in_part_is_given_up_while_the_rest_of_the_tree_stays_and_each_time_later()
{
    let mut cluster = beside_a_whole_group(2, GroupStatus::default());
    assert_eq!(cluster.engine.give_up_gangs(109), []);
    let given_up = cluster.engine.give_up_gangs(110);
    assert_eq!(given_up.len(), 1);
    let name = |ix: &TaskIx| cluster.engine.state().task(*ix).name.to_string();
    let victims: Vec<String> = given_up[0].victims.iter().map(name).collect();
    assert_eq!(victims, ["b-0", "b-1"]);
    let text = &given_up[0].message;
    let expected = "2 pods of PodGroup b, which are not all that it needs, could be bound within 100 s; 2 bound pods are \
                    deleted so that others can use the place and the part starts over as a whole. b-9 waits: ";
    assert!(text.starts_with(expected), "{text}");
    let again = "Should it be bound in part again, it is given up after 200 s";
    assert!(text.ends_with(again), "{text}");
    cluster.engine.cycle(150);
    assert_eq!(cluster.engine.give_up_gangs(209), []);
}

#[test]
fn a_part_that_had_what_it_needs_and_has_lost_pods_is_not_given_up_whoever_saw_it() {
    let mut seen = beside_a_whole_group(3, GroupStatus::default());
    seen.apply(Delta::PodDelete(pod("b-0", "1c").uid));
    seen.engine.cycle(20);
    assert_eq!(seen.engine.give_up_gangs(900), []);
    let mut placed = GroupStatus::default();
    placed.say_placed();
    let mut told = beside_a_whole_group(2, placed);
    assert_eq!(told.engine.give_up_gangs(900), []);
    // A dump says so although the group has not said it yet.
    let mut again = Cluster::new();
    again.engine.set_partial_gang_deadline(100);
    let dump = seen.engine.state().dump();
    dump.iter().for_each(|delta| again.apply(delta.clone()));
    again.engine.cycle(30);
    assert_eq!(again.engine.give_up_gangs(900), []);
}

#[test]
fn a_part_of_pods_that_were_there_before_it_or_that_another_scheduler_bound_is_not_given_up() {
    let group = GroupObject {
        created_s: 5,
        ..within("b", 3, "all")
    };
    for (why, pods) in [
        ("older", pod("b-0", "1c")),
        ("another scheduler's", pod("b-0", "1c").ours(false)),
    ] {
        let mut cluster = beside_a_whole_group(0, GroupStatus::default());
        cluster.apply(match why {
            "older" => group.clone().delta(),
            _ => within("b", 3, "all").delta(),
        });
        let pod = pods.group(format!("{NATIVE_GROUP}b")).controlled(true);
        cluster.apply(pod.on("n"));
        cluster.engine.cycle(20);
        assert_eq!(cluster.engine.give_up_gangs(900), [], "{why}");
    }
}

#[test]
fn a_group_within_a_tree_may_keep_all_that_is_below_it_to_one_value_of_a_label() {
    let cluster = Cluster::new()
        .with(in_rack("x1", 3, "x"))
        .with(in_rack("y1", 2, "y"))
        .with(in_rack("y2", 1, "y"))
        .with(composite("all", 2, ""))
        .with(within("alone", 2, "all"))
        .with(racked(composite("close", 2, "all")))
        .with(within("a", 2, "close"))
        .with(within("b", 2, "close"));
    let cluster = pods(pods(cluster, "a", 2), "b", 2);
    let mut cluster = pods(cluster, "alone", 2);
    assert_eq!(cluster.cycle(), [""; 0], "three in each rack");
    let text = "no value of label rack has nodes for CompositePodGroup close: best";
    says(&cluster, "a-0", &[text]);
    cluster.apply(in_rack("y3", 1, "y"));
    let places = cluster.cycle();
    assert_eq!(places.len(), 6, "{places:?}");
    let racks = |groups: &[&str]| {
        let mine = places
            .iter()
            .filter(|bind| groups.iter().any(|group| bind.starts_with(group)));
        let racks = mine.map(|bind| bind.split(' ').nth(1).map(|node| node[..1].to_owned()));
        racks.collect::<std::collections::BTreeSet<_>>().len()
    };
    assert_eq!(racks(&["a-", "b-"]), 1, "{places:?}");
    // Who comes later goes where the others are, and nowhere else.
    cluster.apply(in_rack("x2", 5, "x"));
    cluster.apply(in_rack("y4", 1, "y"));
    for name in ["a-2", "a-3"] {
        cluster.apply(pod(name, "1c").group(format!("{NATIVE_GROUP}a")));
    }
    assert_eq!(cluster.cycle(), ["a-2 y4"]);
}

#[test]
fn a_label_below_the_root_is_kept_to_where_gangs_are_not_told_from_other_jobs_too() {
    let conf = "actions: \"enqueue, allocate\"\ntiers: [{plugins: [{name: predicates}]}]\n";
    let cluster = Cluster::under(conf)
        .with(in_rack("x1", 1, "x"))
        .with(in_rack("y1", 1, "y"))
        .with(in_rack("y2", 1, "y"))
        .with(composite("all", 2, ""))
        .with(racked(composite("close", 2, "all")))
        .with(within("a", 2, "close"))
        .with(within("b", 2, "close"));
    let mut cluster = pods(pods(cluster, "a", 2), "b", 2);
    let places = cluster.cycle();
    let racks: Vec<&str> = places
        .iter()
        .filter_map(|bind| bind.split(' ').nth(1))
        .map(|node| &node[..1])
        .collect();
    assert!(racks == ["x"] || racks == ["y", "y"], "{places:?}");
}

#[test]
fn what_a_basic_group_around_no_gang_asks_of_nodes_is_told_and_waited_for() {
    let cluster = one_node(4)
        .with(racked(composite("top", 0, "")))
        .with(composite("gang", 1, "top"))
        .with(within("a", 1, "gang"))
        .with(within("b", 1, "top"));
    let mut cluster = pods(pods(cluster, "a", 1), "b", 1);
    assert_eq!(bound(&mut cluster), [""; 0]);
    for pod in ["a-0", "b-0"] {
        says(
            &cluster,
            pod,
            &["CompositePodGroup top asks for nodes with one value of a label"],
        );
    }
}

#[test]
fn labels_on_several_levels_are_kept_to_each_within_the_other() {
    // Racks r1 and r2 are there in both zones.
    let nodes = [
        ("n0", "z1", "r1"),
        ("n1", "z1", "r2"),
        ("n2", "z2", "r1"),
        ("n3", "z2", "r1"),
    ];
    let cluster = nodes
        .iter()
        .fold(Cluster::new(), |cluster, (name, zone, rack)| {
            let labels = pairs(&[("zone", zone), ("rack", rack)]);
            cluster.with(cores_node(name, 4).labels(labels))
        });
    let cluster = cluster
        .with(GroupObject {
            topology: Some(TopologyRequest::Hard(HighestTier::Label("zone".to_owned()))),
            ..composite("all", 2, "")
        })
        .with(racked(within("a", 6, "all")))
        .with(within("b", 2, "all"));
    let mut cluster = pods(pods(cluster, "a", 6), "b", 2);
    let mut bound = cluster.cycle();
    bound.sort();
    let nodes: Vec<&str> = bound
        .iter()
        .filter_map(|bind| bind.split(' ').nth(1))
        .collect();
    assert_eq!(nodes.len(), 8, "{bound:?}");
    assert!(
        nodes.iter().all(|node| ["n2", "n3"].contains(node)),
        "one rack of one zone has six cores: {bound:?}"
    );
}

#[test]
fn pods_that_ask_for_nothing_are_not_held_up_by_a_group_that_lacks_some() {
    let free = |name: &str, group: &str, created_s: i64| {
        let pod = pod(name, "0c 0Gi").group(format!("{NATIVE_GROUP}{group}"));
        pod.created_s(created_s)
    };
    let mut cluster = one_node(3)
        .with(composite("all", 1, ""))
        .with(within("g", 1, "all"))
        .with(within("h", 2, "all"))
        .with(free("h-0", "h", 0))
        .with(free("g-0", "g", 10));
    assert_eq!(bound(&mut cluster), ["g-0"]);
    cluster.apply(free("g-1", "g", 20));
    assert_eq!(bound(&mut cluster), ["g-1"]);
    cluster.apply(free("h-1", "h", 30));
    assert_eq!(bound(&mut cluster), ["h-0", "h-1"]);
}

#[test]
fn pods_that_are_being_deleted_hide_neither_that_a_tree_lacks_groups_nor_that_it_was_bound_in_part()
{
    let root = format!("{COMPOSITE_GROUP}all");
    let of = |group: &str, at: usize| {
        pod(&format!("{group}-{at}"), "1c").group(format!("{NATIVE_GROUP}{group}"))
    };
    // As many pods as two groups need, and all of one.
    let mut lacking = one_node(9)
        .with(composite("all", 2, ""))
        .with(within("a", 1, "all"))
        .with(within("b", 1, "all"))
        .with(of("b", 0).on("n").deleting(true))
        .with(of("b", 1).on("n"));
    lacking.engine.cycle(10);
    let told = lacking
        .condition(&root, "Unschedulable")
        .expect("it lacks a group");
    assert!(
        told.message.contains("PodGroup a has 0 of 1 pods"),
        "{told:?}"
    );
    let mut in_part = one_node(9)
        .with(composite("all", 1, ""))
        .with(within("a", 4, "all"))
        .with(within("b", 2, "all"))
        .with(of("a", 0).on("n").phase(PodPhase::Running))
        .with(of("b", 0).on("n").phase(PodPhase::Failed))
        .with(of("b", 1).on("n").deleting(true))
        .with(of("b", 2));
    in_part.engine.cycle(10);
    let told = in_part.condition(&root, "BoundInPart");
    assert!(
        told.is_some(),
        "{:?}",
        in_part.condition(&root, "Unschedulable")
    );
}
