//! The tasks that were counted for the mix, kept in a ConfigMap for whoever leads next.
//!
//! ```text
//!  ConfigMap ─► as long as nothing was written in this term ─► the engine, in place of what it has counted
//!  tasks were counted ─┬► half a minute after the term began, and ten minutes after the last text ─► Write
//!                      └► the process ends in order ─► Write, before the lease is released
//! ```
//!
//! Who leads hears its own text again, and whoever else may write the ConfigMap: neither counts once it has written.

use pumice_conf::Config;
use pumice_engine::{Engine, kept_mix_fault};
use pumice_model::Delta;
use pumice_model::write::Write;

use crate::effect::{LogLevel, LogLine};
use crate::task_mix::MixPlace;

/// Seconds from the begin of a term to the first text: whoever is told late of what was kept before has that time.
const FIRST_S: i64 = 30;

/// Seconds from one text to the next.
const PAUSE_S: i64 = 600;

/// Where the tasks are kept that were counted, in a configuration.
pub fn counted_place(config: &Config) -> MixPlace {
    pumice_engine::counted_place(config)
}

/// See the module.
#[derive(Default)]
pub(crate) struct CountedTasksKeeper {
    place: MixPlace,
    /// The ConfigMap was there when it was last heard of.
    is_there: bool,
    /// Something was written in this term.
    has_written: bool,
    /// When the next text is due, once the term has begun.
    due_s: Option<i64>,
    /// The last task of the text that was written in this term.
    written: Option<u64>,
}

/// What was written of tasks that were counted, as another one is told of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct CountedMemory {
    is_there: bool,
    has_written: bool,
    due_s: Option<i64>,
    /// Nothing was counted since.
    is_newest: bool,
}

impl CountedTasksKeeper {
    /// As another one is told of it.
    pub fn keep(&self, engine: &Engine) -> CountedMemory {
        CountedMemory {
            is_there: self.is_there,
            has_written: self.has_written,
            due_s: self.due_s,
            is_newest: self.written == engine.known().last_counted(),
        }
    }

    /// What another one told of.
    pub fn restore(&mut self, told: CountedMemory, engine: &Engine) {
        (self.is_there, self.has_written) = (told.is_there, told.has_written);
        self.due_s = told.due_s;
        let newest = engine.known().last_counted();
        self.written = newest.filter(|_| told.is_newest);
    }

    /// A configuration names this place.
    pub fn follow(&mut self, place: MixPlace) {
        if self.place != place {
            *self = Self {
                place,
                ..Self::default()
            };
        }
    }

    /// This replica leads from now on.
    pub fn begin_term(&mut self) {
        (self.has_written, self.due_s, self.written) = (false, None, None);
    }

    /// Whether a change is for the engine, and what is to be said of it. It is, unless it is of a ConfigMap.
    pub fn takes(&mut self, delta: &Delta) -> (bool, Option<LogLine>) {
        let Delta::CountedTasks {
            namespace,
            name,
            text,
        } = delta
        else {
            return (true, None);
        };
        let is_ours = self
            .place
            .as_ref()
            .is_some_and(|(ours, place)| (ours, place) == (namespace, name));
        if !is_ours {
            // The scheduler's configuration has changed meanwhile.
            return (false, None);
        }
        self.is_there = text.is_some();
        let Some(text) = text
            .as_deref()
            .filter(|text| !text.is_empty() && !self.has_written)
        else {
            return (false, None);
        };
        let Some(fault) = kept_mix_fault(text) else {
            return (true, None);
        };
        let told = format!(
            "tasks counted before, in ConfigMap {namespace}/{name}: {fault}; the pods that are there are counted, and the \
             text is replaced"
        );
        (false, Some(LogLine::new(LogLevel::Warning, told)))
    }

    /// When something is to be written although nothing happens, in seconds since the epoch.
    pub fn due_s(&self, engine: &Engine) -> Option<i64> {
        self.due_s.filter(|_| self.is_needed(engine))
    }

    fn is_needed(&self, engine: &Engine) -> bool {
        let last = engine.known().last_counted().filter(|last| *last > 0);
        self.is_there && last.is_some() && last != self.written
    }

    /// What is to be written, if it is time.
    pub fn take_write(&mut self, engine: &Engine, now_s: i64) -> Option<Write> {
        let due_s = *self.due_s.get_or_insert(now_s.saturating_add(FIRST_S));
        if now_s < due_s {
            return None;
        }
        let write = self.take_last_write(engine)?;
        self.due_s = Some(now_s.saturating_add(PAUSE_S));
        Some(write)
    }

    /// What is to be written where this is the last time: what was counted and is not written yet.
    pub fn take_last_write(&mut self, engine: &Engine) -> Option<Write> {
        let (namespace, name) = self.place.clone()?;
        if !self.is_needed(engine) {
            return None;
        }
        // Nothing as long as what was counted before is not in it: that would be lost.
        let text = engine.known().mix_to_keep();
        if text.is_empty() {
            return None;
        }
        (self.has_written, self.written) = (true, engine.known().last_counted());
        Some(Write::CountedTasks {
            namespace,
            name,
            text,
        })
    }
}
