//! What nodes and the device configuration say.

use super::{NodeLine, family, h1, occupy, pod, request};
use crate::config::DeviceConfig;
use crate::facts::NodeFacts;
use crate::families;
use crate::hami::ascend::chips::VnpuConfig;
use crate::hami::variant::{CardMode, CardVariant};
use crate::ledger::{LedgerTime, Load, NodeCards, Tags};
use crate::settings::Policy;

/// The example of spec/05 §3.2: the second chip is unhealthy.
const REGISTER: &str = r#"[{"id":"68496E64-20E05477-92C31323-6E78030A-BD003019","count":7,
    "devmem":21527,"devcore":8,"type":"Ascend310P","health":true,"devicevendor":"Ascend"},
    {"id":"68496E64-1A","index":1,"count":7,"devmem":21527,"devcore":8,"type":"Ascend310P"}]"#;

fn cards(register: &str, allocatable: i64, others: &[(&str, &str)]) -> NodeCards {
    let key = ("hami.io/node-register-Ascend310P", register);
    let all = others.iter().chain([&key]);
    let annotations: Vec<_> = all
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect();
    family(Policy::None).cards(&NodeFacts {
        reports: &[],
        name: "H1",
        labels: &[],
        annotations: &annotations,
        allocatable: &[("huawei.com/Ascend310P".to_owned(), allocatable)],
        capacity: &[],
    })
}

#[test]
fn chips_are_read_as_the_plugin_writes_them() {
    let found = cards(REGISTER, 7000, &[]);
    assert_eq!(found.problems, Vec::<String>::new());
    let healthy: Vec<bool> = found.cards.iter().map(|card| card.is_usable()).collect();
    assert_eq!(healthy, [true, false]);
    assert_eq!(found.cards[1].index, 1);
    assert_eq!(found.capacity(0)[..2], [21_527, 7]);
    let soft = |others: &[(&str, &str)]| {
        let card = &cards(REGISTER, 7000, others).cards[0];
        CardVariant::of(card).mode == CardMode::HamiCore
    };
    assert!(!soft(&[]) && !soft(&[("hami-vnpu-core", "false")]));
    assert!(soft(&[("hami-vnpu-core", "true")]));
}

#[test]
fn what_is_wrong_with_a_node_is_told_and_nothing_else_is_hurt() {
    for (register, left, says) in [
        ("", 0, "is no JSON"),
        ("{}", 0, "is no JSON array"),
        ("null", 0, ""),
        (r#"[{"id":"U0"}]"#, 0, "it has no type"),
        (
            r#"[{"id":"U0","type":"Ascend910A"}]"#,
            0,
            "is not Ascend310P",
        ),
        (
            r#"[{"id":"U:0","type":"Ascend310P","count":1,"devmem":1}]"#,
            0,
            "no id has",
        ),
        (
            r#"[7, {"id":"U0","type":"Ascend310P","count":1,"devmem":9}]"#,
            1,
            "it has no id",
        ),
        (
            r#"[{"id":"U0","type":"Ascend310P","count":0,"devmem":9}]"#,
            0,
            "count is no number",
        ),
        (
            r#"[{"id":"U0","type":"Ascend310P","count":1,"devmem":-9}]"#,
            0,
            "devmem is no number",
        ),
        (
            r#"[{"id":"U0","type":"Ascend310P","count":1,"devmem":9},
                {"id":"U0","type":"Ascend310P","count":1,"devmem":9}]"#,
            1,
            "is listed twice: counts once",
        ),
    ] {
        let found = cards(register, 7000, &[]);
        assert_eq!(found.cards.len(), left, "{register}");
        let told = found.problems.join("; ");
        assert!(told.contains(says), "{register}: {told}");
    }
    let twice = r#"[{"id":"U0","type":"Ascend310P","count":1,"devmem":9,"health":true},
        {"id":"U0","type":"Ascend310P","count":1,"devmem":8,"health":true}]"#;
    let found = cards(twice, 7000, &[]);
    assert!(found.cards.len() == 1 && !found.cards[0].is_usable());
    let told = found.problems.join("; ");
    let says = "chip U0 is listed twice: nobody gets it, as what is told of it differs";
    assert!(told.contains(says), "{told}");
    let none = cards(REGISTER, 0, &[]);
    assert!(none.cards.is_empty() && none.problems[0].contains("allocatable"));
}

#[test]
fn annotations_of_any_type_are_kept() {
    assert!(families::reads_of_node(
        "hami.io/node-register-Ascend910B4-1"
    ));
    assert!(families::reads_of_node("hami-vnpu-core"));
    assert!(!families::reads_of_node(
        "hami.io/node-handshake-Ascend310P"
    ));
    assert!(families::records("hami.io/Ascend310P-devices-allocated"));
    assert!(!families::records("hami.io/Ascend310P-devices-to-allocate"));
    assert!(families::asks("hami.io/no-use-Ascend310P-uuid"));
    assert!(families::follows("hami.io/bind-phase"));
}

const CONFIG: &str = "
vnpus:
  hamiVnpuCore: true
  configs:
  - {chipName: X, commonWord: AscendX, resourceName: huawei.com/AscendX,
     resourceMemoryName: huawei.com/AscendX-memory, resourceCoreName: huawei.com/X-percent,
     memoryAllocatable: 100, memoryCapacity: 120, aiCore: 8, memoryFactor: 1,
     templates: [{name: b, memory: 50, aiCore: 4}, {name: a, memory: 20}]}
";

#[test]
fn both_shapes_of_the_configuration_are_read() {
    let read = |text: &str| families::read_config(text).map(|read| read.section::<VnpuConfig>());
    let wrapped = read(CONFIG).expect("is valid");
    let list = CONFIG.replace("  hamiVnpuCore: true\n  configs:\n", "");
    let list = read(&list).expect("is valid");
    assert!(wrapped.hami_core && !list.hami_core);
    assert_eq!(wrapped.types, list.types);
    let chip = &list.types[0];
    assert_eq!(chip.names.cores, "huawei.com/X-percent");
    let names: Vec<&str> = chip.templates.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!((chip.ai_cores, chip.ai_cpus), (8, 0));
    // Both vendors in one text.
    let both = format!("nvidia:\n  resourceCountName: example.com/gpu\n{CONFIG}");
    assert_eq!(read(&both).expect("is valid").types, list.types);
    // A text for GPUs alone leaves the chips that are known.
    let gpus = read("nvidia: {}").expect("is valid");
    assert_eq!(*gpus, VnpuConfig::default());
    assert_eq!(
        DeviceConfig::default().section::<VnpuConfig>().types.len(),
        7
    );
}

#[test]
fn every_problem_of_the_configuration_has_its_place() {
    for (from, to, says) in [
        (
            "commonWord: AscendX",
            "commonWord: ''",
            "vnpus.configs[0].commonWord: is missing or empty",
        ),
        (
            "commonWord: AscendX",
            "commonWord: 'a b'",
            "other characters",
        ),
        (
            "memoryAllocatable: 100",
            "memoryAllocatable: 0",
            "0 cannot be used",
        ),
        (
            "memoryAllocatable: 100",
            "memoryAllocatable: 121",
            "less than memoryAllocatable",
        ),
        (
            "memory: 50",
            "memory: 500",
            "b has 500 MiB, more than the chip gives",
        ),
        ("memory: 50", "memory: 2Gi", "must be a whole number"),
        (
            "hamiVnpuCore: true",
            "hamiVnpuCore: 7",
            "neither true nor false",
        ),
        ("  configs:", "  types:", "vnpus.configs: is missing"),
        (
            "huawei.com/AscendX-memory",
            "huawei.com/AscendX",
            "belongs to a type before",
        ),
    ] {
        assert!(CONFIG.contains(from), "{from}");
        let problems = match families::read_config(&CONFIG.replace(from, to)) {
            Ok(_) => panic!("{to} is accepted"),
            Err(problems) => problems.join("\n"),
        };
        assert!(
            problems.contains(says) && problems.starts_with("line "),
            "{problems}"
        );
    }
}

#[test]
fn the_nearest_miss_tells_what_each_chip_lacks() {
    let family = family(Policy::None);
    let mut cards = h1().cards(&*family);
    occupy(&*family, &mut cards, 1, "U0,Ascend310P,12288,0:;");
    let denied = [("hami.io/no-use-Ascend310P-uuid", "U1, U7")];
    let asks = request(
        &*family,
        &pod("Ascend310P", &[&[('n', 1), ('m', 12_000)]], &denied),
    );
    let miss = asks
        .explain("H1", &cards, LedgerTime::Now)
        .expect("does not fit");
    let expected = "H1: no ascend device available: U0: 3,049 MiB short; U1: UUID not allowed";
    assert_eq!(miss.text, expected);
    assert_eq!(miss.distance, (1, 3049));
    let other = NodeLine::new("Ascend910A", 1, 15, 32_768).cards(&*family);
    let miss = asks
        .explain("H2", &other, LedgerTime::Now)
        .expect("does not fit");
    assert!(miss.text.contains("labelled ascend=on"), "{}", miss.text);
}

#[test]
fn a_chip_is_shared_by_templates_or_by_hami_core() {
    let family = family(Policy::None);
    let mut node = NodeLine::new("Ascend310P", 1, 8, 21_527);
    node.soft = true;
    let mut cards = node.cards(&*family);
    let soft = [("huawei.com/vnpu-mode", "hami-core")];
    let by = |annotations| pod("Ascend310P", &[&[('n', 1), ('m', 3000)]], annotations);
    let (soft, template) = (by(&soft), by(&[]));
    let fits = |cards: &NodeCards, pod| request(&*family, pod).fit(cards, LedgerTime::Now).is_ok();
    assert!(fits(&cards, &soft) && fits(&cards, &template));
    occupy(&*family, &mut cards, 1, "U0,Ascend310P,3072,0:;");
    assert!(!fits(&cards, &soft) && fits(&cards, &template));
    let mut cards = node.cards(&*family);
    occupy(&*family, &mut cards, 1, "U0,Ascend310P,3072,20:;");
    assert!(fits(&cards, &soft) && !fits(&cards, &template));
}

#[test]
fn gauges_sum_what_is_certain_by_chip_and_pod() {
    let family = family(Policy::None);
    let mut cards = h1().cards(&*family);
    let twice = "U0,Ascend310P,6144,0:;U0,Ascend310P,3072,0:;";
    occupy(&*family, &mut cards, 1, twice);
    occupy(&*family, &mut cards, 2, "U0,Ascend310P,3072,0:;");
    // Nobody knows which chips this pod has: it counts on all, and in no sum.
    let asks = pod("Ascend310P", &[&[('n', 1)]], &[]);
    let guess = family.decode(&Vec::new(), &asks, &cards);
    cards.charge(3, Tags::default(), Load::Held, &guess.allocations);
    let of = |chip: &str| -> Vec<(&str, Option<u32>, i64)> {
        let gauges = family.gauges(&cards).into_iter();
        let of_chip = gauges.filter(|gauge| *gauge.card == *chip);
        let short = |name: &'static str| name.trim_start_matches("volcano_hami_npu_");
        of_chip
            .map(|gauge| (short(gauge.name), gauge.pod, gauge.value as i64))
            .collect()
    };
    let of_pod = "memory_allocation_for_a_certain_pod";
    assert_eq!(
        of("U0"),
        [
            (of_pod, Some(1), 9216),
            (of_pod, Some(2), 3072),
            ("shared_number", None, 2),
            ("allocated_memory", None, 12_288),
            ("memory_limit", None, 21_527),
            ("allocated_ai_cores", None, 4),
            ("allocated_cores", None, 0),
        ]
    );
    let idle: Vec<i64> = of("U1").iter().map(|(_, _, value)| *value).collect();
    assert_eq!(idle, [0, 0, 21_527, 0, 0]);
}
