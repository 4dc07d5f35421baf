//! How long a pod runs (spec/11 §1).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_model::object::Pairs;
use pumice_model::run_time::{RUN_TIME_LIMIT, RUN_TIMES, run_time_s};

use crate::meta;
use crate::options::Options;

/// Longer texts are no run times, and are not kept: whoever may write a PodGroup fills no memory with them.
const MAX_RUN_TIME_BYTES: usize = 64;

/// The annotations that some plugin reads, and what is said of run times, sorted. The deadline of a pod, which the kubelet
/// keeps, is told as a limit, where the pod has no smaller one.
pub(crate) fn annotations(meta: &ObjectMeta, options: &Options, deadline_s: Option<i64>) -> Pairs {
    let mut annotations = meta::annotations(meta, &options.annotations);
    let said = meta::annotations(meta, &RUN_TIMES).into_iter();
    annotations.extend(said.filter(|(_, text)| text.len() <= MAX_RUN_TIME_BYTES));
    if let Some(deadline_s) = deadline_s.filter(|seconds| *seconds > 0) {
        let limit = annotations.iter().find(|(key, _)| key == RUN_TIME_LIMIT);
        let limit_s = limit.and_then(|(_, text)| run_time_s(text).ok());
        if limit_s.is_none_or(|limit_s| deadline_s < limit_s) {
            annotations.retain(|(key, _)| key != RUN_TIME_LIMIT);
            annotations.push((RUN_TIME_LIMIT.to_owned(), format!("{deadline_s}s")));
        }
    }
    annotations.sort();
    annotations
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
    fn the_deadline_of_a_pod_is_a_limit_where_it_has_no_smaller_one() {
        let limit = |text| format!("pumice.sh/run-time-limit={text}");
        assert_eq!(added(&[("other", "1h")], None), [""; 0]);
        assert_eq!(added(&[], Some(60)), [limit("60s")]);
        let own = [("pumice.sh/run-time-limit", "1h")];
        assert_eq!(added(&own, Some(7200)), [limit("1h")]);
        assert_eq!(added(&own, Some(60)), [limit("60s")]);
        let odd = [("pumice.sh/run-time-limit", "soon")];
        assert_eq!(added(&odd, Some(60)), [limit("60s")]);
        assert_eq!(added(&odd, None), [limit("soon")]);
        let long = "1".repeat(65);
        assert_eq!(added(&[("pumice.sh/run-time", &long)], None), [""; 0]);
    }
}
