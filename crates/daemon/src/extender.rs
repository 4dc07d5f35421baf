//! The extender of the configuration: it is asked what the deciding thread wants to know, what it says goes
//! to that thread, and it is told what was decided (spec/02 §23). That it fails again and again is told by log,
//! event and metric, once.

use std::sync::Arc;
use std::time::Duration;

use pumice_admin::log::Every;
use pumice_admin::metrics::Metrics;
use pumice_cluster::extender::{ExtenderClient, ExtenderRounds};
use pumice_model::extender::{ExtenderNotice, ExtenderSettings, QuestionSheet};
use tokio::sync::{mpsc, watch as cell};

use crate::commands::DecideCommand;
use crate::notices::{Notice, Topic};

/// How often it is looked how the extender is doing.
const LOOK: Duration = Duration::from_secs(1);

/// Answers that may wait to be taken in.
const MAX_WAITING: usize = 64;

/// How often the log says that an extender complains, with how many times it did.
const COMPLAINT_PERIOD: Duration = Duration::from_secs(30);

/// What an extender is to be asked and told.
pub struct ExtenderFeed {
    /// Whom, and what is to be asked.
    pub questions: cell::Receiver<Arc<QuestionSheet>>,
    /// What is to be told.
    pub notices: mpsc::Receiver<ExtenderNotice>,
}

/// Has an extender asked and told.
pub struct ExtenderFollower {
    /// `User-Agent` of every request.
    pub user_agent: String,
    /// How often it is asked.
    pub period: Duration,
    /// The deciding thread.
    pub core: mpsc::Sender<DecideCommand>,
    /// For `/metrics`.
    pub metrics: Arc<Metrics>,
    /// Tells operators by events.
    pub notices: mpsc::Sender<Notice>,
}

impl ExtenderFollower {
    /// Works until nobody tells questions any more.
    pub async fn run(self, mut feed: ExtenderFeed) {
        loop {
            let sheet = Arc::clone(&feed.questions.borrow_and_update());
            let mut sheets = feed.questions.clone();
            let another = async move {
                let other = |new: &Arc<QuestionSheet>| new.generation != sheet.generation;
                sheets.wait_for(other).await.is_ok()
            };
            tokio::select! {
                () = self.follow(&mut feed) => return,
                is_there = another => if !is_there {
                    return;
                }
            }
        }
    }

    /// Ends when the deciding thread has; never where there is no extender.
    async fn follow(&self, feed: &mut ExtenderFeed) {
        self.metrics.extender_up(true);
        self.notice(None).await;
        let sheet = Arc::clone(&feed.questions.borrow());
        let Some(settings) = sheet.extender.as_deref() else {
            return std::future::pending().await;
        };
        let client = match ExtenderClient::new(settings, &self.user_agent) {
            Ok(client) => Arc::new(client),
            Err(why) => {
                self.tell(settings, Some(&why)).await;
                return std::future::pending().await;
            }
        };
        let (sender, mut answers) = mpsc::channel(MAX_WAITING);
        let rounds = ExtenderRounds {
            client: Arc::clone(&client),
            generation: sheet.generation,
            period: self.period,
            answers: sender,
        };
        let mut asking = std::pin::pin!(rounds.run(feed.questions.clone()));
        let telling = self.tell_decisions(&client, sheet.generation, &mut feed.notices);
        let mut telling = std::pin::pin!(telling);
        let mut look = tokio::time::interval(LOOK);
        let mut was_down = false;
        loop {
            tokio::select! {
                () = &mut asking => return,
                () = &mut telling => return,
                Some(reply) = answers.recv() => {
                    let command = DecideCommand::ExtenderReply(Box::new(reply));
                    if self.core.send(command).await.is_err() {
                        return;
                    }
                }
                _ = look.tick() => {
                    let down = client.is_down();
                    if down.is_some() != was_down {
                        self.tell(settings, down.as_deref()).await;
                        was_down = down.is_some();
                    }
                }
            }
        }
    }

    /// One after the other, so that they arrive in their order. What cannot be told is lost.
    async fn tell_decisions(
        &self,
        client: &ExtenderClient,
        generation: u64,
        notices: &mut mpsc::Receiver<ExtenderNotice>,
    ) {
        let complaints = Every::new(COMPLAINT_PERIOD);
        while let Some(notice) = notices.recv().await {
            if notice.generation != generation {
                continue;
            }
            let event = notice.event.name();
            let complaint = match client.tell(&notice).await {
                Ok(complaint) => {
                    self.metrics.extender_notices("told", 1);
                    complaint
                }
                Err(why) => {
                    self.metrics.extender_notices("failed", 1);
                    Some(why)
                }
            };
            if let Some(why) = complaint
                && let Some(more) = complaints.admit(event)
            {
                tracing::warn!(
                    "the extender was told of {event}: {why} (and {more} more like it before)"
                );
            }
        }
    }

    /// Tells by metric, log and event that the extender fails (`down` is why), or works again.
    async fn tell(&self, settings: &ExtenderSettings, down: Option<&str>) {
        let url = &settings.url_prefix;
        self.metrics.extender_up(down.is_none());
        let Some(why) = down else {
            tracing::info!("the extender at {url} answers again");
            return self.notice(None).await;
        };
        let then = match settings.ignorable {
            true => "all goes on as if it agreed",
            false => "what it has a word on waits; `extender.ignorable: true` would let it go on",
        };
        let text =
            format!("the extender at {url} fails again and again: {why}; until it answers {then}");
        tracing::warn!("{text}");
        self.notice(Some(text)).await;
    }

    async fn notice(&self, message: Option<String>) {
        let notice = Notice {
            topic: Topic::ExtenderFails,
            uid: String::new(),
            message,
        };
        // Nobody listens in a dry run.
        let _ = self.notices.send(notice).await;
    }
}

#[cfg(test)]
mod tests;
