//! Numbers that say nothing: 0 counts as if it were not there.

use pumice_yaml::node::YamlNode;
use pumice_yaml::scalar::{Scalar, resolve};

use super::Mismatch;

/// Kind, list of parts (empty: the spec itself), field, what 0 counts as, and what to do.
const ZEROES: [(&str, &str, &str, &str, &str); 2] = [
    (
        "Job",
        "",
        "maxRetry",
        "3",
        "write 1 for one restart; a Job that is never to be restarted has no policy that restarts",
    ),
    (
        "Job",
        "tasks",
        "maxRetry",
        "3",
        "write 1 or more: how often containers of the task are restarted before it counts as failed",
    ),
];

/// What is written as 0 in an object and counts as something else, each with its place.
pub fn zeroes(kind: &str, node: &YamlNode) -> Vec<Mismatch> {
    let mut found = Vec::new();
    let Some(spec) = node.get("spec") else {
        return found;
    };
    for (_, list, field, counts, help) in ZEROES.iter().filter(|(of, ..)| *of == kind) {
        let parts = match *list {
            "" => vec![("spec".to_owned(), spec)],
            list => {
                let items = spec.get(list).and_then(YamlNode::items).unwrap_or_default();
                let named = items.iter().enumerate();
                named
                    .map(|(at, item)| (format!("spec.{list}[{at}]"), item))
                    .collect()
            }
        };
        for (path, part) in parts {
            let Some(value) = part.get(field).filter(|value| is_zero(value)) else {
                continue;
            };
            found.push(Mismatch {
                location: value.location,
                path: format!("{path}.{field}"),
                message: format!("{path}.{field}: 0 counts as {counts}, as if it were not given"),
                help: (*help).to_owned(),
            });
        }
    }
    found
}

fn is_zero(value: &YamlNode) -> bool {
    matches!(resolve(value), Some(Ok(Scalar::Int(0) | Scalar::Uint(0))))
}
