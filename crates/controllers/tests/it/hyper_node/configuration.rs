//! `networkTopologyDiscovery`, as people write it.

use pumice_controllers::hyper_node::{TopologyDiscovery, TopologyType, parse_discovery};

fn types(text: &str) -> String {
    let text = text.replace('\n', "\n      ");
    format!(
        "networkTopologyDiscovery:\n- source: label\n  enabled: true\n  config:\n    \
         networkTopologyTypes:\n      {text}\n"
    )
}

fn levels(text: &str) -> Vec<(String, Vec<String>)> {
    let found = parse_discovery(&types(text)).expect("readable");
    let found = found.by_labels.expect("on");
    found
        .into_iter()
        .map(|one| (one.name, one.levels))
        .collect()
}

#[test]
fn nothing_is_on_unless_it_is_said() {
    let off = [
        "",
        "# nothing\n",
        "other: 1\n",
        "networkTopologyDiscovery:\n",
        "networkTopologyDiscovery: []\n",
        "networkTopologyDiscovery:\n- source: label\n  config: {}\n",
        "networkTopologyDiscovery:\n- source: ufm\n  enabled: false\n",
    ];
    for text in off {
        assert_eq!(
            parse_discovery(text),
            Ok(TopologyDiscovery::default()),
            "{text}"
        );
    }
}

#[test]
fn levels_are_written_from_the_highest_and_only_the_host_name_is_dropped() {
    let text = "a:\n- nodeLabel: x/s1\n- nodeLabel: x/s0\n- nodeLabel: kubernetes.io/hostname\n\
                b:\n- nodeLabel: x/rack";
    let expected = [("a", vec!["x/s0", "x/s1"]), ("b", vec!["x/rack"])];
    let expected = expected.map(|(name, levels)| {
        (
            name.to_owned(),
            levels.into_iter().map(str::to_owned).collect(),
        )
    });
    assert_eq!(levels(text), expected);
}

#[test]
fn ufm_is_told_not_to_be_there_and_labels_beside_it_work() {
    let text = types("a:\n- nodeLabel: x/rack") + "- source: ufm\n  enabled: true\n";
    let found = parse_discovery(&text).expect("readable");
    let one = TopologyType {
        name: "a".to_owned(),
        levels: vec!["x/rack".to_owned()],
    };
    assert_eq!(found.by_labels, Some(vec![one]));
    assert_eq!(found.warnings.len(), 1);
    assert!(found.warnings[0].contains("the source ufm is not supported"));
}

#[test]
fn mistakes_are_told_with_their_place() {
    let label = |fields: &str| {
        format!("networkTopologyDiscovery:\n- source: label\n  enabled: true\n{fields}")
    };
    let cases = [
        ("networkTopologyDiscovery: [".to_owned(), "line"),
        (
            "networkTopologyDiscovery: label\n".to_owned(),
            "line 1, networkTopologyDiscovery: write a list",
        ),
        (
            "networkTopologyDiscovery:\n- enabled: true\n".to_owned(),
            "there is no source",
        ),
        (
            "networkTopologyDiscovery:\n- source: magic\n  enabled: true\n".to_owned(),
            "line 2, networkTopologyDiscovery: source is the string \"magic\"; use label",
        ),
        (
            "networkTopologyDiscovery:\n- source: label\n  enabled: \"yes\"\n".to_owned(),
            "write true or false",
        ),
        (label(""), "config.networkTopologyTypes is missing"),
        (label("  interval: soon\n"), "interval \"soon\""),
        (
            types("a: []"),
            "type \"a\": write the label of at least one level",
        ),
        (
            types("a:\n- nodeLabel: kubernetes.io/hostname"),
            "at least one level",
        ),
        (
            types("a:\n- label: x"),
            "line 7, networkTopologyDiscovery: type \"a\": write `- nodeLabel",
        ),
        (
            types("a:\n- nodeLabel: \"x y\""),
            "write `- nodeLabel: <key of a label>`",
        ),
        (
            types("a:\n- nodeLabel: x\n- nodeLabel: x"),
            "the label x stands here twice",
        ),
        (
            types("a:\n- nodeLabel: kubernetes.io/hostname\n- nodeLabel: x"),
            "kubernetes.io/hostname can only be the last level",
        ),
        (
            types("a23456789012345678901:\n- nodeLabel: x"),
            "write a name of 1 to 20",
        ),
        (
            types("a_b:\n- nodeLabel: x\nA-B:\n- nodeLabel: y"),
            "type \"A-B\": there is another",
        ),
    ];
    for (text, expected) in cases {
        let problems = parse_discovery(&text).expect_err(&text).join("; ");
        assert!(problems.contains(expected), "{text}: {problems}");
    }
}
