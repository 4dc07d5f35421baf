//! Amounts over time, in units that people count: core hours, GiB hours, device hours.

use pumice_model::resource::{Unit, device_class_of, unit_of};

/// Seconds of an hour.
const HOUR_S: f64 = 3600.0;

/// What the names of resources have in their last part that are pieces of cards, not cards.
const PIECES: [&str; 5] = ["mem", "core", "percentage", "priority", "share"];

/// Whether a resource counts cards: an extended one, or devices of a class, but no memory or cores of cards.
pub fn counts_cards(name: &str) -> bool {
    if let Some((capacity, _)) = device_class_of(name) {
        return capacity.is_none();
    }
    let Some((_, last)) = name.rsplit_once('/') else {
        return false;
    };
    let last = last.to_ascii_lowercase();
    !PIECES.iter().any(|piece| last.contains(piece))
}

/// Hours of one unit of a resource (a core, a device, a GiB, a pod), of stored units times seconds.
pub fn unit_hours(name: &str, unit_seconds: u128) -> f64 {
    let size = match unit_of(name) {
        _ if name == "pods"
            || device_class_of(name).is_some_and(|(capacity, _)| capacity.is_none()) =>
        {
            1.0
        }
        Some(Unit::Milli) => 1_000.0,
        _ => f64::from(1_u32 << 30),
    };
    unit_seconds as f64 / size / HOUR_S
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_what_is_counted_whole() {
        for card in [
            "nvidia.com/gpu",
            "nvidia.com/mig-1g.5gb",
            "volcano.sh/vgpu-number",
            "huawei.com/Ascend910",
            "deviceclass/gpu.example.com",
        ] {
            assert!(counts_cards(card), "{card}");
        }
        for none in [
            "cpu",
            "memory",
            "pods",
            "hugepages-2Mi",
            "volcano.sh/vgpu-memory",
            "volcano.sh/vgpu-cores",
            "nvidia.com/gpumem-percentage",
            "huawei.com/Ascend910B4-memory",
            "memory.deviceclass/gpu.example.com",
        ] {
            assert!(!counts_cards(none), "{none}");
        }
    }

    #[test]
    fn hours_are_of_one_unit() {
        assert!((unit_hours("nvidia.com/gpu", 2_000 * 1_800) - 1.0).abs() < 1e-12);
        assert!((unit_hours("cpu", 500 * 7_200) - 1.0).abs() < 1e-12);
        assert!((unit_hours("memory", (4_u128 << 30) * 900) - 1.0).abs() < 1e-12);
        assert!((unit_hours("pods", 3_600) - 1.0).abs() < 1e-12);
        assert!((unit_hours("deviceclass/gpu.example.com", 3_600) - 1.0).abs() < 1e-12);
    }
}
