//! Tests of the family. Amounts of containers are written `n` (cards), `m` (memory), `c` (cores)
//! and `p` (percentage).

mod choices;
mod examples;
mod fuzz;
mod holdings;
mod laws;
mod naive;
mod nodes;
mod requests;

use crate::binding::{AnnotationValue, BindingAnnotations};
use crate::config::DeviceConfig;
use crate::facts::{ContainerFacts, ContainerKind, NodeFacts, PodFacts};
use crate::family::Family;
use crate::ledger::{Allocations, LedgerTime, Load, NodeCards, Tags};
use crate::nvidia::config::{Group, Instance, ModelGeometry, NvidiaConfig};
use crate::nvidia::vgpu::SPEC;
use crate::request::{Failure, FamilyRequest};
use crate::settings::{Policy, Settings};

pub use crate::fixture::{pod_of, request};

/// Plugin on, family on.
pub fn settings(policy: Policy) -> Settings {
    Settings {
        configured: true,
        vgpu: true,
        policy,
        weight: 10,
        ..Settings::default()
    }
}

fn group(name: &str, instances: &[(&str, i64, u16)]) -> Group {
    let instance = |(name, memory_mib, count): &(&str, i64, u16)| Instance {
        name: (*name).to_owned(),
        memory_mib: *memory_mib,
        count: *count,
    };
    Group {
        name: name.to_owned(),
        instances: instances.iter().map(instance).collect(),
    }
}

/// The shipped tables (spec/04 §4.3).
pub fn config() -> NvidiaConfig {
    let model = |models: &[&str], groups: Vec<Group>| ModelGeometry {
        models: models.iter().map(|model| (*model).to_owned()).collect(),
        groups,
    };
    let geometries = vec![
        model(
            &["A30"],
            vec![
                group("group1", &[("1g.6gb", 6144, 4)]),
                group("group2", &[("2g.12gb", 12288, 2)]),
                group("group3", &[("4g.24gb", 24576, 1)]),
            ],
        ),
        model(
            &["A100-SXM4-40GB", "A100-40GB-PCIe", "A100-PCIE-40GB"],
            vec![
                group("group1", &[("1g.5gb", 5120, 7)]),
                group("group2", &[("2g.10gb", 10240, 3), ("1g.5gb", 5120, 1)]),
                group("group3", &[("3g.20gb", 20480, 2)]),
                group("group4", &[("7g.40gb", 40960, 1)]),
            ],
        ),
        model(
            &["A100-SXM4-80GB", "A100-80GB-PCIe", "A100-PCIE-80GB"],
            vec![
                group("group1", &[("1g.10gb", 9728, 7)]),
                group("group2", &[("2g.20gb", 19968, 3), ("1g.10gb", 9728, 1)]),
                group("group3", &[("3g.40gb", 40192, 2)]),
                group("group4", &[("7g.80gb", 80896, 1)]),
            ],
        ),
    ];
    NvidiaConfig {
        geometries,
        ..NvidiaConfig::default()
    }
}

/// The family, so configured.
pub fn with(settings: &Settings, config: NvidiaConfig) -> Box<dyn Family> {
    (SPEC.make)(settings, &DeviceConfig::with(config))
}

/// The family with the shipped tables.
pub fn family(policy: Policy) -> Box<dyn Family> {
    with(&settings(policy), config())
}

/// The cards of a node that registers this.
pub fn cards_of(family: &dyn Family, register: &str, unhealthy: Option<&str>) -> NodeCards {
    let mut annotations = vec![(
        "volcano.sh/node-vgpu-register".to_owned(),
        register.to_owned(),
    )];
    annotations
        .extend(unhealthy.map(|list| ("volcano.sh/gpu-unhealthy-ids".to_owned(), list.to_owned())));
    let allocatable = [("volcano.sh/vgpu-number".to_owned(), 20_000)];
    family.cards(&NodeFacts {
        name: "n1",
        labels: &[],
        annotations: &annotations,
        allocatable: &allocatable,
        capacity: &[],
        reports: &[],
    })
}

/// Resource and whole amount.
pub type Limit = (char, i64);

/// A container of this kind with these limits.
pub fn container(kind: ContainerKind, limits: &[Limit]) -> ContainerFacts {
    let name = |letter: char| match letter {
        'n' => "volcano.sh/vgpu-number",
        'm' => "volcano.sh/vgpu-memory",
        'c' => "volcano.sh/vgpu-cores",
        'p' => "volcano.sh/vgpu-memory-percentage",
        other => panic!("no resource {other}"),
    };
    let limits = limits.iter();
    let limits: Vec<_> = limits
        .map(|(letter, amount)| (name(*letter), *amount))
        .collect();
    crate::fixture::container(kind, &limits)
}

/// A pod of regular containers.
pub fn pod(containers: &[&[Limit]], annotations: &[(&str, &str)]) -> PodFacts {
    let regular = |limits: &&[Limit]| container(ContainerKind::Regular, limits);
    pod_of(containers.iter().map(regular).collect(), annotations)
}

/// A pod that asks what an allocation says, each device in a container of its own.
pub fn asking(ids: &str) -> PodFacts {
    let devices = ids.split([':', ';']).filter(|piece| !piece.is_empty());
    let container = |piece: &str| {
        let mut amounts = piece.split(',').skip(2).map(|text| text.parse::<i64>());
        let mut next = || amounts.next().and_then(Result::ok).unwrap_or(0);
        let (memory, cores) = (next(), next());
        container(
            ContainerKind::Regular,
            &[('n', 1), ('m', memory), ('c', cores)],
        )
    };
    pod_of(devices.map(container).collect(), &[])
}

/// Puts a pod with this allocation on the node.
pub fn occupy(family: &dyn Family, cards: &mut NodeCards, number: u32, ids: &str, tags: Tags) {
    let records = vec![("volcano.sh/vgpu-ids-new".to_owned(), ids.to_owned())];
    let held = family.decode(&records, &asking(ids), cards);
    assert_eq!(held.problems, Vec::<String>::new());
    cards.charge(number, tags, Load::Held, &held.allocations);
}

/// The value of a mark.
pub fn mark<'a>(marks: &'a BindingAnnotations, key: &str) -> &'a AnnotationValue {
    let found = marks.annotations.iter().find(|mark| mark.key == key);
    &found.expect("the mark is there").value
}

/// The allocation that is written for these picks.
pub fn ids(request: &dyn FamilyRequest, cards: &NodeCards, allocations: &Allocations) -> String {
    match mark(
        &request.annotations("n1", cards, allocations),
        "volcano.sh/vgpu-ids-new",
    ) {
        AnnotationValue::Text(text) => text.clone(),
        other => panic!("no text: {other:?}"),
    }
}

/// The allocation and the score, or why there is none.
pub fn place(request: &dyn FamilyRequest, cards: &NodeCards) -> Result<(String, f64), Failure> {
    let allocations = request.choose(cards, LedgerTime::Now);
    match request.fit(cards, LedgerTime::Now) {
        Ok(score) => {
            let allocations = allocations.expect("what fits has cards");
            Ok((ids(request, cards, &allocations), score))
        }
        Err(at) => {
            assert_eq!(allocations, None, "what does not fit has no cards");
            Err(request.failures()[usize::from(at)].clone())
        }
    }
}
