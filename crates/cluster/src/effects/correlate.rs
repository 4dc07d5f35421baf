//! Which events are worth a write.
//!
//! Events of one object, type and reason are one series: one Event object whose count grows. A
//! repeat is written at most every [`REPEAT`], a changed message at most every [`REWORD`]; what
//! comes between is only counted. Beyond that each object has a bucket as in client-go: 25, then
//! one per 5 minutes (spec/01 §4.7).
//!
//! Pure: times are handed in. Memory: [`MOST_OBJECTS`] objects with [`MOST_SERIES`] series each.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::time::Duration;

use jiff::Timestamp;
use rustc_hash::FxBuildHasher;
use tokio::time::Instant;

use crate::ObjectRef;

use super::backoff::Bucket;

const REPEAT: Duration = Duration::from_secs(300);
const REWORD: Duration = Duration::from_secs(30);
const BURST: u32 = 25;
const RATE: f32 = 1.0 / 300.0;
const MOST_OBJECTS: usize = 16_384;
const MOST_SERIES: usize = 16;
/// `core/v1 Event.message` is cut here.
const MOST_MESSAGE: usize = 1024;
/// Names of objects are at most this long.
const MOST_NAME: usize = 253;

/// An Event object as it is to be.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    pub(super) name: String,
    pub(super) about: ObjectRef,
    pub(super) warning: bool,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) count: i32,
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
}

struct Series {
    warning: bool,
    reason: String,
    message: u64,
    name: String,
    count: i32,
    first: Timestamp,
    written: Instant,
}

struct Object {
    bucket: Bucket,
    series: VecDeque<Series>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Correlator {
    objects: HashMap<u64, Object, FxBuildHasher>,
    order: VecDeque<u64>,
    last_stamp: i64,
}

impl Correlator {
    /// What to write for an event, if anything.
    pub(super) fn consider(
        &mut self,
        about: ObjectRef,
        warning: bool,
        reason: String,
        message: &str,
        (now, wall): (Instant, Timestamp),
    ) -> Option<Record> {
        let message = cut(message, MOST_MESSAGE);
        let digest = FxBuildHasher.hash_one(message);
        let stamp = self.stamp(wall);
        let object = self.object(&about, now);
        let known = object
            .series
            .iter_mut()
            .find(|series| series.warning == warning && series.reason == reason);
        let (name, count, first) = match known {
            Some(series) => {
                series.count = series.count.saturating_add(1);
                let spacing = if series.message == digest {
                    REPEAT
                } else {
                    REWORD
                };
                if now < series.written + spacing || !object.bucket.try_take(now) {
                    return None;
                }
                series.message = digest;
                series.written = now;
                (series.name.clone(), series.count, series.first)
            }
            None => {
                if !object.bucket.try_take(now) {
                    return None;
                }
                let hex = format!("{stamp:x}");
                let name = format!("{}.{hex}", cut(&about.name, MOST_NAME - 1 - hex.len()));
                object.series.truncate(MOST_SERIES - 1);
                object.series.push_front(Series {
                    warning,
                    reason: reason.clone(),
                    message: digest,
                    name: name.clone(),
                    count: 1,
                    first: wall,
                    written: now,
                });
                (name, 1, wall)
            }
        };
        Some(Record {
            name,
            about,
            warning,
            reason,
            message: message.to_owned(),
            count,
            first,
            last: wall,
        })
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
            if self.order.len() > MOST_OBJECTS {
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

/// At most so many bytes, whole characters.
fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bench {
        correlator: Correlator,
        start: Instant,
    }

    impl Bench {
        fn new() -> Self {
            Self {
                correlator: Correlator::default(),
                start: Instant::now(),
            }
        }

        fn event(&mut self, pod: &str, reason: &str, message: &str, at: u64) -> Option<Record> {
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

    #[test]
    fn a_new_message_is_written_after_30_s() {
        let mut bench = Bench::new();
        assert!(bench.event("p", "FailedScheduling", "no cpu", 0).is_some());
        assert!(
            bench
                .event("p", "FailedScheduling", "no memory", 29)
                .is_none()
        );
        let reworded = bench
            .event("p", "FailedScheduling", "no memory", 30)
            .expect("due");
        assert_eq!(
            (reworded.message.as_str(), reworded.count),
            ("no memory", 3)
        );
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
    }

    #[test]
    fn memory_is_bounded() {
        let mut bench = Bench::new();
        for pod in 0..MOST_OBJECTS + 100 {
            bench.event(&pod.to_string(), "R", "", 0);
        }
        assert_eq!(bench.correlator.objects.len(), MOST_OBJECTS);
        for reason in 0..20 {
            bench.event("p", &reason.to_string(), "", 0);
        }
        let most = bench
            .correlator
            .objects
            .values()
            .map(|object| object.series.len())
            .max();
        assert_eq!(most, Some(MOST_SERIES));
    }
}
