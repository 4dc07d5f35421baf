//! Iluvatar GPUs: a kind for each model.

use pumice_yaml::node::YamlNode;

use crate::config::{DeviceConfig, Reader, Section};
use crate::hami::config::{NAME_KEYS, name, names};
use crate::hami::kind::{CardKind, KindNames, MemoryUnit};

use super::vendor::Vendor;

/// MiB in a unit of memory.
const UNIT: i64 = 256;
/// Models that are known without a configuration.
const KNOWN: [&str; 4] = ["MR-V100", "MR-V50", "BI-V150", "BI-V100"];
/// Most models.
const MAX_MODELS: usize = 32;

/// Iluvatar's cards, as HAMi shares them.
pub const VENDOR: Vendor = Vendor {
    name: "Iluvatar",
    kinds: |_, config| gpus(config),
};

/// The section `iluvatars`: words and names.
pub struct IluvatarConfig(Vec<(String, KindNames)>);

fn known(word: &str) -> KindNames {
    KindNames::new(
        &format!("iluvatar.ai/{word}-vgpu"),
        &format!("iluvatar.ai/{word}.vMem"),
        &format!("iluvatar.ai/{word}.vCore"),
    )
}

impl Default for IluvatarConfig {
    fn default() -> Self {
        let model = |word: &&str| ((*word).to_owned(), known(word));
        Self(KNOWN.iter().map(model).collect())
    }
}

impl Section for IluvatarConfig {
    const KEY: &'static str = "iluvatars";

    fn read(reader: &mut Reader, section: &YamlNode<'_>) -> Self {
        let mut models: Vec<(String, KindNames)> = Vec::new();
        for (at, entry) in reader.list(section, Self::KEY).iter().enumerate() {
            let path = format!("{}[{at}]", Self::KEY);
            let Some(entry) = reader.map(entry, &path) else {
                continue;
            };
            let Some(word) = name(reader, entry, "commonWord", &path) else {
                let help = "add the name of the model in annotations, such as commonWord: MR-V100";
                reader.problem(entry, &path, "has no commonWord", help);
                continue;
            };
            let names = names(reader, entry, (&path, &NAME_KEYS), known(&word));
            let is_taken = |(other, known): &(String, KindNames)| {
                *other == word || known.all().any(|one| names.all().any(|name| name == one))
            };
            match models.iter().any(is_taken) || models.len() == MAX_MODELS {
                true => {
                    let what = "has names of a model before, or is one of too many";
                    reader.problem(entry, &path, what, "give each model its own names");
                }
                false => models.push((word, names)),
            }
        }
        Self(models)
    }
}

fn gpus(config: &DeviceConfig) -> Vec<CardKind> {
    let config = config.section::<IluvatarConfig>();
    let kind = |(word, names): &(String, KindNames)| {
        let source = format!("hami.io/node-{word}-register");
        let mut kind = CardKind::registered(word, &source, word, names.clone());
        kind.keys.uuids = vec![CardKind::uuid_keys(word)];
        kind.unit = MemoryUnit::Mib(UNIT);
        kind
    };
    config.0.iter().map(kind).collect()
}
