//! Where the classes of the mix come from: the argument, a ConfigMap, or what tasks asked.

use pumice_framework::CycleInfo;
use pumice_model::State;

use super::census::{AskedClass, Census, CountedClass, together};
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
    /// What people are told if there are too many of them; empty otherwise.
    merged: String,
    is_other: bool,
}

/// Where the classes come from. What is written goes before a ConfigMap, and that before what is seen.
pub(super) struct MixSource {
    /// By the argument.
    written: Vec<CountedClass>,
    map: Option<MixMap>,
    /// Tasks that came, as long as nobody says what comes.
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
        let read: Vec<CountedClass> = read.collect();
        let origin = match read.len() {
            0 => "what tasks asked".to_owned(),
            count => format!("the argument fragmentation.mix{}", merged(most, count)),
        };
        Self {
            written: read,
            map: place.map(|place| MixMap {
                place,
                epoch: None,
                classes: Vec::new(),
                merged: String::new(),
                is_other: false,
            }),
            seen: Census::new(half_life_s),
            most,
            origin,
        }
    }

    /// For people.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Somebody wrote them.
    pub fn is_written(&self) -> bool {
        let is_read = self.map.as_ref().is_some_and(|map| !map.classes.is_empty());
        !self.written.is_empty() || is_read
    }

    /// Takes in what has come.
    pub fn follow(&mut self, state: &State, cycle: &CycleInfo) {
        if !self.written.is_empty() {
            return;
        }
        if let Some(map) = &mut self.map {
            map.follow(state, self.most);
            if !map.classes.is_empty() {
                let (namespace, name) = &map.place;
                self.origin = format!("ConfigMap {namespace}/{name}{}", map.merged);
                return;
            }
        }
        self.seen.count(state, cycle);
    }

    /// The mix may be another one.
    pub fn is_other(&self) -> bool {
        if !self.written.is_empty() {
            return false;
        }
        match &self.map {
            Some(map) if !map.classes.is_empty() => map.is_other,
            _ => self.seen.is_other(),
        }
    }

    /// The classes as they are now.
    pub fn take(&mut self, state: &State, now_s: i64) -> Vec<CountedClass> {
        if !self.written.is_empty() {
            return at_most(self.most, &self.written, state);
        }
        match &mut self.map {
            Some(map) if !map.classes.is_empty() => {
                map.is_other = false;
                at_most(self.most, &map.classes, state)
            }
            _ => {
                let counts = |asked: &AskedClass| weigh::counts(state, asked);
                self.seen.take(now_s, self.most, counts)
            }
        }
    }
}

impl MixMap {
    /// Reads the text if it is a new one. A text without a class changes nothing.
    fn follow(&mut self, state: &State, most: usize) {
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
            self.merged = merged(most, classes.len());
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
