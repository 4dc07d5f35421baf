//! The page: the cluster as the engine sees it, for people, as HTML.
//!
//! ```text
//!  path and query ─► PageAddress ─► one room a page ─► Source::ask ─► views of pumice_engine ─► Markup
//!                                                                        └─► frame: what is around all of them
//!  Source ─► document: all of it in one file that can be sent to somebody
//! ```
//!
//! What is told is what `explain`, `top`, `queues` and `cards` tell, since it is made of the same views. Nothing is
//! loaded from elsewhere and nothing is written: who serves the page decides who may read it. Names and messages may hold
//! anything that somebody wrote on an object; they are escaped where they are put into HTML, by the templates.
//!
//! Pure: no sockets, no clock.

mod address;
mod assets;
mod card;
mod chosen;
mod content;
mod decisions;
mod document;
mod fingerprint;
mod frame;
mod jobs;
mod node_map;
mod nodes;
mod overview;
mod parts;
mod plan_map;
mod queues;
mod source;
mod timeline;
mod topology;
mod what_if;
mod words;
mod workload;

pub use address::{PageAddress, PageName};
pub use assets::{Asset, CONTENT_SECURITY_POLICY, asset};
pub use chosen::{DomainChoice, NodeColour};
pub use document::document;
pub use fingerprint::{fingerprint, seen};
pub use source::{PageDecision, PageStanding, PlansAsked, Source};
pub use what_if::plan_result;
pub use words::PageLanguage;
pub use workload::{ToldWorkload, WorkloadTask, WorkloadView};

use pumice_engine::view::View;

use content::content;
use frame::PageFrame;

/// A page, or why there is none.
pub struct PageAnswer {
    /// Status of HTTP.
    pub status: u16,
    /// The page as HTML.
    pub html: String,
}

/// The whole page at an address.
pub fn page(address: &PageAddress, source: &mut dyn Source) -> PageAnswer {
    let (status, content) = content(address, source);
    let standing = source.standing();
    let content = frame::noted(&standing, &content);
    let frame = PageFrame { address, standing };
    let html = frame.around(&content).into_string();
    PageAnswer { status, html }
}

/// What changes of a page while somebody looks at it.
pub fn live_part(address: &PageAddress, source: &mut dyn Source) -> String {
    let (_, content) = content(address, source);
    frame::noted(&source.standing(), &content).into_string()
}

/// The views behind a page, as JSON.
///
/// # Errors
/// There is nothing under that name: why.
pub fn views(address: &PageAddress, source: &mut dyn Source) -> Result<serde_json::Value, String> {
    let views = address.asks().into_iter().map(|ask| {
        let view = source.ask(&ask)?;
        let mut told = serde_json::to_value(&view).map_err(|error| error.to_string())?;
        if let View::Job(view) = &view
            && let ToldWorkload::Job(job) = source.workload(view)
        {
            told["workload"] = serde_json::json!(job);
        }
        Ok(told)
    });
    let mut views = views.collect::<Result<Vec<_>, String>>()?;
    if address.name == PageName::Decisions {
        views.push(serde_json::json!({ "decisions": source.decisions()? }));
    }
    Ok(match views.len() {
        1 => views.remove(0),
        _ => views.into(),
    })
}
