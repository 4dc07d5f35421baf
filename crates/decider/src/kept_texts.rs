//! What plugins keep in ConfigMaps for whoever leads next: the tasks that were counted for the mix, who used how much,
//! which places are kept for jobs, and how long jobs ran.
//!
//! ```text
//!  ConfigMap ─► as long as nothing was written in this term ─► the engine, in place of what it knows itself
//!  there is more to keep ─┬► half a minute after the term began, and some minutes after the last text ─► Write
//!                         └► the process ends in order ─► Write, before the lease is released
//! ```
//!
//! Who leads hears its own text again, and whoever else may write the ConfigMap: neither counts once it has written.

use pumice_conf::Config;
use pumice_engine::{Engine, kept_fault, kept_place};
use pumice_model::write::Write;
use pumice_model::{Delta, KeptTopic};

use crate::effect::{LogLevel, LogLine};
use crate::task_mix::MixPlace;

/// Seconds from the begin of a term to the first text: whoever is told late of what was kept before has that time.
const FIRST_S: i64 = 30;

/// Seconds from one text to the next.
fn pause_s(topic: KeptTopic) -> i64 {
    match topic {
        KeptTopic::Tasks | KeptTopic::Use | KeptTopic::RunTimes => 600,
        // What is promised is to be kept.
        KeptTopic::Places => 60,
    }
}

/// All that is kept, each by a keeper of its own.
pub(crate) struct KeptTexts {
    keepers: [TextKeeper; KeptTopic::COUNT],
    /// The configuration in use.
    config: Config,
}

impl Default for KeptTexts {
    fn default() -> Self {
        Self {
            keepers: KeptTopic::ALL.map(TextKeeper::new),
            config: Config::default(),
        }
    }
}

impl KeptTexts {
    /// As another one is told of it.
    pub fn keep(&self, engine: &Engine) -> [KeptTextMemory; KeptTopic::COUNT] {
        self.keepers.each_ref().map(|keeper| keeper.keep(engine))
    }

    /// What another one told of.
    pub fn restore(&mut self, told: [KeptTextMemory; KeptTopic::COUNT], engine: &Engine) {
        for (keeper, told) in self.keepers.iter_mut().zip(told) {
            keeper.restore(told, engine);
        }
    }

    /// A configuration is in use from now on.
    pub fn follow(&mut self, config: &Config) {
        self.keepers
            .iter_mut()
            .for_each(|keeper| keeper.follow(config));
        self.config = config.clone();
    }

    /// This replica leads from now on.
    pub fn begin_term(&mut self) {
        self.keepers.iter_mut().for_each(TextKeeper::begin_term);
    }

    /// Whether a change is for the engine, and what is to be said of it. It is, unless it is of a ConfigMap.
    pub fn takes(&mut self, delta: &Delta) -> (bool, Option<LogLine>) {
        let Delta::KeptText { topic, .. } = delta else {
            return (true, None);
        };
        let mut keepers = self.keepers.iter_mut();
        let keeper = keepers.find(|keeper| keeper.topic == *topic);
        keeper.map_or((false, None), |keeper| keeper.takes(delta, &self.config))
    }

    /// When something is to be written although nothing happens, in seconds since the epoch.
    pub fn due_s(&self, engine: &Engine) -> Option<i64> {
        let due_s = self
            .keepers
            .iter()
            .filter_map(|keeper| keeper.due_s(engine));
        due_s.min()
    }

    /// What is to be written, if it is time.
    pub fn take_writes(&mut self, engine: &Engine, now_s: i64) -> Vec<Write> {
        let keepers = self.keepers.iter_mut();
        keepers
            .filter_map(|keeper| keeper.take_write(engine, now_s))
            .collect()
    }

    /// What is to be written where this is the last time.
    pub fn take_last_writes(&mut self, engine: &Engine) -> Vec<Write> {
        let keepers = self.keepers.iter_mut();
        keepers
            .filter_map(|keeper| keeper.take_last_write(engine))
            .collect()
    }
}

/// What is known of one text.
struct TextKeeper {
    topic: KeptTopic,
    place: MixPlace,
    /// The ConfigMap was there when it was last heard of.
    is_there: bool,
    /// Something was written in this term.
    has_written: bool,
    /// When the next text is due, once the term has begun.
    due_s: Option<i64>,
    /// How new the text was that was written in this term.
    written: Option<u64>,
}

/// What was written of one text, as another one is told of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct KeptTextMemory {
    is_there: bool,
    has_written: bool,
    due_s: Option<i64>,
    /// There is nothing new since.
    is_newest: bool,
}

impl TextKeeper {
    fn new(topic: KeptTopic) -> Self {
        Self {
            topic,
            place: None,
            is_there: false,
            has_written: false,
            due_s: None,
            written: None,
        }
    }

    fn newest(&self, engine: &Engine) -> Option<u64> {
        engine.known().last_kept(self.topic)
    }

    fn keep(&self, engine: &Engine) -> KeptTextMemory {
        KeptTextMemory {
            is_there: self.is_there,
            has_written: self.has_written,
            due_s: self.due_s,
            is_newest: self.written == self.newest(engine),
        }
    }

    fn restore(&mut self, told: KeptTextMemory, engine: &Engine) {
        (self.is_there, self.has_written) = (told.is_there, told.has_written);
        self.due_s = told.due_s;
        let newest = self.newest(engine);
        self.written = newest.filter(|_| told.is_newest);
    }

    fn follow(&mut self, config: &Config) {
        let place = kept_place(self.topic, config);
        if self.place != place {
            *self = Self {
                place,
                ..Self::new(self.topic)
            };
        }
    }

    fn begin_term(&mut self) {
        (self.has_written, self.due_s, self.written) = (false, None, None);
    }

    fn takes(&mut self, delta: &Delta, config: &Config) -> (bool, Option<LogLine>) {
        let Delta::KeptText {
            namespace,
            name,
            text,
            ..
        } = delta
        else {
            return (false, None);
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
        let Some(fault) = kept_fault(self.topic, text, config) else {
            return (true, None);
        };
        let counted = "the pods that are there are counted";
        let (what, then) = match self.topic {
            KeptTopic::Tasks => ("tasks counted before", counted),
            KeptTopic::Use => ("what was used before", counted),
            KeptTopic::Places => ("places kept before", "they are planned anew"),
            KeptTopic::RunTimes => ("run times kept before", "they are learned anew"),
        };
        let told = format!(
            "{what}, in ConfigMap {namespace}/{name}: {fault}; {then}, and the text is replaced"
        );
        (false, Some(LogLine::new(LogLevel::Warning, told)))
    }

    fn due_s(&self, engine: &Engine) -> Option<i64> {
        self.due_s.filter(|_| self.is_needed(engine))
    }

    fn is_needed(&self, engine: &Engine) -> bool {
        let last = self.newest(engine).filter(|last| *last > 0);
        self.is_there && last.is_some() && last != self.written
    }

    fn take_write(&mut self, engine: &Engine, now_s: i64) -> Option<Write> {
        let due_s = *self.due_s.get_or_insert(now_s.saturating_add(FIRST_S));
        if now_s < due_s {
            return None;
        }
        let write = self.take_last_write(engine)?;
        self.due_s = Some(now_s.saturating_add(pause_s(self.topic)));
        Some(write)
    }

    fn take_last_write(&mut self, engine: &Engine) -> Option<Write> {
        let (namespace, name) = self.place.clone()?;
        if !self.is_needed(engine) {
            return None;
        }
        // Nothing as long as what was kept before is not in it: that would be lost.
        let text = engine.known().text_to_keep(self.topic);
        if text.is_empty() {
            return None;
        }
        (self.has_written, self.written) = (true, self.newest(engine));
        Some(Write::KeptText {
            topic: self.topic,
            namespace,
            name,
            text,
        })
    }
}
