//! Which jobs go first, by which factor, and when time changes it.

use pumice_conf::Value;
use pumice_framework::points::PastUse;
use pumice_framework::points::UserUse;
use pumice_framework::{Changed, ChangedQueues};
use pumice_model::QueueIx;
use pumice_model::object::{GroupObject, PriorityClassObject};

use super::*;
use crate::testing::*;

const HOUR_S: i64 = 3_600;

fn plugin(arguments: &[(&str, Value)]) -> MultiFactor {
    let pairs = arguments
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.clone()));
    MultiFactor::new(&pairs.collect())
}

fn text(value: &str) -> Value {
    Value::Str(value.to_owned())
}

/// A keeper of past use of whom nothing is known but what these tests ask.
struct Keeper;

impl KeepsUse for Keeper {
    fn unit(&self) -> &'static str {
        ""
    }

    fn measure(&self) -> String {
        String::new()
    }

    fn half_life_s(&self) -> i64 {
        1
    }

    fn of_queue(&self, _: QueueIx) -> PastUse {
        PastUse::default()
    }

    /// The first job is of `a`, the next one of `b`.
    fn of_job(&self, job: JobIx) -> Option<UserUse> {
        Some(UserUse {
            queue: "default".to_owned(),
            user: Some(["a", "b"][job.at() % 2].to_owned()),
            past: PastUse::default(),
        })
    }

    fn use_factor(&self, _: &State, job: JobIx) -> u64 {
        FACTOR_PARTS >> job.at()
    }

    fn orders_made(&self) -> u64 {
        1
    }

    fn users(&self) -> Vec<UserUse> {
        Vec::new()
    }

    fn last_used_s(&self) -> i64 {
        0
    }

    fn use_to_keep(&self) -> String {
        String::new()
    }
}

fn open_at(plugin: &mut MultiFactor, state: &State, now_s: i64) {
    let changed = Changed::default();
    plugin.hear(state, &CycleInfo { now_s, changed }, Some(&Keeper));
}

fn comes(name: &str, created_s: i64) -> GroupObject {
    group(name, 1).queue("default").created_s(created_s)
}

fn order(plugin: &MultiFactor, state: &State, left: &str, right: &str) -> Ordering {
    plugin.job_order(state, job(state, left), job(state, right))
}

/// `old` asks one core of ten, and `big`, which came an hour later, five.
fn cluster() -> State {
    Cluster::default()
        .with(queue("default"))
        .with(node("n", "10c 10Gi pods=100"))
        .with(comes("old", 0))
        .pods(1, "old", pod("", "1c"))
        .with(comes("big", HOUR_S))
        .pods(1, "big", pod("", "5c"))
        .state()
}

#[test]
fn the_larger_sum_goes_first_and_nothing_else_counts_without_a_weight() {
    let state = cluster();
    for (arguments, expected) in [
        (vec![], Ordering::Equal),
        (vec![("multifactor.age", Value::Int(1))], Ordering::Less),
        (vec![("multifactor.size", Value::Int(1))], Ordering::Greater),
        (
            vec![
                ("multifactor.size", Value::Int(1)),
                ("multifactor.favorSmall", Value::Bool(true)),
            ],
            Ordering::Less,
        ),
        (vec![("multifactor.use", Value::Int(1))], Ordering::Less),
        (
            vec![
                ("multifactor.user", Value::Int(1)),
                ("multifactor.users", text("a=0.25, b=0.5")),
            ],
            Ordering::Greater,
        ),
        (vec![("multifactor.queue", Value::Int(1))], Ordering::Equal),
        // An hour of a hundred is a hundredth; four cores of ten are 0.4.
        (
            vec![
                ("multifactor.age", Value::Int(40)),
                ("multifactor.maxAge", text("100h")),
                ("multifactor.size", Value::Int(1)),
            ],
            Ordering::Equal,
        ),
        (
            vec![
                ("multifactor.age", Value::Int(41)),
                ("multifactor.maxAge", text("100h")),
                ("multifactor.size", Value::Int(1)),
            ],
            Ordering::Less,
        ),
    ] {
        let mut plugin = plugin(&arguments);
        open_at(&mut plugin, &state, 2 * HOUR_S);
        assert_eq!(
            order(&plugin, &state, "old", "big"),
            expected,
            "{arguments:?}"
        );
    }
}

#[test]
fn factors_are_told_with_their_weights() {
    let state = cluster();
    let mut plugin = plugin(&[
        ("multifactor.age", Value::Int(1000)),
        ("multifactor.maxAge", text("4h")),
        ("multifactor.size", Value::Int(500)),
    ]);
    open_at(&mut plugin, &state, 2 * HOUR_S);
    let told = plugin.factors(&state, job(&state, "big"));
    let of = |name, weight, parts| JobFactor {
        name,
        weight,
        parts,
    };
    assert_eq!(
        told,
        [
            of("age", 1000, FACTOR_PARTS / 4),
            of("size", 500, FACTOR_PARTS / 2)
        ]
    );
}

/// Ages grow at one pace: however late it gets, nothing is looked at. Once one is full and another is not, a cycle is due.
#[test]
fn time_alone_changes_the_order_only_once_some_are_as_old_as_counts() {
    let state = cluster();
    let mut plugin = plugin(&[
        ("multifactor.age", Value::Int(1)),
        ("multifactor.maxAge", text("10h")),
        ("multifactor.size", Value::Int(1)),
    ]);
    let first = |plugin: &MultiFactor| order(plugin, &state, "old", "big");
    open_at(&mut plugin, &state, 2 * HOUR_S);
    // 0.1 for the hour, against 0.4.
    assert_eq!(first(&plugin), Ordering::Greater);
    assert_eq!(plugin.wake_at_s(), Some(10 * HOUR_S + 1));
    let before = plugin.factors(&state, job(&state, "old"));
    open_at(&mut plugin, &state, 9 * HOUR_S);
    assert_eq!(plugin.factors(&state, job(&state, "old")), before);
    open_at(&mut plugin, &state, 10 * HOUR_S + 1);
    assert_eq!(plugin.wake_at_s(), Some(10 * HOUR_S + 61));
    open_at(&mut plugin, &state, 12 * HOUR_S);
    assert_eq!(plugin.wake_at_s(), None, "both are full");
    assert_eq!(first(&plugin), Ordering::Greater);
}

#[test]
fn a_clock_that_went_back_is_believed_after_an_interval() {
    let state = cluster();
    let mut plugin = plugin(&[
        ("multifactor.age", Value::Int(1)),
        ("multifactor.maxAge", text("10h")),
        ("multifactor.interval", text("1m")),
    ]);
    open_at(&mut plugin, &state, 10 * HOUR_S + 1);
    open_at(&mut plugin, &state, 2 * HOUR_S);
    assert_eq!(plugin.wake_at_s(), Some(2 * HOUR_S + 60));
    open_at(&mut plugin, &state, 2 * HOUR_S + 60);
    assert_eq!(plugin.wake_at_s(), Some(10 * HOUR_S + 1));
}

/// The order as of a moment is that of the sums as they are written down, with fractions of whole numbers.
#[test]
fn random_jobs_go_as_their_sums_say_and_changes_alone_are_followed() {
    for seed in 0..40 {
        let mut dice = Dice(seed);
        let mut weight = || dice.below(5) as i64 * 100;
        let (age, size, priority) = (weight(), weight(), weight());
        let mut plugin = plugin(&[
            ("multifactor.age", Value::Int(age)),
            ("multifactor.size", Value::Int(size)),
            ("multifactor.priority", Value::Int(priority)),
            ("multifactor.maxPriority", Value::Int(10)),
            ("multifactor.maxAge", text("1h")),
        ]);
        let mut cluster = Cluster::default()
            .with(queue("default"))
            .with(node("n", "64c 64Gi pods=100"))
            .with(comes("gone", 0));
        let mut jobs = Vec::new();
        for at in 0..12 {
            let (created_s, cores) = (dice.below(7_200) as i64, 1 + dice.below(8));
            let name = format!("j{at}");
            cluster =
                cluster
                    .with(comes(&name, created_s))
                    .pods(1, &name, pod("", &format!("{cores}c")));
            jobs.push((name, created_s, cores as i64));
        }
        let state = cluster.state();
        // By changes, after a look at all.
        open_at(&mut plugin, &state, 0);
        let now_s = 3_600 + dice.below(7_200) as i64;
        plugin.clock = AgeClock::new(None);
        let changed = Changed {
            jobs: Some(vec![job(&state, "j3"), job(&state, "gone")]),
            queues: ChangedQueues::NONE,
            nodes: false,
        };
        plugin.hear(&state, &CycleInfo { now_s, changed }, Some(&Keeper));
        // As 3600 · 64 parts.
        let sum = |(_, created_s, cores): &(String, i64, i64)| {
            age * 64 * (now_s - created_s).min(3_600) + size * 3_600 * cores
        };
        for (left, right) in jobs.iter().zip(jobs.iter().skip(1)) {
            let expected = sum(right).cmp(&sum(left));
            // A share is rounded down to a billionth: equal ones stay equal.
            let told = order(&plugin, &state, &left.0, &right.0);
            assert_eq!(told, expected, "seed {seed}: {left:?} {right:?}");
        }
    }
}

#[test]
fn users_with_factors_are_read_as_they_are_written_and_what_is_wrong_is_said() {
    let read = |text: &str| UserFactors::read(text).map(|users| users.of("ada"));
    assert_eq!(read("ada=0.25, bob=1"), Ok(FACTOR_PARTS / 4));
    assert_eq!(read("bob=1"), Ok(0));
    assert_eq!(read(""), Ok(0));
    for (text, says) in [
        ("ada", "has `ada`, which is no user with a factor"),
        ("ada=1,ada=1", "names `ada` twice"),
        (
            "ada=1.1",
            "gives `ada` the factor `1.1`, which is no number from 0 to 1",
        ),
        (
            "ada=-1",
            "gives `ada` the factor `-1`, which is no number from 0 to 1",
        ),
        ("=1", "names a user with 0 bytes; a name has 1 to 128"),
    ] {
        assert_eq!(read(text), Err(says.to_owned()), "{text}");
    }
}

/// Whoever may write objects in one namespace can raise his jobs by no more than the weights of what he writes: its creation is
/// the API server's, and no number that he writes counts as more than 1.
#[test]
fn nothing_that_is_written_on_a_job_counts_for_more_than_its_weight() {
    let top = PriorityClassObject {
        name: "top".to_owned(),
        value: i32::MAX,
        ..PriorityClassObject::default()
    };
    let state = Cluster::default()
        .with(queue("default"))
        .with(node("n", "10c 10Gi pods=100"))
        .with(top)
        .with(
            comes("huge", 0)
                .min_resources(Some(vec![("cpu".to_owned(), i64::MAX)]))
                .priority_class("top"),
        )
        .with(comes("still-to-come", i64::MAX))
        .pods(1, "still-to-come", pod("", "99999c"))
        .state();
    let mut plugin = plugin(&[
        ("multifactor.age", Value::Int(1000)),
        ("multifactor.size", Value::Int(10)),
        ("multifactor.priority", Value::Int(5)),
    ]);
    open_at(&mut plugin, &state, i64::MAX);
    for (name, age) in [("huge", FACTOR_PARTS), ("still-to-come", 0)] {
        let told = plugin.factors(&state, job(&state, name));
        assert_eq!(told[0].parts, age, "{name}");
        assert!(
            told.iter().all(|factor| factor.parts <= FACTOR_PARTS),
            "{told:?}"
        );
    }
    assert_eq!(
        order(&plugin, &state, "huge", "still-to-come"),
        Ordering::Less
    );
}

#[test]
fn a_weight_of_what_only_fairshare_knows_is_warned_about_without_it() {
    let codes = |arguments: &str, others: &str| {
        let text = format!(
            "actions: \"allocate\"\n\
             tiers: [{{plugins: [{{name: multifactor, arguments: {{{arguments}}}}}{others}]}}]\n"
        );
        let found = pumice_conf::parse(&text, &REGISTRY).diagnostics;
        let places = found.iter().map(|found| (found.code, found.line));
        places.collect::<Vec<_>>()
    };
    assert_eq!(codes("multifactor.use: 1", ""), [("W0114-no-past-use", 2)]);
    assert_eq!(codes("multifactor.user: 1", ", {name: fairshare}"), []);
    assert_eq!(codes("multifactor.use: 0, multifactor.age: 1", ""), []);
}
