use super::*;
use crate::object::{GroupCondition, GroupStatus, NativeTraits, SCHEDULED, UNSCHEDULABLE};

fn one(name: String, parent: &str, composite: Option<CompositePolicy>) -> GroupObject {
    GroupObject {
        namespace: "ns".to_owned(),
        name,
        min_member: 1,
        is_native: true,
        native: NativeTraits {
            parent: parent.to_owned(),
            composite,
            ..NativeTraits::default()
        },
        ..GroupObject::default()
    }
}

fn composite(name: &str, parent: &str) -> GroupObject {
    one(composite_name(name), parent, Some(CompositePolicy::Gang(1)))
}

fn leaf(name: &str, parent: &str) -> GroupObject {
    one(format!("{NATIVE_GROUP}{name}"), parent, None)
}

fn says(group: GroupObject, kind: &str) -> GroupObject {
    let condition = GroupCondition {
        kind: kind.to_owned(),
        status: "True".to_owned(),
        ..GroupCondition::default()
    };
    GroupObject {
        status: GroupStatus::of_native(vec![condition]),
        ..group
    }
}

fn told(objects: impl IntoIterator<Item = GroupObject>) -> (GroupTrees, TreeChanges) {
    let mut trees = GroupTrees::default();
    for object in objects {
        trees.insert(object);
    }
    let changes = trees.take_changes();
    (trees, changes)
}

#[test]
fn a_tree_is_not_looked_through_for_what_one_of_its_groups_was_told() {
    let (mut trees, first) = told([composite("all", ""), leaf("a", "all"), leaf("b", "all")]);
    assert_eq!(first.set.len(), 1, "the job of the tree");
    let placed = says(leaf("a", "all"), SCHEDULED);
    let waits = says(leaf("a", "all"), UNSCHEDULABLE);
    for said in [waits.clone(), placed.clone()] {
        assert!(!trees.insert(said.clone()));
        assert!(trees.take_changes().set.is_empty());
        assert_eq!(trees.object("ns", &said.name), Some(&said));
    }
    // What was said for ever is said again by who looks at the tree.
    assert!(trees.insert(waits));
    assert_eq!(trees.take_changes().set.len(), 1);
    trees.insert(placed);
    let larger = GroupObject {
        min_member: 2,
        ..leaf("a", "all")
    };
    assert!(trees.insert(larger));
    let changed = trees.take_changes().set;
    assert_eq!(changed.first().map(|(job, _)| job.min_member), Some(1));
}

#[test]
fn what_very_many_groups_are_told_has_a_bounded_length() {
    let long = |at: usize| format!("{at:0>250}");
    let links = 300;
    for end in ["", "0"] {
        let parent = |at: usize| match (at + 1 == links, end) {
            (true, "") => String::new(),
            (true, _) => long(0),
            (false, _) => long(at + 1),
        };
        let chain = (0..links).map(|at| composite(&long(at), &parent(at)));
        let leaves = (0..links).map(|at| leaf(&long(at), &long(at)));
        let (_, changes) = told(chain.chain(leaves));
        let told = changes.set.iter().map(|(group, _)| &group.native.unserved);
        let longest = told.map(String::len).max().unwrap_or_default();
        assert!((500..4000).contains(&longest), "{longest}");
    }
    let unserved = |at: usize| {
        let mut group = leaf(&long(at), "all");
        group.native.unserved = "asks for something that is not served".to_owned();
        group
    };
    let all = std::iter::once(composite("all", ""));
    let (_, changes) = told(all.chain((0..1000).map(unserved)));
    let text = &changes.set[0].0.native.unserved;
    assert!(text.len() < 2000, "{}", text.len());
    assert!(text.ends_with("; and 995 more"), "{text}");
}

#[test]
fn a_tree_of_too_many_groups_or_composites_waits_as_a_whole_and_says_so() {
    let many = 5000;
    let names = || (0..many).map(|at| at.to_string());
    let composites = names().map(|name| composite(&name, "all"));
    let leaves = names().map(|name| leaf(&name, "all"));
    for (kind, there, objects) in [
        ("PodGroups", many, leaves.collect::<Vec<_>>()),
        (
            "CompositePodGroups",
            many + 1,
            composites.chain([leaf("one", "all")]).collect(),
        ),
    ] {
        let (_, changes) = told(std::iter::once(composite("all", "")).chain(objects));
        let text = &changes.set[0].0.native.unserved;
        let expected = format!(
            "CompositePodGroup all has {there} {kind}, and a tree may have 4096: divide it"
        );
        assert_eq!(text, &expected);
    }
}

#[test]
fn a_group_that_was_placed_says_so_when_its_tree_goes_before_it_was_told() {
    let (mut trees, _) = told([composite("all", ""), leaf("a", "all"), leaf("b", "all")]);
    trees.note_placed("ns", &leaf("a", "").name);
    assert!(trees.remove("ns", &composite_name("all")));
    let says: Vec<bool> = {
        let alone = trees.take_changes().set.into_iter();
        alone.map(|(group, _)| group.status.says_placed()).collect()
    };
    assert_eq!(says, [true, false], "a and b");
}
