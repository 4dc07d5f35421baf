//! What an API server adds to a pod as it is made: the priority of its class, and what its
//! RuntimeClass says.

use k8s_openapi::api::core::v1::{Pod, PodSpec};
use k8s_openapi::api::node::v1::RuntimeClass;
use pumice_ingest::ObjectProblem;

use super::World;
use super::references::hint;

/// Where a pod names its RuntimeClass.
const CLASS: &str = "spec.runtimeClassName";

impl World {
    /// Puts into a pod what its classes say, as far as they are there; what is odd about that.
    ///
    /// # Errors
    /// The API server would refuse the pod.
    pub(super) fn admit_pod(
        &self,
        pod: &mut Pod,
    ) -> Result<impl Iterator<Item = ObjectProblem> + use<>, Vec<ObjectProblem>> {
        let mut missing = None;
        if let Some(spec) = &mut pod.spec {
            let class = spec.priority_class_name.as_deref();
            spec.priority = spec.priority.or(self.priorities.of(class));
            missing = match self.runtime_class(spec) {
                Some(Ok(class)) => {
                    take_over(spec, class)?;
                    None
                }
                Some(Err(missing)) => Some(missing),
                None => None,
            };
        }
        Ok(missing.into_iter())
    }

    /// The RuntimeClass that a pod names, or that it is missing.
    fn runtime_class(&self, spec: &PodSpec) -> Option<Result<&RuntimeClass, ObjectProblem>> {
        let name = spec.runtime_class_name.as_ref();
        let name = name.filter(|name| !name.is_empty())?;
        Some(self.runtime_classes.get(name).ok_or_else(|| {
            let hint = hint(name, self.runtime_classes.keys().map(String::as_str));
            ObjectProblem {
                path: CLASS.to_owned(),
                message: format!("RuntimeClass {name:?} does not exist"),
                help: format!(
                    "{hint}give the class too: an API server refuses the pod without it; here it \
                     counts as one without overhead"
                ),
            }
        }))
    }
}

/// Takes overhead, node selector and tolerations of a RuntimeClass over, as its admission does.
fn take_over(spec: &mut PodSpec, class: &RuntimeClass) -> Result<(), Vec<ObjectProblem>> {
    let name = class.metadata.name.as_deref().unwrap_or_default();
    let refused = |path: String, message: String| {
        let help =
            format!("write what RuntimeClass {name:?} says, or leave it out: it is filled in");
        vec![ObjectProblem {
            path,
            message,
            help,
        }]
    };
    let fixed = class
        .overhead
        .as_ref()
        .and_then(|overhead| overhead.pod_fixed.as_ref());
    if let Some(fixed) = fixed {
        let given = spec.overhead.as_ref().filter(|given| !given.is_empty());
        if given.is_some_and(|given| given != fixed) {
            let message = "it is not the overhead of its RuntimeClass".to_owned();
            return Err(refused("spec.overhead".to_owned(), message));
        }
        spec.overhead = Some(fixed.clone());
    }
    let Some(scheduling) = &class.scheduling else {
        return Ok(());
    };
    let own = spec.node_selector.get_or_insert_default();
    for (key, value) in scheduling.node_selector.iter().flatten() {
        if let Some(other) = own.insert(key.clone(), value.clone())
            && other != *value
        {
            let path = format!("spec.nodeSelector[{key}]");
            let message = format!("{other:?} is not the {value:?} of its RuntimeClass");
            return Err(refused(path, message));
        }
    }
    let tolerations = spec.tolerations.get_or_insert_default();
    for toleration in scheduling.tolerations.iter().flatten() {
        if !tolerations.contains(toleration) {
            tolerations.push(toleration.clone());
        }
    }
    Ok(())
}
