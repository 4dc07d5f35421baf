//! Domains of the network as a tree: what is free in each, and for how many pods of a gang each has room.

use maud::{Markup, html};
use pumice_engine::view::{
    Ask, CLUSTER, DomainRoom, DomainSource, DomainView, EnoughRoom, MAX_DOMAINS, TopologyView, View,
};

use crate::address::{PageAddress, PageName};
use crate::parts::{job, mark, pod, say};
use crate::source::Source;
use crate::words::Word;

/// Steps by which what is deeper stands further in.
const MAX_STEPS: usize = 8;

pub(crate) fn content(address: &PageAddress, source: &mut dyn Source) -> Result<Markup, String> {
    let ask = address.domains.ask(&address.search, address.from);
    let View::Topology(view) = source.ask(&Ask::Topology(ask))? else {
        return Err("another answer than asked for".to_owned());
    };
    let made_of = match view.made_of {
        DomainSource::HyperNodes => Word::MadeOfHyperNodes,
        DomainSource::Labels => Word::MadeOfLabels,
        DomainSource::Nothing => Word::MadeOfNothing,
    };
    Ok(html! {
        h1 { (say(address, Word::Topology)) " " small { (view.total) } }
        p { (say(address, made_of)) }
        (tiers(address, &view))
        @if let Some(of) = &view.room_for {
            p {
                (say(address, Word::RoomLike)) " " (pod(address, &of.pod)) " (" (job(address, &of.job)) "): "
                b { (of.enough_in) } " " (say(address, Word::DomainsWithRoom)) " " b { (of.pods) }
                @if of.unknown_in > 0 { "; " b { (of.unknown_in) } " " (say(address, Word::DomainsUnknown)) }
            }
        }
        @if view.domains.is_empty() { p { (say(address, Word::NoMatch)) } }
        @else { (table(address, &view)) }
        (turns(address, &view))
        @if !view.faults.is_empty() {
            h2 { (say(address, Word::LeftOut)) }
            ul { @for fault in &view.faults { li { (fault) } } }
        }
    })
}

/// What is asked of the tree besides names.
pub(crate) fn questions(address: &PageAddress) -> Markup {
    let of = &address.domains;
    let pods = if of.pods == 0 {
        String::new()
    } else {
        of.pods.to_string()
    };
    html! {
        label for="job" { (say(address, Word::RoomForPodsOf)) }
        input #job name="job" value=(of.job) maxlength="200";
        label for="pods" { (say(address, Word::HowManyPods)) }
        input #pods name="pods" value=(pods) inputmode="numeric" size="6";
        @if let Some(tier) = of.tier { input type="hidden" name="tier" value=(tier); }
    }
}

fn tiers(address: &PageAddress, view: &TopologyView) -> Markup {
    let chosen = address.domains.tier;
    let to = |tier: Option<i64>| {
        address.with(|other| {
            other.domains.tier = tier;
            other.from = 0;
        })
    };
    html! {
        @if !view.tiers.is_empty() {
            p.filters {
                (say(address, Word::Tier)) ": "
                a href=[to(None)] aria-current=[chosen.is_none().then_some("true")] { (say(address, Word::All)) } " "
                @for one in &view.tiers {
                    a href=[to(Some(one.tier))] aria-current=[(chosen == Some(one.tier)).then_some("true")] {
                        (one.tier) " (" (one.domains) ")"
                    } " "
                }
            }
        }
    }
}

fn table(address: &PageAddress, view: &TopologyView) -> Markup {
    let has_room = view.room_for.is_some();
    html! {
        table {
            thead { tr {
                th { (say(address, Word::Domain)) } th { (say(address, Word::Tier)) } th { (say(address, Word::Nodes)) }
                @if has_room { th { (say(address, Word::Room)) } }
                th { (say(address, Word::FreeCards)) } th { (say(address, Word::Free)) }
            } }
            tbody { @for one in &view.domains { (row(address, one)) } }
        }
    }
}

fn row(address: &PageAddress, of: &DomainView) -> Markup {
    let name = match of.name.as_str() {
        CLUSTER => say(address, Word::TheCluster),
        name => name,
    };
    html! {
        tr {
            th scope="row" { span class={ "in" (of.depth.min(MAX_STEPS)) } title=(of.name) {
                    a href=[address.with(|other| { other.search.clone_from(&of.name); other.from = 0; })] { (name) }
                }
            }
            td.number { (of.tier) @if !of.tier_name.is_empty() { " " (of.tier_name) } }
            td.number { (of.schedulable) " / " (of.nodes) }
            @if let Some(room) = &of.room { td { (room_in(address, room)) } }
            td.number { (of.cards_free) " / " (of.cards) }
            td {
                @if of.free.is_empty() { "–" }
                @for (at, one) in of.free.iter().enumerate() {
                    @if at > 0 { ", " }
                    span.amount { (one.resource) " " b { (one.free) } " / " (one.allocatable) }
                }
            }
        }
    }
}

fn room_in(address: &PageAddress, of: &DomainRoom) -> Markup {
    let (class, word) = match of.enough {
        EnoughRoom::Yes => ("good", Word::Enough),
        EnoughRoom::No => ("waits", Word::NotEnough),
        EnoughRoom::Unknown => ("plain", Word::MayBeEnough),
    };
    html! {
        span.number { @if of.at_least { (say(address, Word::AtLeast)) " " } b { (of.pods) } } " "
        (mark(class, say(address, word)))
    }
}

fn turns(address: &PageAddress, view: &TopologyView) -> Markup {
    let after = view.from + view.domains.len();
    html! {
        nav.turns {
            @if view.from > 0 {
                a href=[address.with(|other| other.from = view.from.saturating_sub(MAX_DOMAINS))] { "← " (say(address, Word::Previous)) } " "
            }
            @if after < view.total {
                a href=[address.with(|other| other.from = after)] { (say(address, Word::Next)) " →" }
            }
        }
    }
}

/// The page that counts room for the pods of a job.
pub(crate) fn for_job(address: &PageAddress, key: &str) -> Option<String> {
    address.elsewhere(PageName::Topology, |other| {
        key.clone_into(&mut other.domains.job);
    })
}
