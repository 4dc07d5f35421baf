//! Names, and what stands in their place: in the same order, as far as names are compared with each other.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use pumice_engine::REGISTRY;

use super::fields::{KEPT_FIELDS, TEXT_FIELDS};
use super::wording::{WordPlace, Worded};
use crate::entry::TapeEntry;

/// Fields with names of objects: these are looked for in texts, too.
const OBJECT_FIELDS: [&str; 18] = [
    "avoided",
    "claim",
    "excluded",
    "group",
    "hierarchy",
    "name",
    "namespace",
    "namespaces",
    "node",
    "owners",
    "parent",
    "placed",
    "preferred",
    "queue",
    "required",
    "uid",
    "user",
    "volume",
];

/// What people wrote for people: it may name anything, and nothing is decided by it.
const HIDDEN_FIELDS: [&str; 3] = ["Unread", "message", "why"];

/// What stands there instead.
const HIDDEN: &str = "(hidden)";

/// Words that mean something by themselves, in whatever field.
const KEPT_WORDS: [&str; 30] = [
    "CronJob",
    "DaemonSet",
    "Deployment",
    "Job",
    "JobFlow",
    "Node",
    "Pod",
    "PodGroup",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
    "TCP",
    "UDP",
    "amd64",
    "arm64",
    "cpu",
    "default",
    "ephemeral-storage",
    "false",
    "kube-node-lease",
    "kube-public",
    "kube-system",
    "linux",
    "memory",
    "no",
    "pods",
    "root",
    "true",
    "volcano",
    "yes",
];

/// Domains of keys that are decided by.
const KNOWN_DOMAINS: [&str; 9] = [
    "amd.com",
    "hami.io",
    "huawei.com",
    "k8s.io",
    "kubernetes.io",
    "nvidia.com",
    "pumice.sh",
    "volcano.sh",
    "x-k8s.io",
];

/// Begins of pseudonyms, by the greatest of these kept words that stands before the name: so they keep their order among
/// those, too.
const BEGINS: [(&str, &str); 4] = [
    ("", "a"),
    ("default", "e"),
    ("kube-system", "name"),
    ("root", "s"),
];

/// Shortest name that is looked for in texts.
const MIN_IN_TEXT: usize = 3;

/// What is done with a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Treatment {
    Kept,
    Hidden,
    Text,
    Name,
}

fn treatment(place: WordPlace, text: &str) -> Treatment {
    let is_one = |list: &[&str], word: &str| list.contains(&word);
    let is_said = place.of == "GroupCondition" && place.field == "message";
    let domain = text.split_once('/').map(|(domain, _)| domain);
    let is_known = |known: &str| {
        let is = |domain: &str| domain == known || domain.ends_with(&format!(".{known}"));
        domain.is_some_and(is)
    };
    if !text.contains(char::is_alphabetic)
        || is_one(&KEPT_FIELDS, place.field)
        || is_one(&KEPT_WORDS, text)
    {
        Treatment::Kept
    } else if place.of == "PodFacts" && place.field == "names" {
        Treatment::Name
    } else if is_said || is_one(&TEXT_FIELDS, place.field) || is_one(&TEXT_FIELDS, place.of) {
        Treatment::Text
    } else if is_one(&HIDDEN_FIELDS, place.field) {
        Treatment::Hidden
    } else if ["DeviceConfig", "TaskMix", "ReportsOf"].contains(&place.of)
        || place.of == "PodFacts"
        || place.of == "ContainerFacts"
    {
        Treatment::Text
    } else if place.field != "images" && KNOWN_DOMAINS.into_iter().any(is_known) {
        Treatment::Kept
    } else {
        Treatment::Name
    }
}

/// All names of a recording.
#[derive(Debug, Default)]
pub struct NameCollection {
    /// Each, and whether it is looked for in texts.
    names: RefCell<BTreeMap<String, bool>>,
    /// Words that stand where words are kept: in any other field they mean the same.
    kept: RefCell<BTreeSet<String>>,
}

impl NameCollection {
    /// Names of an entry.
    pub fn take(&mut self, entry: &TapeEntry) {
        let wording = |place: WordPlace, text: &str| {
            if KEPT_FIELDS.contains(&place.field) {
                self.kept.borrow_mut().insert(text.to_owned());
            } else if treatment(place, text) == Treatment::Name {
                let mut names = self.names.borrow_mut();
                let is_object = OBJECT_FIELDS.contains(&place.field)
                    || OBJECT_FIELDS.contains(&place.of)
                    || place.of.ends_with("Delete");
                *names.entry(text.to_owned()).or_default() |= is_object;
            }
            String::new()
        };
        // What comes of it is of no interest.
        let _ = worded(entry, &wording);
    }

    /// A pseudonym for each.
    pub fn pseudonyms(self) -> Pseudonyms {
        let kept = self.kept.into_inner();
        let mut names = self.names.into_inner();
        names.retain(|name, _| !kept.contains(name));
        let words: BTreeSet<String> = vocabulary();
        let in_text = names
            .iter()
            .filter(|(name, is_object)| {
                **is_object && name.len() >= MIN_IN_TEXT && !words.contains(*name)
            })
            .map(|(name, _)| name.clone())
            .collect();
        let names = names.into_keys().enumerate().map(|(at, name)| {
            let begin = BEGINS.iter().rev().find(|(word, _)| *word <= &*name);
            let begin = begin.map_or("a", |(_, begin)| begin);
            let pseudonym = format!("{begin}-{at:07}");
            (name, pseudonym)
        });
        Pseudonyms {
            names: names.collect(),
            in_text,
            kept,
        }
    }
}

/// Words of configurations: plugins, actions, arguments.
fn vocabulary() -> BTreeSet<String> {
    let plugins = REGISTRY.plugins.iter().flat_map(|plugin| {
        let arguments = plugin.args.iter().map(|argument| argument.name.to_owned());
        arguments.chain([plugin.name.to_owned()])
    });
    let actions = REGISTRY.actions.iter().map(|action| action.name.to_owned());
    plugins.chain(actions).collect()
}

/// What stands in the place of names.
#[derive(Clone, Debug)]
pub struct Pseudonyms {
    names: BTreeMap<String, String>,
    in_text: BTreeSet<String>,
    kept: BTreeSet<String>,
}

impl Pseudonyms {
    /// How many names there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The entry with pseudonyms in the place of names; `None` where that cannot be read, as a name may stand where
    /// only some words may.
    pub fn rename(&self, entry: &TapeEntry) -> Option<TapeEntry> {
        let wording = |place: WordPlace, text: &str| match treatment(place, text) {
            Treatment::Kept => text.to_owned(),
            Treatment::Name if self.kept.contains(text) => text.to_owned(),
            Treatment::Hidden => HIDDEN.to_owned(),
            Treatment::Text => self.text(text, place.field == "Configure"),
            // One that was not collected does not get out.
            Treatment::Name => self
                .names
                .get(text)
                .map_or_else(|| HIDDEN.to_owned(), Clone::clone),
        };
        let bytes = worded(entry, &wording)?;
        postcard::from_bytes(&bytes).ok()
    }

    /// A text with pseudonyms in the place of the names of objects: where one begins and ends with a word, the longest.
    /// Keys of a configuration keep theirs: whoever names a pod after one makes no other configuration of it.
    fn text(&self, text: &str, is_configuration: bool) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        let mut before = None;
        while let Some(first) = rest.chars().next() {
            let begins = !before.is_some_and(char::is_alphanumeric);
            let is_key = |name: &str| {
                let after = &rest[name.len()..];
                let after = after.strip_prefix('"').unwrap_or(after);
                let ends = |next: Option<char>| next.is_none_or(|next| !next.is_alphanumeric());
                after
                    .strip_prefix(':')
                    .is_some_and(|after| ends(after.chars().next()))
            };
            let longest = self.longest(rest);
            let longest = longest.filter(|(name, _)| begins && !(is_configuration && is_key(name)));
            let (piece, new) = match longest {
                Some((name, pseudonym)) => (name, pseudonym),
                None => {
                    let piece = &rest[..first.len_utf8()];
                    (piece, piece)
                }
            };
            out.push_str(new);
            before = piece.chars().next_back();
            rest = &rest[piece.len()..];
        }
        out
    }

    /// The longest name with which it begins and that ends with a word.
    fn longest<'a>(&'a self, text: &'a str) -> Option<(&'a str, &'a str)> {
        // Names have no more bytes.
        const MAX_NAME: usize = 512;
        let mut ends = text
            .char_indices()
            .skip(1)
            .take_while(|(at, _)| *at <= MAX_NAME);
        let mut found = None;
        let mut try_end = |end: usize| {
            let name = &text[..end];
            if self.in_text.contains(name) {
                found = self.names.get(name).map(|pseudonym| (name, &**pseudonym));
            }
        };
        let mut before_is_word = text.chars().next().is_some_and(char::is_alphanumeric);
        for (at, next) in ends.by_ref() {
            if before_is_word && !next.is_alphanumeric() {
                try_end(at);
            }
            before_is_word = next.is_alphanumeric();
        }
        if text.len() <= MAX_NAME {
            try_end(text.len());
        }
        found
    }
}

fn worded(entry: &TapeEntry, wording: &dyn Fn(WordPlace, &str) -> String) -> Option<Vec<u8>> {
    let worded = Worded {
        value: entry,
        place: WordPlace::default(),
        wording,
    };
    postcard::to_extend(&worded, Vec::new()).ok()
}
