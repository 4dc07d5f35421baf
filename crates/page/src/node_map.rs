//! The map of all nodes: a square a node, coloured by what is chosen, which a number or a word in it says too.

use maud::{Markup, html};
use pumice_engine::view::NodeCell;

use crate::address::{PageAddress, PageName};
use crate::chosen::NodeColour;
use crate::parts::{level, say};
use crate::words::Word;

/// A node of the map. The title says all that the colour does.
pub(crate) fn cell(address: &PageAddress, of: &NodeCell) -> Markup {
    let title = title(address, of);
    let (class, text) = look(address.by, of);
    html! {
        li {
            a class={ (class) (border(of)) } href=[address.link(PageName::Node(of.name.clone()))] title=(title)
                aria-label=(title) { (text) }
        }
    }
}

/// The colour, and what stands in the square.
fn look(by: NodeColour, of: &NodeCell) -> (String, String) {
    let percent = match by {
        NodeColour::Resource => of.percent,
        NodeColour::Cards => of.card_percent,
        // Without cards there is nothing in pieces, which is not the same as nothing being in pieces.
        NodeColour::Fragmentation if of.cards == 0 => return ("u0".to_owned(), "–".to_owned()),
        NodeColour::Fragmentation => of.card_useless_percent.unwrap_or(of.card_pieces_percent),
        NodeColour::Health => return health(of),
    };
    (level(percent), percent.to_string())
}

/// Not ready, or not for every pod, or with cards that may not be given out, or well.
fn health(of: &NodeCell) -> (String, String) {
    match (of.status.as_str(), of.cards_unhealthy) {
        ("NotReady", _) => ("bad".to_owned(), "×".to_owned()),
        ("Ready", 0) => ("good".to_owned(), "✓".to_owned()),
        ("Ready", cards) => ("waits".to_owned(), format!("!{cards}")),
        // `Cordoned`, `Tainted`
        (status, _) => ("waits".to_owned(), status.chars().take(1).collect()),
    }
}

fn border(of: &NodeCell) -> &'static str {
    match (of.status.as_str(), of.cards_unhealthy) {
        ("Ready", 0) => "",
        ("NotReady", _) => " down",
        _ => " limited",
    }
}

fn title(address: &PageAddress, of: &NodeCell) -> String {
    let mut title = format!("{} · {}", of.name, of.status);
    match address.by {
        NodeColour::Resource if of.resource.is_empty() => title.push_str(" · 0 %"),
        NodeColour::Resource => title.push_str(&format!(" · {} % {}", of.percent, of.resource)),
        NodeColour::Cards => title.push_str(&format!(" · {} %", of.card_percent)),
        NodeColour::Fragmentation if of.cards == 0 => {}
        NodeColour::Fragmentation => {
            let (percent, word) = match of.card_useless_percent {
                Some(useless) => (useless, Word::OfNoUse),
                None => (of.card_pieces_percent, Word::InPieces),
            };
            title.push_str(&format!(" · {percent} % {}", say(address, word)));
        }
        NodeColour::Health => {}
    }
    if of.cards > 0 {
        let cards = say(address, Word::Cards);
        title.push_str(&format!(" · {}/{} {cards}", of.cards_in_use, of.cards));
    }
    if of.cards_unhealthy > 0 {
        let unhealthy = say(address, Word::Unhealthy);
        title.push_str(&format!(" · {} {unhealthy}", of.cards_unhealthy));
    }
    title
}

/// What colours mean.
pub(crate) fn legend(address: &PageAddress) -> Markup {
    match address.by {
        NodeColour::Health => html! {
            p.filters {
                span.mark.good { "✓" } " " (say(address, Word::AllWell)) " "
                span.mark.waits { "!2" } " 2 " (say(address, Word::Unhealthy)) " "
                span.mark.waits { "C" } " Cordoned " span.mark.waits { "T" } " Tainted "
                span.mark.bad { "×" } " NotReady"
            }
        },
        _ => html! {
            ul.legend aria-hidden="true" {
                @for step in 0..=10_i64 { li { span class=(level(step * 10)) { (step * 10) } } }
            }
        },
    }
}
