//! Compiled expressions: those that were asked last, since each takes many times the room of its text.

use pumice_claims::{DeviceSelector, DraDevice, SelectorSteps};
use rustc_hash::FxHashMap;

use super::filters::FilterKey;

/// Characters of all expressions that are kept compiled.
const MAX_BYTES: usize = 256 * 1024;

/// Steps that a character counts for when an expression is compiled.
const STEPS_A_BYTE: u64 = 20;

/// Expressions by text. One that is no expression stands here with the reason.
#[derive(Clone, Default)]
pub struct CompiledSelectors {
    known: FxHashMap<String, Result<DeviceSelector, String>>,
    bytes: usize,
}

/// What a filter says of a device.
pub enum FilterAnswer {
    /// Whether all of its expressions hold.
    Holds(bool),
    /// One of them fails: which, and why.
    Fails(String),
    /// It has not looked at all of them: from which on.
    Unfinished(usize),
}

impl CompiledSelectors {
    /// Whether the expressions of a filter from number `from` on hold for a device, in order, up to the first that
    /// does not; and how many steps that takes at most. An error says which of them fails. After `most` steps it ends
    /// between two of them: it goes on from there when it is asked again.
    pub fn ask(
        &mut self,
        key: &FilterKey,
        (driver, device): (&str, &DraDevice),
        from: usize,
        most: u64,
    ) -> (FilterAnswer, u64) {
        let (mut steps, left): (u64, _) = (0, SelectorSteps::default());
        let of_class = key.of_class.iter().enumerate();
        let of_class = of_class.map(|(at, text)| (Some(&key.class), at, text));
        let of_request = key.of_request.iter().enumerate();
        let of_request = of_request.map(|(at, text)| (None, at, text));
        let all = of_class.chain(of_request).enumerate();
        for (number, (class, at, text)) in all.skip(from) {
            if number > from && steps >= most {
                return (FilterAnswer::Unfinished(number), steps);
            }
            let say = |error: &dyn std::fmt::Display| match class {
                Some(class) => format!("class {class}: selector #{at}: {error}"),
                None => format!("selector #{at}: {error}"),
            };
            let (selector, compiling) = self.compiled(text);
            steps = steps.saturating_add(compiling);
            let selector = match selector {
                Ok(selector) => selector,
                Err(error) => return (FilterAnswer::Fails(say(error)), steps),
            };
            steps = steps.saturating_add(selector.cost());
            match selector.holds(driver, device, &left) {
                Ok(true) => {}
                Ok(false) => return (FilterAnswer::Holds(false), steps),
                Err(error) => return (FilterAnswer::Fails(say(&error)), steps),
            }
        }
        (FilterAnswer::Holds(true), steps)
    }

    /// An expression, and the steps to compile it where it was not.
    fn compiled(&mut self, text: &str) -> (&Result<DeviceSelector, String>, u64) {
        let mut steps = 0;
        if !self.known.contains_key(text) {
            if self.bytes > MAX_BYTES {
                self.known.clear();
                self.bytes = 0;
            }
            let made = DeviceSelector::compile(text).map_err(|error| error.to_string());
            self.known.insert(text.to_owned(), made);
            self.bytes += text.len();
            steps = STEPS_A_BYTE * text.len() as u64;
        }
        (&self.known[text], steps)
    }
}
