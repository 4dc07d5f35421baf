//! What a decision writes: annotations of the Binding, and how its sender must go about it.
//!
//! Times are stamped when the Binding is sent, so they are not known here.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::settings::Settings;

/// The value of an annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnnotationValue {
    /// A text that is known when the pod is placed.
    Text(String),
    /// Unix seconds when the Binding is sent.
    Seconds,
    /// A number that grows strictly with every Binding to the node: Unix seconds when the Binding is
    /// sent if that is more than the last one, else the last one + 1.
    Sequence,
    /// Unix nanoseconds when the Binding is sent.
    Nanos,
    /// As [`AnnotationValue::Sequence`], counted in nanoseconds.
    NanoSequence,
}

/// The moment a Binding is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Unix seconds.
    pub seconds: i64,
    /// Unix nanoseconds.
    pub nanos: i64,
    /// The value of [`AnnotationValue::Sequence`] for its node.
    pub sequence: u64,
    /// The value of [`AnnotationValue::NanoSequence`] for its node.
    pub nano_sequence: u64,
}

impl AnnotationValue {
    /// The text that is written.
    pub fn text(&self, sent: Sent) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Seconds => sent.seconds.to_string(),
            Self::Sequence => sent.sequence.to_string(),
            Self::Nanos => sent.nanos.to_string(),
            Self::NanoSequence => sent.nano_sequence.to_string(),
        }
    }
}

/// Unix nanoseconds are sequence numbers too.
const LARGEST_SEQUENCE: u64 = i64::MAX as u64;

/// The last sequence of every node.
#[derive(Clone, Debug, Default)]
pub struct Sequences {
    last: FxHashMap<String, u64>,
    last_nanos: FxHashMap<String, u64>,
}

fn next_of(last: &mut FxHashMap<String, u64>, node: &str, now: i64) -> u64 {
    let now = u64::try_from(now).unwrap_or(0);
    let next = match last.get(node) {
        Some(last) => now.max(last.saturating_add(1)),
        None => now,
    };
    last.insert(node.to_owned(), next);
    next
}

impl Sequences {
    /// The next sequence of a node: `now_s`, or one more than the last.
    pub fn next(&mut self, node: &str, now_s: i64) -> u64 {
        next_of(&mut self.last, node, now_s)
    }

    /// The next sequence of a node that counts nanoseconds: `now_ns`, or one more than the last.
    pub fn next_nanos(&mut self, node: &str, now_ns: i64) -> u64 {
        next_of(&mut self.last_nanos, node, now_ns)
    }

    /// A sequence somebody took on a node. The end of all numbers (`u64::MAX`) is none, nor is anything
    /// near it: there must be a next one.
    pub fn saw(&mut self, node: &str, sequence: u64) {
        if sequence > LARGEST_SEQUENCE {
            return;
        }
        let last = self.last.entry(node.to_owned()).or_insert(sequence);
        *last = sequence.max(*last);
    }

    /// A node is gone.
    pub fn forget(&mut self, node: &str) {
        self.last.remove(node);
        self.last_nanos.remove(node);
    }
}

/// One annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// Key of the annotation.
    pub key: Cow<'static, str>,
    /// Value of the annotation.
    pub value: AnnotationValue,
}

impl Annotation {
    /// An annotation.
    pub fn new(key: impl Into<Cow<'static, str>>, value: AnnotationValue) -> Self {
        Self {
            key: key.into(),
            value,
        }
    }
}

/// When a device plugin takes other pods for one that it has answered, and that is not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UntilStarted {
    /// While it has answered with one of these; with none it never does.
    Answered(&'static [&'static str]),
    /// Always: it does not answer at all.
    Bound,
}

/// How the device plugin of a family tells, in annotations of a pod, how far it is with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PluginProtocol {
    /// What the plugin is called, for messages.
    pub plugin: &'static str,
    /// Annotation that a pod has from its Binding on.
    pub bound_key: &'static str,
    /// Annotation by which the plugin answers.
    pub phase_key: &'static str,
    /// Values of [`Self::phase_key`] while the plugin has not answered; `None` where the annotation is
    /// absent.
    pub busy: &'static [Option<&'static str>],
    /// When it still may take other pods for this one until the containers of this one are started.
    pub busy_until_started: UntilStarted,
    /// Annotation with the pod's sequence ([`AnnotationValue::Sequence`]).
    pub sequence_key: Option<&'static str>,
    /// What a pod gets that ends before the plugin has answered, so that no later pod gets its number.
    pub cleanup: &'static [(&'static str, &'static str)],
}

impl PluginProtocol {
    /// Whether it knows this annotation.
    pub fn names(&self, key: &str) -> bool {
        [self.bound_key, self.phase_key].contains(&key)
            || self.sequence_key == Some(key)
            || self.cleanup.iter().any(|(known, _)| *known == key)
    }

    /// Whether a pod with these annotations waits for the plugin's answer.
    pub fn is_busy<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> bool {
        value(self.bound_key).is_some() && self.busy.contains(&value(self.phase_key))
    }

    /// Whether the plugin may still take another pod for one with these annotations, whose containers
    /// are not started.
    pub fn is_mistakable<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> bool {
        let is_busy = match self.busy_until_started {
            UntilStarted::Answered(phases) => {
                value(self.phase_key).is_some_and(|phase| phases.contains(&phase))
            }
            UntilStarted::Bound => value(self.bound_key).is_some(),
        };
        is_busy || self.is_busy(value)
    }
}

/// Some device plugins are not told which pod they serve; they take the oldest one of the node that
/// looks right. Of pods that look alike but hold different cards, only one may be on its way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InFlightGuard {
    /// Pods that look alike must wait for each other.
    pub waits: bool,
    /// Pods with different kinds cannot be taken for one another.
    pub kind: u32,
    /// Pods with equal contents may be. An empty one is like no other.
    pub content: String,
}

/// An annotation of a node by which device plugin and schedulers take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeLock {
    /// Key of the annotation.
    pub key: &'static str,
    /// The value of the annotation names the pod besides the time: `<time>,<namespace>,<name>`.
    pub names_pod: bool,
    /// Seconds after which it may be taken over, where that is not the usual time.
    pub lasts_s: Option<u32>,
}

impl NodeLock {
    /// One whose value is the time alone.
    pub const fn new(key: &'static str) -> Self {
        Self {
            key,
            names_pod: false,
            lasts_s: None,
        }
    }

    /// One whose value is the time alone, and that runs out after so many seconds.
    pub const fn lasting(key: &'static str, seconds: u32) -> Self {
        Self {
            key,
            names_pod: false,
            lasts_s: Some(seconds),
        }
    }

    /// One that names the pod, so that the plugin need not guess.
    pub const fn naming_pod(key: &'static str) -> Self {
        Self {
            key,
            names_pod: true,
            lasts_s: None,
        }
    }
}

/// Everything a decision writes for its devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BindingAnnotations {
    /// Annotations of the Binding.
    pub annotations: Vec<Annotation>,
    /// When it may be sent.
    pub guard: Option<InFlightGuard>,
    /// What of the node must be taken before the Binding is sent, by key: all take them in this order.
    pub locks: Vec<NodeLock>,
}

impl BindingAnnotations {
    /// Adds what another family writes, each key once. A key that is there already stays as it is.
    /// A pod of two device plugins minds all that either could take for it.
    pub fn merge(&mut self, other: Self) {
        let mut more = other.annotations;
        if self.annotations.is_empty() {
            self.annotations = std::mem::take(&mut more);
        }
        for mark in more {
            if self.annotations.iter().all(|known| known.key != mark.key) {
                self.annotations.push(mark);
            }
        }
        self.guard = match (self.guard.take(), other.guard) {
            (Some(one), Some(other)) => Some(InFlightGuard {
                waits: one.waits || other.waits,
                kind: one.kind,
                content: String::new(),
            }),
            (one, other) => one.or(other),
        };
        self.locks.extend(other.locks);
        self.locks.sort_unstable_by_key(|lock| lock.key);
        self.locks.dedup_by_key(|lock| lock.key);
    }
}

/// How the Bindings with devices of a family are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindProtocol {
    /// Pods that look alike wait for each other.
    pub waits: bool,
    /// What of the node must be taken before.
    pub lock: Option<NodeLock>,
}

impl BindProtocol {
    /// As the settings want it, of a family with this lock.
    pub fn of(settings: &Settings, lock: NodeLock) -> Self {
        Self {
            waits: settings.in_flight_guard,
            lock: settings.node_lock.then_some(lock),
        }
    }

    /// What is written to a pod whose device plugin cannot tell it from others of `content`, whatever
    /// else they ask.
    pub fn binding(self, annotations: Vec<Annotation>, content: String) -> BindingAnnotations {
        BindingAnnotations {
            annotations,
            guard: Some(InFlightGuard {
                waits: self.waits,
                // Any two pods of a node may be taken for one another.
                kind: 0,
                content,
            }),
            locks: self.lock.into_iter().collect(),
        }
    }
}
