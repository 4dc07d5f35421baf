//! What plugin `fragmentation` is told that tasks ask, right or wrong.

use std::path::Path;

use anyhow::ensure;
use pumice_conf::{Arguments, Config, Value};
use pumice_engine::mix_text_faults;

use crate::check::read;

/// The classes of a file, a class a line.
///
/// # Errors
/// What is wrong with it, and where.
pub fn read_lines(path: &Path) -> anyhow::Result<Vec<String>> {
    let text = String::from_utf8_lossy(&read(path)?).into_owned();
    let (_, faults) = mix_text_faults(&text);
    ensure!(
        faults.is_empty(),
        "{}: {}",
        path.display(),
        faults.join("; ")
    );
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let classes = lines.map(|line| line.strip_prefix("- ").unwrap_or(line));
    Ok(classes.map(str::to_owned).collect())
}

/// Has the plugin told so in every configuration that has it.
///
/// # Errors
/// Nobody there would hear it.
pub fn tell(configs: &mut [(String, Config)], lines: &[String]) -> anyhow::Result<()> {
    let mut told = 0;
    for (_, config) in &mut *configs {
        let plugins = config.tiers.iter_mut().flat_map(|tier| &mut tier.plugins);
        for plugin in plugins.filter(|plugin| plugin.name == "fragmentation") {
            let known = plugin.arguments.iter();
            let mut pairs: Vec<(String, Value)> = known
                .map(|(name, value)| (name.to_owned(), value.clone()))
                .collect();
            let classes = lines.iter().cloned().map(Value::Str).collect();
            pairs.push(("fragmentation.mix".to_owned(), Value::List(classes)));
            plugin.arguments = pairs.into_iter().collect::<Arguments>();
            told += 1;
        }
    }
    let names: Vec<&str> = configs.iter().map(|(name, _)| name.as_str()).collect();
    ensure!(
        told > 0,
        "{}: there is no plugin fragmentation that --mix could tell anything; add the plugin to a configuration, or \
         leave --mix out",
        names.join(", ")
    );
    Ok(())
}
