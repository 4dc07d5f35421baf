//! Which configuration a simulation runs under.
//!
//! The nearest to the user's hand wins: `--config`, then the file in a directory that was named,
//! then the ConfigMap among the manifests, then the one a dumped scheduler had in use, then the
//! built-in one.

use std::path::PathBuf;

use pumice_conf::{CONF_KEY, Config, DEFAULT_CONF};
use pumice_engine::REGISTRY;
use pumice_sim::reader::{InputObjects, InputSource};
use pumice_sim::report::ConfigSource;

use crate::check::{accepted, configuration, read};

/// The configuration, and where it comes from. `files` are those in the directories that were
/// named.
///
/// # Errors
/// It is not valid, or cannot be read.
pub fn choose(
    flag: Option<&PathBuf>,
    files: &[PathBuf],
    input: &InputObjects,
    sources: &[InputSource],
) -> anyhow::Result<(Config, ConfigSource)> {
    if let Some(path) = flag {
        let name = path.display().to_string();
        return Ok((
            configuration(&name, &read(path)?)?,
            ConfigSource::Flag(name),
        ));
    }
    if let Some((path, others)) = files.split_first() {
        let name = path.display().to_string();
        for other in others {
            anstream::eprintln!(
                "warning: {}: a second {CONF_KEY}: {name} is used\n  = help: choose with --config",
                other.display()
            );
        }
        return Ok((
            configuration(&name, &read(path)?)?,
            ConfigSource::File(name),
        ));
    }
    if let Some(embedded) = &input.config {
        let config = accepted(&embedded.place.file, embedded.check(sources, &REGISTRY))?;
        let name = embedded.object.trim_start_matches("ConfigMap ").to_owned();
        return Ok((config, ConfigSource::ConfigMap(name)));
    }
    if let Some(dumped) = &input.dumped {
        let name = dumped.place.file.clone();
        let title = format!("configuration in {name}");
        return Ok((
            accepted(&title, dumped.check(&REGISTRY))?,
            ConfigSource::Dump(name),
        ));
    }
    let config = configuration("built-in configuration", DEFAULT_CONF.as_bytes())?;
    Ok((config, ConfigSource::BuiltIn))
}
