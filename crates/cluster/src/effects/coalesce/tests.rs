use proptest::prelude::*;

use super::*;

/// A value, its delay and its spacing in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Text(char, u64, u64);

impl Coalesce for Text {
    fn delay(&self) -> Duration {
        Duration::from_secs(self.1)
    }

    fn spacing(&self, last: &Self) -> Duration {
        let same = last.0.eq_ignore_ascii_case(&self.0);
        Duration::from_secs(if same { self.2 } else { 0 })
    }
}

fn now(char: char) -> Text {
    Text(char, 0, 0)
}

struct Bench {
    waiting: Coalescer<u8, Text>,
    start: Instant,
}

impl Bench {
    fn new() -> Self {
        Self {
            waiting: Coalescer::new(),
            start: Instant::now(),
        }
    }

    fn at(&self, seconds: u64) -> Instant {
        self.start + Duration::from_secs(seconds)
    }

    fn submit(&mut self, key: u8, value: Text, at: u64) {
        self.waiting.submit(key, value, self.at(at));
    }

    /// Everything due, as text; all of it ends well.
    fn written(&mut self, at: u64) -> String {
        let mut out = String::new();
        while let Some((key, value, _)) = self.waiting.begin(self.at(at)) {
            out.push(value.0);
            self.waiting.end(&key, Finish::Done, self.at(at));
        }
        out
    }
}

#[test]
fn the_newest_write_of_an_object_replaces_the_one_that_waits() {
    let mut bench = Bench::new();
    bench.submit(1, Text('a', 1, 0), 0);
    bench.submit(2, Text('x', 1, 0), 0);
    bench.submit(1, Text('b', 1, 0), 0);
    assert_eq!(bench.written(0), "");
    assert_eq!(bench.written(1), "xb");
}

#[test]
fn a_stream_of_changes_does_not_put_the_write_off() {
    let mut bench = Bench::new();
    bench.submit(1, Text('a', 2, 0), 0);
    bench.submit(1, Text('b', 2, 0), 1);
    assert_eq!(bench.written(2), "b");
}

#[test]
fn an_urgent_change_goes_at_once() {
    let mut bench = Bench::new();
    bench.submit(1, Text('a', 5, 0), 0);
    bench.submit(1, now('b'), 1);
    assert_eq!(bench.written(1), "b");
}

#[test]
fn one_write_is_under_way_per_object() {
    let mut bench = Bench::new();
    bench.submit(1, now('a'), 0);
    assert!(bench.waiting.begin(bench.at(0)).is_some());
    bench.submit(1, now('b'), 0);
    bench.submit(1, now('c'), 0);
    assert_eq!(bench.written(0), "");
    assert!(bench.waiting.is_under_way(&1));
    bench.waiting.end(&1, Finish::Done, bench.at(0));
    assert_eq!(bench.written(0), "c");
}

#[test]
fn a_write_equal_to_the_last_is_dropped_until_the_watch_must_have_caught_up() {
    let mut bench = Bench::new();
    bench.submit(1, now('a'), 0);
    assert_eq!(bench.written(0), "a");
    bench.submit(1, now('a'), 9);
    assert_eq!(bench.written(9), "");
    bench.submit(1, now('a'), 10);
    assert_eq!(bench.written(10), "a");
}

#[test]
fn going_back_to_what_is_written_drops_the_change_that_waits() {
    let mut bench = Bench::new();
    bench.submit(1, now('a'), 0);
    assert_eq!(bench.written(0), "a");
    bench.submit(1, Text('b', 1, 0), 1);
    bench.submit(1, now('a'), 1);
    assert_eq!(bench.written(5), "");
    assert_eq!(bench.waiting.len(), 0);
}

#[test]
fn spacing_holds_alike_writes_apart_and_lets_others_through() {
    let mut bench = Bench::new();
    bench.submit(1, Text('a', 0, 5), 0);
    assert_eq!(bench.written(0), "a");
    bench.submit(1, Text('A', 0, 5), 1);
    assert_eq!(bench.written(4), "");
    assert_eq!(bench.written(5), "A");
    bench.submit(1, Text('b', 0, 5), 6);
    assert_eq!(bench.written(6), "b");
}

#[test]
fn a_failed_write_is_tried_again_unless_there_is_a_newer_one() {
    let mut bench = Bench::new();
    bench.submit(1, now('a'), 0);
    let again = Finish::Again(Duration::from_secs(2));
    assert!(bench.waiting.begin(bench.at(0)).is_some());
    bench.waiting.end(&1, again, bench.at(0));
    assert!(bench.waiting.begin(bench.at(1)).is_none());
    let (_, value, tries) = bench.waiting.begin(bench.at(2)).expect("due");
    assert_eq!((value.0, tries), ('a', 1));
    bench.submit(1, now('b'), 2);
    bench.waiting.end(&1, again, bench.at(2));
    assert_eq!(bench.written(3), "");
    assert_eq!(bench.written(4), "b");
}

#[test]
fn a_cancelled_write_is_not_written() {
    let mut bench = Bench::new();
    bench.submit(1, Text('a', 1, 0), 0);
    assert_eq!(bench.waiting.cancel(&1), Some(Text('a', 1, 0)));
    assert_eq!(bench.written(9), "");
    assert!(bench.waiting.entries.is_empty());
}

#[test]
fn hurried_writes_are_due_now_and_the_first_can_be_dropped() {
    let mut bench = Bench::new();
    bench.submit(1, Text('a', 5, 0), 0);
    bench.submit(2, Text('b', 6, 0), 0);
    assert_eq!(bench.waiting.drop_first(), Some(Text('a', 5, 0)));
    bench.waiting.hurry(bench.at(0));
    assert_eq!(bench.written(0), "b");
}

proptest! {
    /// Whatever happens: the last value of every object is the last one written, nothing is left
    /// over, and memory is bounded by the number of objects.
    #[test]
    fn the_last_value_of_every_object_is_written_in_the_end(
        steps in prop::collection::vec((0u8..4, 0u8..6, 0u64..3, 0u8..5), 1..200),
    ) {
        let mut bench = Bench::new();
        let mut wanted = HashMap::new();
        let mut written = HashMap::new();
        let mut under_way: Vec<(u8, Text)> = Vec::new();
        let mut clock = 0;
        for (key, value, delay, action) in steps {
            clock += u64::from(action == 4);
            match action {
                0 | 1 => {
                    let value = Text(char::from(b'a' + value), delay, 2);
                    bench.submit(key, value, clock);
                    wanted.insert(key, value.0);
                }
                2 => if let Some((key, value, _)) = bench.waiting.begin(bench.at(clock)) {
                    prop_assert!(under_way.iter().all(|(other, _)| *other != key));
                    under_way.push((key, value));
                },
                3 => if let Some((key, value)) = under_way.pop() {
                    let finish = match delay {
                        0 => Finish::Again(Duration::from_secs(1)),
                        _ => Finish::Done,
                    };
                    if finish == Finish::Done {
                        written.insert(key, value.0);
                    }
                    bench.waiting.end(&key, finish, bench.at(clock));
                },
                _ => {}
            }
            prop_assert!(bench.waiting.entries.len() <= 4);
            prop_assert!(bench.waiting.due.len() <= 64 + 2 * 4 + 1);
        }
        for (key, value) in under_way {
            written.insert(key, value.0);
            bench.waiting.end(&key, Finish::Done, bench.at(clock));
        }
        while let Some((key, value, _)) = bench.waiting.begin(bench.at(clock + 100)) {
            written.insert(key, value.0);
            bench.waiting.end(&key, Finish::Done, bench.at(clock + 100));
        }
        prop_assert_eq!(bench.waiting.len(), 0);
        prop_assert!(bench.waiting.tickets.is_empty());
        prop_assert_eq!(written, wanted);
    }
}

#[test]
fn after_an_outage_what_was_tried_is_due_at_once_and_counts_as_new() {
    let mut bench = Bench::new();
    bench.submit(1, now('a'), 0);
    let pause = Duration::from_secs(60);
    assert_eq!(bench.waiting.begin(bench.at(0)), Some((1, now('a'), 0)));
    bench.waiting.end(&1, Finish::Again(pause), bench.at(0));
    bench.submit(2, Text('b', 5, 0), 0);
    bench.waiting.try_again(bench.at(1));
    assert_eq!(bench.waiting.begin(bench.at(1)), Some((1, now('a'), 0)));
    bench.waiting.end(&1, Finish::Done, bench.at(1));
    assert_eq!(bench.written(4), "", "the new one keeps its time");
    assert_eq!(bench.written(5), "b");
    assert_eq!(bench.written(100), "", "nothing is written twice");
}
