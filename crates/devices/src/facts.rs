//! What families may know of pods and nodes: plain data, cut down to what some family reads.

use serde::{Deserialize, Serialize};

/// Resource name and amount in milli-units, sorted by name.
pub type MilliAmounts = Vec<(String, i64)>;

/// Key and value, sorted by key, each key at most once.
pub type Pairs = Vec<(String, String)>;

/// When a container runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ContainerKind {
    /// An init container that ends before the others start.
    Init,
    /// An init container that runs as long as the pod.
    Sidecar,
    /// A regular container.
    #[default]
    Regular,
}

impl ContainerKind {
    /// Whether a container of this kind, at a position in its pod, runs beside the init container at another:
    /// that ends before all containers after it start, and after all before it but sidecars have ended.
    pub(crate) fn runs_beside_init(self, at: u16, init: u16) -> bool {
        self == Self::Sidecar && at < init
    }
}

/// The most that containers have at any time, told in their order with what each has: those that last
/// together, or one init container with the sidecars before it.
pub(crate) fn most_at_any_time(amounts: impl IntoIterator<Item = (ContainerKind, i64)>) -> i64 {
    let (mut lasting, mut sidecars, mut at_init) = (0_i64, 0_i64, 0_i64);
    for (kind, amount) in amounts {
        match kind {
            ContainerKind::Init => at_init = at_init.max(sidecars.saturating_add(amount)),
            ContainerKind::Sidecar => {
                sidecars = sidecars.saturating_add(amount);
                lasting = lasting.saturating_add(amount);
            }
            ContainerKind::Regular => lasting = lasting.saturating_add(amount),
        }
    }
    lasting.max(at_init)
}

/// Init containers of a pod, sidecars among them, that may ask devices of one family: each is held against
/// those before it on every node that is tried, and anybody may write hundreds.
const MAX_INIT_CONTAINERS: usize = 64;

/// What to tell of a pod with more init containers that ask devices than may. `asks` are the positions of the
/// containers that ask, in their order, `resource` is what they ask.
pub(crate) fn too_many_init_containers(
    pod: &PodFacts,
    asks: impl Iterator<Item = u16>,
    resource: &str,
) -> Option<String> {
    let init = asks.filter(|at| pod.runs(*at) != ContainerKind::Regular);
    let mut init: Vec<u16> = init.collect();
    init.dedup();
    let count = init.len();
    (count > MAX_INIT_CONTAINERS).then(|| {
        format!(
            "{count} of spec.initContainers ask {resource} or other devices of its kind, and at most \
             {MAX_INIT_CONTAINERS} of a pod may: let fewer ask, by doing the work of several in one"
        )
    })
}

/// One container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct ContainerFacts {
    /// When it runs.
    pub kind: ContainerKind,
    /// Extended resources: the limit, else the request, in milli-units.
    pub amounts: MilliAmounts,
}

impl ContainerFacts {
    /// The amount of a resource in milli-units, if the container names it.
    pub fn milli(&self, name: &str) -> Option<i64> {
        lookup(&self.amounts, name).copied()
    }

    /// How many devices it counts, where what it asks of them cannot be read: the amount of `count` rounded up; one
    /// if it names `part` alone.
    pub(crate) fn counted(&self, count: &str, part: &str) -> u32 {
        let units = |milli: i64| u64::try_from(milli).unwrap_or(0).div_ceil(1000);
        match (self.milli(count), self.milli(part)) {
            (Some(milli), _) => u32::try_from(units(milli)).unwrap_or(u32::MAX),
            (None, Some(milli)) => u32::from(milli > 0),
            (None, None) => 0,
        }
    }

    /// The amount of a resource in whole units, if the container names it; an empty name is none.
    ///
    /// # Errors
    /// It is no integer from 0 to `most`: what to write.
    pub(crate) fn whole(&self, name: &str, most: i64) -> Result<Option<i64>, String> {
        let Some(milli) = self.milli(name).filter(|_| !name.is_empty()) else {
            return Ok(None);
        };
        if milli % 1000 == 0 && (0..=most).contains(&(milli / 1000)) {
            return Ok(Some(milli / 1000));
        }
        let amount = amount_text(milli);
        Err(format!(
            "{name} is {amount}: write an integer from 0 to {most}"
        ))
    }
}

/// What to tell of a container that names parts of devices and a number of 0 of them: it gets none.
pub(crate) fn zero_count<'a>(
    pod: &PodFacts,
    count: &str,
    parts: impl Iterator<Item = &'a String> + Clone,
) -> Option<String> {
    let containers = pod.containers.iter().enumerate();
    let mut zero = containers.filter(|(_, container)| container.milli(count) == Some(0));
    zero.find_map(|(at, container)| {
        let asked = |name: &&String| container.milli(name) > Some(0);
        let part = parts.clone().find(asked)?;
        let amount = amount_text(container.milli(part)?);
        Some(format!(
            "{}: {count} is 0, so it gets no device, although it names {part} {amount}: write {count}: 1, \
             or leave both out",
            container_name(&pod.containers, at)
        ))
    })
}

/// An amount in milli-units, as it is written.
pub(crate) fn amount_text(milli: i64) -> String {
    match milli % 1000 {
        0 => (milli / 1000).to_string(),
        _ => format!("{milli}m"),
    }
}

/// What a pod asks, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct PodFacts {
    /// Init containers, then regular ones, as in the spec; empty when none asks an extended
    /// resource.
    pub containers: Vec<ContainerFacts>,
    /// Annotations some family reads when it places a pod ([`crate::FamilySpec::asks`]).
    pub annotations: Pairs,
    /// Labels some family reads when it places a pod ([`crate::FamilySpec::labels`]).
    pub labels: Pairs,
    /// Names of containers, each with its position, that ask what some family writes down by name
    /// ([`crate::FamilySpec::named`]).
    pub names: Vec<(u16, String)>,
}

impl PodFacts {
    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        lookup(&self.labels, key).map(String::as_str)
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        lookup(&self.annotations, key).map(String::as_str)
    }

    /// When the container at a position runs.
    pub(crate) fn runs(&self, container: u16) -> ContainerKind {
        let found = self.containers.get(usize::from(container));
        found.map_or(ContainerKind::default(), |one| one.kind)
    }

    /// Whole units of a resource that all containers ask, of each rounded up.
    pub(crate) fn units(&self, name: &str) -> u64 {
        let asked = self.containers.iter().filter_map(|one| one.milli(name));
        let units = asked.map(|milli| u64::try_from(milli).unwrap_or(0).div_ceil(1000));
        units.fold(0, u64::saturating_add)
    }
}

/// What something else than the node itself tells of a node in a ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeReport {
    /// Name of the node.
    pub node: String,
    /// What is told, and by whom; a word of the family that reads it.
    pub topic: &'static str,
    /// What is told, in the words of the writer.
    pub text: String,
}

/// What a node says of its devices.
#[derive(Clone, Copy, Debug)]
pub struct NodeFacts<'a> {
    /// Name of the node.
    pub name: &'a str,
    /// Labels of the node.
    pub labels: &'a [(String, String)],
    /// Annotations some family reads ([`crate::FamilySpec::node_annotations`]).
    pub annotations: &'a [(String, String)],
    /// `status.allocatable`; extended resources in milli-units.
    pub allocatable: &'a [(String, i64)],
    /// `status.capacity`, extended resources only, in milli-units.
    pub capacity: &'a [(String, i64)],
    /// What ConfigMaps tell of it, by topic ([`NodeReport::topic`]).
    pub reports: &'a [(String, String)],
}

impl<'a> NodeFacts<'a> {
    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&'a str> {
        lookup(self.annotations, key).map(String::as_str)
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&'a str> {
        lookup(self.labels, key).map(String::as_str)
    }

    /// What a ConfigMap tells of it.
    pub fn report(&self, topic: &str) -> Option<&'a str> {
        lookup(self.reports, topic).map(String::as_str)
    }

    /// Milli-units of an extended resource that can be given out.
    pub fn allocatable_milli(&self, name: &str) -> Option<i64> {
        lookup(self.allocatable, name).copied()
    }

    /// Milli-units of an extended resource in all.
    pub fn capacity_milli(&self, name: &str) -> Option<i64> {
        lookup(self.capacity, name).copied()
    }
}

/// The value of a key in a list of pairs.
pub(crate) fn lookup<'a, T>(pairs: &'a [(String, T)], key: &str) -> Option<&'a T> {
    let found = pairs.iter().find(|(known, _)| known == key)?;
    Some(&found.1)
}

/// How a container is called: init containers stand before the others, and each kind counts from 1.
pub(crate) fn container_name(containers: &[ContainerFacts], at: usize) -> String {
    let regular = |container: &&ContainerFacts| container.kind == ContainerKind::Regular;
    if containers.get(at).as_ref().is_some_and(|c| !regular(c)) {
        return format!("init container {}", at + 1);
    }
    let inits = containers.iter().filter(|c| !regular(c)).count();
    format!("container {}", at.saturating_sub(inits) + 1)
}
