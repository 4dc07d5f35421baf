//! What changes of a page while somebody looks at it, as server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::Event;
use futures::Stream;
use futures::stream::unfold;
use pumice_page::PageAddress;
use tokio::time::{Instant, sleep};

use crate::desk::PageDesk;

/// A page that is looked at is looked at anew this often: what changes of it is rendered anew only when there are new
/// answers, and once for all who look at it.
const PERIOD: Duration = Duration::from_millis(250);
/// A browser whose stream has ended asks again after so long.
const AGAIN: Duration = Duration::from_millis(500);

/// A page that somebody looks at.
pub(crate) struct WatchedPage {
    pub desk: PageDesk,
    pub address: PageAddress,
    /// What is looked at already.
    pub seen: Option<u64>,
    /// When the stream ends, so that it is asked for again.
    pub until: Option<Instant>,
}

/// The part of the page that changes, whenever it is another than the one that is looked at. The first event says how
/// soon to ask again.
pub(crate) fn changes(page: WatchedPage) -> impl Stream<Item = Result<Event, Infallible>> {
    unfold((page, false), |(mut page, has_begun)| async move {
        if !has_begun {
            return Some((Ok(Event::default().retry(AGAIN)), (page, true)));
        }
        loop {
            if page.until.is_some_and(|until| Instant::now() >= until) {
                return None;
            }
            let part = page.desk.live(page.address.clone()).await?;
            if page.seen.replace(part.print) != Some(part.print) {
                let event = Event::default()
                    .event("page")
                    .id(format!("{:x}", part.print))
                    .data(&part.html);
                return Some((Ok(event), (page, true)));
            }
            sleep(PERIOD).await;
        }
    })
}
