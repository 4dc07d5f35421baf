//! The virtual writers of one process, by the rules at the head of
//! `crates/cluster/src/effects/bind.rs`: the term is asked before every request and outlasts it; a Binding whose answer is lost is in doubt until it
//! can land no more; it is reported as failed only when that is certain; a decision that was taken
//! back is not sent.

use std::collections::BTreeMap;

use pumice_devices::binding::Sequences;
use pumice_model::KeptTopic;
use pumice_model::object::GroupStatus;
use pumice_model::write::{BindFailure, BindRequest, Outcome, PodRef, Write};

use super::around::Around;
use super::binding::{Binding, Phase, stamp};
use super::claim_writer::{ClaimWriter, DeviceReturn};
use super::network::{ANSWER_MS, REQUEST_MS, ServerAnswer, ServerCall};
use super::server::{ToldEvent, key};
use super::text_writer::TextWriters;

#[derive(Clone, Debug)]
struct StatusInFlight {
    pod_group: (String, String, String),
    /// The newest that is not sent.
    waiting: Option<GroupStatus>,
    sent: Option<(u64, u64, GroupStatus)>,
    /// The term in which the one that waits was decided is over.
    is_over: bool,
}

/// An eviction, or a nomination: repeated until there is an answer.
#[derive(Clone, Debug)]
struct PodWrite {
    pod: PodRef,
    /// The newest that is to be sent.
    waiting: Option<ServerCall>,
    /// What was sent, as which request, when.
    sent: Option<(ServerCall, u64, u64)>,
    /// Not to be sent (again).
    cancelled: bool,
    /// The term in which it was decided is over.
    is_over: bool,
}

/// How a write of a pod ended.
enum PodWriteEnd {
    Done,
    Refused,
}

impl PodWrite {
    fn new(pod: PodRef) -> Self {
        Self {
            pod,
            waiting: None,
            sent: None,
            cancelled: false,
            is_over: false,
        }
    }

    fn step(&mut self, around: &mut Around<'_>) -> Option<PodWriteEnd> {
        let now_ms = around.server.now_ms();
        if let Some((call, id, at_ms)) = self.sent.clone() {
            let answer = around.network.answer(id, now_ms);
            if answer.is_none() && now_ms < at_ms + REQUEST_MS {
                return None;
            }
            around.network.forget(id);
            self.sent = None;
            match answer {
                Some(answer) if self.waiting.is_none() => {
                    let refused = answer == ServerAnswer::Refused;
                    return Some(match refused {
                        true => PodWriteEnd::Refused,
                        false => PodWriteEnd::Done,
                    });
                }
                Some(_) => {}
                None => {
                    self.waiting.get_or_insert(call);
                }
            }
        }
        if self.cancelled {
            return Some(PodWriteEnd::Done);
        }
        if self.is_over {
            return Some(PodWriteEnd::Refused);
        }
        if around.has_term()
            && let Some(call) = self.waiting.take()
        {
            let (id, at_ms) = around.send(call.clone());
            self.sent = Some((call, id, at_ms));
        }
        None
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Writers {
    binds: BTreeMap<String, Binding>,
    statuses: BTreeMap<String, StatusInFlight>,
    evictions: BTreeMap<String, PodWrite>,
    nominations: BTreeMap<String, PodWrite>,
    /// By UID of the claim.
    returns: BTreeMap<String, DeviceReturn>,
    /// Pods' conditions: UID, reason and message.
    conditions: Vec<(String, (String, String))>,
    events: Vec<ToldEvent>,
    texts: TextWriters,
    sequences: Sequences,
    /// How writes ended that their term has left behind.
    left_behind: Vec<Outcome>,
    /// UIDs of claims on which binds may have left something whose term ended.
    pub left_claims: Vec<String>,
    /// Writes handed in, but for what was used, which is written as long as something is.
    pub handed_in: u64,
}

impl Writers {
    /// Whether an outcome for this pod's Binding will come.
    pub fn has_bind(&self, uid: &str) -> bool {
        self.binds.contains_key(uid)
    }

    /// Nothing waits and nothing is under way.
    pub fn is_idle(&self) -> bool {
        let pods = self.evictions.is_empty() && self.nominations.is_empty();
        let claims = self.returns.is_empty();
        let statuses = self.statuses.is_empty() && self.texts.is_idle();
        self.binds.is_empty() && statuses && pods && claims
    }

    /// UIDs of the claims that binds under way are about.
    pub fn claims(&self) -> impl Iterator<Item = &String> {
        let requests = self.binds.values().map(|binding| &binding.request);
        requests.flat_map(|request| request.claims.iter().map(|step| &step.claim_uid))
    }

    /// Whether an outcome for this pod's eviction will come.
    pub fn has_eviction(&self, uid: &str) -> bool {
        self.evictions.contains_key(uid)
    }

    /// Takes a write.
    pub fn submit(&mut self, write: Write) {
        let is_use = matches!(write, Write::KeptText { topic, .. } if topic == KeptTopic::Use);
        self.handed_in += u64::from(!is_use);
        match write {
            Write::Bind(request) => self.submit_bind(request),
            Write::GroupStatus {
                namespace,
                name,
                uid,
                status,
                ..
            } => self.submit_status((namespace, name, uid), status),
            Write::Evict {
                pod, beneficiary, ..
            } => {
                let call = ServerCall::Evict {
                    uid: pod.uid.clone(),
                    beneficiary: beneficiary.map(|who| who.to_string()),
                };
                let write = self.evictions.entry(pod.uid.clone());
                let write = write.or_insert_with(|| PodWrite::new(pod));
                write.waiting = Some(call);
                write.is_over = false;
            }
            Write::Nominate { pod, node } => {
                let uid = pod.uid.clone();
                let write = self.nominations.entry(uid.clone());
                let write = write.or_insert_with(|| PodWrite::new(pod));
                write.waiting = Some(ServerCall::Nominate { uid, node });
                (write.cancelled, write.is_over) = (false, false);
            }
            Write::PodCondition {
                pod,
                reason,
                message,
                ..
            } => {
                self.conditions.push((pod.uid, (reason, message)));
            }
            Write::ReturnDevices(claim) => {
                let key = claim.claim_uid.clone();
                self.returns.insert(key, DeviceReturn::new(claim));
            }
            Write::Event {
                about,
                reason,
                message,
                ..
            } => self.events.push(ToldEvent {
                about: about.to_string(),
                reason,
                message,
            }),
            Write::KeptText { topic, text, .. } => self.texts.submit(topic, text),
            Write::BindWaits { .. }
            | Write::QueueStatus { .. }
            | Write::CleanUp { .. }
            | Write::ShardStatus { .. } => {}
        }
    }

    fn submit_bind(&mut self, request: BindRequest) {
        let phase = match request.claims.is_empty() {
            true => Phase::Waiting,
            false => Phase::Preparing(ClaimWriter::forth(&request)),
        };
        let binding = Binding {
            phase,
            recalled: None,
            is_over: false,
            claims: Vec::new(),
            request,
        };
        // What waits is dropped, and what is under way ends first.
        if let Some(write) = self.nominations.get_mut(&binding.request.pod.uid) {
            write.cancelled = true;
        }
        self.binds.insert(binding.request.pod.uid.clone(), binding);
    }

    /// A newer status takes the place of one that waits.
    fn submit_status(&mut self, pod_group: (String, String, String), status: GroupStatus) {
        let group = self.statuses.entry(key(&pod_group.0, &pod_group.1));
        let new = || StatusInFlight {
            pod_group,
            waiting: None,
            sent: None,
            is_over: false,
        };
        let write = group.or_insert_with(new);
        write.waiting = Some(status);
        write.is_over = false;
    }

    /// A decision does not fit any more.
    pub fn recall(&mut self, uid: &str, why: String) {
        if let Some(binding) = self.binds.get_mut(uid) {
            binding.recalled = Some((BindFailure::Outdated, why));
        }
    }

    /// The term is over: nothing that was handed in until now is sent any more.
    pub fn term_over(&mut self) {
        let claims: Vec<String> = self.claims().cloned().collect();
        self.left_claims.extend(claims);
        self.binds.values_mut().for_each(Binding::term_over);
        self.statuses
            .values_mut()
            .for_each(|write| write.is_over = true);
        let pods = self.evictions.values_mut();
        let pods = pods.chain(self.nominations.values_mut());
        pods.for_each(|write| write.is_over = true);
        self.returns
            .values_mut()
            .for_each(|write| write.is_over = true);
        self.texts.term_over();
        self.events.clear();
        for (uid, _) in std::mem::take(&mut self.conditions) {
            let (namespace, name) = (String::new(), String::new());
            let pod = PodRef {
                namespace,
                name,
                uid,
            };
            self.left_behind.push(Outcome::ConditionFailed { pod });
        }
    }

    /// Sends what may be sent, and says how writes ended.
    pub fn step(&mut self, around: &mut Around<'_>) -> Vec<Outcome> {
        let mut outcomes = std::mem::take(&mut self.left_behind);
        let uids: Vec<String> = self.binds.keys().cloned().collect();
        for uid in uids {
            if let Some(outcome) = self.step_bind(&uid, around) {
                let ended = self.binds.remove(&uid);
                outcomes.extend(ended.and_then(Binding::claims_left));
                outcomes.push(outcome);
            }
        }
        let groups: Vec<String> = self.statuses.keys().cloned().collect();
        for group in groups {
            outcomes.extend(self.step_status(&group, around));
        }
        outcomes.extend(self.step_pods(around));
        self.texts.step(around);
        self.returns.retain(|_, write| match write.step(around) {
            None => true,
            Some(outcome) => {
                outcomes.extend(outcome);
                false
            }
        });
        if around.has_term() {
            around.server.told.append(&mut self.events);
            for (uid, told) in std::mem::take(&mut self.conditions) {
                let pod = around
                    .server
                    .pods
                    .get(&uid)
                    .filter(|pod| pod.node.is_none());
                if let Some(mut pod) = pod.cloned() {
                    pod.told = Some(Box::new(told));
                    around.server.put_pod(pod);
                }
            }
        }
        outcomes
    }

    fn step_pods(&mut self, around: &mut Around<'_>) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        self.evictions.retain(|_, write| {
            let Some(end) = write.step(around) else {
                return true;
            };
            let pod = write.pod.clone();
            outcomes.push(match end {
                PodWriteEnd::Done => Outcome::Evicted { pod },
                PodWriteEnd::Refused => Outcome::EvictFailed {
                    pod,
                    message: "a budget says no".to_owned(),
                },
            });
            false
        });
        self.nominations.retain(|_, write| {
            let end = write.step(around);
            if let Some(PodWriteEnd::Refused) = end {
                let pod = write.pod.clone();
                outcomes.push(Outcome::NominationFailed { pod });
            }
            end.is_none()
        });
        outcomes
    }

    /// How a bind ended, if it has: one that failed gives back first what its claims got.
    fn step_bind(&mut self, uid: &str, around: &mut Around<'_>) -> Option<Outcome> {
        if let Some(outcome) = self.step_claims(uid, around) {
            return Some(outcome);
        }
        let outcome = self.step_binding(uid, around)?;
        let binding = self.binds.get_mut(uid)?;
        let has_failed = matches!(outcome, Outcome::BindFailed { .. });
        if has_failed && !binding.request.claims.is_empty() {
            binding.give_back(outcome);
            return self.step_claims(uid, around);
        }
        Some(outcome)
    }

    /// Claims before and after a Binding; the outcome that waited for them.
    fn step_claims(&mut self, uid: &str, around: &mut Around<'_>) -> Option<Outcome> {
        let binding = self.binds.get_mut(uid)?;
        match &mut binding.phase {
            Phase::Preparing(writer) => {
                if writer.step(&binding.request, around)?.is_ok() {
                    binding.claims = std::mem::take(&mut writer.written);
                    binding.phase = Phase::Waiting;
                    return None;
                }
                let text = "resource claims".to_owned();
                let outcome = binding.failed(BindFailure::PreBind, text);
                binding.give_back(outcome);
                None
            }
            Phase::GivingBack(writer, outcome) => {
                writer.step(&binding.request, around)?.ok()?;
                Some(outcome.clone())
            }
            Phase::Waiting | Phase::Sent { .. } | Phase::InDoubt { .. } => None,
        }
    }

    /// How a Binding ended, if it has.
    fn step_binding(&mut self, uid: &str, around: &mut Around<'_>) -> Option<Outcome> {
        let binding = self.binds.get_mut(uid)?;
        let now_ms = around.server.now_ms();
        match binding.phase {
            Phase::Preparing(_) | Phase::GivingBack(..) => None,
            Phase::Waiting => {
                if let Some((failure, why)) = binding.recalled.clone() {
                    return Some(binding.failed(failure, why));
                }
                if around.has_term() && around.followed {
                    let records = stamp(&mut self.sequences, &binding.request, now_ms);
                    let (id, at_ms) = around.send(ServerCall::Bind {
                        uid: uid.to_owned(),
                        node: binding.request.node.clone(),
                        records,
                    });
                    binding.phase = Phase::Sent { id, at_ms };
                }
                None
            }
            Phase::Sent { id, at_ms } => match around.network.answer(id, now_ms) {
                Some(answer) => Some(binding.answered(&answer, around.server)),
                None if now_ms >= at_ms + ANSWER_MS => {
                    around.network.abandon(id);
                    binding.phase = Phase::InDoubt {
                        until_ms: at_ms + 2 * REQUEST_MS,
                    };
                    None
                }
                None => None,
            },
            Phase::InDoubt { until_ms } => {
                let seen = binding.look(around.server);
                match seen {
                    None if now_ms >= until_ms => {
                        let text = "no answer".to_owned();
                        let recalled = binding.recalled.as_ref();
                        let failure = recalled.map_or(&BindFailure::GaveUp, |(failure, _)| failure);
                        Some(binding.failed(failure.clone(), text))
                    }
                    seen => seen,
                }
            }
        }
    }

    fn step_status(&mut self, group: &str, around: &mut Around<'_>) -> Option<Outcome> {
        let write = self.statuses.get_mut(group)?;
        let now_ms = around.server.now_ms();
        let (namespace, name, uid) = write.pod_group.clone();
        let mut outcome = None;
        if let Some((id, at_ms, status)) = write.sent.clone() {
            let answer = around.network.answer(id, now_ms);
            if answer.is_none() && now_ms < at_ms + REQUEST_MS {
                return None;
            }
            around.network.forget(id);
            write.sent = None;
            outcome = Some(match answer {
                Some(ServerAnswer::Other(true)) => Outcome::GroupStatusWritten {
                    namespace,
                    name,
                    status,
                },
                _ => Outcome::GroupStatusFailed {
                    namespace,
                    name,
                    message: "refused".to_owned(),
                },
            });
        }
        if write.is_over {
            // Whoever leads by now computes its own. One outcome a step: a status that waits behind one that was sent is
            // told of in the next.
            if outcome.is_none() && write.waiting.take().is_some() {
                let (namespace, name, _) = write.pod_group.clone();
                outcome = Some(Outcome::GroupStatusNotNeeded { namespace, name });
            }
        } else if around.has_term()
            && let Some(status) = write.waiting.take()
        {
            let (id, at_ms) = around.send(ServerCall::Status {
                group: group.to_owned(),
                uid,
                status: status.clone(),
            });
            write.sent = Some((id, at_ms, status));
        }
        if write.sent.is_none() && write.waiting.is_none() {
            self.statuses.remove(group);
        }
        outcome
    }
}
