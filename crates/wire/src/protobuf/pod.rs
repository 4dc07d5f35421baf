//! `v1/Pod`.

use k8s_openapi::api::core::v1::{
    Container, ContainerPort, ContainerState, ContainerStateTerminated, ContainerStatus, Pod,
    PodCondition, PodResourceClaim, PodResourceClaimStatus, PodSchedulingGate, PodSchedulingGroup,
    PodSpec, PodStatus, ResourceRequirements,
};

use super::message::{Malformed, Message, MessageField, MessageFields, Slot as _, messages};
use crate::workload_ref;

messages! {
    Pod {
        1 => metadata,
        2 => spec,
        3 => status,
    }
    Container {
        1 => name,
        2 => image,
        6 => ports,
        8 => resources,
        24 => restart_policy,
    }
    ContainerPort {
        2 => host_port,
        3 => container_port,
        4 => protocol,
        5 => host_ip,
    }
    ResourceRequirements {
        1 => limits,
        2 => requests,
    }
    PodSchedulingGate {
        1 => name,
    }
    PodSchedulingGroup {
        1 => pod_group_name,
    }
    PodResourceClaim {
        1 => name,
        3 => resource_claim_name,
        4 => resource_claim_template_name,
    }
    PodStatus {
        1 => phase,
        2 => conditions,
        8 => container_statuses,
        9 => qos_class,
        10 => init_container_statuses,
        11 => nominated_node_name,
        15 => resource_claim_statuses,
    }
    PodCondition {
        1 => type_,
        2 => status,
        4 => last_transition_time,
        5 => reason,
        6 => message,
    }
    ContainerStatus {
        1 => name,
        2 => state,
        10 => allocated_resources,
        11 => resources,
    }
    ContainerState {
        3 => terminated,
    }
    ContainerStateTerminated {
        6 => finished_at,
    }
    PodResourceClaimStatus {
        1 => name,
        2 => resource_claim_name,
    }
}

impl Message for PodSpec {
    fn set(&mut self, field: MessageField<'_>) -> Result<(), Malformed> {
        match field.number {
            1 => self.volumes.accept(field),
            2 => self.containers.accept(field),
            5 => self.active_deadline_seconds.accept(field),
            7 => self.node_selector.accept(field),
            10 => self.node_name.accept(field),
            11 => self.host_network.accept(field),
            18 => self.affinity.accept(field),
            19 => self.scheduler_name.accept(field),
            20 => self.init_containers.accept(field),
            22 => self.tolerations.accept(field),
            24 => self.priority_class_name.accept(field),
            25 => self.priority.accept(field),
            31 => self.preemption_policy.accept(field),
            32 => self.overhead.accept(field),
            33 => self.topology_spread_constraints.accept(field),
            38 => self.scheduling_gates.accept(field),
            39 => self.resource_claims.accept(field),
            40 => self.resources.accept(field),
            // `workloadRef`, which Kubernetes 1.35 alone has.
            42 => {
                let group = old_group(field.bytes()?)?;
                self.scheduling_group.get_or_insert(group);
                Ok(())
            }
            43 => self.scheduling_group.accept(field),
            _ => Ok(()),
        }
    }
}

/// The group of a `WorkloadReference`.
fn old_group(message: &[u8]) -> Result<PodSchedulingGroup, Malformed> {
    let (mut name, mut pod_group, mut key) = (String::new(), String::new(), None::<String>);
    for field in MessageFields::of(message) {
        let field = field?;
        match field.number {
            1 => name.accept(field)?,
            2 => pod_group.accept(field)?,
            3 => key.accept(field)?,
            _ => {}
        }
    }
    Ok(workload_ref::group(name, pod_group, key))
}
