//! Which fields the types of manifests have.
//!
//! Reading ignores fields that a type does not have, as an API server does; whoever wrote the
//! manifest wants to know. The table is text that `tools/schema` makes from the types themselves:
//! to observe what a type ignores while it is read would need its deserialiser a second time.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// `type: field field=Type field=[Type] field={Type} …`, a line each.
const TABLE: &str = include_str!("fields.txt");

static TYPES: LazyLock<BTreeMap<&'static str, TypeFields>> = LazyLock::new(|| {
    let types = TABLE.lines().filter_map(TypeFields::read);
    types.map(|fields| (fields.name, fields)).collect()
});

/// What a field holds, as far as fields of it are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldShape {
    /// A scalar, a list or map of them, or whatever JSON there is.
    Any,
    /// An object with the fields of the type of this name ([`of_type`]).
    Fields(&'static str),
    /// A list, each element of this shape.
    List(Box<FieldShape>),
    /// A map with free keys.
    Map(Box<FieldShape>),
}

/// The fields of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeFields {
    name: &'static str,
    fields: Vec<(&'static str, FieldShape)>,
}

impl TypeFields {
    /// Name in the table.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Names of its fields, in the order in which the type tells them.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().map(|(name, _)| *name)
    }

    /// What a field holds; `None` where there is no such field.
    pub fn field(&self, name: &str) -> Option<&FieldShape> {
        let found = self.fields.iter().find(|(known, _)| *known == name);
        found.map(|(_, shape)| shape)
    }

    fn read(line: &'static str) -> Option<Self> {
        let (name, fields) = line.split_once(':')?;
        let fields = fields.split_ascii_whitespace().map(|field| {
            let (name, shape) = field.split_once('=').unwrap_or((field, ""));
            (name, shape_of(shape))
        });
        Some(Self {
            name,
            fields: fields.collect(),
        })
    }
}

fn shape_of(text: &'static str) -> FieldShape {
    let within = |opens, closes| text.strip_prefix(opens)?.strip_suffix(closes);
    match (within('[', ']'), within('{', '}')) {
        (Some(inner), _) => FieldShape::List(Box::new(shape_of(inner))),
        (_, Some(inner)) => FieldShape::Map(Box::new(shape_of(inner))),
        _ if text.is_empty() => FieldShape::Any,
        _ => FieldShape::Fields(text),
    }
}

/// The fields of a kind, by its API group (empty for the core group).
pub fn of_kind(group: &str, kind: &str) -> Option<&'static TypeFields> {
    TYPES.get(&*format!("{group}/{kind}"))
}

/// The fields of a type that a [`FieldShape`] names.
pub fn of_type(name: &str) -> Option<&'static TypeFields> {
    TYPES.get(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_leads_to_the_fields_of_its_type() {
        let pod = of_kind("", "Pod").unwrap();
        assert!(
            pod.names()
                .eq(["apiVersion", "kind", "metadata", "spec", "status"])
        );
        assert_eq!(pod.field("spce"), None);
        let Some(FieldShape::Fields(spec)) = pod.field("spec") else {
            panic!("{pod:?}");
        };
        let spec = of_type(spec).unwrap();
        assert_eq!(spec.field("nodeSelector"), Some(&FieldShape::Any));
        let containers = spec.field("containers").unwrap();
        assert_eq!(
            containers,
            &FieldShape::List(Box::new(FieldShape::Fields("Container")))
        );
        assert!(of_type("Container").unwrap().field("resources").is_some());
    }

    #[test]
    fn kinds_of_the_same_name_are_told_apart_by_their_group() {
        let job = of_kind("batch.volcano.sh", "Job").unwrap();
        let Some(FieldShape::Fields(spec)) = job.field("spec") else {
            panic!("{job:?}");
        };
        assert!(of_type(spec).unwrap().field("tasks").is_some());
        assert_eq!(of_kind("batch", "Job"), None);
    }

    /// What the published definitions of `scheduling.k8s.io` PodGroups have, by version; fields of lists and of
    /// objects as paths.
    const NATIVE_GROUPS: [(&str, &[&str]); 3] = [
        (
            "v1alpha2",
            &[
                "spec.podGroupTemplateRef",
                "spec.schedulingPolicy.basic",
                "spec.schedulingPolicy.gang.minCount",
                "spec.schedulingConstraints.topology.key",
                "spec.resourceClaims.name",
                "spec.resourceClaims.resourceClaimName",
                "spec.resourceClaims.resourceClaimTemplateName",
                "spec.disruptionMode",
                "spec.priorityClassName",
                "spec.priority",
                "status.conditions.type",
                "status.conditions.status",
                "status.conditions.observedGeneration",
                "status.conditions.lastTransitionTime",
                "status.conditions.reason",
                "status.conditions.message",
                "status.resourceClaimStatuses",
            ],
        ),
        ("v1alpha3", &OF_1_37),
        ("v1beta1", &OF_1_37),
    ];

    const OF_1_37: [&str; 19] = [
        "spec.parentCompositePodGroupName",
        "spec.workloadRef",
        "spec.schedulingPolicy.basic",
        "spec.schedulingPolicy.gang.minCount",
        "spec.schedulingConstraints.topology.key",
        "spec.resourceClaims.name",
        "spec.resourceClaims.resourceClaimName",
        "spec.resourceClaims.resourceClaimTemplateName",
        "spec.disruptionMode",
        "spec.priorityClassName",
        "spec.priority",
        "spec.preemptionPolicy",
        "status.conditions.type",
        "status.conditions.status",
        "status.conditions.observedGeneration",
        "status.conditions.lastTransitionTime",
        "status.conditions.reason",
        "status.conditions.message",
        "status.resourceClaimStatuses",
    ];

    /// What the published definition of CompositePodGroups has, of v1alpha3 alone.
    const COMPOSITE_GROUPS: [&str; 15] = [
        "spec.parentCompositePodGroupName",
        "spec.workloadRef",
        "spec.schedulingPolicy.basic",
        "spec.schedulingPolicy.gang.minGroupCount",
        "spec.schedulingConstraints.topology.key",
        "spec.disruptionMode",
        "spec.priorityClassName",
        "spec.priority",
        "spec.preemptionPolicy",
        "status.conditions.type",
        "status.conditions.status",
        "status.conditions.observedGeneration",
        "status.conditions.lastTransitionTime",
        "status.conditions.reason",
        "status.conditions.message",
    ];

    #[test]
    fn groups_of_kubernetes_have_the_fields_of_each_published_version_and_no_others() {
        let mut named = std::collections::BTreeSet::from(["apiVersion", "kind", "metadata"]);
        let composite = ("CompositePodGroup", "v1alpha3", &COMPOSITE_GROUPS[..]);
        let kinds = NATIVE_GROUPS.map(|(version, paths)| ("PodGroup", version, paths));
        for (kind, version, paths) in kinds.into_iter().chain([composite]) {
            for path in paths {
                let mut fields = of_kind("scheduling.k8s.io", kind);
                for name in path.split('.') {
                    let found = fields.and_then(|fields| fields.field(name));
                    fields = match found {
                        None => panic!("{version}: {path}: no {name}"),
                        Some(FieldShape::Fields(of)) => of_type(of),
                        Some(FieldShape::List(of)) => match &**of {
                            FieldShape::Fields(of) => of_type(of),
                            _ => None,
                        },
                        Some(_) => None,
                    };
                    named.insert(name);
                }
            }
        }
        let kinds = [
            "scheduling.k8s.io/PodGroup",
            "scheduling.k8s.io/CompositePodGroup",
        ];
        let mut types = kinds.to_vec();
        let is_theirs = |name: &&&str| name.starts_with("Native") || name.starts_with("Composite");
        types.extend(TYPES.keys().filter(is_theirs));
        for name in types {
            let fields = of_type(name).unwrap();
            let unknown = fields.names().find(|field| !named.contains(field));
            assert_eq!(unknown, None, "{name}");
        }
    }

    #[test]
    fn every_type_that_is_named_has_its_line() {
        fn named(shape: &FieldShape) -> Option<&'static str> {
            match shape {
                FieldShape::Any => None,
                FieldShape::Fields(name) => Some(name),
                FieldShape::List(inner) | FieldShape::Map(inner) => named(inner),
            }
        }
        assert!(TYPES.len() > 100, "{} types", TYPES.len());
        for (name, fields) in &*TYPES {
            for (field, shape) in &fields.fields {
                let missing = named(shape).filter(|named| of_type(named).is_none());
                assert_eq!(missing, None, "{name}.{field}");
            }
        }
    }
}
