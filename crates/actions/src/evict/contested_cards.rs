//! Who is on the cards of a node, and why nobody on them makes enough room for a pod.

use pumice_devices::{DeviceRequest, LedgerTime, NodeCards};
use pumice_framework::points::Purpose;
use pumice_framework::{ContestedCard, ContestedCards, Keeper, Session, Unplaced};
use pumice_model::resource::display_amount;
use pumice_model::{DeviceRequestIx, NodeIx, State, TaskIx, TaskStatus};
use rustc_hash::FxHashSet;

use super::candidates::{self, Scope};
use super::seniority::Seniority;
use super::victim_sets::Preemptor;

/// So many cards of a node are told of.
const MAX_CARDS: usize = 8;
/// So many pods of a card are.
const MAX_PODS: usize = 3;
/// So many nodes with cards are looked at for the one that has the most victims.
const MAX_NODES: usize = 32;

/// The cards of the node that comes nearest for a pod for which nobody goes; none where the pod asks for
/// no cards, or no node has such.
pub fn contested_cards(
    session: &mut Session,
    scope: &Scope,
    preemptor: &Preemptor,
    nearest: Option<NodeIx>,
) -> Option<Box<ContestedCards>> {
    let demand = session.state.task(preemptor.task).demand;
    if demand == DeviceRequestIx::NONE {
        return None;
    }
    let request = session.state.supplies().devices().demand(demand).clone();
    let (node, may_go) = nearest_node(session, scope, preemptor, (&request, nearest))?;
    let start = session.checkpoint();
    let gains = session.gains();
    for victim in &may_go.allowed {
        session.evict(*victim, preemptor.reason, preemptor.job);
    }
    let missing = still_missing(session.state, preemptor.task, &request, node);
    session.undo_tries_to(start);
    session.forget_gains_since(gains);
    let state = &*session.state;
    let families = state.nodes().devices[node.at()].families();
    let asked = families.filter(|(family, _)| request.part(*family).is_some());
    let mut contested = ContestedCards {
        node: state.nodes().object(node).name.clone(),
        missing,
        ..ContestedCards::default()
    };
    for (_, all) in asked {
        for at in 0..all.cards.len() {
            let holders = holders(all, at);
            if holders.is_empty() {
                continue;
            }
            if contested.cards.len() == MAX_CARDS {
                contested.more += 1;
                continue;
            }
            let told = holders.iter().take(MAX_PODS).map(|task| {
                let keeper = (!may_go.allowed.contains(task))
                    .then(|| keeper(session, scope, preemptor, *task, &may_go.candidates));
                (state.population().task_key(*task), keeper)
            });
            contested.cards.push(ContestedCard {
                card: all.card_name(at),
                pods: told.collect(),
                more: holders.len().saturating_sub(MAX_PODS),
            });
        }
    }
    Some(Box::new(contested))
}

/// Pods of a node that could go, and those of them that may.
struct NodeVictims {
    candidates: Vec<TaskIx>,
    allowed: FxHashSet<TaskIx>,
}

/// The node that was told to be the nearest miss, if it has such cards; otherwise one of the first that
/// have, the one on which the most may go.
fn nearest_node(
    session: &Session,
    scope: &Scope,
    preemptor: &Preemptor,
    (request, nearest): (&DeviceRequest, Option<NodeIx>),
) -> Option<(NodeIx, NodeVictims)> {
    let nodes = session.state.nodes();
    let has_cards = |node: &NodeIx| {
        let mut families = nodes.devices[node.at()].families();
        families.any(|(family, all)| request.part(family).is_some() && !all.cards.is_empty())
    };
    let note = session.notes.get(&preemptor.job);
    let told = note.into_iter().flat_map(|note| &note.unplaced);
    let told = told.filter_map(|(_, why)| match why {
        Unplaced::NoNode(error) => Some(error.nearest.as_ref()?.node),
        Unplaced::RoleFailed | Unplaced::NoDomain(_) | Unplaced::Kept(_) => None,
    });
    if let Some(node) = told.chain(nearest).find(has_cards) {
        return Some((node, node_victims(session, scope, preemptor, node)));
    }
    let first = nodes.indices().filter(has_cards).take(MAX_NODES);
    let mut best: Option<(NodeIx, NodeVictims)> = None;
    for node in first {
        let there = node_victims(session, scope, preemptor, node);
        let most = best.as_ref().map(|(_, best)| best.allowed.len());
        if most.is_none_or(|most| there.allowed.len() > most) {
            best = Some((node, there));
        }
    }
    best
}

fn node_victims(
    session: &Session,
    scope: &Scope,
    preemptor: &Preemptor,
    node: NodeIx,
) -> NodeVictims {
    let (state, plugins) = (&*session.state, &*session.plugins);
    let mut there = candidates::unmarked(session, &mut Seniority::default(), scope, node);
    let is_own = |task: TaskIx| state.task(task).job == Some(preemptor.job);
    there.retain(|victim| scope.purpose == Purpose::WithinJob || !is_own(victim.task));
    candidates::sort(state, &mut there);
    let candidates: Vec<TaskIx> = there.iter().map(|victim| victim.task).collect();
    let allowed = plugins
        .evictions()
        .victims(state, scope.purpose, preemptor.task, &candidates);
    NodeVictims {
        candidates,
        allowed: allowed.into_iter().collect(),
    }
}

/// What a node lacks once all that is being released is gone.
fn still_missing(state: &State, task: TaskIx, request: &DeviceRequest, node: NodeIx) -> String {
    let nodes = state.nodes();
    let name = &nodes.object(node).name;
    let devices = &nodes.devices[node.at()];
    if let Some(miss) = request.explain(name, devices, LedgerTime::Future) {
        return miss.text;
    }
    let asked = state.shape(task).asked(state.resources());
    let short = asked.filter_map(|(resource, name, amount)| {
        let missing = amount.saturating_sub(nodes.future_idle(resource, node));
        (amount > 0 && missing > 0).then(|| format!("{name} {}", display_amount(name, missing)))
    });
    short.collect::<Vec<_>>().join(", ")
}

/// Pods on a card, by number.
fn holders(all: &NodeCards, card: usize) -> Vec<TaskIx> {
    let entries = all.entries(LedgerTime::Now);
    let there = entries.filter(|entry| entry.card as usize == card && !entry.is_empty());
    let mut pods: Vec<TaskIx> = there.map(|entry| TaskIx(entry.pod)).collect();
    pods.sort_unstable();
    pods.dedup();
    pods
}

/// Why a pod stays, which is none of those that may go.
fn keeper(
    session: &Session,
    scope: &Scope,
    preemptor: &Preemptor,
    ix: TaskIx,
    candidates: &[TaskIx],
) -> Keeper {
    let (state, plugins) = (&*session.state, &*session.plugins);
    let task = state.task(ix);
    if task.job == Some(preemptor.job) && scope.purpose != Purpose::WithinJob {
        return Keeper::OwnJob;
    }
    if task.status == TaskStatus::Releasing {
        return Keeper::Going;
    }
    if !scope.reaches(state, ix) {
        return Keeper::OutOfReach;
    }
    if scope.is_kept_by_mark(session, ix) {
        return Keeper::Mark;
    }
    if state.population().holds().spared(ix).is_some() {
        return Keeper::Refused;
    }
    if !scope.is_lower(state, preemptor.task, ix) {
        return Keeper::NotLower;
    }
    let mut kept = FxHashSet::from_iter([ix]);
    let (purpose, task) = (scope.purpose, preemptor.task);
    let by =
        plugins
            .evictions()
            .kept_by_plugin(false, state, purpose, &[task], candidates, &mut kept);
    by.first()
        .map_or(Keeper::Unnamed, |(why, _)| Keeper::Plugin(*why))
}
