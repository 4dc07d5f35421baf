//! Classes as the configuration has them: `30 cpu=8 memory=32Gi volcano.sh/vgpu-number=1 on gpu-model=A100`.

use std::sync::Arc;

use pumice_devices::{ContainerFacts, PodFacts};
use pumice_model::resource::display_amount;
use pumice_units::quantity;

use super::census::{AskedClass, CountedClass};

/// How often the most frequent class may come, in the unit of the writer.
const MAX_OFTEN: u64 = 1_000_000_000;
/// Largest amount, as everywhere.
const MAX_AMOUNT: i64 = pumice_model::MAX_AMOUNT;

/// What is wrong with a class.
pub(super) fn fault(text: &str) -> Option<String> {
    read(text).err()
}

/// The class that a text says.
///
/// # Errors
/// What is wrong with the text; it follows its quotation.
pub(super) fn read(text: &str) -> Result<CountedClass, String> {
    let mut words = text.split_whitespace();
    let often = words.next().unwrap_or_default();
    let mass = often
        .parse()
        .ok()
        .filter(|often| (1..=MAX_OFTEN).contains(often));
    let mass = mass.ok_or_else(|| {
        format!(
            "does not begin with how often such tasks come, a whole number from 1 to {MAX_OFTEN}"
        )
    })?;
    let (mut asked, mut container) = (AskedClass::default(), ContainerFacts::default());
    let mut is_about_nodes = false;
    for word in words {
        if word == "on" {
            is_about_nodes = true;
            continue;
        }
        let Some((name, value)) = word.split_once('=') else {
            return Err(format!("has {word:?}, where NAME=VALUE should stand"));
        };
        if is_about_nodes {
            asked
                .node_selector
                .push((name.to_owned(), value.to_owned()));
            continue;
        }
        let amount = quantity::parse(value).map_err(|error| format!("has {name}: {error}"))?;
        let counts_whole =
            name == "memory" || name.contains("storage") || name.contains("hugepages");
        let stored = match counts_whole {
            true => amount.whole_ceil(),
            false => amount.milli_ceil(),
        };
        if !(0..=MAX_AMOUNT).contains(&stored) {
            return Err(format!("has {name}={value}, which no node has"));
        }
        asked.amounts.push((name.to_owned(), stored));
        if name.contains('/') {
            container.amounts.push((name.to_owned(), stored));
        }
    }
    if container.amounts.is_empty() {
        return Err(
            "asks for no cards: name a resource such as volcano.sh/vgpu-number=1".to_owned(),
        );
    }
    asked.amounts.push(("pods".to_owned(), 1));
    asked.amounts.sort();
    asked.node_selector.sort();
    container.amounts.sort();
    asked.facts = PodFacts {
        containers: vec![container],
        ..PodFacts::default()
    };
    let asked = Arc::new(asked);
    Ok(CountedClass { asked, mass })
}

/// What a class asks, as it is written after how often it comes. Required affinities and tolerations have no words
/// there and are only named.
pub(super) fn text(asked: &AskedClass) -> String {
    let amounts = asked.amounts.iter().filter(|(name, _)| name != "pods");
    let mut words: Vec<String> = amounts
        .map(|(name, amount)| format!("{name}={}", display_amount(name, *amount)))
        .collect();
    let labels = asked.node_selector.iter();
    let labels: Vec<String> = labels
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    if !labels.is_empty() {
        words.push("on".to_owned());
        words.extend(labels);
    }
    if asked.node_affinity.is_some() {
        words.push("(with a required node affinity)".to_owned());
    }
    words.join(" ")
}
