//! Pods of the official NVIDIA plugin (`nvidia.com/gpu`) that name types of cards: their nodes are
//! told apart by a label (spec/04 R18).
//!
//! Nothing is charged here and nothing written: the resource itself is an ordinary one.

use std::sync::Arc;

use crate::binding::BindingAnnotations;
use crate::config::DeviceConfig;
use crate::facts::{NodeFacts, Pairs, PodFacts};
use crate::family::{Decoded, Family, FamilySpec};
use crate::ledger::{Allocations, LedgerTime, NodeCards, Tags};
use crate::nvidia::type_list::{REFUSE_TYPES, TypeLists, USE_TYPES};
use crate::request::{Failure, FamilyRequest, NearMiss};
use crate::settings::Settings;

/// The resource of the official plugin.
const RESOURCE: &str = "nvidia.com/gpu";
/// Node label with the type of its cards; blanks are written as `-`.
const LABEL: &str = "nvidia.com/gpu.product";

/// The family.
pub const SPEC: FamilySpec = FamilySpec {
    name: "product",
    node_annotations: &[],
    asks: &[USE_TYPES, REFUSE_TYPES],
    labels: &[],
    named: &[],
    records: &[],
    later: &[],
    protocols: &[],
    dimensions: &[],
    gauges: &[],
    sections: &[],
    reports: None,
    make: |settings: &Settings, _: &DeviceConfig| {
        Box::new(Product {
            // Under HAMi's plugin nodes tell the types of their cards.
            is_on: settings.configured && !crate::hami::shares_gpus(settings),
        })
    },
};

struct Product {
    is_on: bool,
}

impl Family for Product {
    fn cards(&self, node: &NodeFacts) -> NodeCards {
        let mut cards = NodeCards::default();
        if self.is_on {
            let label = node.label(LABEL).filter(|label| !label.is_empty());
            cards.label = label.map(Arc::from);
        }
        cards
    }

    fn request(
        &self,
        pod: &PodFacts,
        _tags: Tags,
    ) -> Option<Result<Arc<dyn FamilyRequest>, String>> {
        let mut containers = pod.containers.iter();
        let asks = containers.any(|container| container.milli(RESOURCE).is_some_and(|n| n > 0));
        if !self.is_on || !asks {
            return None;
        }
        let lists = TypeLists::of(pod).with_blanks_as("-");
        (!lists.is_empty()).then(|| Ok(Arc::new(Typed::new(lists)) as Arc<dyn FamilyRequest>))
    }

    fn decode(&self, _records: &Pairs, _pod: &PodFacts, _cards: &NodeCards) -> Decoded {
        Decoded::default()
    }
}

/// A pod that takes only some types.
struct Typed {
    lists: TypeLists,
    failures: [Failure; 2],
}

/// Index of the failure of a node without the label.
const UNLABELLED: u8 = 0;
/// Index of the failure of a node with a label of another type.
const OTHER_TYPE: u8 = 1;

impl Typed {
    fn new(lists: TypeLists) -> Self {
        let failure = |text: &str| Failure {
            text: text.to_owned(),
            evictions_help: false,
        };
        let failures = [
            failure("node(s) had no label nvidia.com/gpu.product to tell their GPU type"),
            failure("node(s) had a GPU type (label nvidia.com/gpu.product) the pod does not take"),
        ];
        Self { lists, failures }
    }
}

impl FamilyRequest for Typed {
    fn failures(&self) -> &[Failure] {
        &self.failures
    }

    fn fit(&self, cards: &NodeCards, _view: LedgerTime) -> Result<f64, u8> {
        match cards.label.as_deref() {
            Some(kind) if self.lists.admits(kind) => Ok(0.0),
            Some(_) => Err(OTHER_TYPE),
            None if self.lists.needs_type() => Err(UNLABELLED),
            None => Ok(0.0),
        }
    }

    fn choose(&self, cards: &NodeCards, view: LedgerTime) -> Option<Allocations> {
        self.fit(cards, view).is_ok().then(Allocations::new)
    }

    fn explain(&self, node: &str, cards: &NodeCards, view: LedgerTime) -> Option<NearMiss> {
        self.fit(cards, view).err()?;
        let why = match cards.label.as_deref() {
            Some(kind) => format!("{} (label {LABEL})", self.lists.allows(kind).err()?),
            None => format!("no label {LABEL}, which {USE_TYPES} is matched with"),
        };
        Some(NearMiss {
            text: format!("node {node}: {why}"),
            distance: (1, 0),
        })
    }

    fn annotations(
        &self,
        _node: &str,
        _cards: &NodeCards,
        _picks: &Allocations,
    ) -> BindingAnnotations {
        BindingAnnotations::default()
    }
}

#[cfg(test)]
mod tests;
