//! What one bind writes about its resource claims, and how it gives that back (spec/09 §6): the loop of
//! `crates/cluster` around the decisions of [`ClaimStep`]. A claim is read, changed and written on the version
//! that was read, until it has happened, nothing is left to do or no time is left.

use pumice_model::claim::{ClaimGift, ClaimReading, ClaimReturn, ClaimStep, FoundDevices};
use pumice_model::object::{ResourceClaimObject, WrittenClaim};
use pumice_model::write::{BindFailure, BindRequest, Outcome};

use super::around::{Around, NOT_THE_LEADER};
use super::claims::ClaimAnswer;
use super::network::{ANSWER_MS, ServerAnswer, ServerCall};
use super::server::key;

/// How long one change is tried, where that is bounded, milliseconds.
pub const CHANGE_MS: u64 = 5_000;

/// One change of one claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClaimWrite {
    Protect,
    Give,
    TakeBack,
    Unprotect,
}

/// The changes of a bind that are left, the next one last, and the request under way.
#[derive(Clone, Debug)]
pub struct ClaimWriter {
    left: Vec<(usize, ClaimWrite)>,
    /// Number of the request, and when it was sent.
    sent: Option<(u64, u64)>,
    /// When the change under way was begun.
    since_ms: Option<u64>,
    /// Another scheduler has bound the pod to another node.
    is_bound_elsewhere: bool,
    /// Claims that have let the pod in.
    pub written: Vec<WrittenClaim>,
    /// Claims that stay with devices although the bind has failed, since they are a group's.
    pub kept: Vec<WrittenClaim>,
    /// The term in which the bind was decided is over.
    pub is_over: bool,
}

/// How a try ended.
enum Tried {
    /// Nothing is left to do with the claim, which has this version.
    Done(u64),
    /// The finalizer has to be added again.
    Unprotected,
    /// A request is under way, or may not be sent now.
    Waits,
    /// It cannot be done.
    Failed(String),
}

impl ClaimWriter {
    /// Writes what the claims of a pod get.
    pub fn forth(request: &BindRequest) -> Self {
        let mut left = Vec::new();
        for (at, step) in request.claims.iter().enumerate() {
            if step.allocation.is_some() {
                left.push((at, ClaimWrite::Protect));
            }
            left.push((at, ClaimWrite::Give));
        }
        left.reverse();
        Self::of(left)
    }

    /// Gives it back once the bind has ended so, the last first.
    pub fn back(request: &BindRequest, end: &Outcome) -> Self {
        let failure = match end {
            Outcome::BindFailed { failure, .. } => Some(failure),
            _ => None,
        };
        let mut left = Vec::new();
        for at in 0..request.claims.len() {
            left.push((at, ClaimWrite::Unprotect));
            left.push((at, ClaimWrite::TakeBack));
        }
        Self {
            is_bound_elsewhere: matches!(failure, Some(BindFailure::BoundElsewhere(_))),
            ..Self::of(left)
        }
    }

    fn of(left: Vec<(usize, ClaimWrite)>) -> Self {
        Self {
            left,
            sent: None,
            since_ms: None,
            is_bound_elsewhere: false,
            written: Vec::new(),
            kept: Vec::new(),
            is_over: false,
        }
    }

    /// How it ended, if it has.
    pub fn step(
        &mut self,
        request: &BindRequest,
        around: &mut Around<'_>,
    ) -> Option<Result<(), String>> {
        while let Some((at, change)) = self.left.last().copied() {
            let step = &request.claims[at];
            match self.attempt(step, &request.pod.uid, change, around) {
                Tried::Done(version) => {
                    self.left.truncate(self.left.len() - 1);
                    if change == ClaimWrite::Give {
                        self.written.push(written(step, version));
                    }
                }
                Tried::Unprotected => self.left.push((at, ClaimWrite::Protect)),
                Tried::Waits => return None,
                Tried::Failed(text)
                    if change == ClaimWrite::Protect || change == ClaimWrite::Give =>
                {
                    return Some(Err(text));
                }
                // What cannot be taken back is told, and the next one is seen to. Where a status could not be,
                // its finalizer stays.
                Tried::Failed(_) => self.left.retain(|(other, _)| *other != at),
            }
            self.since_ms = None;
        }
        Some(Ok(()))
    }

    fn attempt(
        &mut self,
        step: &ClaimStep,
        pod: &str,
        change: ClaimWrite,
        around: &mut Around<'_>,
    ) -> Tried {
        let now_ms = around.server.now_ms();
        if let Some((id, at_ms)) = self.sent {
            let answer = around.network.answer(id, now_ms);
            if answer.is_none() && now_ms < at_ms + ANSWER_MS {
                return Tried::Waits;
            }
            if answer.is_none() {
                around.network.abandon(id);
            }
            self.sent = None;
            match answer {
                Some(ServerAnswer::Claim(ClaimAnswer::Written(version))) => {
                    return Tried::Done(version);
                }
                Some(ServerAnswer::Refused) if change == ClaimWrite::Give => {
                    return Tried::Failed("an admission policy says no".to_owned());
                }
                _ => {}
            }
            // As after a pause: at most one request a step.
            if self.is_over(change, now_ms) {
                return Tried::Failed("no answer".to_owned());
            }
        }
        self.since_ms.get_or_insert(now_ms);
        if self.is_over {
            return Tried::Failed(NOT_THE_LEADER.to_owned());
        }
        if !around.has_term() {
            return Tried::Waits;
        }
        let claim = key(&step.namespace, &step.claim);
        let Some(known) = around.server.devices.claims.get(&claim) else {
            return Tried::Failed("it does not exist any more".to_owned());
        };
        let found = reading(&known.object, step, pod);
        if change == ClaimWrite::Give && step.gives(&found) == Ok(ClaimGift::Unprotected) {
            return Tried::Unprotected;
        }
        let version = known.version;
        if change == ClaimWrite::TakeBack && step.leaves(&found) {
            self.kept.push(written(step, version));
        }
        let change = (change, self.is_bound_elsewhere);
        match changed(step, pod, change, &known.object) {
            Err(text) => Tried::Failed(text),
            Ok(None) => Tried::Done(version),
            Ok(Some(object)) => {
                let of_status = matches!(change.0, ClaimWrite::Give | ClaimWrite::TakeBack);
                self.sent = Some(around.send(ServerCall::UpdateClaim {
                    version,
                    of_status,
                    object: Box::new(object),
                }));
                Tried::Waits
            }
        }
    }

    fn is_over(&self, change: ClaimWrite, now_ms: u64) -> bool {
        let since_ms = self.since_ms.unwrap_or(now_ms);
        change != ClaimWrite::TakeBack && now_ms >= since_ms + CHANGE_MS
    }
}

/// Devices of a claim that are given back because they keep a pod from nodes.
#[derive(Clone, Debug)]
pub struct DeviceReturn {
    claim: ClaimReturn,
    sent: Option<(u64, u64)>,
    /// The term in which that was decided is over.
    pub is_over: bool,
}

impl DeviceReturn {
    /// Nothing is sent yet.
    pub fn new(claim: ClaimReturn) -> Self {
        Self {
            claim,
            sent: None,
            is_over: false,
        }
    }

    /// Whether it has ended, and whether it is to be told that devices were kept.
    pub fn step(&mut self, around: &mut Around<'_>) -> Option<Option<Outcome>> {
        let now_ms = around.server.now_ms();
        if let Some((id, at_ms)) = self.sent {
            let answer = around.network.answer(id, now_ms);
            if answer.is_none() && now_ms < at_ms + ANSWER_MS {
                return None;
            }
            if answer.is_none() {
                around.network.abandon(id);
            }
            self.sent = None;
            match answer {
                Some(ServerAnswer::Claim(ClaimAnswer::Written(_))) => return Some(None),
                Some(ServerAnswer::Refused) => return Some(Some(self.kept("refused"))),
                // As after a pause: it is read again.
                _ => {}
            }
        }
        if self.is_over {
            return Some(Some(self.kept(NOT_THE_LEADER)));
        }
        if !around.has_term() {
            return None;
        }
        let claim = key(&self.claim.namespace, &self.claim.claim);
        let known = around.server.devices.claims.get(&claim);
        let same = known.filter(|known| {
            known.object.uid == self.claim.claim_uid && known.version == self.claim.version
        });
        let Some(known) = same else {
            return Some(Some(self.kept("it has changed meanwhile")));
        };
        let mut object = known.object.clone();
        (object.allocation, object.reserved_for) = (None, Vec::new());
        self.sent = Some(around.send(ServerCall::UpdateClaim {
            version: self.claim.version,
            of_status: true,
            object: Box::new(object),
        }));
        None
    }

    fn kept(&self, why: &str) -> Outcome {
        Outcome::DevicesKept {
            claim: self.claim.clone(),
            message: why.to_owned(),
        }
    }
}

/// A claim that has what was decided, in this version.
fn written(step: &ClaimStep, version: u64) -> WrittenClaim {
    WrittenClaim {
        namespace: step.namespace.clone(),
        claim: step.claim.clone(),
        version,
    }
}

/// What counts of a claim.
fn reading<'a>(claim: &'a ResourceClaimObject, step: &ClaimStep, pod: &str) -> ClaimReading<'a> {
    let given = |allocation| match Some(allocation) == step.decided() {
        true => FoundDevices::AsDecided,
        false => FoundDevices::Others,
    };
    let found = claim.allocation.as_ref();
    ClaimReading {
        uid: Some(&claim.uid),
        deleting: claim.deleting,
        is_protected: claim.is_protected,
        devices: found.map_or(FoundDevices::Nothing, given),
        users: claim.reserved_for.len(),
        has_consumer: claim
            .reserved_for
            .iter()
            .any(|uid| uid == step.consumer(pod)),
    }
}

/// The claim as it is to be written; `None` when nothing is left to do.
fn changed(
    step: &ClaimStep,
    pod: &str,
    (change, is_bound_elsewhere): (ClaimWrite, bool),
    claim: &ResourceClaimObject,
) -> Result<Option<ResourceClaimObject>, String> {
    let found = reading(claim, step, pod);
    let mut new = claim.clone();
    match change {
        ClaimWrite::Protect => {
            new.is_protected = true;
            Ok(step.protects(&found)?.then_some(new))
        }
        ClaimWrite::Give => {
            let ClaimGift::Missing(change) = step.gives(&found)? else {
                return Ok(None);
            };
            if change.devices {
                new.allocation = step.allocation.as_deref().cloned();
            }
            if change.consumer {
                new.reserved_for.push(step.consumer(pod).to_owned());
            }
            Ok(Some(new))
        }
        ClaimWrite::TakeBack => {
            let Some(change) = step.takes_back(&found, is_bound_elsewhere) else {
                return Ok(None);
            };
            new.reserved_for.retain(|uid| uid != pod);
            if change.devices {
                new.allocation = None;
            }
            Ok(Some(new))
        }
        ClaimWrite::Unprotect => {
            new.is_protected = false;
            Ok(step.unprotects(&found).then_some(new))
        }
    }
}
