//! A value of a document, how it was written and where it stands.

use std::borrow::Cow;

/// A place in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
    /// Offset in bytes, counted from 0.
    pub offset: usize,
}

/// How a scalar was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// In `'…'`.
    SingleQuoted,
    /// In `"…"`.
    DoubleQuoted,
    /// A `|` block.
    Literal,
    /// A `>` block.
    Folded,
}

/// A value of a document and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlNode<'a> {
    /// The first character of the value (of the first content line for a block scalar).
    pub location: Location,
    /// Byte offset just behind a scalar; equal to the start for collections.
    pub end: usize,
    /// The explicit tag, if any, such as `tag:yaml.org,2002:str`.
    pub tag: Option<Box<str>>,
    /// The value itself.
    pub data: Data<'a>,
}

/// The value of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Data<'a> {
    /// A scalar, not typed.
    Scalar {
        /// The text after unfolding and unescaping.
        text: Cow<'a, str>,
        /// How it was written.
        style: Style,
    },
    /// A list of nodes, in their order.
    List(Vec<YamlNode<'a>>),
    /// A map in file order, duplicates included.
    Map(Vec<MapEntry<'a>>),
}

/// One key of a map with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct MapEntry<'a> {
    /// Node of the key, with its place.
    pub key: YamlNode<'a>,
    /// Node of the value, with its place.
    pub value: YamlNode<'a>,
    /// True when the entry came through a merge key; such entries stand before all others.
    pub merged: bool,
}

impl<'a> YamlNode<'a> {
    /// The text of a scalar, whatever its type would be.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.data {
            Data::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The entries of a map.
    #[must_use]
    pub fn entries(&self) -> Option<&[MapEntry<'a>]> {
        match &self.data {
            Data::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The items of a list.
    #[must_use]
    pub fn items(&self) -> Option<&[YamlNode<'a>]> {
        match &self.data {
            Data::List(items) => Some(items),
            _ => None,
        }
    }

    /// The value under a key of a map; the last one when the key is given twice.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&YamlNode<'a>> {
        let entry = self
            .entries()?
            .iter()
            .rfind(|entry| entry.key.text() == Some(key));
        entry.map(|entry| &entry.value)
    }
}
