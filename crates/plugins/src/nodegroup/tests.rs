//! The examples of spec/02 §15.

use super::*;

fn example() -> NodeGroups {
    let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect();
    NodeGroups {
        required: names(&["g1"]),
        preferred: names(&["g2", "g3", "g1"]),
        excluded: Vec::new(),
        avoided: names(&["g5"]),
    }
}

#[test]
fn groups_are_liked_as_the_lists_say() {
    let groups = example();
    let all = ["g1", "g2", "g3", "g4", "g5"];
    let plain = all.map(|group| liking(&groups, false, group));
    assert_eq!(plain, [150.0, 50.0, 50.0, 0.0, -1.0]);
    let ordered = all.map(|group| (liking(&groups, true, group) * 100.0).round());
    assert_eq!(ordered, [11667.0, 5000.0, 3333.0, 0.0, -100.0]);
}

#[test]
fn a_queue_may_use_the_groups_it_names() {
    let groups = example();
    let all = ["g1", "g2", "g3", "g4", "g5"];
    let allowed = all.map(|group| may_use(&groups, group));
    assert_eq!(allowed, [true, true, true, false, true]);
}

#[test]
fn a_queue_that_only_excludes_groups_may_use_all_others() {
    let groups = NodeGroups {
        excluded: vec!["g1".to_owned()],
        ..NodeGroups::default()
    };
    assert!(!may_use(&groups, "g1") && may_use(&groups, "g2"));
    // What is excluded is so wherever else it stands.
    let both = NodeGroups {
        avoided: vec!["g1".to_owned()],
        ..groups
    };
    assert!(!may_use(&both, "g1"));
}

#[test]
fn with_the_hierarchy_a_queue_without_lists_has_those_of_its_nearest_ancestor() {
    use crate::testing::*;

    let child = |name: &str, parent: &str| queue(name).parent(parent);
    let state = Cluster::default()
        .with(child("top", "root").affinity(Some(example())))
        .with(child("middle", "top"))
        .with(child("bottom", "middle"))
        .with(child("one", "other"))
        .with(child("other", "one"))
        .state();
    for hierarchy in [false, true] {
        let mut conf = PluginConf::default();
        conf.enabled.hierarchy = hierarchy;
        let plugin = NodeGroup::new(&conf, &mut ReasonTable::default());
        let groups = |name| plugin.groups(&state, state.queue(queue_ix(&state, name)));
        assert_eq!(groups("top"), example());
        assert_eq!(groups("bottom") == example(), hierarchy);
        assert_eq!(groups("one"), NodeGroups::default(), "a circle has none");
    }
}
