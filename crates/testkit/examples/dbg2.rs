#![allow(missing_docs)]
use pumice_model::Delta;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let seed: u64 = a[1].parse().unwrap();
    let objs = pumice_testkit::generate::cluster(seed);
    for d in &objs {
        if let Delta::DeviceConfig { text: Some(t), .. } = d {
            println!("{:?}", pumice_devices::geometry::DeviceConfig::parse(t));
        }
    }
    let text = pumice_testkit::generate::conf_text(seed);
    let config = pumice_conf::parse(&text, &pumice_plugins::REGISTRY)
        .config
        .unwrap();
    let mut e = pumice_engine::Engine::new(&config, "default");
    for d in objs {
        e.apply(d);
    }
    e.stand_by();
    for n in e.take_device_notes() {
        println!("{n:?}");
    }
    for node in e.state().nodes.indices() {
        println!(
            "{} {:?}",
            e.state().nodes.object(node).name,
            e.state().nodes.devices[node.at()]
                .families()
                .collect::<Vec<_>>()
        );
    }
}
