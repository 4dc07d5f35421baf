//! Clusters for the tests of a program: each is for one test at a time, and then for the next.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::samples::Sample;
use crate::{
    Cluster, Identity, Kubelet, NodeShape, Options, Rest, create_nodes, eventually, is_status,
};

/// How long cleaning up may take.
const CLEAN: Duration = Duration::from_secs(60);

/// The device configuration, what was counted, and what a test may grant the scheduler beside its role. Other objects of
/// these kinds are the API server's.
const SINGLE: [&str; 11] = [
    "/api/v1/namespaces/volcano-system/configmaps/volcano-scheduler-counted",
    "/api/v1/namespaces/kube-system/configmaps/volcano-vgpu-device-config",
    "/api/v1/namespaces/kube-system/configmaps/hami-scheduler-device",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles/volcano-scheduler-node-lock",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/volcano-scheduler-node-lock",
    "/apis/rbac.authorization.k8s.io/v1/namespaces/mindx-dl/roles/volcano-scheduler-mindcluster",
    "/apis/rbac.authorization.k8s.io/v1/namespaces/mindx-dl/rolebindings/volcano-scheduler-mindcluster",
    "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles/volcano-scheduler-mindcluster-nodes",
    "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings/volcano-scheduler-mindcluster-nodes",
    "/apis/rbac.authorization.k8s.io/v1/namespaces/mindx-dl/roles/volcano-scheduler-mindcluster-nodes",
    "/apis/rbac.authorization.k8s.io/v1/namespaces/mindx-dl/rolebindings/volcano-scheduler-mindcluster-nodes",
];

/// Collections that are emptied between tests, those that make others first.
const EMPTIED: [&str; 36] = [
    // First, since policies may refuse that the others are emptied.
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
    "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
    "/apis/batch.volcano.sh/v1alpha1/cronjobs",
    "/apis/flow.volcano.sh/v1alpha1/jobflows",
    "/apis/flow.volcano.sh/v1alpha1/jobtemplates",
    "/apis/bus.volcano.sh/v1alpha1/commands",
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/replicasets",
    "/apis/apps/v1/statefulsets",
    "/apis/batch/v1/jobs",
    "/apis/batch.volcano.sh/v1alpha1/jobs",
    "/apis/scheduling.volcano.sh/v1beta1/podgroups",
    "/apis/scheduling.k8s.io/v1beta1/podgroups",
    "/apis/scheduling.k8s.io/v1alpha3/compositepodgroups",
    "/api/v1/pods",
    "/apis/scheduling.volcano.sh/v1beta1/queues",
    "/api/v1/nodes",
    "/apis/resource.k8s.io/v1/resourceclaims",
    "/apis/resource.k8s.io/v1/resourceclaimtemplates",
    "/apis/resource.k8s.io/v1/resourceslices",
    "/apis/resource.k8s.io/v1/deviceclasses",
    "/api/v1/persistentvolumeclaims",
    "/api/v1/persistentvolumes",
    "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/storage.k8s.io/v1/csinodes",
    "/apis/storage.k8s.io/v1/csidrivers",
    "/apis/storage.k8s.io/v1/csistoragecapacities",
    "/apis/coordination.k8s.io/v1/namespaces/volcano-system/leases",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/api/v1/resourcequotas",
    "/apis/topology.volcano.sh/v1alpha1/hypernodes",
    "/apis/nodeinfo.volcano.sh/v1alpha1/numatopologies",
    "/api/v1/namespaces/mindx-dl/configmaps",
    "/api/v1/namespaces/kube-system/configmaps?labelSelector=mx-consumer-cim",
];

/// A cluster with CRDs and roles and kubelets, but without nodes.
pub struct Lab {
    // Stopped before the cluster.
    kubelet: Kubelet,
    cluster: Cluster,
    /// CRDs or roles may be others than the shipped ones.
    installation_changed: bool,
}

/// Labs that no test uses, frozen. Tests mostly wait: `build.rs` says how many run at once.
static IDLE: Mutex<Vec<Lab>> = Mutex::new(Vec::new());

/// A lab, for one test.
pub struct LabGuard(Option<Lab>);

impl Deref for LabGuard {
    type Target = Lab;

    fn deref(&self) -> &Lab {
        self.0.as_ref().expect("there until the guard is dropped")
    }
}

impl DerefMut for LabGuard {
    fn deref_mut(&mut self) -> &mut Lab {
        self.0.as_mut().expect("there until the guard is dropped")
    }
}

impl Drop for LabGuard {
    fn drop(&mut self) {
        // A test that failed leaves a cluster that can be emptied as well as any other.
        let lab = self.0.take();
        lab.iter().for_each(|lab| lab.cluster.freeze());
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        idle.extend(lab);
    }
}

impl Lab {
    /// Takes a lab that no test uses and empties it, or starts one.
    ///
    /// # Errors
    /// When it cannot be started or emptied.
    pub fn take() -> Result<LabGuard> {
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let lab = match idle {
            Some(mut lab) => {
                lab.cluster.thaw();
                lab.empty()?;
                lab
            }
            None => Self::start(Options::default())?,
        };
        Ok(LabGuard(Some(lab)))
    }

    /// A lab of its own.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(options: Options) -> Result<Self> {
        let cluster = Cluster::start(options)?;
        cluster.install()?;
        let kubelet = Kubelet::start(cluster.client(Identity::Admin)?);
        Ok(Self {
            kubelet,
            cluster,
            installation_changed: false,
        })
    }

    fn empty(&mut self) -> Result<()> {
        if !self.cluster.is_ready() {
            self.cluster.restart_apiserver()?;
        }
        if !self.cluster.serves_native_groups() {
            self.cluster.serve_native_groups(true)?;
        }
        if std::mem::take(&mut self.installation_changed) {
            self.cluster.install()?;
        }
        self.kubelet.reset();
        let rest = self.cluster.rest();
        for path in SINGLE {
            rest.delete_now(path)?;
        }
        eventually(CLEAN, "the cluster is empty", || {
            let mut left = 0;
            for path in EMPTIED {
                for object in rest.list(path)? {
                    // The API server's own PriorityClasses.
                    let name = object["metadata"]["name"].as_str().unwrap_or_default();
                    if name.starts_with("system-") {
                        continue;
                    }
                    left += 1;
                    let path = path_of(path, &object);
                    if object["metadata"]["finalizers"].is_array() {
                        // Whoever would take it off is not there.
                        let done = rest.patch(&path, &json!({"metadata": {"finalizers": null}}));
                        if done.as_ref().is_err_and(|error| !is_status(error, 404)) {
                            done?;
                        }
                    }
                    rest.delete_now(&path)?;
                }
            }
            Ok((left == 0).then_some(()))
        })
    }

    /// The control plane that the lab runs on.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The cluster, to stop parts of it.
    pub fn cluster_mut(&mut self) -> &mut Cluster {
        &mut self.cluster
    }

    /// The API as administrator.
    pub fn rest(&self) -> &Rest {
        self.cluster.rest()
    }

    /// To be called before a test changes CRDs or roles: the next one finds the shipped ones.
    pub fn will_change_installation(&mut self) {
        self.installation_changed = true;
    }

    /// All kubelets.
    pub fn kubelet(&self) -> &Kubelet {
        &self.kubelet
    }

    /// Creates nodes `n-0`, `n-1` … of one shape.
    ///
    /// # Errors
    /// When the API server refuses one.
    pub fn nodes(&self, count: usize, cpu: &'static str, memory: &'static str) -> Result<()> {
        let shape = NodeShape {
            cpu,
            memory,
            ..NodeShape::default()
        };
        create_nodes(self.rest(), "n", count, &shape)
    }

    /// Creates a PodGroup `name` in `default` with pods `<name>-0` … of one CPU each.
    ///
    /// # Errors
    /// When the API server refuses one.
    pub fn gang(&self, name: &str, queue: &str, pods: usize, minimum: usize) -> Result<()> {
        let group = pod_group(name, &json!({"minMember": minimum, "queue": queue}));
        let groups = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups";
        self.rest().create(groups, &group)?;
        let objects = (0..pods).map(|n| member(&format!("{name}-{n}"), name));
        let path = "/api/v1/namespaces/default/pods";
        self.rest().create_all(path, objects.collect(), 16)
    }

    /// Creates the objects of a sample with kubectl, in their order and with different ages. What is
    /// made for a generation is older than the next: `settled` waits for it.
    ///
    /// # Errors
    /// When the API server refuses one, or as `settled` says.
    pub fn create_sample(&self, sample: &Sample, settled: impl Fn() -> Result<()>) -> Result<()> {
        self.put_sample(sample, || {
            settled()?;
            next_second();
            Ok(())
        })
    }

    /// Creates the objects of a sample with kubectl, in their order, whatever their ages.
    ///
    /// # Errors
    /// When the API server refuses one.
    pub fn create_sample_at_once(&self, sample: &Sample) -> Result<()> {
        self.put_sample(sample, || Ok(()))
    }

    fn put_sample(&self, sample: &Sample, between: impl Fn() -> Result<()>) -> Result<()> {
        let namespace =
            |object: &Value| object["metadata"]["namespace"].as_str().map(str::to_owned);
        let namespaces: BTreeSet<String> = sample
            .generations
            .iter()
            .flatten()
            .filter_map(namespace)
            .collect();
        for namespace in namespaces {
            self.cluster.create_namespace(&namespace)?;
        }
        for (at, generation) in sample.generations.iter().enumerate() {
            if at > 0 {
                between()?;
            }
            let items = json!({"apiVersion": "v1", "kind": "List", "items": generation});
            self.cluster
                .kubectl(&["create", "-f", "-"], &items.to_string())?;
        }
        for object in &sample.statuses {
            let subresource = ["apply", "--server-side", "--force-conflicts"];
            let arguments = [&subresource[..], &["--subresource=status", "-f", "-"]].concat();
            self.cluster.kubectl(&arguments, &object.to_string())?;
        }
        for pod in &sample.leaving {
            let (namespace, name) = pod.split_once('/').unwrap_or_default();
            let arguments = ["delete", "pod", name, "-n", namespace, "--wait=false"];
            self.cluster.kubectl(&arguments, "")?;
        }
        Ok(())
    }

    /// Node by `namespace/name` of every bound pod whose name begins so.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub fn bound(&self, prefix: &str) -> Result<BTreeMap<String, String>> {
        let place = |pod: &Value| {
            let name = pod["metadata"]["name"].as_str()?;
            let node = pod["spec"]["nodeName"].as_str()?;
            let key = format!("{}/{name}", pod["metadata"]["namespace"].as_str()?);
            name.starts_with(prefix).then(|| (key, node.to_owned()))
        };
        Ok(self
            .rest()
            .list("/api/v1/pods")?
            .iter()
            .filter_map(place)
            .collect())
    }

    /// Number of pods in phase Running whose name begins so.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub fn running(&self, prefix: &str) -> Result<usize> {
        let is_running = |pod: &&Value| {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            name.starts_with(prefix) && pod["status"]["phase"] == "Running"
        };
        Ok(self
            .rest()
            .list("/api/v1/pods")?
            .iter()
            .filter(is_running)
            .count())
    }

    /// Phase of a PodGroup in `default`.
    ///
    /// # Errors
    /// When it is not there.
    pub fn group_phase(&self, name: &str) -> Result<String> {
        let groups = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups";
        let group = self.rest().get(&format!("{groups}/{name}"))?;
        let phase = group["status"]["phase"].as_str();
        Ok(phase.unwrap_or_default().to_owned())
    }

    /// Deletes an object without waiting for anyone.
    ///
    /// # Errors
    /// When the API server refuses it.
    pub fn delete(&self, path: &str) -> Result<()> {
        self.rest()
            .delete_now(path)
            .with_context(|| format!("delete {path}"))
    }
}

/// A PodGroup in namespace `default` with this spec.
#[must_use]
pub fn pod_group(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": spec,
    })
}

/// A pod of a gang, one CPU.
#[must_use]
pub fn member(name: &str, group: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "annotations": {"scheduling.k8s.io/group-name": group},
        },
        "spec": {
            "schedulerName": "volcano",
            "containers": [{
                "name": "main",
                "image": "example.com/none",
                "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
            }],
        },
    })
}

/// Waits until a time of creation is another one: they are cut to seconds.
fn next_second() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let part = Duration::from_nanos(now.map_or(0, |now| now.subsec_nanos().into()));
    std::thread::sleep(Duration::from_secs(1) - part);
}

fn path_of(collection: &str, object: &Value) -> String {
    let collection = collection.split('?').next().unwrap_or_default();
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    match object["metadata"]["namespace"].as_str() {
        None => format!("{collection}/{name}"),
        Some(_) if collection.contains("/namespaces/") => format!("{collection}/{name}"),
        Some(namespace) => {
            let (group, kind) = collection.rsplit_once('/').unwrap_or_default();
            format!("{group}/namespaces/{namespace}/{kind}/{name}")
        }
    }
}
