//! `hcclrank`: the rank of a pod in Huawei's collective communication, as an annotation.

use k8s_openapi::api::core::v1::Pod;

use super::super::problem::JobProblem;
use super::entry::{Asked, JobPlugin, PodPlace};
use super::flags::{FlagKind, FlagSpec};

pub(super) struct Hcclrank;

const FLAGS: [FlagSpec; 2] = [
    FlagSpec::new("master", FlagKind::Task("master")),
    FlagSpec::new("worker", FlagKind::Task("worker")),
];

/// Annotation with the rank.
const RANK_INDEX: &str = "hccl/rankIndex";

impl JobPlugin for Hcclrank {
    fn name(&self) -> &'static str {
        "hcclrank"
    }

    fn flags(&self) -> &'static [FlagSpec] {
        &FLAGS
    }

    fn is_recorded(&self) -> bool {
        false
    }

    fn prepare(
        &self,
        asked: &Asked<'_>,
        place: PodPlace<'_>,
        pod: &mut Pod,
    ) -> Result<(), JobProblem> {
        let known = pod.metadata.annotations.as_ref();
        if known
            .and_then(|map| map.get(RANK_INDEX))
            .is_some_and(|rank| !rank.is_empty())
        {
            return Ok(());
        }
        let counted = || match (place.is(asked, "master"), place.is(asked, "worker")) {
            (true, _) => Some(place.index),
            (false, true) => Some(asked.replicas("master").saturating_add(place.index)),
            (false, false) => None,
        };
        let rank = rank(pod).or_else(|| Some(counted()?.to_string()));
        if let Some(rank) = rank {
            let annotations = pod.metadata.annotations.get_or_insert_default();
            annotations.insert(RANK_INDEX.to_owned(), rank);
        }
        Ok(())
    }
}

/// `RANK` of the first container that has one: the value that is in force, which is the last.
fn rank(pod: &Pod) -> Option<String> {
    let containers = pod.spec.iter().flat_map(|pod| &pod.containers);
    let of_container = |container: &k8s_openapi::api::core::v1::Container| {
        let mut variables = container.env.iter().flatten().rev();
        let rank = variables.find(|variable| variable.name == "RANK")?;
        rank.value.clone().filter(|rank| !rank.is_empty())
    };
    containers.into_iter().find_map(of_container)
}
