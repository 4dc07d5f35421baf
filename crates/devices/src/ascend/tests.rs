//! Both families on one node.

use crate::binding::{AnnotationValue, BindingAnnotations};
use crate::config::DeviceConfig;
use crate::facts::{ContainerFacts, ContainerKind, NodeFacts, Pairs, PodFacts};
use crate::families::Devices;
use crate::ledger::{LedgerTime, Tags};
use crate::settings::{Policy, Settings};

const CORES: &str = "huawei.com/npu-core";
const COUNT: &str = "huawei.com/Ascend310P";

fn pairs(pairs: &[(&str, &str)]) -> Pairs {
    let own = |(key, value): &(&str, &str)| (key.to_string(), value.to_string());
    pairs.iter().map(own).collect()
}

fn container(resource: &str, amount: i64) -> ContainerFacts {
    ContainerFacts {
        kind: ContainerKind::Regular,
        amounts: vec![(resource.to_owned(), amount * 1000)],
    }
}

/// A pod with this in the annotations of its Binding may be one of MindCluster's: its plugin serves the
/// smallest `predicate-time` first, and that of HAMi does not read it (spec/05 §2.11, §3.8).
#[test]
fn what_both_write_is_as_mindcluster_needs_it() {
    let mut settings = Settings {
        configured: true,
        ascend_hami: true,
        policy: Policy::Binpack,
        weight: 10,
        ..Settings::default()
    };
    settings.mind_cluster.enabled = true;
    let devices = Devices::new(settings, DeviceConfig::default());
    let report = "{\"DeviceList\":{\"huawei.com/Ascend310P\":\"Ascend310P-0\"},\"UpdateTime\":1}";
    let node = devices.cards(&NodeFacts {
        name: "n",
        labels: &pairs(&[
            ("accelerator", "huawei-Ascend310P"),
            ("node.kubernetes.io/npu.chip.name", "310P3"),
            ("servertype", "Ascend310P-8"),
        ]),
        annotations: &pairs(&[
            ("baseDeviceInfos", "{\"Ascend310P-0\":{}}"),
            (
                "hami.io/node-register-Ascend310P",
                "[{\"id\":\"U0\",\"count\":7,\"devmem\":21527,\"type\":\"Ascend310P\",\"health\":true}]",
            ),
        ]),
        allocatable: &[(COUNT.to_owned(), 7000)],
        capacity: &[(CORES.to_owned(), 8000)],
        reports: &pairs(&[("cluster-info-device", report)]),
    });
    let pod = PodFacts {
        containers: vec![container(CORES, 2), container(COUNT, 1)],
        labels: pairs(&[("ring-controller.atlas", "ascend-310P")]),
        ..PodFacts::default()
    };
    let demand = devices.demand(&pod, Tags::default());
    assert_eq!((demand.refusal.as_deref(), demand.parts.len()), (None, 2));
    let chosen = demand.choose(&node, LedgerTime::Now).expect("it fits");
    let mut written = BindingAnnotations::default();
    for (family, allocations) in &chosen {
        let request = demand.part(*family).expect("asked");
        written.merge(node.with_cards(*family, |cards| {
            request.annotations("n", cards, allocations)
        }));
    }
    let value = |key: &str| {
        let mut found = written.annotations.iter().filter(|one| one.key == key);
        let first = found.next().map(|one| one.value.clone());
        assert!(found.next().is_none(), "{key} twice");
        first
    };
    let text = |text: &str| Some(AnnotationValue::Text(text.to_owned()));
    assert_eq!(value(CORES), text("0-vir02_1c"));
    assert_eq!(value(COUNT), text("[{\"UUID\":\"U0\"}]"));
    assert_eq!(value("predicate-time"), Some(AnnotationValue::NanoSequence));
    assert_eq!(value("hami.io/bind-time"), Some(AnnotationValue::Seconds));
}
