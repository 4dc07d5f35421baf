//! What counts as use: the dominant share of the cluster, or a sum of amounts with weights, where a resource may have another
//! weight on nodes of a kind.

use pumice_model::resource::{Unit, is_of_device_class, unit_of};
use pumice_model::{ResVec, ResourceNames};

use super::decay::MAX_RATE;
use super::held::HeldUse;

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
    /// A sum of amounts, each times its weight.
    Weighted {
        /// All weights.
        weights: Vec<UseWeight>,
        /// The label of nodes that says of which kind they are.
        label: String,
    },
}

/// How much a unit of a resource counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UseWeight {
    /// Name of the resource.
    pub name: String,
    /// Kind of nodes on which it counts so; empty for those of which nothing else is said.
    pub kind: String,
    /// In parts for a unit.
    pub parts: u64,
}

impl UseMeasure {
    /// What is written.
    ///
    /// # Errors
    /// Why it cannot be read, as a sentence goes on after the text.
    pub fn read(text: &str, label: &str) -> Result<Self, String> {
        if text.trim() == DOMINANT {
            return Ok(Self::Dominant);
        }
        let mut weights: Vec<UseWeight> = Vec::new();
        for pair in text.split(',') {
            let weight = weight(pair.trim())?;
            let same = |known: &UseWeight| known.name == weight.name && known.kind == weight.kind;
            if weights.iter().any(same) {
                return Err(format!("names `{}` twice", weight.whole_name()));
            }
            weights.push(weight);
        }
        match weights.len() {
            0..=MAX_WEIGHTS => Ok(Self::Weighted {
                weights,
                label: label.to_owned(),
            }),
            many => Err(format!("has {many} weights; {MAX_WEIGHTS} at most")),
        }
    }

    fn weights(&self) -> &[UseWeight] {
        match self {
            Self::Dominant => &[],
            Self::Weighted { weights, .. } => weights,
        }
    }

    /// Weights for a kind of nodes, in their order.
    pub fn kinds(&self) -> impl Iterator<Item = &UseWeight> {
        self.weights().iter().filter(|one| !one.kind.is_empty())
    }

    /// Some weight is for a kind of nodes.
    pub fn has_kinds(&self) -> bool {
        self.kinds().next().is_some()
    }

    /// The kind of a node with these labels.
    pub fn kind_of<'a>(&self, labels: &'a [(String, String)]) -> Option<&'a str> {
        let Self::Weighted { label, .. } = self else {
            return None;
        };
        let said = labels.iter().find(|(key, _)| key == label);
        said.map(|(_, kind)| kind.as_str())
    }

    /// What tells it apart from others of which something was kept.
    pub fn mark(&self) -> String {
        match self {
            Self::Weighted { label, .. } if self.has_kinds() => {
                format!("{} by {label}", self.text())
            }
            _ => self.text(),
        }
    }

    /// As it is written.
    pub fn text(&self) -> String {
        if *self == Self::Dominant {
            return DOMINANT.to_owned();
        }
        let pairs = self
            .weights()
            .iter()
            .map(|one| format!("{}={}", one.whole_name(), decimal(one.parts)));
        pairs.collect::<Vec<_>>().join(",")
    }

    /// What one unit of it is, for people.
    pub fn unit(&self) -> &'static str {
        match self {
            Self::Dominant => "of the cluster",
            Self::Weighted { .. } => "weighted units",
        }
    }

    /// How fast somebody uses who holds these amounts, in parts a second.
    pub fn rate(&self, held: &HeldUse, totals: &ResVec, names: &ResourceNames) -> u64 {
        let parts = match self {
            Self::Dominant => {
                let shares = held.amounts.iter().map(|(resource, amount)| {
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
            Self::Weighted { weights, .. } => {
                let of_kinds = || self.kinds().zip(&held.of_kinds);
                let parts = weights.iter().map(|one| {
                    let amount = match one.kind.is_empty() {
                        true => {
                            let all = names.get(&one.name);
                            let all = all.map_or(0, |resource| held.amounts.get(resource));
                            let elsewhere = of_kinds().filter(|(other, _)| other.name == one.name);
                            all - elsewhere.map(|(_, amount)| amount).sum::<i64>()
                        }
                        false => {
                            let mut own = of_kinds().filter(|(other, _)| *other == one);
                            own.next().map_or(0, |(_, amount)| *amount)
                        }
                    };
                    i128::from(amount.max(0)) * i128::from(one.parts) / i128::from(size(&one.name))
                });
                parts.sum()
            }
        };
        u64::try_from(parts).unwrap_or(0).min(MAX_RATE)
    }
}

/// Why a text is no measure.
pub(super) fn fault(text: &str) -> Option<String> {
    UseMeasure::read(text, "").err()
}

impl UseWeight {
    /// As it is written.
    fn whole_name(&self) -> String {
        match self.kind.as_str() {
            "" => self.name.clone(),
            kind => format!("{}@{kind}", self.name),
        }
    }
}

/// Stored units of a unit that has a weight: a core, a device, a GiB.
fn size(name: &str) -> i64 {
    match unit_of(name) {
        Some(Unit::Milli) => 1_000,
        _ if name == "pods" || is_of_device_class(name) => 1,
        _ => 1 << 30,
    }
}

fn weight(pair: &str) -> Result<UseWeight, String> {
    let (whole, weight) = pair
        .split_once('=')
        .ok_or_else(|| format!("has `{pair}`, which is no resource with its weight"))?;
    let weight = weight.trim();
    let (name, kind) = whole.split_once('@').unwrap_or((whole, ""));
    let (name, kind) = (name.trim(), kind.trim());
    if name.is_empty() || unit_of(name).is_none() {
        return Err(format!("has a weight for `{name}`, which is no resource"));
    }
    if whole.contains('@') && !is_label_value(kind) {
        return Err(format!(
            "has a weight for `{name}` on nodes of the kind `{kind}`, which no label says"
        ));
    }
    let parts = read_decimal(weight).ok_or_else(|| {
        format!("gives `{name}` the weight `{weight}`, which is no number from 0 to {MAX_WEIGHT}")
    })?;
    Ok(UseWeight {
        name: name.to_owned(),
        kind: kind.to_owned(),
        parts,
    })
}

/// Whether a label may say that.
fn is_label_value(text: &str) -> bool {
    let is_inside = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=63).contains(&text.len()) && text.bytes().all(is_inside)
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
            "nvidia.com/gpu=1,nvidia.com/gpu@A100=2,nvidia.com/gpu@H100=4.5",
            "cpu=1000000",
        ] {
            assert_eq!(
                UseMeasure::read(text, "")
                    .map(|read| read.text())
                    .as_deref(),
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
            (
                "nvidia.com/gpu@=1",
                "has a weight for `nvidia.com/gpu` on nodes of the kind ``, which no label says",
            ),
            (
                "cpu@a b=1",
                "has a weight for `cpu` on nodes of the kind `a b`, which no label says",
            ),
            ("cpu@a=1,cpu=2,cpu@a=3", "names `cpu@a` twice"),
        ] {
            assert_eq!(UseMeasure::read(text, ""), Err(says.to_owned()), "{text}");
        }
        let many: Vec<String> = (0..65).map(|at| format!("a.b/r{at}=1")).collect();
        assert!(UseMeasure::read(&many.join(","), "").is_err());
    }

    #[test]
    fn on_nodes_of_a_kind_its_own_weight_counts_and_elsewhere_the_other() {
        let mut names = ResourceNames::default();
        let amounts = [
            ("nvidia.com/gpu".to_owned(), 8_000),
            ("cpu".to_owned(), 3_000),
        ];
        let held = HeldUse {
            amounts: names.vector(&amounts),
            // Of A100 and H100.
            of_kinds: vec![3_000, 1_000],
        };
        let rate = |text: &str| {
            let measure = UseMeasure::read(text, "kind").expect("a measure");
            measure.rate(&held, &ResVec::default(), &names)
        };
        let kinds = "nvidia.com/gpu@A100=2,nvidia.com/gpu@H100=5";
        assert_eq!(
            rate(&format!("nvidia.com/gpu=1,{kinds}")),
            (4 + 6 + 5) * PARTS
        );
        assert_eq!(rate(&format!("{kinds},cpu=1")), (6 + 5 + 3) * PARTS);
        let measure = UseMeasure::read(kinds, "kind").expect("a measure");
        assert_eq!(measure.mark(), format!("{kinds} by kind"));
    }

    #[test]
    fn a_rate_is_the_largest_share_or_the_weighted_sum() {
        let mut names = ResourceNames::default();
        let mut of = |cpu, memory: i64, gpus| {
            let amounts = [("cpu", cpu), ("memory", memory), ("nvidia.com/gpu", gpus)];
            names.vector(&amounts.map(|(name, amount)| (name.to_owned(), amount)))
        };
        let (held, totals) = (of(2_000, 4 << 30, 1_000), of(8_000, 64 << 30, 2_000));
        let held = HeldUse::from(held);
        let rate =
            |text: &str| UseMeasure::read(text, "").map(|read| read.rate(&held, &totals, &names));
        assert_eq!(rate("dominant"), Ok(PARTS / 2));
        assert_eq!(rate("nvidia.com/gpu=1"), Ok(PARTS));
        assert_eq!(
            rate("nvidia.com/gpu=1,cpu=0.25,memory=0.125"),
            Ok(2 * PARTS)
        );
        assert_eq!(rate("other.com/card=5"), Ok(0));
    }
}
