//! Which queues take Jobs: those without queues below them.

use std::collections::{BTreeMap, BTreeSet};

use pumice_api::keys;

/// Most queues that are named.
const MAX_NAMED: usize = 5;

/// Why a queue takes no Jobs because of where it stands, in words that name queues below it that do.
/// `queues` are all there are: name and parent, an empty one for the root.
pub fn not_a_leaf<'a>(
    name: &str,
    queues: impl Iterator<Item = (&'a str, &'a str)> + Clone,
) -> Option<String> {
    let queues = queues.filter(|(queue, _)| *queue != keys::ROOT_QUEUE);
    let queues = queues.map(|(queue, parent)| match parent {
        "" => (queue, keys::ROOT_QUEUE),
        parent => (queue, parent),
    });
    let is_root = name == keys::ROOT_QUEUE;
    if !is_root && queues.clone().all(|(_, parent)| parent != name) {
        return None;
    }
    let mut below: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (queue, parent) in queues {
        below.entry(parent).or_default().insert(queue);
    }
    let mut leaves = BTreeSet::new();
    let mut seen = BTreeSet::from([name]);
    let mut open = vec![name];
    while let Some(at) = open.pop() {
        for &queue in below.get(at).into_iter().flatten() {
            match below.contains_key(queue) {
                false => _ = leaves.insert(queue),
                true if seen.insert(queue) => open.push(queue),
                true => {}
            }
        }
    }
    let named = leaves
        .iter()
        .take(MAX_NAMED)
        .map(|leaf| format!("{leaf:?}"));
    let mut named = named.collect::<Vec<String>>().join(", ");
    let more = leaves.len().saturating_sub(MAX_NAMED);
    if more > 0 {
        named = format!("{named} and {more} more");
    }
    Some(match (is_root, named.is_empty()) {
        (true, true) => "queue \"root\" takes no Jobs; make a queue and name that".to_owned(),
        (true, false) => format!("queue \"root\" takes no Jobs; name one of {named}"),
        (false, true) => format!(
            "queue {name:?} has queues below it and takes no Jobs; make one that has none and name that"
        ),
        (false, false) => format!(
            "queue {name:?} has queues below it, as {named}, and takes no Jobs; name one of these"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::not_a_leaf;

    const QUEUES: [(&str, &str); 6] = [
        ("root", ""),
        ("default", ""),
        ("a", "root"),
        ("a-1", "a"),
        ("a-2", "a"),
        ("a-2-x", "a-2"),
    ];

    #[test]
    fn the_leaves_below_are_named() {
        let told = |name: &str| not_a_leaf(name, QUEUES.into_iter());
        assert_eq!(told("a-1"), None);
        assert_eq!(told("nosuch"), None);
        assert_eq!(
            told("a").unwrap(),
            "queue \"a\" has queues below it, as \"a-1\", \"a-2-x\", and takes no Jobs; name one of these"
        );
        assert_eq!(
            told("root").unwrap(),
            "queue \"root\" takes no Jobs; name one of \"a-1\", \"a-2-x\", \"default\""
        );
    }

    #[test]
    fn a_circle_ends_and_many_are_counted() {
        let circle = [("a", "b"), ("b", "a")];
        assert_eq!(
            not_a_leaf("a", circle.into_iter()).unwrap(),
            "queue \"a\" has queues below it and takes no Jobs; make one that has none and name that"
        );
        let names: Vec<String> = (0..7).map(|at| format!("q{at}")).collect();
        let many = names.iter().map(|name| (name.as_str(), ""));
        let told = not_a_leaf("root", many).unwrap();
        assert!(told.ends_with("\"q4\" and 2 more"), "{told}");
    }
}
