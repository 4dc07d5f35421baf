//! What was wanted done, as one number: equal only if all of it is, in that order.

use std::fmt::{self, Write as _};

use pumice_decider::Effect;

use crate::entry::UntakenEffects;

/// FNV-1a with 64 bits: the draft by Fowler, Noll and Vo says its two numbers.
struct Fnv(u64);

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

impl fmt::Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(PRIME);
        }
        Ok(())
    }
}

impl UntakenEffects {
    /// These.
    pub fn of(effects: &[Effect]) -> Self {
        Self::default().with(effects)
    }

    /// As many, of which nothing is told: a digest of texts with names.
    pub(crate) fn without_digest(self) -> Self {
        let digest = OFFSET;
        Self { digest, ..self }
    }

    /// These, and what was wanted done after them.
    pub(crate) fn with(self, effects: &[Effect]) -> Self {
        let more = u32::try_from(effects.len()).unwrap_or(u32::MAX);
        Self {
            count: self.count.saturating_add(more),
            digest: digest_after(self.digest, effects),
        }
    }
}

impl Default for UntakenEffects {
    fn default() -> Self {
        let (count, digest) = (0, OFFSET);
        Self { count, digest }
    }
}

/// Digest of effects. Of what an extender is asked only that it is: the sheet repeats what the state says, and is as
/// large; answers are inputs.
pub(crate) fn digest(effects: &[Effect]) -> u64 {
    digest_after(OFFSET, effects)
}

fn digest_after(before: u64, effects: &[Effect]) -> u64 {
    let mut fnv = Fnv(before);
    for effect in effects {
        // Nothing that is written into a number fails.
        let _ = match effect {
            Effect::Ask(_) => fnv.write_str("Ask"),
            other => write!(fnv, "{other:?}"),
        };
        let _ = fnv.write_char('\n');
    }
    fnv.0
}
