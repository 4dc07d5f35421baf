//! Any value, with other strings: a serializer in front of another one, which asks for each string what stands in its
//! place, by the field it stands in. Names of variants are no strings.

use std::fmt::Display;

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::fields::{KEPT_FIELDS, TEXT_FIELDS};

/// Where a string stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WordPlace {
    /// The innermost struct, or variant of an enum.
    pub of: &'static str,
    /// The innermost field; the variant where that has none.
    pub field: &'static str,
}

/// What stands in the place of a string.
pub(super) type WordChoice<'a> = &'a dyn Fn(WordPlace, &str) -> String;

/// A value whose strings are others.
pub(super) struct Worded<'a, T: ?Sized> {
    pub value: &'a T,
    pub place: WordPlace,
    pub wording: WordChoice<'a>,
}

impl<T: Serialize + ?Sized> Serialize for Worded<'_, T> {
    fn serialize<S: Serializer>(&self, inner: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(WordSerializer {
            inner,
            place: self.place,
            wording: self.wording,
        })
    }
}

struct WordSerializer<'a, S> {
    inner: S,
    place: WordPlace,
    wording: WordChoice<'a>,
}

impl<'a, S> WordSerializer<'a, S> {
    fn worded<'b, T: ?Sized>(&self, value: &'b T, place: WordPlace) -> Worded<'b, T>
    where
        'a: 'b,
    {
        Worded {
            value,
            place,
            wording: self.wording,
        }
    }
}

/// Parts of a value, one after the other.
struct WordParts<'a, C> {
    inner: C,
    place: WordPlace,
    wording: WordChoice<'a>,
}

impl<'a, C> WordParts<'a, C> {
    fn part<'b, T: ?Sized>(&self, value: &'b T) -> Worded<'b, T>
    where
        'a: 'b,
    {
        self.named(value, self.place.field)
    }

    fn named<'b, T: ?Sized>(&self, value: &'b T, field: &'static str) -> Worded<'b, T>
    where
        'a: 'b,
    {
        Worded {
            value,
            place: WordPlace {
                of: self.place.of,
                field,
            },
            wording: self.wording,
        }
    }
}

macro_rules! passed_on {
    ($($function:ident: $type:ty),*) => {$(
        fn $function(self, value: $type) -> Result<S::Ok, S::Error> {
            self.inner.$function(value)
        }
    )*};
}

/// A compound of the inner serializer, in which strings are others.
macro_rules! compound {
    ($self:ident, $place:expr, $inner:expr) => {
        Ok(WordParts {
            place: $place,
            wording: $self.wording,
            inner: $inner?,
        })
    };
}

impl<'a, S: Serializer> Serializer for WordSerializer<'a, S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = WordParts<'a, S::SerializeSeq>;
    type SerializeTuple = WordParts<'a, S::SerializeTuple>;
    type SerializeTupleStruct = WordParts<'a, S::SerializeTupleStruct>;
    type SerializeTupleVariant = WordParts<'a, S::SerializeTupleVariant>;
    type SerializeMap = WordParts<'a, S::SerializeMap>;
    type SerializeStruct = WordParts<'a, S::SerializeStruct>;
    type SerializeStructVariant = WordParts<'a, S::SerializeStructVariant>;

    passed_on!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32,
        serialize_i64: i64, serialize_i128: i128, serialize_u8: u8, serialize_u16: u16,
        serialize_u32: u32, serialize_u64: u64, serialize_u128: u128, serialize_f32: f32,
        serialize_f64: f64, serialize_char: char, serialize_bytes: &[u8],
        serialize_unit_struct: &'static str
    );

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }

    fn serialize_str(self, text: &str) -> Result<S::Ok, S::Error> {
        let word = (self.wording)(self.place, text);
        self.inner.serialize_str(&word)
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.serialize_str(&value.to_string())
    }

    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.inner.serialize_none()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        let value = self.worded(value, self.place);
        self.inner.serialize_some(&value)
    }

    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
    ) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit_variant(name, index, variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let value = self.worded(value, self.place);
        self.inner.serialize_newtype_struct(name, &value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let value = self.worded(value, of_variant(self.place, variant));
        self.inner
            .serialize_newtype_variant(name, index, variant, &value)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        compound!(self, self.place, self.inner.serialize_seq(length))
    }

    fn serialize_tuple(self, length: usize) -> Result<Self::SerializeTuple, S::Error> {
        compound!(self, self.place, self.inner.serialize_tuple(length))
    }

    fn serialize_tuple_struct(
        self,
        name: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleStruct, S::Error> {
        compound!(
            self,
            self.place,
            self.inner.serialize_tuple_struct(name, length)
        )
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        let place = of_variant(self.place, variant);
        let inner = self
            .inner
            .serialize_tuple_variant(name, index, variant, length);
        compound!(self, place, inner)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        compound!(self, self.place, self.inner.serialize_map(length))
    }

    fn serialize_struct(
        self,
        name: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStruct, S::Error> {
        let place = WordPlace {
            of: name,
            field: "",
        };
        compound!(self, place, self.inner.serialize_struct(name, length))
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        let place = WordPlace {
            of: variant,
            field: "",
        };
        let inner = self
            .inner
            .serialize_struct_variant(name, index, variant, length);
        compound!(self, place, inner)
    }
}

/// What is kept, or is a text, is so with all variants.
fn of_variant(place: WordPlace, variant: &'static str) -> WordPlace {
    match KEPT_FIELDS.contains(&place.field) || TEXT_FIELDS.contains(&place.field) {
        true => place,
        false => WordPlace {
            of: variant,
            field: variant,
        },
    }
}

macro_rules! parts {
    ($($kind:ident: $function:ident),*) => {$(
        impl<C: $kind> $kind for WordParts<'_, C> {
            type Ok = C::Ok;
            type Error = C::Error;

            fn $function<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), C::Error> {
                let value = self.part(value);
                self.inner.$function(&value)
            }

            fn end(self) -> Result<C::Ok, C::Error> {
                self.inner.end()
            }
        }
    )*};
}

parts!(
    SerializeSeq: serialize_element, SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field, SerializeTupleVariant: serialize_field
);

impl<C: SerializeMap> SerializeMap for WordParts<'_, C> {
    type Ok = C::Ok;
    type Error = C::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), C::Error> {
        let key = self.part(key);
        self.inner.serialize_key(&key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), C::Error> {
        let value = self.part(value);
        self.inner.serialize_value(&value)
    }

    fn end(self) -> Result<C::Ok, C::Error> {
        self.inner.end()
    }
}

macro_rules! fields {
    ($($kind:ident),*) => {$(
        impl<C: $kind> $kind for WordParts<'_, C> {
            type Ok = C::Ok;
            type Error = C::Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                field: &'static str,
                value: &T,
            ) -> Result<(), C::Error> {
                let value = self.named(value, field);
                self.inner.serialize_field(field, &value)
            }

            fn end(self) -> Result<C::Ok, C::Error> {
                self.inner.end()
            }
        }
    )*};
}

fields!(SerializeStruct, SerializeStructVariant);
