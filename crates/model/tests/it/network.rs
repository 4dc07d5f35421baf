//! From HyperNodes to domains (spec/08 §2).

use pumice_fixtures::{BuildNode as _, Cluster, ToDelta as _, selector};
use pumice_model::object::{
    HighestTier, HyperNodeMembers, HyperNodeObject, NodeObject, Selector, SelectorOp,
    TopologyRequest,
};
use pumice_model::{Delta, NodeIx, State, TierProblem};

use HyperNodeMembers::{Child, ChildrenNamed, Node, NodesLabelled, NodesNamed};

fn hyper_node(name: &str, tier: i64, members: Vec<HyperNodeMembers>) -> HyperNodeObject {
    HyperNodeObject {
        name: name.to_owned(),
        tier,
        members,
        ..HyperNodeObject::default()
    }
}

fn node(name: &str) -> NodeObject {
    pumice_fixtures::node(name, "").labels(&[("rack", &name[..1])])
}

fn rack(value: &str) -> Selector {
    selector("rack", SelectorOp::In(vec![value.to_owned()]))
}

/// A state with nodes `a1 a2 b1 b2` and HyperNodes.
fn cluster(hyper_nodes: Vec<HyperNodeObject>) -> State {
    let nodes = ["a1", "a2", "b1", "b2"].map(node);
    Cluster::default().all(nodes).all(hyper_nodes).state()
}

/// `name/tier: nodes` of each domain.
fn domains(state: &State) -> Vec<String> {
    let network = state.ground().network();
    let text = network.domains().iter().map(|domain| {
        let nodes = domain.nodes.iter();
        let names: Vec<&str> = nodes
            .map(|node| state.nodes().object(*node).name.as_str())
            .collect();
        format!("{}/{}: {}", domain.name, domain.tier, names.join(" "))
    });
    text.collect()
}

fn faults(state: &State) -> Vec<String> {
    let faults = state.ground().network().faults().iter();
    faults
        .map(|fault| format!("{}: {}", fault.hyper_node, fault.message))
        .collect()
}

const TOP: &str = "<cluster-top-hypernode>";

#[test]
fn members_are_chosen_by_name_pattern_and_label() {
    let state = cluster(vec![
        hyper_node("s0", 1, vec![Node("a1".to_owned()), Node("a2".to_owned())]),
        hyper_node("s1", 1, vec![NodesNamed("b".to_owned())]),
        hyper_node("s2", 2, vec![NodesLabelled(rack("a"))]),
        hyper_node(
            "top",
            4,
            vec![Child("s1".to_owned()), ChildrenNamed("2$".to_owned())],
        ),
    ]);
    assert_eq!(
        domains(&state),
        [
            "s0/1: a1 a2",
            "s1/1: b1 b2",
            "s2/2: a1 a2",
            "top/4: a1 a2 b1 b2",
            &format!("{TOP}/5: a1 a2 b1 b2"),
        ]
    );
    assert_eq!(faults(&state), [""; 0]);
}

#[test]
fn without_hyper_nodes_the_cluster_is_the_only_domain() {
    assert_eq!(
        domains(&cluster(Vec::new())),
        [format!("{TOP}/1: a1 a2 b1 b2")]
    );
}

/// HyperNodes of which each has something wrong.
fn wrong() -> Vec<HyperNodeObject> {
    vec![
        hyper_node(
            "absent",
            2,
            vec![Child("nobody".to_owned()), Node("c9".to_owned())],
        ),
        hyper_node("circle-1", 2, vec![Child("circle-2".to_owned())]),
        hyper_node(
            "circle-2",
            2,
            vec![Child("circle-1".to_owned()), Node("a1".to_owned())],
        ),
        hyper_node(
            "empty",
            1,
            vec![
                NodesLabelled(Selector::default()),
                NodesNamed("zz".to_owned()),
            ],
        ),
        hyper_node(
            "mother",
            3,
            vec![Child("shared".to_owned()), Node("b1".to_owned())],
        ),
        hyper_node(
            "father",
            3,
            vec![Child("shared".to_owned()), Node("b2".to_owned())],
        ),
        hyper_node(
            "self",
            3,
            vec![Child("self".to_owned()), Node("a2".to_owned())],
        ),
        hyper_node("shared", 1, vec![Node("a1".to_owned())]),
        hyper_node("void", 1, Vec::new()),
    ]
}

#[test]
fn what_is_wrong_is_left_out_and_the_rest_stands() {
    let state = cluster(wrong());
    assert_eq!(
        domains(&state),
        [
            "empty/1: ",
            "shared/1: a1",
            "void/1: ",
            "absent/2: ",
            "circle-1/2: ",
            "circle-2/2: a1",
            "father/3: b2",
            "mother/3: b1",
            "self/3: a2",
            &format!("{TOP}/4: a1 a2 b1 b2"),
        ]
    );
}

#[test]
fn what_is_left_out_is_told_on_its_hyper_node() {
    let state = cluster(wrong());
    let upside_down = "give a child a lower tier than its parent, and make no circles";
    let two = "member shared is left out: father and mother claim it; a HyperNode has one parent";
    assert_eq!(
        faults(&state),
        [
            "absent: member nobody is left out: there is no such HyperNode",
            "absent: there is no node c9",
            &format!(
                "circle-1: member circle-2 is left out: its tier 2 is not below 2, the tier of circle-1; {upside_down}"
            ),
            &format!(
                "circle-2: member circle-1 is left out: its tier 2 is not below 2, the tier of circle-2; {upside_down}"
            ),
            "empty: its labelMatch selects no node",
            "empty: no node has \"zz\" in its name",
            &format!("father: {two}"),
            &format!("mother: {two}"),
            &format!(
                "self: member self is left out: its tier 3 is not below 3, the tier of self; {upside_down}"
            ),
            "void: it has no members, so there are no nodes in it; name some, or delete it",
        ]
    );
    let told: Vec<&str> = state
        .ground()
        .network()
        .faults_of("absent")
        .iter()
        .map(|fault| &*fault.message)
        .collect();
    assert_eq!(
        told,
        [
            "member nobody is left out: there is no such HyperNode",
            "there is no node c9"
        ]
    );
    assert_eq!(state.ground().network().faults_of("b").len(), 0);
}

#[test]
fn hyper_nodes_of_one_tier_with_the_same_nodes_are_told() {
    let state = cluster(vec![
        hyper_node("a", 1, vec![NodesNamed("^a".to_owned())]),
        hyper_node(
            "again",
            1,
            vec![Node("a2".to_owned()), Node("a1".to_owned())],
        ),
        hyper_node("above", 2, vec![NodesNamed("^a".to_owned())]),
        hyper_node("part", 1, vec![Node("a1".to_owned())]),
        hyper_node("none", 1, vec![NodesNamed("zz".to_owned())]),
        hyper_node("nobody", 1, vec![NodesNamed("zz".to_owned())]),
    ]);
    let told: Vec<String> = faults(&state)
        .into_iter()
        .filter(|fault| fault.contains("the same nodes"))
        .collect();
    assert_eq!(
        told,
        [
            "again: it has the same nodes as HyperNode a, which is of tier 1 too; delete one of them, or \
          correct its members"
        ]
    );
}

#[test]
fn of_many_parents_that_claim_a_member_the_first_are_told() {
    let parents =
        (0..10).map(|at| hyper_node(&format!("p{at}"), 2, vec![Child("leaf".to_owned())]));
    let leaf = hyper_node("leaf", 1, vec![Node("a1".to_owned())]);
    let state = cluster(parents.chain([leaf]).collect());
    assert_eq!(
        faults(&state)[0],
        "p0: member leaf is left out: p0 and p1 and p2 and p3 and p4 and p5 and p6 and p7 and 2 more claim it; \
         a HyperNode has one parent"
    );
    assert_eq!(faults(&state).len(), 10);
}

#[test]
fn the_tree_follows_nodes_and_hyper_nodes() {
    let mut state = cluster(vec![
        hyper_node("la", 1, vec![NodesLabelled(rack("a"))]),
        hyper_node("lb", 1, vec![NodesLabelled(rack("b"))]),
    ]);
    state.apply(node("a1").labels("rack=b").delta());
    state.apply(Delta::NodeDelete("b2".to_owned()));
    state.apply(node("a0").delta());
    state.seal();
    assert_eq!(domains(&state)[..2], ["la/1: a0 a2", "lb/1: a1 b1"]);
    let epoch = state.ground().network().epoch();
    state.apply(hyper_node("la", 1, vec![NodesLabelled(rack("a"))]).delta());
    state.seal();
    assert_eq!(
        state.ground().network().epoch(),
        epoch,
        "nothing has changed"
    );
    state.apply(Delta::HyperNodeDelete("la".to_owned()));
    state.seal();
    assert_eq!(domains(&state)[..1], ["lb/1: a1 b1"]);
}

#[test]
fn tiers_are_found_by_number_and_by_name() {
    let named = |name: &str, tier, tier_name: &str| HyperNodeObject {
        tier_name: tier_name.to_owned(),
        ..hyper_node(name, tier, vec![Node("a1".to_owned())])
    };
    let state = cluster(vec![
        named("s0", 1, "rack"),
        named("s1", 2, "spine"),
        named("s2", 3, "both"),
        named("s3", 4, "both"),
    ]);
    let ask = |tier: HighestTier| {
        state
            .ground()
            .network()
            .highest_tier(&TopologyRequest::Hard(tier))
    };
    let name = |name: &str| HighestTier::Name(name.to_owned());
    assert_eq!(ask(HighestTier::Number(7)), Ok(7));
    assert_eq!(ask(name("spine")), Ok(2));
    assert_eq!(ask(name("x")), Err(TierProblem::Unknown("x".to_owned())));
    let both = Err(TierProblem::Ambiguous("both".to_owned()));
    assert_eq!(ask(name("both")), both);
    assert_eq!(ask(HighestTier::Missing), Err(TierProblem::Missing));
    assert_eq!(
        faults(&state),
        ["s2", "s3"].map(|name| format!(
            "{name}: tierName both stands for tiers 3, 4, so it cannot be asked for; give each tier a \
             name of its own"
        ))
    );
}

#[test]
fn domains_around_nodes_come_tier_by_tier() {
    let state = cluster(vec![
        hyper_node(
            "wide",
            2,
            vec![Child("s0".to_owned()), Child("s1".to_owned())],
        ),
        hyper_node("s0", 1, vec![NodesNamed("a".to_owned())]),
        hyper_node("s1", 1, vec![NodesNamed("b1".to_owned())]),
        hyper_node("none", 1, vec![Node("x".to_owned())]),
    ]);
    let network = state.ground().network();
    let around = |nodes: &[u32], highest: i64| -> Vec<String> {
        let nodes: Vec<NodeIx> = nodes.iter().map(|at| NodeIx(*at)).collect();
        let found = network.containing(&nodes, highest);
        let name = |ix| network.domain(ix).name.to_string();
        found.into_iter().map(name).collect()
    };
    assert_eq!(around(&[], 1), ["s0", "s1"]);
    assert_eq!(around(&[0, 1], 9), ["s0", "wide", TOP]);
    assert_eq!(around(&[0, 2], 9), ["wide", TOP]);
    assert_eq!(around(&[0, 3], 2), [""; 0]);
    let find = |name: &str| {
        let all = network.domains().iter();
        let at = all.clone().position(|domain| &*domain.name == name);
        pumice_model::DomainIx(at.expect("it is there") as u32)
    };
    assert!(network.is_within(find("s0"), find("wide")));
    assert!(!network.is_within(find("wide"), find("s0")));
    assert!(network.is_within(find("none"), network.cluster()));
}

#[test]
fn patterns_match_anywhere_and_may_not_grow_without_bounds() {
    use pumice_model::network::name_pattern;
    assert!(name_pattern("ck-1").expect("a pattern").is_match("rack-10"));
    // The last five are patterns of Go.
    for wrong in ["(", r"\Qa\E", "a{", "a{,5}", "[[a-z]", r"\C"] {
        assert!(name_pattern(wrong).is_err(), "{wrong}");
    }
    let large = name_pattern("(((a{1,200}){1,200}){1,200}){1,200}");
    assert!(large.is_err(), "too large once compiled");
}

#[test]
fn labels_of_nodes_make_domains_as_long_as_there_are_no_hyper_nodes() {
    let mut state = cluster(Vec::new());
    let mut other = node("c1");
    // The same rack in another room is another one; who has no rack is in a room only.
    other.labels = vec![
        ("rack".to_owned(), "a".to_owned()),
        ("room".to_owned(), "2".to_owned()),
    ];
    state.apply(Delta::NodeApply(Box::new(other)));
    let mut bare = node("d1");
    bare.labels = vec![("room".to_owned(), "2".to_owned())];
    state.apply(Delta::NodeApply(Box::new(bare)));
    let keys = ["rack".to_owned(), "room".to_owned()];
    state.set_network_labels(&keys);
    state.seal();
    assert_eq!(
        domains(&state),
        [
            "rack=/a/1: a1 a2",
            "rack=/b/1: b1 b2",
            "rack=2/a/1: c1",
            "room=2/2: c1 d1",
            "<cluster-top-hypernode>/3: a1 a2 b1 b2 c1 d1",
        ]
    );
    let named = |name: &str| TopologyRequest::Hard(HighestTier::Name(name.to_owned()));
    assert_eq!(state.ground().network().highest_tier(&named("rack")), Ok(1));
    assert_eq!(state.ground().network().highest_tier(&named("room")), Ok(2));
    // Objects come before labels, and labels follow when there are none any more.
    let only = hyper_node("only", 1, vec![Node("b2".to_owned())]);
    state.apply(Delta::HyperNodeApply(Box::new(only)));
    state.seal();
    assert_eq!(domains(&state)[0], "only/1: b2");
    state.apply(Delta::HyperNodeDelete("only".to_owned()));
    state.seal();
    assert_eq!(domains(&state).len(), 5);
    let mut moved = node("a1");
    moved.labels = vec![("rack".to_owned(), "b".to_owned())];
    state.apply(Delta::NodeApply(Box::new(moved)));
    state.seal();
    assert_eq!(domains(&state)[1], "rack=/b/1: a1 b1 b2");
    state.set_network_labels(&[]);
    state.seal();
    assert_eq!(domains(&state).len(), 1);
}
