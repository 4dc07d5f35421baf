//! `Allocate` of MindCluster's Ascend device plugin, which makes vNPUs on demand (spec/05 §2.11).

use std::collections::BTreeMap;

use super::{AllocateAnswer, AllocateCall, AllocateRefusal, Grant, ListedPod};

/// Chips of the pod, and the template.
pub const CORES: &str = "huawei.com/npu-core";
/// Whose turn it is: the smallest is the next.
pub const TIME: &str = "predicate-time";
/// What it is after the pod was served.
pub const SERVED: &str = "18446744073709551615";
/// Devices the pod has got.
pub const REAL: &str = "huawei.com/AscendReal";
/// Devices kubelet has chosen for the pod.
pub const KUBELET: &str = "huawei.com/kltDev";

/// Templates and the type of the device that is made of each.
const TYPES: [(&str, &str); 7] = [
    ("vir01", "Ascend310P-1c"),
    ("vir02", "Ascend310P-2c"),
    ("vir02_1c", "Ascend310P-2c.1cpu"),
    ("vir04", "Ascend310P-4c"),
    ("vir04_3c", "Ascend310P-4c.3cpu"),
    ("vir04_3c_ndvpp", "Ascend310P-4c.3cpu.ndvpp"),
    ("vir04_4c_dvpp", "Ascend310P-4c.4cpu.dvpp"),
];

/// Number of the first vNPU of a chip.
const FIRST_VNPU: usize = 100;
/// Groups of a chip.
const GROUPS: usize = 4;

/// What the annotation of a pod asks for.
enum PromisedNpus<'a> {
    /// A vNPU: chip, template.
    Vnpu(&'a str, &'a str),
    /// Whole chips.
    Chips(Vec<&'a str>),
}

impl<'a> PromisedNpus<'a> {
    fn of(annotations: &'a BTreeMap<String, String>) -> Option<Self> {
        let text = annotations.get(CORES)?;
        Some(match text.split_once('-') {
            Some((chip, template)) => Self::Vnpu(chip, template),
            None => Self::Chips(text.split(',').collect()),
        })
    }

    /// AI cores, as the plugin tells them.
    fn cores(&self, of_chip: u64) -> Option<u64> {
        match self {
            Self::Vnpu(_, template) => {
                let digits = template.strip_prefix("vir")?.split('_').next()?;
                digits.parse().ok()
            }
            Self::Chips(chips) => Some(chips.len() as u64 * of_chip),
        }
    }

    /// Names of its devices; `None` for a template that cannot be made. The vNPU is the one with this
    /// number on its chip; `group` is told if it is known.
    fn real(&self, number: usize, group: Option<usize>) -> Option<String> {
        match self {
            Self::Vnpu(chip, template) => {
                let (_, kind) = TYPES.iter().find(|(known, _)| known == template)?;
                let group = group.map_or_else(String::new, |group| format!("_{group}"));
                Some(format!("{kind}-{}-{chip}{group}", FIRST_VNPU + number))
            }
            Self::Chips(chips) => {
                let names = chips.iter().map(|chip| format!("Ascend310P-{chip}"));
                Some(names.collect::<Vec<_>>().join(","))
            }
        }
    }
}

/// Answers a call of the plugin of a node whose chips have `of_chip` AI cores. `pods` are all pods of
/// the cluster.
pub fn allocate(of_chip: u64, pods: &[ListedPod], call: &AllocateCall) -> AllocateAnswer {
    let answer = |result, guessed, changes| AllocateAnswer {
        result,
        guessed,
        changes,
        unlocks: None,
    };
    let waiting = pods.iter().filter(|pod| waits(pod, of_chip, call));
    let Some(pod) = waiting.min_by_key(|pod| time(pod)) else {
        return answer(Err(AllocateRefusal::NobodyWaits), None, BTreeMap::new());
    };
    let guessed = Some(pod.uid.clone());
    let on_chip = vnpus_beside(pod, pods);
    let wanted = PromisedNpus::of(&pod.annotations);
    let real = wanted.and_then(|wanted| wanted.real(on_chip, Some(on_chip % GROUPS)));
    let Some(real) = real else {
        let refusal = AllocateRefusal::NothingLeft;
        return answer(Err(refusal), guessed, BTreeMap::new());
    };
    answer(Ok(promised(pod, of_chip)), guessed, served(real))
}

fn waits(pod: &ListedPod, of_chip: u64, call: &AllocateCall) -> bool {
    let wanted = PromisedNpus::of(&pod.annotations);
    pod.node.as_ref() == Some(&call.node)
        && !matches!(&*pod.phase, "Succeeded" | "Failed")
        && pod.annotations.get(TIME).is_none_or(|time| time != SERVED)
        && wanted.and_then(|wanted| wanted.cores(of_chip)) == Some(call.ids)
}

/// Missing and odd times come last.
fn time(pod: &ListedPod) -> u64 {
    let time = pod.annotations.get(TIME).and_then(|text| text.parse().ok());
    time.unwrap_or(u64::MAX)
}

/// vNPUs there are on the chip of a pod.
fn vnpus_beside(pod: &ListedPod, pods: &[ListedPod]) -> usize {
    let chip = |pod: &ListedPod| match PromisedNpus::of(&pod.annotations) {
        Some(PromisedNpus::Vnpu(chip, _)) => Some((pod.node.clone(), chip.to_owned())),
        _ => None,
    };
    let own = chip(pod);
    let has_one = |other: &&ListedPod| {
        !matches!(&*other.phase, "Succeeded" | "Failed") && other.annotations.contains_key(REAL)
    };
    let made = pods.iter().filter(has_one);
    made.filter(|other| own.is_some() && chip(other) == own)
        .count()
}

fn served(real: String) -> BTreeMap<String, String> {
    let changes = [
        (TIME, SERVED.to_owned()),
        (KUBELET, real.clone()),
        (REAL, real),
    ];
    changes
        .map(|(key, value)| (key.to_owned(), value))
        .into_iter()
        .collect()
}

/// What the scheduler has written for a pod: what it is to get.
pub fn promised(pod: &ListedPod, of_chip: u64) -> Vec<Grant> {
    let grant = |id: String, cores: u64| Grant {
        id,
        memory: 0,
        cores: i64::try_from(cores).unwrap_or(i64::MAX),
    };
    match PromisedNpus::of(&pod.annotations) {
        Some(wanted @ PromisedNpus::Vnpu(chip, template)) => {
            let cores = wanted.cores(of_chip).unwrap_or(0);
            vec![grant(format!("{chip}-{template}"), cores)]
        }
        Some(PromisedNpus::Chips(chips)) => {
            let whole = |chip: &str| grant(chip.to_owned(), of_chip);
            chips.into_iter().map(whole).collect()
        }
        None => Vec::new(),
    }
}

/// Serves the pod with these annotations. What else is on its chip is not known here, so the answer
/// tells no group.
pub(super) fn serve_all(annotations: &mut BTreeMap<String, String>) {
    let waits = annotations.get(TIME).is_some_and(|time| time != SERVED);
    let is_answered = annotations.get(REAL).is_some_and(|real| !real.is_empty());
    if !waits || is_answered {
        return;
    }
    let real = PromisedNpus::of(annotations).and_then(|wanted| wanted.real(0, None));
    if let Some(real) = real {
        annotations.extend(served(real));
    }
}
