//! Least and most requested: how full cpu and memory would be with the pod on the node
//! (spec/02 §8.1).

use std::ops::Range;

use pumice_framework::Class;
use pumice_framework::points::NodeScore;
use pumice_model::resource::{CPU, MEMORY};
use pumice_model::{Nodes, State};

use crate::columns::{self, BlockScore, Full};

/// What is liked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prefer {
    /// Free resources.
    Least,
    /// Requested resources.
    Most,
}

/// The mean over cpu and memory of the free (or requested) percentage, × weight. Containers without
/// a request count with the Kubernetes defaults.
pub(super) struct Requested {
    cpu_milli: i64,
    memory_bytes: i64,
    prefer: Prefer,
    weight: i64,
}

impl Requested {
    /// The score of a class.
    pub fn new(class: &Class, prefer: Prefer, weight: i64) -> Self {
        Self {
            cpu_milli: class.shape.nonzero_cpu_milli,
            memory_bytes: class.shape.nonzero_memory_bytes,
            prefer,
            weight,
        }
    }

    fn add_block(
        &self,
        nodes: &Nodes,
        range: Range<usize>,
        out: &mut [i64],
        score: impl Fn(i64, i64) -> i64,
    ) {
        let cpu = columns::block(&nodes.allocatable, CPU, range.clone());
        let memory = columns::block(&nodes.allocatable, MEMORY, range.clone());
        let loads = nodes.nonzero_cpu_milli[range.clone()]
            .iter()
            .zip(&nodes.nonzero_memory_bytes[range]);
        for (((cpu, memory), (cpu_load, memory_load)), out) in
            cpu.iter().zip(memory).zip(loads).zip(out)
        {
            let cpu_score = score(cpu_load.saturating_add(self.cpu_milli), *cpu);
            let memory_score = score(memory_load.saturating_add(self.memory_bytes), *memory);
            // A resource the node does not have is left out of the mean.
            let present = i64::from(*cpu > 0) + i64::from(*memory > 0);
            let sum = cpu_score + memory_score;
            *out += self.weight * if present == 2 { sum / 2 } else { sum };
        }
    }
}

impl NodeScore for Requested {
    fn add_whole(&self, state: &State, range: Range<usize>, out: &mut [i64]) {
        let nodes = state.nodes();
        for (range, out) in columns::blocks(range.start, out) {
            if let (Some(plain), Ok(out)) =
                (self.plain(nodes, range.clone()), (&mut *out).try_into())
            {
                columns::add_scores(plain, out);
                continue;
            }
            match self.prefer {
                Prefer::Least => self.add_block(nodes, range, out, least),
                Prefer::Most => self.add_block(nodes, range, out, most),
            }
        }
    }
}

/// Up to here a hundredfold amount is still exact as a float.
const EXACT_WHOLE: i64 = (1 << 53) / 128;

/// A full block of nodes that have both resources in ordinary amounts.
struct RequestedBlock<'a> {
    cpu: RequestedResource<'a>,
    memory: RequestedResource<'a>,
    least: bool,
    weight: i64,
}

/// One resource on a full block.
struct RequestedResource<'a> {
    request: i64,
    allocatable: &'a Full,
    load: &'a Full,
}

impl Requested {
    fn plain<'a>(&self, nodes: &'a Nodes, range: Range<usize>) -> Option<RequestedBlock<'a>> {
        let load = |ix, request, load: &'a [i64]| {
            let allocatable = columns::full_block(&nodes.allocatable, ix, range.clone())?;
            let is_ordinary = |amount, _| (1..=EXACT_WHOLE).contains(&amount);
            let ordinary = columns::all(allocatable, allocatable, is_ordinary);
            let load = load[range.clone()].try_into().ok()?;
            ordinary.then_some(RequestedResource {
                request,
                allocatable,
                load,
            })
        };
        if range.len() < columns::BLOCK {
            return None;
        }
        Some(RequestedBlock {
            cpu: load(CPU, self.cpu_milli, &nodes.nonzero_cpu_milli)?,
            memory: load(MEMORY, self.memory_bytes, &nodes.nonzero_memory_bytes)?,
            least: self.prefer == Prefer::Least,
            weight: self.weight,
        })
    }
}

impl RequestedResource<'_> {
    #[inline(always)]
    fn percent(&self, at: usize, least: bool) -> f64 {
        let whole = self.allocatable[at];
        let free = (whole - self.load[at] - self.request).max(0);
        let part = if least { free } else { whole - free };
        exact_percent(part as f64, whole as f64)
    }
}

impl BlockScore for RequestedBlock<'_> {
    #[inline(always)]
    fn at(&self, at: usize) -> i64 {
        let sum = self.cpu.percent(at, self.least) + self.memory.percent(at, self.least);
        self.weight * (columns::whole(sum) / 2)
    }
}

/// [`percent`] in floats, for `0 <= part <= whole <= EXACT_WHOLE`: all products are exact, so one
/// step of correction either way gives the integer quotient.
#[inline(always)]
fn exact_percent(part: f64, whole: f64) -> f64 {
    let scaled = part * 100.0;
    let quotient = columns::floor(scaled / whole);
    let rest = scaled - quotient * whole;
    let up = if rest >= whole { 1.0 } else { 0.0 };
    let down = if rest < 0.0 { 1.0 } else { 0.0 };
    quotient + up - down
}

/// Free percentage, 0 when over.
fn least(requested: i64, allocatable: i64) -> i64 {
    percent((allocatable - requested).max(0), allocatable)
}

/// Requested percentage, 100 when over.
fn most(requested: i64, allocatable: i64) -> i64 {
    percent(requested.min(allocatable), allocatable)
}

/// `part * 100 / whole` in integers for `0 <= part <= whole`, 0 for a whole of 0. A float quotient
/// and one exact step of correction replace the slow integer division: the quotient is at most 100,
/// so its error is far below 1.
fn percent(part: i64, whole: i64) -> i64 {
    if whole <= 0 {
        return 0;
    }
    let scaled = part.saturating_mul(100);
    let quotient = (scaled as f64 / whole as f64) as i64;
    let rest = scaled.wrapping_sub(quotient.wrapping_mul(whole));
    quotient + i64::from(rest >= whole) - i64::from(rest < 0)
}

#[cfg(test)]
mod tests {
    use super::{EXACT_WHOLE, exact_percent, percent};

    #[test]
    fn percent_is_the_integer_division() {
        let mut seed = 1u64;
        let mut next = || {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 10) as i64 % (1 << 53)
        };
        for shift in 0..50 {
            for _ in 0..200 {
                let whole = (next() >> shift).max(1);
                let near = whole / 100 * (next() % 101) + next() % 3 - 1;
                for part in [next() % (whole + 1), near.clamp(0, whole), 0, whole] {
                    assert_eq!(
                        percent(part, whole),
                        part * 100 / whole,
                        "{part} of {whole}"
                    );
                    if whole <= EXACT_WHOLE {
                        let exact = exact_percent(part as f64, whole as f64);
                        assert_eq!(exact, (part * 100 / whole) as f64, "{part} of {whole}");
                    }
                }
            }
        }
        assert_eq!(percent(0, 0), 0);
    }
}
