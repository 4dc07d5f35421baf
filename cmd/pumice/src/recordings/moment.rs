//! One moment of the past: what the scheduler that led then knew after its last step.

#[cfg(feature = "live")]
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

#[cfg(feature = "live")]
use pumice_record::Compared;
use pumice_record::{Replay, ReplayEvent};
use serde_json::json;

use super::files::{self, RecordingFile};
use super::{ReadingEnd, RecordingSight, read, rfc3339};
use crate::bad_input::BadInput;

/// Decisions that are kept.
#[cfg(feature = "live")]
const MAX_DECISIONS: usize = 1_000;

/// See the module.
pub struct PastMoment {
    /// The scheduler as it was.
    pub replay: Replay,
    /// Text of the configuration in use, where it can be shown.
    pub configuration: Option<String>,
    /// Who recorded it.
    program: String,
    /// When the last step was.
    at: Option<Duration>,
    /// Where it begins at a copy: when that was made.
    copied: Option<Duration>,
    /// What that copy does not hold by which is decided.
    lacks: Vec<String>,
    /// Something before it is lost, or decided otherwise than it was.
    doubts: Vec<String>,
    /// The last of what was decided, for the page.
    #[cfg(feature = "live")]
    decided: VecDeque<PastDecision>,
}

/// What was decided.
#[cfg(feature = "live")]
pub struct PastDecision {
    /// When, since 1970.
    pub at: Duration,
    /// `namespace/name` of the pod.
    pub pod: String,
    /// `namespace/name` of its PodGroup, or of the pod that has none.
    pub job: String,
    /// Node on which it was placed; `None` where it was evicted.
    pub node: Option<String>,
}

/// The moment after the last step at or before `time`; without one, at the end.
///
/// # Errors
/// No file can be read, or none tells of that time.
pub fn moment_at(paths: &[PathBuf], time: Option<Duration>) -> anyhow::Result<PastMoment> {
    let files = files::find(paths)?;
    let all = files::by_process(&files);
    let begun = all.iter().filter(|files| {
        files
            .iter()
            .any(|file| Some(file.at) <= time || time.is_none())
    });
    let mut newest = None;
    for files in begun.rev() {
        let moment = PastMoment::read(files, time)?;
        if moment.at.is_none() {
            continue;
        }
        if moment.replay.leads() {
            return Ok(moment);
        }
        newest.get_or_insert(moment);
    }
    newest.ok_or_else(|| {
        let when = time.map_or_else(String::new, |time| format!(" up to {}", rfc3339(time)));
        let first = files.iter().map(|file| file.at).min().unwrap_or_default();
        let text = format!(
            "error: no step{when} can be read\n  = help: the recording begins at {}",
            rfc3339(first)
        );
        BadInput(text).into()
    })
}

/// What is known in a replay, as the document that `pumice simulate` reads.
///
/// # Errors
/// Nothing is known at that time.
pub fn state_document(replay: &Replay, configuration: Option<&str>) -> anyhow::Result<Vec<u8>> {
    let Some(engine) = replay.engine() else {
        let text = "error: nothing is known at that time\n  = help: it is before the first segment, \
                    or in a part that is lost";
        return Err(BadInput(text.to_owned()).into());
    };
    Ok(serde_json::to_vec(&json!({
        "apiVersion": "pumice.sh/v1",
        "kind": "PumiceState",
        "configuration": configuration,
        "deltas": engine.state().dump(),
    }))?)
}

impl PastMoment {
    fn read(files: &[RecordingFile], time: Option<Duration>) -> anyhow::Result<Self> {
        let mut replay = Replay::new(None);
        let end = ReadingEnd {
            until: time,
            at_step: true,
        };
        let mut moment = Self {
            replay: Replay::new(None),
            configuration: None,
            program: String::new(),
            at: None,
            copied: None,
            lacks: Vec::new(),
            doubts: Vec::new(),
            #[cfg(feature = "live")]
            decided: VecDeque::new(),
        };
        read(files, end, &mut replay, &mut |sight, replay| {
            moment.see(sight, replay);
            ControlFlow::Continue(())
        })?;
        if replay.engine().is_none() {
            moment.at = None;
        }
        moment.replay = replay;
        Ok(moment)
    }

    fn see(&mut self, sight: RecordingSight<'_>, replay: &Replay) {
        match sight {
            RecordingSight::Header(header) => self.program.clone_from(&header.program),
            RecordingSight::Lost(part) => self.doubts.push(part.why.clone()),
            RecordingSight::Stuck(why) => self.doubts.push(why.to_string()),
            RecordingSight::Event(event) => match event {
                ReplayEvent::Began { at, fresh } => {
                    self.at = None;
                    self.copied = (!fresh).then_some(at);
                    self.lacks.clear();
                    self.doubts.clear();
                }
                ReplayEvent::Stepped(step) => {
                    self.at = Some(step.at);
                    #[cfg(feature = "live")]
                    self.note(&step, replay);
                    if !step.is_same() && replay.decides_exactly() {
                        let text = format!(
                            "it decides otherwise than it was at {}; see `pumice replay`",
                            rfc3339(step.at)
                        );
                        self.doubts.push(text);
                    }
                }
                ReplayEvent::KnowsLess { .. } => {
                    self.doubts
                        .push("parts of the copy it begins with are lost".to_owned());
                }
                ReplayEvent::Copied { lacks, .. } => self.lacks = lacks,
                ReplayEvent::WentOn { .. }
                | ReplayEvent::Waits { .. }
                | ReplayEvent::ToldOtherwise { .. }
                | ReplayEvent::BrokeOff { .. } => {}
            },
            RecordingSight::Configuration(text) => self.configuration.clone_from(text),
            RecordingSight::File(_) => {}
        }
    }

    #[cfg(feature = "live")]
    fn note(&mut self, step: &Compared, replay: &Replay) {
        let Some(engine) = replay.engine() else {
            return;
        };
        let placed = step.recorded.iter().map(|(uid, node)| (uid, Some(node)));
        let evicted = step.recorded_evicted.iter().map(|uid| (uid, None));
        for (uid, node) in placed.chain(evicted) {
            let population = engine.state().population();
            let Some(task) = population.task_by_uid(uid) else {
                continue;
            };
            let pod = population.task_key(task);
            let job = engine.state().task(task).job;
            self.decided.push_back(PastDecision {
                at: step.at,
                job: job.map_or_else(|| pod.clone(), |job| population.job_key(job)),
                pod,
                node: node.cloned(),
            });
        }
        let over = self.decided.len().saturating_sub(MAX_DECISIONS);
        self.decided.drain(..over);
    }

    /// The last of what was decided until then, newest first.
    #[cfg(feature = "live")]
    pub fn decided(&self) -> impl Iterator<Item = &PastDecision> {
        self.decided.iter().rev()
    }

    /// When the last step was.
    #[cfg(feature = "live")]
    pub fn at(&self) -> Duration {
        self.at.unwrap_or_default()
    }

    /// When it is, in words, and what is to be known of that: a line each.
    pub fn notes(&self) -> Vec<String> {
        let at = rfc3339(self.at.unwrap_or_default());
        let mut notes = vec![format!(
            "as of the step at {at}, recorded by {}",
            self.program
        )];
        if !self.replay.leads() {
            notes.push("the scheduler that recorded this decided nothing then".to_owned());
        }
        if let Some(copied) = self.copied {
            notes.push(format!(
                "the recording begins at a copy of {}: what was told before is not known",
                rfc3339(copied)
            ));
            let lacks = self.lacks.iter();
            notes.extend(lacks.map(|what| format!("mind: the copy lacks {what}")));
        }
        notes.extend(self.doubts.iter().map(|doubt| format!("mind: {doubt}")));
        notes
    }
}
