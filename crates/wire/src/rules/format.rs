//! How names, labels and words are written.

use pumice_api::name;

/// Longest label of a DNS name, and so of many names.
const MAX_LABEL: usize = 63;

/// Longest name of a port.
const MAX_PORT_NAME: usize = 15;

/// How a text has to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameFormat {
    /// A label of a DNS name.
    DnsLabel,
    /// A DNS name.
    DnsSubdomain,
    /// Key of a label, and what is named like one.
    Qualified,
    /// Key of an annotation: capitals count as small letters.
    Annotation,
    /// Value of a label.
    LabelValue,
    /// Name of a port.
    PortName,
    /// Name of an environment variable.
    EnvName,
    /// A path that stays within a volume.
    InnerPath,
    /// Name of a PriorityClass that users make.
    NameOfUsers,
}

impl NameFormat {
    /// By its word in the table.
    pub fn read(word: &str) -> Option<Self> {
        Some(match word {
            "dns-label" => Self::DnsLabel,
            "dns-subdomain" => Self::DnsSubdomain,
            "qualified" => Self::Qualified,
            "annotation" => Self::Annotation,
            "label-value" => Self::LabelValue,
            "port-name" => Self::PortName,
            "env-name" => Self::EnvName,
            "inner-path" => Self::InnerPath,
            "name-of-users" => Self::NameOfUsers,
            _ => return None,
        })
    }

    /// Whether a text is written so.
    pub fn fits(self, text: &str) -> bool {
        match self {
            Self::DnsLabel => {
                text.len() <= MAX_LABEL && !text.contains('.') && name::is_dns_subdomain(text)
            }
            Self::DnsSubdomain => name::is_dns_subdomain(text),
            Self::Qualified => name::is_qualified(text),
            Self::Annotation => {
                name::is_qualified(text) || name::is_qualified(&text.to_ascii_lowercase())
            }
            Self::LabelValue => name::is_label_value(text),
            Self::PortName => is_port_name(text),
            Self::EnvName => text
                .bytes()
                .all(|c| (b' '..=b'~').contains(&c) && c != b'='),
            Self::InnerPath => !text.starts_with('/') && text.split('/').all(|part| part != ".."),
            Self::NameOfUsers => !text.starts_with("system-"),
        }
    }

    /// What a text that is not written so is not.
    pub const fn what(self) -> &'static str {
        match self {
            Self::DnsLabel | Self::DnsSubdomain => "is not a name",
            Self::Qualified => "is not a key",
            Self::Annotation => "is not a key of an annotation",
            Self::LabelValue => "is not a value of a label",
            Self::PortName => "is not a name of a port",
            Self::EnvName => "is not a name of a variable",
            Self::InnerPath => "leads out of the volume",
            Self::NameOfUsers => "begins like the classes of the system",
        }
    }

    /// What to write.
    pub const fn help(self) -> &'static str {
        match self {
            Self::DnsLabel => {
                "use small letters, digits and '-', at most 63, beginning and ending with a letter \
                 or digit"
            }
            Self::DnsSubdomain => {
                "use small letters, digits, '-' and '.', at most 253, each part beginning and \
                 ending with a letter or digit"
            }
            Self::Qualified | Self::Annotation => {
                "use letters, digits, '-', '_' and '.', at most 63, beginning and ending with a \
                 letter or digit; before it there may be a DNS name and '/'"
            }
            Self::LabelValue => {
                "use letters, digits, '-', '_' and '.', at most 63, beginning and ending with a \
                 letter or digit"
            }
            Self::PortName => {
                "use small letters, digits and single '-', at most 15, with at least one letter, \
                 beginning and ending with a letter or digit"
            }
            Self::EnvName => "use printable characters of ASCII without '='",
            Self::InnerPath => {
                "write a path within the volume, without '/' before it and without .."
            }
            Self::NameOfUsers => "give it a name that does not begin with system-",
        }
    }
}

fn is_port_name(text: &str) -> bool {
    let allowed = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    text.len() <= MAX_PORT_NAME
        && text.bytes().all(allowed)
        && text.bytes().any(|c| c.is_ascii_lowercase())
        && !text.contains("--")
        && !text.starts_with('-')
        && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_knows_its_own() {
        let long = "a".repeat(64);
        let cases = [
            (NameFormat::DnsLabel, "a-1", "a.b"),
            (NameFormat::DnsLabel, "1", long.as_str()),
            (NameFormat::DnsSubdomain, "a.b-c", "A"),
            (NameFormat::Qualified, "example.com/A_b", "not valid!"),
            (NameFormat::Annotation, "Example.com/a", "a b"),
            (NameFormat::LabelValue, "", "not valid!"),
            (NameFormat::PortName, "http-1", "80"),
            (NameFormat::PortName, "a", "sixteen-letters-"),
            (NameFormat::EnvName, "a b.c", "a=b"),
            (NameFormat::InnerPath, "a/b", "a/../b"),
            (NameFormat::InnerPath, "a..b", "/a"),
            (NameFormat::NameOfUsers, "high", "system-high"),
        ];
        for (format, right, wrong) in cases {
            assert!(format.fits(right), "{format:?} {right:?}");
            assert!(!format.fits(wrong), "{format:?} {wrong:?}");
        }
    }
}
