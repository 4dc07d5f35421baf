//! Named formats of texts, as Kubernetes checks names and values with them (spec/09 §3).

use cel::common::functions::Function;
use cel::common::types::{CelList, CelOptional, CelString, Type};
use cel::common::value::{CowVal, Val};
use cel::{DeclarationError, Env, ExecutionError};

use super::values::value;
use super::{times, urls};

static FORMAT: Type = Type::new_unspecified_type("kubernetes.NamedFormat");

/// Bytes of a label of a domain, of a whole domain.
const LABEL_BYTES: usize = 63;
const SUBDOMAIN_BYTES: usize = 253;

/// What a text must be.
#[derive(Debug)]
struct TextFormat {
    name: &'static str,
    /// What is wrong with a text.
    problems: fn(&str) -> Vec<String>,
    /// The function that gives the format.
    constant: Function,
}

/// A format as a value.
#[derive(Clone, Copy, Debug)]
pub struct FormatValue(&'static TextFormat);

value! { FormatValue, FORMAT,
    fn equals(&self, other: &dyn Val) -> bool {
        other.downcast_ref::<Self>().is_some_and(|other| other.0.name == self.0.name)
    }
}

const fn format(
    name: &'static str,
    problems: fn(&str) -> Vec<String>,
    constant: Function,
) -> TextFormat {
    TextFormat {
        name,
        problems,
        constant,
    }
}

/// Each with the function of its own place.
static FORMATS: [TextFormat; 13] = [
    format("dns1123Label", label_1123, constant::<0>),
    format("dns1123Subdomain", subdomain_1123, constant::<1>),
    format("dns1035Label", label_1035, constant::<2>),
    format("qualifiedName", qualified_name, constant::<3>),
    format(
        "dns1123LabelPrefix",
        |text| label_1123(&ended(text)),
        constant::<4>,
    ),
    format(
        "dns1123SubdomainPrefix",
        |text| subdomain_1123(&ended(text)),
        constant::<5>,
    ),
    format(
        "dns1035LabelPrefix",
        |text| label_1035(&ended(text)),
        constant::<6>,
    ),
    format("labelValue", label_value, constant::<7>),
    format(
        "uri",
        |text| urls::check(text).err().into_iter().collect(),
        constant::<8>,
    ),
    format(
        "uuid",
        |text| unless(is_uuid(text), "it is no UUID"),
        constant::<9>,
    ),
    format(
        "byte",
        |text| unless(is_base64(text), "it is no base64"),
        constant::<10>,
    ),
    format(
        "date",
        |text| unless(times::is_date(text), "it is no date"),
        constant::<11>,
    ),
    format(
        "datetime",
        |text| unless(times::is_date_time(text), "it is no time"),
        constant::<12>,
    ),
];

/// Declares `format.<name>()`, `format.named(…)` and `validate`.
pub fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_type(FORMAT.to_owned())?;
    for format in &FORMATS {
        let name = format!("format.{}", format.name);
        env.add_overload(&name, &name, vec![], format.constant)?;
    }
    cel::add_overload!(env, fn named: (CelString) -> CelOptional,
        name = "format.named", id = "format-named")?;
    cel::add_member_overload!(env, fn validate: (FormatValue, CelString) -> CelOptional,
        id = "format-validate")
}

fn constant<'b, 'v, const AT: usize>(
    _: Vec<CowVal<'b, 'v>>,
) -> Result<CowVal<'b, 'v>, ExecutionError> {
    Ok(CowVal::owned(FormatValue(&FORMATS[AT])))
}

/// The format of a name, nothing if there is none.
fn named(name: &CelString<'_>) -> CelOptional<'static> {
    let found = FORMATS.iter().find(|format| format.name == name.inner());
    found.map_or(CelOptional::none(), |found| {
        CelOptional::of(Box::new(FormatValue(found)))
    })
}

/// What is wrong with a text, nothing if it has the format.
fn validate(format: &FormatValue, text: &CelString<'_>) -> CelOptional<'static> {
    let problems = (format.0.problems)(text.inner());
    if problems.is_empty() {
        return CelOptional::none();
    }
    let text = |text| Box::new(CelString::from(text)) as Box<dyn Val>;
    let problems: Vec<Box<dyn Val>> = problems.into_iter().map(text).collect();
    CelOptional::of(Box::new(CelList::from(problems)))
}

fn unless(is_fine: bool, problem: &str) -> Vec<String> {
    let problem = (!is_fine).then(|| problem.to_owned());
    problem.into_iter().collect()
}

/// What is wrong with the length and the characters of a text.
fn checked(text: &str, most: usize, is_fine: bool, expected: &str) -> Vec<String> {
    let mut problems = unless(
        text.len() <= most,
        &format!("it has more than {most} bytes"),
    );
    problems.extend(unless(is_fine, expected));
    problems
}

/// A name that a prefix may begin: instead of a dash at the end and what is before it, it has a letter.
fn ended(prefix: &str) -> String {
    let bare = prefix.strip_suffix('-');
    let bare = bare.and_then(|bare| bare.strip_suffix(|c: char| c.is_ascii()));
    bare.map_or(prefix.to_owned(), |bare| format!("{bare}a"))
}

fn is_low(b: u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit()
}

/// Whether a text has bytes of one kind at its ends, and of another between them.
fn is_within(text: &str, is_end: fn(u8) -> bool, is_inner: fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    let ends = bytes.first().zip(bytes.last());
    ends.is_some_and(|(first, last)| is_end(*first) && is_end(*last))
        && bytes.iter().all(|b| is_inner(*b))
}

fn is_label(text: &str) -> bool {
    is_within(text, is_low, |b| is_low(b) || b == b'-')
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

/// Letters, digits, `-`, `_` and `.`, the first and last two only within.
fn is_name(text: &str) -> bool {
    let is_inner = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    is_within(text, |b| b.is_ascii_alphanumeric(), is_inner)
}

fn label_1123(text: &str) -> Vec<String> {
    let expected = "a label has small letters and digits, and dashes between them";
    checked(text, LABEL_BYTES, is_label(text), expected)
}

fn label_1035(text: &str) -> Vec<String> {
    let starts = text.starts_with(|c: char| c.is_ascii_lowercase());
    let expected =
        "a label begins with a small letter, and has small letters, digits, and dashes between";
    checked(text, LABEL_BYTES, starts && is_label(text), expected)
}

fn subdomain_1123(text: &str) -> Vec<String> {
    let expected =
        "a subdomain has labels of small letters, digits and dashes, with dots between them";
    checked(text, SUBDOMAIN_BYTES, is_subdomain(text), expected)
}

/// A name, with or without a subdomain and a slash before it.
fn qualified_name(text: &str) -> Vec<String> {
    let (domain, name) = match text.split_once('/') {
        Some((domain, name)) => (Some(domain), name),
        None => (None, text),
    };
    if name.contains('/') {
        return vec!["it has more than one slash".to_owned()];
    }
    let mut problems = domain.map(subdomain_1123).unwrap_or_default();
    problems.extend(unless(!name.is_empty(), "it has no name"));
    let expected = "a name has letters and digits, and -, _ and . between them";
    problems.extend(checked(name, LABEL_BYTES, is_name(name), expected));
    problems
}

fn label_value(text: &str) -> Vec<String> {
    let expected = "a value is empty or has letters and digits, and -, _ and . between them";
    checked(
        text,
        LABEL_BYTES,
        text.is_empty() || is_name(text),
        expected,
    )
}

/// Groups of hexadecimal digits, with or without a dash after each.
fn is_uuid(text: &str) -> bool {
    let mut rest = text;
    for (at, digits) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        let Some((group, behind)) = rest.split_at_checked(digits) else {
            return false;
        };
        if !group.bytes().all(|b| b.is_ascii_hexdigit()) {
            return false;
        }
        let dash = behind.strip_prefix('-').filter(|_| at < 4);
        rest = dash.unwrap_or(behind);
    }
    rest.is_empty()
}

/// Base64 with its padding, not empty.
fn is_base64(text: &str) -> bool {
    let bare = text.strip_suffix('=').unwrap_or(text);
    let bare = bare.strip_suffix('=').unwrap_or(bare);
    let is_digit = |b: u8| b.is_ascii_alphanumeric() || b"+/".contains(&b);
    !text.is_empty() && text.len().is_multiple_of(4) && bare.bytes().all(is_digit)
}
