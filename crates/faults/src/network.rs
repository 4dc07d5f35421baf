//! Requests on their way. They outlive the process that sent them: one that is killed cannot take
//! back what it has sent.

use pumice_model::KeptTopic;
use pumice_model::object::{GroupStatus, Pairs, ResourceClaimObject};

use super::claims::ClaimAnswer;
use super::lease::VirtualTerm;
use super::rng::Rng;
use super::server::{BindAnswer, VirtualServer};

/// A request lands within this time after it was sent, or never, milliseconds.
pub const REQUEST_MS: u64 = 2_000;

/// An answer is waited for so long, milliseconds: a request may land after that.
pub const ANSWER_MS: u64 = 1_000;

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerCall {
    /// A Binding.
    Bind {
        /// UID of the pod.
        uid: String,
        /// Name of the node.
        node: String,
        /// Annotations the same write adds to the pod.
        records: Pairs,
    },
    /// Status of a PodGroup.
    Status {
        /// `namespace/name`.
        group: String,
        /// UID of the PodGroup.
        uid: String,
        /// The whole status.
        status: GroupStatus,
    },
    /// Deletion of a pod.
    Evict {
        /// UID of the pod.
        uid: String,
        /// Who gets the room.
        beneficiary: Option<String>,
    },
    /// `status.nominatedNodeName` of a pod.
    Nominate {
        /// UID of the pod.
        uid: String,
        /// Name of the node, or none.
        node: Option<String>,
    },
    /// What plugins keep, into its ConfigMap.
    KeepText {
        /// What is kept.
        topic: KeptTopic,
        /// The text under its key.
        text: String,
    },
    /// A claim of devices.
    UpdateClaim {
        /// The version that was read.
        version: u64,
        /// The status is written, otherwise the finalizers.
        of_status: bool,
        /// The claim as it is to be.
        object: Box<ResourceClaimObject>,
    },
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerAnswer {
    /// To a Binding.
    Bind(BindAnswer),
    /// To an update of a claim.
    Claim(ClaimAnswer),
    /// To any other request: whether the object is there.
    Other(bool),
    /// The server has refused it: it never lands.
    Refused,
}

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestFate {
    /// It lands and is answered.
    Fine,
    /// The API server refuses the request.
    Refused,
    /// It lands, and the answer is lost.
    AnswerLost,
    /// The request, or its answer, is lost.
    Lost,
}

/// One request.
#[derive(Clone, Debug)]
pub struct RequestInFlight {
    /// Number, unique in a simulation.
    pub id: u64,
    /// The process that sent it.
    pub by: u32,
    /// End of its term when it was sent.
    pub term_end_ms: u64,
    /// What is asked.
    pub call: ServerCall,
    lands_ms: Option<u64>,
    answers_ms: Option<u64>,
    answer: Option<ServerAnswer>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Network {
    requests: Vec<RequestInFlight>,
    sent: u64,
    /// What happens to the next Bindings, before chance decides.
    pub next_binds: Vec<RequestFate>,
    /// What happens to the next writes of statuses and kept texts, before chance decides.
    pub next_statuses: Vec<RequestFate>,
    /// What happens to the next evictions, before chance decides.
    pub next_evictions: Vec<RequestFate>,
    /// What happens to the next updates of claims, before chance decides.
    pub next_claims: Vec<RequestFate>,
    /// Chance decides on evictions and nominations too.
    pub evictions_may_fail: bool,
    /// How many requests of a hundred are refused, lose their answer, are lost.
    pub chances: [u64; 3],
    /// Requests take up to so long each way, milliseconds.
    pub slowness_ms: u64,
}

impl Network {
    /// Sends a request; its number.
    pub fn send(&mut self, term: VirtualTerm, call: ServerCall, now_ms: u64, rng: &mut Rng) -> u64 {
        let fate = self.fate(&call, rng);
        let way = |rng: &mut Rng| match self.slowness_ms {
            0 => 0,
            slowness_ms => rng.below(slowness_ms),
        };
        let lands_ms = now_ms + way(rng);
        let answers_ms = lands_ms + way(rng);
        let (lands, answers) = match fate {
            RequestFate::Fine => (Some(lands_ms), Some(answers_ms)),
            RequestFate::Refused => (None, Some(answers_ms)),
            RequestFate::AnswerLost => (Some(now_ms + rng.below(REQUEST_MS)), None),
            RequestFate::Lost => (None, None),
        };
        self.sent += 1;
        self.requests.push(RequestInFlight {
            id: self.sent,
            by: term.by,
            term_end_ms: term.end_ms,
            call,
            lands_ms: lands,
            answers_ms: answers,
            answer: (fate == RequestFate::Refused).then_some(ServerAnswer::Refused),
        });
        self.sent
    }

    fn fate(&mut self, call: &ServerCall, rng: &mut Rng) -> RequestFate {
        let next = match call {
            ServerCall::Bind { .. } => &mut self.next_binds,
            ServerCall::Status { .. } | ServerCall::KeepText { .. } => &mut self.next_statuses,
            ServerCall::UpdateClaim { .. } => &mut self.next_claims,
            ServerCall::Evict { .. } if !self.next_evictions.is_empty() => &mut self.next_evictions,
            ServerCall::Evict { .. } | ServerCall::Nominate { .. } if !self.evictions_may_fail => {
                return RequestFate::Fine;
            }
            ServerCall::Evict { .. } | ServerCall::Nominate { .. } => &mut self.next_evictions,
        };
        if !next.is_empty() {
            return next.remove(0);
        }
        let [refused, answer_lost, lost] = self.chances;
        if refused + answer_lost + lost == 0 {
            return RequestFate::Fine;
        }
        match rng.below(100) {
            chance if chance < refused => RequestFate::Refused,
            chance if chance < refused + answer_lost => RequestFate::AnswerLost,
            chance if chance < refused + answer_lost + lost => RequestFate::Lost,
            _ => RequestFate::Fine,
        }
    }

    /// Requests that land by now, in the order in which they do, and when.
    pub fn landing(&self, now_ms: u64) -> Vec<(u64, RequestInFlight)> {
        let mut due: Vec<(u64, usize)> = Vec::new();
        for (at, request) in self.requests.iter().enumerate() {
            if let Some(lands_ms) = request.lands_ms.filter(|lands_ms| *lands_ms <= now_ms) {
                due.push((lands_ms, at));
            }
        }
        due.sort_unstable();
        due.into_iter()
            .map(|(lands_ms, at)| (lands_ms, self.requests[at].clone()))
            .collect()
    }

    /// Carries out a request that lands.
    pub fn carry_out(
        &mut self,
        request: &RequestInFlight,
        server: &mut VirtualServer,
    ) -> ServerAnswer {
        let answer = match &request.call {
            ServerCall::Bind { uid, node, records } => {
                ServerAnswer::Bind(server.bind(uid, node, records))
            }
            ServerCall::Status { group, uid, status } => {
                ServerAnswer::Other(server.put_status(group, uid, status.clone()))
            }
            ServerCall::KeepText { topic, text } => {
                let kept = server.kept.get_mut(topic);
                let is_there = kept.map(|kept| kept.clone_from(text)).is_some();
                ServerAnswer::Other(is_there)
            }
            ServerCall::Evict { uid, .. } => {
                server.delete_pod(uid);
                ServerAnswer::Other(true)
            }
            ServerCall::Nominate { uid, node } => {
                server.nominate(uid, node.clone());
                ServerAnswer::Other(true)
            }
            ServerCall::UpdateClaim {
                version,
                of_status,
                object,
            } => ServerAnswer::Claim(server.update_claim((*version, *of_status), object)),
        };
        if let Some(known) = self
            .requests
            .iter_mut()
            .find(|known| known.id == request.id)
        {
            known.lands_ms = None;
            known.answer = Some(answer.clone());
        }
        answer
    }

    /// The answer to a request, once it has arrived.
    pub fn answer(&mut self, id: u64, now_ms: u64) -> Option<ServerAnswer> {
        let arrived = |request: &RequestInFlight| {
            request.id == id && request.answers_ms.is_some_and(|at| at <= now_ms)
        };
        let at = self.requests.iter().position(arrived)?;
        self.requests[at]
            .answer
            .is_some()
            .then(|| self.requests.remove(at))?
            .answer
    }

    /// Nobody waits for the answer any more.
    pub fn abandon(&mut self, id: u64) {
        for request in self.requests.iter_mut().filter(|request| request.id == id) {
            request.answers_ms = None;
        }
    }

    /// Forgets requests that can neither land nor be answered any more.
    pub fn forget(&mut self, id: u64) {
        self.requests
            .retain(|request| request.id != id || request.lands_ms.is_some());
    }

    /// Forgets what dead processes have sent and what has landed.
    pub fn forget_dead(&mut self, living: &[u32]) {
        self.requests.retain(|request| {
            let will_be_answered = request.answers_ms.is_some();
            request.lands_ms.is_some() || will_be_answered && living.contains(&request.by)
        });
    }

    /// UID and node of the Bindings that have not landed.
    pub fn binds_under_way(&self) -> Vec<(String, String)> {
        let to_land = self
            .requests
            .iter()
            .filter(|request| request.lands_ms.is_some());
        let binds = to_land.filter_map(|request| match &request.call {
            ServerCall::Bind { uid, node, .. } => Some((uid.clone(), node.clone())),
            _ => None,
        });
        binds.collect()
    }

    /// Nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }
}
