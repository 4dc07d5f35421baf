//! All ways in which a node may not fit a pod that asks cards of vendors, in one list (spec/04 §23.3).

use std::sync::Arc;

use crate::request::Failure;

use super::card_check::CardCheck;
use super::kind::{CardKind, OwnRules};
use super::share::CardNeed;

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
pub const TOO_FEW: u8 = FIXED.len() as u8;
/// Index of the failure of a node that has too few cards near one NUMA node.
pub const NUMA: u8 = TOO_FEW + 1;
/// Index of the failure of a node of which too few cards are linked.
pub const LINKED: u8 = NUMA + 1;
/// Index of the failure that evictions could mend.
pub const LATER: u8 = LINKED + 1;

/// The list of a pod with these needs.
pub fn list(needs: &[CardNeed], kinds: &[CardKind]) -> Arc<[Failure]> {
    let Some(need) = needs.first() else {
        return Arc::default();
    };
    let kind = &kinds[usize::from(need.kind)];
    let is_neuron = kind.rules == OwnRules::Neuron;
    let profile = need.share.profile();
    let name = match is_neuron && need.share.is_by_cores() {
        true => &kind.names.cores,
        false => profile.map_or(&*kind.names.count, |ask| ask.resource(kind)),
    };
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
            CardCheck::Size if profile.is_some() => fixed("no such profile"),
            CardCheck::Size if is_neuron => fixed("more cores than a device has"),
            CardCheck::Size => fixed("more memory than a card has"),
            _ => fixed("the node has registered none"),
        })
        .collect();
    all.push(fixed(match profile {
        Some(_) => "no card has as much as all containers ask",
        None => "too few cards",
    }));
    all.push(fixed("too few cards near one NUMA node"));
    all.push(fixed("too few cards that are linked"));
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
