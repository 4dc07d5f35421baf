//! Texts of others in messages, and lists of what is wrong: bounded, because annotations may be long
//! and wrong at every character, and nodes may have many cards.

/// Entries that are told of one list; the rest is counted.
const MAX: usize = 16;
/// Cards that are named of which the same is said; the rest is counted.
const MAX_CARDS: usize = 4;
/// Characters shown of a text.
const CLIP: usize = 120;
/// Characters shown of a text that stands within a sentence.
const SHORT: usize = 60;

/// The first entries of a list.
#[derive(Debug, Default)]
pub(crate) struct Bounded {
    told: Vec<String>,
    untold: usize,
}

impl Bounded {
    /// Adds one.
    pub fn tell(&mut self, entry: impl FnOnce() -> String) {
        if self.told.len() < MAX {
            self.told.push(entry());
        } else {
            self.untold += 1;
        }
    }

    /// All, and how many more there are: `and 7 <more>`.
    pub fn into_texts(mut self, more: &str) -> Vec<String> {
        if self.untold > 0 {
            self.told.push(format!("and {} {more}", self.untold));
        }
        self.told
    }
}

/// What is said of cards, each thing once with the cards it is said of.
#[derive(Debug, Default)]
pub(crate) struct SaidOfCards {
    /// What, the first cards, and how many more.
    said: Vec<(String, Vec<String>, usize)>,
    untold: usize,
}

impl SaidOfCards {
    /// Says that of one card.
    pub fn say(&mut self, card: &str, what: String) {
        let has_room = self.said.len() < MAX;
        let known = self.said.iter_mut().find(|(said, ..)| *said == what);
        match known {
            Some((_, cards, _)) if cards.len() < MAX_CARDS => cards.push(card.to_owned()),
            Some((.., more)) => *more += 1,
            None if has_room => self.said.push((what, vec![card.to_owned()], 0)),
            None => self.untold += 1,
        }
    }

    /// `GPU-a, GPU-b and 6 more: fits`, each thing that was said.
    pub fn into_texts(self) -> Vec<String> {
        let text = |(what, cards, more): (String, Vec<String>, usize)| {
            let cards = cards.join(", ");
            match more {
                0 => format!("{cards}: {what}"),
                more => format!("{cards} and {more} more: {what}"),
            }
        };
        let mut texts: Vec<String> = self.said.into_iter().map(text).collect();
        if self.untold > 0 {
            texts.push(format!("and {} more", self.untold));
        }
        texts
    }
}

/// The beginning of a text that may be long.
pub(crate) fn clip(text: &str) -> String {
    clip_at(text, CLIP, str::to_owned)
}

/// The beginning of a text, fit for a sentence.
pub(crate) fn shorten(text: &str) -> String {
    clip_at(text, SHORT, |shown| {
        shown.chars().flat_map(char::escape_debug).collect()
    })
}

fn clip_at(text: &str, most: usize, show: impl Fn(&str) -> String) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", show(&text[..end])),
        None => show(text),
    }
}

/// A number with commas between thousands.
pub(crate) fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "-" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
