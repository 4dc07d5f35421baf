//! Families that are known and not built yet: their resources and what to say of them.
//!
//! A device plugin of such a family reads annotations nobody writes here. Handed out as a bare
//! number, its device would be refused by the plugin, or be any one. So a pod that asks waits.
//!
//! To build a family is to take its line from this list and to add its module to
//! [`crate::FAMILIES`].

use crate::facts::PodFacts;

/// One family.
struct Unbuilt {
    /// What it hands out.
    devices: &'static str,
    /// Its resources; a last `*` stands for anything, upper and lower case are the same.
    resources: &'static [&'static str],
}

/// All of them (spec/05): HAMi has a resource per kind of card, and `-memory` and `-core` beside each.
static UNBUILT: &[Unbuilt] = &[Unbuilt {
    devices: "Ascend NPUs",
    resources: &["huawei.com/Ascend*"],
}];

/// Why a pod can be placed nowhere: it asks a resource of one of these families.
pub(crate) fn refusal(pod: &PodFacts) -> Option<String> {
    let containers = pod.containers.iter();
    let amounts = containers.flat_map(|container| &container.amounts);
    let mut asked = amounts.filter(|(_, milli)| *milli > 0);
    asked.find_map(|(resource, _)| {
        let family = UNBUILT.iter().find(|family| family.owns(resource))?;
        Some(format!(
            "the pod asks {resource}, but this version of Pumice cannot hand out {} yet, so it \
             waits: run a version that can, or name another scheduler in its schedulerName",
            family.devices
        ))
    })
}

impl Unbuilt {
    fn owns(&self, resource: &str) -> bool {
        self.resources.iter().any(|known| {
            let name = known.strip_suffix('*');
            let length = name.map_or(resource.len(), str::len);
            let start = resource.get(..length);
            start.is_some_and(|start| start.eq_ignore_ascii_case(name.unwrap_or(known)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::refusal;
    use crate::facts::{ContainerFacts, PodFacts};

    #[test]
    fn resources_of_families_that_are_not_built_are_known_by_name() {
        for (resource, known) in [
            ("huawei.com/npu-core", false),
            ("huawei.com/Ascend910A", true),
            ("huawei.com/Ascend910B4-1-memory", true),
            ("huawei.com/Ascend310P-memory", true),
            ("huawei.com/Ascend310P-core", true),
            // A user document writes it so.
            ("huawei.com/ascend310p-2c", true),
            ("huawei.com/npu-cores", false),
            ("huawei.com/sriov", false),
            ("huawei.com/é", false),
            ("nvidia.com/gpu", false),
        ] {
            let container = ContainerFacts {
                amounts: vec![("cpu.example/x".into(), 1000), (resource.into(), 1000)],
                ..ContainerFacts::default()
            };
            let pod = PodFacts {
                containers: vec![container],
                ..PodFacts::default()
            };
            let told = refusal(&pod);
            assert_eq!(told.is_some(), known, "{resource}: {told:?}");
            assert!(
                told.is_none_or(|told| told.contains(resource)),
                "{resource}"
            );
        }
    }
}
