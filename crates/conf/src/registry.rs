//! What exists: the names, arguments and defaults of plugins and actions.
//!
//! The crates that implement plugins and actions own the entries; this crate only checks a file
//! against them. The reference pages and the JSON schema are made from the same list.

use serde::Serialize;

/// The kind of value an argument takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum ArgKind {
    /// A whole number within 64 signed bits.
    Int,
    /// A finite number.
    Float,
    /// A truth value.
    Bool,
    /// A text; a number or truth value is taken as it is written.
    Str,
    /// A Go duration such as `1h30m` (package `time`, `ParseDuration`).
    Duration,
    /// A map, of which these are the keys.
    Map(&'static [ArgSpec]),
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
            Self::Str => "a string",
            Self::Duration => "a duration",
            Self::Map(_) => "a map",
            Self::Any => "any value",
        }
    }
}

/// One argument of a plugin or action.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ArgSpec {
    /// The exact key; a trailing `*` makes it a prefix, as in `binpack.resources.*`, or any key.
    pub name: &'static str,
    /// The kind of value.
    pub kind: ArgKind,
    /// The default as it would be written in the file; empty when there is none.
    pub default: &'static str,
    /// Smallest sensible value. A smaller one is warned about and passed on as it is.
    pub min: Option<f64>,
    /// Largest sensible value. A larger one is warned about and passed on as it is.
    pub max: Option<f64>,
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

/// An argument without limits.
#[must_use]
pub const fn arg(
    name: &'static str,
    kind: ArgKind,
    default: &'static str,
    doc: &'static str,
) -> ArgSpec {
    ArgSpec {
        name,
        kind,
        default,
        min: None,
        max: None,
        doc,
    }
}

/// The argument with a smallest sensible value.
#[must_use]
pub const fn arg_from(min: f64, spec: ArgSpec) -> ArgSpec {
    ArgSpec {
        min: Some(min),
        ..spec
    }
}

/// What holds for arguments beyond their kinds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum ArgRule {
    /// Two switches of which one at most may be on; both on are an error.
    Exclusive {
        /// One switch.
        one: &'static str,
        /// The other switch.
        other: &'static str,
        /// What to do.
        help: &'static str,
    },
    /// A switch that Volcano has and that does nothing here yet; on is warned about.
    NotBuilt {
        /// The switch.
        name: &'static str,
        /// What that means for the user.
        help: &'static str,
    },
    /// A text of which only some values have a meaning; others are warned about and passed on. The
    /// empty text is never warned about.
    OneOf {
        /// The argument.
        name: &'static str,
        /// Values with a meaning.
        values: &'static [&'static str],
        /// What happens instead.
        otherwise: &'static str,
    },
    /// A list of maps from text to text, of [`ArgKind::Any`]; anything else is an error. An empty
    /// map is warned about.
    TextMaps {
        /// The argument.
        name: &'static str,
        /// Most entries.
        most: usize,
        /// An entry as it should be written.
        example: &'static str,
    },
}

/// One plugin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PluginSpec {
    /// The name used in the file.
    pub name: &'static str,
    /// One sentence for the reference page.
    pub summary: &'static str,
    /// The arguments it reads.
    pub args: &'static [ArgSpec],
    /// What holds for them beyond their kinds.
    pub rules: &'static [ArgRule],
    /// False when Volcano has it and this version of Pumice does not.
    pub built: bool,
}

/// One action.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ActionSpec {
    /// The name used in the file.
    pub name: &'static str,
    /// One sentence for the reference page.
    pub summary: &'static str,
    /// The arguments it reads from its entry in `configurations`.
    pub args: &'static [ArgSpec],
    /// False when Volcano has it and this version of Pumice does not.
    pub built: bool,
}

/// All plugins and actions a file may name.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Registry {
    /// The plugins.
    pub plugins: &'static [PluginSpec],
    /// The actions.
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
