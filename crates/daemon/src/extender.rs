//! The extender of the configuration: it is asked what the deciding thread wants to know, and what it says
//! goes to that thread (spec/02 §23). That it fails again and again is told by log, event and metric, once.

use std::sync::Arc;
use std::time::Duration;

use pumice_admin::metrics::Metrics;
use pumice_cluster::extender::{ExtenderClient, ExtenderRounds};
use pumice_model::Delta;
use pumice_model::extender::{ExtenderSettings, QuestionSheet};
use tokio::sync::{mpsc, watch as cell};

use crate::decide::DecideCommand;
use crate::notices::{Notice, Topic};

/// How often it is looked how the extender is doing.
const LOOK: Duration = Duration::from_secs(1);

/// Answers that may wait to be taken in.
const MOST_WAITING: usize = 64;

/// Has an extender asked.
pub struct ExtenderFollower {
    /// `User-Agent` of every request.
    pub user_agent: String,
    /// The extender of the configuration in use.
    pub settings: cell::Receiver<Option<ExtenderSettings>>,
    /// What is to be asked.
    pub questions: cell::Receiver<Arc<QuestionSheet>>,
    /// How often.
    pub period: Duration,
    /// The deciding thread.
    pub core: mpsc::Sender<DecideCommand>,
    /// For `/metrics`.
    pub metrics: Arc<Metrics>,
    /// Tells operators by events.
    pub notices: mpsc::Sender<Notice>,
}

impl ExtenderFollower {
    /// Works until nobody tells settings any more.
    pub async fn run(mut self) {
        loop {
            let settings = self.settings.borrow_and_update().clone();
            let mut others = self.settings.clone();
            tokio::select! {
                () = self.follow(settings.as_ref()) => return,
                changed = others.changed() => if changed.is_err() {
                    return;
                }
            }
        }
    }

    /// Ends when the deciding thread has; never where there is no extender.
    async fn follow(&self, settings: Option<&ExtenderSettings>) {
        self.metrics.extender_up(true);
        self.notice(None).await;
        let Some(settings) = settings else {
            return std::future::pending().await;
        };
        let client = match ExtenderClient::new(settings, &self.user_agent) {
            Ok(client) => Arc::new(client),
            Err(why) => {
                self.tell(settings, Some(&why)).await;
                return std::future::pending().await;
            }
        };
        let (sender, mut answers) = mpsc::channel(MOST_WAITING);
        let rounds = ExtenderRounds {
            client: Arc::clone(&client),
            period: self.period,
            answers: sender,
        };
        let mut asking = std::pin::pin!(rounds.run(self.questions.clone()));
        let mut look = tokio::time::interval(LOOK);
        let mut was_down = false;
        loop {
            tokio::select! {
                () = &mut asking => return,
                Some((question, answer)) = answers.recv() => {
                    let answer = Box::new(answer);
                    let delta = Delta::ExtenderAnswer { question, answer };
                    let command = DecideCommand::ExtenderAnswer(Box::new(delta));
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

    /// That it fails, or works again.
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
