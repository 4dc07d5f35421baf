//! Amounts as messages show them.

use pumice_model::resource::{AmountUnit, display_amount};

#[test]
fn amounts_of_one_sentence_have_one_unit() {
    const MI: i64 = 1 << 20;
    for (name, amounts, expected) in [
        ("cpu", &[2000, 1500, 4000][..], "2000m 1500m 4000m"),
        ("cpu", &[2000, 4000, 0], "2 4 0"),
        ("memory", &[8192 * MI, 512 * MI], "8192Mi 512Mi"),
        ("memory", &[8192 * MI, 0], "8Gi 0"),
        ("pods", &[1024, 2048], "1024 2048"),
        ("x.example/gpu", &[1000, 3000], "1 3"),
        // What has no bound is told nowhere.
        ("cpu", &[2000, i64::MAX], "2"),
    ] {
        let unit = AmountUnit::of(name, amounts);
        let bounded = amounts.iter().filter(|amount| **amount != i64::MAX);
        let shown: Vec<String> = bounded.map(|amount| unit.show(*amount)).collect();
        assert_eq!(shown.join(" "), expected, "{name}");
    }
    assert_eq!(display_amount("cpu", 1500), "1500m");
    assert_eq!(display_amount("memory", 1536 * MI), "1536Mi");
}
