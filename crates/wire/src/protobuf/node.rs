//! `v1/Node`.

use k8s_openapi::api::core::v1::{ContainerImage, Node, NodeSpec, NodeStatus, Taint};

use super::message::messages;

messages! {
    Node {
        1 => metadata,
        2 => spec,
        3 => status,
    }
    NodeSpec {
        4 => unschedulable,
        5 => taints,
    }
    Taint {
        1 => key,
        2 => value,
        3 => effect,
    }
    NodeStatus {
        1 => capacity,
        2 => allocatable,
        8 => images,
    }
    ContainerImage {
        1 => names,
        2 => size_bytes,
    }
}
