//! Device plugins of all nodes, and the kubelets that call them: who gets which cards, on a real
//! API server.
//!
//! What a plugin decides is [`pumice_sim::device_plugin`]; here are the calls in the order kubelets
//! make them, the list of all pods a plugin reads on each call, and the patches it sends.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use futures::StreamExt;
use http::Method;
use k8s_openapi::api::core::v1::{Container as WireContainer, Pod};
use kube::api::{ListParams, WatchParams};
use kube::core::WatchEvent;
use kube::{Api, Client, ResourceExt};
use pumice_sim::device_plugin::kubelet::{Service, calls_for};
use pumice_sim::device_plugin::register::NodePlugin;
use pumice_sim::device_plugin::vgpu::{self, Generation};
use pumice_sim::device_plugin::{
    AllocateAnswer, AllocateCall, Container, ListedPod, ascend, gpushare, hami, mindcluster,
};
use pumice_units::quantity;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::kubelet::Admitted;
use crate::wait::runtime;
use crate::{Identity, Lab, NodeShape, Rest};

/// Seconds after which the API server ends a watch.
const WATCH_SECONDS: u32 = 280;

/// Pause after a broken watch.
const PAUSE: Duration = Duration::from_millis(250);

/// How the plugins are.
#[derive(Clone, Copy, Debug)]
pub struct PluginSetup {
    /// Their generation.
    pub generation: Generation,
    /// How long each call takes before the plugin reads the pods.
    pub delay: Duration,
}

impl Default for PluginSetup {
    fn default() -> Self {
        Self {
            generation: Generation::Latest,
            delay: Duration::ZERO,
        }
    }
}

/// The plugins of all nodes. They end when dropped.
pub struct DevicePlugins {
    shared: Arc<Shared>,
    works: watch::Sender<bool>,
    watcher: JoinHandle<()>,
}

struct Shared {
    client: Client,
    setup: PluginSetup,
    state: Mutex<State>,
    works: watch::Receiver<bool>,
    /// Pods the kubelets may start.
    admitted: watch::Sender<Admitted>,
}

#[derive(Default)]
struct State {
    /// Pods to start by node, in the order in which its kubelet learnt of them.
    waiting: BTreeMap<String, VecDeque<PodToStart>>,
    /// Pods some kubelet has seen.
    seen: BTreeSet<String>,
    services: Vec<Service>,
    workers: Vec<JoinHandle<()>>,
}

struct PodToStart {
    created: Option<jiff::Timestamp>,
    pod: ListedPod,
}

impl DevicePlugins {
    /// Starts the plugins. As long as they live, the kubelets of the lab start a pod with devices when
    /// each call for it was answered.
    ///
    /// # Errors
    /// When there is no client for the cluster.
    pub fn start(lab: &Lab, setup: PluginSetup) -> Result<Self> {
        let client = lab.cluster().client(Identity::Admin)?;
        let admitted = lab.kubelet().admitted();
        admitted.send_replace(Some(HashSet::new()));
        let (works, receiver) = watch::channel(true);
        let shared = Arc::new(Shared {
            client,
            setup,
            state: Mutex::default(),
            works: receiver,
            admitted,
        });
        let watcher = runtime().spawn(serve(Arc::clone(&shared)));
        Ok(Self {
            shared,
            works,
            watcher,
        })
    }

    /// No plugin answers any more; kubelets wait.
    pub fn stop(&self) {
        self.works.send_replace(false);
    }

    /// Plugins and kubelets start anew: kubelets go through the pods they have not started by age.
    pub fn restart(&self) {
        for queue in self.shared.state().waiting.values_mut() {
            let by_age = |pod: &PodToStart| (pod.created, pod.pod.uid.clone());
            queue.make_contiguous().sort_by_key(by_age);
        }
        self.works.send_replace(true);
    }

    /// Every call so far that a plugin has answered.
    pub fn services(&self) -> Vec<Service> {
        self.shared.state().services.clone()
    }

    /// Calls so far whose container did not get exactly its own cards.
    pub fn strayed(&self) -> Vec<Service> {
        let strayed = |service: &Service| !service.is_own();
        self.services().into_iter().filter(strayed).collect()
    }
}

impl Drop for DevicePlugins {
    fn drop(&mut self) {
        self.watcher.abort();
        for worker in self.shared.state().workers.drain(..) {
            worker.abort();
        }
        self.shared.admitted.send_replace(None);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kubelet may start the pod.
    fn admit(&self, uid: &str) {
        self.admitted.send_modify(|admitted| {
            // `None` once the plugins have ended.
            if let Some(all) = admitted {
                all.insert(uid.to_owned());
            }
        });
    }

    /// A kubelet has learnt of a pod. A node's worker starts with its first pod.
    fn learn(self: &Arc<Self>, pod: &Pod) {
        let view = view(pod);
        let Some(node) = view.node.clone() else {
            return;
        };
        let mut state = self.state();
        if !state.seen.insert(view.uid.clone()) {
            return;
        }
        if view.phase != "Pending" || served(&view) || all_calls(&view).is_empty() {
            self.admit(&view.uid);
            return;
        }
        let fresh = !state.waiting.contains_key(&node);
        state
            .waiting
            .entry(node.clone())
            .or_default()
            .push_back(PodToStart {
                created: pod.metadata.creation_timestamp.as_ref().map(|t| t.0),
                pod: view,
            });
        if fresh {
            let worker = runtime().spawn(work(Arc::clone(self), node));
            state.workers.push(worker);
        }
    }
}

/// Served by an earlier run of the plugin, or never to be served.
fn served(pod: &ListedPod) -> bool {
    let phases = [
        (vgpu::PHASE, vgpu::ALLOCATING),
        (ascend::PHASE, ascend::ALLOCATING),
    ];
    let is_past = |(key, waiting): (&str, &str)| {
        let phase = pod.annotations.get(key);
        phase.is_some_and(|phase| phase != waiting)
    };
    phases.into_iter().any(is_past)
        || pod.annotations.contains_key(gpushare::ASSIGNED)
        || pod.annotations.contains_key(mindcluster::REAL)
        || is_past((hami::MLU_ASSIGNED, "false"))
}

/// AI cores of a 310P chip.
const CORES_OF_310P: u64 = 8;

/// The plugin that a call goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Plugin {
    Vgpu,
    GpuShare(&'static str),
    /// One that HAMi wrote: resource, and the middle of the keys of its lists.
    Hami(String, String),
    Cambricon,
    MooreThreads,
    Kunlun,
    /// The plugin of AWS Neuron, for this resource.
    Neuron(&'static str),
    MindCluster,
}

/// The type of chips that are counted by a resource of HAMi's.
fn type_of_chips(resource: &str) -> Option<&str> {
    let word = resource.strip_prefix("huawei.com/")?;
    let is_amount = word.ends_with("-memory") || word.ends_with("-core");
    (word.starts_with("Ascend") && !is_amount).then_some(word)
}

/// Calls that starting a pod causes, with the plugin they go to.
fn all_calls(pod: &ListedPod) -> Vec<(Plugin, AllocateCall)> {
    let limits = pod.containers.iter().flat_map(|one| one.limits.keys());
    let types: BTreeSet<&str> = limits.filter_map(|name| type_of_chips(name)).collect();
    let of_types = types.into_iter().map(|word| {
        let resource = format!("huawei.com/{word}");
        let plugin = Plugin::Hami(resource.clone(), word.to_owned());
        (plugin, resource)
    });
    // The same resources are plain ones to others.
    let is_theirs = |(_, list): &&(&str, &str)| {
        let key = ascend::allocated(list);
        pod.annotations.contains_key(&key)
    };
    let registered = hami::REGISTERED.iter().filter(is_theirs);
    let of_vendors = registered.map(|(resource, list)| {
        let plugin = Plugin::Hami((*resource).to_owned(), (*list).to_owned());
        (plugin, (*resource).to_owned())
    });
    let of_types = of_types.chain(of_vendors);
    let older = [gpushare::MEMORY, gpushare::NUMBER];
    let of_older = older.map(|resource| (Plugin::GpuShare(resource), resource.to_owned()));
    let plugins = [
        (Plugin::Vgpu, vgpu::NUMBER.to_owned()),
        (Plugin::MindCluster, mindcluster::CORES.to_owned()),
        (Plugin::Cambricon, hami::MLU.to_owned()),
        (Plugin::MooreThreads, hami::MTHREADS.to_owned()),
        (Plugin::Kunlun, hami::XPU.to_owned()),
        (Plugin::Neuron(hami::NEURON), hami::NEURON.to_owned()),
        (
            Plugin::Neuron(hami::NEURON_CORE),
            hami::NEURON_CORE.to_owned(),
        ),
    ];
    let plugins = plugins.into_iter().chain(of_older).chain(of_types);
    let calls = plugins.map(|(plugin, resource)| (plugin, calls_for(pod, &resource)));
    let calls = calls.flat_map(|(plugin, calls)| {
        let calls = calls.into_iter();
        calls.map(move |call| (plugin.clone(), call))
    });
    calls.collect()
}

/// Watches for ever; a broken watch is begun anew and brings every pod again.
async fn serve(shared: Arc<Shared>) {
    loop {
        let _ = follow(&shared).await;
        tokio::time::sleep(PAUSE).await;
    }
}

async fn follow(shared: &Arc<Shared>) -> Result<()> {
    let bound = WatchParams::default()
        .fields("spec.nodeName!=")
        .timeout(WATCH_SECONDS);
    let pods: Api<Pod> = Api::all(shared.client.clone());
    let mut events = Box::pin(pods.watch(&bound, "0").await?);
    while let Some(event) = events.next().await {
        if let WatchEvent::Added(pod) | WatchEvent::Modified(pod) = event? {
            shared.learn(&pod);
        }
    }
    Ok(())
}

/// The kubelet of one node: starts pods one after the other.
async fn work(shared: Arc<Shared>, node: String) {
    let mut works = shared.works.clone();
    loop {
        if works.wait_for(|works| *works).await.is_err() {
            return;
        }
        let next = shared
            .state()
            .waiting
            .get_mut(&node)
            .map(VecDeque::pop_front);
        match next.flatten() {
            Some(pod) => start(&shared, &pod.pod).await,
            None => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

/// Asks the plugins for every container of a pod; the first refusal fails the pod.
async fn start(shared: &Shared, pod: &ListedPod) {
    for (plugin, call) in all_calls(pod) {
        tokio::time::sleep(shared.setup.delay).await;
        let service = match allocate(shared, &plugin, &call).await {
            Ok(Some(service)) => service,
            // The pod has ended: its kubelet has nothing to start.
            Ok(None) => return,
            Err(error) => {
                eprintln!("plugin of {}: {error:#}", call.node);
                return fail(shared, pod).await;
            }
        };
        let refused = service.got.is_err();
        shared.state().services.push(service);
        if refused {
            return fail(shared, pod).await;
        }
    }
    shared.admit(&pod.uid);
}

/// One call: reads all pods of the cluster and writes to the one it takes for the caller.
async fn allocate(
    shared: &Shared,
    plugin: &Plugin,
    call: &AllocateCall,
) -> Result<Option<Service>> {
    let pods: Api<Pod> = Api::all(shared.client.clone());
    let listed = pods.list(&ListParams::default()).await?;
    let pods: Vec<ListedPod> = listed.items.iter().map(view).collect();
    let caller = pods.iter().find(|pod| pod.uid == call.pod);
    let ended = |pod: &ListedPod| matches!(pod.phase.as_str(), "Failed" | "Succeeded");
    let Some(caller) = caller.filter(|pod| !pod.deleting && !ended(pod)) else {
        return Ok(None);
    };
    let (answer, promised) = match plugin {
        Plugin::Vgpu => (
            vgpu::allocate(shared.setup.generation, &pods, call),
            vgpu::promised(caller, call.container).unwrap_or_default(),
        ),
        Plugin::GpuShare(resource) => (
            gpushare::allocate(resource, u32::MAX, &pods, call),
            gpushare::promised(caller).unwrap_or_default(),
        ),
        Plugin::Hami(resource, list) => {
            let lock = lock_of(shared, &call.node).await?;
            let before = caller.containers.iter().take(call.container);
            let at = before.filter(|one| one.limits.contains_key(resource));
            (
                ascend::allocate(list, &pods, lock.as_deref(), call),
                ascend::promised(list, caller, at.count()),
            )
        }
        Plugin::Cambricon => (
            hami::allocate_mlu(&pods, call),
            hami::profile(caller).into_iter().collect(),
        ),
        Plugin::MooreThreads => (
            hami::allocate_mthreads(&pods, call),
            hami::indices(caller, hami::MTHREADS_INDEX).unwrap_or_default(),
        ),
        Plugin::Neuron(resource) => (
            hami::allocate_neuron(resource, &pods, call),
            hami::indices(caller, hami::NEURON_IDS).unwrap_or_default(),
        ),
        Plugin::Kunlun => (
            hami::allocate_xpu(&pods, call),
            hami::indices(caller, hami::XPU_INDEX).unwrap_or_default(),
        ),
        Plugin::MindCluster => (
            mindcluster::allocate(CORES_OF_310P, &pods, call),
            mindcluster::promised(caller, CORES_OF_310P),
        ),
    };
    apply(shared, &pods, call, &answer).await?;
    Ok(Some(Service {
        call: call.clone(),
        promised,
        got: answer.result,
        guessed: answer.guessed,
    }))
}

/// What a node's lock of HAMi says.
async fn lock_of(shared: &Shared, node: &str) -> Result<Option<String>> {
    let rest = Rest::new(shared.client.clone());
    let path = format!("/api/v1/nodes/{node}");
    let node = rest.send(Method::GET, &path, None).await?;
    let lock = node["metadata"]["annotations"][ascend::LOCK].as_str();
    Ok(lock.map(str::to_owned))
}

/// Sends what the answer changes, in the plugin's order: devices, phase, lock.
async fn apply(
    shared: &Shared,
    pods: &[ListedPod],
    call: &AllocateCall,
    answer: &AllocateAnswer,
) -> Result<()> {
    let rest = Rest::new(shared.client.clone());
    let guessed = pods
        .iter()
        .find(|pod| Some(&pod.uid) == answer.guessed.as_ref());
    if let Some(pod) = guessed {
        let is_list = |(key, _): &(&String, &String)| key.ends_with("devices-to-allocate");
        let (list, others): (Vec<_>, Vec<_>) = answer.changes.iter().partition(is_list);
        for part in [list, others] {
            if !part.is_empty() {
                let changes: BTreeMap<_, _> = part.into_iter().collect();
                annotate(&rest, &path_of(pod), json!(changes)).await?;
            }
        }
    }
    if let Some(lock) = answer.unlocks {
        let path = format!("/api/v1/nodes/{}", call.node);
        annotate(&rest, &path, json!({lock: null})).await?;
    }
    Ok(())
}

/// Merges annotations; an object that is gone needs none.
async fn annotate(rest: &Rest, path: &str, annotations: Value) -> Result<()> {
    let patch = json!({"metadata": {"annotations": annotations}});
    match rest.send(Method::PATCH, path, Some(&patch)).await {
        Err(error) if crate::is_status(&error, 404) => Ok(()),
        other => other.map(|_| ()).context("annotate"),
    }
}

/// What kubelet says of a pod it cannot admit.
async fn fail(shared: &Shared, pod: &ListedPod) {
    let rest = Rest::new(shared.client.clone());
    let path = format!("{}/status", path_of(pod));
    let status = json!({"status": {"phase": "Failed", "reason": "UnexpectedAdmissionError"}});
    if let Err(error) = rest.send(Method::PATCH, &path, Some(&status)).await {
        eprintln!("fail {}: {error:#}", pod.name);
    }
}

fn path_of(pod: &ListedPod) -> String {
    format!("/api/v1/namespaces/{}/pods/{}", pod.namespace, pod.name)
}

/// A pod as the plugins look at it.
pub fn view(pod: &Pod) -> ListedPod {
    let (spec, status) = (pod.spec.as_ref(), pod.status.as_ref());
    let containers = spec.map(|spec| spec.containers.iter().map(container).collect());
    ListedPod {
        namespace: pod.namespace().unwrap_or_default(),
        name: pod.name_any(),
        uid: pod.uid().unwrap_or_default(),
        node: spec.and_then(|spec| spec.node_name.clone()),
        phase: status
            .and_then(|status| status.phase.clone())
            .unwrap_or_default(),
        deleting: pod.metadata.deletion_timestamp.is_some(),
        annotations: pod.annotations().clone(),
        containers: containers.unwrap_or_default(),
    }
}

fn container(container: &WireContainer) -> Container {
    let limits = container.resources.as_ref().and_then(|r| r.limits.clone());
    let amount = |text: &str| -> Option<u64> {
        let quantity = quantity::parse(text).ok()?;
        quantity.whole_ceil().try_into().ok()
    };
    let extended = limits.into_iter().flatten();
    let extended = extended.filter_map(|(name, value)| {
        let amount = amount(&value.0)?;
        name.contains('/').then_some((name, amount))
    });
    Container {
        name: container.name.clone(),
        limits: extended.collect(),
    }
}

/// A node as a plugin registers it; `now` is the time it prints.
pub fn gpu_node(name: &str, plugin: &NodePlugin, now: &str) -> Value {
    let mut node = NodeShape::default().object(name);
    node["metadata"]["annotations"] = json!(plugin.report(&BTreeMap::new(), now));
    let parts = [
        ("capacity", plugin.capacity()),
        ("allocatable", plugin.allocatable()),
    ];
    for (part, amounts) in parts {
        for (resource, amount) in amounts {
            node["status"][part][resource] = json!(amount.to_string());
        }
    }
    node
}
