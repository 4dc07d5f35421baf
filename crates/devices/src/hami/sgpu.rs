//! Who may share a MetaX sGPU with whom, and which one is the best (spec/04 §23.9).
//!
//! A card in use has the QoS policy of the pods on it, and their app classes. Nothing of that is
//! remembered: it is read from the ledger, and so right after every charge, discharge and restart.

use smallvec::SmallVec;

use crate::part::CardPart;

use super::card_check::CardCheck;
use super::check::Taken;
use super::links;
use super::share::{CardCores, CardNeed};
use super::terms::{AppClass, QosPolicy, SgpuCard, SgpuLimits, ShareTerms};
use super::variant::CardVariant;
use super::vendor_cards::PodOnCards;

/// Cores of a pod that has a card for itself.
const ALL_CORES: i64 = 100;
/// By this the points of cards count for their node.
const WEIGHT: i64 = 10_000;

/// Pods on a card by app class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounts {
    /// Online ones.
    pub online: u32,
    /// Offline ones.
    pub offline: u32,
}

impl ClassCounts {
    fn add(&mut self, class: Option<AppClass>) {
        match class {
            Some(AppClass::Online) => self.online += 1,
            Some(AppClass::Offline) => self.offline += 1,
            None => {}
        }
    }

    /// Nobody but offline pods is on the card: it is better left to them.
    fn is_offline(self) -> bool {
        self.online == 0 && self.offline > 0
    }

    /// Points of a card that an online pod takes.
    fn points(self) -> i64 {
        let (online, offline) = (i64::from(self.online), i64::from(self.offline));
        match self.is_offline() {
            true => -100 * offline,
            false => -20 * online - 2 * offline,
        }
    }

    /// Order of cards for an online pod.
    fn rank(self) -> (bool, u32, u32) {
        match self.is_offline() {
            true => (true, self.offline, 0),
            false => (false, self.online, self.offline),
        }
    }
}

impl PodOnCards<'_> {
    /// How the pod shares the cards of a need.
    pub fn terms(&self, need: &CardNeed) -> ShareTerms {
        self.limits.terms(need.kind).unwrap_or_default()
    }

    /// Whether the pod may join those that are on a card in use, its own containers among them.
    pub fn may_join(&self, need: &CardNeed, at: usize, own: &[Taken]) -> Result<(), CardCheck> {
        let Some(terms) = self.limits.terms(need.kind) else {
            return Ok(());
        };
        let ClassCounts { online, offline } = self.classes(terms, at, own);
        let is_alike = (online + offline > 0) == terms.class.is_some();
        if !is_alike || (online > 0 && terms.class == Some(AppClass::Offline)) {
            return Err(CardCheck::Class);
        }
        if terms.is_online() || need.share.cores == CardCores::Units(ALL_CORES) {
            return Ok(());
        }
        let policy = self.policy(need, at, own);
        match policy.is_none_or(|policy| policy == terms.qos) {
            true => Ok(()),
            false => Err(CardCheck::Qos),
        }
    }

    /// Pods on a card by app class, with this one if containers of it are.
    pub fn classes(&self, terms: ShareTerms, at: usize, own: &[Taken]) -> ClassCounts {
        let mut counts = ClassCounts::default();
        let mut known: SmallVec<[u32; 16]> = SmallVec::new();
        for entry in self.cards.entries(self.view) {
            if usize::from(entry.card) == at && !known.contains(&entry.pod) {
                known.push(entry.pod);
                counts.add(ShareTerms::of(entry.share).class);
            }
        }
        if own.iter().any(|one| usize::from(one.card) == at) {
            counts.add(terms.class);
        }
        counts
    }

    /// The QoS policy of a card in use: of the pods on it that leave cores to others, and where
    /// there are none, what the node tells. Of several one that is not the pod's.
    pub fn policy(&self, need: &CardNeed, at: usize, own: &[Taken]) -> Option<QosPolicy> {
        let asked = self.terms(need).qos;
        let leaves_cores = |part: CardPart| part.cores < ALL_CORES;
        let is_own = |one: &Taken| usize::from(one.card) == at && leaves_cores(one.part);
        let mut found = own.iter().any(is_own).then_some(asked);
        for entry in self.cards.entries(self.view) {
            let terms = ShareTerms::of(entry.share);
            let tells = !terms.is_online() && leaves_cores(CardPart::of(&entry.held));
            if usize::from(entry.card) != at || !tells {
                continue;
            }
            if terms.qos != asked {
                return Some(terms.qos);
            }
            found = Some(terms.qos);
        }
        found.or(SgpuCard::of(&self.cards.cards[at]).policy)
    }

    /// Orders the cards that a need may get, which stand in the order of the policy: for an online
    /// pod by those that are there, for one that takes whole cards by links.
    pub fn prefer(&self, need: &CardNeed, own: &[Taken], order: &mut [u16]) {
        let Some(terms) = self.limits.terms(need.kind) else {
            return;
        };
        if terms.is_online() {
            order.sort_by_cached_key(|at| self.classes(terms, usize::from(*at), own).rank());
        } else if terms.class.is_none() && need.share.cores == CardCores::Units(ALL_CORES) {
            links::by_zone(order, need.count as usize, |at| self.zone(usize::from(at)));
        }
    }

    fn zone(&self, at: usize) -> u16 {
        SgpuCard::of(&self.cards.cards[at]).zone
    }

    /// What sGPUs that a pod takes add to the score of their node.
    pub fn sgpu_score(&self, needs: &[CardNeed], taken: &[Taken]) -> i64 {
        let Some(limits) = self.limits.sgpu else {
            return 0;
        };
        let mut rest = taken.iter();
        let mut chosen: SmallVec<[usize; 8]> = SmallVec::new();
        for need in needs {
            let own = rest.by_ref().take(need.count as usize);
            let counts = need.kind == limits.kind
                && (limits.terms.is_online() || need.share.cores == CardCores::Units(ALL_CORES));
            chosen.extend(own.filter(|_| counts).map(|one| usize::from(one.card)));
        }
        chosen.sort_unstable();
        chosen.dedup();
        let points = match limits.terms.is_online() {
            true => {
                let points = |at: &usize| self.classes(limits.terms, *at, &[]).points();
                chosen.iter().map(points).sum()
            }
            false if limits.heeds_links && !chosen.is_empty() => self.links(limits, &chosen),
            false => 0,
        };
        WEIGHT * points
    }

    /// Points of the links among cards, less those that are lost to the idle cards of the node.
    fn links(&self, limits: SgpuLimits, chosen: &[usize]) -> i64 {
        let is_idle = |at: &usize| {
            let card = &self.cards.cards[*at];
            let is_own = CardVariant::of(card).kind == limits.kind && card.is_usable();
            is_own && CardPart::used(self.cards, *at, self.view).sharers == 0
        };
        let points =
            |cards: &mut dyn Iterator<Item = usize>| links::points(cards.map(|at| self.zone(at)));
        let idle = (0..self.cards.cards.len()).filter(is_idle);
        let own = points(&mut chosen.iter().copied());
        let left = points(&mut idle.clone().filter(|at| !chosen.contains(at)));
        let lost = points(&mut idle.clone()) - own - left;
        10 * own - lost
    }
}
