//! NPUs of MindCluster by the rules alone (spec/05 §2, P-6 to P-12).

use std::collections::BTreeSet;

use pumice_conf::Config;
use pumice_model::object::{ContainerKind, NodeObject, PodObject};
use serde_json::Value;

use super::super::cycle::Cycle;
use super::super::state::{Task, World, label};
use super::View;
use super::shelf::{CardChoice, CardUse, Shelf};
use super::vgpu::group_of;
use crate::device_texts::check_code;

const CORES: &str = "huawei.com/npu-core";
const REAL: &str = "huawei.com/AscendReal";
const LIST: &str = "huawei.com/Ascend310P";
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

/// `deviceshare.AscendMindClusterVNPUEnable`, and `init-params` (§2.2).
#[derive(Clone, Copy, Debug, Default)]
pub struct Params {
    /// It is switched on.
    pub on: bool,
    /// vNPUs are made by hand.
    preset: bool,
    /// ClusterD tells of nodes, else their own components.
    of_cluster: bool,
    /// Chips are free as this scheduler counts them, else as the device plugin does.
    maintains: bool,
}

impl Params {
    /// As a configuration says it.
    pub fn of(config: &Config, on: bool) -> Self {
        let params = config.configuration("init-params");
        let is = |key: &str| params.and_then(|params| params.bool(key));
        Self {
            on,
            preset: is("presetVirtualDevice").unwrap_or(false),
            of_cluster: is("useClusterInfoManager").unwrap_or(true),
            maintains: is("self-maintain-available-card").unwrap_or(true),
        }
    }
}

/// Kind and AI cores of each container that asks some.
fn asking(pod: &PodObject) -> Vec<(ContainerKind, i64)> {
    let containers = pod.facts.containers.iter();
    let cores = containers.filter_map(|one| Some((one.kind, one.milli(CORES)? / 1000)));
    cores.filter(|(_, cores)| *cores > 0).collect()
}

/// A pod names AI cores.
pub fn names(pod: &PodObject) -> bool {
    !asking(pod).is_empty()
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
    let &[(kind, cores)] = asking(pod).as_slice() else {
        return None;
    };
    if said("ring-controller.atlas") != Some("ascend-310P") || kind == ContainerKind::Init {
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

/// What a pod asks can never be (P-8, P-17).
pub fn refuses(pod: &PodObject, params: Params) -> bool {
    match ask_of(pod) {
        _ if !names(pod) => false,
        None => true,
        Some(Ask::Part(..)) => params.preset,
        Some(Ask::Whole(_)) => false,
    }
}

#[derive(Clone, Default)]
struct Chip {
    id: i64,
    /// It is not set aside.
    well: bool,
    /// It is on the list of those that are given out.
    listed: bool,
    cores: i64,
    cpus: i64,
    used: bool,
    /// There is a vNPU on it.
    split: bool,
    dvpp: Vec<&'static str>,
    groups: BTreeSet<i64>,
    /// vNPUs that are still to be made.
    coming: usize,
}

impl Chip {
    fn take(&mut self, cores: i64, cpus: i64) {
        self.used = true;
        self.cores -= cores;
        self.cpus -= cpus;
    }
}

#[derive(Clone, Default)]
struct Board {
    chips: Vec<Chip>,
    /// AI cores of a chip.
    each: i64,
    /// vNPUs still to be made: template, chip, gang.
    coming: Vec<(Template, i64, Option<String>)>,
}

/// Numbers of the chips of a list.
fn ids(list: &str) -> BTreeSet<i64> {
    let names = list.split(',').map(str::trim);
    let tails = names.filter_map(|name| name.strip_prefix("Ascend310P-"));
    tails.filter_map(|tail| tail.parse().ok()).collect()
}

/// The first of two names of a label or annotation that is there.
fn either<'a>(pairs: &'a [(String, String)], names: [&str; 2]) -> Option<&'a str> {
    label(pairs, names[0]).or_else(|| label(pairs, names[1]))
}

/// A member of a JSON object, its name in any case.
fn member<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    let mut members = value.as_object()?.iter();
    let found = members.find(|(name, _)| name.eq_ignore_ascii_case(key));
    found.map(|(_, value)| value)
}

/// What a node's own component says below a key, if its check code is right.
fn checked(text: &str, key: &str) -> Option<Value> {
    let whole: Value = serde_json::from_str(text).ok()?;
    let code = member(&whole, "CheckCode").and_then(Value::as_str);
    if let Some(code) = code.filter(|code| !code.is_empty()) {
        let (from, to) = (text.find(':')? + 1, text.rfind(r#","CheckCode""#)?);
        if code != check_code(&text[from..to]) {
            return None;
        }
    }
    member(&whole, key).cloned()
}

/// AI cores of each chip of a node that has some (§2.4).
fn cores_of_chips(node: &NodeObject) -> Option<i64> {
    let kind = label(&node.labels, "accelerator")?.split('-').nth(1)?;
    let server = either(&node.labels, ["servertype", "huawei.com/npu.server.type"])?;
    let each: i64 = server.split('-').nth(1)?.parse().ok()?;
    let chip_names = [
        "node.kubernetes.io/npu.chip.name",
        "huawei.com/npu.chip.name",
    ];
    either(&node.labels, chip_names)?;
    let capacity = node.device_capacity.iter().find(|(name, _)| name == CORES);
    let capacity = capacity?.1 / 1000;
    let fits = capacity >= each && capacity % each == 0;
    (kind == "Ascend310P" && matches!(each, 8 | 10) && fits).then_some(each)
}

/// Chips of a node with nobody on them; none where it cannot be used (§2.3, §2.4, P-11).
fn idle_board(world: &World, node: &NodeObject) -> Option<Board> {
    let params = world.on.mindcluster;
    let each = cores_of_chips(node)?;
    let reports = world.reports.get(&node.name)?;
    let (devices, health) = if params.of_cluster {
        let read = |topic: &str| serde_json::from_str(reports.get(topic)?).ok();
        (read("cluster-info-device"), read("cluster-info-node"))
    } else {
        let read = |topic: &str, key: &str| checked(reports.get(topic)?, key);
        (
            read("mindx-dl-deviceinfo", "DeviceInfo"),
            read("mindx-dl-nodeinfo", "NodeInfo"),
        )
    };
    let devices: Value = devices?;
    let health: Value = health.unwrap_or_default();
    let status = member(&health, "NodeStatus").and_then(Value::as_str);
    let told = member(&devices, "UpdateTime").and_then(Value::as_i64);
    let lists = member(&devices, "DeviceList")?;
    if matches!(status, Some("UnHealthy" | "PreSeparate")) || told? <= 0 {
        return None;
    }
    let list = |suffix: &str| {
        let text = lists.get(format!("{LIST}{suffix}")).and_then(Value::as_str);
        text.map(ids)
    };
    let base = ["baseDeviceInfos", "huawei.com/npu.base-device-infos"];
    let base = either(&node.device_annotations, base);
    let base: Option<Value> = base.and_then(|text| serde_json::from_str(text).ok());
    let base = base.as_ref().and_then(Value::as_object);
    let base = base.map(|base| base.keys().flat_map(|name| ids(name)).collect());
    let mut listed: BTreeSet<i64> = list("")?;
    let mut all = listed.clone();
    match base.filter(|_| params.maintains) {
        Some(base) => {
            all.extend(&base);
            listed = base;
        }
        // Chips that are in use are not on the list.
        None => all.extend(
            0..node
                .device_capacity
                .iter()
                .map(|(_, all)| all / 1000 / each)
                .sum(),
        ),
    }
    let aside = ["-Unhealthy", "-Recovering", "-NetworkUnhealthy"];
    let aside: BTreeSet<i64> = aside
        .iter()
        .flat_map(|of| list(of).unwrap_or_default())
        .collect();
    let chip = |id: &i64| Chip {
        id: *id,
        well: !aside.contains(id),
        listed: listed.contains(id),
        cores: each,
        cpus: CPUS,
        ..Chip::default()
    };
    Some(Board {
        chips: all.union(&aside).map(chip).collect(),
        each,
        coming: Vec::new(),
    })
}

/// What a pod has of its node.
enum Has {
    /// A vNPU on a chip.
    Part(i64, Template),
    /// Whole chips.
    Whole(BTreeSet<i64>),
    /// Some whole chips, and of the others nobody can tell.
    AllOf,
    /// Nobody can tell.
    Anything,
}

/// Which its annotations say, and as many as it asks; a chip has `each` AI cores.
fn has(task: &Task, each: i64) -> Option<Has> {
    let held = task.held.as_deref().unwrap_or_default();
    if !names(&task.pod) {
        let counted = task.pod.facts.containers.iter();
        let counted: i64 = counted.filter_map(|one| one.milli(LIST)).sum();
        let given = ids(label(held, LIST)?).into_iter();
        return Some(Has::Whole(given.take(counted as usize / 1000).collect()));
    }
    let Some((ids, told)) = label(held, CORES).and_then(told) else {
        return Some(Has::Anything);
    };
    if let Some(Ask::Part(asked, _)) = ask_of(&task.pod) {
        let told = told.filter(|told| told.1 == asked.1);
        return Some(Has::Part(*ids.first()?, told.unwrap_or(asked)));
    }
    let cores = asking(&task.pod).first().map_or(0, |(_, cores)| *cores);
    let count = (cores / each).max(1);
    let known: BTreeSet<i64> = ids.into_iter().take(count as usize).collect();
    Some(match known.len() < count as usize {
        true => Has::AllOf,
        false => Has::Whole(known),
    })
}

/// Chips that an annotation names, and the template, where it is one.
fn told(text: &str) -> Option<(BTreeSet<i64>, Option<Template>)> {
    match text.split_once('-') {
        Some((id, name)) => Some((BTreeSet::from([id.parse().ok()?]), template(name))),
        None => {
            let ids: Option<BTreeSet<i64>> = text.split(',').map(|id| id.parse().ok()).collect();
            Some((ids?, None))
        }
    }
}

/// Chips of a node, and what of them is in use.
pub fn shelf(world: &World, node: &NodeObject, view: View) -> Box<dyn Shelf> {
    let Some(mut board) = idle_board(world, node) else {
        return Box::new(Board::default());
    };
    for task in world.tasks_on(&node.name) {
        board.mark_split(task);
        if view.counts(task.status) {
            board.hold(task);
        }
    }
    Box::new(board)
}

impl Board {
    /// Marks the chip of a vNPU as split, whether or not the vNPU goes.
    fn mark_split(&mut self, task: &Task) {
        if let (Some(Has::Part(id, _)), true) =
            (has(task, self.each), View::Now.counts(task.status))
        {
            let chip = self.chips.iter_mut().find(|chip| chip.id == id);
            chip.into_iter().for_each(|chip| chip.split = true);
        }
    }

    /// A task has what its annotations say.
    fn hold(&mut self, task: &Task) {
        let each = self.each;
        let real = label(task.held.as_deref().unwrap_or_default(), REAL).unwrap_or_default();
        match has(task, each) {
            None => {}
            Some(Has::Part(id, template)) => {
                if real.is_empty() {
                    self.coming.push((template, id, group_of(&task.pod)));
                }
                let group = real.rsplit_once('_').map(|(_, group)| group.parse());
                for chip in self.chips.iter_mut().filter(|chip| chip.id == id) {
                    chip.take(template.1, template.2);
                    chip.dvpp.push(template.3);
                    chip.groups.extend(group.iter().flatten());
                    chip.coming += usize::from(real.is_empty());
                }
            }
            Some(Has::Whole(ids)) => {
                let named = self.chips.iter_mut().filter(|chip| ids.contains(&chip.id));
                named.for_each(|chip| chip.take(each, CPUS));
            }
            Some(Has::AllOf) => {
                let all = self.chips.iter_mut();
                all.for_each(|chip| chip.take(each, CPUS));
            }
            // It may be on any chip.
            Some(Has::Anything) => match ask_of(&task.pod) {
                Some(Ask::Part((_, cores, cpus, dvpp), _)) => {
                    for chip in &mut self.chips {
                        chip.take(cores, cpus);
                        chip.dvpp.push(dvpp);
                    }
                }
                _ => self.chips.iter_mut().for_each(|chip| chip.take(each, CPUS)),
            },
        }
    }

    /// Chips for what is asked: the annotation, the chips, and whether the lesser template was taken.
    fn choose_for(
        &self,
        ask: Ask,
        (task, guarded): (&Task, bool),
    ) -> Option<(String, Vec<i64>, bool)> {
        match ask {
            Ask::Whole(cores) => {
                let count = (cores / self.each) as usize;
                let offered = self.chips.iter().filter(|chip| chip.well && chip.listed);
                let free = offered.filter(|chip| !chip.used);
                let ids: Vec<i64> = free.take(count).map(|chip| chip.id).collect();
                if cores % self.each != 0 || ids.len() < count {
                    return None;
                }
                let told: Vec<String> = ids.iter().map(i64::to_string).collect();
                Some((told.join(","), ids, false))
            }
            Ask::Part(full, lesser) => match chip_for(self, (task, guarded), full) {
                Ok(id) => Some((format!("{id}-{}", full.0), vec![id], false)),
                // There is room for the full one, once the other vNPU is made.
                Err(true) => None,
                Err(false) => {
                    let lesser = lesser?;
                    let id = chip_for(self, (task, guarded), lesser).ok()?;
                    Some((format!("{id}-{}", lesser.0), vec![id], true))
                }
            },
        }
    }
}

impl Shelf for Board {
    fn uses(&self) -> Vec<CardUse> {
        let of = |chip: &Chip| CardUse {
            used: self.each - chip.cores,
            all: self.each,
            holders: i64::from(chip.used),
            given_out: chip.well && (chip.listed || chip.split),
        };
        self.chips.iter().map(of).collect()
    }

    fn only(&self, at: usize) -> Box<dyn Shelf> {
        let of_chip = |(_, id, _): &&(Template, i64, Option<String>)| *id == self.chips[at].id;
        Box::new(Self {
            chips: vec![self.chips[at].clone()],
            each: self.each,
            coming: self.coming.iter().filter(of_chip).cloned().collect(),
        })
    }

    fn at_once(&self, task: &Task) -> usize {
        match ask_of(&task.pod).filter(|_| names(&task.pod)) {
            None => 0,
            Some(Ask::Part(..)) => 1,
            Some(Ask::Whole(cores)) if cores % 8 == 0 => cores as usize / 8,
            Some(Ask::Whole(cores)) => cores as usize / 10,
        }
    }

    fn piece(&self, cycle: &Cycle, task: &Task) -> Option<Box<dyn Shelf>> {
        let ask = match ask_of(&task.pod)? {
            Ask::Whole(cores) if cores % self.each == 0 => Ask::Whole(self.each),
            Ask::Whole(_) => return None,
            part @ Ask::Part(..) => part,
        };
        let is_whole = matches!(ask, Ask::Whole(_));
        let guarded = super::is_guarded(cycle);
        let (text, ..) = self.choose_for(ask, (task, guarded))?;
        let mut after = self.clone();
        match text.split_once('-').and_then(|(_, name)| template(name)) {
            Some(made @ (_, cores, cpus, dvpp)) if !is_whole => {
                let chip = &mut after.chips[0];
                after.coming.push((made, chip.id, None));
                chip.take(cores, cpus);
                chip.dvpp.push(dvpp);
                chip.coming += 1;
            }
            _ => after.chips[0].take(self.each, CPUS),
        }
        Some(Box::new(after))
    }

    fn choose(&self, cycle: &Cycle, task: &Task, among: Option<&[usize]>) -> Option<CardChoice> {
        if self.each == 0 {
            return None;
        }
        let guarded = super::is_guarded(cycle);
        let (mut text, mut ids, lesser) = self.choose_for(ask_of(&task.pod)?, (task, guarded))?;
        if let Some(set) = among {
            let mut part = self.clone();
            part.chips = set.iter().map(|at| self.chips[*at].clone()).collect();
            // What the node gives, of these chips.
            let (own, chips, less) = part.choose_for(ask_of(&task.pod)?, (task, guarded))?;
            if less != lesser {
                return None;
            }
            (text, ids) = (own, chips);
        }
        // The fullest node first, and all without downgrade before those with.
        let well = self.chips.iter().filter(|chip| chip.well);
        let idle = well.map(|chip| chip.cores.max(0)).sum::<i64>().min(64);
        let score = 64 - idle + if lesser { 0 } else { 64 };
        let place = |id: &i64| self.chips.iter().position(|chip| chip.id == *id);
        Some(CardChoice {
            held: vec![(CORES.to_owned(), text)],
            score: score * super::weight(cycle),
            cards: ids.iter().filter_map(place).collect(),
        })
    }

    fn with(&self, task: &Task) -> Box<dyn Shelf> {
        let mut after = self.clone();
        after.mark_split(task);
        after.hold(task);
        Box::new(after)
    }
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
        chip.well
            && (chip.listed || chip.split)
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
