//! Cards shared by memory (`volcano.sh/gpu-memory`), or handed out whole
//! (`volcano.sh/gpu-number`): spec/04 §14, R15, R17.
//!
//! A node tells how many cards it has and their memory in all; they are alike and known by index.
//! The card of a pod is in `volcano.sh/gpu-index`: while the pod waits, the annotation is its wish;
//! the Binding overwrites it with what the pod got.
//!
//! * `request`: what a pod asks, and its wish.
//! * `node`: cards of a node, and what a placed pod holds of them.
//! * `mode`: what the two modes have in common.
//! * `memory`, `number`: fit, choice and score of each.

mod memory;
mod mode;
mod node;
mod number;
mod request;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::binding::{
    Annotation, AnnotationValue, BindProtocol, BindingAnnotations, NodeLock, PluginProtocol,
    UntilStarted,
};
use crate::config::DeviceConfig;
use crate::facts::{NodeFacts, Pairs, PodFacts};
use crate::family::{Decoded, Family, FamilySpec};
use crate::ledger::{Allocation, Allocations, Card, FamilyCode, LedgerTime, NodeCards, Tags};
use crate::nvidia::indices::{INDEX, UNHEALTHY, indices};
use crate::part::{CardPart, DIMENSIONS};
use crate::request::{Failure, FamilyRequest};
use crate::settings::Settings;
use crate::text::{Bounded, shorten};

use mode::{AskingPod, GpuRequest};
use request::Request;

/// Resource of pods that share cards.
const MEMORY: &str = "volcano.sh/gpu-memory";
/// Resource of pods that want whole cards; on nodes, the number of cards in both modes.
const NUMBER: &str = "volcano.sh/gpu-number";
/// Pod annotation: when the card was chosen; the device plugin serves the oldest first.
const TIME: &str = "volcano.sh/predicate-time";
/// Pod annotation by which the device plugin answers.
const ASSIGNED: &str = "volcano.sh/gpu-assigned";
/// Node annotation taken before the Binding, where settings say so.
const LOCK: NodeLock = NodeLock::new("gpu");

/// Cores of a pick that leaves nothing of its card, whatever the memory of the card is.
const WHOLE: i64 = 100;

/// The family.
pub const SPEC: FamilySpec = FamilySpec {
    name: "gpushare",
    node_annotations: &[UNHEALTHY],
    asks: &[INDEX],
    labels: &[],
    named: &[],
    records: &[INDEX],
    later: &[],
    protocols: &[PluginProtocol {
        plugin: "volcano-device-plugin",
        bound_key: TIME,
        phase_key: ASSIGNED,
        busy: &[None, Some("false")],
        busy_until_started: UntilStarted::Answered(&[]),
        sequence_key: None,
        cleanup: &[],
    }],
    dimensions: DIMENSIONS,
    gauges: &[],
    sections: &[],
    reports: None,
    make: |settings: &Settings, _: &DeviceConfig| {
        Box::new(GpuShare {
            settings: settings.clone(),
        })
    },
};

struct GpuShare {
    settings: Settings,
}

impl Family for GpuShare {
    fn cards(&self, node: &NodeFacts) -> NodeCards {
        match (self.settings.gpu_memory, self.settings.gpu_number) {
            (false, false) => NodeCards::new(DIMENSIONS),
            (is_shared, _) => node::cards(node, is_shared),
        }
    }

    fn request(
        &self,
        pod: &PodFacts,
        _tags: Tags,
    ) -> Option<Result<Arc<dyn FamilyRequest>, String>> {
        let request = match Request::of(pod) {
            Ok(request) => request?,
            Err(refusal) => return Some(Err(refusal)),
        };
        Some(self.compile(request, pod))
    }

    fn decode(&self, records: &Pairs, pod: &PodFacts, cards: &NodeCards) -> Decoded {
        node::held(records, pod, cards, self.settings.gpu_memory)
    }

    fn mode(&self, _card: &Card) -> &'static str {
        match self.settings.gpu_memory {
            true => "shared",
            false => "whole",
        }
    }
}

impl GpuShare {
    fn compile(&self, request: Request, pod: &PodFacts) -> Result<Arc<dyn FamilyRequest>, String> {
        let settings = &self.settings;
        let mut pod = AskingPod {
            request,
            wish: CardSelector::of(pod)?,
            policy: settings.policy,
            protocol: BindProtocol::of(settings, LOCK),
        };
        if settings.gpu_memory && request.memory > 0 {
            return Ok(Arc::new(GpuRequest::new(pod, memory::Shared)));
        }
        if settings.gpu_number && request.number > 0 {
            pod.protocol.lock = None;
            let whole = number::Whole::of(&pod)?;
            return Ok(Arc::new(GpuRequest::new(pod, whole)));
        }
        let (resource, switch) = match request.memory > 0 {
            true => (MEMORY, "deviceshare.GPUSharingEnable"),
            false => (NUMBER, "deviceshare.GPUNumberEnable"),
        };
        Err(match settings.configured {
            true if settings.vgpu => format!(
                "the pod asks for {resource}, but vGPU is on, and the two exclude each other; set \
                 {switch}: true instead of deviceshare.VGPUEnable in the arguments of the plugin \
                 deviceshare, or ask for vGPUs"
            ),
            true => format!(
                "the pod asks for {resource}, which is switched off; set {switch}: true in the \
                 arguments of the plugin deviceshare"
            ),
            false => format!(
                "the pod asks for {resource}, but the plugin deviceshare is not configured; add it \
                 with the argument {switch}: true"
            ),
        })
    }
}

/// Indices a pending pod limits itself to; none when it takes any card.
#[derive(Debug, Default)]
struct CardSelector(Option<Vec<u32>>);

impl CardSelector {
    fn of(pod: &PodFacts) -> Result<Self, String> {
        let text = pod.annotation(INDEX).unwrap_or_default();
        let read = indices(text).map_err(|bad| {
            format!(
                "{INDEX} `{}` names the GPUs the pod may have, but `{bad}` is no index; write \
                 indices such as 0,2 or remove the annotation",
                shorten(text)
            )
        });
        let indices = read?;
        Ok(Self((!indices.is_empty()).then_some(indices)))
    }

    fn admits(&self, index: u32) -> bool {
        self.0.as_ref().is_none_or(|wish| wish.contains(&index))
    }

    /// Positions of usable cards the pod takes.
    fn candidates<'a>(&'a self, cards: &'a NodeCards) -> impl Iterator<Item = usize> + 'a {
        let cards = cards.cards.iter().enumerate();
        cards
            .filter(|(_, card)| card.is_usable() && self.admits(card.index))
            .map(|(at, _)| at)
    }

    /// Why a card is none of the candidates.
    fn objection(&self, cards: &NodeCards, at: usize) -> Option<String> {
        let card = &cards.cards[at];
        if !self.admits(card.index) {
            return Some(format!("not in {INDEX} of the pod"));
        }
        card.unusable.as_deref().map(str::to_owned)
    }
}

/// Memory nobody uses; over-committed cards have none.
fn free(cards: &NodeCards, at: usize, view: LedgerTime) -> i64 {
    let used = CardPart::used(cards, at, view);
    if used.cores >= WHOLE {
        return 0;
    }
    CardPart::capacity(cards, at)
        .memory
        .saturating_sub(used.memory)
        .max(0)
}

fn failure(text: &str, evictions_help: bool) -> Failure {
    Failure {
        text: text.to_owned(),
        evictions_help,
    }
}

/// A pick of the card at a position.
fn allocation(
    cards: &NodeCards,
    at: usize,
    request: &Request,
    charged: i64,
    cores: i64,
) -> Allocation {
    let asked = CardPart {
        memory: request.memory,
        sharers: 1,
        cores,
    };
    let charged = CardPart {
        memory: charged,
        ..asked
    };
    Allocation {
        container: request.container,
        card: u16::try_from(at).ok(),
        id: Arc::clone(&cards.cards[at].id),
        partition: None,
        asked: asked.portion(),
        charged: charged.portion(),
        share: FamilyCode::default(),
        certain: true,
        suspect: false,
    }
}

/// The two annotations of the Binding (spec/04 §14.4).
///
/// The device plugin takes the oldest waiting pod of the node whose limit is the one it is asked for:
/// pods of one node may be taken for one another.
fn annotations(allocations: &Allocations, protocol: BindProtocol) -> BindingAnnotations {
    let indices: Vec<&str> = allocations
        .iter()
        .map(|allocation| &*allocation.id)
        .collect();
    let indices = indices.join(",");
    let annotations = vec![
        Annotation::new(INDEX, AnnotationValue::Text(indices.clone())),
        Annotation::new(TIME, AnnotationValue::Nanos),
    ];
    protocol.binding(annotations, indices)
}

/// What is wrong card by card, in one line.
fn by_card(cards: &NodeCards, why: impl Fn(usize) -> Option<String>) -> String {
    let mut wrong = Bounded::default();
    for (at, card) in cards.cards.iter().enumerate() {
        if let Some(why) = why(at) {
            wrong.tell(|| format!("GPU {}: {why}", card.index));
        }
    }
    wrong.into_texts("more").join("; ")
}
