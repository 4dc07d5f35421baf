//! Which jobs are alike: those of one namespace and user whose names differ only in what makes them differ.

use pumice_model::group_name::without_uid;
use pumice_model::{Job, State};

/// Characters of which Kubernetes makes suffixes of names.
const SUFFIX_LETTERS: &str = "bcdfghjklmnpqrstvwxz2456789";
/// Lengths of these suffixes: of pods, and of templates of pods.
const SUFFIX_LENGTHS: [usize; 4] = [5, 8, 9, 10];
/// What the PodGroup of a pod that names none is called, before a UID.
const MADE_GROUP: &str = "podgroup-";

/// A kind of jobs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct JobKind {
    pub namespace: Box<str>,
    /// Whom they name as their user, else who asked for them; empty for nobody.
    pub user: Box<str>,
    /// What is common to their names; empty for all jobs of the user.
    pub stem: Box<str>,
}

impl JobKind {
    /// The kind of a job.
    pub fn of(state: &State, job: &Job) -> Self {
        let group = job.group();
        let user = group.map_or("", |group| match group.user.as_str() {
            "" => &group.requester,
            said => said,
        });
        // The PodGroup that is made for a pod is called by a UID.
        let own = group.map(|group| group.name.as_str());
        let own = own.filter(|name| !name.starts_with(MADE_GROUP));
        let first = || job.tasks.first().map(|task| &*state.task(*task).name);
        Self {
            namespace: state.population().names().text(job.namespace).into(),
            user: user.into(),
            stem: stem(own.or_else(first).unwrap_or(&job.name)).into(),
        }
    }

    /// All jobs of its user; `None` where no user is known.
    pub fn of_user(&self) -> Option<Self> {
        (!self.user.is_empty() && !self.stem.is_empty()).then(|| Self {
            stem: "".into(),
            ..self.clone()
        })
    }
}

/// A name without what was put behind it to make it differ from others: numbers, UIDs, suffixes that Kubernetes makes.
fn stem(name: &str) -> &str {
    let mut stem = without_uid(name);
    while let Some((before, last)) = stem.rsplit_once('-') {
        if before.is_empty() || !(is_number(last) || is_suffix(last)) {
            break;
        }
        stem = before;
    }
    stem
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_suffix(part: &str) -> bool {
    SUFFIX_LENGTHS.contains(&part.len()) && part.chars().all(|one| SUFFIX_LETTERS.contains(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_by_what_does_not_make_it_differ() {
        for (name, expected) in [
            ("train-7", "train"),
            ("train-28393939-x7k2p", "train"),
            ("train-0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f", "train"),
            ("web-5d4b8c7f9-x7k2p", "web"),
            ("gpt2-7b-lr3", "gpt2-7b-lr3"),
            ("train", "train"),
            ("7", "7"),
            ("-7", "-7"),
            ("7-8", "7"),
            ("my-train-job", "my-train-job"),
            ("", ""),
        ] {
            assert_eq!(stem(name), expected, "{name}");
        }
    }
}
