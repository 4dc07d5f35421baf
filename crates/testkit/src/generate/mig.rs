//! NVIDIA's cards in MIG mode under HAMi: registers that tell them, pods that hold instances.

use pumice_model::object::NodeObject;

use super::rng::Rng;
use crate::device_texts::mig_profiles;

/// A register of NVIDIA's cards of which some are in MIG mode.
pub fn register(rng: &mut Rng, node: &str, (cards, mib): (i64, i64)) -> String {
    let mut all = Vec::new();
    for at in 0..cards {
        let mut card = serde_json::json!({
            "id": format!("{node}-nvidia-{at}"), "index": at, "count": rng.pick(&[2, 4, 7]),
            "devmem": mib, "devcore": 100, "type": rng.pick(&["Large", "Small"]),
            "numa": rng.below(2), "health": !rng.one_in(8),
            "mode": rng.pick(&["mig", "mig", "hami-core"]),
        });
        if !rng.one_in(12) {
            card["migProfiles"] = mig_profiles()["migProfiles"].take();
        }
        all.push(card);
    }
    serde_json::Value::Array(all).to_string()
}

/// Instances of the devices of a list that are on cards in MIG mode; at times nobody knows them.
pub fn instances(rng: &mut Rng, node: &NodeObject, list: &str) -> Option<(String, String)> {
    let known = node.device_annotations.iter();
    let mut register = known.filter(|(key, _)| key == "hami.io/node-nvidia-register");
    let cards: serde_json::Value = serde_json::from_str(&register.next()?.1).ok()?;
    let mut all = Vec::new();
    for (container, element) in list.split(';').enumerate() {
        for (device, piece) in element.split(':').enumerate() {
            let id = piece.split(',').next().unwrap_or_default();
            let mut cards = cards.as_array().into_iter().flatten();
            let is_split = cards.any(|card| {
                card["id"] == id && card["mode"] == "mig" && card.get("migProfiles").is_some()
            });
            if !is_split || rng.one_in(8) {
                continue;
            }
            let (profile, start, size) = rng.pick(&[
                ("1g.4gb", 3, 1),
                ("1g.4gb", 2, 1),
                ("2g.8gb", 0, 2),
                ("4g.16gb", 0, 4),
            ]);
            all.push(serde_json::json!({
                "containerIndex": container, "deviceIndex": device, "gpuUUID": id,
                "profile": profile, "placement": { "start": start, "size": size },
            }));
        }
    }
    let key = "hami.io/vgpu-mig-allocations".to_owned();
    Some((key, serde_json::Value::Array(all).to_string()))
}

/// How well each two cards are linked, as HAMi's device plugin tells it; at times other points the other way,
/// none, or points that cannot be.
pub fn links(rng: &mut Rng, node: &str, cards: i64) -> String {
    let name = |at: i64| format!("{node}-nvidia-{at}");
    let mut rows: Vec<serde_json::Map<String, serde_json::Value>> = Vec::new();
    rows.resize_with(cards as usize, Default::default);
    for one in 0..cards {
        for other in one + 1..cards {
            let points = rng.pick(&[0, 10, 20, 70]);
            let back = match rng.one_in(12) {
                true => rng.pick(&[0, 10, -1]),
                false => points,
            };
            rows[one as usize].insert(name(other), points.into());
            rows[other as usize].insert(name(one), back.into());
        }
    }
    if cards > 0 && rng.one_in(8) {
        rows[0].clear();
    }
    let row = |(at, points)| serde_json::json!({"uuid": name(at), "score": points});
    let rows = (0..).zip(rows).map(row).collect();
    serde_json::Value::Array(rows).to_string()
}
