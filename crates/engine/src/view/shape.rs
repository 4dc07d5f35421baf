//! How amounts and times are written.

use std::collections::BTreeMap;

use pumice_model::resource::display_amount;
use pumice_model::{ResIx, ResVec, State};
use serde::{Deserialize, Serialize};

/// Amounts by resource name, as Kubernetes writes quantities.
pub type Quantities = BTreeMap<String, String>;

/// A time as RFC 3339 writes it, in UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub String);

impl Time {
    /// Seconds since the epoch; `None` for a time nobody has set.
    pub fn of(seconds: i64) -> Option<Self> {
        let time = jiff::Timestamp::from_second(seconds).ok()?;
        (seconds != 0).then(|| Self(time.to_string()))
    }
}

/// All amounts other than 0, without `pods`.
pub(super) fn quantities(state: &State, amounts: &ResVec) -> Quantities {
    named(
        state,
        amounts
            .iter()
            .filter(|(ix, _)| *ix != pumice_model::resource::PODS),
    )
}

/// These amounts.
pub(super) fn named(state: &State, amounts: impl Iterator<Item = (ResIx, i64)>) -> Quantities {
    amounts
        .map(|(ix, amount)| {
            let name = state.resources().name(ix);
            (name.to_owned(), display_amount(name, amount))
        })
        .collect()
}

/// `2 cpu, 3 nvidia.com/gpu`.
pub(super) fn list(state: &State, amounts: &[(ResIx, i64)]) -> String {
    let text: Vec<String> = amounts
        .iter()
        .map(|(ix, amount)| {
            let name = state.resources().name(*ix);
            format!("{} {name}", display_amount(name, *amount))
        })
        .collect();
    text.join(", ")
}
