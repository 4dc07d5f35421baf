//! What a family of devices is.

use std::sync::Arc;

use crate::binding::PluginProtocol;
use crate::config::{DeviceConfig, SectionSpec};
use crate::facts::{NodeFacts, NodeReport, Pairs, PodFacts};
use crate::gauge::{Gauge, GaugeSpec};
use crate::ledger::{Allocations, Card, Dimension, LedgerEntry, NodeCards, Tags};
use crate::request::FamilyRequest;
use crate::settings::Settings;

/// What annotations of a placed pod say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    /// Cards it holds; guesses where that cannot be told.
    pub allocations: Allocations,
    /// What could not be read.
    pub problems: Vec<String>,
}

/// One kind of shared devices, as configured.
pub trait Family: Send + Sync {
    /// The cards of a node. Bad entries are left out and told in [`NodeCards::problems`]; a node
    /// without any is told apart by [`NodeCards::absent`].
    fn cards(&self, node: &NodeFacts) -> NodeCards;

    /// What a pod asks of this family; `None` if nothing.
    ///
    /// # Errors
    /// Why it cannot be placed at all: the request cannot be read, or the family is switched off.
    fn request(&self, pod: &PodFacts, tags: Tags)
    -> Option<Result<Arc<dyn FamilyRequest>, String>>;

    /// A node without cards of which its device plugin, or who else tells of them, has told nothing yet: they
    /// may be known at any time.
    fn is_untold(&self, cards: &NodeCards) -> bool {
        cards.cards.is_empty() && cards.label.is_none()
    }

    /// What the owner of a pod should know of what it names and does not ask.
    fn remark(&self, _pod: &PodFacts) -> Option<String> {
        None
    }

    /// What a pod on the node holds. `records` are the annotations named in
    /// [`FamilySpec::records`]; `pod` is what its containers ask, whether or not the family is on.
    fn decode(&self, records: &Pairs, pod: &PodFacts, cards: &NodeCards) -> Decoded;

    /// Whether it can matter to which group a pod belongs that asks this; when it does, its request tells
    /// ([`FamilyRequest::heeds_group`]).
    fn depends_on_group(&self, _pod: &PodFacts) -> bool {
        false
    }

    /// Resources that are not counted on nodes or in queues.
    fn ignored_resources(&self) -> Vec<String> {
        Vec::new()
    }

    /// How a card is shared, in the words of node and pod annotations.
    fn mode(&self, _card: &Card) -> &'static str {
        ""
    }

    /// What the part of a card is called that somebody holds, where cards are split: an instance, a template.
    fn part_name(&self, _cards: &NodeCards, _entry: &LedgerEntry) -> Option<String> {
        None
    }

    /// Parts of a card that nobody holds, where it is known how the card is split: name and memory.
    fn free_parts(&self, _cards: &NodeCards, _card: usize) -> Vec<(String, i64)> {
        Vec::new()
    }

    /// Gauges of the cards of a node.
    fn gauges(&self, _cards: &NodeCards) -> Vec<Gauge> {
        Vec::new()
    }
}

/// ConfigMaps of a namespace that tell of nodes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReportPlace {
    /// Namespace of the ConfigMaps.
    pub namespace: &'static str,
    /// Which of it.
    pub maps: ReportMaps,
}

/// How ConfigMaps that tell of nodes are found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReportMaps {
    /// By name.
    Named(String),
    /// By label, `key=value`: there is one for each node.
    Labelled(&'static str),
}

/// Reads what a ConfigMap tells of nodes: namespace, name, data; nothing if the family does not know
/// it. The error says what is wrong with all of it.
pub type ReadReports = fn(&str, &str, &[(String, String)]) -> Result<Vec<NodeReport>, String>;

/// ConfigMaps in which something else than the node itself tells of its devices.
pub struct ReportSpec {
    /// Those that are followed with these settings.
    pub places: fn(&Settings) -> Vec<ReportPlace>,
    /// Reads one.
    pub read: ReadReports,
    /// What is repeated even while nothing changes, if something is.
    pub repeated: Option<RepeatSpec>,
}

/// Reports that their writer repeats with a new time even while nothing changes, so that silence is a
/// sign that it does not work.
pub struct RepeatSpec {
    /// [`NodeReport::topic`].
    pub topic: &'static str,
    /// When a text was written, in seconds since 1970; `None` if it does not say.
    pub written_at_s: fn(&str) -> Option<i64>,
    /// Seconds after which there should have been another one.
    pub silent_after_s: i64,
    /// What to say of a node then, and what to do.
    pub warning: &'static str,
}

/// A family: what it reads, and how it is made. In keys of annotations and names of resources a `*` stands for a part
/// that the device configuration decides, such as the type of a chip.
pub struct FamilySpec {
    /// Name, for messages.
    pub name: &'static str,
    /// Node annotations it reads.
    pub node_annotations: &'static [&'static str],
    /// Pod annotations that decide where a pod may go.
    pub asks: &'static [&'static str],
    /// Pod labels that decide where a pod may go.
    pub labels: &'static [&'static str],
    /// Resources whose containers it writes down by name.
    pub named: &'static [&'static str],
    /// Pod annotations that tell what a placed pod holds.
    pub records: &'static [&'static str],
    /// Those of them that its device plugin writes after the pod was bound.
    pub later: &'static [&'static str],
    /// What is counted of each of its cards.
    pub dimensions: &'static [Dimension],
    /// How its device plugins tell how far they are with a pod; what another family has already is left out.
    pub protocols: &'static [PluginProtocol],
    /// Gauges about cards that the family has values for.
    pub gauges: &'static [GaugeSpec],
    /// Sections of the device configuration it reads. Families may share one.
    pub sections: &'static [SectionSpec],
    /// ConfigMaps about nodes it reads, if it reads such.
    pub reports: Option<ReportSpec>,
    /// Makes the family from settings and the device configuration.
    pub make: fn(&Settings, &DeviceConfig) -> Box<dyn Family>,
}
