//! Arguments with the type of their value: declared once, listed in a spec, read by the same constant.
//!
//! ```text
//! const WEIGHT: Arg<i64> = Arg::int("binpack.weight", 1, "Weight of the score.").min(0);
//! const SPEC: PluginSpec = PluginSpec {
//!     name: "binpack",
//!     summary: "Prefers nodes that end up fuller.",
//!     args: &[WEIGHT.spec()],
//!     ..PluginSpec::PLAIN
//! };
//!
//! WEIGHT.read(&arguments)         1 when it is not given
//! ```
//!
//! Key, kind, default and range stand nowhere else: what is warned about, what the reference page and
//! the schema say and what the plugin goes by come from the one constant.

use std::fmt;
use std::marker::PhantomData;

use crate::arguments::{Arguments, Value};
use crate::registry::{ArgDefault, ArgKind, ArgSpec, OutOfRange, TextForm};
use pumice_units::duration::parse_go_duration;

/// An argument whose value is read as a `T`.
#[derive(Clone, Copy, Debug)]
pub struct Arg<T> {
    spec: ArgSpec,
    kind: PhantomData<T>,
}

/// A text, read trimmed.
#[derive(Clone, Copy, Debug)]
pub enum Text {}

/// One of some texts; the default when it is none of them.
#[derive(Clone, Copy, Debug)]
pub enum OneOf {}

/// A Go duration, read as nanoseconds.
#[derive(Clone, Copy, Debug)]
pub enum GoDuration {}

/// A text of a form of its own, read trimmed.
#[derive(Clone, Copy, Debug)]
pub enum FormedText {}

/// A list of maps with arguments of their own; no entries when it is not given.
#[derive(Clone, Copy, Debug)]
pub enum ArgMaps {}

/// A map with arguments of its own; no entries when it is not given.
#[derive(Clone, Copy, Debug)]
pub enum ArgMap {}

/// A list of maps from text to text; empty ones are left out.
#[derive(Clone, Copy, Debug)]
pub enum TextMaps {}

/// A list of texts, read trimmed; empty ones are left out.
#[derive(Clone, Copy, Debug)]
pub enum Texts {}

/// Any value. Arguments that are accepted and not read have this type.
#[derive(Clone, Copy, Debug)]
pub enum AnyValue {}

/// A kind of argument that can be read.
pub trait ReadArg {
    /// What reading gives.
    type Read<'a>;

    /// The value, taken into its range; none where `value` is of another kind.
    fn given<'a>(spec: &ArgSpec, value: &'a Value) -> Option<Self::Read<'a>>;

    /// What counts when nothing is given.
    fn default<'a>(spec: &ArgSpec) -> Self::Read<'a>;
}

/// The key.
impl<T> fmt::Display for Arg<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spec.name)
    }
}

impl<T> Arg<T> {
    const fn new(
        name: &'static str,
        kind: ArgKind,
        default: ArgDefault,
        doc: &'static str,
    ) -> Self {
        let spec = ArgSpec {
            name,
            kind,
            default,
            min: None,
            max: None,
            out_of_range: OutOfRange::Nearest,
            is_wildcard: false,
            doc,
        };
        Self {
            spec,
            kind: PhantomData,
        }
    }

    /// What lists hold of it.
    #[must_use]
    pub const fn spec(&self) -> ArgSpec {
        self.spec
    }

    /// The key.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.spec.name
    }
}

impl Arg<i64> {
    /// A whole number.
    #[must_use]
    pub const fn int(name: &'static str, default: i64, doc: &'static str) -> Self {
        Self::new(name, ArgKind::Int, ArgDefault::Int(default), doc)
    }

    /// A smaller number is warned about and counts as `min`.
    #[must_use]
    pub const fn min(mut self, min: i64) -> Self {
        self.spec.min = Some(min as f64);
        self
    }

    /// A larger number is warned about and counts as `max`.
    #[must_use]
    pub const fn max(mut self, max: i64) -> Self {
        self.spec.max = Some(max as f64);
        self
    }

    /// A number out of range counts as the default.
    #[must_use]
    pub const fn or_default(mut self) -> Self {
        self.spec.out_of_range = OutOfRange::Default;
        self
    }
}

impl Arg<f64> {
    /// A number.
    #[must_use]
    pub const fn float(name: &'static str, default: f64, doc: &'static str) -> Self {
        Self::new(name, ArgKind::Float, ArgDefault::Float(default), doc)
    }

    /// A number outside of `min` … `max` is warned about and counts as the default.
    #[must_use]
    pub const fn within_or_default(mut self, min: f64, max: f64) -> Self {
        self.spec.min = Some(min);
        self.spec.max = Some(max);
        self.spec.out_of_range = OutOfRange::Default;
        self
    }

    /// A smaller number is warned about and counts as the default.
    #[must_use]
    pub const fn min_or_default(mut self, min: f64) -> Self {
        self.spec.min = Some(min);
        self.spec.out_of_range = OutOfRange::Default;
        self
    }
}

impl Arg<bool> {
    /// A truth value.
    #[must_use]
    pub const fn switch(name: &'static str, default: bool, doc: &'static str) -> Self {
        Self::new(name, ArgKind::Bool, ArgDefault::Bool(default), doc)
    }
}

impl Arg<Text> {
    /// A text; an empty one counts as the default.
    #[must_use]
    pub const fn text(name: &'static str, default: &'static str, doc: &'static str) -> Self {
        Self::new(name, ArgKind::Str, ArgDefault::Str(default), doc)
    }
}

impl Arg<OneOf> {
    /// One of `values`; `otherwise` tells what any other text means, which counts as the default.
    #[must_use]
    pub const fn choice(
        name: &'static str,
        values: &'static [&'static str],
        default: &'static str,
        otherwise: &'static str,
        doc: &'static str,
    ) -> Self {
        let kind = ArgKind::Choice { values, otherwise };
        Self::new(name, kind, ArgDefault::Str(default), doc)
    }
}

impl Arg<GoDuration> {
    /// A duration; there is no default.
    #[must_use]
    pub const fn duration(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, ArgKind::Duration, ArgDefault::None, doc)
    }
}

impl Arg<FormedText> {
    /// A text that has a form; the empty default stands for none.
    #[must_use]
    pub const fn formed(
        name: &'static str,
        form: TextForm,
        default: &'static str,
        doc: &'static str,
    ) -> Self {
        Self::new(name, ArgKind::Formed(form), ArgDefault::Str(default), doc)
    }
}

impl Arg<ArgMaps> {
    /// A list of maps with these keys.
    #[must_use]
    pub const fn maps(name: &'static str, keys: &'static [ArgSpec], doc: &'static str) -> Self {
        Self::new(name, ArgKind::Maps(keys), ArgDefault::None, doc)
    }
}

impl Arg<ArgMap> {
    /// A map with these keys.
    #[must_use]
    pub const fn map(name: &'static str, keys: &'static [ArgSpec], doc: &'static str) -> Self {
        Self::new(name, ArgKind::Map(keys), ArgDefault::None, doc)
    }

    /// What stands for the `*` of the name is a [`Wildcard`](crate::registry::Wildcard) itself.
    #[must_use]
    pub const fn wildcard(mut self) -> Self {
        self.spec.is_wildcard = true;
        self
    }
}

impl Arg<TextMaps> {
    /// A list of at most `most` maps.
    #[must_use]
    pub const fn text_maps(
        name: &'static str,
        most: usize,
        example: &'static str,
        doc: &'static str,
    ) -> Self {
        let kind = ArgKind::TextMaps { most, example };
        Self::new(name, kind, ArgDefault::None, doc)
    }
}

impl Arg<Texts> {
    /// A list of texts; there is no default.
    #[must_use]
    pub const fn texts(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, ArgKind::Texts(None), ArgDefault::None, doc)
    }

    /// A list of texts that have a form; there is no default.
    #[must_use]
    pub const fn formed_texts(name: &'static str, form: TextForm, doc: &'static str) -> Self {
        Self::new(name, ArgKind::Texts(Some(form)), ArgDefault::None, doc)
    }
}

impl Arg<AnyValue> {
    /// Any value.
    #[must_use]
    pub const fn any(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, ArgKind::Any, ArgDefault::None, doc)
    }
}

impl<T: ReadArg> Arg<T> {
    /// The value that counts.
    #[must_use]
    pub fn read<'a>(&self, arguments: &'a Arguments) -> T::Read<'a> {
        self.given(arguments)
            .unwrap_or_else(|| T::default(&self.spec))
    }

    /// The value that is given, taken into its range; none when there is none.
    #[must_use]
    pub fn given<'a>(&self, arguments: &'a Arguments) -> Option<T::Read<'a>> {
        T::given(&self.spec, arguments.get(self.spec.name)?)
    }

    /// The value that counts for `key` under a pattern such as `binpack.resources.*`, where `key` stands
    /// for the `*`.
    #[must_use]
    pub fn read_for<'a>(&self, arguments: &'a Arguments, key: &str) -> T::Read<'a> {
        let prefix = self.spec.prefix().unwrap_or(self.spec.name);
        let given = arguments.get(&format!("{prefix}{key}"));
        given
            .and_then(|value| T::given(&self.spec, value))
            .unwrap_or_else(|| T::default(&self.spec))
    }
}

/// The number that counts for one that is given.
pub(crate) fn in_range(spec: &ArgSpec, number: f64) -> f64 {
    let bound = match (spec.min, spec.max) {
        (Some(min), _) if number < min => min,
        (_, Some(max)) if number > max => max,
        _ => return number,
    };
    match (spec.out_of_range, spec.default) {
        (OutOfRange::Default, ArgDefault::Int(default)) => default as f64,
        (OutOfRange::Default, ArgDefault::Float(default)) => default,
        _ => bound,
    }
}

impl ReadArg for i64 {
    type Read<'a> = i64;

    fn given(spec: &ArgSpec, value: &Value) -> Option<i64> {
        let number = value.int()?;
        let counts = in_range(spec, number as f64);
        // A number within its range stays exact, however large.
        let is_within = counts == number as f64;
        Some(if is_within { number } else { counts as i64 })
    }

    fn default<'a>(spec: &ArgSpec) -> Self::Read<'a> {
        match spec.default {
            ArgDefault::Int(number) => number,
            _ => 0,
        }
    }
}

impl ReadArg for f64 {
    type Read<'a> = f64;

    fn given(spec: &ArgSpec, value: &Value) -> Option<f64> {
        Some(in_range(spec, value.float()?))
    }

    fn default<'a>(spec: &ArgSpec) -> Self::Read<'a> {
        match spec.default {
            ArgDefault::Float(number) => number,
            _ => 0.0,
        }
    }
}

impl ReadArg for bool {
    type Read<'a> = bool;

    fn given(_: &ArgSpec, value: &Value) -> Option<bool> {
        value.bool()
    }

    fn default<'a>(spec: &ArgSpec) -> Self::Read<'a> {
        spec.default == ArgDefault::Bool(true)
    }
}

fn default_text(spec: &ArgSpec) -> &'static str {
    match spec.default {
        ArgDefault::Str(text) => text,
        _ => "",
    }
}

impl ReadArg for Text {
    type Read<'a> = &'a str;

    fn given<'a>(_: &ArgSpec, value: &'a Value) -> Option<&'a str> {
        let text = value.str()?.trim();
        (!text.is_empty()).then_some(text)
    }

    fn default<'a>(spec: &ArgSpec) -> Self::Read<'a> {
        default_text(spec)
    }
}

impl ReadArg for OneOf {
    type Read<'a> = &'static str;

    fn given(spec: &ArgSpec, value: &Value) -> Option<&'static str> {
        let ArgKind::Choice { values, .. } = spec.kind else {
            return None;
        };
        let text = value.str()?;
        values.iter().copied().find(|known| *known == text)
    }

    fn default<'a>(spec: &ArgSpec) -> Self::Read<'a> {
        default_text(spec)
    }
}

impl ReadArg for GoDuration {
    type Read<'a> = Option<i64>;

    fn given(_: &ArgSpec, value: &Value) -> Option<Option<i64>> {
        Some(parse_go_duration(value.str()?).ok())
    }

    fn default<'a>(_: &ArgSpec) -> Self::Read<'a> {
        None
    }
}

impl ReadArg for FormedText {
    type Read<'a> = &'a str;

    fn given<'a>(spec: &ArgSpec, value: &'a Value) -> Option<&'a str> {
        Text::given(spec, value)
    }

    fn default<'a>(spec: &ArgSpec) -> Self::Read<'a> {
        default_text(spec)
    }
}

impl ReadArg for ArgMaps {
    type Read<'a> = Vec<Arguments>;

    fn given(spec: &ArgSpec, value: &Value) -> Option<Vec<Arguments>> {
        let Value::List(maps) = value else {
            return None;
        };
        let maps = maps.iter().filter_map(|map| ArgMap::given(spec, map));
        Some(maps.collect())
    }

    fn default<'a>(_: &ArgSpec) -> Self::Read<'a> {
        Vec::new()
    }
}

impl ReadArg for ArgMap {
    type Read<'a> = Arguments;

    fn given(_: &ArgSpec, value: &Value) -> Option<Arguments> {
        let Value::Map(pairs) = value else {
            return None;
        };
        Some(pairs.iter().cloned().collect())
    }

    fn default<'a>(_: &ArgSpec) -> Self::Read<'a> {
        Arguments::default()
    }
}

impl ReadArg for TextMaps {
    type Read<'a> = Vec<Vec<(String, String)>>;

    fn given(spec: &ArgSpec, value: &Value) -> Option<Self::Read<'static>> {
        let (Value::List(maps), ArgKind::TextMaps { most, .. }) = (value, spec.kind) else {
            return None;
        };
        let pairs = |map: &Value| -> Vec<(String, String)> {
            let Value::Map(pairs) = map else {
                return Vec::new();
            };
            let text = |(key, value): &(String, Value)| {
                let value = value.str()?;
                Some((key.clone(), value.to_owned()))
            };
            pairs.iter().filter_map(text).collect()
        };
        let maps = maps.iter().take(most).map(pairs);
        Some(maps.filter(|map| !map.is_empty()).collect())
    }

    fn default<'a>(_: &ArgSpec) -> Self::Read<'a> {
        Vec::new()
    }
}

impl ReadArg for Texts {
    type Read<'a> = Option<Vec<String>>;

    fn given(_: &ArgSpec, value: &Value) -> Option<Option<Vec<String>>> {
        let Value::List(texts) = value else {
            return None;
        };
        let texts = texts.iter().filter_map(Value::str).map(str::trim);
        let texts = texts.filter(|text| !text.is_empty());
        Some(Some(texts.map(str::to_owned).collect()))
    }

    fn default<'a>(_: &ArgSpec) -> Self::Read<'a> {
        None
    }
}
