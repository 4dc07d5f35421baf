//! What is kept of the objects the API server sends.

use k8s_openapi::Resource as _;
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::apps::v1::{DaemonSet, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job as BatchJob;
use k8s_openapi::api::core::v1::{Namespace, Node, PersistentVolumeClaim, Pod};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use pumice_api::{
    Command, CronJob, HyperNode, Job, JobFlow, JobTemplate, NativePodGroup, PodGroup,
    ProvisioningRequest, Queue,
};
use pumice_wire::{WireObject, WireProblem};

use super::command_guard::CommandGuard;
use super::kind::ManagedKind;
use super::observed::{Observed, TrackedPod, TrackedPriorityClass, TrackedWorkload};

/// A wire type that is followed.
trait Followed: WireObject {
    /// Kind of the objects that this wire type describes.
    const MANAGED: ManagedKind;

    /// What is kept of an object.
    fn observe(self) -> Observed;
}

/// The one list of the kinds that are followed.
macro_rules! followed {
    ($($kind:ident),* $(,)?) => {
        /// Every kind that is followed.
        pub const FOLLOWED: &[ManagedKind] = &[$(<$kind as Followed>::MANAGED),*];

        /// Reads an object as the API server sends it, and keeps of it what controllers read;
        /// `None` where its kind is not followed.
        ///
        /// # Errors
        /// It is not of this kind, or a field of it does not have its type.
        pub fn read_object(
            kind: ManagedKind,
            json: &[u8],
        ) -> Result<Option<Observed>, WireProblem> {
            $(
                if kind == <$kind as Followed>::MANAGED {
                    return $kind::read(json).map(|object| Some(object.observe()));
                }
            )*
            Ok(None)
        }
    };
}

followed!(
    Job,
    Pod,
    PodGroup,
    Queue,
    Command,
    CronJob,
    JobFlow,
    JobTemplate,
    HyperNode,
    Node,
    Namespace,
    ProvisioningRequest,
    NativePodGroup,
    PriorityClass,
    PersistentVolumeClaim,
    ReplicaSet,
    StatefulSet,
    DaemonSet,
    BatchJob,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
);

/// A policy or binding, of which it is kept whether it guards Commands.
macro_rules! guard {
    ($kind:ident) => {
        impl Followed for $kind {
            const MANAGED: ManagedKind = ManagedKind::$kind;

            fn observe(self) -> Observed {
                Observed::Guard(Self::MANAGED, Box::new(CommandGuard::from(self)))
            }
        }
    };
}

guard!(ValidatingAdmissionPolicy);
guard!(ValidatingAdmissionPolicyBinding);

/// Who set which field is nothing a controller reads, and is often most of an object.
fn lean(mut meta: ObjectMeta) -> ObjectMeta {
    meta.managed_fields = None;
    meta
}

impl Followed for Pod {
    const MANAGED: ManagedKind = ManagedKind::Pod;

    fn observe(self) -> Observed {
        Observed::Pod(Box::new(TrackedPod::read(&self)))
    }
}

/// A kind that is kept whole.
macro_rules! whole {
    ($kind:ident) => {
        impl Followed for $kind {
            const MANAGED: ManagedKind = ManagedKind::$kind;

            fn observe(mut self) -> Observed {
                self.metadata.managed_fields = None;
                Observed::$kind(Box::new(self))
            }
        }
    };
}

whole!(Job);
whole!(PodGroup);
whole!(Queue);
whole!(Command);
whole!(CronJob);
whole!(JobFlow);
whole!(JobTemplate);
whole!(HyperNode);
whole!(ProvisioningRequest);

impl Followed for NativePodGroup {
    const MANAGED: ManagedKind = ManagedKind::NativeGroup;

    fn observe(mut self) -> Observed {
        let writers = self.metadata.managed_fields.take().unwrap_or_default();
        // Items of a list do not say their version, and the newest is not served everywhere.
        if self.api_version.is_empty() {
            let mut versions = writers.into_iter().filter_map(|one| one.api_version);
            let written = versions.find(|version| version.starts_with(NativePodGroup::GROUP));
            self.api_version = written.unwrap_or_else(|| Self::MANAGED.path().api_version());
        }
        Observed::NativeGroup(Box::new(self))
    }
}

/// A kind of which the metadata is kept.
macro_rules! meta {
    ($kind:ident) => {
        impl Followed for $kind {
            const MANAGED: ManagedKind = ManagedKind::$kind;

            fn observe(self) -> Observed {
                Observed::Meta(ManagedKind::$kind, Box::new(lean(self.metadata)))
            }
        }
    };
}

meta!(Namespace);
meta!(PersistentVolumeClaim);

impl Followed for Node {
    const MANAGED: ManagedKind = ManagedKind::Node;

    fn observe(self) -> Observed {
        // What devices say in annotations is long, and nobody here reads it.
        let mut meta = lean(self.metadata);
        meta.annotations = None;
        Observed::Meta(Self::MANAGED, Box::new(meta))
    }
}

impl Followed for PriorityClass {
    const MANAGED: ManagedKind = ManagedKind::PriorityClass;

    fn observe(self) -> Observed {
        Observed::PriorityClass(Box::new(TrackedPriorityClass {
            metadata: lean(self.metadata),
            value: self.value.unwrap_or(0),
        }))
    }
}

fn workload(
    kind: ManagedKind,
    metadata: ObjectMeta,
    replicas: Option<i32>,
    selector: Option<LabelSelector>,
) -> Observed {
    Observed::Workload(Box::new(TrackedWorkload {
        kind,
        metadata: lean(metadata),
        replicas,
        selector,
    }))
}

impl Followed for ReplicaSet {
    const MANAGED: ManagedKind = ManagedKind::ReplicaSet;

    fn observe(self) -> Observed {
        let spec = self.spec;
        let replicas = Some(spec.replicas.unwrap_or(1));
        workload(Self::MANAGED, self.metadata, replicas, Some(spec.selector))
    }
}

impl Followed for StatefulSet {
    const MANAGED: ManagedKind = ManagedKind::StatefulSet;

    fn observe(self) -> Observed {
        let spec = self.spec;
        let replicas = Some(spec.replicas.unwrap_or(1));
        workload(Self::MANAGED, self.metadata, replicas, Some(spec.selector))
    }
}

impl Followed for DaemonSet {
    const MANAGED: ManagedKind = ManagedKind::DaemonSet;

    fn observe(self) -> Observed {
        let selector = Some(self.spec.selector);
        workload(Self::MANAGED, self.metadata, None, selector)
    }
}

impl Followed for BatchJob {
    const MANAGED: ManagedKind = ManagedKind::BatchJob;

    fn observe(self) -> Observed {
        let spec = self.spec.unwrap_or_default();
        workload(
            Self::MANAGED,
            self.metadata,
            spec.parallelism,
            spec.selector,
        )
    }
}
