//! One function a decoder: it reads any bytes, and holds what must be true of whatever it has read.
//!
//! The fuzz targets call them with bytes that a fuzzer makes up, and
//! `crates/testkit/tests/it/fuzz_corpora.rs` with those that are kept in `fuzz/corpus`. HTTP heads are
//! not here: `hyper` reads them, and nothing of ours before it.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{DaemonSet, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job as BatchJob;
use k8s_openapi::api::core::v1::{
    Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ReplicationController,
    ResourceQuota, Service,
};
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::resource::v1::{
    DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice,
};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1::{
    CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment,
};
use pumice_api::{
    Command, CompositePodGroup, CronJob, DeviceTaintRule, HyperNode, Job, JobFlow, JobTemplate,
    NativePodGroup, NodeMetrics, NodeShard, Numatopology, PodGroup, Queue,
};
use pumice_claims::{Attribute, DeviceCapacity, DeviceSelector, DraDevice, SelectorSteps};
use pumice_devices::{
    ContainerFacts, Devices, FAMILIES, Load, MindCluster, NodeFacts, Pairs, PodFacts, Settings,
    Tags, config::DeviceConfig, families, hami,
};
use pumice_units::{duration, quantity};
use pumice_wire::protobuf::{ProtobufObject as _, RawFrame, envelope, name_of, raw_frame, status};
use pumice_wire::rules::{RuleScope, broken};
use pumice_wire::{WireObject, WireProblem};
use pumice_yaml::TextOrigin;
use pumice_yaml::node::{Data, YamlNode};
use pumice_yaml::scalar::resolve;
use pumice_yaml::tree::{Budget, documents};

/// A decoder by the name of its target and of the folder of its corpus.
pub type Decoder = (&'static str, fn(&[u8]));

/// All of them.
pub const DECODERS: [Decoder; 9] = [
    ("configuration", configuration),
    ("device_config", device_config),
    ("devices", devices),
    ("durations", durations),
    ("objects", objects),
    ("protobuf", protobuf),
    ("quantities", quantities),
    ("selectors", selectors),
    ("yaml", yaml),
];

/// YAML texts: every value has its place in the text, and a type.
pub fn yaml(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let origin = TextOrigin::whole(&text);
    for document in documents(&text, Budget::manifests(text.len())) {
        match document {
            Ok(root) => walk(&root, &text, &origin),
            Err(error) => assert!(error.location.offset <= text.len(), "{error}"),
        }
    }
}

fn walk(node: &YamlNode<'_>, text: &str, origin: &TextOrigin<'_>) {
    let at = node.location;
    assert!(at.line >= 1 && at.column >= 1 && at.offset <= text.len());
    match &node.data {
        Data::Scalar { .. } => {
            let _ = resolve(node);
            let _ = origin.excerpt(at.offset, node.end);
        }
        Data::List(items) => items.iter().for_each(|item| walk(item, text, origin)),
        Data::Map(entries) => entries.iter().for_each(|entry| {
            walk(&entry.key, text, origin);
            walk(&entry.value, text, origin);
        }),
    }
}

/// Quantities: what is read is written as a text that reads as the same.
pub fn quantities(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match quantity::parse(&text) {
        Ok(read) => {
            let (milli, whole) = (read.milli_ceil(), read.whole_ceil());
            // Both are rounded away from 0.
            assert!(i128::from(whole).abs() * 1000 >= i128::from(milli).abs());
            let _ = read.plus(read).minus(read).times(3).steps_of(read);
            let _ = (read.approximate(), read.as_whole());
            let again = quantity::parse(&read.to_string());
            assert_eq!(again.as_ref(), Ok(&read), "{text:?}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Durations of Go.
pub fn durations(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Err(error) = duration::parse_go_duration(&text) {
        assert!(!error.to_string().is_empty());
    }
}

/// An object by its `kind`, which also its rules are held against.
pub fn objects(data: &[u8]) {
    let value: serde_json::Value = serde_json::from_slice(data).unwrap_or_default();
    let kind = value["kind"].as_str().unwrap_or_default();
    let version = value["apiVersion"].as_str().unwrap_or_default();
    let group = version.split_once('/').map_or("", |(group, _)| group);
    if !value.is_null() {
        for scope in [RuleScope::Whole, RuleScope::Sketch] {
            let rules = broken(group, kind, &value, scope);
            assert!(rules.iter().all(|rule| !rule.message.is_empty()));
        }
    }
    let name = match (group, kind) {
        ("batch", "Job") => "BatchJob",
        ("scheduling.k8s.io", "PodGroup") => "NativePodGroup",
        _ => kind,
    };
    let found = READERS.iter().find(|(known, _)| *known == name);
    let (_, read) = found.unwrap_or(&READERS[0]);
    if let Some(problem) = read(data) {
        assert!(!problem.to_string().is_empty());
    }
}

/// Kind, and what it says of bytes.
type KindReader = (&'static str, fn(&[u8]) -> Option<WireProblem>);

fn read<T: WireObject>(data: &[u8]) -> Option<WireProblem> {
    let whole = T::read(data);
    let _ = T::read_in_part(data);
    whole.err()
}

macro_rules! readers {
    ($($kind:ident),* $(,)?) => {
        [("Pod", read::<Pod>), ("BatchJob", read::<BatchJob>), $((stringify!($kind), read::<$kind>)),*]
    };
}

const READERS: [KindReader; 38] = readers!(
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    Command,
    CompositePodGroup,
    CronJob,
    DaemonSet,
    DeviceClass,
    DeviceTaintRule,
    HyperNode,
    Job,
    JobFlow,
    JobTemplate,
    Namespace,
    NativePodGroup,
    Node,
    NodeMetrics,
    NodeShard,
    Numatopology,
    PersistentVolume,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    PodGroup,
    PriorityClass,
    Queue,
    ReplicaSet,
    ReplicationController,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceQuota,
    ResourceSlice,
    RuntimeClass,
    Service,
    StatefulSet,
    StorageClass,
    VolumeAttachment,
);

/// A frame of a watch in protobuf, or an object; as a pod and as a node, which have the same name.
pub fn protobuf(data: &[u8]) {
    let _ = status(data);
    let object = match raw_frame(data) {
        Ok(RawFrame::Add(object) | RawFrame::Modify(object) | RawFrame::Delete(object)) => object,
        Ok(RawFrame::Bookmark { .. } | RawFrame::Error(_)) => return,
        Err(_) => envelope(data).unwrap_or(data),
    };
    let named = name_of(object);
    let (pod, node) = (Pod::read_protobuf(object), Node::read_protobuf(object));
    for meta in [pod.map(|pod| pod.metadata), node.map(|node| node.metadata)] {
        if let (Ok(named), Ok(meta)) = (&named, meta) {
            assert_eq!(meta.name.unwrap_or_default(), named.name);
            assert_eq!(meta.uid.unwrap_or_default(), named.uid);
        }
    }
}

/// What is told of devices, in lines of a letter, a name and a value: `n` an annotation of the node, `L` a
/// label of it, `R` a report about it, `A` an amount of it; `a` an annotation of the pod, `l` a label of it, `c`
/// a new container, `m` an amount of it; `r` a record of what the pod holds. All families read all of it.
pub fn devices(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lists: BTreeMap<char, BTreeMap<String, String>> = BTreeMap::new();
    let mut pod = PodFacts::default();
    for line in text.lines().take(200) {
        let mut parts = line.splitn(3, ' ');
        let letter = parts.next().and_then(|word| word.chars().next());
        let name = parts.next().unwrap_or_default();
        let value = parts.next().unwrap_or_default().replace("\\n", "\n");
        match letter {
            Some('c') => pod.containers.push(ContainerFacts::default()),
            Some('m') => {
                let milli = value.parse().unwrap_or(1000);
                if let Some(container) = pod.containers.last_mut() {
                    let amounts = &mut container.amounts;
                    amounts.retain(|(known, _)| known != name);
                    amounts.push((name.to_owned(), milli));
                    amounts.sort();
                }
            }
            Some(letter) => {
                let list = lists.entry(letter).or_default();
                list.insert(name.to_owned(), value);
            }
            None => {}
        }
    }
    let mut pairs = |letter| -> Pairs {
        let list = lists.remove(&letter).unwrap_or_default();
        list.into_iter().collect()
    };
    (pod.annotations, pod.labels) = (pairs('a'), pairs('l'));
    let records = pairs('r');
    let (annotations, labels, mut reports) = (pairs('n'), pairs('L'), pairs('R'));
    let of_maps = ["mindx-dl-deviceinfo-n1", "cluster-info-device-0"]
        .map(|name| families::node_reports("kube-system", name, &reports).unwrap_or_default());
    let told = of_maps.into_iter().flatten();
    reports.extend(told.map(|report| (report.topic.to_owned(), report.text)));
    reports.sort();
    reports.dedup_by(|one, other| one.0 == other.0);
    let amount = |(name, value): (String, String)| (name, value.parse().unwrap_or(0));
    let amounts: Vec<(String, i64)> = pairs('A').into_iter().map(amount).collect();
    let node = NodeFacts {
        name: "n1",
        labels: &labels,
        annotations: &annotations,
        allocatable: &amounts,
        capacity: &amounts,
        reports: &reports,
    };
    for settings in all_settings() {
        let devices = Devices::new(settings, DeviceConfig::default());
        let cards = devices.cards(&node);
        let _ = devices.demand(&pod, Tags::default());
        let _ = devices.gauges(&cards);
        for family in 0..FAMILIES.len() {
            let Ok(family) = u8::try_from(family) else {
                return;
            };
            let Some(of_family) = cards.family(family) else {
                continue;
            };
            let mut held = devices
                .decode(family, &records, &pod, of_family)
                .allocations;
            // What is charged can be taken back, and nothing of it stays.
            let mut ledger = cards.clone();
            ledger.charge(family, 1, Tags::default(), Load::Held, &mut held);
            ledger.discharge(family, 1, Load::Held, &held);
            assert_eq!(ledger, cards);
        }
    }
}

/// Every family is on in one of them; some exclude each other.
fn all_settings() -> [Settings; 3] {
    let on = Settings {
        configured: true,
        ..Settings::default()
    };
    [
        Settings {
            gpu_memory: true,
            ..on.clone()
        },
        Settings {
            gpu_number: true,
            mind_cluster: MindCluster {
                enabled: true,
                ..MindCluster::default()
            },
            ..on.clone()
        },
        Settings {
            vgpu: true,
            ascend_hami: true,
            hami_vendors: hami::vendor_names().map(str::to_owned).collect(),
            ..on
        },
    ]
}

/// The text of `device-config.yaml`.
pub fn device_config(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match families::read_config(&text) {
        Ok(config) => {
            for settings in all_settings() {
                let _ = Devices::new(settings, config.clone());
            }
        }
        Err(problems) => assert!(!problems.is_empty()),
    }
}

/// An expression that selects devices, compiled and asked of one.
pub fn selectors(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match DeviceSelector::compile(&text) {
        Ok(selector) => {
            let _ = selector.cost();
            let _ = selector.holds("gpu.example.com", &device(), &SelectorSteps::default());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn device() -> DraDevice {
    let of_driver = |name: &str| format!("gpu.example.com/{name}");
    let attributes = [
        ("model", Attribute::Text("a100".to_owned())),
        ("ecc", Attribute::Bool(true)),
        ("index", Attribute::Int(3)),
        ("driverVersion", Attribute::Version("2.10.0".to_owned())),
    ];
    let memory = DeviceCapacity {
        value: quantity::parse("40Gi").unwrap_or_default(),
        policy: None,
    };
    DraDevice {
        name: "gpu-0".to_owned(),
        attributes: attributes
            .map(|(name, value)| (of_driver(name), value))
            .into(),
        capacity: [(of_driver("memory"), memory)].into(),
        ..DraDevice::default()
    }
}

/// The text of `volcano-scheduler.conf`, with the arguments of all plugins and actions: lists in words,
/// patterns, labels, weights.
pub fn configuration(data: &[u8]) {
    let outcome = pumice_conf::parse_bytes(data, &pumice_engine::REGISTRY);
    assert!(outcome.config.is_some() || outcome.has_errors());
}
