//! What pods with cards of vendors count for their queues (spec/04 §23.6).

use crate::facts::{ContainerKind, most_at_any_time};
use crate::ledger::{Allocation, Allocations, charge_peak};
use crate::part::CardPart;
use crate::request::QueueAmounts;

use super::own::HamiRequest;
use super::share::{CardCores, CardMemory, CardNeed};
use super::vendor_cards::VendorCards;

/// Amounts that count for the queue of a pod, of cards that are known or else as far as they can be told.
pub fn charge<'a>(
    pod: &'a HamiRequest<VendorCards>,
    picks: Option<&Allocations>,
) -> QueueAmounts<'a> {
    let is_known = |all: &&Allocations| all.iter().all(|one| one.certain || one.suspect);
    let picks = picks.filter(is_known);
    let mut amounts = QueueAmounts::new();
    for (at, need) in pod.needs.iter().enumerate() {
        if pod.needs[..at].iter().any(|known| known.kind == need.kind) {
            continue;
        }
        let kind = pod.kind(need);
        let (memory, cores) = pod.amounts(need.kind, picks);
        let unit = kind.unit.mib();
        let memory = memory.map(|mib| mib.saturating_mul(1000).div_euclid(unit));
        let cores = cores.map(|cores| cores.saturating_mul(1000));
        for (name, milli) in [(&kind.names.memory, memory), (&kind.names.cores, cores)] {
            let milli = milli.filter(|milli| *milli > 0 && !name.is_empty());
            amounts.extend(milli.map(|milli| (name.as_str(), milli)));
        }
    }
    amounts.sort();
    amounts
}

impl HamiRequest<VendorCards> {
    /// Memory in MiB of a need, if it can be told without cards.
    fn expected_memory(need: &CardNeed) -> Option<i64> {
        let memory = match need.share.memory {
            CardMemory::Mib(mib) => Some(mib),
            CardMemory::Percent(_) => need.share.named.map(|named| named.most),
            // Which profile it is says the card.
            CardMemory::Profile(_) => None,
        };
        Some(memory?.saturating_mul(need.count.into()))
    }

    /// Cores of a need, if they can be told without cards.
    fn expected_cores(need: &CardNeed) -> Option<i64> {
        match need.share.cores {
            CardCores::All => None,
            CardCores::Units(cores) | CardCores::Percent(cores) => {
                Some(cores.saturating_mul(need.count.into()))
            }
        }
    }

    /// Memory in MiB and cores of a kind, as far as they can be told without cards.
    fn expected_of(&self, of: u16) -> (Option<i64>, Option<i64>) {
        let own = || self.needs.iter().filter(move |need| need.kind == of);
        let most = |amount: fn(&CardNeed) -> Option<i64>| {
            let amounts = own().map(|need| Some((need.runs, amount(need)?)));
            let amounts: Option<Vec<(ContainerKind, i64)>> = amounts.collect();
            amounts.map(most_at_any_time)
        };
        (most(Self::expected_memory), most(Self::expected_cores))
    }

    /// Memory in MiB and cores of a kind, of cards that are known or else as far as they can be told.
    fn amounts(&self, of: u16, picks: Option<&Allocations>) -> (Option<i64>, Option<i64>) {
        let Some(picks) = picks else {
            return self.expected_of(of);
        };
        let need_of = |one: &Allocation| {
            let mut needs = self.needs.iter();
            let found = needs.find(|need| need.container == one.container);
            found.filter(|need| need.kind == of)
        };
        let mut sum = CardPart::default();
        let mut percents = Allocations::new();
        let mut needs = self.needs.iter();
        let has_init = needs.any(|need| need.runs == ContainerKind::Init);
        for one in picks.iter().filter(|one| !one.suspect) {
            let Some(need) = need_of(one) else {
                continue;
            };
            let part = CardPart::of(&one.charged);
            sum.memory += part.memory;
            let percent = match (need.share.cores, need.share.profile()) {
                (CardCores::Percent(percent), _) => Some(percent),
                (_, Some(_)) => Some(CardPart::of(&one.asked).cores),
                (CardCores::All | CardCores::Units(_), None) => None,
            };
            match percent {
                Some(percent) if !has_init => sum.cores += percent,
                Some(percent) => percents.push(Allocation {
                    charged: std::iter::once(percent).collect(),
                    ..one.clone()
                }),
                None => sum.cores += part.cores,
            }
        }
        charge_peak(&mut percents, |container| self.runs(container));
        sum.cores += percents.iter().map(|one| one.charged[0]).sum::<i64>();
        (Some(sum.memory), Some(sum.cores))
    }
}
