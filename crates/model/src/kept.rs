//! Texts in ConfigMaps in which plugins keep what they know, for whoever leads next.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// What is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum KeptTopic {
    /// The tasks that were counted for the mix.
    Tasks,
    /// Who used how much.
    Use,
    /// Which places are kept for jobs that wait.
    Places,
    /// How long jobs ran.
    RunTimes,
}

impl KeptTopic {
    /// How many there are.
    pub const COUNT: usize = 4;

    /// All of them, each at its number.
    pub const ALL: [Self; Self::COUNT] = [Self::Tasks, Self::Use, Self::Places, Self::RunTimes];

    /// Key of the ConfigMap.
    pub fn key(self) -> &'static str {
        match self {
            Self::Tasks => "counted",
            Self::Use => "used",
            Self::Places => "places",
            Self::RunTimes => "run-times",
        }
    }
}

/// What another process kept, as it was told last.
#[derive(Clone, Debug, Default)]
pub struct KeptBefore {
    /// The words of that process; `None` as long as nothing was told.
    pub text: Option<Arc<str>>,
    /// Changes whenever something else is told.
    pub epoch: u64,
}

impl KeptBefore {
    /// Takes what is told, if that is anything. Whether it is.
    pub(crate) fn take(&mut self, text: Option<String>) -> bool {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return false;
        };
        self.text = Some(text.into());
        self.epoch += 1;
        true
    }
}
