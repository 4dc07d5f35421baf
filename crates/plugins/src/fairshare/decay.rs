//! Use that halves with time, in whole numbers: the same on every machine, and exact between two changes.
//!
//! Something is used at a rate *r* from one moment to another, and what was used counts half after each half-life *H*. After *t* seconds
//! a use *u* has become *u* · 2^(−t/H) + *r* · (H / ln 2) · (1 − 2^(−t/H)): nothing is summed up step by step, so nothing drifts.

use pumice_framework::points::FACTOR_PARTS;

/// Whole of a fraction.
const WHOLE: u128 = 1 << FRACTION_BITS;
const FRACTION_BITS: u32 = 62;

/// 1 / ln 2, of [`WHOLE`].
const PER_LN_2: u128 = 6_653_256_548_922_161_245;

/// Fractional bits of a use.
pub(super) const USE_BITS: u32 = 32;

/// Largest half-life, in seconds: ten years.
pub(super) const MAX_HALF_LIFE_S: i64 = 10 * 366 * 24 * 3600;

/// Largest rate: with it no half-life makes a use too large.
pub(super) const MAX_RATE: u64 = 1 << 56;

/// Largest use, which a text may say.
pub(super) const MAX_USE: u128 = 1 << 117;

/// 2^(−1/2), 2^(−1/4), 2^(−1/8) and so on, of [`WHOLE`].
const ROOTS: [u128; FRACTION_BITS as usize] = roots();

const fn roots() -> [u128; FRACTION_BITS as usize] {
    let mut roots = [0; FRACTION_BITS as usize];
    let (mut last, mut at) = (WHOLE / 2, 0);
    while at < roots.len() {
        last = (last << FRACTION_BITS).isqrt();
        roots[at] = last;
        at += 1;
    }
    roots
}

/// How fast use fades.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HalfLife {
    seconds: u128,
}

impl HalfLife {
    /// So many seconds, taken into its range.
    pub fn of_seconds(seconds: i64) -> Self {
        Self {
            seconds: seconds.clamp(1, MAX_HALF_LIFE_S).unsigned_abs().into(),
        }
    }

    /// So many seconds.
    pub fn seconds(self) -> i64 {
        i64::try_from(self.seconds).unwrap_or(MAX_HALF_LIFE_S)
    }

    /// What is left after some time: whole halvings, and a fraction of [`WHOLE`].
    fn left(self, passed_s: i64) -> (u32, u128) {
        let passed_s = u128::from(passed_s.max(0).unsigned_abs());
        let halvings = u32::try_from(passed_s / self.seconds).unwrap_or(u32::MAX);
        let rest = ((passed_s % self.seconds) << FRACTION_BITS) / self.seconds;
        let mut left = WHOLE;
        for (at, root) in ROOTS.iter().enumerate() {
            if rest >> (FRACTION_BITS as usize - 1 - at) & 1 == 1 {
                left = (left * root) >> FRACTION_BITS;
            }
        }
        (halvings, left)
    }

    /// What a use has become after some seconds in which something was used at a rate.
    pub fn after(self, used: u128, rate: u64, passed_s: i64) -> u128 {
        if passed_s <= 0 || (used == 0 && rate == 0) {
            return used;
        }
        let (halvings, left) = self.left(passed_s);
        let faded = match halvings {
            0..128 => times(used, left) >> halvings,
            _ => 0,
        };
        let lost = WHOLE - left.checked_shr(halvings).unwrap_or(0);
        let full = (self.seconds * PER_LN_2) >> (FRACTION_BITS - USE_BITS);
        let gained = u128::from(rate.min(MAX_RATE)) * ((full * lost) >> FRACTION_BITS);
        (faded + gained).min(MAX_USE)
    }
}

/// 2^(−a/b), in parts of one.
pub(super) fn halved(above: u128, below: u128) -> u64 {
    /// Steps of the exponent: more is not told apart.
    const STEPS: i64 = 1 << 20;
    let too_long = (u128::BITS - above.leading_zeros()).saturating_sub(100);
    let (above, below) = (above >> too_long, below >> too_long);
    if above == 0 {
        return FACTOR_PARTS;
    }
    let steps = (above * STEPS.unsigned_abs() as u128).checked_div(below);
    let steps = steps.and_then(|steps| i64::try_from(steps).ok());
    let (halvings, left) = HalfLife::of_seconds(STEPS).left(steps.unwrap_or(i64::MAX));
    let left = left.checked_shr(halvings).unwrap_or(0);
    u64::try_from((left * u128::from(FACTOR_PARTS)) >> FRACTION_BITS).unwrap_or(0)
}

/// A use, a fraction of it.
fn times(used: u128, fraction: u128) -> u128 {
    let (high, low) = (used >> 64, used & u128::from(u64::MAX));
    ((high * fraction) << (64 - FRACTION_BITS)) + ((low * fraction) >> FRACTION_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(used: u128) -> f64 {
        used as f64 / f64::from(1 << 16) / f64::from(1 << 16)
    }

    #[test]
    fn a_use_halves_with_each_half_life_and_a_constant_rate_leads_to_its_mean() {
        for seconds in [1, 60, 3600, 604_800, MAX_HALF_LIFE_S] {
            let half_life = HalfLife::of_seconds(seconds);
            assert_eq!(half_life.after(1 << 100, 0, seconds), 1 << 99);
            assert_eq!(half_life.after(1 << 100, 0, 3 * seconds), 1 << 97);
            let mean = seconds as f64 / std::f64::consts::LN_2;
            let long = plain(half_life.after(0, 1_000, 60 * seconds));
            assert!(
                (long / (1_000.0 * mean) - 1.0).abs() < 1e-8,
                "{seconds} {long}"
            );
        }
    }

    #[test]
    fn a_second_at_a_time_is_as_good_as_all_at_once() {
        let half_life = HalfLife::of_seconds(604_800);
        let step = |used, _| half_life.after(used, 100, 1);
        let [one_by_one, at_once] = [
            plain((0..100_000).fold(0, step)),
            plain(half_life.after(0, 100, 100_000)),
        ];
        assert!(
            (one_by_one / at_once - 1.0).abs() < 1e-8,
            "{one_by_one} {at_once}"
        );
    }

    #[test]
    fn a_factor_halves_with_each_share_that_was_used() {
        for (above, below, parts) in [
            (0, 0, FACTOR_PARTS),
            (0, 7, FACTOR_PARTS),
            (5, 5, FACTOR_PARTS / 2),
            (3 << 100, 1 << 100, FACTOR_PARTS / 8),
            (u128::MAX, 1, 0),
            (1, 0, 0),
        ] {
            assert_eq!(halved(above, below), parts, "{above} {below}");
        }
        let root = halved(1 << 110, 1 << 111);
        assert!((root as f64 / 1e9 - 0.5f64.sqrt()).abs() < 1e-8, "{root}");
    }

    #[test]
    fn nothing_overflows_and_time_that_goes_back_does_nothing() {
        let half_life = HalfLife::of_seconds(i64::MAX);
        let most = half_life.after(MAX_USE, u64::MAX, i64::MAX);
        assert!(most <= MAX_USE && most > MAX_USE / 4, "{most}");
        assert_eq!(half_life.after(MAX_USE, u64::MAX, -5), MAX_USE);
        assert_eq!(HalfLife::of_seconds(0).after(MAX_USE, 0, i64::MAX), 0);
    }
}
