//! The thread that has a source: questions come one after the other, and the same is asked once for all.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use pumice_page::{PageAddress, PageAnswer, page, plan_result, views};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::fresh::FreshAnswers;
use crate::renderings::{Rendering, Renderings};
use crate::source::{PlanForm, PlanningSource};

enum DeskRequest {
    Page(PageAddress, oneshot::Sender<PageAnswer>),
    Live(PageAddress, oneshot::Sender<Arc<Rendering>>),
    Views(PageAddress, oneshot::Sender<Result<Value, NoViews>>),
    Plan(PageAddress, PlanForm, oneshot::Sender<String>),
}

/// Why there are no views behind a page.
pub(crate) struct NoViews {
    /// Status of HTTP.
    pub status: u16,
    /// A sentence.
    pub why: String,
}

/// The way to that thread.
#[derive(Clone)]
pub struct PageDesk(Sender<DeskRequest>);

impl PageDesk {
    /// A desk before the source that `make` makes there, or before none: then nothing is answered.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub fn start_with<S: PlanningSource>(
        make: impl FnOnce() -> Option<S> + Send + 'static,
    ) -> io::Result<Self> {
        let (sender, asked) = channel();
        std::thread::Builder::new()
            .name("page".to_owned())
            .spawn(move || {
                let Some(source) = make() else {
                    return;
                };
                let mut source = FreshAnswers::of(source);
                let mut renderings = Renderings::default();
                // A page that ends in a panic ends alone.
                let mut answers = || answer(&mut source, &mut renderings, &asked);
                while catch_unwind(AssertUnwindSafe(&mut answers)).is_err() {}
            })?;
        Ok(Self(sender))
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> DeskRequest) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.0.send(request(reply)).ok()?;
        answer.await.ok()
    }

    /// A whole page; `None` where the desk has ended.
    pub(crate) async fn page(&self, address: PageAddress) -> Option<PageAnswer> {
        self.ask(|reply| DeskRequest::Page(address, reply)).await
    }

    /// What changes of a page.
    pub(crate) async fn live(&self, address: PageAddress) -> Option<Arc<Rendering>> {
        self.ask(|reply| DeskRequest::Live(address, reply)).await
    }

    /// The views behind a page.
    pub(crate) async fn views(&self, address: PageAddress) -> Option<Result<Value, NoViews>> {
        self.ask(|reply| DeskRequest::Views(address, reply)).await
    }

    /// A plan, as a part of a page.
    pub(crate) async fn plan(&self, address: PageAddress, form: PlanForm) -> Option<String> {
        self.ask(|reply| DeskRequest::Plan(address, form, reply))
            .await
    }
}

fn answer(
    source: &mut FreshAnswers<impl PlanningSource>,
    renderings: &mut Renderings,
    asked: &Receiver<DeskRequest>,
) {
    for request in asked {
        // Nothing is asked for who does not wait any more.
        match request {
            DeskRequest::Page(address, reply) if !reply.is_closed() => {
                drop(reply.send(page(&address, source)));
            }
            DeskRequest::Live(address, reply) if !reply.is_closed() => {
                drop(reply.send(renderings.of(&address, source)));
            }
            DeskRequest::Views(address, reply) if !reply.is_closed() => {
                let views = views(&address, source);
                drop(reply.send(views.map_err(|why| no_views(why, source))));
            }
            DeskRequest::Plan(address, form, reply) if !reply.is_closed() => {
                let plan = source.plan(&form);
                let plan = plan.as_ref().map_err(String::as_str);
                drop(reply.send(plan_result(&address, plan, source)));
            }
            _ => {}
        }
    }
}

fn no_views(why: String, source: &mut impl PlanningSource) -> NoViews {
    let status = if source.standing().unanswered {
        503
    } else {
        404
    };
    NoViews { status, why }
}
