//! What a decider remembers beside what it was told and what stands, as it is told to another one that goes on where this one
//! was: a recording that begins in the middle.
//!
//! ```text
//!  Decider::memory ─► DeciderMemory ─► with what the engine remembers ─► Decider::remember, in one that was told the same
//! ```
//!
//! Each part is told and taken in next to what it is a part of, the engine's in `pumice_engine`.

use std::collections::BTreeSet;
use std::time::Duration;

use pumice_engine::{EngineMemory, Fork};
use pumice_model::KeptTopic;
use serde::{Deserialize, Serialize};

use crate::decider::Decider;
use crate::dry_decisions::DryDecisions;
use crate::effect::Effect;
use crate::expectations::Expectations;
use crate::kept_texts::KeptTextMemory;
use crate::node_sharing::ShardMemory;
use crate::reason_looks::ReasonLooks;
use crate::silent_nodes::SilentMemory;
use crate::status_retries::StatusRetries;
use crate::unanswered::UnansweredMemory;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeciderMemory {
    engine: EngineMemory,
    has_led: bool,
    resting: bool,
    changed: bool,
    last_cycle: (Duration, Duration),
    report_due: Option<Duration>,
    looks: ReasonLooks,
    sharing: ShardMemory,
    retries: StatusRetries,
    /// UIDs of pods whose annotations were handed out.
    cleaned: BTreeSet<String>,
    unanswered: UnansweredMemory,
    expectations: Expectations,
    dry_decisions: DryDecisions,
    kept: [KeptTextMemory; KeptTopic::COUNT],
    silent: SilentMemory,
    /// Measured nodes were unknown, and that was said.
    strange_usage: bool,
}

impl DeciderMemory {
    /// What there was besides and may be decided by, for people.
    pub fn lacks(&self) -> Vec<String> {
        self.engine.lacks()
    }

    /// With what the engine remembers, of which this is a copy that was made at the same moment.
    pub fn with_engine(self, fork: &Fork) -> Self {
        let engine = fork.memory();
        Self { engine, ..self }
    }
}

impl Decider {
    /// What it remembers, without its engine.
    pub fn memory(&self) -> DeciderMemory {
        DeciderMemory {
            engine: EngineMemory::default(),
            has_led: self.has_led,
            resting: self.resting,
            changed: self.changed,
            last_cycle: self.last_cycle,
            report_due: self.report_due,
            looks: self.looks.clone(),
            sharing: self.sharing.keep(),
            retries: self.retries.clone(),
            cleaned: self.cleanups.keep(),
            unanswered: self.unanswered.keep(),
            expectations: self.expectations.clone(),
            dry_decisions: self.dry_decisions.clone(),
            kept: self.kept.keep(&self.engine),
            silent: self.reports.silent.keep(),
            strange_usage: self.usage.is_of_strangers(),
        }
    }

    /// Goes on where another one was that was told the same. What this one wants done for having been told is forgotten: the
    /// other one has done it.
    pub fn remember(&mut self, memory: DeciderMemory) {
        memory.engine.restore(&mut self.engine);
        self.has_led = memory.has_led;
        self.resting = memory.resting;
        self.changed = memory.changed;
        self.last_cycle = memory.last_cycle;
        self.report_due = memory.report_due;
        self.looks = memory.looks;
        self.sharing.restore(memory.sharing);
        self.retries = memory.retries;
        self.cleanups.restore(&memory.cleaned);
        self.unanswered.restore(memory.unanswered);
        self.expectations = memory.expectations;
        self.dry_decisions = memory.dry_decisions;
        self.kept.restore(memory.kept, &self.engine);
        self.reports.silent.restore(memory.silent);
        self.usage.set_of_strangers(memory.strange_usage);
        self.engine.take_device_notes();
        self.effects.take();
    }

    /// What is wanted done and was not taken yet.
    pub fn untaken(&self) -> &[Effect] {
        self.effects.untaken()
    }
}
