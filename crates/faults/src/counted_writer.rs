//! How a process writes the tasks that it has counted for the mix: the newest text, once more until the server answers.

use super::around::Around;
use super::network::{REQUEST_MS, ServerAnswer, ServerCall};

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct CountedWriter {
    /// The newest that is not sent.
    waiting: Option<String>,
    /// What was sent, as which request, when.
    sent: Option<(String, u64, u64)>,
    /// The term in which what was sent was decided is over.
    is_over: bool,
}

impl CountedWriter {
    /// Takes a text, in place of one that waits.
    pub fn submit(&mut self, text: String) {
        self.waiting = Some(text);
    }

    /// Nothing that was handed in until now is sent any more.
    pub fn term_over(&mut self) {
        (self.waiting, self.is_over) = (None, true);
    }

    /// Nothing waits and nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_none() && self.sent.is_none()
    }

    /// Sends what may be sent.
    pub fn step(&mut self, around: &mut Around<'_>) {
        let now_ms = around.server.now_ms();
        if let Some((text, id, at_ms)) = &self.sent {
            let answer = around.network.answer(*id, now_ms);
            if answer.is_none() && now_ms < at_ms + REQUEST_MS {
                return;
            }
            around.network.forget(*id);
            let is_answered = matches!(answer, Some(ServerAnswer::Other(_)));
            if !is_answered && !self.is_over {
                self.waiting.get_or_insert_with(|| text.clone());
            }
            self.sent = None;
        }
        if around.has_term()
            && let Some(text) = self.waiting.take()
        {
            let (id, at_ms) = around.send(ServerCall::KeepCounted { text: text.clone() });
            self.sent = Some((text, id, at_ms));
            self.is_over = false;
        }
    }
}
