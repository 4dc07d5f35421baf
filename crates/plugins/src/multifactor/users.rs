//! Factors of users, as the configuration has them.

use pumice_framework::points::FACTOR_PARTS;

/// More users have no factors.
const MAX_USERS: usize = 256;
/// Longer names are no users.
const MAX_NAME_BYTES: usize = 128;

/// Users by name, each with its factor in parts of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UserFactors(Vec<(String, u64)>);

impl UserFactors {
    /// What is written.
    ///
    /// # Errors
    /// Why it cannot be read, as a sentence goes on after the text.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut all: Vec<(String, u64)> = Vec::new();
        for pair in text.split(',').filter(|_| !text.trim().is_empty()) {
            let (name, factor) = pair
                .trim()
                .split_once('=')
                .ok_or_else(|| format!("has `{}`, which is no user with a factor", pair.trim()))?;
            let (name, factor) = (name.trim(), factor.trim());
            if name.is_empty() || name.len() > MAX_NAME_BYTES {
                return Err(format!(
                    "names a user with {} bytes; a name has 1 to {MAX_NAME_BYTES}",
                    name.len()
                ));
            }
            if all.iter().any(|(known, _)| known == name) {
                return Err(format!("names `{name}` twice"));
            }
            let parts = parts(factor).ok_or_else(|| {
                format!("gives `{name}` the factor `{factor}`, which is no number from 0 to 1")
            })?;
            all.push((name.to_owned(), parts));
        }
        match all.len() {
            0..=MAX_USERS => Ok(Self(all)),
            many => Err(format!("names {many} users; {MAX_USERS} at most")),
        }
    }

    /// The factor of a user.
    pub fn of(&self, user: &str) -> u64 {
        let known = self.0.iter().find(|(name, _)| name == user);
        known.map_or(0, |(_, parts)| *parts)
    }
}

/// Why a text has no factors.
pub(super) fn fault(text: &str) -> Option<String> {
    UserFactors::read(text).err()
}

/// A number from 0 to 1 with at most nine decimals, in parts of one.
fn parts(text: &str) -> Option<u64> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(rest) || rest.len() > 9 {
        return None;
    }
    let whole: u64 = whole.parse().ok().filter(|whole| *whole <= 1)?;
    let rest: u64 = format!("{rest:0<9}").parse().ok()?;
    Some(whole * FACTOR_PARTS + rest).filter(|parts| *parts <= FACTOR_PARTS)
}
