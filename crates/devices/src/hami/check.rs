//! Whether one card serves one container (spec/04 §23.3).
//!
//! Checks that no eviction changes come first.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::facts::ContainerKind;
use crate::ledger::{Card, CardSplit, Partition};
use crate::part::CardPart;

use super::card_check::CardCheck;
use super::mig;
use super::own::{HamiFamily, NeedOf, PodOnDevices};
use super::share::{CardMemory, CardNeed};
use super::slices;
use super::variant::{CardMode, CardVariant};
use super::vendor_cards::PodOnCards;

/// What a container of the pod has got of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Index of the card among those of the node.
    pub card: u16,
    /// Position of the container.
    pub container: u16,
    /// When that runs.
    pub runs: ContainerKind,
    /// What it takes.
    pub part: CardPart,
    /// Instance of the card that the container has got, where the card is split.
    pub instance: Option<Partition>,
}

impl CardNeed {
    /// What containers of the pod have got that run while this one does: an init container ends before
    /// the next one and before all regular ones. Parts of cards that are split are never had by two.
    pub fn beside<'a>(&self, own: &'a [Taken]) -> Cow<'a, [Taken]> {
        let is_init = self.runs == ContainerKind::Init;
        let is_beside = |one: &Taken| {
            one.instance.is_some()
                || one.container == self.container
                || match one.runs {
                    ContainerKind::Init => false,
                    ContainerKind::Sidecar => true,
                    ContainerKind::Regular => !is_init,
                }
        };
        match own.iter().all(is_beside) {
            true => Cow::Borrowed(own),
            false => own.iter().copied().filter(is_beside).collect(),
        }
    }
}

/// A card gives out instances that have a place on it each.
pub fn is_split(card: &Card) -> bool {
    !card.splits.is_empty() && CardVariant::of(card).mode != CardMode::Slices
}

impl PodOnCards<'_> {
    /// What a need takes of a card; of one that has no profile that will do all.
    pub fn part(&self, need: &CardNeed, at: usize) -> CardPart {
        let all = CardPart::capacity(self.cards, at);
        let part = self.part_of(need, at, all);
        part.unwrap_or(CardPart { sharers: 1, ..all })
    }

    /// What a need takes of a card that has so much; `None` where the card has no profile that will do.
    #[inline]
    fn part_of(&self, need: &CardNeed, at: usize, all: CardPart) -> Option<CardPart> {
        Some(CardPart {
            memory: match need.share.memory {
                CardMemory::Mib(mib) => mib,
                CardMemory::Percent(100) => all.memory,
                CardMemory::Percent(percent) => all.memory * percent / 100,
                CardMemory::Profile(ask) => return slices::part(ask, &self.cards.cards[at]),
            },
            sharers: 1,
            cores: need.share.cores.of(all.cores),
        })
    }

    /// What is in use of a card, with what containers of the pod have got.
    pub fn used(&self, at: usize, own: &[Taken]) -> CardPart {
        let mut used = CardPart::used(self.cards, at, self.view);
        for one in own.iter().filter(|one| usize::from(one.card) == at) {
            used.memory += one.part.memory;
            used.sharers += one.part.sharers;
            used.cores += one.part.cores;
        }
        used
    }

    /// What a card gives for a need beside what containers of the pod have got.
    pub fn admits(&self, need: &CardNeed, at: usize, own: &[Taken]) -> Result<Taken, CardCheck> {
        self.gives(need, at, own).map(|(taken, _)| taken)
    }

    /// What a card gives for a need beside what containers of the pod have got, and what is in use of it while the need's
    /// container runs.
    pub fn gives(
        &self,
        need: &CardNeed,
        at: usize,
        own: &[Taken],
    ) -> Result<(Taken, CardPart), CardCheck> {
        self.is_allowed(need, at)?;
        let all = CardPart::capacity(self.cards, at);
        let part = self.part_of(need, at, all).ok_or(CardCheck::Size)?;
        self.has_size(need, at, (part, all))?;
        if self.is_elsewhere(need, at, own) {
            return Err(CardCheck::Beside);
        }
        let own = &need.beside(own)[..];
        let used = self.used(at, own);
        if used.sharers > 0 {
            self.may_join(need, at, own)?;
        }
        if used.sharers >= all.sharers {
            return Err(CardCheck::Slots);
        }
        if !self.is_of_one_size(need, used, part) {
            return Err(CardCheck::Mixed);
        }
        if self.limits.preference.idle_only && used.sharers > 0 {
            return Err(CardCheck::Idle);
        }
        let taken = Taken {
            card: at as u16,
            container: need.container,
            runs: need.runs,
            part,
            instance: None,
        };
        if self.is_split(at) {
            let found = self.instance(need, taken, own, (all, used));
            return Ok((found.ok_or(CardCheck::Instance)?, used));
        }
        if all.memory - used.memory < part.memory {
            return Err(CardCheck::Memory);
        }
        if self.terms(need).is_online() {
            return Ok((taken, used));
        }
        if all.cores - used.cores < part.cores {
            return Err(match need.share.profile() {
                Some(_) => CardCheck::Instance,
                None => CardCheck::Cores,
            });
        }
        if all.cores == 100 && part.cores == 100 && used.sharers > 0 {
            return Err(CardCheck::Exclusive);
        }
        match all.cores != 0 && used.cores >= all.cores && part.cores == 0 {
            true => Err(CardCheck::Held),
            false => Ok((taken, used)),
        }
    }

    /// What a list tells of what a container has got.
    pub fn asked(&self, need: &CardNeed, taken: &Taken) -> CardPart {
        let at = usize::from(taken.card);
        match taken.instance {
            Some(instance) => {
                let kind = &self.rules.kinds[usize::from(need.kind)];
                kind.listed(instance, self.part(need, at))
            }
            None => self.listed(need, at, taken.part).unwrap_or(taken.part),
        }
    }

    /// A card gives out instances, several of them to a container if it asks so many.
    pub fn is_split(&self, at: usize) -> bool {
        is_split(&self.cards.cards[at])
    }

    /// The profiles of a card that have so much memory, the smallest first; the largest alone for who asks all of the card.
    fn profiles(&self, need: &CardNeed, at: usize, memory: i64) -> &[CardSplit] {
        let all = &self.cards.cards[at].splits;
        let first = match need.share.memory {
            CardMemory::Percent(100) => {
                let largest = all.iter().rposition(|profile| !profile.places.is_empty());
                return largest.map_or(&[], |at| &all[at..=at]);
            }
            _ => all.partition_point(|profile| profile.memory < memory),
        };
        &all[first..]
    }

    /// Whether a card has any of these profiles.
    fn has_instance(&self, need: &CardNeed, at: usize, memory: i64) -> bool {
        match need.share.memory {
            CardMemory::Percent(100) => !self.profiles(need, at, memory).is_empty(),
            // The largest is the last.
            _ => {
                let largest = self.cards.cards[at].splits.last();
                largest.is_some_and(|profile| profile.memory >= memory)
            }
        }
    }

    /// The first free place of the smallest profile that has one, of a card of which so much is in use.
    fn instance(
        &self,
        need: &CardNeed,
        taken: Taken,
        own: &[Taken],
        (all, used): (CardPart, CardPart),
    ) -> Option<Taken> {
        let at = usize::from(taken.card);
        let mut roomy = self
            .profiles(need, at, taken.part.memory)
            .iter()
            .filter(|profile| {
                used.memory + profile.memory <= all.memory
                    && used.cores + profile.cores <= all.cores
            });
        let live = match used.sharers {
            0 => SmallVec::new(),
            _ => self.live(at, own),
        };
        let is_free = |one: &Partition| !live.iter().any(|other| mig::overlap(*one, *other));
        roomy.find_map(|profile| {
            let mut places = profile.places.iter().map(|place| mig::at_place(*place));
            let instance = places.find(is_free)?;
            let part = CardPart {
                memory: profile.memory,
                sharers: 1,
                cores: profile.cores,
            };
            Some(Taken {
                part,
                instance: Some(instance),
                ..taken
            })
        })
    }

    /// Instances of a card that somebody has, containers of the pod among them.
    fn live(&self, at: usize, own: &[Taken]) -> SmallVec<[Partition; 8]> {
        let others = self.cards.entries(self.view);
        let others = others.filter(|entry| usize::from(entry.card) == at);
        let others = others.map(|entry| entry.partition.unwrap_or(Partition::UNKNOWN));
        let own = own.iter().filter(|one| usize::from(one.card) == at);
        let own = own.filter_map(|one| one.instance);
        others.chain(own).collect()
    }

    /// Whether a card has as much as is asked, and no part of it is named where it is handed out whole.
    pub fn is_large_enough(&self, need: &CardNeed, at: usize) -> Result<(), CardCheck> {
        let all = CardPart::capacity(self.cards, at);
        let part = self.part_of(need, at, all).ok_or(CardCheck::Size)?;
        self.has_size(need, at, (part, all))
    }

    /// Whether a card that has `all` is large enough for a part of it, and no part is named where it is handed out whole.
    fn has_size(
        &self,
        need: &CardNeed,
        at: usize,
        (part, all): (CardPart, CardPart),
    ) -> Result<(), CardCheck> {
        if need.share.profile().is_some() {
            return match part.cores <= all.cores {
                true => Ok(()),
                false => Err(CardCheck::Size),
            };
        }
        let is_large_enough = match self.is_split(at) {
            true => self.has_instance(need, at, part.memory),
            false => part.memory <= all.memory,
        };
        let named = need.share.named;
        let is_large_enough = is_large_enough && named.is_none_or(|one| one.least <= all.memory);
        if !is_large_enough {
            return Err(CardCheck::Size);
        }
        match named.is_some_and(|named| named.most < all.memory) {
            true => Err(CardCheck::Part),
            false => Ok(()),
        }
    }
}

impl<F: HamiFamily> PodOnDevices<'_, F> {
    /// The checks that no eviction changes.
    pub fn allows(&self, need: &NeedOf<F>, at: usize) -> Result<(), CardCheck> {
        self.is_allowed(need, at)?;
        F::is_large_enough(self, need, at)
    }

    /// Those of them that do not ask how large the card is.
    pub fn is_allowed(&self, need: &NeedOf<F>, at: usize) -> Result<(), CardCheck> {
        let card = &self.cards.cards[at];
        if CardVariant::of(card).kind != need.kind {
            return Err(CardCheck::Kind);
        }
        if !card.is_usable() {
            return Err(CardCheck::Usable);
        }
        self.limits.admits(card)
    }
}
