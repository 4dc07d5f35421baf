//! NPUs of MindCluster by the rules alone (spec/05 §2, P-6 to P-12).

use std::collections::BTreeSet;

use pumice_model::object::{ContainerKind, NodeObject, Pairs, PodObject};

use super::super::Cycle;
use super::super::state::{Task, World, label};
use super::View;
use super::vgpu::group_of;

const CORES: &str = "huawei.com/npu-core";
const REAL: &str = "huawei.com/AscendReal";
/// AI CPUs of a chip.
const CPUS: i64 = 7;

/// §2.7: name, AI cores, AI CPUs, DVPP.
const TEMPLATES: [(&str, i64, i64, &str); 7] = [
    ("vir01", 1, 1, "null"),
    ("vir02", 2, 2, "null"),
    ("vir02_1c", 2, 1, "null"),
    ("vir04", 4, 4, "null"),
    ("vir04_3c", 4, 3, "null"),
    ("vir04_3c_ndvpp", 4, 3, "no"),
    ("vir04_4c_dvpp", 4, 4, "yes"),
];

type Template = (&'static str, i64, i64, &'static str);

fn template(name: &str) -> Option<Template> {
    TEMPLATES.iter().find(|(known, ..)| *known == name).copied()
}

/// AI cores of each container that asks some.
fn cores_of(pod: &PodObject) -> Vec<i64> {
    let containers = pod.facts.containers.iter();
    let regular = containers.filter(|one| one.kind == ContainerKind::Regular);
    let cores = regular.filter_map(|one| Some(one.milli(CORES)? / 1000));
    cores.filter(|cores| *cores > 0).collect()
}

/// A pod names AI cores.
pub fn names(pod: &PodObject) -> bool {
    !cores_of(pod).is_empty()
}

/// What a pod asks.
enum Ask {
    /// AI cores of chips that are its own.
    Whole(i64),
    /// A template, and the one that does instead where it does not fit.
    Part(Template, Option<Template>),
}

/// What a pod asks; none when that can never be (P-8).
fn ask_of(pod: &PodObject) -> Option<Ask> {
    let said = |key: &str| label(&pod.facts.labels, key);
    let &[cores] = cores_of(pod).as_slice() else {
        return None;
    };
    if said("ring-controller.atlas") != Some("ascend-310P") {
        return None;
    }
    let high = said("vnpu-level") == Some("high");
    let (name, lesser) = match (cores, said("vnpu-dvpp").unwrap_or("null"), high) {
        (1, "null", _) => ("vir01", None),
        (2, "null", true) => ("vir02", Some("vir02_1c")),
        (2, "null", false) => ("vir02_1c", None),
        (4, "yes", _) => ("vir04_4c_dvpp", None),
        (4, "no", _) => ("vir04_3c_ndvpp", None),
        (4, "null", true) => ("vir04", Some("vir04_3c")),
        (4, "null", false) => ("vir04_3c", None),
        (1 | 2 | 4, ..) => return None,
        // Chips have 8 cores or 10.
        (cores, ..) if cores % 8 == 0 || cores % 10 == 0 => return Some(Ask::Whole(cores)),
        _ => return None,
    };
    Some(Ask::Part(template(name)?, lesser.and_then(template)))
}

/// What a pod asks can never be.
pub fn refuses(pod: &PodObject) -> bool {
    names(pod) && ask_of(pod).is_none()
}

#[derive(Default)]
struct Chip {
    id: i64,
    /// It may be given out.
    offered: bool,
    cores: i64,
    cpus: i64,
    used: bool,
    segmented: bool,
    dvpp: Vec<&'static str>,
    groups: BTreeSet<i64>,
    /// vNPUs that are still to be made.
    coming: usize,
}

struct Board {
    chips: Vec<Chip>,
    /// AI cores of a chip.
    each: i64,
    /// vNPUs still to be made: template, chip, gang.
    coming: Vec<(Template, i64, Option<String>)>,
}

fn ids(list: &str) -> BTreeSet<i64> {
    let tails = list.split(',').filter_map(|name| name.rsplit('-').next());
    tails.filter_map(|tail| tail.trim().parse().ok()).collect()
}

/// Ids that may be given out; none where the node cannot be used.
fn offered(world: &World, node: &NodeObject) -> Option<(i64, BTreeSet<i64>)> {
    let accelerator = label(&node.labels, "accelerator")?;
    let kind = accelerator.split('-').nth(1)?;
    let each = label(&node.labels, "servertype")?.split('-').nth(1)?;
    let each: i64 = each.parse().ok()?;
    label(&node.labels, "node.kubernetes.io/npu.chip.name")?;
    let capacity = node.device_capacity.iter().find(|(name, _)| name == CORES);
    let capacity = capacity?.1 / 1000;
    if kind != "Ascend310P" || !matches!(each, 8 | 10) || capacity < each || capacity % each != 0 {
        return None;
    }
    let reports = world.reports.get(&node.name)?;
    let health = reports.get("cluster-info-node");
    let health: serde_json::Value = health
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    if matches!(
        health["NodeStatus"].as_str(),
        Some("UnHealthy" | "PreSeparate")
    ) {
        return None;
    }
    let told: serde_json::Value = serde_json::from_str(reports.get("cluster-info-device")?).ok()?;
    let list = |suffix: &str| {
        let key = format!("huawei.com/Ascend310P{suffix}");
        ids(told["DeviceList"][key].as_str().unwrap_or_default())
    };
    // The list is maintained here, from the chips the node has.
    let base = label(&node.device_annotations, "baseDeviceInfos");
    let base: Option<serde_json::Value> = base.and_then(|text| serde_json::from_str(text).ok());
    let mut offered = match base.as_ref().and_then(|base| base.as_object()) {
        Some(base) => base.keys().flat_map(|name| ids(name)).collect(),
        None => list(""),
    };
    for suffix in ["-Unhealthy", "-Recovering", "-NetworkUnhealthy"] {
        let out = list(suffix);
        offered.retain(|id| !out.contains(id));
    }
    Some((each, offered))
}

fn board(world: &World, node: &NodeObject, view: View) -> Option<Board> {
    let (each, offered) = offered(world, node)?;
    let chip = |id: i64| Chip {
        id,
        offered: offered.contains(&id),
        cores: each,
        cpus: CPUS,
        ..Chip::default()
    };
    let mut board = Board {
        chips: offered.iter().map(|id| chip(*id)).collect(),
        each,
        coming: Vec::new(),
    };
    for task in world.tasks_on(&node.name) {
        let Some(held) = task.held.as_ref().filter(|_| view.counts(task.status)) else {
            continue;
        };
        let Some(text) = label(held, CORES) else {
            continue;
        };
        let real = label(held, REAL).unwrap_or_default();
        if let Some((id, name)) = text.split_once('-') {
            let (Ok(id), Some(template)) = (id.parse::<i64>(), template(name)) else {
                continue;
            };
            if real.is_empty() {
                board.coming.push((template, id, group_of(&task.pod)));
            }
            let Some(chip) = board.chips.iter_mut().find(|chip| chip.id == id) else {
                continue;
            };
            chip.used = true;
            chip.segmented = true;
            chip.cores -= template.1;
            chip.cpus -= template.2;
            chip.dvpp.push(template.3);
            let group = real
                .rsplit_once('_')
                .and_then(|(_, group)| group.parse::<i64>().ok());
            chip.groups.extend(group);
            chip.coming += usize::from(real.is_empty());
            continue;
        }
        for id in ids(text) {
            if let Some(chip) = board.chips.iter_mut().find(|chip| chip.id == id) {
                chip.used = true;
                chip.cores -= each;
                chip.cpus -= CPUS;
            }
        }
    }
    Some(board)
}

/// The chip a vNPU gets: of those with room that with the least free. `Err`: none has room (false),
/// or one has, and the pod waits for another vNPU to be made (true).
fn chip_for(board: &Board, (task, guarded): (&Task, bool), asked: Template) -> Result<i64, bool> {
    let (name, cores, cpus, dvpp) = asked;
    let has_room = |chip: &&Chip| {
        let groups = chip.groups.len() + chip.coming;
        let mixes = match dvpp {
            "yes" => chip.dvpp.iter().all(|other| *other == "no"),
            "null" => !chip.dvpp.contains(&"yes"),
            _ => true,
        };
        chip.offered
            && chip.cores >= cores
            && chip.cpus >= cpus
            && mixes
            && !(groups >= 3 && cores >= 4)
            && !(groups >= 4 && cores >= 2)
    };
    let own = group_of(&task.pod);
    // The device plugin could take the pod for another one.
    let waits = |chip: &&Chip| {
        board.coming.iter().any(|(other, on, group)| {
            let together = own.is_some() && *group == own && (guarded || *on == chip.id);
            other.1 == cores && other.0 != name && !together
        })
    };
    let with_room: Vec<&Chip> = board.chips.iter().filter(has_room).collect();
    let fitting = with_room.iter().copied().filter(|chip| !waits(chip));
    let best = fitting.min_by_key(|chip| (chip.cores, chip.cpus, chip.id));
    best.map(|chip| chip.id).ok_or(!with_room.is_empty())
}

/// Chips for a task on a node: its annotation, and the score. `None`: it does not fit.
pub fn choose(cycle: &Cycle, task: &Task, node: &NodeObject, view: View) -> Option<(Pairs, i64)> {
    if !names(&task.pod) {
        return Some((Pairs::new(), 0));
    }
    if !task.on.mindcluster {
        return None;
    }
    let ask = ask_of(&task.pod)?;
    let board = board(&cycle.world, node, view)?;
    let guarded = super::is_guarded(cycle);
    let (text, lesser) = match ask {
        Ask::Whole(cores) => {
            let count = (cores / board.each) as usize;
            let free = board.chips.iter().filter(|chip| chip.offered && !chip.used);
            let ids: Vec<String> = free.take(count).map(|chip| chip.id.to_string()).collect();
            if cores % board.each != 0 || ids.len() < count {
                return None;
            }
            (ids.join(","), false)
        }
        Ask::Part(full, lesser) => match chip_for(&board, (task, guarded), full) {
            Ok(id) => (format!("{id}-{}", full.0), false),
            // There is room for the full one, once the other vNPU is made.
            Err(true) => return None,
            Err(false) => {
                let lesser = lesser?;
                let id = chip_for(&board, (task, guarded), lesser).ok()?;
                (format!("{id}-{}", lesser.0), true)
            }
        },
    };
    // The fullest node first, and all without downgrade before those with.
    let offered = board.chips.iter().filter(|chip| chip.offered);
    let idle = offered.map(|chip| chip.cores.max(0)).sum::<i64>().min(64);
    let score = 64 - idle + if lesser { 0 } else { 64 };
    Some((vec![(CORES.to_owned(), text)], score * super::weight(cycle)))
}
