//! Classes as the configuration has them: `30 cpu=8 memory=32Gi volcano.sh/vgpu-number=1 on gpu-model=A100`.

use std::sync::Arc;

use pumice_devices::{ContainerFacts, PodFacts};
use pumice_model::resource::display_amount;
use pumice_units::quantity;

use super::asked_class::{AskedClass, CountedClass};

/// How often the most frequent class may come, in the unit of the writer.
const MAX_OFTEN: u64 = 1_000_000_000;
/// Largest amount, as everywhere.
const MAX_AMOUNT: i64 = pumice_model::MAX_AMOUNT;

/// Most classes that a text may have.
const MAX_LINES: usize = 4096;
/// Most faults of a text that are told one by one.
const MAX_FAULTS: usize = 20;
/// Letters of a faulty line that are quoted.
const MAX_QUOTED: usize = 80;

/// The lines of a text that have something to say, each with its number and the class that it says.
pub(super) fn read_lines(
    text: &str,
) -> impl Iterator<Item = (usize, &str, Result<CountedClass, String>)> {
    let lines = text
        .lines()
        .zip(1..)
        .map(|(line, number)| (number, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines.take(MAX_LINES).map(|(number, line)| {
        // As a list is written in the configuration.
        let class = line.strip_prefix("- ").unwrap_or(line);
        (number, class, read(class))
    })
}

/// How many classes a text of lines has, and what is wrong with the lines that do not count.
pub fn mix_text_faults(text: &str) -> (usize, Vec<String>) {
    let (mut count, mut faults) = (0, Vec::new());
    for (number, line, read) in read_lines(text) {
        match read {
            Ok(_) => count += 1,
            Err(fault) => {
                let end = line.floor_char_boundary(MAX_QUOTED);
                let more = if end < line.len() { "…" } else { "" };
                let quoted = &line[..end];
                faults.push(format!("line {number}: `{quoted}{more}` {fault}"));
            }
        }
    }
    let more = faults.len().saturating_sub(MAX_FAULTS);
    if more > 0 {
        faults.truncate(MAX_FAULTS);
        faults.push(format!("and so with {more} more lines"));
    }
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let lines = lines.filter(|line| !line.trim().starts_with('#')).count();
    if lines > MAX_LINES {
        let over = lines - MAX_LINES;
        faults.push(format!(
            "there are more than {MAX_LINES} lines; the last {over} do not count"
        ));
    }
    (count, faults)
}

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
