//! One card under two registrations is one card (spec/04 R33).

use super::{pod, settings};
use crate::config::DeviceConfig;
use crate::facts::NodeFacts;
use crate::families::Devices;
use crate::ledger::{LedgerTime, Load, Tags};
use crate::node::NodeDevices;
use crate::settings::{Policy, Settings};

/// A node whose card is registered by Volcano's plugin and by HAMi's.
fn node(devices: &Devices) -> NodeDevices {
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let annotations = [
        pair(
            "hami.io/node-nvidia-register",
            "GPU-a,10,16384,100,NVIDIA-T4,0,true:",
        ),
        pair(
            "volcano.sh/node-vgpu-register",
            "GPU-a,10,16384,NVIDIA-T4,true,hami-core:",
        ),
    ];
    let amounts = [
        ("nvidia.com/gpu".to_owned(), 10_000),
        ("volcano.sh/vgpu-number".to_owned(), 10_000),
    ];
    devices.cards(&NodeFacts {
        name: "n1",
        labels: &[],
        annotations: &annotations,
        allocatable: &amounts,
        capacity: &amounts,
        reports: &[],
    })
}

#[test]
fn what_one_kind_takes_the_other_sees_and_gets_back() {
    let settings = Settings {
        vgpu: true,
        ..settings(Policy::None)
    };
    let devices = Devices::new(settings, DeviceConfig::default());
    let mut node = node(&devices);
    let idle = node.clone();
    let problems: Vec<_> = node
        .families()
        .flat_map(|(_, cards)| &cards.problems)
        .collect();
    assert!(
        problems.len() == 1 && problems[0].contains("two device plugins"),
        "{problems:?}"
    );
    let ask = |count: &str, memory: &str, mib: i64| {
        devices.demand(&pod(&[&[(count, 1), (memory, mib)]], &[]), Tags::default())
    };
    let (hami, volcano) = ("nvidia.com/gpumem", "volcano.sh/vgpu-memory");
    let by_hami = ask("nvidia.com/gpu", hami, 10_000);
    let by_volcano = ask("volcano.sh/vgpu-number", volcano, 10_000);
    assert_eq!((by_hami.parts.len(), by_volcano.parts.len()), (1, 1));
    for (first, second) in [(&by_hami, &by_volcano), (&by_volcano, &by_hami)] {
        for load in [Load::Held, Load::Pipelined, Load::Releasing] {
            let mut parts = first.choose(&node, LedgerTime::Now).expect("fits");
            for (family, allocations) in &mut parts {
                node.charge(*family, 7, Tags::default(), load, allocations);
            }
            let (now, future) = match load {
                Load::Held => (false, false),
                Load::Releasing => (false, true),
                Load::Pipelined => (true, false),
            };
            assert_eq!(second.fit(&node, LedgerTime::Now).is_ok(), now, "{load:?}");
            assert_eq!(
                second.fit(&node, LedgerTime::Future).is_ok(),
                future,
                "{load:?}"
            );
            for (family, allocations) in &parts {
                node.discharge(*family, 7, load, allocations);
            }
            assert_eq!(node, idle);
        }
    }
    let small = ask("nvidia.com/gpu", hami, 6384);
    assert!(by_volcano.fit(&node, LedgerTime::Now).is_ok());
    let mut parts = by_volcano.choose(&node, LedgerTime::Now).expect("fits");
    for (family, allocations) in &mut parts {
        node.charge(*family, 7, Tags::default(), Load::Held, allocations);
    }
    assert!(
        small.fit(&node, LedgerTime::Now).is_ok(),
        "the rest is there"
    );
}
