//! On what terms pods share MetaX sGPUs: QoS policies and app classes (spec/04 §23.9).

use pumice_yaml::scalar::parse_bool_text;

use crate::facts::PodFacts;
use crate::ledger::{Card, FamilyCode};
use crate::text::clip;

use super::kind::{CardKind, OwnRules};
use super::share::{CardCores, CardNeed, CardShare};

/// Pod annotation: how its share is held.
pub const QOS: &str = "metax-tech.com/sgpu-qos-policy";
/// Pod annotation: whether links between cards count for its node.
pub const HEEDS_LINKS: &str = "metax-tech.com/sgpu-topology-aware";
/// Pod annotation: `online` or `offline`.
pub const APP_CLASS: &str = "metax-tech.com/sgpu-app-class";

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
        let mut known = Self::KNOWN.into_iter();
        let found = known.find(|known| *known as u16 == code);
        found.unwrap_or(Self::Unknown)
    }
}

/// What a pod is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppClass {
    /// Answers requests: takes what cores it needs, and is charged none.
    Online = 1,
    /// Works while no online pod is on its card.
    Offline,
}

impl AppClass {
    /// In the words of annotations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Offline => "offline",
        }
    }

    fn named(name: &str) -> Option<Self> {
        let mut all = [Self::Online, Self::Offline].into_iter();
        all.find(|known| known.name() == name)
    }
}

/// What of a pod decides with whom it shares MetaX sGPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShareTerms {
    /// How its share is held; of online pods it means nothing.
    pub qos: QosPolicy,
    /// What it is there for, if it says that.
    pub class: Option<AppClass>,
}

impl ShareTerms {
    /// What the annotations of a pod say, possible or not.
    pub fn said(pod: &PodFacts) -> Self {
        let qos = match pod.annotation(QOS) {
            None | Some("") => Some(QosPolicy::default()),
            Some(name) => QosPolicy::named(name),
        };
        Self {
            qos: qos.unwrap_or(QosPolicy::Unknown),
            class: pod.annotation(APP_CLASS).and_then(AppClass::named),
        }
    }

    /// Online pods share a card by other rules.
    pub fn is_online(self) -> bool {
        self.class == Some(AppClass::Online)
    }

    /// As an allocation keeps it.
    pub fn code(self) -> FamilyCode {
        let class = self.class.map_or(0, |class| class as u16);
        FamilyCode::new(class << 8 | self.qos as u16)
    }

    /// Terms as an allocation keeps them.
    pub fn of(code: FamilyCode) -> Self {
        let class = code.get() >> 8;
        let mut classes = [AppClass::Online, AppClass::Offline].into_iter();
        Self {
            qos: QosPolicy::coded(code.get() & 0xff),
            class: classes.find(|known| *known as u16 == class),
        }
    }
}

/// How a pod shares MetaX sGPUs that asks some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SgpuLimits {
    /// The place of their kind among those that are on.
    pub kind: u16,
    /// With whom.
    pub terms: ShareTerms,
    /// Links between its cards count for its node.
    pub heeds_links: bool,
}

impl SgpuLimits {
    /// What a pod says; `None` for one that asks no such cards.
    ///
    /// # Errors
    /// The annotation that cannot be, and what to write.
    pub fn of(
        pod: &PodFacts,
        kinds: &[CardKind],
        needs: &[CardNeed],
    ) -> Result<Option<Self>, String> {
        let rules = |need: &CardNeed| kinds[usize::from(need.kind)].rules;
        let shared = |need: &CardNeed| match rules(need) {
            OwnRules::Sgpu { heeds_links } => Some((need.kind, heeds_links)),
            OwnRules::None
            | OwnRules::Rated
            | OwnRules::Paired
            | OwnRules::Neuron
            | OwnRules::Slices
            | OwnRules::Wings { .. } => None,
        };
        let Some((kind, by_default)) = needs.iter().find_map(shared) else {
            return Ok(None);
        };
        let terms = ShareTerms::said(pod);
        if terms.qos == QosPolicy::Unknown && !terms.is_online() {
            let write =
                "write best-effort, fixed-share or burst-share, or remove it for best-effort";
            return Err(wrong(pod, QOS, write));
        }
        let says_class = pod
            .annotation(APP_CLASS)
            .is_some_and(|class| !class.is_empty());
        if says_class && terms.class.is_none() {
            return Err(wrong(
                pod,
                APP_CLASS,
                "write online or offline, or remove it",
            ));
        }
        let mut own = needs.iter().filter(|need| need.kind == kind);
        if terms.class.is_some() && own.any(|need| need.count != 1) {
            let count = &kinds[usize::from(kind)].names.count;
            let write =
                format!("a container of such a pod has one card: write {count}: 1, or remove it");
            return Err(wrong(pod, APP_CLASS, &write));
        }
        let heeds_links = match pod.annotation(HEEDS_LINKS).unwrap_or_default() {
            "" => by_default,
            text => parse_bool_text(text)
                .ok_or_else(|| wrong(pod, HEEDS_LINKS, "write true or false, or remove it"))?,
        };
        Ok(Some(Self {
            kind,
            terms,
            heeds_links,
        }))
    }
}

fn wrong(pod: &PodFacts, key: &str, write: &str) -> String {
    let said = clip(pod.annotation(key).unwrap_or_default());
    format!("annotation {key} is {said:?}: {write}")
}

/// What a node tells of a MetaX sGPU, besides what it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SgpuCard {
    /// How shares of it are held.
    pub policy: Option<QosPolicy>,
    /// The zone of cards with fast links it is in, counted from 1 on its node; 0 for none.
    pub zone: u16,
}

impl SgpuCard {
    /// As the ledger keeps it.
    pub fn code(self) -> FamilyCode {
        let policy = self.policy.map_or(0, |policy| 1 + policy as u16);
        FamilyCode::new(self.zone << 3 | policy)
    }

    /// A card as the ledger keeps it.
    pub fn of(card: &Card) -> Self {
        let code = card.details.get();
        let policy = code & 7;
        Self {
            policy: (policy > 0).then(|| QosPolicy::coded(policy - 1)),
            zone: code >> 3,
        }
    }
}

impl CardKind {
    /// How a pod with these annotations shares cards of the kind
    /// ([`crate::ledger::Allocation::share`]).
    pub fn share(&self, pod: &PodFacts) -> FamilyCode {
        match self.rules {
            OwnRules::None
            | OwnRules::Rated
            | OwnRules::Paired
            | OwnRules::Neuron
            | OwnRules::Slices
            | OwnRules::Wings { .. } => FamilyCode::default(),
            OwnRules::Sgpu { .. } => ShareTerms::said(pod).code(),
        }
    }

    /// What a container takes that asks this, with what the annotations of its pod make of it.
    pub fn taken(&self, pod: &PodFacts, share: CardShare) -> CardShare {
        match self.rules {
            OwnRules::Sgpu { .. } if ShareTerms::said(pod).is_online() => CardShare {
                cores: CardCores::Units(0),
                ..share
            },
            _ => share,
        }
    }
}
