//! What of a chip is free, and whether that is enough for a vNPU (spec/05 §2.8, P-6).

use smallvec::SmallVec;

use crate::ledger::{LedgerTime, NodeCards};

use super::CORES;
use super::mark::{VnpuMark, VnpuProgress};
use super::request::CoreRequest;
use super::template::{Part, VnpuTemplate};

/// Why no chip of a node will do; of several chips the one that comes closest tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NpuShortage {
    /// No chip may be given out.
    NoUsable,
    /// The chips have a number of AI cores of which the request is no multiple.
    Size,
    /// There are fewer chips than are asked, even if all were idle.
    TooFew,
    /// Too few chips are idle.
    Busy,
    /// No chip has the AI cores.
    Cores,
    /// No chip has the AI CPUs.
    AiCpus,
    /// The media processors are taken.
    Dvpp,
    /// The groups of the chip are used up.
    Groups,
    /// The device plugin is about to make a vNPU it could take for this one.
    InFlight,
}

impl NpuShortage {
    pub(super) const ALL: [Self; 9] = [
        Self::NoUsable,
        Self::Size,
        Self::TooFew,
        Self::Busy,
        Self::Cores,
        Self::AiCpus,
        Self::Dvpp,
        Self::Groups,
        Self::InFlight,
    ];

    pub(super) fn text(self, request: &CoreRequest) -> String {
        let cores = request.cores;
        match self {
            Self::NoUsable => "node(s) had no NPU that may be given out".to_owned(),
            Self::Size => format!(
                "node(s) had NPUs with a number of AI cores of which {cores} {CORES} is no multiple"
            ),
            Self::TooFew => format!("node(s) had too few NPUs for {cores} {CORES}"),
            Self::Busy => format!("too few idle NPUs for {cores} {CORES}"),
            Self::Cores => format!("insufficient AI cores on every NPU for {cores} {CORES}"),
            Self::AiCpus => format!("insufficient AI CPUs on every NPU for {cores} {CORES}"),
            Self::Dvpp => "the DVPP of every NPU with room is taken".to_owned(),
            Self::Groups => format!("no NPU with a free vGroup for {cores} {CORES}"),
            Self::InFlight => "waiting for vNPU creation on the node".to_owned(),
        }
    }

    pub(super) fn evictions_help(self) -> bool {
        matches!(
            self,
            Self::Busy | Self::Cores | Self::AiCpus | Self::Dvpp | Self::Groups
        )
    }
}

/// On which chips of a node a pod could be taken for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mistakable {
    /// On none.
    Nowhere,
    /// On all but this one.
    Beside(usize),
    /// On all.
    Everywhere,
}

impl Mistakable {
    pub(super) fn is_on(self, at: usize) -> bool {
        match self {
            Self::Nowhere => false,
            Self::Beside(card) => card != at,
            Self::Everywhere => true,
        }
    }
}

/// Whether a chip has room for a vNPU.
pub(super) fn check(
    template: VnpuTemplate,
    cards: &NodeCards,
    at: usize,
    view: LedgerTime,
    mistakable: Mistakable,
) -> Result<(), NpuShortage> {
    if !cards.is_given_out(at) {
        return Err(NpuShortage::NoUsable);
    }
    let (part, free) = (template.part(), free(cards, at, view));
    if free.cores < part.cores {
        return Err(NpuShortage::Cores);
    }
    if free.ai_cpus < part.ai_cpus {
        return Err(NpuShortage::AiCpus);
    }
    if free.dvpp < part.dvpp {
        return Err(NpuShortage::Dvpp);
    }
    let most = most_groups(part.cores);
    if most.is_some_and(|most| groups(cards, at, view) >= most) {
        return Err(NpuShortage::Groups);
    }
    match mistakable.is_on(at) {
        true => Err(NpuShortage::InFlight),
        false => Ok(()),
    }
}

pub(super) fn free(cards: &NodeCards, at: usize, view: LedgerTime) -> Part {
    let (all, used) = (Part::of(cards.capacity(at)), Part::of(cards.used(at, view)));
    Part {
        cores: all.cores - used.cores,
        ai_cpus: all.ai_cpus - used.ai_cpus,
        dvpp: all.dvpp - used.dvpp,
    }
}

/// A chip nobody has any of, and that the plugin gives out.
pub(super) fn is_idle(cards: &NodeCards, at: usize, view: LedgerTime) -> bool {
    !cards.cards[at].only_rest && cards.used(at, view).iter().all(|used| *used == 0)
}

/// Groups in use of a chip. A vNPU that is not made yet may be in one of its own.
fn groups(cards: &NodeCards, at: usize, view: LedgerTime) -> usize {
    let mut known: SmallVec<[u16; 8]> = SmallVec::new();
    let mut unknown = 0;
    for partition in cards.partitions(at, view) {
        match VnpuMark::of(Some(partition)).map(|mark| mark.progress) {
            Some(VnpuProgress::InFlight) => unknown += 1,
            Some(VnpuProgress::Made(Some(group))) if !known.contains(&group) => known.push(group),
            _ => {}
        }
    }
    known.len() + unknown
}

/// Groups with which a vNPU of so many AI cores is not made any more, if there are such.
fn most_groups(cores: i64) -> Option<usize> {
    match cores {
        4.. => Some(3),
        2.. => Some(4),
        _ => None,
    }
}

pub(super) fn chip_short_of(
    shortage: NpuShortage,
    template: VnpuTemplate,
    cards: &NodeCards,
    at: usize,
    view: LedgerTime,
) -> String {
    let (free, part) = (free(cards, at, view), template.part());
    match shortage {
        NpuShortage::Cores => format!("{} of {} AI cores free", free.cores.max(0), part.cores),
        NpuShortage::AiCpus => format!("{} of {} AI CPUs free", free.ai_cpus.max(0), part.ai_cpus),
        NpuShortage::Dvpp => "its DVPP is taken".to_owned(),
        NpuShortage::Groups => format!("{} vGroups in use", groups(cards, at, view)),
        NpuShortage::InFlight => "waits for another vNPU of the node to be made".to_owned(),
        _ => "not given out by the device plugin".to_owned(),
    }
}
