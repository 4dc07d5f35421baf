//! Whether a node has room, which chips are taken, and how good that is (spec/05 §2.8 to §2.10,
//! P-6, P-7, P-10).

use smallvec::SmallVec;

use crate::binding::{Annotation, AnnotationValue, BindingAnnotations, InFlightGuard};
use crate::ledger::{Allocation, Allocations, LedgerTime, NodeCards, Partition, Tags};
use crate::request::{Failure, FamilyRequest, NearMiss, chosen_of};
use crate::text::Bounded;

use super::mark::{VnpuMark, VnpuProgress};
use super::node::NodeWithoutNpus;
use super::request::{CHIP_CORES, CoreRequest, Size};
use super::room::{Mistakable, NpuShortage, check, chip_short_of, free, is_idle};
use super::template::{Part, VnpuTemplate};
use super::{CORES, TIME};

/// Points between nodes with and without downgrade; as many free AI cores tell nodes apart.
const MAX_POINTS: i64 = 64;

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

    /// A chip by a template, or all of it.
    fn allocation(
        &self,
        cards: &NodeCards,
        at: usize,
        template: Option<VnpuTemplate>,
    ) -> Allocation {
        let mark = template.map(|template| VnpuMark {
            template,
            progress: VnpuProgress::InFlight,
        });
        let part = match template {
            Some(template) => template.part(),
            None => Part::of(cards.capacity(at)),
        };
        Allocation {
            partition: mark.map(VnpuMark::partition),
            ..Allocation::of(cards, at, self.asked.container, part.portion())
        }
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

    /// Chips have 8 AI cores, or else 10.
    fn cards_at_once(&self) -> u32 {
        let cores = self.asked.cores;
        let of_chip = CHIP_CORES.into_iter().find(|of_chip| cores % of_chip == 0);
        match (self.asked.size, of_chip) {
            (Size::Whole, Some(of_chip)) => u32::try_from(cores / of_chip).unwrap_or(u32::MAX),
            (Size::Whole, None) | (Size::Virtual(_), _) => 1,
        }
    }

    fn piece(&self, cards: &NodeCards, at: usize, view: LedgerTime) -> Option<Allocation> {
        if let Size::Virtual(_) = self.asked.size {
            return chosen_of(self, cards, &[at], view)?.into_iter().next();
        }
        let of_chip = Part::of(cards.capacity(at)).cores.max(1);
        let is_given = cards.cards[at].is_usable() && is_idle(cards, at, view);
        let fits = is_given && self.asked.cores % of_chip == 0;
        fits.then(|| self.allocation(cards, at, None))
    }

    /// The template is that of the whole node: not the lesser one where another chip has room for the full
    /// one.
    fn choose_of(
        &self,
        cards: &NodeCards,
        some: &[usize],
        view: LedgerTime,
    ) -> Option<Allocations> {
        let (_, template) = self.find(cards, view).ok()?;
        let (chips, found) = self.find(&cards.only(some), view).ok()?;
        let is_kept_away = |template: VnpuTemplate| {
            let mistakable = self.mistakable(template, cards, view);
            chips.iter().any(|at| mistakable.is_on(some[*at]))
        };
        if found != template || template.is_some_and(is_kept_away) {
            return None;
        }
        let chips = chips.iter().map(|at| some[*at]);
        Some(
            chips
                .map(|at| self.allocation(cards, at, template))
                .collect(),
        )
    }

    fn choose(&self, cards: &NodeCards, view: LedgerTime) -> Option<Allocations> {
        let (chips, template) = self.find(cards, view).ok()?;
        let chips = chips.into_iter();
        Some(
            chips
                .map(|at| self.allocation(cards, at, template))
                .collect(),
        )
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
