//! What was wanted done, as one number: equal only if all of it is, in that order.

use std::fmt::{self, Write as _};

use pumice_decider::Effect;

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

/// Digest of effects. Of what an extender is asked only that it is: the sheet repeats what the state says, and is as
/// large; answers are inputs.
pub(crate) fn digest(effects: &[Effect]) -> u64 {
    let mut fnv = Fnv(OFFSET);
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
