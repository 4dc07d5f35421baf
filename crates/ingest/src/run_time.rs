//! How long a pod runs (spec/11 §1).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_model::object::Pairs;
use pumice_model::run_time::{DEADLINE, DEFAULT_RUN_TIMES, RUN_TIMES};

use crate::meta;
use crate::options::Options;

/// No run time is longer as a text; of a longer one the beginning is kept, to tell its owner: whoever may write a
/// PodGroup fills no memory with them.
const MAX_RUN_TIME_BYTES: usize = 64;

/// The annotations that some plugin reads, and what is said of run times, sorted. The deadline of a pod, which the kubelet
/// keeps, stands among them.
pub(crate) fn annotations(meta: &ObjectMeta, options: &Options, deadline_s: Option<i64>) -> Pairs {
    let mut annotations = meta::annotations(meta, &options.annotations);
    annotations.extend(said(meta, &RUN_TIMES));
    let deadline_s = deadline_s.filter(|seconds| *seconds > 0);
    let deadline = deadline_s.map(|seconds| (DEADLINE.to_owned(), format!("{seconds}s")));
    annotations.extend(deadline);
    annotations.sort();
    annotations
}

/// What annotations of a queue say of the run times of its pods, sorted.
pub(crate) fn defaults(meta: &ObjectMeta) -> Pairs {
    let mut said = said(meta, &DEFAULT_RUN_TIMES);
    said.sort();
    said
}

/// What annotations with these keys say, as far as it may be kept.
fn said(meta: &ObjectMeta, keys: &[&str]) -> Pairs {
    let mut said = meta::annotations(meta, keys);
    for (_, text) in &mut said {
        if text.len() > MAX_RUN_TIME_BYTES {
            text.truncate(text.floor_char_boundary(MAX_RUN_TIME_BYTES));
            text.push('…');
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(own: &[(&str, &str)], deadline_s: Option<i64>) -> Vec<String> {
        let own = own
            .iter()
            .map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
        let meta = ObjectMeta {
            annotations: Some(own.collect()),
            ..ObjectMeta::default()
        };
        let annotations = annotations(&meta, &Options::default(), deadline_s).into_iter();
        let texts = annotations.map(|(key, text)| format!("{key}={text}"));
        texts.collect()
    }

    #[test]
    fn run_times_are_kept_as_they_are_written_and_a_deadline_beside_them() {
        let deadline = |text| format!("spec.activeDeadlineSeconds={text}");
        assert_eq!(added(&[("other", "1h")], None), [""; 0]);
        assert_eq!(added(&[], Some(60)), [deadline("60s")]);
        assert_eq!(added(&[], Some(-1)), [""; 0]);
        let own = [("pumice.sh/run-time-limit", "soon")];
        let written = "pumice.sh/run-time-limit=soon".to_owned();
        assert_eq!(added(&own, None), std::slice::from_ref(&written));
        assert_eq!(added(&own, Some(60)), [written, deadline("60s")]);
    }

    #[test]
    fn of_a_text_that_is_too_long_the_beginning_is_kept() {
        let long = format!("{}é", "1".repeat(63)).repeat(9);
        let kept = format!("pumice.sh/run-time={}…", "1".repeat(63));
        assert_eq!(added(&[("pumice.sh/run-time", &long)], None), [kept]);
    }

    #[test]
    fn of_a_queue_its_defaults_are_kept_and_of_a_pod_what_is_said_of_it() {
        let written = ["default-run-time-limit", "run-time", "default-run-time"];
        let written = written.map(|name| (format!("pumice.sh/{name}"), "1h".to_owned()));
        let meta = ObjectMeta {
            annotations: Some(written.into_iter().collect()),
            ..ObjectMeta::default()
        };
        let keys = |kept: Pairs| kept.into_iter().map(|(key, _)| key).collect::<Vec<_>>();
        assert_eq!(keys(defaults(&meta)), DEFAULT_RUN_TIMES);
        let of_pod = annotations(&meta, &Options::default(), None);
        assert_eq!(keys(of_pod), ["pumice.sh/run-time"]);
    }
}
