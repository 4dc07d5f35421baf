//! Messages: their fields, and how a field goes into a place of a type.

use std::collections::BTreeMap;

use thiserror::Error;

/// Bytes that are no message of the kind that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    /// The bytes end within a field.
    #[error("the message ends within a field")]
    Cut,
    /// A number has more than 64 bits.
    #[error("a number of the message has more than 64 bits")]
    Overlong,
    /// A field of a kind that no encoder of Kubernetes writes.
    #[error("field {0} of the message is of wire type {1}, which Kubernetes does not use")]
    WireType(u32, u8),
    /// A field is of another type than its number says.
    #[error("field {0} of the message has another type")]
    Type(u32),
    /// The bytes do not begin as an object of Kubernetes does.
    #[error("the envelope of the object is missing")]
    Envelope,
    /// A frame of a watch is of no known type.
    #[error("the type of the event is not known")]
    Event,
}

/// A field of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageField<'m> {
    pub(super) number: u32,
    content: Content<'m>,
}

#[derive(Clone, Copy, Debug)]
enum Content<'m> {
    Number(u64),
    Bytes(&'m [u8]),
    /// Fixed in length; no field that is read is.
    Fixed,
}

impl<'m> MessageField<'m> {
    /// Content of a field that is a text, bytes or a message.
    pub(super) fn bytes(&self) -> Result<&'m [u8], Malformed> {
        match self.content {
            Content::Bytes(bytes) => Ok(bytes),
            Content::Number(_) | Content::Fixed => Err(Malformed::Type(self.number)),
        }
    }

    /// Text as Go writes it into JSON: what is no UTF-8 is replaced.
    pub(super) fn text(&self) -> Result<String, Malformed> {
        Ok(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    /// Number of a field that is one, as two's complement.
    pub(super) fn number(&self) -> Result<i64, Malformed> {
        match self.content {
            Content::Number(number) => Ok(number.cast_signed()),
            Content::Bytes(_) | Content::Fixed => Err(Malformed::Type(self.number)),
        }
    }
}

/// The fields of a message, in the order in which they stand.
pub(super) struct MessageFields<'m> {
    rest: &'m [u8],
}

impl<'m> MessageFields<'m> {
    pub(super) fn of(message: &'m [u8]) -> Self {
        Self { rest: message }
    }

    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for at in 0..10 {
            let (byte, rest) = self.rest.split_first().ok_or(Malformed::Cut)?;
            self.rest = rest;
            let bits = u64::from(byte & 0x7f);
            if at == 9 && bits > 1 {
                return Err(Malformed::Overlong);
            }
            number |= bits << (7 * at);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Malformed::Overlong)
    }

    fn take(&mut self, length: u64) -> Result<&'m [u8], Malformed> {
        let length = usize::try_from(length).map_err(|_| Malformed::Cut)?;
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Malformed::Cut)?;
        self.rest = rest;
        Ok(taken)
    }

    fn field(&mut self) -> Result<MessageField<'m>, Malformed> {
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).map_err(|_| Malformed::Overlong)?;
        let content = match tag & 7 {
            0 => Content::Number(self.varint()?),
            1 => self.take(8).map(|_| Content::Fixed)?,
            2 => {
                let length = self.varint()?;
                Content::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Content::Fixed)?,
            other => return Err(Malformed::WireType(number, other as u8)),
        };
        Ok(MessageField { number, content })
    }
}

impl<'m> Iterator for MessageFields<'m> {
    type Item = Result<MessageField<'m>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// A type that a message is read into.
pub(super) trait Message: Default {
    /// Takes a field; one that nobody asks for is dropped.
    fn set(&mut self, field: MessageField<'_>) -> Result<(), Malformed>;
}

/// Reads a message.
pub(super) fn read<M: Message>(bytes: &[u8]) -> Result<M, Malformed> {
    let mut message = M::default();
    for field in MessageFields::of(bytes) {
        message.set(field?)?;
    }
    Ok(message)
}

/// What one field holds.
pub(super) trait FieldValue: Sized {
    /// `None` where JSON would leave the field out.
    fn of(field: MessageField<'_>) -> Result<Option<Self>, Malformed>;
}

impl FieldValue for String {
    fn of(field: MessageField<'_>) -> Result<Option<Self>, Malformed> {
        Ok(Some(field.text()?).filter(|text| !text.is_empty()))
    }
}

impl FieldValue for bool {
    fn of(field: MessageField<'_>) -> Result<Option<Self>, Malformed> {
        Ok(Some(field.number()? != 0))
    }
}

impl FieldValue for i64 {
    fn of(field: MessageField<'_>) -> Result<Option<Self>, Malformed> {
        field.number().map(Some)
    }
}

impl FieldValue for i32 {
    fn of(field: MessageField<'_>) -> Result<Option<Self>, Malformed> {
        let number = Self::try_from(field.number()?);
        number.map(Some).map_err(|_| Malformed::Type(field.number))
    }
}

impl<M: Message> FieldValue for M {
    fn of(field: MessageField<'_>) -> Result<Option<Self>, Malformed> {
        read(field.bytes()?).map(Some)
    }
}

/// A place of a type that a field goes into.
pub(super) trait Slot {
    /// Takes the field: in place of what was there, or to the others of a list or map.
    fn accept(&mut self, field: MessageField<'_>) -> Result<(), Malformed>;
}

impl<V: FieldValue + Default> Slot for V {
    fn accept(&mut self, field: MessageField<'_>) -> Result<(), Malformed> {
        *self = V::of(field)?.unwrap_or_default();
        Ok(())
    }
}

impl<V: FieldValue> Slot for Option<V> {
    fn accept(&mut self, field: MessageField<'_>) -> Result<(), Malformed> {
        *self = V::of(field)?;
        Ok(())
    }
}

impl<V: FieldValue + Default> Slot for Vec<V> {
    fn accept(&mut self, field: MessageField<'_>) -> Result<(), Malformed> {
        self.push(V::of(field)?.unwrap_or_default());
        Ok(())
    }
}

impl<V: FieldValue + Default> Slot for Option<Vec<V>> {
    fn accept(&mut self, field: MessageField<'_>) -> Result<(), Malformed> {
        self.get_or_insert_default().accept(field)
    }
}

impl<V: FieldValue + Default> Slot for Option<BTreeMap<String, V>> {
    fn accept(&mut self, field: MessageField<'_>) -> Result<(), Malformed> {
        let (mut key, mut value) = (String::new(), V::default());
        for part in MessageFields::of(field.bytes()?) {
            let part = part?;
            match part.number {
                1 => key.accept(part)?,
                2 => value.accept(part)?,
                _ => {}
            }
        }
        self.get_or_insert_default().insert(key, value);
        Ok(())
    }
}

/// Types by the numbers of their fields.
macro_rules! messages {
    ($($kind:ty { $($number:literal => $field:ident),* $(,)? })*) => {
        $(
            impl $crate::protobuf::message::Message for $kind {
                fn set(
                    &mut self,
                    field: $crate::protobuf::message::MessageField<'_>,
                ) -> Result<(), $crate::protobuf::message::Malformed> {
                    #[allow(unused_imports, reason = "a type without fields that are read")]
                    use $crate::protobuf::message::Slot as _;
                    match field.number {
                        $($number => self.$field.accept(field),)*
                        _ => Ok(()),
                    }
                }
            }
        )*
    };
}

pub(super) use messages;
