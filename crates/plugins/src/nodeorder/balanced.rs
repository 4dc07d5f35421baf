//! Balanced allocation: does the pod make the use of cpu, memory and GPUs more even or less
//! (spec/02 §8.2)?

use std::ops::Range;

use pumice_framework::{Class, NodeScore};
use pumice_model::resource::{CPU, MEMORY};
use pumice_model::{Nodes, ResIx, State};

use crate::columns;

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
        let gpu = state.resources.get(GPU).map(|ix| (ix, request.get(ix)));
        let gpu = gpu.filter(|(_, amount)| *amount > 0);
        (cpu > 0 || memory > 0 || gpu.is_some()).then_some(Self {
            cpu,
            memory,
            gpu,
            weight,
        })
    }

    fn add_block(&self, nodes: &Nodes, range: Range<usize>, out: &mut [i64]) {
        let load = |ix, request| Load::of(nodes, ix, request, range.clone());
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
    fn add_whole(&self, nodes: &Nodes, range: Range<usize>, out: &mut [i64]) {
        for (range, out) in columns::blocks(range.start, out) {
            self.add_block(nodes, range, out);
        }
    }
}

/// One resource on the nodes of a block.
struct Load<'a> {
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

impl<'a> Load<'a> {
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
