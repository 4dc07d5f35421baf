//! Fields a manifest has and its type has not: collected while an object is read.
//!
//! A type tells its fields when it asks for a struct; whatever else stands in the map is noted
//! with its path. Maps with free keys, and values any JSON may stand for, are passed on as they
//! are.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Map, Value};

/// Most fields listed for an unknown one that resembles none.
const MAX_LISTED: usize = 12;

/// One step of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathStep<'v> {
    /// A key of a map.
    Key(&'v str),
    /// A position in a list.
    Index(usize),
}

/// A field that its type does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unknown<'v> {
    /// Where, the field itself included.
    pub path: Vec<PathStep<'v>>,
    /// What the type has.
    fields: &'static [&'static str],
}

impl Unknown<'_> {
    /// `spec.tasks[0].replica`.
    pub fn dotted(&self) -> String {
        let mut text = String::new();
        for step in &self.path {
            match step {
                PathStep::Key(key) if text.is_empty() => text.push_str(key),
                PathStep::Key(key) => text.extend([".", key]),
                PathStep::Index(at) => text.push_str(&format!("[{at}]")),
            }
        }
        text
    }

    /// The field that was most likely meant.
    pub fn nearest(&self) -> Option<&'static str> {
        match self.path.last() {
            Some(PathStep::Key(name)) => pumice_conf::nearest(name, self.fields.iter().copied()),
            _ => None,
        }
    }

    /// What there is, where that is short enough to be read.
    pub fn choice(&self) -> Option<String> {
        let few = !self.fields.is_empty() && self.fields.len() <= MAX_LISTED;
        few.then(|| self.fields.join(", "))
    }
}

/// What was seen so far.
#[derive(Default)]
pub(super) struct SeenFields<'v> {
    path: Vec<PathStep<'v>>,
    /// The findings, in the order of the text as far as maps keep it.
    pub unknown: Vec<Unknown<'v>>,
}

/// A value to be read, watched for fields nobody asks for.
pub(super) struct Watched<'v, 's> {
    value: &'v Value,
    seen: &'s mut SeenFields<'v>,
}

impl<'v, 's> Watched<'v, 's> {
    pub fn new(value: &'v Value, seen: &'s mut SeenFields<'v>) -> Self {
        Self { value, seen }
    }
}

impl<'v> Deserializer<'v> for Watched<'v, '_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'v>>(self, visitor: V) -> Result<V::Value, Error> {
        self.value.deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'v>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let Value::Object(map) = self.value else {
            return self.value.deserialize_struct(name, fields, visitor);
        };
        for key in map.keys().filter(|key| !fields.contains(&key.as_str())) {
            let mut path = self.seen.path.clone();
            path.push(PathStep::Key(key));
            self.seen.unknown.push(Unknown { path, fields });
        }
        visitor.visit_map(Entries::of(map, self.seen))
    }

    fn deserialize_map<V: Visitor<'v>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Object(map) => visitor.visit_map(Entries::of(map, self.seen)),
            value => value.deserialize_map(visitor),
        }
    }

    fn deserialize_seq<V: Visitor<'v>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Array(items) => visitor.visit_seq(Items {
                items: items.iter().enumerate(),
                seen: self.seen,
            }),
            value => value.deserialize_seq(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'v>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'v>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'v>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.value.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        <V: Visitor<'v>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct tuple tuple_struct identifier ignored_any
    }
}

/// The entries of a map.
struct Entries<'v, 's> {
    entries: serde_json::map::Iter<'v>,
    next: Option<(&'v String, &'v Value)>,
    seen: &'s mut SeenFields<'v>,
}

impl<'v, 's> Entries<'v, 's> {
    fn of(map: &'v Map<String, Value>, seen: &'s mut SeenFields<'v>) -> Self {
        Self {
            entries: map.iter(),
            next: None,
            seen,
        }
    }
}

impl<'v> MapAccess<'v> for Entries<'v, '_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'v>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        self.next = self.entries.next();
        let Some((key, _)) = self.next else {
            return Ok(None);
        };
        seed.deserialize(BorrowedStrDeserializer::new(key))
            .map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'v>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let Some((key, value)) = self.next.take() else {
            return seed.deserialize(&Value::Null);
        };
        self.seen.path.push(PathStep::Key(key));
        let read = seed.deserialize(Watched::new(value, self.seen));
        self.seen.path.pop();
        read
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

/// The items of a list.
struct Items<'v, 's> {
    items: std::iter::Enumerate<std::slice::Iter<'v, Value>>,
    seen: &'s mut SeenFields<'v>,
}

impl<'v> SeqAccess<'v> for Items<'v, '_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'v>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        let Some((at, item)) = self.items.next() else {
            return Ok(None);
        };
        self.seen.path.push(PathStep::Index(at));
        let read = seed.deserialize(Watched::new(item, self.seen));
        self.seen.path.pop();
        read.map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}
