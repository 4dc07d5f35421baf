//! Which domains contain which, as sets of nodes say it (spec/08 §2.1: domains may overlap).

use std::collections::BTreeSet;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use pumice_fixtures::ToDelta as _;
use pumice_model::object::{HyperNodeMembers, HyperNodeObject};
use pumice_model::{Delta, DomainIx, NodeIx, State};

const MAX_NODES: usize = 24;

/// Nodes of each domain.
type Sets = Vec<BTreeSet<usize>>;

/// Few domains of many nodes, many of few, and chains of ever wider ones.
fn sets() -> impl Strategy<Value = Sets> {
    let of_most = |nodes, domains| vec(btree_set(0..MAX_NODES, nodes), domains);
    let chain = |sets: Sets| {
        let mut wider = BTreeSet::new();
        let add = |set: BTreeSet<usize>| {
            wider.extend(set);
            wider.clone()
        };
        sets.into_iter().map(add).collect::<Sets>()
    };
    prop_oneof![
        of_most(0..MAX_NODES, 0..20),
        of_most(0..3, 60..140),
        of_most(0..2, 0..80).prop_map(chain),
        (of_most(0..4, 30..100), of_most(15..MAX_NODES, 0..12))
            .prop_map(|(few, many)| [few, many].concat()),
    ]
}

/// A state with all nodes, and a HyperNode for each set.
fn cluster(sets: &Sets) -> State {
    let mut state = State::new("default");
    let name = |node: usize| format!("n{node:02}");
    for node in 0..MAX_NODES {
        state.apply(pumice_fixtures::node(&name(node), "").delta());
    }
    for (at, set) in sets.iter().enumerate() {
        let members = set.iter().map(|node| HyperNodeMembers::Node(name(*node)));
        state.apply(Delta::HyperNodeApply(Box::new(HyperNodeObject {
            name: format!("h{at:03}"),
            tier: at as i64 / 7,
            members: members.collect(),
            ..HyperNodeObject::default()
        })));
    }
    state.seal();
    state
}

proptest! {
    #[test]
    fn domains_around_a_domain_are_those_with_all_of_its_nodes(sets in sets(), gone in 0..MAX_NODES) {
        let mut state = cluster(&sets);
        for round in 0..2 {
            let network = state.ground().network();
            let all: Vec<DomainIx> = (0..network.domains().len() as u32).map(DomainIx).collect();
            prop_assert_eq!(all.len(), sets.len() + 1);
            let nodes_of = |domain: DomainIx| -> BTreeSet<NodeIx> {
                network.nodes(domain).iter().copied().collect()
            };
            let nodes: Vec<BTreeSet<NodeIx>> = all.iter().map(|domain| nodes_of(*domain)).collect();
            for inner in &all {
                let own = &nodes[inner.at()];
                let contains = |outer: &DomainIx| match own.is_empty() {
                    true => outer == inner || *outer == network.cluster(),
                    false => own.is_subset(&nodes[outer.at()]),
                };
                let expected: Vec<DomainIx> = all.iter().copied().filter(contains).collect();
                prop_assert_eq!(network.around(*inner), &expected[..], "round {}", round);
                let within = |outer: &DomainIx| network.is_within(*inner, *outer);
                let within: Vec<DomainIx> = all.iter().copied().filter(within).collect();
                prop_assert_eq!(within, expected);
                for node in state.nodes().indices() {
                    prop_assert_eq!(network.holds(*inner, node), own.contains(&node));
                }
            }
            state.apply(Delta::NodeDelete(format!("n{gone:02}")));
            state.seal();
        }
    }
}
