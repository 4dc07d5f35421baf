//! Tests and benchmark against a real kube-apiserver and etcd, all on loopback.
//!
//! ```text
//!  test ──► Lab ──► Cluster    etcd, kube-apiserver, kube-controller-manager  (one Go binary)
//!            │        ▲  ▲
//!            │        │  └──── FaultProxy ◄──┐  cuts, delays, refuses, swallows answers
//!            ├──► Nodes, Kubelet, PodGroupController, DevicePlugins: the rest of a cluster, as needed
//!            └──► Scheduler, Controllers ────┘  our real processes under their own roles
//! ```
//!
//! The Go binary is built by `apiserver/build`, which the build script of this package starts, and kept
//! for other clones too. Every process listens on loopback ports of its own and ends with the test,
//! however the test ends.
//!
//! Calls block; what is asynchronous runs on one runtime of this crate ([`run`]), so that a test
//! reads top to bottom.

mod at_once;
mod autoscaler;
mod cluster;
mod containers;
mod controllers;
mod files;
mod forward;
mod judge;
mod kubelet;
mod lab;
mod nodes;
mod page;
mod plugins;
mod pod_groups;
mod process;
pub mod programs;
mod proxy;
mod rest;
mod restricted;
pub mod samples;
mod scheduler;
mod ui;
mod wait;

pub use at_once::each_at_once;
pub use autoscaler::{Autoscaler, PodRoom};
pub use cluster::{Cluster, Identity, Options, client_at};
pub use controllers::Controllers;
pub use files::{ConfigMount, scratch};
pub use forward::PortForwarder;
pub use judge::{Judge, Verdict};
pub use kubelet::Kubelet;
pub use lab::{Lab, LabGuard, member, pod_group};
pub use nodes::{NodeShape, create_nodes};
pub use page::{Page, PageBlock, PageStep, renews, timeless};
pub use plugins::{DevicePlugins, PluginSetup, gpu_node};
pub use pod_groups::{PodGroupController, PodGroupSetup};
pub use process::{Process, Signal};
pub use proxy::{Fault, FaultProxy, Matcher};
pub use rest::{Rest, is_status};
pub use restricted::restricted;
pub use scheduler::{Scheduler, Setup, Usage};
pub use ui::Ui;
pub use wait::{eventually, run};
