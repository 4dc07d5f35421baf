//! What counts as use: the dominant share of the cluster, or a sum of amounts with weights.

use pumice_model::resource::{Unit, is_of_device_class, unit_of};
use pumice_model::{ResVec, ResourceNames};

use super::decay::MAX_RATE;

/// Parts of one: of the whole cluster, or of a weighted unit.
pub(super) const PARTS: u64 = 1_000_000_000;

/// Word for the largest share of the cluster in any resource.
pub(super) const DOMINANT: &str = "dominant";

/// More resources have no weights.
const MAX_WEIGHTS: usize = 64;

/// Largest weight, in units.
const MAX_WEIGHT: u64 = 1_000_000;

/// What counts as use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum UseMeasure {
    /// The largest share of the cluster in any resource, `pods` included.
    Dominant,
    /// Names of resources and their weights, in parts for a unit of each.
    Weighted(Vec<(String, u64)>),
}

impl UseMeasure {
    /// What is written.
    ///
    /// # Errors
    /// Why it cannot be read, as a sentence goes on after the text.
    pub fn read(text: &str) -> Result<Self, String> {
        if text.trim() == DOMINANT {
            return Ok(Self::Dominant);
        }
        let mut weights: Vec<(String, u64)> = Vec::new();
        for pair in text.split(',') {
            let (name, weight) = weight(pair.trim())?;
            if weights.iter().any(|(known, _)| *known == name) {
                return Err(format!("names `{name}` twice"));
            }
            weights.push((name, weight));
        }
        match weights.len() {
            0..=MAX_WEIGHTS => Ok(Self::Weighted(weights)),
            many => Err(format!("has {many} weights; {MAX_WEIGHTS} at most")),
        }
    }

    /// As it is written.
    pub fn text(&self) -> String {
        let Self::Weighted(weights) = self else {
            return DOMINANT.to_owned();
        };
        let pairs = weights
            .iter()
            .map(|(name, weight)| format!("{name}={}", decimal(*weight)));
        pairs.collect::<Vec<_>>().join(",")
    }

    /// What one unit of it is, for people.
    pub fn unit(&self) -> &'static str {
        match self {
            Self::Dominant => "of the cluster",
            Self::Weighted(_) => "weighted units",
        }
    }

    /// How fast somebody uses who holds these amounts, in parts a second.
    pub fn rate(&self, held: &ResVec, totals: &ResVec, names: &ResourceNames) -> u64 {
        let parts = match self {
            Self::Dominant => {
                let shares = held.iter().map(|(resource, amount)| {
                    let (amount, total) = (i128::from(amount), i128::from(totals.get(resource)));
                    let is_some = amount > 0 && total > 0;
                    if is_some {
                        amount * i128::from(PARTS) / total
                    } else {
                        0
                    }
                });
                shares.max().unwrap_or(0)
            }
            Self::Weighted(weights) => {
                let parts = weights.iter().map(|(name, weight)| {
                    let amount = names.get(name).map_or(0, |resource| held.get(resource));
                    i128::from(amount.max(0)) * i128::from(*weight) / i128::from(size(name))
                });
                parts.sum()
            }
        };
        u64::try_from(parts).unwrap_or(0).min(MAX_RATE)
    }
}

/// Why a text is no measure.
pub(super) fn fault(text: &str) -> Option<String> {
    UseMeasure::read(text).err()
}

/// Stored units of a unit that has a weight: a core, a device, a GiB.
fn size(name: &str) -> i64 {
    match unit_of(name) {
        Some(Unit::Milli) => 1_000,
        _ if name == "pods" || is_of_device_class(name) => 1,
        _ => 1 << 30,
    }
}

fn weight(pair: &str) -> Result<(String, u64), String> {
    let (name, weight) = pair
        .split_once('=')
        .ok_or_else(|| format!("has `{pair}`, which is no resource with its weight"))?;
    let (name, weight) = (name.trim(), weight.trim());
    if name.is_empty() || unit_of(name).is_none() {
        return Err(format!("has a weight for `{name}`, which is no resource"));
    }
    let parts = read_decimal(weight).ok_or_else(|| {
        format!("gives `{name}` the weight `{weight}`, which is no number from 0 to {MAX_WEIGHT}")
    })?;
    Ok((name.to_owned(), parts))
}

/// A number with at most nine decimals, in parts.
pub(super) fn read_decimal(text: &str) -> Option<u64> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(rest) || rest.len() > 9 {
        return None;
    }
    let whole: u64 = whole.parse().ok().filter(|whole| *whole <= MAX_WEIGHT)?;
    let rest: u64 = format!("{rest:0<9}").parse().ok()?;
    Some(whole * PARTS + rest).filter(|parts| *parts <= MAX_WEIGHT * PARTS)
}

fn decimal(parts: u64) -> String {
    let text = format!("{}.{:09}", parts / PARTS, parts % PARTS);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measure_is_read_as_it_is_written_and_what_is_wrong_is_said() {
        for text in [
            "dominant",
            "nvidia.com/gpu=1,cpu=0.01",
            "memory=0.25",
            "cpu=1000000",
        ] {
            assert_eq!(
                UseMeasure::read(text).map(|read| read.text()).as_deref(),
                Ok(text)
            );
        }
        for (text, says) in [
            ("", "has ``, which is no resource with its weight"),
            ("cpu", "has `cpu`, which is no resource with its weight"),
            ("cpu=1,cpu=2", "names `cpu` twice"),
            (
                "cpu=-1",
                "gives `cpu` the weight `-1`, which is no number from 0 to 1000000",
            ),
            (
                "cpu=1e3",
                "gives `cpu` the weight `1e3`, which is no number from 0 to 1000000",
            ),
            (
                "cpu=1000000.1",
                "gives `cpu` the weight `1000000.1`, which is no number from 0 to 1000000",
            ),
            ("=1", "has a weight for ``, which is no resource"),
        ] {
            assert_eq!(UseMeasure::read(text), Err(says.to_owned()), "{text}");
        }
        let many: Vec<String> = (0..65).map(|at| format!("a.b/r{at}=1")).collect();
        assert!(UseMeasure::read(&many.join(",")).is_err());
    }

    #[test]
    fn a_rate_is_the_largest_share_or_the_weighted_sum() {
        let mut names = ResourceNames::default();
        let mut of = |cpu, memory: i64, gpus| {
            let amounts = [("cpu", cpu), ("memory", memory), ("nvidia.com/gpu", gpus)];
            names.vector(&amounts.map(|(name, amount)| (name.to_owned(), amount)))
        };
        let (held, totals) = (of(2_000, 4 << 30, 1_000), of(8_000, 64 << 30, 2_000));
        let rate =
            |text: &str| UseMeasure::read(text).map(|read| read.rate(&held, &totals, &names));
        assert_eq!(rate("dominant"), Ok(PARTS / 2));
        assert_eq!(rate("nvidia.com/gpu=1"), Ok(PARTS));
        assert_eq!(
            rate("nvidia.com/gpu=1,cpu=0.25,memory=0.125"),
            Ok(2 * PARTS)
        );
        assert_eq!(rate("other.com/card=5"), Ok(0));
    }
}
