//! Jobs that come, wait, run, move and go, against plain sums.

use std::collections::{BTreeMap, BTreeSet};

use pumice_fixtures::Dice;

use super::*;

/// A job as the plain sums know it.
#[derive(Clone, Default)]
struct PlainJob {
    uid: String,
    created_s: i64,
    queue: &'static str,
    /// When each pod got its node, and the cards it has.
    pods: Vec<(i64, u64)>,
    /// Why it waits, if it does.
    reason: Option<&'static str>,
    has_ended: bool,
}

const QUEUES: [&str; 2] = ["red", "blue"];
const REASONS: [&str; 3] = ["no-node", "queue-quota", "behind"];

fn look(job: &PlainJob) -> JobSight<'_> {
    let doing = match (job.reason, job.has_ended) {
        (Some(reason), _) => JobDoing::Waits { reason, text: "" },
        (None, true) => JobDoing::Ended { badly: false },
        (None, false) => JobDoing::Runs,
    };
    let cards = job.pods.iter().map(|(_, cards)| cards).sum();
    let arrivals = job.pods.iter().map(|(since_s, cards)| PodArrival {
        since_s: *since_s,
        held: vec![("nvidia.com/gpu", *cards)],
    });
    JobSight {
        uid: &job.uid,
        namespace: "default",
        name: "train",
        queue: job.queue,
        user: "",
        created_s: job.created_s,
        doing,
        needs: 1,
        pods: job.pods.len(),
        nodes: BTreeSet::new(),
        held: vec![("nvidia.com/gpu", cards)],
        arrivals: arrivals.collect(),
    }
}

/// What jobs held by queue, second for second, and how long they waited, by UID.
#[derive(Default)]
struct PlainSums {
    cards: BTreeMap<&'static str, u128>,
    waited_s: BTreeMap<String, i64>,
    /// Jobs that did something else than to wait.
    did_more: BTreeSet<String>,
}

impl PlainSums {
    fn pass(&mut self, jobs: &BTreeMap<u64, PlainJob>, seconds: i64) {
        for job in jobs.values() {
            let cards: u64 = job.pods.iter().map(|(_, cards)| cards).sum();
            *self.cards.entry(job.queue).or_default() +=
                u128::from(cards) * u128::from(seconds.unsigned_abs());
            if job.reason.is_none() {
                self.did_more.insert(job.uid.clone());
            } else {
                *self.waited_s.entry(job.uid.clone()).or_default() += seconds;
            }
        }
    }
}

/// What becomes of one of the jobs, or of all of them.
fn roll(dice: &mut Dice, jobs: &mut BTreeMap<u64, PlainJob>, now_s: i64, next: u64) -> Option<u64> {
    let at = dice.below(jobs.len().max(1) as u64);
    let id = *jobs.keys().nth(at as usize)?;
    let action = dice.below(7);
    if action == 0 {
        jobs.remove(&id);
        return Some(id);
    }
    let job = jobs.get_mut(&id)?;
    match action {
        1 | 2 => {
            job.pods.push((now_s, 1_000 * (1 + dice.below(8))));
            (job.reason, job.has_ended) = (None, false);
        }
        3 => {
            job.pods.pop();
            job.reason = job
                .pods
                .is_empty()
                .then_some(REASONS[dice.below(3) as usize]);
        }
        4 => {
            job.pods.clear();
            (job.reason, job.has_ended) = (None, true);
        }
        5 => job.queue = QUEUES[dice.below(2) as usize],
        _ => {
            job.pods.clear();
            (job.reason, job.has_ended) = (Some(REASONS[next as usize % 3]), false);
        }
    }
    Some(id)
}

/// A day in the life of jobs, in which the process is restarted a few times, some of them for longer.
fn a_day(seed: u64) -> (PlainSums, Vec<JobRecord>) {
    let mut dice = Dice(seed);
    let (mut book, mut records) = (HistoryBook::default(), Vec::new());
    let (mut jobs, mut plain) = (BTreeMap::<u64, PlainJob>::new(), PlainSums::default());
    let mut now_s = 1_000_000;
    for next in 0..400_u64 {
        let went_s = dice.below(300) as i64;
        plain.pass(&jobs, went_s);
        now_s += went_s;
        if dice.below(40) == 0 {
            // Another process goes on from what this one kept, until when it was alive.
            let news = book.take();
            records.extend(news.ended);
            let open = book.open().cloned().map(|mut record| {
                record.advance(now_s);
                record
            });
            let mut other = HistoryBook::default();
            other.resume(open.collect());
            book = other;
            let away_s = dice.below(2) as i64 * 500;
            plain.pass(&jobs, away_s);
            now_s += away_s;
            for (id, job) in &jobs {
                book.look(*id, &look(job), now_s);
            }
            book.end_pass(now_s);
        }
        if jobs.len() < 12 {
            let job = PlainJob {
                uid: format!("uid-{next}"),
                created_s: now_s,
                queue: QUEUES[dice.below(2) as usize],
                reason: Some("no-node"),
                ..PlainJob::default()
            };
            book.look(next, &look(&job), now_s);
            jobs.insert(next, job);
        }
        if let Some(id) = roll(&mut dice, &mut jobs, now_s, next) {
            match jobs.get(&id) {
                Some(job) => book.look(id, &look(job), now_s),
                None => book.gone(id),
            }
        }
        book.end_pass(now_s);
    }
    jobs.keys().for_each(|id| book.gone(*id));
    book.end_pass(now_s);
    let news = book.take();
    assert_eq!((news.open.len(), news.lost), (0, 0));
    records.extend(news.ended);
    (plain, records)
}

/// Whatever jobs do, however often the process is restarted: cards are those of plain sums for each queue, exactly, and
/// every second of waiting has a reason.
#[test]
fn cards_are_plain_sums_and_every_second_of_waiting_has_a_reason() {
    for seed in 0..200 {
        let (plain, records) = a_day(seed);
        let mut cards: BTreeMap<&str, u128> = BTreeMap::new();
        let mut waited_s: BTreeMap<String, i64> = BTreeMap::new();
        let mut only_waited = 0;
        for record in &records {
            for (_, sum) in record.spans.within(i64::MIN, i64::MAX) {
                *cards.entry(&record.queue).or_default() += sum;
            }
            *waited_s.entry(record.uid.to_string()).or_default() += record.waited_s();
            assert!(record.waits.iter().all(|wait| !wait.reason.is_empty()));
            if !plain.did_more.contains(&*record.uid) {
                only_waited += 1;
                let end_s = record.end_s.expect("it is complete");
                assert_eq!(record.waited_s(), end_s - record.submit_s, "seed {seed}");
            }
        }
        assert!(only_waited > 0, "seed {seed}");
        for queue in QUEUES {
            let plainly = plain.cards.get(queue).copied().unwrap_or(0);
            assert_eq!(
                cards.get(queue).copied().unwrap_or(0),
                plainly,
                "seed {seed}, {queue}"
            );
        }
        for (uid, waited) in plain.waited_s {
            assert_eq!(waited_s.get(&uid), Some(&waited), "seed {seed}, {uid}");
        }
    }
}

fn waiting(reason: &'static str) -> PlainJob {
    PlainJob {
        uid: "a".to_owned(),
        created_s: 1_000,
        queue: "red",
        reason: Some(reason),
        ..PlainJob::default()
    }
}

/// One whose pod holds a core since it was made.
fn running() -> PlainJob {
    PlainJob {
        pods: vec![(1_000, 1_000)],
        reason: None,
        ..waiting("")
    }
}

fn told(record: &JobRecord) -> Vec<(&str, i64)> {
    let waits = record.waits.iter();
    waits.map(|wait| (&*wait.reason, wait.seconds)).collect()
}

#[test]
fn what_was_before_the_first_look_is_unseen_unless_the_job_is_new() {
    let mut book = HistoryBook::default();
    book.look(1, &look(&waiting("no-node")), 5_000);
    let new = PlainJob {
        created_s: 5_001,
        uid: "b".to_owned(),
        ..waiting("behind")
    };
    book.look(2, &look(&new), 5_003);
    let runs = PlainJob {
        pods: vec![(3_000, 1_000), (4_000, 1_000)],
        reason: None,
        uid: "c".to_owned(),
        ..waiting("")
    };
    book.look(3, &look(&runs), 5_003);
    let open: Vec<JobRecord> = book
        .open()
        .cloned()
        .map(|mut record| {
            record.advance(5_010);
            record
        })
        .collect();
    assert_eq!(told(&open[0]), [("unseen", 4_000), ("no-node", 10)]);
    assert_eq!(told(&open[1]), [("behind", 9)]);
    assert_eq!(told(&open[2]), [("unseen", 2_000)]);
    assert_eq!(open[2].start_s, Some(3_000));
    let held: u128 = open[2].spans.within(0, 5_010).map(|(_, sum)| sum).sum();
    assert_eq!(held, 1_000 * (2_010 + 1_010));
}

#[test]
fn a_job_that_had_ended_before_anybody_looked_is_not_in_the_book() {
    let mut book = HistoryBook::default();
    let ended = PlainJob {
        reason: None,
        has_ended: true,
        ..waiting("")
    };
    book.look(1, &look(&ended), 9_000);
    assert!(!book.knows(1, ""));
    assert_eq!(book.take(), BookNews::default());
}

/// Another PodGroup of that name: what pods held counts for the one that they were of.
#[test]
fn a_podgroup_in_the_place_of_another_one_has_a_record_of_its_own() {
    let mut book = HistoryBook::default();
    let runs = running();
    book.look(1, &look(&runs), 1_000);
    // For a while there is none of that name.
    let nameless = PlainJob {
        uid: String::new(),
        ..runs.clone()
    };
    book.look(1, &look(&nameless), 1_300);
    let other = PlainJob {
        uid: "b".to_owned(),
        created_s: 1_400,
        ..runs
    };
    assert!(!book.knows(1, "b"));
    book.look(1, &look(&other), 1_500);
    book.gone(1);
    book.end_pass(2_000);
    let ended = book.take().ended;
    let held = ended.iter().map(|record| {
        let sums = record.spans.within(0, 9_000);
        (&*record.uid, sums.map(|(_, sum)| sum).sum::<u128>())
    });
    let held: Vec<(&str, u128)> = held.collect();
    assert_eq!(held, [("a", 500_000), ("b", 500_000)]);
}

#[test]
fn what_goes_while_nobody_looks_counts_until_somebody_last_did() {
    let mut book = HistoryBook::default();
    let runs = running();
    book.look(1, &look(&runs), 1_000);
    let mut kept = book.take().open;
    kept.iter_mut().for_each(|record| record.advance(2_000));
    let mut other = HistoryBook::<u32>::default();
    other.resume(kept);
    other.end_pass(9_000);
    let ended = other.take().ended;
    assert_eq!(
        (ended[0].outcome, ended[0].end_s),
        (JobOutcome::Unseen, Some(2_000))
    );
    let held: u128 = ended[0].spans.within(0, 9_000).map(|(_, sum)| sum).sum();
    assert_eq!(held, 1_000 * 1_000);
}

#[test]
fn a_clock_that_goes_back_charges_nothing_twice() {
    let mut record = JobRecord::default();
    record.spans.set_held(&[("cpu", 1)]);
    for at_s in [100, 90, 110, -100_000, -99_990] {
        record.advance(at_s);
    }
    let held: u128 = record
        .spans
        .within(i64::MIN / 2, i64::MAX / 2)
        .map(|(_, sum)| sum)
        .sum();
    assert_eq!(held, 110 + 10);
}

/// Whoever makes jobs faster than they are taken loses records, and no memory is lost.
#[test]
fn records_that_nobody_takes_are_bounded() {
    let mut book = HistoryBook::default();
    let job = waiting("no-node");
    for id in 0..MAX_ENDED as u32 + 10 {
        book.look(id, &look(&job), 1_000);
        book.gone(id);
        book.end_pass(1_001);
    }
    let news = book.take();
    assert_eq!(
        (news.ended.len(), news.open.len(), news.lost),
        (MAX_ENDED, 0, 10)
    );
}

/// Texts are of others: they are cut, and move no cursor.
#[test]
fn texts_are_cut_and_hold_nothing_that_moves_a_cursor() {
    let mut record = JobRecord::default();
    record.wait_for("no-node", &"\u{1b}[2Jé\n".repeat(100));
    let text = &record.waits[0].text;
    assert!(
        text.len() <= 160 && !text.contains(char::is_control),
        "{text}"
    );
    for at in 0..200 {
        record.wait_for(&format!("reason-{at}"), "");
    }
    record.be_on(500, (0..500).map(|_| "n").collect::<Vec<_>>());
    let names: Vec<String> = (0..500).map(|at| format!("node-{at}")).collect();
    record.be_on(500, names.iter().map(String::as_str));
    assert_eq!((record.waits.len(), record.nodes.len()), (64, 64));
    assert_eq!((record.nodes_at_once, record.pods), (500, 500));
}
