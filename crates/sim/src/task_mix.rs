//! The mix of tasks by which plugin `fragmentation` prefers nodes and cards: from a ConfigMap among the manifests, and
//! what of it does not count.

use pumice_conf::Config;
use pumice_engine::view::{MixView, NoRoom};
use pumice_engine::{Engine, MIX_KEY, mix_place};
use pumice_model::Delta;

use crate::problem::{InputPlace, InputProblem};
use crate::reader::DeviceMap;

/// What the ConfigMap that the configuration names says of it, if it is given.
pub fn tell(config: &Config, maps: &[DeviceMap], engine: &mut Engine) {
    let Some((namespace, name)) = mix_place(config) else {
        return;
    };
    let is_it = |map: &&DeviceMap| (&map.namespace, &map.name) == (&namespace, &name);
    if let Some(map) = maps.iter().find(is_it) {
        engine.apply(Delta::TaskMix {
            namespace,
            name,
            text: map.text.clone(),
        });
    }
}

/// Says that the ConfigMap is not given, or which written classes do not count, or could be served by nothing.
pub fn problems(config: &Config, mix: Option<&MixView>) -> Vec<InputProblem> {
    let Some(mix) = mix else {
        return Vec::new();
    };
    let problem = |object: String, message: String, help: String| InputProblem {
        place: InputPlace::default(),
        object,
        message,
        help,
        kept: true,
    };
    if let Some(doubt) = &mix.doubt {
        return vec![problem(
            String::new(),
            format!("mix of tasks: {doubt}"),
            String::new(),
        )];
    }
    if !mix.written {
        let named = mix_place(config).map(|(namespace, name)| {
            let message = "fragmentation.configMap names it, and there is no class to be read of it here: tasks are \
                           seen instead";
            let help = format!("give it among the manifests, with the key `{MIX_KEY}`");
            problem(format!("ConfigMap {namespace}/{name}"), message.to_owned(), help)
        });
        return named.into_iter().collect();
    }
    let left_out = mix.left_out.iter();
    let mut texts: Vec<String> = left_out
        .map(|class| format!("`{}` does not count: {}", class.asks, class.why))
        .collect();
    let more = mix.left_out_classes - mix.left_out.len();
    if more > 0 {
        texts.push(format!("{more} more classes do not count"));
    }
    let classes = mix.classes.iter();
    let never = classes.filter(|class| class.no_room == Some(NoRoom::Ever));
    texts.extend(never.map(|class| format!("`{}`: {}", class.asks, NoRoom::Ever)));
    let told = |text: String| {
        let message = format!("mix of tasks ({}): {text}", mix.from);
        problem(String::new(), message, String::new())
    };
    texts.into_iter().map(told).collect()
}
