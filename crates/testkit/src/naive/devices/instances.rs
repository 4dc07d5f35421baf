//! Instances of NVIDIA's cards in MIG mode by the rules alone (spec/04 §23.8).

use serde_json::Value;

/// Pod annotation with the instances it has.
pub const KEY: &str = "hami.io/vgpu-mig-allocations";

/// What a card may be split into.
#[derive(Clone)]
pub struct Profile {
    pub name: String,
    pub memory: i64,
    pub cores: i64,
    pub slices: i64,
    /// Where it may be, the first to be tried first: start and size.
    pub places: Vec<(i64, i64)>,
}

/// The profiles of a card in mode mig, the smallest first.
pub fn profiles(card: &Value) -> Vec<Profile> {
    let number = |value: &Value, key: &str| value[key].as_i64().unwrap_or(0);
    let place = |value: &Value| (number(value, "start"), number(value, "size"));
    let profile = |value: &Value| {
        let name = value["name"].as_str().unwrap_or_default().to_owned();
        let listed = value["placements"].as_array().into_iter().flatten();
        let mut places: Vec<(i64, i64)> = listed.map(place).collect();
        places.sort_unstable();
        if name.starts_with("1g.") || name.starts_with("3g.") {
            places.reverse();
        }
        Profile {
            name,
            memory: number(value, "memoryMB"),
            cores: number(value, "core"),
            slices: number(value, "sliceCount"),
            places,
        }
    };
    let listed = card["migProfiles"].as_array().into_iter().flatten();
    let mut all: Vec<Profile> = listed.map(profile).collect();
    all.sort_by_key(|profile| (profile.memory, profile.slices));
    all
}

/// A card that is split: what it may be split into, and which slices are taken. `None`: nobody knows.
#[derive(Clone, Default)]
pub struct Slices {
    pub profiles: Vec<Profile>,
    pub taken: Vec<Option<(i64, i64)>>,
}

impl Slices {
    /// The first free place of the smallest profile of so much memory that has one; of the largest profile where
    /// all is asked.
    pub fn free(&self, memory: Option<i64>, left: (i64, i64)) -> Option<(&Profile, (i64, i64))> {
        let large_enough = |profile: &&Profile| match memory {
            Some(memory) => profile.memory >= memory,
            None => self
                .profiles
                .last()
                .is_some_and(|last| last.name == profile.name),
        };
        self.profiles
            .iter()
            .filter(large_enough)
            .find_map(|profile| {
                let is_free = |(start, size): &&(i64, i64)| {
                    self.taken.iter().all(|taken| {
                        taken.is_some_and(|(from, long)| {
                            start + size <= from || from + long <= *start
                        })
                    })
                };
                let fits = profile.memory <= left.0 && profile.cores <= left.1;
                let place = profile.places.iter().find(is_free).filter(|_| fits)?;
                Some((profile, *place))
            })
    }
}

/// An instance of an annotation: container, card, profile, place.
pub type ToldInstance = (i64, String, String, (i64, i64));

/// The instances of an annotation.
pub fn told(text: &str) -> Vec<ToldInstance> {
    let list: Value = serde_json::from_str(text).unwrap_or_default();
    let one = |value: &Value| {
        let text = |key: &str| value[key].as_str().expect("a text").to_owned();
        let number = |value: &Value, key: &str| value[key].as_i64().expect("a number");
        let place = &value["placement"];
        (
            number(value, "containerIndex"),
            text("gpuUUID"),
            text("profile"),
            (number(place, "start"), number(place, "size")),
        )
    };
    list.as_array().into_iter().flatten().map(one).collect()
}

/// The next instance of a container on a card.
pub fn next(told: &mut Vec<ToldInstance>, container: usize, card: &str) -> Option<ToldInstance> {
    let at = told
        .iter()
        .position(|one| one.0 == container as i64 && one.1 == card)?;
    Some(told.remove(at))
}

/// An entry as it is written.
pub fn entry(
    (container, device): (usize, usize),
    card: &str,
    profile: &str,
    at: (i64, i64),
) -> String {
    format!(
        r#"{{"containerIndex":{container},"deviceIndex":{device},"gpuUUID":"{card}","profile":"{profile}","placement":{{"start":{},"size":{}}}}}"#,
        at.0, at.1
    )
}
