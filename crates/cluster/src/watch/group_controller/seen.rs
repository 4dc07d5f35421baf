//! What was seen of the controller that makes PodGroups, and what that proves.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;

use crate::lease::{LeaseRecord, Mono};

/// Duration of a Lease that does not tell it.
const USUAL_LEASE: Duration = Duration::from_secs(15);

/// A longer duration is not believed: pods would wait that long for a controller that is gone.
const LONGEST_LEASE: Duration = Duration::from_secs(60);

/// How long after its Lease has run out, or its pod is no longer ready, a controller counts as
/// alive: another replica, or the one that is started in its place, appears within this time.
const HANDOVER: Duration = Duration::from_secs(10);

/// What was seen, with times that count only while the API server answers.
#[derive(Debug, Default)]
pub(super) struct ControllerSigns {
    lease: Option<LeaseRecord>,
    /// How long the API server was seen to have nothing newer.
    unchanged: Duration,
    /// A pod of the controller that was ready, and how long ago that was.
    pod: Option<(String, Duration)>,
    /// When it last answered, unless the last request had no answer.
    answered: Option<Mono>,
}

impl ControllerSigns {
    /// The API server showed this Lease, or that there is none.
    pub(super) fn lease(&mut self, record: Option<LeaseRecord>, now: Mono) {
        self.denied(now);
        if self.lease != record {
            self.lease = record;
            self.unchanged = Duration::ZERO;
        }
    }

    /// The API server showed a ready pod of the controller, by name, or that there is none.
    pub(super) fn pod(&mut self, ready: Option<String>) {
        if let Some(name) = ready {
            self.pod = Some((name, Duration::ZERO));
        }
    }

    /// The API server answered, and did not show the Lease: there is no news of it.
    pub(super) fn denied(&mut self, now: Mono) {
        if let Some(before) = self.answered.replace(now) {
            let passed = before.until(now);
            self.unchanged += passed;
            if let Some((_, unseen)) = &mut self.pod {
                *unseen += passed;
            }
        }
    }

    /// There was no answer. The controller could not renew its Lease either: the time since the last
    /// answer does not count.
    pub(super) fn missed(&mut self) {
        self.answered = None;
    }

    /// Whether the Lease is renewed.
    pub(super) fn is_renewed(&self) -> bool {
        self.lease.as_ref().is_some_and(|record| {
            let lease = record.duration.unwrap_or(USUAL_LEASE).min(LONGEST_LEASE);
            self.unchanged < lease + HANDOVER
        })
    }

    /// The pod that shows the controller at work.
    pub(super) fn working_pod(&self) -> Option<&str> {
        let (name, unseen) = self.pod.as_ref()?;
        (*unseen < HANDOVER).then_some(name.as_str())
    }
}

/// Whether a pod is ready and stays for the time being.
pub(super) fn is_ready(pod: &Pod) -> bool {
    let status = pod.status.as_ref();
    let mut conditions = status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    pod.metadata.deletion_timestamp.is_none()
        && conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{PodCondition, PodStatus};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use k8s_openapi::jiff::Timestamp;

    use super::*;

    fn at(seconds: u64) -> Mono {
        Mono(Duration::from_secs(seconds))
    }

    fn renewed(stamp: i64) -> Option<LeaseRecord> {
        Some(LeaseRecord {
            holder: "controller".to_owned(),
            duration: Some(Duration::from_secs(15)),
            renewed_us: Some(stamp),
            transitions: 1,
        })
    }

    #[test]
    fn a_lease_is_alive_until_it_was_seen_unchanged_for_its_duration_and_a_handover() {
        let mut seen = ControllerSigns::default();
        assert!(!seen.is_renewed());
        // Its own stamps, of whatever clock, mean nothing.
        seen.lease(renewed(-5), at(100));
        assert!(seen.is_renewed(), "the first look is like a change");
        for second in (102..124).step_by(2) {
            seen.lease(renewed(-5), at(second));
            assert!(seen.is_renewed(), "second {second}");
        }
        seen.lease(renewed(-5), at(126));
        assert!(!seen.is_renewed());
        seen.lease(renewed(-4), at(128));
        assert!(seen.is_renewed());
        seen.lease(None, at(130));
        assert!(!seen.is_renewed(), "there is none any more");
    }

    #[test]
    fn a_released_lease_is_alive_for_a_handover() {
        let mut seen = ControllerSigns::default();
        seen.lease(renewed(1), at(0));
        let released = LeaseRecord {
            duration: Some(Duration::from_secs(1)),
            ..LeaseRecord::default()
        };
        for (second, alive) in [(2, true), (12, true), (13, false)] {
            seen.lease(Some(released.clone()), at(second));
            assert_eq!(seen.is_renewed(), alive, "second {second}");
        }
    }

    #[test]
    fn time_without_answers_does_not_count_and_denials_are_no_news() {
        let mut seen = ControllerSigns::default();
        seen.lease(renewed(1), at(0));
        seen.missed();
        seen.lease(renewed(1), at(600));
        assert!(seen.is_renewed(), "the API server was away");
        seen.denied(at(624));
        assert!(seen.is_renewed());
        seen.denied(at(626));
        assert!(!seen.is_renewed());
    }

    #[test]
    fn an_absurd_duration_is_not_believed() {
        let mut seen = ControllerSigns::default();
        let mut record = renewed(1);
        if let Some(record) = &mut record {
            record.duration = Some(Duration::from_secs(1 << 40));
        }
        seen.lease(record.clone(), at(0));
        seen.lease(record, at(71));
        assert!(!seen.is_renewed());
    }
    #[test]
    fn a_pod_shows_the_controller_at_work_while_it_is_ready_and_for_a_handover() {
        let mut seen = ControllerSigns::default();
        assert_eq!(seen.working_pod(), None);
        seen.lease(None, at(100));
        seen.pod(Some("controllers-a".to_owned()));
        assert_eq!(seen.working_pod(), Some("controllers-a"));
        seen.lease(None, at(108));
        seen.pod(None);
        assert_eq!(
            seen.working_pod(),
            Some("controllers-a"),
            "its successor starts"
        );
        seen.missed();
        seen.lease(None, at(600));
        seen.pod(None);
        assert_eq!(
            seen.working_pod(),
            Some("controllers-a"),
            "the API server was away"
        );
        seen.lease(None, at(602));
        seen.pod(None);
        assert_eq!(seen.working_pod(), None);
        seen.pod(Some("controllers-b".to_owned()));
        assert_eq!(seen.working_pod(), Some("controllers-b"));
    }

    #[test]
    fn a_pod_that_starts_or_ends_shows_nothing() {
        let mut pod = Pod::default();
        assert!(!is_ready(&pod));
        let condition = PodCondition {
            type_: "Ready".to_owned(),
            status: "True".to_owned(),
            ..PodCondition::default()
        };
        let status = PodStatus {
            conditions: Some(vec![condition]),
            ..PodStatus::default()
        };
        pod.status = Some(status);
        assert!(is_ready(&pod));
        pod.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        assert!(!is_ready(&pod));
    }
}
