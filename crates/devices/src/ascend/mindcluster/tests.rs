//! Tests of the family.

mod bad_input;
mod examples;
mod laws;
mod nodes;
mod sets;
mod table;

use super::*;
use crate::binding::{AnnotationValue, Sent, Sequences};
use crate::facts::{ContainerFacts, ContainerKind};
use crate::fixture::laws::assert_pieces;
use crate::ledger::{Allocations, LedgerTime, Load};

/// A pod on the node: `huawei.com/npu-core`, `huawei.com/AscendReal`, AI cores.
type Running<'a> = (&'a str, &'a str, i64);

fn settings() -> Settings {
    let mut settings = Settings {
        configured: true,
        weight: 10,
        ..Settings::default()
    };
    settings.mind_cluster.enabled = true;
    settings
}

fn family(settings: &Settings) -> Box<dyn Family> {
    (SPEC.make)(settings, &DeviceConfig::default())
}

fn pairs(pairs: &[(&str, &str)]) -> Pairs {
    let own = |(key, value): &(&str, &str)| (key.to_string(), value.to_string());
    let mut pairs: Pairs = pairs.iter().map(own).collect();
    pairs.sort();
    pairs
}

fn container(kind: ContainerKind, cores: i64) -> ContainerFacts {
    ContainerFacts {
        kind,
        amounts: vec![(CORES.to_owned(), cores * 1000)],
    }
}

/// A pod with one container, the label of its kind of NPU, and these.
fn pod(cores: i64, labels: &[(&str, &str)]) -> PodFacts {
    let mut all = vec![(RING, KIND)];
    all.extend(labels);
    PodFacts {
        containers: vec![container(ContainerKind::Regular, cores)],
        labels: pairs(&all),
        ..PodFacts::default()
    }
}

fn vnpu(cores: i64, dvpp: &str, level: &str) -> PodFacts {
    pod(cores, &[(DVPP, dvpp), (LEVEL, level)])
}

/// What ClusterD tells of a node with these lists.
fn report(lists: &[(&str, &str)]) -> (String, String) {
    let list: Vec<String> = lists
        .iter()
        .map(|(key, list)| format!("{key:?}:{list:?}"))
        .collect();
    let list = list.join(",");
    let text = format!("{{\"DeviceList\":{{{list}}},\"UpdateTime\":1718702470,\"SuperPodID\":-2}}");
    ("cluster-info-device".to_owned(), text)
}

fn chips(count: u32) -> String {
    let names: Vec<String> = (0..count).map(|id| format!("Ascend310P-{id}")).collect();
    names.join(",")
}

fn base(count: u32) -> String {
    let chip = |id| format!("\"Ascend310P-{id}\":{{\"IP\":\"\",\"SuperDeviceID\":0}}");
    let chips: Vec<String> = (0..count).map(chip).collect();
    format!("{{{}}}", chips.join(","))
}

const LABELS: [(&str, &str); 2] = [
    ("accelerator", "huawei-Ascend310P"),
    ("node.kubernetes.io/npu.chip.name", "310P3"),
];

/// A node that is as it should be.
fn node_of(family: &dyn Family, server: &str, capacity: i64, count: u32) -> NodeCards {
    let mut labels = LABELS.to_vec();
    labels.push(("servertype", server));
    family.cards(&NodeFacts {
        name: "n",
        labels: &pairs(&labels),
        annotations: &pairs(&[("baseDeviceInfos", &base(count))]),
        allocatable: &[],
        capacity: &[(CORES.to_owned(), capacity * 1000)],
        reports: &[report(&[(LIST, &chips(count))])],
    })
}

/// The node of the examples, with so many chips.
fn node(count: u32) -> NodeCards {
    let cards = node_of(
        &*family(&settings()),
        "Ascend310P-8",
        i64::from(count) * 8,
        count,
    );
    assert_eq!(cards.problems, Vec::<String>::new());
    cards
}

/// Puts pods on a node.
fn run(cards: &mut NodeCards, pods: &[Running], load: Load) {
    let family = family(&settings());
    for (value, real, cores) in pods {
        let records = pairs(&[(CORES, value), (REAL, real)]);
        let held = family.decode(&records, &pod(*cores, &[]), cards);
        assert_eq!(held.problems, Vec::<String>::new());
        let number = 1000 + cards.entries(LedgerTime::Now).count() as u32;
        cards.charge(number, Tags::default(), load, &held.allocations);
    }
}

fn busy(count: u32, pods: &[Running]) -> NodeCards {
    let mut cards = node(count);
    run(&mut cards, pods, Load::Held);
    cards
}

fn request_of(settings: &Settings, pod: &PodFacts, tags: Tags) -> Arc<dyn FamilyRequest> {
    let request = family(settings).request(pod, tags).expect("it asks");
    request.unwrap_or_else(|refusal| panic!("refused: {refusal}"))
}

fn request(pod: &PodFacts) -> Arc<dyn FamilyRequest> {
    request_of(&settings(), pod, Tags::default())
}

fn refusal(pod: &PodFacts) -> String {
    let request = family(&settings()).request(pod, Tags::default());
    request.expect("it asks").err().expect("a refusal")
}

/// The value of the annotation that names chips and template.
fn written(request: &dyn FamilyRequest, cards: &NodeCards, chosen: &Allocations) -> String {
    let written = request.annotations("n", cards, chosen);
    let [first, second] = &written.annotations[..] else {
        panic!("two annotations, not {:?}", written.annotations);
    };
    assert_eq!((&*first.key, &*second.key), (CORES, TIME));
    assert_eq!(second.value, AnnotationValue::NanoSequence);
    match &first.value {
        AnnotationValue::Text(text) => text.clone(),
        other => panic!("{other:?}"),
    }
}

/// What a pod gets on a node now: the annotation, or why nothing and whether evictions help.
fn place(pod: &PodFacts, cards: &NodeCards) -> Result<String, (String, bool)> {
    let request = request(pod);
    assert_pieces(&*request, cards, LedgerTime::Now);
    let chosen = request.choose(cards, LedgerTime::Now);
    match request.fit(cards, LedgerTime::Now) {
        Ok(_) => Ok(written(
            &*request,
            cards,
            &chosen.expect("what fits is chosen"),
        )),
        Err(failure) => {
            assert_eq!(chosen, None, "what does not fit is not chosen");
            let near = request
                .explain("n", cards, LedgerTime::Now)
                .expect("a miss");
            assert!(near.text.starts_with("n: "), "{}", near.text);
            let failure = &request.failures()[usize::from(failure)];
            Err((failure.text.clone(), failure.evictions_help))
        }
    }
}

fn placed(pod: &PodFacts, cards: &NodeCards) -> String {
    place(pod, cards).unwrap_or_else(|why| panic!("{why:?}"))
}

/// The reason of a node on which evictions could help.
fn full(pod: &PodFacts, cards: &NodeCards) -> String {
    match place(pod, cards) {
        Err((why, true)) => why,
        other => panic!("{other:?}"),
    }
}

/// Takes what a pod gets.
fn take(pod: &PodFacts, cards: &mut NodeCards, number: u32, tags: Tags) -> String {
    let request = request_of(&settings(), pod, tags);
    let chosen = request.choose(cards, LedgerTime::Now).expect("it fits");
    let value = written(&*request, cards, &chosen);
    cards.charge(number, tags, Load::Held, &chosen);
    value
}

/// Free AI cores and AI CPUs of a chip.
fn free(cards: &NodeCards, at: usize) -> (i64, i64) {
    let (all, used) = (cards.capacity(at), cards.used(at, LedgerTime::Now));
    (all[0] - used[0], all[1] - used[1])
}
