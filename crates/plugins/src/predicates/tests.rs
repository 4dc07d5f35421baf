//! Verdicts of the examples of spec/02 §6.8.

use super::*;
use crate::testing::*;
use pumice_conf::Value;
use pumice_framework::TopologyKeys;
use pumice_model::LoadMoment;
use pumice_model::object::{
    NodeObject, NodeOp, NodeRequirement, NodeTerm, PodTerm, SpreadConstraint, TaintEffect,
    Toleration, TolerationOp, Unsatisfiable,
};
use pumice_model::topology::PodCounters;

/// The plugin with these arguments set to `false`, and its reasons.
fn plugin(off: &[Arg<bool>]) -> (Predicates, ReasonTable) {
    let mut table = ReasonTable::default();
    let arguments = off
        .iter()
        .map(|key| (key.to_string(), Value::Bool(false)))
        .collect();
    (Predicates::new(&arguments, &mut table), table)
}

/// First static reason against each node for the pod `x`.
fn static_verdicts(state: &State, off: &[Arg<bool>]) -> Vec<Option<String>> {
    let (plugin, table) = plugin(off);
    let count = state.nodes().len();
    let mut part = StaticPart {
        verdict: vec![None; count],
        ..StaticPart::default()
    };
    plugin.static_filter(
        state,
        class(state, "x").fixed(),
        &mut ReasonTable::default(),
        &mut part,
    );
    part.verdict
        .iter()
        .map(|id| id.map(|id| table.reason(id).text.clone()))
        .collect()
}

/// Reasons of the filters on node load for the pod `x` against the first node, each with whether it
/// is asked before the static ones.
fn load_verdicts(state: &State, off: &[Arg<bool>]) -> Vec<(bool, String)> {
    let (plugin, table) = plugin(off);
    let mut found = Vec::new();
    for filter in plugin.node_filters(state, &class(state, "x")) {
        let mut out = [None];
        filter.reject(state, 0..1, LoadMoment::Now, &mut out);
        if let [Some(id)] = out {
            found.push((filter.before_static(), table.reason(id).text.clone()));
        }
    }
    found
}

fn zoned(name: &str, labels: &str) -> NodeObject {
    node(name, "8c pods=9").labels(labels)
}

fn zones() -> Cluster {
    Cluster::default()
        .with(zoned("n1", "zone=z1"))
        .with(zoned("n2", "zone=z1"))
        .with(zoned("n3", "zone=z2"))
        .with(zoned("n4", "zone=z3"))
        .with(zoned("n5", ""))
}

fn label(key: &str, op: NodeOp) -> NodeRequirement {
    NodeRequirement {
        key: key.to_owned(),
        op,
    }
}

fn named(names: &[&str]) -> NodeTerm {
    let fields = names
        .iter()
        .map(|name| (true, (*name).to_owned()))
        .collect();
    NodeTerm {
        fields,
        ..NodeTerm::default()
    }
}

#[test]
fn node_affinity_passes_nodes_that_any_term_matches() {
    let not_z1 = label("zone", NodeOp::NotIn(vec!["z1".to_owned()]));
    let broken = NodeTerm {
        broken: true,
        ..named(&["n1"])
    };
    let nowhere = NodeTerm {
        expressions: vec![label("zone", NodeOp::DoesNotExist)],
        ..NodeTerm::default()
    };
    let conflict = "plugin NodeAffinity pre-predicates failed pod affinity terms conflict";
    let cases: [(Vec<NodeTerm>, &[usize], Option<&str>); 5] = [
        (
            vec![
                NodeTerm {
                    expressions: vec![not_z1],
                    ..named(&["n1"])
                },
                named(&["n2"]),
                nowhere,
                NodeTerm::default(),
            ],
            &[1, 4],
            None,
        ),
        (vec![named(&["n1", "n2"])], &[], Some(conflict)),
        // Several names in one field are a parse error.
        (vec![broken], &[], None),
        (vec![], &[], None),
        (vec![named(&["n1", "n2"]), named(&["n3"])], &[2], None),
    ];
    for (terms, passes, refusal) in cases {
        let x = pod("x", "1c").node_affinity(Some(terms.clone()));
        let state = zones().with(x).state();
        for (at, verdict) in static_verdicts(&state, &[]).into_iter().enumerate() {
            let expected = (!passes.contains(&at))
                .then(|| "node(s) didn't match Pod's node affinity/selector".to_owned());
            assert_eq!(verdict, expected, "{terms:?}, node {}", at + 1);
        }
        let (plugin, _) = plugin(&[]);
        let everywhere = plugin.prefilter(&state, &class(&state, "x"));
        assert_eq!(everywhere.as_deref(), refusal, "{terms:?}");
    }
}

#[test]
fn the_node_selector_must_match_as_well() {
    let x = pod("x", "1c").node_selector("zone=z2");
    let state = zones().with(x).state();
    let passes: Vec<bool> = static_verdicts(&state, &[])
        .iter()
        .map(Option::is_none)
        .collect();
    assert_eq!(passes, [false, false, true, false, false]);
    let off = static_verdicts(&state, &[NODE_AFFINITY]);
    assert_eq!(off, [const { None }; 5], "switched off");
}

#[test]
fn taints_and_cordons_filter_unless_tolerated() {
    let exists = |key: &str| Toleration {
        key: key.to_owned(),
        operator: TolerationOp::Exists,
        value: String::new(),
        effect: None,
    };
    let b = Toleration {
        key: "b".to_owned(),
        operator: TolerationOp::Equal,
        value: "1".to_owned(),
        effect: Some(TaintEffect::NoSchedule),
    };
    let (tainted, cordoned) = (
        "node(s) had untolerated taint(s)",
        "node(s) were unschedulable",
    );
    // taints, cordoned: reason; reason with the taint filter off
    type Text = Option<&'static str>;
    let cases: [(&[&str], bool, Text, Text); 6] = [
        (&["a=9:NoExecute"], false, None, None),
        (&["b=1:NoExecute"], false, Some(tainted), None),
        (&["b=1:NoSchedule", "c:PreferNoSchedule"], false, None, None),
        (&["b=2:NoSchedule"], false, Some(tainted), None),
        (&[], true, Some(cordoned), Some(cordoned)),
        // The first reason in the order of the filters.
        (&["b=1:NoExecute"], true, Some(cordoned), Some(cordoned)),
    ];
    for (taints, unschedulable, expected, without) in cases {
        let taints = taints.iter().map(|text| taint(text));
        let n = node("n", "8c pods=9")
            .taints(taints)
            .unschedulable(unschedulable);
        let x = pod("x", "1c").tolerations([exists("a"), b.clone()]);
        let state = Cluster::default().with(n.clone()).with(x).state();
        assert_eq!(
            static_verdicts(&state, &[])[0].as_deref(),
            expected,
            "{n:?}"
        );
        assert_eq!(
            static_verdicts(&state, &[TAINTS])[0].as_deref(),
            without,
            "{n:?}"
        );
    }
    let cordon = exists("node.kubernetes.io/unschedulable");
    let state = Cluster::default()
        .with(node("n", "8c pods=9").unschedulable(true))
        .with(pod("x", "1c").tolerations([cordon]))
        .state();
    assert_eq!(static_verdicts(&state, &[]), [None]);
}

/// `ip:TCP:port`, with `-` for an IP that is not given.
fn port(text: &str) -> HostPort {
    let mut parts = text.split(':');
    let mut next = || parts.next().expect("ip, protocol and port").to_owned();
    let (ip, protocol, port) = (next(), next(), next().parse().expect("a port"));
    let ip = if ip == "-" { "0.0.0.0".to_owned() } else { ip };
    HostPort { ip, protocol, port }
}

#[test]
fn a_host_port_in_use_filters_where_addresses_overlap() {
    let cases = [
        ("127.0.0.1:TCP:8080", "-:TCP:8080", true),
        ("-:TCP:8080", "10.0.0.1:TCP:8080", true),
        ("127.0.0.1:TCP:8080", "10.0.0.1:TCP:8080", false),
        ("10.0.0.1:TCP:8080", "10.0.0.1:TCP:8080", true),
        ("-:UDP:8080", "-:TCP:8080", false),
        ("-:TCP:8081", "-:TCP:8080", false),
    ];
    for (used, wanted, taken) in cases {
        let with = |name: &str, text: &str| pod(name, "1c").host_ports([port(text)]);
        let state = Cluster::default()
            .with(node("n", "8c pods=9"))
            .with(with("other", used).on("n"))
            .with(with("x", wanted))
            .state();
        let reason = "node(s) didn't have free ports for the requested pod ports".to_owned();
        let expected: Vec<(bool, String)> = taken.then_some((false, reason)).into_iter().collect();
        assert_eq!(
            load_verdicts(&state, &[]),
            expected,
            "{used} in use, {wanted} wanted"
        );
        assert_eq!(load_verdicts(&state, &[NODE_PORTS]), [], "switched off");
    }
}

#[test]
fn a_node_takes_as_many_pods_as_it_says_terminating_ones_included() {
    for (limit, running, terminating, full) in [
        ("pods=2", 1, 0, false),
        ("pods=2", 2, 0, true),
        ("pods=2", 1, 1, true),
        ("", 0, 0, true),
    ] {
        let mut cluster = Cluster::default()
            .with(node("n", &format!("8c {limit}")))
            .with(pod("x", "1c"));
        for at in 0..running + terminating {
            let plain = pod(&format!("p{at}"), "").on("n");
            cluster = cluster.with(plain.deleting(at >= running));
        }
        let state = cluster.state();
        let reason = (true, "node(s) pod number exceeded".to_owned());
        let expected: Vec<(bool, String)> = full.then_some(reason).into_iter().collect();
        assert_eq!(
            load_verdicts(&state, &[]),
            expected,
            "{limit}: {running} + {terminating}"
        );
    }
}

#[test]
fn only_what_evictions_can_help_is_called_resolvable() {
    let (plugin, table) = plugin(&[]);
    let kind = |id| table.reason(id).kind;
    assert_eq!(kind(plugin.reasons.pod_number), ReasonKind::Unschedulable);
    assert_eq!(kind(plugin.reasons.ports), ReasonKind::Unschedulable);
    assert_eq!(kind(plugin.reasons.unschedulable), ReasonKind::Unresolvable);
    assert_eq!(kind(plugin.reasons.affinity), ReasonKind::Unresolvable);
    assert_eq!(kind(plugin.reasons.taint), ReasonKind::Unresolvable);
}

#[test]
fn filters_on_other_pods_follow_their_switches() {
    let term = PodTerm {
        namespaces: vec!["ns".to_owned()],
        namespace_selector: None,
        selector: None,
        topology_key: "zone".to_owned(),
    };
    let constraint = SpreadConstraint {
        max_skew: 1,
        topology_key: "rack".to_owned(),
        when: Unsatisfiable::DoNotSchedule,
        selector: None,
        min_domains: 1,
        honor_affinity: true,
        honor_taints: false,
    };
    let state = Cluster::default()
        .with(zoned("n", "zone=a rack=b"))
        .with(pod("x", "1c").affinity([term]).spread([constraint]))
        .state();
    for (off, keys) in [
        (vec![], vec!["zone", "rack"]),
        (vec![POD_AFFINITY], vec!["rack"]),
        (vec![SPREAD], vec!["zone"]),
    ] {
        let (mut all, mut counters) = (TopologyKeys::default(), PodCounters::default());
        let class = class(&state, "x");
        let mut filters = Vec::new();
        let with = &mut Counting::new(&state, &mut counters, &mut all);
        plugin(&off).0.domain_filters(with, &class, &mut filters);
        let found: Vec<&String> = filters.iter().flat_map(|filter| filter.keys()).collect();
        assert_eq!(found, keys, "{off:?}");
    }
}
