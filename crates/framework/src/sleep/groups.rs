//! Jobs that wait for the same, in the order in which they would get it.

use std::cmp::Ordering;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use pumice_model::{DomainIx, JobIx, NetworkTree, NodeIx, QueueIx, State};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::waiting_class::{Minimum, PodClass, SleepGroupIx, TouchedNodes, WaitingClass};

/// Number of a class of pods that some group waits with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PodClassIx(u32);

/// What a group waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SleepsFor {
    /// Admission of so much to a queue.
    Admission(QueueIx, Minimum),
    /// Places for pods.
    Places(WantedPlaces),
}

/// What the jobs of a queue were told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SleepReason {
    /// The queue has all it deserves.
    Overused,
    /// The queue does not take the pods.
    Refused,
    /// There are too few places.
    NoPlace,
}

/// Places for pods.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WantedPlaces {
    /// Queue in which places are wanted.
    pub queue: QueueIx,
    /// What the jobs were told: they wait for that to change.
    pub told: SleepReason,
    /// The jobs have what they need; any further pod may be placed.
    pub is_ready: bool,
    /// Pods that have to be placed at once.
    pub need: u32,
    /// Pods that wait, by class: each class, and how many.
    pub pods: SmallVec<[(PodClassIx, u32); 2]>,
    /// Some of them request something.
    pub requests: bool,
    /// Some of them request nothing.
    pub best_effort: bool,
    /// Domains of the network of which one is to hold them, in order; `None`: the jobs ask for none.
    pub domains: Option<Arc<[DomainIx]>>,
    /// The job, if its sub-jobs ask for domains: nobody else waits for quite the same.
    pub sub_jobs_of: Option<JobIx>,
}

/// Jobs that wait for the same.
#[derive(Debug)]
pub struct SleepGroup {
    waits_for: Arc<SleepsFor>,
    members: VecDeque<JobIx>,
    /// Domains of the group that are in no other of them, each with how many places there are at most;
    /// none where the cluster will do.
    widest: Vec<(DomainIx, u64)>,
}

impl SleepGroup {
    /// What for.
    pub fn waits_for(&self) -> &Arc<SleepsFor> {
        &self.waits_for
    }

    /// The members, in the order of jobs.
    pub fn members(&self) -> &VecDeque<JobIx> {
        &self.members
    }

    /// The widest domains one of which has to hold the pods, each with how many places there are at most.
    /// `None`: places anywhere will do.
    pub fn widest_domains(&self) -> Option<&[(DomainIx, u64)]> {
        self.keeps_to_domains().then_some(&self.widest)
    }

    fn keeps_to_domains(&self) -> bool {
        let domains = self.places().and_then(|places| places.domains.as_ref());
        domains.is_some_and(|domains| domains.is_empty() || !self.widest.is_empty())
    }

    fn places(&self) -> Option<&WantedPlaces> {
        match &*self.waits_for {
            SleepsFor::Places(places) => Some(places),
            SleepsFor::Admission(..) => None,
        }
    }

    /// There may be more places in a domain; how many there may be now.
    fn gain(&mut self, domain: DomainIx, more: u64) -> u64 {
        let at = self
            .widest
            .binary_search_by_key(&domain, |(known, _)| *known);
        at.map_or(0, |at| {
            let most = &mut self.widest[at].1;
            *most = most.saturating_add(more);
            *most
        })
    }

    /// How many places there are in its domains is not known any more; whether it has some.
    fn forget_places(&mut self) -> bool {
        let all = self.widest.iter_mut();
        all.for_each(|(_, most)| *most = u64::MAX);
        !self.widest.is_empty()
    }
}

/// Those of some domains that are in no other of them, none of whose places are known; none if the
/// cluster is among them.
fn widest(network: &NetworkTree, domains: &[DomainIx]) -> Vec<(DomainIx, u64)> {
    if domains.contains(&network.cluster()) {
        return Vec::new();
    }
    let is_outer = |inner: DomainIx, outer: DomainIx| {
        // Of two with the same nodes the first one stands for both.
        let is_same = network.is_within(outer, inner);
        outer != inner && network.is_within(inner, outer) && (!is_same || outer < inner)
    };
    let is_inside = |inner: DomainIx| {
        let mut others = network.around(inner).iter();
        others.any(|outer| is_outer(inner, *outer) && domains.binary_search(outer).is_ok())
    };
    let widest = domains.iter().filter(|domain| !is_inside(**domain));
    widest.map(|domain| (*domain, u64::MAX)).collect()
}

/// All groups.
#[derive(Debug, Default)]
pub struct SleepGroups {
    /// Free ones have no members.
    all: Vec<SleepGroup>,
    free: Vec<SleepGroupIx>,
    by_what: FxHashMap<Arc<SleepsFor>, SleepGroupIx>,
    /// Free ones have no groups.
    classes: Vec<WaitingClass>,
    free_classes: Vec<PodClassIx>,
    by_class: FxHashMap<PodClass, PodClassIx>,
    /// Groups that wait for places and are not certain to get none.
    open: BTreeSet<SleepGroupIx>,
    admissions: BTreeSet<SleepGroupIx>,
    /// Groups that wait for places in a domain of the network.
    by_domain: FxHashMap<DomainIx, Vec<SleepGroupIx>>,
}

impl SleepGroups {
    /// A group.
    pub fn get(&self, ix: SleepGroupIx) -> &SleepGroup {
        &self.all[ix.0 as usize]
    }

    /// Groups that wait for admission.
    pub fn admissions(&self) -> Vec<SleepGroupIx> {
        self.admissions.iter().copied().collect()
    }

    /// Groups that wait for places and are not certain to get none in this cycle.
    pub fn open(&self) -> Vec<SleepGroupIx> {
        self.open.iter().copied().collect()
    }

    /// Queues in which groups wait for places for pods that request something (`best_effort`: nothing).
    pub fn queues(&self, best_effort: bool) -> BTreeSet<QueueIx> {
        let groups = self.all.iter().filter(|group| !group.members.is_empty());
        let places = groups.filter_map(SleepGroup::places);
        let wanted = |places: &&WantedPlaces| match best_effort {
            true => places.best_effort,
            false => places.requests,
        };
        places.filter(wanted).map(|places| places.queue).collect()
    }

    /// It is certain that a group gets nothing before something leaves a node. What else it was told
    /// is asked again in the next cycle.
    pub fn close(&mut self, ix: SleepGroupIx) {
        let told = self.get(ix).places().map(|places| places.told);
        if told == Some(SleepReason::NoPlace) {
            self.open.remove(&ix);
        }
    }

    /// What pods of a class have in common.
    pub fn class(&self, ix: PodClassIx) -> &PodClass {
        &self.classes[ix.0 as usize].is
    }

    /// The most places there are for a class, and whether they were counted at this end of the touch
    /// log; `None`: not known.
    pub fn most_places(&self, ix: PodClassIx, cursor: u64) -> Option<(u64, bool)> {
        let class = &self.classes[ix.0 as usize];
        class.most.map(|most| (most, class.counted_at == cursor))
    }

    /// Places were counted.
    pub fn set_places(&mut self, ix: PodClassIx, places: u64, spans_nodes: bool, cursor: u64) {
        let class = &mut self.classes[ix.0 as usize];
        class.most = Some(places);
        class.counted_at = cursor;
        class.spans_nodes = spans_nodes;
    }

    /// Places for the pods of a group were counted in the widest domain at this place of its list.
    pub fn set_places_in_domain(&mut self, ix: SleepGroupIx, at: usize, places: u64) {
        self.all[ix.0 as usize].widest[at].1 = places;
    }

    /// Whether a pod that leaves one node may make room for a class on others.
    pub fn set_spans_nodes(&mut self, ix: PodClassIx, spans_nodes: bool) {
        self.classes[ix.0 as usize].spans_nodes = spans_nodes;
    }

    /// The number of a class of pods. Whoever asks joins a group that waits with it.
    pub fn class_ix(&mut self, state: &State, is: PodClass) -> PodClassIx {
        if let Some(known) = self.by_class.get(&is) {
            return *known;
        }
        let request = &state.ground().shapes().get(is.0.shape).request;
        let class = WaitingClass {
            is: is.clone(),
            request: request.iter().filter(|(_, amount)| *amount > 0).collect(),
            most: None,
            counted_at: 0,
            spans_nodes: false,
            groups: Vec::new(),
            in_domains: Vec::new(),
        };
        let ix = match self.free_classes.pop() {
            Some(ix) => {
                self.classes[ix.0 as usize] = class;
                ix
            }
            None => {
                self.classes.push(class);
                PodClassIx(self.classes.len() as u32 - 1)
            }
        };
        self.by_class.insert(is, ix);
        ix
    }

    /// A cycle begins: takes touched nodes into account.
    pub(super) fn look_at(&mut self, state: &State, touched: &TouchedNodes) {
        for at in 0..self.classes.len() {
            if !self.classes[at].groups.is_empty()
                && self.classes[at].look_at(state.nodes(), touched)
            {
                for group in std::mem::take(&mut self.classes[at].groups) {
                    if self.may_get(group) {
                        self.open.insert(group);
                    }
                    self.classes[at].groups.push(group);
                }
            }
        }
        match touched {
            TouchedNodes::Any => self.look_at_all_domains(|_| true),
            TouchedNodes::Some(nodes) if nodes.is_empty() => {}
            TouchedNodes::Some(nodes) => {
                self.look_at_all_domains(|class| class.spans_nodes);
                self.look_at_domains_of(state, nodes);
            }
        }
    }

    /// Looks again at groups that wait for places in some domains, and with some classes: there may be
    /// more in each.
    fn look_at_all_domains(&mut self, concerns: impl Fn(&WaitingClass) -> bool) {
        for class in self.classes.iter().filter(|class| concerns(class)) {
            for group in &class.in_domains {
                if self.all[group.0 as usize].forget_places() {
                    self.open.insert(*group);
                }
            }
        }
    }

    /// Looks again at groups that wait for places in the domains of some nodes. Whoever is certain to
    /// get none has too few in each domain, so only those have to be looked at.
    fn look_at_domains_of(&mut self, state: &State, nodes: &[NodeIx]) {
        for node in nodes {
            let network = state.ground().network();
            let named = network.labels_of_node(*node);
            for domain in network.of_node(*node).iter().chain(named) {
                for ix in self.by_domain.get(domain).into_iter().flatten() {
                    let group = &mut self.all[ix.0 as usize];
                    let waits_for = group.waits_for.clone();
                    let SleepsFor::Places(places) = &*waits_for else {
                        continue;
                    };
                    let pods = places.pods.iter();
                    let classes = pods.map(|(class, _)| &self.classes[class.0 as usize]);
                    let more = classes.map(|class| class.on_node(state.nodes(), *node));
                    let more = more.fold(0, u64::saturating_add);
                    if more > 0 && group.gain(*domain, more) >= u64::from(places.need) {
                        self.open.insert(*ix);
                    }
                }
            }
        }
    }

    /// Whether there may be places enough, wherever that is and queues aside.
    fn may_get(&self, ix: SleepGroupIx) -> bool {
        let group = self.get(ix);
        let Some(places) = group.places().filter(|_| !group.keeps_to_domains()) else {
            return false;
        };
        let at_most = |(class, count): &(PodClassIx, u32)| {
            let most = self.classes[class.0 as usize].most.unwrap_or(u64::MAX);
            most.min(u64::from(*count))
        };
        let all: u64 = places.pods.iter().map(at_most).sum();
        all >= u64::from(places.need)
    }

    /// A job joins those who wait for the same.
    pub(super) fn join(
        &mut self,
        network: &NetworkTree,
        what: SleepsFor,
        job: JobIx,
        order: impl Fn(JobIx, JobIx) -> Ordering,
    ) -> SleepGroupIx {
        let ix = match self.by_what.get(&what) {
            Some(known) => *known,
            None => self.begin(network, Arc::new(what)),
        };
        let members = &mut self.all[ix.0 as usize].members;
        let at = members.partition_point(|member| order(*member, job).is_lt());
        members.insert(at, job);
        ix
    }

    fn begin(&mut self, network: &NetworkTree, waits_for: Arc<SleepsFor>) -> SleepGroupIx {
        let mut group = SleepGroup {
            waits_for: waits_for.clone(),
            members: VecDeque::new(),
            widest: Vec::new(),
        };
        let domains = group.places().and_then(|places| places.domains.clone());
        group.widest = domains.map_or_else(Vec::new, |domains| widest(network, &domains));
        let keeps_to_domains = group.keeps_to_domains();
        let ix = match self.free.pop() {
            Some(ix) => {
                self.all[ix.0 as usize] = group;
                ix
            }
            None => {
                self.all.push(group);
                SleepGroupIx(self.all.len() as u32 - 1)
            }
        };
        match &*waits_for {
            SleepsFor::Admission(..) => {
                self.admissions.insert(ix);
            }
            SleepsFor::Places(places) => {
                self.open.insert(ix);
                for (domain, _) in &self.all[ix.0 as usize].widest {
                    self.by_domain.entry(*domain).or_default().push(ix);
                }
                for (class, _) in &places.pods {
                    let class = &mut self.classes[class.0 as usize];
                    class.groups(keeps_to_domains).push(ix);
                }
            }
        }
        self.by_what.insert(waits_for, ix);
        ix
    }

    /// A member leaves.
    pub(super) fn leave(&mut self, ix: SleepGroupIx, job: JobIx) {
        let group = &mut self.all[ix.0 as usize];
        if let Some(at) = group.members.iter().position(|member| *member == job) {
            group.members.remove(at);
        }
        if group.members.is_empty() {
            let waits_for = group.waits_for.clone();
            self.end(ix, &waits_for);
        }
    }

    fn end(&mut self, ix: SleepGroupIx, waits_for: &SleepsFor) {
        self.by_what.remove(waits_for);
        self.open.remove(&ix);
        self.admissions.remove(&ix);
        self.free.push(ix);
        let SleepsFor::Places(places) = waits_for else {
            return;
        };
        let group = &mut self.all[ix.0 as usize];
        let keeps_to_domains = group.keeps_to_domains();
        for (domain, _) in std::mem::take(&mut group.widest) {
            if let Some(groups) = self.by_domain.get_mut(&domain) {
                groups.retain(|listed| *listed != ix);
                if groups.is_empty() {
                    self.by_domain.remove(&domain);
                }
            }
        }
        for (class_ix, _) in &places.pods {
            let class = &mut self.classes[class_ix.0 as usize];
            class.groups(keeps_to_domains).retain(|group| *group != ix);
            if class.groups.is_empty() {
                // Nobody counts along any more.
                class.most = None;
            }
            if class.is_unused() {
                self.by_class.remove(&class.is);
                self.free_classes.push(*class_ix);
            }
        }
    }
}
