//! Chips of a node: labels, annotations, and what ConfigMaps tell.

use super::*;
use crate::ascend::mindcluster::node::NodeWithoutNpus;
use crate::ascend::mindcluster::report::split;
use crate::facts::{ContainerFacts, NodeReport};
use crate::sha256;

/// A node, as it should be unless a test says otherwise.
struct Told<'a> {
    labels: Vec<(&'a str, &'a str)>,
    base: Option<String>,
    capacity: i64,
    reports: Pairs,
    settings: Settings,
}

impl Default for Told<'_> {
    fn default() -> Self {
        let mut labels = LABELS.to_vec();
        labels.push(("servertype", "Ascend310P-8"));
        Self {
            labels,
            base: Some(base(2)),
            capacity: 16,
            reports: vec![report(&[(LIST, &chips(2))])],
            settings: settings(),
        }
    }
}

impl Told<'_> {
    fn cards(&self) -> NodeCards {
        let annotation = self.base.as_deref().map(|text| ("baseDeviceInfos", text));
        let annotations: Vec<_> = annotation.into_iter().collect();
        family(&self.settings).cards(&NodeFacts {
            name: "n",
            labels: &pairs(&self.labels),
            annotations: &pairs(&annotations),
            allocatable: &[],
            capacity: &[(CORES.to_owned(), self.capacity * 1000)],
            reports: &self.reports,
        })
    }

    /// Indices of chips that may be given out, and of those that may not.
    fn usable(&self) -> (Vec<u32>, Vec<u32>) {
        let cards = self.cards();
        let (able, unable): (Vec<&Card>, Vec<&Card>) =
            cards.cards.iter().partition(|card| card.is_usable());
        let ids = |cards: Vec<&Card>| cards.iter().map(|card| card.index).collect();
        (ids(able), ids(unable))
    }
}

/// The reason why a node has no chips; it is told to who explains, and the family refuses with it.
fn absence(told: &Told, says: &str) -> NodeWithoutNpus {
    let cards = told.cards();
    assert!(cards.cards.is_empty(), "{says}");
    let why = cards.label.as_deref().unwrap_or_default();
    assert!(why.contains(says), "`{why}` does not say `{says}`");
    let absent = NodeWithoutNpus::of(&cards);
    let (text, evictions_help) = place(&pod(1, &[]), &cards).expect_err("no chips");
    assert_eq!((text.as_str(), evictions_help), (absent.text(), false));
    absent
}

#[test]
fn a_node_without_npus_stores_nothing() {
    let told = Told {
        capacity: 0,
        ..Told::default()
    };
    assert!(told.cards().is_bare());
    let off = Told {
        settings: Settings::default(),
        ..Told::default()
    };
    assert!(off.cards().is_bare());
}

#[test]
fn labels_that_are_missing_or_contradict_each_other_are_told() {
    let without = |missing: &str| {
        let mut told = Told::default();
        told.labels.retain(|(key, _)| *key != missing);
        absence(&told, &format!("label {missing} is missing"))
    };
    for label in [
        "accelerator",
        "servertype",
        "node.kubernetes.io/npu.chip.name",
    ] {
        assert_eq!(without(label), NodeWithoutNpus::Labels);
    }
    for (server, says) in [
        ("Ascend310P", "8 or 10 AI cores"),
        ("Ascend310P-x", "8 or 10 AI cores"),
        ("Ascend310P-7", "8 or 10 AI cores"),
        ("Ascend310P-10", "no multiple of 10"),
    ] {
        let mut told = Told::default();
        told.labels.retain(|(key, _)| *key != "servertype");
        told.labels.push(("servertype", server));
        assert_eq!(absence(&told, says), NodeWithoutNpus::Labels);
    }
    let mut told = Told::default();
    told.labels[0].1 = "huawei-Ascend910";
    assert_eq!(
        absence(&told, "huawei-Ascend910"),
        NodeWithoutNpus::OtherKind
    );
    told.labels[0].1 = "Ascend310P";
    assert_eq!(absence(&told, "names no kind"), NodeWithoutNpus::Labels);
}

#[test]
fn newer_names_of_labels_and_annotations_are_read_too() {
    let told = Told {
        labels: vec![
            ("accelerator", "huawei-Ascend310P"),
            ("huawei.com/npu.chip.name", "310P3"),
            ("huawei.com/npu.server.type", "Ascend310P-8"),
        ],
        ..Told::default()
    };
    assert_eq!(told.usable(), (vec![0, 1], vec![]));
}

#[test]
fn chips_that_are_not_well_are_not_given_out_and_their_pods_stay_charged() {
    let lists = [
        (LIST, "Ascend310P-0,Ascend310P-1"),
        ("huawei.com/Ascend310P-Unhealthy", "Ascend310P-1"),
        ("huawei.com/Ascend310P-NetworkUnhealthy", "Ascend310P-2"),
        ("huawei.com/Ascend310P-Recovering", "Ascend310P-3"),
        ("huawei.com/Ascend310P-Fault", "[]"),
    ];
    let mut told = Told {
        base: Some(base(5)),
        capacity: 40,
        reports: vec![report(&lists)],
        ..Told::default()
    };
    assert_eq!(told.usable(), (vec![0, 4], vec![1, 2, 3]));
    let mut cards = told.cards();
    run(&mut cards, &[("1-vir04", "", 4)], Load::Held);
    assert_eq!(free(&cards, 1), (4, 3));
    assert_eq!(placed(&pod(1, &[]), &cards), "0-vir01");
    // Only what the device plugin tells counts then.
    told.settings.mind_cluster.self_maintain_available_card = false;
    let mut cards = told.cards();
    assert_eq!(placed(&pod(8, &[]), &cards), "0");
    assert!(place(&pod(16, &[]), &cards).is_err());
    // The rest of a chip that is split, and therefore on no list, is given out.
    run(
        &mut cards,
        &[("4-vir04", "Ascend310P-4c-100-4_0", 4)],
        Load::Held,
    );
    assert_eq!(placed(&pod(1, &[]), &cards), "4-vir01");
}

#[test]
fn a_chip_that_the_annotation_does_not_have_is_not_given_out() {
    let told = Told {
        reports: vec![report(&[(LIST, "Ascend310P-1,Ascend310P-2")])],
        ..Told::default()
    };
    assert_eq!(placed(&pod(16, &[]), &told.cards()), "0,1");
    let mut cards = told.cards();
    run(
        &mut cards,
        &[("0", "Ascend310P-0", 8), ("1", "", 8)],
        Load::Held,
    );
    assert!(full(&pod(1, &[]), &cards).contains("insufficient AI cores"));
}

#[test]
fn a_vnpu_that_could_be_anywhere_opens_no_chip_that_is_not_listed() {
    let mut told = Told {
        reports: vec![report(&[(LIST, "Ascend310P-0")])],
        ..Told::default()
    };
    told.settings.mind_cluster.self_maintain_available_card = false;
    let mut cards = told.cards();
    let bare = family(&settings()).decode(&Pairs::new(), &pod(1, &[]), &cards);
    cards.charge(1, Tags::default(), Load::Held, &bare.allocations);
    assert_eq!((free(&cards, 0), free(&cards, 1)), ((7, 6), (7, 6)));
    run(&mut cards, &[("0-vir04", "", 4)], Load::Held);
    assert!(full(&pod(4, &[]), &cards).contains("insufficient AI cores"));
}

#[test]
fn without_the_annotation_with_all_chips_the_list_of_the_plugin_counts() {
    for text in [None, Some("[]".to_owned()), Some("{".to_owned())] {
        let told = Told {
            base: text,
            reports: vec![report(&[(LIST, "Ascend310P-1")])],
            ..Told::default()
        };
        let cards = told.cards();
        assert!(!cards.problems.is_empty());
        assert_eq!(placed(&pod(8, &[]), &cards), "1");
    }
}

#[test]
fn what_others_gave_to_a_pod_is_in_use() {
    let mut cards = node(2);
    let records = pairs(&[(LIST, "Ascend310P-0")]);
    let mut asks = PodFacts::default();
    let nothing = family(&settings()).decode(&records, &asks, &cards);
    assert!(nothing.allocations.is_empty() && nothing.problems.len() == 1);
    asks.containers.push(ContainerFacts {
        amounts: vec![(LIST.to_owned(), 1000)],
        ..ContainerFacts::default()
    });
    let held = family(&settings()).decode(&records, &asks, &cards);
    cards.charge(1, Tags::default(), Load::Held, &held.allocations);
    assert_eq!(placed(&pod(8, &[]), &cards), "1");
    // The same annotation of HAMi says something else.
    let records = pairs(&[(LIST, "[{\"UUID\":\"0\"}]")]);
    let held = family(&settings()).decode(&records, &asks, &cards);
    assert!(held.allocations.is_empty() && held.problems.is_empty());
}

/// What a device plugin writes, with the check code of what it has written.
fn device_info(info: &str, code: Option<&str>) -> String {
    let code = code.map_or_else(|| sha256::hex(info.as_bytes()), str::to_owned);
    format!(
        "{{\"DeviceInfo\":{info},\"CheckCode\":\"{code}\",\"SuperPodID\":-2,\"ServerIndex\":-2}}"
    )
}

const INFO: &str = "{\"DeviceList\":{\"huawei.com/Ascend310P\":\"Ascend310P-0,Ascend310P-1\",\
                    \"huawei.com/Ascend310P-Fault\":\"[{\\\"a\\\":\\\"} {\\\"}]\",\
                    \"huawei.com/Ascend310P-Unhealthy\":\"Ascend310P-1\"},\"UpdateTime\":1718702470}";

fn of_plugin(text: &str) -> Told<'static> {
    let data = pairs(&[("DeviceInfoCfg", text)]);
    let reports = split("kube-system", "mindx-dl-deviceinfo-n", &data).expect("readable");
    let pair = |report: NodeReport| (report.topic.to_owned(), report.text);
    let mut told = Told {
        reports: reports.into_iter().map(pair).collect(),
        ..Told::default()
    };
    told.settings.mind_cluster.use_cluster_info_manager = false;
    told
}

#[test]
fn reports_of_device_plugins_are_believed_with_the_right_check_code() {
    let told = of_plugin(&device_info(INFO, None));
    assert_eq!(told.usable(), (vec![0], vec![1]));
    let spaced = INFO.replace(":{", ": {\n  ").replace("},", "}, ");
    let code = sha256::hex(INFO.as_bytes());
    assert_eq!(
        of_plugin(&device_info(&spaced, Some(&code))).usable(),
        (vec![0], vec![1])
    );
    assert_eq!(
        of_plugin(&device_info(INFO, Some(""))).usable(),
        (vec![0], vec![1])
    );
    let lower = device_info(INFO, None).replace("DeviceInfo", "deviceinfo");
    assert_eq!(of_plugin(&lower).usable(), (vec![0], vec![1]));
    let wrong = of_plugin(&device_info(INFO, Some("4f00")));
    assert_eq!(absence(&wrong, "CheckCode"), NodeWithoutNpus::BadReport);
    assert!(wrong.cards().problems[0].contains("CheckCode"));
}

#[test]
fn what_is_told_of_devices_may_be_missing_or_unreadable() {
    for text in ["", "  "] {
        assert_eq!(
            absence(&of_plugin(text), "mindx-dl-deviceinfo-*"),
            NodeWithoutNpus::NoReport
        );
    }
    for text in [
        "{",
        "[]",
        "7",
        "{}",
        "{\"DeviceInfo\":{}}",
        "{\"DeviceInfo\":null}",
    ] {
        assert_eq!(
            absence(&of_plugin(text), ""),
            NodeWithoutNpus::BadReport,
            "{text}"
        );
    }
    let other_source = Told {
        settings: of_plugin("").settings,
        ..Told::default()
    };
    assert_eq!(
        absence(&other_source, "useClusterInfoManager"),
        NodeWithoutNpus::NoReport
    );
    for (info, says) in [
        (
            "{\"DeviceList\":{\"huawei.com/Ascend310P\":\"\"},\"UpdateTime\":0}",
            "UpdateTime",
        ),
        (
            "{\"DeviceList\":{},\"UpdateTime\":1}",
            "huawei.com/Ascend310P",
        ),
        ("{\"UpdateTime\":1}", "DeviceList is missing"),
    ] {
        assert_eq!(
            absence(&of_plugin(&device_info(info, None)), says),
            NodeWithoutNpus::BadReport
        );
    }
}

#[test]
fn configmaps_are_split_by_node() {
    let devices = "{\"mindx-dl-deviceinfo-n1\":{\"DeviceList\":{\"huawei.com/Ascend310P\":\
                   \"Ascend310P-0\",\"huawei.com/Ascend310P-Unhealthy\":\"\"},\
                   \"UpdateTime\":1718702470,\"SuperPodID\":-2},\"odd\":{},\
                   \"mindx-dl-deviceinfo-n2\":{}}";
    let told = |namespace: &str, name: &str, key: &str, text: &str| {
        let reports = split(namespace, name, &pairs(&[(key, text)]));
        let nodes = reports.map(|all| all.into_iter().map(|one| (one.node, one.topic)).collect());
        nodes.unwrap_or_else(|why: String| vec![(why, "")])
    };
    let name = "cluster-info-device-0";
    let topic = "cluster-info-device";
    let both = vec![("n1".to_owned(), topic), ("n2".to_owned(), topic)];
    assert_eq!(told("mindx-dl", name, name, devices), both);
    assert_eq!(told("kube-system", name, name, devices), []);
    assert_eq!(told("mindx-dl", name, "other", devices), []);
    let nodes = "{\"mindx-dl-nodeinfo-n1\":{\"NodeStatus\":\"Healthy\"}}";
    let name = "cluster-info-node-cm";
    assert_eq!(
        told("mindx-dl", name, name, nodes),
        [("n1".to_owned(), "cluster-info-node")]
    );
    assert_eq!(
        told(
            "mindx-dl",
            "cluster-info-switch-0",
            "cluster-info-switch-0",
            nodes
        ),
        []
    );
    let health = told("mindx-dl", "mindx-dl-nodeinfo-n1", "NodeInfo", "{}");
    assert_eq!(health, [("n1".to_owned(), "mindx-dl-nodeinfo")]);
    for broken in ["{", "[]"] {
        let told = told("mindx-dl", name, name, broken);
        assert!(told[0].0.starts_with("it is no"), "{told:?}");
    }
}

#[test]
fn nodes_that_noded_takes_out_of_service_are_not_used() {
    let with = |text: &str| {
        let mut told = Told::default();
        let report = ("cluster-info-node".to_owned(), text.to_owned());
        told.reports.push(report);
        told
    };
    for status in ["UnHealthy", "PreSeparate"] {
        let told = with(&format!(
            "{{\"FaultDevList\":[],\"NodeStatus\":\"{status}\"}}"
        ));
        assert_eq!(absence(&told, status), NodeWithoutNpus::OutOfService);
    }
    for text in [
        "{\"NodeStatus\":\"Healthy\"}",
        "{\"NodeStatus\":\"SubHealthy\"}",
        "{}",
        "{",
    ] {
        assert_eq!(with(text).usable(), (vec![0, 1], vec![]), "{text}");
    }
}

#[test]
fn gauges_tell_what_is_in_use_of_each_chip_and_by_which_pod() {
    let held = [
        ("0-vir02", "Ascend310P-2c-100-0_0", 2),
        ("0-vir04_3c", "Ascend310P-4c.3cpu-101-0_1", 4),
    ];
    let gauges = family(&settings()).gauges(&busy(2, &held));
    let of = |chip: &str| -> Vec<(&str, Option<u32>, i64)> {
        let of_chip = gauges.iter().filter(|gauge| *gauge.card == *chip);
        let short = |name: &'static str| name.trim_start_matches("volcano_ascend_npu_");
        of_chip
            .map(|gauge| (short(gauge.name), gauge.pod, gauge.value as i64))
            .collect()
    };
    let of_pod = "core_allocation_for_a_certain_pod";
    assert_eq!(
        of("0"),
        [
            ("allocated_cores", None, 6),
            ("cores_limit", None, 8),
            ("allocated_ai_cpus", None, 5),
            ("vnpus", None, 2),
            (of_pod, Some(1000), 2),
            (of_pod, Some(1001), 4),
        ]
    );
    let idle: Vec<i64> = of("1").iter().map(|(_, _, value)| *value).collect();
    assert_eq!(idle, [0, 8, 0, 0]);
}

#[test]
fn only_what_a_device_plugin_writes_itself_is_repeated() {
    let spec = crate::families::repeated("mindx-dl-deviceinfo").expect("every five minutes");
    let at = |text: &str| (spec.written_at_s)(text);
    assert_eq!(at(&device_info(INFO, None)), Some(1_718_702_470));
    for text in ["", "{}", "{\"DeviceInfo\":{\"UpdateTime\":0}}"] {
        assert_eq!(at(text), None, "{text}");
    }
    for topic in [
        "cluster-info-device",
        "cluster-info-node",
        "mindx-dl-nodeinfo",
    ] {
        assert!(crate::families::repeated(topic).is_none(), "{topic}");
    }
}
