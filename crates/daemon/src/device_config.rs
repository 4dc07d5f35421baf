//! The device configuration, a ConfigMap of its own: watched where the scheduler's configuration
//! says it is, and only while a family is on that reads it (spec/04 §4, R2).

use std::time::Duration;

use kube::Client;
use pumice_cluster::config_map::{ConfigMapError, Read, watch_config_map};
use pumice_conf::Config;
use pumice_plugins::deviceshare;
use tokio::sync::{mpsc, watch as cell};
use tokio::time::{Instant, timeout_at};

use crate::decide::Question;

/// Key of the ConfigMap.
const KEY: &str = "device-config.yaml";

/// How long a refusal may last before the ConfigMap counts as one that may not be read.
const PATIENCE: Duration = Duration::from_secs(5);

/// Namespace and name of the ConfigMap; `None` where nothing would read it.
pub type Place = Option<(String, String)>;

/// Where a configuration has it.
pub fn place(config: &Config) -> Place {
    let settings = deviceshare::settings(config);
    settings.reads_config_map().then_some(settings.config_map)
}

/// Hands every text to the deciding thread, and `None` where there is none. Ends when nobody tells
/// places or hears texts any more.
pub async fn follow(
    client: Client,
    mut places: cell::Receiver<Place>,
    core: mpsc::Sender<Question>,
) {
    loop {
        let place = places.borrow_and_update().clone();
        let told = async {
            match &place {
                Some(place) => tell(&client, place, &core).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = told => return,
            changed = places.changed() => if changed.is_err() {
                return;
            }
        }
    }
}

async fn tell(client: &Client, place: &(String, String), core: &mpsc::Sender<Question>) {
    let (namespace, name) = place;
    let mut texts = watch_config_map(client.clone(), namespace, name, KEY);
    let mut last = None;
    while let Some(read) = next(&mut texts).await {
        let text = match read.text {
            Ok(text) => Some(text.to_string()),
            Err(problem) => {
                complain(&problem, namespace);
                None
            }
        };
        if last.as_ref() == Some(&text) {
            continue;
        }
        last = Some(text.clone());
        let (namespace, name) = (namespace.clone(), name.clone());
        let question = Question::DeviceConfig {
            namespace,
            name,
            text,
        };
        if core.send(question).await.is_err() {
            return;
        }
    }
}

/// The next word on the ConfigMap. A refusal may be that of an API server that is just starting: it
/// counts when nothing better comes for a while.
async fn next(texts: &mut mpsc::Receiver<Read>) -> Option<Read> {
    let refused = |told: &Read| matches!(told.text, Err(ConfigMapError::Refused(..)));
    let mut told = texts.recv().await?;
    let end = Instant::now() + PATIENCE;
    while refused(&told) {
        match timeout_at(end, texts.recv()).await {
            Ok(better) => told = better?,
            Err(_) => break,
        }
    }
    Some(told)
}

fn complain(problem: &ConfigMapError, namespace: &str) {
    let then = "the built-in device configuration is used";
    match problem {
        // Only few clusters need one.
        ConfigMapError::Absent(..) => tracing::info!("{problem}; until then {then}"),
        ConfigMapError::NoKey(..) => tracing::warn!("{problem}; until then {then}"),
        ConfigMapError::Refused(..) => tracing::warn!(
            "{problem}; until then {then}; the role needs get, list and watch on configmaps of the \
             core group in namespace {namespace}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use pumice_conf::{Arguments, PluginConf, Tier, Value};

    use super::*;

    fn config(plugin: &str, arguments: &[(&str, &str)]) -> Config {
        let pair = |(key, value): &(&str, &str)| {
            let value = Value::Str((*value).to_owned());
            ((*key).to_owned(), value)
        };
        let plugin = PluginConf {
            name: plugin.to_owned(),
            arguments: arguments.iter().map(pair).collect::<Arguments>(),
            ..PluginConf::default()
        };
        Config {
            tiers: vec![Tier {
                plugins: vec![plugin],
            }],
            ..Config::default()
        }
    }

    #[test]
    fn the_arguments_say_where_it_is_if_devices_are_shared_at_all() {
        let (namespace, name) = (
            "deviceshare.KnownGeometriesCMNamespace",
            "deviceshare.KnownGeometriesCMName",
        );
        let (vgpu, npu) = (
            ("deviceshare.VGPUEnable", "true"),
            ("deviceshare.AscendHAMiVNPUEnable", "true"),
        );
        type Pair = (&'static str, &'static str);
        let cases: [(&str, &[Pair], Option<Pair>); 6] = [
            ("gang", &[(name, "x")], None),
            ("deviceshare", &[(name, "x")], None),
            ("deviceshare", &[npu, (name, "x")], None),
            (
                "deviceshare",
                &[vgpu],
                Some(("kube-system", "volcano-vgpu-device-config")),
            ),
            (
                "deviceshare",
                &[vgpu, (name, "x")],
                Some(("kube-system", "x")),
            ),
            (
                "deviceshare",
                &[vgpu, (name, "x"), (namespace, "gpu")],
                Some(("gpu", "x")),
            ),
        ];
        for (plugin, arguments, wanted) in cases {
            let found = place(&config(plugin, arguments));
            let found = found
                .as_ref()
                .map(|(ns, name)| (ns.as_str(), name.as_str()));
            assert_eq!(found, wanted);
        }
    }
}
