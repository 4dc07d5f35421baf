//! Flags of plugins, written as Go's package `flag` reads them: `--name=value`, `-name=value`,
//! `--name value` as two entries, and switches without value.

use std::collections::BTreeMap;

use super::super::problem::{JobProblems, add};

/// A flag that a plugin knows.
pub(super) struct FlagSpec {
    /// Name without dashes.
    pub name: &'static str,
    /// What it takes.
    pub takes: FlagKind,
}

/// What a flag takes.
pub(super) enum FlagKind {
    /// Name of a task of the Job.
    Task(&'static str),
    /// Text that is not empty.
    Text(&'static str),
    /// Text that is never repeated in a message; absent by default.
    Hidden,
    /// Number of a port.
    Port(u16),
    /// Seconds, at least 1.
    Seconds(u32),
    /// True or false.
    Switch(bool),
}

impl FlagSpec {
    pub const fn new(name: &'static str, takes: FlagKind) -> Self {
        Self { name, takes }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum FlagValue {
    Text(String),
    Number(u32),
    Switch(bool),
}

/// Values of the flags of one plugin, defaults where none was given.
pub(super) struct PluginFlags {
    values: BTreeMap<&'static str, FlagValue>,
    /// Entry of the list that gave the value.
    given: BTreeMap<&'static str, usize>,
    /// Entries that are no flag of the plugin, and what to say of each.
    unknown: Vec<(usize, String)>,
}

/// Why an entry is no value of a flag.
enum FlagFault {
    /// The plugin has no such flag: it runs without, as it would under Volcano.
    Unknown(String),
    /// The flag is there, its value is none.
    Wrong(String),
}

impl PluginFlags {
    /// Reads all entries; a value that cannot be read is told under `path` and left at its default.
    pub fn read(
        known: &'static [FlagSpec],
        entries: &[String],
        path: &str,
        problems: &mut JobProblems,
    ) -> Self {
        let mut flags = Self {
            values: known
                .iter()
                .map(|flag| (flag.name, flag.takes.default()))
                .collect(),
            given: BTreeMap::new(),
            unknown: Vec::new(),
        };
        let mut at = 0;
        while let Some(entry) = entries.get(at) {
            let next = entries.get(at + 1).map(String::as_str);
            match flags.take(known, entry, next, at) {
                Ok(taken) => at += taken,
                Err(FlagFault::Unknown(message)) => {
                    flags.unknown.push((at, message));
                    at += 1;
                }
                Err(FlagFault::Wrong(message)) => {
                    add(problems, format!("{path}[{at}]"), message);
                    at += 1;
                }
            }
        }
        flags
    }

    /// Takes in one entry, and the next one where it is its value; how many it took.
    fn take(
        &mut self,
        known: &'static [FlagSpec],
        entry: &str,
        next: Option<&str>,
        at: usize,
    ) -> Result<usize, FlagFault> {
        let bare = entry.strip_prefix("--").or_else(|| entry.strip_prefix('-'));
        let (name, own) = match bare.unwrap_or_default().split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (bare.unwrap_or_default(), None),
        };
        if name.is_empty() || name.starts_with('-') {
            let message = format!("{:?} is no flag{}", shortened(entry), forms(known));
            return Err(FlagFault::Unknown(message));
        }
        let Some(flag) = known.iter().find(|flag| flag.name == name) else {
            let message = format!("there is no flag \"--{}\"{}", shortened(name), forms(known));
            return Err(FlagFault::Unknown(message));
        };
        let (text, taken) = match (own, &flag.takes) {
            (Some(text), _) => (text, 1),
            (None, FlagKind::Switch(_)) => ("true", 1),
            (None, _) => match next {
                Some(text) => (text, 2),
                None => {
                    let wanted = flag.takes.wanted();
                    let message = format!("\"--{name}\" needs a value: {wanted}");
                    return Err(FlagFault::Wrong(message));
                }
            },
        };
        let wrong = || match flag.takes {
            FlagKind::Hidden => format!("\"--{name}\" must not be empty"),
            _ => format!(
                "{:?} is no value of \"--{name}\": write {}",
                shortened(text),
                flag.takes.wanted()
            ),
        };
        let value = flag.takes.parse(text);
        let value = value.ok_or_else(|| FlagFault::Wrong(wrong()))?;
        self.values.insert(flag.name, value);
        self.given.insert(flag.name, at);
        Ok(taken)
    }

    /// Text of a flag; empty if it has none.
    pub fn text(&self, name: &str) -> &str {
        match self.values.get(name) {
            Some(FlagValue::Text(text)) => text,
            _ => "",
        }
    }

    /// Number of a flag.
    pub fn number(&self, name: &str) -> u32 {
        match self.values.get(name) {
            Some(FlagValue::Number(number)) => *number,
            _ => 0,
        }
    }

    /// Whether a switch is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.values.get(name) == Some(&FlagValue::Switch(true))
    }

    /// Entries that are no flag of the plugin, by position, and what to say of each.
    pub fn unknown(&self) -> &[(usize, String)] {
        &self.unknown
    }

    /// Entry that gave a flag.
    pub fn given_at(&self, name: &str) -> Option<usize> {
        self.given.get(name).copied()
    }

    /// PluginFlags that name a task and were given, with their entries.
    pub fn named_tasks(&self, known: &'static [FlagSpec]) -> Vec<(usize, &'static str)> {
        let tasks = known
            .iter()
            .filter(|flag| matches!(flag.takes, FlagKind::Task(_)));
        tasks
            .filter_map(|flag| Some((self.given_at(flag.name)?, flag.name)))
            .collect()
    }
}

impl FlagKind {
    fn default(&self) -> FlagValue {
        match self {
            Self::Task(text) | Self::Text(text) => FlagValue::Text((*text).to_owned()),
            Self::Hidden => FlagValue::Text(String::new()),
            Self::Port(port) => FlagValue::Number(u32::from(*port)),
            Self::Seconds(seconds) => FlagValue::Number(*seconds),
            Self::Switch(is_on) => FlagValue::Switch(*is_on),
        }
    }

    fn parse(&self, text: &str) -> Option<FlagValue> {
        match self {
            Self::Task(_) | Self::Text(_) | Self::Hidden => {
                (!text.is_empty()).then(|| FlagValue::Text(text.to_owned()))
            }
            Self::Port(_) => integer(text)
                .filter(|port| (1..=u32::from(u16::MAX)).contains(port))
                .map(FlagValue::Number),
            Self::Seconds(_) => integer(text)
                .filter(|seconds| (1..=i32::MAX.unsigned_abs()).contains(seconds))
                .map(FlagValue::Number),
            Self::Switch(_) => match text {
                "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(FlagValue::Switch(true)),
                "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(FlagValue::Switch(false)),
                _ => None,
            },
        }
    }

    const fn wanted(&self) -> &'static str {
        match self {
            Self::Task(_) => "the name of a task",
            Self::Text(_) | Self::Hidden => "a text",
            Self::Port(_) => "a port from 1 to 65535",
            Self::Seconds(_) => "seconds from 1 to 2147483647",
            Self::Switch(_) => "true or false",
        }
    }
}

/// A number as Go reads an `int` flag: decimal, or with `0x`, `0o`, `0` or `0b` before it, and `_`
/// between digits.
fn integer(text: &str) -> Option<u32> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let lower = text.to_ascii_lowercase();
    let (digits, radix) = match lower.as_bytes() {
        [b'0', b'x', ..] => (lower.get(2..)?, 16),
        [b'0', b'o', ..] => (lower.get(2..)?, 8),
        [b'0', b'b', ..] => (lower.get(2..)?, 2),
        [b'0', _, ..] => (lower.get(1..)?, 8),
        _ => (&*lower, 10),
    };
    let digits = digits
        .strip_prefix('_')
        .filter(|_| radix != 10)
        .unwrap_or(digits);
    if digits.starts_with(['_', '+', '-']) || digits.ends_with('_') || digits.contains("__") {
        return None;
    }
    u32::from_str_radix(&digits.replace('_', ""), radix).ok()
}

/// `; use --a, --b`.
fn forms(known: &[FlagSpec]) -> String {
    if known.is_empty() {
        return "; this plugin takes none".to_owned();
    }
    let names: Vec<String> = known
        .iter()
        .map(|flag| format!("--{}", flag.name))
        .collect();
    format!("; use {}", names.join(", "))
}

/// What a message repeats of a text: keys pasted into the wrong place stay out of events and logs.
fn shortened(text: &str) -> String {
    const MAX: usize = 32;
    match text.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
