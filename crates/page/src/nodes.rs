//! Nodes and cards: a map of all of them, and one node with its cards drawn as what they are.

use maud::{Markup, html};
use pumice_engine::view::{Ask, NodeCell, NodeDetailView, View};

use crate::address::PageAddress;
use crate::card::card;
use crate::chosen::NodeColour;
use crate::node_map;
use crate::parts::{amounts, full, job, phase, pod as pod_link, say};
use crate::source::Source;
use crate::words::Word;

pub(crate) fn all(address: &PageAddress, source: &mut dyn Source) -> Result<Markup, String> {
    let View::Nodes(view) = source.ask(&Ask::Nodes)? else {
        return Err("another answer than asked for".to_owned());
    };
    let found = |cell: &&NodeCell| cell.name.contains(&address.search);
    let cells: Vec<&NodeCell> = view.nodes.iter().filter(found).collect();
    let mut all = view.nodes.iter();
    let has_mix = all.any(|cell| cell.card_useless_percent.is_some());
    Ok(html! {
        h1 { (say(address, Word::Nodes)) " " small { (cells.len()) " " (say(address, Word::Of)) " " (view.total) } }
        (colours(address, has_mix))
        @if address.by == NodeColour::Fragmentation && has_mix { p { (say(address, Word::OfNoUseIs)) } }
        (node_map::legend(address))
        @if cells.is_empty() { p { (say(address, Word::NoNodes)) } }
        ul.map { @for one in cells { (node_map::cell(address, one)) } }
    })
}

/// What the map may be coloured by.
fn colours(address: &PageAddress, has_mix: bool) -> Markup {
    html! {
        p.filters {
            (say(address, Word::ColourBy)) ": "
            @for by in NodeColour::ALL {
                @let to = address.with(|other| other.by = by);
                a href=[to] aria-current=[(address.by == by).then_some("true")] { (say(address, word_of(by, has_mix))) } " "
            }
        }
    }
}

fn word_of(by: NodeColour, has_mix: bool) -> Word {
    match by {
        NodeColour::Resource => Word::ByResource,
        NodeColour::Cards => Word::ByCards,
        NodeColour::Fragmentation if has_mix => Word::ByNoUse,
        NodeColour::Fragmentation => Word::ByFragmentation,
        NodeColour::Health => Word::ByHealth,
    }
}

pub(crate) fn one(
    address: &PageAddress,
    name: &str,
    source: &mut dyn Source,
) -> Result<Markup, String> {
    let View::Node(view) = source.ask(&Ask::Node(name.to_owned()))? else {
        return Err("another answer than asked for".to_owned());
    };
    Ok(html! {
        h1 { (say(address, Word::Node)) " " (view.node.name) " " (phase(&view.node.status)) }
        table {
            thead { tr {
                th { (say(address, Word::Resource)) } th { (say(address, Word::Used)) } th { (say(address, Word::InAll)) } th { "%" }
            } }
            tbody {
                @for usage in &view.node.resources {
                    tr {
                        th scope="row" { (usage.resource) }
                        td.number { (usage.used) } td.number { (usage.allocatable) } td { (full(usage.percent)) }
                    }
                }
            }
        }
        h2 { (say(address, Word::Cards)) " " small { (view.cards.total) } }
        @if view.cards.cards.is_empty() { p { (say(address, Word::NoCards)) } }
        div.cards { @for one in &view.cards.cards { (card(address, one)) } }
        (numa(address, &view))
        (pods(address, &view))
    })
}

/// NUMA nodes: what is free in each; nothing where nobody tells of any.
fn numa(address: &PageAddress, view: &NodeDetailView) -> Markup {
    html! {
        @if let Some(of) = &view.numa {
            h2 { (say(address, Word::NumaNodes)) " " @if let Some(policy) = &of.policy { small { (policy) } } }
            table {
                thead { tr {
                    th { (say(address, Word::NumaNode)) } th { (say(address, Word::FreeCpus)) } th { "%" }
                    th { (say(address, Word::FreeCards)) } th { (say(address, Word::Cards)) }
                } }
                tbody {
                    @for one in &of.nodes {
                        @let used = one.cpus.saturating_sub(one.cpus_free) as i64 * 100 / (one.cpus.max(1) as i64);
                        tr {
                            th scope="row" { (one.numa) }
                            td.number { (one.cpus_free) " / " (one.cpus) }
                            td { @if one.cpus == 0 { "–" } @else { (full(used)) } }
                            td.number { (one.cards_free) " / " (one.cards.len()) }
                            td { (one.cards.join(", ")) }
                        }
                    }
                }
            }
        }
    }
}

fn pods(address: &PageAddress, view: &NodeDetailView) -> Markup {
    html! {
        h2 { (say(address, Word::Pods)) " " small { (view.node.pods) } }
        @if !view.pods.is_empty() {
            table {
                thead { tr {
                    th { (say(address, Word::Pod)) } th { (say(address, Word::Job)) } th { (say(address, Word::Status)) }
                    th { (say(address, Word::Holds)) }
                } }
                tbody {
                    @for one in &view.pods {
                        tr {
                            th scope="row" { (pod_link(address, &one.pod)) }
                            td { @if let Some(of) = &one.job { (job(address, of)) } @else { "–" } }
                            td { (phase(&one.status)) }
                            td { (amounts(&one.holds)) }
                        }
                    }
                }
            }
        }
        @if view.node.pods > view.pods.len() { p { (view.node.pods - view.pods.len()) " " (say(address, Word::More)) } }
    }
}
