//! Clocks that are wrong, and ConfigMaps that say what is not so.

use pumice_model::KeptTopic;

use super::TimeStorm;

/// Topics of the plugins of time.
const TOPICS: [KeptTopic; 2] = [KeptTopic::Use, KeptTopic::Places];

/// Furthest that a clock is off, milliseconds: three hours.
const FURTHEST_MS: u64 = 3 * 3600 * 1000;

/// How many texts are remembered, to be put back.
const MAX_TEXTS: usize = 200;

impl TimeStorm {
    pub(super) fn make_mischief(&mut self) {
        match self.chance.below(100) {
            0..3 => self.set_clock(),
            3..4 => self.leap(),
            4..8 => self.write_kept(),
            _ => {}
        }
    }

    /// The wall clock of a machine is set forwards or back, or right; the process there often starts anew.
    fn set_clock(&mut self) {
        let slots = self.simulation.slots.len() as u64;
        let slot = self.chance.below(slots) as usize;
        let far_ms = match self.chance.below(3) {
            0 => self.chance.below(FURTHEST_MS),
            1 => self.chance.below(120_000),
            _ => 0,
        };
        let far_ms = i64::try_from(far_ms).unwrap_or(0);
        let ahead_ms = if self.chance.percent(50) {
            far_ms
        } else {
            -far_ms
        };
        self.simulation.set_wall_clock(slot, ahead_ms);
        if self.chance.percent(60) {
            let down_ms = self.chance.between(200, 3000);
            match self.chance.percent(50) {
                true => self.simulation.kill(slot, down_ms),
                false => self.simulation.stop(slot, down_ms),
            }
        }
    }

    /// The clock of a process leaps forwards.
    fn leap(&mut self) {
        let slots = self.simulation.slots.len() as u64;
        let slot = self.chance.below(slots) as usize;
        let by_ms = self.chance.below(FURTHEST_MS);
        if let Some(process) = &mut self.simulation.slots[slot].process {
            process.clock.leap(by_ms);
            let text = format!("the clock of the process in slot {slot} leaps {by_ms} ms");
            self.simulation.history.push(text);
        }
    }

    /// Somebody writes a ConfigMap in which plugins keep what they know, or it is deleted.
    fn write_kept(&mut self) {
        let topic = TOPICS[self.chance.below(2) as usize];
        let kept = &mut self.simulation.server.kept;
        let now = kept.get(&topic).cloned();
        let old = self.chance.pick(&self.texts).cloned();
        let new = match (self.chance.below(7), now) {
            (0, _) => None,
            (1, _) | (_, None) => Some(String::new()),
            (2, Some(text)) => {
                let mut end = self.chance.below(text.len() as u64 + 1) as usize;
                while !text.is_char_boundary(end) {
                    end -= 1;
                }
                Some(text[..end].to_owned())
            }
            (3, Some(text)) => Some(self.forge(&text)),
            (4, _) => Some("nonsense".to_owned()),
            // Of an older leader, perhaps of the other plugin.
            (_, Some(_)) => old.map(|(_, text)| self.maybe_forge(text)),
        };
        let text = format!("ConfigMap of {topic:?} says {new:?}");
        self.simulation.history.push(text);
        let kept = &mut self.simulation.server.kept;
        match new {
            Some(new) => kept.insert(topic, new),
            None => kept.remove(&topic),
        };
    }

    fn maybe_forge(&mut self, text: String) -> String {
        match self.chance.percent(50) {
            true => self.forge(&text),
            false => text,
        }
    }

    /// Some digits are others.
    fn forge(&mut self, text: &str) -> String {
        let digits = text.chars().filter(char::is_ascii_digit).count() as u64;
        let at = self.chance.below(digits.max(1));
        let new = self.chance.below(10).to_string();
        let more = if self.chance.percent(20) { "00000" } else { "" };
        let mut passed = 0;
        let mut forged = String::new();
        for letter in text.chars() {
            let is_it = letter.is_ascii_digit() && passed == at;
            passed += u64::from(letter.is_ascii_digit());
            match is_it {
                true => forged.extend([&*new, more]),
                false => forged.push(letter),
            }
        }
        forged
    }

    /// What ConfigMaps say by now can be put back later.
    pub(super) fn remember_texts(&mut self) {
        for (topic, text) in &self.simulation.server.kept {
            let is_known = self.texts.iter().any(|known| known.1 == *text);
            if !is_known && !text.is_empty() && self.texts.len() < MAX_TEXTS {
                self.texts.push((*topic, text.clone()));
            }
        }
    }
}
