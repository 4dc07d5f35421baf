//! The chips of a node: what its labels, its annotations and the ConfigMaps tell (spec/05 §2.1,
//! §2.4, P-11).

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::facts::NodeFacts;
use crate::ledger::{Card, FamilyCode, NodeCards};
use crate::settings::MindCluster;
use crate::text::{Bounded, clip, shorten};

use super::report::{
    self, DEVICES_OF_CLUSTER, DEVICES_OF_NODE, DeviceReport, HEALTH_OF_CLUSTER, HEALTH_OF_NODE,
};
use super::request::CHIP_CORES;
use super::template::{DIMENSIONS, Part};
use super::{BASE, CORES, LIST};

const ACCELERATOR: &str = "accelerator";
const CHIP: &str = "Ascend310P";
/// Names of one label, the one that is told of first.
const SERVER_TYPE: [&str; 2] = ["servertype", "huawei.com/npu.server.type"];
const CHIP_NAME: [&str; 2] = [
    "node.kubernetes.io/npu.chip.name",
    "huawei.com/npu.chip.name",
];

/// Lists of chips that are not given out, and why.
const SET_ASIDE: [(&str, &str); 3] = [
    ("huawei.com/Ascend310P-Unhealthy", "unhealthy"),
    (
        "huawei.com/Ascend310P-NetworkUnhealthy",
        "its network is unhealthy",
    ),
    ("huawei.com/Ascend310P-Recovering", "recovering"),
];

/// Statuses by which NodeD takes a node out of service.
const OUT_OF_SERVICE: [&str; 2] = ["UnHealthy", "PreSeparate"];

/// Most chips of a node; no real one comes near.
const MAX_CHIPS: usize = 1024;

/// Why a node has no chips: what [`NodeCards::absent`] means for this family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeWithoutNpus {
    /// It says nothing of NPUs. The default, so that a node without NPUs stores nothing.
    NoNpus,
    /// Labels that tell the kind of chips are missing or contradict each other.
    Labels,
    /// It has other NPUs.
    OtherKind,
    /// No device plugin has told of them.
    NoReport,
    /// What was told cannot be used.
    BadReport,
    /// NodeD has taken it out of service.
    OutOfService,
}

impl NodeWithoutNpus {
    /// All of them, by number.
    pub const ALL: [Self; 6] = [
        Self::NoNpus,
        Self::Labels,
        Self::OtherKind,
        Self::NoReport,
        Self::BadReport,
        Self::OutOfService,
    ];

    /// Why these cards are none.
    pub fn of(cards: &NodeCards) -> Self {
        let at = usize::from(cards.absent.get());
        Self::ALL.get(at).copied().unwrap_or(Self::NoNpus)
    }

    /// As a reason of a node not to fit.
    pub fn text(self) -> &'static str {
        match self {
            Self::NoNpus => "node(s) had no Ascend NPUs (huawei.com/npu-core in capacity)",
            Self::Labels => "node(s) had missing or contradictory labels of Ascend NPUs",
            Self::OtherKind => "node(s) had other NPUs than Ascend 310P",
            Self::NoReport => "node(s) had NPUs of which no device plugin has told yet",
            Self::BadReport => "node(s) had NPUs of which nothing readable was told",
            Self::OutOfService => "node(s) were taken out of service by NodeD",
        }
    }
}

/// Why a node has none, in short and in full.
struct NodeRefusal(NodeWithoutNpus, String);

/// The chips of a node.
pub fn cards(node: &NodeFacts, params: &MindCluster) -> NodeCards {
    let capacity = node.capacity_milli(CORES).map_or(0, |milli| milli / 1000);
    let mut cards = NodeCards::new(DIMENSIONS);
    if capacity <= 0 {
        return cards;
    }
    let mut problems = Bounded::default();
    if let Err(NodeRefusal(absent, why)) = read(node, params, capacity, &mut cards, &mut problems) {
        cards = NodeCards::new(DIMENSIONS);
        cards.absent = FamilyCode::new(absent as u16);
        cards.label = Some(Arc::from(why.as_str()));
        if matches!(absent, NodeWithoutNpus::Labels | NodeWithoutNpus::BadReport) {
            problems.tell(|| format!("its NPUs cannot be given out: {why}"));
        }
    }
    cards.problems = problems.into_texts("more problems");
    cards
}

fn read(
    node: &NodeFacts,
    params: &MindCluster,
    capacity: i64,
    cards: &mut NodeCards,
    problems: &mut Bounded,
) -> Result<(), NodeRefusal> {
    let cores = cores_of_chips(node, capacity)?;
    let told = told_devices(node, params)?;
    check_health(node, params, problems)?;
    let listed = ids(told.list(LIST).unwrap_or_default(), LIST, problems);
    let mut aside: Vec<(u32, &str)> = Vec::new();
    for (list, why) in SET_ASIDE {
        let named = ids(told.list(list).unwrap_or_default(), list, problems);
        aside.extend(named.into_iter().map(|id| (id, why)));
    }
    let base = base(node, problems);
    if base.is_none() && params.self_maintain_available_card {
        problems.tell(|| {
            format!(
                "there is no usable annotation {}, with which init-params has \
                 self-maintain-available-card work; the list of the device plugin is used instead",
                BASE[0]
            )
        });
    }
    let maintained = base
        .as_ref()
        .filter(|_| params.self_maintain_available_card);
    let given_out = match maintained {
        Some(base) => base.clone(),
        None => listed.iter().copied().collect(),
    };
    let count = (capacity / cores).min(MAX_CHIPS as i64) as u32;
    let all: BTreeSet<u32> = base.unwrap_or_else(|| (0..count).collect());
    let named = aside.iter().map(|(id, _)| *id);
    let all: BTreeSet<u32> = all.into_iter().chain(listed).chain(named).collect();
    for id in all.into_iter().take(MAX_CHIPS) {
        let why = aside.iter().find(|(named, _)| *named == id);
        let card = Card {
            id: Arc::from(id.to_string()),
            kind: Arc::from(CHIP),
            unusable: why.map(|(_, why)| (*why).into()),
            index: id,
            // One that is not on the list is in use: there may be room beside its vNPUs.
            only_rest: !given_out.contains(&id),
            ..Card::default()
        };
        cards.add(card, &Part::whole(cores).row());
    }
    Ok(())
}

/// AI cores of each chip.
fn cores_of_chips(node: &NodeFacts, capacity: i64) -> Result<i64, NodeRefusal> {
    let label = |names: [&'static str; 2]| {
        let found = names
            .iter()
            .find_map(|name| Some((*name, node.label(name)?)));
        let missing = || {
            NodeRefusal(
                NodeWithoutNpus::Labels,
                format!("label {} is missing", names[0]),
            )
        };
        found.ok_or_else(missing)
    };
    let (_, accelerator) = label([ACCELERATOR, ACCELERATOR])?;
    match accelerator.split('-').nth(1) {
        Some(CHIP) => {}
        Some(_) => {
            let why = format!(
                "label {ACCELERATOR} is {}, not huawei-{CHIP}",
                shorten(accelerator)
            );
            return Err(NodeRefusal(NodeWithoutNpus::OtherKind, why));
        }
        None => {
            let accelerator = shorten(accelerator);
            let why = format!(
                "label {ACCELERATOR} is \"{accelerator}\", which names no kind of NPU as in \
                 huawei-{CHIP}"
            );
            return Err(NodeRefusal(NodeWithoutNpus::Labels, why));
        }
    }
    label(CHIP_NAME)?;
    let (name, server) = label(SERVER_TYPE)?;
    let cores = server.split('-').nth(1).and_then(|text| text.parse().ok());
    let known = cores.filter(|cores| CHIP_CORES.contains(cores));
    let contradicts = |what: &str| {
        let why = format!("label {name} is \"{}\", {what}", shorten(server));
        NodeRefusal(NodeWithoutNpus::Labels, why)
    };
    let cores = known.ok_or_else(|| {
        contradicts("which does not tell 8 or 10 AI cores a chip as in Ascend310P-8")
    })?;
    match capacity % cores {
        0 => Ok(cores),
        _ => Err(contradicts(&format!(
            "but the {capacity} {CORES} of the node are no multiple of {cores}"
        ))),
    }
}

fn told_devices(node: &NodeFacts, params: &MindCluster) -> Result<DeviceReport, NodeRefusal> {
    let (topic, writer) = match params.use_cluster_info_manager {
        true => (
            DEVICES_OF_CLUSTER,
            "ConfigMap cluster-info-device-* of ClusterD",
        ),
        false => (
            DEVICES_OF_NODE,
            "ConfigMap mindx-dl-deviceinfo-* of the device plugin",
        ),
    };
    let report = node.report(topic).ok_or_else(|| {
        let why = format!(
            "no {writer} tells of it; see that it runs, and that init-params has the right \
             useClusterInfoManager"
        );
        NodeRefusal(NodeWithoutNpus::NoReport, why)
    })?;
    let unreadable =
        |why: String| NodeRefusal(NodeWithoutNpus::BadReport, format!("{writer}: {why}"));
    let told = report::devices(topic, report).map_err(unreadable)?;
    match told.list(LIST) {
        Some(_) => Ok(told),
        None => Err(unreadable(format!("DeviceList has no {LIST}"))),
    }
}

/// What NodeD tells. If it tells nothing, the node is well.
fn check_health(
    node: &NodeFacts,
    params: &MindCluster,
    problems: &mut Bounded,
) -> Result<(), NodeRefusal> {
    let topic = match params.use_cluster_info_manager {
        true => HEALTH_OF_CLUSTER,
        false => HEALTH_OF_NODE,
    };
    let Some(report) = node.report(topic) else {
        return Ok(());
    };
    let status = match report::health(topic, report) {
        Ok(status) => status.unwrap_or_default(),
        Err(why) => {
            problems.tell(|| format!("{topic}: {why}; the node counts as healthy"));
            return Ok(());
        }
    };
    match OUT_OF_SERVICE.contains(&status.as_str()) {
        true => Err(NodeRefusal(
            NodeWithoutNpus::OutOfService,
            format!("NodeD reports status {status}"),
        )),
        false => Ok(()),
    }
}

/// Chips by the annotation with all of them; `None` if it cannot be used.
fn base(node: &NodeFacts, problems: &mut Bounded) -> Option<BTreeSet<u32>> {
    let (key, text) = BASE
        .iter()
        .find_map(|key| Some((key, node.annotation(key)?)))?;
    match serde_json::from_str(text) {
        Ok(Value::Object(devices)) => {
            let physical = devices.keys().filter(|name| name.matches('-').count() <= 1);
            Some(physical.filter_map(|name| id(name)).collect())
        }
        _ => {
            problems.tell(|| format!("annotation {key} \"{}\" is no JSON map", clip(text)));
            None
        }
    }
}

/// Chips of a list `Ascend310P-0,Ascend310P-1`.
fn ids(list: &str, name: &str, problems: &mut Bounded) -> Vec<u32> {
    let mut ids = Vec::new();
    for entry in list
        .split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
    {
        match id(entry) {
            Some(id) => ids.push(id),
            None => problems.tell(|| {
                format!(
                    "{name}: \"{}\" is no {CHIP}-<number>; it is left out",
                    shorten(entry)
                )
            }),
        }
    }
    ids
}

/// The number of a chip by its name.
pub fn id(name: &str) -> Option<u32> {
    let digits = name.strip_prefix(CHIP)?.strip_prefix('-')?;
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|id| is_plain && *id < 1 << 16)
}
