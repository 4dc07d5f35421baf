//! Reasons as tables tell them: their first line, each once. JSON and `-v` have all of them.

use pumice_engine::view::{JobView, PodView};

/// Where `explain` tells the rest.
const MORE: &str = "more with -v";

fn shorten(message: &mut Option<String>, summary: Option<&str>, more: &str) {
    if let (Some(message), Some(summary)) = (message, summary)
        && summary.len() < message.len()
    {
        *message = format!("{summary} ({more})");
    }
}

/// Leaves the first line of why a pod waits.
pub fn shorten_pod(view: &mut PodView) {
    shorten(&mut view.message, view.summary.as_deref(), MORE);
}

/// Leaves the first line of why a job waits, for a command that tells no more: `more` says which one
/// does.
pub fn shorten_why(view: &mut JobView, more: &str) {
    shorten(&mut view.message, view.summary.as_deref(), more);
}

/// Leaves the first line of why a job waits, and of its pods what the job does not say.
pub fn shorten_job(view: &mut JobView) {
    let whole = view.message.clone().unwrap_or_default();
    shorten_why(view, MORE);
    for same in &mut view.waiting {
        let told = !same.message.is_empty() && whole.ends_with(&same.message);
        same.message = match told {
            true => "as above".to_owned(),
            false => same.summary.clone(),
        };
    }
}
