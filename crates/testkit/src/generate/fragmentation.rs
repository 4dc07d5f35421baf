//! Configurations in which what is left of cards counts (spec/10).

use std::fmt::Write as _;

use super::conf::vendor_conf_text;
use super::rng::Rng;

/// Classes that may be written, of cards that few clusters have all of.
const WRITTEN: &[&str] = &[
    "30 cpu=1 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=3000",
    "10 cpu=500m volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=12000",
    "7 memory=1Gi volcano.sh/vgpu-number=2 on zone=z0",
    "5 cpu=1 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory-percentage=25",
    "9 cpu=1 nvidia.com/gpu=1 nvidia.com/gpumem=4096",
    "4 cpu=500m nvidia.com/gpu=2",
    "8 nvidia.com/gpu=1 nvidia.com/gpumem=8192 nvidia.com/gpucores=50 on disk=ssd",
    "3 cpu=1 hygon.com/dcunum=1 hygon.com/dcumem=16380",
    "3 cpu=1 cambricon.com/vmlu=1",
    "6 metax-tech.com/sgpu=1 metax-tech.com/vmemory=16 metax-tech.com/vcore=50",
    "6 cpu=1 metax-tech.com/sgpu=1 metax-tech.com/vmemory=8 metax-tech.com/vcore=10",
    "2 metax-tech.com/gpu=2",
    "5 amd.com/gpu=1 amd.com/gpumem=16384 amd.com/gpucores=30",
    "12 cpu=1 huawei.com/Ascend310P=1 huawei.com/Ascend310P-memory=3072",
    "6 cpu=500m huawei.com/Ascend310P=1 huawei.com/Ascend310P-memory=12288",
    "9 cpu=1 huawei.com/Ascend910A=1 huawei.com/Ascend910A-memory=8738 on zone=z1",
    "3 cpu=1 huawei.com/Ascend910B2=2",
    "2 cpu=1 huawei.com/Ascend910B3=1",
];

/// A configuration that shares all cards, with the plugin `fragmentation`: mostly the cards are chosen by its
/// measure too.
#[must_use]
pub fn fragmentation_conf_text(seed: u64) -> String {
    let mut rng = Rng::new(seed, 71);
    let text = vendor_conf_text(seed);
    let lines = text.lines();
    let mut text = String::new();
    let by_measure = !rng.one_in(4);
    for line in lines.filter(|line| !by_measure || !line.contains("SchedulePolicy")) {
        if line.contains("name: deviceshare") {
            plugin(&mut rng, &mut text);
        }
        let _ = writeln!(text, "{line}");
        if by_measure && line.contains("deviceshare.HAMiVendors") {
            text.push_str("      deviceshare.SchedulePolicy: fragmentation\n");
        }
    }
    text
}

/// The plugin, with some arguments.
fn plugin(rng: &mut Rng, text: &mut String) {
    text.push_str("  - name: fragmentation\n");
    let mut lines = Vec::new();
    let of = |key: &str, value: &str| format!("      fragmentation.{key}: {value}");
    if rng.one_in(3) {
        lines.push(of("weight", rng.pick(&["0", "1", "7", "100"])));
    }
    if rng.one_in(2) {
        lines.push(of("scarcity", rng.pick(&["true", "false", "false"])));
    }
    if rng.one_in(3) {
        lines.push(of("halfLife", rng.pick(&["10s", "3s", "1h"])));
    }
    if rng.one_in(4) {
        lines.push(of("maxClasses", rng.pick(&["1", "2", "3"])));
    }
    if rng.one_in(3) {
        let count = rng.between(1, 8);
        let written: Vec<String> = (0..count)
            .map(|_| format!("\"{}\"", rng.pick(WRITTEN)))
            .collect();
        lines.push(of("mix", &format!("[{}]", written.join(", "))));
    }
    if !lines.is_empty() {
        let _ = writeln!(text, "    arguments:\n{}", lines.join("\n"));
    }
}
