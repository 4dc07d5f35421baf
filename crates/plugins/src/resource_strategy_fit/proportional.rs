//! Cpu and memory stay free for resources that others will ask for.

use std::ops::Range;

use pumice_conf::{Arg, ArgMap, ArgSpec, Arguments, Text};
use pumice_framework::points::NodeFilter;
use pumice_framework::{Class, ReasonId, ReasonKind, ReasonTable};
use pumice_model::resource::{CPU, MEMORY, Unit, unit_of};
use pumice_model::{LoadMoment, NodeIx, ResIx, State};

use super::names;
use crate::columns::value;

const ENABLE: Arg<bool> = Arg::switch(
    "enable",
    false,
    "Pods that ask for none of the listed resources leave cpu and memory for them.",
);
const RESOURCES: Arg<Text> = Arg::text(
    "resources",
    "",
    "The resources for which something is left, separated by commas.",
);
const RATES: Arg<ArgMap> = Arg::map("resourceProportion", &[RATE.spec()], "How much is left.");
const RATE: Arg<f64> = Arg::float(
    "*",
    1.0,
    "Left for each idle unit: `<resource>.cpu` in cpus, `<resource>.memory` in GB (10⁹ bytes).",
)
.min_or_default(0.0);

/// What the map may say.
pub(super) const ARGS: &[ArgSpec] = &[ENABLE.spec(), RESOURCES.spec(), RATES.spec()];

/// A listed resource.
#[derive(Clone)]
struct ListedResource {
    name: String,
    /// Milli-cores and bytes for one unit.
    cpu_milli: f64,
    memory_bytes: f64,
    reason: ReasonId,
}

/// The arguments.
#[derive(Clone)]
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
        if !ENABLE.read(arguments) {
            return None;
        }
        let rates = RATES.read(arguments);
        let rate = |key: String| RATE.read_for(&rates, &key);
        let listed = names(RESOURCES.read(arguments)).into_iter().map(|name| {
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

    fn counts_released(&self) -> bool {
        true
    }

    fn reject(
        &self,
        state: &State,
        range: Range<usize>,
        moment: LoadMoment,
        out: &mut [Option<ReasonId>],
    ) {
        let nodes = state.nodes();
        for (node, out) in range.zip(out) {
            let idle = |resource| match moment {
                LoadMoment::Now => value(&nodes.idle, resource, node),
                LoadMoment::Released => nodes.future_idle(resource, NodeIx(node as u32)),
            };
            let left = |resource, asked| idle(resource).saturating_sub(asked);
            let cpu = left(CPU, self.cpu) as f64;
            let memory = left(MEMORY, self.memory) as f64;
            let takes_too_much = |part: &&ReservedUnit| {
                let idle = idle(part.resource) as f64;
                value(&nodes.total, part.resource, node) > 0
                    && (cpu < idle * part.cpu_milli || memory < idle * part.memory_bytes)
            };
            if let Some(part) = self.parts.iter().find(takes_too_much) {
                *out = Some(part.reason);
            }
        }
    }
}
