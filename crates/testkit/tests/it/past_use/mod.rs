//! Past use (spec/13) and limits of run times (spec/11 §3): an engine beside plain lists, on clusters to which anything
//! may happen: who used how much, who goes first for it, who is ended when.

mod conf;
mod driven;
mod plain;
mod turns;

use crate::run;
use driven::Driven;
use plain::Account;

/// Clusters, and steps of each.
const CASES: u64 = 60;
const STEPS: u64 = 80;

/// Units times hours are told to a thousandth; real numbers and whole ones differ by less than that part.
const PART: f64 = 1e-4;

fn is_near(told: f64, counted: f64) -> bool {
    (told - counted).abs() <= 0.002 + PART * counted.abs()
}

/// How much of what there is to see a case has shown.
#[derive(Debug, Default)]
struct Seen {
    bound: usize,
    evicted: usize,
    used: usize,
    /// Cases that ended before their time, since real numbers could not tell.
    close: usize,
}

fn look_at_use(driven: &Driven, context: &str, seen: &mut Seen) {
    let told = driven.told().past_use.expect("past use");
    let queues = told.queues.iter().map(|one| {
        let account: Account = (one.queue.clone(), None);
        (account, one.used_hours, one.now)
    });
    let users = told.users.iter().filter_map(|one| {
        let account: Account = (one.queue.clone(), Some(one.user.clone()?));
        Some((account, one.used_hours, one.now))
    });
    for (account, used_hours, now) in queues.chain(users) {
        let counted = driven.plain.used(&account) / 3600.0;
        let holds = driven.plain.rate_now(&account);
        let context = || {
            format!(
                "{account:?} used {used_hours} h, {counted} counted; holds {now}, {holds} counted\n{context}"
            )
        };
        assert!(is_near(used_hours, counted), "{}", context());
        assert!(is_near(now, holds), "{}", context());
        seen.used += usize::from(counted > 0.01);
    }
}

fn drive(seed: u64, seen: &mut Seen) {
    let mut driven = Driven::new(seed);
    for step in 0..STEPS {
        driven.step();
        let now_s = driven.now_s;
        let mut then = driven.plain.clone();
        let plain = then.cycle(now_s);
        // What nobody looks at does not see the time pass either.
        let engine = driven.cycle(then);
        let context = format!(
            "seed {seed}, step {step}, {now_s}:\n{}{}",
            driven.conf_text, driven.story
        );
        if plain.is_close {
            seen.close += 1;
            return;
        }
        assert_eq!(plain.evicted, engine.evicted, "{context}");
        assert_eq!(plain.bound, engine.bound, "{context}");
        // Whoever is to be ended is so in time, though nothing happens.
        let over_s = driven.plain.next_over_s();
        let wakes_s = driven.engine.plugins_wake_at_s();
        // What was decided is told to it before the next cycle.
        let is_told = engine.bound.is_empty() && engine.evicted.is_empty();
        let in_time = !is_told
            || over_s.is_none_or(|over_s| wakes_s.is_some_and(|wakes_s| wakes_s <= over_s));
        assert!(in_time, "{over_s:?} {wakes_s:?} {context}");
        seen.bound += plain.bound.len();
        seen.evicted += plain.evicted.len();
        look_at_use(&driven, &context, seen);
    }
}

#[test]
fn plain_lists_count_the_same_use_order_by_it_and_end_the_same_pods() {
    let seeds = run::seeds(0, CASES);
    let cases = (seeds.end - seeds.start) as usize;
    let mut seen = Seen::default();
    seeds.for_each(|seed| drive(seed, &mut seen));
    // The cases are not trivial.
    assert!(seen.bound > 5 * cases && seen.evicted > cases, "{seen:?}");
    assert!(seen.used > 20 * cases && seen.close * 4 < cases, "{seen:?}");
}
