//! What people are told of the network: that nothing limits their gang, and which tiers there are.

use pumice_model::Delta;
use pumice_model::object::{HighestTier, TopologyRequest};

use super::cluster::*;
use super::network::{CONF, asking, hard, hyper_node, nodes_named, with_pods};

/// `CONF` with `hypernode.labels`, and two nodes in rack a.
fn labelled(keys: &str) -> Cluster {
    let plugin = "network-topology-aware";
    let arguments = format!("{plugin}, arguments: {{hypernode.labels: \"{keys}\"}}");
    let mut all = Cluster::under(&CONF.replace(plugin, &arguments));
    for name in ["a0", "a1"] {
        let mut node = node(name, "2c 8Gi pods=9");
        node.labels = pairs(&[("rack", "a")]);
        all = all.with(node);
    }
    all
}

fn by_name(tier: &str) -> Option<TopologyRequest> {
    Some(TopologyRequest::Hard(HighestTier::Name(tier.to_owned())))
}

#[test]
fn a_hard_tier_by_number_that_limits_nothing_is_told_until_there_are_domains() {
    let warnings = |all: &mut Cluster, now_s| -> Vec<String> {
        all.engine.cycle(now_s);
        let events = all.engine.reports(now_s).events.into_iter();
        let warnings = events.filter(|event| event.reason == "NoNetworkDomains");
        warnings.map(|event| event.message).collect()
    };
    let end = ", so the whole cluster is of that tier; make HyperNodes, or ask by highestTierName, which \
               waits for them";
    for (keys, why) in [
        ("", "there is no HyperNode"),
        (
            "rackk",
            "there is no HyperNode, and no node has a label of hypernode.labels (rackk)",
        ),
    ] {
        let mut all = labelled(keys)
            .with(asking("g", 1, hard(1)))
            .with(asking("soft", 1, Some(TopologyRequest::Soft)))
            .with(asking("named", 1, by_name("rack")));
        all = with_pods(all, "g", 1);
        let told =
            format!("the hard network topology of at most tier 1 limits nothing: {why}{end}");
        assert_eq!(warnings(&mut all, 0), [told], "{keys}");
        assert_eq!(warnings(&mut all, 1), [""; 0], "once");
        all.apply(hyper_node("a", 1, &[nodes_named("^a")]));
        assert_eq!(warnings(&mut all, 2), [""; 0]);
        all.apply(Delta::HyperNodeDelete("a".to_owned()));
        assert_eq!(warnings(&mut all, 3).len(), 1, "it is so again");
    }
    let mut all = labelled("rack").with(asking("g", 1, hard(1)));
    assert_eq!(warnings(&mut all, 0), [""; 0]);
}

#[test]
fn a_tier_nobody_has_is_told_in_the_words_of_labels_where_labels_make_domains() {
    for (keys, tier, stray, told) in [
        (
            "rakk, zone",
            "rack",
            false,
            ", which is none of hypernode.labels, did you mean \"rakk\"? (rakk, zone; there are no \
             HyperNodes)",
        ),
        (
            "zone",
            "zone",
            false,
            ", and no node has that label (there are no HyperNodes, and hypernode.labels is zone)",
        ),
        (
            "rack",
            "rack",
            true,
            ", which no HyperNode has (there are tier-1; hypernode.labels makes no domains because of \
             HyperNode stray)",
        ),
    ] {
        let mut all = labelled(keys).with(asking("g", 1, by_name(tier)));
        if stray {
            all.apply(hyper_node("stray", 1, &[nodes_named("^a0")]));
        }
        let mut all = with_pods(all, "g", 1);
        assert!(all.cycle().is_empty());
        let text = format!("PodGroup ns/g asks for network tier \"{tier}\"{told}");
        assert_eq!(all.why("g0").1, text);
    }
    // By number the stray one is all there is.
    let mut all = labelled("rack").with(asking("g", 3, hard(1)));
    all.apply(hyper_node("stray", 1, &[nodes_named("^a0")]));
    let mut all = with_pods(all, "g", 3);
    assert!(all.cycle().is_empty());
    let told = "no network domain holds PodGroup ns/g: tier 1: best domain stray holds 2 of 3; \
                hypernode.labels makes no domains because of HyperNode stray";
    assert_eq!(all.why("g0").1, told);
}
