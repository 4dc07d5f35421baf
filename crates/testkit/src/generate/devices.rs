//! Shared cards: nodes that register some, pods that ask for some or hold some.

use pumice_model::delta::Delta;
use pumice_model::object::{ContainerFacts, ContainerKind, NodeObject, PodObject, PodPhase};

use super::rng::Rng;
use super::{Theme, npus, pairs};

const NUMBER: &str = "volcano.sh/vgpu-number";
const MEMORY: &str = "volcano.sh/vgpu-memory";
const CORES: &str = "volcano.sh/vgpu-cores";
/// Offered by no node, and counted by nobody.
const PERCENTAGE: &str = "volcano.sh/vgpu-memory-percentage";

/// Amounts that no node offers and nobody counts.
#[cfg(test)]
pub fn is_uncounted(resource: &str) -> bool {
    resource == PERCENTAGE || npus::is_part_of_chip(resource)
}

/// Partitions of the cards named `Splitter`; the naive scheduler knows the same table.
const GEOMETRIES: &str = "\
nvidia:
  resourceCountName: volcano.sh/vgpu-number
  resourceMemoryName: volcano.sh/vgpu-memory
  resourceCoreName: volcano.sh/vgpu-cores
  resourceMemoryPercentageName: volcano.sh/vgpu-memory-percentage
  knownMigGeometries:
  - models: [Splitter]
    allowedGeometries:
    - group: g1
      geometries:
      - {name: 1g, memory: 5000, count: 3}
    - group: g2
      geometries:
      - {name: 2g, memory: 10000, count: 1}
      - {name: 1g, memory: 5000, count: 1}
    - group: g3
      geometries:
      - {name: 3g, memory: 19000, count: 1}
";

/// Gives nodes cards and pods requests; what has to be known besides.
pub fn furnish(
    rng: &mut Rng,
    theme: &Theme,
    nodes: &mut [NodeObject],
    pods: &mut [PodObject],
) -> Vec<Delta> {
    if !theme.devices {
        return Vec::new();
    }
    for node in nodes.iter_mut() {
        if !rng.one_in(6) {
            cards(rng, node);
        }
    }
    // Few different requests, so that pods share classes.
    let asks: Vec<Ask> = (0..rng.between(1, 4)).map(|_| Ask::any(rng)).collect();
    for pod in pods.iter_mut() {
        if rng.one_in(3) {
            continue;
        }
        rng.pick(&asks).put(pod);
        if let Some(node) = pod.node.clone()
            && let Some(node) = nodes.iter().find(|known| known.name == node)
        {
            hold(rng, node, pod);
        }
    }
    let npus = match theme.npus.is_empty() {
        true => "",
        false => npus::CONFIG,
    };
    vec![Delta::DeviceConfig {
        namespace: "kube-system".to_owned(),
        name: "volcano-vgpu-device-config".to_owned(),
        text: Some(format!("{GEOMETRIES}{npus}")),
    }]
}

/// The pod asks for cards, whole or nearly.
pub fn ask_much(rng: &mut Rng, pod: &mut PodObject) {
    let mut amounts = vec![(NUMBER.to_owned(), rng.pick(&[1000, 1000, 2000]))];
    match rng.below(4) {
        0 => amounts.push((PERCENTAGE.to_owned(), rng.pick(&[60_000, 100_000]))),
        1 => amounts.push((MEMORY.to_owned(), rng.pick(&[12_000_000, 19_000_000]))),
        _ => amounts.push((CORES.to_owned(), rng.pick(&[80_000, 100_000]))),
    }
    amounts.sort();
    let ask = Ask {
        amounts,
        annotations: Vec::new(),
        second: false,
    };
    ask.put(pod);
}

fn cards(rng: &mut Rng, node: &mut NodeObject) {
    let mode = rng.pick(&["hami-core", "hami-core", "mig", "mps"]);
    let mixed = rng.one_in(8);
    let count = rng.between(1, 4);
    let mut register = String::new();
    for index in 0..count {
        let mode = if mixed {
            rng.pick(&["hami-core", "mig", "mps"])
        } else {
            mode
        };
        let (kind, memory) = match mode {
            "mig" if rng.one_in(8) => ("NVIDIA-Unknown", 20_000),
            "mig" => ("NVIDIA-Splitter", 20_000),
            _ => rng.pick(&[("NVIDIA-Tesla T4", 16_000), ("NVIDIA-A100", 40_000)]),
        };
        let slots = rng.pick(&[1, 2, 10, 10]);
        let health = if rng.one_in(8) { "false" } else { "true" };
        let name = &node.name;
        register.push_str(&format!(
            "GPU-{name}-{index},{slots},{memory},{kind},{health},{mode}:"
        ));
    }
    node.device_annotations = pairs(&[("volcano.sh/node-vgpu-register", &register)]);
    if rng.one_in(5) {
        let ill = pairs(&[("volcano.sh/gpu-unhealthy-ids", "1")]);
        node.device_annotations.splice(0..0, ill);
    }
    let count = count as i64;
    for (name, amount) in [
        (NUMBER, 10 * count),
        (MEMORY, 40_000 * count),
        (CORES, 100 * count),
    ] {
        node.allocatable.push((name.to_owned(), 1000 * amount));
    }
}

#[derive(Clone)]
struct Ask {
    amounts: Vec<(String, i64)>,
    annotations: Vec<(String, String)>,
    /// A container that asks for nothing stands before.
    second: bool,
}

impl Ask {
    fn any(rng: &mut Rng) -> Self {
        let mut amounts = vec![(NUMBER.to_owned(), rng.pick(&[1, 1, 1, 2, 3]))];
        match rng.below(5) {
            0 => {}
            1 => amounts.push((PERCENTAGE.to_owned(), rng.pick(&[10, 25, 50, 100]))),
            _ => amounts.push((MEMORY.to_owned(), rng.pick(&[3000, 5000, 8000, 12_000]))),
        }
        if rng.one_in(2) {
            amounts.push((CORES.to_owned(), rng.pick(&[10, 30, 60, 100])));
        }
        amounts.sort();
        amounts.iter_mut().for_each(|(_, amount)| *amount *= 1000);
        let mut annotations = Vec::new();
        let mut say = |rng: &mut Rng, odds: usize, key: &str, values: &[&str]| {
            if rng.one_in(odds) {
                annotations.push((key.to_owned(), rng.pick(values).to_owned()));
            }
        };
        let modes = ["hami-core", "mig", "mps"];
        say(rng, 4, "volcano.sh/vgpu-mode", &modes);
        say(rng, 6, "nvidia.com/use-gputype", &["A100, splitter", "t4"]);
        say(rng, 6, "nvidia.com/nouse-gputype", &["T4", "a100,"]);
        say(rng, 6, "volcano.sh/vgpu-podgroup-policy", &["spread"]);
        say(rng, 10, "volcano.sh/gpu-index", &["0,1,2", "1,2,3"]);
        annotations.sort();
        Self {
            amounts,
            annotations,
            second: rng.one_in(4),
        }
    }

    fn put(&self, pod: &mut PodObject) {
        let amounts = self.amounts.clone();
        pod.request.extend(amounts.iter().cloned());
        pod.request.sort();
        let kind = ContainerKind::Regular;
        if self.second {
            let amounts = Vec::new();
            pod.facts.containers.push(ContainerFacts { kind, amounts });
        }
        pod.facts.containers.push(ContainerFacts { kind, amounts });
        pod.facts.annotations = self.annotations.clone();
    }
}

/// Annotations of a pod that has its cards already, as a scheduler and its device plugin leave them;
/// any cards of the node, crowded ones too.
fn hold(rng: &mut Rng, node: &NodeObject, pod: &mut PodObject) {
    if pod.phase == PodPhase::Succeeded {
        return;
    }
    let register = node.device_annotations.iter();
    let register = register.filter(|(key, _)| key.ends_with("register"));
    let cards: Vec<&str> = register.flat_map(|(_, text)| text.split(':')).collect();
    let mut text = String::new();
    let cards: Vec<&str> = cards.into_iter().filter(|card| !card.is_empty()).collect();
    let wanted = pod.request.iter().find(|(name, _)| name == NUMBER);
    let count = wanted.map_or(0, |(_, milli)| *milli as usize / 1000);
    for card in cards.iter().take(count) {
        let id = card.split(',').next().unwrap_or_default();
        let unit = match card.ends_with("mig") && card.contains("Splitter") {
            // The partitions of a card are of one group.
            true if id.ends_with("-0") => rng.pick(&["[g1-0]", "[g1-2]"]),
            true if id.ends_with("-1") => rng.pick(&["[g2-0]", "[g2-1]"]),
            true => "[g3-0]",
            false => "",
        };
        let memory = rng.pick(&[2000, 4000, 2000, 4000, 2000, 4000, 1 << 20]);
        let cores = rng.pick(&[0, 20, 100]);
        text.push_str(&format!("{id}{unit},NVIDIA,{memory},{cores}:"));
    }
    if cards.len() < count {
        // Nobody could tell what such a pod holds.
        (pod.facts, pod.records) = Default::default();
        return;
    }
    pod.records = pairs(&[("volcano.sh/vgpu-ids-new", &text)]);
}
