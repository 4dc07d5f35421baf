//! Affinity, selectors, spreading, tolerations.

use pumice_model::object::{
    NodeOp, NodeTerm, PodTerm, Requirement, Selector, SelectorOp, SpreadConstraint, TaintEffect,
    Toleration, TolerationOp, Unsatisfiable,
};
use serde_json::{Value, json};

use super::{problems, read, read_spec, with_spec};

const PREFIX: &str = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]";

fn requirement(key: &str, op: SelectorOp) -> Requirement {
    Requirement {
        key: key.to_owned(),
        op,
    }
}

fn one_of(value: &str) -> SelectorOp {
    SelectorOp::In(vec![value.to_owned()])
}

fn node_term(term: Value) -> NodeTerm {
    let required = json!({"nodeSelectorTerms": [term]});
    let affinity =
        json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}});
    read_spec(json!({ "affinity": affinity }))
        .node_affinity
        .expect("terms")
        .remove(0)
}

#[test]
fn node_affinity_operators_are_read() {
    let cases = [
        (
            json!({"key": "k", "operator": "In", "values": ["b", "a", "b"]}),
            NodeOp::In(vec!["a".to_owned(), "b".to_owned()]),
        ),
        (
            json!({"key": "k", "operator": "NotIn", "values": ["a"]}),
            NodeOp::NotIn(vec!["a".to_owned()]),
        ),
        (json!({"key": "k", "operator": "Exists"}), NodeOp::Exists),
        (
            json!({"key": "k", "operator": "DoesNotExist"}),
            NodeOp::DoesNotExist,
        ),
        (
            json!({"key": "k", "operator": "Gt", "values": ["5"]}),
            NodeOp::Gt(5),
        ),
        (
            json!({"key": "k", "operator": "Lt", "values": ["07"]}),
            NodeOp::Lt(7),
        ),
    ];
    for (expression, expected) in cases {
        let term = node_term(json!({"matchExpressions": [expression]}));
        assert_eq!((term.broken, &term.expressions[0].op), (false, &expected));
    }
}

#[test]
fn node_affinity_terms_that_do_not_parse_are_broken_not_problems() {
    let broken = [
        json!({"matchExpressions": [{"key": "k", "operator": "Gt", "values": ["x"]}]}),
        json!({"matchExpressions": [{"key": "k", "operator": "Gt", "values": ["-5"]}]}),
        json!({"matchExpressions": [{"key": "k", "operator": "Lt", "values": ["1", "2"]}]}),
        json!({"matchExpressions": [{"key": "k", "operator": "Gt"}]}),
        json!({"matchExpressions": [{"key": "k", "operator": "Near", "values": ["1"]}]}),
        json!({"matchExpressions": [{"key": "k", "operator": "In", "values": []}]}),
        json!({"matchExpressions": [{"key": "k", "operator": "Exists", "values": ["1"]}]}),
        json!({"matchExpressions": [{"key": "not a key", "operator": "Exists"}]}),
        json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]}),
        json!({"matchFields": [{"key": "metadata.name", "operator": "In"}]}),
        json!({"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}),
        json!({"matchFields": [{"key": "spec.x", "operator": "In", "values": ["a"]}]}),
    ];
    for term in broken {
        assert!(node_term(term.clone()).broken, "{term}");
    }
    assert_eq!(node_term(json!({})), NodeTerm::default());
    let fields = json!([
        {"key": "metadata.name", "operator": "In", "values": ["a"]},
        {"key": "metadata.name", "operator": "NotIn", "values": ["b"]},
    ]);
    let term = node_term(json!({ "matchFields": fields }));
    assert_eq!(
        term.fields,
        [(true, "a".to_owned()), (false, "b".to_owned())]
    );
    assert!(!term.broken);
}

#[test]
fn no_required_node_affinity_differs_from_one_without_terms() {
    let required = |required: Value| {
        let affinity =
            json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}});
        read_spec(json!({ "affinity": affinity })).node_affinity
    };
    assert_eq!(required(Value::Null), None);
    assert_eq!(required(json!({"nodeSelectorTerms": []})), Some(vec![]));
}

fn pod_term(term: Value) -> PodTerm {
    let affinity =
        json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}});
    read_spec(json!({ "affinity": affinity }))
        .affinity
        .remove(0)
}

#[test]
fn affinity_terms_resolve_namespaces_and_fold_label_keys() {
    let web = requirement("app", one_of("web"));
    let not_v1 = SelectorOp::NotIn(vec!["v1".to_owned()]);
    let cases = [
        (
            "own namespace by default",
            json!({}),
            vec!["default"],
            None,
            None,
        ),
        (
            "listed",
            json!({"namespaces": ["b", "a", "b"]}),
            vec!["a", "b"],
            None,
            None,
        ),
        (
            "by labels instead of the own one",
            json!({"namespaceSelector": {}}),
            vec![],
            Some(vec![]),
            None,
        ),
        (
            "empty selector",
            json!({"labelSelector": {}}),
            vec!["default"],
            None,
            Some(vec![]),
        ),
        (
            "keys the pod has are folded in, others are not",
            json!({"labelSelector": {}, "matchLabelKeys": ["app", "none"],
                "mismatchLabelKeys": ["version", "none"]}),
            vec!["default"],
            None,
            Some(vec![web.clone(), requirement("version", not_v1)]),
        ),
        (
            "keys an API server has folded in already are not repeated",
            json!({"labelSelector": {"matchExpressions": [
                {"key": "app", "operator": "In", "values": ["web"]}]}, "matchLabelKeys": ["app"]}),
            vec!["default"],
            None,
            Some(vec![web]),
        ),
        (
            "an absent selector stays absent",
            json!({"matchLabelKeys": ["app"]}),
            vec!["default"],
            None,
            None,
        ),
    ];
    for (name, mut term, namespaces, namespace_selector, selector) in cases {
        term["topologyKey"] = json!("zone");
        let selects = |requirements: Option<Vec<_>>| {
            requirements.map(|requirements| Selector { requirements })
        };
        let expected = PodTerm {
            namespaces: namespaces.into_iter().map(str::to_owned).collect(),
            namespace_selector: selects(namespace_selector),
            selector: selects(selector),
            topology_key: "zone".to_owned(),
        };
        assert_eq!(pod_term(term), expected, "{name}");
    }
}

#[test]
fn selectors_keep_labels_first_and_expressions_in_order() {
    let term = pod_term(json!({"topologyKey": "z", "labelSelector": {
        "matchLabels": {"b": "2", "a": "1"},
        "matchExpressions": [
            {"key": "c", "operator": "NotIn", "values": ["y", "x"]},
            {"key": "a", "operator": "Exists"},
            {"key": "d", "operator": "DoesNotExist"},
        ],
    }}));
    let expected = [
        requirement("a", one_of("1")),
        requirement("b", one_of("2")),
        requirement("c", SelectorOp::NotIn(vec!["x".to_owned(), "y".to_owned()])),
        requirement("a", SelectorOp::Exists),
        requirement("d", SelectorOp::DoesNotExist),
    ];
    assert_eq!(term.selector.unwrap().requirements, expected);
}

#[test]
fn selectors_out_of_their_rules_are_problems() {
    let cases = [
        (
            json!({"key": "a", "operator": "Gt", "values": ["1"]}),
            "operator: \"Gt\" is not an operator",
        ),
        (
            json!({"key": "a", "operator": "In"}),
            "values: the list of values is empty",
        ),
        (
            json!({"key": "a", "operator": "NotIn", "values": []}),
            "values: the list of values is empty",
        ),
        (
            json!({"key": "a", "operator": "Exists", "values": ["x"]}),
            "values: this operator takes no values",
        ),
        (
            json!({"key": "", "operator": "Exists"}),
            "key: the key is empty",
        ),
    ];
    for (expression, expected) in cases {
        let term = json!({"topologyKey": "z", "labelSelector": {"matchExpressions": [expression]}});
        let affinity =
            json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}});
        let found = problems(read(with_spec(json!({ "affinity": affinity }))));
        assert_eq!(
            found,
            [format!(
                "{PREFIX}.labelSelector.matchExpressions[0].{expected}"
            )]
        );
    }
}

#[test]
fn affinity_without_topology_key_and_with_impossible_weight_is_a_problem() {
    let weighted = json!({"weight": 101, "podAffinityTerm": {}});
    let affinity = json!({
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
            [{"weight": 0, "preference": {}}, {"weight": -1, "preference": {}}]},
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]},
        "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]},
    });
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    let expected = [
        format!("spec.affinity.nodeAffinity.{preferred}[1].weight: the weight -1 is out of range"),
        format!("{PREFIX}.topologyKey: the topology key is empty"),
        format!(
            "spec.affinity.podAntiAffinity.{preferred}[0].weight: the weight 101 is out of range"
        ),
        format!(
            "spec.affinity.podAntiAffinity.{preferred}[0].podAffinityTerm.topologyKey: \
             the topology key is empty"
        ),
    ];
    assert_eq!(
        problems(read(with_spec(json!({ "affinity": affinity })))),
        expected
    );
}

#[test]
fn preferred_terms_keep_their_weights() {
    let term = json!({"topologyKey": "z", "labelSelector": {}});
    let weighted = json!([{"weight": 7, "podAffinityTerm": term}]);
    let preferred =
        |value: Value| json!({"preferredDuringSchedulingIgnoredDuringExecution": value});
    let node = json!([{"weight": 3, "preference": {
        "matchExpressions": [{"key": "k", "operator": "Exists"}]}}]);
    let pod = read_spec(json!({"affinity": {
        "nodeAffinity": preferred(node),
        "podAffinity": preferred(weighted.clone()),
        "podAntiAffinity": preferred(weighted),
    }}));
    assert_eq!(pod.preferred_node_affinity[0].0, 3);
    assert_eq!(pod.preferred_affinity[0].0, 7);
    assert_eq!(pod.preferred_anti_affinity, pod.preferred_affinity);
    assert!(pod.affinity.is_empty() && pod.anti_affinity.is_empty());
}

#[test]
fn spread_constraints_have_their_defaults() {
    let pod = read_spec(json!({"topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}}, "matchLabelKeys": ["version", "x"]},
        {"maxSkew": 2, "topologyKey": "host", "whenUnsatisfiable": "ScheduleAnyway",
            "minDomains": 3, "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"},
    ]}));
    let requirements = vec![
        requirement("app", one_of("web")),
        requirement("version", one_of("v1")),
    ];
    let expected = [
        SpreadConstraint {
            max_skew: 1,
            topology_key: "zone".to_owned(),
            when: Unsatisfiable::DoNotSchedule,
            selector: Some(Selector { requirements }),
            min_domains: 1,
            honor_affinity: true,
            honor_taints: false,
        },
        SpreadConstraint {
            max_skew: 2,
            topology_key: "host".to_owned(),
            when: Unsatisfiable::ScheduleAnyway,
            selector: None,
            min_domains: 3,
            honor_affinity: false,
            honor_taints: true,
        },
    ];
    assert_eq!(pod.spread, expected);
}

#[test]
fn spread_constraints_out_of_their_rules_are_problems() {
    let spec = json!({"topologySpreadConstraints": [
        {"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Maybe", "minDomains": 0,
            "nodeAffinityPolicy": "Yes", "nodeTaintsPolicy": "No"}]});
    let path = "spec.topologySpreadConstraints[0]";
    let expected = [
        format!("{path}.topologyKey: the topology key is empty"),
        format!("{path}.maxSkew: 0 is too small"),
        format!("{path}.minDomains: 0 is too small"),
        format!("{path}.nodeAffinityPolicy: \"Yes\" is not known"),
        format!("{path}.nodeTaintsPolicy: \"No\" is not known"),
        format!("{path}.whenUnsatisfiable: \"Maybe\" is not known"),
    ];
    assert_eq!(problems(read(with_spec(spec))), expected);
}

#[test]
fn tolerations_are_read_and_unknown_ones_tolerate_nothing() {
    use TaintEffect::{NoExecute, NoSchedule};
    let cases = [
        (json!({}), TolerationOp::Equal, None),
        (
            json!({"key": "a", "operator": "Exists"}),
            TolerationOp::Exists,
            None,
        ),
        (
            json!({"key": "a", "operator": "Equal", "effect": "NoExecute"}),
            TolerationOp::Equal,
            Some(NoExecute),
        ),
        (
            json!({"key": "a", "effect": "NoSchedule"}),
            TolerationOp::Equal,
            Some(NoSchedule),
        ),
        (
            json!({"key": "a", "operator": "Lt", "value": "5"}),
            TolerationOp::Never,
            None,
        ),
        (
            json!({"key": "a", "operator": "Exists", "effect": "Nothing"}),
            TolerationOp::Never,
            None,
        ),
    ];
    for (wire, operator, effect) in cases {
        let text = |key: &str| wire[key].as_str().unwrap_or_default().to_owned();
        let expected = Toleration {
            key: text("key"),
            operator,
            value: text("value"),
            effect,
        };
        assert_eq!(
            read_spec(json!({"tolerations": [wire.clone()]})).tolerations,
            [expected]
        );
    }
}
