//! Which key of a ConfigMap has a text.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ConfigMapError;

/// Which key of a ConfigMap has the text.
pub(super) enum WantedKey {
    Named(String),
    UsualOrOnly(String),
}

impl WantedKey {
    /// The key that is looked for first.
    pub fn name(&self) -> &str {
        match self {
            Self::Named(key) | Self::UsualOrOnly(key) => key,
        }
    }

    /// The text among those of the ConfigMap `full`.
    pub fn take(
        &self,
        full: &str,
        data: &mut BTreeMap<String, String>,
    ) -> Result<Arc<str>, ConfigMapError> {
        if let Some(text) = data.remove(self.name()) {
            return Ok(Arc::from(text));
        }
        let (full, key) = (full.to_owned(), self.name().to_owned());
        match (self, data.len()) {
            (Self::UsualOrOnly(_), 1) => {
                let only = data.pop_first().map(|(_, text)| Arc::from(text));
                only.ok_or(ConfigMapError::NoKey(full, key))
            }
            (Self::UsualOrOnly(_), 2..) => {
                let keys: Vec<&str> = data.keys().map(String::as_str).collect();
                Err(ConfigMapError::ManyKeys(full, key, keys.join(", ")))
            }
            _ => Err(ConfigMapError::NoKey(full, key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_key_is_taken_where_the_usual_one_is_not_there_and_none_of_several() {
        let key = WantedKey::UsualOrOnly("usual".to_owned());
        let take = |keys: &[&str]| {
            let pair = |key: &&str| ((*key).to_owned(), format!("text of {key}"));
            let taken = key.take("ns/m", &mut keys.iter().map(pair).collect());
            taken.map_err(|error| error.to_string())
        };
        assert_eq!(take(&["ci.conf"]), Ok("text of ci.conf".into()));
        assert_eq!(take(&["ci.conf", "usual"]), Ok("text of usual".into()));
        let several = "ConfigMap ns/m has the keys a, b and not usual: rename the one that is meant, or name \
                       it as ns/m/KEY";
        assert_eq!(take(&["a", "b"]), Err(several.to_owned()));
        let none = "ConfigMap ns/m has no key usual: add it";
        assert_eq!(take(&[]), Err(none.to_owned()));
        let named = WantedKey::Named("k".to_owned());
        let mut other = BTreeMap::from([("l".to_owned(), "text".to_owned())]);
        assert!(named.take("ns/m", &mut other).is_err());
    }
}
