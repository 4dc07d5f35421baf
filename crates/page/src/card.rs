//! A card, drawn as what it is: slices of memory and cores, and the parts it is split into.

use maud::{Markup, html};
use pumice_engine::view::{CardPod, CardView};

use crate::address::PageAddress;
use crate::parts::{mark, pod as pod_link, say};
use crate::words::Word;

/// A card: who holds how much of its memory and cores.
pub(crate) fn card(address: &PageAddress, of: &CardView) -> Markup {
    html! {
        article.card {
            h3 {
                (say(address, Word::Card)) " " (of.index) " "
                @if of.healthy { (mark("good", say(address, Word::Healthy))) }
                @else { (mark("bad", say(address, Word::Unhealthy))) }
            }
            p { (of.kind) " · " (of.family) " · " (of.mode) " · " span.id { (of.id) } }
            @if let Some(problem) = &of.problem { p.note { (problem) } }
            (slices(address, of, Word::Memory, (of.memory_used, of.memory), |pod| pod.memory))
            (parts(address, of))
            (slices(address, of, Word::Cores, (of.cores_used, of.cores), |pod| pod.cores))
            p {
                (say(address, Word::Sharers)) " " b { (of.sharers) }
                @if let Some(slots) = of.slots { " " (say(address, Word::Of)) " " (slots) }
                @for other in &of.others { " · " (other.name) " " b { (other.used) } " / " (other.capacity) }
            }
            ol.holders {
                @for pod in &of.pods {
                    li {
                        (pod_link(address, &pod.pod)) " "
                        span.amount { (say(address, Word::Memory)) " " b { (pod.memory) } } " "
                        span.amount { (say(address, Word::Cores)) " " b { (pod.cores) } }
                        @for part in &pod.parts { " " (mark("plain", part)) }
                        @if !pod.certain { " ?" }
                    }
                }
            }
        }
    }
}

/// One bar in as many slices as there are pods, in their order; nothing of a card that does not count this.
fn slices(
    address: &PageAddress,
    of: &CardView,
    word: Word,
    (used, all): (i64, i64),
    part: impl Fn(&CardPod) -> i64,
) -> Markup {
    let mut from = 0.0;
    let slices = of.pods.iter().enumerate().map(|(at, pod)| {
        let width = (part(pod) as f64 * 100.0 / all.max(1) as f64).clamp(0.0, 100.0 - from);
        let slice = (from, width, at, pod);
        from += width;
        slice
    });
    let slices: Vec<_> = slices.collect();
    html! {
        @if all > 0 {
            div.slices {
                span.what { (say(address, word)) }
                svg.bar.tall viewBox="0 0 100 12" preserveAspectRatio="none" role="img"
                    aria-label={ (say(address, word)) " " (used) " / " (all) } {
                    rect.ground width="100" height="12" {}
                    @for (x, width, at, pod) in slices {
                        rect class={ "s" (at % 4) } x=(format!("{x:.2}")) width=(format!("{:.2}", (width - 0.4).max(0.2))) height="12" {
                            title { (pod.pod) ": " (part(pod)) }
                        }
                    }
                }
                span.number { (used) " / " (all) }
            }
        }
    }
}

/// Parts that a card is split into, held ones first, each as wide as its memory; nothing of a card that is not split.
fn parts(address: &PageAddress, of: &CardView) -> Markup {
    let held = of.pods.iter().flat_map(|pod| {
        let each = pod.memory / i64::try_from(pod.parts.len().max(1)).unwrap_or(1);
        let parts = pod.parts.iter();
        parts.map(move |part| (part.as_str(), each, Some(pod.pod.as_str())))
    });
    let free = of.free_parts.iter();
    let free = free.map(|part| (part.name.as_str(), part.memory, None));
    let all: Vec<(&str, i64, Option<&str>)> = held.chain(free).collect();
    html! {
        @if !all.is_empty() {
            ul.parts aria-label=(say(address, Word::Parts)) {
                @for (name, memory, pod) in &all {
                    li class=(if pod.is_some() { "held" } else { "free" })
                        title={ (name) " · " (pod.unwrap_or(say(address, Word::Free))) } {
                        (name) " " @if *memory > 0 { b { (memory) } " " }
                        @if pod.is_none() { (say(address, Word::Free)) }
                    }
                }
            }
        }
    }
}
