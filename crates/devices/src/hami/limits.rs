//! Which cards the annotations of a pod leave to it, and in which order it takes them (spec/04 §23.3).

use pumice_yaml::scalar::parse_bool_text;

use crate::facts::PodFacts;
use crate::ledger::Card;
use crate::nvidia::type_list::TypeLists;
use crate::settings::Policy;

use super::card_check::CardCheck;
use super::kind::CardKind;
use super::preference::CardPreference;
use super::terms::{SgpuLimits, ShareTerms};
use super::uuid_lists::UuidLists;
use super::variant::CardVariant;

/// What the annotations of a pod say of its cards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CardLimits {
    /// Which cards and nodes come first.
    pub preference: CardPreference,
    /// How it shares MetaX sGPUs, where it asks such.
    pub sgpu: Option<SgpuLimits>,
    /// By kind; those without any are left out.
    lists: Vec<(u16, KindLimits)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct KindLimits {
    types: TypeLists,
    uuids: Vec<UuidLists>,
    mode: Option<String>,
    one_numa: bool,
}

impl CardLimits {
    /// Reads the annotations of a pod.
    ///
    /// # Errors
    /// Weights that cannot be read.
    pub fn of(pod: &PodFacts, kinds: &[CardKind], policy: Policy) -> Result<Self, String> {
        let preference = CardPreference::of(pod, policy)?;
        let mut lists = Vec::new();
        for (at, kind) in kinds.iter().enumerate() {
            let keys = &kind.keys;
            let types = keys.types.map(|(yes, no)| TypeLists::at(pod, yes, no));
            let uuids = keys
                .uuids
                .iter()
                .map(|(yes, no)| UuidLists::of(pod, yes, no));
            let mode = keys.mode.and_then(|key| pod.annotation(key));
            let one_numa = keys.numa.and_then(|key| pod.annotation(key));
            let own = KindLimits {
                types: types.unwrap_or_default(),
                uuids: uuids
                    .filter(|lists| *lists != UuidLists::default())
                    .collect(),
                mode: mode.filter(|mode| !mode.is_empty()).map(str::to_owned),
                one_numa: one_numa.and_then(parse_bool_text) == Some(true),
            };
            if own != KindLimits::default() {
                lists.push((at as u16, own));
            }
        }
        Ok(Self {
            preference,
            sgpu: None,
            lists,
        })
    }

    /// Any usable card of the right kind may do.
    pub fn is_plain(&self) -> bool {
        self.preference.is_plain() && self.lists.is_empty() && self.sgpu.is_none()
    }

    /// How the pod shares cards of a kind that has rules for it.
    pub fn terms(&self, kind: u16) -> Option<ShareTerms> {
        let limits = self.sgpu.filter(|limits| limits.kind == kind)?;
        Some(limits.terms)
    }

    fn of_kind(&self, kind: u16) -> Option<&KindLimits> {
        let found = self.lists.iter().find(|(known, _)| *known == kind)?;
        Some(&found.1)
    }

    /// Whether all cards of a container have to be near one NUMA node, by kind.
    pub fn wants_one_numa(&self, kind: u16) -> bool {
        self.of_kind(kind).is_some_and(|lists| lists.one_numa)
    }

    /// Whether the mode, the type and the UUID of a card will do.
    pub fn admits(&self, card: &Card) -> Result<(), CardCheck> {
        if self.lists.is_empty() {
            return Ok(());
        }
        let CardVariant { kind, mode } = CardVariant::of(card);
        let Some(lists) = self.of_kind(kind) else {
            return Ok(());
        };
        let wanted = lists.mode.as_ref();
        if !wanted.is_none_or(|wanted| wanted.contains(mode.name())) {
            return Err(CardCheck::Mode);
        }
        if !lists.types.admits(&card.kind) {
            return Err(CardCheck::Type);
        }
        match lists.uuids.iter().all(|own| own.admits(&card.id)) {
            true => Ok(()),
            false => Err(CardCheck::Uuid),
        }
    }
}
