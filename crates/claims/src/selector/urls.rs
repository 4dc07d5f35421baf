//! URLs: absolute ones and absolute paths, read as Go reads them (spec/09 §3).
//!
//! Go is more lenient than RFC 3986 (a path may have spaces) and leaves what it reads as it is, so no
//! library for URLs of browsers or for strict ones gives the same parts.

use core::net::Ipv6Addr;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use cel::common::types::{CelBool, CelList, CelMap, CelMapKey, CelString, Type};
use cel::common::value::Val;
use cel::{DeclarationError, Env, ExecutionError};

use super::failure::failed;
use super::values::value;

static URL: Type = Type::new_unspecified_type("kubernetes.URL");

/// The parts of a URL; what it does not have is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UrlValue {
    scheme: String,
    /// What stands behind a scheme without a slash: no host, no path.
    opaque: String,
    user: String,
    /// With its port, and brackets around IPv6.
    host: String,
    /// Escaped.
    path: String,
    /// Escaped, without `?`; an empty one is not the same as none.
    query: Option<String>,
    /// Escaped, without `#`.
    fragment: String,
}

value! { UrlValue, URL,
    fn equals(&self, other: &dyn Val) -> bool {
        other.downcast_ref::<Self>() == Some(self)
    }
}

/// Where in a URL a text stands: what it may have, and what `%` may stand for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UrlPart {
    Host,
    Zone,
    Query,
    Other,
}

impl UrlValue {
    /// Reads a URL as `url()` does.
    ///
    /// # Errors
    /// What is wrong with it.
    fn parse(text: &str) -> Result<Self, String> {
        // As a request it has no fragment; only then is one split off.
        Self::parts(text, true)?;
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        let parts = Self::parts(text, false)?;
        unescaped(fragment, UrlPart::Other)?;
        let fragment = fragment.to_owned();
        Ok(Self { fragment, ..parts })
    }

    /// The parts of a text without fragment. That of a request begins with a scheme or a slash, and two
    /// slashes without scheme begin a path in it, not a host.
    fn parts(text: &str, is_request: bool) -> Result<Self, String> {
        let mut url = Self::default();
        if text.bytes().any(|b| b.is_ascii_control()) {
            return Err("a control character".to_owned());
        }
        if text == "*" {
            text.clone_into(&mut url.path);
            return Ok(url);
        }
        let rest = match scheme(text)? {
            Some((scheme, rest)) => {
                url.scheme = scheme.to_ascii_lowercase();
                rest
            }
            None => text,
        };
        let (mut rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query.to_owned())),
            None => (rest, None),
        };
        url.query = query;
        let has_scheme = !url.scheme.is_empty();
        if !rest.starts_with('/') {
            if has_scheme {
                rest.clone_into(&mut url.opaque);
                return Ok(url);
            }
            if is_request {
                return Err("neither absolute nor an absolute path".to_owned());
            }
            if rest.split('/').next().is_some_and(|one| one.contains(':')) {
                return Err("a colon in the first segment of the path".to_owned());
            }
        }
        let may_have_host = has_scheme || !is_request && !rest.starts_with("///");
        if let Some(behind) = rest.strip_prefix("//").filter(|_| may_have_host) {
            let (authority, path) = behind.split_at(behind.find('/').unwrap_or(behind.len()));
            url.read_authority(authority)?;
            rest = path;
        }
        url.path = escaped_path(rest)?;
        Ok(url)
    }

    fn read_authority(&mut self, text: &str) -> Result<(), String> {
        let (user, host) = match text.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, text),
        };
        self.host = host_of(&self.scheme, host)?;
        if let Some(user) = user {
            let is_fine = |b: u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b);
            if !user.bytes().all(is_fine) {
                return Err("a wrong character before @".to_owned());
            }
            unescaped(user, UrlPart::Other)?;
            self.user = format!("{user}@");
        }
        Ok(())
    }

    /// Host without brackets, and port.
    fn host_and_port(&self) -> (&str, &str) {
        let (host, port) = match self.host.rfind(':') {
            Some(at) if is_port(&self.host[at..]) => (&self.host[..at], &self.host[at + 1..]),
            _ => (&self.host[..], ""),
        };
        let inner = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        (inner.unwrap_or(host), port)
    }

    /// Values by key, in order; what is wrongly escaped is left out.
    fn values(&self) -> BTreeMap<String, Vec<String>> {
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let parts = self.query.iter().flat_map(|query| query.split('&'));
        for part in parts.filter(|part| !part.is_empty() && !part.contains(';')) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let read = |text| unescaped(text, UrlPart::Query).ok();
            if let (Some(key), Some(value)) = (read(key), read(value)) {
                found.entry(key).or_default().push(value);
            }
        }
        found
    }
}

/// Scheme and what is behind its colon; `None` if there is none.
fn scheme(text: &str) -> Result<Option<(&str, &str)>, String> {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || b"+-.".contains(&b);
    let end = text.bytes().position(|b| !is_part(b));
    let Some((scheme, rest)) = end.and_then(|end| {
        let rest = text[end..].strip_prefix(':')?;
        Some((&text[..end], rest))
    }) else {
        return Ok(None);
    };
    match scheme.bytes().next() {
        None => Err("no scheme before the colon".to_owned()),
        Some(first) => Ok(first.is_ascii_alphabetic().then_some((scheme, rest))),
    }
}

/// Whether a text is empty, or a colon with digits or none.
fn is_port(text: &str) -> bool {
    let digits = text.strip_prefix(':');
    text.is_empty() || digits.is_some_and(|all| all.bytes().all(|b| b.is_ascii_digit()))
}

/// A host and its port.
fn host_of(scheme: &str, text: &str) -> Result<String, String> {
    let wrong_port = || "a wrong port".to_owned();
    if let Some(open) = text.rfind('[') {
        let close = text.rfind(']').filter(|_| open == 0);
        let close = close.ok_or_else(|| "wrong brackets in the host".to_owned())?;
        let (inner, port) = (&text[1..close], &text[close + 1..]);
        if !is_port(port) {
            return Err(wrong_port());
        }
        let (six, zone) = inner.split_at(inner.find("%25").unwrap_or(inner.len()));
        let six = unescaped(six, UrlPart::Host)?;
        let zone = unescaped(zone, UrlPart::Zone)?;
        if six.parse::<Ipv6Addr>().is_err() || zone == "%" {
            return Err("brackets around what is no IPv6 address".to_owned());
        }
        return Ok(format!("[{six}{zone}]{port}"));
    }
    let is_web = scheme == "http" || scheme == "https";
    let colon = if is_web {
        text.find(':')
    } else {
        text.rfind(':')
    };
    if !is_port(colon.map_or("", |at| &text[at..])) {
        return Err(wrong_port());
    }
    unescaped(text, UrlPart::Host)
}

fn is_unreserved(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"-_.~".contains(&b)
}

fn is_of_host(b: u8) -> bool {
    is_unreserved(b) || b"!$&'()*+,;=:[]<>\"".contains(&b)
}

/// The byte of `%` and two digits.
fn escaped_byte(text: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*text.get(at)?).to_digit(16);
    let (high, low) = (digit(1)?, digit(2)?);
    u8::try_from(high * 16 + low).ok()
}

/// A text with what `%` stands for.
///
/// # Errors
/// `%` without two digits, or a character that may not stand in a host.
fn unescaped(text: &str, part: UrlPart) -> Result<String, String> {
    let (mut rest, mut found) = (text.as_bytes(), Vec::new());
    let in_host = matches!(part, UrlPart::Host | UrlPart::Zone);
    while let [first, behind @ ..] = rest {
        if *first == b'%' {
            let byte = escaped_byte(rest).ok_or_else(|| "% without two digits".to_owned())?;
            let is_fine = match part {
                UrlPart::Host => byte >= 0x80 || byte == b'%',
                UrlPart::Zone => byte == b'%' || byte == b' ' || is_of_host(byte),
                UrlPart::Query | UrlPart::Other => true,
            };
            if !is_fine {
                return Err("a character of the host is escaped".to_owned());
            }
            found.push(byte);
            rest = &rest[3..];
            continue;
        }
        if in_host && first.is_ascii() && !is_of_host(*first) {
            return Err(format!("{:?} in the host", char::from(*first)));
        }
        let is_space = part == UrlPart::Query && *first == b'+';
        found.push(if is_space { b' ' } else { *first });
        rest = behind;
    }
    Ok(String::from_utf8_lossy(&found).into_owned())
}

/// A path as it is if it is escaped well, else escaped: of `with space` `with%20space`.
fn escaped_path(text: &str) -> Result<String, String> {
    unescaped(text, UrlPart::Other)?;
    if text
        .bytes()
        .all(|b| is_unreserved(b) || b"!$&'()*+,;=:@[]%/".contains(&b))
    {
        return Ok(text.to_owned());
    }
    let (mut rest, mut escaped) = (text.as_bytes(), String::new());
    while let [first, behind @ ..] = rest {
        let read = escaped_byte(rest).filter(|_| *first == b'%');
        let byte = read.unwrap_or(*first);
        rest = if read.is_some() { &rest[3..] } else { behind };
        if is_unreserved(byte) || b"$&+,/:;=@".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            // Writing to a text cannot fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    Ok(escaped)
}

/// Whether a text is a URL: absolute, or an absolute path.
///
/// # Errors
/// What is wrong with it.
pub fn check(text: &str) -> Result<(), String> {
    UrlValue::parts(text, true).map(drop)
}

/// Declares the functions of URLs.
pub fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_type(URL.to_owned())?;
    cel::add_overload!(env, fn url_of: (CelString) -> Result<UrlValue>,
        name = "url", id = "string_to_url")?;
    cel::add_overload!(env, fn is_url: (CelString) -> CelBool, name = "isURL", id = "is_url_string")?;
    cel::add_member_overload!(env, fn get_scheme: (UrlValue) -> CelString, id = "url_get_scheme")?;
    cel::add_member_overload!(env, fn get_host: (UrlValue) -> CelString, id = "url_get_host")?;
    cel::add_member_overload!(env, fn get_hostname: (UrlValue) -> CelString,
        id = "url_get_hostname")?;
    cel::add_member_overload!(env, fn get_port: (UrlValue) -> CelString, id = "url_get_port")?;
    cel::add_member_overload!(env, fn get_escaped_path: (UrlValue) -> CelString,
        id = "url_get_escaped_path")?;
    cel::add_member_overload!(env, fn get_query: (UrlValue) -> CelMap, id = "url_get_query")
}

fn url_of(text: &CelString<'_>) -> Result<UrlValue, ExecutionError> {
    let read = UrlValue::parse(text.inner());
    read.map_err(|what| failed("url", format!("{:?} is no URL: {what}", text.inner())))
}

fn is_url(text: &CelString<'_>) -> CelBool {
    check(text.inner()).is_ok().into()
}

fn get_scheme(url: &UrlValue) -> CelString<'static> {
    CelString::from(url.scheme.clone())
}

fn get_host(url: &UrlValue) -> CelString<'static> {
    CelString::from(url.host.clone())
}

fn get_hostname(url: &UrlValue) -> CelString<'static> {
    CelString::from(url.host_and_port().0.to_owned())
}

fn get_port(url: &UrlValue) -> CelString<'static> {
    CelString::from(url.host_and_port().1.to_owned())
}

fn get_escaped_path(url: &UrlValue) -> CelString<'static> {
    CelString::from(url.path.clone())
}

/// Values by key: `{"k1": ["a"], "k2": ["b", "c"]}`.
fn get_query(url: &UrlValue) -> CelMap<'static> {
    let text = |text| Box::new(CelString::from(text)) as Box<dyn Val>;
    let mut map: HashMap<CelMapKey<'static>, Box<dyn Val>> = HashMap::new();
    for (key, values) in url.values() {
        let values: Vec<Box<dyn Val>> = values.into_iter().map(text).collect();
        map.insert(CelMapKey::from(key), Box::new(CelList::from(values)));
    }
    CelMap::from(map)
}
