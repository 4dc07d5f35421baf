//! The filter for resource claims, DynamicResources (spec/02 §6.7, §6.8, spec/09).

use std::ops::Range;
use std::sync::Arc;

use pumice_framework::points::{Class, NodeFilter};
use pumice_framework::{ReasonId, ReasonKind, ReasonTable};
use pumice_model::claim::{ClaimMisfit, DeviceMisfit};
use pumice_model::{LoadMoment, NodeIx, ResourceNeed, ResourceNeedIx, State};

/// Texts of spec/02 §6.7, and of what Kubernetes tells as an error.
#[derive(Clone, Copy)]
pub struct ClaimReasons {
    elsewhere: ReasonId,
    not_enough: ReasonId,
    in_flux: ReasonId,
    fails: ReasonId,
    too_long: ReasonId,
}

impl ClaimReasons {
    /// Interns the reasons.
    pub fn new(table: &mut ReasonTable) -> Self {
        let helped = table.intern("cannot allocate all claims", ReasonKind::Unschedulable);
        let mut hard = |text| table.intern(text, ReasonKind::Unresolvable);
        Self {
            not_enough: helped,
            elsewhere: hard("resourceclaim not available on the node"),
            in_flux: hard("cannot allocate all devices while a resource pool is being updated"),
            fails: hard("a device selector of the claims fails"),
            too_long: hard("gave up the search for devices"),
        }
    }

    fn of(&self, misfit: &ClaimMisfit) -> ReasonId {
        match misfit {
            ClaimMisfit::Elsewhere => self.elsewhere,
            ClaimMisfit::Devices(DeviceMisfit::NotEnough) => self.not_enough,
            ClaimMisfit::Devices(DeviceMisfit::PoolInFlux) => self.in_flux,
            ClaimMisfit::Devices(DeviceMisfit::SelectorFails { .. }) => self.fails,
            ClaimMisfit::Devices(DeviceMisfit::TooLong) => self.too_long,
        }
    }
}

/// The first reason against pods of this need on every node. With the filter off nobody is bound whose
/// claims nobody looks at.
pub fn refusal(is_on: bool, class: &Class) -> Option<String> {
    if class.key.claims == ResourceNeedIx::NONE {
        return None;
    }
    let by = |text: &str| format!("plugin DynamicResources pre-predicates failed {text}");
    if !is_on {
        return Some(by(
            "resource claims are switched off by predicate.DynamicResourceAllocationEnable",
        ));
    }
    class.claims.refusal.as_deref().map(by)
}

/// The filter of a class, if it has resource claims.
pub fn filter(reasons: ClaimReasons, class: &Class) -> Option<Box<dyn NodeFilter>> {
    if class.key.claims == ResourceNeedIx::NONE {
        return None;
    }
    let need = class.claims.clone();
    Some(Box::new(ServedClaims { need, reasons }))
}

/// The claims have devices there, or can get them.
struct ServedClaims {
    need: Arc<ResourceNeed>,
    reasons: ClaimReasons,
}

impl NodeFilter for ServedClaims {
    fn before_static(&self) -> bool {
        false
    }

    fn reject(
        &self,
        state: &State,
        range: Range<usize>,
        moment: LoadMoment,
        out: &mut [Option<ReasonId>],
    ) {
        let stock = state.supplies().resource_claims().stock();
        for (node, out) in range.zip(out) {
            let node = NodeIx(node as u32);
            if let Err(misfit) = stock.fits(&self.need, state.nodes(), node, moment) {
                *out = Some(self.reasons.of(&misfit));
            }
        }
    }

    fn counts_released(&self) -> bool {
        !self.need.open.is_empty()
    }
}
