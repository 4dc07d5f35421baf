//! `Allocate` of the device plugins of HAMi's vendors (spec/04 §23.5).
//!
//! Those that HAMi wrote find their pod as [`super::ascend`] does, by lock or phase; what differs is the
//! resource and the key of the list. Those of Cambricon, Moore Threads, AWS Neuron and Kunlun's whole cards
//! look for annotations of their own; MetaX's whole GPUs are chosen by kubelet, and its shared ones have besides a list of its own, and a
//! policy that the plugin tells of the card from then on.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{AllocateAnswer, AllocateCall, AllocateRefusal, Grant, ListedPod, ascend, wire};

/// Plugins of HAMi: resource of the count, and the middle of the keys of its lists.
pub const REGISTERED: &[(&str, &str)] = &[
    ("nvidia.com/gpu", "vgpu"),
    ("hygon.com/dcunum", "dcu"),
    ("iluvatar.ai/MR-V100-vgpu", "MR-V100"),
    ("iluvatar.ai/MR-V50-vgpu", "MR-V50"),
    ("iluvatar.ai/BI-V150-vgpu", "BI-V150"),
    ("iluvatar.ai/BI-V100-vgpu", "BI-V100"),
    ("metax-tech.com/sgpu", "metax-sgpu"),
    ("kunlunxin.com/vxpu", "xpu"),
    ("vastaitech.com/va", "Vastai"),
    ("birentech.com/gpu", "Biren"),
    ("amd.com/gpu", "amd"),
];

/// Cambricon: count.
pub const MLU: &str = "cambricon.com/vmlu";
/// Cambricon: the plugin has served the pod.
pub const MLU_ASSIGNED: &str = "CAMBRICON_DSMLU_ASSIGNED";
/// Cambricon: card, percent of cores, and memory by 256 MiB.
pub const MLU_PROFILE: &str = "CAMBRICON_DSMLU_PROFILE";
/// Cambricon: node annotation that is removed after every pod.
pub const MLU_LOCK: &str = "cambricon.com/dsmlu.lock";

/// Moore Threads: count.
pub const MTHREADS: &str = "mthreads.com/vgpu";
/// Moore Threads: cards of the pod.
pub const MTHREADS_INDEX: &str = "mthreads.com/gpu-index";
/// Moore Threads: node of the pod.
pub const MTHREADS_NODE: &str = "mthreads.com/predicate-node";
/// Moore Threads: whose turn it is; the smallest is the next.
pub const MTHREADS_TIME: &str = "mthreads.com/predicate-time";

/// Kunlun: count of whole cards.
pub const XPU: &str = "kunlunxin.com/xpu";
/// Kunlun: whole cards of the pod.
pub const XPU_INDEX: &str = "BAIDU_COM_DEVICE_IDX";

/// AWS Neuron: count of devices.
pub const NEURON: &str = "aws.amazon.com/neuron";
/// AWS Neuron: count of cores.
pub const NEURON_CORE: &str = "aws.amazon.com/neuroncore";
/// AWS Neuron: devices of the pod, or its cores.
pub const NEURON_IDS: &str = "AWS_NEURON_IDS";
/// AWS Neuron: the resource that the ids are of, where they are of cores.
pub const NEURON_TYPE: &str = "NEURON_RESOURCE_TYPE";
/// AWS Neuron: node of the pod.
pub const NEURON_NODE: &str = "aws.amazon.com/predicate-node";
/// AWS Neuron: whose turn it is; the smallest is the next.
pub const NEURON_TIME: &str = "NEURON_ALLOC_TIME";

/// MetaX: node annotation with the cards.
pub const SGPU_REGISTER: &str = "metax-tech.com/node-gpu-devices";
/// MetaX: cards of the pod, by container that has some.
pub const SGPU_DEVICES: &str = "metax-tech.com/gpu-devices-allocated";
/// MetaX: how the shares of the pod are held.
pub const SGPU_POLICY: &str = "metax-tech.com/sgpu-qos-policy";
/// MetaX: `online` pods have no policy.
pub const SGPU_CLASS: &str = "metax-tech.com/sgpu-app-class";

/// Answers a call of one of HAMi's own plugins, the one for this resource. An element that is empty
/// belongs to a container without cards.
pub fn allocate(
    resource: &str,
    pods: &[ListedPod],
    lock: Option<&str>,
    call: &AllocateCall,
) -> Option<AllocateAnswer> {
    let (_, stem) = REGISTERED.iter().find(|(known, _)| *known == resource)?;
    Some(ascend::allocate(stem, pods, lock, call))
}

/// Answers a call of Cambricon's plugin: the pod that waits on the node gets what its profile says.
pub fn allocate_mlu(pods: &[ListedPod], call: &AllocateCall) -> AllocateAnswer {
    let waits = |pod: &&ListedPod| {
        let is_here = pod.node.as_deref() == Some(&call.node) && pod.phase == "Pending";
        is_here
            && pod
                .annotations
                .get(MLU_ASSIGNED)
                .is_some_and(|text| text == "false")
    };
    let Some(pod) = pods.iter().find(waits) else {
        return refused(None, AllocateRefusal::NobodyWaits, Some(MLU_LOCK));
    };
    let Some(grant) = profile(pod) else {
        return refused(Some(pod), AllocateRefusal::NothingLeft, Some(MLU_LOCK));
    };
    AllocateAnswer {
        result: Ok(vec![grant]),
        guessed: Some(pod.uid.clone()),
        changes: [(MLU_ASSIGNED.to_owned(), "true".to_owned())].into(),
        unlocks: Some(MLU_LOCK),
    }
}

/// What the scheduler has written for a pod of Cambricon's.
pub fn profile(pod: &ListedPod) -> Option<Grant> {
    const UNIT_MIB: i64 = 256;
    let text = pod.annotations.get(MLU_PROFILE)?;
    let fields: Vec<&str> = text.split('_').collect();
    let [card, cores, units] = fields[..] else {
        return None;
    };
    Some(Grant {
        id: card.parse::<u32>().ok()?.to_string(),
        memory: UNIT_MIB * units.parse::<i64>().ok()?,
        cores: cores.parse().ok()?,
    })
}

/// Answers a call of Moore Threads' plugin: of the pods of the node that wait, the one whose cards were
/// chosen first.
pub fn allocate_mthreads(pods: &[ListedPod], call: &AllocateCall) -> AllocateAnswer {
    let waits = |pod: &&ListedPod| pod.annotations.contains_key(MTHREADS_INDEX);
    match oldest((MTHREADS_NODE, MTHREADS_TIME), waits, pods, call) {
        Some(pod) => by_index(pod, MTHREADS_INDEX),
        None => refused(None, AllocateRefusal::NobodyWaits, None),
    }
}

/// The pod of the node whose cards were chosen first of those that wait, by keys of node and time.
fn oldest<'a>(
    (node, time): (&str, &str),
    waits: impl Fn(&&ListedPod) -> bool,
    pods: &'a [ListedPod],
    call: &AllocateCall,
) -> Option<&'a ListedPod> {
    let here = pods.iter().filter(|pod| {
        pod.phase == "Pending" && pod.annotations.get(node) == Some(&call.node) && waits(pod)
    });
    here.min_by_key(|pod| wire::time(pod.annotations.get(time)))
}

/// Answers a call of AWS Neuron's plugin for devices or for cores: of the pods of the node that wait for such, the
/// one that was placed first.
pub fn allocate_neuron(resource: &str, pods: &[ListedPod], call: &AllocateCall) -> AllocateAnswer {
    let waits = |pod: &&ListedPod| {
        let by_cores = pod.annotations.contains_key(NEURON_TYPE);
        pod.annotations.contains_key(NEURON_IDS) && by_cores == (resource == NEURON_CORE)
    };
    match oldest((NEURON_NODE, NEURON_TIME), waits, pods, call) {
        Some(pod) => by_index(pod, NEURON_IDS),
        None => refused(None, AllocateRefusal::NobodyWaits, None),
    }
}

/// Answers a call of the plugin of Kunlun's whole cards: some pod of the node that waits and has cards.
pub fn allocate_xpu(pods: &[ListedPod], call: &AllocateCall) -> AllocateAnswer {
    let waits = |pod: &&ListedPod| {
        let is_here = pod.node.as_deref() == Some(&call.node) && pod.phase == "Pending";
        is_here && pod.annotations.contains_key(XPU_INDEX)
    };
    match pods.iter().find(waits) {
        Some(pod) => by_index(pod, XPU_INDEX),
        None => refused(None, AllocateRefusal::NobodyWaits, None),
    }
}

/// The cards of an annotation with indices, for the pod that is taken for the caller.
fn by_index(pod: &ListedPod, key: &str) -> AllocateAnswer {
    let Some(grants) = indices(pod, key) else {
        return refused(Some(pod), AllocateRefusal::NothingLeft, None);
    };
    AllocateAnswer {
        result: Ok(grants),
        guessed: Some(pod.uid.clone()),
        changes: BTreeMap::new(),
        unlocks: None,
    }
}

/// Cards whose indices the scheduler has written for a pod.
pub fn indices(pod: &ListedPod, key: &str) -> Option<Vec<Grant>> {
    let card = |index: &str| {
        let index: u32 = index.parse().ok()?;
        Some(Grant {
            id: index.to_string(),
            memory: 0,
            cores: 0,
        })
    };
    let text = pod.annotations.get(key)?;
    text.split(',').map(card).collect()
}

/// Cards that MetaX's own software reads for a pod, by container that has some.
pub fn sgpus(pod: &ListedPod) -> Option<Vec<Vec<Grant>>> {
    let lists: Vec<Vec<Value>> = serde_json::from_str(pod.annotations.get(SGPU_DEVICES)?).ok()?;
    // What is 0 may be left out, as Go leaves it out.
    let amount = |device: &Value, key: &str| match device.get(key) {
        None => Some(0),
        Some(amount) => amount.as_i64(),
    };
    let grant = |device: &Value| {
        Some(Grant {
            id: device.get("uuid")?.as_str()?.to_owned(),
            memory: amount(device, "vRam")?,
            cores: amount(device, "compute")?,
        })
    };
    let lists = lists.iter();
    lists.map(|list| list.iter().map(grant).collect()).collect()
}

/// What MetaX's plugin tells of its node once these pods are served: each card with the policy of the
/// last of them that has one there. A pod that has all of a card, or is online, sets none.
pub fn sgpu_register(register: &str, pods: &[ListedPod]) -> Option<String> {
    const ALL_CORES: i64 = 100;
    let mut cards: Vec<Value> = serde_json::from_str(register).ok()?;
    for pod in pods {
        let says = |key: &str| pod.annotations.get(key).map(String::as_str);
        if says(SGPU_CLASS) == Some("online") {
            continue;
        }
        for grant in sgpus(pod)?.iter().flatten() {
            let is_it = |card: &&mut Value| card["uuid"] == grant.id.as_str();
            let policy = match grant.cores {
                ALL_CORES => "",
                _ => says(SGPU_POLICY)?,
            };
            if let Some(card) = cards.iter_mut().find(is_it) {
                card["qosPolicy"] = policy.into();
            }
        }
    }
    serde_json::to_string(&cards).ok()
}

fn refused(
    pod: Option<&ListedPod>,
    refusal: AllocateRefusal,
    unlocks: Option<&'static str>,
) -> AllocateAnswer {
    AllocateAnswer {
        result: Err(refusal),
        guessed: pod.map(|pod| pod.uid.clone()),
        changes: BTreeMap::new(),
        unlocks,
    }
}

/// Serves the pod with these annotations. Those of HAMi's own plugins are served by [`super::ascend`].
pub(super) fn serve_all(annotations: &mut BTreeMap<String, String>) {
    if annotations.contains_key(MLU_PROFILE) && annotations.contains_key(MLU_ASSIGNED) {
        annotations.insert(MLU_ASSIGNED.to_owned(), "true".to_owned());
    }
}
