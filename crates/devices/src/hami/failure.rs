//! All ways in which a node may not fit, in one list (spec/04 §23.3).

use std::sync::Arc;

use crate::request::Failure;

use super::check::{CardCheck, PodOnCards};
use super::kind::CardKind;
use super::needs::CardNeed;

/// Checks that no eviction changes.
const FIXED: [CardCheck; 7] = [
    CardCheck::Kind,
    CardCheck::Usable,
    CardCheck::Mode,
    CardCheck::Type,
    CardCheck::Uuid,
    CardCheck::Size,
    CardCheck::Part,
];
/// Index of the failure of a node that has too few cards; those before are by check.
const TOO_FEW: u8 = FIXED.len() as u8;
/// Index of the failure of a node that has too few cards near one NUMA node.
const NUMA: u8 = TOO_FEW + 1;
/// Index of the failure that evictions could mend.
const LATER: u8 = NUMA + 1;

/// The list of a pod with these needs.
pub fn list(needs: &[CardNeed], kinds: &[CardKind]) -> Arc<[Failure]> {
    let Some(need) = needs.first() else {
        return Arc::default();
    };
    let name = &kinds[usize::from(need.kind)].names.count;
    let fixed = |why: &str| Failure {
        text: format!("not enough {name} ({why})"),
        evictions_help: false,
    };
    let mut all: Vec<Failure> = FIXED
        .iter()
        .map(|check| match check {
            CardCheck::Part => Failure {
                text: parted(needs, kinds),
                evictions_help: false,
            },
            CardCheck::Usable => fixed("unhealthy, or not given out"),
            CardCheck::Mode => fixed("mode"),
            CardCheck::Type => fixed("type lists"),
            CardCheck::Uuid => fixed("UUID lists"),
            CardCheck::Size => fixed("more memory than a card has"),
            _ => fixed("the node has registered none"),
        })
        .collect();
    all.push(fixed("too few cards"));
    all.push(fixed("too few cards near one NUMA node"));
    all.push(Failure {
        text: format!("not enough {name}"),
        evictions_help: true,
    });
    all.into()
}

/// Several cards are whole ones, and a part was named.
fn parted(needs: &[CardNeed], kinds: &[CardKind]) -> String {
    let named = needs.iter().find(|need| need.share.named.is_some());
    let Some((need, mib)) = named.and_then(|need| Some((need, need.share.named?.most))) else {
        return "several cards are whole ones".to_owned();
    };
    let kind = &kinds[usize::from(need.kind)];
    let all = match kind.unit {
        super::kind::MemoryUnit::Together(..) => mib * i64::from(need.count),
        _ => mib,
    };
    format!(
        "{} {} takes whole cards: {} {} is not possible",
        kind.names.count,
        need.count,
        kind.names.memory,
        all / kind.unit.mib()
    )
}

impl PodOnCards<'_> {
    /// Index of the failure on a node where the pod does not fit.
    #[cold]
    pub fn failure(&self, needs: &[CardNeed]) -> u8 {
        let idle = self.at(crate::ledger::LedgerTime::Idle);
        if idle.place(needs).is_some() {
            return LATER;
        }
        let alone = |need: &&CardNeed| idle.best(need, &[]).is_none();
        let Some(need) = needs.iter().find(alone).or(needs.last()) else {
            return TOO_FEW;
        };
        let mut last = CardCheck::Kind;
        let mut has_some = false;
        for at in 0..self.cards.cards.len() {
            match idle.allows(need, at) {
                Ok(()) => has_some = true,
                Err(check) => last = last.max(check),
            }
        }
        if !has_some {
            return last as u8;
        }
        let any = || idle.first(need, &idle.order(need, &[]), &[]);
        match alone(&need) && any().is_some() {
            true => NUMA,
            false => TOO_FEW,
        }
    }
}
