//! What a decision writes: annotations of the Binding, and how its sender must go about it.
//!
//! Times are stamped when the Binding is sent, so they are not known here.

use rustc_hash::FxHashMap;

/// The value of an annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkValue {
    /// A text.
    Text(String),
    /// Unix seconds when the Binding is sent.
    Seconds,
    /// A number that grows strictly with every Binding to the node: Unix seconds when the Binding is
    /// sent if that is more than the last one, else the last one + 1.
    Turn,
    /// Unix nanoseconds when the Binding is sent.
    Nanos,
}

/// The moment a Binding is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Unix seconds.
    pub seconds: i64,
    /// Unix nanoseconds.
    pub nanos: i64,
    /// The value of [`MarkValue::Turn`] for its node.
    pub turn: u64,
}

impl MarkValue {
    /// The text that is written.
    pub fn text(&self, sent: Sent) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Seconds => sent.seconds.to_string(),
            Self::Turn => sent.turn.to_string(),
            Self::Nanos => sent.nanos.to_string(),
        }
    }
}

/// Unix nanoseconds are turns too.
const LARGEST_TURN: u64 = i64::MAX as u64;

/// The last turn of every node.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    last: FxHashMap<String, u64>,
}

impl Turns {
    /// The next turn of a node: `now_s`, or one more than the last.
    pub fn next(&mut self, node: &str, now_s: i64) -> u64 {
        let now = u64::try_from(now_s).unwrap_or(0);
        let turn = match self.last.get(node) {
            Some(last) => now.max(last.saturating_add(1)),
            None => now,
        };
        self.last.insert(node.to_owned(), turn);
        turn
    }

    /// A turn somebody took on a node. The end of all turns (`u64::MAX`) is none, nor is anything
    /// near it: there must be a next one.
    pub fn saw(&mut self, node: &str, turn: u64) {
        if turn > LARGEST_TURN {
            return;
        }
        let last = self.last.entry(node.to_owned()).or_insert(turn);
        *last = turn.max(*last);
    }

    /// A node is gone.
    pub fn forget(&mut self, node: &str) {
        self.last.remove(node);
    }
}

/// One annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Key.
    pub key: &'static str,
    /// Value.
    pub value: MarkValue,
}

/// How the device plugin of a family tells, in annotations of a pod, how far it is with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// Annotation that a pod has from its Binding on.
    pub bound_key: &'static str,
    /// Annotation by which the plugin answers.
    pub phase_key: &'static str,
    /// Its values while the plugin has not answered; `None` where it is absent.
    pub busy: &'static [Option<&'static str>],
    /// Annotation with the pod's turn ([`MarkValue::Turn`]).
    pub turn_key: Option<&'static str>,
    /// What a pod gets that ends before the plugin has answered, so that no later pod gets its turn.
    pub cleanup: &'static [(&'static str, &'static str)],
}

impl Protocol {
    /// Whether it knows this annotation.
    pub fn names(&self, key: &str) -> bool {
        [self.bound_key, self.phase_key].contains(&key)
            || self.turn_key == Some(key)
            || self.cleanup.iter().any(|(known, _)| *known == key)
    }

    /// Whether a pod with these annotations waits for the plugin's answer.
    pub fn is_busy<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> bool {
        value(self.bound_key).is_some() && self.busy.contains(&value(self.phase_key))
    }
}

/// Some device plugins are not told which pod they serve; they take the oldest one of the node that
/// looks right. Of pods that look alike but hold different cards, only one may be on its way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// Pods that look alike must wait for each other.
    pub waits: bool,
    /// Pods with different kinds cannot be taken for one another.
    pub kind: u32,
    /// Pods with equal contents may be.
    pub content: String,
}

/// Everything a decision writes for its devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Annotations of the Binding.
    pub annotations: Vec<Mark>,
    /// When it may be sent.
    pub guard: Option<Guard>,
    /// Node annotation that must be taken before the Binding is sent.
    pub lock: Option<&'static str>,
}

impl Marks {
    /// Adds what another family writes. A key that is there already stays as it is.
    pub fn merge(&mut self, other: Self) {
        for mark in other.annotations {
            if self.annotations.iter().all(|known| known.key != mark.key) {
                self.annotations.push(mark);
            }
        }
        self.guard = self.guard.take().or(other.guard);
        self.lock = self.lock.take().or(other.lock);
    }
}
