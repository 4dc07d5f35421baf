//! Which events are worth a write.
//!
//! Events of one object, type, reason and message are one series: one Event object whose count grows.
//! A repeat is written at most every [`REPEAT`]; what comes between is only counted. Another message
//! is another fact, and an event of its own, unless the reason is one of [`STATES`]: what such an
//! event tells takes the place of what it told before. What is said first is often said before all is
//! known, so it is put right at once; from then on a message is written every [`REWORD`] at most: one
//! that comes sooner waits for its time, and the newest of those that wait is written. A series that
//! was left alone for so long may be put right at once again. Beyond that each object has a bucket as
//! in client-go: 25, then one per 5 minutes (spec/01 §4.7), which delays changed messages and drops
//! other events.
//!
//! Pure: times are handed in. Memory: [`MAX_OBJECTS`] objects with [`MAX_SERIES`] series each.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::time::Duration;

use jiff::Timestamp;
use rustc_hash::FxBuildHasher;
use tokio::time::Instant;

use crate::ObjectRef;

use crate::api::backoff::Bucket;

const REPEAT: Duration = Duration::from_secs(300);
const REWORD: Duration = Duration::from_secs(30);
/// Messages of a series that may be written at once: one, and what puts it right.
const AT_ONCE: u32 = 2;
const BURST: u32 = 25;
const RATE: f32 = 1.0 / 300.0;
/// Reasons of events that tell how something stands: why a pod or a group waits, all that is wrong
/// with an object or a configuration, the last answer of somebody who is asked again and again.
const STATES: [&str; 15] = [
    "FailedScheduling",
    "Unschedulable",
    "PodGroupPending",
    "DependencyDeadlock",
    "InvalidJob",
    "InvalidObject",
    "InvalidQueue",
    "InvalidHyperNode",
    "NoNetworkDomains",
    "InvalidConfiguration",
    "ConfigurationWarnings",
    "MissingDefinitions",
    "NoNodeUsage",
    "ExtenderFails",
    "QueueAllocationGate",
];
/// Reason of the event with which waiting ends: what was to be told of the wait is not any more.
const SCHEDULED: &str = "Scheduled";
const MAX_OBJECTS: usize = 16_384;
const MAX_SERIES: usize = 16;
/// `core/v1 Event.message` is cut here.
const MAX_MESSAGE: usize = 1024;
/// Where a message goes on that was cut.
const CUT: &str = " …";
/// Names of objects are at most this long.
const MAX_NAME: usize = 253;

/// An Event object as it is to be.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EventRecord {
    pub(super) name: String,
    pub(super) about: ObjectRef,
    pub(super) warning: bool,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) count: i32,
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
    /// How long it has to wait.
    pub(super) wait: Duration,
}

/// What to do about an event.
#[derive(Debug, Default, PartialEq)]
pub(super) struct EventVerdict {
    /// To be written, in the place of one of that name that waits.
    pub(super) record: Option<EventRecord>,
    /// Names of events that are not to be written any more if they still wait.
    pub(super) withdrawn: Vec<String>,
}

struct EventSeries {
    warning: bool,
    reason: String,
    message: u64,
    /// Other messages that may be written.
    words: Bucket,
    name: String,
    count: i32,
    first: Timestamp,
    /// When it was written last, or will be.
    written: Instant,
}

struct Object {
    bucket: Bucket,
    series: VecDeque<EventSeries>,
}

/// See the module.
pub(super) struct Correlator {
    repeat: Duration,
    objects: HashMap<u64, Object, FxBuildHasher>,
    order: VecDeque<u64>,
    last_stamp: i64,
}

impl EventSeries {
    /// When the message may be written, and none that waits already has to be paid for again;
    /// `None` when it is a repeat that is not due.
    fn turn(
        &mut self,
        digest: u64,
        bucket: &mut Bucket,
        (now, repeat): (Instant, Duration),
    ) -> Option<Instant> {
        self.count = self.count.saturating_add(1);
        if self.message == digest {
            let due = now >= self.written + repeat && bucket.try_take(now);
            return due.then_some(now);
        }
        // One that waits gives its place to the newer one.
        if now < self.written {
            return Some(self.written);
        }
        Some(now + self.words.take(now).max(bucket.take(now)))
    }
}

impl Correlator {
    /// `lifetime`: how long the API server keeps an event.
    pub(super) fn new(lifetime: Duration) -> Self {
        Self {
            repeat: REPEAT.min(lifetime / 4),
            objects: HashMap::default(),
            order: VecDeque::new(),
            last_stamp: 0,
        }
    }

    /// What to write for an event, if anything.
    pub(super) fn consider(
        &mut self,
        about: ObjectRef,
        warning: bool,
        reason: String,
        message: &str,
        (now, wall): (Instant, Timestamp),
    ) -> EventVerdict {
        let message = cut_at_word(message, MAX_MESSAGE);
        let message = message.as_ref();
        let digest = FxBuildHasher.hash_one(message);
        let (stamp, repeat) = (self.stamp(wall), self.repeat);
        let object = self.object(&about, now);
        let mut verdict = EventVerdict::default();
        if reason == SCHEDULED {
            verdict.withdrawn = object.withdraw(now);
        }
        let is_state = STATES.contains(&reason.as_str());
        let known = object.series.iter_mut().find(|series| {
            let is_same_fact = is_state || series.message == digest;
            series.warning == warning && series.reason == reason && is_same_fact
        });
        let (name, count, first, due) = match known {
            Some(series) => {
                let Some(due) = series.turn(digest, &mut object.bucket, (now, repeat)) else {
                    return verdict;
                };
                series.message = digest;
                series.written = due;
                (series.name.clone(), series.count, series.first, due)
            }
            None => {
                if !object.bucket.try_take(now) {
                    return verdict;
                }
                let hex = format!("{stamp:x}");
                let name = format!("{}.{hex}", cut(&about.name, MAX_NAME - 1 - hex.len()));
                let mut words = Bucket::new(1.0 / REWORD.as_secs_f32(), AT_ONCE, now);
                words.take(now);
                object.series.truncate(MAX_SERIES - 1);
                object.series.push_front(EventSeries {
                    warning,
                    reason: reason.clone(),
                    message: digest,
                    words,
                    name: name.clone(),
                    count: 1,
                    first: wall,
                    written: now,
                });
                (name, 1, wall, now)
            }
        };
        verdict.record = Some(EventRecord {
            name,
            about,
            warning,
            reason,
            message: message.to_owned(),
            count,
            first,
            last: wall,
            wait: due.saturating_duration_since(now),
        });
        verdict
    }

    /// Nanoseconds of the wall clock, but never the same twice.
    fn stamp(&mut self, wall: Timestamp) -> i64 {
        let nanos = i64::try_from(wall.as_nanosecond()).unwrap_or(0);
        self.last_stamp = nanos.max(self.last_stamp + 1);
        self.last_stamp
    }

    fn object(&mut self, about: &ObjectRef, now: Instant) -> &mut Object {
        let key = match about.uid.as_str() {
            "" => FxBuildHasher.hash_one((&about.kind, &about.namespace, &about.name)),
            uid => FxBuildHasher.hash_one(uid),
        };
        if !self.objects.contains_key(&key) {
            self.order.push_back(key);
            if self.order.len() > MAX_OBJECTS {
                self.order
                    .pop_front()
                    .map(|oldest| self.objects.remove(&oldest));
            }
        }
        self.objects.entry(key).or_insert_with(|| Object {
            bucket: Bucket::new(RATE, BURST, now),
            series: VecDeque::new(),
        })
    }
}

impl Object {
    /// Nothing that waits is to be written any more; names of what may wait.
    fn withdraw(&mut self, now: Instant) -> Vec<String> {
        let waiting = self.series.iter_mut().filter(|series| series.written > now);
        let withdraw = |series: &mut EventSeries| {
            // What is on the server is not known any more: the next message is another one.
            (series.message, series.written) = (0, now);
            series.name.clone()
        };
        waiting.map(withdraw).collect()
    }
}

/// At most so many bytes: up to a word, where there is one not far from the end.
fn cut_at_word(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let room = cut(text, most - CUT.len());
    match room.rfind(char::is_whitespace) {
        Some(at) if at >= most / 2 => Cow::Owned(format!("{}{CUT}", room[..at].trim_end())),
        _ => Cow::Borrowed(cut(text, most)),
    }
}

/// At most so many bytes, whole characters.
fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    struct Bench {
        correlator: Correlator,
        start: Instant,
    }

    impl Bench {
        fn new() -> Self {
            Self {
                correlator: Correlator::new(Duration::from_secs(3600)),
                start: Instant::now(),
            }
        }

        fn event(
            &mut self,
            pod: &str,
            reason: &str,
            message: &str,
            at: u64,
        ) -> Option<EventRecord> {
            self.verdict(pod, reason, message, at).record
        }

        fn verdict(&mut self, pod: &str, reason: &str, message: &str, at: u64) -> EventVerdict {
            let about = ObjectRef {
                api_version: "v1".to_owned(),
                kind: "Pod".to_owned(),
                namespace: "ns".to_owned(),
                name: pod.to_owned(),
                uid: format!("uid-{pod}"),
            };
            let now = self.start + Duration::from_secs(at);
            let wall = Timestamp::from_second(1_000_000 + at as i64).expect("in range");
            let reason = reason.to_owned();
            self.correlator
                .consider(about, true, reason, message, (now, wall))
        }
    }

    #[test]
    fn a_repeat_is_counted_and_written_after_5_minutes_as_the_same_event() {
        let mut bench = Bench::new();
        let first = bench
            .event("p", "FailedScheduling", "no room", 0)
            .expect("new");
        assert!((1..300).all(|at| {
            bench
                .event("p", "FailedScheduling", "no room", at)
                .is_none()
        }));
        let again = bench
            .event("p", "FailedScheduling", "no room", 300)
            .expect("due");
        assert_eq!((again.name, again.count), (first.name, 301));
        assert_eq!(
            (again.first, again.last.as_second()),
            (first.first, 1_000_300)
        );
    }

    /// What is written for each of these messages, in seconds: which, when, with which count.
    fn written(reason: &str, messages: &[(u64, &str)]) -> Vec<(String, u64, i32)> {
        let mut bench = Bench::new();
        let mut names = BTreeSet::new();
        let mut written = Vec::new();
        for (at, message) in messages {
            let Some(record) = bench.event("p", reason, message, *at) else {
                continue;
            };
            names.insert(record.name);
            // Rounded: a share of a second is lost where tokens are counted.
            let wait = record.wait.as_secs_f64().round() as u64;
            written.push((record.message, at + wait, record.count));
        }
        assert_eq!(names.len(), 1, "one event: {names:?}");
        written
    }

    #[test]
    fn a_message_is_put_right_at_once_and_then_written_every_30_s_with_the_newest_words() {
        for reason in ["FailedScheduling", "PodGroupPending", "QueueAllocationGate"] {
            let written = written(
                reason,
                &[
                    (0, "make 18 more pods"),
                    (4, "no memory"),
                    (5, "no memory"),
                    (6, "cordoned"),
                    (29, "no cpu"),
                    (31, "tainted"),
                    (200, "no cpu"),
                    (201, "no memory"),
                    (202, "cordoned"),
                ],
            );
            let wanted = [
                ("make 18 more pods", 0, 1),
                ("no memory", 4, 2),
                ("cordoned", 30, 4),
                ("no cpu", 30, 5),
                ("tainted", 60, 6),
                // It was left alone for a while.
                ("no cpu", 200, 7),
                ("no memory", 201, 8),
                ("cordoned", 230, 9),
            ];
            assert_eq!(
                written,
                wanted.map(|(words, at, n)| (words.to_owned(), at, n))
            );
        }
    }

    #[test]
    fn however_often_a_message_changes_the_writes_are_bounded() {
        let words: Vec<String> = (0..600).map(|at| format!("{at} cpu are missing")).collect();
        let messages: Vec<(u64, &str)> = (0..).zip(words.iter().map(String::as_str)).collect();
        let times: BTreeSet<u64> = written("FailedScheduling", &messages)
            .into_iter()
            .map(|(_, at, _)| at)
            .collect();
        // In ten minutes: two at once, then one each half minute.
        assert_eq!(times.len(), 2 + 600 / 30, "{times:?}");
    }

    #[test]
    fn each_fact_about_an_object_is_an_event_of_its_own() {
        let mut bench = Bench::new();
        let mut told = |at, message| {
            let record = bench.event("n1", "Devices", message, at);
            record.map(|record| (record.name, record.count, record.wait.as_secs()))
        };
        let (first, _, _) = told(0, "card GPU-0 is told twice").expect("new");
        let (second, _, wait) = told(0, "card GPU-1 has no memory").expect("another fact");
        assert_ne!(first, second);
        assert_eq!(wait, 0);
        assert_eq!(told(1, "card GPU-0 is told twice"), None, "a repeat");
        let again = told(301, "card GPU-0 is told twice").expect("due");
        assert_eq!(again, (first, 3, 0));
    }

    #[test]
    fn a_changed_message_of_a_noisy_object_is_late_and_not_lost() {
        let mut bench = Bench::new();
        bench.event("p", "FailedScheduling", "no cpu", 0);
        for reason in 0..40 {
            bench.event("p", &format!("Noise{reason}"), "", 0);
        }
        // The noise has pushed out no series yet: sixteen are kept, the newest.
        bench.event("p", "FailedScheduling", "no cpu", 301);
        let changed = bench.event("p", "FailedScheduling", "no memory", 302);
        let changed = changed.expect("it waits for its turn");
        assert!(
            changed.wait > REWORD && changed.wait <= REPEAT,
            "{changed:?}"
        );
    }

    #[test]
    fn what_waits_to_be_told_is_withdrawn_when_the_pod_is_scheduled() {
        let mut bench = Bench::new();
        let first = bench.event("p", "FailedScheduling", "no cpu", 0);
        let name = first.expect("new").name;
        bench.event("p", "FailedScheduling", "no memory", 3);
        bench.event("p", "FailedScheduling", "cordoned", 4);
        let end = bench.verdict("p", "Scheduled", "on n1", 5);
        assert_eq!(end.withdrawn, std::slice::from_ref(&name));
        assert!(end.record.is_some_and(|record| record.wait.is_zero()));
        // A failed Binding: it waits again.
        let again = bench.event("p", "FailedScheduling", "no memory", 6);
        assert_eq!(again.map(|record| record.name), Some(name));
    }

    #[test]
    fn repeats_come_before_a_server_that_forgets_early_has_forgotten() {
        let mut bench = Bench::new();
        bench.correlator = Correlator::new(Duration::from_secs(40));
        bench.event("p", "FailedScheduling", "no cpu", 0);
        assert!(bench.event("p", "FailedScheduling", "no cpu", 9).is_none());
        assert!(bench.event("p", "FailedScheduling", "no cpu", 10).is_some());
    }

    #[test]
    fn another_reason_or_object_is_another_event() {
        let mut bench = Bench::new();
        let names = [
            ("p", "FailedScheduling"),
            ("p", "Scheduled"),
            ("q", "Scheduled"),
        ]
        .map(|(pod, reason)| bench.event(pod, reason, "text", 0).expect("new").name);
        assert_ne!(names[0], names[1]);
        assert!(names[1].starts_with("p.") && names[2].starts_with("q."));
    }

    #[test]
    fn an_object_gets_25_events_then_one_per_5_minutes() {
        let mut bench = Bench::new();
        let written = |bench: &mut Bench, at| {
            let kept = |i: &u32| {
                bench
                    .event("p", &format!("Reason{at}-{i}"), "", at)
                    .is_some()
            };
            (0..40).filter(kept).count()
        };
        assert_eq!(written(&mut bench, 0), 25);
        assert_eq!(written(&mut bench, 301), 1);
    }

    #[test]
    fn messages_and_names_are_cut_between_characters() {
        let mut bench = Bench::new();
        let record = bench
            .event(&"p".repeat(253), "R", &"ß".repeat(600), 0)
            .expect("new");
        assert_eq!(record.message, "ß".repeat(512));
        assert_eq!(record.name.len(), 253);
        let odd = bench
            .event("q", "R", &format!("x{}", "ß".repeat(600)), 0)
            .expect("new");
        assert_eq!(odd.message.len(), 1023);
        let words = bench.event("r", "R", &"insufficient memory ".repeat(60), 0);
        let message = words.expect("new").message;
        assert!(
            message.ends_with(" memory …") && message.len() > 1000,
            "{message}"
        );
    }

    #[test]
    fn memory_is_bounded() {
        let mut bench = Bench::new();
        for pod in 0..MAX_OBJECTS + 100 {
            bench.event(&pod.to_string(), "R", "", 0);
        }
        assert_eq!(bench.correlator.objects.len(), MAX_OBJECTS);
        for reason in 0..20 {
            bench.event("p", &reason.to_string(), "", 0);
        }
        let most = bench
            .correlator
            .objects
            .values()
            .map(|object| object.series.len())
            .max();
        assert_eq!(most, Some(MAX_SERIES));
    }
}
