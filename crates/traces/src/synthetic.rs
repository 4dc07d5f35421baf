//! A made-up trace in Pumice's own format: the same seed makes the same text.
//!
//! Sizes and durations are spread as those of public traces are: most jobs are small and short, most of the card time
//! is that of few large and long ones. Jobs come evenly but for chance, as often as to ask for so much of all cards.

use std::fmt::Write;

use crate::formats::pumice::COLUMNS;

/// What to make up.
#[derive(Clone, Copy, Debug)]
pub struct Synthetic {
    /// How many jobs come.
    pub jobs: usize,
    /// Cards of the cluster.
    pub cards: i64,
    /// What jobs ask for of all cards, in percent.
    pub load_percent: u32,
    /// Queues, of which the first have more jobs than the last.
    pub queues: usize,
    /// What chance begins with.
    pub seed: u64,
}

/// Cards of a job in all, members, and how many of 1,000 jobs are such.
const SIZES: [(i64, i64, u64); 9] = [
    (1, 1, 560),
    (2, 1, 120),
    (4, 1, 100),
    (8, 1, 140),
    (16, 2, 40),
    (32, 4, 20),
    (64, 8, 12),
    (128, 16, 6),
    (256, 32, 2),
];

/// Shortest and longest job, in seconds.
const LASTS_S: (f64, f64) = (60.0, 172_800.0);

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// From 0 to below 1, of as many bits as the fraction of a number has.
fn chance(state: &mut u64) -> f64 {
    (next(state) >> 11) as f64 / (1u64 << 53) as f64
}

/// Whose jobs of a team are, of ten: most are of one user.
const USER_OF_TEN: [u8; 10] = [1, 2, 1, 3, 1, 2, 1, 3, 1, 2];

struct MadeJob {
    cards: i64,
    members: i64,
    lasts_s: i64,
    queue: usize,
}

fn made(state: &mut u64, queues: usize) -> MadeJob {
    let mut point = next(state) % 1000;
    let size = SIZES.iter().find(|(_, _, share)| {
        let is_it = point < *share;
        point = point.saturating_sub(*share);
        is_it
    });
    let (cards, members, _) = size.copied().unwrap_or(SIZES[0]);
    // Logarithms of durations are spread evenly, those of short jobs twice.
    let point = chance(state) * chance(state).max(0.25);
    let lasts_s = LASTS_S.0 * (LASTS_S.1 / LASTS_S.0).powf(point);
    let uneven = chance(state) * chance(state);
    MadeJob {
        cards,
        members,
        lasts_s: lasts_s as i64,
        queue: (uneven * queues.max(1) as f64) as usize,
    }
}

/// The text.
pub fn synthetic(what: &Synthetic) -> String {
    let mut state = what.seed;
    let jobs: Vec<MadeJob> = (0..what.jobs)
        .map(|_| made(&mut state, what.queues))
        .collect();
    let card_seconds: i64 = jobs.iter().map(|job| job.cards * job.lasts_s).sum();
    let per_second = what.cards.max(1) as f64 * f64::from(what.load_percent.max(1)) / 100.0;
    let whole_s = card_seconds as f64 / per_second;
    let mut arrivals: Vec<i64> = jobs
        .iter()
        .map(|_| (chance(&mut state) * whole_s) as i64)
        .collect();
    arrivals.sort_unstable();
    let mut text = format!("{}\n", COLUMNS.join(","));
    for (at, (job, submit_s)) in jobs.iter().zip(arrivals).enumerate() {
        let cards = job.cards / job.members;
        // Users allow one to six times what a job takes, in whole hours.
        let allowed_s = job.lasts_s as f64 * (1.0 + 5.0 * chance(&mut state));
        let limit_s = (allowed_s / 3600.0).ceil() as i64 * 3600;
        let _ = writeln!(
            text,
            "{submit_s},{},{},{},{}Gi,{cards},,team-{:02},0,job-{at:06},{limit_s},team-{:02}-user-{}",
            job.lasts_s,
            job.members,
            cards * 12,
            cards * 96,
            job.queue,
            job.queue,
            USER_OF_TEN[at % 10]
        );
    }
    text
}
