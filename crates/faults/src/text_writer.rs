//! How a process writes what plugins keep in ConfigMaps for whoever leads next: of each the newest text, once more until
//! the server answers.

use pumice_model::KeptTopic;

use super::around::Around;
use super::network::{REQUEST_MS, ServerAnswer, ServerCall};

/// The texts of a process.
#[derive(Clone, Debug)]
pub struct TextWriters([TextWriter; KeptTopic::COUNT]);

impl Default for TextWriters {
    fn default() -> Self {
        Self(KeptTopic::ALL.map(TextWriter::new))
    }
}

impl TextWriters {
    /// Takes a text, in place of one that waits.
    pub fn submit(&mut self, topic: KeptTopic, text: String) {
        let mut writers = self.0.iter_mut();
        if let Some(writer) = writers.find(|writer| writer.topic == topic) {
            writer.waiting = Some(text);
        }
    }

    /// Nothing that was handed in until now is sent any more.
    pub fn term_over(&mut self) {
        for writer in &mut self.0 {
            (writer.waiting, writer.is_over) = (None, true);
        }
    }

    /// Nothing waits and nothing is under way.
    pub fn is_idle(&self) -> bool {
        let is_idle = |writer: &TextWriter| writer.waiting.is_none() && writer.sent.is_none();
        self.0.iter().all(is_idle)
    }

    /// Sends what may be sent.
    pub fn step(&mut self, around: &mut Around<'_>) {
        self.0.iter_mut().for_each(|writer| writer.step(around));
    }
}

/// One text.
#[derive(Clone, Debug)]
struct TextWriter {
    topic: KeptTopic,
    /// The newest that is not sent.
    waiting: Option<String>,
    /// What was sent, as which request, when.
    sent: Option<(String, u64, u64)>,
    /// The term in which what was sent was decided is over.
    is_over: bool,
}

impl TextWriter {
    fn new(topic: KeptTopic) -> Self {
        Self {
            topic,
            waiting: None,
            sent: None,
            is_over: false,
        }
    }

    fn step(&mut self, around: &mut Around<'_>) {
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
            let (id, at_ms) = around.send(ServerCall::KeepText {
                topic: self.topic,
                text: text.clone(),
            });
            self.sent = Some((text, id, at_ms));
            self.is_over = false;
        }
    }
}
