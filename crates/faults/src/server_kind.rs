//! The kinds of objects on the virtual API server.

/// What a watch follows on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerKind {
    /// Nodes of the cluster.
    Node,
    /// Queues of Volcano.
    Queue,
    /// PodGroups.
    Group,
    /// PodGroups of Kubernetes itself.
    NativeGroup,
    /// Pods of the cluster, bound or not.
    Pod,
    /// HyperNodes, which make the network.
    HyperNode,
    /// DeviceClasses.
    DeviceClass,
    /// ResourceSlices.
    Slice,
    /// ResourceClaims of pods.
    ResourceClaim,
    /// Numatopologies.
    Numatopology,
}

/// All kinds, in the order of a first list.
pub const KINDS: [ServerKind; 10] = [
    ServerKind::Node,
    ServerKind::Queue,
    ServerKind::Group,
    ServerKind::NativeGroup,
    ServerKind::Pod,
    ServerKind::HyperNode,
    ServerKind::DeviceClass,
    ServerKind::Slice,
    ServerKind::ResourceClaim,
    ServerKind::Numatopology,
];

impl ServerKind {
    /// While it is not followed nothing is decided.
    pub fn protects(self) -> bool {
        !matches!(self, Self::DeviceClass | Self::Slice | Self::Numatopology)
    }
}
