//! Which fields a type has, learned by reading it from an input that has each of them once.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use serde::de::value::{BorrowedStrDeserializer, Error};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess,
    Visitor,
};

/// A text that fields of time take, and any other text too.
const TEXT: &str = "1970-01-01T00:00:00Z";

/// Fields of a type: its name, and the type of each that has fields itself (`Type`, `[Type]`,
/// `{Type}`, or empty).
pub type Fields = Vec<(&'static str, String)>;

/// Types with their fields.
#[derive(Default)]
pub struct Types {
    found: RefCell<BTreeMap<String, Fields>>,
    /// Types that are being read.
    open: RefCell<Vec<&'static str>>,
}

impl Types {
    /// Adds a type, under this name of its own, and all types of its fields.
    ///
    /// # Panics
    /// When the type cannot be read from such an input.
    pub fn add<'de, T: Deserialize<'de>>(&self, name: &str) {
        let shape = Cell::new(String::new());
        let read = T::deserialize(self.tracer(&shape));
        assert!(read.is_ok(), "{name}: {:?}", read.err());
        // It may be a field of another type too, so it keeps its own name as well.
        let fields = self.found.borrow().get(&shape.take()).cloned();
        let fields = fields.expect("a type with fields");
        self.found.borrow_mut().insert(name.to_owned(), fields);
    }

    /// A line for each type.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, fields) in &*self.found.borrow() {
            text.extend([name, ":"]);
            for (field, shape) in fields {
                text.extend([" ", field]);
                if !shape.is_empty() {
                    text.extend(["=", shape]);
                }
            }
            text.push('\n');
        }
        text
    }

    fn tracer<'t>(&'t self, shape: &'t Cell<String>) -> Tracer<'t> {
        Tracer { types: self, shape }
    }

    /// Keeps the fields of a type. One of another type with the same name gets another name.
    fn keep(&self, name: &str, fields: Fields) -> String {
        let mut found = self.found.borrow_mut();
        let mut name = name.to_owned();
        while found.get(&name).is_some_and(|known| *known != fields) {
            name.push('\'');
        }
        found.insert(name.clone(), fields);
        name
    }
}

/// Reads one value, and notes what it is.
struct Tracer<'t> {
    types: &'t Types,
    shape: &'t Cell<String>,
}

/// The methods of scalars.
macro_rules! scalars {
    ($($method:ident => $visit:ident($($value:expr)?)),* $(,)?) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
                visitor.$visit($($value)?)
            }
        )*
    };
}

impl<'de> Deserializer<'de> for Tracer<'_> {
    type Error = Error;

    scalars! {
        deserialize_any => visit_u64(1),
        deserialize_bool => visit_bool(true),
        deserialize_i8 => visit_u64(1),
        deserialize_i16 => visit_u64(1),
        deserialize_i32 => visit_u64(1),
        deserialize_i64 => visit_u64(1),
        deserialize_u8 => visit_u64(1),
        deserialize_u16 => visit_u64(1),
        deserialize_u32 => visit_u64(1),
        deserialize_u64 => visit_u64(1),
        deserialize_f32 => visit_u64(1),
        deserialize_f64 => visit_u64(1),
        deserialize_char => visit_char('c'),
        deserialize_str => visit_str(TEXT),
        deserialize_string => visit_str(TEXT),
        deserialize_bytes => visit_bytes(&[]),
        deserialize_byte_buf => visit_bytes(&[]),
        deserialize_unit => visit_unit(),
        deserialize_identifier => visit_str(TEXT),
        deserialize_ignored_any => visit_unit(),
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let variant = variants.first().ok_or_else(|| Error::custom(name))?;
        visitor.visit_enum((*variant).into_deserializer())
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let inner = Cell::new(String::new());
        let read = visitor.visit_seq(One {
            left: Some(self.types.tracer(&inner)),
        });
        self.shape.set(wrapped("[", inner.take(), "]"));
        read
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let inner = Cell::new(String::new());
        let read = visitor.visit_map(One {
            left: Some(self.types.tracer(&inner)),
        });
        self.shape.set(wrapped("{", inner.take(), "}"));
        read
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        assert!(
            !self.types.open.borrow().contains(&name),
            "{name} holds itself"
        );
        self.types.open.borrow_mut().push(name);
        let mut fields = Fields::new();
        let read = visitor.visit_map(EachField {
            types: self.types,
            left: names.iter(),
            fields: &mut fields,
        });
        self.types.open.borrow_mut().pop();
        self.shape.set(self.types.keep(name, fields));
        read
    }
}

/// Where the type within has no fields, what holds it is of no interest either.
fn wrapped(opens: &str, inner: String, closes: &str) -> String {
    match inner.is_empty() {
        true => inner,
        false => format!("{opens}{inner}{closes}"),
    }
}

/// One item, or one entry.
struct One<'t> {
    left: Option<Tracer<'t>>,
}

impl<'de> SeqAccess<'de> for One<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        self.left
            .take()
            .map(|tracer| seed.deserialize(tracer))
            .transpose()
    }
}

impl<'de> MapAccess<'de> for One<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        match self.left {
            Some(_) => seed
                .deserialize(BorrowedStrDeserializer::new(TEXT))
                .map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let tracer = self.left.take().ok_or_else(|| Error::custom("no value"))?;
        seed.deserialize(tracer)
    }
}

/// Every field of a type.
struct EachField<'t> {
    types: &'t Types,
    left: std::slice::Iter<'static, &'static str>,
    fields: &'t mut Fields,
}

/// Fields whose one value is fixed, and which have no fields themselves.
const FIXED: [&str; 2] = ["apiVersion", "kind"];

impl<'de> MapAccess<'de> for EachField<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        for name in self.left.by_ref() {
            self.fields.push((name, String::new()));
            if !FIXED.contains(name) {
                return seed
                    .deserialize(BorrowedStrDeserializer::new(name))
                    .map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let shape = Cell::new(String::new());
        let read = seed.deserialize(self.types.tracer(&shape));
        if let Some((_, known)) = self.fields.last_mut() {
            *known = shape.take();
        }
        read
    }
}
