//! What could not be read, bounded: annotations may be long, and wrong at every character.

/// Problems that are told of one annotation; the rest is counted.
const MOST: usize = 16;
/// Characters shown of a text.
const CLIP: usize = 120;

/// Problems of one object.
#[derive(Debug, Default)]
pub struct Problems {
    told: Vec<String>,
    untold: usize,
}

impl Problems {
    /// Adds one.
    pub fn tell(&mut self, problem: impl FnOnce() -> String) {
        if self.told.len() < MOST {
            self.told.push(problem());
        } else {
            self.untold += 1;
        }
    }

    /// All, and how many more there are.
    pub fn into_texts(mut self) -> Vec<String> {
        if self.untold > 0 {
            self.told.push(format!("and {} more problems", self.untold));
        }
        self.told
    }
}

/// The beginning of a text that may be long.
pub fn clip(text: &str) -> String {
    match text.char_indices().nth(CLIP) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
