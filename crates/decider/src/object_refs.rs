//! Objects of the engine as writes name them.

use pumice_engine::Engine;
use pumice_model::object::{COMPOSITE_GROUP, NATIVE_GROUP};
use pumice_model::write::{ObjectRef, PodRef};
use pumice_model::{JobIx, NoteAbout, QueueIx, TaskIx};

/// The pod behind a task.
pub fn pod_ref(engine: &Engine, task: TaskIx) -> PodRef {
    let state = engine.state();
    let task = state.task(task);
    PodRef {
        namespace: state.names().text(task.namespace).to_owned(),
        name: task.name.to_string(),
        uid: task.uid.to_string(),
    }
}

/// The PodGroup of a job, when it has one.
pub fn group_ref(engine: &Engine, job: JobIx) -> Option<ObjectRef> {
    let state = engine.state();
    let job = state.job(job);
    job.group()?;
    let composite = job.name.strip_prefix(COMPOSITE_GROUP);
    let native = job.name.strip_prefix(NATIVE_GROUP);
    let (api_version, kind, name) = match (composite, native) {
        (Some(name), _) => ("scheduling.k8s.io/v1alpha3", "CompositePodGroup", name),
        (None, Some(name)) => ("scheduling.k8s.io/v1beta1", "PodGroup", name),
        (None, None) => ("scheduling.volcano.sh/v1beta1", "PodGroup", &*job.name),
    };
    Some(ObjectRef {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        namespace: state.names().text(job.namespace).to_owned(),
        name: name.to_owned(),
        uid: job.uid.to_string(),
    })
}

/// The PodGroup of a job, or its pod when it has none.
pub fn group_or_pod_ref(engine: &Engine, job: JobIx) -> Option<ObjectRef> {
    let pod = || {
        let task = *engine.state().job(job).tasks.first()?;
        Some(pod_ref(engine, task).object())
    };
    group_ref(engine, job).or_else(pod)
}

/// The queue as the object that an event is about.
pub fn queue_ref(engine: &Engine, queue: QueueIx) -> ObjectRef {
    let queue = &engine.state().queue(queue).object;
    ObjectRef {
        api_version: "scheduling.volcano.sh/v1beta1".to_owned(),
        kind: "Queue".to_owned(),
        namespace: String::new(),
        name: queue.name.clone(),
        uid: queue.uid.clone(),
    }
}

/// A HyperNode.
pub fn hyper_node_ref(name: String, uid: String) -> ObjectRef {
    ObjectRef {
        api_version: "topology.volcano.sh/v1alpha1".to_owned(),
        kind: "HyperNode".to_owned(),
        namespace: String::new(),
        name,
        uid,
    }
}

/// What a note on devices is about.
pub fn note_ref(about: NoteAbout) -> ObjectRef {
    let object = |kind: &str, namespace, name: String, uid| ObjectRef {
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        namespace,
        name,
        uid,
    };
    match about {
        // Events on nodes carry the name as UID.
        NoteAbout::Node(name) => object("Node", String::new(), name.clone(), name),
        NoteAbout::Pod {
            namespace,
            name,
            uid,
        } => object("Pod", namespace, name, uid),
        NoteAbout::ConfigMap(namespace, name) => {
            object("ConfigMap", namespace, name, String::new())
        }
    }
}
