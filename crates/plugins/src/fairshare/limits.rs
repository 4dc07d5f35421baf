//! Limits of users within a queue, as the configuration has them.
//!
//! ```text
//!  fairshare.userLimits: jobs=4,nvidia.com/gpu=16,hours=500;ada: jobs=8       users of every queue; `ada` alone
//!  fairshare.userLimits.research: jobs=2                                      users of one queue, instead of these
//! ```

use std::collections::BTreeMap;

use pumice_conf::{Arg, Arguments, FormedText, TextForm, Value};
use pumice_model::resource::{MAX_AMOUNT, Unit, unit_of};
use pumice_units::quantity;

use super::measure::{PARTS, read_decimal};

pub(super) const LIMITS: Arg<FormedText> = Arg::formed(
    "fairshare.userLimits",
    LIMITS_FORM,
    "",
    "What a user may have in each queue at the same time: jobs that hold something, and amounts of resources; and `hours`: \
     units times hours that he may have used, of the measure and as they fade. Users who have others are named after a \
     semicolon, each with a colon. Others wait no longer for who has as much as he may.",
);
pub(super) const LIMITS_OF_QUEUE: Arg<FormedText> = Arg::formed(
    "fairshare.userLimits.*",
    LIMITS_FORM,
    "",
    "What a user may have in the queue of this name, instead of `fairshare.userLimits`.",
);
const LIMITS_FORM: TextForm = TextForm {
    phrase: "limits, then users with their own",
    example: "jobs=4,nvidia.com/gpu=16,hours=500;ada: jobs=8",
    fault,
};

/// More users have no limits of their own.
const MAX_NAMED: usize = 256;
/// Longer names are no users.
const MAX_NAME_BYTES: usize = 128;
/// Most jobs, and hours, that can be written.
const MAX_COUNT: u64 = 1_000_000;

/// What a user may have in a queue; nothing that is not said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UserLimits {
    /// Jobs that hold something.
    pub jobs: Option<u32>,
    /// Resources by name, each with an amount in stored units.
    pub amounts: Vec<(String, i64)>,
    /// What may have been used, in parts of a unit times seconds.
    pub used: Option<u128>,
}

/// What users of a queue may have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct QueueRules {
    everybody: UserLimits,
    named: Vec<(String, UserLimits)>,
}

/// What users may have, by queue.
#[derive(Clone, Debug, Default)]
pub(super) struct LimitRules {
    elsewhere: QueueRules,
    queues: BTreeMap<String, QueueRules>,
}

impl LimitRules {
    /// What the arguments say.
    pub fn read(arguments: &Arguments) -> Self {
        let prefix = LIMITS_OF_QUEUE.name().trim_end_matches('*');
        let queues = arguments.iter().filter_map(|(key, value)| match value {
            Value::Str(text) => Some((key.strip_prefix(prefix)?, text.as_str())),
            _ => None,
        });
        Self::new(LIMITS.read(arguments), queues)
    }

    /// What is written for all queues, and for some by name. What cannot be read was told, and says nothing.
    fn new<'a>(elsewhere: &str, queues: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let queues = queues.filter_map(|(queue, text)| {
            let rules = QueueRules::read(text).ok()?;
            Some((queue.to_owned(), rules))
        });
        Self {
            elsewhere: QueueRules::read(elsewhere).unwrap_or_default(),
            queues: queues.collect(),
        }
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty() && self.elsewhere == QueueRules::default()
    }

    /// What a user may have in a queue; `None` for users that are not told apart.
    pub fn of(&self, queue: &str, user: Option<&str>) -> &UserLimits {
        let rules = self.queues.get(queue).unwrap_or(&self.elsewhere);
        let own = user.and_then(|user| rules.named.iter().find(|(name, _)| name == user));
        own.map_or(&rules.everybody, |(_, limits)| limits)
    }
}

impl QueueRules {
    fn read(text: &str) -> Result<Self, String> {
        let mut rules = Self::default();
        let mut is_first = true;
        for part in text.split(';') {
            let (user, limits) = match part.rsplit_once(':') {
                Some((user, limits)) => (Some(user.trim()), limits),
                None => (None, part),
            };
            let limits = UserLimits::read(limits)?;
            match user {
                None if is_first => rules.everybody = limits,
                None => {
                    return Err(format!(
                        "has limits `{}` for nobody: a user and a colon go before them",
                        part.trim()
                    ));
                }
                Some(user) if user.is_empty() || user.len() > MAX_NAME_BYTES => {
                    return Err(format!(
                        "names a user with {} bytes; a name has 1 to {MAX_NAME_BYTES}",
                        user.len()
                    ));
                }
                Some(user) if rules.named.iter().any(|(known, _)| known == user) => {
                    return Err(format!("names `{user}` twice"));
                }
                Some(user) => rules.named.push((user.to_owned(), limits)),
            }
            is_first = false;
        }
        match rules.named.len() {
            0..=MAX_NAMED => Ok(rules),
            many => Err(format!("names {many} users; {MAX_NAMED} at most")),
        }
    }
}

impl UserLimits {
    fn read(text: &str) -> Result<Self, String> {
        let mut limits = Self::default();
        for pair in text
            .split(',')
            .map(str::trim)
            .filter(|_| !text.trim().is_empty())
        {
            let (name, most) = pair
                .split_once('=')
                .ok_or_else(|| format!("has `{pair}`, which is no limit"))?;
            let (name, most) = (name.trim(), most.trim());
            let is_new = match name {
                "jobs" => limits.jobs.replace(jobs(most)?).is_none(),
                "hours" => limits.used.replace(hours(most)?).is_none(),
                _ => {
                    let is_new = limits.amounts.iter().all(|(known, _)| known != name);
                    limits.amounts.push((name.to_owned(), amount(name, most)?));
                    is_new
                }
            };
            if !is_new {
                return Err(format!("limits `{name}` twice"));
            }
        }
        Ok(limits)
    }

    /// There is none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Why a text has no limits.
fn fault(text: &str) -> Option<String> {
    QueueRules::read(text).err()
}

fn jobs(text: &str) -> Result<u32, String> {
    let count = text.parse::<u32>().ok();
    let count = count.filter(|count| u64::from(*count) <= MAX_COUNT);
    count.ok_or_else(|| {
        format!("limits `jobs` to `{text}`, which is no whole number from 0 to {MAX_COUNT}")
    })
}

fn hours(text: &str) -> Result<u128, String> {
    let parts = read_decimal(text).filter(|parts| *parts <= MAX_COUNT * PARTS);
    let parts = parts.map(|parts| u128::from(parts) * 3_600);
    parts.ok_or_else(|| {
        format!("limits `hours` to `{text}`, which is no number from 0 to {MAX_COUNT}")
    })
}

fn amount(name: &str, text: &str) -> Result<i64, String> {
    let unit = unit_of(name).filter(|_| !name.is_empty());
    let unit = unit.ok_or_else(|| format!("limits `{name}`, which is no resource"))?;
    let amount = quantity::parse(text)
        .ok()
        .filter(|amount| !amount.is_negative());
    let amount = amount.map(|amount| match unit {
        Unit::Milli => amount.milli_ceil(),
        Unit::Whole => amount.whole_ceil(),
    });
    let amount = amount.filter(|amount| *amount <= MAX_AMOUNT);
    amount.ok_or_else(|| format!("limits `{name}` to `{text}`, which is no amount"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_the_user_in_the_queue_else_of_everybody_in_it() {
        let rules = LimitRules::new(
            "jobs=4, nvidia.com/gpu=16, hours=0.5; ada: jobs=8; system:serviceaccount:ns:bob:",
            [("research", "cpu=2500m")].into_iter(),
        );
        let everybody = rules.of("default", Some("eve"));
        assert_eq!(everybody.jobs, Some(4));
        assert_eq!(everybody.amounts, [("nvidia.com/gpu".to_owned(), 16_000)]);
        assert_eq!(everybody.used, Some(1_800 * u128::from(PARTS)));
        assert_eq!(rules.of("default", None), everybody);
        let ada = rules.of("default", Some("ada"));
        assert_eq!((ada.jobs, ada.amounts.len()), (Some(8), 0));
        assert!(
            rules
                .of("default", Some("system:serviceaccount:ns:bob"))
                .is_empty()
        );
        let research = rules.of("research", Some("ada"));
        assert_eq!(research.amounts, [("cpu".to_owned(), 2_500)]);
        assert_eq!(research.jobs, None);
        assert!(!rules.is_empty());
        assert!(LimitRules::new("", std::iter::empty()).is_empty());
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, says) in [
            ("jobs", "has `jobs`, which is no limit"),
            ("jobs=1,jobs=2", "limits `jobs` twice"),
            ("cpu=1,cpu=2", "limits `cpu` twice"),
            (
                "jobs=-1",
                "limits `jobs` to `-1`, which is no whole number from 0 to 1000000",
            ),
            (
                "hours=1e3",
                "limits `hours` to `1e3`, which is no number from 0 to 1000000",
            ),
            ("cpu=x", "limits `cpu` to `x`, which is no amount"),
            ("cpu=-1", "limits `cpu` to `-1`, which is no amount"),
            ("=1", "limits ``, which is no resource"),
            (
                "jobs=1;jobs=2",
                "has limits `jobs=2` for nobody: a user and a colon go before them",
            ),
            ("jobs=1;a: jobs=1;a: jobs=2", "names `a` twice"),
            (
                "jobs=1;: jobs=2",
                "names a user with 0 bytes; a name has 1 to 128",
            ),
        ] {
            assert_eq!(fault(text).as_deref(), Some(says), "{text}");
        }
    }

    #[test]
    fn limits_without_users_are_an_error_and_faults_are_told_with_their_place() {
        let told = |arguments: &str| {
            let text = format!(
                "actions: \"allocate\"\n\
                 tiers: [{{plugins: [{{name: fairshare, arguments: {{{arguments}}}}}]}}]\n"
            );
            let found = pumice_conf::parse(&text, &crate::testing::REGISTRY).diagnostics;
            let told = found.iter().map(|found| (found.code, found.line));
            told.collect::<Vec<_>>()
        };
        let missing = [("E0313-missing-argument", 2)];
        assert_eq!(told("fairshare.userLimits: jobs=4"), missing);
        assert_eq!(told("fairshare.userLimits.research: jobs=4"), missing);
        let users = "fairshare.users: namespace, fairshare.userLimits";
        assert_eq!(told(&format!("{users}: jobs=4")), []);
        assert_eq!(told(&format!("{users}.research: cpu=4")), []);
        assert_eq!(
            told(&format!("{users}.research: cpus=4")),
            [("E0311-malformed-text", 2)]
        );
    }
}
