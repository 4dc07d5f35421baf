//! The cluster at a moment of a recording, as the beginning of a simulation: what happened to somebody, gone on with under
//! faults.
//!
//! ```text
//!  bytes ─► TapeReader ─► Replay ─► moments ─► virtual API server, what processes are told at their start ─► storm
//! ```
//!
//! Objects are on the server as the recorded process knew them. What it had decided and not seen to land has landed or has
//! not, as the seed wants: it was killed at that moment. Deliberately absent: volumes and resource.k8s.io (a pod on a node
//! keeps what it asks else, one that waits for claims of devices is left out), what an extender or ConfigMaps about NPUs
//! of nodes said (such configurations are refused), and what the process remembered beside objects.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use pumice_conf::Config;
use pumice_decider::report_places;
use pumice_model::object::{PodObject, PodPhase};
use pumice_model::{Delta, KeptTopic};
use pumice_record::{Replay, ReplayError, ReplayEvent, TapePiece, TapeReader};

use super::Simulation;
use super::objects::queue;
use super::server::{Template, VirtualServer, key};

/// Moments of a recording at which simulations begin.
pub const MAX_MOMENTS: u64 = 16;

/// Gangs and pods that users add have numbers from here on, so that none has the name of a recorded one.
const FIRST_NEW: u64 = 1_000_000;

/// Why no simulation can begin at a recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordedWorldError {
    /// Nothing can be read.
    #[error(
        "it is no recording that this version reads: {0}; give a file that the scheduler or `pumice record` has written"
    )]
    NoRecording(String),
    /// Nothing was decided under a known configuration.
    #[error("no step with nodes can be read of it: {0}")]
    NoStep(String),
    /// The configuration wants what there is not.
    #[error(
        "its configuration has {0}, which the virtual cluster does not; take it out and decide the recording once more \
         with `pumice replay --conf FILE` to see what that changes"
    )]
    UnknownPart(&'static str),
}

/// What was known after a step.
pub struct RecordedMoment {
    /// Which step of the recording that was, from 1.
    pub step: u64,
    /// When, since 1970.
    pub at: Duration,
    config: Config,
    deltas: Vec<Delta>,
    /// Amounts that nobody counts on nodes.
    uncounted: Vec<String>,
}

/// Moments of a recording, spread over its steps; the last is its end.
///
/// # Errors
/// No simulation can begin there.
pub fn recorded_moments(bytes: &[u8]) -> Result<Vec<RecordedMoment>, RecordedWorldError> {
    let mut steps = 0;
    let trouble = each_step(bytes, &mut |_| steps += 1)?;
    if steps == 0 {
        let why = trouble.unwrap_or_else(|| "it ends before a scheduler knew of any".to_owned());
        return Err(RecordedWorldError::NoStep(why));
    }
    let count = steps.min(MAX_MOMENTS);
    let mut wanted = (1..=count).map(|at| at * steps / count).peekable();
    let (mut moments, mut step) = (Vec::new(), 0);
    each_step(bytes, &mut |replay| {
        step += 1;
        if wanted.next_if_eq(&step).is_some() {
            moments.extend(RecordedMoment::of(replay, step));
        }
    })?;
    for moment in &moments {
        moment.check()?;
    }
    Ok(moments)
}

/// Repeats a recording: hands over what is known after each step at which there are nodes. What was in the way, if
/// anything was.
fn each_step(
    bytes: &[u8],
    see: &mut dyn FnMut(&Replay),
) -> Result<Option<String>, RecordedWorldError> {
    let (mut replay, mut is_recording, mut trouble) = (Replay::new(None), false, None);
    for piece in TapeReader::new(bytes) {
        is_recording |= matches!(piece, TapePiece::Header(_));
        if let TapePiece::Lost(part) | TapePiece::Unreadable(part) = &piece {
            trouble.get_or_insert_with(|| part.why.clone());
        }
        let event = replay.take_piece(piece);
        if let Err(
            error @ (ReplayError::HiddenConfiguration | ReplayError::InvalidConfiguration(_)),
        ) = &event
        {
            trouble = Some(error.to_string());
        }
        let nodes = |replay: &Replay| {
            let nodes = replay.engine().map(|engine| engine.state().nodes());
            nodes.is_some_and(|nodes| !nodes.is_empty())
        };
        if matches!(event, Ok(Some(ReplayEvent::Stepped(_)))) && nodes(&replay) {
            see(&replay);
        }
    }
    match is_recording {
        true => Ok(trouble),
        false => {
            let why = trouble.unwrap_or_else(|| "it is empty".to_owned());
            Err(RecordedWorldError::NoRecording(why))
        }
    }
}

impl RecordedMoment {
    fn of(replay: &Replay, step: u64) -> Option<Self> {
        let state = replay.engine()?.state();
        Some(Self {
            step,
            at: replay.now(),
            config: replay.configured()?.clone(),
            deltas: state.dump(),
            uncounted: state.supplies().devices().families().ignored_resources(),
        })
    }

    fn check(&self) -> Result<(), RecordedWorldError> {
        let mut plugins = self.config.tiers.iter().flat_map(|tier| &tier.plugins);
        if plugins.any(|plugin| plugin.name == "extender") {
            return Err(RecordedWorldError::UnknownPart("an extender"));
        }
        match report_places(&self.config).is_empty() {
            true => Ok(()),
            false => Err(RecordedWorldError::UnknownPart(
                "ConfigMaps that tell of the NPUs of nodes",
            )),
        }
    }
}

/// How much was taken over, and what was not.
#[derive(Default)]
struct TakenOver {
    left_out: BTreeMap<&'static str, u32>,
}

impl TakenOver {
    fn leave(&mut self, what: &'static str) {
        *self.left_out.entry(what).or_default() += 1;
    }
}

impl fmt::Display for TakenOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = self.left_out.iter();
        let told: Vec<String> = told
            .map(|(what, count)| format!("{count} {what}"))
            .collect();
        match told.is_empty() {
            true => f.write_str("nothing is left out"),
            false => write!(f, "left out are {}", told.join(", ")),
        }
    }
}

impl Simulation {
    /// The cluster of that moment, with so many replicas, which start at once.
    pub fn at_moment(moment: &RecordedMoment, replicas: usize, seed: u64) -> Self {
        let mut simulation = Self::new(&moment.config, replicas, seed);
        simulation.start_ms = u64::try_from(moment.at.as_millis()).unwrap_or(u64::MAX / 2);
        simulation.server = VirtualServer::default();
        simulation.server.advance(simulation.start_ms);
        simulation.most_gangs += FIRST_NEW;
        (simulation.gangs, simulation.bare) = (FIRST_NEW, FIRST_NEW);
        simulation
            .oracle
            .take_rules(&moment.config, &moment.uncounted);
        let mut taken = TakenOver::default();
        for delta in &moment.deltas {
            simulation.take_over(delta.clone(), &mut taken);
        }
        for name in ["root", "default"] {
            if !simulation.server.queues.contains_key(name) {
                simulation.server.put_queue(queue(name, 0));
            }
        }
        simulation.make_controllers();
        let server = &simulation.server;
        simulation.history.push(format!(
            "begins at step {} of a recording, {} s since 1970: {} nodes, {} queues, {} PodGroups, {} pods; {taken}",
            moment.step,
            moment.at.as_secs(),
            server.nodes.len(),
            server.queues.len(),
            server.groups.len(),
            server.pods.len(),
        ));
        simulation
    }

    /// What a delta of a dump tells comes to the server, or to what processes are told at their start.
    fn take_over(&mut self, delta: Delta, taken: &mut TakenOver) {
        match delta {
            Delta::NodeApply(mut node) => {
                node.shard = Default::default();
                self.server.put_node(*node);
            }
            Delta::QueueApply(queue) => self.server.put_queue(*queue),
            Delta::GroupApply(group) => self.server.put_group(*group),
            Delta::PodApply(pod) => self.take_over_pod(*pod, taken),
            Delta::PodAssumed { uid, node, records } => {
                let lands = self.chance.percent(50);
                if let Some(pod) = self.server.pods.get(&uid).filter(|_| lands).cloned() {
                    self.history
                        .push(format!("the Binding of {uid} to {node} had landed"));
                    self.server.put_pod(PodObject {
                        node: Some(node),
                        records,
                        ..pod
                    });
                }
            }
            Delta::PodEvicting { uid } if self.chance.percent(50) => {
                self.history
                    .push(format!("the eviction of {uid} had landed"));
                self.server.delete_pod(&uid);
            }
            Delta::HyperNodeApply(object) => {
                self.server.has_hyper_nodes = true;
                self.server.put_hyper_node(*object);
            }
            Delta::NumatopologyApply(object) => self.server.put_numatopology(*object),
            Delta::NodeUsage {
                node,
                usage: Some(usage),
            } => {
                self.server.usage.insert(node, usage);
            }
            Delta::KeptText { topic, text, .. } => {
                let text = text.filter(|_| topic == KeptTopic::Tasks);
                self.server.kept.extend(text.map(|text| (topic, text)));
            }
            Delta::PriorityClassApply(_)
            | Delta::NamespaceApply(_)
            | Delta::WorkloadApply(_)
            | Delta::DeviceConfig { .. }
            | Delta::TaskMix { .. }
            | Delta::GroupController(_)
            | Delta::BudgetApply(_)
            | Delta::QuotaApply(_) => self.ground.push(delta),
            Delta::DeviceClassApply(_)
            | Delta::SliceApply(_)
            | Delta::ResourceClaimApply(_)
            | Delta::TaintRuleApply(_) => taken.leave("objects of resource.k8s.io"),
            Delta::PvApply(_)
            | Delta::PvcApply(_)
            | Delta::StorageClassApply(_)
            | Delta::CsiNodeApply(_)
            | Delta::CsiDriverApply(_)
            | Delta::CsiCapacityApply(_)
            | Delta::AttachmentApply(_) => taken.leave("objects of storage"),
            // What the process remembered, and what a dump has none of.
            _ => {}
        }
    }

    fn take_over_pod(&mut self, pod: PodObject, taken: &mut TakenOver) {
        if pod.resource_claims.is_empty() || pod.node.is_some() {
            self.server.put_old_pod(PodObject {
                resource_claims: Default::default(),
                ..pod
            });
        } else {
            taken.leave("waiting pods that claim devices");
        }
    }

    /// Pods that somebody controls are made anew when they go.
    fn make_controllers(&mut self) {
        let lives = |pod: &&PodObject| {
            let ended = matches!(pod.phase, PodPhase::Succeeded | PodPhase::Failed);
            pod.ours && pod.controlled && !pod.deleting && !ended
        };
        let pods: Vec<PodObject> = self.server.pods.values().filter(lives).cloned().collect();
        for pod in pods {
            let template = Template {
                pod: PodObject {
                    node: None,
                    phase: PodPhase::Pending,
                    nominated_node: None,
                    scheduled_s: None,
                    told: None,
                    records: Default::default(),
                    ..pod
                },
                replaced: true,
            };
            let key = key(&template.pod.namespace, &template.pod.name);
            self.server.templates.insert(key, template);
        }
    }
}
