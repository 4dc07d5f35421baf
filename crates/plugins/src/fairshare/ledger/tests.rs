//! Accounts against plain sums over intervals.

use pumice_fixtures::Dice;

use super::*;

const HALF_LIFE_S: i64 = 3_600;

fn names() -> ResourceNames {
    ResourceNames::default()
}

fn cores(milli: i64) -> HeldUse {
    let mut names = names();
    names.vector(&[("cpu".to_owned(), milli)]).into()
}

fn ledger() -> UseLedger {
    let measure = UseMeasure::read("cpu=1", "").expect("a measure");
    let mut ledger = UseLedger::new(measure, HalfLife::of_seconds(HALF_LIFE_S));
    ledger.restart(0);
    ledger
}

/// In cores times seconds.
fn plain(used: u128) -> f64 {
    used as f64 / PARTS as f64 / 2f64.powi(USE_BITS as i32)
}

/// What is left at `end_s` of so many cores from one moment to another, as a plain formula.
fn left_of(cores: f64, (from_s, to_s): (i64, i64), end_s: i64) -> f64 {
    let half_life = HALF_LIFE_S as f64;
    let weight = |at_s: i64| (-((end_s - at_s) as f64) / half_life).exp2();
    cores * half_life / std::f64::consts::LN_2 * (weight(to_s) - weight(from_s))
}

#[test]
fn after_ten_half_lives_accounts_have_what_plain_sums_over_intervals_say() {
    for seed in 0..40 {
        let mut dice = Dice(seed);
        let (mut ledger, mut intervals) = (ledger(), Vec::new());
        let accounts = ["a", "b", "c"].map(|name| ledger.of_user("q", name));
        accounts.iter().for_each(|ix| ledger.count_need(*ix, 1));
        let (mut open, mut now_s) = (Vec::new(), 0);
        while now_s < 10 * HALF_LIFE_S {
            now_s += dice.below(200) as i64;
            // A clock that goes back by less than an hour waits.
            let back_s = [0, 0, 0, dice.below(600) as i64][dice.below(4) as usize];
            let told_s = now_s - back_s;
            ledger.advance(told_s);
            let seen_s = ledger.now_s();
            let milli = 1 + dice.below(64_000) as i64;
            if dice.below(2) == 0 || open.is_empty() {
                let whose = dice.below(3) as usize;
                ledger.shift(accounts[whose], &cores(milli), 1);
                open.push((whose, milli, seen_s));
            } else {
                let at = dice.below(open.len() as u64) as usize;
                let (whose, milli, from_s) = open.swap_remove(at);
                ledger.shift(accounts[whose], &cores(milli), -1);
                intervals.push((whose, milli, from_s, seen_s));
            }
            ledger.settle(&names());
            if dice.below(10) == 0 {
                ledger.order();
            }
        }
        ledger.advance(now_s + 1_000);
        let end_s = ledger.now_s();
        intervals.extend(
            open.into_iter()
                .map(|(whose, milli, from_s)| (whose, milli, from_s, end_s)),
        );
        for (at, account) in accounts.iter().enumerate() {
            let own = intervals.iter().filter(|(whose, ..)| *whose == at);
            let expected: f64 = own
                .map(|(_, milli, from_s, to_s)| {
                    left_of(*milli as f64 / 1_000.0, (*from_s, *to_s), end_s)
                })
                .sum();
            let known = ledger.account(*account).expect("an account");
            let used = plain(ledger.used(known));
            assert!(
                (used / expected - 1.0).abs() < 1e-6,
                "{seed}: {used} {expected}"
            );
        }
    }
}

#[test]
fn a_clock_that_goes_back_far_begins_anew_and_charges_nothing_for_it() {
    let mut ledger = ledger();
    ledger.advance(1_000_000);
    let account = ledger.of_queue("q");
    ledger.shift(account, &cores(1_000), 1);
    ledger.settle(&names());
    let used = |ledger: &UseLedger| plain(ledger.used(ledger.account(account).expect("one")));
    ledger.advance(1_000_100);
    let before = used(&ledger);
    ledger.advance(1_000_000);
    assert_eq!(used(&ledger), before, "it waits");
    ledger.advance(500_000);
    assert_eq!(used(&ledger), before, "it begins anew");
    ledger.advance(500_000 + HALF_LIFE_S);
    let expected = left_of(1.0, (0, HALF_LIFE_S + 100), HALF_LIFE_S + 100);
    assert!((used(&ledger) / expected - 1.0).abs() < 1e-6);
}

#[test]
fn users_beyond_the_most_count_together_until_some_are_forgotten() {
    let mut ledger = ledger();
    let known: Vec<AccountIx> = (0..MAX_USERS)
        .map(|at| ledger.of_user("q", &at.to_string()))
        .collect();
    let [one, another] = ["new", "newer"].map(|name| ledger.of_user("q", name));
    assert_eq!(one, another);
    assert_eq!(
        ledger.account(one).map(|of| &of.owner),
        Some(&AccountOwner::Others)
    );
    assert_ne!(ledger.of_user("other", "new"), one);
    known.iter().for_each(|ix| ledger.count_need(*ix, 1));
    ledger.count_need(one, 1);
    assert!(!ledger.order(), "all have jobs");
    ledger.count_need(known[7], -1);
    assert!(ledger.order());
    assert_ne!(ledger.of_user("q", "new"), one);
}

#[test]
fn an_account_is_forgotten_once_next_to_nothing_is_left_and_nobody_is_there() {
    let mut ledger = ledger();
    let account = ledger.of_queue("q");
    ledger.shift(account, &cores(1_000), 1);
    ledger.settle(&names());
    ledger.advance(100);
    ledger.shift(account, &cores(1_000), -1);
    ledger.settle(&names());
    ledger.advance(100 + 20 * HALF_LIFE_S);
    ledger.order();
    assert!(
        ledger.account(account).is_some(),
        "a ten-thousandth is left"
    );
    ledger.advance(100 + 40 * HALF_LIFE_S);
    ledger.order();
    assert!(ledger.account(account).is_none());
}
