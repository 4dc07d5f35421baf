//! Shared GCUs of Enflame: nodes that have some, and what containers ask of them.

use pumice_model::object::ContainerFacts;

use super::amount;
use super::rng::Rng;

pub const SIZE: &str = "enflame.com/drs-gcu";
pub const MEMORY: &str = "enflame.com/gcu-memory";
pub const CORE: &str = "enflame.com/gcu-core";

/// What a node tells of so many cards; most have as many slices as the largest profile, of six.
pub fn cards(rng: &mut Rng, count: i64) -> (String, String) {
    let devices: Vec<String> = (0..count)
        .map(|at| {
            let capacity = rng.pick(&[6, 6, 6, 4]);
            format!(r#"{{"index":"{at}","minor":"{at}","capacity":{capacity}}}"#)
        })
        .collect();
    let profiles = r#"{"1g.6gb":"0","2g.10gb":"1","2g.16gb":"4","3g.20gb":"2","6g.40gb":"3"}"#;
    let text = format!(
        r#"{{"devices":[{}],"profiles":{profiles}}}"#,
        devices.join(",")
    );
    ("enflame.com/gcu-drs-capacity".to_owned(), text)
}

/// What one container asks; sometimes what no card has, or what cannot be.
pub fn amounts(rng: &mut Rng) -> Vec<(&'static str, i64)> {
    let size = (SIZE, rng.pick(&[1, 1, 2, 3, 3, 6, 4]));
    let memory = (MEMORY, rng.pick(&[6, 10, 12, 20, 30, 41, 6144, 16_385, 81]));
    let core = (CORE, rng.pick(&[10, 17, 18, 34, 50, 51, 100]));
    match rng.below(24) {
        0..10 => vec![size],
        10..15 => vec![memory],
        15..18 => vec![core],
        18..22 => vec![core, memory],
        22 => vec![size, core],
        _ => vec![(SIZE, 0)],
    }
}

/// Cards that a container asks.
pub fn devices(container: &ContainerFacts) -> i64 {
    let asks = |name: &&str| amount(&container.amounts, name) > 0;
    i64::from([SIZE, MEMORY, CORE].iter().any(asks))
}

/// Nodes have a profile for each container.
pub fn are_there(containers: &[ContainerFacts]) -> bool {
    let is_known = |one: &ContainerFacts| {
        amount(&one.amounts, SIZE) != 4000 && amount(&one.amounts, MEMORY) != 41_000
    };
    containers.iter().all(is_known)
}
