//! NPUs of HAMi: nodes that register some, pods that ask for some or hold some.

use std::fmt::Write as _;

use pumice_model::object::{NodeObject, Pairs, PodObject, PodPhase};

use super::containers::put_containers;
use super::rng::Rng;
use super::vendors::said_of_order;
use super::{Theme, amount, pairs};

/// A type: name, MiB, memory of its templates, and MiB with those nobody is given.
type Kind = (&'static str, i64, &'static [i64], i64);

const KINDS: &[Kind] = &[
    ("Ascend310P", 21_527, &[3072, 6144, 12_288], 24_576),
    ("Ascend910A", 32_768, &[2184, 4369, 8738, 17_476], 32_768),
    ("Ascend910B2", 65_536, &[8192, 16_384, 32_768], 65_536),
    ("Ascend910B3", 65_536, &[16_384, 32_768], 65_536),
    ("Ascend910B4", 32_768, &[8192, 16_384], 32_768),
    ("Ascend910B4-1", 65_536, &[16_384, 32_768], 65_536),
];

/// The section of the device configuration that tells of them.
pub const CONFIG: &str = "\
vnpus:
- chipName: 310P3
  commonWord: Ascend310P
  resourceName: huawei.com/Ascend310P
  resourceMemoryName: huawei.com/Ascend310P-memory
  memoryAllocatable: 21527
  memoryCapacity: 24576
  aiCore: 8
  aiCPU: 7
  templates:
  - {name: vir01, memory: 3072, aiCore: 1, aiCPU: 1}
  - {name: vir02, memory: 6144, aiCore: 2, aiCPU: 2}
  - {name: vir04, memory: 12288, aiCore: 4, aiCPU: 4}
- chipName: 910A
  commonWord: Ascend910A
  resourceName: huawei.com/Ascend910A
  resourceMemoryName: huawei.com/Ascend910A-memory
  memoryAllocatable: 32768
  memoryCapacity: 32768
  aiCore: 30
  templates:
  - {name: vir02, memory: 2184, aiCore: 2}
  - {name: vir04, memory: 4369, aiCore: 4}
  - {name: vir08, memory: 8738, aiCore: 8}
  - {name: vir16, memory: 17476, aiCore: 16}
- chipName: 910B2
  commonWord: Ascend910B2
  resourceName: huawei.com/Ascend910B2
  resourceMemoryName: huawei.com/Ascend910B2-memory
  memoryAllocatable: 65536
  memoryCapacity: 65536
  aiCore: 24
  aiCPU: 6
  templates:
  - {name: vir03_1c_8g, memory: 8192, aiCore: 3, aiCPU: 1}
  - {name: vir06_1c_16g, memory: 16384, aiCore: 6, aiCPU: 1}
  - {name: vir12_3c_32g, memory: 32768, aiCore: 12, aiCPU: 3}
- chipName: 910B3
  commonWord: Ascend910B3
  resourceName: huawei.com/Ascend910B3
  resourceMemoryName: huawei.com/Ascend910B3-memory
  memoryAllocatable: 65536
  memoryCapacity: 65536
  aiCore: 20
  aiCPU: 7
  templates:
  - {name: vir05_1c_16g, memory: 16384, aiCore: 5, aiCPU: 1}
  - {name: vir10_3c_32g, memory: 32768, aiCore: 10, aiCPU: 3}
- chipName: 910B4-1
  commonWord: Ascend910B4-1
  resourceName: huawei.com/Ascend910B4-1
  resourceMemoryName: huawei.com/Ascend910B4-1-memory
  memoryAllocatable: 65536
  memoryCapacity: 65536
  aiCore: 20
  aiCPU: 7
  templates:
  - {name: vir05_1c_16g, memory: 16384, aiCore: 5, aiCPU: 1}
  - {name: vir10_3c_32g, memory: 32768, aiCore: 10, aiCPU: 3}
- chipName: 910B4
  commonWord: Ascend910B4
  resourceName: huawei.com/Ascend910B4
  resourceMemoryName: huawei.com/Ascend910B4-memory
  memoryAllocatable: 32768
  memoryCapacity: 32768
  aiCore: 20
  aiCPU: 7
  templates:
  - {name: vir05_1c_8g, memory: 8192, aiCore: 5, aiCPU: 1}
  - {name: vir10_3c_16g, memory: 16384, aiCore: 10, aiCPU: 3}
";

/// Types of a cluster, by their place in the table.
pub fn kinds(rng: &mut Rng) -> Vec<usize> {
    let number = rng.pick(&[1, 1, 2]);
    (0..number).map(|_| rng.below(KINDS.len())).collect()
}

/// Memory or cores of a chip, which no node offers.
#[cfg(test)]
pub fn is_part_of_chip(resource: &str) -> bool {
    resource.starts_with("huawei.com/Ascend")
        && (resource.ends_with("-memory") || resource.ends_with("-core"))
}

/// What a queue may have of chips; or of their memory, which does not count for queues.
pub fn limit(rng: &mut Rng, theme: &Theme) -> (String, i64) {
    let (name, memory, ..) = KINDS[rng.pick(&theme.npus)];
    match rng.one_in(4) {
        true => (format!("huawei.com/{name}-memory"), 1000 * memory),
        false => (
            format!("huawei.com/{name}"),
            rng.pick(&[0, 1000, 2000, 4000]),
        ),
    }
}

/// Gives nodes chips and pods requests.
pub fn furnish(rng: &mut Rng, theme: &Theme, nodes: &mut [NodeObject], pods: &mut [PodObject]) {
    if theme.npus.is_empty() {
        return;
    }
    for node in nodes.iter_mut() {
        if !rng.one_in(8) {
            register(rng, theme, node);
        }
    }
    ask(rng, theme, nodes, pods);
}

/// Gives pods requests.
pub fn ask(rng: &mut Rng, theme: &Theme, nodes: &[NodeObject], pods: &mut [PodObject]) {
    if theme.npus.is_empty() {
        return;
    }
    // Few different requests, so that pods share classes.
    let asks: Vec<Ask> = (0..rng.between(1, 4))
        .map(|_| Ask::any(rng, theme))
        .collect();
    for pod in pods.iter_mut() {
        if rng.one_in(4) || !pod.facts.containers.is_empty() {
            continue;
        }
        rng.pick(&asks).put(pod);
        if let Some(node) = pod.node.clone()
            && let Some(node) = nodes.iter().find(|known| known.name == node)
        {
            hold(rng, node, pod);
        }
    }
}

/// Chips of a node, one type of them as a rule.
pub fn register(rng: &mut Rng, theme: &Theme, node: &mut NodeObject) {
    let soft = rng.one_in(5);
    let mut types = vec![rng.pick(&theme.npus)];
    if rng.one_in(8) {
        types.push(rng.pick(&theme.npus));
    }
    types.sort_unstable();
    types.dedup();
    for kind in types {
        chips(rng, node, &KINDS[kind], soft);
    }
    if soft {
        let said = ("hami-vnpu-core".to_owned(), "true".to_owned());
        node.device_annotations.push(said);
    }
    node.device_annotations.sort();
}

fn chips(rng: &mut Rng, node: &mut NodeObject, (name, memory, templates, _): &Kind, soft: bool) {
    let count = match name.starts_with("Ascend910") {
        true => rng.pick(&[1, 2, 8, 8]),
        false => rng.between(1, 3),
    };
    let slots = match rng.one_in(4) {
        true => rng.pick(&[1, 2]),
        false => memory / templates[0],
    };
    let network = name.starts_with("Ascend910") && !rng.one_in(8);
    let mut healthy = 0;
    let mut all = Vec::new();
    for index in 0..count {
        let mut chip = format!(r#"{{"id":"{}-{name}-{index}""#, node.name);
        if index > 0 {
            let _ = write!(chip, r#","index":{index}"#);
        }
        let cores = if soft { 100 } else { 8 };
        let _ = write!(
            chip,
            r#","count":{slots},"devmem":{memory},"devcore":{cores},"type":"{name}""#
        );
        if !rng.one_in(10) {
            chip.push_str(r#","health":true"#);
            healthy += 1;
        }
        if index >= count / 2 && rng.one_in(2) {
            chip.push_str(r#","numa":1"#);
        }
        if network {
            let ring = i64::from(index >= 4);
            let _ = write!(chip, r#","custominfo":{{"NetworkID":{ring}}}"#);
        }
        all.push(chip + "}");
    }
    let text = format!("[{}]", all.join(","));
    let key = format!("hami.io/node-register-{name}");
    node.device_annotations.push((key, text));
    let offered = 1000 * slots * healthy;
    if !rng.one_in(24) {
        let resource = format!("huawei.com/{name}");
        node.allocatable.push((resource, offered));
        node.allocatable.sort();
    }
}

#[derive(Clone)]
struct Ask {
    containers: Vec<Vec<(String, i64)>>,
    annotations: Pairs,
}

impl Ask {
    fn any(rng: &mut Rng, theme: &Theme) -> Self {
        let kind = rng.pick(&theme.npus);
        let soft = rng.one_in(5);
        let mut containers = Vec::new();
        for _ in 0..rng.pick(&[1, 1, 1, 2]) {
            if rng.one_in(6) {
                containers.push(Vec::new());
            }
            let kind = if rng.one_in(10) {
                rng.pick(&theme.npus)
            } else {
                kind
            };
            containers.push(amounts(rng, &KINDS[kind], soft));
        }
        let name = KINDS[kind].0;
        let mut annotations = Pairs::new();
        if soft {
            let said = ("huawei.com/vnpu-mode", "hami-core");
            annotations.extend(pairs(&[said]));
        }
        for (which, odds) in [("use", 8), ("no-use", 8)] {
            if rng.one_in(odds) {
                let listed: Vec<String> = (0..6)
                    .map(|_| format!("n{}-{name}-{}", rng.below(4), rng.below(3)))
                    .collect();
                let key = format!("hami.io/{which}-{name}-uuid");
                annotations.push((key, listed.join(",")));
            }
        }
        annotations.extend(said_of_order(rng));
        annotations.sort();
        Self {
            containers,
            annotations,
        }
    }

    fn put(&self, pod: &mut PodObject) {
        put_containers(pod, &self.containers);
        pod.facts.annotations = self.annotations.clone();
    }
}

/// What one container asks; sometimes what cannot be.
fn amounts(rng: &mut Rng, kind: &Kind, soft: bool) -> Vec<(String, i64)> {
    let (name, memory, templates, capacity) = *kind;
    let resource = match rng.one_in(32) {
        true => "huawei.com/Ascend999".to_owned(),
        false => format!("huawei.com/{name}"),
    };
    let count = match rng.below(24) {
        0 => 0,
        1..=4 => 2,
        5 => 4,
        6 => 5,
        _ => 1,
    };
    let mut amounts = Vec::new();
    if !rng.one_in(24) {
        amounts.push((resource.clone(), count));
    }
    let parts: Vec<i64> = templates.iter().map(|of| of - 100).collect();
    match rng.below(16) {
        0..=3 => {}
        4..=10 if count <= 1 => amounts.push((format!("{resource}-memory"), rng.pick(&parts))),
        11 if count <= 1 => amounts.push((format!("{resource}-memory"), rng.pick(templates))),
        12 => amounts.push((format!("{resource}-memory"), memory)),
        13 => amounts.push((format!("{resource}-memory"), capacity)),
        14 if rng.one_in(2) => amounts.push((format!("{resource}-memory"), capacity + 1)),
        15 => amounts.push((format!("{resource}-memory"), rng.pick(&[0, 1]))),
        _ => {}
    }
    if rng.one_in(if soft { 2 } else { 40 }) {
        let core = rng.pick(&[10, 30, 60, 100, 101]);
        amounts.push((format!("{resource}-core"), core));
    }
    amounts.sort();
    amounts.iter_mut().for_each(|(_, amount)| *amount *= 1000);
    amounts
}

/// Annotations of a pod that has its chips already, as a scheduler and its device plugin leave them;
/// any chips of the node, crowded ones too.
fn hold(rng: &mut Rng, node: &NodeObject, pod: &mut PodObject) {
    if pod.phase == PodPhase::Succeeded {
        return;
    }
    let soft = pod
        .facts
        .annotations
        .iter()
        .any(|(_, it)| it == "hami-core");
    let mut records = Pairs::new();
    for (name, memory, templates, _) in KINDS {
        let resource = format!("huawei.com/{name}");
        if amount(&node.allocatable, &resource) == 0 {
            continue;
        }
        let mut text = String::new();
        let counts = pod.facts.containers.iter();
        let counts = counts.map(|one| amount(&one.amounts, &resource) / 1000);
        // A container has no chip twice.
        let least = counts.max().unwrap_or(0) as usize;
        let (mut at, most) = (rng.below(2), rng.between(3, 6).max(least));
        for container in &pod.facts.containers {
            let count = amount(&container.amounts, &resource) / 1000;
            for _ in 0..count {
                let part = rng.pick(templates);
                let memory = if count > 1 { *memory } else { part };
                // More than any chip has.
                let memory = if rng.one_in(8) { 1 << 20 } else { memory };
                let core = if soft { rng.pick(&[0, 20]) } else { 0 };
                let _ = write!(text, "{}-{name}-{at},{name},{memory},{core}:", node.name);
                at = (at + 1) % most;
            }
            if count > 0 {
                text.push(';');
            }
        }
        if !text.is_empty() {
            records.push((format!("hami.io/{name}-devices-allocated"), text));
        }
    }
    if records.is_empty() {
        // Nobody could tell what such a pod holds.
        pod.facts = Default::default();
        pod.request
            .retain(|(name, _)| !name.starts_with("huawei.com/"));
    }
    records.sort();
    pod.records = records;
}
