//! Which objects count (spec/01 §1.7, §1.8, §9.4).

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_ingest::{ObjectProblem, Options};
use pumice_model::object::{NodeObject, PodObject};

use super::WatchOptions;
use crate::hash_ring::Ring;

/// Tells ours from others'.
#[derive(Debug)]
pub(super) struct WatchRules {
    /// What reading pods and PodGroups depends on.
    pub(super) objects: Options,
    node_selector: Vec<(String, String)>,
    ring: Option<Ring>,
}

impl WatchRules {
    pub(super) fn new(options: &WatchOptions) -> Self {
        Self {
            objects: Options {
                scheduler_names: options.scheduler_names.clone(),
                annotations: options.annotations.clone(),
            },
            node_selector: options.node_selector.clone(),
            ring: options.ring.clone(),
        }
    }

    fn is_mine(&self, key: &str) -> bool {
        self.ring.as_ref().is_none_or(|ring| ring.is_mine(key))
    }

    /// A node counts when it is in our part of the ring and has any of the selected labels.
    pub(super) fn node_counts(&self, node: &NodeObject) -> bool {
        let selected = self.node_selector.is_empty()
            || node.labels.iter().any(|l| self.node_selector.contains(l));
        selected && self.is_mine(&node.name)
    }

    /// A PodGroup counts in our part of the ring.
    pub(super) fn group_counts(&self, meta: &ObjectMeta) -> bool {
        self.is_mine(ring_key(meta))
    }

    /// Whether a pod names one of our schedulers, or is on a node.
    pub(super) fn pod_may_count(&self, pod: &Pod) -> bool {
        let Some(spec) = &pod.spec else {
            return false;
        };
        let named = spec.scheduler_name.as_ref();
        spec.node_name.as_ref().is_some_and(|node| !node.is_empty())
            || named.is_some_and(|name| self.objects.scheduler_names.contains(name))
    }

    /// What is wrong with the scheduler name of a pod that waits for nobody: one of ours was meant. Names
    /// that differ in digits or dashes are those of several schedulers side by side.
    pub(super) fn misspelt_scheduler(&self, pod: &Pod) -> Option<ObjectProblem> {
        let name = pod.spec.as_ref()?.scheduler_name.as_deref()?;
        let ours = self.objects.scheduler_names.iter().map(String::as_str);
        // That is seen at once, and most pods of others end here.
        let may_be_meant = ours.filter(|ours| marks(ours).eq(marks(name)));
        let near = pumice_conf::nearest(name, may_be_meant)?;
        self.is_mine(ring_key(&pod.metadata))
            .then(|| {
                ObjectProblem {
            path: "spec.schedulerName".to_owned(),
            message: format!("{name:?} is not this scheduler, did you mean {near:?}?"),
            help: "the field of a pod cannot be changed: mend what makes the pod, and make it anew"
                .to_owned(),
        }
            })
    }

    /// A pod counts when it is ours, or on a node in our part of the ring. A pod with our scheduler
    /// name in another part of the ring is not ours.
    pub(super) fn pod_counts(&self, meta: &ObjectMeta, pod: &mut PodObject) -> bool {
        pod.ours = pod.ours && self.is_mine(ring_key(meta));
        pod.ours || pod.node.as_deref().is_some_and(|node| self.is_mine(node))
    }
}

/// What of a name is no letter.
fn marks(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|letter| !letter.is_alphabetic())
}

/// What places a pod or PodGroup on the ring: its first owner's name, else its own.
fn ring_key(meta: &ObjectMeta) -> &str {
    let owner = meta.owner_references.iter().flatten().next();
    let name = owner.map(|owner| owner.name.as_str());
    name.or(meta.name.as_deref()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::PodSpec;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

    use super::*;

    fn node(name: &str, labels: &[(&str, &str)]) -> NodeObject {
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        NodeObject {
            name: name.to_owned(),
            labels: labels.iter().map(own).collect(),
            ..NodeObject::default()
        }
    }

    fn meta(name: &str, owner: Option<&str>) -> ObjectMeta {
        let owner = owner.map(|name| OwnerReference {
            name: name.to_owned(),
            ..OwnerReference::default()
        });
        ObjectMeta {
            name: Some(name.to_owned()),
            owner_references: owner.map(|owner| vec![owner]),
            ..ObjectMeta::default()
        }
    }

    #[test]
    fn a_node_counts_with_any_of_the_selected_labels() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let rules = WatchRules::new(&WatchOptions {
            node_selector: vec![pair("zone", "a"), pair("pool", "batch")],
            ..WatchOptions::default()
        });
        let cases: [(&[(&str, &str)], bool); 5] = [
            (&[("zone", "a")], true),
            (&[("zone", "b"), ("pool", "batch")], true),
            (&[("zone", "b")], false),
            (&[("pool", "a")], false),
            (&[], false),
        ];
        for (labels, expected) in cases {
            assert_eq!(
                rules.node_counts(&node("n", labels)),
                expected,
                "{labels:?}"
            );
        }
        let all = WatchRules::new(&WatchOptions::default());
        assert!(all.node_counts(&node("n", &[])));
    }

    /// Rules of the members of a ring of three, and names by owner.
    fn shared() -> (Vec<WatchRules>, Vec<String>) {
        let member = |at: usize| {
            let ring = Ring::new(&format!("s-{at}"), 3).unwrap();
            WatchRules::new(&WatchOptions {
                ring: Some(ring),
                ..WatchOptions::default()
            })
        };
        let names = |at: usize| {
            let mut names = (0..).map(|i| format!("x{i}"));
            let ring = Ring::new(&format!("s-{at}"), 3).unwrap();
            names.find(|name| ring.is_mine(name)).unwrap()
        };
        ((0..3).map(member).collect(), (0..3).map(names).collect())
    }

    #[test]
    fn a_scheduler_name_that_is_nearly_ours_is_told_and_that_of_another_is_not() {
        let rules = WatchRules::new(&WatchOptions {
            scheduler_names: vec!["volcano".to_owned()],
            ..WatchOptions::default()
        });
        let named = |name: &str| Pod {
            spec: Some(PodSpec {
                scheduler_name: Some(name.to_owned()),
                ..PodSpec::default()
            }),
            ..Pod::default()
        };
        for name in ["vulcano", "volcanoo", "Volcano", "volcno"] {
            let problem = rules.misspelt_scheduler(&named(name)).expect(name);
            assert_eq!(problem.path, "spec.schedulerName");
            let expected = format!("{name:?} is not this scheduler, did you mean \"volcano\"?");
            assert_eq!(problem.message, expected);
        }
        for name in ["default-scheduler", "volcano2", "volcano-b", "", "kueue"] {
            assert_eq!(rules.misspelt_scheduler(&named(name)), None, "{name}");
        }
        let two = WatchRules::new(&WatchOptions {
            scheduler_names: vec!["volcano".to_owned(), "volcano2".to_owned()],
            ..WatchOptions::default()
        });
        let problem = two.misspelt_scheduler(&named("volcan2")).expect("near");
        assert!(problem.message.contains("\"volcano2\""), "{problem:?}");
    }

    #[test]
    fn on_a_ring_nodes_and_groups_belong_to_one_scheduler() {
        let (rules, names) = shared();
        for (at, rules) in rules.iter().enumerate() {
            for (owner, name) in names.iter().enumerate() {
                assert_eq!(rules.node_counts(&node(name, &[])), at == owner);
                assert_eq!(rules.group_counts(&meta(name, None)), at == owner);
                assert_eq!(rules.group_counts(&meta("any", Some(name))), at == owner);
            }
        }
    }

    #[test]
    fn a_pod_counts_when_it_is_ours_or_on_one_of_our_nodes() {
        let (rules, names) = shared();
        let rules = &rules[0];
        // Scheduler name is ours, owner in whose part, node in whose part; counts, and is ours.
        let cases = [
            (true, 0, None, true, true),
            (true, 1, None, false, false),
            (true, 0, Some(1), true, true),
            (true, 1, Some(0), true, false),
            (true, 1, Some(2), false, false),
            (false, 0, None, false, false),
            (false, 0, Some(0), true, false),
            (false, 0, Some(1), false, false),
        ];
        for (named, owner, on, counts, ours) in cases {
            let mut pod = PodObject {
                ours: named,
                node: on.map(|at: usize| names[at].clone()),
                ..PodObject::default()
            };
            let meta = meta("any", Some(&names[owner]));
            let case = format!("{named} {owner} {on:?}");
            assert_eq!(rules.pod_counts(&meta, &mut pod), counts, "{case}");
            assert_eq!(pod.ours, ours, "{case}");
        }
    }
}
