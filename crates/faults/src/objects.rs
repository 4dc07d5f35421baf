//! Small objects to build clusters of.

use pumice_claims::DraDevice;
use pumice_devices::{ContainerFacts, PodFacts};
use pumice_model::object::{
    GroupObject, NodeAccess, NodeObject, PodObject, PublishedDevice, QueueObject, SliceObject,
};

use super::oracle::{CARD_MEMORY, CARDS};

/// A node with so many milli-cores and cards of 8,000 MiB each.
pub fn node(name: &str, cpu_milli: i64, cards: i64) -> NodeObject {
    let mut allocatable = vec![
        ("cpu".to_owned(), cpu_milli),
        ("memory".to_owned(), 64 << 30),
        ("pods".to_owned(), 20),
    ];
    let mut device_capacity = Vec::new();
    if cards > 0 {
        device_capacity = vec![
            (CARD_MEMORY.to_owned(), cards * 8_000_000),
            (CARDS.to_owned(), cards * 1000),
        ];
        allocatable.extend(device_capacity.iter().cloned());
    }
    allocatable.sort();
    NodeObject {
        name: name.to_owned(),
        allocatable,
        device_capacity,
        ..NodeObject::default()
    }
}

/// A queue with a capability in milli-cores; 0: none.
pub fn queue(name: &str, cpu_milli: i64) -> QueueObject {
    let capability = (cpu_milli > 0).then(|| ("cpu".to_owned(), cpu_milli));
    QueueObject {
        name: name.to_owned(),
        weight: 1,
        reclaimable: true,
        capability: capability.into_iter().collect(),
        ..QueueObject::default()
    }
}

/// PodGroup `ns/name` of that queue.
pub fn group(name: &str, min_member: i32, queue: &str) -> GroupObject {
    GroupObject {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        uid: format!("group-{name}"),
        queue: queue.to_owned(),
        min_member,
        ..GroupObject::default()
    }
}

/// A pod of ours that asks so many milli-cores, and MiB on a card.
pub fn pod(name: &str, group: Option<&str>, cpu_milli: i64, card_mib: i64) -> PodObject {
    let mut request = vec![
        ("cpu".to_owned(), cpu_milli),
        ("memory".to_owned(), 1 << 30),
        ("pods".to_owned(), 1),
    ];
    let mut facts = PodFacts::default();
    if card_mib > 0 {
        let amounts = vec![(CARD_MEMORY.to_owned(), card_mib * 1000)];
        request.extend(amounts.iter().cloned());
        request.sort();
        facts.containers = vec![ContainerFacts {
            amounts,
            ..ContainerFacts::default()
        }];
    }
    PodObject {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        ours: true,
        group: group.map(str::to_owned),
        owners: vec![("Job".to_owned(), group.unwrap_or(name).to_owned())],
        controlled: true,
        request,
        nonzero_cpu_milli: cpu_milli,
        nonzero_memory_bytes: 1 << 30,
        container_count: 1,
        facts,
        ..PodObject::default()
    }
}

/// So many devices of a node.
pub fn slice(node: &str, devices: usize) -> SliceObject {
    let device = |at| PublishedDevice {
        device: DraDevice {
            name: format!("gpu-{at}"),
            ..DraDevice::default()
        },
        access: NodeAccess::Nowhere,
    };
    SliceObject {
        name: format!("{node}-slice"),
        driver: "gpu.example.com".to_owned(),
        pool: node.to_owned(),
        generation: 1,
        slice_count: 1,
        access: NodeAccess::Node(node.to_owned()),
        devices: (0..devices).map(device).collect(),
        counters: Vec::new(),
    }
}
