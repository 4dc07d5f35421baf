//! Nodes of which nothing new is told although it should be: whoever repeats reports even while nothing
//! changes, and has stopped, is likely not to work. What was told last stays in use.

use std::collections::{BTreeMap, BTreeSet};

/// Node, and the report it is about.
type About = (String, &'static str);

/// When the next report of each node is overdue.
#[derive(Default)]
pub(crate) struct SilentNodes {
    /// In seconds since 1970, of all that have told something.
    overdue_s: BTreeMap<About, i64>,
    /// Those that were not found overdue yet, the first one first.
    waited_for: BTreeSet<(i64, About)>,
}

/// Nodes that were not found overdue yet, as another one is told of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct SilentMemory {
    waited_for: Vec<WaitedReport>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
struct WaitedReport {
    node: String,
    topic: String,
}

impl SilentNodes {
    /// As another one is told of them that was told the same reports.
    pub(crate) fn keep(&self) -> SilentMemory {
        let waited_for = self
            .waited_for
            .iter()
            .map(|(_, (node, topic))| WaitedReport {
                node: node.clone(),
                topic: (*topic).to_owned(),
            });
        let waited_for = waited_for.collect();
        SilentMemory { waited_for }
    }

    /// What another one told of.
    pub(crate) fn restore(&mut self, mut told: SilentMemory) {
        told.waited_for.sort_unstable();
        self.waited_for.retain(|(_, (node, topic))| {
            let (node, topic) = (node.clone(), (*topic).to_owned());
            told.waited_for
                .binary_search(&WaitedReport { node, topic })
                .is_ok()
        });
    }

    /// Something was told: the next is overdue from this second on; `None` if nothing is to be waited
    /// for any more.
    pub(crate) fn told(&mut self, about: About, overdue_s: Option<i64>) {
        if let Some(before) = self.overdue_s.remove(&about) {
            self.waited_for.remove(&(before, about.clone()));
        }
        if let Some(at) = overdue_s {
            self.waited_for.insert((at, about.clone()));
            self.overdue_s.insert(about, at);
        }
    }

    /// When to ask for those that are overdue again.
    pub(crate) fn due_s(&self) -> Option<i64> {
        self.waited_for.first().map(|(at, _)| *at)
    }

    /// Those that have become overdue; each is named once.
    pub(crate) fn take(&mut self, now_s: i64) -> Vec<About> {
        let mut overdue = Vec::new();
        while let Some((at, about)) = self.waited_for.pop_first() {
            if at > now_s {
                self.waited_for.insert((at, about));
                break;
            }
            overdue.push(about);
        }
        overdue
    }

    /// How many are overdue, and were found to be.
    pub(crate) fn len(&self) -> usize {
        self.overdue_s.len() - self.waited_for.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(node: &str) -> About {
        (node.to_owned(), "devices")
    }

    #[test]
    fn who_is_silent_is_named_once_until_it_tells_something_again() {
        let mut nodes = SilentNodes::default();
        assert_eq!(nodes.due_s(), None);
        nodes.told(of("b"), Some(200));
        nodes.told(of("a"), Some(100));
        assert_eq!(nodes.due_s(), Some(100));
        assert_eq!(nodes.take(99), []);
        assert_eq!((nodes.take(100), nodes.len()), (vec![of("a")], 1));
        assert_eq!((nodes.take(150), nodes.len()), (vec![], 1));
        // What is told late tells of a time that has passed, too.
        nodes.told(of("a"), Some(140));
        assert_eq!((nodes.take(150), nodes.len()), (vec![of("a")], 1));
        nodes.told(of("a"), Some(300));
        assert_eq!((nodes.len(), nodes.due_s()), (0, Some(200)));
        nodes.told(of("b"), None);
        assert_eq!(nodes.take(300), [of("a")]);
        nodes.told(of("a"), None);
        assert_eq!((nodes.len(), nodes.due_s()), (0, None));
    }
}
