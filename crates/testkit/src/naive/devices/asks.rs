//! What pods ask of HAMi's vendors by the rules alone (spec/04 §23.2).

use pumice_model::object::{ContainerFacts, PodObject};

use super::super::state::label;
use super::makers::Maker;
use super::neuron;
use super::preference;
use super::sgpu::{self, Terms};
use super::slices::{self, Wanted};
use super::vendors::VendorsOn;

const NUMA: &str = "nvidia.com/numa-bind";

/// What one container asks.
pub struct Ask {
    pub container: usize,
    pub maker: &'static Maker,
    pub count: usize,
    /// MiB; none is all.
    pub memory: Option<i64>,
    /// None is all.
    pub cores: Option<i64>,
    /// MiB named for whole cards.
    pub named: Option<i64>,
    /// Which profile of a card.
    pub profile: Option<Wanted>,
}

/// What a pod asks; none when that can never be.
pub fn asks_of(pod: &PodObject, on: VendorsOn) -> Option<Vec<Ask>> {
    let mut asks: Vec<Ask> = Vec::new();
    for (at, container) in pod.facts.containers.iter().enumerate() {
        for maker in on.makers() {
            let Some(ask) = ask(container, at, maker)? else {
                continue;
            };
            if asks.iter().any(|ask| ask.container == at) {
                return None;
            }
            // Its plugin makes one part for a pod.
            let is_one = ["MLU", "kunlun"].contains(&maker.word);
            if neuron::is_mixed(&asks, &ask) {
                return None;
            }
            if is_one && asks.iter().any(|ask| ask.maker.word == maker.word) {
                return None;
            }
            asks.push(ask);
        }
    }
    let may_be = heed_terms(&mut asks, &Terms::of(pod)) && can_be(pod, &asks);
    may_be.then_some(asks)
}

/// What a pod on a node may have: all of as many cards as a container counts whose request can never be.
pub fn asks_at_most(pod: &PodObject, on: VendorsOn) -> Vec<Ask> {
    let mut asks = Vec::new();
    for (at, container) in pod.facts.containers.iter().enumerate() {
        for maker in on.makers() {
            let whole = || Ask {
                container: at,
                maker,
                count: match maker.word {
                    slices::WORD => usize::from(slices::asks_some(container, maker)),
                    _ => container.milli(maker.count).unwrap_or(0) as usize / 1000,
                },
                memory: None,
                cores: None,
                named: None,
                profile: None,
            };
            asks.extend(ask(container, at, maker).unwrap_or_else(|| Some(whole())));
        }
    }
    heed_terms(&mut asks, &Terms::of(pod));
    asks
}

/// What a container asks of a maker; `None` when that can never be.
fn ask(container: &ContainerFacts, at: usize, maker: &'static Maker) -> Option<Option<Ask>> {
    let amount = |name: &str| container.milli(name).map(|milli| milli / 1000);
    if maker.word == neuron::WORD {
        return neuron::ask(at, maker, amount(maker.count), amount(maker.cores));
    }
    if maker.word == slices::WORD {
        return slices::ask(container, at, maker);
    }
    let (count, cores) = (amount(maker.count), amount(maker.cores));
    let units = amount(maker.memory).filter(|units| *units > 0);
    if count == Some(0) {
        return Some(None);
    }
    let Some(count) = count else {
        return (units.is_none() && cores <= Some(0)).then_some(None);
    };
    let whole = maker.whole && count > 1;
    let together = maker.word == "Mthreads";
    let most = if whole || together {
        maker.all_cores * count
    } else {
        maker.all_cores
    };
    if cores > Some(most) || (maker.percent && cores == Some(0)) {
        return None;
    }
    let cores = if together {
        cores.map(|all| all / count)
    } else {
        cores
    };
    if together && count == 1 && units.is_some_and(|n| ![2, 4, 8, 16, 32, 64, 96].contains(&n)) {
        return None;
    }
    let units = match (maker.word, units) {
        ("XPU", None) => Some(98_304),
        (_, units) => units,
    };
    let memory = units.map(|units| mib(maker, units, count));
    let cores = match (maker.word, memory) {
        ("XPU", Some(mib)) => Some((100 * mib / 98_304).min(100)),
        _ => cores,
    };
    if ["XPU", "kunlun"].contains(&maker.word) && ![1, 2, 4, 8].contains(&count) {
        return None;
    }
    if maker.word == "XPU" && memory > Some(98_304) {
        return None;
    }
    if whole && cores.is_some_and(|cores| cores < maker.all_cores) {
        return None;
    }
    let default = if memory.is_some() {
        maker.default.0
    } else {
        maker.default.1
    };
    Some(Some(Ask {
        container: at,
        maker,
        count: count as usize,
        memory: match maker.slots_only {
            true => Some(0),
            false => memory.filter(|_| !whole),
        },
        cores: (!whole).then(|| cores.unwrap_or(default)),
        named: memory.filter(|_| whole),
        profile: None,
    }))
}

/// Whether annotations of the pod have only values that they may have.
fn can_be(pod: &PodObject, asks: &[Ask]) -> bool {
    let annotation = |key: &str| label(&pod.facts.annotations, key).unwrap_or("");
    let nvidia = asks.iter().any(|ask| ask.maker.word == "NVIDIA");
    let bools = ["", "true", "1", "false"];
    asks.is_empty() || (!preference::refuses(pod) && (!nvidia || bools.contains(&annotation(NUMA))))
}

/// All cards of a container have to be near one NUMA node.
pub fn is_bound(pod: &PodObject, ask: &Ask) -> bool {
    let value = label(&pod.facts.annotations, NUMA);
    ask.maker.word == "NVIDIA" && matches!(value, Some("true" | "1"))
}

/// MiB of each card.
fn mib(maker: &Maker, units: i64, count: i64) -> i64 {
    match maker.word {
        "Mthreads" => units * maker.unit / count,
        // Written with a unit: bytes.
        sgpu::WORD if units >= 1 << 20 => units >> 20,
        "XPU" => {
            let sizes = [24_576, 49_152, 98_304, units];
            sizes
                .into_iter()
                .find(|mib| units <= *mib)
                .expect("as many")
        }
        _ => units * maker.unit,
    }
}

/// What annotations make of sGPUs; they may be such that the pod can never be.
fn heed_terms(asks: &mut [Ask], terms: &Terms) -> bool {
    let own = asks.iter_mut().filter(|ask| ask.maker.word == sgpu::WORD);
    let mut may_be = true;
    for ask in own {
        if terms.is_online() {
            ask.cores = Some(0);
        }
        may_be &= !terms.refuses(ask.count);
    }
    may_be
}
