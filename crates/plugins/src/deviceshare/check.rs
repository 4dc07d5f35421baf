//! The devices of nodes against what a class of pods asks: the families judge, here their answers become
//! verdicts, reasons and points.

use std::ops::Range;
use std::sync::Arc;

use pumice_devices::{DeviceRequest, LedgerTime, NearMiss, NodeDevices};
use pumice_framework::points::{LedgerCheck, ReasonDetail};
use pumice_framework::{Class, ReasonKind, ReasonTable, SetId, Verdict};
use pumice_model::{NodeIx, Nodes};

/// What a class asks of devices, with its reasons and the weight of its score.
pub(super) struct DeviceCheck {
    demand: Arc<DeviceRequest>,
    /// By failure of the demand.
    reasons: Vec<SetId>,
    weight: i64,
}

impl DeviceCheck {
    /// The check of a class; none if it asks for nothing.
    pub fn new(class: &Class, table: &mut ReasonTable, weight: i64) -> Option<Self> {
        let demand = class.devices.clone();
        if demand.parts.is_empty() {
            return None;
        }
        let reasons = demand.failures().map(|failure| {
            let kind = match failure.evictions_help {
                true => ReasonKind::Unschedulable,
                false => ReasonKind::Unresolvable,
            };
            let reason = table.intern(&failure.text, kind);
            table.set(&[reason])
        });
        let reasons = reasons.collect();
        Some(Self {
            demand,
            reasons,
            weight,
        })
    }

    /// Whether a node fits on which the views differ. As with resources it must fit what will be,
    /// or pods that wait for cards would lose those they do not have to wait for.
    fn judge_in_transit(
        &self,
        devices: &NodeDevices,
        has_room_now: bool,
    ) -> Result<(Verdict, i64), usize> {
        let later = self.demand.fit(devices, LedgerTime::Future)?;
        if has_room_now && let Ok(score) = self.demand.fit(devices, LedgerTime::Now) {
            return Ok((Verdict::IDLE, self.points(score)));
        }
        Ok((Verdict::FUTURE, self.points(later)))
    }

    fn points(&self, score: f64) -> i64 {
        rounded(score) * self.weight
    }
}

/// A score rounded half up, also where it is negative.
pub(super) fn rounded(score: f64) -> i64 {
    let raised = score + 0.5;
    let cut = raised as i64;
    cut - i64::from(raised < cut as f64)
}

impl LedgerCheck for DeviceCheck {
    /// The points of a node are the families' score rounded half up, times the weight (spec/04 §3.5).
    fn judge(
        &self,
        nodes: &Nodes,
        range: Range<usize>,
        verdicts: &mut [Verdict],
        scores: &mut [i64],
        reasons: ReasonDetail,
    ) {
        for ((at, verdict), score) in range.zip(verdicts).zip(scores) {
            if !verdict.fits() {
                continue;
            }
            let devices = &nodes.devices[at];
            let now = *verdict == Verdict::IDLE;
            if nodes.in_transit > 0 && devices.is_in_transit() {
                match self.judge_in_transit(devices, now) {
                    Ok((fits, points)) => {
                        *verdict = fits;
                        *score += points;
                    }
                    Err(failure) => *verdict = Verdict::unfit(self.reasons[failure]),
                }
                continue;
            }
            match self.demand.fit_summary(devices) {
                Some(Some(fit)) => *score += self.points(fit),
                Some(None) if reasons == ReasonDetail::Any => {
                    *verdict = Verdict::unfit(self.reasons[0])
                }
                _ => match self.demand.fit(devices, LedgerTime::Now) {
                    Ok(fit) => *score += self.points(fit),
                    Err(failure) => *verdict = Verdict::unfit(self.reasons[failure]),
                },
            }
        }
    }

    fn is_failure(&self, set: SetId) -> bool {
        self.reasons.contains(&set)
    }

    fn serves_when_idle(&self, nodes: &Nodes, node: NodeIx) -> bool {
        let devices = &nodes.devices[node.at()];
        self.demand.fit(devices, LedgerTime::Idle).is_ok()
    }

    fn explain(&self, nodes: &Nodes, node: NodeIx) -> Option<NearMiss> {
        let name = &nodes.object(node).name;
        let devices = &nodes.devices[node.at()];
        self.demand.explain(name, devices, LedgerTime::Future)
    }

    fn is_lasting(&self) -> bool {
        true
    }
}
