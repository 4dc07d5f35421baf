//! Devices of nodes against what a class asks.
//!
//! Like resources, devices are looked at whatever plugins are configured: a card is never given out
//! unseen.

use std::ops::Range;
use std::rc::Rc;

use pumice_devices::{DeviceRequest, NearMiss, NodeDevices, View};
use pumice_framework::{Class, ReasonKind, ReasonTable, SetId};
use pumice_model::{NodeIx, Nodes, State};

use super::evaluate::Verdict;

/// What a class asks of devices, with its reasons and the weight of its score.
pub struct DeviceCheck {
    demand: Rc<DeviceRequest>,
    /// By failure of the demand.
    reasons: Vec<SetId>,
    weight: i64,
}

impl DeviceCheck {
    /// The check of a class; none if it asks for nothing.
    pub fn new(state: &State, table: &mut ReasonTable, class: &Class) -> Option<Self> {
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
            weight: state.devices().families().settings().weight,
        })
    }

    /// Of the nodes that fit otherwise, turns down those whose devices do not, and adds the scores of
    /// the others: the score rounded half up, times the weight (spec/04 §3.5). Where nobody asks for
    /// reasons, any failure stands for all.
    pub fn judge(
        &self,
        nodes: &Nodes,
        range: Range<usize>,
        verdict: &mut [Verdict],
        whole: &mut [i64],
        with_reasons: bool,
    ) {
        for ((at, verdict), whole) in range.zip(verdict).zip(whole) {
            if !verdict.fits() {
                continue;
            }
            let devices = &nodes.devices[at];
            let now = *verdict == Verdict::IDLE;
            if nodes.in_transit > 0 && devices.is_in_transit() {
                match self.judge_in_transit(devices, now) {
                    Ok((fits, points)) => {
                        *verdict = fits;
                        *whole += points;
                    }
                    Err(failure) => *verdict = Verdict::unfit(self.reasons[failure]),
                }
                continue;
            }
            match self.demand.fit_summary(devices) {
                Some(Some(score)) => *whole += self.points(score),
                Some(None) if !with_reasons => *verdict = Verdict::unfit(self.reasons[0]),
                _ => match self.demand.fit(devices, View::Now) {
                    Ok(score) => *whole += self.points(score),
                    Err(failure) => *verdict = Verdict::unfit(self.reasons[failure]),
                },
            }
        }
    }

    /// Whether a node fits on which the views differ. As with resources it must fit what will be,
    /// or pods that wait for cards would lose those they do not have to wait for.
    fn judge_in_transit(
        &self,
        devices: &NodeDevices,
        has_room_now: bool,
    ) -> Result<(Verdict, i64), usize> {
        let later = self.demand.fit(devices, View::Future)?;
        if has_room_now && let Ok(score) = self.demand.fit(devices, View::Now) {
            return Ok((Verdict::IDLE, self.points(score)));
        }
        Ok((Verdict::FUTURE, self.points(later)))
    }

    fn points(&self, score: f64) -> i64 {
        // Scores are not negative: cutting off rounds down.
        (score + 0.5) as i64 * self.weight
    }

    /// Whether a set of reasons is one of the failures.
    pub fn is_failure(&self, set: SetId) -> bool {
        self.reasons.contains(&set)
    }

    /// Whether the devices of a node would do if nobody held any.
    pub fn serves_when_idle(&self, nodes: &Nodes, node: NodeIx) -> bool {
        let devices = &nodes.devices[node.at()];
        self.demand.fit(devices, View::Idle).is_ok()
    }

    /// Why the devices of a node do not do, counting what is being released.
    pub fn explain(&self, nodes: &Nodes, node: NodeIx) -> Option<NearMiss> {
        let name = &nodes.object(node).name;
        let devices = &nodes.devices[node.at()];
        self.demand.explain(name, devices, View::Future)
    }
}
