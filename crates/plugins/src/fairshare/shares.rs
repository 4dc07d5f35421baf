//! Who used how much for his share: 2^(−use/share), both as parts of what all used together, as Slurm's classic fair share has it.

use pumice_framework::points::FACTOR_PARTS;
use pumice_model::State;
use rustc_hash::FxHashMap;

use super::decay::{USE_BITS, halved};
use super::ledger::{AccountOwner, UseAccount, UseLedger};

/// What all used together, when orders were made.
#[derive(Clone, Default)]
pub(super) struct UseShares {
    /// By queue: what its users used, and how many they are.
    users: FxHashMap<Box<str>, (u128, u128)>,
    /// What queues used, and the weights of those that used something.
    queues: (u128, u128),
}

impl UseShares {
    /// Sums of what accounts had when orders were made.
    pub fn of(state: &State, ledger: &UseLedger) -> Self {
        let mut sums = Self::default();
        for account in ledger.each() {
            let used = used(account);
            match account.owner {
                AccountOwner::Queue if used > 0 => {
                    sums.queues.0 += used;
                    sums.queues.1 += weight(state, account);
                }
                AccountOwner::Queue => {}
                AccountOwner::User(_) | AccountOwner::Others => {
                    let of = sums.users.entry(account.queue.clone()).or_default();
                    *of = (of.0 + used, of.1 + 1);
                }
            }
        }
        sums
    }

    /// How little an account used for its share: of users each has the same, of queues by weight.
    pub fn factor(&self, state: &State, account: &UseAccount) -> u64 {
        let used = used(account);
        match account.owner {
            AccountOwner::Queue => {
                let (total, weights) = self.queues;
                let for_all = total.saturating_mul(weight(state, account));
                halved(used.saturating_mul(weights), for_all)
            }
            AccountOwner::User(_) | AccountOwner::Others => {
                let of = self.users.get(&account.queue);
                of.map_or(FACTOR_PARTS, |(total, users)| {
                    halved(used.saturating_mul(*users), *total)
                })
            }
        }
    }
}

fn used(account: &UseAccount) -> u128 {
    account.ordered >> USE_BITS
}

fn weight(state: &State, account: &UseAccount) -> u128 {
    let queue = state.population().queue_by_name(&account.queue);
    let weight = queue.map_or(1, |queue| state.queue(queue).object.weight);
    weight.max(1).unsigned_abs().into()
}
