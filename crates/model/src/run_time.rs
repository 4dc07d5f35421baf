//! How long pods run, as their owners say it.

use pumice_units::duration::{parse_go_duration, seconds_up};

use crate::object::{Pairs, value_of};
use crate::state::State;
use crate::task::Task;

/// Annotation of pods and PodGroups: how long a pod runs, as its owner expects; a duration such as `2h30m`.
pub const RUN_TIME: &str = "pumice.sh/run-time";

/// Annotation of pods and PodGroups: how long a pod runs at most. Of a pod with a [`DEADLINE`] the smaller of both.
pub const RUN_TIME_LIMIT: &str = "pumice.sh/run-time-limit";

/// Under that name the deadline of a pod, which the kubelet keeps, stands among its annotations.
pub const DEADLINE: &str = "spec.activeDeadlineSeconds";

/// Annotations of run times, in the order of their names.
pub const RUN_TIMES: [&str; 2] = [RUN_TIME, RUN_TIME_LIMIT];

/// Annotation of queues: how long a pod of it runs of which nobody says it, as is expected.
pub const DEFAULT_RUN_TIME: &str = "pumice.sh/default-run-time";

/// Annotation of queues: how long a pod of it runs at most of which nobody says it.
pub const DEFAULT_RUN_TIME_LIMIT: &str = "pumice.sh/default-run-time-limit";

/// Annotations of queues, in the order of their names.
pub const DEFAULT_RUN_TIMES: [&str; 2] = [DEFAULT_RUN_TIME, DEFAULT_RUN_TIME_LIMIT];

/// Longer than that nobody knows: ten years, in seconds.
pub const MAX_RUN_TIME_S: i64 = 10 * 366 * 24 * 3600;

/// How long a pod runs, in seconds, from when it got its node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunTime {
    /// As its owner expects.
    pub expected_s: Option<i64>,
    /// At most.
    pub limit_s: Option<i64>,
}

impl RunTime {
    /// What is said of a pod.
    pub fn of_task(state: &State, task: &Task) -> Self {
        let job = task.job.map(|job| state.job(job));
        let group = job.and_then(|job| job.group());
        let queue = job.and_then(|job| job.queue);
        RunTimeTexts {
            pod: task.annotations.as_deref(),
            group: group.map(|group| &group.annotations),
            queue: queue.map(|queue| &state.queue(queue).object.run_times),
        }
        .read()
    }

    /// How long it runs at most, where a pod without a limit runs that long, in seconds: longer where more is expected.
    pub fn limit_or_s(self, default_s: Option<i64>) -> Option<i64> {
        let default_s = default_s.map(|limit_s| limit_s.max(self.expected_s.unwrap_or(0)));
        self.limit_s.or(default_s)
    }
}

/// What is written of how long a pod runs, by where.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunTimeTexts<'a> {
    /// Annotations of the pod, with its deadline.
    pub pod: Option<&'a Pairs>,
    /// Annotations of its PodGroup.
    pub group: Option<&'a Pairs>,
    /// Annotations of its queue.
    pub queue: Option<&'a Pairs>,
}

impl RunTimeTexts<'_> {
    /// What it says. The pod is believed before its PodGroup, and both before the queue. What cannot be read says nothing
    /// ([`run_time_s`] tells why).
    pub fn read(self) -> RunTime {
        let Self { pod, group, queue } = self;
        let of_pod = [said_s(pod, RUN_TIME_LIMIT), said_s(pod, DEADLINE)];
        let limit_s = of_pod.into_iter().flatten().min();
        let own = RunTime {
            expected_s: said_s(pod, RUN_TIME).or_else(|| said_s(group, RUN_TIME)),
            limit_s: limit_s.or_else(|| said_s(group, RUN_TIME_LIMIT)),
        };
        let expected_s = own.expected_s.or_else(|| said_s(queue, DEFAULT_RUN_TIME));
        let known = RunTime { expected_s, ..own };
        RunTime {
            limit_s: known.limit_or_s(said_s(queue, DEFAULT_RUN_TIME_LIMIT)),
            ..known
        }
    }
}

/// What one of these annotations says, in seconds.
fn said_s(annotations: Option<&Pairs>, key: &str) -> Option<i64> {
    let text = value_of(annotations?, key)?;
    run_time_s(text).ok()
}

/// Which of these annotations say nothing, what they say instead, and why that is no run time.
pub fn run_time_faults<'a>(
    annotations: &'a Pairs,
    keys: &'a [&'static str],
) -> impl Iterator<Item = (&'static str, &'a str, &'static str)> {
    let texts = keys
        .iter()
        .filter_map(|key| Some((*key, value_of(annotations, key)?)));
    texts.filter_map(|(key, text)| Some((key, text, run_time_s(text).err()?)))
}

/// Seconds of a run time as it is written; parts of one count as one.
///
/// # Errors
/// Why it is none, as a sentence goes on after the text.
pub fn run_time_s(text: &str) -> Result<i64, &'static str> {
    let nanos = parse_go_duration(text).map_err(|_| "is no duration such as 2h30m")?;
    match seconds_up(nanos) {
        ..=0 => Err("is not above 0"),
        seconds @ 1..=MAX_RUN_TIME_S => Ok(seconds),
        _ => Err("is more than ten years"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(all: &[(&str, &str)]) -> Pairs {
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        all.iter().map(own).collect()
    }

    #[test]
    fn a_run_time_is_a_duration_above_0_and_below_ten_years() {
        let all = ["90m", "1.5s", "0", "-3h", "tomorrow", "200000h"].map(run_time_s);
        let none = "is no duration such as 2h30m";
        let expected = [
            Ok(5400),
            Ok(2),
            Err("is not above 0"),
            Err("is not above 0"),
            Err(none),
            Err("is more than ten years"),
        ];
        assert_eq!(all, expected);
    }

    /// What a pod and its group say, in a queue that says nothing.
    fn of(pod: Option<&Pairs>, group: Option<&Pairs>) -> RunTime {
        let queue = None;
        RunTimeTexts { pod, group, queue }.read()
    }

    #[test]
    fn a_pod_is_believed_before_its_group_and_what_cannot_be_read_says_nothing() {
        let pod = pairs(&[(RUN_TIME, "1h")]);
        let group = pairs(&[(RUN_TIME, "2h"), (RUN_TIME_LIMIT, "3h")]);
        let of_both = RunTime {
            expected_s: Some(3600),
            limit_s: Some(10_800),
        };
        assert_eq!(of(Some(&pod), Some(&group)), of_both);
        let odd = pairs(&[(RUN_TIME, "soon"), (RUN_TIME_LIMIT, "0")]);
        assert_eq!(of(Some(&odd), None), RunTime::default());
        let of_group = of(None, Some(&group));
        assert_eq!(of(Some(&odd), Some(&group)), of_group);
        let faults: Vec<_> = run_time_faults(&odd, &RUN_TIMES).collect();
        let expected = [
            (RUN_TIME, "soon", "is no duration such as 2h30m"),
            (RUN_TIME_LIMIT, "0", "is not above 0"),
        ];
        assert_eq!(faults, expected);
    }

    #[test]
    fn a_deadline_is_a_limit_where_the_pod_says_none_that_is_smaller() {
        let group = pairs(&[(RUN_TIME_LIMIT, "3h")]);
        let limit_s = |own: &[(&str, &str)]| of(Some(&pairs(own)), Some(&group)).limit_s;
        assert_eq!(limit_s(&[(DEADLINE, "60s")]), Some(60));
        assert_eq!(
            limit_s(&[(DEADLINE, "7200s"), (RUN_TIME_LIMIT, "1h")]),
            Some(3600)
        );
        assert_eq!(
            limit_s(&[(DEADLINE, "60s"), (RUN_TIME_LIMIT, "1h")]),
            Some(60)
        );
        assert_eq!(
            limit_s(&[(DEADLINE, "60s"), (RUN_TIME_LIMIT, "soon")]),
            Some(60)
        );
        assert_eq!(limit_s(&[(RUN_TIME_LIMIT, "soon")]), Some(10_800));
    }

    #[test]
    fn a_queue_says_what_nobody_else_does_and_no_limit_that_is_below_what_is_expected() {
        let queue = pairs(&[(DEFAULT_RUN_TIME, "1h"), (DEFAULT_RUN_TIME_LIMIT, "2h")]);
        let read = |pod: &[(&str, &str)], group: &[(&str, &str)]| {
            let (pod, group) = (pairs(pod), pairs(group));
            let texts = RunTimeTexts {
                pod: Some(&pod),
                group: Some(&group),
                queue: Some(&queue),
            };
            let RunTime {
                expected_s,
                limit_s,
            } = texts.read();
            (expected_s, limit_s)
        };
        assert_eq!(read(&[], &[]), (Some(3600), Some(7200)));
        let own = read(&[(RUN_TIME_LIMIT, "5m")], &[]);
        assert_eq!(own, (Some(3600), Some(300)));
        let of_group = read(&[], &[(RUN_TIME, "5m")]);
        assert_eq!(of_group, (Some(300), Some(7200)));
        let expects_more = read(&[], &[(RUN_TIME, "9h")]);
        assert_eq!(expects_more, (Some(32_400), Some(32_400)));
        let unreadable = read(&[(RUN_TIME, "soon"), (RUN_TIME_LIMIT, "0")], &[]);
        assert_eq!(unreadable, (Some(3600), Some(7200)));
    }
}
