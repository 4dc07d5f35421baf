//! On what terms pods share MetaX sGPUs: QoS policies and app classes (spec/04 §23.8).

use crate::facts::PodFacts;
use crate::ledger::{Card, FamilyCode};
use crate::text::clip;

use super::kind::{CardKind, OwnRules};
use super::needs::{CardNeed, CardShare};

/// Pod annotation: how its share is held.
pub const QOS: &str = "metax-tech.com/sgpu-qos-policy";
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
        let mut own = needs.iter().filter(is_shared);
        let Some(need) = own.clone().next() else {
            return Ok(None);
        };
        let wrong = |key: &str, write: &str| {
            let said = clip(pod.annotation(key).unwrap_or_default());
            format!("annotation {key} is {said:?}: {write}")
        };
        let terms = Self::said(pod);
        if terms.qos == QosPolicy::Unknown {
            return Err(wrong(
                QOS,
                "write best-effort, fixed-share or burst-share, or remove it for best-effort",
            ));
        }
        let says_class = pod
            .annotation(APP_CLASS)
            .is_some_and(|class| !class.is_empty());
        if says_class && terms.class.is_none() {
            return Err(wrong(APP_CLASS, "write online or offline, or remove it"));
        }
        if terms.class.is_some() && own.any(|need| need.count != 1) {
            let count = &kinds[usize::from(need.kind)].names.count;
            return Err(wrong(
                APP_CLASS,
                &format!("a container of such a pod has one card: write {count}: 1, or remove it"),
            ));
        }
        Ok(Some((need.kind, terms)))
    }

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

    /// Of an allocation.
    pub fn of(code: FamilyCode) -> Self {
        let class = code.get() >> 8;
        let mut classes = [AppClass::Online, AppClass::Offline].into_iter();
        Self {
            qos: QosPolicy::coded(code.get() & 0xff),
            class: classes.find(|known| *known as u16 == class),
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

impl CardKind {
    /// How a pod with these annotations shares cards of the kind ([`crate::ledger::Allocation::share`]).
    pub fn share(&self, pod: &PodFacts) -> FamilyCode {
        match self.rules {
            OwnRules::None => FamilyCode::default(),
            OwnRules::Sgpu => ShareTerms::said(pod).code(),
        }
    }

    /// What a container takes that asks this, with what the annotations of its pod make of it.
    pub fn taken(&self, pod: &PodFacts, share: CardShare) -> CardShare {
        match self.rules {
            OwnRules::Sgpu if ShareTerms::said(pod).is_online() => CardShare {
                cores: Some(0),
                ..share
            },
            OwnRules::None | OwnRules::Sgpu => share,
        }
    }
}
