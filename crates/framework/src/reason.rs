//! Why a task does not fit a node: interned reasons, sets of reasons, and their counts over nodes.

use std::sync::Arc;

use pumice_model::resource::NOBODYS;
use pumice_model::{NodeIx, ResIx, ResourceNames};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::obstacles::Obstacles;

/// What would have to change for the reason to go away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReasonKind {
    /// Evicting pods from the node could help.
    Unschedulable,
    /// Evicting pods cannot help.
    Unresolvable,
}

/// Dense index of a [`Reason`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReasonId(pub u16);

/// Dense index of a set of reasons a node can have at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SetId(pub u16);

/// Most reasons, and most sets of them, told apart.
const MAX: usize = 60_000;

/// Most reasons in the words of somebody outside.
const MAX_TOLD: usize = 500;

/// One reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Text in Volcano's wording (spec/02 §6.7).
    pub text: String,
    /// Which kind of reason it is: whether evictions could help follows from that.
    pub kind: ReasonKind,
}

/// All reasons of a configuration. Reasons are few: they depend on plugins and resource names, not
/// on nodes or pods.
#[derive(Clone, Debug, Default)]
pub struct ReasonTable {
    reasons: Vec<Reason>,
    by_text: FxHashMap<(String, ReasonKind), ReasonId>,
    sets: Vec<SmallVec<[ReasonId; 2]>>,
    by_set: FxHashMap<SmallVec<[ReasonId; 2]>, SetId>,
    insufficient: Vec<Option<ReasonId>>,
    /// Number of reasons in the words of somebody outside.
    told: usize,
}

impl ReasonTable {
    /// Interns a reason. One text may be two reasons of different kinds.
    pub fn intern(&mut self, text: &str, kind: ReasonKind) -> ReasonId {
        let key = (text.to_owned(), kind);
        if let Some(&id) = self.by_text.get(&key) {
            return id;
        }
        if self.reasons.len() >= MAX {
            // Beyond any cluster: further reasons are told as the last one.
            return ReasonId((MAX - 1) as u16);
        }
        let id = ReasonId(self.reasons.len() as u16);
        self.reasons.push(Reason {
            text: text.to_owned(),
            kind,
        });
        self.by_text.insert(key, id);
        id
    }

    /// Interns a reason in the words of somebody outside. A bounded number of them are told apart;
    /// `otherwise` is for what is more.
    pub fn intern_told(&mut self, text: &str, kind: ReasonKind, otherwise: ReasonId) -> ReasonId {
        let is_known = self.by_text.contains_key(&(text.to_owned(), kind));
        if !is_known && self.told >= MAX_TOLD {
            return otherwise;
        }
        self.told += usize::from(!is_known);
        self.intern(text, kind)
    }

    /// `Insufficient <resource>`.
    pub fn insufficient(&mut self, resources: &ResourceNames, ix: ResIx) -> ReasonId {
        let at = ix.0 as usize;
        if self.insufficient.len() <= at {
            self.insufficient.resize(at + 1, None);
        }
        if let Some(id) = self.insufficient[at] {
            return id;
        }
        let text = format!("Insufficient {}", resources.name(ix));
        let id = self.intern(&text, ReasonKind::Unschedulable);
        self.insufficient[at] = Some(id);
        id
    }

    /// Interns a set of reasons, in the order they were found.
    pub fn set(&mut self, reasons: &[ReasonId]) -> SetId {
        let key: SmallVec<[ReasonId; 2]> = reasons.into();
        if let Some(&id) = self.by_set.get(&key) {
            return id;
        }
        if self.sets.len() >= MAX {
            return SetId((MAX - 1) as u16);
        }
        let id = SetId(self.sets.len() as u16);
        self.sets.push(key.clone());
        self.by_set.insert(key, id);
        id
    }

    /// The reason with this number.
    pub fn reason(&self, id: ReasonId) -> &Reason {
        &self.reasons[id.0 as usize]
    }

    /// The reasons of a set.
    pub fn members(&self, id: SetId) -> &[ReasonId] {
        &self.sets[id.0 as usize]
    }

    /// Whether a set is the lack of one resource: no plugin was asked about such a node.
    pub fn is_shortage(&self, id: SetId) -> bool {
        let [only] = self.members(id) else {
            return false;
        };
        self.insufficient.contains(&Some(*only))
    }

    /// Whether evictions could help against all of some reasons.
    pub fn evictions_can_help(&self, reasons: &[ReasonId]) -> bool {
        let mut kinds = reasons.iter().map(|reason| self.reason(*reason).kind);
        kinds.all(|kind| kind == ReasonKind::Unschedulable)
    }

    /// Whether some member of a set cannot be helped by evictions.
    pub fn is_unresolvable(&self, id: SetId) -> bool {
        self.members(id)
            .iter()
            .any(|r| self.reason(*r).kind == ReasonKind::Unresolvable)
    }
}

/// A resource of which a node has too little left; amounts in stored units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shortage {
    /// Resource of which too little is left.
    pub resource: ResIx,
    /// Amount that the pod asks.
    pub asked: i64,
    /// Missing, counting what is being released.
    pub short: i64,
    /// What the node has in all.
    pub total: i64,
}

/// The node that comes closest: it lacks least of what is asked, and could have it, if there is
/// such a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearestMiss {
    /// The node; the first by name among equals.
    pub node: NodeIx,
    /// What it lacks.
    pub short: Vec<Shortage>,
    /// What its devices lack, or its NUMA nodes, in words.
    pub words: Option<Box<str>>,
}

/// What there is to say where there is no node.
pub const NO_NODES: &str = "0/0 nodes are unavailable: there are no nodes.";

/// Why a task found no node: reasons with the number of nodes that have them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FitError {
    /// Number of nodes looked at.
    pub nodes: u32,
    /// Sets of reasons and how many nodes have exactly that set.
    pub counts: Vec<(SetId, u32)>,
    /// A reason that holds for every node before looking at any.
    pub everywhere: Option<Box<str>>,
    /// The nearest miss among nodes that only lack resources, devices or CPUs of a NUMA node.
    pub nearest: Option<NearestMiss>,
    /// No node has room for it, even if all were idle.
    pub never: bool,
    /// What stood against each device for its claims while others of its job had theirs, which are given
    /// back by now; absent where none had.
    pub claims: Option<Box<str>>,
    /// What keeps it from nodes that would do, where no node only lacks room.
    pub obstacles: Option<Arc<Obstacles>>,
}

impl FitError {
    /// Nodes per reason, ordered by the text `<count> <reason>` as Volcano prints it. `strange` is what the task
    /// calls the resource that nobody offers, if it asks for such.
    fn histogram(&self, table: &ReasonTable, strange: &str) -> Vec<String> {
        let insufficient = format!("Insufficient {strange}");
        let of_nobody = table
            .insufficient
            .get(NOBODYS.0 as usize)
            .copied()
            .flatten();
        let mut by_text: Vec<(&str, u32)> = Vec::new();
        for (set, count) in &self.counts {
            for reason in table.members(*set) {
                let text = match of_nobody == Some(*reason) {
                    true => insufficient.as_str(),
                    false => table.reason(*reason).text.as_str(),
                };
                match by_text.iter_mut().find(|(known, _)| *known == text) {
                    Some((_, total)) => *total += count,
                    None => by_text.push((text, *count)),
                }
            }
        }
        let mut lines: Vec<String> = by_text
            .iter()
            .map(|(text, count)| format!("{count} {text}"))
            .collect();
        if let Some(text) = &self.everywhere {
            lines.push(format!("{} {text}", self.nodes));
        }
        lines.sort();
        lines
    }

    /// `0/<nodes> nodes are unavailable: <count> <reason>, ….` (spec/01 §4.4). `strange` is what the task calls the
    /// resource that nobody offers, if it asks for such.
    pub fn text(&self, table: &ReasonTable, strange: &str) -> String {
        if self.nodes == 0 {
            return NO_NODES.to_owned();
        }
        let reasons = self.histogram(table, strange).join(", ");
        format!("0/{} nodes are unavailable: {reasons}.", self.nodes)
    }
}
