//! Names of resources in the device configuration of HAMi (spec/04 §19.2).

use pumice_yaml::node::YamlNode;

use crate::config::{Reader, field};
use crate::text::shorten;

use super::kind::KindNames;

/// Keys of the names, in HAMi's words.
pub struct NameKeys {
    pub count: &'static str,
    pub memory: &'static str,
    pub percentage: &'static str,
    pub cores: &'static str,
}

/// The keys of nearly all vendors.
pub const NAME_KEYS: NameKeys = NameKeys {
    count: "resourceCountName",
    memory: "resourceMemoryName",
    percentage: "resourceMemoryPercentageName",
    cores: "resourceCoreName",
};

/// The names that a section has, and `default` for those it leaves out.
pub fn names(
    reader: &mut Reader,
    section: &YamlNode<'_>,
    (path, keys): (&str, &NameKeys),
    default: KindNames,
) -> KindNames {
    let mut read = |key: &str, default: String| match default.is_empty() {
        true => default,
        false => name(reader, section, key, path).unwrap_or(default),
    };
    KindNames {
        count: read(keys.count, default.count),
        memory: read(keys.memory, default.memory),
        percentage: read(keys.percentage, default.percentage),
        cores: read(keys.cores, default.cores),
    }
}

/// A name of a resource, or of something that stands in annotations; none where it is left out.
pub fn name(reader: &mut Reader, section: &YamlNode<'_>, key: &str, path: &str) -> Option<String> {
    field(section, key)?;
    required_name(reader, section, key, path)
}

/// A name that has to be there.
pub fn required_name(
    reader: &mut Reader,
    section: &YamlNode<'_>,
    key: &str,
    path: &str,
) -> Option<String> {
    let path = format!("{path}.{key}");
    let name = reader.required_text(section, key, &path)?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if !name.chars().all(is_plain) {
        let what = format!("`{}` has other characters than names have", shorten(name));
        reader.problem(section, &path, &what, "use letters, digits, and - _ . /");
        return None;
    }
    Some(name.to_owned())
}
