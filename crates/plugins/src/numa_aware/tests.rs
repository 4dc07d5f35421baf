//! Worked examples of spec/02 §22.

use pumice_model::object::{
    AssignedPod, CpuPlace, InitCpus, NumatopologyObject, PodObject, PodPhase,
};
use pumice_model::topology::PodCounters;
use pumice_model::{Delta, TaskStatus};

use super::*;
use crate::testing::*;

use TopologyPolicy::{BestEffort, Restricted, SingleNumaNode};

/// 8 CPUs, each a core: the first four of NUMA node 0 on socket 0, the others of 1.
fn two_sockets(node: &str, policy: TopologyPolicy, free: &[u32]) -> NumatopologyObject {
    let place = |cpu| CpuPlace {
        cpu,
        numa: cpu / 4,
        socket: cpu / 4,
        core: cpu % 4,
    };
    NumatopologyObject {
        node: node.to_owned(),
        gives_cpus: true,
        policy,
        cpus: (0..8).map(place).collect(),
        free: free.to_vec(),
        ..NumatopologyObject::default()
    }
}

/// A pod whose containers get so many CPUs for themselves.
fn asks(name: &str, policy: AskedPolicy, containers: &[u32]) -> PodObject {
    pod(name, "1c 1Gi").cpus(Some(Box::new(CpuRequest {
        policy,
        containers: containers.to_vec(),
        ..CpuRequest::default()
    })))
}

/// The pod with these init containers: how many CPUs each gets, and whether it keeps them.
fn after(init: &[(u32, bool)], mut pod: PodObject) -> PodObject {
    let init = init.iter().map(|(cpus, stays)| InitCpus {
        cpus: *cpus,
        stays: *stays,
    });
    if let Some(cpus) = &mut pod.cpus {
        cpus.init = init.collect();
    }
    pod
}

fn state(told: Vec<NumatopologyObject>, pods: Vec<PodObject>) -> State {
    let names = ["n1", "n2", "n3"].into_iter();
    let nodes = names.map(|name| node(name, "8c 64Gi pods=110"));
    let cluster = nodes.fold(Cluster::default(), Cluster::with);
    let mut state = pods.into_iter().fold(cluster, Cluster::with).state();
    for object in told {
        state.apply(object.delta());
    }
    state.seal();
    state
}

fn plugin(weight: i64) -> (NumaAware, ReasonTable) {
    let mut reasons = ReasonTable::default();
    let pairs = [("weight".to_owned(), pumice_conf::Value::Int(weight))];
    let arguments: Arguments = pairs.into_iter().collect();
    (NumaAware::new(&arguments, &mut reasons), reasons)
}

fn class_of(plugin: &NumaAware, state: &State, uid: &str) -> Class {
    let task = task(state, uid);
    let mut signature = points::Signature::default();
    signature.add(SPEC.name, plugin.signature(state, task));
    let key = points::ClassKey::of(state, task);
    Class::new(state, key, std::sync::Arc::new(signature))
}

/// What is against n1.
fn refusal(state: &State) -> String {
    let (plugin, reasons) = plugin(1);
    let class = class_of(&plugin, state, "asks");
    let mut out = [None; 1];
    for filter in plugin.node_filters(state, &class) {
        filter.reject(state, 0..1, LoadMoment::Now, &mut out);
    }
    out[0].map_or(String::new(), |reason| reasons.reason(reason).text.clone())
}

/// Numbers of the CPUs the pod `asks` would have on n1.
fn given(state: &State) -> Option<Vec<u32>> {
    let node = state.nodes().cpus(NodeIx(0)).expect("it tells");
    let request = state.task(task(state, "asks")).cpus.as_deref();
    let cpus = node
        .layout()
        .align(request.expect("it asks"), node.free())?;
    Some(node.layout().numbers(&cpus))
}

fn free(state: &State) -> Vec<u32> {
    let node = state.nodes().cpus(NodeIx(0)).expect("it tells");
    node.layout().numbers(node.free())
}

#[test]
fn a_container_gets_cpus_where_the_policy_of_the_node_lets_it() {
    let most = [1, 2, 3, 4, 5, 6, 7];
    type Case<'a> = (TopologyPolicy, &'a [u32], &'a [u32], Option<&'a [u32]>);
    let cases: [Case<'_>; 12] = [
        (SingleNumaNode, &most, &[2], Some(&[1, 2])),
        (SingleNumaNode, &most, &[4], Some(&[4, 5, 6, 7])),
        (SingleNumaNode, &most, &[5], None),
        (Restricted, &most, &[5], Some(&[1, 4, 5, 6, 7])),
        // One node could hold 3 if it were empty.
        (Restricted, &[0, 1, 4, 5], &[3], None),
        (BestEffort, &[0, 1, 4, 5], &[3], Some(&[0, 1, 4])),
        // Fewer than the containers ask for are not enough under any policy.
        (BestEffort, &[0, 1, 4, 5], &[5], None),
        // The second container has what the first one leaves.
        (SingleNumaNode, &most, &[3, 3], Some(&[1, 2, 3, 4, 5, 6])),
        (SingleNumaNode, &most, &[3, 4], Some(&[1, 2, 3, 4, 5, 6, 7])),
        (SingleNumaNode, &most, &[2, 2, 3], None),
        // Parts of a CPU come from those that are shared.
        (SingleNumaNode, &most, &[0, 1], Some(&[1])),
        (SingleNumaNode, &[0], &[0], Some(&[])),
    ];
    for (policy, free, containers, expected) in cases {
        let pods = vec![asks("asks", AskedPolicy::Only(policy), containers)];
        let state = state(vec![two_sockets("n1", policy, free)], pods);
        let context = format!("{policy:?} {free:?} {containers:?}");
        assert_eq!(given(&state).as_deref(), expected, "{context}");
        let refused = match expected {
            Some(_) => "",
            None => "containers cannot be assigned by numa",
        };
        assert_eq!(refusal(&state), refused, "{context}");
    }
}

#[test]
fn sidecars_keep_their_cpus_and_other_init_containers_leave_theirs_to_those_after_them() {
    let all = [0, 1, 2, 3, 4, 5, 6, 7];
    type Case<'a> = (
        &'a [u32],
        &'a [(u32, bool)],
        &'a [u32],
        Result<&'a [u32], &'a str>,
    );
    let cases: [Case<'_>; 11] = [
        (&all, &[(2, true)], &[2], Ok(&[0, 1, 2, 3])),
        // On the other NUMA node, since the sidecar stays.
        (&all, &[(3, true)], &[3], Ok(&[0, 1, 2, 4, 5, 6])),
        (
            &all,
            &[(4, true), (3, true)],
            &[2],
            Err("container asks 2 cpus of one NUMA node, free by NUMA node: 0, 1"),
        ),
        // The app has what the init container had before.
        (&all, &[(3, false)], &[4], Ok(&[0, 1, 2, 3])),
        (&all, &[(4, false)], &[4, 4], Ok(&all)),
        (&all, &[(4, false), (4, false)], &[4, 4], Ok(&all)),
        // It has to fit although it ends before the app begins.
        (
            &[0, 1, 2, 4, 5],
            &[(4, false)],
            &[1],
            Err("init container asks 4 cpus of one NUMA node, free by NUMA node: 3, 2"),
        ),
        (
            &all,
            &[(3, true), (4, true), (2, false)],
            &[1],
            Err("init container 3 of 3 asks 2 cpus of one NUMA node, free by NUMA node: 1, 0"),
        ),
        // What it has is the pod's, even where the app asks for less.
        (&all, &[(4, false)], &[2], Ok(&[0, 1, 2, 3])),
        // The kubelet keeps who comes after an init container to its NUMA node.
        (
            &[0, 1, 4, 5, 6, 7],
            &[(2, false)],
            &[3],
            Err("container asks 3 cpus of one NUMA node, free by NUMA node: 2, 4"),
        ),
        // A sidecar takes what was left before it.
        (&all, &[(4, false), (4, true)], &[4], Ok(&all)),
    ];
    for (free, init, containers, expected) in cases {
        let policy = AskedPolicy::Only(SingleNumaNode);
        let pods = vec![after(init, asks("asks", policy, containers))];
        let state = state(vec![two_sockets("n1", SingleNumaNode, free)], pods);
        let context = format!("{free:?} {init:?} {containers:?}");
        assert_eq!(given(&state).as_deref(), expected.ok(), "{context}");
        let (plugin, _) = plugin(1);
        let class = class_of(&plugin, &state, "asks");
        let signed = request_of(&class);
        let known = state.task(task(&state, "asks")).cpus.as_deref();
        assert_eq!(signed.as_ref(), known, "{context}");
        let miss = plugin.node_filters(&state, &class)[0].explain(state.nodes(), NodeIx(0));
        let miss = miss.map(|miss| miss.text);
        let expected = expected.err().map(|text| format!("node n1: {text}"));
        assert_eq!(miss, expected, "{context}");
    }
}

#[test]
fn who_gets_no_cpus_is_told_with_what_is_free() {
    let free = [1, 2, 3, 4, 5, 6, 7];
    for (policy, containers, expected, missing) in [
        (
            SingleNumaNode,
            &[5_u32][..],
            "node n1: container asks 5 cpus of one NUMA node, free by NUMA node: 3, 4",
            1,
        ),
        // Sidecars that share CPUs are containers too.
        (
            SingleNumaNode,
            &[0, 3, 4, 2],
            "node n1: container 4 of 4 asks 2 cpus of one NUMA node, free by NUMA node: 0, 0",
            2,
        ),
        (
            Restricted,
            &[3, 3, 2],
            "node n1: container 3 of 3 asks 2 cpus of one NUMA node, free by NUMA node: 0, 1",
            1,
        ),
        (
            BestEffort,
            &[9],
            "node n1: container asks 9 cpus, free by NUMA node: 3, 4",
            2,
        ),
    ] {
        let pods = vec![asks("asks", AskedPolicy::Only(policy), containers)];
        let state = state(vec![two_sockets("n1", policy, &free)], pods);
        let (plugin, _) = plugin(1);
        let class = class_of(&plugin, &state, "asks");
        let filters = plugin.node_filters(&state, &class);
        let miss = filters[0].explain(state.nodes(), NodeIx(0));
        let miss = miss.map(|miss| (miss.text, miss.distance.1));
        assert_eq!(miss, Some((expected.to_owned(), missing)), "{containers:?}");
    }
}

#[test]
fn whole_sockets_and_cores_are_given_first_and_cut_up_ones_before_others() {
    // Two threads a core, cores 0 … 3 of socket 0 and 0 … 3 of socket 1; one NUMA node.
    let place = |cpu: u32| CpuPlace {
        cpu,
        numa: 0,
        socket: cpu % 8 / 4,
        core: cpu % 4,
    };
    let object = NumatopologyObject {
        cpus: (0..16).map(place).collect(),
        ..two_sockets("n1", Restricted, &[])
    };
    let cases: [(&[u32], u32, &[u32]); 7] = [
        // A socket is whole although CPUs have the numbers of others.
        (
            &[0, 4, 5, 6, 7, 12, 13, 14, 15],
            8,
            &[4, 5, 6, 7, 12, 13, 14, 15],
        ),
        (
            &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
            2,
            &[0, 8],
        ),
        // Whole cores of the socket that has fewer of them.
        (&[0, 8, 1, 9, 4, 12, 5], 2, &[4, 12]),
        // A single CPU of a core that is cut up, on the socket with fewer free CPUs.
        (&[0, 8, 1, 4, 12, 5, 13, 6], 1, &[1]),
        // Next to those that are taken already.
        (&[0, 8, 1, 4, 12, 5, 13, 6], 3, &[0, 1, 8]),
        (&[3], 1, &[3]),
        (&[3], 2, &[3]),
    ];
    for (free, wanted, expected) in cases {
        let layout = pumice_model::numa::CpuLayout::new(&object);
        let picked = layout.pick(&layout.set(free), wanted);
        let context = format!("{wanted} of {free:?}");
        assert_eq!(layout.numbers(&picked), expected, "{context}");
    }
}

#[test]
fn the_node_has_to_have_the_policy_that_is_asked_for() {
    let told = |change: fn(&mut NumatopologyObject)| {
        let mut object = two_sockets("n1", Restricted, &[0, 1, 2, 3, 4, 5]);
        change(&mut object);
        vec![object]
    };
    let only = AskedPolicy::Only(Restricted);
    type Case = (Vec<NumatopologyObject>, AskedPolicy, &'static str);
    let cases: [Case; 9] = [
        (told(|_| ()), only.clone(), ""),
        (told(|_| ()), AskedPolicy::Any, ""),
        (vec![], only.clone(), "numa info is empty"),
        (vec![], AskedPolicy::Any, ""),
        (
            told(|object| object.gives_cpus = false),
            only.clone(),
            "the cpu manager policy of the node is not static",
        ),
        (
            told(|object| object.gives_cpus = false),
            AskedPolicy::Any,
            "",
        ),
        (
            told(|object| object.policy = SingleNumaNode),
            only.clone(),
            "the topology manager policy of the node is another",
        ),
        (
            told(|object| object.free.clear()),
            only,
            "no cpu of the node is free for a container alone",
        ),
        // Nothing of it is looked at under policy none.
        (
            told(|object| {
                object.policy = TopologyPolicy::None;
                object.free.clear();
            }),
            AskedPolicy::Any,
            "",
        ),
    ];
    for (told, policy, expected) in cases {
        let state = state(told, vec![asks("asks", policy.clone(), &[2])]);
        assert_eq!(refusal(&state), expected, "{policy:?}");
    }
}

#[test]
fn a_policy_that_does_not_exist_is_told_and_met_nowhere() {
    let unknown = AskedPolicy::Unknown("numa".to_owned());
    let state = state(
        vec![],
        vec![asks("asks", unknown, &[2]), pod("other", "1c")],
    );
    let (plugin, _) = plugin(1);
    let refusal = |uid| plugin.prefilter(&state, &class_of(&plugin, &state, uid));
    let text = refusal("asks").expect("a reason");
    assert!(
        text.starts_with("\"numa\" is no policy for NUMA nodes"),
        "{text}"
    );
    assert_eq!(refusal("other"), None);
    assert_eq!(plugin.signature(&state, task(&state, "other")), "");
}

#[test]
fn a_request_is_read_as_it_was_signed() {
    for policy in [
        AskedPolicy::Any,
        AskedPolicy::Only(BestEffort),
        AskedPolicy::Unknown("a b".to_owned()),
    ] {
        for containers in [&[0_u32] as &[u32], &[1, 0, 12], &[4]] {
            let state = state(vec![], vec![asks("asks", policy.clone(), containers)]);
            let (plugin, _) = plugin(1);
            let request = request_of(&class_of(&plugin, &state, "asks"));
            let known = state.task(task(&state, "asks")).cpus.as_deref();
            assert_eq!(request.as_ref(), known);
        }
    }
}

#[test]
fn few_numa_nodes_score_higher() {
    let all: &[u32] = &[0, 1, 2, 3, 4, 5, 6, 7];
    let thin: &[u32] = &[0, 1, 4, 5];
    let scores = |weight: i64, frees: [&[u32]; 3], wanted: u32| {
        let names = ["n1", "n2", "n3"].into_iter().zip(frees);
        let told = names.map(|(name, free)| two_sockets(name, BestEffort, free));
        let pods = vec![asks("asks", AskedPolicy::Only(BestEffort), &[wanted])];
        let state = state(told.collect(), pods);
        let (plugin, _) = plugin(weight);
        let request = request_of(&class_of(&plugin, &state, "asks")).expect("it asks");
        let mut score = FewNumaNodes {
            request,
            weight,
            spans: vec![None; 3],
        };
        let mut out = [0; 3];
        let counters = &PodCounters::default();
        score.add(
            CountedCluster {
                state: &state,
                counters,
            },
            &[0, 1, 2],
            &mut out,
        );
        out
    };
    assert_eq!(scores(10, [all, thin, all], 3), [500, 0, 500]);
    assert_eq!(scores(10, [all, all, all], 3), [0, 0, 0]);
    assert_eq!(scores(1, [thin, thin, all], 3), [0, 0, 50]);
    assert_eq!(scores(-1, [thin, thin, all], 3), [0, 0, -50]);
    // Nobody has a CPU for itself.
    assert_eq!(scores(10, [all, thin, all], 0), [1000; 3]);
}

#[test]
fn cpus_of_pods_that_the_node_does_not_tell_yet_are_taken() {
    let bound = |name: &str, created_s: i64| {
        asks(name, AskedPolicy::Any, &[2])
            .on("n1")
            .created_s(created_s)
    };
    let told = |assigned: &[(&str, &str)]| {
        let pod = |(uid, name): &(&str, &str)| AssignedPod {
            uid: (*uid).to_owned(),
            namespace: "ns".to_owned(),
            name: (*name).to_owned(),
        };
        let all: Vec<u32> = (0..8).collect();
        NumatopologyObject {
            assigned: assigned.iter().map(pod).collect(),
            ..two_sockets("n1", SingleNumaNode, &all)
        }
    };
    let pods = || vec![bound("b", 1), bound("a", 2)];
    let expected = |state: &State, uid: &str| {
        let node = state.nodes().cpus(NodeIx(0)).expect("it tells");
        let cpus = node.expected_of(task(state, uid));
        cpus.map(|cpus| node.layout().numbers(cpus))
    };
    // The older one comes first; it is so after a restart too, since objects alone decide.
    let both = state(vec![told(&[])], pods());
    assert_eq!(expected(&both, "b"), Some(vec![0, 1]));
    assert_eq!(expected(&both, "a"), Some(vec![2, 3]));
    assert_eq!(free(&both), [4, 5, 6, 7]);
    // Each is told by itself; another pod of the name is not the one that was told.
    for (assigned, still_expected) in [
        (&[("a", "a")] as &[(&str, &str)], ["b"].as_slice()),
        (&[("", "b")], &["a"]),
        (&[("gone", "b")], &["b", "a"]),
        (&[("a", "a"), ("b", "b")], &[]),
    ] {
        let state = state(vec![told(assigned)], pods());
        let known = ["b", "a"].into_iter();
        let known: Vec<&str> = known
            .filter(|uid| expected(&state, uid).is_some())
            .collect();
        assert_eq!(known, still_expected, "{assigned:?}");
        assert_eq!(free(&state).len(), 8 - 2 * still_expected.len());
    }
}

#[test]
fn cpus_given_to_nobody_that_is_told_are_those_of_the_pods_that_run() {
    let runs = |name: &str, created_s: i64, cpus: u32| {
        asks(name, AskedPolicy::Any, &[cpus])
            .on("n1")
            .created_s(created_s)
            .phase(PodPhase::Running)
    };
    let told = |free: &[u32]| two_sockets("n1", SingleNumaNode, free);
    let free_with =
        |object: NumatopologyObject, pods: Vec<PodObject>| free(&state(vec![object], pods)).len();
    let half: &[u32] = &[4, 5, 6, 7];
    // Four are given out: to the one that runs.
    assert_eq!(free_with(told(half), vec![runs("a", 1, 4)]), 4);
    assert_eq!(
        free_with(told(half), vec![runs("a", 1, 3), runs("b", 2, 1)]),
        4
    );
    // The younger one has some that are not told yet, and so has one that is larger than what was given.
    assert_eq!(
        free_with(told(half), vec![runs("a", 1, 3), runs("b", 2, 2)]),
        2
    );
    assert_eq!(free_with(told(&[3, 4, 5, 6, 7]), vec![runs("a", 1, 4)]), 1);
    // A sidecar has its own all the time, another init container had its only before.
    let with = |init: &[(u32, bool)]| vec![after(init, runs("a", 1, 2))];
    assert_eq!(free_with(told(half), with(&[(2, true)])), 4);
    assert_eq!(free_with(told(half), with(&[(4, false)])), 4);
    assert_eq!(free_with(told(half), with(&[(3, true)])), 0);
    // Who has not started has nothing yet.
    let bound = runs("a", 1, 4).phase(PodPhase::Pending);
    assert_eq!(free_with(told(half), vec![bound]), 0);
    // Nor has who got there after the node told what is free.
    for (written_s, expected) in [(1, 0), (2, 4)] {
        let told = NumatopologyObject {
            written_s: Some(written_s),
            ..told(half)
        };
        assert_eq!(
            free_with(told, vec![runs("a", 1, 4)]),
            expected,
            "{written_s}"
        );
    }
    // Where it does not tell when it got there it ran.
    let told_at_start = NumatopologyObject {
        written_s: Some(0),
        ..told(half)
    };
    assert_eq!(free_with(told_at_start, vec![runs("a", 0, 4)]), 4);
    // What the kubelet keeps for itself was given to nobody.
    let keeps = NumatopologyObject {
        reserved: 2,
        ..told(half)
    };
    assert_eq!(free_with(keeps, vec![runs("a", 1, 4)]), 0);
    // Where pods are told, who is not has nothing of it.
    let tells = NumatopologyObject {
        assigned: vec![AssignedPod {
            uid: "other".to_owned(),
            ..AssignedPod::default()
        }],
        ..told(half)
    };
    assert_eq!(free_with(tells, vec![runs("a", 1, 4)]), 0);
}

#[test]
fn reserved_cpus_are_given_to_nobody() {
    let all: Vec<u32> = (0..8).collect();
    for (reserved, expected) in [(0, 8), (1, 7), (4, 4), (9, 0)] {
        let object = NumatopologyObject {
            reserved,
            ..two_sockets("n1", SingleNumaNode, &all)
        };
        assert_eq!(free(&state(vec![object], vec![])).len(), expected);
    }
}

#[test]
fn undoing_placements_gives_back_exactly_what_they_took() {
    let all: Vec<u32> = (0..8).collect();
    let ask = |name: &str, cpus| asks(name, AskedPolicy::Any, &[cpus]);
    let pods = vec![
        ask("p1", 1),
        ask("p2", 3),
        ask("p3", 2),
        ask("old", 1).on("n1"),
    ];
    let mut state = state(vec![two_sockets("n1", Restricted, &all)], pods);
    let node = NodeIx(0);
    let before = state.nodes().cpus(node).cloned();
    let orders = [["p1", "p2", "p3"], ["p3", "p1", "p2"], ["p2", "p3", "p1"]];
    for (taken, given_back) in orders
        .iter()
        .flat_map(|l| orders.iter().map(move |r| (l, r)))
    {
        for (at, uid) in taken.iter().enumerate() {
            let ix = task(&state, uid);
            let status = [TaskStatus::Allocated, TaskStatus::Pipelined][at % 2];
            let placement = state.choose_placement(ix, node, at % 2 == 1);
            state.place(ix, status, node, placement);
        }
        assert_eq!(free(&state).len(), 1, "nobody has a CPU of another");
        let old = task(&state, "old");
        state.evict(old);
        assert_eq!(free(&state).len(), 1, "it is still there");
        state.restore(old, TaskStatus::Running);
        for uid in given_back {
            let ix = task(&state, uid);
            state.move_task(ix, TaskStatus::Pending, None);
        }
        assert_eq!(
            state.nodes().cpus(node).map(NodeCpus::free),
            before.as_ref().map(NodeCpus::free)
        );
    }
    state.seal();
    assert_eq!(state.nodes().cpus(node).cloned(), before);
}

#[test]
fn a_node_that_comes_after_what_it_tells_has_it() {
    let mut state = State::new("default");
    let told = two_sockets("late", SingleNumaNode, &[0, 1]);
    state.apply(told.delta());
    state.seal();
    state.apply(node("late", "8c 64Gi pods=110").delta());
    state.seal();
    assert_eq!(free(&state), [0, 1]);
    state.apply(Delta::NumatopologyDelete("late".to_owned()));
    state.seal();
    assert_eq!(state.nodes().cpus(NodeIx(0)), None);
}
