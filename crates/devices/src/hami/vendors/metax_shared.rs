//! MetaX sGPUs: GPUs that several pods share.
//!
//! Which pods may share one: [`super::super::terms`].

use serde_json::Value;

use crate::binding::{Annotation, AnnotationValue};
use crate::facts::NodeFacts;
use crate::hami::kind::{CardKind, KindNames, Marking, MemoryUnit, OwnRules, Several};
use crate::hami::links;
use crate::hami::registered_card::{HamiCard, MAX_CARDS};
use crate::hami::terms::{QOS, QosPolicy, SgpuCard, ShareTerms};
use crate::hami::{json, json_fields};
use crate::part::CardPart;
use crate::text::{Bounded, clip};

/// Node annotation with the cards.
pub const REGISTER: &str = "metax-tech.com/node-gpu-devices";
/// Annotations of a pod: UUIDs of the cards it may use, and of those it may not.
pub const UUIDS: (&str, &str) = ("metax-tech.com/use-gpuuuid", "metax-tech.com/nouse-gpuuuid");
/// Pod annotation: the cards, for the device plugin.
const DEVICES: &str = "metax-tech.com/gpu-devices-allocated";
/// Pod annotation: when they were chosen.
const TIME: &str = "metax-tech.com/predicate-time";

/// The kind of these.
pub fn kind(names: KindNames, heeds_links: bool) -> CardKind {
    let mut kind = CardKind::registered("Metax-SGPU", REGISTER, "metax-sgpu", names);
    kind.heeds_uuids(&[UUIDS]);
    kind.unit = MemoryUnit::Bytes;
    kind.default_cores = 100;
    kind.default_cores_of_whole = 100;
    kind.several = Several::Parts;
    kind.rules = OwnRules::Sgpu { heeds_links };
    kind.discover = discover;
    kind.marks = marks;
    kind
}

fn discover(kind: &CardKind, node: &NodeFacts, problems: &mut Bounded) -> Vec<HamiCard> {
    let Some(text) = node.annotation(REGISTER) else {
        return Vec::new();
    };
    let mut cards = Vec::new();
    let mut zones = Vec::new();
    let list = json::array(text, REGISTER, problems);
    for (at, value) in list.iter().enumerate().take(MAX_CARDS) {
        match entry(kind, value, at) {
            Ok(card) => {
                let policy = policy(value, at, problems);
                let zone = zone(value, &mut zones);
                let details = SgpuCard { policy, zone }.code();
                cards.push(HamiCard { details, ..card });
            }
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
    Ok(HamiCard {
        id: json_fields::identity(value, "uuid")?,
        index: at as u32,
        slots: json_fields::number(value, "totalDevCount", 1)?,
        memory: json_fields::number(value, "totalVRam", 1)?,
        cores: json_fields::number(value, "totalCompute", 0)?,
        kind: model.to_owned(),
        healthy: value.get("healthy") == Some(&Value::Bool(true)),
        ..HamiCard::default()
    })
}

/// The zone of a card, counted from 1 in the order they are told; 0 for none.
fn zone(value: &Value, known: &mut Vec<i64>) -> u16 {
    let told = value.get("linkZone").and_then(Value::as_i64);
    let told = told.filter(|told| *told > 0);
    told.map_or(0, |told| links::number(told, known))
}

/// How shares of a card are held, where that is told. What nobody knows counts as not told.
fn policy(value: &Value, at: usize, problems: &mut Bounded) -> Option<QosPolicy> {
    let told = value.get("qosPolicy").filter(|told| !told.is_null())?;
    let name = told.as_str().filter(|name| !name.is_empty());
    let policy = name.and_then(QosPolicy::named);
    if policy.is_none() && *told != "" {
        problems.tell(|| {
            let told = clip(&told.to_string());
            format!(
                "{REGISTER}: entry {at}: qosPolicy {told} is none of best-effort, fixed-share and \
                 burst-share and counts as absent; update the device plugin"
            )
        });
    }
    policy
}

/// What the plugin reads: a list of cards for each container that has some, and the QoS policy.
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
    let terms = pod.own.first().map(|one| ShareTerms::of(one.share));
    let terms = terms.unwrap_or_default();
    let mut marks = vec![
        Annotation::new(DEVICES, AnnotationValue::Text(text)),
        Annotation::new(TIME, AnnotationValue::Nanos),
    ];
    if !terms.is_online() {
        // As HAMi's webhook writes it into pods that leave it out.
        let qos = terms.qos.name().to_owned();
        marks.push(Annotation::new(QOS, AnnotationValue::Text(qos)));
    }
    marks
}
