//! Family vgpu.

use std::rc::Rc;

use crate::cards::{NodeCards, Tags};
use crate::demand::Want;
use crate::facts::{NodeFacts, Pairs, PodFacts};
use crate::family::{Family, FamilySpec, Held};
use crate::geometry::DeviceConfig;
use crate::settings::Settings;

/// The family.
pub const SPEC: FamilySpec = FamilySpec {
    name: "vgpu",
    node_annotations: &[],
    asks: &[],
    records: &[],
    follows: &[],
    gauges: &[],
    make: |_: &Settings, _: &DeviceConfig| Box::new(Nothing),
};

struct Nothing;

impl Family for Nothing {
    fn cards(&self, _node: &NodeFacts) -> NodeCards {
        NodeCards::default()
    }

    fn want(&self, _pod: &PodFacts, _tags: Tags) -> Option<Result<Rc<dyn Want>, String>> {
        None
    }

    fn held(&self, _records: &Pairs, _pod: &PodFacts, _cards: &NodeCards) -> Held {
        Held::default()
    }
}
