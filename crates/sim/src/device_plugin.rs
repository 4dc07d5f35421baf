//! The other side of the device annotations: a model of the device plugins, and of the little of
//! kubelet that drives them.
//!
//! ```text
//!  Binding (annotations) ──► kubelet: Allocate(node, how many) ──► plugin: whose turn is it?
//!                                                                       │ guesses a pod
//!  cards of the calling container ◄── Answer ◄──────────────────────────┤
//!  annotations of the guessed pod ◄─────────────────────────────────────┘
//! ```
//!
//! Kubelet never tells a plugin which pod it asks for. The plugin guesses it from annotations, and
//! gives the *calling* container the cards written on the pod it *guessed*. A late, equal or stale
//! annotation therefore shows here, as on a cluster, as a pod with another pod's cards
//! ([`kubelet::Service::is_own`]).
//!
//! * [`vgpu`]: volcano-vgpu-device-plugin in its generations (spec/04 §13).
//! * [`gpushare`]: the older plugin behind gpu-memory and gpu-number (spec/04 §14).
//! * [`ascend`]: ascend-device-plugin of HAMi (spec/05 §3.9).
//! * [`hami`]: those of HAMi's other vendors (spec/04 §23.5).
//! * [`mindcluster`]: the Ascend device plugin of MindCluster (spec/05 §2.11).
//! * [`register`]: what a plugin says of its node.
//! * [`kubelet`]: which calls a pod causes, and the admission of one pod.
//! * [`wire`]: the texts in annotations, read as the plugin reads them. On purpose not the
//!   scheduler's own reader: both sides must agree on the texts alone.
//!
//! Plugins keep nothing in memory that would be lost by a restart but the health of their cards.

pub mod ascend;
pub mod gpushare;
pub mod hami;
pub mod kubelet;
pub mod mindcluster;
pub mod register;
pub mod vgpu;
pub mod wire;

use std::collections::BTreeMap;

use pumice_model::object::Pairs;

/// A pod as the API server lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedPod {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub name: String,
    /// UID of the pod.
    pub uid: String,
    /// `spec.nodeName`.
    pub node: Option<String>,
    /// `status.phase`.
    pub phase: String,
    /// A deletion timestamp is set.
    pub deleting: bool,
    /// Annotations of the pod.
    pub annotations: BTreeMap<String, String>,
    /// Regular containers.
    pub containers: Vec<Container>,
}

/// A container: what kubelet and plugins look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Container {
    /// Name of the container.
    pub name: String,
    /// Extended resources in limits, whole units.
    pub limits: BTreeMap<String, u64>,
}

/// A call of `Allocate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocateCall {
    /// Node of the plugin.
    pub node: String,
    /// How many device ids kubelet hands over.
    pub ids: u64,
    /// UID of the pod kubelet starts. The plugin is not told.
    pub pod: String,
    /// Position of the container it is for. The plugin is not told.
    pub container: usize,
}

/// One card in the environment of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// UUID, MIG id, or index of the card.
    pub id: String,
    /// Memory limit.
    pub memory: i64,
    /// Core limit in percent.
    pub cores: i64,
}

/// Why the calling container gets nothing; kubelet fails its pod then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllocateRefusal {
    /// No pod looks as if it waited for devices.
    NobodyWaits,
    /// The guessed pod has no device left to hand out.
    NothingLeft,
    /// The guessed pod has another number of devices next.
    OtherCount {
        /// Devices in its next element.
        listed: usize,
    },
    /// The plugin ends with a panic and is started anew; nothing was written.
    Crash(String),
}

/// What a call brings about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocateAnswer {
    /// What the calling container gets.
    pub result: Result<Vec<Grant>, AllocateRefusal>,
    /// UID of the pod the plugin took the caller for.
    pub guessed: Option<String>,
    /// Annotations it sets on that pod.
    pub changes: BTreeMap<String, String>,
    /// Node annotation it removes.
    pub unlocks: Option<&'static str>,
}

/// Annotations of a bound pod after all plugins have answered for all of its containers, without
/// any guessing: for simulations in which every plugin answers at once. Annotations that mean
/// nothing to a plugin, or that it cannot read, stay as they are.
pub fn answer_at_once(annotations: &Pairs) -> Pairs {
    let mut all: BTreeMap<String, String> = annotations.iter().cloned().collect();
    vgpu::serve_all(&mut all);
    gpushare::serve_all(&mut all);
    ascend::serve_all(&mut all);
    mindcluster::serve_all(&mut all);
    hami::serve_all(&mut all);
    all.into_iter().collect()
}

#[cfg(test)]
mod tests;
