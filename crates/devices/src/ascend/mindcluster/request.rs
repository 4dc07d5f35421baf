//! What a pod asks: AI cores of one container, and three labels (spec/05 §2.5, §2.6, P-8).

use crate::facts::{ContainerKind, PodFacts};
use crate::text::shorten;

use super::template::{Dvpp, VnpuTemplate};
use super::{CORES, DVPP, KIND, LEVEL, RING};

/// AI cores that are handed out as vNPUs.
const VIRTUAL: [i64; 3] = [1, 2, 4];
/// Numbers of AI cores of the chips there are. Which of them a node has, its labels tell.
pub const CHIP_CORES: [i64; 2] = [8, 10];
/// More AI cores than any node has.
const MAX_CORES: i64 = 1 << 20;

/// What a pod gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// A vNPU.
    Virtual(VnpuTemplate),
    /// Whole chips.
    Whole,
}

/// What a pod asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreRequest {
    /// The container that asks.
    pub container: u16,
    /// AI cores.
    pub cores: i64,
    /// What it gets for them.
    pub size: Size,
    /// The level of the vNPU is neither low nor high, and counts as low.
    pub odd_level: bool,
}

impl CoreRequest {
    /// What a pod asks; `None` if nothing.
    ///
    /// # Errors
    /// Why nothing can be given to it, whatever the nodes are.
    pub fn of(pod: &PodFacts) -> Option<Result<Self, String>> {
        let (container, milli) = first_that_asks(pod)?;
        Some(Self::read(pod, container, milli))
    }

    fn read(pod: &PodFacts, container: u16, milli: i64) -> Result<Self, String> {
        is_of_a_310p(pod)?;
        one_container(pod, container)?;
        let cores = milli / 1000;
        let is_whole = CHIP_CORES.iter().any(|of_chip| cores % of_chip == 0);
        if milli % 1000 != 0
            || !(1..=MAX_CORES).contains(&cores)
            || !(is_whole || VIRTUAL.contains(&cores))
        {
            let shown = milli as f64 / 1000.0;
            return Err(format!(
                "the pod asks {shown} {CORES}, but {CORES} must be 1, 2, 4 or a multiple of 8 (of \
                 10 for chips with 10 AI cores)"
            ));
        }
        if is_whole {
            return Ok(Self {
                container,
                cores,
                size: Size::Whole,
                odd_level: false,
            });
        }
        let dvpp = dvpp(pod, cores)?;
        let level = pod.label(LEVEL).unwrap_or("low");
        let template = VnpuTemplate::select(cores, dvpp, level == "high").ok_or_else(|| {
            let value = pod.label(DVPP).unwrap_or_default();
            wrong_dvpp(value, cores)
        })?;
        Ok(Self {
            container,
            cores,
            size: Size::Virtual(template),
            odd_level: level != "low" && level != "high",
        })
    }
}

/// The first container with an amount, and the amount in milli-units.
pub fn first_that_asks(pod: &PodFacts) -> Option<(u16, i64)> {
    let containers = pod.containers.iter().enumerate();
    let mut asking = containers.filter_map(|(at, container)| {
        let milli = container.milli(CORES).filter(|milli| *milli != 0)?;
        Some((u16::try_from(at).unwrap_or(u16::MAX), milli))
    });
    asking.next()
}

fn is_of_a_310p(pod: &PodFacts) -> Result<(), String> {
    let found = match pod.label(RING) {
        Some(KIND) => return Ok(()),
        Some(other) => format!("its label {RING} is \"{}\"", shorten(other)),
        None => format!("it has no label {RING}"),
    };
    Err(format!(
        "the pod asks {CORES}, but {found}; set the label {RING}: {KIND} in the pod template, the \
         only kind of NPU that is handed out by AI cores"
    ))
}

/// The device plugin finds one container a pod.
fn one_container(pod: &PodFacts, first: u16) -> Result<(), String> {
    let asks = |at: usize| pod.containers[at].milli(CORES).unwrap_or(0) != 0;
    let others = (usize::from(first) + 1..pod.containers.len()).any(asks);
    let kind = pod.containers.get(usize::from(first)).map(|c| c.kind);
    if others || kind == Some(ContainerKind::Init) {
        return Err(format!(
            "{CORES} must be asked by one container of the pod that is no init container: the \
             device plugin serves no other; put the request into one container"
        ));
    }
    Ok(())
}

fn dvpp(pod: &PodFacts, cores: i64) -> Result<Dvpp, String> {
    match pod.label(DVPP) {
        None | Some("null") => Ok(Dvpp::Null),
        Some("yes") => Ok(Dvpp::Yes),
        Some("no") => Ok(Dvpp::No),
        Some(other) => Err(wrong_dvpp(other, cores)),
    }
}

fn wrong_dvpp(value: &str, cores: i64) -> String {
    let allowed = match cores {
        4 => "yes, no or null",
        _ => "null",
    };
    format!(
        "the label {DVPP} of the pod is \"{}\", but for {cores} {CORES} it must be {allowed}; \
         correct the label, or remove it: then it counts as null",
        shorten(value)
    )
}
