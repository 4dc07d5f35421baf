//! What is wanted done, in order, until it is asked for.

use pumice_model::write::{ObjectRef, PodRef, Write};

use crate::effect::{Effect, LogLevel, LogLine};

/// Effects that nobody has taken yet. Whoever is handed the list may have things done, and decides nothing.
pub struct EffectList {
    dry_run: bool,
    effects: Vec<Effect>,
}

impl EffectList {
    /// An empty list.
    pub fn new(dry_run: bool) -> Self {
        let effects = Vec::new();
        Self { dry_run, effects }
    }

    /// What acts on the cluster is left out.
    pub fn is_dry(&self) -> bool {
        self.dry_run
    }

    /// All of it since this was last asked.
    pub fn take(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// All of it that nobody has taken yet.
    pub fn untaken(&self) -> &[Effect] {
        &self.effects
    }

    /// In a dry run as well.
    pub fn push(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Only where this is no dry run.
    pub fn act(&mut self, effect: Effect) {
        if !self.dry_run {
            self.effects.push(effect);
        }
    }

    /// A dry run writes nothing.
    pub fn write(&mut self, write: Write) {
        self.act(Effect::Write(write));
    }

    /// An event on an object.
    pub fn write_event(&mut self, about: ObjectRef, warning: bool, reason: &str, message: String) {
        self.write(Write::Event {
            about,
            warning,
            reason: reason.to_owned(),
            message,
        });
    }

    /// A pod waits: as its condition and as an event.
    pub fn write_waiting(&mut self, pod: PodRef, reason: &str, message: String) {
        self.write_reason(&pod, message.clone());
        self.write(Write::PodCondition {
            pod,
            reason: reason.to_owned(),
            message,
        });
    }

    /// Why a pod waits, as an event.
    pub fn write_reason(&mut self, pod: &PodRef, message: String) {
        self.write_event(pod.object(), true, "FailedScheduling", message);
    }

    pub fn log(&mut self, level: LogLevel, text: String) {
        self.push(Effect::Log(LogLine::new(level, text)));
    }

    /// A warning of which there may be many.
    pub fn warn_of(&mut self, flood: &'static str, text: String) {
        let line = LogLine::new(LogLevel::Warning, text);
        self.push(Effect::Log(LogLine {
            flood: Some(flood),
            ..line
        }));
    }
}
