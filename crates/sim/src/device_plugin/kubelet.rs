//! The part of kubelet that drives device plugins: which calls a pod causes, one after the other.

use super::vgpu::{self, Generation};
use super::{AllocateAnswer, AllocateCall, AllocateRefusal, Grant, ListedPod};

/// What one container asked for and got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Who called.
    pub call: AllocateCall,
    /// What the scheduler has written for the caller.
    pub promised: Vec<Grant>,
    /// What the caller got.
    pub got: Result<Vec<Grant>, AllocateRefusal>,
    /// UID of the pod the plugin took the caller for.
    pub guessed: Option<String>,
}

impl Service {
    /// The caller got exactly the cards the scheduler chose for it.
    pub fn is_own(&self) -> bool {
        self.got.as_ref() == Ok(&self.promised)
    }
}

/// Calls of the vGPU plugin that starting a pod causes: one for each regular container with a
/// count in its limits. Calls for memory and cores are answered with nothing and left out.
pub fn calls(pod: &ListedPod) -> Vec<AllocateCall> {
    calls_for(pod, vgpu::NUMBER)
}

/// Calls for the ids of one resource.
pub fn calls_for(pod: &ListedPod, resource: &str) -> Vec<AllocateCall> {
    let Some(node) = &pod.node else {
        return Vec::new();
    };
    let call = |(container, ids): (usize, u64)| AllocateCall {
        node: node.clone(),
        ids,
        pod: pod.uid.clone(),
        container,
    };
    let ids = |container: &super::Container| container.limits.get(resource).copied();
    let containers = pod.containers.iter().enumerate();
    let asked = containers.filter_map(|(at, container)| Some((at, ids(container)?)));
    asked.filter(|(_, ids)| *ids > 0).map(call).collect()
}

/// One call, and what it changes on the pods.
pub fn allocate(
    generation: Generation,
    pods: &mut [ListedPod],
    call: &AllocateCall,
) -> (AllocateAnswer, Service) {
    let answer = vgpu::allocate(generation, pods, call);
    let caller = pods.iter().find(|pod| pod.uid == call.pod);
    let promised = caller.map(|pod| vgpu::promised(pod, call.container));
    let service = Service {
        call: call.clone(),
        promised: promised.and_then(Result::ok).unwrap_or_default(),
        got: answer.result.clone(),
        guessed: answer.guessed.clone(),
    };
    apply(pods, &answer);
    (answer, service)
}

/// Writes what a plugin sets on the pod it guessed.
pub fn apply(pods: &mut [ListedPod], answer: &AllocateAnswer) {
    let guessed = answer.guessed.as_ref();
    if let Some(pod) = pods.iter_mut().find(|pod| Some(&pod.uid) == guessed) {
        pod.annotations.extend(answer.changes.clone());
    }
}

/// Admits a pod: the calls of its containers one after the other. The pod runs if all got devices;
/// with the first refusal kubelet lets it fail.
pub fn admit(generation: Generation, pods: &mut [ListedPod], uid: &str) -> Vec<Service> {
    let Some(at) = pods.iter().position(|pod| pod.uid == uid) else {
        return Vec::new();
    };
    let mut services = Vec::new();
    for call in calls(&pods[at]) {
        let (_, service) = allocate(generation, pods, &call);
        let refused = service.got.is_err();
        services.push(service);
        if refused {
            pods[at].phase = "Failed".to_owned();
            return services;
        }
    }
    pods[at].phase = "Running".to_owned();
    services
}
