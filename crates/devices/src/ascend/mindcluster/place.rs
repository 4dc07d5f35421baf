//! Whether a node has room, which chips are taken, and how good that is (spec/05 §2.8 to §2.10,
//! P-6, P-7, P-10).

use smallvec::SmallVec;

use crate::binding::{Annotation, AnnotationValue, BindingAnnotations, InFlightGuard};
use crate::ledger::{Allocation, Allocations, LedgerTime, NodeCards, Partition, Tags};
use crate::request::{Failure, FamilyRequest, NearMiss};
use crate::text::Bounded;

use super::mark::{VnpuMark, VnpuProgress};
use super::node::{Listing, NodeWithoutNpus};
use super::request::{CoreRequest, Size};
use super::template::{Part, VnpuTemplate};
use super::{CORES, TIME};

/// Why no chip of a node will do; of several chips the one that comes closest tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum NpuShortage {
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
    const ALL: [Self; 9] = [
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

    fn text(self, request: &CoreRequest) -> String {
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

    fn evictions_help(self) -> bool {
        matches!(
            self,
            Self::Busy | Self::Cores | Self::AiCpus | Self::Dvpp | Self::Groups
        )
    }
}

/// What a pod asks of a node.
pub struct NpuRequest {
    asked: CoreRequest,
    tags: Tags,
    /// The effects layer keeps pods apart that the plugin could mix up.
    is_guarded: bool,
    failures: Vec<Failure>,
}

/// Chips with the template each is split by, if it is.
type Chosen = (SmallVec<[usize; 2]>, Option<VnpuTemplate>);

impl NpuRequest {
    /// Compiles a request.
    pub fn new(asked: CoreRequest, tags: Tags, is_guarded: bool) -> Self {
        let shortages = NpuShortage::ALL.iter().map(|shortage| Failure {
            text: shortage.text(&asked),
            evictions_help: shortage.evictions_help(),
        });
        let absences = NodeWithoutNpus::ALL.iter().map(|absent| Failure {
            text: absent.text().to_owned(),
            evictions_help: false,
        });
        let failures = shortages.chain(absences).collect();
        Self {
            asked,
            tags,
            is_guarded,
            failures,
        }
    }

    fn find(&self, cards: &NodeCards, view: LedgerTime) -> Result<Chosen, u8> {
        if cards.cards.is_empty() {
            let absent = NodeWithoutNpus::of(cards) as u8;
            return Err(NpuShortage::ALL.len() as u8 + absent);
        }
        let found = match self.asked.size {
            Size::Whole => self.whole(cards, view).map(|chips| (chips, None)),
            Size::Virtual(template) => self
                .vnpu(template, cards, view)
                .map(|(at, template)| ([at].into_iter().collect(), Some(template))),
        };
        found.map_err(|shortage| shortage as u8)
    }

    /// Idle chips, in the order of their numbers.
    fn whole(
        &self,
        cards: &NodeCards,
        view: LedgerTime,
    ) -> Result<SmallVec<[usize; 2]>, NpuShortage> {
        let of_chip = Part::of(cards.capacity(0)).cores.max(1);
        if self.asked.cores % of_chip != 0 {
            return Err(NpuShortage::Size);
        }
        let number = usize::try_from(self.asked.cores / of_chip).unwrap_or(usize::MAX);
        let usable = |at: &usize| cards.cards[*at].is_usable();
        let usable = (0..cards.cards.len()).filter(usable);
        let (mut able, mut chosen) = (0, SmallVec::new());
        for at in usable {
            able += 1;
            if chosen.len() < number && is_idle(cards, at, view) {
                chosen.push(at);
            }
        }
        match (able, chosen.len()) {
            (_, idle) if idle == number => Ok(chosen),
            (0, _) => Err(NpuShortage::NoUsable),
            (able, _) if able < number => Err(NpuShortage::TooFew),
            _ => Err(NpuShortage::Busy),
        }
    }

    /// The fullest chip with room; with fewer AI CPUs where no chip of the node has them all.
    fn vnpu(
        &self,
        template: VnpuTemplate,
        cards: &NodeCards,
        view: LedgerTime,
    ) -> Result<(usize, VnpuTemplate), NpuShortage> {
        let first = match self.best(template, cards, view) {
            Ok(at) => return Ok((at, template)),
            // There is room, and it will be this pod's.
            Err(NpuShortage::InFlight) => return Err(NpuShortage::InFlight),
            Err(shortage) => shortage,
        };
        let Some(lesser) = template.downgrade() else {
            return Err(first);
        };
        match self.best(lesser, cards, view) {
            Ok(at) => Ok((at, lesser)),
            Err(NpuShortage::InFlight) => Err(NpuShortage::InFlight),
            Err(_) => Err(first),
        }
    }

    fn best(
        &self,
        template: VnpuTemplate,
        cards: &NodeCards,
        view: LedgerTime,
    ) -> Result<usize, NpuShortage> {
        let mistakable = self.mistakable(template, cards, view);
        let mut closest = NpuShortage::NoUsable;
        let mut best = None;
        for at in 0..cards.cards.len() {
            match check(template, cards, at, view, mistakable) {
                Ok(()) => {
                    let free = free(cards, at, view);
                    let order = (free.cores, free.ai_cpus, at);
                    best = best.min(Some(order)).or(Some(order));
                }
                Err(shortage) => closest = closest.max(shortage),
            }
        }
        best.map(|(_, _, at)| at).ok_or(closest)
    }

    /// Where the plugin could take the pod for another one that is on its way: it knows no more of a pod
    /// than its number of AI cores. Pods of one group may be taken for one another where the same vNPUs
    /// come of it, and where their Bindings wait for each other.
    fn mistakable(
        &self,
        template: VnpuTemplate,
        cards: &NodeCards,
        view: LedgerTime,
    ) -> Mistakable {
        let mut found = Mistakable::Nowhere;
        if !template.has_others_of_its_cores() {
            return found;
        }
        // A vNPU may be on its way to a chip of which nothing is told any more.
        let all = cards.entries(view).chain(cards.strays(view));
        let others = all.filter(|entry| entry.certain);
        let others = others.filter_map(|entry| Some((entry, VnpuMark::of(entry.partition)?)));
        for (entry, _) in others.filter(|(_, mark)| mark.is_mistakable_for(template)) {
            let of_group = self.tags.group.is_some() && self.tags.group == entry.tags.group;
            found = match found {
                _ if !of_group => return Mistakable::Everywhere,
                known if self.is_guarded => known,
                Mistakable::Nowhere => Mistakable::Beside(usize::from(entry.card)),
                Mistakable::Beside(card) if card == usize::from(entry.card) => found,
                _ => return Mistakable::Everywhere,
            };
        }
        found
    }

    /// Nodes without downgrade go first, then those with the fewest free AI cores (spec/05 §2.9).
    fn score(&self, chosen: &Chosen, cards: &NodeCards, view: LedgerTime) -> f64 {
        let is_downgraded = match (self.asked.size, chosen.1) {
            (Size::Virtual(asked), Some(given)) => asked != given,
            _ => false,
        };
        let usable = (0..cards.cards.len()).filter(|at| cards.cards[*at].is_usable());
        let free: i64 = usable.map(|at| free(cards, at, view).cores.max(0)).sum();
        let full = (MAX_POINTS - free).max(0) as f64;
        match is_downgraded {
            true => full,
            false => full + MAX_POINTS as f64,
        }
    }

    /// What is wrong chip by chip.
    fn by_chip(&self, cards: &NodeCards, view: LedgerTime) -> Bounded {
        let mut wrong = Bounded::default();
        for (at, card) in cards.cards.iter().enumerate() {
            let why = match self.asked.size {
                Size::Whole => (!is_idle(cards, at, view)).then(|| "in use".to_owned()),
                Size::Virtual(template) => {
                    let last = template.downgrade().unwrap_or(template);
                    let mistakable = self.mistakable(last, cards, view);
                    let shortage = check(last, cards, at, view, mistakable).err();
                    shortage.map(|shortage| chip_short_of(shortage, last, cards, at, view))
                }
            };
            let why = card.unusable.as_deref().map(str::to_owned).or(why);
            if let Some(why) = why {
                wrong.tell(|| format!("NPU {}: {why}", card.index));
            }
        }
        wrong
    }
}

/// On which chips of a node a pod could be taken for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistakable {
    /// On none.
    Nowhere,
    /// On all but this one.
    Beside(usize),
    /// On all.
    Everywhere,
}

impl Mistakable {
    fn is_on(self, at: usize) -> bool {
        match self {
            Self::Nowhere => false,
            Self::Beside(card) => card != at,
            Self::Everywhere => true,
        }
    }
}

/// Whether a chip has room for a vNPU.
fn check(
    template: VnpuTemplate,
    cards: &NodeCards,
    at: usize,
    view: LedgerTime,
    mistakable: Mistakable,
) -> Result<(), NpuShortage> {
    let card = &cards.cards[at];
    if !card.is_usable() || (Listing::of(card) == Listing::Unlisted && !is_split(cards, at)) {
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

/// Points between nodes with and without downgrade; as many free AI cores tell nodes apart.
const MAX_POINTS: i64 = 64;

fn free(cards: &NodeCards, at: usize, view: LedgerTime) -> Part {
    let (all, used) = (Part::of(cards.capacity(at)), Part::of(cards.used(at, view)));
    Part {
        cores: all.cores - used.cores,
        ai_cpus: all.ai_cpus - used.ai_cpus,
        dvpp: all.dvpp - used.dvpp,
    }
}

/// A chip nobody has any of, and that the plugin gives out.
fn is_idle(cards: &NodeCards, at: usize, view: LedgerTime) -> bool {
    let is_listed = Listing::of(&cards.cards[at]) == Listing::Listed;
    is_listed && cards.used(at, view).iter().all(|used| *used == 0)
}

/// Whether there are vNPUs on a chip, for certain.
fn is_split(cards: &NodeCards, at: usize) -> bool {
    let mut entries = cards.entries(LedgerTime::Now);
    entries.any(|entry| {
        let is_here = usize::from(entry.card) == at && entry.certain;
        is_here && VnpuMark::of(entry.partition).is_some()
    })
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

fn chip_short_of(
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

impl FamilyRequest for NpuRequest {
    fn failures(&self) -> &[Failure] {
        &self.failures
    }

    fn fit(&self, cards: &NodeCards, view: LedgerTime) -> Result<f64, u8> {
        let chosen = self.find(cards, view)?;
        Ok(self.score(&chosen, cards, view))
    }

    /// It may share a chip or a node with vNPUs of its own group of which those of others would keep it
    /// away: see [`NpuRequest::mistakable`].
    fn heeds_group(&self, held: &mut dyn Iterator<Item = Partition>) -> bool {
        let Size::Virtual(template) = self.asked.size else {
            return false;
        };
        let own = [Some(template), template.downgrade()];
        held.filter_map(|partition| VnpuMark::of(Some(partition)))
            .any(|mark| {
                own.into_iter()
                    .flatten()
                    .any(|own| mark.is_mistakable_for(own))
            })
    }

    fn choose(&self, cards: &NodeCards, view: LedgerTime) -> Option<Allocations> {
        let (chips, template) = self.find(cards, view).ok()?;
        let mark = template.map(|template| VnpuMark {
            template,
            progress: VnpuProgress::InFlight,
        });
        let of = |at: usize| {
            let part = match template {
                Some(template) => template.part(),
                None => Part::of(cards.capacity(at)),
            };
            Allocation {
                partition: mark.map(VnpuMark::partition),
                ..Allocation::of(cards, at, self.asked.container, part.portion())
            }
        };
        Some(chips.into_iter().map(of).collect())
    }

    fn explain(&self, node: &str, cards: &NodeCards, view: LedgerTime) -> Option<NearMiss> {
        let failure = self.find(cards, view).err()?;
        let mut text = match (&cards.label, cards.cards.is_empty()) {
            (Some(why), true) => format!("{node}: {why}"),
            _ => format!("{node}: {}", self.failures[usize::from(failure)].text),
        };
        let chips = self.by_chip(cards, view).into_texts("more");
        if !chips.is_empty() {
            text.push_str(&format!(" ({})", chips.join("; ")));
        }
        let short = (0..cards.cards.len())
            .filter(|at| cards.cards[*at].is_usable())
            .map(|at| (self.asked.cores - free(cards, at, view).cores).max(0));
        Some(NearMiss {
            text,
            distance: (1, short.min().unwrap_or(NearMiss::NO_CARD)),
        })
    }

    fn annotations(
        &self,
        _node: &str,
        _cards: &NodeCards,
        allocations: &Allocations,
    ) -> BindingAnnotations {
        let ids: Vec<&str> = allocations.iter().map(|one| &*one.id).collect();
        let mark = allocations
            .first()
            .and_then(|one| VnpuMark::of(one.partition));
        let value = match mark {
            Some(mark) => format!("{}-{}", ids.join(","), mark.template.name()),
            None => ids.join(","),
        };
        let annotations = vec![
            Annotation::new(CORES, AnnotationValue::Text(value.clone())),
            Annotation::new(TIME, AnnotationValue::NanoSequence),
        ];
        BindingAnnotations {
            annotations,
            guard: Some(InFlightGuard {
                waits: self.is_guarded,
                kind: u32::try_from(self.asked.cores).unwrap_or(u32::MAX),
                content: value,
            }),
            locks: Vec::new(),
        }
    }

    fn warning(&self) -> Option<&str> {
        self.asked.odd_level.then_some(
            "the label vnpu-level of the pod is neither low nor high and counts as low; correct \
             it, or remove it",
        )
    }
}
