//! Cpu and memory stay free for resources that others will ask for.

use std::ops::Range;

use pumice_conf::Arguments;
use pumice_framework::points::NodeFilter;
use pumice_framework::{Class, ReasonId, ReasonKind, ReasonTable};
use pumice_model::resource::{CPU, MEMORY, Unit, unit_of};
use pumice_model::{ResIx, State};

use super::names;
use crate::columns::value;

/// A listed resource.
struct ListedResource {
    name: String,
    /// Milli-cores and bytes for one unit.
    cpu_milli: f64,
    memory_bytes: f64,
    reason: ReasonId,
}

/// The arguments.
pub(super) struct Proportional(Vec<ListedResource>);

/// The filter of a class.
struct ProportionalFilter {
    cpu: i64,
    memory: i64,
    parts: Vec<ReservedUnit>,
}

/// What one unit, as it is stored, has reserved.
struct ReservedUnit {
    resource: ResIx,
    cpu_milli: f64,
    memory_bytes: f64,
    reason: ReasonId,
}

impl Proportional {
    /// None where it is off.
    pub fn new(arguments: &Arguments, reasons: &mut ReasonTable) -> Option<Self> {
        if !arguments.bool("enable").unwrap_or(false) {
            return None;
        }
        let rates = arguments.map("resourceProportion");
        let rate = |key: String| rates.float(&key).filter(|rate| *rate >= 0.0).unwrap_or(1.0);
        let listed = names(arguments, "resources").into_iter().map(|name| {
            let text = format!("proportional of resource {name} check failed");
            ListedResource {
                cpu_milli: rate(format!("{name}.cpu")) * 1e3,
                memory_bytes: rate(format!("{name}.memory")) * 1e9,
                // As Volcano has it: evicting others of the node is not tried for such a pod.
                reason: reasons.intern(&text, ReasonKind::Unresolvable),
                name,
            }
        });
        Some(Self(listed.collect()))
    }

    /// The filter of a class; none for one that asks for a listed resource.
    pub fn filter(&self, state: &State, class: &Class) -> Option<Box<dyn NodeFilter>> {
        let request = &class.shape.request;
        let mut parts = Vec::new();
        for listed in &self.0 {
            let Some(resource) = state.resources().get(&listed.name) else {
                continue;
            };
            if request.get(resource) > 0 {
                return None;
            }
            let milli = unit_of(&listed.name) == Some(Unit::Milli);
            let units = if milli { 1e3 } else { 1.0 };
            parts.push(ReservedUnit {
                resource,
                cpu_milli: listed.cpu_milli / units,
                memory_bytes: listed.memory_bytes / units,
                reason: listed.reason,
            });
        }
        // Cpu and memory are what is kept, not what it is kept for.
        parts.retain(|part| part.resource != CPU && part.resource != MEMORY);
        let (cpu, memory) = (request.get(CPU), request.get(MEMORY));
        let filter = ProportionalFilter { cpu, memory, parts };
        (!filter.parts.is_empty()).then(|| Box::new(filter) as Box<dyn NodeFilter>)
    }
}

impl NodeFilter for ProportionalFilter {
    fn before_static(&self) -> bool {
        false
    }

    fn reject(&self, state: &State, range: Range<usize>, out: &mut [Option<ReasonId>]) {
        let nodes = state.nodes();
        for (node, out) in range.zip(out) {
            let left = |resource, asked| value(&nodes.idle, resource, node).saturating_sub(asked);
            let cpu = left(CPU, self.cpu) as f64;
            let memory = left(MEMORY, self.memory) as f64;
            let takes_too_much = |part: &&ReservedUnit| {
                let idle = value(&nodes.idle, part.resource, node) as f64;
                value(&nodes.total, part.resource, node) > 0
                    && (cpu < idle * part.cpu_milli || memory < idle * part.memory_bytes)
            };
            if let Some(part) = self.parts.iter().find(takes_too_much) {
                *out = Some(part.reason);
            }
        }
    }
}
