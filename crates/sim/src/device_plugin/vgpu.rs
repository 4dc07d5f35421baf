//! `Allocate` of volcano-vgpu-device-plugin, generation by generation (spec/04 §13.3).

use std::collections::BTreeMap;

use super::wire::{self, NVIDIA, WireDevice};
use super::{AllocateAnswer, AllocateCall, AllocateRefusal, Grant, ListedPod};

/// Resource whose ids make the plugin look for a pod.
pub const NUMBER: &str = "volcano.sh/vgpu-number";
/// Node the pod was bound to.
pub const NODE: &str = "volcano.sh/vgpu-node";
/// Whose turn it is: the smallest is the next.
pub const TIME: &str = "volcano.sh/vgpu-time";
/// Devices of the pod, for ever.
pub const IDS: &str = "volcano.sh/vgpu-ids-new";
/// Devices not handed out yet.
pub const TO_ALLOCATE: &str = "volcano.sh/devices-to-allocate";
/// How far it is.
pub const PHASE: &str = "volcano.sh/bind-phase";
/// Phase of a pod the plugin has not served.
pub const ALLOCATING: &str = "allocating";
/// Phase of a pod that has all its devices.
pub const SUCCESS: &str = "success";
/// Phase of a pod that could not be served.
pub const FAILED: &str = "failed";
/// Node annotation that is removed after every pod.
pub const LOCK: &str = "hamivgpu";
/// A time after all others.
pub const NEVER: &str = "18446744073709551615";

/// What tells that devices are left: part of every UUID.
const COMMON_WORD: &str = "GPU";

/// A generation of the plugin, by its first release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// v1.10.0 and v1.11.0: the oldest pod, whatever it asks for.
    V1_10,
    /// v1.12.0: only pods with as many devices as kubelet asks for.
    V1_12,
    /// After v1.12.0: as v1.12.0, without a handshake, cards in the order of their minor numbers.
    Latest,
}

impl Generation {
    /// Whether a pod must have as many devices as kubelet asks for.
    pub fn counts(self) -> bool {
        self != Self::V1_10
    }

    /// Whether it writes the handshake annotation.
    pub fn shakes_hands(self) -> bool {
        self != Self::Latest
    }

    /// Whether it lists cards in the order of their minor numbers.
    pub fn sorts_cards(self) -> bool {
        self == Self::Latest
    }
}

/// Answers a call. `pods` are all pods of the cluster in the order of the API server's list, by
/// namespace and name.
pub fn allocate(generation: Generation, pods: &[ListedPod], call: &AllocateCall) -> AllocateAnswer {
    match guess(generation, pods, call) {
        Ok(Some(pod)) => serve(pod, call),
        Ok(None) => AllocateAnswer {
            result: Err(AllocateRefusal::NobodyWaits),
            guessed: None,
            changes: BTreeMap::new(),
            unlocks: Some(LOCK),
        },
        Err(crash) => crashed(None, crash),
    }
}

fn guess<'a>(
    generation: Generation,
    pods: &'a [ListedPod],
    call: &AllocateCall,
) -> Result<Option<&'a ListedPod>, String> {
    let mut candidates = Vec::new();
    for pod in pods {
        if pod.annotations.get(NODE) != Some(&call.node) {
            continue;
        }
        if !generation.counts() || listed(pod)? == call.ids {
            candidates.push(pod);
        }
    }
    // The search begins with a pod that was not looked at: the first of the whole cluster, or the
    // last candidate. Only an older one takes its place.
    let start = match generation.counts() {
        true => candidates.last().copied(),
        false => pods.first(),
    };
    let Some(mut oldest) = start else {
        return Ok(None);
    };
    for pod in candidates {
        if time(pod) < time(oldest) {
            oldest = pod;
        }
    }
    Ok(Some(oldest))
}

/// Devices left, of all containers together.
fn listed(pod: &ListedPod) -> Result<u64, String> {
    let elements = wire::decode(text(&pod.annotations, TO_ALLOCATE))?;
    Ok(elements.iter().map(|element| element.len() as u64).sum())
}

fn time(pod: &ListedPod) -> u64 {
    wire::time(pod.annotations.get(TIME))
}

fn text<'a>(annotations: &'a BTreeMap<String, String>, key: &str) -> &'a str {
    annotations.get(key).map_or("", String::as_str)
}

/// Hands out the next element of the pod to whoever is calling.
fn serve(pod: &ListedPod, call: &AllocateCall) -> AllocateAnswer {
    let elements = match wire::decode(text(&pod.annotations, TO_ALLOCATE)) {
        Ok(elements) => elements,
        Err(crash) => return crashed(Some(pod), crash),
    };
    let Some(at) = elements.iter().position(|element| has_ours(element)) else {
        return failed(pod, AllocateRefusal::NothingLeft);
    };
    if at >= pod.containers.len() {
        let crash = format!("index out of range: the pod has no container {at}");
        return crashed(Some(pod), crash);
    }
    let devices: Vec<&WireDevice> = elements[at].iter().filter(|d| d.kind == NVIDIA).collect();
    if devices.len() as u64 != call.ids {
        let listed = devices.len();
        return failed(pod, AllocateRefusal::OtherCount { listed });
    }
    let mut changes = BTreeMap::new();
    let rest = erase(&elements);
    let done = !rest.contains(COMMON_WORD);
    changes.insert(TO_ALLOCATE.to_owned(), rest);
    if done {
        finish(&mut changes, SUCCESS);
    }
    AllocateAnswer {
        result: Ok(devices.into_iter().map(grant).collect()),
        guessed: Some(pod.uid.clone()),
        changes,
        unlocks: done.then_some(LOCK),
    }
}

fn has_ours(element: &[WireDevice]) -> bool {
    element.iter().any(|device| device.kind == NVIDIA)
}

fn grant(device: &WireDevice) -> Grant {
    Grant {
        id: device.id.clone(),
        memory: device.memory,
        cores: device.cores,
    }
}

/// The text without the devices of the first element that has some; the element itself stays.
fn erase(elements: &[Vec<WireDevice>]) -> String {
    let mut rest = elements.to_vec();
    if let Some(next) = rest.iter_mut().find(|element| has_ours(element)) {
        next.retain(|device| device.kind != NVIDIA);
    }
    wire::encode(&rest)
}

fn finish(changes: &mut BTreeMap<String, String>, phase: &str) {
    changes.insert(PHASE.to_owned(), phase.to_owned());
    changes.insert(TIME.to_owned(), NEVER.to_owned());
}

/// The devices stay listed.
fn failed(pod: &ListedPod, refusal: AllocateRefusal) -> AllocateAnswer {
    let mut changes = BTreeMap::new();
    finish(&mut changes, FAILED);
    AllocateAnswer {
        result: Err(refusal),
        guessed: Some(pod.uid.clone()),
        changes,
        unlocks: Some(LOCK),
    }
}

fn crashed(pod: Option<&ListedPod>, crash: String) -> AllocateAnswer {
    AllocateAnswer {
        result: Err(AllocateRefusal::Crash(crash)),
        guessed: pod.map(|pod| pod.uid.clone()),
        changes: BTreeMap::new(),
        unlocks: None,
    }
}

/// What the scheduler has written for a container: what it is to get.
///
/// # Errors
/// The annotation cannot be read.
pub fn promised(pod: &ListedPod, container: usize) -> Result<Vec<Grant>, String> {
    let elements = wire::decode(text(&pod.annotations, IDS))?;
    let element = elements.get(container).map_or(&[][..], Vec::as_slice);
    Ok(element.iter().map(grant).collect())
}

/// Serves every container of the pod with these annotations.
pub(super) fn serve_all(annotations: &mut BTreeMap<String, String>) {
    let waits = annotations.get(PHASE).is_some_and(|p| p == ALLOCATING);
    if !waits || !annotations.contains_key(NODE) {
        return;
    }
    let mut left = text(annotations, TO_ALLOCATE).to_owned();
    loop {
        let Ok(elements) = wire::decode(&left) else {
            return;
        };
        if !elements.iter().any(|element| has_ours(element)) {
            break;
        }
        left = erase(&elements);
    }
    annotations.insert(TO_ALLOCATE.to_owned(), left);
    finish(annotations, SUCCESS);
}
