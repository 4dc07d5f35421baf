//! A Binding of the virtual writers: how it stands, and what an answer makes of it.

use pumice_devices::binding::{Sent, Sequences};
use pumice_model::object::{Pairs, WrittenClaim};
use pumice_model::write::{BindFailure, BindRequest, Outcome, PodRef};

use super::around::NOT_THE_LEADER;
use super::claim_writer::ClaimWriter;
use super::network::ServerAnswer;
use super::server::{BindAnswer, VirtualServer};

/// How a Binding stands.
#[derive(Clone, Debug)]
pub(super) enum Phase {
    /// The pod's claims get their devices.
    Preparing(ClaimWriter),
    Waiting,
    Sent {
        id: u64,
        at_ms: u64,
    },
    /// It may land until then.
    InDoubt {
        until_ms: u64,
    },
    /// It has failed, and its claims give back what they got.
    GivingBack(ClaimWriter, Outcome),
}

/// A Binding that is written.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    pub request: BindRequest,
    pub phase: Phase,
    /// How it fails and why, since it is not sent any more.
    pub recalled: Option<(BindFailure, String)>,
    /// The term in which it was decided is over.
    pub is_over: bool,
    /// Claims of the pod, once they have let it in.
    pub claims: Vec<WrittenClaim>,
}

impl Binding {
    pub fn pod(&self) -> PodRef {
        self.request.pod.clone()
    }

    pub fn failed(&self, failure: BindFailure, message: String) -> Outcome {
        Outcome::BindFailed {
            pod: self.pod(),
            node: self.request.node.clone(),
            failure,
            message,
        }
    }

    /// Ends the term in which the Binding was decided: what was not sent is not sent.
    pub fn term_over(&mut self) {
        self.is_over = true;
        let failed = (BindFailure::GaveUp, NOT_THE_LEADER.to_owned());
        self.recalled = Some(failed);
        match &mut self.phase {
            Phase::Preparing(writer) | Phase::GivingBack(writer, _) => writer.is_over = true,
            Phase::Waiting | Phase::Sent { .. } | Phase::InDoubt { .. } => {}
        }
    }

    /// It has failed like this: its claims give back what they got.
    pub fn give_back(&mut self, outcome: Outcome) {
        let mut writer = ClaimWriter::back(&self.request, &outcome);
        writer.is_over = self.is_over;
        self.phase = Phase::GivingBack(writer, outcome);
    }

    /// What it leaves on claims of groups, having failed.
    pub fn claims_left(self) -> Option<Outcome> {
        let Phase::GivingBack(writer, _) = self.phase else {
            return None;
        };
        let claims = writer.kept;
        (!claims.is_empty()).then_some(Outcome::ClaimsLeft { claims })
    }

    pub fn bound(&self) -> Outcome {
        Outcome::Bound {
            pod: self.pod(),
            node: self.request.node.clone(),
            claims: self.claims.clone(),
        }
    }

    pub fn answered(&self, answer: &ServerAnswer, server: &VirtualServer) -> Outcome {
        match answer {
            ServerAnswer::Bind(BindAnswer::Done) => self.bound(),
            ServerAnswer::Bind(BindAnswer::Gone) => {
                self.failed(BindFailure::PodGone, "not found".to_owned())
            }
            ServerAnswer::Refused => self.failed(BindFailure::Denied, "quota exceeded".to_owned()),
            ServerAnswer::Bind(BindAnswer::Conflict)
            | ServerAnswer::Claim(_)
            | ServerAnswer::Other(_) => {
                let seen = self.look(server);
                seen.unwrap_or_else(|| self.failed(BindFailure::Rejected, "conflict".to_owned()))
            }
        }
    }

    /// What the pod says, if that settles the Binding.
    pub fn look(&self, server: &VirtualServer) -> Option<Outcome> {
        let Some(pod) = server.pods.get(&self.request.pod.uid) else {
            return Some(self.failed(BindFailure::PodGone, "not found".to_owned()));
        };
        match &pod.node {
            Some(node) if *node == self.request.node => Some(self.bound()),
            Some(node) => Some(self.failed(
                BindFailure::BoundElsewhere(node.clone()),
                "conflict".to_owned(),
            )),
            None if pod.deleting => Some(self.failed(BindFailure::PodGone, "deleted".to_owned())),
            None => None,
        }
    }
}

/// The annotations of a Binding, with what is known only when it is sent.
pub(super) fn stamp(sequences: &mut Sequences, request: &BindRequest, now_ms: u64) -> Pairs {
    let seconds = i64::try_from(now_ms / 1000).unwrap_or(0);
    let nanos = seconds.saturating_mul(1_000_000_000);
    let sent = Sent {
        seconds,
        nanos,
        sequence: sequences.next(&request.node, seconds),
        nano_sequence: sequences.next_nanos(&request.node, nanos),
    };
    let written = request.devices.annotations.iter();
    let mut records: Pairs = written
        .map(|annotation| (annotation.key.to_string(), annotation.value.text(sent)))
        .collect();
    records.sort();
    records
}
