//! What the tests of this folder share: engines of a configuration, fed with objects.

mod claims;
mod storage;

use pumice_conf::{Config, parse};
use pumice_devices::AnnotationValue;
use pumice_engine::Engine;
use pumice_framework::Bind;
use pumice_model::Delta;
use pumice_model::object::{Pairs, QueueObject};

pub use claims::Claims;
pub use storage::Storage;

/// Queue of jobs that name none.
pub const DEFAULT_QUEUE: &str = "default";

/// The checked form of a generated configuration.
pub fn config(text: &str) -> Config {
    let outcome = parse(text, &pumice_engine::REGISTRY);
    outcome.config.expect("generated configurations are valid")
}

/// Annotations of a decision that tell what devices the pod is given, without times.
pub fn devices(bind: &Bind) -> Pairs {
    let written = bind.devices.iter().flat_map(|written| &written.annotations);
    let texts = written.filter_map(|annotation| match &annotation.value {
        AnnotationValue::Text(text) if tells_devices(&annotation.key) => {
            Some((annotation.key.to_string(), text.clone()))
        }
        _ => None,
    });
    let mut texts: Pairs = texts.collect();
    texts.sort();
    texts
}

fn tells_devices(key: &str) -> bool {
    key.ends_with("-devices-to-allocate") || key.starts_with("huawei.com/") || tells_later(key)
}

/// A pod is known by it to hold what it holds.
fn tells_later(key: &str) -> bool {
    const WHOLE_KEYS: [&str; 4] = [
        "volcano.sh/vgpu-ids-new",
        "huawei.com/npu-core",
        "hami.io/vgpu-mig-allocations",
        "hami.io/kunlun-allocated",
    ];
    WHOLE_KEYS.contains(&key) || key.ends_with("-devices-allocated")
}

/// Annotations by which a bound pod tells what devices it holds.
pub fn records(bind: &Bind) -> Pairs {
    let mut records = devices(bind);
    records.retain(|(key, _)| tells_later(key));
    records
}

/// Seeds of a test: `PUMICE_SEEDS=from..to` asks for others than the usual ones.
pub fn seeds(from: u64, to: u64) -> std::ops::Range<u64> {
    let text = std::env::var("PUMICE_SEEDS").ok();
    let asked = text.as_deref().and_then(|text| {
        let (from, to) = text.split_once("..")?;
        Some(from.parse().ok()?..to.parse().ok()?)
    });
    asked.unwrap_or(from..to)
}

/// An engine that knows the objects, and the queues that always exist.
pub fn engine(config: &Config, objects: &[Delta]) -> Engine {
    let mut engine = Engine::new(config, DEFAULT_QUEUE);
    for delta in objects {
        engine.apply(delta.clone());
    }
    for name in [DEFAULT_QUEUE, "root"] {
        if engine.state().population().queue_by_name(name).is_none() {
            let queue = QueueObject {
                name: name.to_owned(),
                weight: 1,
                reclaimable: true,
                ..QueueObject::default()
            };
            engine.apply(Delta::QueueApply(Box::new(queue)));
        }
    }
    engine
}
