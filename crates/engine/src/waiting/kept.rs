//! Why a pod waits that would be in the way of a job whose places are kept (spec/12).

use pumice_framework::KeptForOther;

use crate::view::Time;

/// The places there are belong to somebody else, and what would let the pod run before.
pub(super) fn kept_text(kept: &KeptForOther) -> String {
    let nodes = match kept.nodes {
        0 => "what is left of the limits of its queue is".to_owned(),
        1 => "1 node with room is".to_owned(),
        several => format!("{several} nodes with room are"),
    };
    let starts = match Time::of(kept.start_s) {
        Some(at) => format!(", which is to start at {}", at.0),
        None => String::new(),
    };
    format!(
        "{nodes} kept for {}{starts}: a pod may run before if it says that it ends by then \
         (annotation pumice.sh/run-time-limit, or spec.activeDeadlineSeconds)",
        kept.job
    )
}
