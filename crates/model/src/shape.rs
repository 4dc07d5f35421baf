//! Pod shapes: pods made from one template share one entry for everything that decides where they
//! may go, so a class of equal pods is one number.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::ix::{RulesIx, ShapeIx};
use crate::object::{
    Amounts, HostPort, NodeTerm, Pairs, PodObject, PodTerm, SpreadConstraint, Toleration,
};
use crate::resource::{NOBODYS, ResIx, ResVec, ResourceNames};

/// The part of a shape that does not depend on amounts: which nodes, which neighbours.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rules {
    /// `spec.nodeSelector`.
    pub node_selector: Pairs,
    /// Required node affinity.
    pub node_affinity: Option<Vec<NodeTerm>>,
    /// Preferred node affinity.
    pub preferred_node_affinity: Vec<(i32, NodeTerm)>,
    /// Taints that pods of the shape tolerate.
    pub tolerations: Vec<Toleration>,
    /// Images, sorted.
    pub images: Vec<String>,
    /// Number of init and regular containers.
    pub container_count: u32,
    /// Required pod affinity.
    pub affinity: Vec<PodTerm>,
    /// Required pod anti-affinity.
    pub anti_affinity: Vec<PodTerm>,
    /// Preferred pod affinity.
    pub preferred_affinity: Vec<(i32, PodTerm)>,
    /// Preferred pod anti-affinity.
    pub preferred_anti_affinity: Vec<(i32, PodTerm)>,
    /// Topology spread constraints.
    pub spread: Vec<SpreadConstraint>,
}

impl Rules {
    /// Whether other pods have a say in the placement (or this pod in theirs).
    pub fn looks_at_pods(&self) -> bool {
        !(self.affinity.is_empty()
            && self.anti_affinity.is_empty()
            && self.preferred_affinity.is_empty()
            && self.preferred_anti_affinity.is_empty()
            && self.spread.is_empty())
    }

    /// How many single tests they are made of.
    pub fn size(&self) -> usize {
        let required = self.node_affinity.iter().flatten();
        let preferred = self.preferred_node_affinity.iter().map(|(_, term)| term);
        let expressions = required
            .chain(preferred)
            .map(|term| 1 + term.expressions.len() + term.fields.len());
        self.node_selector.len()
            + expressions.sum::<usize>()
            + self.tolerations.len()
            + self.affinity.len()
            + self.anti_affinity.len()
            + self.preferred_affinity.len()
            + self.preferred_anti_affinity.len()
            + self.spread.len()
    }

    fn of(pod: &PodObject) -> Self {
        Self {
            node_selector: pod.node_selector.clone(),
            node_affinity: pod.node_affinity.clone(),
            preferred_node_affinity: pod.preferred_node_affinity.clone(),
            tolerations: pod.tolerations.clone(),
            images: pod.images.clone(),
            container_count: pod.container_count,
            affinity: pod.affinity.clone(),
            anti_affinity: pod.anti_affinity.clone(),
            preferred_affinity: pod.preferred_affinity.clone(),
            preferred_anti_affinity: pod.preferred_anti_affinity.clone(),
            spread: pod.spread.clone(),
        }
    }
}

/// Everything of a pod that decides about its placement, besides its labels and namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Request in stored units, `pods` = 1 included.
    pub request: ResVec,
    /// cpu in milli-cores with defaults for containers without a request.
    pub nonzero_cpu_milli: i64,
    /// memory in bytes with defaults for containers without a request.
    pub nonzero_memory_bytes: i64,
    /// cpu in milli-cores by which limits are above requests.
    pub burst_cpu_milli: i64,
    /// memory in bytes by which limits are above requests.
    pub burst_memory_bytes: i64,
    /// Host ports.
    pub ports: Vec<HostPort>,
    /// Which nodes and neighbours the pod may have.
    pub rules: RulesIx,
    /// Amounts of the request that are not counted.
    pub uncounted: Amounts,
    /// Amounts of the request that nobody offers: the request has [`NOBODYS`] for them.
    pub unoffered: Amounts,
}

impl Shape {
    /// What the request counts, each by its own name: dimensions in reporting order, and those that nobody offers
    /// last, as [`NOBODYS`].
    pub fn asked<'a>(
        &'a self,
        resources: &'a ResourceNames,
    ) -> impl Iterator<Item = (ResIx, &'a str, i64)> {
        let counted = resources.in_order().iter().filter(|ix| **ix != NOBODYS);
        let offered = counted.map(|ix| (*ix, resources.name(*ix), self.request.get(*ix)));
        let offered = offered.filter(|(_, _, amount)| *amount != 0);
        let unoffered = self.unoffered.iter();
        offered.chain(unoffered.map(|(name, amount)| (NOBODYS, name.as_str(), *amount)))
    }

    /// Whether it asks for one of some resources, as an extender counts: also for those that do not count
    /// here.
    pub fn asks_for_any(&self, resources: &ResourceNames, names: &[String]) -> bool {
        let asks = |name: &String| self.amount_of(resources, name) > 0;
        names.iter().any(asks)
    }

    /// How much is asked of a resource, whether it counts or not.
    pub fn amount_of(&self, resources: &ResourceNames, name: &str) -> i64 {
        let counted = resources.offered(name);
        let counted = counted.map_or(0, |ix| self.request.get(ix));
        let mut others = self.uncounted.iter().chain(&self.unoffered);
        let other = others.find(|(other, _)| other == name);
        counted.saturating_add(other.map_or(0, |(_, amount)| *amount))
    }
}

#[derive(Clone)]
struct Counted<T> {
    value: Arc<T>,
    uses: u32,
    serial: u64,
}

/// An interner with use counts: an entry without users makes room for the next one.
#[derive(Clone)]
pub(crate) struct Pool<T> {
    entries: Vec<Counted<T>>,
    index: FxHashMap<Arc<T>, u32>,
    free: Vec<u32>,
    next_serial: u64,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            index: FxHashMap::default(),
            free: Vec::new(),
            next_serial: 0,
        }
    }
}

impl<T: std::hash::Hash + Eq> Pool<T> {
    /// Index of an equal entry; true when it is new.
    pub(crate) fn acquire(&mut self, value: T) -> (u32, bool) {
        if let Some(&at) = self.index.get(&value) {
            self.entries[at as usize].uses += 1;
            return (at, false);
        }
        let value = Arc::new(value);
        self.next_serial += 1;
        let counted = Counted {
            value: value.clone(),
            uses: 1,
            serial: self.next_serial,
        };
        let at = if let Some(at) = self.free.pop() {
            self.entries[at as usize] = counted;
            at
        } else {
            self.entries.push(counted);
            (self.entries.len() - 1) as u32
        };
        self.index.insert(value, at);
        (at, true)
    }

    /// Gives one use back; true when it was the last.
    pub(crate) fn release(&mut self, at: u32) -> bool {
        let entry = &mut self.entries[at as usize];
        entry.uses -= 1;
        if entry.uses > 0 {
            return false;
        }
        let value = entry.value.clone();
        self.index.remove(&value);
        self.free.push(at);
        true
    }

    /// Drops what entries without users were.
    pub(crate) fn forget_released(&mut self)
    where
        T: Default,
    {
        let nothing = Arc::default();
        for &at in &self.free {
            self.entries[at as usize].value = Arc::clone(&nothing);
        }
        self.index.shrink_to(2 * self.index.len());
    }

    /// An entry in use.
    pub(crate) fn get(&self, at: u32) -> &Arc<T> {
        &self.entries[at as usize].value
    }

    /// Users of an entry.
    pub(crate) fn uses(&self, at: u32) -> u32 {
        self.entries[at as usize].uses
    }

    /// Serials of the entries in use.
    pub(crate) fn serials_in_use(&self) -> impl Iterator<Item = u64> {
        let used = self.entries.iter().filter(|entry| entry.uses > 0);
        used.map(|entry| entry.serial)
    }

    /// A number no other entry has or had.
    pub(crate) fn serial(&self, at: u32) -> u64 {
        self.entries[at as usize].serial
    }
}

/// All shapes in use.
#[derive(Clone, Default)]
pub struct Shapes {
    shapes: Pool<Shape>,
    rules: Pool<Rules>,
    uncounted: Vec<String>,
}

/// What [`Shapes::acquire`] found.
pub struct Acquired {
    /// Index of the shape, found or made.
    pub shape: ShapeIx,
    /// Rules nobody had before, if so.
    pub new_rules: Option<RulesIx>,
}

impl Shapes {
    /// Interns the shape of a pod and counts one use of it.
    pub fn acquire(&mut self, pod: &PodObject, resources: &ResourceNames) -> Acquired {
        let (rules, rules_new) = self.rules.acquire(Rules::of(pod));
        let hidden = |(name, _): &&(String, i64)| self.uncounted.contains(name);
        let uncounted: Amounts = pod.request.iter().filter(hidden).cloned().collect();
        let (request, unoffered) = self.counted(resources, &pod.request);
        let shape = Shape {
            request,
            uncounted,
            unoffered,
            nonzero_cpu_milli: pod.nonzero_cpu_milli,
            nonzero_memory_bytes: pod.nonzero_memory_bytes,
            burst_cpu_milli: pod.burst_cpu_milli,
            burst_memory_bytes: pod.burst_memory_bytes,
            ports: pod.host_ports.clone(),
            rules: RulesIx(rules),
        };
        let (at, shape_new) = self.shapes.acquire(shape);
        if !shape_new {
            // The shape already holds its use of the rules.
            self.rules.release(rules);
        }
        Acquired {
            shape: ShapeIx(at),
            new_rules: rules_new.then_some(RulesIx(rules)),
        }
    }

    /// Amounts as a vector, without those that are not counted, and of it what nobody offers.
    pub(crate) fn counted(
        &self,
        resources: &ResourceNames,
        amounts: &Amounts,
    ) -> (ResVec, Amounts) {
        let counts = |(name, _): &&(String, i64)| !self.uncounted.contains(name);
        resources.asked(amounts.iter().filter(counts))
    }

    /// Resources that shapes acquired from now on do not count; true when that is a change.
    pub(crate) fn leave_out(&mut self, names: Vec<String>) -> bool {
        let changed = self.uncounted != names;
        self.uncounted = names;
        changed
    }

    /// Gives one use back. The rules nobody has any more, if so.
    pub fn release(&mut self, shape: ShapeIx) -> Option<RulesIx> {
        let rules = self.get(shape).rules;
        let last = self.shapes.release(shape.0) && self.rules.release(rules.0);
        last.then_some(rules)
    }

    /// Drops what shapes and rules were that nobody has any more; until others take their places they are kept.
    pub(crate) fn forget_released(&mut self) {
        self.shapes.forget_released();
        self.rules.forget_released();
    }

    /// Rules that some shape in use has.
    pub fn rules_in_use(&self) -> impl Iterator<Item = &Rules> {
        let used = self.rules.entries.iter().filter(|rules| rules.uses > 0);
        used.map(|rules| rules.value.as_ref())
    }

    /// Serials of the shapes in use.
    pub fn serials_in_use(&self) -> impl Iterator<Item = u64> {
        self.shapes.serials_in_use()
    }

    /// Number of shapes, and of rules, that are kept.
    pub fn counts(&self) -> (usize, usize) {
        (self.shapes.entries.len(), self.rules.entries.len())
    }

    /// A shape in use.
    pub fn get(&self, shape: ShapeIx) -> &Shape {
        self.shapes.get(shape.0)
    }

    /// A shape in use, shared.
    pub fn share(&self, shape: ShapeIx) -> Arc<Shape> {
        self.shapes.get(shape.0).clone()
    }

    /// Rules in use.
    pub fn rules(&self, rules: RulesIx) -> &Arc<Rules> {
        self.rules.get(rules.0)
    }

    /// Number of tasks that have a shape.
    pub fn uses(&self, shape: ShapeIx) -> u32 {
        self.shapes.uses(shape.0)
    }

    /// A number no other shape has or had: indices are reused, serials are not.
    pub fn serial(&self, shape: ShapeIx) -> u64 {
        self.shapes.serial(shape.0)
    }

    /// A number no other rules have or had.
    pub fn rules_serial(&self, rules: RulesIx) -> u64 {
        self.rules.serial(rules.0)
    }
}
