//! Where the classes of the mix come from: the argument or a ConfigMap, and what tasks asked.

use pumice_framework::CycleInfo;
use pumice_model::State;

use super::alike::together;
use super::blend::MixedClass;
use super::census::{AskedClass, Census, CountedClass};
use super::weigh;
use super::written::{self, read_lines};

/// What `fragmentation.configMap` has to be.
pub(super) fn place_fault(text: &str) -> Option<String> {
    let is_name = |name: &str| {
        let is_of_names = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_inside = |byte: u8| is_of_names(byte) || byte == b'-' || byte == b'.';
        name.len() <= 253
            && name.bytes().all(is_inside)
            && name.bytes().next().is_some_and(is_of_names)
    };
    match text.split_once('/') {
        Some((namespace, name)) if is_name(namespace) && is_name(name) => None,
        _ => Some("is not a namespace, a slash and a name".to_owned()),
    }
}

/// Namespace and name of a ConfigMap.
pub(super) type MapPlace = (String, String);

/// The mix of a ConfigMap.
struct MixMap {
    place: MapPlace,
    /// Epoch of the text that was read last.
    epoch: Option<u64>,
    /// Empty as long as nothing could be read.
    classes: Vec<CountedClass>,
    is_other: bool,
}

/// Where the classes come from. What is written goes before a ConfigMap; what is seen counts beside either.
pub(super) struct MixSource {
    /// By the argument.
    written: Vec<CountedClass>,
    map: Option<MixMap>,
    /// Tasks that came.
    seen: Census,
    most: usize,
    origin: String,
}

impl MixSource {
    /// With at most so many classes.
    pub fn new(
        (written, place): (&[String], Option<MapPlace>),
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
            seen: Census::new(half_life_s),
            most,
            origin: String::new(),
        }
    }

    /// For people.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Somebody wrote them.
    pub fn is_written(&self) -> bool {
        !self.of_writer().0.is_empty()
    }

    /// What somebody wrote, and where.
    fn of_writer(&self) -> (&[CountedClass], String) {
        match &self.map {
            _ if !self.written.is_empty() => {
                (&self.written, "the argument fragmentation.mix".to_owned())
            }
            Some(map) => {
                let (namespace, name) = &map.place;
                (&map.classes, format!("ConfigMap {namespace}/{name}"))
            }
            None => (&[], String::new()),
        }
    }

    /// Takes in what has come.
    pub fn follow(&mut self, state: &State, cycle: &CycleInfo) {
        if let Some(map) = &mut self.map {
            map.follow(state);
        }
        self.seen.count(state, cycle);
    }

    /// The mix may be another one.
    pub fn is_other(&self) -> bool {
        let is_read_anew = self.map.as_ref().is_some_and(|map| map.is_other);
        is_read_anew || self.seen.is_other()
    }

    /// The classes as they are now: first those that somebody wrote.
    pub fn take(&mut self, state: &State, now_s: i64) -> Vec<MixedClass> {
        if let Some(map) = &mut self.map {
            map.is_other = false;
        }
        let counts = |asked: &AskedClass| weigh::counts(state, asked);
        let seen = self.seen.take(now_s, counts);
        let seen: Vec<MixedClass> = seen.iter().map(MixedClass::seen).collect();
        let (written, mut whose) = self.of_writer();
        let all = written.iter().map(MixedClass::written);
        let (kept, mut classes): (Vec<_>, Vec<_>) = all.partition(|class| counts(&class.asked));
        whose.push_str(&merged(self.most, kept.len()));
        if !seen.is_empty() {
            whose.push_str(", and what tasks asked");
        }
        let kept = at_most(self.most, kept);
        // However many are written, there is room for what is seen.
        let most = match kept.len() {
            0 => self.most,
            written => self.most.max(written + self.most.div_ceil(2)),
        };
        classes.extend(together(kept, seen, most));
        self.origin = match self.is_written() {
            true => whose,
            false => "what tasks asked".to_owned(),
        };
        classes
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

/// What is said of classes that somebody wrote, if there are too many.
fn merged(most: usize, count: usize) -> String {
    match count > most {
        true => format!(", {count} classes: the rarer ones count as those that are most alike"),
        false => String::new(),
    }
}

/// The heaviest of them, if there are too many; the mass of each of the others is with the one that is most alike.
fn at_most(most: usize, mut classes: Vec<MixedClass>) -> Vec<MixedClass> {
    if classes.len() <= most {
        return classes;
    }
    classes.sort_by_key(|class| std::cmp::Reverse(class.masses.written));
    together(Vec::new(), classes, most)
}
