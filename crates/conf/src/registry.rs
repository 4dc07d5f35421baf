//! What exists: the names, arguments and rules of plugins and actions.
//!
//! The crates that implement plugins and actions own the entries; this crate only checks a file
//! against them. The reference pages and the JSON schema are made from the same list.

use std::fmt;

/// The kind of value an argument takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArgKind {
    /// A whole number within 64 signed bits.
    Int,
    /// A finite number.
    Float,
    /// A truth value.
    Bool,
    /// A text; a number or truth value is taken as it is written.
    Str,
    /// One of some texts. The empty text says the same as none at all; any other is warned about and
    /// counts as the default.
    Choice {
        /// The texts.
        values: &'static [&'static str],
        /// What any other text means, for messages.
        otherwise: &'static str,
    },
    /// A Go duration such as `1h30m` (package `time`, `ParseDuration`).
    Duration,
    /// A text of a form of its own; anything else is an error.
    Formed(TextForm),
    /// A map, of which these are the keys.
    Map(&'static [ArgSpec]),
    /// A list of maps, of each of which these are the keys.
    Maps(&'static [ArgSpec]),
    /// A list of maps from text to text; anything else is an error. An empty map is warned about.
    TextMaps {
        /// Most entries.
        most: usize,
        /// An entry as it should be written.
        example: &'static str,
    },
    /// A list of texts, each of a form where there is one; anything else is an error.
    Texts(Option<TextForm>),
    /// Any YAML value, not looked into.
    Any,
}

impl ArgKind {
    /// The kind as a phrase with its article, for messages.
    #[must_use]
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Int => "a whole number",
            Self::Float => "a number",
            Self::Bool => "a boolean",
            Self::Str | Self::Choice { .. } => "a string",
            Self::Duration => "a duration",
            Self::Formed(form) => form.phrase,
            Self::Map(_) => "a map",
            Self::Maps(_) | Self::TextMaps { .. } => "a list of maps",
            Self::Texts(_) => "a list of strings",
            Self::Any => "any value",
        }
    }
}

/// A form that texts of a kind have.
#[derive(Clone, Copy, Debug)]
pub struct TextForm {
    /// What it is, as a phrase with its article.
    pub phrase: &'static str,
    /// A text as it should be written.
    pub example: &'static str,
    /// What is wrong with a text, which follows its quotation: `has no end`.
    pub fault: fn(&str) -> Option<String>,
}

/// Forms are told apart by what they are called.
impl PartialEq for TextForm {
    fn eq(&self, other: &Self) -> bool {
        (self.phrase, self.example) == (other.phrase, other.example)
    }
}

/// The default of an argument. Displayed as it would be written in the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArgDefault {
    /// There is none.
    None,
    /// A whole number.
    Int(i64),
    /// A number that may have a fraction.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A text or choice; the empty text stands for none.
    Str(&'static str),
}

impl ArgDefault {
    /// True when there is nothing to show.
    #[must_use]
    pub const fn is_none(self) -> bool {
        match self {
            Self::None => true,
            Self::Str(text) => text.is_empty(),
            Self::Int(_) | Self::Float(_) | Self::Bool(_) => false,
        }
    }
}

impl fmt::Display for ArgDefault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Int(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
            Self::Bool(value) => value.fmt(f),
            Self::Str(text) => f.write_str(text),
        }
    }
}

/// What a number out of range is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfRange {
    /// The nearest number of the range.
    Nearest,
    /// The default of the argument.
    Default,
}

/// One argument of a plugin or action, as lists of different kinds hold it. Made from an
/// [`Arg`](crate::arg::Arg), with which the value is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArgSpec {
    /// The exact key; a trailing `*` makes it a prefix, as in `binpack.resources.*`, or any key.
    pub name: &'static str,
    /// The kind of value.
    pub kind: ArgKind,
    /// What counts when nothing is given.
    pub default: ArgDefault,
    /// Smallest number that counts as it is; a smaller one is warned about.
    pub min: Option<f64>,
    /// Largest number that counts as it is; a larger one is warned about.
    pub max: Option<f64>,
    /// What a number out of range is taken for.
    pub out_of_range: OutOfRange,
    /// What stands for the `*` of the name is a [`Wildcard`] itself.
    pub is_wildcard: bool,
    /// One sentence for the reference page.
    pub doc: &'static str,
}

impl ArgSpec {
    /// The text before the `*` when the name is a prefix pattern.
    #[must_use]
    pub fn prefix(&self) -> Option<&'static str> {
        self.name.strip_suffix('*')
    }
}

/// A name, or all that begin alike: a `*` at the end stands for any rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wildcard<'a> {
    /// This name.
    Exact(&'a str),
    /// Names that begin so.
    Prefix(&'a str),
}

impl<'a> Wildcard<'a> {
    /// Reads it; a `*` anywhere else, or alone, means nothing.
    #[must_use]
    pub fn read(text: &'a str) -> Option<Self> {
        match text.strip_suffix('*') {
            Some(prefix) => {
                (!prefix.is_empty() && !prefix.contains('*')).then_some(Self::Prefix(prefix))
            }
            None => (!text.contains('*')).then_some(Self::Exact(text)),
        }
    }
}

/// Two switches of which one at most may be on; both on are an error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExclusiveSwitches {
    /// One switch.
    pub one: &'static str,
    /// The other switch.
    pub other: &'static str,
    /// What to do.
    pub help: &'static str,
}

/// An argument that has to be given where one of some others is; otherwise that is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeededArgument {
    /// Key of the argument.
    pub name: &'static str,
    /// A value as it should be written.
    pub example: &'static str,
    /// The others, of which a text that is not empty counts.
    pub by: &'static [&'static str],
}

/// Arguments that count only for names that another one lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedArguments {
    /// Key of the list, names separated by commas.
    pub list: &'static str,
    /// Key of the others with a `*` for the name.
    pub each: &'static str,
    /// Names with arguments of their own, and their keys.
    pub apart: [(&'static str, &'static str); 2],
}

/// A plugin that does not go together with the one whose spec has this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PluginConflict {
    /// The other plugin.
    pub with: &'static str,
    /// The key of the switch of this plugin that has to be on for it; none: they never go together.
    pub when_on: Option<&'static str>,
    /// Stable code of the error, or of the warning.
    pub code: &'static str,
    /// This one decides and the other plugin is not asked, with a warning; otherwise both are an error.
    pub overrules: bool,
    /// What to do.
    pub help: &'static str,
}

/// A plugin without which a value of an argument does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PluginNeeded {
    /// Key of the argument.
    pub argument: &'static str,
    /// The value that the setting has by then; empty: any but nothing, and 0.
    pub value: &'static str,
    /// The other plugin.
    pub plugin: &'static str,
    /// Stable code of the warning.
    pub code: &'static str,
    /// What happens without it.
    pub message: &'static str,
    /// What to do.
    pub help: &'static str,
}

/// What it means that a configuration for a whole cluster does not name a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PluginMissed {
    /// A configuration that names this plugin and others is one for a whole cluster; shorter ones
    /// are pieces, as in examples.
    pub beside: &'static str,
    /// Stable code of the warning.
    pub code: &'static str,
    /// What happens without it.
    pub message: &'static str,
    /// What to do.
    pub help: &'static str,
}

/// One plugin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PluginSpec {
    /// The name used in the file.
    pub name: &'static str,
    /// One sentence for the reference page.
    pub summary: &'static str,
    /// The arguments it reads.
    pub args: &'static [ArgSpec],
    /// Which of its switches exclude each other.
    pub exclusive: &'static [ExclusiveSwitches],
    /// Which of its arguments others need.
    pub needed: &'static [NeededArgument],
    /// Which of them count only for names that another one lists.
    pub listed: &'static [ListedArguments],
    /// Plugins that exclude it. Of a pair one names the other.
    pub conflicts: &'static [PluginConflict],
    /// Plugins that values of its arguments need.
    pub needs_plugins: &'static [PluginNeeded],
    /// What to tell people who leave it out.
    pub missed: Option<PluginMissed>,
    /// It does nothing unless somebody measures what nodes use.
    pub reads_usage: bool,
}

impl PluginSpec {
    /// A plugin without arguments and rules; the rest of a spec that names some.
    pub const PLAIN: Self = Self {
        name: "",
        summary: "",
        args: &[],
        exclusive: &[],
        needed: &[],
        listed: &[],
        conflicts: &[],
        needs_plugins: &[],
        missed: None,
        reads_usage: false,
    };
}

/// One action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActionSpec {
    /// The name used in the file.
    pub name: &'static str,
    /// One sentence for the reference page.
    pub summary: &'static str,
    /// The arguments it reads from its entry in `configurations`.
    pub args: &'static [ArgSpec],
}

/// All plugins and actions a file may name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Registry {
    /// Plugins that a tier may name.
    pub plugins: &'static [PluginSpec],
    /// Actions that `actions` may name.
    pub actions: &'static [ActionSpec],
}

impl Registry {
    /// The plugin with this exact name.
    #[must_use]
    pub fn plugin(&self, name: &str) -> Option<&'static PluginSpec> {
        self.plugins.iter().find(|plugin| plugin.name == name)
    }

    /// The action with this exact name.
    #[must_use]
    pub fn action(&self, name: &str) -> Option<&'static ActionSpec> {
        self.actions.iter().find(|action| action.name == name)
    }
}

/// The entry for `name`: an exact one before a pattern, a longer pattern before a shorter one.
#[must_use]
pub(crate) fn find_arg(args: &'static [ArgSpec], name: &str) -> Option<&'static ArgSpec> {
    let exact = args.iter().find(|arg| arg.name == name);
    exact.or_else(|| {
        let matches = |arg: &&ArgSpec| {
            arg.prefix()
                .is_some_and(|prefix| name.len() > prefix.len() && name.starts_with(prefix))
        };
        args.iter().filter(matches).max_by_key(|arg| arg.name.len())
    })
}
