//! The Kubernetes rule for what a pod takes, over exact quantities (spec/01 §3.2).
//!
//! ```text
//!  per resource:  max( Σ containers + Σ sidecars ,
//!                      peak over init containers in order, each with the sidecars before it )
//! ```

use std::collections::BTreeMap;

use pumice_units::quantity::Quantity;

/// Exact amounts by resource name.
pub type Exact<'a> = BTreeMap<&'a str, Quantity>;

/// Adds `more` to `sum`.
pub fn add<'a>(sum: &mut Exact<'a>, more: &Exact<'a>) {
    for (name, amount) in more {
        let entry = sum.entry(name).or_default();
        *entry = entry.plus(*amount);
    }
}

/// Raises `peak` to `other` where that is larger.
pub fn max_with<'a>(peak: &mut Exact<'a>, other: &Exact<'a>) {
    for (name, amount) in other {
        let entry = peak.entry(name).or_default();
        *entry = (*entry).max(*amount);
    }
}

/// Whether `spec.resources` of a pod counts for this resource.
pub fn is_pod_level(name: &str) -> bool {
    name == "cpu" || name == "memory" || name.starts_with("hugepages-")
}

/// What the containers of a pod ask for, in the order of the pod.
#[derive(Clone, Debug, Default)]
pub struct Needs<'a> {
    /// Init containers; `true` for those that keep running (`restartPolicy: Always`).
    pub init: Vec<(bool, Exact<'a>)>,
    /// Regular containers.
    pub regular: Vec<Exact<'a>>,
}

impl<'a> Needs<'a> {
    /// The rule; `defaults` stand in for resources a container does not name.
    pub fn total(&self, defaults: &Exact<'a>) -> Exact<'a> {
        let filled = |amounts: &Exact<'a>| {
            let mut amounts = amounts.clone();
            for (name, amount) in defaults {
                amounts.entry(name).or_insert(*amount);
            }
            amounts
        };
        let mut running = Exact::new();
        for amounts in &self.regular {
            add(&mut running, &filled(amounts));
        }
        let mut sidecars = Exact::new();
        let mut peak = Exact::new();
        for (sidecar, amounts) in &self.init {
            let mut amounts = filled(amounts);
            if *sidecar {
                add(&mut running, &amounts);
                add(&mut sidecars, &amounts);
                max_with(&mut peak, &sidecars);
            } else {
                add(&mut amounts, &sidecars);
                max_with(&mut peak, &amounts);
            }
        }
        max_with(&mut running, &peak);
        running
    }
}
