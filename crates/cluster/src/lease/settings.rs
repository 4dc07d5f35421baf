//! Names and durations of the election, and what is wrong with them.

use std::time::Duration;

/// client-go refuses a renew deadline that leaves no room for a jittered retry (spec/01 §1.1).
const JITTER_PERCENT: u32 = 120;

/// What an [`Elector`](super::Elector) needs to know (`--leader-elect-*`, spec/01 §1.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElectionSettings {
    /// Namespace of the Lease, normally `volcano-system`.
    pub namespace: String,
    /// Name of the Lease, normally `volcano`.
    pub name: String,
    /// Who we are: `<hostname>_<uuid>`, new at every start of the process.
    pub identity: String,
    /// How long a standby waits after the last renewal it saw. At least a second, whole seconds
    /// are written to the Lease.
    pub lease_duration: Duration,
    /// How long after the last renewal the holder goes on.
    pub renew_deadline: Duration,
    /// Time between renewals; a standby looks four times as often.
    pub retry_period: Duration,
}

impl ElectionSettings {
    /// The defaults of Volcano: 15 s, 10 s and 2 s, Lease `volcano` in `volcano-system`.
    pub fn new(identity: impl Into<String>) -> Self {
        Self {
            namespace: "volcano-system".to_owned(),
            name: "volcano".to_owned(),
            identity: identity.into(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }

    /// Checks the rules of spec/01 §1.1.
    ///
    /// # Errors
    /// The first rule that does not hold, with the flag to change.
    pub fn validate(&self) -> Result<(), SettingsError> {
        let durations = [
            ("--leader-elect-lease-duration", self.lease_duration),
            ("--leader-elect-renew-deadline", self.renew_deadline),
            ("--leader-elect-retry-period", self.retry_period),
        ];
        for (flag, value) in durations {
            if value.is_zero() {
                return Err(SettingsError::NotPositive { flag });
            }
        }
        let names = [
            ("--leader-elect-resource-namespace", &self.namespace),
            ("--leader-elect-resource-name", &self.name),
            ("the identity of this replica", &self.identity),
        ];
        for (flag, value) in names {
            if value.is_empty() {
                return Err(SettingsError::Empty { flag });
            }
        }
        if self.lease_duration < Duration::from_secs(1) {
            return Err(SettingsError::BelowSecond {
                lease: self.lease_duration,
            });
        }
        if self.lease_duration <= self.renew_deadline {
            return Err(SettingsError::LeaseNotLonger {
                lease: self.lease_duration,
                renew: self.renew_deadline,
            });
        }
        if self.renew_deadline <= self.retry_period * JITTER_PERCENT / 100 {
            return Err(SettingsError::RenewNotLonger {
                renew: self.renew_deadline,
                retry: self.retry_period,
            });
        }
        Ok(())
    }

    /// The lease duration as it is written to the Lease: whole seconds, rounded up, so that what
    /// others read is never shorter than what we were told.
    pub(super) fn lease_seconds(&self) -> i32 {
        let up = u64::from(self.lease_duration.subsec_nanos() > 0);
        i32::try_from(self.lease_duration.as_secs() + up).unwrap_or(i32::MAX)
    }
}

/// What is wrong with [`ElectionSettings`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A duration is 0.
    #[error("{flag} is 0, and must be greater than zero, for example 15s")]
    NotPositive {
        /// Which flag.
        flag: &'static str,
    },
    /// A name is empty.
    #[error("{flag} is empty, and must not be empty: give a name")]
    Empty {
        /// Which flag.
        flag: &'static str,
    },
    /// A Lease counts whole seconds.
    #[error(
        "--leader-elect-lease-duration is {lease:?}; a Lease counts in seconds, give at least 1s"
    )]
    BelowSecond {
        /// What was given.
        lease: Duration,
    },
    /// The holder would go on after a standby has taken over.
    #[error(
        "--leader-elect-lease-duration ({lease:?}) is not longer than \
         --leader-elect-renew-deadline ({renew:?}), and must be greater than it, for example 15s \
         and 10s"
    )]
    LeaseNotLonger {
        /// Lease duration.
        lease: Duration,
        /// Renew deadline.
        renew: Duration,
    },
    /// There would be no second try within the deadline.
    #[error(
        "--leader-elect-renew-deadline ({renew:?}) is not longer than 1.2 × \
         --leader-elect-retry-period ({retry:?}); within 1.2 times the period there is no second try: \
         make the deadline longer, for example 10s and 2s"
    )]
    RenewNotLonger {
        /// Renew deadline.
        renew: Duration,
        /// Retry period.
        retry: Duration,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change = fn(&mut ElectionSettings);

    fn with(change: impl Fn(&mut ElectionSettings)) -> Result<(), SettingsError> {
        let mut settings = ElectionSettings::new("host_1");
        change(&mut settings);
        settings.validate()
    }

    #[test]
    fn the_defaults_are_valid() {
        assert_eq!(with(|_| ()), Ok(()));
    }

    #[test]
    fn each_rule_names_the_flag_to_change() {
        let cases: [(Change, &str); 7] = [
            (
                |s| s.lease_duration = Duration::ZERO,
                "--leader-elect-lease-duration is 0",
            ),
            (
                |s| s.retry_period = Duration::ZERO,
                "--leader-elect-retry-period is 0",
            ),
            (|s| s.name.clear(), "--leader-elect-resource-name is empty"),
            (|s| s.identity.clear(), "identity of this replica is empty"),
            (
                |s| s.lease_duration = Duration::from_millis(500),
                "at least 1s",
            ),
            (
                |s| s.renew_deadline = Duration::from_secs(15),
                "is not longer than --leader",
            ),
            (
                |s| s.retry_period = Duration::from_secs(9),
                "1.2 × --leader-elect-retry-period",
            ),
        ];
        for (change, text) in cases {
            let error = with(change).expect_err(text).to_string();
            assert!(error.contains(text), "{error} lacks {text}");
        }
    }

    #[test]
    fn the_written_duration_is_never_shorter_than_the_real_one() {
        let mut settings = ElectionSettings::new("host_1");
        settings.lease_duration = Duration::from_millis(15_100);
        assert_eq!(settings.lease_seconds(), 16);
    }
}
