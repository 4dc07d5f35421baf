//! What a pod asks: amounts of its containers, and lists of indices.

use crate::facts::{ContainerFacts, PodFacts, most_at_any_time};

use super::{MEMORY, NUMBER};

/// Device plugins and annotations count in signed numbers of 32 bits.
const MAX: i64 = i32::MAX as i64;

/// What a pod asks as a whole: all its containers share the same cards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    /// Memory on one card, in units of the node (MiB unless the device plugin scales them).
    pub memory: i64,
    /// Whole cards.
    pub number: i64,
    /// The first container that asks.
    pub container: u16,
    /// Further ones do.
    pub several: bool,
}

/// What the owner of a pod with several such containers should know (spec/04 §14.4).
const SEVERAL: &str = "several containers ask GPUs: the device plugin serves the first one only; put \
                       the request into one container";

impl Request {
    /// What a pod asks; `None` if nothing.
    ///
    /// # Errors
    /// An amount that is no whole number in range.
    pub fn of(pod: &PodFacts) -> Result<Option<Self>, String> {
        let memory = total(pod, MEMORY, "MiB")?;
        let number = total(pod, NUMBER, "GPUs")?;
        if memory == 0 && number == 0 {
            return Ok(None);
        }
        Ok(Some(Self {
            memory,
            number,
            container: first_that_asks(pod),
            several: pod.containers.iter().filter(|c| asks(c)).count() > 1,
        }))
    }

    /// What the owner of the pod should know.
    pub fn warning(&self) -> Option<&'static str> {
        self.several.then_some(SEVERAL)
    }
}

fn asks(container: &ContainerFacts) -> bool {
    let amount = |name| container.milli(name).unwrap_or(0);
    amount(MEMORY) != 0 || amount(NUMBER) != 0
}

/// The first container that names one of the resources with an amount.
pub(super) fn first_that_asks(pod: &PodFacts) -> u16 {
    let found = pod.containers.iter().position(asks);
    found.and_then(|at| u16::try_from(at).ok()).unwrap_or(0)
}

/// The most that is held at any time.
fn total(pod: &PodFacts, resource: &str, unit: &str) -> Result<i64, String> {
    let mut amounts = Vec::new();
    for (at, container) in pod.containers.iter().enumerate() {
        let Some(milli) = container.milli(resource) else {
            continue;
        };
        let amount = milli / 1000;
        if milli % 1000 != 0 || !(0..=MAX).contains(&amount) {
            let shown = milli as f64 / 1000.0;
            return Err(format!(
                "{resource} of container {} is {shown}; give a whole number of {unit} from 0 to \
                 {MAX}",
                at + 1
            ));
        }
        amounts.push((container.kind, amount));
    }
    Ok(most_at_any_time(amounts))
}
