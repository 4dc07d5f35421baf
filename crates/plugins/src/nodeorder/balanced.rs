//! Balanced allocation: does the pod make the use of cpu, memory and GPUs more even or less
//! (spec/02 §8.2)?

use std::ops::Range;

use pumice_framework::Class;
use pumice_framework::points::NodeScore;
use pumice_model::resource::{CPU, MEMORY};
use pumice_model::{Nodes, ResIx, State};

use crate::columns::{self, BLOCK, BlockScore, Full};

/// The third resource that counts, if the pod requests it.
const GPU: &str = "nvidia.com/gpu";

/// 75 for a node whose balance stays as it is, more or less when it gets better or worse; × weight.
pub(super) struct Balanced {
    /// Requests of the pod.
    cpu: i64,
    memory: i64,
    gpu: Option<(ResIx, i64)>,
    weight: i64,
}

impl Balanced {
    /// The score of a class; none when the pod requests none of the resources.
    pub fn new(state: &State, class: &Class, weight: i64) -> Option<Self> {
        let request = &class.shape.request;
        let (cpu, memory) = (request.get(CPU), request.get(MEMORY));
        let gpu = state.resources().get(GPU).map(|ix| (ix, request.get(ix)));
        let gpu = gpu.filter(|(_, amount)| *amount > 0);
        (cpu > 0 || memory > 0 || gpu.is_some()).then_some(Self {
            cpu,
            memory,
            gpu,
            weight,
        })
    }

    fn add_block(&self, nodes: &Nodes, range: Range<usize>, out: &mut [i64]) {
        let load = |ix, request| BalancedLoad::of(nodes, ix, request, range.clone());
        let cpu = load(CPU, self.cpu);
        let memory = load(MEMORY, self.memory);
        let gpu = self.gpu.map(|(ix, request)| load(ix, request));
        for (at, out) in out.iter_mut().enumerate() {
            let gpu = gpu.as_ref().and_then(|gpu| gpu.fractions(at));
            let change = match (cpu.fractions(at), memory.fractions(at), gpu) {
                (Some(cpu), Some(memory), Some(gpu)) => {
                    let of = |side: fn(&Fractions) -> f64| {
                        evenness_of_three(side(&cpu), side(&memory), side(&gpu))
                    };
                    of(|f| f.with) - of(|f| f.without)
                }
                (Some(one), Some(other), None)
                | (Some(one), None, Some(other))
                | (None, Some(one), Some(other)) => {
                    evenness(one.with, other.with) - evenness(one.without, other.without)
                }
                // A single resource is always even.
                _ => 0,
            };
            *out += self.weight * (50 + (50 + change) / 2);
        }
    }
}

impl NodeScore for Balanced {
    fn add_whole(&self, state: &State, range: Range<usize>, out: &mut [i64]) {
        let nodes = state.nodes();
        for (range, out) in columns::blocks(range.start, out) {
            match (self.plain(nodes, range.clone()), (&mut *out).try_into()) {
                (Some(plain), Ok(out)) => columns::add_scores(plain, out),
                _ => self.add_block(nodes, range, out),
            }
        }
    }
}

/// cpu and memory on a full block of nodes that have both.
struct BalancedBlock<'a> {
    cpu: BalancedResource<'a>,
    memory: BalancedResource<'a>,
    weight: i64,
}

/// One resource on a full block.
struct BalancedResource<'a> {
    request: i64,
    allocatable: &'a Full,
    used: &'a Full,
    pipelined: &'a Full,
}

impl Balanced {
    fn plain<'a>(&self, nodes: &'a Nodes, range: Range<usize>) -> Option<BalancedBlock<'a>> {
        let load = |ix, request| {
            let allocatable = columns::full_block(&nodes.allocatable, ix, range.clone())?;
            columns::all(allocatable, allocatable, |amount, _| amount > 0).then_some(
                BalancedResource {
                    request,
                    allocatable,
                    used: columns::full_block(&nodes.used, ix, range.clone())?,
                    pipelined: columns::full_block(&nodes.pipelined, ix, range.clone())?,
                },
            )
        };
        if range.len() < BLOCK || self.gpu.is_some() {
            return None;
        }
        let (cpu, memory) = (load(CPU, self.cpu)?, load(MEMORY, self.memory)?);
        Some(BalancedBlock {
            cpu,
            memory,
            weight: self.weight,
        })
    }
}

impl BalancedResource<'_> {
    /// Used fractions with the pod and without it.
    #[inline(always)]
    fn fractions(&self, at: usize) -> (f64, f64) {
        let load = self.used[at] + self.pipelined[at];
        let allocatable = self.allocatable[at] as f64;
        let most_one = |fraction: f64| if fraction > 1.0 { 1.0 } else { fraction };
        let with = (load + self.request) as f64 / allocatable;
        (most_one(with), most_one(load as f64 / allocatable))
    }
}

impl BlockScore for BalancedBlock<'_> {
    #[inline(always)]
    fn at(&self, at: usize) -> i64 {
        let (cpu, memory) = (self.cpu.fractions(at), self.memory.fractions(at));
        let (with, without) = (
            whole_evenness(cpu.0, memory.0),
            whole_evenness(cpu.1, memory.1),
        );
        let change = columns::whole(with - without);
        self.weight * (50 + (50 + change) / 2)
    }
}

/// [`evenness`] as a float.
#[inline(always)]
fn whole_evenness(one: f64, other: f64) -> f64 {
    columns::floor((1.0 - ((one - other) / 2.0).abs()) * 100.0)
}

/// One resource on the nodes of a block.
struct BalancedLoad<'a> {
    request: i64,
    allocatable: &'a [i64],
    used: &'a [i64],
    pipelined: &'a [i64],
}

/// Used fraction of one resource with the pod on the node and without it.
struct Fractions {
    with: f64,
    without: f64,
}

impl<'a> BalancedLoad<'a> {
    fn of(nodes: &'a Nodes, ix: ResIx, request: i64, range: Range<usize>) -> Self {
        Self {
            request,
            allocatable: columns::block(&nodes.allocatable, ix, range.clone()),
            used: columns::block(&nodes.used, ix, range.clone()),
            pipelined: columns::block(&nodes.pipelined, ix, range),
        }
    }

    /// None on a node that does not have the resource.
    fn fractions(&self, at: usize) -> Option<Fractions> {
        let allocatable = self.allocatable[at];
        if allocatable <= 0 {
            return None;
        }
        let load = self.used[at].saturating_add(self.pipelined[at]);
        let fraction = |load: i64| (load as f64 / allocatable as f64).min(1.0);
        let with = fraction(load.saturating_add(self.request));
        Some(Fractions {
            with,
            without: fraction(load),
        })
    }
}

/// 100 when both fractions are equal, less the more they differ.
fn evenness(one: f64, other: f64) -> i64 {
    percent_without(((one - other) / 2.0).abs())
}

/// 100 when all fractions are equal, less the more they deviate.
fn evenness_of_three(one: f64, two: f64, three: f64) -> i64 {
    let mean = (one + two + three) / 3.0;
    let square = |fraction: f64| (fraction - mean) * (fraction - mean);
    percent_without(((square(one) + square(two) + square(three)) / 3.0).sqrt())
}

fn percent_without(deviation: f64) -> i64 {
    ((1.0 - deviation) * 100.0) as i64
}
