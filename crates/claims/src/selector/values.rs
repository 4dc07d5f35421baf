//! What an expression sees: the device, quantities, versions.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use cel::ExecutionError;
use cel::common::traits::{Container, Indexer};
use cel::common::types::{CelBool, CelInt, CelMap, CelMapKey, CelString, Type};
use cel::common::value::{CowVal, Val};
use pumice_units::quantity::Quantity;

use crate::device::{Attribute, DraDevice};

/// Type of quantities, named as Kubernetes does.
pub static QUANTITY: Type = Type::new_unspecified_type("kubernetes.Quantity");
/// Type of versions.
pub static SEMVER: Type = Type::new_unspecified_type("kubernetes.Semver");
static DEVICE: Type = Type::new_unspecified_type("kubernetes.DRADevice");
static DOMAINS: Type = Type::new_unspecified_type("kubernetes.DRADomains");

/// A quantity of Kubernetes as a value of CEL.
#[derive(Clone, Copy, Debug)]
pub struct QuantityValue(pub Quantity);

/// A version by semantic versioning 2.0.0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionValue {
    /// Major, minor, patch.
    pub numbers: [u64; 3],
    /// Identifiers of a pre-release.
    pub pre: Vec<String>,
}

impl VersionValue {
    /// Reads a version; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (text, build) = match text.split_once('+') {
            Some((text, build)) => (text, Some(build)),
            None => (text, None),
        };
        let is_word = |word: &str| {
            let mut bytes = word.bytes();
            !word.is_empty() && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'-')
        };
        if build.is_some_and(|build| !build.split('.').all(is_word)) {
            return None;
        }
        let (core, pre) = match text.split_once('-') {
            Some((core, pre)) => (core, pre.split('.').map(str::to_owned).collect()),
            None => (text, Vec::new()),
        };
        let is_number = |word: &str| word.bytes().all(|b| b.is_ascii_digit());
        let leads = |word: &str| word.len() > 1 && word.starts_with('0') && is_number(word);
        if !pre.iter().all(|word| is_word(word) && !leads(word)) {
            return None;
        }
        let mut numbers = core.split('.').map(|part| {
            let fine = !part.is_empty() && is_number(part) && !leads(part);
            fine.then(|| part.parse::<u64>().ok()).flatten()
        });
        let three = [numbers.next()??, numbers.next()??, numbers.next()??];
        let whole = numbers.next().is_none();
        whole.then_some(Self {
            numbers: three,
            pre,
        })
    }

    /// Reads a version that may begin with `v`, lack minor and patch, and have zeros before its numbers.
    pub fn parse_normalized(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(without_zeros).collect();
        let last = parts.last()?;
        if parts.len() < 3 && last.contains(['+', '-']) {
            return None;
        }
        parts.resize(3, "0".to_owned());
        Self::parse(&parts.join("."))
    }

    /// Precedence; build metadata does not count.
    pub fn compare(&self, other: &Self) -> Ordering {
        let numbers = self.numbers.cmp(&other.numbers);
        numbers.then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => compare_words(&self.pre, &other.pre),
        })
    }
}

/// A part of a version without zeros before its number.
fn without_zeros(part: &str) -> String {
    let bare = part.trim_start_matches('0');
    let lacks_number = !bare.starts_with(|c: char| c.is_ascii_digit());
    match lacks_number && part.len() > 1 {
        true => format!("0{bare}"),
        false if part.len() > 1 => bare.to_owned(),
        false => part.to_owned(),
    }
}

fn compare_words(left: &[String], right: &[String]) -> Ordering {
    for (one, other) in left.iter().zip(right) {
        let order = match (one.parse::<u64>(), other.parse::<u64>()) {
            (Ok(one), Ok(other)) => one.cmp(&other),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            (Err(_), Err(_)) => one.cmp(other),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    left.len().cmp(&right.len())
}

/// Values by name, one map a domain; a domain of which nothing is known is an empty map.
#[derive(Clone, Debug)]
pub struct DomainsValue {
    domains: BTreeMap<String, CelMap<'static>>,
    nothing: CelMap<'static>,
}

/// The variable `device`.
#[derive(Clone, Debug)]
pub struct DeviceValue {
    driver: CelString<'static>,
    shared: CelBool,
    attributes: DomainsValue,
    capacity: DomainsValue,
}

/// What an expression sees of a device.
pub fn view(driver: &str, device: &DraDevice) -> DeviceValue {
    let attributes = device.attributes.iter().map(|(name, value)| {
        let value: Box<dyn Val> = match value {
            Attribute::Bool(value) => Box::new(CelBool::from(*value)),
            Attribute::Int(value) => Box::new(CelInt::from(*value)),
            Attribute::Text(text) => Box::new(CelString::from(text.clone())),
            Attribute::Version(text) => match VersionValue::parse(text) {
                Some(version) => Box::new(version),
                None => Box::new(CelString::from(text.clone())),
            },
        };
        (name.as_str(), value)
    });
    let capacity = device.capacity.iter().map(|(name, capacity)| {
        let value: Box<dyn Val> = Box::new(QuantityValue(capacity.value));
        (name.as_str(), value)
    });
    DeviceValue {
        driver: CelString::from(driver.to_owned()),
        shared: CelBool::from(device.shared),
        attributes: DomainsValue::new(driver, attributes),
        capacity: DomainsValue::new(driver, capacity),
    }
}

impl DomainsValue {
    fn new<'n>(driver: &str, all: impl Iterator<Item = (&'n str, Box<dyn Val>)>) -> Self {
        let mut domains: BTreeMap<String, HashMap<CelMapKey<'static>, Box<dyn Val>>> =
            BTreeMap::new();
        for (name, value) in all {
            let (domain, id) = name.split_once('/').unwrap_or((driver, name));
            let key = CelMapKey::from(id.to_owned());
            domains
                .entry(domain.to_owned())
                .or_default()
                .insert(key, value);
        }
        let domains = domains.into_iter();
        Self {
            domains: domains
                .map(|(name, map)| (name, CelMap::from(map)))
                .collect(),
            nothing: CelMap::from(HashMap::new()),
        }
    }
}

fn name_of(index: &dyn Val) -> Result<&str, ExecutionError> {
    let name = index.downcast_ref::<CelString>();
    let name = name.ok_or_else(|| ExecutionError::UnexpectedType {
        got: index.get_type().name().to_owned(),
        want: "string".to_owned(),
    })?;
    Ok(name.inner())
}

impl Indexer for DomainsValue {
    fn get<'b, 'v>(&'b self, index: &dyn Val) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        let found = self.domains.get(name_of(index)?);
        Ok(CowVal::Borrowed(found.unwrap_or(&self.nothing)))
    }

    fn steal<'v>(self: Box<Self>, index: &dyn Val) -> Result<Box<dyn Val + 'v>, ExecutionError>
    where
        Self: 'v,
    {
        self.get(index).map(CowVal::into_owned)
    }
}

impl Container for DomainsValue {
    fn contains(&self, value: &dyn Val) -> Result<bool, ExecutionError> {
        Ok(self.domains.contains_key(name_of(value)?))
    }
}

impl Indexer for DeviceValue {
    fn get<'b, 'v>(&'b self, index: &dyn Val) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        Ok(match name_of(index)? {
            "driver" => CowVal::Borrowed(&self.driver),
            "allowMultipleAllocations" => CowVal::Borrowed(&self.shared),
            "attributes" => CowVal::Borrowed(&self.attributes),
            "capacity" => CowVal::Borrowed(&self.capacity),
            other => return Err(ExecutionError::NoSuchKey(other.to_owned().into())),
        })
    }

    fn steal<'v>(self: Box<Self>, index: &dyn Val) -> Result<Box<dyn Val + 'v>, ExecutionError>
    where
        Self: 'v,
    {
        self.get(index).map(CowVal::into_owned)
    }
}

/// What values of a type of ours have in common.
macro_rules! value {
    ($value:ty, $kind:ident, $($more:item)*) => {
        impl cel::common::value::Val for $value {
            fn get_type(&self) -> &cel::common::types::Type {
                &$kind
            }

            fn cel_type() -> &'static cel::common::types::Type {
                &$kind
            }

            fn clone_as_boxed<'v>(&self) -> Box<dyn cel::common::value::Val + 'v>
            where
                Self: 'v,
            {
                Box::new(self.clone())
            }

            fn as_any(&self) -> Option<&dyn std::any::Any> {
                Some(self)
            }

            $($more)*
        }

        impl cel::common::value::StaticVal for $value {}
    };
}
pub(super) use value;

value! { QuantityValue, QUANTITY,
    fn equals(&self, other: &dyn Val) -> bool {
        other.downcast_ref::<Self>().is_some_and(|other| other.0 == self.0)
    }
}

value! { VersionValue, SEMVER,
    fn equals(&self, other: &dyn Val) -> bool {
        other.downcast_ref::<Self>().is_some_and(|other| other.compare(self) == Ordering::Equal)
    }
}

value! { DomainsValue, DOMAINS,
    fn as_indexer<'b, 'v>(&'b self) -> Option<&'b (dyn Indexer + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn as_container(&self) -> Option<&dyn Container> {
        Some(self)
    }
}

value! { DeviceValue, DEVICE,
    fn as_indexer<'b, 'v>(&'b self) -> Option<&'b (dyn Indexer + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }
}
