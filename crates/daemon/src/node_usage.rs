//! What nodes use: the source that the configuration names is asked at its interval, and what it tells goes to
//! the deciding thread. A source that tells nothing is told of once, by log, event and metric; what was known
//! becomes old by itself (spec/02 §21.1).

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use pumice_admin::metrics::Metrics;
use pumice_cluster::node_usage::UsageClient;
use pumice_conf::UsageSource;
use pumice_ingest::UsageNews;
use tokio::sync::{mpsc, watch as cell};
use tokio::time::{MissedTickBehavior, interval};

use crate::clock::DeciderClock;
use crate::commands::DecideCommand;
use crate::notices::{Notice, Topic};

/// Failure in a row from which on it is told: one may be a source that is being restarted.
const TOLD_FAILURE: u32 = 2;

/// Asks sources.
pub struct UsageFollower {
    /// Way to the API server.
    pub api: Client,
    /// `User-Agent` of every request.
    pub user_agent: String,
    /// The source of the configuration in use.
    pub source: cell::Receiver<Option<UsageSource>>,
    /// The deciding thread.
    pub core: mpsc::Sender<DecideCommand>,
    /// For `/metrics`.
    pub metrics: Arc<Metrics>,
    /// Tells operators by events.
    pub notices: mpsc::Sender<Notice>,
    /// What time it is.
    pub clock: DeciderClock,
}

/// What was told of a source.
#[derive(Default)]
struct SourceState {
    failures: u32,
    /// The failure that was told.
    failure: Option<String>,
    /// Nodes that were refused when it was told last.
    refused: usize,
}

impl UsageFollower {
    /// Asks until nobody tells sources any more.
    pub async fn run(mut self) {
        loop {
            let source = self.source.borrow_and_update().clone();
            let mut others = self.source.clone();
            tokio::select! {
                () = self.ask(source.as_ref()) => return,
                changed = others.changed() => if changed.is_err() {
                    return;
                }
            }
        }
    }

    /// Ends when the deciding thread has; never where there is no source.
    async fn ask(&self, source: Option<&UsageSource>) {
        self.metrics.usage_nodes(0);
        self.metrics.usage_source_up(source.is_none());
        self.notice(None).await;
        let Some(source) = source else {
            return std::future::pending().await;
        };
        let mut state = SourceState::default();
        let mut due = interval(Duration::from_millis(source.interval_ms));
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut client = UsageClient::new(source, &self.api, &self.user_agent);
        loop {
            due.tick().await;
            let read = match &client {
                Ok(client) => client.read(self.clock.unix_s() as i64).await,
                Err(why) => Err(why.clone()),
            };
            if client.is_err() {
                // A file that was missing may be there now.
                client = UsageClient::new(source, &self.api, &self.user_agent);
            }
            match read {
                Ok(news) => {
                    self.answered(&mut state, &news).await;
                    let command = DecideCommand::NodeUsage(news.nodes);
                    if self.core.send(command).await.is_err() {
                        return;
                    }
                }
                Err(why) => self.failed(&mut state, why).await,
            }
        }
    }

    async fn answered(&self, state: &mut SourceState, news: &UsageNews) {
        self.metrics.usage_source_up(true);
        self.metrics.usage_nodes(news.nodes.len());
        if state.failure.take().is_some() {
            tracing::info!("the source of node usage answers again");
            self.notice(None).await;
        }
        state.failures = 0;
        let refused = news.refused.len();
        if let Some((node, why)) = news.refused.first().filter(|_| state.refused == 0) {
            tracing::warn!(
                "what the source of node usage tells of {refused} nodes is not taken, such as {node}: \
                 {why}; their last values count until they are 5 minutes old"
            );
        }
        state.refused = refused;
    }

    async fn failed(&self, state: &mut SourceState, why: String) {
        self.metrics.usage_source_up(false);
        state.failures += 1;
        if state.failures < TOLD_FAILURE || state.failure.is_some() {
            return;
        }
        let text = format!(
            "the source of node usage tells nothing: {why}; what it told counts until it is 5 minutes \
             old, then nodes are chosen without it: see `metrics` of the configuration"
        );
        tracing::warn!("{text}");
        self.notice(Some(text)).await;
        state.failure = Some(why);
    }

    async fn notice(&self, message: Option<String>) {
        let notice = Notice {
            topic: Topic::NoNodeUsage,
            uid: String::new(),
            message,
        };
        // Nobody listens in a dry run.
        let _ = self.notices.send(notice).await;
    }
}

#[cfg(test)]
mod tests;
