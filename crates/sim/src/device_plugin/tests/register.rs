//! What a plugin says of its node.

use std::collections::BTreeMap;

use super::super::register::{HANDSHAKE, NodeConfig, NodePlugin, PhysicalCard, REGISTER};
use super::super::vgpu::Generation;

fn card(uuid: &str, minor: u32) -> PhysicalCard {
    PhysicalCard {
        uuid: uuid.to_owned(),
        product: "NVIDIA A100-PCIE-40GB".to_owned(),
        memory_mib: 40960,
        minor,
        healthy: true,
    }
}

fn config(generation: Generation) -> NodeConfig {
    NodeConfig {
        generation,
        mode: "mig".to_owned(),
        ..NodeConfig::default()
    }
}

const AA: &str = "GPU-aa,10,40960,NVIDIA-NVIDIA A100-PCIE-40GB,true,mig:";
const BB: &str = "GPU-bb,10,40960,NVIDIA-NVIDIA A100-PCIE-40GB,true,mig:";

#[test]
fn cards_are_listed_with_six_fields_in_an_order_that_depends_on_the_generation() {
    let cards = vec![card("GPU-bb", 1), card("GPU-aa", 0)];
    let text = |generation| NodePlugin::new(config(generation), cards.clone()).register();
    assert_eq!(text(Generation::Latest), format!("{AA}{BB}"));
    assert_eq!(text(Generation::V1_12), format!("{BB}{AA}"));
}

#[test]
fn the_handshake_comes_with_every_report_of_older_generations() {
    let node = BTreeMap::new();
    for generation in [Generation::V1_10, Generation::V1_12] {
        let plugin = NodePlugin::new(config(generation), vec![card("GPU-aa", 0)]);
        let first = plugin.report(&node, "2026-08-21 10:00:00 +0000 UTC");
        let stamp = "Reported 2026-08-21 10:00:00 +0000 UTC".to_owned();
        assert_eq!(first.get(HANDSHAKE), Some(&stamp));
        assert_eq!(plugin.report(&first, "later").len(), 2);
    }
}

#[test]
fn the_latest_generation_writes_only_what_has_changed_and_no_handshake() {
    let mut plugin = NodePlugin::new(config(Generation::Latest), vec![card("GPU-aa", 0)]);
    let first = plugin.report(&BTreeMap::new(), "now");
    assert_eq!(
        first,
        BTreeMap::from([(REGISTER.to_owned(), AA.to_owned())])
    );
    assert!(plugin.report(&first, "now").is_empty());
    plugin.see(vec![card("GPU-aa", 0), card("GPU-bb", 1)]);
    assert_eq!(plugin.report(&first, "now")[REGISTER], format!("{AA}{BB}"));
}

#[test]
fn a_broken_card_is_told_lowers_what_can_be_had_and_recovers_with_a_restart_only() {
    let whole = vec![card("GPU-aa", 0), card("GPU-bb", 1)];
    let mut plugin = NodePlugin::new(config(Generation::Latest), whole.clone());
    let mut broken = whole.clone();
    broken[1].healthy = false;
    plugin.see(broken);
    plugin.see(whole);
    assert!(
        plugin.register().ends_with(",false,mig:"),
        "{}",
        plugin.register()
    );
    let number = |amounts: BTreeMap<&'static str, u64>| amounts["volcano.sh/vgpu-number"];
    assert_eq!(
        (number(plugin.capacity()), number(plugin.allocatable())),
        (20, 10)
    );
    plugin.restart();
    assert_eq!(plugin.register(), format!("{AA}{BB}"));
    assert_eq!(number(plugin.allocatable()), 20);
}

#[test]
fn amounts_follow_slots_factor_scaling_and_filter() {
    let cards = vec![card("GPU-aa", 0), card("GPU-bb", 1), card("GPU-cc", 2)];
    let config = NodeConfig {
        slots: 4,
        memory_factor: 1000,
        core_scaling_percent: 150,
        filtered: vec!["GPU-cc".to_owned()],
        ..NodeConfig::default()
    };
    let plugin = NodePlugin::new(config, cards);
    let amounts = [
        ("volcano.sh/vgpu-number", 8),
        ("volcano.sh/vgpu-memory", 80),
        ("volcano.sh/vgpu-cores", 300),
    ];
    assert_eq!(plugin.allocatable(), BTreeMap::from(amounts));
    assert!(plugin.allocatable_while_stopped().values().all(|n| *n == 0));
    let text = plugin.register();
    assert!(text.starts_with("GPU-aa,4,40,NVIDIA-NVIDIA A100"), "{text}");
    assert!(!text.contains("GPU-cc"), "{text}");
}
