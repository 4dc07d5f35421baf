//! What became of a job: stretches of waiting and running, and what was decided about its pods.

use maud::{Markup, html};
use pumice_engine::view::{JobView, StretchKind, StretchView, WaitKind};

use crate::address::PageAddress;
use crate::parts::{node, phase, pod, say, time};
use crate::source::{PageDecision, Source};
use crate::words::Word;

/// Decisions told of one job.
const MAX_DECISIONS: usize = 20;

/// From when it was created until now.
pub(crate) fn timeline(address: &PageAddress, view: &JobView, source: &mut dyn Source) -> Markup {
    // Who cannot tell of decisions still knows the stretches.
    let decided = source.decisions().unwrap_or_default();
    let own = |one: &&PageDecision| one.group == view.name || one.pod == view.name;
    let own: Vec<&PageDecision> = decided.iter().filter(own).collect();
    html! {
        @if !view.timeline.is_empty() || !own.is_empty() {
            section {
                h2 { (say(address, Word::TimeLine)) }
                p { small { (say(address, Word::TimeLineIsOf)) } }
                @if !view.timeline.is_empty() { (bar(address, view)) (stretches(address, view)) }
                (decisions(address, &own))
            }
        }
    }
}

/// Stretches side by side, as long as they took; the table says the same in words.
fn bar(address: &PageAddress, view: &JobView) -> Markup {
    let all: i64 = view.timeline.iter().map(seconds).sum();
    let mut from = 0.0;
    let parts = view.timeline.iter().map(|one| {
        let width = seconds(one) as f64 * 100.0 / all.max(1) as f64;
        let part = (from, width, one);
        from += width;
        part
    });
    let parts: Vec<_> = parts.collect();
    html! {
        @if all > 0 {
            svg.bar.tall viewBox="0 0 100 12" preserveAspectRatio="none" role="img" aria-label=(say(address, Word::TimeLine)) {
                rect.ground width="100" height="12" {}
                @for (x, width, one) in parts {
                    rect class=(colour(one)) x=(format!("{x:.2}")) width=(format!("{:.2}", (width - 0.3).max(0.2))) height="12" {
                        title { (kind(address, one)) ": " (duration(seconds(one))) }
                    }
                }
            }
        }
    }
}

fn stretches(address: &PageAddress, view: &JobView) -> Markup {
    html! {
        table {
            thead { tr {
                th { (say(address, Word::From)) } th { (say(address, Word::Took)) } th { (say(address, Word::What)) }
                th { (say(address, Word::Reason)) }
            } }
            tbody {
                @if view.created.is_some() {
                    tr {
                        th scope="row" { (time(view.created.as_ref())) } td { "–" } td { (say(address, Word::Created)) } td {}
                    }
                }
                @for (at, one) in view.timeline.iter().enumerate() {
                    @if at == 1 && view.stretches_dropped > 0 {
                        tr { th scope="row" { "…" } td {} td { (view.stretches_dropped) " " (say(address, Word::More)) } td {} }
                    }
                    tr {
                        th scope="row" { (time(one.from.as_ref())) }
                        td.number { (duration(seconds(one))) @if one.goes_on { " " (say(address, Word::SoFar)) } }
                        td { (kind(address, one)) }
                        td { (one.text) }
                    }
                }
            }
        }
    }
}

fn decisions(address: &PageAddress, own: &[&PageDecision]) -> Markup {
    html! {
        @if !own.is_empty() {
            h3 { (say(address, Word::Decisions)) }
            ul {
                @for one in own.iter().take(MAX_DECISIONS) {
                    li {
                        @if !one.time.is_empty() { time datetime=(one.time) { (one.time) } " · " }
                        (pod(address, &one.pod)) " · " (node(address, &one.node)) " · "
                        @match one.action.as_str() {
                            "" => { (phase(say(address, Word::Bound))) }
                            action => { (phase(say(address, Word::Evicted))) " " (action) }
                        }
                    }
                }
            }
            @if own.len() > MAX_DECISIONS { p { (own.len() - MAX_DECISIONS) " " (say(address, Word::More)) } }
        }
    }
}

fn kind(address: &PageAddress, of: &StretchView) -> Markup {
    html! {
        @match of.kind {
            StretchKind::Runs => { (say(address, Word::Running)) }
            StretchKind::Ended => { (say(address, Word::Ended)) }
            StretchKind::NoPods => { (say(address, Word::HasNoPods)) }
            StretchKind::Waits(kind) => { (say(address, Word::Waiting)) ": " (say(address, word_of(kind))) " (" (kind.name()) ")" }
            StretchKind::Other => { "–" }
        }
    }
}

/// For what a job waits; metrics and addresses have names for it that are the same in all languages.
pub(crate) fn word_of(kind: WaitKind) -> Word {
    match kind {
        WaitKind::Releasing => Word::WaitsReleasing,
        WaitKind::Gang => Word::WaitsGang,
        WaitKind::GangIncomplete => Word::WaitsGangIncomplete,
        WaitKind::DevicePlugin => Word::WaitsDevicePlugin,
        WaitKind::BindFailed => Word::WaitsBindFailed,
        WaitKind::NoNode => Word::WaitsNoNode,
        WaitKind::Topology => Word::WaitsTopology,
        WaitKind::Reserved => Word::WaitsReserved,
        WaitKind::Gated => Word::WaitsGated,
        WaitKind::QueueQuota => Word::WaitsQueueQuota,
        WaitKind::UserLimit => Word::WaitsUserLimit,
        WaitKind::NoPodGroup => Word::WaitsNoPodGroup,
        WaitKind::AwaitsPodGroup => Word::WaitsAwaitsPodGroup,
        WaitKind::NoQueue => Word::WaitsNoQueue,
        WaitKind::NotAdmitted => Word::WaitsNotAdmitted,
        WaitKind::QueueOverused => Word::WaitsQueueOverused,
        WaitKind::Behind => Word::WaitsBehind,
        WaitKind::Extender => Word::WaitsExtender,
        WaitKind::Postponed => Word::WaitsPostponed,
    }
}

fn colour(of: &StretchView) -> &'static str {
    match of.kind {
        StretchKind::Runs => "guarantee",
        StretchKind::Ended | StretchKind::NoPods | StretchKind::Other => "reserved",
        StretchKind::Waits(_) => "waits",
    }
}

/// How long a stretch took. One that goes on is told in whole minutes: the page would change all the time under who reads
/// it.
fn seconds(of: &StretchView) -> i64 {
    match of.goes_on {
        true => of.seconds.max(0) / 60 * 60,
        false => of.seconds.max(0),
    }
}

/// As `kubectl` tells ages.
fn duration(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m{}s", seconds % 60),
        (0, _, _) => format!("{hours}h{}m", minutes % 60),
        _ => format!("{days}d{}h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_their_two_largest_units() {
        let told = [-5, 59, 61, 3_600, 90_061].map(duration);
        assert_eq!(told, ["0s", "59s", "1m1s", "1h0m", "1d1h"]);
    }
}
