//! Where the classes of the mix come from: the argument, a ConfigMap, or what tasks asked.

use pumice_framework::CycleInfo;
use pumice_model::State;
use pumice_model::device::CountedTasks;

use super::asked_class::{AskedClass, CountedClass};
use super::belief::Surprises;
use super::census::{Census, together};
use super::kept::{self, KeptCensus};
use super::weigh;
use super::written::{self, read_lines};

/// Namespace and name of a ConfigMap.
pub(super) type MapPlace = (String, String);

/// The mix of a ConfigMap.
#[derive(Clone)]
struct MixMap {
    place: MapPlace,
    /// Epoch of the text that was read last.
    epoch: Option<u64>,
    /// Empty as long as nothing could be read.
    classes: Vec<CountedClass>,
    is_other: bool,
}

/// Where the classes come from. What is written goes before a ConfigMap, and that before what is seen, unless that is
/// something else.
#[derive(Clone)]
pub(super) struct MixSource {
    /// By the argument.
    written: Vec<CountedClass>,
    map: Option<MixMap>,
    /// What is written counts whatever comes.
    stands: bool,
    /// Tasks that came.
    seen: Census,
    /// Epoch of what was counted before, as it was taken in last.
    before: u64,
    most: usize,
    origin: String,
    /// Why what is written does not count.
    doubt: Option<String>,
}

impl MixSource {
    /// With at most so many classes.
    pub fn new(
        (written, place, stands): (&[String], Option<MapPlace>, bool),
        half_life_s: i64,
        most: usize,
    ) -> Self {
        let read = written.iter().filter_map(|text| written::read(text).ok());
        Self {
            written: read.collect(),
            map: place.map(|place| MixMap {
                place,
                epoch: None,
                classes: Vec::new(),
                is_other: false,
            }),
            stands,
            seen: Census::new(half_life_s),
            before: 0,
            most,
            origin: String::new(),
            doubt: None,
        }
    }

    /// For people.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Why what somebody wrote does not count, if it does not.
    pub fn doubt(&self) -> Option<&str> {
        self.doubt.as_deref()
    }

    /// Somebody wrote the classes that count.
    pub fn is_written(&self) -> bool {
        self.doubt.is_none() && !self.all_written().is_empty()
    }

    fn all_written(&self) -> &[CountedClass] {
        match &self.map {
            Some(map) if self.written.is_empty() => &map.classes,
            _ => &self.written,
        }
    }

    /// Where the written classes are, for people.
    fn place(&self) -> String {
        match &self.map {
            Some(map) if self.written.is_empty() => {
                let (namespace, name) = &map.place;
                format!("ConfigMap {namespace}/{name}")
            }
            _ => "the argument fragmentation.mix".to_owned(),
        }
    }

    /// Takes in what has come.
    pub fn follow(&mut self, state: &State, cycle: &CycleInfo) {
        if let Some(map) = &mut self.map {
            map.follow(state);
        }
        self.go_on(state, cycle.now_s);
        self.seen.count(state, cycle);
    }

    /// Takes in what was counted before, once.
    fn go_on(&mut self, state: &State, now_s: i64) {
        let devices = state.supplies().devices();
        if std::mem::replace(&mut self.before, devices.counted_epoch()) == devices.counted_epoch() {
            return;
        }
        // Who kept a text that cannot be read is told elsewhere.
        if let Some(counted) = devices.counted_before()
            && let Ok(before) = kept::read(&counted.text, now_s)
        {
            self.seen.go_on(before, counted.last);
        }
    }

    /// The tasks that were counted, for a plugin that comes after this one.
    pub fn counted(&self, state: &State) -> Option<CountedTasks> {
        Some(CountedTasks {
            text: self.kept(state)?.text().into(),
            last: Some(self.seen.last()),
        })
    }

    /// The tasks that were counted, once what was counted before is among them.
    pub fn kept(&self, state: &State) -> Option<KeptCensus<'_>> {
        let is_up_to_date = self.before == state.supplies().devices().counted_epoch();
        self.seen.as_kept().filter(|_| is_up_to_date)
    }

    /// Tasks that came.
    pub fn seen(&self) -> &Census {
        &self.seen
    }

    /// The mix may be another one.
    pub fn is_other(&self) -> bool {
        let is_fixed = self.stands && !self.all_written().is_empty();
        let is_rewritten = self.map.as_ref().is_some_and(|map| map.is_other);
        is_rewritten || !is_fixed && self.seen.is_other()
    }

    /// The classes as they are now.
    pub fn take(&mut self, state: &State, now_s: i64) -> Vec<CountedClass> {
        if let Some(map) = &mut self.map {
            map.is_other = false;
        }
        let counts = |asked: &AskedClass| weigh::counts(state, asked);
        let seen = self.seen.take(now_s, self.most, counts);
        (self.origin, self.doubt) = ("what tasks asked".to_owned(), None);
        let count = self.all_written().len();
        if count == 0 {
            return seen;
        }
        let written = at_most(self.most, self.all_written(), state);
        let surprises = Surprises::of(&written, &seen);
        if !self.stands && surprises.are_too_many() {
            self.doubt = Some(format!(
                "{} does not count: of the tasks that came lately, {} in all, {} are not as it says; mend it, or set \
                 fragmentation.mixStands",
                self.place(),
                surprises.came,
                surprises.unforetold
            ));
            return seen;
        }
        self.origin = format!("{}{}", self.place(), merged(self.most, count));
        written
    }
}

impl MixMap {
    /// Reads the text if it is a new one. A text without a class changes nothing.
    fn follow(&mut self, state: &State) {
        let devices = state.supplies().devices();
        let epoch = devices.mix_text_epoch();
        if self.epoch.replace(epoch) == Some(epoch) {
            return;
        }
        let Some(text) = devices.mix_text(&self.place) else {
            return;
        };
        let classes: Vec<CountedClass> = read_lines(text)
            .filter_map(|(_, _, read)| read.ok())
            .collect();
        if !classes.is_empty() {
            self.classes = classes;
            self.is_other = true;
        }
    }
}

/// What is said of where the classes come from, if there are too many.
fn merged(most: usize, count: usize) -> String {
    match count > most {
        true => format!(", {count} classes: the rarer ones count as those that are most alike"),
        false => String::new(),
    }
}

/// The heaviest of them, if there are too many; the mass of each of the others is with the one that is most alike.
/// What does not count takes no place of what does.
fn at_most(most: usize, classes: &[CountedClass], state: &State) -> Vec<CountedClass> {
    if classes.len() <= most {
        return classes.to_vec();
    }
    let all = classes.iter().cloned();
    let (counting, others): (Vec<_>, Vec<_>) =
        all.partition(|class| weigh::counts(state, &class.asked));
    let mut all = match counting.len() > most {
        true => together(counting, most),
        false => counting,
    };
    all.extend(others);
    all
}
