//! A plan drawn over the map of the nodes: where pods would come, and where they would go.

use std::collections::BTreeMap;

use maud::{Markup, html};
use pumice_engine::view::{Ask, NodeCell, View};
use pumice_plan::PlanView;

use crate::address::{PageAddress, PageName};
use crate::parts::say;
use crate::source::Source;
use crate::words::Word;

/// What a plan does to a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct NodeTurn {
    come: usize,
    go: usize,
}

/// Pods that come and go, by node.
fn turns(view: &PlanView) -> BTreeMap<&str, NodeTurn> {
    let mut turns: BTreeMap<&str, NodeTurn> = BTreeMap::new();
    for placed in view.jobs.iter().flat_map(|job| &job.pods) {
        turns.entry(&placed.node).or_default().come += 1;
    }
    for evicted in &view.evicted {
        turns.entry(&evicted.node).or_default().go += 1;
    }
    turns
}

/// All nodes; nothing where the plan moves nobody, or nobody tells of nodes.
pub(crate) fn plan_map(address: &PageAddress, view: &PlanView, source: &mut dyn Source) -> Markup {
    let turns = turns(view);
    let nodes = match source.ask(&Ask::Nodes) {
        Ok(View::Nodes(map)) if !turns.is_empty() => map.nodes,
        _ => Vec::new(),
    };
    html! {
        @if !nodes.is_empty() {
            h3 { (say(address, Word::PlanOnMap)) }
            p.filters {
                span.mark.good { "+2" } " " (say(address, Word::PodsCome)) " "
                span.mark.bad { "−1" } " " (say(address, Word::PodsGo)) " "
                span.mark.waits { "+2−1" } " " (say(address, Word::PodsComeAndGo))
            }
            ul.map {
                @for of in &nodes { (cell(address, of, turns.get(of.name.as_str()).copied().unwrap_or_default())) }
            }
        }
    }
}

fn cell(address: &PageAddress, of: &NodeCell, turn: NodeTurn) -> Markup {
    let (class, text) = match turn {
        NodeTurn { come: 0, go: 0 } => ("still", "·".to_owned()),
        NodeTurn { come, go: 0 } => ("good takes", format!("+{come}")),
        NodeTurn { come: 0, go } => ("bad takes", format!("−{go}")),
        NodeTurn { come, go } => ("waits takes", format!("+{come}−{go}")),
    };
    let title = format!(
        "{}: +{} {}, −{} {}",
        of.name,
        turn.come,
        say(address, Word::PodsCome),
        turn.go,
        say(address, Word::PodsGo)
    );
    html! {
        li {
            a class=(class) href=[address.link(PageName::Node(of.name.clone()))] title=(title) aria-label=(title) { (text) }
        }
    }
}

#[cfg(test)]
mod tests {
    use pumice_plan::{JobPlan, PlacedPod, PlannedEviction};

    use super::*;

    #[test]
    fn pods_are_counted_where_they_come_and_where_they_go() {
        let placed = |node: &str| PlacedPod {
            node: node.to_owned(),
            ..PlacedPod::default()
        };
        let view = PlanView {
            jobs: vec![JobPlan {
                pods: vec![placed("a"), placed("b"), placed("a")],
                ..JobPlan::default()
            }],
            evicted: vec![PlannedEviction {
                node: "a".to_owned(),
                ..PlannedEviction::default()
            }],
            ..PlanView::default()
        };
        let turns = turns(&view);
        assert_eq!(turns["a"], NodeTurn { come: 2, go: 1 });
        assert_eq!(turns["b"], NodeTurn { come: 1, go: 0 });
        assert_eq!(turns.len(), 2);
    }
}
