//! Who may share a MetaX sGPU with whom (spec/04 §23.8).
//!
//! A card in use has the QoS policy of the pods on it. Nothing of that is remembered: it is read from
//! the ledger, and so right after every charge, discharge and restart.

use crate::facts::PodFacts;
use crate::ledger::{Card, FamilyCode};
use crate::part::CardPart;
use crate::text::clip;

use super::check::{CardCheck, PodOnCards, Taken};
use super::kind::{CardKind, OwnRules};
use super::needs::CardNeed;

/// Pod annotation: how its share is held.
pub const QOS: &str = "metax-tech.com/sgpu-qos-policy";
/// Pod annotation: `online` or `offline`.
pub const APP_CLASS: &str = "metax-tech.com/sgpu-app-class";
/// Cores of a pod that has a card for itself.
const ALL_CORES: i64 = 100;

/// How the share of a pod is held; all pods on a card hold theirs alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QosPolicy {
    /// As much as the others leave.
    #[default]
    BestEffort,
    /// What was asked.
    FixedShare,
    /// What was asked, and what the others leave.
    BurstShare,
    /// A word nobody knows: a pod that was placed by somebody else may have one.
    Unknown,
}

impl QosPolicy {
    const KNOWN: [Self; 3] = [Self::BestEffort, Self::FixedShare, Self::BurstShare];

    /// In the words of annotations.
    pub fn name(self) -> &'static str {
        match self {
            Self::BestEffort => "best-effort",
            Self::FixedShare => "fixed-share",
            Self::BurstShare => "burst-share",
            Self::Unknown => "an unknown policy",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::KNOWN.into_iter().find(|known| known.name() == name)
    }

    fn coded(code: u16) -> Self {
        let known = Self::KNOWN.into_iter();
        known
            .rev()
            .find(|known| *known as u16 == code)
            .unwrap_or(Self::Unknown)
    }
}

/// What of a pod decides with whom it shares MetaX sGPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShareTerms {
    /// How its share is held.
    pub qos: QosPolicy,
}

impl ShareTerms {
    /// What a pod says that asks such cards, with the place of their kind; `None` for one that asks none.
    ///
    /// # Errors
    /// The annotation that cannot be, and what to write.
    pub fn asked(
        pod: &PodFacts,
        kinds: &[CardKind],
        needs: &[CardNeed],
    ) -> Result<Option<(u16, Self)>, String> {
        let is_shared = |need: &&CardNeed| kinds[usize::from(need.kind)].rules == OwnRules::Sgpu;
        let Some(need) = needs.iter().find(is_shared) else {
            return Ok(None);
        };
        if let Some(class) = pod.annotation(APP_CLASS).filter(|class| !class.is_empty()) {
            return Err(format!(
                "annotation {APP_CLASS} is {:?}: app classes are not supported: remove it",
                clip(class)
            ));
        }
        let terms = Self::said(pod);
        match terms.qos {
            QosPolicy::Unknown => Err(format!(
                "annotation {QOS} is {:?}: write best-effort, fixed-share or burst-share, or remove it for \
                 best-effort",
                clip(pod.annotation(QOS).unwrap_or_default())
            )),
            _ => Ok(Some((need.kind, terms))),
        }
    }

    /// What the annotations of a pod say, possible or not.
    pub fn said(pod: &PodFacts) -> Self {
        let qos = match pod.annotation(QOS) {
            None | Some("") => Some(QosPolicy::default()),
            Some(name) => QosPolicy::named(name),
        };
        Self {
            qos: qos.unwrap_or(QosPolicy::Unknown),
        }
    }

    /// As an allocation keeps it.
    pub fn code(self) -> FamilyCode {
        FamilyCode::new(self.qos as u16)
    }

    /// Of an allocation.
    pub fn of(code: FamilyCode) -> Self {
        Self {
            qos: QosPolicy::coded(code.get()),
        }
    }
}

/// What a node tells of a MetaX sGPU, besides what it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SgpuCard {
    /// How shares of it are held.
    pub policy: Option<QosPolicy>,
}

impl SgpuCard {
    /// As the ledger keeps it.
    pub fn code(self) -> FamilyCode {
        FamilyCode::new(self.policy.map_or(0, |policy| 1 + policy as u16))
    }

    /// Of a card.
    pub fn of(card: &Card) -> Self {
        let code = card.details.get();
        Self {
            policy: (code > 0).then(|| QosPolicy::coded(code - 1)),
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
        let takes_all = need.share.cores == Some(ALL_CORES);
        let policy = self.policy(need, at, own);
        match takes_all || policy.is_none_or(|policy| policy == terms.qos) {
            true => Ok(()),
            false => Err(CardCheck::Qos),
        }
    }

    /// The QoS policy of a card in use: of the pods on it that leave cores to others, and where there
    /// are none, what the node tells. Of several one that is not the pod's.
    pub fn policy(&self, need: &CardNeed, at: usize, own: &[Taken]) -> Option<QosPolicy> {
        let asked = self.terms(need).qos;
        let leaves_cores = |part: CardPart| part.cores < ALL_CORES;
        let is_own = |(card, part): &Taken| usize::from(*card) == at && leaves_cores(*part);
        let mut found = own.iter().any(is_own).then_some(asked);
        for entry in self.cards.entries(self.view) {
            if usize::from(entry.card) != at || !leaves_cores(CardPart::of(&entry.held)) {
                continue;
            }
            let policy = ShareTerms::of(entry.share).qos;
            if policy != asked {
                return Some(policy);
            }
            found = Some(policy);
        }
        found.or(SgpuCard::of(&self.cards.cards[at]).policy)
    }
}
