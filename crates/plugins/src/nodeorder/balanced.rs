//! Balanced allocation: does the pod make the use of cpu, memory and GPUs more even or less
//! (spec/02 §8.2)?

use std::ops::Range;

use pumice_framework::{Class, NodeScore};
use pumice_model::resource::{CPU, MEMORY};
use pumice_model::{Nodes, ResIx, State};
use smallvec::SmallVec;

use crate::columns::{self, BLOCK};

/// The third resource that counts, if the pod requests it.
const GPU: &str = "nvidia.com/gpu";

/// 75 for a node whose balance stays as it is, more or less when it gets better or worse; × weight.
pub(super) struct Balanced {
    /// Resources that count, with the pod's request.
    parts: SmallVec<[(ResIx, i64); 3]>,
    weight: i64,
}

impl Balanced {
    /// The score of a class; none when the pod requests none of the resources.
    pub fn new(state: &State, class: &Class, weight: i64) -> Option<Self> {
        let request = &class.shape.request;
        let mut parts: SmallVec<[(ResIx, i64); 3]> = SmallVec::new();
        parts.extend([CPU, MEMORY].map(|ix| (ix, request.get(ix))));
        let gpu = state.resources.get(GPU).map(|ix| (ix, request.get(ix)));
        parts.extend(gpu.filter(|(_, amount)| *amount > 0));
        parts
            .iter()
            .any(|(_, amount)| *amount > 0)
            .then_some(Self { parts, weight })
    }
}

impl NodeScore for Balanced {
    fn add_whole(&self, nodes: &Nodes, range: Range<usize>, out: &mut [i64]) {
        for (range, out) in columns::blocks(range.start, out) {
            let mut with = [Fractions::default(); BLOCK];
            let mut without = [Fractions::default(); BLOCK];
            for (ix, request) in &self.parts {
                let allocatable = columns::block(&nodes.allocatable, *ix, range.clone());
                let used = columns::block(&nodes.used, *ix, range.clone());
                let pipelined = columns::block(&nodes.pipelined, *ix, range.clone());
                let loads = allocatable.iter().zip(used).zip(pipelined);
                let sides = with.iter_mut().zip(&mut without);
                for (((allocatable, used), pipelined), (with, without)) in loads.zip(sides) {
                    if *allocatable > 0 {
                        let load = used.saturating_add(*pipelined);
                        with.push(load.saturating_add(*request), *allocatable);
                        without.push(load, *allocatable);
                    }
                }
            }
            for ((with, without), out) in with.iter().zip(&without).zip(out) {
                let change = with.evenness() - without.evenness();
                *out += self.weight * (50 + (50 + change) / 2);
            }
        }
    }
}

/// Used fractions of the resources of one node.
#[derive(Clone, Copy, Default)]
struct Fractions {
    values: [f64; 3],
    count: usize,
}

impl Fractions {
    fn push(&mut self, load: i64, allocatable: i64) {
        self.values[self.count] = (load as f64 / allocatable as f64).min(1.0);
        self.count += 1;
    }

    /// 100 when all fractions are equal, less the more they deviate.
    fn evenness(&self) -> i64 {
        let values = &self.values[..self.count];
        let deviation = match values {
            [one, other] => ((one - other) / 2.0).abs(),
            [_, _, _] => {
                let mean = values.iter().sum::<f64>() / 3.0;
                let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
                (squares / 3.0).sqrt()
            }
            _ => 0.0,
        };
        ((1.0 - deviation) * 100.0) as i64
    }
}
