//! MetaX sGPUs: GPUs that several pods share.
//!
//! Pods of QoS policy `best-effort` without an app class are served.

use serde_json::Value;

use crate::binding::{Annotation, AnnotationValue};
use crate::facts::{NodeFacts, PodFacts};
use crate::hami::json;
use crate::hami::kind::{CardKind, KindNames, Marking, MemoryUnit, Several};
use crate::hami::register::{HamiCard, MOST_CARDS};
use crate::part::CardPart;
use crate::text::{Bounded, clip};

/// Node annotation with the cards.
pub const REGISTER: &str = "metax-tech.com/node-gpu-devices";
/// UUIDs.
pub const UUIDS: (&str, &str) = ("metax-tech.com/use-gpuuuid", "metax-tech.com/nouse-gpuuuid");
/// Pod annotation: how its share is held.
pub const QOS: &str = "metax-tech.com/sgpu-qos-policy";
/// Pod annotation: `online` or `offline`.
pub const APP_CLASS: &str = "metax-tech.com/sgpu-app-class";
/// Pod annotation: the cards, for the device plugin.
const DEVICES: &str = "metax-tech.com/gpu-devices-allocated";
/// Pod annotation: when they were chosen.
const TIME: &str = "metax-tech.com/predicate-time";
/// The policy that is served.
const BEST_EFFORT: &str = "best-effort";

/// The kind of these.
pub fn kind(names: KindNames) -> CardKind {
    let mut kind = CardKind::registered("Metax-SGPU", REGISTER, "metax-sgpu", names);
    kind.keys.uuids = Some((UUIDS.0.to_owned(), UUIDS.1.to_owned()));
    kind.unit = MemoryUnit::Bytes;
    kind.default_cores = 100;
    kind.default_cores_of_whole = 100;
    kind.several = Several::Parts;
    kind.discover = discover;
    kind.marks = marks;
    kind.refuses = unsupported;
    kind
}

fn discover(kind: &CardKind, node: &NodeFacts, problems: &mut Bounded) -> Vec<HamiCard> {
    let Some(text) = node.annotation(REGISTER) else {
        return Vec::new();
    };
    let mut cards = Vec::new();
    let list = json::array(text, REGISTER, problems);
    for (at, value) in list.iter().enumerate().take(MOST_CARDS) {
        match entry(kind, value, at) {
            Ok(card) => cards.push(card),
            Err(why) => problems.tell(|| {
                format!("{REGISTER}: entry {at} is left out: {why}; restart the device plugin")
            }),
        }
    }
    cards
}

fn entry(kind: &CardKind, value: &Value, at: usize) -> Result<HamiCard, String> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let model = match text("model") {
        "" => &kind.word,
        model => model,
    };
    let qos = text("qosPolicy");
    if !["", BEST_EFFORT].contains(&qos) {
        let qos = clip(qos);
        return Err(format!(
            "QoS policy {qos:?} is not supported, only {BEST_EFFORT}"
        ));
    }
    Ok(HamiCard {
        id: json::identity(value, "uuid")?,
        index: at as u32,
        slots: json::number(value, "totalDevCount", 1)?,
        memory: json::number(value, "totalVRam", 1)?,
        cores: json::number(value, "totalCompute", 0)?,
        kind: model.to_owned(),
        healthy: value.get("healthy") == Some(&Value::Bool(true)),
        ..HamiCard::default()
    })
}

fn unsupported(pod: &PodFacts) -> Option<String> {
    match (pod.annotation(QOS), pod.annotation(APP_CLASS)) {
        (None | Some("" | BEST_EFFORT), None | Some("")) => None,
        (None | Some("" | BEST_EFFORT), Some(class)) => Some(format!(
            "annotation {APP_CLASS} is {:?}: app classes are not supported: remove it",
            clip(class)
        )),
        (Some(qos), _) => Some(format!(
            "annotation {QOS} is {:?}: only {BEST_EFFORT} is supported: write that, or remove it",
            clip(qos)
        )),
    }
}

/// A list of cards for each container that has some.
fn marks(pod: &Marking) -> Vec<Annotation> {
    let mut containers: Vec<(u16, Vec<String>)> = Vec::new();
    for one in pod.own {
        let CardPart { memory, cores, .. } = CardPart::of(&one.asked);
        // Identities are such that nothing needs escaping.
        let device = format!(
            r#"{{"uuid":"{}","compute":{cores},"vRam":{memory}}}"#,
            one.id
        );
        match containers.last_mut() {
            Some((container, devices)) if *container == one.container => devices.push(device),
            _ => containers.push((one.container, vec![device])),
        }
    }
    let lists = containers.iter();
    let lists: Vec<String> = lists
        .map(|(_, all)| format!("[{}]", all.join(",")))
        .collect();
    let text = format!("[{}]", lists.join(","));
    vec![
        Annotation::new(DEVICES, AnnotationValue::Text(text)),
        Annotation::new(TIME, AnnotationValue::Nanos),
    ]
}
