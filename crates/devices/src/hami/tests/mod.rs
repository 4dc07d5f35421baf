//! Tests of the vendors. Amounts of containers are written by resource.

mod bad_input;
mod best_set;
mod configuration;
mod examples;
mod init_containers;
mod kunlun;
mod laws;
mod links;
mod mig;
mod neuron;
mod preference;
mod sgpu;
mod single;
mod slices;
mod strays;
mod twins;
mod vendors;

use crate::binding::{AnnotationValue, BindingAnnotations};
use crate::config::DeviceConfig;
use crate::facts::{ContainerKind, NodeFacts, PodFacts};
use crate::family::Family;
use crate::fixture::{container, pairs, pod_of};
use crate::ledger::{LedgerTime, Load, NodeCards, Tags};
use crate::request::Failure;
use crate::settings::{Policy, Settings};

pub use crate::fixture::{refusal, request};

use super::SPEC;

/// The settings with all vendors on.
pub fn settings(policy: Policy) -> Settings {
    Settings {
        configured: true,
        hami_vendors: super::vendor_names().map(str::to_owned).collect(),
        policy,
        weight: 10,
        ..Settings::default()
    }
}

/// All vendors with their defaults.
pub fn family(policy: Policy) -> Box<dyn Family> {
    (SPEC.make)(&settings(policy), &DeviceConfig::default())
}

/// All vendors with this device configuration.
pub fn configured(text: &str) -> Box<dyn Family> {
    let config = crate::families::read_config(text).expect("valid");
    (SPEC.make)(&settings(Policy::None), &config)
}

/// A node `n1`.
#[derive(Clone, Default)]
pub struct VendorNode {
    pub annotations: Vec<(String, String)>,
    pub amounts: Vec<(String, i64)>,
}

impl VendorNode {
    /// With these annotations, and extended resources in whole units.
    pub fn new(annotations: &[(&str, &str)], amounts: &[(&str, i64)]) -> Self {
        let amount = |(name, units): &(&str, i64)| ((*name).to_owned(), units * 1000);
        Self {
            annotations: pairs(annotations),
            amounts: amounts.iter().map(amount).collect(),
        }
    }

    pub fn cards(&self, family: &dyn Family) -> NodeCards {
        family.cards(&NodeFacts {
            reports: &[],
            name: "n1",
            labels: &[],
            annotations: &self.annotations,
            allocatable: &self.amounts,
            capacity: &self.amounts,
        })
    }
}

/// Two DCUs of 65520 MiB with four slots each.
pub fn dcus() -> VendorNode {
    let register = "DCU-0,4,65520,100,DCU-K100_AI,0,true:DCU-1,4,65520,100,DCU-K100_AI,0,true:";
    VendorNode::new(
        &[("hami.io/node-dcu-register", register)],
        &[("hygon.com/dcunum", 8)],
    )
}

pub type Limit<'a> = (&'a str, i64);

/// A pod of regular containers with these limits in whole units.
pub fn pod(containers: &[&[Limit]], annotations: &[(&str, &str)]) -> PodFacts {
    let regular = |limits: &&[Limit]| container(ContainerKind::Regular, limits);
    pod_of(containers.iter().map(regular).collect(), annotations)
}

/// Value of an annotation that is written; times are `<s>`, `<ns>`.
pub fn text(written: &BindingAnnotations, key: &str) -> Option<String> {
    let found = written.annotations.iter().find(|one| one.key == key)?;
    Some(match &found.value {
        AnnotationValue::Text(text) => text.clone(),
        AnnotationValue::Seconds | AnnotationValue::Sequence => "<s>".to_owned(),
        AnnotationValue::Nanos | AnnotationValue::NanoSequence => "<ns>".to_owned(),
    })
}

/// Places a pod as pod number `number`; what its Binding says.
pub fn place(
    family: &dyn Family,
    cards: &mut NodeCards,
    (number, pod): (u32, &PodFacts),
) -> Result<BindingAnnotations, String> {
    let request = request(family, pod);
    let Some(allocations) = request.choose(cards, LedgerTime::Now) else {
        let failure = request.fit(cards, LedgerTime::Now).expect_err("no cards");
        let Failure { text, .. } = &request.failures()[usize::from(failure)];
        return Err(text.clone());
    };
    assert!(request.fit(cards, LedgerTime::Now).is_ok());
    cards.charge(number, Tags::default(), Load::Held, &allocations);
    Ok(request.annotations("n1", cards, &allocations))
}
